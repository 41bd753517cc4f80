//! Values where every axis has its first value, without results: all names come from outside, as in the suites of cards.

use super::Engine;
use super::case::{Case, Fault, Frame};
use crate::expression::{Expression, Template, Value};

impl Engine<'_> {
    fn first(&self) -> Frame<'static> {
        Frame::at(Case {
            fixed: vec![Some(0); self.axes.len()],
            ..Case::free(0)
        })
    }

    /// The value of an expression.
    pub(crate) fn given(&self, expression: &Expression) -> Result<Value, Fault> {
        self.value(expression, &self.first())
    }

    /// A text, numbers as they are.
    pub(crate) fn given_text(&self, template: &Template) -> Result<String, Fault> {
        let text = self.setting(template, &self.first())?;
        text.ok_or_else(|| Fault::new(0, "a part of this text has no value"))
    }
}
