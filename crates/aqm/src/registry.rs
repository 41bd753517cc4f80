//! Every discipline there is: one line each, and it exists everywhere.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::cobalt::Cobalt;
use crate::codel::Codel;
use crate::csaqm::Csaqm;
use crate::curvy_red::CurvyRed;
use crate::drop_min_value::DropMinValue;
use crate::dualpi2::DualPi2;
use crate::dualq_2015::DualQ2015;
use crate::dualq_curvy_red::DualQCurvyRed;
use crate::fifo::Fifo;
use crate::fq_codel::FqCodel;
use crate::fq_pie::FqPie;
use crate::gsp::Gsp;
use crate::observer::Observer;
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::pi2::Pi2;
use crate::pie::Pie;
use crate::pvpie::Pvpie;
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc};
use crate::random::Random;
use crate::red::Red;
use crate::step::Step;
use crate::units::{Rate, Time};
use crate::vdq_csaqm::VdqCsaqm;

/// What there is to know of a kind of discipline without making one.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name in scenarios.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where the algorithm is defined.
    pub source: &'static str,
    /// Every parameter.
    pub parameters: &'static [Parameter],
}

/// Generates the enum over all disciplines and its static dispatch from one list.
macro_rules! registry {
    ($($variant:ident => |$settings:ident, $link:ident, $random:ident| $build:expr,)*) => {
        /// Any discipline, dispatched statically.
        #[allow(clippy::large_enum_variant, reason = "a link has one; a box would cost each packet a hop")]
        #[derive(Debug)]
        pub enum Discipline<P> { $(#[doc = concat!("See [`", stringify!($variant), "`].")] $variant($variant<P>),)* }

        /// Every kind, in the order of listings.
        pub const KINDS: &[Entry] = &[$(Entry {
            name: <$variant<()> as Kind>::NAME,
            summary: <$variant<()> as Kind>::SUMMARY,
            source: <$variant<()> as Kind>::SOURCE,
            parameters: <$variant<()> as Kind>::PARAMETERS,
        },)*];

        impl<P: Packet> Discipline<P> {
            /// Makes a discipline of `kind`, whose settings come from the kind's own table. Its
            /// randomness is drawn from `random` alone.
            pub fn new(kind: &str, settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
                settings.check()?;
                $(if kind == <$variant<P> as Kind>::NAME {
                    let ($settings, $link, $random) = (settings, link, random);
                    let _ = &$random;
                    return Ok(Self::$variant($build?));
                })*
                Err(unknown(KINDS, kind))
            }
        }

        impl<P: Packet> Qdisc<P> for Discipline<P> {
            fn queues(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(q) => q.queues(),)* }
            }
            #[inline]
            fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
                match self { $(Self::$variant(q) => q.enqueue(packet, now, obs),)* }
            }
            #[inline]
            fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
                match self { $(Self::$variant(q) => q.dequeue(now, obs),)* }
            }
            #[inline]
            fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
                match self { $(Self::$variant(q) => q.pass(packet, now, obs),)* }
            }
            #[inline]
            fn transmitted(&mut self, now: Time) {
                match self { $(Self::$variant(q) => q.transmitted(now),)* }
            }
            #[inline]
            fn next_update(&self) -> Option<Time> {
                match self { $(Self::$variant(q) => q.next_update(),)* }
            }
            // Rare beside packets: out of their way.
            #[inline(never)]
            fn update(&mut self, now: Time) {
                match self { $(Self::$variant(q) => q.update(now),)* }
            }
            fn set_rate(&mut self, rate: Rate, now: Time, obs: &mut impl Observer<P>) {
                match self { $(Self::$variant(q) => q.set_rate(rate, now, obs),)* }
            }
            fn configure(&mut self, key: &str, value: &str, now: Time, obs: &mut impl Observer<P>) -> Result<(), ParameterError> {
                match self { $(Self::$variant(q) => q.configure(key, value, now, obs),)* }
            }
            fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
                match self { $(Self::$variant(q) => q.drain(now, obs),)* }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$variant(q) => q.backlog(),)* }
            }
            fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
                match self { $(Self::$variant(q) => q.status(now, tell),)* }
            }
        }
    };
}

registry! {
    Fifo => |settings, link, random| Fifo::new(settings, link),
    DualPi2 => |settings, link, random| DualPi2::new(settings, link, random),
    DualQ2015 => |settings, link, random| DualQ2015::new(settings, link, random),
    DualQCurvyRed => |settings, link, random| DualQCurvyRed::new(settings, link, random),
    Codel => |settings, link, random| Codel::new(settings, link),
    Pie => |settings, link, random| Pie::new(settings, link, random),
    Gsp => |settings, link, random| Gsp::new(settings, link),
    FqCodel => |settings, link, random| FqCodel::new(settings, link, random),
    Pi2 => |settings, link, random| Pi2::new(settings, link, random),
    Step => |settings, link, random| Step::new(settings, link),
    Red => |settings, link, random| Red::new(settings, link, random),
    Cobalt => |settings, link, random| Cobalt::new(settings, link, random),
    CurvyRed => |settings, link, random| CurvyRed::new(settings, link, random),
    FqPie => |settings, link, random| FqPie::new(settings, link, random),
    DropMinValue => |settings, link, random| DropMinValue::new(settings, link),
    Csaqm => |settings, link, random| Csaqm::new(settings, link),
    Pvpie => |settings, link, random| Pvpie::new(settings, link, random),
    VdqCsaqm => |settings, link, random| VdqCsaqm::new(settings, link),
}

/// The entry of `kind`, or the kinds there are.
pub fn find(kind: &str) -> Result<&'static Entry, ParameterError> {
    entry(KINDS, kind)
}

/// The entry of `kind` in `entries`, or the kinds there are.
pub(crate) fn entry(
    entries: &'static [Entry],
    kind: &str,
) -> Result<&'static Entry, ParameterError> {
    let found = entries.iter().find(|entry| entry.name == kind);
    found.ok_or_else(|| unknown(entries, kind))
}

fn unknown(entries: &[Entry], kind: &str) -> ParameterError {
    let known: Vec<String> = entries
        .iter()
        .map(|entry| format!("\"{}\"", entry.name))
        .collect();
    ParameterError {
        key: "kind".to_string(),
        found: kind.to_string(),
        allowed: format!("must be one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::TestPacket;
    use crate::parameter::Preset;
    use crate::units::Bytes;

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
                        assert!(settings.word(other) == choices[0].0, "{}", parameter.name);
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
