//! The queue of one direction: a kind of the registry, and its parameters.

use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_aqm::{Discipline, Link, Packet};
use quell_units::parameter::Value;
use quell_units::{Parameter, ParameterError, Random, Rate, Settings};

use super::domain::{kinds, scalar};
use super::hint;
use super::keys::{MTU, QUEUE};
use super::problem::closest;
use super::tree::{Node, Table, TomlType};
use super::view::{Reader, tables};

/// A queue discipline to be made.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    /// The kind; its table is the one of [`QueueSpec::settings`].
    pub kind: &'static str,
    /// Its parameters.
    pub settings: Settings,
}

impl PartialEq for QueueSpec {
    /// Whether both make the same discipline: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        let values = |spec: &Self| -> Vec<(&str, Option<Value>)> {
            spec.settings
                .applicable()
                .map(|(parameter, value)| (parameter.name, value))
                .collect()
        };
        self.kind == other.kind && values(self) == values(other)
    }
}

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
                &format!("must be one of {}{meant}", names()),
            );
            return None;
        };
        let mut settings = Settings::new(entry.parameters);
        let mut whole = true;
        for (key, value) in table.iter().filter(|(key, _)| *key != "kind") {
            if let Err(allowed) = set(&mut settings, entry, table, key, value) {
                reader.wrong(&format!("{path}.{key}"), value, &allowed);
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
    table: &super::tree::Table,
    key: &str,
    node: &Node,
) -> Result<(), String> {
    let text = text_of(entry, key, node)?;
    let parameter = entry
        .parameters
        .iter()
        .find(|parameter| parameter.opposite == Some(key));
    if let Some(parameter) = parameter
        && table.get(parameter.name).is_some()
    {
        return Err(format!(
            "is the same switch as {}; give only one of them",
            parameter.name
        ));
    }
    settings
        .set(key, text)
        .map_err(|error| explained(error.allowed, entry.parameters, key, node))
}

/// What is wrong with the value of a parameter, and what it was probably meant to be.
pub(super) fn explained(allowed: String, rows: &[Parameter], key: &str, node: &Node) -> String {
    let hint = |row: &Parameter| hint::of_parameter(&row.domain, node);
    // Of a value that is refused for another reason there is nothing to explain.
    let row = rows.iter().find(|row| row.name == key);
    let row = row.filter(|row| allowed.ends_with(&row.domain.to_string()));
    allowed + &row.map(hint).unwrap_or_default()
}

/// The text of a parameter's value, if there is such a parameter and the value is written as it may be.
pub(super) fn text_of<'a>(
    entry: &'static Entry,
    key: &str,
    node: &'a Node,
) -> Result<&'a str, String> {
    let known = || {
        entry
            .parameters
            .iter()
            .flat_map(|parameter| [Some(parameter.name), parameter.opposite])
            .flatten()
    };
    let Some(parameter) = entry
        .parameters
        .iter()
        .find(|p| p.name == key || p.opposite == Some(key))
    else {
        let meant =
            closest(key, known()).map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        let listed: Vec<&str> = known().collect();
        let listed = match listed.as_slice() {
            [] => "no parameter".to_owned(),
            listed => listed.join(", "),
        };
        return Err(format!(
            "unknown key{meant}; \"{}\" has {listed}",
            entry.name
        ));
    };
    scalar(node, kinds(&parameter.domain)).ok_or_else(|| {
        let hint = hint::of_parameter(&parameter.domain, node);
        format!("must be {}{hint}", parameter.domain)
    })
}

fn names() -> String {
    let names: Vec<String> = disciplines::kinds()
        .map(|entry| format!("\"{}\"", entry.name))
        .collect();
    names.join(", ")
}
