//! What the congestion control of a group was when it ran: a fact of the run, not a figure.

use serde::{Deserialize, Serialize};

/// What carried a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The simulator's model.
    Model,
    /// The kernel: built in, a module, or compiled into a guest's kernel.
    Kernel,
    /// A BPF program that quell loaded.
    Bpf,
}

/// How receivers report marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkFeedback {
    /// Not at all: no ECN.
    Off,
    /// RFC 3168: once per round trip.
    Classic,
    /// RFC 8257: by the flag of each ACK.
    Dctcp,
    /// RFC 9768: by a counter.
    AccEcn,
}

/// The control of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupControl {
    /// Name of the group.
    pub group: String,
    /// Name of the control in the scenario.
    pub control: String,
    /// Which of several published forms it is; `None` where there is one only, or it is not known.
    pub variant: Option<String>,
    /// What carried it.
    pub carrier: Carrier,
    /// What its connections agreed on, each kind once, in ascending order; empty if none came up.
    pub feedback: Vec<MarkFeedback>,
    /// Packets that its senders know to be marked, over the whole run; `None` in the simulator.
    pub reported_ce: Option<u64>,
    /// What stands in for data that its carrier does not have.
    pub approximations: Vec<String>,
}
