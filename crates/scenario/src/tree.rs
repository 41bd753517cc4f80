//! A scenario as written: a tree of keys and values, each with the line it stands on.
//!
//! TOML is read by the `toml` crate, which bounds the depth of nesting. Scalars keep their text, because a quantity travels
//! as text whether it was written `10`, `"10"` or `--set …=10`; the notation of `quell-aqm` is the only parser of values.
//! Other files of TOML around scenarios are read by the same tree.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Origin, Problem};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Where.
    pub origin: Origin,
    /// The value.
    pub value: Tree,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// A string, number, switch or date, as text.
    Scalar(TomlType, String),
    /// A list.
    Array(Vec<Node>),
    /// Keys with values.
    Table(Table),
}

/// The type of TOML of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TomlType {
    /// `"text"`
    String,
    /// `17`
    Integer,
    /// `1.5`
    Float,
    /// `true`
    Boolean,
    /// A bare word of an argument, or a date: nothing that TOML has as a value of a scenario.
    Other,
}

/// Keys in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table(Vec<(String, Node)>);

impl Table {
    /// A table with one key.
    pub(crate) fn of(key: &str, node: Node) -> Self {
        Self(vec![(key.to_owned(), node)])
    }
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0
            .iter_mut()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }
    /// Adds the key, or replaces its value.
    pub(crate) fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(present) => *present = node,
            None => self.0.push((key.to_owned(), node)),
        }
    }
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }
    /// Every key with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(name, node)| (name.as_str(), node))
    }
}

/// The longest list that a message repeats; each shows less than a line of it.
const LONGEST_LIST: usize = 32;

impl Node {
    fn is_scalar(&self) -> bool {
        matches!(self.value, Tree::Scalar(..))
    }

    /// The value, given at another place.
    pub(crate) fn placed(&self, origin: &Origin) -> Self {
        let value = match &self.value {
            Tree::Scalar(kind, text) => Tree::Scalar(*kind, text.clone()),
            Tree::Array(nodes) => {
                Tree::Array(nodes.iter().map(|node| node.placed(origin)).collect())
            }
            Tree::Table(table) => {
                let entries = table.iter();
                let entries = entries.map(|(key, node)| (key.to_owned(), node.placed(origin)));
                Tree::Table(Table(entries.collect()))
            }
        };
        Self {
            origin: origin.clone(),
            value,
        }
    }

    /// The value as an error message names it.
    pub fn found(&self) -> String {
        match &self.value {
            Tree::Scalar(TomlType::String, text) if matches!(self.origin, Origin::Line(_)) => {
                format!("\"{text}\"")
            }
            Tree::Scalar(_, text) => text.clone(),
            Tree::Array(nodes)
                if nodes.len() <= LONGEST_LIST && nodes.iter().all(Node::is_scalar) =>
            {
                let all: Vec<String> = nodes.iter().map(Self::found).collect();
                format!("[{}]", all.join(", "))
            }
            Tree::Array(_) => "a list".to_owned(),
            Tree::Table(_) => "a table".to_owned(),
        }
    }
}

/// Reads a file's text.
///
/// # Errors
///
/// It is not TOML.
pub fn read(file: &str, text: &str) -> Result<Node, Problem> {
    let lines = Lines::new(text);
    let syntax = |error: toml::de::Error| Problem {
        file: file.to_owned(),
        origin: Origin::Line(lines.of(error.span().map_or(0, |span| span.start))),
        key: String::new(),
        found: None,
        allowed: format!("this is not TOML: {}", error.message().replace('\n', "; ")),
    };
    let table = DeTable::parse(text).map_err(syntax)?;
    Ok(Node {
        origin: Origin::Line(1),
        value: Tree::Table(convert_table(table.get_ref(), &|at| {
            Origin::Line(lines.of(at))
        })),
    })
}

/// Reads the value of an argument: as TOML if it is TOML, else as a bare word, so that `5ms` needs no quotes.
pub(crate) fn read_argument(text: &str, origin: &Origin) -> Node {
    match DeValue::parse(text) {
        Ok(value) => convert(&value, &|_| origin.clone()),
        Err(_) => Node {
            origin: origin.clone(),
            value: Tree::Scalar(TomlType::Other, text.to_owned()),
        },
    }
}

fn convert(value: &Spanned<DeValue<'_>>, origin: &dyn Fn(usize) -> Origin) -> Node {
    let tree = match value.get_ref() {
        DeValue::String(text) => Tree::Scalar(TomlType::String, text.clone().into_owned()),
        DeValue::Integer(number) => Tree::Scalar(
            TomlType::Integer,
            i128::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| number.to_string(), |number| number.to_string()),
        ),
        DeValue::Float(number) => Tree::Scalar(TomlType::Float, number.to_string()),
        DeValue::Boolean(flag) => Tree::Scalar(TomlType::Boolean, flag.to_string()),
        DeValue::Datetime(date) => Tree::Scalar(TomlType::Other, date.to_string()),
        DeValue::Array(values) => {
            Tree::Array(values.iter().map(|value| convert(value, origin)).collect())
        }
        DeValue::Table(table) => Tree::Table(convert_table(table, origin)),
    };
    Node {
        origin: origin(value.span().start),
        value: tree,
    }
}

fn convert_table(table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin) -> Table {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let convert_entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let mut node = convert(value, origin);
        // A table is where its key stands: `[link]` has no other place, and a list of tables starts at its first.
        if !matches!(node.value, Tree::Scalar(..)) {
            node.origin = origin(key.span().start);
        }
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        (key.clone().into_owned(), node)
    };
    Table(entries.into_iter().map(convert_entry).collect())
}

/// Where lines start, to turn offsets into line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }
    /// The line, from 1, that holds the byte at `offset`.
    fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|&newline| newline < offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(node: &Node) -> usize {
        match node.origin {
            Origin::Line(line) => line,
            Origin::Named(_) | Origin::Argument(_) => 0,
        }
    }

    fn child<'a>(node: &'a Node, key: &str) -> &'a Node {
        match &node.value {
            Tree::Table(table) => table.get(key).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_value_knows_its_line() {
        let text = "a = 1\n\n[link]\nrate = \"40mbit\"\n[[group]]\nname = \"x\"\n[[group]]\napp = { kind = \"bulk\",\n size = 0x10 }\n";
        let root = read("f", text).unwrap();
        assert_eq!(line(child(&root, "a")), 1);
        assert_eq!(line(child(&root, "link")), 3);
        assert_eq!(line(child(child(&root, "link"), "rate")), 4);
        let Tree::Array(groups) = &child(&root, "group").value else {
            panic!()
        };
        assert_eq!(groups.iter().map(line).collect::<Vec<_>>(), [5, 7]);
        let size = child(child(&groups[1], "app"), "size");
        assert_eq!((line(size), size.found()), (9, "16".to_owned()));
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let error = read("f.toml", "a = 1\nb = = 2\n").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("f.toml:2: this is not TOML: "),
            "{error}"
        );
    }

    #[test]
    fn nesting_that_would_exhaust_the_stack_is_an_error() {
        assert!(read("f", &format!("a = {}", "[".repeat(100_000))).is_err());
        let origin = Origin::Argument(String::new());
        assert!(matches!(
            read_argument(&"[".repeat(100_000), &origin).value,
            Tree::Scalar(..)
        ));
        assert!(read("f", &format!("{} = 1", vec!["a"; 100_000].join("."))).is_err());
    }

    #[test]
    fn an_argument_needs_no_quotes() {
        for (text, found) in [
            ("5ms", "5ms"),
            ("\"5ms\"", "5ms"),
            ("10", "10"),
            ("true", "true"),
            ("[1, 2]", "[1, 2]"),
            ("[[1], 2]", "a list"),
            ("", ""),
        ] {
            assert_eq!(
                read_argument(text, &Origin::Argument(String::new())).found(),
                found
            );
        }
    }
}
