//! What a file says of figures that are recorded of another world, and of which points run.

use quell_lab::results::present::csv_cells;
use quell_lab::scenario::tree::{Node, Table, Tree};

use super::definition::{Form, METHODS, MOST_STRENGTH, Statement};
use super::keys::REFERENCE;
use super::reader::Reader;
use crate::reference::{Beside, Recorded, Reference};

impl Reader<'_> {
    /// `reference = { file = "grid.csv", world = "virtual", point = "{…}", row = "{…}" }`
    pub(super) fn reference(&mut self, node: &Node) -> Option<Reference> {
        let table = self.table("reference", node, &REFERENCE)?;
        let file = self.needed("reference", node, table, "file");
        let worlds = match table.get("world") {
            Some(node) if matches!(node.value, Tree::Array(_)) => {
                self.texts("reference.world", node)
            }
            Some(node) => self.text("reference.world", node).into_iter().collect(),
            None => Vec::new(),
        };
        if worlds.is_empty() {
            self.about(
                "reference.world",
                node,
                "must be the world that is recorded, or several",
            );
        }
        for key in ["point", "row"] {
            if table.get(key).is_none() {
                self.about(
                    &format!("reference.{key}"),
                    node,
                    "is missing; must be a text",
                );
            }
        }
        let Some(text) = (self.files)(&file) else {
            self.about("reference.file", node, format!("there is no {file}"));
            return None;
        };
        let rows: Vec<Vec<String>> = text.lines().map(csv_cells).collect();
        let recorded = Recorded::parse(&rows);
        if let Err(line) = recorded {
            let allowed = format!("line {line} of {file} must have point, seeds and figure");
            self.about("reference.file", node, allowed);
        }
        let recorded = recorded.ok()?;
        Some(Reference {
            file,
            worlds,
            point: self.template_of("reference", table, "point")?,
            row: self.template_of("reference", table, "row")?,
            seeds: Some(recorded.seeds()),
            recorded,
        })
    }

    /// `beside = "virtual", within = 8, or-within = 0.2, absent = 0`
    pub(super) fn beside(&mut self, key: &str, node: &Node, table: &Table) -> Option<Form> {
        let world = self.text_of(key, table, "beside")?;
        let mut number = |name: &str| {
            let node = table.get(name)?;
            self.value(&format!("{key}.{name}"), node)?.number()
        };
        let (percent, or) = (number("within"), number("or-within"));
        let absent = number("absent");
        if table.get("figure").is_none() || percent.or(or).is_none() {
            self.about(
                key,
                node,
                "beside needs a figure, and within or or-within as numbers",
            );
        }
        Some(Form::Beside(Beside {
            world,
            percent: percent.unwrap_or(0.0),
            or: or.unwrap_or(0.0),
            absent,
        }))
    }

    /// What is compared needs a record.
    pub(super) fn besides(
        &mut self,
        root: &Node,
        statements: &[Statement],
        reference: Option<&Reference>,
    ) {
        for statement in statements {
            for check in statement.checks.iter().chain(&statement.guards) {
                if let Form::Beside(beside) = &check.form
                    && !reference.is_some_and(|one| one.worlds.contains(&beside.world))
                {
                    let allowed = format!("{} is no world of reference", beside.world);
                    self.about(&format!("statement.{}", statement.id), root, allowed);
                }
            }
        }
    }

    /// `method = "covering"` with `strength`: of so many axes every combination of values occurs.
    pub(super) fn strength(&mut self, root: &Node, table: &Table) -> Option<usize> {
        let method = table.get("method");
        let is_covering = method.and_then(|node| self.word("method", node, &METHODS));
        let Some(node) = table.get("strength") else {
            if is_covering == Some(true) {
                self.about("method", root, "covering needs strength = 2 or the like");
            }
            return None;
        };
        let strength = self.whole("strength", node, MOST_STRENGTH)?;
        if is_covering != Some(true) {
            self.about(
                "strength",
                node,
                "has an effect only with method = \"covering\"",
            );
        }
        Some(strength as usize)
    }

    /// A whole number from 1 on.
    pub(super) fn whole(&mut self, key: &str, node: &Node, most: u64) -> Option<u64> {
        let number = self.value(key, node)?.number()?;
        let is_usual = number.fract() == 0.0 && (1.0..=most as f64).contains(&number);
        if !is_usual {
            self.wrong(
                key,
                node,
                format!("must be a whole number from 1 to {most}"),
            );
        }
        is_usual.then_some(number as u64)
    }
}
