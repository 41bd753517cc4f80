//! `--set KEY=VALUE` and its relatives: changes of the tree before it is checked.
//!
//! A key is the dotted path that errors print: `run.duration`, `link.queue.target`, `group.l4s.count`. Whatever is wrong
//! with the value, or with the key's last part, is found by the checks, which then name the argument instead of a line.

use std::fmt::Display;

use super::hops::{default_name, is_key_of_links};
use super::problem::{Origin, Problem, choices};
use super::refusal::Refusal;
use super::rules;
use super::tree::{Node, Table, TomlType, Tree, read_argument};

/// One value given on the command line, or by another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    argument: String,
    key: String,
    value: Given,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    /// A text, which is read as TOML if it is TOML.
    Text(String),
    /// A text that counts only where the file gives no value.
    Default(String),
    /// A value that was read from a file.
    Node(Node),
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Given {
    fn node(&self, origin: &Origin) -> Node {
        match self {
            Self::Text(text) | Self::Default(text) => read_argument(text, origin),
            Self::Node(node) => node.placed(origin),
        }
    }
}

/// An argument that has not the form of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The text after `--set`.
    #[error("--set {0}: must be KEY=VALUE, such as link.rate=20mbit")]
    Set(String),
    /// The text after `--queue`.
    #[error("--queue {0}: must be KIND or KIND:PARAMETER=VALUE,…, such as fifo:limit=100ms")]
    Queue(String),
    /// The value in a file that changes a scenario.
    #[error("must be NAME or NAME:PARAMETER=VALUE,…")]
    Placed,
}

impl Override {
    /// Reads `KEY=VALUE`, the text after `--set`.
    pub fn set(text: &str) -> Result<Self, ArgumentError> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                argument: format!("--set {text}"),
                key: key.trim().to_owned(),
                value: value.trim().into(),
            }),
            _ => Err(ArgumentError::Set(text.to_owned())),
        }
    }

    /// Reads an option with a name of its own, `argument` as it was written: `value` is read like that after `--set KEY=`.
    pub fn option(argument: &str, key: &str, value: &str) -> Self {
        Self {
            argument: argument.to_owned(),
            key: key.to_owned(),
            value: value.into(),
        }
    }

    /// Reads the text after `--duration`.
    pub fn duration(text: &str) -> Self {
        Self {
            argument: format!("--duration {text}"),
            key: "run.duration".to_owned(),
            value: text.into(),
        }
    }

    /// Takes the number after `--seed` instead of the seeds of the file.
    pub fn seed(seed: u64) -> Self {
        Self {
            argument: format!("--seed {seed}"),
            key: "run.seeds".to_owned(),
            value: Given::Text(format!("[{seed}]")),
        }
    }

    /// The seeds 1 to `count` where the file names none. What the command line says has to be applied later.
    pub fn default_seeds(count: u64) -> Self {
        let seeds: Vec<String> = (1..=count).map(|seed| seed.to_string()).collect();
        Self {
            argument: format!("{count} seeds by default"),
            key: "run.seeds".to_owned(),
            value: Given::Default(format!("[{}]", seeds.join(","))),
        }
    }

    /// Reads `[LINK=]KIND[:PARAMETER=VALUE,…]`, the text after `--queue`, for the forward queue.
    pub fn queue(text: &str) -> Result<Vec<Self>, ArgumentError> {
        let given = with_colon(text);
        let (link, spec) = prefix_of_link(&given);
        Self::queue_at(&format!("{link}.queue"), text, spec)
    }

    /// Reads the text after `--queue` for the reverse queue.
    pub fn reverse_queue(text: &str) -> Result<Vec<Self>, ArgumentError> {
        let given = with_colon(text);
        let (link, spec) = prefix_of_link(&given);
        Self::queue_at(&format!("{link}.reverse.queue"), text, spec)
    }

    /// The value of `key` as a file at `place` gives it. What is a name or a table with a name (a queue, a congestion control, an
    /// application) may also be NAME:PARAMETER=VALUE,…; the scenario's own parameters stay where the name is the scenario's.
    ///
    /// # Errors
    ///
    /// The text has a colon, but not that form.
    pub fn placed(place: &str, key: &str, value: &Node) -> Result<Vec<Self>, ArgumentError> {
        let one = |key: String, value: Given| Self {
            argument: place.to_owned(),
            key,
            value,
        };
        let last = key.rsplit('.').next().unwrap_or(key);
        let choice = choice(last).filter(|choice| choice.by == choice.name);
        Ok(match (choice, &value.value) {
            (Some(choice), Tree::Scalar(TomlType::String, text)) => {
                let parts = parts(text).ok_or(ArgumentError::Placed)?;
                let whole = parts
                    .into_iter()
                    .map(|(part, value)| (part.unwrap_or(choice.by), value));
                whole
                    .map(|(part, value)| one(format!("{key}.{part}"), value.into()))
                    .collect()
            }
            (Some(choice), Tree::Table(table)) => {
                let mut entries: Vec<(&str, &Node)> = table.iter().collect();
                entries.sort_by_key(|(part, _)| *part != choice.by);
                let entries = entries.into_iter();
                entries
                    .map(|(part, node)| one(format!("{key}.{part}"), Given::Node(node.clone())))
                    .collect()
            }
            _ => vec![one(key.to_owned(), Given::Node(value.clone()))],
        })
    }

    fn queue_at(path: &str, text: &str, spec: &str) -> Result<Vec<Self>, ArgumentError> {
        let parts = parts(spec).ok_or_else(|| ArgumentError::Queue(text.to_owned()))?;
        let parts = parts.into_iter();
        let one = |(part, value): (Option<&str>, &str)| Self {
            argument: format!("--queue {text}"),
            key: format!("{path}.{}", part.unwrap_or("kind")),
            value: value.into(),
        };
        Ok(parts.map(one).collect())
    }

    /// A queue, an application or a control with its parameters, each on its own; `None` of any other value.
    fn in_parts(&self) -> Option<Vec<Self>> {
        let last = self.key.rsplit('.').next().unwrap_or(&self.key);
        let choice = choice(last).filter(|choice| choice.by == choice.name)?;
        let Given::Text(text) = &self.value else {
            return None;
        };
        let text = with_colon(text);
        // What begins so is TOML.
        if !text.contains(':') || text.starts_with(['{', '[', '"', '\'']) {
            return None;
        }
        let one = |(part, value): (Option<&str>, &str)| Self {
            argument: self.argument.clone(),
            key: format!("{}.{}", self.key, part.unwrap_or(choice.by)),
            value: value.into(),
        };
        Some(parts(&text)?.into_iter().map(one).collect())
    }

    /// Puts the value into the tree.
    pub(super) fn apply(&self, file: &str, root: &mut Node) -> Result<(), Problem> {
        let origin = Origin::Argument(self.argument.clone());
        let problem = |allowed: &dyn Display| Problem {
            file: file.to_owned(),
            origin: origin.clone(),
            key: self.key.clone(),
            found: None,
            allowed: allowed.to_string(),
        };
        let refused = |refusal: Refusal| problem(&refusal);
        let parts: Vec<&str> = self.key.split('.').collect();
        if parts.iter().any(|part| part.is_empty()) || parts.len() > 8 {
            return Err(problem(&"is not a dotted key such as link.queue.target"));
        }
        if let Some(all) = self.in_parts() {
            return all.iter().try_for_each(|one| one.apply(file, root));
        }
        if parts[0] == "at" {
            return Err(problem(&"timed changes are edited in the file"));
        }
        let (mut at, rest) = match parts.as_slice() {
            ["group", name, rest @ ..] if !rest.is_empty() => {
                (group(root, name).map_err(refused)?, rest)
            }
            ["link", rest @ ..] if !rest.is_empty() => link(root, rest).map_err(refused)?,
            ["group", ..] => {
                return Err(problem(
                    &"must name a group and its key, such as group.NAME.count",
                ));
            }
            all => (root, all),
        };
        let Some((last, tables)) = rest.split_last() else {
            return Ok(());
        };
        for part in tables {
            at = descend(at, part, &origin).map_err(refused)?;
        }
        // Of a group's table, with which its choice is made.
        let choice = tables.last().and_then(|table| choice(table));
        let Tree::Table(table) = &mut at.value else {
            let found = at.found();
            return Err(problem(&format!(
                "{found} is not a table, so it has no {last}"
            )));
        };
        if matches!(self.value, Given::Default(_)) && table.get(last).is_some() {
            return Ok(());
        }
        let value = self.value.node(&origin);
        let chooses = *last == "kind" || choice.is_some_and(|choice| choice.by == *last);
        if chooses
            && table
                .get(last)
                .is_some_and(|chosen| text(chosen) != text(&value))
        {
            forget_parameters(table, choice.map_or("", |choice| choice.beside));
        }
        table.set(last, value);
        Ok(())
    }
}

/// `fifo limit=10ms` and `fifo limit 10ms` as `fifo:limit=10ms`; any other text as it is.
pub fn with_colon(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((first, rest)) = words.split_first() else {
        return text.to_owned();
    };
    let rest: Vec<String> = match rest {
        _ if first.ends_with(',') => return text.to_owned(),
        [] => return text.to_owned(),
        _ if rest.iter().all(|word| word.contains('=')) => {
            let rest = rest.iter();
            rest.map(|word| word.trim_end_matches(',').to_owned())
                .collect()
        }
        _ if rest.len() % 2 == 0 && rest.iter().all(|word| !word.contains(['=', ',', '"'])) => {
            let pairs = rest.chunks(2);
            pairs.map(|pair| pair.join("=")).collect()
        }
        _ => return text.to_owned(),
    };
    let first = first.trim_end_matches(':');
    let joint = if first.contains(':') { ',' } else { ':' };
    format!("{first}{joint}{}", rest.join(","))
}

/// The start of the keys of the link that the text after `--queue` names, if it names one, and the rest of the text.
fn prefix_of_link(text: &str) -> (String, &str) {
    match text.split_once('=') {
        Some((link, spec)) if !link.contains(':') => (format!("link.{}", link.trim()), spec),
        _ => ("link".to_owned(), text),
    }
}

/// The parts of `NAME` or `NAME:PARAMETER=VALUE,…`, the name first and without a parameter; `None` for anything else.
fn parts(text: &str) -> Option<Vec<(Option<&str>, &str)>> {
    let (name, parameters) = match text.split_once(':') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    if name.trim().contains(char::is_whitespace) {
        return None;
    }
    let mut all = vec![(None, name.trim())];
    for parameter in parameters.split(',').filter(|one| !one.is_empty()) {
        let (key, value) = parameter.split_once('=')?;
        if key.trim().is_empty() {
            return None;
        }
        all.push((Some(key.trim()), value.trim()));
    }
    Some(all)
}

/// A key that is a name, or a table in which one key chooses what the others belong to.
#[derive(Clone, Copy)]
struct Choice {
    table: &'static str,
    /// The key that a name alone stands for.
    name: &'static str,
    /// The key that chooses.
    by: &'static str,
    /// A key that belongs to no choice.
    beside: &'static str,
}

const CHOICES: &[Choice] = &[
    Choice {
        table: "app",
        name: "kind",
        by: "kind",
        beside: "",
    },
    Choice {
        table: "queue",
        name: "kind",
        by: "kind",
        beside: "",
    },
    Choice {
        table: "congestion-control",
        name: "name",
        by: "name",
        beside: "",
    },
    Choice {
        table: "value",
        name: "function",
        by: "marker",
        beside: "function",
    },
];

fn choice(table: &str) -> Option<Choice> {
    CHOICES.iter().find(|choice| choice.table == table).copied()
}

/// Another kind, or another congestion control or marker, has other parameters: the file's own apply to its own kind only, those of
/// earlier arguments stay, and what stands `beside` them.
fn forget_parameters(table: &mut Table, beside: &str) {
    let of_arguments: Vec<String> = table
        .iter()
        .filter(|(_, node)| matches!(node.origin, Origin::Argument(_)))
        .map(|(name, _)| name.to_owned())
        .collect();
    table.retain(|name| name == beside || of_arguments.iter().any(|kept| kept == name));
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Tree::Scalar(_, text) => Some(text),
        _ => None,
    }
}

/// The table `part` in the table `at`, made if it is not there.
fn descend<'a>(at: &'a mut Node, part: &str, origin: &Origin) -> Result<&'a mut Node, Refusal> {
    let no_table = |found: String| Refusal::NoTable {
        part: part.to_owned(),
        found,
    };
    let found = at.found();
    let table = match &mut at.value {
        Tree::Table(table) => table,
        Tree::Array(rules) => return Ok(rules::called(rules, part, origin)),
        Tree::Scalar(..) => return Err(no_table(found)),
    };
    if table.get(part).is_none() {
        let made = Node {
            origin: origin.clone(),
            value: match part {
                "rules" => Tree::Array(Vec::new()),
                _ => Tree::Table(Table::default()),
            },
        };
        table.set(part, made);
    }
    if let (Some(choice), Some(node)) = (choice(part), table.get_mut(part)) {
        spell_out(node, choice);
    }
    match table.get_mut(part) {
        Some(node) if matches!(node.value, Tree::Table(_)) || part == "rules" => Ok(node),
        Some(node) => Err(no_table(node.found())),
        None => Err(no_table(found)),
    }
}

/// Makes a value that is a name alone the table that holds options.
fn spell_out(node: &mut Node, choice: Choice) {
    if text(node).is_some() {
        let mut table = Table::default();
        table.set(choice.name, node.clone());
        node.value = Tree::Table(table);
    }
}

/// The link that the parts of a key behind `link` name, and what is left of them. The only link needs no name.
fn link<'a, 'k>(
    root: &'a mut Node,
    key: &'k [&'k str],
) -> Result<(&'a mut Node, &'k [&'k str]), Refusal> {
    let origin = root.origin.clone();
    let Tree::Table(table) = &mut root.value else {
        return Err(Refusal::NoLink);
    };
    if table.get("link").is_none() {
        let value = Tree::Table(Table::default());
        table.set("link", Node { origin, value });
    }
    let Some(links) = table.get_mut("link") else {
        return Err(Refusal::NoLink);
    };
    let (name, rest) = key.split_first().unwrap_or((&"", &[]));
    let is_one = match &links.value {
        Tree::Array(nodes) => nodes.len() == 1,
        _ => true,
    };
    let nodes: Vec<&mut Node> = match &links.value {
        Tree::Array(_) => match &mut links.value {
            Tree::Array(nodes) => nodes.iter_mut().collect(),
            _ => Vec::new(),
        },
        _ => vec![links],
    };
    let count = nodes.len();
    let mut known = Vec::new();
    let mut only = None;
    for (position, node) in nodes.into_iter().enumerate() {
        let called = match &node.value {
            Tree::Table(table) => table.get("name").and_then(text).map(str::to_owned),
            _ => None,
        };
        let called = called.unwrap_or_else(|| default_name(position, count));
        if called == *name && !is_key_of_links(name) && !rest.is_empty() {
            return Ok((node, rest));
        }
        known.push(called);
        only = Some(node);
    }
    match only.filter(|_| is_one) {
        Some(node) => Ok((node, key)),
        None => Err(Refusal::SeveralLinks(known)),
    }
}

/// The group called `name`.
fn group<'a>(root: &'a mut Node, name: &str) -> Result<&'a mut Node, Refusal> {
    let mut known = Vec::new();
    if let Tree::Table(table) = &mut root.value
        && let Some(Node {
            value: Tree::Array(groups),
            ..
        }) = table.get_mut("group")
    {
        for group in groups {
            let called = match &group.value {
                Tree::Table(table) => table.get("name").and_then(text).map(str::to_owned),
                _ => None,
            };
            if called.as_deref() == Some(name) {
                return Ok(group);
            }
            known.extend(called);
        }
    }
    let (meant, known) = choices(name, known.iter().map(String::as_str));
    let name = name.to_owned();
    Err(Refusal::NoGroup { name, meant, known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_argument_is_a_kind_and_its_parameters() {
        let all = Override::queue("fq_codel:target=5ms,limit=100p").unwrap();
        let pairs: Vec<_> = all
            .iter()
            .map(|one| (one.key.as_str(), &one.value))
            .collect();
        assert_eq!(
            pairs,
            [
                ("link.queue.kind", &"fq_codel".into()),
                ("link.queue.target", &"5ms".into()),
                ("link.queue.limit", &"100p".into())
            ]
        );
        assert!(Override::queue("pie:target").is_err());
    }

    #[test]
    fn a_space_is_as_good_as_a_colon_where_it_is_clear() {
        for (text, expected) in [
            ("fifo limit=10ms", "fifo:limit=10ms"),
            ("pie target 15ms limit 100p", "pie:target=15ms,limit=100p"),
            ("pie: target=15ms, ecn=true", "pie:target=15ms,ecn=true"),
            ("pie:target=15ms limit=9p", "pie:target=15ms,limit=9p"),
            ("access=pie target=5ms", "access=pie:target=5ms"),
            // Not clear, or nothing to do.
            ("pie ecn", "pie ecn"),
            ("fifo, pie limit", "fifo, pie limit"),
            ("fifo", "fifo"),
            ("", ""),
        ] {
            assert_eq!(with_colon(text), expected);
        }
    }

    #[test]
    fn an_argument_is_a_key_and_a_value() {
        assert!(Override::set("link.rate=20mbit").is_ok());
        for text in ["", "link.rate", "=5"] {
            assert_eq!(
                Override::set(text).unwrap_err().to_string(),
                format!("--set {text}: must be KEY=VALUE, such as link.rate=20mbit")
            );
        }
    }
}
