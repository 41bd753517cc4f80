//! Reads the file of a suite. Reading goes on after a problem, so that one look reports everything that is wrong.

use std::sync::Arc;

use quell_lab::scenario::tree::{self, Node, Table};
use quell_lab::scenario::{Origin, Problem, Problems};
use quell_units::{Time, notation};

use super::values::axis;
use super::{Part, Statement};
use crate::characterize::run_figures::OF_WHOLE;
use crate::characterize::test_case::{Content, TestCase};
use crate::expression::Template;
use crate::file::reader::Reader;
use crate::file::{Definition, MOST_BYTES, keys};

/// Items and statements at most, each.
const MOST: usize = 200;
const RTTS: (Time, Time) = (Time::from_millis(1), Time::from_millis(1_000));

/// The suite of a file; the messages of cards name the file where it is `foreign`.
pub(super) fn part(file: &str, text: &str, foreign: bool) -> Result<Part, Problems> {
    if text.len() > MOST_BYTES {
        return Err(Problems::new(vec![Problem {
            file: file.to_owned(),
            origin: Origin::Line(1),
            key: String::new(),
            found: None,
            allowed: format!("has more than {MOST_BYTES} bytes"),
        }]));
    }
    let root = tree::read(file, text).map_err(|problem| Problems::new(vec![problem]))?;
    let mut reader = Reader::new(file, &|_| None);
    let part = reader.suite(&root, foreign);
    let found = reader.names.problems(file);
    reader.problems.extend(found);
    match part {
        Some(part) if reader.problems.is_empty() => Ok(part),
        _ => Err(Problems::new(reader.problems)),
    }
}

/// A table's keys, behind them those of another.
pub(super) struct Keys<'n> {
    pub(super) path: String,
    pub(super) node: &'n Node,
    pub(super) own: &'n Table,
    pub(super) shared: Option<&'n Table>,
}

impl<'n> Keys<'n> {
    pub(super) fn get(&self, key: &str) -> Option<(String, &'n Node)> {
        let node = self.own.get(key);
        let node = node.or_else(|| self.shared.and_then(|shared| shared.get(key)));
        Some((format!("{}.{key}", self.path), node?))
    }

    /// Every key once, its own ones first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'n str, &'n Node)> {
        let shared = self.shared.into_iter().flat_map(Table::iter);
        let others = shared.filter(|(key, _)| self.own.get(key).is_none());
        self.own.iter().chain(others)
    }
}

impl Reader<'_> {
    fn suite(&mut self, root: &Node, foreign: bool) -> Option<Part> {
        let table = self.table("", root, &keys::SUITE)?;
        match table.get("schema") {
            None => self.about("schema", root, "is missing; must be 1"),
            Some(node) if node.found() != "1" => self.wrong("schema", node, "must be 1"),
            Some(_) => {}
        }
        let lets = self.lets(table.get("let").into_iter());
        let axes = vec![axis()];
        self.names.declare(&axes, &lets.all, &[]);
        let definition = Arc::new(Definition {
            names: self.names.clone(),
            lets: lets.all,
            axes,
            ..Definition::default()
        });
        let (rtt, path_note) = self.suite_path(table);
        let notes = table.get("notes").map_or_else(Vec::new, |node| {
            let nodes = self.list("notes", node).iter();
            nodes
                .filter_map(|node| self.template("notes", node))
                .collect()
        });
        let each = table
            .get("each")
            .and_then(|node| self.table("each", node, &keys::ITEM));
        let groups = table
            .get("group")
            .and_then(|node| self.any_table("group", node, "of names with keys of groups"));
        let mut test_cases = Vec::new();
        for (id, node) in self.some("item", root, table) {
            let Some(own) = self.table(&format!("item.{id}"), node, &keys::ITEM) else {
                continue;
            };
            let keys = Keys {
                path: format!("item.{id}"),
                node,
                own,
                shared: each,
            };
            let content = self.content(&keys, groups);
            let place = match &node.origin {
                Origin::Line(line) if foreign => Some(format!("{}:{line}: item.", self.file)),
                _ => None,
            };
            test_cases.extend(content.map(|content| {
                Arc::new(TestCase {
                    id: id.to_owned(),
                    source: self.item_text(&keys, "source"),
                    weight: self.item_text(&keys, "weight"),
                    title: self.item_text(&keys, "title"),
                    unjudged: keys
                        .get("unjudged")
                        .and_then(|(path, node)| self.text(&path, node)),
                    content,
                    place,
                    rtt,
                    definition: definition.clone(),
                })
            }));
        }
        if test_cases.is_empty() {
            self.about(
                "item",
                root,
                "is missing; a suite has items, such as [item.one]",
            );
        }
        let mut statements = Vec::new();
        for (id, node) in self.some("statement", root, table) {
            statements.extend(self.bound(id, node));
        }
        let runs = test_cases.iter().filter_map(|test_case| test_case.run());
        let has_newreno = runs
            .into_iter()
            .any(|run| run.any_control || run.mentions("newreno"));
        Some(Part {
            path_note,
            notes,
            test_cases,
            statements,
            definition,
            has_newreno,
        })
    }

    /// The tables of a key, if they are not too many, with usual names.
    fn some<'n>(&mut self, key: &str, root: &Node, table: &'n Table) -> Vec<(&'n str, &'n Node)> {
        let all = table
            .get(key)
            .and_then(|node| self.any_table(key, node, "of names with tables"));
        let all: Vec<(&str, &Node)> = all.into_iter().flat_map(Table::iter).collect();
        if all.len() > MOST {
            self.about(key, root, format!("has more than {MOST} names"));
            return Vec::new();
        }
        let usual = |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '-';
        for (name, node) in &all {
            if name.is_empty() || !name.chars().all(usual) {
                self.about(
                    &format!("{key}.{name}"),
                    node,
                    "a name has small letters, digits and hyphens",
                );
            }
        }
        all
    }

    fn suite_path(&mut self, table: &Table) -> (Option<Time>, Option<Template>) {
        let node = table.get("profile");
        let Some(table) = node.and_then(|node| self.table("profile", node, &keys::PROFILE)) else {
            return (None, None);
        };
        let rtt = table.get("rtt").and_then(|node| {
            let text = self.text("profile.rtt", node)?;
            let (low, high) = RTTS;
            let rtt = notation::time(&text)
                .ok()
                .filter(|rtt| (low..=high).contains(rtt));
            if rtt.is_none() {
                self.wrong(
                    "profile.rtt",
                    node,
                    format!("must be a time from {low} to {high}"),
                );
            }
            rtt
        });
        (rtt, self.template_of("profile", table, "note"))
    }

    fn item_text(&mut self, keys: &Keys<'_>, key: &str) -> String {
        let Some((path, node)) = keys.get(key) else {
            self.about(
                &format!("{}.{key}", keys.path),
                keys.node,
                "is missing; must be a text",
            );
            return String::new();
        };
        let text = self.text(&path, node).unwrap_or_default();
        if text.contains(char::is_control) {
            self.wrong(&path, node, "must be one line");
        }
        text
    }

    pub(super) fn item_flag(&mut self, keys: &Keys<'_>, key: &str) -> bool {
        let flag = keys
            .get(key)
            .and_then(|(path, node)| self.flag(&path, node));
        flag.unwrap_or(false)
    }

    pub(super) fn item_template(&mut self, keys: &Keys<'_>, key: &str) -> Option<Template> {
        let (path, node) = keys.get(key)?;
        self.template(&path, node)
    }

    fn content(&mut self, keys: &Keys<'_>, groups: Option<&Table>) -> Option<Content> {
        if let Some((path, node)) = keys.get("cannot") {
            return self.text(&path, node).map(Content::NotRun);
        }
        if self.item_flag(keys, "described") {
            return Some(Content::Description);
        }
        if keys.get("group").is_none() {
            self.about(
                &keys.path,
                keys.node,
                "needs group = a list of groups of flows, or cannot = why it does not run",
            );
            return None;
        }
        let run = self.run(keys, groups);
        Some(match self.item_flag(keys, "parameters") {
            true => Content::Parameters(run),
            false => Content::Runs(run),
        })
    }

    /// A statement: a bound on a figure.
    fn bound(&mut self, id: &str, node: &Node) -> Option<Statement> {
        let key = format!("statement.{id}");
        let table = self.table(&key, node, &keys::BOUND)?;
        let source = self.needed(&key, node, table, "source");
        let what = self.template_of(&key, table, "what");
        let filter = self.expression_of(&key, table, "where");
        let Some(check) = table.get("check") else {
            self.about(
                &key,
                node,
                "needs check = { figure = …, at-least or at-most = … }",
            );
            return None;
        };
        let path = format!("{key}.check");
        let keys = self.table(&path, check, &keys::BOUND_OF)?;
        let group = self.text_of(&path, keys, "group");
        let figure = self.needed(&path, check, keys, "figure");
        if group.is_none() && !OF_WHOLE.contains(&figure.as_str()) {
            let node = keys.get("figure").unwrap_or(check);
            self.wrong(
                &format!("{path}.figure"),
                node,
                format!(
                    "must be one of {}; with group = a name, one of that group",
                    OF_WHOLE.join(", ")
                ),
            );
        }
        let least = self.expression_of(&path, keys, "at-least");
        let most = self.expression_of(&path, keys, "at-most");
        let (bound, at_most) = match (least, most) {
            (Some(bound), None) => (bound, false),
            (None, Some(bound)) => (bound, true),
            _ => {
                self.about(&path, check, "needs either at-least or at-most");
                return None;
            }
        };
        let Some(what) = what else {
            self.about(&key, node, "needs what = what is judged, in words");
            return None;
        };
        Some(Statement {
            what,
            source,
            filter,
            group,
            figure,
            bound,
            at_most,
        })
    }
}
