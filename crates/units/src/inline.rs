//! The inline tables of scenario files, as far as values need them: `{ key = value, … }`.

use alloc::vec::Vec;

/// The keys of an inline table with the text of their values; `None` if it is none.
pub(crate) fn entries(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut entries = Vec::new();
    for part in parts(between(text.trim(), '{', '}')?) {
        let (key, value) = part.split_once('=')?;
        entries.push((key.trim(), value.trim()));
    }
    Some(entries)
}

/// The value of `key`.
pub(crate) fn value<'a>(entries: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    let found = entries.iter().find(|(name, _)| *name == key);
    found.map(|(_, value)| *value)
}

/// The text inside quotes.
pub(crate) fn unquoted(text: &str) -> Option<&str> {
    between(text, '"', '"')
}

/// The text between two signs.
pub(crate) fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// The parts between commas outside of lists; none if there is only space.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text[from..].trim().is_empty() {
        parts.push(&text[from..]);
    }
    parts
}
