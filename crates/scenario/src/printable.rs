//! Text of others as a terminal may show it.
//!
//! Keys of a scenario, names of files and the messages of a guest's kernel may hold escape sequences, which a terminal obeys: colours,
//! a new title, answers typed as if by the user. Everything that is printed goes through here. A harmful character is written
//! as TOML and JSON write it in a string (`\u001b`), so that printed JSON stays JSON.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// `text` without a character that a terminal obeys; line breaks and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_harmful(c) && c != '\n' && c != '\t';
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if harmful(c) {
            escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Shows text on one line, whatever it holds: the name of a key or a file inside of a message.
#[derive(Debug, Clone, Copy)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut piece = String::new();
        for c in self.0.chars() {
            if is_harmful(c) {
                escape(&mut piece, c);
            } else {
                piece.push(c);
            }
        }
        f.write_str(&piece)
    }
}

/// Control characters, C1 included, and those that reorder or break the text around them (Unicode's bidirectional formatting and
/// separators).
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(out: &mut String, c: char) {
    let written = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        // All of them are in Unicode's first plane.
        c => write!(out, "\\u{:04x}", u32::from(c)),
    };
    // A string takes everything.
    let _ = written;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        // CSI, OSC with BEL, C1's CSI, DEL, carriage return, right-to-left override.
        let text =
            "a\u{1b}[31mb\u{1b}]0;title\u{7}c\u{9b}31md\u{7f}e\rf\u{202e}g\nsecond\tline \u{b5}";
        assert_eq!(
            printable(text),
            "a\\u001b[31mb\\u001b]0;title\\u0007c\\u009b31md\\u007fe\\rf\\u202eg\nsecond\tline \u{b5}"
        );
        let one = OneLine(text).to_string();
        assert!(one.ends_with("g\\nsecond\\tline \u{b5}"), "{one}");
        assert!(matches!(printable("µs, 5 %\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_json_and_means_the_same() {
        let value = serde_json::json!({ "key": "\u{1b}[31m \u{7f} \u{9b} \u{2028} \n" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = printable(&text);
        assert_ne!(shown, text);
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }
}
