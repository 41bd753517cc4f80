//! Profiles of links, such as a phone's or a browser's preset: each a file of `profiles/` with its source, inside the program.

use std::fmt;

use quell_lab::scenario::tree::{self, Table, Tree};
use quell_lab::scenario::{Override, closest};

/// File and text of each, by name.
const ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Where the tables of the link begin, which are those of a scenario.
const LINK: &str = "\n[link]\n";

/// A link with its base RTT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkProfile {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// What it is, in a few words.
    pub title: String,
    /// Where its numbers stand.
    pub source: String,
    /// Whether its source has the numbers; otherwise they are an estimate of ours.
    pub measured: bool,
    /// The base RTT, as a scenario has it.
    pub rtt: String,
    /// What to know besides; empty without.
    pub notes: String,
    /// The tables `[link]` and `[link.reverse]` of a scenario.
    pub link: String,
}

/// There is no profile of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoProfile {
    name: String,
    meant: Option<String>,
}

impl fmt::Display for NoProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no profile {}", self.name)?;
        match &self.meant {
            Some(meant) => write!(f, "; did you mean {meant}?"),
            None => f.write_str(" (quell profiles lists them)"),
        }
    }
}

impl std::error::Error for NoProfile {}

impl LinkProfile {
    /// Every profile, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().filter_map(|(file, text)| Self::read(file, text))
    }

    /// The profile of a name, or of another name for it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn named(name: &str) -> Result<Self, NoProfile> {
        let all: Vec<Self> = Self::all().collect();
        let names = |profile: &Self| {
            let mut names = vec![profile.name.clone()];
            names.extend(profile.aliases.clone());
            names
        };
        let is = |profile: &&Self| names(profile).iter().any(|known| known == name);
        if let Some(found) = all.iter().find(is) {
            return Ok(found.clone());
        }
        let known: Vec<String> = all.iter().flat_map(names).collect();
        let meant = closest(name, known.iter().map(String::as_str));
        Err(NoProfile {
            name: name.to_owned(),
            meant: meant.map(str::to_owned),
        })
    }

    fn read(file: &str, text: &str) -> Option<Self> {
        let (_, link) = text.split_once(LINK)?;
        let root = tree::read(file, text).ok()?;
        let Tree::Table(table) = &root.value else {
            return None;
        };
        Some(Self {
            name: scalar(table, "name")?,
            aliases: match table.get("aliases").map(|node| &node.value) {
                Some(Tree::Array(all)) => all
                    .iter()
                    .filter_map(|node| match &node.value {
                        Tree::Scalar(_, text) => Some(text.clone()),
                        _ => None,
                    })
                    .collect(),
                _ => Vec::new(),
            },
            title: scalar(table, "title")?,
            source: scalar(table, "source")?,
            measured: scalar(table, "measured")? == "true",
            rtt: scalar(table, "rtt")?,
            notes: scalar(table, "notes").unwrap_or_default(),
            link: format!("[link]\n{link}"),
        })
    }

    /// Where the numbers are from, in words.
    pub fn origin(&self) -> String {
        match self.measured {
            true => self.source.clone(),
            false => "an estimate of ours".to_owned(),
        }
    }

    /// Both rates, that towards the program first, `16mbit/1mbit`; of one that moves `trace`.
    pub fn rates(&self) -> String {
        let lines = self.link.lines();
        let rates = lines.filter_map(|line| {
            let rate = line.strip_prefix("rate = ")?;
            Some(
                rate.strip_prefix('"')
                    .map_or("trace", |rate| rate.trim_end_matches('"')),
            )
        });
        rates.collect::<Vec<_>>().join("/")
    }

    /// A scenario of the link alone, as a program behind a link takes it.
    pub fn link_scenario(&self) -> String {
        format!(
            "{}\n{}\n[exec]\nrtt = \"{}\"\n[run]\nduration = \"1h\"\n",
            self.head(),
            self.link,
            self.rtt
        )
    }

    /// A scenario with the link, a download and an upload, to start from.
    pub fn scenario(&self) -> String {
        let group = |name: &str, more: &str| {
            let rtt = &self.rtt;
            format!("\n[[group]]\nname = \"{name}\"\nrtt = \"{rtt}\"\napp = \"bulk\"\n{more}")
        };
        let mut notes = format!("# {}: {}\n", self.title, self.origin());
        if !self.notes.is_empty() {
            notes += &format!("# {}\n", self.notes);
        }
        format!(
            "{notes}{}\n{}{}{}\n[run]\nduration = \"60s\"\nwarmup = \"10s\"\n",
            self.head(),
            self.link,
            group("download", ""),
            group("upload", "direction = \"reverse\"\n"),
        )
    }

    /// What puts the link into the place of that of this scenario, and its base RTT into every group; `None` where the scenario has links with
    /// names, which its groups use.
    pub fn overrides(&self, scenario: &str) -> Option<Vec<Override>> {
        let argument = format!("--profile {}", self.name);
        let own = tree::read(&self.name, &self.link).ok()?;
        let mut all = Override::placed(&argument, "link", key(&own.value, "link")?).ok()?;
        // What cannot be read is refused where the scenario is.
        let Ok(scenario) = tree::read("", scenario) else {
            return Some(all);
        };
        let lists = ["link", "group"].map(|name| match &key(&scenario.value, name)?.value {
            Tree::Array(nodes) => Some(nodes),
            _ => None,
        });
        if lists[0].is_some() {
            return None;
        }
        let groups = lists[1].into_iter().flatten();
        let names = groups.filter_map(|group| match &key(&group.value, "name")?.value {
            Tree::Scalar(_, name) => Some(name),
            _ => None,
        });
        let rtts =
            names.map(|name| Override::option(&argument, &format!("group.{name}.rtt"), &self.rtt));
        all.extend(rtts);
        Some(all)
    }

    fn head(&self) -> String {
        let (name, title) = (&self.name, &self.title);
        format!("schema = 1\nname = \"{name}\"\ndescription = \"{title}\"\n")
    }
}

fn key<'t>(of: &'t Tree, key: &str) -> Option<&'t tree::Node> {
    match of {
        Tree::Table(table) => table.get(key),
        _ => None,
    }
}

fn scalar(table: &Table, key: &str) -> Option<String> {
    match &table.get(key)?.value {
        Tree::Scalar(_, text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
