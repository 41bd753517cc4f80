//! Expressions of experiment files: `100 * group.l4s.marked / group.l4s.packets`, `max(ratio[queue = 'pie'])`.
//!
//! A closed language of formulas: no loops, no assignment, no function in a file. What a file says is hostile input, so an expression has
//! a longest text ([`LONGEST`]), a deepest nesting ([`DEEPEST`]), and an evaluation a number of steps. Libraries were looked at: `evalexpr`
//! is AGPL since version 12 and names no place in its errors, `cel` has neither hyphens in names nor the choice of other points,
//! `rhai` is a scripting language; none has names such as `queue.l4s-5.delay_ms.p99`.

mod lexer;
mod parser;
mod template;
mod tree;
mod value;

pub(crate) use parser::{parse, parse_with_units};
pub(crate) use tree::{Binary, Expression, Node, Piece, Template, Unary};
pub(crate) use value::Value;

/// The longest expression or template, in bytes.
pub(crate) const LONGEST: usize = 65_536;
/// The deepest nesting.
const DEEPEST: usize = 48;
/// Operations in operations at most, those of a long sum too.
const HIGHEST: usize = 150;

/// Why a text is no expression, and where: the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl SyntaxError {
    pub(crate) fn new(at: usize, why: impl Into<String>) -> Self {
        Self {
            at,
            why: why.into(),
        }
    }

    /// The same `by` bytes further on.
    fn later(mut self, by: usize) -> Self {
        self.at += by;
        self
    }

    /// As a message: the column in characters, from 1.
    pub(crate) fn show(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        format!("at character {}: {}", before.chars().count() + 1, self.why)
    }
}

#[cfg(test)]
mod tests;
