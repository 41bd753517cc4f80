//! `shape = …`: how delays scatter around their mean, by a name or by a table of tc.

use quell_aqm::impair::shape::{Shape, Table};

use super::domain::scalar;
use super::refusal::Refusal;
use super::tree::{Node, TomlType, Tree};
use super::view::Reader;

/// What is allowed, as `quell keys` says it.
pub(super) const ALLOWED: &str =
    "\"uniform\", \"normal\", \"pareto\", a file of tc (FILE.dist), or a list of its numbers";

/// Reads `node`, the value of `key`, which may be the name of a file.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<Shape> {
    let name = scalar(node, &[TomlType::String]);
    let why = match name.filter(|name| name.contains(['.', '/'])) {
        Some(name) => match (reader.files)(name, &node.origin) {
            Ok(text) => match table(&text) {
                Ok(shape) => return Some(shape),
                Err(why) => why.to_string(),
            },
            Err(why) => why.to_string(),
        },
        None => match of_node(node) {
            Ok(shape) => return Some(shape),
            Err(refusal) => refusal.to_string(),
        },
    };
    reader.wrong(key, node, why);
    None
}

/// The shape that stands in the scenario itself.
pub(super) fn of_node(node: &Node) -> Result<Shape, Refusal> {
    let shape = match &node.value {
        Tree::Array(nodes) => {
            let mut text = String::new();
            for node in nodes {
                text += scalar(node, &[TomlType::Integer]).unwrap_or("?");
                text.push('\n');
            }
            table(&text).ok()
        }
        _ => scalar(node, &[TomlType::String]).and_then(Shape::named),
    };
    shape.ok_or_else(|| Refusal::Must {
        allowed: ALLOWED.to_owned(),
        hint: String::new(),
    })
}

/// As a scenario has it, without the file.
pub(super) fn written(shape: &Shape) -> String {
    let Shape::Table(table) = shape else {
        return format!("\"{}\"", shape.name());
    };
    let mut text = "[".to_owned();
    for value in table.values() {
        text += &format!("{}, ", i64::from(*value));
    }
    text.truncate(text.len() - 2);
    text + "]"
}

/// The numbers of a file of tc, with comments from `#` on; or why it is none.
fn table(text: &str) -> Result<Shape, NoTable> {
    let mut values = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        for word in content.split_whitespace() {
            let number = word.parse().ok();
            let number = number.and_then(|number: i64| number.try_into().ok());
            values.push(number.ok_or_else(|| NoTable::Word(line, word.to_owned()))?);
        }
    }
    let table = Table::new(values);
    table.map(Shape::Table).ok_or(NoTable::Count)
}

/// Why a file has no table of tc.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NoTable {
    #[error("is no table of tc: line {0} has \"{1}\", not a whole number from -32768 to 32767")]
    Word(usize, String),
    #[error("is no table of tc, which has 1 to {most} numbers", most = Table::MOST)]
    Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_tc_is_read_and_what_is_none_has_its_line() {
        let read = table("# normal\n-32768 -1\n 0 1 # middle\n\n32767\n").unwrap();
        assert_eq!(written(&read), "[-32768, -1, 0, 1, 32767]");
        for (text, why) in [
            (
                "1\n2 1.5\n",
                "is no table of tc: line 2 has \"1.5\", not a whole number from -32768 to 32767",
            ),
            (
                "40000\n",
                "is no table of tc: line 1 has \"40000\", not a whole number from -32768 to 32767",
            ),
            (
                "# nothing\n",
                "is no table of tc, which has 1 to 16384 numbers",
            ),
        ] {
            assert_eq!(table(text).unwrap_err().to_string(), why);
        }
    }
}
