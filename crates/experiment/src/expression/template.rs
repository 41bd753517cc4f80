//! Texts with expressions in braces: `{rtt} ms: {ratio:.2}`, `{classic|–}`. A brace is doubled to be written.

use super::parser;
use super::tree::{Expression, Piece, Template};
use super::value::Value;
use super::{LONGEST, SyntaxError};

impl Template {
    /// Reads it.
    pub(crate) fn read(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self::nested(text, 0)?.0)
    }

    /// Reads one that stands in expressions, so deep; and how high its highest expression is.
    pub(super) fn nested(text: &str, depth: usize) -> Result<(Self, usize), SyntaxError> {
        if text.len() > LONGEST {
            let why = format!("the text is longer than {LONGEST} bytes");
            return Err(SyntaxError::new(0, why));
        }
        let (mut pieces, mut plain, mut highest) = (Vec::new(), String::new(), 0);
        let mut rest = text.char_indices().peekable();
        while let Some((at, next)) = rest.next() {
            let is_doubled = rest.peek().is_some_and(|(_, other)| *other == next);
            match next {
                '{' | '}' if is_doubled => {
                    rest.next();
                    plain.push(next);
                }
                '}' => {
                    return Err(SyntaxError::new(
                        at,
                        "a } that closes nothing; write }} for one in the text",
                    ));
                }
                '{' => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    let inner = &text[at + 1..];
                    let parts = Parts::of(inner).map_err(|error| error.later(at + 1))?;
                    let piece = parts.piece(inner, depth);
                    let (piece, height) = piece.map_err(|error| error.later(at + 1))?;
                    pieces.push(piece);
                    highest = highest.max(height);
                    let end = at + 1 + parts.end;
                    while rest.peek().is_some_and(|(at, _)| *at <= end) {
                        rest.next();
                    }
                }
                _ => plain.push(next),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok((Self(pieces), highest))
    }

    /// About how much memory it takes, in numbers.
    pub(crate) fn weight(&self) -> usize {
        let of = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Table(text) => 1 + text.len() / 16,
            Piece::Value { of, form, fallback } => of.weight() + (form.len() + fallback.len()) / 16,
        };
        self.0.iter().map(of).sum()
    }

    /// The expressions in it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { of, .. } => Some(of),
            Piece::Text(_) | Piece::Table(_) => None,
        })
    }
}

/// Where the parts of `expression:form|fallback}` end, in bytes.
struct Parts {
    expression: usize,
    form: usize,
    end: usize,
}

impl Parts {
    fn of(text: &str) -> Result<Self, SyntaxError> {
        let (mut quoted, mut form, mut fallback) = (false, None, None);
        for (at, next) in text.char_indices() {
            match next {
                '\'' if form.is_none() && fallback.is_none() => quoted = !quoted,
                _ if quoted => {}
                ':' if form.is_none() && fallback.is_none() => form = Some(at),
                '|' if fallback.is_none() => fallback = Some(at),
                '}' => {
                    return Ok(Self {
                        expression: form.or(fallback).unwrap_or(at),
                        form: fallback.unwrap_or(at),
                        end: at,
                    });
                }
                _ => {}
            }
        }
        Err(SyntaxError::new(
            0,
            "a { without its }; write {{ for one in the text",
        ))
    }

    fn piece(&self, text: &str, depth: usize) -> Result<(Piece, usize), SyntaxError> {
        let expression = &text[..self.expression];
        if let Some(name) = expression.strip_prefix("table.")
            && self.expression == self.end
        {
            return Ok((Piece::Table(name.to_owned()), 0));
        }
        let form = text[self.expression..self.form].trim_start_matches(':');
        if Value::Number(0.0).formed(form).is_none() {
            let why = format!("{form:?} is no form; there are d, g, .2, +.1, ±, ±2, time, rate");
            return Err(SyntaxError::new(self.expression, why));
        }
        let fallback = text[self.form..self.end].trim_start_matches('|');
        let (of, height) = parser::nested(expression, depth)?;
        let piece = Piece::Value {
            of,
            form: form.to_owned(),
            fallback: fallback.to_owned(),
        };
        Ok((piece, height))
    }
}
