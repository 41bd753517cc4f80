//! The packets in flight, and the losses that count.
//!
//! In flight is what was sent after the newest packet that arrived, whether or not those before it did. A loss
//! is one when a packet that left 30 ms later has arrived (the time is the program's); and it counts where
//! more than 1 % of the packets were lost lately, or the queue is long (an option of the draft against losses
//! that are not congestion).

use quell_units::Time;

use super::ONE;
use super::reports::Report;

/// Packets in flight whose lengths are kept (program). Those before them are not in flight any more.
const MOST: usize = 4_096;
/// Time for which a packet that is missing may still come.
const REORDERING: Time = Time::from_millis(30);
/// More than this part is much loss.
const MANY: u64 = ONE / 100;
/// Fraction bits of the part that is lost, more than those of [`ONE`].
const BITS: u32 = 12;

/// Packets in flight.
#[derive(Debug, Clone)]
pub struct Flight {
    /// Bytes sent up to each of the last packets and with it, a ring.
    sent: Box<[u64; MOST]>,
    /// Packets sent, and their bytes.
    packets: u64,
    bytes: u64,
    /// Packets that are not in flight any more, and their bytes.
    arrived: u64,
    landed: u64,
}

impl Flight {
    /// Nothing.
    pub(super) fn new() -> Self {
        Self {
            sent: Box::new([0; MOST]),
            packets: 0,
            bytes: 0,
            arrived: 0,
            landed: 0,
        }
    }

    /// Bytes in flight.
    pub const fn bytes(&self) -> u64 {
        self.bytes - self.landed
    }

    /// Packets that left.
    #[cfg(test)]
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// A packet leaves.
    pub fn send(&mut self, bytes: u64) {
        let place = (self.packets % MOST as u64) as usize;
        if self.packets >= MOST as u64 {
            let _ = self.acknowledge(self.packets - MOST as u64 + 1);
        }
        self.bytes += bytes;
        self.sent[place] = self.bytes;
        self.packets += 1;
    }

    /// The packets before number `expected` have arrived, or will not. Returns their bytes.
    pub fn acknowledge(&mut self, expected: u64) -> u64 {
        let expected = expected.min(self.packets);
        if expected <= self.arrived {
            return 0;
        }
        let before = self.landed;
        self.arrived = expected;
        self.landed = self.sent[((expected - 1) % MOST as u64) as usize].max(before);
        self.landed - before
    }

    /// Nothing is in flight any more.
    pub fn forget(&mut self) {
        self.arrived = self.packets;
        self.landed = self.bytes;
    }
}

/// Losses.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// Packets that are lost, and packets that have been looked at.
    known: u64,
    seen: u64,
    /// Packets that are missing, since one that left then arrived.
    missing: Option<(u64, Time)>,
    /// The part of packets that is lost, with [`BITS`] more bits than [`ONE`].
    part: u64,
}

impl Losses {
    /// Number of further packets lost, by a report at a window of this many bytes.
    pub fn lost(&mut self, report: &Report, packet: u64, window: u64) -> u64 {
        let mut lost = 0;
        if report.lost <= self.known {
            self.missing = None;
        } else if let Some((missing, at)) = self.missing {
            if report.sent >= at + REORDERING {
                lost = missing.min(report.lost) - self.known;
                self.known += lost;
                self.missing = (report.lost > self.known).then_some((report.lost, report.sent));
            }
        } else {
            self.missing = Some((report.lost, report.sent));
        }
        // The average is over two round trips, or over 400 packets where that is more.
        let gain =
            ((u128::from(packet) << 40) / u128::from(window.max(1)) / 2).min((1 << 40) / 400);
        let mut part = u128::from(self.part);
        let one = u128::from(ONE) << BITS;
        for number in self.seen..report.expected {
            part -= (part * gain) >> 40;
            if number - self.seen < lost {
                part += (one * gain) >> 40;
            }
        }
        self.part = part as u64;
        self.seen = report.expected;
        lost
    }

    /// Whether more than 1 % was lost lately.
    pub const fn are_many(&self) -> bool {
        self.part >> BITS > MANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn in_flight_is_what_was_sent_behind_the_newest_arrival() {
        let mut flight = Flight::new();
        for _ in 0..10 {
            flight.send(1_000);
        }
        flight.send(200);
        assert_eq!(flight.bytes(), 10_200);
        // Packet 2 arrived, and whether 0 and 1 did is of no interest.
        assert_eq!(flight.acknowledge(3), 3_000);
        assert_eq!(flight.acknowledge(2), 0);
        assert_eq!(flight.bytes(), 7_200);
        assert_eq!(flight.acknowledge(99), 7_200);
        assert_eq!(flight.bytes(), 0);
        for _ in 0..5_000 {
            flight.send(100);
        }
        assert_eq!(flight.bytes(), 409_600, "more than it remembers");
        flight.forget();
        assert_eq!((flight.bytes(), flight.acknowledge(5_000)), (0, 0));
    }

    fn report(expected: u64, lost: u64, sent: u64) -> Report {
        Report {
            expected,
            lost,
            sent: MS(sent),
            ..Report::default()
        }
    }

    #[test]
    fn a_missing_packet_is_lost_when_one_that_left_30_ms_later_has_arrived() {
        let mut losses = Losses::default();
        let mut hear =
            |expected, lost, sent| losses.lost(&report(expected, lost, sent), 1_000, 100_000);
        assert_eq!(hear(10, 1, 100), 0);
        assert_eq!(hear(20, 1, 129), 0);
        assert_eq!(hear(30, 3, 130), 1);
        // One of the next two arrives after all.
        assert_eq!(hear(40, 2, 140), 0);
        assert_eq!(hear(50, 2, 160), 1);
        // And the next one that was missing is not.
        assert_eq!(hear(60, 3, 170), 0);
        assert_eq!(hear(70, 2, 180), 0);
        assert_eq!(hear(80, 2, 300), 0);
    }

    #[test]
    fn losses_are_many_above_a_part_of_one_in_a_hundred() {
        let many_after = |every: u64| {
            let mut losses = Losses::default();
            for n in 1..2_000 {
                losses.lost(&report(10 * n, 10 * n / every, 100 * n), 1_000, 1_000_000);
            }
            losses.are_many()
        };
        assert!(many_after(80));
        assert!(!many_after(125));
        // One loss alone is none: it is a 400th.
        let mut losses = Losses::default();
        losses.lost(&report(10, 1, 0), 1_000, 3_000);
        assert_eq!(losses.lost(&report(20, 1, 30), 1_000, 3_000), 1);
        assert!(!losses.are_many());
    }
}
