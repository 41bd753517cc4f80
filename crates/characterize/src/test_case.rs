//! A test case of a suite: where it comes from, and the traffic that each queue carries in it.

use quell_units::Time;

use crate::profile::Profile;
use crate::traffic::Traffic;

/// A test case of a suite.
#[derive(Debug)]
pub struct TestCase {
    /// Its name, also that of its scenario file. Variants of one scenario share what stands before the first figure: `rtt-5`, `rtt-100`.
    pub id: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What the source says of it: must, should, may …
    pub weight: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What is done.
    pub content: Content,
}

/// What is done for a test case.
#[derive(Debug)]
pub enum Content {
    /// Each queue carries this traffic.
    Runs(Run),
    /// The queue says what it is.
    Description,
    /// Each parameter of the queue, halved and doubled, with this traffic.
    Parameters(Run),
    /// Nothing, for this reason.
    NotRun(&'static str),
}

/// Traffic, and what is said of it.
#[derive(Debug)]
pub struct Run {
    /// The traffic in a setting.
    pub traffic: fn(&Setting<'_>) -> Traffic,
    /// Whether the standard flows have each of the congestion controls that were asked for; else those of the source.
    pub any_control: bool,
    /// Which losses are looked at one by one: of the data in the forward direction.
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
    /// Whether it is on the access link of [`access`](crate::access), which has a bandwidth-delay product of its own each way.
    pub home: bool,
    /// Whether a queue that can choose marks ECN-capable packets, also where it would drop them by default.
    pub marks: bool,
    /// What stands in the first of two links in a row; `None` with one link. The queue of the card is that of the second.
    pub first: Option<First>,
}

/// The queue of the first of two links in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// That of the scenario file, whatever the card is of.
    Written,
    /// That of the second link.
    Same,
    /// The same kind with one parameter doubled: `target`, where it has that, else the first that may be; the same, if none may.
    Doubled,
}

impl Run {
    /// Traffic with the source's controls.
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

    /// Two links in a row.
    pub const fn behind(mut self, first: First) -> Self {
        self.first = Some(first);
        self
    }

    /// Every queue holds so many packets.
    pub const fn with_buffer(mut self, packets: u64) -> Self {
        self.buffer = Some(packets);
        self
    }

    /// On the access link of [`access`](crate::access), with the queue in both directions.
    pub const fn at_home(mut self) -> Self {
        self.home = true;
        self.in_both_ways()
    }

    /// A queue that has a parameter `ecn` marks.
    pub const fn with_marks(mut self) -> Self {
        self.marks = true;
        self
    }

    /// The standard flows have each congestion control that was asked for.
    pub const fn of_any_control(mut self) -> Self {
        self.any_control = true;
        self
    }

    /// Losses are looked at one by one.
    pub const fn with_losses(mut self) -> Self {
        self.losses = true;
        self
    }

    /// The time to the steady rate is looked at.
    pub const fn with_start(mut self) -> Self {
        self.start = true;
        self
    }

    /// The other direction has the queue as well.
    pub const fn in_both_ways(mut self) -> Self {
        self.both_ways = true;
        self
    }

    /// Each direction is reported by itself.
    pub const fn with_directions(mut self) -> Self {
        self.directions = true;
        self
    }

    /// Phases are reported.
    pub const fn with_phases(mut self) -> Self {
        self.phases = true;
        self
    }
}

/// What traffic depends on.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The path.
    pub profile: &'a Profile,
    /// The congestion control of standard flows.
    pub control: &'a str,
}

impl Setting<'_> {
    /// The base RTT.
    pub fn rtt(&self) -> Time {
        self.profile.rtt
    }
}

impl TestCase {
    /// Whether `--only` with this word means it: its id, or what variants share.
    pub fn is_called(&self, word: &str) -> bool {
        self.id == word
            || self
                .id
                .strip_prefix(word)
                .is_some_and(|rest| rest.starts_with('-'))
    }
}
