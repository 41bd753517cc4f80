//! Where each key of a scenario was given, so that a problem names its line.

use super::Hop;
use super::problem::Problem;
use super::tree::{Node, Tree};

/// Finds where a key was given.
pub(super) struct Places<'a> {
    file: &'a str,
    root: &'a Node,
}

impl<'a> Places<'a> {
    pub(super) fn new(file: &'a str, root: &'a Node) -> Self {
        Self { file, root }
    }

    /// The number of entries of the list `key` at the top.
    pub(super) fn length(&self, key: &str) -> usize {
        match step(self.root, key).map(|node| &node.value) {
            Some(Tree::Array(all)) => all.len(),
            _ => 0,
        }
    }

    /// A problem with `key`, at its own place or at the nearest table that should hold it. `found` stands for a value that
    /// nobody wrote.
    pub(super) fn problem(
        &self,
        key: &str,
        found: impl ToString,
        allowed: impl Into<String>,
    ) -> Problem {
        let mut at = self.root;
        let mut whole = true;
        for part in key.split('.') {
            match step(at, part) {
                Some(next) => at = next,
                None => {
                    whole = false;
                    break;
                }
            }
        }
        let found = found.to_string();
        let written = whole && matches!(at.value, Tree::Scalar(..));
        Problem {
            file: self.file.to_owned(),
            origin: at.origin.clone(),
            key: key.to_owned(),
            found: if written {
                Some(at.found())
            } else {
                Some(found).filter(|found| !found.is_empty())
            },
            allowed: allowed.into(),
        }
    }
}

/// One part of a dotted key down the tree; members of a list have a name, or a position from 1.
fn step<'a>(node: &'a Node, part: &str) -> Option<&'a Node> {
    match &node.value {
        Tree::Table(table) => table.get(part),
        Tree::Array(nodes) => {
            let named = |node: &&Node| match &node.value {
                Tree::Table(table) => table
                    .get("name")
                    .is_some_and(|name| name.found().trim_matches('"') == part),
                _ => false,
            };
            let by_position = || {
                part.parse::<usize>()
                    .ok()
                    .and_then(|position| nodes.get(position.checked_sub(1)?))
            };
            // Links may have the names of their positions.
            let by_default = || {
                let position = part.strip_prefix(Hop::ONLY_NAME)?.parse::<usize>().ok()?;
                nodes.get(position.checked_sub(1)?)
            };
            let found = nodes
                .iter()
                .find(named)
                .or_else(by_position)
                .or_else(by_default);
            match (found, &nodes[..]) {
                // The only one of a list needs no name.
                (None, [only]) => step(only, part),
                (found, _) => found,
            }
        }
        Tree::Scalar(..) => None,
    }
}
