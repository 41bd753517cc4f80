//! The discipline that a law is about.

use quell_aqm::disciplines::{self, Discipline, KINDS};
use quell_aqm::kind::Entry;
use quell_aqm::own::{OwnKind, OwnQueue};
use quell_aqm::parameter::{ParameterError, Settings};
use quell_aqm::qdisc::Link;
use quell_aqm::test_cases::{TestCases, Tested};
use quell_aqm::{Bytes, Random, Rate};
use quell_units::Origin;

use super::ledger::TestPacket;

/// A kind of discipline under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Its row in listings.
    pub entry: &'static Entry,
    /// Settings that the tests try, and drops that they accept.
    pub test_cases: TestCases,
    /// Set if the kind is of another crate, registered or not.
    own: Option<&'static OwnKind>,
}

impl Subject {
    /// A discipline of another crate, which need not be registered.
    pub fn of<Q: OwnQueue + Tested>() -> Self {
        let origin = Origin {
            package: "a test",
            version: "0",
        };
        // A few hundred bytes for each test.
        let own: &'static OwnKind = Box::leak(Box::new(OwnKind::of::<Q>(origin)));
        Self {
            entry: &own.entry,
            test_cases: Q::TEST_CASES,
            own: Some(own),
        }
    }

    /// The discipline of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(kind: &str) -> Result<Self, ParameterError> {
        Ok(Self {
            entry: disciplines::find(kind)?,
            test_cases: disciplines::test_cases(kind)?,
            own: None,
        })
    }

    /// Every discipline of quell.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        KINDS
            .iter()
            .map(|entry| Self::named(entry.name).expect("a kind of the list"))
    }

    /// The discipline with the given parameters, on a link of `rate` and an MTU of 1 500 bytes.
    ///
    /// # Errors
    /// The parameters are refused.
    pub fn discipline(
        &self,
        given: &[(&str, &str)],
        rate: Rate,
    ) -> Result<Discipline<TestPacket>, ParameterError> {
        let mut settings = Settings::new(self.entry.parameters);
        for (key, value) in given {
            settings.set(key, value)?;
        }
        let link = Link {
            rate,
            mtu: Bytes::new(1_500),
        };
        let random = Random::new(1, "queue");
        match self.own {
            Some(own) => {
                let made = own.create(settings, link, random)?;
                Ok(Discipline::Own(Box::new(made)))
            }
            None => Discipline::new(self.entry.name, settings, link, random),
        }
    }
}
