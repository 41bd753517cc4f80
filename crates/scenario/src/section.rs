//! The tables of a scenario, and what a row says of one of their keys.

use crate::World;
use crate::domain::Domain;

/// Declares the tables of a scenario: each with its title, the heading under which the examples of its keys stand, and the path of
/// its keys.
macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident: $title:literal, $heading:literal, $path:literal;)*) => {
        /// A table of a scenario.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Section { $($(#[$doc])* $section,)* }

        impl Section {
            /// Every section.
            pub const ALL: &'static [Self] = &[$(Self::$section),*];

            /// The name of the section in messages.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$section => $title,)* }
            }

            /// The heading in a file under which the examples of its keys stand; empty at the top of the file.
            pub const fn heading(self) -> &'static str {
                match self { $(Self::$section => $heading,)* }
            }

            const fn path(self) -> &'static str {
                match self { $(Self::$section => $path,)* }
            }
        }
    };
}

sections! {
    /// The top of the file.
    Root: "a scenario", "", "";
    /// `[link]`
    Link: "[link]", "[link]", "link";
    /// `[link.reverse]`
    Reverse: "[link.reverse]", "[link.reverse]", "link.reverse";
    /// `rate = { … }`
    Trace: "rate", "[link]", "link.rate";
    /// `access = { … }`
    Medium: "access", "[link]", "link.access";
    /// `impair = { … }`
    Impair: "impair", "[link]", "link.impair";
    /// `rules = [{ … }]` of `impair`.
    Rule: "a rule", "[link]", "link.impair.rules.NAME";
    /// `remark = [{ … }]`
    Remark: "a network of remark", "[link]", "link.remark";
    /// `[[group]]`
    Group: "[[group]]", "[[group]]", "group.NAME";
    /// `congestion-control = { … }`
    CongestionControl: "congestion-control", "[[group]]", "group.NAME.congestion-control";
    /// `receiver = { … }`
    Receiver: "receiver", "[[group]]", "group.NAME.receiver";
    /// `value = { … }`
    Value: "value", "[[group]]", "group.NAME.value";
    /// `app = { … }`
    App: "app", "[[group]]", "group.NAME.app";
    /// `interval = { … }` of datagrams.
    Interval: "interval", "[[group]]", "group.NAME.app.interval";
    /// `on`, `off` and `repeat` as a table.
    Period: "a period", "[[group]]", "group.NAME.app.PERIOD";
    /// `[[at]]`
    At: "[[at]]", "[[at]]", "at";
    /// `[[expect]]`
    Expect: "[[expect]]", "[[expect]]", "expect";
    /// `[run]`
    Run: "[run]", "[run]", "run";
}

/// The value of a key that is not given.
#[derive(Debug, Clone, Copy)]
pub enum KeyDefault {
    /// There is none: the key must be given.
    Required,
    /// The key has this value, in the notation of the file.
    Is(&'static str),
    /// It follows from other keys, or is nothing; the text says how.
    Derived(&'static str),
}

/// One row of the table of keys.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The table in which the key stands.
    pub section: Section,
    /// The name of the key.
    pub name: &'static str,
    /// Kind, unit and range.
    pub domain: Domain,
    /// The value where the file gives none.
    pub default: KeyDefault,
    /// The key exists only where the key `kind` of the same table has this value. A name may have a row for each of several
    /// kinds.
    pub only: Option<&'static str>,
    /// The reason why the key has no effect on senders of datagrams, if it has none.
    pub datagrams: Option<&'static str>,
    /// Whether an `[[at]]` can change the key.
    pub live: bool,
    /// The source of name and default; empty if they are quell's own.
    pub source: &'static str,
    /// The effect of the key.
    pub help: &'static str,
    /// A line of a file that gives it, in the table that [`Section::heading`] names.
    pub example: &'static str,
    /// The worlds in which the key works; others refuse it.
    pub worlds: &'static [World],
}

impl KeyDefault {
    /// The default in words: a value, or how it follows. `None` where the key must be given.
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
        match self.section.path() {
            "" => self.name.to_owned(),
            table => format!("{table}.{}", self.name),
        }
    }
}
