//! The names that a file gives to formulas: `[let]` and `[figure]`.

use std::collections::{BTreeMap, BTreeSet};

use quell_lab::scenario::tree::{Node, Table, Tree};

use super::definition::{Figure, MOST_NAMES, Over};
use super::keys::FIGURE;
use super::names::Names;
use super::reader::Reader;
use crate::expression::{Expression, Piece, Template, Value};

/// The formulas of `[let]`, and those that read results themselves.
#[derive(Debug, Default)]
pub(crate) struct Lets {
    pub(crate) all: BTreeMap<String, Expression>,
    reading: BTreeSet<String>,
}

impl Lets {
    fn of(all: BTreeMap<String, Expression>) -> Self {
        let mut reading = BTreeSet::new();
        // Each round finds at least one more, or is the last.
        loop {
            let is_new =
                |name: &&String| !reading.contains(*name) && Names::reads(&all[*name], &reading);
            let found: Vec<String> = all.keys().filter(is_new).cloned().collect();
            if found.is_empty() {
                return Self { all, reading };
            }
            reading.extend(found);
        }
    }
}

impl Reader<'_> {
    /// `[let]` of the file and before it of the one that it is like.
    pub(crate) fn lets<'n>(&mut self, tables: impl Iterator<Item = &'n Node>) -> Lets {
        let mut lets = BTreeMap::new();
        for node in tables {
            let table = self.any_table("let", node, "of names");
            for (name, node) in self.few("let", node, table) {
                self.declare(&format!("let.{name}"), node, name);
                if let Some(read) = self.expression(&format!("let.{name}"), node) {
                    lets.insert(name.to_owned(), read);
                }
            }
        }
        Lets::of(lets)
    }

    /// The names of a table, if they are not too many.
    fn few<'n>(
        &mut self,
        key: &str,
        node: &Node,
        table: Option<&'n Table>,
    ) -> impl Iterator<Item = (&'n str, &'n Node)> + use<'n> {
        let count = table.map_or(0, |table| table.iter().count());
        if count > MOST_NAMES {
            self.about(key, node, format!("has more than {MOST_NAMES} names"));
        }
        table.into_iter().flat_map(Table::iter).take(MOST_NAMES)
    }

    /// `[figure]` of the file and before it of the one that it is like, whose figures it may replace.
    pub(super) fn figures<'n>(
        &mut self,
        tables: impl Iterator<Item = &'n Node>,
        lets: &Lets,
    ) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        for node in tables {
            let table = self.any_table("figure", node, "of names with expressions");
            for (name, node) in self.few("figure", node, table) {
                let key = format!("figure.{name}");
                self.declare(&key, node, name);
                if let Some(figure) = self.figure(&key, name, node, lets) {
                    figures.retain(|known| known.name != figure.name);
                    figures.push(figure);
                }
            }
        }
        figures
    }

    fn usual_over(&self, of: &Expression, lets: &Lets) -> Over {
        match Names::reads(of, &lets.reading) {
            true => Over::Mean,
            false => Over::Point,
        }
    }

    fn figure(&mut self, key: &str, name: &str, node: &Node, lets: &Lets) -> Option<Figure> {
        let plain = |of, over| Figure {
            name: name.to_owned(),
            of,
            over,
            filter: None,
            label: Template(vec![Piece::Text(name.to_owned())]),
            show: None,
            published: None,
        };
        let Tree::Table(_) = &node.value else {
            let of = self.expression(key, node)?;
            let over = self.usual_over(&of, lets);
            return Some(plain(of, over));
        };
        let table = self.table(key, node, &FIGURE)?;
        if table.get("of").is_none() {
            self.about(key, node, "needs of = an expression");
        }
        let of = self.expression_of(key, table, "of")?;
        let over = table
            .get("over")
            .and_then(|node| self.word(&format!("{key}.over"), node, &Over::ALL));
        let show = self.text_of(key, table, "show");
        if let Some(form) = show
            .as_deref()
            .filter(|form| Value::Number(0.0).formed(form).is_none())
        {
            let form = format!("{form:?} is no form; there are d, g, .2, +.1");
            self.about(&format!("{key}.show"), node, form);
        }
        let over = over.unwrap_or_else(|| self.usual_over(&of, lets));
        Some(Figure {
            filter: self.expression_of(key, table, "where"),
            label: self
                .template_of(key, table, "label")
                .unwrap_or_else(|| Template(vec![Piece::Text(name.to_owned())])),
            show,
            published: self.expression_of(key, table, "published"),
            ..plain(of, over)
        })
    }
}
