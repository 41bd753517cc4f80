//! Reads what runs in an item: groups, changes, links.

use quell_lab::scenario::tree::{Node, Table, TomlType, Tree};

use super::read::Keys;
use crate::characterize::test_case::{Back, First, Run};
use crate::characterize::traffic::{Change, Front, Group, Traffic, Written};
use crate::expression::{Expression, Node as Parsed};
use crate::file::keys;
use crate::file::reader::Reader;

impl Reader<'_> {
    pub(super) fn run(&mut self, keys: &Keys<'_>, groups: Option<&Table>) -> Run {
        let buffer = keys.get("buffer").and_then(|(path, node)| {
            let number = self.value(&path, node).and_then(|value| value.number());
            let number =
                number.filter(|number| (1.0..=1e9).contains(number) && number.fract() == 0.0);
            if number.is_none() {
                self.wrong(
                    &path,
                    node,
                    "must be a number of packets from 1 to 1000000000",
                );
            }
            number.map(|number| number as u64)
        });
        let back = keys.get("both-ways").and_then(|(path, node)| {
            self.word(
                &path,
                node,
                &[("same", Back::Same), ("own-buffer", Back::OwnBuffer)],
            )
        });
        if let (Some(Back::OwnBuffer), None) = (back, keys.get("reverse")) {
            self.about(
                &keys.path,
                keys.node,
                "both-ways = \"own-buffer\" needs reverse = the rate of the other direction",
            );
        }
        let front = self.front(keys);
        let traffic = self.traffic(keys, groups, front.as_ref().map(|(first, _)| first.clone()));
        let mut run = Run {
            any_control: false,
            traffic,
            losses: self.item_flag(keys, "losses"),
            start: self.item_flag(keys, "start"),
            back,
            directions: self.item_flag(keys, "directions"),
            phases: self.item_flag(keys, "phases"),
            ratio: self.item_flag(keys, "ratio"),
            buffer,
            marks: self.item_flag(keys, "marks"),
            first: front.map(|(_, first)| first),
        };
        run.any_control = run.mentions("control");
        run
    }

    /// The first of two links.
    fn front(&mut self, keys: &Keys<'_>) -> Option<(Front, First)> {
        let (path, node) = keys.get("first")?;
        let table = self.table(&path, node, &keys::FIRST)?;
        let rate = self.template_of(&path, table, "rate");
        let queue = table
            .get("queue")
            .and_then(|node| self.queue(&format!("{path}.queue"), node));
        let first = table.get("is").and_then(|node| {
            self.word(
                &format!("{path}.is"),
                node,
                &[("same", First::Same), ("doubled", First::Doubled)],
            )
        });
        let (Some(rate), Some(queue)) = (rate, queue) else {
            self.about(&path, node, "needs rate and queue");
            return None;
        };
        Some((Front { rate, queue }, first.unwrap_or(First::Written)))
    }

    fn traffic(
        &mut self,
        keys: &Keys<'_>,
        groups: Option<&Table>,
        first: Option<Front>,
    ) -> Traffic {
        let mut all = Vec::new();
        if let Some((path, node)) = keys.get("group") {
            for (number, node) in self.list(&path, node).iter().enumerate() {
                all.extend(self.group(&format!("{path}.{}", number + 1), node, groups));
            }
        }
        let mut changes = Vec::new();
        if let Some((path, node)) = keys.get("at") {
            for (number, node) in self.list(&path, node).iter().enumerate() {
                changes.extend(self.change(&format!("{path}.{}", number + 1), node));
            }
        }
        Traffic {
            rate: self.item_template(keys, "rate"),
            queue: keys
                .get("queue")
                .and_then(|(path, node)| self.queue(&path, node)),
            reverse: self.item_template(keys, "reverse"),
            first,
            groups: all,
            changes,
            measured: self.item_template(keys, "measured"),
            settle: self.item_template(keys, "settle"),
        }
    }

    /// The queue of a scenario file: its kind, and its other parameters but the limit.
    fn queue(&mut self, path: &str, node: &Node) -> Option<Vec<(String, Written)>> {
        let table = self.any_table(path, node, "such as { kind = \"codel\", ecn = true }")?;
        if table.get("kind").is_none() {
            self.about(path, node, "needs kind = the kind of queue");
        }
        if let Some(node) = table.get("limit") {
            self.wrong(
                &format!("{path}.limit"),
                node,
                "is the buffer of the item; give buffer = a number of packets",
            );
        }
        let mut all = self.written_pairs(path, table.iter());
        all.sort_by_key(|(key, _)| key != "kind");
        Some(all)
    }

    /// A group; the suite's group of the same name has further keys.
    fn group(&mut self, path: &str, node: &Node, groups: Option<&Table>) -> Option<Group> {
        let own = self.any_table(path, node, "such as { name = \"bulk\", count = 2 }")?;
        let name = self.needed(path, node, own, "name");
        let shared = groups.and_then(|groups| groups.get(&name));
        let shared = shared
            .and_then(|node| self.any_table(&format!("group.{name}"), node, "of keys of a group"));
        let keys = Keys {
            path: path.to_owned(),
            node,
            own,
            shared,
        };
        let weight = shared.map_or(0, weigh);
        if !self.may_copy(path, node, weight) {
            return None;
        }
        let pairs: Vec<(&str, &Node)> = keys.iter().filter(|(key, _)| *key != "name").collect();
        let keys = self.written_pairs(path, pairs.into_iter());
        Some(Group { name, keys })
    }

    fn change(&mut self, path: &str, node: &Node) -> Option<Change> {
        let table = self.table(path, node, &keys::CHANGE)?;
        let time = self.template_of(path, table, "time");
        let repeat = self.template_of(path, table, "repeat");
        let set = table
            .get("set")
            .and_then(|node| self.any_table(&format!("{path}.set"), node, "of keys with values"));
        let (Some(time), Some(set)) = (time, set) else {
            self.about(path, node, "needs time and set");
            return None;
        };
        let set = self.written_pairs(&format!("{path}.set"), set.iter());
        Some(Change { time, repeat, set })
    }

    fn written_pairs<'n>(
        &mut self,
        path: &str,
        all: impl Iterator<Item = (&'n str, &'n Node)>,
    ) -> Vec<(String, Written)> {
        let read = all.filter_map(|(key, node)| {
            Some((
                key.to_owned(),
                self.written(&format!("{path}.{key}"), node)?,
            ))
        });
        read.collect()
    }

    /// A value of a scenario, with expressions in its texts.
    fn written(&mut self, path: &str, node: &Node) -> Option<Written> {
        Some(match &node.value {
            Tree::Scalar(TomlType::String, _) => Written::Text(self.template(path, node)?),
            Tree::Scalar(TomlType::Other, _) => {
                self.wrong(
                    path,
                    node,
                    "must be a text, a number, true, false, a list or a table",
                );
                return None;
            }
            Tree::Scalar(_, text) => Written::Plain(text.clone()),
            Tree::Array(nodes) => Written::List(
                nodes
                    .iter()
                    .filter_map(|node| self.written(path, node))
                    .collect(),
            ),
            Tree::Table(table) => Written::Table(self.written_pairs(path, table.iter())),
        })
    }
}

/// About what a copy of a table takes, as expressions weigh.
fn weigh(table: &Table) -> usize {
    let of = |node: &Node| match &node.value {
        Tree::Scalar(_, text) => 4 + text.len() / 16,
        Tree::Array(nodes) => 4 * nodes.len(),
        Tree::Table(table) => weigh(table),
    };
    table
        .iter()
        .map(|(key, node)| 4 + key.len() / 16 + of(node))
        .sum()
}

impl Run {
    /// Whether its groups name a value themselves.
    pub(super) fn mentions(&self, name: &str) -> bool {
        let groups = self.traffic.groups.iter();
        groups
            .flat_map(|group| &group.keys)
            .any(|(_, value)| value.mentions(name))
    }
}

impl Written {
    fn mentions(&self, name: &str) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Text(template) => template.expressions().any(|one| mentions(one, name)),
            Self::List(all) => all.iter().any(|one| one.mentions(name)),
            Self::Table(all) => all.iter().any(|(_, one)| one.mentions(name)),
        }
    }
}

fn mentions(expression: &Expression, name: &str) -> bool {
    matches!(&expression.node, Parsed::Name(used) if used == name)
        || expression
            .parts()
            .into_iter()
            .any(|part| mentions(part, name))
}
