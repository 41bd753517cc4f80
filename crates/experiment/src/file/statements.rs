//! The statements of a file, with their checks and guards.

use quell_lab::scenario::tree::{Node, Table, Tree};

use super::definition::{Axis, Bound, Check, Clause, Figure, Form, LEVELS, Statement};
use super::keys::{CHECK, CLAUSE, STATEMENT};
use super::reader::Reader;
use crate::expression::{Expression, Node as Part, Template};
use crate::ruling::Level;

pub(super) const BOUNDS: [(&str, Bound); 7] = [
    ("from", Bound::AtLeast),
    ("to", Bound::AtMost),
    ("is", Bound::Is),
    ("above", Bound::Above),
    ("below", Bound::Below),
    ("at-least", Bound::AtLeast),
    ("at-most", Bound::AtMost),
];

impl Reader<'_> {
    pub(super) fn statements(
        &mut self,
        node: &Node,
        root: &Table,
        judged: Option<&Expression>,
        axes: &[Axis],
        figures: &[Figure],
    ) -> Vec<Statement> {
        let Some(table) = self.any_table("statement", node, "of IDs with statements") else {
            return Vec::new();
        };
        let reasons = root
            .get("reason")
            .and_then(|node| self.any_table("reason", node, "of names with texts"));
        let mut statements = Vec::new();
        for (id, node) in table.iter() {
            let usual =
                |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '-';
            if id.is_empty() || !id.chars().all(usual) {
                self.about(
                    &format!("statement.{id}"),
                    node,
                    "an ID has small letters, digits and hyphens",
                );
            }
            let mut read = self.statement(id, node, reasons, axes, figures);
            if let Some(read) = &mut read {
                let weight = judged.map_or(0, Expression::weight);
                if read.filter.is_none() && self.may_copy("judged", node, weight) {
                    read.filter = judged.cloned();
                }
            }
            statements.extend(read);
        }
        statements
    }

    fn statement(
        &mut self,
        id: &str,
        node: &Node,
        reasons: Option<&Table>,
        axes: &[Axis],
        figures: &[Figure],
    ) -> Option<Statement> {
        let key = format!("statement.{id}");
        let table = self.table(&key, node, &STATEMENT)?;
        let published = self.needed(&key, node, table, "published");
        let differs = self.reason(&key, table, "differs", reasons);
        let cannot = self.reason(&key, table, "cannot", reasons);
        let checked = match cannot {
            Some(_) => self
                .text_of(&key, table, "checked")
                .unwrap_or_else(|| "none".to_owned()),
            None => self.needed(&key, node, table, "checked"),
        };
        for (name, text) in [("published", &published), ("checked", &checked)] {
            if text.contains(['\n', '|']) {
                self.about(
                    &format!("{key}.{name}"),
                    node,
                    "must be one line without |, because it stands in a table",
                );
            }
        }
        let filter = self.expression_of(&key, table, "where");
        let mut checks = |name: &str| match table.get(name) {
            Some(node) => self.checks(&format!("{key}.{name}"), node, axes, figures),
            None => Vec::new(),
        };
        let (checks, guards) = (checks("check"), checks("guard"));
        if cannot.is_some() && (differs.is_some() || !checks.is_empty()) {
            self.about(
                &key,
                node,
                "cannot be judged, so it has neither check nor differs",
            );
        }
        if cannot.is_none() && checks.is_empty() {
            self.about(
                &key,
                node,
                "has no check; give one, or say why it cannot be judged: cannot = …",
            );
        }
        Some(Statement {
            id: id.to_owned(),
            published,
            checked,
            filter,
            checks,
            guards,
            differs,
            cannot,
            shown: self.template_of(&key, table, "shown"),
            clause: table
                .get("clause")
                .and_then(|node| self.clause(&format!("{key}.clause"), node)),
        })
    }

    fn clause(&mut self, key: &str, node: &Node) -> Option<Clause> {
        let table = self.table(key, node, &CLAUSE)?;
        let by = self.needed(key, node, table, "by");
        let level = table.get("level").map_or(Some(Level::None), |node| {
            self.word(&format!("{key}.level"), node, &LEVELS)
        })?;
        let mut reasons = |name: &str| {
            let node = table.get(name)?;
            let key = format!("{key}.{name}");
            let reasons = self.any_table(&key, node, "of reasons with conditions")?;
            let read = reasons
                .iter()
                .filter_map(|(why, node)| Some((why.to_owned(), self.expression(&key, node)?)));
            Some(read.collect::<Vec<_>>())
        };
        let (not_applicable, open) = (reasons("na"), reasons("open"));
        let mut flag = |name: &str| {
            let node = table.get(name);
            node.and_then(|node| self.flag(&format!("{key}.{name}"), node)) == Some(true)
        };
        let (is_note, is_quick) = (flag("note"), flag("quick"));
        Some(Clause {
            by,
            level,
            not_applicable: not_applicable.unwrap_or_default(),
            open: open.unwrap_or_default(),
            fails: self.expression_of(key, table, "fail"),
            is_note,
            is_quick,
        })
    }

    /// A text, or `{NAME}`: that of `[reason]`.
    fn reason(
        &mut self,
        path: &str,
        table: &Table,
        key: &str,
        reasons: Option<&Table>,
    ) -> Option<String> {
        let node = table.get(key)?;
        let path = format!("{path}.{key}");
        let text = self.text(&path, node)?;
        let name = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'));
        let Some(name) = name.filter(|name| !name.contains(['{', '}', ' '])) else {
            return Some(text);
        };
        match reasons.and_then(|reasons| reasons.get(name)) {
            Some(node) => {
                let text = self.text(&format!("reason.{name}"), node)?;
                self.may_copy(&path, node, 1 + text.len() / 16)
                    .then_some(text)
            }
            None => {
                self.wrong(&path, node, format!("there is no {name} in [reason]"));
                None
            }
        }
    }

    fn checks(&mut self, key: &str, node: &Node, axes: &[Axis], figures: &[Figure]) -> Vec<Check> {
        match &node.value {
            Tree::Array(nodes) => {
                let nodes = nodes.iter().enumerate();
                nodes
                    .filter_map(|(at, node)| {
                        self.check(&format!("{key}.{}", at + 1), node, axes, figures)
                    })
                    .collect()
            }
            _ => self.check(key, node, axes, figures).into_iter().collect(),
        }
    }

    fn check(
        &mut self,
        key: &str,
        node: &Node,
        axes: &[Axis],
        figures: &[Figure],
    ) -> Option<Check> {
        let table = self.table(key, node, &CHECK)?;
        let figure = self.named_figure(key, node, table, figures)?;
        let value = match &figure {
            Some((_, name)) => Some(Expression {
                at: 0,
                node: Part::Name(name.clone()),
            }),
            None => self.expression_of(key, table, "value"),
        };
        let form = self.form(
            key,
            node,
            table,
            figure.as_ref().map(|(_, name)| name.as_str()),
        )?;
        if value.is_none() && !matches!(form, Form::Holds(_)) {
            self.about(key, node, "needs figure = a name, or value = an expression");
            return None;
        }
        let filter = self.expression_of(key, table, "where");
        let what = self.template_of(key, table, "what");
        let each = match table.get("each") {
            Some(node) => self.places(&format!("{key}.each"), node, axes),
            None => {
                let used = [value.as_ref(), filter.as_ref()].into_iter().flatten();
                let used = used.chain(form.expressions());
                let depends = used.fold(0, |all, one| all | self.names.depends(one));
                self.names.places(depends)
            }
        };
        let label = self.template_of(key, table, "label");
        let of_figure = figure.as_ref().map(|(at, _)| &figures[*at].label);
        let label = label.or_else(|| {
            let may = self.may_copy(key, node, of_figure.map_or(0, Template::weight));
            of_figure.filter(|_| may).cloned()
        });
        let guard = table
            .get("guard")
            .and_then(|node| self.value(&format!("{key}.guard"), node));
        Some(Check {
            value,
            figure: figure.map(|(at, _)| at),
            label,
            form,
            filter,
            only: table
                .get("only")
                .map(|node| self.texts(&format!("{key}.only"), node)),
            except: table
                .get("except")
                .map_or_else(Vec::new, |node| self.texts(&format!("{key}.except"), node)),
            each,
            is_of_runs: table
                .get("runs")
                .and_then(|node| self.flag(&format!("{key}.runs"), node))
                .unwrap_or(false),
            what,
            guard: guard.and_then(|guard| guard.number()),
        })
    }

    /// The figure that a check names, if it names one; `None` if there is none of that name.
    #[expect(
        clippy::option_option,
        reason = "none is named, or one is named that is not there"
    )]
    fn named_figure(
        &mut self,
        key: &str,
        node: &Node,
        table: &Table,
        figures: &[Figure],
    ) -> Option<Option<(usize, String)>> {
        let Some(name) = self.text_of(key, table, "figure") else {
            return Some(None);
        };
        if let Some(at) = figures.iter().position(|figure| figure.name == name) {
            return Some(Some((at, name)));
        }
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        let known = names.join(", ");
        self.about(
            &format!("{key}.figure"),
            node,
            format!("there is no figure {name}; there are {known}"),
        );
        None
    }

    fn form(
        &mut self,
        key: &str,
        node: &Node,
        table: &Table,
        figure: Option<&str>,
    ) -> Option<Form> {
        if let Some(holds) = self.expression_of(key, table, "holds") {
            return Some(Form::Holds(holds));
        }
        if table.get("beside").is_some() {
            return self.beside(key, node, table);
        }
        if let Some(percent) = self.expression_of(key, table, "within") {
            let near = self.expression_of(key, table, "near");
            let of = near.or_else(|| self.expression_of(key, table, "of"));
            let field = figure.filter(|name| self.names.field(name).is_some());
            let of = of.or_else(|| {
                Some(Expression {
                    at: 0,
                    node: Part::Published(field?.to_owned()),
                })
            });
            let Some(of) = of else {
                self.about(key, node, "within needs of = an expression, or a published field with the name of the figure");
                return None;
            };
            let or = self.expression_of(key, table, "or-within");
            return Some(Form::Within { percent, of, or });
        }
        let mut bounds = Vec::new();
        for (name, bound) in BOUNDS {
            if let Some(read) = self.expression_of(key, table, name) {
                bounds.push((bound, read));
            }
        }
        if bounds.is_empty() {
            self.about(
                key,
                node,
                "needs within, holds, or a bound: from, to, is, above, below, at-least, at-most",
            );
            return None;
        }
        Some(Form::Bounds(bounds))
    }

    /// The places of axes by their names.
    pub(super) fn places(&mut self, key: &str, node: &Node, axes: &[Axis]) -> Vec<usize> {
        let mut places = Vec::new();
        for name in self.texts(key, node) {
            match axes.iter().position(|axis| axis.name == name) {
                Some(place) => places.push(place),
                None => {
                    let known: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
                    self.about(
                        key,
                        node,
                        format!("{name} is no axis; axes are {}", known.join(", ")),
                    );
                }
            }
        }
        places
    }
}

impl Form {
    /// The expressions in it.
    fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Within { percent, of, or } => [Some(percent), Some(of), or.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
            Self::Bounds(bounds) => bounds.iter().map(|(_, bound)| bound).collect(),
            Self::Holds(holds) => vec![holds],
            Self::Beside(_) => Vec::new(),
        }
    }
}
