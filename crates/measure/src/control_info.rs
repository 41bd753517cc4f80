//! Facts of a group's congestion control in a run: no figures.

use serde::{Deserialize, Serialize};

/// The implementation of a control.
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

/// The way in which receivers report marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkFeedback {
    /// No report: ECN is off.
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
    /// The published form of the control; `None` if there is only one, or it is not known.
    pub variant: Option<String>,
    /// The implementation.
    pub carrier: Carrier,
    /// The kinds of feedback that its connections agreed on, each once, in ascending order; empty if none came up.
    pub feedback: Vec<MarkFeedback>,
    /// Packets that its senders know to be marked, over the whole run; `None` in the simulator.
    pub reported_ce: Option<u64>,
    /// Substitutes for data that the implementation does not have.
    pub approximations: Vec<String>,
}
