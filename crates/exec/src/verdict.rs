//! Who limited: the link, the program and its TCP, or the path beyond.
//!
//! Per interval of the link's series, by direction. *The link*, where it was used for at least nine tenths, or for seven with a standing queue.
//! Otherwise, towards the program: *the program*, where data waited at the relay for half of the interval or more because the far edge's
//! TCP had no window for it (slow start, congestion control, or a program that reads slowly); else *the path beyond*, which includes a
//! program that asks for little. From the program: *the path beyond*, where data waited at the relay for half of the interval or more because
//! the host's socket took none; else *the program*. An interval without an open connection, with few packets or only small ones, is idle.

use std::collections::VecDeque;

use quell_link::LinkChange;
use quell_measure::{Direction, QueueRow};
use quell_units::{Rate, Time};
use serde::Serialize;

use crate::relay::Bin;

/// A link that is used for this share limits, in percent.
const FULL_PERCENT: u64 = 90;
/// Packets per interval that a connection exchanges without wanting more: ACKs, keep-alives.
const FEW: u64 = 3;
/// Packets of less than this mean size, in bytes, are no data that anybody limits: ACKs, pings, games.
const SMALL: u64 = 300;
/// So does one that is used for this share, in percent, with a sojourn time of so many packet times: a standing queue.
const BUSY_PERCENT: u64 = 70;
const STANDING: u64 = 4;

/// Shares of the time in which data flowed in a direction; their sum is 1, or 0 where none did.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Shares {
    /// This link.
    pub link: f64,
    /// The program, or the TCP of its connections.
    pub program: f64,
    /// The path beyond the far edge.
    pub beyond: f64,
    /// Seconds in which data flowed.
    pub active_s: f64,
}

/// The shares of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Limits {
    /// Towards the program.
    pub down: Shares,
    /// From the program.
    pub up: Shares,
}

/// Judges interval by interval.
#[derive(Debug)]
pub(crate) struct Judge {
    rates: [Option<Rate>; 2],
    /// What they become, in the order of time.
    changes: Vec<(Time, Direction, Rate)>,
    /// With a relay; without, what is not the link is the program.
    has_relay: bool,
    rows: [VecDeque<Interval>; 2],
    bins: VecDeque<Bin>,
    counts: [[u64; 3]; 2],
    length: Time,
}

/// One direction in an interval: all its queues.
#[derive(Debug, Clone, Copy)]
struct Interval {
    end: Time,
    bytes: u64,
    packets: u64,
    delay: Time,
}

impl Judge {
    pub(crate) fn new(rates: [Option<Rate>; 2], has_relay: bool, length: Time) -> Self {
        Self {
            rates,
            changes: Vec::new(),
            has_relay,
            rows: Default::default(),
            bins: VecDeque::new(),
            counts: [[0; 3]; 2],
            length,
        }
    }

    /// What of the link changes at which times, in their order: all that is known.
    pub(crate) fn follow(&mut self, changes: &[(Time, LinkChange)]) {
        let rates = changes.iter().filter_map(|(at, change)| match change {
            LinkChange::SetRate {
                direction, rate, ..
            } => Some((*at, *direction, *rate)),
            LinkChange::Configure { .. } => None,
        });
        self.changes = rates.collect();
    }

    /// The rate of a direction in the middle of an interval that ends at `end`.
    fn rate(&self, direction: Direction, end: Time) -> Option<Rate> {
        let middle = end - self.length / 2;
        let changes = self.changes.iter();
        let changed = changes
            .take_while(|(at, ..)| *at <= middle)
            .filter(|(_, of, _)| *of == direction);
        let rate = changed.last().map(|(_, _, rate)| *rate);
        rate.or(self.rates[direction.index()])
            .filter(|rate| !rate.is_unlimited())
    }

    pub(crate) fn row(&mut self, row: &QueueRow) {
        let rows = &mut self.rows[row.direction.index()];
        let delay = row.delay_mean.unwrap_or(Time::ZERO);
        match rows.back_mut().filter(|last| last.end == row.time) {
            Some(last) => {
                last.bytes += row.bytes.get();
                last.packets += row.packets;
                last.delay = last.delay.max(delay);
            }
            None => rows.push_back(Interval {
                end: row.time,
                bytes: row.bytes.get(),
                packets: row.packets,
                delay,
            }),
        }
    }

    pub(crate) fn bin(&mut self, bin: Bin) {
        self.bins.push_back(bin);
    }

    /// Judges the intervals of which everything is known; the last one of each direction may still grow.
    pub(crate) fn advance(&mut self) {
        self.judge(1);
    }

    fn judge(&mut self, kept: usize) {
        while self.rows.iter().all(|rows| rows.len() > kept) {
            let end = self.rows[0][0].end;
            if self.has_relay {
                while self.bins.front().is_some_and(|bin| bin.end < end) {
                    self.bins.pop_front();
                }
                if self.bins.is_empty() {
                    return;
                }
            }
            let bin = self.bins.front().copied().filter(|bin| bin.end == end);
            for direction in Direction::BOTH {
                if let Some(interval) = self.rows[direction.index()].pop_front() {
                    self.count(direction, interval, bin);
                }
            }
        }
    }

    fn count(&mut self, direction: Direction, interval: Interval, bin: Option<Bin>) {
        const LINK: usize = 0;
        const PROGRAM: usize = 1;
        const BEYOND: usize = 2;
        let is_full = self.rate(direction, interval.end).is_some_and(|rate| {
            let most = rate.bytes_in(self.length).get();
            let packet = rate.time_for(quell_units::Bytes::new(1_500));
            let used = |percent| interval.bytes * 100 >= most * percent;
            used(FULL_PERCENT) || used(BUSY_PERCENT) && interval.delay > packet * STANDING
        });
        let held = bin.map_or(Time::ZERO, |bin| bin.held[direction.index()]);
        let is_held = held >= self.length / 2;
        let who = if is_full && interval.packets > 0 {
            LINK
        } else if interval.packets <= FEW
            || interval.bytes < interval.packets * SMALL
            || (self.has_relay && bin.is_none_or(|bin| bin.open.is_zero()))
        {
            return;
        } else {
            match (direction, is_held, self.has_relay) {
                (_, _, false) => PROGRAM,
                (Direction::Forward, true, _) | (Direction::Reverse, false, _) => PROGRAM,
                (Direction::Forward, false, _) | (Direction::Reverse, true, _) => BEYOND,
            }
        };
        self.counts[direction.index()][who] += 1;
    }

    pub(crate) fn finish(mut self) -> Limits {
        self.judge(0);
        let shares = |counts: [u64; 3]| {
            let sum = counts.iter().sum::<u64>();
            let share = |count: u64| match sum {
                0 => 0.0,
                _ => count as f64 / sum as f64,
            };
            Shares {
                link: share(counts[0]),
                program: share(counts[1]),
                beyond: share(counts[2]),
                active_s: (self.length * sum).as_nanos() as f64 / 1e9,
            }
        };
        Limits {
            down: shares(self.counts[0]),
            up: shares(self.counts[1]),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use quell_measure::Hop;
    use quell_units::Bytes;

    const INTERVAL: Time = Time::from_millis(100);

    fn row(number: u64, direction: Direction, packets: u64, delay: Time) -> QueueRow {
        QueueRow {
            time: INTERVAL * number,
            length: INTERVAL,
            hop: Hop::FIRST,
            queue: "queue",
            direction,
            packets,
            bytes: Bytes::new(packets * 1_500),
            marked: 0,
            dropped: 0,
            delay_mean: Some(delay),
            delay_max: Some(delay),
            backlog: Bytes::ZERO,
        }
    }

    #[test]
    fn each_interval_has_the_one_that_limited_it() {
        // 12 Mbit/s are 100 packets in an interval.
        let rate = Some(Rate::from_mbps(12));
        let mut judge = Judge::new([rate, rate], true, INTERVAL);
        let held = |down: u64, up: u64| [Time::from_millis(down), Time::from_millis(up)];
        let cases = [
            // Packets and delay down, packets up, what was held: who limited down and up.
            (95, 0, 40, held(90, 0)),
            (50, 0, 40, held(60, 80)),
            (50, 0, 2, held(0, 0)),
            (80, 9, 2, held(0, 0)),
            (1, 0, 0, held(0, 0)),
        ];
        for (number, (down, delay, up, held)) in (1..).zip(cases) {
            judge.row(&row(
                number,
                Direction::Forward,
                down,
                Time::from_millis(delay),
            ));
            judge.row(&row(number, Direction::Reverse, up, Time::ZERO));
            judge.bin(Bin {
                end: INTERVAL * number,
                open: INTERVAL,
                held,
            });
            judge.advance();
        }
        let limits = judge.finish();
        assert_eq!(
            (limits.down.link, limits.down.program, limits.down.beyond),
            (0.5, 0.25, 0.25)
        );
        assert_eq!(
            (limits.up.link, limits.up.program, limits.up.beyond),
            (0.0, 0.5, 0.5)
        );
        assert!((limits.down.active_s - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_link_that_became_slower_limits_by_its_new_rate() {
        let mut judge = Judge::new([Some(Rate::from_mbps(12)), None], false, INTERVAL);
        let slower = LinkChange::SetRate {
            hop: Hop::FIRST,
            direction: Direction::Forward,
            rate: Rate::from_mbps(6),
        };
        judge.follow(&[(INTERVAL * 2, slower)]);
        for number in 1..=4 {
            judge.row(&row(number, Direction::Forward, 50, Time::ZERO));
            judge.row(&row(number, Direction::Reverse, 0, Time::ZERO));
        }
        // 50 packets are half of the first rate, and all of the second.
        assert_eq!(judge.finish().down.link, 0.5);
    }

    #[test]
    fn nothing_that_flows_is_nobodys_limit() {
        let limits = Judge::new([None, None], true, INTERVAL).finish();
        assert_eq!(limits, Limits::default());
    }
}
