//! The tables of a scenario, and what a row says of one of their keys.

use crate::World;
use crate::domain::Domain;

/// A table of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The top of the file.
    Root,
    /// `[link]`
    Link,
    /// `[link.reverse]`
    Reverse,
    /// `rate = { … }`
    Trace,
    /// `access = { … }`
    Medium,
    /// `impair = { … }`
    Impair,
    /// `remark = [{ … }]`
    Remark,
    /// `[[group]]`
    Group,
    /// `congestion-control = { … }`
    CongestionControl,
    /// `value = { … }`
    Value,
    /// `app = { … }`
    App,
    /// `interval = { … }` of datagrams.
    Interval,
    /// `on`, `off` and `repeat` as a table.
    Period,
    /// `[[at]]`
    At,
    /// `[run]`
    Run,
}

impl Section {
    /// Every section.
    pub const ALL: &'static [Self] = &[
        Self::Root,
        Self::Link,
        Self::Reverse,
        Self::Trace,
        Self::Medium,
        Self::Impair,
        Self::Remark,
        Self::Group,
        Self::CongestionControl,
        Self::Value,
        Self::App,
        Self::Interval,
        Self::Period,
        Self::At,
        Self::Run,
    ];

    /// As people know it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Root => "a scenario",
            Self::Link => "[link]",
            Self::Reverse => "[link.reverse]",
            Self::Trace => "rate",
            Self::Medium => "access",
            Self::Impair => "impair",
            Self::Remark => "a network of remark",
            Self::Group => "[[group]]",
            Self::CongestionControl => "congestion-control",
            Self::Value => "value",
            Self::App => "app",
            Self::Interval => "interval",
            Self::Period => "a period",
            Self::At => "[[at]]",
            Self::Run => "[run]",
        }
    }

    /// The heading in a file under which the examples of its keys stand; empty at the top of the file.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::Link | Self::Trace | Self::Medium | Self::Impair | Self::Remark => "[link]",
            Self::Reverse => "[link.reverse]",
            Self::Group
            | Self::CongestionControl
            | Self::Value
            | Self::App
            | Self::Interval
            | Self::Period => "[[group]]",
            Self::At => "[[at]]",
            Self::Run => "[run]",
        }
    }
}

/// The value of a key that nobody gave.
#[derive(Debug, Clone, Copy)]
pub enum KeyDefault {
    /// There is none: the key must be given.
    Required,
    /// This, in the notation of the file.
    Is(&'static str),
    /// It follows from other keys, or is nothing; the text says how.
    Derived(&'static str),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The table in which it stands.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// Kind, unit and range.
    pub domain: Domain,
    /// What it is when nobody says.
    pub default: KeyDefault,
    /// The key exists only where the key `kind` of the same table has this value. A name may have a row for each of several
    /// kinds.
    pub only: Option<&'static str>,
    /// Why it has no effect on senders of datagrams, if it has none.
    pub datagrams: Option<&'static str>,
    /// Whether an `[[at]]` can change it.
    pub live: bool,
    /// Where name and default come from; empty if from quell itself.
    pub source: &'static str,
    /// What it does.
    pub help: &'static str,
    /// A line of a file that gives it, in the table that [`Section::heading`] names.
    pub example: &'static str,
    /// Where it works; elsewhere it is refused.
    pub worlds: &'static [World],
}

impl KeyDefault {
    /// In words: a value, or how it follows; `None` where the key must be given.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Required => None,
            Self::Is("") => Some("empty"),
            Self::Is(text) | Self::Derived(text) => Some(text),
        }
    }
}

impl Key {
    /// A row with nothing special about it: an optional text without a value. `doc` is what it does, as a comment has it.
    pub(crate) const fn new(section: Section, name: &'static str, doc: &'static str) -> Self {
        Self {
            section,
            name,
            domain: Domain::Text,
            default: KeyDefault::Required,
            only: None,
            datagrams: None,
            live: false,
            source: "",
            help: doc.trim_ascii_start(),
            example: "",
            worlds: World::ALL,
        }
    }

    /// The heading in a file under which its example stands; empty at the top of the file.
    pub fn heading(&self) -> &'static str {
        match (self.section, self.name) {
            // Only where there are several.
            (Section::Link, "delay") => "[[link]]",
            (section, _) => section.heading(),
        }
    }

    /// The dotted path from the top of a file, as errors print it and `--set` takes it. `NAME` stands for the name of a
    /// group, `PERIOD` for a key of an application that is a period.
    pub fn path(&self) -> String {
        let table = match self.section {
            Section::Root => return self.name.to_owned(),
            Section::Link => "link",
            Section::Reverse => "link.reverse",
            Section::Trace => "link.rate",
            Section::Medium => "link.access",
            Section::Impair => "link.impair",
            Section::Remark => "link.remark",
            Section::Group => "group.NAME",
            Section::CongestionControl => "group.NAME.congestion-control",
            Section::Value => "group.NAME.value",
            Section::App => "group.NAME.app",
            Section::Interval => "group.NAME.app.interval",
            Section::Period => "group.NAME.app.PERIOD",
            Section::At => "at",
            Section::Run => "run",
        };
        format!("{table}.{}", self.name)
    }
}
