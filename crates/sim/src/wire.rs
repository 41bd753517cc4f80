//! The wires behind a queue: each packet waits for its group's constant delay, and for the host at
//! the end of it, which takes a random time (see [`Jitter`](crate::Jitter)).
//!
//! Packets of one delay and jitter leave in the order in which they came, so each such pair is a
//! plain first-in-first-out lane whose head alone is a source of events. Lanes are numbered by
//! ascending delay: at equal times the smaller delay goes first, as in the live world.

use std::collections::VecDeque;
use std::iter::repeat;

use quell_aqm::Departure;
use quell_aqm::impair::Impairer;
use quell_units::{Random, Time};

use crate::options::OptionStore;
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
    /// What happens to packets in front of their lanes.
    impairer: Option<Impairer>,
    /// Places of the options of packets that were lost.
    lost: Vec<u32>,
}

#[derive(Debug)]
struct Lane {
    delay: Time,
    /// Longest time that a host takes, in ns.
    jitter: u64,
    random: Random,
    /// Release time of the last packet.
    last: Time,
    packets: VecDeque<Packet>,
}

impl Wires {
    /// Wires with the delay of each group, by index, and its jitter if it has any, which is drawn from
    /// the `random` of its lane. Sources are numbered from `source`.
    pub(crate) fn new(
        delays: &[Time],
        spans: &[Time],
        random: impl Fn(usize) -> Random,
        source: usize,
    ) -> Self {
        let spans = spans.iter().copied().chain(repeat(Time::ZERO));
        let groups: Vec<(Time, Time)> = delays.iter().copied().zip(spans).collect();
        let mut distinct = groups.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let lane_of = |group| distinct.partition_point(|lane| lane < group);
        Self {
            lane_of: groups.iter().map(lane_of).collect(),
            lanes: (0..)
                .zip(&distinct)
                .map(|(index, &(delay, jitter))| Lane {
                    delay,
                    jitter: jitter.as_nanos(),
                    random: random(index),
                    last: Time::ZERO,
                    packets: VecDeque::new(),
                })
                .collect(),
            source,
            impairer: None,
            lost: Vec::new(),
        }
    }

    /// The same, on which packets are lost, delayed and overtaken.
    pub(crate) fn impaired(mut self, impairer: Option<Impairer>) -> Self {
        self.impairer = impairer;
        self
    }

    /// Packets that were lost here, ever.
    pub(crate) fn lost(&self) -> u64 {
        self.impairer.as_ref().map_or(0, Impairer::lost)
    }

    /// Places of options that lost packets leave behind.
    pub(crate) fn take_lost(&mut self) -> Option<u32> {
        self.lost.pop()
    }

    /// How many lanes there are.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// `packet` leaves the link at the end of `departure`; these times never run backwards.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, departure: Departure, sources: &mut Sources) {
        let index = self.lane_of[packet.group_index()];
        if self.impairer.is_some() {
            self.push_impaired(index, packet, departure.end, sources);
            return;
        }
        let lane = &mut self.lanes[index];
        let mut release = departure.end + lane.delay;
        if lane.jitter > 0 {
            // Below 2³² ns, draws are finer than nanoseconds.
            let draw = u128::from(lane.random.u32());
            let later = Time::from_nanos(((draw * u128::from(lane.jitter)) >> 32) as u64);
            release = (release + later).max(lane.last);
            lane.last = release;
        }
        if lane.packets.is_empty() {
            sources.set(self.source + index, release);
        }
        // Set in its place: a copy of what was just written in parts makes the processor wait.
        lane.packets.push_back(packet);
        if let Some(packet) = lane.packets.back_mut() {
            packet.set_release(release);
        }
    }

    /// The same where packets may be lost or overtaken.
    #[cold]
    fn push_impaired(
        &mut self,
        index: usize,
        mut packet: Packet,
        end: Time,
        sources: &mut Sources,
    ) {
        let Some(on) = self.impairer.as_mut().and_then(|path| path.judge(end)) else {
            if packet.options() != OptionStore::NONE {
                self.lost.push(packet.options());
            }
            return;
        };
        let lane = &mut self.lanes[index];
        let draw = u128::from(lane.random.u32());
        let later = Time::from_nanos(((draw * u128::from(lane.jitter)) >> 32) as u64);
        let release = on + lane.delay + later;
        packet.set_release(release);
        // Few are overtaken, and those are near the end.
        let behind = lane.packets.iter().rev();
        let overtaken = behind.take_while(|other| other.release() > release).count();
        let place = lane.packets.len() - overtaken;
        lane.packets.insert(place, packet);
        if place == 0 {
            sources.set(self.source + index, release);
        }
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

    /// The packet of the lane `source` that has this number of `others` in front of it.
    #[inline]
    pub(crate) fn behind(&self, source: usize, others: usize) -> Option<&Packet> {
        self.lanes[source - self.source].packets.get(others)
    }

    /// Packets on these wires.
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.packets.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Label;
    use quell_measure::{Direction, FlowId};
    use quell_units::{Bytes, Ecn};

    #[test]
    fn each_group_waits_for_its_own_delay_and_the_smaller_one_goes_first() {
        let ms = Time::from_millis;
        let delays = [ms(10), ms(2), ms(10)];
        let mut wires = Wires::new(&delays, &[], |_| Random::new(1, "none"), 1);
        let mut sources = Sources::new(3);
        for (group, end) in [(0, 0), (1, 1), (2, 2), (1, 8)] {
            let label = Label {
                flow: FlowId(u32::from(group)),
                group,
                direction: Direction::Forward,
                connection: 0,
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

    #[test]
    fn a_host_takes_its_random_time_and_keeps_the_order_of_a_wire() {
        let ms = Time::from_millis;
        let spans = [Time::ZERO, ms(4)];
        let random = |_| Random::new(7, "phase");
        let mut wires = Wires::new(&[ms(10); 2], &spans, random, 0);
        let mut sources = Sources::new(2);
        assert_eq!(wires.lanes(), 2);
        let mut sum = 0;
        let mut last = Time::ZERO;
        for n in 0..10_000 {
            for (group, later) in [(0, Time::ZERO), (1, ms(4))] {
                let label = Label {
                    flow: FlowId(0),
                    group,
                    direction: Direction::Forward,
                    connection: 0,
                };
                let packet = Packet::datagram(label, n, ms(n), Bytes::new(100), Ecn::NotEct);
                // Every fifth comes right behind the one before.
                let end = ms(10 * n) - ms(9) * u64::from(n % 5 == 4);
                let departure = Departure {
                    start: end,
                    end,
                    link_bytes: Bytes::new(100),
                };
                wires.push(packet, departure, &mut sources);
                let release = wires
                    .pop(usize::from(group), end, &mut sources)
                    .unwrap()
                    .release();
                let (earliest, latest) = (end + ms(10), end + ms(10) + later);
                assert!((earliest..=latest).contains(&release));
                if group == 1 {
                    assert!(release >= last, "in order");
                    last = release;
                    sum += (release - earliest).as_nanos();
                }
            }
        }
        // Half of the span on average; a little more, because none overtakes another.
        let mean = sum / 10_000;
        assert!((1_950_000..2_250_000).contains(&mean), "{mean}");
    }
}
