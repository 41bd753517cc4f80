//! What a file says of runs: scenario, changes, seeds, measurement.

use quell_lab::scenario::tree::{Node, Table, TomlType, Tree};

use super::definition::{MOST_SEEDS, QUICK, RunKeys, Seeds};
use super::keys::{SEED_RANGE, WHEN};
use super::reader::Reader;
use crate::expression::{Expression, Piece, Template};
use crate::measure::Measure;

impl Reader<'_> {
    /// The keys of runs in `table`, which is at `path`.
    pub(super) fn run_keys(&mut self, path: &str, table: &Table) -> RunKeys {
        let at = |key: &str| {
            if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            }
        };
        RunKeys {
            scenario: table
                .get("scenario")
                .and_then(|node| self.template(&at("scenario"), node)),
            set: table
                .get("set")
                .map_or_else(Vec::new, |node| self.set(&at("set"), node)),
            over_linux: table
                .get("over-linux")
                .map_or_else(Vec::new, |node| self.set(&at("over-linux"), node)),
            seeds: table
                .get("seeds")
                .and_then(|node| self.seeds(&at("seeds"), node)),
            measure: table
                .get("measure")
                .and_then(|node| self.word(&at("measure"), node, &Measure::ALL)),
            watched: table
                .get("watched")
                .and_then(|node| self.template(&at("watched"), node)),
            is_slow: table
                .get("quick")
                .and_then(|node| self.word(&at("quick"), node, &QUICK)),
        }
    }

    pub(super) fn whens(&mut self, node: &Node) -> Vec<(Expression, RunKeys)> {
        let mut all = Vec::new();
        for (number, node) in self.list("when", node).iter().enumerate() {
            let key = format!("when.{}", number + 1);
            let Some(table) = self.table(&key, node, &WHEN) else {
                continue;
            };
            let runs = self.run_keys(&key, table);
            match self.expression_of(&key, table, "where") {
                Some(filter) => all.push((filter, runs)),
                None => self.about(&key, node, "needs where = a condition"),
            }
        }
        all
    }

    /// `{ KEY = VALUE, … }`, with keys as after `--set`.
    fn set(&mut self, key: &str, node: &Node) -> Vec<(String, Template)> {
        let Some(table) = self.any_table(key, node, "of keys of the scenario with their values")
        else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, node) in table.iter() {
            let path = format!("{key}.{name}");
            if name == "run.seeds" {
                self.wrong(&path, node, "seeds are given as seeds = …");
            }
            let value = match &node.value {
                Tree::Scalar(..) => self.template(&path, node),
                Tree::Array(_) | Tree::Table(_) => self.inline(&path, node).map(Template),
            };
            all.extend(value.map(|value| (name.to_owned(), value)));
        }
        all
    }

    /// A table or list as TOML in one line, with the expressions of its texts.
    fn inline(&mut self, key: &str, node: &Node) -> Option<Vec<Piece>> {
        let plain = |text: &str| Piece::Text(text.to_owned());
        let mut pieces = Vec::new();
        match &node.value {
            Tree::Scalar(TomlType::String, text) => {
                let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
                let quoted = Node {
                    origin: node.origin.clone(),
                    value: Tree::Scalar(TomlType::String, escaped),
                };
                pieces.push(plain("\""));
                pieces.extend(self.template(key, &quoted)?.0);
                pieces.push(plain("\""));
            }
            Tree::Scalar(_, text) => pieces.push(plain(text)),
            Tree::Array(nodes) => {
                pieces.push(plain("["));
                for (number, node) in nodes.iter().enumerate() {
                    if number > 0 {
                        pieces.push(plain(", "));
                    }
                    pieces.extend(self.inline(key, node)?);
                }
                pieces.push(plain("]"));
            }
            Tree::Table(table) => {
                for (number, (name, node)) in table.iter().enumerate() {
                    let before = if number == 0 { "{ " } else { ", " };
                    pieces.push(plain(&format!("{before}{name} = ")));
                    pieces.extend(self.inline(key, node)?);
                }
                pieces.push(plain(" }"));
            }
        }
        Some(pieces)
    }

    /// `5`, `[1, 2, 3]` or `{ from = 1, count = 3 }`.
    fn seeds(&mut self, key: &str, node: &Node) -> Option<Seeds> {
        let form = "must be a number of seeds, a list of different whole numbers, or { from = 1, count = 3 }";
        let whole = |node: &Node| match &node.value {
            Tree::Scalar(TomlType::Integer, text) => text.parse::<u64>().ok(),
            _ => None,
        };
        let range = |from: u64, count: u64| {
            let is_usual = (1..=MOST_SEEDS).contains(&count) && from.checked_add(count).is_some();
            is_usual.then_some(Seeds::Range(from, count))
        };
        let seeds = match &node.value {
            Tree::Scalar(..) => whole(node).and_then(|count| range(1, count)),
            Tree::Array(nodes) => {
                let seeds: Option<Vec<u64>> = nodes.iter().map(whole).collect();
                let seeds = seeds.filter(|seeds| {
                    let mut different = seeds.clone();
                    different.sort_unstable();
                    different.dedup();
                    !seeds.is_empty()
                        && different.len() == seeds.len()
                        && seeds.len() as u64 <= MOST_SEEDS
                });
                seeds.map(Seeds::List)
            }
            Tree::Table(_) => {
                let table = self.table(key, node, &SEED_RANGE)?;
                let from = table.get("from").map_or(Some(1), whole);
                let count = table.get("count").and_then(whole);
                from.zip(count).and_then(|(from, count)| range(from, count))
            }
        };
        if seeds.is_none() {
            self.wrong(key, node, form);
        }
        seeds
    }
}
