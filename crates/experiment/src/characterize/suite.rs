//! Suites: which test cases there are.

use crate::characterize::test_case::TestCase;
use crate::characterize::{access, l4s, rfc7928};

/// A choice of test cases.
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
    /// Every suite, with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("rfc7928", Self::Rfc7928),
        ("l4s", Self::L4s),
        ("access", Self::Access),
        ("all", Self::All),
    ];

    /// Name of the suite.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, suite)| *suite == self);
        found.map_or("", |(name, _)| name)
    }

    /// Folder of the scenario files, in `scenarios`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::L4s => "l4s-suite",
            _ => self.name(),
        }
    }

    /// Test cases of the suite, in the order of the card.
    pub fn test_cases(self) -> Vec<&'static TestCase> {
        let parts: &[&[TestCase]] = match self {
            Self::Rfc7928 => &[rfc7928::TEST_CASES],
            Self::L4s => &[l4s::TEST_CASES],
            Self::Access => &[access::TEST_CASES],
            Self::All => &[rfc7928::TEST_CASES, l4s::TEST_CASES, access::TEST_CASES],
        };
        parts.iter().flat_map(|part| part.iter()).collect()
    }
}
