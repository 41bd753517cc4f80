//! Suites: what there is to run.

use crate::test_case::Item;
use crate::{access, l4s, rfc7928};

/// A choice of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// RFC 7928.
    Rfc7928,
    /// Low latency, low loss: L4S beside classic traffic.
    L4s,
    /// A home's access link.
    Access,
    /// Everything.
    All,
}

impl Suite {
    /// Every one, by its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("rfc7928", Self::Rfc7928),
        ("l4s", Self::L4s),
        ("access", Self::Access),
        ("all", Self::All),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, suite)| *suite == self);
        found.map_or("", |(name, _)| name)
    }

    /// The folder of its scenario files, in `scenarios`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::L4s => "l4s-suite",
            _ => self.name(),
        }
    }

    /// Its items, in the order of the card.
    pub fn items(self) -> Vec<&'static Item> {
        let parts: &[&[Item]] = match self {
            Self::Rfc7928 => &[rfc7928::ITEMS],
            Self::L4s => &[l4s::ITEMS],
            Self::Access => &[access::ITEMS],
            Self::All => &[rfc7928::ITEMS, l4s::ITEMS, access::ITEMS],
        };
        parts.iter().flat_map(|part| part.iter()).collect()
    }
}
