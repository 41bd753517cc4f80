//! What an evaluation may cost. A file of a stranger must neither keep a program busy for ever nor fill its memory or its stack.
//!
//! Of the experiments of the library the most costly takes 280 000 steps, writes 4 MB and keeps 90 000 values.

use std::cell::Cell;

use super::Engine;
use super::case::Fault;
use crate::expression::Value;

/// Steps of an evaluation at most; a long text and a long list are many.
const MOST_STEPS: u64 = 30_000_000;
/// Expressions in expressions at most, through figures too.
const DEEPEST: usize = 200;
/// Lists in lists at most.
const DEEPEST_LIST: usize = 8;
/// Values of a list at most, those of lists in it too.
const MOST_VALUES: usize = 2_000_000;
/// Values of a list that is shown as a text at most.
const MOST_SHOWN: usize = 10_000;
/// Bytes of a text at most.
const LONGEST_TEXT: usize = 4 << 20;
/// Bytes of all texts at most.
const MOST_WRITTEN: usize = 64 << 20;
/// What a text costs besides its bytes.
const OF_A_TEXT: usize = 16;
/// Values that are kept for later at most.
const MOST_KEPT: usize = 2_000_000;
/// What a value costs that is kept, besides its own: its key.
const OF_A_KEY: usize = 8;

/// What an evaluation has cost so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    steps: Cell<u64>,
    depth: Cell<usize>,
    written: Cell<usize>,
    kept: Cell<usize>,
}

impl Spent {
    /// Nothing is kept any more.
    pub(super) fn forget(&self) {
        self.kept.set(0);
    }
}

impl Engine<'_> {
    /// Takes some steps.
    pub(super) fn spend(&self, at: usize, steps: usize) -> Result<(), Fault> {
        let steps = self.spent.steps.get().saturating_add(steps as u64);
        self.spent.steps.set(steps);
        match steps > MOST_STEPS {
            true => Err(Fault::new(at, "this takes too long")),
            false => Ok(()),
        }
    }

    /// Evaluates what stands in another expression or figure.
    pub(super) fn deeper<T>(
        &self,
        at: usize,
        evaluate: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let depth = self.spent.depth.get();
        if depth >= DEEPEST {
            return Err(Fault::new(at, "figures are nested too deeply"));
        }
        self.spent.depth.set(depth + 1);
        let value = evaluate();
        self.spent.depth.set(depth);
        value
    }

    /// What a value weighs: a number is 1.
    pub(super) fn weigh(&self, value: &Value, at: usize) -> Result<usize, Fault> {
        let weight = weight(value, DEEPEST_LIST)
            .ok_or_else(|| Fault::new(at, "lists are nested too deeply"))?;
        match weight > MOST_VALUES {
            true => Err(Fault::new(at, "this list is too long")),
            false => Ok(weight),
        }
    }

    /// Values as a list, if they are not too many together.
    pub(super) fn collected(
        &self,
        at: usize,
        values: impl IntoIterator<Item = Result<Value, Fault>>,
    ) -> Result<Vec<Value>, Fault> {
        let mut all = Vec::new();
        let mut total = 0;
        for value in values {
            self.collect(at, &mut all, &mut total, value?)?;
        }
        Ok(all)
    }

    /// Adds a value to others that weigh `total`.
    pub(super) fn collect(
        &self,
        at: usize,
        all: &mut Vec<Value>,
        total: &mut usize,
        value: Value,
    ) -> Result<(), Fault> {
        *total += self.weigh(&value, at)?;
        if *total > MOST_VALUES {
            return Err(Fault::new(at, "this list is too long"));
        }
        all.push(value);
        Ok(())
    }

    /// Whether there is room to keep a value.
    pub(super) fn may_keep(&self, value: &Value) -> bool {
        let weight = weight(value, DEEPEST_LIST).unwrap_or(MOST_KEPT);
        let kept = self.spent.kept.get() + weight + OF_A_KEY;
        let may = kept <= MOST_KEPT;
        if may {
            self.spent.kept.set(kept);
        }
        may
    }

    /// A text of so many bytes is written.
    pub(super) fn wrote(&self, bytes: usize) -> Result<(), Fault> {
        let written = self.spent.written.get().saturating_add(bytes + OF_A_TEXT);
        self.spent.written.set(written);
        match (bytes > LONGEST_TEXT, written > MOST_WRITTEN) {
            (true, _) => Err(Fault::new(0, "this text is too long")),
            (_, true) => Err(Fault::new(0, "the texts are too long together")),
            _ => Ok(()),
        }
    }

    /// Adds to a text that is being written.
    pub(super) fn append(&self, text: &mut String, more: &str) -> Result<(), Fault> {
        match text.len() + more.len() > LONGEST_TEXT {
            true => Err(Fault::new(0, "this text is too long")),
            false => {
                text.push_str(more);
                Ok(())
            }
        }
    }

    /// A list that is too long to be shown is none of a text.
    pub(super) fn may_show(&self, value: &Value, at: usize) -> Result<(), Fault> {
        match value {
            Value::List(values) if self.weigh(value, at)? > MOST_SHOWN => {
                let why = format!("a list of {} values is too long for a text", values.len());
                Err(Fault::new(at, why))
            }
            _ => Ok(()),
        }
    }
}

/// The values in a value, a long text as several; `None` if lists are nested deeper.
fn weight(value: &Value, deepest: usize) -> Option<usize> {
    match value {
        Value::None | Value::Number(_) | Value::Flag(_) => Some(1),
        Value::Text(text) => Some(1 + text.len() / 16),
        Value::List(values) => {
            let deepest = deepest.checked_sub(1)?;
            let mut all = values.iter();
            all.try_fold(1, |sum, one| Some(sum + weight(one, deepest)?))
        }
    }
}
