//! `app = { … }`: from the tree to an application, and back to text, by the table of its kind.

use std::ops::Deref;

use quell_app::{AppConfig, Entry, Interval, Path, Period};
use quell_units::parameter::{Domain as D, Parameter, Preset, Value};
use quell_units::{CommandLine, ParameterError, Settings};
use serde_json::json;

use super::domain::{Domain, Parsed, scalar};
use super::keys::{PRESET, Section, rows};
use super::rates_file;
use super::refusal::Refusal;
use super::tree::{Node, Table, TomlType, Tree};
use super::view::{Keys as _, Reader, View};
use super::written::{Field, Written, in_toml, quoted, settings};

/// The application of a group: a kind of the registry, and its parameters.
#[derive(Debug, Clone)]
pub struct AppSpec {
    settings: Settings,
    config: AppConfig,
    /// The parameters as the scenario gives them, before those that follow from the path.
    given: Settings,
    path: Option<Path>,
}

impl PartialEq for AppSpec {
    /// Whether both are the same application: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl Eq for AppSpec {}

impl Deref for AppSpec {
    type Target = AppConfig;

    fn deref(&self) -> &AppConfig {
        &self.config
    }
}

impl AppSpec {
    /// The application itself.
    pub fn config(&self) -> &AppConfig {
        &self.config
    }

    /// Its parameters.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads the application at `path`: a table, or its kind alone. Its data takes `path_of_data`,
    /// unless that is wrong itself.
    pub(super) fn read(
        reader: &mut Reader,
        path: &str,
        node: &Node,
        form: &Domain,
        path_of_data: Option<&Path>,
    ) -> Option<Self> {
        let spelled_out = match &node.value {
            Tree::Table(_) => None,
            _ if scalar(node, &[TomlType::String]).is_some() => Some(Node {
                origin: node.origin.clone(),
                value: Tree::Table(Table::of("kind", node.clone())),
            }),
            _ => {
                reader.wrong(path, node, format!("must be {form}"));
                return None;
            }
        };
        let node = spelled_out.as_ref().unwrap_or(node);
        let view = View::new(reader, rows(Section::App), path, node)?;
        let entry = quell_app::find(view.get::<&str>(reader, "kind")?)?;
        let mut settings = Settings::new(entry.parameters);
        let mut whole = true;
        let mut preset = None;
        if !entry.presets.is_empty() && view.node(reader, PRESET).is_some() {
            preset = Some(entry.preset(view.get::<&str>(reader, PRESET)?)?);
        }
        for row in entry.parameters {
            let is_preset = preset.is_some_and(|preset| {
                let mut keys = preset.settings.iter();
                keys.any(|(key, _)| *key == row.name)
            });
            if is_preset && !view.has(row.name) {
                continue;
            }
            match parameter(reader, &view, row) {
                Ok(None) => {}
                Ok(Some(value)) => whole &= give(reader, &view, &mut settings, row, value),
                Err(Reported) => whole = false,
            }
        }
        if !whole {
            return None;
        }
        if let Some(preset) = preset {
            settings = entry.filled(&settings, preset);
        }
        match Self::settled(entry, settings, path_of_data.copied()) {
            Ok(app) => Some(app),
            Err(ParameterError { key, allowed, .. }) => {
                view.refuse(reader, &key, &allowed);
                None
            }
        }
    }

    fn settled(entry: &Entry, given: Settings, path: Option<Path>) -> Result<Self, ParameterError> {
        let mut settings = given.clone();
        if let Some(path) = &path {
            entry.settle(&mut settings, path);
        }
        let config = entry.configure(&settings)?;
        Ok(Self {
            settings,
            config,
            given,
            path,
        })
    }

    /// The parameters that can change during a run.
    pub(super) fn live(&self) -> impl Iterator<Item = &'static Parameter> {
        let rows = self.settings.applicable().map(|(row, _)| row);
        rows.filter(|row| row.live).collect::<Vec<_>>().into_iter()
    }

    /// The application with another value of `row`, which can change during a run.
    pub(super) fn changed(&self, row: &Parameter, node: &Node) -> Result<Self, Refusal> {
        let must = |allowed: String| Refusal::Must {
            allowed,
            hint: String::new(),
        };
        let value = match &node.value {
            Tree::Table(_) | Tree::Array(_) => {
                let given = row.domain.parse(&inline(node));
                given.map_err(|error| must(error.to_string()))?
            }
            _ => match Domain::Value(row.domain).read(node)? {
                Parsed::Value(value) => value,
                _ => return Err(must(row.domain.to_string())),
            },
        };
        let entry = quell_app::find(self.config.kind()).ok_or(Refusal::NoKind)?;
        let changed = self.given.changed(row.name, &value.to_string());
        let changed = changed.and_then(|given| Self::settled(entry, given, self.path));
        changed.map_err(|error| error.of_change(row.name, &value.to_string()).into())
    }

    /// The value of a parameter, as a scenario writes it.
    pub(super) fn value(&self, key: &str) -> String {
        self.settings.value(key).map_or(String::new(), in_toml)
    }

    /// The application as an inline table.
    fn write(&self) -> String {
        let mut text = format!("{{ kind = \"{}\"", self.config.kind());
        for (row, value) in self.settings.applicable() {
            if let Some(value) = value {
                text.push_str(&format!(", {} = {}", row.name, in_toml(value)));
            }
        }
        text + " }"
    }
}

impl Field for AppSpec {
    fn written(&self) -> Option<Written> {
        Some(Written {
            toml: self.write(),
            json: json!([self.config.kind(), settings(&self.settings)]),
        })
    }
}

/// An error that the reader has reported already.
struct Reported;

/// The value of a parameter; `None` where none is given and none must be.
fn parameter(
    reader: &mut Reader,
    view: &View<'_>,
    row: &Parameter,
) -> Result<Option<Value>, Reported> {
    let Some(node) = view.node(reader, row.name) else {
        return match row.default {
            Preset::Required => Err(Reported),
            _ => Ok(None),
        };
    };
    let value = match (&node.value, row.domain) {
        (Tree::Table(_), D::Period(..)) => {
            Period::read(reader, &view.key(row.name), node).map(Value::Period)
        }
        (Tree::Table(_), D::Interval(..)) => {
            Interval::read(reader, &view.key(row.name), node).map(Value::Interval)
        }
        (Tree::Table(_), D::Sizes(..)) => {
            let sizes = row.domain.parse(&inline(node));
            if let Err(allowed) = &sizes {
                let allowed = format!("must be {allowed}");
                reader.wrong_value(&view.key(row.name), node, &inline(node), &allowed);
            }
            sizes.ok()
        }
        (Tree::Table(table), D::Rates(_)) => {
            rates_file::read(reader, &view.key(row.name), node, table, &row.domain)
        }
        (Tree::Array(nodes), D::CommandLine) => {
            let words: Option<Vec<&str>> = nodes
                .iter()
                .map(|word| scalar(word, &[TomlType::String]))
                .collect();
            let line = words.and_then(CommandLine::new);
            if line.is_none() {
                let allowed = format!("must be {}", Domain::Value(row.domain));
                reader.wrong_value(&view.key(row.name), node, &inline(node), &allowed);
            }
            line.map(Value::CommandLine)
        }
        (Tree::Array(_), D::Rates(_)) => {
            let rates = row.domain.parse(&inline(node)).ok();
            if rates.is_none() {
                let allowed = format!("must be {}", Domain::Value(row.domain));
                reader.wrong_value(&view.key(row.name), node, &inline(node), &allowed);
            }
            rates
        }
        _ => match Domain::Value(row.domain).read(node) {
            Ok(Parsed::Value(value)) => Some(value),
            Ok(_) => None,
            Err(refusal) => {
                reader.wrong(&view.key(row.name), node, refusal);
                None
            }
        },
    };
    value.map(Some).ok_or(Reported)
}

/// A value as TOML on one line.
fn inline(node: &Node) -> String {
    match &node.value {
        Tree::Scalar(TomlType::String | TomlType::Other, text) => quoted(text),
        Tree::Scalar(_, text) => text.clone(),
        Tree::Array(nodes) => {
            let all: Vec<String> = nodes.iter().map(inline).collect();
            format!("[{}]", all.join(", "))
        }
        Tree::Table(table) => {
            let entry = |(key, node): (&str, &Node)| format!("{key} = {}", inline(node));
            let all: Vec<String> = table.iter().map(entry).collect();
            format!("{{ {} }}", all.join(", "))
        }
    }
}

/// Gives the parameter of `row` a value that has been read, if it is in its range.
fn give(
    reader: &mut Reader,
    view: &View<'_>,
    settings: &mut Settings,
    row: &Parameter,
    value: Value,
) -> bool {
    let Err(error) = settings.give(row.name, value) else {
        return true;
    };
    if let Some(node) = view.node(reader, row.name) {
        reader.wrong(&view.key(row.name), node, &error.allowed);
    }
    false
}
