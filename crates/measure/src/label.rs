//! Whose a packet is, and which way it goes.

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

/// A direction of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the servers to the clients: downloads.
    Forward,
    /// From the clients to the servers: uploads, and the acknowledgements of downloads.
    Reverse,
}

/// A packet that tells whose it is.
pub trait Labelled {
    /// The group of its flow, in either direction; `None` for traffic outside the scenario.
    fn group(&self) -> Option<GroupId>;
}
