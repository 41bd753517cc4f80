//! A file as a whole.

use std::collections::BTreeMap;

use quell_lab::scenario::tree::{self, Node, Table as Keys};

use super::definition::{Axis, Figure, MOST_SEEDS, Picture, RunKeys, SCHEMA, Statement, Table};
use super::keys::{FILE, PAGE};
use super::names::Names;
use super::reader::Reader;
use crate::expression::{Expression, Piece, Template};
use crate::reference::Reference;

/// An experiment file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definition {
    pub(crate) title: String,
    pub(crate) source: String,
    /// What is known of the runs of every point.
    pub(crate) runs: RunKeys,
    /// What is recorded of other worlds.
    pub(crate) reference: Option<Reference>,
    /// Of so many axes every combination of values occurs, and no more points than that needs; without it all points.
    pub(crate) strength: Option<usize>,
    /// Seeds at most of a point whose runs scatter.
    pub(crate) most_seeds: Option<u64>,
    /// Points that are left out.
    pub(crate) skip: Vec<Expression>,
    /// Default text of a check.
    pub(crate) what: Template,
    pub(crate) lets: BTreeMap<String, Expression>,
    pub(crate) axes: Vec<Axis>,
    pub(crate) whens: Vec<(Expression, RunKeys)>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) statements: Vec<Statement>,
    /// Tables of the page, by name.
    pub(crate) tables: Vec<(String, Table)>,
    /// Files of `docs/evidence/data`.
    pub(crate) files: Vec<(String, Table)>,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) page: Template,
    /// What names mean.
    pub(crate) names: Names,
}

impl Reader<'_> {
    /// The file whose runs and figures this one has too: `like = "m3"`.
    fn like(&mut self, table: &Keys) -> Option<Node> {
        let node = table.get("like")?;
        let name = self.text("like", node)?;
        let file = format!("{name}.toml");
        let read = (self.files)(&file).map(|text| tree::read(&file, &text));
        match read {
            Some(Ok(root)) => return Some(root),
            Some(Err(problem)) => self.problems.push(problem),
            None => self.wrong("like", node, format!("there is no {file} beside this file")),
        }
        None
    }

    pub(super) fn definition(&mut self, root: &Node) -> Option<Definition> {
        let table = self.table("", root, &FILE)?;
        match table.get("schema") {
            None => self.about("schema", root, "is missing; must be 1"),
            Some(node) if node.found() != SCHEMA => self.wrong("schema", node, "must be 1"),
            Some(_) => {}
        }
        let title = self.needed("", root, table, "title");
        let source = self.needed("", root, table, "source");
        self.text_of("", table, "description");
        let like = self.like(table);
        let other = like
            .as_ref()
            .and_then(|root| self.any_table("like", root, "of keys"));
        // A key of this file, else of that one.
        let get = |key: &str| {
            table
                .get(key)
                .or_else(|| other.and_then(|other| other.get(key)))
        };
        let runs = other.map_or_else(RunKeys::default, |other| self.run_keys("", other));
        let runs = runs.then(self.run_keys("", table));
        // Names are declared before they are looked up.
        let axes = get("axis").map_or_else(Vec::new, |node| self.axes(node));
        let both = |key: &str| [other.and_then(|other| other.get(key)), table.get(key)];
        let lets = self.lets(both("let").into_iter().flatten());
        let figures = self.figures(both("figure").into_iter().flatten(), &lets);
        let skip = match get("skip") {
            Some(node) => {
                let nodes = self.list("skip", node).iter();
                nodes
                    .filter_map(|node| self.expression("skip", node))
                    .collect()
            }
            None => Vec::new(),
        };
        let reference = get("reference").and_then(|node| self.reference(node));
        let strength = self.strength(root, table);
        let most_seeds = table
            .get("most-seeds")
            .and_then(|node| self.whole("most-seeds", node, MOST_SEEDS));
        let whens = get("when").map_or_else(Vec::new, |node| self.whens(node));
        self.names.declare(&axes, &lets.all, &figures);
        let what = get("what").and_then(|node| self.template("what", node));
        let judged = get("judged").and_then(|node| self.expression("judged", node));
        let statements = match table.get("statement") {
            Some(node) => self.statements(node, table, judged.as_ref(), &axes, &figures),
            None => {
                self.about(
                    "statement",
                    root,
                    "is missing; an experiment has statements",
                );
                Vec::new()
            }
        };
        self.besides(root, &statements, reference.as_ref());
        let tables = self.tables("table", table, &axes, &figures);
        let files = self.tables("csv", table, &axes, &figures);
        let pictures = table
            .get("picture")
            .map_or_else(Vec::new, |node| self.pictures(node, &axes));
        let page = self.page(table, &tables);
        let found = self.names.problems(&self.file);
        self.problems.extend(found);
        Some(Definition {
            title,
            source,
            runs,
            reference,
            strength,
            most_seeds,
            skip,
            what: what.unwrap_or_default(),
            lets: lets.all,
            axes,
            whens,
            figures,
            statements,
            tables,
            files,
            pictures,
            page,
            names: std::mem::take(&mut self.names),
        })
    }

    fn page(&mut self, table: &Keys, tables: &[(String, Table)]) -> Template {
        let page = table.get("page").and_then(|node| {
            let page = self.table("page", node, &PAGE)?;
            self.template_of("page", page, "text")
        });
        if let Some((page, node)) = page.as_ref().zip(table.get("page")) {
            for piece in &page.0 {
                if let Piece::Table(name) = piece
                    && !tables.iter().any(|(known, _)| known == name)
                {
                    self.about("page.text", node, format!("there is no table {name}"));
                }
            }
        }
        page.unwrap_or_default()
    }
}
