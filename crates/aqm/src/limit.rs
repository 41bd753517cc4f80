//! The limit of a discipline's backlog.
//!
//! A limit in time follows the rate of the link, but never below what lets packets through:
//!
//! * one that somebody wrote holds a packet of the MTU at least. At the start less is refused with the least that would do; later, where
//!   the link has become slow, it holds this one packet;
//! * a default was chosen for usual rates, and nobody wrote it: it holds [`QueueLimit::LEAST_OF_DEFAULT`] packets at least.

use alloc::format;

use crate::parameter::{Amount, Domain, Parameter, ParameterError};
use crate::qdisc::{Backlog, Gauge, Link};
use crate::units::Bytes;

/// The parameter that most disciplines limit themselves by.
pub(crate) const LIMIT: &str = "limit";

/// The row of [`LIMIT`] in a discipline where a number without a unit counts packets.
pub(crate) const LIMIT_ROW: Parameter = Parameter::LIVE
    .domain(Domain::Limit {
        plain_is_packets: true,
    })
    .help("What may wait: packets, bytes, or a time at the link's rate.");

/// A limit of the backlog, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// A packet is accepted while fewer than this wait.
    Packets(u64),
    /// IP bytes that may wait, the new packet included.
    Bytes(Bytes),
}

impl QueueLimit {
    /// Packets of the MTU that a default in time holds at least. TCP repairs a loss without its timer only where three packets behind the lost
    /// one arrive (RFC 5681 section 3.2; RFC 3150, on slow links): four in a row must find room. PIE and DualPI2 signal nothing
    /// while two wait (RFC 8033 section 4.1), so with four there is a queue to control. They are 6 kB: CAKE, which sizes its buffer by rate and
    /// time too, never goes below 4 MB.
    pub const LEAST_OF_DEFAULT: u64 = 4;

    /// The limit that the parameter `name` sets on `link`; refuses one that never accepts a packet of the MTU.
    pub fn of(name: &str, amount: Amount, link: Link) -> Result<Self, ParameterError> {
        Self::of_at_least(name, amount, link, link.mtu)
    }
    /// The limit of a queue that accepts a packet of the MTU only with a limit of `least` bytes.
    pub(crate) fn of_at_least(
        name: &str,
        amount: Amount,
        link: Link,
        least: Bytes,
    ) -> Result<Self, ParameterError> {
        let written = match amount {
            Amount::DefaultTime(_) | Amount::Packets(_) => None,
            Amount::Time(_) | Amount::Bytes(_) => amount.bytes_at(link.rate),
        };
        match written {
            Some(bytes) if bytes < least => Err(too_small(name, amount, link, least)),
            _ => Ok(Self::at_rate(amount, link)),
        }
    }
    /// The limit at any rate, however small: a limit in time holds a packet at least, and a default a few.
    pub fn at_rate(amount: Amount, link: Link) -> Self {
        let packets = |count: u64| Bytes::new(count.saturating_mul(link.mtu.get()));
        let bytes_in = |time| link.rate.bytes_in(time);
        match amount {
            Amount::Packets(packets) => Self::Packets(packets),
            Amount::Bytes(bytes) => Self::Bytes(bytes),
            Amount::Time(time) => Self::Bytes(bytes_in(time).max(packets(1))),
            Amount::DefaultTime(time) => {
                Self::Bytes(bytes_in(time).max(packets(Self::LEAST_OF_DEFAULT)))
            }
        }
    }
    /// This limit, but at least `least` if it counts bytes.
    pub(crate) fn at_least(self, least: Bytes) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.max(least)),
            packets => packets,
        }
    }
    /// This limit, but no more than `most` if it counts bytes.
    pub fn at_most(self, most: Bytes) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.min(most)),
            packets => packets,
        }
    }

    /// The bytes that may wait; all there are where packets count.
    pub(crate) fn bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Packets(_) => Bytes::MAX,
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

    /// Reports the limit to `status`.
    pub fn report(self, report: &mut dyn FnMut(&'static str, Gauge)) {
        self.report_as("limit_packets", "limit_bytes", report);
    }
    /// Reports the limit to `status`, under these names.
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

/// The refusal of `amount`, which is less than `least`.
fn too_small(name: &str, amount: Amount, link: Link, least: Bytes) -> ParameterError {
    let never = format!("never accepts a packet of {}", link.mtu);
    let two = Bytes::new(link.mtu.get().saturating_mul(2));
    let allowed = match amount.bytes_at(link.rate) {
        Some(bytes) if amount.time().is_some() => format!(
            "is {bytes} at {rate} and {never}; at {rate} it must be {} or more, or an amount such as {two}",
            link.rate.time_for(least).rounded_up(),
            rate = link.rate,
        ),
        _ => format!("{never}; it must be {least} or more"),
    };
    ParameterError::new(name, amount, allowed)
}
