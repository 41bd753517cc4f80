//! The wires behind a queue: each packet waits for its group's constant delay.
//!
//! Packets of one delay leave in the order in which they came, so each distinct delay is a plain
//! first-in-first-out lane whose head alone is a source of events. Lanes are numbered by ascending
//! delay: at equal times the smaller delay goes first, as in the live world.

use std::collections::VecDeque;

use quell_aqm::{Departure, Time};

use crate::packet::Packet;
use crate::sources::Sources;

/// The wires of one direction.
#[derive(Debug)]
pub(crate) struct Wires {
    /// By delay, ascending.
    lanes: Vec<Lane>,
    /// The lane of each group.
    lane_of: Vec<usize>,
    /// The source of the first lane.
    source: usize,
}

#[derive(Debug)]
struct Lane {
    delay: Time,
    packets: VecDeque<Packet>,
}

impl Wires {
    /// The delay of each group, by index; sources are numbered from `source`.
    pub(crate) fn new(delays: &[Time], source: usize) -> Self {
        let mut distinct = delays.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let lane_of = |delay| distinct.partition_point(|lane| lane < delay);
        Self {
            lane_of: delays.iter().map(lane_of).collect(),
            lanes: distinct
                .iter()
                .map(|&delay| Lane {
                    delay,
                    packets: VecDeque::new(),
                })
                .collect(),
            source,
        }
    }

    /// How many lanes there are.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// `packet` leaves the link at the end of `departure`; these times never run backwards.
    #[inline]
    pub(crate) fn push(&mut self, mut packet: Packet, departure: Departure, sources: &mut Sources) {
        let index = self.lane_of[packet.group_index()];
        let lane = &mut self.lanes[index];
        let release = departure.end + lane.delay;
        packet.set_release(release);
        if lane.packets.is_empty() {
            sources.set(self.source + index, release);
        }
        lane.packets.push_back(packet);
    }

    /// Takes the first packet of the lane that is `source`. The one behind it may be due already, if
    /// this one was late.
    #[inline]
    pub(crate) fn pop(
        &mut self,
        source: usize,
        now: Time,
        sources: &mut Sources,
    ) -> Option<Packet> {
        let lane = &mut self.lanes[source - self.source];
        let packet = lane.packets.pop_front()?;
        let next = lane.packets.front().map_or(Time::MAX, Packet::release);
        sources.set(source, next.max(now));
        Some(packet)
    }

    /// Packets on their way.
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.packets.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Label;
    use quell_aqm::{Bytes, Ecn};
    use quell_measure::{Direction, FlowId};

    #[test]
    fn each_group_waits_for_its_own_delay_and_the_smaller_one_goes_first() {
        let ms = Time::from_millis;
        let mut wires = Wires::new(&[ms(10), ms(2), ms(10)], 1);
        let mut sources = Sources::new(3);
        for (group, end) in [(0, 0), (1, 1), (2, 2), (1, 8)] {
            let label = Label {
                flow: FlowId(u32::from(group)),
                group,
                direction: Direction::Forward,
            };
            let packet = Packet::datagram(label, 0, ms(end), Bytes::new(100), Ecn::NotEct);
            let departure = Departure {
                start: ms(end),
                end: ms(end),
                link_bytes: Bytes::new(100),
            };
            wires.push(packet, departure, &mut sources);
        }
        assert_eq!((wires.lanes(), wires.len()), (2, 4));
        let mut released = Vec::new();
        while sources.first().0 < Time::MAX {
            let (at, source) = sources.first();
            let packet = wires.pop(source, at, &mut sources).unwrap();
            assert_eq!(packet.release(), at);
            released.push((at, packet.flow_id().0));
        }
        assert_eq!(
            released,
            [(ms(3), 1), (ms(10), 1), (ms(10), 0), (ms(12), 2)]
        );
    }
}
