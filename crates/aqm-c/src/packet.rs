//! A packet as C describes it.

use std::ffi::c_void;

use quell_aqm::{Bytes, Ecn, Time};

use crate::error::Failure;

/// A packet: 40 bytes that describe one of the caller's. A discipline keeps a copy until it gives it back, on departure or in the
/// callback for a drop.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The caller's own: a pointer or an index of the real packet. Never looked at.
    pub user: *mut c_void,
    /// A number that all packets of a flow have and no others, such as a hash of the five-tuple.
    pub flow: u64,
    /// When it arrived. Set by the library.
    pub arrival: u64,
    /// Length of the IP packet in bytes, at least 1.
    pub length: u32,
    /// Bytes that it occupies while it waits, for memory limits; the length if that is more.
    pub memory: u32,
    /// Packet value, for disciplines that read it; otherwise 0.
    pub value: u16,
    /// The traffic class, of which the two low bits are the ECN field. A packet that was marked comes out with both set, which is CE:
    /// then the real packet is to be marked too.
    pub traffic_class: u8,
}

impl Packet {
    /// A copy of what C passed.
    ///
    /// # Safety
    /// `packet` is null or points to a packet.
    pub(crate) unsafe fn of(packet: *const Self) -> Result<Self, Failure> {
        // SAFETY: by the contract of this function; each field takes any bits.
        let packet =
            unsafe { packet.as_ref() }.ok_or(const { Failure::argument(c"the packet is null") })?;
        if packet.length == 0 {
            return Err(const { Failure::argument(c"the packet has no length") });
        }
        Ok(*packet)
    }
}

impl quell_aqm::Packet for Packet {
    fn len(&self) -> Bytes {
        Bytes::new(u64::from(self.length))
    }
    fn memory(&self) -> Bytes {
        Bytes::new(u64::from(self.memory.max(self.length)))
    }
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }
    fn mark_ce(&mut self) {
        self.traffic_class |= Ecn::Ce.bits();
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
        Time::from_nanos(self.arrival)
    }
    fn set_arrival(&mut self, at: Time) {
        self.arrival = at.as_nanos();
    }
}

/// The packets that wait, without the one in transmission.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl From<quell_aqm::Backlog> for Backlog {
    fn from(backlog: quell_aqm::Backlog) -> Self {
        Self {
            packets: backlog.packets,
            bytes: backlog.bytes.get(),
        }
    }
}

/// Writes an answer where C wants it, if it wants it.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: by the contract of this function; `write` does not look at what was there.
        unsafe { out.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use quell_aqm::Packet as _;

    use super::*;

    #[test]
    fn a_mark_leaves_the_rest_of_the_traffic_class() {
        let mut packet = Packet {
            user: std::ptr::null_mut(),
            flow: 0,
            arrival: 0,
            length: 1_500,
            memory: 0,
            value: 0,
            traffic_class: 0xb8 | Ecn::Ect0.bits(),
        };
        assert_eq!(packet.ecn(), Ecn::Ect0);
        packet.mark_ce();
        assert_eq!(packet.traffic_class, 0xbb);
        assert_eq!(packet.memory(), Bytes::new(1_500));
        packet.memory = 2_304;
        assert_eq!(packet.memory(), Bytes::new(2_304));
        assert_eq!(size_of::<Packet>(), 40);
    }
}
