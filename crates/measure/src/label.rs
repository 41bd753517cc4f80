//! Names of groups, flows, links and directions.

use serde::{Deserialize, Serialize};

/// A `[[group]]` of the scenario, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of the run, counted from 0 over all groups in the order of starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link of the path, counted from 0 in the order of the scenario: from the senders of a
/// [`Direction::Forward`] flow to its receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop(pub u16);

impl Hop {
    /// The only link of a path with one link.
    pub const FIRST: Self = Self(0);
    /// Name of the link in results where the path has one link, which a scenario does not name.
    pub const ONLY_NAME: &str = "link";

    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the servers to the clients: downloads.
    Forward,
    /// From the clients to the servers: uploads, and the acknowledgements of downloads.
    Reverse,
}

impl Direction {
    /// Both, in the order in which results list them.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// 0 for forward, 1 for reverse.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The word in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// A packet that knows its group.
pub trait Labelled {
    /// The group of its flow, in either direction; `None` for traffic outside the scenario.
    fn group(&self) -> Option<GroupId>;
}
