//! Follows packets between two taps: how long they took, which were marked, which were lost.
//!
//! It does not depend on what a queue reports of itself, and so is the same for every queue: a packet's sojourn time is the
//! time between its two stamps, less the time that it would have taken through an empty bottleneck. Packets count that enter
//! in the measured time; one that has not left by the end of the run is lost, so the measured time should end earlier than
//! the run, by more than any packet takes.

use std::collections::{HashMap, VecDeque};

use quell_aqm::departure_clock::Framing;
use quell_measure::distribution::Resolution;
use quell_measure::{Direction, Distribution};
use quell_units::{Ecn, Rate, Time};

use super::tap::{Identity, Seen};
use crate::config::GroupConfig;
use crate::frames::Classifier;

/// A packet that takes longer is lost. It is far beyond any sensible queue, and far below the time after which a
/// packet with the same identity may come.
const LONGEST: Time = Time::from_secs(10);

/// The path between the taps.
#[derive(Debug, Clone)]
pub struct CrossingConfig {
    /// Port and constant delay of each group.
    pub groups: Vec<GroupConfig>,
    /// Rate of the bottleneck between the taps; a packet's own transmission is not part of its sojourn time.
    pub rate: Rate,
    /// Bytes that a packet occupies at that rate beyond its IP length.
    pub framing: Framing,
    /// Stamp from which on packets that enter count.
    pub from: i64,
    /// Stamp from which on packets that enter no longer count.
    pub until: i64,
}

/// The fate of a group's packets.
#[derive(Debug, Clone)]
pub struct Crossed {
    /// Packets that left.
    pub delivered: u64,
    /// IP bytes of those packets.
    pub bytes: u64,
    /// Packets that left with CE and entered without.
    pub marked: u64,
    /// Packets that did not leave.
    pub lost: u64,
    /// Sojourn times of packets that left, in nanoseconds.
    pub delay: Distribution,
}

impl Crossed {
    fn new() -> Self {
        Self {
            delivered: 0,
            bytes: 0,
            marked: 0,
            lost: 0,
            delay: Distribution::new(Resolution::new(3, LONGEST.as_nanos())),
        }
    }

    /// Adds another group.
    pub fn merge(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.bytes += other.bytes;
        self.marked += other.marked;
        self.lost += other.lost;
        self.delay.merge(&other.delay);
    }
}

/// A packet between the taps.
#[derive(Debug, Clone, Copy)]
struct Inside {
    stamp: i64,
    group: u16,
    ecn: Ecn,
    counts: bool,
}

/// Follows packets from one tap to the other.
#[derive(Debug)]
pub struct Crossing {
    config: CrossingConfig,
    classifier: Classifier,
    inside: HashMap<Identity, VecDeque<Inside>>,
    groups: Vec<Crossed>,
    unknown: u64,
}

impl Crossing {
    /// A crossing that has seen no packet.
    pub fn new(config: CrossingConfig) -> Self {
        Self {
            classifier: Classifier::new(
                config
                    .groups
                    .iter()
                    .map(|group| (group.port, group.listens)),
            ),
            inside: HashMap::new(),
            groups: config.groups.iter().map(|_| Crossed::new()).collect(),
            unknown: 0,
            config,
        }
    }

    /// Packets that enter from the stamp `until` on do not count. Call it before [`Self::entered`] for any of them.
    pub fn count_until(&mut self, until: i64) {
        self.config.until = until;
    }

    /// The taps watch packets that travel forward.
    fn group(&self, seen: &Seen) -> Option<u16> {
        let ports = seen.ports?;
        self.classifier.group_of_ports(ports, Direction::Forward)
    }

    /// The first tap has seen a packet.
    pub fn entered(&mut self, seen: &Seen) {
        let Some(group) = self.group(seen) else {
            return;
        };
        let counts = (self.config.from..self.config.until).contains(&seen.stamp);
        let packet = Inside {
            stamp: seen.stamp,
            group,
            ecn: seen.ecn,
            counts,
        };
        let same = self.inside.entry(seen.identity).or_default();
        same.push_back(packet);
    }

    /// The second tap has seen a packet. [`Self::entered`] has been called for all that the first tap saw before.
    pub fn left(&mut self, seen: &Seen) {
        if self.group(seen).is_none() {
            return;
        }
        let Some(mut same) = self.inside.remove(&seen.identity) else {
            // It was on its way before the taps were there.
            self.unknown += 1;
            return;
        };
        let oldest = seen.stamp - LONGEST.as_nanos() as i64;
        while let Some(packet) = same.pop_front() {
            if packet.stamp < oldest {
                self.lose(packet);
                continue;
            }
            self.deliver(packet, seen);
            break;
        }
        if !same.is_empty() {
            self.inside.insert(seen.identity, same);
        }
    }

    fn deliver(&mut self, packet: Inside, seen: &Seen) {
        if !packet.counts {
            return;
        }
        let delay = self.config.groups[usize::from(packet.group)].delay;
        let on_link = self.config.framing.link_bytes(seen.len);
        let least = delay + self.config.rate.time_for(on_link);
        let taken = u64::try_from(seen.stamp - packet.stamp).unwrap_or(0);
        let group = &mut self.groups[usize::from(packet.group)];
        group.delivered += 1;
        group.bytes += seen.len.get();
        group.marked += u64::from(seen.ecn == Ecn::Ce && packet.ecn != Ecn::Ce);
        group.delay.record(taken.saturating_sub(least.as_nanos()));
    }

    fn lose(&mut self, packet: Inside) {
        self.groups[usize::from(packet.group)].lost += u64::from(packet.counts);
    }

    /// Packets that the second tap saw and the first did not.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The figures of each group. Packets that entered before the stamp `until` and are still inside are lost.
    pub fn finish(mut self, until: i64) -> Vec<Crossed> {
        let inside = std::mem::take(&mut self.inside);
        for packet in inside.into_values().flatten() {
            if packet.stamp < until {
                self.lose(packet);
            }
        }
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Bytes;

    const MS: i64 = 1_000_000;

    fn seen(id: u8, at_ms: i64, ecn: Ecn, port: u16) -> Seen {
        Seen {
            stamp: at_ms * MS,
            identity: Identity::of(id),
            len: Bytes::new(1_236),
            ecn,
            ports: Some((40_000, port)),
        }
    }

    /// Two groups, 5 and 10 ms away, behind 10 Mbit/s with 14 bytes of overhead: 1 250 bytes take 1 ms.
    fn crossing() -> Crossing {
        Crossing::new(CrossingConfig {
            groups: [(5_001, 5), (5_002, 10)]
                .map(|(port, delay)| GroupConfig {
                    port,
                    delay: Time::from_millis(delay),
                    ..GroupConfig::default()
                })
                .to_vec(),
            rate: Rate::from_mbps(10),
            framing: Framing {
                overhead: 14,
                ..Framing::default()
            },
            from: 100 * MS,
            until: 200 * MS,
        })
    }

    #[test]
    fn a_packet_waits_for_what_it_takes_beyond_an_empty_bottleneck() {
        let mut crossing = crossing();
        // (identity, in, out, group's port)
        for (id, from, to, port) in [
            (1, 100, 106, 5_001),
            (2, 101, 110, 5_001),
            (3, 101, 130, 5_002),
        ] {
            crossing.entered(&seen(id, from, Ecn::NotEct, port));
            crossing.left(&seen(id, to, Ecn::NotEct, port));
        }
        let [near, far] = crossing.finish(i64::MAX).try_into().unwrap();
        assert_eq!((near.delivered, far.delivered), (2, 1));
        assert_eq!(near.bytes, 2 * 1_236);
        assert_eq!(near.delay.mean(), Some(1.5e6));
        assert_eq!(far.delay.mean(), Some(18e6));
        // Stamps of a busy machine may be off by more than the queue.
        let mut early = self::crossing();
        early.entered(&seen(1, 100, Ecn::NotEct, 5_001));
        early.left(&seen(1, 105, Ecn::NotEct, 5_001));
        assert_eq!(early.finish(i64::MAX)[0].delay.mean(), Some(0.0));
    }

    #[test]
    fn what_enters_outside_the_measured_time_does_not_count() {
        let mut crossing = crossing();
        for (id, at) in [(1, 99), (2, 100), (3, 199), (4, 200)] {
            crossing.entered(&seen(id, at, Ecn::Ect0, 5_001));
            crossing.left(&seen(id, at + 50, Ecn::Ce, 5_001));
            crossing.entered(&seen(id + 10, at, Ecn::Ect0, 5_001));
        }
        let groups = crossing.finish(i64::MAX);
        assert_eq!(
            (groups[0].delivered, groups[0].marked, groups[0].lost),
            (2, 2, 2)
        );
    }

    #[test]
    fn what_entered_just_before_the_end_is_not_lost_yet() {
        let mut crossing = crossing();
        crossing.entered(&seen(1, 150, Ecn::NotEct, 5_001));
        crossing.entered(&seen(2, 160, Ecn::NotEct, 5_001));
        assert_eq!(crossing.finish(155 * MS)[0].lost, 1);
    }

    #[test]
    fn a_mark_is_new_or_it_is_none() {
        let mut crossing = crossing();
        for (id, before, after) in [
            (1, Ecn::Ect0, Ecn::Ect1),
            (2, Ecn::Ect1, Ecn::Ce),
            (3, Ecn::Ce, Ecn::Ce),
            (4, Ecn::NotEct, Ecn::NotEct),
        ] {
            crossing.entered(&seen(id, 100, before, 5_001));
            crossing.left(&seen(id, 120, after, 5_001));
        }
        assert_eq!(crossing.finish(i64::MAX)[0].marked, 1);
    }

    #[test]
    fn twins_leave_in_their_order_and_the_lost_one_of_long_ago_is_lost() {
        let mut crossing = crossing();
        crossing.entered(&seen(1, 110, Ecn::NotEct, 5_001));
        crossing.entered(&seen(1, 150, Ecn::NotEct, 5_001));
        crossing.left(&seen(1, 116, Ecn::NotEct, 5_001));
        crossing.left(&seen(1, 156, Ecn::NotEct, 5_001));
        crossing.entered(&seen(1, 160, Ecn::NotEct, 5_001));
        // Twelve seconds later its twin, outside the measured time.
        crossing.entered(&seen(1, 12_000, Ecn::NotEct, 5_001));
        crossing.left(&seen(1, 12_006, Ecn::NotEct, 5_001));
        crossing.left(&seen(1, 12_007, Ecn::NotEct, 5_001));
        assert_eq!(crossing.unknown(), 1);
        let groups = crossing.finish(i64::MAX);
        assert_eq!((groups[0].delivered, groups[0].lost), (2, 1));
        assert_eq!(groups[0].delay.mean(), Some(0.0));
    }

    #[test]
    fn packets_of_no_group_are_nobodys() {
        let mut crossing = crossing();
        crossing.entered(&seen(1, 100, Ecn::NotEct, 80));
        crossing.left(&seen(2, 100, Ecn::NotEct, 80));
        assert_eq!(crossing.unknown(), 0);
        assert!(
            crossing
                .finish(i64::MAX)
                .iter()
                .all(|group| group.lost == 0)
        );
    }
}
