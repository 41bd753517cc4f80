//! A sender's own link. Packets leave it one after the other, at an exact rate, and arrive at the
//! bottleneck when their last bit has left.
//!
//! The queue in front of it belongs to the host and has no limit. TCP fills it only as far as Linux
//! allows ([`Sender::set_local_queue`](quell_tcp::Sender::set_local_queue)), so a flow that is
//! limited by its own link waits in its socket and not here; datagrams queue as they come. IP
//! lengths count, without overhead.

use std::collections::VecDeque;

use quell_aqm::departure_clock::{DepartureClock, Framing};
use quell_aqm::{Observer, Packet as _};
use quell_units::{Bytes, Rate, Time};

use crate::network::Network;
use crate::packet::Packet;

/// The link of one flow.
#[derive(Debug)]
pub(crate) struct Access {
    clock: DepartureClock,
    /// Packets that have not left, each with the end of its transmission.
    packets: VecDeque<Packet>,
    bytes: Bytes,
    /// End of the last transmission.
    free: Time,
}

impl Access {
    /// `None` where there is no limit.
    pub(crate) fn new(rate: Rate) -> Option<Box<Self>> {
        let access = Self {
            clock: DepartureClock::new(rate, Framing::default()),
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            free: Time::ZERO,
        };
        (!rate.is_unlimited()).then(|| Box::new(access))
    }

    /// The host hands over `packet`, which arrives at once if it takes no time.
    pub(crate) fn push<O: Observer<Packet>>(
        &mut self,
        packet: Packet,
        now: Time,
        network: &mut Network<O>,
    ) {
        self.queue(packet, now);
        self.advance(now, network);
    }
    /// Hands packets that have left by `now` to the bottleneck.
    pub(crate) fn advance<O: Observer<Packet>>(&mut self, now: Time, network: &mut Network<O>) {
        while let Some(packet) = self.pop(now) {
            network.send(packet, now);
        }
    }
    /// The host hands over `packet`, which does not leave before [`pop`](Self::pop).
    pub(crate) fn queue(&mut self, mut packet: Packet, now: Time) {
        let (end, _) = self.clock.transmit(self.free.max(now), packet.len());
        self.free = end;
        self.bytes += packet.len();
        packet.set_release(end);
        self.packets.push_back(packet);
    }
    /// The next packet that has left by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Packet> {
        let packet = self
            .packets
            .pop_front_if(|packet| packet.release() <= now)?;
        self.bytes -= packet.len();
        Some(packet)
    }
    /// When the next packet leaves; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.packets.front().map_or(Time::MAX, Packet::release)
    }
    /// Bytes that have not left, with the packet in transmission.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Label;
    use quell_measure::{Direction, FlowId};
    use quell_units::Ecn;

    #[test]
    fn packets_leave_one_by_one_at_the_exact_rate() {
        assert!(Access::new(Rate::UNLIMITED).is_none());
        // 7 Mbit/s: 1 500 bytes take 1 714 285.7 ns, three of them 5 142 857.1.
        let mut access = Access::new(Rate::from_mbps(7)).unwrap();
        let label = Label {
            flow: FlowId(0),
            group: 0,
            direction: Direction::Forward,
            connection: 0,
        };
        let now = Time::from_millis(1);
        for n in 0..3 {
            let packet = Packet::datagram(label, n, now, Bytes::new(1_500), Ecn::NotEct);
            access.queue(packet, now);
        }
        assert_eq!(access.bytes(), Bytes::new(4_500));
        for (n, end) in [1_714_285, 3_428_571, 5_142_857].into_iter().enumerate() {
            let end = now + Time::from_nanos(end);
            assert_eq!(access.next(), end);
            assert!(access.pop(end - Time::from_nanos(1)).is_none());
            assert_eq!(access.pop(end).unwrap().sequence(), n as u64);
        }
        assert_eq!((access.bytes(), access.next()), (Bytes::ZERO, Time::MAX));
    }
}
