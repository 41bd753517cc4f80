//! Packet values in headers, at both ends of a link: read from packets that arrive, written into those that leave. What rules want to know of
//! a header is read with them.
//!
//! Between two links in a row of which the first one writes, the header is all that the second one gets, as if they were two machines: what
//! the first one knew of the packet's value is forgotten, and a packet that cannot carry a value arrives without one.

use quell_aqm::Packet as _;

use crate::frames::{Descriptor, OnWire, Pool, value_field};
use crate::report::WireValues;

/// The use of headers in one direction of a link, with its counters.
#[derive(Debug)]
pub(crate) struct HeaderValues {
    on_wire: OnWire,
    /// Whether anything is read of packets that come from a port: there may be rules behind this link, or behind one that follows.
    pub(crate) looks: bool,
    counts: WireValues,
}

impl HeaderValues {
    pub(crate) fn new(on_wire: OnWire) -> Self {
        Self {
            on_wire,
            looks: on_wire.read,
            counts: WireValues::default(),
        }
    }

    /// `packet` comes from a port.
    pub(crate) fn enters(&mut self, packet: &mut Descriptor, pool: &Pool) {
        if self.looks {
            packet.look(pool);
            if self.on_wire.read {
                self.read(packet, pool);
            }
        }
    }

    /// `packet` leaves through a port.
    pub(crate) fn leaves(&mut self, packet: &Descriptor, pool: &mut Pool) {
        if self.on_wire.write {
            self.write(packet, pool);
        }
    }

    /// `packet` goes on to the link whose header values `next` are.
    pub(crate) fn hand_over(&mut self, next: &mut Self, packet: &mut Descriptor, pool: &mut Pool) {
        if self.on_wire.write {
            self.write(packet, pool);
            next.read(packet, pool);
        }
    }

    /// Since the start.
    pub(crate) fn counts(&self) -> WireValues {
        self.counts
    }

    fn read(&mut self, packet: &mut Descriptor, pool: &Pool) {
        let bytes = &pool.bytes(packet.frame())[packet.ip_offset()..];
        let value = value_field::get(bytes).unwrap_or(0);
        self.counts.read += u64::from(value != 0);
        packet.set_value(value);
    }

    fn write(&mut self, packet: &Descriptor, pool: &mut Pool) {
        let bytes = &mut pool.bytes_mut(packet.frame())[packet.ip_offset()..];
        let carried = value_field::set(bytes, packet.value());
        self.counts.written += u64::from(carried);
        self.counts.not_carried += u64::from(!carried && packet.value() != 0);
    }
}
