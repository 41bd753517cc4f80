//! The limit of what waits in a discipline.

use alloc::format;

use crate::parameter::{Amount, ParameterError};
use crate::qdisc::{Backlog, Gauge, Link};
use crate::units::{Bytes, Rate};

/// The parameter that most disciplines limit themselves by.
pub(crate) const LIMIT: &str = "limit";

/// A limit of what waits, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// A packet is accepted while fewer than this wait.
    Packets(u64),
    /// IP bytes that may wait, the new packet included.
    Bytes(Bytes),
}

impl QueueLimit {
    /// The limit that the parameter `name` sets on `link`; refuses one that never accepts a packet of the MTU.
    pub fn of(name: &str, amount: Amount, link: Link) -> Result<Self, ParameterError> {
        let limit = Self::at_rate(amount, link.rate);
        match limit {
            Self::Bytes(bytes) if bytes < link.mtu => {
                Err(Self::too_small(name, amount, bytes, link))
            }
            limit => Ok(limit),
        }
    }
    /// The refusal of a limit of `bytes`.
    pub fn too_small(name: &str, amount: Amount, bytes: Bytes, link: Link) -> ParameterError {
        let never = format!("and never accepts a packet of {}", link.mtu);
        let allowed = match amount {
            Amount::Time(_) => format!("is {bytes} at {} {never}", link.rate),
            _ => format!("is {bytes} {never}"),
        };
        ParameterError::new(name, amount, allowed)
    }
    /// The same at any rate, however small: the queue of a link that has become slow refuses what no longer fits.
    pub fn at_rate(amount: Amount, rate: Rate) -> Self {
        match amount {
            Amount::Packets(packets) => Self::Packets(packets),
            Amount::Bytes(bytes) => Self::Bytes(bytes),
            Amount::Time(time) => Self::Bytes(rate.bytes_in(time)),
        }
    }
    /// This limit, but no more than `most` if it counts bytes.
    pub fn at_most(self, most: Bytes) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.min(most)),
            packets => packets,
        }
    }

    /// Whether a packet of `len` may join `backlog`.
    #[inline]
    pub fn admits(self, backlog: Backlog, len: Bytes) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + len <= limit,
        }
    }
    /// Whether more waits than is allowed, after the limit was lowered.
    pub fn is_exceeded(self, backlog: Backlog) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets > limit,
            Self::Bytes(limit) => backlog.bytes > limit,
        }
    }
    /// Whether `backlog` is at least one part in `parts` of the limit.
    #[inline]
    pub fn is_used_by(self, backlog: Backlog, parts: u64) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets.saturating_mul(parts) >= limit,
            Self::Bytes(limit) => backlog.bytes.get().saturating_mul(parts) >= limit.get(),
        }
    }

    /// For status.
    pub fn report(self, report: &mut dyn FnMut(&'static str, Gauge)) {
        self.report_as("limit_packets", "limit_bytes", report);
    }
    /// For status, under these names.
    pub fn report_as(
        self,
        in_packets: &'static str,
        in_bytes: &'static str,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        match self {
            Self::Packets(packets) => report(in_packets, Gauge::count(packets)),
            Self::Bytes(bytes) => report(in_bytes, Gauge::count(bytes.get())),
        }
    }
}
