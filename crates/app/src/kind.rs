//! The declaration of a kind of application: its name, its parameters, its two ends and its report.

use std::fmt;

use quell_units::parameter::Table;
use quell_units::{Bytes, ParameterError, Random, Rate, Settings, Time};

use crate::{Application, Datagrams, EventInfo, KindReport, Role, Session, Transport};

/// The longest period: no run is longer.
pub(crate) const DAY: Time = Time::from_secs(86_400);

/// Settings of a kind under one name, such as those of a published experiment.
///
/// A scenario names it with the key `preset`, which every kind with presets has. A key that is given
/// beside it counts instead of the preset's value, and a value of the preset that has no effect beside
/// what is given is left out. The resolved scenario lists plain values only.
#[derive(Debug, Clone, Copy)]
pub struct PresetSettings {
    /// The word in scenarios.
    pub name: &'static str,
    /// A clause about the kind and its origin.
    pub summary: &'static str,
    /// Parameters of the kind, each with its value in the notation of scenarios.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The path of a group's flows, as far as the scenario knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Rate of the link in the direction of the data at the start, perhaps unlimited.
    pub rate: Rate,
    /// Base RTT.
    pub rtt: Time,
}

/// A kind of application; a value of it is one with its parameters.
///
/// A new kind implements this in a file of its own, and has a line in [`kinds`](crate::kinds).
pub trait ApplicationKind: Clone + fmt::Debug + PartialEq {
    /// The name in scenarios and results.
    const NAME: &'static str;
    /// A clause about it.
    const SUMMARY: &'static str;
    /// Optional parameters that are given together or not at all.
    const TOGETHER: &'static [&'static str] = &[];
    /// The line of a scenario that gives all of them, or all that go together.
    const EXAMPLE: &'static str;
    /// Further lines, which give those that do not go together with the others.
    const MORE_EXAMPLES: &'static [&'static str] = &[];
    /// Settings that have a name.
    const PRESETS: &'static [PresetSettings] = &[];
    /// Whether it takes all that it can get, for as long as it lives.
    const GREEDY: bool = false;
    /// Whether quell has both of its ends. A kind without is of programs, which run on real hosts only.
    const MODELLED: bool = true;
    /// The events that it records ([`Action::Record`](crate::Action::Record)).
    const EVENTS: &'static [EventInfo] = &[];
    /// Its parameters, in the order in which a resolved scenario lists them.
    type Parameters: Table;
    /// Either of its two ends.
    type End: Application<Report = Self::Report>;
    /// Its report.
    type Report: KindReport;

    /// Whether the parameters go with each other, beyond what the table says of each.
    ///
    /// # Errors
    ///
    /// One of them does not.
    fn check(parameters: &Self::Parameters) -> Result<(), ParameterError> {
        let _ = parameters;
        Ok(())
    }
    /// The application with these parameters, which [`ApplicationKind::check`] has passed.
    fn new(parameters: Self::Parameters) -> Self;

    /// Whether its receiver reads some segments at a time, and not whatever is there as soon as something is.
    fn reads_in_pieces(&self) -> bool {
        Self::GREEDY
    }

    /// Gives the parameters that follow from the path, where they are not given: the resolved scenario
    /// lists them like those that the file gives. Settings that have been through this stay as they are.
    fn settle(settings: &mut Settings, path: &Path) {
        let _ = (settings, path);
    }

    /// One of its ends. Its randomness is drawn from `random` alone; both ends have the same stream.
    fn end(&self, role: Role, random: Random) -> Self::End;

    /// Gives `end`, which is one of this kind, this value's parameters from `at` on, as far as they can
    /// change during a run. Called before the end is polled first, in the order of time; a change from before
    /// the flow begins holds from its beginning.
    fn change(&self, end: &mut Self::End, at: Time) {
        let _ = (end, at);
    }

    /// The datagrams that it sends; `None` over TCP.
    fn datagrams(&self) -> Option<Datagrams> {
        None
    }
    /// The mean time between two datagrams, or less; `None` over TCP.
    fn datagram_gap(&self) -> Option<Time> {
        self.datagrams().map(Datagrams::gap)
    }
    /// The transport of its data.
    fn transport(&self) -> Transport {
        match self.datagrams() {
            Some(_) => Transport::Datagram,
            None => Transport::Stream,
        }
    }
    /// Whether it slows down where the network marks or drops, as TCP does by itself.
    fn responds(&self) -> bool {
        self.datagrams().is_none()
    }
    /// Its use of several connections, or of data in both directions; `None` for one connection at a
    /// time, opened by the sender, with data from the sender to the receiver.
    fn session(&self) -> Option<Session> {
        None
    }
    /// Whether a flow may open one connection after another.
    fn renews(&self) -> bool {
        false
    }
    /// The most connections that a session's flow asks for in `span`; `None` where only
    /// [`Session::connections`] bounds them. Estimates of memory use it.
    fn most_opened(&self, span: Time) -> Option<u64> {
        let _ = span;
        None
    }
    /// The most payload that a connection carries; `None` without a bound. Estimates of memory use
    /// it.
    fn most_payload(&self) -> Option<Bytes> {
        None
    }
}
