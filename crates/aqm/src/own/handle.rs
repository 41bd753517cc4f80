//! A packet as a discipline of another crate gets it.

use crate::packet::{Ecn, Packet};
use crate::units::{Bytes, Time};

/// A packet of any world: its properties for a discipline, and the place of the packet itself.
///
/// It cannot be copied or made, so a discipline can only give back what it was given.
#[derive(Debug)]
pub struct Handle {
    pub(super) slot: u32,
    ecn: Ecn,
    value: u16,
    len: Bytes,
    memory: Bytes,
    flow: u64,
    arrival: Time,
}

impl Handle {
    /// The handle of the packet in `slot`.
    pub(super) fn new(slot: u32, packet: &impl Packet) -> Self {
        Self {
            slot,
            ecn: packet.ecn(),
            value: packet.value(),
            len: packet.len(),
            memory: packet.memory(),
            flow: packet.flow(),
            arrival: packet.arrival(),
        }
    }
}

impl Packet for Handle {
    fn len(&self) -> Bytes {
        self.len
    }
    fn memory(&self) -> Bytes {
        self.memory
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    /// A packet that is not ECN-capable stays as it is: a queue that marks it breaks a law, not a run.
    fn mark_ce(&mut self) {
        debug_assert!(self.ecn.is_capable(), "CE only on ECT");
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
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
