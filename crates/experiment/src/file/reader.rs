//! The parts of a file that all others are made of.

use quell_lab::scenario::tree::{Node, Table, TomlType, Tree};
use quell_lab::scenario::{Problem, closest};

use super::definition::{Files, Label, MOST_COPIED, MOST_PROBLEMS};
use super::names::Names;
use crate::expression::{Expression, SyntaxError, Template, Value, parse};

/// Collects problems.
pub(crate) struct Reader<'a> {
    pub(crate) file: String,
    pub(crate) files: Files<'a>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) names: Names,
    /// What was copied so far of what many places share.
    copied: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &str, files: Files<'a>) -> Self {
        Self {
            file: file.to_owned(),
            files,
            problems: Vec::new(),
            names: Names::default(),
            copied: 0,
        }
    }

    /// The value of `key` is wrong.
    pub(crate) fn wrong(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, Some(node.found()), allowed.into());
    }

    /// Something about the table or list at `node` is wrong.
    pub(crate) fn about(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, None, allowed.into());
    }

    fn push(&mut self, key: &str, node: &Node, found: Option<String>, allowed: String) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        self.problems.push(Problem {
            file: self.file.clone(),
            origin: node.origin.clone(),
            key: key.to_owned(),
            found,
            allowed,
        });
    }

    /// Whether so much may be copied once more. Many places that share something long would fill the memory.
    pub(crate) fn may_copy(&mut self, key: &str, node: &Node, weight: usize) -> bool {
        self.copied = self.copied.saturating_add(weight);
        let may = self.copied <= MOST_COPIED;
        if !may {
            self.about(key, node, "too much is repeated in too many places");
        }
        may
    }

    /// The table at `node`, whose keys are all `known`.
    pub(crate) fn table<'n>(
        &mut self,
        key: &str,
        node: &'n Node,
        known: &[impl AsRef<str>],
    ) -> Option<&'n Table> {
        let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
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
    pub(crate) fn any_table<'n>(
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
    pub(crate) fn list<'n>(&mut self, key: &str, node: &'n Node) -> &'n [Node] {
        match &node.value {
            Tree::Array(nodes) => nodes,
            _ => {
                self.wrong(key, node, "must be a list");
                &[]
            }
        }
    }

    pub(crate) fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        match &node.value {
            Tree::Scalar(TomlType::String, text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.wrong(key, node, "must be a text");
                None
            }
        }
    }

    pub(crate) fn texts(&mut self, key: &str, node: &Node) -> Vec<String> {
        let nodes = self.list(key, node).iter();
        nodes.filter_map(|node| self.text(key, node)).collect()
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(
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

    pub(crate) fn flag(&mut self, key: &str, node: &Node) -> Option<bool> {
        match &node.value {
            Tree::Scalar(TomlType::Boolean, text) => Some(text == "true"),
            _ => {
                self.wrong(key, node, "must be true or false");
                None
            }
        }
    }

    /// A value of a field.
    pub(crate) fn value(&mut self, key: &str, node: &Node) -> Option<Value> {
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
    pub(crate) fn expression(&mut self, key: &str, node: &Node) -> Option<Expression> {
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
    pub(crate) fn template(&mut self, key: &str, node: &Node) -> Option<Template> {
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
    pub(crate) fn expression_of(
        &mut self,
        path: &str,
        table: &Table,
        key: &str,
    ) -> Option<Expression> {
        let node = table.get(key)?;
        self.expression(&format!("{path}.{key}"), node)
    }

    /// The key of `table` as a template.
    pub(crate) fn template_of(&mut self, path: &str, table: &Table, key: &str) -> Option<Template> {
        let node = table.get(key)?;
        self.template(&format!("{path}.{key}"), node)
    }

    /// The key of `table` as a text.
    pub(crate) fn text_of(&mut self, path: &str, table: &Table, key: &str) -> Option<String> {
        let node = table.get(key)?;
        let path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        self.text(&path, node)
    }

    /// The key of `table` as a text that must be there.
    pub(crate) fn needed(&mut self, path: &str, node: &Node, table: &Table, key: &str) -> String {
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

    /// A name of the file's own.
    pub(crate) fn declare(&mut self, key: &str, node: &Node, name: &str) {
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

    /// The label of an axis's value.
    pub(crate) fn label(&mut self, key: &str, node: &Node) -> Option<Label> {
        match &node.value {
            Tree::Scalar(TomlType::String, _) => self.template(key, node).map(Label::Template),
            _ => self.value(key, node).map(Label::Value),
        }
    }
}
