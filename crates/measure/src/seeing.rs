//! A recorder that also keeps single packets, for pictures of what each of them waits: a fair sample where there are very many.

use std::collections::BTreeMap;

use quell_aqm::{Departure, Drop, Ecn, MarkReason, Observer, Packet, QueueId};
use quell_units::{Rate, Time};

use crate::label::Labelled;
use crate::recorder::{Recorder, Recording};

/// The most packets that wait to be taken. Once there are as many, every second one is forgotten, and from then on fewer are kept.
const MOST: usize = 4_096;

/// What is kept of a packet: when it left the queue or was dropped, its sojourn time, the places of its queue and group, its length, its fate, and
/// when this queue marked it; times in ns, NaN for none.
pub type SeenPacket = [f64; KEPT];
const KEPT: usize = 7;

/// What happened to a packet at the end of its time in the queue.
const DELIVERED: f64 = 0.0;
const DELIVERED_WITH_CE: f64 = 1.0;
const DROPPED: f64 = 2.0;

/// The packets of one queue since they were last taken.
#[derive(Debug)]
struct Packets {
    kept: Vec<SeenPacket>,
    /// One in so many is kept.
    stride: u32,
    /// Packets that passed since the last that was kept.
    passed: u32,
}

impl Packets {
    fn new() -> Self {
        Self {
            kept: Vec::new(),
            stride: 1,
            passed: 0,
        }
    }

    fn push(&mut self, packet: impl FnOnce() -> SeenPacket) {
        self.passed += 1;
        if self.passed < self.stride {
            return;
        }
        if self.kept.len() == MOST {
            // The second of each two stays, so that the last one does, and this one comes half a stride after it.
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
            return;
        }
        self.passed = 0;
        self.kept.push(packet());
    }

    fn take(&mut self) -> (Vec<SeenPacket>, u32) {
        let stride = std::mem::replace(&mut self.stride, 1);
        self.passed = 0;
        (std::mem::take(&mut self.kept), stride)
    }
}

/// The recorder of a queue, which also sees its packets.
#[derive(Debug)]
pub struct Seeing {
    recorder: Recorder,
    packets: Packets,
    /// Which packet was marked last, by its flow and arrival, and when: most leave at once.
    latest: Option<(Mark, Time)>,
    /// When others that still wait were marked, and how many of one flow that came at once.
    marks: BTreeMap<Mark, (Time, u32)>,
}

/// Flow and arrival.
type Mark = (u64, Time);

impl Seeing {
    /// Around the recorder of a queue.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            packets: Packets::new(),
            latest: None,
            marks: BTreeMap::new(),
        }
    }

    /// The packets since they were last taken, one in so many.
    pub fn take(&mut self) -> (Vec<SeenPacket>, u32) {
        self.packets.take()
    }

    /// When this queue marked a packet that leaves it.
    fn take_mark<P: Packet>(&mut self, packet: &P) -> Option<Time> {
        if packet.ecn() != Ecn::Ce {
            return None;
        }
        let key = (packet.flow(), packet.arrival());
        if let Some((_, at)) = self.latest.take_if(|(latest, _)| *latest == key) {
            return Some(at);
        }
        // Others of its flow may have come at the same time.
        let (at, left) = self.marks.get_mut(&key)?;
        let at = *at;
        *left -= 1;
        if *left == 0 {
            self.marks.remove(&key);
        }
        Some(at)
    }

    fn see<P: Packet + Labelled>(&mut self, queue: QueueId, packet: &P, fate: f64, now: Time) {
        let mark = self.take_mark(packet);
        self.packets.push(|| {
            [
                now.as_nanos() as f64,
                packet.sojourn(now).as_nanos() as f64,
                queue.index() as f64,
                packet
                    .group()
                    .map_or(f64::NAN, |group| group.index() as f64),
                packet.len().get() as f64,
                fate,
                mark.map_or(f64::NAN, |at| at.as_nanos() as f64),
            ]
        });
    }
}

impl Recording for Seeing {
    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

impl<P: Packet + Labelled> Observer<P> for Seeing {
    fn enqueued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.recorder.on_enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &P, now: Time) {
        self.recorder.on_dequeued(queue, packet, now);
        let fate = if packet.ecn() == Ecn::Ce {
            DELIVERED_WITH_CE
        } else {
            DELIVERED
        };
        self.see(queue, packet, fate, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &P, reason: MarkReason, now: Time) {
        self.recorder.on_marked(queue, packet, reason, now);
        let key = (packet.flow(), packet.arrival());
        if let Some((before, at)) = self.latest.replace((key, now)) {
            let (last, count) = self.marks.entry(before).or_insert((at, 0));
            (*last, *count) = (at, *count + 1);
        }
    }
    fn dropped(&mut self, packet: P, drop: Drop, now: Time) {
        self.recorder.on_dropped(&packet, &drop, now);
        self.see(drop.queue, &packet, DROPPED, now);
    }
    fn departed(&mut self, _packet: &P, departure: &Departure) {
        self.recorder.on_departed(departure);
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.recorder.on_rate(rate, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of `count` packets, each with its number as its time.
    fn sample(count: u32) -> (Vec<SeenPacket>, u32) {
        let mut packets = Packets::new();
        for number in 1..=count {
            packets.push(|| [f64::from(number), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
        packets.take()
    }

    #[test]
    fn all_packets_are_kept_while_they_are_few() {
        let (kept, stride) = sample(4_096);
        assert_eq!((kept.len(), stride), (MOST, 1));
    }

    #[test]
    fn many_packets_are_thinned_evenly() {
        for count in [4_097, 8_192, 10_000, 100_000, 1_000_003] {
            let (kept, stride) = sample(count);
            assert!(stride > 1 && kept.len() <= MOST && kept.len() >= MOST / 2 - 1);
            for pair in kept.windows(2) {
                assert_eq!(pair[1][0] - pair[0][0], f64::from(stride), "{count}");
            }
            // Together they stand for all, but for less than one stride at either end.
            let all = kept.len() as f64 * f64::from(stride);
            assert!(
                (all - f64::from(count)).abs() < 2.0 * f64::from(stride),
                "{count}: {all}"
            );
        }
    }
}
