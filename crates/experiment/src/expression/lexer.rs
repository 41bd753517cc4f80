//! The words of an expression.

use super::{LONGEST, SyntaxError};

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A number with its unit, without blanks between.
    Quantity(String),
    Text(String),
    /// A name without dots.
    Name(String),
    /// A name with dots.
    Dotted(String),
    Sign(&'static str),
}

/// Signs, longer ones before their beginnings.
const SIGNS: [&str; 19] = [
    "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "{",
    "}",
];

/// The words of `text`, each with where it begins; with `units` numbers may have some.
pub(super) fn tokens(text: &str, units: bool) -> Result<Vec<(usize, Token)>, SyntaxError> {
    if text.len() > LONGEST {
        let why = format!("the expression is longer than {LONGEST} bytes");
        return Err(SyntaxError::new(0, why));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() {
            number(rest, units).map_err(|error| error.later(at))?
        } else if first == '\'' {
            quoted(rest).map_err(|error| error.later(at))?
        } else if first.is_ascii_alphabetic() || first == '_' {
            name(rest)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(SyntaxError::new(
                at,
                format!("{first:?} has no meaning here"),
            ));
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

/// `17`, `0.5`, `2.7e-4`; with `units` also `20ms` and `1 %`.
fn number(text: &str, units: bool) -> Result<(Token, usize), SyntaxError> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let more = bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        from + more.count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + signed).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + signed);
        }
    }
    let value = text[..end].parse::<f64>();
    let value = value.map_err(|_| SyntaxError::new(0, "this is no number"))?;
    let after = &text[end..];
    let unit = match after.trim_start().starts_with('%') {
        true => after.len() - after.trim_start().len() + 1,
        false => after
            .chars()
            .take_while(|next| next.is_alphabetic())
            .map(char::len_utf8)
            .sum(),
    };
    if units && unit > 0 {
        let text = format!("{}{}", &text[..end], after[..unit].trim_start());
        return Ok((Token::Quantity(text), end + unit));
    }
    match after.chars().next() {
        Some(next) if next.is_ascii_alphanumeric() || next == '_' => Err(SyntaxError::new(
            end,
            "a number ends here, and a unit has no place in an expression",
        )),
        _ => Ok((Token::Number(value), end)),
    }
}

/// `'text'`; two quotes are one.
fn quoted(text: &str) -> Result<(Token, usize), SyntaxError> {
    let mut value = String::new();
    let mut rest = text[1..].char_indices().peekable();
    while let Some((at, next)) = rest.next() {
        if next != '\'' {
            value.push(next);
        } else if rest.peek().is_some_and(|(_, next)| *next == '\'') {
            rest.next();
            value.push('\'');
        } else {
            return Ok((Token::Text(value), at + 2));
        }
    }
    Err(SyntaxError::new(0, "this text has no end: a ' is missing"))
}

/// A name; after its first dot hyphens and digits belong to it.
fn name(text: &str) -> (Token, usize) {
    let plain = |next: &char| next.is_ascii_alphanumeric() || *next == '_';
    let mut end = text.chars().take_while(plain).count();
    let mut is_dotted = false;
    while let Some(part) = text[end..].strip_prefix('.') {
        let dotted = |next: &char| plain(next) || *next == '-';
        let length = part.chars().take_while(dotted).count();
        if length == 0 {
            break;
        }
        is_dotted = true;
        end += 1 + length;
    }
    let name = text[..end].to_owned();
    match is_dotted {
        true => (Token::Dotted(name), end),
        false => (Token::Name(name), end),
    }
}
