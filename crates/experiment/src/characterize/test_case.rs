//! A test case of a suite: where it comes from, and the traffic that each queue carries in it.

use quell_units::Time;

use crate::characterize::profile::Profile;
use crate::characterize::traffic::Traffic;

/// A test case of a suite.
#[derive(Debug)]
pub struct TestCase {
    /// Name of the test case, and of its scenario file. Variants of one scenario share what stands before the first figure: `rtt-5`, `rtt-100`.
    pub id: &'static str,
    /// Document and section that the test case comes from.
    pub source: &'static str,
    /// Weight that the source gives it: must, should, may …
    pub weight: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// The action of the test case.
    pub content: Content,
}

/// The action of a test case.
#[derive(Debug)]
pub enum Content {
    /// Each queue carries this traffic.
    Runs(Run),
    /// The card describes the queue; nothing runs.
    Description,
    /// The queue carries this traffic with each of its parameters halved and doubled.
    Parameters(Run),
    /// Nothing runs, for this reason.
    NotRun(&'static str),
}

/// Traffic, and which of its figures are reported.
#[derive(Debug)]
pub struct Run {
    /// Function that makes the traffic of a setting.
    pub traffic: fn(&Setting<'_>) -> Traffic,
    /// Whether the standard flows have each of the congestion controls that were asked for; else those of the source.
    pub any_control: bool,
    /// Whether losses of data in the forward direction are looked at one by one.
    pub losses: bool,
    /// Whether the time from the start to the steady rate is looked at: all flows start at 0 and keep their rate.
    pub start: bool,
    /// Whether the other direction has the queue as well.
    pub both_ways: bool,
    /// Whether each direction is reported by itself, with its losses of ACKs and SYNs.
    pub directions: bool,
    /// Whether phases are reported.
    pub phases: bool,
    /// Packets that every queue holds, if not the bandwidth-delay product of the profile.
    pub buffer: Option<u64>,
    /// Whether the traffic is on the access link of [`access`](crate::characterize::access), which has a bandwidth-delay product of its own each way.
    pub home: bool,
    /// Whether a queue that can choose marks ECN-capable packets, also where it would drop them by default.
    pub marks: bool,
    /// Queue of the first of two links in a row; `None` with one link. The queue of the card is that of the second.
    pub first: Option<First>,
}

/// The queue of the first of two links in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The queue of the scenario file, whatever queue the card is about.
    Written,
    /// The queue of the second link.
    Same,
    /// The queue of the second link with one parameter doubled: `target`, or the first that can be where there is no target; unchanged if none can be.
    Doubled,
}

impl Run {
    /// Traffic with the congestion controls of the source, and no further figures.
    pub const fn new(traffic: fn(&Setting<'_>) -> Traffic) -> Self {
        Self {
            traffic,
            any_control: false,
            losses: false,
            start: false,
            both_ways: false,
            directions: false,
            phases: false,
            buffer: None,
            home: false,
            marks: false,
            first: None,
        }
    }

    /// Puts a first link before that of the card.
    pub const fn behind(mut self, first: First) -> Self {
        self.first = Some(first);
        self
    }

    /// Gives every queue room for this number of packets.
    pub const fn with_buffer(mut self, packets: u64) -> Self {
        self.buffer = Some(packets);
        self
    }

    /// Puts the traffic on the access link of [`access`](crate::characterize::access), with the queue in both directions.
    pub const fn at_home(mut self) -> Self {
        self.home = true;
        self.in_both_ways()
    }

    /// Turns on marks of queues that have a parameter `ecn`.
    pub const fn with_marks(mut self) -> Self {
        self.marks = true;
        self
    }

    /// Gives the standard flows each congestion control that was asked for.
    pub const fn of_any_control(mut self) -> Self {
        self.any_control = true;
        self
    }

    /// Looks at losses one by one.
    pub const fn with_losses(mut self) -> Self {
        self.losses = true;
        self
    }

    /// Looks for the time to the steady rate.
    pub const fn with_start(mut self) -> Self {
        self.start = true;
        self
    }

    /// Gives the other direction the queue as well.
    pub const fn in_both_ways(mut self) -> Self {
        self.both_ways = true;
        self
    }

    /// Reports each direction by itself.
    pub const fn with_directions(mut self) -> Self {
        self.directions = true;
        self
    }

    /// Reports phases.
    pub const fn with_phases(mut self) -> Self {
        self.phases = true;
        self
    }
}

/// The path and the congestion control that traffic depends on.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The path.
    pub profile: &'a Profile,
    /// The congestion control of standard flows.
    pub control: &'a str,
}

impl Setting<'_> {
    /// Base RTT of the path.
    pub fn rtt(&self) -> Time {
        self.profile.rtt
    }
}

impl TestCase {
    /// Whether `--only WORD` selects the test case: by its name, or by the part that variants share.
    pub fn is_called(&self, word: &str) -> bool {
        self.id == word
            || self
                .id
                .strip_prefix(word)
                .is_some_and(|rest| rest.starts_with('-'))
    }
}
