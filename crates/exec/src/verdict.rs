//! Who limited: the link, the program and its TCP, or the path beyond.
//!
//! Per interval of the link's series, by direction. *The link*, where it was used for at least nine tenths, or for seven with a standing queue.
//! Otherwise, towards the program: *the program*, where data waited at the relay for half of the interval or more because the far edge's
//! TCP had no window for it (slow start, congestion control, or a program that reads slowly); else *the path beyond*, which includes a
//! program that asks for little. From the program: *the path beyond*, where data waited at the relay for half of the interval or more because
//! the host's socket took none; else *the program*. An interval without an open connection, with few packets or only small ones, is idle.
//!
//! Of several links in a row that are used so much in an interval, it is the one that packets waited longest for. What the program sends is
//! judged where it enters the first link of its way. A link that lets nothing through while packets wait limits, too: its trace has an outage.

use std::collections::VecDeque;

use quell_link::LinkChange;
use quell_measure::{Direction, Hop, QueueRow};
use quell_units::{Rate, Time};
use serde::Serialize;

use crate::offer::Offer;
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
/// A full packet, in bytes.
const FULL_PACKET: u64 = 1_500;

/// Shares of the time in which data flowed in a direction; their sum is 1, or 0 where none did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Shares {
    /// This link; of several, all of them together.
    pub link: f64,
    /// The program, or the TCP of its connections.
    pub program: f64,
    /// The path beyond the far edge.
    pub beyond: f64,
    /// Seconds in which data flowed.
    pub active_s: f64,
    /// Each of several links, in the order of the scenario; their sum is that of `link`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkShare>,
}

/// The share of one of several links.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkShare {
    /// Its name.
    pub name: String,
    /// See [`Shares::link`].
    pub share: f64,
}

/// The shares of both directions.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Limits {
    /// Towards the program.
    pub down: Shares,
    /// From the program.
    pub up: Shares,
}

impl Limits {
    /// Whether data flowed, in either direction.
    pub fn has_data(&self) -> bool {
        [&self.down, &self.up]
            .iter()
            .any(|shares| shares.active_s > 0.0)
    }
}

/// A link, as its judge knows it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) name: String,
    /// Forward and reverse.
    pub(crate) offers: [Offer; 2],
}

/// Judges interval by interval.
#[derive(Debug)]
pub(crate) struct Judge {
    links: Vec<Judged>,
    /// What rates become, in the order of time.
    changes: Vec<(Time, (Hop, Direction), Rate)>,
    /// With a relay; without, what is not the link is the program.
    has_relay: bool,
    /// Of each link, forward and reverse.
    rows: Vec<[VecDeque<Interval>; 2]>,
    bins: VecDeque<Bin>,
    /// Intervals that a link has limited, forward and reverse.
    by_link: Vec<[u64; 2]>,
    /// The same of the program, and of the path beyond.
    by_program: [u64; 2],
    by_path: [u64; 2],
    length: Time,
}

/// One direction of a link in an interval: all its queues.
#[derive(Debug, Clone, Copy)]
struct Interval {
    end: Time,
    bytes: u64,
    packets: u64,
    delay: Time,
    backlog: u64,
}

impl Judge {
    pub(crate) fn new(links: Vec<Judged>, has_relay: bool, length: Time) -> Self {
        Self {
            changes: Vec::new(),
            has_relay,
            rows: links.iter().map(|_| Default::default()).collect(),
            bins: VecDeque::new(),
            by_link: vec![[0; 2]; links.len()],
            by_program: [0; 2],
            by_path: [0; 2],
            links,
            length,
        }
    }

    /// What of the links changes at which times, in their order: all that is known.
    pub(crate) fn follow(&mut self, changes: &[(Time, LinkChange)]) {
        let rates = changes.iter().filter_map(|(at, change)| match change {
            LinkChange::SetRate { rate, .. } => Some((*at, change.side(), *rate)),
            LinkChange::Configure { .. } => None,
        });
        self.changes = rates.collect();
    }

    /// What a link offers in an interval that ends at `end`, in bytes; its rate is that of the interval's middle.
    fn offered(&self, hop: Hop, direction: Direction, end: Time) -> Option<u64> {
        let middle = end - self.length / 2;
        let changes = self.changes.iter();
        let changed = changes
            .take_while(|(at, ..)| *at <= middle)
            .filter(|(_, side, _)| *side == (hop, direction));
        let rate = changed.last().map(|(_, _, rate)| *rate);
        let offer = &self.links[hop.index()].offers[direction.index()];
        offer.between(end - self.length, end, rate)
    }

    pub(crate) fn row(&mut self, row: &QueueRow) {
        let rows = &mut self.rows[row.hop.index()][row.direction.index()];
        let delay = row.delay_mean.unwrap_or(Time::ZERO);
        match rows.back_mut().filter(|last| last.end == row.time) {
            Some(last) => {
                last.bytes += row.bytes.get();
                last.packets += row.packets;
                last.delay = last.delay.max(delay);
                last.backlog += row.backlog.get();
            }
            None => rows.push_back(Interval {
                end: row.time,
                bytes: row.bytes.get(),
                packets: row.packets,
                delay,
                backlog: row.backlog.get(),
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
        while self.rows.iter().flatten().all(|rows| rows.len() > kept) {
            let end = self.rows[0][0][0].end;
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
                let rows = self.rows.iter_mut();
                let intervals = rows.filter_map(|rows| rows[direction.index()].pop_front());
                let intervals: Vec<Interval> = intervals.collect();
                self.count(direction, &intervals, bin);
            }
        }
    }

    /// The link that limits, of those that these are the intervals of.
    fn limiting(&self, direction: Direction, intervals: &[Interval]) -> Option<usize> {
        let is_full = |hop: usize, interval: &Interval| {
            let offered = self.offered(Hop(hop as u16), direction, interval.end);
            offered.is_some_and(|offered| {
                if interval.packets == 0 {
                    return interval.backlog > 0;
                }
                // The time of a full packet at this rate.
                let packet = self.length * FULL_PACKET / offered.max(1);
                let used = |percent| interval.bytes * 100 >= offered * percent;
                used(FULL_PERCENT) || used(BUSY_PERCENT) && interval.delay > packet * STANDING
            })
        };
        let intervals = intervals.iter().enumerate();
        let full = intervals.filter(|(hop, interval)| is_full(*hop, interval));
        // Of equal ones the first.
        let longest = full.rev().max_by_key(|(_, interval)| interval.delay);
        longest.map(|(hop, _)| hop)
    }

    fn count(&mut self, direction: Direction, intervals: &[Interval], bin: Option<Bin>) {
        if let Some(hop) = self.limiting(direction, intervals) {
            self.by_link[hop][direction.index()] += 1;
            return;
        }
        let entry = match direction {
            Direction::Forward => intervals.first(),
            Direction::Reverse => intervals.last(),
        };
        let Some(entry) = entry else {
            return;
        };
        let is_small = entry.packets <= FEW || entry.bytes < entry.packets * SMALL;
        if is_small || (self.has_relay && bin.is_none_or(|bin| bin.open.is_zero())) {
            return;
        }
        let held = bin.map_or(Time::ZERO, |bin| bin.held[direction.index()]);
        let is_held = held >= self.length / 2;
        let counts = match (direction, is_held, self.has_relay) {
            (_, _, false) => &mut self.by_program,
            (Direction::Forward, true, _) | (Direction::Reverse, false, _) => &mut self.by_program,
            (Direction::Forward, false, _) | (Direction::Reverse, true, _) => &mut self.by_path,
        };
        counts[direction.index()] += 1;
    }

    /// Whether data flowed in any interval so far.
    pub(crate) fn has_data(&self) -> bool {
        let all = self.by_link.iter().chain([&self.by_program, &self.by_path]);
        all.flatten().any(|count| *count > 0)
    }

    pub(crate) fn finish(mut self) -> Limits {
        self.judge(0);
        Limits {
            down: self.shares(Direction::Forward),
            up: self.shares(Direction::Reverse),
        }
    }

    fn shares(&self, direction: Direction) -> Shares {
        let of_link = |counts: &[u64; 2]| counts[direction.index()];
        let (program, beyond) = (of_link(&self.by_program), of_link(&self.by_path));
        let link: u64 = self.by_link.iter().map(of_link).sum();
        let sum = link + program + beyond;
        let share = |count: u64| match sum {
            0 => 0.0,
            _ => count as f64 / sum as f64,
        };
        let links = self.links.iter().zip(&self.by_link);
        let links = links.map(|(link, counts)| LinkShare {
            name: link.name.clone(),
            share: share(of_link(counts)),
        });
        Shares {
            link: share(link),
            program: share(program),
            beyond: share(beyond),
            active_s: (self.length * sum).as_nanos() as f64 / 1e9,
            links: match self.links.len() {
                1 => Vec::new(),
                _ => links.collect(),
            },
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

    /// Of links a, b … with these rates.
    fn judge(rates: &[[Rate; 2]], has_relay: bool) -> Judge {
        let links = rates.iter().zip('a'..);
        let links = links.map(|(rates, name)| Judged {
            name: name.to_string(),
            offers: rates.map(Offer::Rate),
        });
        Judge::new(links.collect(), has_relay, INTERVAL)
    }

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
        let rate = Rate::from_mbps(12);
        let mut judge = judge(&[[rate, rate]], true);
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
        let mut judge = judge(&[[Rate::from_mbps(12), Rate::UNLIMITED]], false);
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
        let limits = judge(&[[Rate::UNLIMITED; 2]], true).finish();
        assert_eq!(limits, Limits::default());
    }

    #[test]
    fn of_several_links_the_one_that_packets_waited_for_limits_and_is_named() {
        let rate = Rate::from_mbps;
        // Down the first has no limit and the others the same rate.
        let rates = [
            [Rate::UNLIMITED, rate(12)],
            [rate(12), Rate::UNLIMITED],
            [rate(12), rate(24)],
        ];
        let mut judge = judge(&rates, false);
        // Packets down, and how long they waited for each; the last interval is the program's.
        let cases = [
            (98, [0, 1, 40]),
            (98, [0, 50, 2]),
            (98, [0, 9, 9]),
            (50, [0, 0, 0]),
        ];
        for (number, (packets, delays)) in (1..).zip(cases) {
            for (hop, delay) in delays.into_iter().enumerate() {
                let at = |direction, packets, delay| QueueRow {
                    hop: Hop(hop as u16),
                    ..row(number, direction, packets, Time::from_millis(delay))
                };
                judge.row(&at(Direction::Forward, packets, delay));
                // The first link of what is sent is the last one; of the first one's 100 packets it fills all.
                judge.row(&at(Direction::Reverse, 95, 0));
            }
        }
        let limits = judge.finish();
        let share = |name: &str, share| LinkShare {
            name: name.to_owned(),
            share,
        };
        assert_eq!(
            limits.down.links,
            [share("a", 0.0), share("b", 0.5), share("c", 0.25)]
        );
        assert_eq!((limits.down.link, limits.down.program), (0.75, 0.25));
        assert_eq!(
            limits.up.links,
            [share("a", 1.0), share("b", 0.0), share("c", 0.0)]
        );
    }

    #[test]
    fn a_link_with_a_trace_limits_by_what_the_trace_offers() {
        use quell_aqm::course::{Course, RateTrace, Trace};
        // 12 Mbit/s, then 6, then nothing, each for an interval.
        let steps = [12, 6, 0].into_iter().zip(0..);
        let steps = steps.map(|(mbps, number)| (INTERVAL * number, Rate::from_mbps(mbps)));
        let trace = RateTrace::new(steps.collect(), INTERVAL * 3).unwrap();
        let course = Course::new(Trace::Rates(trace));
        let link = Judged {
            name: "link".to_owned(),
            offers: [Offer::Trace(course), Offer::Rate(Rate::UNLIMITED)],
        };
        let mut judge = Judge::new(vec![link], false, INTERVAL);
        // 50 packets are half of the first rate and all of the second; then packets wait, and then nothing does.
        for (number, packets, backlog) in [(1, 50, 0), (2, 50, 0), (3, 0, 9_000), (6, 0, 0)] {
            judge.row(&QueueRow {
                backlog: Bytes::new(backlog),
                ..row(number, Direction::Forward, packets, Time::ZERO)
            });
            judge.row(&row(number, Direction::Reverse, 0, Time::ZERO));
        }
        let down = judge.finish().down;
        assert!((down.link - 2.0 / 3.0).abs() < 1e-9, "{down:?}");
        assert!((down.active_s - 0.3).abs() < 1e-9, "{down:?}");
        assert_eq!(down.links, []);
    }
}
