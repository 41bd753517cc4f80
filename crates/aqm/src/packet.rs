//! The view of a packet that a discipline gets.

use crate::units::{Bytes, Time};

pub use quell_units::Ecn;

#[allow(clippy::len_without_is_empty, reason = "no packet is empty")]
/// A packet as disciplines see it: a wire packet, never a super-packet, and never its payload.
pub trait Packet {
    /// Length of the IP packet in bytes; at least 1.
    fn len(&self) -> Bytes;
    /// Bytes that the packet occupies while queued, for memory limits. Each world documents its
    /// model; at least [`Packet::len`].
    fn memory(&self) -> Bytes;
    /// The ECN field as it is now.
    fn ecn(&self) -> Ecn;
    /// Sets CE. Called only while [`Packet::ecn`] is ECT(0) or ECT(1).
    fn mark_ce(&mut self);
    /// A key that is the same for all packets of a flow. Unsalted: a discipline that hashes flows
    /// mixes it with a salt from its own random stream.
    fn flow(&self) -> u64;
    /// The packet value of Per Packet Value marking; 0 if unmarked.
    fn value(&self) -> u16;
    /// Sets the packet value.
    fn set_value(&mut self, value: u16);
    /// When the packet arrived at the queue.
    fn arrival(&self) -> Time;
    /// Sets the arrival. Called once, by [`Bottleneck::arrive`](crate::Bottleneck::arrive).
    fn set_arrival(&mut self, at: Time);
    /// Time in the queue at `now`. Serialisation is not part of it.
    fn sojourn(&self, now: Time) -> Time {
        now - self.arrival()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A plain packet for the tests of this crate.

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct TestPacket {
        pub(crate) id: u64,
        pub(crate) len: u64,
        pub(crate) ecn: Ecn,
        pub(crate) flow: u64,
        pub(crate) value: u16,
        arrival: Time,
    }

    impl TestPacket {
        pub(crate) fn new(id: u64, len: u64, ecn: Ecn) -> Self {
            Self {
                id,
                len,
                ecn,
                flow: 0,
                value: 0,
                arrival: Time::ZERO,
            }
        }
    }

    impl Packet for TestPacket {
        fn len(&self) -> Bytes {
            Bytes::new(self.len)
        }
        fn memory(&self) -> Bytes {
            Bytes::new(self.len + 256)
        }
        fn ecn(&self) -> Ecn {
            self.ecn
        }
        fn mark_ce(&mut self) {
            assert!(self.ecn.is_capable(), "CE only on ECT");
            self.ecn = Ecn::Ce;
        }
        fn flow(&self) -> u64 {
            self.flow
        }
        fn value(&self) -> u16 {
            self.value
        }
        fn set_value(&mut self, value: u16) {
            self.value = value;
        }
        fn arrival(&self) -> Time {
            self.arrival
        }
        fn set_arrival(&mut self, at: Time) {
            self.arrival = at;
        }
    }
}
