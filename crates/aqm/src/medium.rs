//! Access to a shared medium: a link that must get hold of it first, and then sends several packets at once.
//!
//! A model of what 802.11 does with a queue, no more than that: whoever has something to send waits for the medium, a fixed time and
//! a random one (interframe space, then backoff slots drawn uniformly from the contention window: IEEE 802.11-2020 section 10.3).
//! The packets in the queue when the medium is free become one aggregate, limited in packets (A-MPDU: 64 with a common block ack) and in
//! time (the limit of a transmit opportunity, or 5.484 ms of a PPDU). All packets of an aggregate leave the queue when it starts, and
//! arrive together when it ends. Then the link contends again.
//!
//! Not modelled: collisions, retransmissions, rates that adapt, stations that take turns, and that both directions share one medium.

use crate::units::{Random, Time};

/// The access of a link to its medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Medium {
    /// The most packets of an aggregate; at least 1.
    pub packets: u32,
    /// The longest aggregate. A packet joins it while a full-sized one would still fit; the first one always does.
    pub time: Time,
    /// The fixed time before each aggregate.
    pub delay: Time,
    /// The longest random time beside it; uniform from zero.
    pub backoff: Time,
}

/// The link at its medium.
#[derive(Debug, Clone)]
pub(crate) struct Accesses {
    pub(crate) medium: Medium,
    random: Random,
    /// When the link gets the medium, while it waits for it.
    pub(crate) granted: Option<Time>,
}

impl Accesses {
    pub(crate) fn new(medium: Medium, random: Random) -> Self {
        Self {
            medium,
            random,
            granted: None,
        }
    }

    /// Starts to wait at `now`, unless the link waits already.
    pub(crate) fn ask(&mut self, now: Time) {
        if self.granted.is_none() {
            let span = self.medium.backoff.as_nanos();
            let backoff = Time::from_nanos(self.random.below(span.saturating_add(1)));
            self.granted = Some(now + self.medium.delay + backoff);
        }
    }
}
