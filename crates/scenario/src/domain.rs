//! The domain of a key: the values that it may have.
//!
//! Quantities are those of `quell-aqm`, whose notation is the only one; here is what its disciplines do not need: rates,
//! signed numbers, names, free text.

use std::fmt;

use quell_units::notation;
use quell_units::parameter::{self, Value};
use quell_units::{Bytes, Rate, Time};

use super::problem::Origin;
use super::tree::{Node, TomlType, Tree};

/// The longest name of a scenario or group.
pub const LONGEST_NAME: usize = 64;

/// Kind, unit and range of a key.
#[derive(Debug, Clone, Copy)]
pub enum Domain {
    /// The domain of a discipline's parameter.
    Value(parameter::Domain),
    /// A rate from the first to the second; the third, if any, is a word or rate allowed besides.
    Rate(Rate, Rate, Option<Rate>),
    /// A whole number with a sign.
    Signed(i32, i32),
    /// A letter or digit, then letters, digits, `-` and `_`.
    Name,
    /// A letter, then letters, digits, `-` and `_`: what a dotted key can hold, and no number.
    Word,
    /// Any text.
    Text,
    /// A list of seeds.
    Seeds,
    /// A table, or another form that its reader explains; the text finishes "must be …".
    Table(&'static str),
}

/// A value read.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Value(Value),
    Signed(i32),
    Text(String),
    Seeds(Vec<u64>),
}

impl Domain {
    /// Reads a value from text.
    pub(crate) fn parse(&self, text: &str) -> Option<Parsed> {
        match self {
            Self::Value(domain) => domain.parse(text).ok().map(Parsed::Value),
            Self::Rate(low, high, besides) => notation::rate(text.trim())
                .ok()
                .filter(|rate| (low..=high).contains(&rate) || Some(*rate) == *besides)
                .map(|rate| Parsed::Value(Value::Rate(rate))),
            Self::Signed(low, high) => text
                .parse()
                .ok()
                .filter(|number| (low..=high).contains(&number))
                .map(Parsed::Signed),
            Self::Name => is_name(text).then(|| Parsed::Text(text.to_owned())),
            Self::Word => {
                let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
                (starts_well && is_name(text)).then(|| Parsed::Text(text.to_owned()))
            }
            Self::Text => Some(Parsed::Text(text.to_owned())),
            Self::Seeds | Self::Table(_) => None,
        }
    }

    /// This domain of the rate of a direction where there are so many links: of several each may be unlimited, as long as the data
    /// of every group meets a limit.
    pub(crate) fn of_links(self, links: usize) -> Self {
        match self {
            Self::Rate(low, high, None) if links > 1 => {
                Self::Rate(low, high, Some(Rate::UNLIMITED))
            }
            domain => domain,
        }
    }

    /// The types of TOML that may hold it.
    pub(crate) fn kinds(&self) -> &'static [TomlType] {
        match self {
            Self::Value(domain) => kinds(domain),
            Self::Signed(..) => &[TomlType::Integer],
            Self::Rate(..) | Self::Name | Self::Word | Self::Text => &[TomlType::String],
            Self::Seeds | Self::Table(_) => &[],
        }
    }
}

/// The types of TOML that may hold a discipline's parameter.
pub(crate) fn kinds(domain: &parameter::Domain) -> &'static [TomlType] {
    use parameter::Domain as D;
    match domain {
        D::Integer(..) => &[TomlType::Integer],
        D::Flag => &[TomlType::Boolean],
        D::Packets(..)
        | D::TimeOrPackets(..)
        | D::Limit {
            plain_is_packets: true,
        } => &[TomlType::String, TomlType::Integer],
        D::Fraction(..) => &[TomlType::Integer, TomlType::Float],
        D::Frequency(..) => &[TomlType::String, TomlType::Integer, TomlType::Float],
        D::Time(..)
        | D::Bytes(..)
        | D::Rate(..)
        | D::Word(_)
        | D::Period(..)
        | D::Interval(..)
        | D::Sizes(..)
        | D::Rates(_)
        | D::Limit {
            plain_is_packets: false,
        } => &[TomlType::String],
        D::CommandLine => &[],
    }
}

/// The text of a scalar that is written in one of `kinds`. An argument of the command line has no quotes, so any will do.
pub(crate) fn scalar<'a>(node: &'a Node, kinds: &[TomlType]) -> Option<&'a str> {
    match &node.value {
        Tree::Scalar(kind, text)
            if kinds.contains(kind) || matches!(node.origin, Origin::Argument(_)) =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// The most seeds of one run.
pub(crate) const MOST_SEEDS: usize = 1_000;

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl fmt::Display for Domain {
    /// The allowed values, in words that finish the sentence "must be …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(parameter::Domain::Integer(low, high)) if low == high => {
                write!(f, "{low}, the only one there is")
            }
            Self::Value(domain @ parameter::Domain::Rates(_)) => {
                write!(f, "{domain}, or {{ file = \"levels.txt\" }}")
            }
            Self::Value(domain) => domain.fmt(f),
            Self::Rate(low, high, None) => write!(f, "a rate from {low} to {high}"),
            Self::Rate(low, high, Some(besides)) => {
                write!(f, "a rate from {low} to {high}, or {besides}")
            }
            Self::Signed(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::Name => write!(
                f,
                "a letter or digit, then letters, digits, - and _, {LONGEST_NAME} at most (it names a folder)"
            ),
            Self::Word => write!(
                f,
                "a letter, then letters, digits, - and _, {LONGEST_NAME} at most"
            ),
            Self::Text => f.write_str("a text in quotes"),
            Self::Seeds => write!(
                f,
                "a list of 1 to {MOST_SEEDS} different whole numbers, such as [1, 2, 3]"
            ),
            Self::Table(form) => f.write_str(form),
        }
    }
}

/// Times from `low` to `high`.
pub(crate) const fn time(low: Time, high: Time) -> Domain {
    Domain::Value(parameter::Domain::Time(low, high))
}

/// Bytes from `low` to `high`.
pub(crate) const fn bytes(low: Bytes, high: Bytes) -> Domain {
    Domain::Value(parameter::Domain::Bytes(low.get(), high.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;

    fn node(kind: TomlType, text: &str) -> Node {
        Node {
            origin: Origin::Line(1),
            value: Tree::Scalar(kind, text.to_owned()),
        }
    }

    #[test]
    fn a_file_writes_values_in_their_own_kind_and_an_argument_in_any() {
        let domain = Domain::Value(parameter::Domain::Integer(1, 5));
        assert!(domain.read(&node(TomlType::Integer, "4")).is_ok());
        assert_eq!(
            domain.read(&node(TomlType::String, "4")),
            Err(Refusal::Must {
                allowed: "a whole number from 1 to 5".to_owned(),
                hint: "; write 4 without quotes".to_owned()
            })
        );
        let argument = Node {
            origin: Origin::Argument(String::new()),
            value: Tree::Scalar(TomlType::Other, "4".to_owned()),
        };
        assert!(domain.read(&argument).is_ok());
    }

    #[test]
    fn rates_allow_their_exception() {
        let reverse = Domain::Rate(
            Rate::from_bps(1_000),
            Rate::from_mbps(1_000),
            Some(Rate::UNLIMITED),
        );
        assert_eq!(
            reverse.parse("unlimited"),
            Some(Parsed::Value(Value::Rate(Rate::UNLIMITED)))
        );
        assert_eq!(reverse.parse("999bit"), None);
        assert_eq!(
            reverse.to_string(),
            "a rate from 1kbit to 1gbit, or unlimited"
        );
    }

    #[test]
    fn names_are_safe_as_folders() {
        for (text, name, word) in [
            ("a-b_1", true, true),
            ("1a", true, false),
            ("", false, false),
            ("-a", false, false),
            ("..", false, false),
            ("a/b", false, false),
            ("ä", false, false),
        ] {
            assert_eq!(
                (
                    Domain::Name.parse(text).is_some(),
                    Domain::Word.parse(text).is_some()
                ),
                (name, word),
                "{text}"
            );
        }
    }
}
