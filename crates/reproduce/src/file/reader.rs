//! The parts of a file that all others are made of, and the file as a whole.

use std::collections::BTreeMap;

use quell_lab::scenario::tree::{self, Node, Table, TomlType, Tree};
use quell_lab::scenario::{Problem, closest};

use super::names::Names;
use super::{Definition, Figure, Files, KEYS, Label, Over, RunKeys, SCHEMA};
use crate::expression::{Expression, Piece, SyntaxError, Template, Value, parse};

/// Collects problems.
pub(super) struct Reader<'a> {
    file: String,
    pub(super) files: Files<'a>,
    pub(super) problems: Vec<Problem>,
    pub(super) names: Names,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &str, files: Files<'a>) -> Self {
        Self {
            file: file.to_owned(),
            files,
            problems: Vec::new(),
            names: Names::default(),
        }
    }

    /// The value of `key` is wrong.
    pub(super) fn wrong(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, Some(node.found()), allowed.into());
    }

    /// Something about the table or list at `node` is wrong.
    pub(super) fn about(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, None, allowed.into());
    }

    fn push(&mut self, key: &str, node: &Node, found: Option<String>, allowed: String) {
        self.problems.push(Problem {
            file: self.file.clone(),
            origin: node.origin.clone(),
            key: key.to_owned(),
            found,
            allowed,
        });
    }

    /// The table at `node`, whose keys are all `known`.
    pub(super) fn table<'n>(
        &mut self,
        key: &str,
        node: &'n Node,
        known: &[&str],
    ) -> Option<&'n Table> {
        let table = self.any_table(key, node, &format!("with the keys {}", known.join(", ")))?;
        for (name, value) in table.iter().filter(|(name, _)| !known.contains(name)) {
            let meant = closest(name, known.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
            let whole = match key {
                "" => name.to_owned(),
                _ => format!("{key}.{name}"),
            };
            let known = known.join(", ");
            self.wrong(
                &whole,
                value,
                format!("unknown key{meant}; known are {known}"),
            );
        }
        Some(table)
    }

    /// The table at `node`, with any keys.
    pub(super) fn any_table<'n>(
        &mut self,
        key: &str,
        node: &'n Node,
        of: &str,
    ) -> Option<&'n Table> {
        match &node.value {
            Tree::Table(table) => Some(table),
            _ => {
                self.wrong(key, node, format!("must be a table {of}"));
                None
            }
        }
    }

    /// The list at `node`.
    pub(super) fn list<'n>(&mut self, key: &str, node: &'n Node) -> &'n [Node] {
        match &node.value {
            Tree::Array(nodes) => nodes,
            _ => {
                self.wrong(key, node, "must be a list");
                &[]
            }
        }
    }

    pub(super) fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        match &node.value {
            Tree::Scalar(TomlType::String, text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.wrong(key, node, "must be a text");
                None
            }
        }
    }

    pub(super) fn texts(&mut self, key: &str, node: &Node) -> Vec<String> {
        let nodes = self.list(key, node).iter();
        nodes.filter_map(|node| self.text(key, node)).collect()
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &str,
        node: &Node,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(key, node)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(key, node, format!("must be one of {}", known.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    pub(super) fn flag(&mut self, key: &str, node: &Node) -> Option<bool> {
        match &node.value {
            Tree::Scalar(TomlType::Boolean, text) => Some(text == "true"),
            _ => {
                self.wrong(key, node, "must be true or false");
                None
            }
        }
    }

    /// A value of a field.
    pub(super) fn value(&mut self, key: &str, node: &Node) -> Option<Value> {
        Some(match &node.value {
            Tree::Scalar(TomlType::String, text) => Value::Text(text.clone()),
            Tree::Scalar(TomlType::Boolean, text) => Value::Flag(text == "true"),
            Tree::Scalar(TomlType::Integer | TomlType::Float, text) => {
                let number = text.replace('_', "").parse::<f64>().ok();
                match number.filter(|number| number.is_finite()) {
                    Some(number) => Value::Number(number),
                    None => {
                        self.wrong(key, node, "must be a finite number");
                        return None;
                    }
                }
            }
            Tree::Array(nodes) => Value::List(
                nodes
                    .iter()
                    .filter_map(|node| self.value(key, node))
                    .collect(),
            ),
            Tree::Table(_) | Tree::Scalar(TomlType::Other, _) => {
                self.wrong(
                    key,
                    node,
                    "must be a number, a text, true, false, or a list of these",
                );
                return None;
            }
        })
    }

    fn syntax<T>(
        &mut self,
        key: &str,
        node: &Node,
        text: &str,
        read: Result<T, SyntaxError>,
    ) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                self.wrong(key, node, error.show(text));
                None
            }
        }
    }

    /// An expression, a number or a switch.
    pub(super) fn expression(&mut self, key: &str, node: &Node) -> Option<Expression> {
        let read = match &node.value {
            Tree::Scalar(TomlType::String, text) => {
                let read = parse(text);
                self.syntax(key, node, text, read)?
            }
            _ => Expression::value(self.value(key, node)?),
        };
        self.names.used(&self.file, key, node, &read);
        Some(read)
    }

    /// A text with expressions; a number and a switch stand for themselves.
    pub(super) fn template(&mut self, key: &str, node: &Node) -> Option<Template> {
        let text = match &node.value {
            Tree::Scalar(TomlType::String, text) => text.clone(),
            Tree::Scalar(_, text) => text.clone(),
            Tree::Array(_) | Tree::Table(_) => {
                self.wrong(key, node, "must be a text");
                return None;
            }
        };
        let read = Template::read(&text);
        let template = self.syntax(key, node, &text, read)?;
        for expression in template.expressions() {
            self.names.used(&self.file, key, node, expression);
        }
        Some(template)
    }

    /// The key of `table` as an expression.
    pub(super) fn expression_of(
        &mut self,
        path: &str,
        table: &Table,
        key: &str,
    ) -> Option<Expression> {
        let node = table.get(key)?;
        self.expression(&format!("{path}.{key}"), node)
    }

    /// The key of `table` as a template.
    pub(super) fn template_of(&mut self, path: &str, table: &Table, key: &str) -> Option<Template> {
        let node = table.get(key)?;
        self.template(&format!("{path}.{key}"), node)
    }

    /// The key of `table` as a text.
    pub(super) fn text_of(&mut self, path: &str, table: &Table, key: &str) -> Option<String> {
        let node = table.get(key)?;
        let path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        self.text(&path, node)
    }

    /// The key of `table` as a text that must be there.
    pub(super) fn needed(&mut self, path: &str, node: &Node, table: &Table, key: &str) -> String {
        if table.get(key).is_none() {
            let path = if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            };
            self.about(&path, node, "is missing; must be a text");
        }
        self.text_of(path, table, key).unwrap_or_default()
    }

    /// The file whose runs and figures this one has too: `like = "m3"`.
    fn like(&mut self, table: &Table) -> Option<Node> {
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
        let table = self.table("", root, KEYS)?;
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
        let mut lets = BTreeMap::new();
        let all = [other.and_then(|other| other.get("let")), table.get("let")];
        for node in all.into_iter().flatten() {
            for (name, node) in self
                .any_table("let", node, "of names")
                .into_iter()
                .flat_map(Table::iter)
            {
                self.declare(&format!("let.{name}"), node, name);
                if let Some(read) = self.expression(&format!("let.{name}"), node) {
                    lets.insert(name.to_owned(), read);
                }
            }
        }
        let all = [
            other.and_then(|other| other.get("figure")),
            table.get("figure"),
        ];
        let mut figures: Vec<Figure> = Vec::new();
        for node in all.into_iter().flatten() {
            for figure in self.figures(node, &lets) {
                figures.retain(|known| known.name != figure.name);
                figures.push(figure);
            }
        }
        let skip = match get("skip") {
            Some(node) => {
                let nodes = self.list("skip", node).iter();
                nodes
                    .filter_map(|node| self.expression("skip", node))
                    .collect()
            }
            None => Vec::new(),
        };
        let whens = get("when").map_or_else(Vec::new, |node| self.whens(node));
        self.names.declare(&axes, &lets, &figures);
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
        let tables = self.tables("table", table, &axes, &figures);
        let files = self.tables("csv", table, &axes, &figures);
        let pictures = table
            .get("picture")
            .map_or_else(Vec::new, |node| self.pictures(node, &axes, &figures));
        let page = table.get("page").and_then(|node| {
            let page = self.table("page", node, &["text"])?;
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
        let found = self.names.problems(&self.file);
        self.problems.extend(found);
        Some(Definition {
            title,
            source,
            runs,
            skip,
            what: what.unwrap_or_default(),
            lets,
            axes,
            whens,
            figures,
            statements,
            tables,
            files,
            pictures,
            page: page.unwrap_or_default(),
            names: std::mem::take(&mut self.names),
        })
    }

    /// A name of the file's own.
    pub(super) fn declare(&mut self, key: &str, node: &Node, name: &str) {
        const TAKEN: [&str; 12] = [
            "and",
            "or",
            "not",
            "in",
            "none",
            "true",
            "false",
            "if",
            "seconds",
            "published",
            "value",
            "label",
        ];
        let mut letters = name.chars();
        let begins = letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic());
        let usual = begins && letters.all(|next| next.is_ascii_alphanumeric() || next == '_');
        if !usual || TAKEN.contains(&name) {
            let allowed = "is no name; a name has letters, digits and _, begins with a letter, and is no word of expressions";
            self.about(key, node, allowed);
        }
    }

    fn figures(&mut self, node: &Node, lets: &BTreeMap<String, Expression>) -> Vec<Figure> {
        let Some(table) = self.any_table("figure", node, "of names with expressions") else {
            return Vec::new();
        };
        let mut figures = Vec::new();
        for (name, node) in table.iter() {
            let key = format!("figure.{name}");
            self.declare(&key, node, name);
            if let Some(figure) = self.figure(&key, name, node, lets) {
                figures.push(figure);
            }
        }
        figures
    }

    fn usual_over(&self, of: &Expression, lets: &BTreeMap<String, Expression>) -> Over {
        match Names::reads(of, lets, 0) {
            true => Over::Mean,
            false => Over::Point,
        }
    }

    fn figure(
        &mut self,
        key: &str,
        name: &str,
        node: &Node,
        lets: &BTreeMap<String, Expression>,
    ) -> Option<Figure> {
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
        let known = ["of", "over", "where", "label", "show", "published"];
        let table = self.table(key, node, &known)?;
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

    /// The label of an axis's value.
    pub(super) fn label(&mut self, key: &str, node: &Node) -> Option<Label> {
        match &node.value {
            Tree::Scalar(TomlType::String, _) => self.template(key, node).map(Label::Template),
            _ => self.value(key, node).map(Label::Value),
        }
    }
}
