//! The delay from sending to playing, which a rule chooses.
//!
//! * `fixed`: the delay of the first packet and a buffer, for the whole call.
//! * `adaptive`: as the jitter buffer of libwebrtc chooses (NetEq's underrun optimiser, with its constants).
//!   How far a packet is behind the quickest of the last 2 s is its relative delay. The greatest in each
//!   500 ms enters a histogram of 100 buckets of 20 ms, which forgets: 1.7 % of the weight is the newest
//!   one's, and more at first. The target is the upper edge of the bucket with the 95th percentile. The playout point
//!   moves towards it by at most one packet in 100 ms, as speech is stretched or shrunk, and a packet
//!   that comes behind it is lost: NetEq would wait for a while instead.
//! * `ramjee`: mean and mean deviation of the delay, both as moving averages; a new talk spurt is played with
//!   mean + 4 deviations (Ramjee, Kurose, Towsley and Schulzrinne 1994, algorithm 1).

use std::collections::VecDeque;

use quell_units::{Time, words};

words! {
    /// The listener's rule for the time of playing.
    pub enum Rule {
        /// As libwebrtc's jitter buffer.
        Adaptive = "adaptive",
        /// A constant delay.
        Fixed = "fixed",
        /// Mean and deviation of the delay, changed between talk spurts.
        Ramjee = "ramjee",
    }
}

/// The playout point before anything is known of the delay, behind the first packet's.
const START: Time = Time::from_millis(80);

/// A rule at work.
#[derive(Debug, Clone)]
pub(crate) struct Playout {
    method: Method,
    /// Time from sending to playing; `None` before the first packet.
    point: Option<Time>,
}

#[derive(Debug, Clone)]
enum Method {
    Fixed { buffer: Time },
    Adaptive(Box<Adaptive>),
    Ramjee { mean: i64, deviation: i64 },
}

impl Playout {
    /// `buffer` is that of [`Rule::Fixed`], `most` the largest target of [`Rule::Adaptive`], `packet` the
    /// time that a packet lasts.
    pub(crate) fn new(rule: Rule, buffer: Time, most: Time, packet: Time) -> Self {
        let method = match rule {
            Rule::Fixed => Method::Fixed { buffer },
            Rule::Adaptive => Method::Adaptive(Box::new(Adaptive::new(most, packet))),
            Rule::Ramjee => Method::Ramjee {
                mean: 0,
                deviation: 0,
            },
        };
        Self {
            method,
            point: None,
        }
    }

    /// A packet has arrived at `now`, `delay` after it was sent. Returns how long after it was sent it
    /// is to be played.
    pub(crate) fn arrive(&mut self, now: Time, delay: Time, begins_spurt: bool) -> Time {
        let before = self.point;
        let point = match &mut self.method {
            Method::Fixed { buffer } => before.unwrap_or(delay + *buffer),
            Method::Ramjee { mean, deviation } => {
                let point = match before {
                    None => delay + START,
                    Some(_) if begins_spurt => {
                        Time::from_nanos((*mean + 4 * *deviation) as u64 >> FRACTION_BITS)
                    }
                    Some(point) => point,
                };
                average(mean, deviation, delay, before.is_none());
                point
            }
            Method::Adaptive(_) => before.unwrap_or(delay + START),
        };
        self.point = Some(match &mut self.method {
            Method::Adaptive(adaptive) => adaptive.arrive(now, delay, point),
            Method::Fixed { .. } | Method::Ramjee { .. } => point,
        });
        point
    }
}

/// Fraction bits of Ramjee's averages, in ns: a day has 47 bits.
const FRACTION_BITS: u32 = 12;

/// mean ← α mean + (1 − α) delay, deviation ← α deviation + (1 − α) |mean − delay|, with α = 0.998002.
fn average(mean: &mut i64, deviation: &mut i64, delay: Time, is_first: bool) {
    const REST: i128 = 1_998;
    let delay = (delay.as_nanos() << FRACTION_BITS) as i64;
    if is_first {
        *mean = delay;
    }
    let step = |average: i64, value: i64| {
        average + (i128::from(value - average) * REST / 1_000_000) as i64
    };
    *mean = step(*mean, delay);
    *deviation = step(*deviation, (*mean - delay).abs());
}

/// Buckets of the histogram.
const BUCKETS: usize = 100;
/// Width of a bucket.
const BUCKET: Time = Time::from_millis(20);
/// Time from one entry of the greatest relative delay in the histogram to the next.
const RESAMPLE: Time = Time::from_millis(500);
/// For how long the quickest packet counts.
const HISTORY: Time = Time::from_secs(2);
/// The playout point moves by one packet in this time at most.
const PER_PACKET: u128 = 100_000_000;
/// All weights together.
const WHOLE: u64 = 1 << 40;

/// NetEq's choice of the target.
#[derive(Debug, Clone)]
struct Adaptive {
    most: Time,
    packet: Time,
    /// Packets of the last 2 s that no later one has undercut: arrival and delay, delays ascending.
    quickest: VecDeque<(Time, Time)>,
    weights: [u64; BUCKETS],
    /// Updates of the histogram.
    updates: u64,
    /// Begin of the present interval, and the greatest relative delay in it.
    since: Option<Time>,
    greatest: Time,
    target: Time,
    moved: Time,
}

impl Adaptive {
    fn new(most: Time, packet: Time) -> Self {
        Self {
            most,
            packet,
            quickest: VecDeque::new(),
            weights: [0; BUCKETS],
            updates: 0,
            since: None,
            greatest: Time::ZERO,
            target: START.min(most),
            moved: Time::ZERO,
        }
    }

    /// The next playout point after `point`.
    fn arrive(&mut self, now: Time, delay: Time, point: Time) -> Time {
        while self
            .quickest
            .back()
            .is_some_and(|(_, other)| *other >= delay)
        {
            self.quickest.pop_back();
        }
        self.quickest.push_back((now, delay));
        while self
            .quickest
            .front()
            .is_some_and(|(at, _)| *at + HISTORY < now)
        {
            self.quickest.pop_front();
        }
        let least = self.quickest.front().map_or(delay, |(_, delay)| *delay);
        match self.since {
            None => (self.since, self.moved) = (Some(now), now),
            Some(since) if now - since >= RESAMPLE => {
                self.update();
                self.since = Some(now);
                self.greatest = Time::ZERO;
            }
            Some(_) => {}
        }
        self.greatest = self.greatest.max(delay - least);
        let elapsed = now - self.moved;
        self.moved = now;
        let step = u128::from(self.packet.as_nanos()) * u128::from(elapsed.as_nanos()) / PER_PACKET;
        let step = Time::from_nanos(u64::try_from(step).unwrap_or(u64::MAX));
        let wanted = least + self.target;
        if wanted > point {
            point + step.min(wanted - point)
        } else {
            point - step.min(point - wanted)
        }
    }

    /// Enters the greatest relative delay of an interval.
    fn update(&mut self) {
        self.updates += 1;
        // At first 1 − 2/k for the k-th; 0.983 when that is less.
        let (kept, of) = match self.updates {
            1 => (0, 1),
            k if (k - 2) * 1_000 < 983 * k => (k - 2, k),
            _ => (983, 1_000),
        };
        let mut sum = 0;
        for weight in &mut self.weights {
            *weight = (u128::from(*weight) * u128::from(kept) / u128::from(of)) as u64;
            sum += *weight;
        }
        let index = (self.greatest.as_nanos() / BUCKET.as_nanos()) as usize;
        self.weights[index.min(BUCKETS - 1)] += WHOLE - sum;
        let mut above = WHOLE;
        let beyond = self.weights.iter().position(|weight| {
            above -= weight;
            above <= WHOLE / 20
        });
        let edges = beyond.unwrap_or(BUCKETS - 1) as u64 + 1;
        self.target = (BUCKET * edges).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn adaptive() -> Adaptive {
        Adaptive::new(ms(500), ms(20))
    }

    /// A packet every 20 ms for this time, with these delays in ms by number.
    fn feed(adaptive: &mut Adaptive, from: &mut u64, packets: u64, delay: impl Fn(u64) -> u64) {
        for number in *from..*from + packets {
            let delay = ms(delay(number));
            adaptive.arrive(ms(20 * number) + delay, delay, ms(500));
        }
        *from += packets;
    }

    #[test]
    fn the_greatest_relative_delay_of_an_interval_sets_the_target() {
        // The case of libwebrtc's own test: 0, 20 … 480 ms within one interval give 500 ms.
        let mut adaptive = adaptive();
        for number in 0..25 {
            adaptive.arrive(ms(20 * number), ms(20 * number), ms(500));
        }
        assert_eq!(adaptive.target, START);
        adaptive.arrive(ms(500), ms(480), ms(500));
        assert_eq!(adaptive.target, ms(500));
    }

    #[test]
    fn the_third_peak_raises_the_target_and_it_is_forgotten_after_175_intervals() {
        let (mut adaptive, mut number) = (adaptive(), 0);
        feed(&mut adaptive, &mut number, 3_001, |_| 10);
        assert_eq!((adaptive.target, adaptive.updates), (ms(20), 120));
        // Packets in which an interval begins lie 25 apart; the peak is in the middle.
        let peaks = |number: u64| if number % 25 == 12 { 110 } else { 10 };
        let mut targets = Vec::new();
        for _ in 0..4 {
            feed(&mut adaptive, &mut number, 25, peaks);
            targets.push(adaptive.target);
        }
        // 1 − 0.983² = 3.4 %, 1 − 0.983³ = 5.01 %.
        assert_eq!(targets, [20, 20, 120, 120].map(ms));
        feed(&mut adaptive, &mut number, 25 * 1_000, peaks);
        assert_eq!(adaptive.target, ms(120));
        // 0.983^174 = 5.06 %, 0.983^175 = 4.98 %. The interval that ends first has its peak still.
        let before = adaptive.updates;
        while adaptive.target == ms(120) {
            feed(&mut adaptive, &mut number, 1, |_| 10);
        }
        let updates = adaptive.updates - before;
        assert!((175..=176).contains(&updates), "{updates}");
        assert_eq!(adaptive.target, ms(20));
    }

    #[test]
    fn a_constant_delay_is_no_jitter() {
        let (mut adaptive, mut number) = (adaptive(), 0);
        feed(&mut adaptive, &mut number, 3_000, |_| 10);
        feed(&mut adaptive, &mut number, 15_000, |_| 210);
        assert_eq!(adaptive.target, ms(20));
    }

    #[test]
    fn the_playout_point_moves_by_a_packet_in_100_ms() {
        let mut playout = Playout::new(Rule::Adaptive, Time::ZERO, ms(500), ms(20));
        let mut points = Vec::new();
        for number in 0..100 {
            points.push(playout.arrive(ms(20 * number + 10), ms(10), false));
        }
        assert_eq!(points[0], ms(90), "the first delay and 80 ms");
        for pair in points.windows(2) {
            assert!(pair[0].max(pair[1]) - pair[0].min(pair[1]) <= ms(4));
        }
        assert_eq!(points[99], ms(30), "the least delay and the target");
    }

    #[test]
    fn ramjee_changes_between_spurts_only() {
        let mut playout = Playout::new(Rule::Ramjee, Time::ZERO, Time::ZERO, ms(20));
        let mut points = Vec::new();
        for number in 0..4_000_u64 {
            let delay = ms(40 + number % 2 * 20);
            points.push(playout.arrive(ms(20 * number) + delay, delay, number % 500 == 0));
        }
        assert_eq!(points[0], ms(40) + START);
        for (number, pair) in points.windows(2).enumerate() {
            assert!(pair[0] == pair[1] || (number + 1) % 500 == 0);
        }
        // Mean 50 ms and mean deviation 10 ms, of which 1 − 0.998^3500 is there.
        let last = points[3_999];
        assert!(last > ms(89) && last < ms(91), "{last}");
    }
}
