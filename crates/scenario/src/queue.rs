//! The queue of one direction: a kind of the registry, and its parameters.

use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_aqm::{Discipline, Link, Packet};
use quell_units::{Parameter, ParameterError, Random, Rate, Settings};

use super::domain::{kinds, scalar};
use super::hint;
use super::keys::{MTU, QUEUE};
use super::problem::{choices, closest};
use super::refusal::Refusal;
use super::tree::{Node, Table, TomlType};
use super::view::{Reader, tables};
use super::written::{Field, values};

/// A queue discipline to be made.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    /// The kind; its table is the one of [`QueueSpec::settings`].
    pub kind: &'static str,
    /// The parameters of the queue.
    pub settings: Settings,
}

impl PartialEq for QueueSpec {
    /// Whether both make the same discipline: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && values(&self.settings) == values(&other.settings)
    }
}

// Written under a heading of its own.
impl Field for QueueSpec {}

impl QueueSpec {
    /// A queue of `kind` with its defaults.
    pub fn new(kind: &str) -> Result<Self, ParameterError> {
        let entry = disciplines::find(kind)?;
        Ok(Self {
            kind: entry.name,
            settings: Settings::new(entry.parameters),
        })
    }

    /// Makes the discipline, for a link that starts at `rate`.
    pub fn build<P: Packet>(
        &self,
        rate: Rate,
        random: Random,
    ) -> Result<Discipline<P>, ParameterError> {
        Discipline::new(
            self.kind,
            self.settings.clone(),
            Link { rate, mtu: MTU },
            random,
        )
    }

    /// Reads the table at `path`, or the kind alone.
    pub(super) fn read(reader: &mut Reader, path: &str, node: &Node) -> Option<Self> {
        let name = scalar(node, &[TomlType::String]);
        let spelled_out = name.map(|_| Table::of("kind", node.clone()));
        let table = match &spelled_out {
            Some(table) => table,
            None => tables::table(reader, path, node, &QUEUE.to_string())?,
        };
        let Some(kind) = table.get("kind") else {
            reader.missing(
                &format!("{path}.kind"),
                node,
                &format!("must be one of {}", names()),
            );
            return None;
        };
        let entry = scalar(kind, &[TomlType::String]).and_then(|name| disciplines::find(name).ok());
        let Some(entry) = entry else {
            let meant = closest(
                kind.found().trim_matches('"'),
                disciplines::kinds().map(|entry| entry.name),
            );
            let meant = meant.map_or(String::new(), |name| format!("; did you mean \"{name}\"?"));
            reader.wrong(
                &format!("{path}.kind"),
                kind,
                format!("must be one of {}{meant}", names()),
            );
            return None;
        };
        let mut settings = Settings::new(entry.parameters);
        let mut whole = true;
        for (key, value) in table.iter().filter(|(key, _)| *key != "kind") {
            if let Err(refusal) = set(&mut settings, entry, table, key, value) {
                reader.wrong(&format!("{path}.{key}"), value, refusal);
                whole = false;
            }
        }
        whole.then_some(Self {
            kind: entry.name,
            settings,
        })
    }
}

/// Gives one parameter its value.
pub(super) fn set(
    settings: &mut Settings,
    entry: &'static Entry,
    table: &Table,
    key: &str,
    node: &Node,
) -> Result<(), Refusal> {
    let text = text_of(entry.name, entry.parameters, key, node)?;
    let mut rows = entry.parameters.iter();
    let opposite = rows.find(|row| row.opposite == Some(key));
    if let Some(row) = opposite.filter(|row| table.get(row.name).is_some()) {
        return Err(Refusal::SameSwitch(row.name));
    }
    let set = settings.set(key, text);
    set.map_err(|error| explained(error, entry.parameters, key, node))
}

/// The refusal of a parameter's value, with a hint.
pub(super) fn explained(
    error: ParameterError,
    rows: &[Parameter],
    key: &str,
    node: &Node,
) -> Refusal {
    let allowed = error.allowed;
    let hint = |row: &Parameter| hint::of_parameter(&row.domain, node);
    // Of a value that is refused for another reason there is nothing to explain.
    let row = rows.iter().find(|row| row.name == key);
    let row = row.filter(|row| allowed.ends_with(&row.domain.to_string()));
    let hint = row.map(hint).unwrap_or_default();
    Refusal::Parameter { allowed, hint }
}

/// The text of a parameter's value, if `of` has such a parameter among its `rows` and the value is written as it may be.
pub(super) fn text_of<'a>(
    of: &str,
    rows: &[Parameter],
    key: &str,
    node: &'a Node,
) -> Result<&'a str, Refusal> {
    let row = rows
        .iter()
        .find(|row| row.name == key || row.opposite == Some(key));
    let row = row.ok_or_else(|| unknown(of, rows, key, "", "no parameter"))?;
    scalar(node, kinds(&row.domain)).ok_or_else(|| Refusal::Must {
        allowed: row.domain.to_string(),
        hint: hint::of_parameter(&row.domain, node),
    })
}

/// `of` has no parameter `key`; `elsewhere` says what has, and `none` that there are no `rows`.
pub(super) fn unknown(
    of: &str,
    rows: &[Parameter],
    key: &str,
    elsewhere: &str,
    none: &str,
) -> Refusal {
    let names = rows.iter().flat_map(|row| [Some(row.name), row.opposite]);
    let (meant, known) = choices(key, names.flatten());
    Refusal::NoParameter {
        meant: meant + elsewhere,
        of: of.to_owned(),
        known: if rows.is_empty() {
            none.to_owned()
        } else {
            known
        },
    }
}

fn names() -> String {
    let names: Vec<String> = disciplines::kinds()
        .map(|entry| format!("\"{}\"", entry.name))
        .collect();
    names.join(", ")
}
