//! Every queue discipline there is: a file or folder beside this one, and a line in the table of this file;
//! with these it exists in every world, on the command line and in the documentation.
//!
//! The table makes of each kind its module, its variant of [`Discipline`] with static dispatch, its row in
//! [`KINDS`], and its data for the shared tests ([`test_cases`]). A kind of another crate needs neither: it is [registered](crate::own).

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_units::OriginError;

use crate::kind::{Entry, QueueKind};
use crate::observer::Observer;
use crate::own::{self, Foreign, OwnKind};
use crate::packet::Packet;
use crate::parameter::{ParameterError, Settings};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc};
use crate::random::Random;
use crate::test_cases::{TestCases, Tested};
use crate::units::{Rate, Time};

/// Makes of the table of disciplines their modules, lists and enum with static dispatch.
macro_rules! disciplines {
    ($($module:ident::$variant:ident,)*) => {
        $(pub mod $module;)*

        /// Any discipline, dispatched statically.
        #[allow(clippy::large_enum_variant, reason = "a link has one; a box would cost each packet a hop")]
        #[derive(Debug)]
        pub enum Discipline<P> {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::$variant<P>),)*
            /// One that another crate brings along, behind a box.
            Own(Box<Foreign<P>>),
        }

        /// Every kind of this crate, in the order of listings; [`kinds`] has those of other crates too.
        pub const KINDS: &[Entry] = &[$(<$module::$variant<()> as QueueKind>::ENTRY,)*];

        /// The data for the shared tests of `kind`, a kind of this crate.
        pub fn test_cases(kind: &str) -> Result<TestCases, ParameterError> {
            $(if kind == <$module::$variant<()> as QueueKind>::ENTRY.name {
                return Ok(<$module::$variant<()> as Tested>::TEST_CASES);
            })*
            Err(unknown(kind))
        }

        impl<P: Packet> Discipline<P> {
            /// Makes a discipline of `kind`, whose settings come from the kind's own table. Its
            /// randomness is drawn from `random` alone.
            pub fn new(kind: &str, settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
                settings.check()?;
                $(if kind == <$module::$variant<()> as QueueKind>::ENTRY.name {
                    return $module::$variant::new(settings, link, random).map(Self::$variant);
                })*
                let own = own::find(kind).ok_or_else(|| unknown(kind))?;
                own.create(settings, link, random).map(|made| Self::Own(Box::new(made)))
            }
        }

        impl<P: Packet> Qdisc<P> for Discipline<P> {
            fn queues(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(q) => q.queues(),)* Self::Own(q) => q.queues() }
            }
            #[inline(always)]
            fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
                match self { $(Self::$variant(q) => q.enqueue(packet, now, obs),)* Self::Own(q) => q.enqueue(packet, now, obs) }
            }
            #[inline]
            fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
                match self { $(Self::$variant(q) => q.dequeue(now, obs),)* Self::Own(q) => q.dequeue(now, obs) }
            }
            #[inline]
            fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
                match self { $(Self::$variant(q) => q.pass(packet, now, obs),)* Self::Own(q) => q.pass(packet, now, obs) }
            }
            #[inline]
            fn transmitted(&mut self, now: Time) {
                match self { $(Self::$variant(q) => q.transmitted(now),)* Self::Own(q) => q.transmitted(now) }
            }
            #[inline]
            fn next_update(&self) -> Option<Time> {
                match self { $(Self::$variant(q) => q.next_update(),)* Self::Own(q) => q.next_update() }
            }
            // Those of this crate always have a next update, or never.
            fn has_updates(&self) -> bool {
                matches!(self, Self::Own(_)) || self.next_update().is_some()
            }
            // Rare beside packets: out of their way.
            #[inline(never)]
            fn update(&mut self, now: Time) {
                match self { $(Self::$variant(q) => q.update(now),)* Self::Own(q) => q.update(now) }
            }
            fn set_rate(&mut self, rate: Rate, now: Time, mut obs: &mut dyn Observer<P>) {
                match self { $(Self::$variant(q) => q.set_rate(rate, now, &mut obs),)* Self::Own(q) => q.set_rate(rate, now, &mut obs) }
            }
            fn configure(&mut self, key: &str, value: &str, now: Time, mut obs: &mut dyn Observer<P>) -> Result<(), ParameterError> {
                match self { $(Self::$variant(q) => q.configure(key, value, now, &mut obs),)* Self::Own(q) => q.configure(key, value, now, &mut obs) }
            }
            fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
                match self { $(Self::$variant(q) => q.drain(now, &mut obs),)* Self::Own(q) => q.drain(now, &mut obs) }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$variant(q) => q.backlog(),)* Self::Own(q) => q.backlog() }
            }
            fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
                match self { $(Self::$variant(q) => q.status(now, report),)* Self::Own(q) => q.status(now, report) }
            }
        }
    };
}

disciplines! {
    fifo::Fifo,
    dualpi2::DualPi2,
    dualq_2015::DualQ2015,
    dualq_curvy_red::DualQCurvyRed,
    codel::Codel,
    pie::Pie,
    gsp::Gsp,
    fq_codel::FqCodel,
    pi2::Pi2,
    step::Step,
    red::Red,
    cobalt::Cobalt,
    curvy_red::CurvyRed,
    fq_pie::FqPie,
    drop_min_value::DropMinValue,
    csaqm::Csaqm,
    pvpie::Pvpie,
    vdq_csaqm::VdqCsaqm,
}

/// Every kind, in the order of listings: first those of this crate, then those that were [registered](register).
pub fn kinds() -> impl Iterator<Item = &'static Entry> + Clone {
    KINDS
        .iter()
        .chain(own::kinds().iter().map(|own| &own.entry))
}

/// The entry of `kind`, or an error that lists all kinds.
pub fn find(kind: &str) -> Result<&'static Entry, ParameterError> {
    let found = kinds().find(|entry| entry.name == kind);
    found.ok_or_else(|| unknown(kind))
}

/// Registers the kinds of other crates: once, at the start of a program, before anything reads the list of kinds.
///
/// # Errors
/// A name is taken or is none, a table is wrong, or it is too late. Nothing is registered then.
pub fn register(kinds: Vec<OwnKind>) -> Result<(), OriginError> {
    own::set(KINDS, kinds)
}

fn unknown(kind: &str) -> ParameterError {
    Entry::unknown(kinds(), kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::TestPacket;
    use crate::parameter::{Preset, Value};
    use crate::units::Bytes;
    use std::string::ToString as _;

    #[test]
    fn every_kind_is_made_with_its_defaults() {
        for entry in KINDS {
            let link = Link {
                rate: Rate::from_mbps(40),
                mtu: Bytes::new(1_500),
            };
            let settings = Settings::new(entry.parameters);
            let random = Random::new(1, entry.name);
            let made = Discipline::<TestPacket>::new(entry.name, settings, link, random);
            assert!(made.is_ok(), "{}: {:?}", entry.name, made.err());
        }
        let error = find("fq_code").unwrap_err().to_string();
        assert!(error.contains("\"fifo\", \"dualpi2\""), "{error}");
    }

    #[test]
    fn tables_are_consistent() {
        for entry in KINDS {
            let settings = Settings::new(entry.parameters);
            for parameter in entry.parameters {
                assert!(
                    !parameter.help.is_empty() && !parameter.source.is_empty(),
                    "{}",
                    parameter.name
                );
                match parameter.default {
                    Preset::Is(text) => {
                        assert!(parameter.domain.parse(text).is_ok(), "{}", parameter.name)
                    }
                    Preset::By(other, choices) => {
                        let first = Some(Value::Word(choices[0].0));
                        assert!(settings.value(other) == first, "{}", parameter.name);
                        for (_, text) in choices {
                            assert!(parameter.domain.parse(text).is_ok(), "{}", parameter.name);
                        }
                    }
                    Preset::Derived(how) => assert!(!how.is_empty(), "{}", parameter.name),
                    Preset::Required => panic!("{} has no default", parameter.name),
                }
            }
        }
    }
}
