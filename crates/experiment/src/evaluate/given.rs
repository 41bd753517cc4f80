//! Values where every axis has its first value, without results: all names come from outside, as in the suites of cards.

use serde_json::Value as Json;

use super::case::{Case, Fault, Frame, Mode};
use super::{Engine, Key, RunResult};
use crate::expression::{Expression, Template, Value};

impl Engine<'_> {
    /// Takes the results of runs, each with its seed, where there are no axes.
    pub(crate) fn take_runs(&mut self, runs: impl IntoIterator<Item = (u64, Json)>) {
        let runs = runs.into_iter().map(|(seed, json)| RunResult {
            seed,
            json,
            measured: None,
        });
        self.results.insert(Key::new(), runs.collect());
        self.forget();
    }

    /// The value of an expression in one of these results, in their order.
    pub(crate) fn of_run(&self, expression: &Expression, run: usize) -> Result<Value, Fault> {
        let frame = Frame::at(Case::free(self.axes.len()));
        self.value(expression, &frame.of(Mode::Run(run)))
    }

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
