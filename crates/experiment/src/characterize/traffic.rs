//! What runs in a scenario of a suite, and the scenario file that it makes.

use std::fmt::Write as _;

use quell_units::{Rate, Time, notation};

use crate::characterize::error::Error;
use crate::characterize::profile::Profile;
use crate::evaluate::Engine;
use crate::expression::{Piece, Template, Value};

/// The name of the first of two links in a row.
pub(crate) const FIRST: &str = "first";
/// That of the second, whose queue is looked at.
pub(crate) const SECOND: &str = "second";
/// Bytes of a scenario at most.
const LONGEST: usize = 1 << 20;

/// The flows of a scenario, and what changes.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// The rate of the link, if not the profile's.
    pub(crate) rate: Option<Template>,
    /// The queue of the scenario file, if not drop-tail: its kind first.
    pub(crate) queue: Option<Vec<(String, Written)>>,
    /// The rate of the other direction.
    pub(crate) reverse: Option<Template>,
    /// A link in front.
    pub(crate) first: Option<Front>,
    pub(crate) groups: Vec<Group>,
    pub(crate) changes: Vec<Change>,
    /// What is measured, if not the profile's duration.
    pub(crate) measured: Option<Template>,
    /// What is left out of each phase at its start.
    pub(crate) settle: Option<Template>,
}

/// The first of two links in the scenario file.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    pub(crate) rate: Template,
    pub(crate) queue: Vec<(String, Written)>,
}

/// Flows that are alike.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) keys: Vec<(String, Written)>,
}

/// From a time on, keys have other values.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) time: Template,
    pub(crate) repeat: Option<Template>,
    pub(crate) set: Vec<(String, Written)>,
}

/// A value of a scenario as a suite has it.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    /// A text; one that is an expression and nothing else is its number.
    Text(Template),
    /// A number or a switch.
    Plain(String),
    List(Vec<Written>),
    Table(Vec<(String, Written)>),
}

/// A scenario file.
pub(crate) struct Made {
    pub(crate) text: String,
    /// The buffer of the other direction, where it has a rate: its bandwidth-delay product.
    pub(crate) back: Option<u64>,
}

impl Traffic {
    /// The scenario file, where every queue holds `buffer` packets. `head` says what it is, in lines of prose.
    pub(crate) fn scenario(
        &self,
        name: &str,
        head: &[String],
        path: &Profile,
        buffer: u64,
        values: &Engine<'_>,
    ) -> Result<Made, Error> {
        let mut text = String::new();
        for line in head {
            text.push_str(&format!("# {line}\n"));
        }
        let description = quoted(head.first().map_or("", String::as_str));
        let rate = match &self.rate {
            Some(rate) => quoted(&values.given_text(rate)?),
            None => quoted(&path.rate),
        };
        let queue = |queue: Option<&[(String, Written)]>, buffer: u64| {
            let mut all = match queue {
                Some(all) => pairs(all, values)?,
                None => vec!["kind = \"fifo\"".to_owned()],
            };
            all.insert(1.min(all.len()), format!("limit = \"{buffer}p\""));
            Ok::<String, Error>(format!("{{ {} }}", all.join(", ")))
        };
        let heading = match &self.first {
            None => "[link]".to_owned(),
            Some(first) => format!(
                "[[link]]\nname = \"{FIRST}\"\nrate = {}\nqueue = {}\n\n[[link]]\nname = \"{SECOND}\"",
                quoted(&values.given_text(&first.rate)?),
                queue(Some(&first.queue), buffer)?
            ),
        };
        let own = queue(self.queue.as_deref(), buffer)?;
        text.push_str(&format!(
            "\nschema = 1\nname = \"{name}\"\ndescription = {description}\n\n{heading}\nrate = {rate}\nqueue = {own}\n"
        ));
        let mut back = None;
        if let Some(reverse) = &self.reverse {
            let reverse = values.given_text(reverse)?;
            // What is no rate is a problem of the scenario.
            let rate = notation::rate(&reverse).unwrap_or(Rate::from_bps(0));
            let packets = path.at_rate(rate).buffer();
            text.push_str(&format!(
                "\n[link.reverse]\nrate = {}\nqueue = {}\n",
                quoted(&reverse),
                queue(self.queue.as_deref(), packets)?
            ));
            back = Some(packets);
        }
        for group in &self.groups {
            group.write(&mut text, path, values)?;
        }
        for change in &self.changes {
            let time = quoted(&values.given_text(&change.time)?);
            text.push_str(&format!("\n[[at]]\ntime = {time}\n"));
            if let Some(repeat) = &change.repeat {
                let repeat = quoted(&values.given_text(repeat)?);
                text.push_str(&format!("repeat = {repeat}\n"));
            }
            let set = pairs(&change.set, values)?.join(", ");
            text.push_str(&format!("set = {{ {set} }}\n"));
        }
        text.push_str(&self.run(path, values)?);
        match text.len() > LONGEST {
            true => Err(Error::Value(format!(
                "makes a scenario of more than {LONGEST} bytes"
            ))),
            false => Ok(Made { text, back }),
        }
    }

    fn run(&self, path: &Profile, values: &Engine<'_>) -> Result<String, Error> {
        let warmup = path.warmup();
        let measured = match &self.measured {
            None => path.duration,
            Some(measured) => time(&values.given_text(measured)?)?,
        };
        let end = warmup + measured;
        let mut text = format!("\n[run]\nduration = \"{end}\"\nwarmup = \"{warmup}\"\n");
        if let Some(settle) = &self.settle {
            let settle = time(&values.given_text(settle)?)?;
            text.push_str(&format!("settle = \"{settle}\"\n"));
        }
        text.push_str("interval = \"1s\"\n");
        Ok(text)
    }
}

impl Group {
    /// Its own keys, then base RTT and application, which may be left out.
    fn write(&self, text: &mut String, path: &Profile, values: &Engine<'_>) -> Result<(), Error> {
        text.push_str(&format!("\n[[group]]\nname = {}\n", quoted(&self.name)));
        let (last, others): (Vec<_>, Vec<_>) = self
            .keys
            .iter()
            .partition(|(key, _)| ["rtt", "app"].contains(&key.as_str()));
        for (key, value) in others {
            let value = match (key.as_str(), value.toml(values)?) {
                // NAME:KEY=VALUE,… as on the command line.
                ("congestion-control", Toml::Text(control)) => choice("name", &control),
                (_, value) => value.to_string(),
            };
            text.push_str(&format!("{} = {value}\n", key_of(key)));
        }
        for (key, usual) in [("rtt", path.rtt.to_string()), ("app", "bulk".to_owned())] {
            let value = match last.iter().find(|(name, _)| name == key) {
                Some((_, value)) => value.toml(values)?,
                None => Toml::Text(usual),
            };
            text.push_str(&format!("{key} = {value}\n"));
        }
        Ok(())
    }
}

/// A value in TOML.
enum Toml {
    Text(String),
    Other(String),
}

impl std::fmt::Display for Toml {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Written {
    fn toml(&self, values: &Engine<'_>) -> Result<Toml, Error> {
        Ok(Toml::Other(match self {
            Self::Plain(text) => text.clone(),
            Self::List(all) => {
                let all = all.iter().map(|one| Ok(one.toml(values)?.to_string()));
                format!(
                    "[{}]",
                    all.collect::<Result<Vec<String>, Error>>()?.join(", ")
                )
            }
            Self::Table(all) => format!("{{ {} }}", pairs(all, values)?.join(", ")),
            Self::Text(template) => {
                if let [Piece::Value { of, form, .. }] = &template.0[..]
                    && form.is_empty()
                    && let number @ (Value::Number(_) | Value::Flag(_)) = values.given(of)?
                {
                    return Ok(Toml::Other(number.plain()));
                }
                return Ok(Toml::Text(values.given_text(template)?));
            }
        }))
    }
}

/// Keys with their values, each as `KEY = VALUE`.
fn pairs(all: &[(String, Written)], values: &Engine<'_>) -> Result<Vec<String>, Error> {
    let all = all.iter();
    all.map(|(key, value)| Ok(format!("{} = {}", key_of(key), value.toml(values)?)))
        .collect()
}

fn time(text: &str) -> Result<Time, Error> {
    notation::time(text).map_err(|_| Error::Value(format!("{text:?} is no time")))
}

/// `NAME[:KEY=VALUE,…]` as TOML: a name, or a table with the name under `key`.
pub(crate) fn choice(key: &str, text: &str) -> String {
    let Some((name, rest)) = text.split_once(':') else {
        return quoted(text);
    };
    let mut table = format!("{{ {key} = {}", quoted(name));
    for part in rest.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        let is_bare = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
        let value = if is_bare {
            value.to_owned()
        } else {
            quoted(value)
        };
        table.push_str(&format!(", {} = {value}", key_of(key)));
    }
    table + " }"
}

/// A key, in quotes if it needs them.
fn key_of(key: &str) -> String {
    let is_bare = |next: char| next.is_ascii_alphanumeric() || next == '-' || next == '_';
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A value in quotes.
pub(crate) fn quoted<T: std::fmt::Display + ?Sized>(value: &T) -> String {
    let mut text = String::from("\"");
    for next in value.to_string().chars() {
        match next {
            '"' | '\\' => text.extend(['\\', next]),
            next if next.is_control() => {
                write!(text, "\\u{:04X}", u32::from(next)).expect("a string takes everything");
            }
            next => text.push(next),
        }
    }
    text + "\""
}
