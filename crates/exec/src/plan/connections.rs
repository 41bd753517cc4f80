//! What happens to connections at planned times: `--at 5s 'cut=rst to :443'` to those that are open, `--at 5s new=refuse` to new ones.
//!
//! They are no part of a scenario, whose packets need no relay; `[exec]` of a result has them.

use quell_scenario::tree::{Node, Tree};
use quell_units::{Time, notation};

use crate::option_error::OptionError;
use crate::relay::cut::Cut;

/// A cut at a time.
#[derive(Debug, Clone)]
pub(crate) struct PlannedCut {
    pub(crate) at: Time,
    pub(crate) cut: Cut,
    /// As `[exec]` of a result has it: `5s new=refuse to :443`.
    pub(crate) text: String,
}

impl PlannedCut {
    /// What the wish for this key and value asks for; `None` where the key is of something else.
    pub(super) fn wish(at: Time, key: &str, value: &str) -> Option<Result<Self, OptionError>> {
        let key = key.trim();
        // Blanks of any kind are one.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let fits = |cut: Cut| match cut.how.key() == key {
            true => Ok(cut),
            false => Err(OptionError::How(value.clone())),
        };
        let wished = || {
            Ok(Self {
                at,
                cut: value.parse().and_then(fits)?,
                text: format!("{at} {key}={value}"),
            })
        };
        ["cut", "new"].contains(&key).then(wished)
    }

    fn of_text(text: &str) -> Option<Self> {
        let (at, wish) = text.split_once(' ')?;
        let (key, value) = wish.split_once('=')?;
        Self::wish(notation::time(at).ok()?, key, value)?.ok()
    }
}

/// Those that `[exec]` of a result lists.
pub(super) fn of_result(exec: Option<&Node>) -> Vec<PlannedCut> {
    let Some(Tree::Table(table)) = exec.map(|exec| &exec.value) else {
        return Vec::new();
    };
    let Some(Tree::Array(all)) = table.get("connections").map(|node| &node.value) else {
        return Vec::new();
    };
    let read = all.iter().filter_map(|one| match &one.value {
        Tree::Scalar(_, text) => PlannedCut::of_text(text),
        _ => None,
    });
    read.collect()
}
