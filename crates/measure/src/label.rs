//! Names of groups, flows, links and directions.

use serde::{Deserialize, Serialize};

/// A `[[group]]` of the scenario, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of the run, counted from 0 over all groups in the order of starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The number as an index.
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

    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stretch of the links: where a group's packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hops {
    /// The first, in forward direction.
    pub first: Hop,
    /// The last; not before the first.
    pub last: Hop,
}

impl Hops {
    /// All hops of a path of `links` links, of which there is at least one.
    pub fn all(links: usize) -> Self {
        Self {
            first: Hop::FIRST,
            last: Hop(links.saturating_sub(1) as u16),
        }
    }
    /// Whether it has the link.
    pub const fn contain(self, hop: Hop) -> bool {
        self.first.0 <= hop.0 && hop.0 <= self.last.0
    }
    /// The number of hops: at least one.
    pub const fn count(self) -> usize {
        (self.last.0 - self.first.0) as usize + 1
    }
    /// The links, in forward direction.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Hop> + Clone {
        (self.first.0..=self.last.0).map(Hop)
    }
    /// The link that a packet in this direction crosses first.
    pub const fn entry(self, direction: Direction) -> Hop {
        match direction {
            Direction::Forward => self.first,
            Direction::Reverse => self.last,
        }
    }
    /// The link that a packet in this direction crosses last.
    pub const fn exit(self, direction: Direction) -> Hop {
        match direction {
            Direction::Forward => self.last,
            Direction::Reverse => self.first,
        }
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The direction from the servers to the clients: downloads.
    Forward,
    /// The direction from the clients to the servers: uploads, and the acknowledgements of downloads.
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
