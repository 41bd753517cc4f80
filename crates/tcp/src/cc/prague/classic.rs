//! Notices a queue that marks Classic and L4S packets alike, and then answers marks nearly as Reno: `prague_classic_ecn_detection` and
//! `prague_classic_ecn_fallback` of `tcp_prague.c` 0.6, in its integers.
//!
//! A Classic queue is long and varies. Once a round a score rises with the logarithm of the mean deviation of the RTT over 750 µs, falls
//! with it below that, and rises with the logarithm of the mean delay over 2 ms. It has room at both ends, so that it does not flutter.
//! In between the answer to marks goes over from alpha to 0.625 of the window at least, half of which a mark takes. The L4S project has it off: it
//! takes some L4S queues for Classic ones. In its 5.15 alpha had 24 bits and these constants were left at 20, so all queues were Classic
//! (L4STeam/linux issue 38); here both have 20.

use quell_units::Time;

/// alpha of 1 is 2 to the power of this.
const ALPHA_BITS: u32 = 20;
/// Weights of deviation and delay are 2 to the power of minus this.
const WEIGHT: u32 = 1;
/// 2²⁰ log₂ of 750 and of 2 000, weighted.
const LG_DEVIATION: i64 = 10_014_683 >> WEIGHT;
const LG_DELAY: i64 = 11_498_458 >> WEIGHT;
/// The score up to which all is L4S, that from which on all is Classic, and the highest.
const L4S: u64 = 16 << (ALPHA_BITS - WEIGHT);
const CLASSIC: u64 = L4S + (1 << ALPHA_BITS);
const MOST: u64 = CLASSIC + L4S;
/// Gains of the mean RTT are 2 to the power of minus this at least; that of the deviation is half of it.
const MOST_SHIFT: u32 = 18;
/// 2¹⁹·⁵, and what makes the whole logarithm of a rounded number right on average.
const CARRY: u64 = 741_455;
const UNBIAS: u64 = 262_144;

/// What is known of the queue; the fields of `struct prague` and of the L4S project's `struct tcp_sock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassicQueue {
    /// RTT in µs, times 2 to the power of `shift`.
    srtt: u64,
    /// Its deviation, times twice that.
    deviation: u64,
    shift: u32,
    /// What the logarithms of the last round have left.
    rest_deviation: u64,
    rest_delay: u64,
    min_rtt_us: Option<u64>,
    score: u64,
}

impl ClassicQueue {
    /// At the end of the handshake, with the smoothed RTT of TCP in 1/8 µs.
    pub(super) fn new(srtt8: u32) -> Self {
        Self {
            srtt: u64::from(srtt8 >> 3) << MOST_SHIFT,
            deviation: 1 << (MOST_SHIFT + 1),
            shift: MOST_SHIFT,
            rest_deviation: CARRY,
            rest_delay: CARRY >> 1,
            min_rtt_us: None,
            score: 0,
        }
    }

    /// A sample of the RTT, and the least one so far (`prague_rtt_estimator`).
    pub(super) fn on_rtt(&mut self, rtt: Time, least: Option<Time>) {
        let micros = |time: Time| time.as_nanos() / 1_000;
        self.min_rtt_us = least.map(micros);
        let rtt = micros(rtt);
        if self.srtt == 0 {
            self.srtt = rtt << self.shift;
            self.deviation = 1 << (self.shift + 1);
        } else {
            let mean = self.srtt >> self.shift;
            let off = rtt.abs_diff(mean);
            self.srtt = (self.srtt + rtt).saturating_sub(mean);
            self.deviation = self.deviation + off - (self.deviation >> (self.shift + 1));
        }
        self.srtt = self.srtt.max(1);
    }

    /// A reduction begins, with this threshold: gains suit a window of that size (`prague_update_rtt_scaling`).
    pub(super) fn on_reduction(&mut self, ssthresh: u32) {
        let log = ssthresh.max(1).ilog2();
        let shift = (log + (log >> 1) + 1).min(MOST_SHIFT);
        let scaled = |value: u64| match shift >= self.shift {
            true => value << (shift - self.shift),
            false => value >> (self.shift - shift),
        };
        *self = Self {
            srtt: scaled(self.srtt),
            deviation: scaled(self.deviation),
            rest_deviation: scaled(self.rest_deviation),
            rest_delay: scaled(self.rest_delay),
            shift,
            ..*self
        };
    }

    /// A round is over, and marks have been seen (`prague_classic_ecn_detection`).
    pub(super) fn on_round(&mut self) {
        let srtt = self.srtt >> self.shift;
        let (Some(least), 1..) = (self.min_rtt_us, srtt) else {
            return;
        };
        let unbias = UNBIAS >> (MOST_SHIFT - self.shift);
        let deviation = (self.deviation >> (self.shift + 1)) * self.rest_deviation + unbias;
        let log = whole_log(deviation, self.shift + 1);
        self.rest_deviation = deviation >> log;
        let mut change = weighted(log) - LG_DEVIATION;
        if srtt > least {
            let delay = (srtt - least) * self.rest_delay + (unbias >> 1);
            let log = whole_log(delay, self.shift);
            self.rest_delay = delay >> log;
            // A long queue speaks for a Classic one, a short one for nothing.
            change += (weighted(log) - LG_DELAY).max(0);
        }
        self.score = self.score.saturating_add_signed(change).min(MOST);
    }

    /// The least alpha to answer marks with (`prague_classic_ecn_fallback`).
    pub(super) fn least_alpha(&self) -> u64 {
        let classic = self.score.min(CLASSIC).saturating_sub(L4S);
        (classic >> 1) + (classic >> 3)
    }
}

/// The whole part of the logarithm of `value` over 2 to the power of `one`, not below zero.
fn whole_log(value: u64, one: u32) -> u32 {
    value.max(1).ilog2().saturating_sub(one)
}

fn weighted(log: u32) -> i64 {
    i64::from(log) << (ALPHA_BITS - WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deviation and score, what the logarithms left, and the least alpha, after rounds of 20 samples of an RTT that climbs as a saw from its least.
    fn after(least: u64, height: u64, teeth: u64, ssthresh: u32, rounds: u64) -> [u64; 6] {
        let mut queue = ClassicQueue::new(least as u32 * 8);
        queue.on_reduction(ssthresh);
        for round in 0..rounds {
            for sample in round * 20..(round + 1) * 20 {
                let rtt = least + sample % teeth * height / teeth;
                queue.on_rtt(Time::from_micros(rtt), Some(Time::from_micros(least)));
            }
            queue.on_round();
        }
        [
            queue.srtt >> queue.shift,
            queue.deviation >> (queue.shift + 1),
            queue.rest_deviation,
            queue.rest_delay,
            queue.score,
            queue.least_alpha(),
        ]
    }

    /// By a second implementation in another language, from the original's source.
    #[test]
    fn numbers_are_those_of_the_original() {
        for (of, expected) in [
            ((20_000, 1_000, 50, 40, 1), [20_014, 8, 756, 324, 0, 0]),
            ((20_000, 1_000, 50, 40, 200), [20_506, 250, 637, 278, 0, 0]),
            (
                (20_000, 15_000, 400, 40, 10),
                [22_288, 1_002, 871, 398, 253_478, 0],
            ),
            (
                (20_000, 15_000, 400, 40, 200),
                [29_362, 3_590, 880, 290, 17_825_792, 655_360],
            ),
            (
                (5_000, 4_000, 100, 200, 300),
                [6_890, 845, 5_326, 2_356, 6_421_340, 0],
            ),
            ((20_000, 3_000, 60, 4, 100), [21_043, 727, 52, 19, 0, 0]),
        ] {
            let (least, height, teeth, ssthresh, rounds) = of;
            assert_eq!(
                after(least, height, teeth, ssthresh, rounds),
                expected,
                "{of:?}"
            );
        }
    }

    #[test]
    fn the_answer_goes_over_between_both_ends() {
        let alpha = |score| {
            ClassicQueue {
                score,
                ..ClassicQueue::new(0)
            }
            .least_alpha()
        };
        assert_eq!(
            [0, L4S, L4S + 8, CLASSIC, MOST].map(alpha),
            [0, 0, 5, 655_360, 655_360]
        );
    }

    #[test]
    fn a_first_sample_is_the_mean_and_nothing_is_said_before() {
        let mut queue = ClassicQueue::new(0);
        let nothing = queue;
        queue.on_round();
        assert_eq!(queue, nothing);
        queue.on_rtt(Time::from_micros(700), None);
        assert_eq!(
            (
                queue.srtt >> queue.shift,
                queue.deviation >> (queue.shift + 1)
            ),
            (700, 1)
        );
        let before = queue;
        queue.on_round();
        assert_eq!(queue, before, "the least RTT is not known");
    }
}
