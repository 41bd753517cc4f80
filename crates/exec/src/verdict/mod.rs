//! Who limited: the link, the program and its TCP, or the path beyond.
//!
//! Per interval of the link's series, by direction. *The link*, where it was used for at least nine tenths, or for seven with a standing queue.
//! Otherwise, towards the program: *the program*, where data waited at the relay for half of the interval or more because the far edge's
//! TCP had no window for it (slow start, congestion control, or a program that reads slowly); else *the path beyond*, which includes a
//! program that asks for little. From the program: *the path beyond*, where data waited at the relay for half of the interval or more because
//! the host's socket took none; else *the program*. Where the link has lost packets outside of its queues, on request or not, a TCP sends less than
//! the link would carry: then *the losses* limit, if data waited for the far edge's TCP and no receiver's window held it back; where no relay
//! sees that, if no less flows than one TCP with Reno reaches with such losses at such an RTT. An interval without an open connection, with few packets or only small ones, is idle.
//!
//! Of several links in a row that are used so much in an interval, it is the one that packets waited longest for. What the program sends is
//! judged where it enters the first link of its way. A link that lets nothing through while packets wait limits, too: its trace has an outage.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use quell_link::LinkChange;
use quell_measure::{Direction, Hop, QueueRow};
use quell_units::{Rate, Time};
use serde::Serialize;

use crate::capacity::LinkCapacities;
use crate::plan::repeats::Later;
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
/// A loss slows a TCP down for so many RTTs, and for no less and no more than these times.
const SLOWED_RTTS: u64 = 100;
const SLOWED_LEAST: Time = Time::from_secs(1);
const SLOWED_MOST: Time = Time::from_secs(20);

/// Shares of the time in which data flowed in a direction; their sum is 1, or 0 where none did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Shares {
    /// This link; of several, all of them together.
    pub link: f64,
    /// The program, or the TCP of its connections.
    pub program: f64,
    /// Losses of this link outside of its queues, after which TCP sends less.
    pub losses: f64,
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

/// Judges interval by interval.
#[derive(Debug)]
pub(crate) struct Judge {
    links: Vec<LinkCapacities>,
    /// What rates become, in the order of time.
    changes: Vec<(Time, (Hop, Direction), Rate)>,
    later: Later,
    /// With a relay; without, what is not the link is the program.
    has_relay: bool,
    /// Of each link, forward and reverse.
    rows: Vec<[VecDeque<Interval>; 2]>,
    bins: VecDeque<Bin>,
    /// Intervals that a link has limited, forward and reverse.
    by_link: Vec<[u64; 2]>,
    /// The same of losses, of the program, and of the path beyond.
    by_losses: [u64; 2],
    by_program: [u64; 2],
    by_path: [u64; 2],
    /// What was lost and when, and what crossed the link, of the time in which a loss slows a TCP down.
    lately: [Lately; 2],
    /// Base RTT of the link.
    rtt: Time,
    length: Time,
}

/// The last intervals of a direction, and what they sum up to.
#[derive(Debug, Default)]
struct Lately {
    /// Their ends, with packets.
    crossed: VecDeque<(Time, u64)>,
    /// When losses were noticed, and how many.
    lost: VecDeque<(Time, u64)>,
}

impl Lately {
    /// The share of packets that was lost in the time `span` that ends at `end`; `None` where none was.
    fn lost_share(&mut self, end: Time, span: Time) -> Option<f64> {
        let is_old = |(at, _): &(Time, u64)| *at + span <= end;
        while self.crossed.pop_front_if(|one| is_old(one)).is_some() {}
        while self.lost.pop_front_if(|one| is_old(one)).is_some() {}
        let known = self.lost.iter().take_while(|(at, _)| *at <= end);
        let lost: u64 = known.map(|(_, packets)| packets).sum();
        let crossed: u64 = self.crossed.iter().map(|(_, packets)| packets).sum();
        (lost > 0).then(|| lost as f64 / crossed.max(lost) as f64)
    }
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
    pub(crate) fn new(
        links: Vec<LinkCapacities>,
        has_relay: bool,
        rtt: Time,
        length: Time,
    ) -> Self {
        Self {
            changes: Vec::new(),
            later: Later::default(),
            has_relay,
            rows: links.iter().map(|_| Default::default()).collect(),
            bins: VecDeque::new(),
            by_link: vec![[0; 2]; links.len()],
            by_losses: [0; 2],
            by_program: [0; 2],
            by_path: [0; 2],
            lately: Default::default(),
            rtt,
            links,
            length,
        }
    }

    /// What of the links changes at which times, in their order: all that is known, and what comes later.
    pub(crate) fn follow(&mut self, changes: &[(Time, LinkChange)], later: Later) {
        self.changes = changes.iter().filter_map(new_rate).collect();
        self.later = later;
    }

    /// Takes in what changes until `end`.
    fn follow_until(&mut self, end: Time) {
        while let Some(change) = self.later.next_before(end) {
            self.changes.extend(new_rate(&change));
        }
    }

    /// What a link offers in an interval that ends at `end`, in bytes; its rate is that of the interval's middle.
    fn offered(&self, hop: Hop, direction: Direction, end: Time) -> Option<u64> {
        let middle = end - self.length / 2;
        let changes = self.changes.iter();
        let changed = changes.filter(|(at, side, _)| *at <= middle && *side == (hop, direction));
        // Of changes at one time the last one; what repeats may come before what somebody asked for.
        let rate = changed.max_by_key(|(at, ..)| *at).map(|(_, _, rate)| *rate);
        let capacity = &self.links[hop.index()].capacities[direction.index()];
        capacity.between(end - self.length, end, rate)
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

    /// By `at`, so many more packets of a direction were lost outside of its queues.
    pub(crate) fn lost(&mut self, direction: Direction, at: Time, packets: u64) {
        if packets > 0 {
            let lately = &mut self.lately[direction.index()];
            lately.lost.push_back((at, packets));
        }
    }

    /// Judges the intervals of which everything is known; the last one of each direction may still grow.
    pub(crate) fn advance(&mut self) {
        self.judge(1);
    }

    fn judge(&mut self, kept: usize) {
        while self.rows.iter().flatten().all(|rows| rows.len() > kept) {
            let end = self.rows[0][0][0].end;
            self.follow_until(end);
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
        let limiting = self.limiting(direction, intervals);
        let entry = match direction {
            Direction::Forward => intervals.first(),
            Direction::Reverse => intervals.last(),
        };
        let Some(&entry) = entry else {
            return;
        };
        let lately = &mut self.lately[direction.index()];
        lately.crossed.push_back((entry.end, entry.packets));
        if let Some(hop) = limiting {
            self.by_link[hop][direction.index()] += 1;
            return;
        }
        let is_small = entry.packets <= FEW || entry.bytes < entry.packets * SMALL;
        if is_small || (self.has_relay && bin.is_none_or(|bin| bin.open.is_zero())) {
            return;
        }
        let held = bin.map_or(Time::ZERO, |bin| bin.held[direction.index()]);
        let is_held = held >= self.length / 2;
        let rtt = self.rtt
            + intervals
                .iter()
                .fold(Time::ZERO, |sum, one| sum + one.delay);
        let span = (rtt * SLOWED_RTTS).clamp(SLOWED_LEAST, SLOWED_MOST);
        let lost = self.lately[direction.index()].lost_share(entry.end, span);
        let is_slowed = lost.is_some_and(|share| match (direction, self.has_relay) {
            (Direction::Forward, true) => {
                is_held && bin.is_none_or(|bin| bin.window_limited < self.length / 2)
            }
            (Direction::Reverse, true) if is_held => false,
            _ => entry.bytes >= after_losses(share, rtt, self.length),
        });
        let counts = match (direction, is_held, self.has_relay) {
            _ if is_slowed => &mut self.by_losses,
            (_, _, false) => &mut self.by_program,
            (Direction::Forward, true, _) | (Direction::Reverse, false, _) => &mut self.by_program,
            (Direction::Forward, false, _) | (Direction::Reverse, true, _) => &mut self.by_path,
        };
        counts[direction.index()] += 1;
    }

    /// Whether data flowed in any interval so far.
    pub(crate) fn has_data(&self) -> bool {
        let others = [&self.by_losses, &self.by_program, &self.by_path];
        let all = self.by_link.iter().chain(others);
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
        let losses = of_link(&self.by_losses);
        let link: u64 = self.by_link.iter().map(of_link).sum();
        let sum = link + losses + program + beyond;
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
            losses: share(losses),
            beyond: share(beyond),
            active_s: (self.length * sum).as_nanos() as f64 / 1e9,
            links: match self.links.len() {
                1 => Vec::new(),
                _ => links.collect(),
            },
        }
    }
}

fn new_rate((at, change): &(Time, LinkChange)) -> Option<(Time, (Hop, Direction), Rate)> {
    change.rate().map(|rate| (*at, change.side(), rate))
}

/// Half of the bytes that one TCP with Reno brings through in the time `length`, where this share of its packets is lost: Mathis et al. 1997,
/// MSS / RTT * sqrt(3 / 2 / share). Half, because the share is that of a short time.
fn after_losses(share: f64, rtt: Time, length: Time) -> u64 {
    let rtts = length.as_nanos() as f64 / rtt.max(Time::from_micros(100)).as_nanos() as f64;
    (FULL_PACKET as f64 * rtts * (1.5 / share).sqrt() / 2.0) as u64
}
