//! RED's control law as Linux has it (`include/net/red.h`, 6.18), to the integer.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! The average is a fixed-point number of bytes with its point at `weight_log`; the probability is
//! in parts of 2³²; one random number per mark, and no division between two of them:
//!
//! * `avg ← avg + (backlog − (avg >> Wlog))` on an arrival at a link that is not idle;
//! * `avg ← avg >> Stab[idle >> Scell_log]`, linear where that is 0, at the end of an idle time;
//! * marked between the thresholds if `((avg − min) >> Wlog) · count ≥ R`, with `R` uniform below
//!   `(max − min) / max_P`: the count correction of Floyd and Jacobson.
//!
//! Pure: the clock and the randomness are arguments. Names in brackets are the kernel's.

use super::tc::IdleTable;
use crate::units::Time;

/// 1 % of 2³², rounded to the nearest: the least probability that adapts, and the largest step up.
const ONE_PERCENT: u32 = 42_949_673;
/// 50 times that: above it the probability no longer grows.
const FIFTY_PERCENT: u32 = 50 * ONE_PERCENT;

/// The parameters of the kernel (`red_set_parms`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Lower threshold in bytes.
    pub min: u32,
    /// Upper threshold in bytes.
    pub max: u32,
    /// The weight of a sample is 2^−`weight_log` (Wlog).
    pub weight_log: u32,
    /// The probability at `max`, in parts of 2³² (max_P).
    pub max_probability: u32,
    /// The decay of the average while the link is idle (Stab, Scell_log).
    pub idle: IdleTable,
}

impl Parameters {
    /// Whether the kernel takes them (`red_check_params`): both thresholds fit 31 bits with the
    /// fraction of the average.
    pub fn are_valid(&self) -> bool {
        let bits = |threshold: u32| u32::BITS - threshold.leading_zeros();
        bits(self.min) + self.weight_log < 32
            && bits(self.max) + self.weight_log < 32
            && self.idle.cell_log < 32
            && self.min <= self.max
            && self.idle.shifts.iter().all(|&shift| shift < 32)
    }
}

/// The fate of an arriving packet (`red_action`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Pass,
    /// A signal by probability (RED_PROB_MARK).
    Early,
    /// A signal because the average is too large (RED_HARD_MARK).
    Forced,
}

/// Parameters and variables (`struct red_parms`, `struct red_vars`).
#[derive(Debug, Clone)]
pub struct LinuxRed {
    parameters: Parameters,
    /// The thresholds at the average's scale (qth_min, qth_max).
    min: u64,
    max: u64,
    /// max − min, at least 1 (qth_delta).
    range: u32,
    /// The range in which adaptation leaves the probability alone, in bytes (target_min, target_max).
    target: (u64, u64),
    /// The probability as adapted (max_P).
    probability: u32,
    /// max_P / (max − min), at least 1: the divisor of random numbers.
    per_byte: u32,
    /// The average in units of 2^−Wlog bytes (qavg).
    average: u64,
    /// Packets since the last mark; −1 below `min` (qcount).
    count: i32,
    /// The threshold that the next mark waits for (qR).
    threshold: u32,
    idle_since: Option<Time>,
}

impl LinuxRed {
    /// The law with an average of 0 (`red_set_parms`, `red_set_vars`). The parameters must be valid.
    pub fn new(parameters: Parameters) -> Self {
        let range = (parameters.max - parameters.min).max(1);
        let min = u64::from(parameters.min);
        let fifth = u64::from(range / 5);
        Self {
            min: min << parameters.weight_log,
            max: u64::from(parameters.max) << parameters.weight_log,
            range,
            target: (min + 2 * fifth, min + 3 * fifth),
            probability: parameters.max_probability,
            per_byte: (parameters.max_probability / range).max(1),
            average: 0,
            count: -1,
            threshold: 0,
            idle_since: None,
            parameters,
        }
    }

    /// The parameters of the law.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    /// The average in bytes, rounded down.
    pub fn average(&self) -> u64 {
        self.average >> self.parameters.weight_log
    }
    /// The average in units of 2^−Wlog bytes.
    pub fn raw_average(&self) -> u64 {
        self.average
    }
    /// The average in units of 2^−Wlog bytes, the packets since the last mark, and the threshold of the next mark (`struct red_vars`).
    pub fn variables(&self) -> (u64, i32, u32) {
        (self.average, self.count, self.threshold)
    }
    /// The probability at `max` in parts of 2³².
    pub fn probability(&self) -> u32 {
        self.probability
    }

    /// A packet arrives while `backlog` bytes wait: the average takes note, and decides.
    #[inline]
    pub fn arrival(&mut self, backlog: u64, now: Time, random: impl FnOnce() -> u32) -> Action {
        self.average = match self.idle_since.take() {
            // In the kernel's order of operations, which wraps through zero on the way.
            None => self
                .average
                .wrapping_add(backlog.wrapping_sub(self.average >> self.parameters.weight_log)),
            Some(since) => self.decayed(now - since),
        };
        if self.average < self.min {
            self.count = -1;
            return Action::Pass;
        }
        if self.average >= self.max {
            self.count = -1;
            return Action::Forced;
        }
        self.count = self.count.wrapping_add(1);
        if self.count == 0 {
            self.threshold = self.draw(random());
            return Action::Pass;
        }
        // A count that wrapped after 2³¹ packets is sign-extended, as in C.
        let count = i64::from(self.count) as u64;
        let above = (self.average - self.min) >> self.parameters.weight_log;
        if above.wrapping_mul(count) < u64::from(self.threshold) {
            return Action::Pass;
        }
        self.count = 0;
        self.threshold = self.draw(random());
        Action::Early
    }

    /// The link has nothing left to send (`red_start_of_idle_period`).
    #[inline]
    pub fn idle(&mut self, now: Time) {
        if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// Half a second has passed (`red_adaptative_algo`).
    pub fn adapt(&mut self, now: Time) {
        let average = match self.idle_since {
            None => self.average,
            Some(since) => self.decayed(now - since),
        } >> self.parameters.weight_log;
        if average > self.target.1 && self.probability <= FIFTY_PERCENT {
            // At most 50 % + 1 % of 2³².
            self.probability += ONE_PERCENT.min(self.probability / 4);
        } else if average < self.target.0 && self.probability >= ONE_PERCENT {
            self.probability = self.probability / 10 * 9;
        }
        self.per_byte = self.rounded_per_byte();
    }

    /// The queue was emptied (`red_restart`).
    pub fn restart(&mut self) {
        self.idle_since = None;
        self.average = 0;
        self.count = -1;
    }

    /// Takes the average over, at the scale of its own weight, and with `adapted` the probability.
    pub fn inherit(&mut self, other: &Self, adapted: bool) {
        let (old, new) = (other.parameters.weight_log, self.parameters.weight_log);
        // An average of at most 2³² bytes with up to 31 fraction bits fits.
        self.average = if new >= old {
            other.average << (new - old)
        } else {
            other.average >> (old - new)
        };
        self.idle_since = other.idle_since;
        if adapted {
            self.probability = other.probability;
            self.per_byte = self.rounded_per_byte();
        }
    }

    /// The probability per byte as the adaptation computes it: to the nearest, unlike at the start.
    fn rounded_per_byte(&self) -> u32 {
        (self.probability.wrapping_add(self.range / 2) / self.range).max(1)
    }

    /// `red_calc_qavg_from_idle_time`.
    fn decayed(&self, idle: Time) -> u64 {
        let cell_log = self.parameters.idle.cell_log;
        // From 25 on the kernel's 32 bits lose the upper bits of the longest time.
        let longest = u64::from(255_u32 << cell_log);
        let micros = (idle.as_nanos() / 1_000).min(longest);
        let shift = self.parameters.idle.shifts[(micros >> cell_log) as usize & 255];
        if shift > 0 {
            return self.average >> shift;
        }
        let lost = self.average.wrapping_mul(micros) >> cell_log;
        let half = self.average >> 1;
        if lost < half {
            self.average - lost
        } else {
            half
        }
    }

    /// `red_random`: uniform from 0 to (max − min) / max_P.
    fn draw(&self, random: u32) -> u32 {
        random / self.per_byte
    }
}

#[cfg(test)]
mod tests;
