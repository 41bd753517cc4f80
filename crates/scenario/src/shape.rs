//! `shape = …`: how delays scatter around their mean, by a name or by a table of tc.

use quell_aqm::impair::shape::{Shape, Table};

use super::domain::scalar;
use super::refusal::Refusal;
use super::tree::{Node, TomlType, Tree};
use super::view::Reader;

/// What is allowed, as `quell keys` says it.
pub(super) const ALLOWED: &str = "\"uniform\", \"normal\", \"pareto\", the name of a file with a table of tc (FILE.dist), or a list of its numbers";

/// Reads `node`, the value of `key`, which may be the name of a file.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<Shape> {
    let name = scalar(node, &[TomlType::String]);
    let shape = match name.filter(|name| name.contains(['.', '/'])) {
        Some(name) => {
            let text = (reader.files)(name, &node.origin).map_err(|why| why.to_string());
            text.and_then(|text| table(&text).map_err(|why| format!("is no table of tc: {why}")))
        }
        None => of_node(node).map_err(|refusal| refusal.to_string()),
    };
    match shape {
        Ok(shape) => Some(shape),
        Err(why) => {
            reader.wrong(key, node, why);
            None
        }
    }
}

/// The shape that stands in the scenario itself.
pub(super) fn of_node(node: &Node) -> Result<Shape, Refusal> {
    let shape = match &node.value {
        Tree::Array(nodes) => {
            let numbers = nodes
                .iter()
                .map(|node| number(scalar(node, &[TomlType::Integer])?));
            numbers
                .collect::<Option<_>>()
                .and_then(Table::new)
                .map(Shape::Table)
        }
        _ => scalar(node, &[TomlType::String]).and_then(|word| {
            let mut all = Shape::ALL.into_iter();
            all.find_map(|(name, shape)| (name == word).then_some(shape))
        }),
    };
    shape.ok_or_else(|| Refusal::Must {
        allowed: ALLOWED.to_owned(),
        hint: String::new(),
    })
}

/// As a scenario has it, without the file.
pub(super) fn written(shape: &Shape) -> String {
    match shape {
        Shape::Table(table) => format!("{:?}", table.values()),
        named => format!("\"{}\"", named.name().unwrap_or_default()),
    }
}

/// The numbers of a file of tc, with comments from `#` on; or why it is none.
fn table(text: &str) -> Result<Shape, NoTable> {
    let mut values = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        for word in content.split_whitespace() {
            values.push(number(word).ok_or_else(|| NoTable::Word(line, word.to_owned()))?);
        }
    }
    let count = values.len();
    let table = Table::new(values);
    table.map(Shape::Table).ok_or(NoTable::Count(count))
}

/// Why a file has no table of tc.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NoTable {
    #[error("line {0} has \"{1}\", not a whole number from -32768 to 32767")]
    Word(usize, String),
    #[error("it has {0} numbers, not 1 to {most}", most = Table::MOST)]
    Count(usize),
}

fn number(word: &str) -> Option<i16> {
    word.parse().ok()
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
                "line 2 has \"1.5\", not a whole number from -32768 to 32767",
            ),
            (
                "40000\n",
                "line 1 has \"40000\", not a whole number from -32768 to 32767",
            ),
            ("# nothing\n", "it has 0 numbers, not 1 to 16384"),
        ] {
            assert_eq!(table(text).unwrap_err().to_string(), why);
        }
    }
}
