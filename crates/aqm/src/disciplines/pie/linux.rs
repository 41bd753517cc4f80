//! The Linux form of PIE: `net/sched/sch_pie.c` and `include/net/pie.h` (6.18), to the integer.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! [`Vars`] is one controller: [`Vars::drop_early`] when a packet arrives,
//! [`Vars::process_dequeue`] when one leaves, [`Vars::calculate_probability`] at each update. PIE
//! has one, FQ-PIE one for each flow. Times are the kernel's ticks of 2⁶ ns, probabilities are in
//! units of 1/(2⁵⁶ − 1).
//!
//! Kept although it looks wrong, because the kernel does it:
//!
//! * The probability may exceed [`MAX_PROB`]: only a 64-bit overflow is caught. Under an overload
//!   that drops do not end it winds up, and must come down again before anything passes.
//! * A mark at an accumulated probability of 8.5 or more leaves the accumulator where it is, so
//!   every following ECN-capable packet is marked until something is dropped.
//!
//! Deviations from the kernel:
//!
//! 1. Lengths are IP lengths, without the link header that the kernel counts (14 bytes on
//!    Ethernet): in the backlog, in the 2 × MTU test and in `bytemode`.
//! 2. The update timer has no drift, and `tupdate` is not rounded up to the kernel's tick (1 to
//!    10 ms); an interval of zero, which stops the kernel's timer for ever, is refused.
//! 3. Where the kernel wraps, this saturates: a change of probability beyond 2⁶³ (delays above 60
//!    to 100 s), a backlog above 16 MiB with `dq_rate_estimator`, 275 s between two departures.
//! 4. `limit` may also be bytes, or a time at the link's rate.
//! 5. Draining forgets the measured delay too. The kernel's reset keeps it, and the probability
//!    would go on rising on an empty queue.

use crate::units::Time;

/// A probability of one.
pub const MAX_PROB: u64 = u64::MAX >> 8;
/// Bytes of a measurement of the departure rate.
const QUEUE_THRESHOLD: u64 = 16_384;
/// Fraction bits of the departure rate.
const PIE_SCALE: u32 = 8;
/// The kernel's tick is 2⁶ ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
const MAX_BURST: u64 = 150_000_000 >> TICK_SHIFT;
/// Above this delay the probability rises by 2 % more at each update.
const HIGH_DELAY: u64 = 250_000_000 >> TICK_SHIFT;

/// A time in the kernel's ticks, rounded down.
pub const fn ticks(time: Time) -> u64 {
    time.as_nanos() >> TICK_SHIFT
}

/// A number of ticks as a time.
pub(crate) fn time(ticks: u64) -> Time {
    Time::from_nanos(ticks.saturating_mul(1 << TICK_SHIFT))
}

/// `struct pie_params`, as far as one controller reads it.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// The target delay in ticks.
    pub target: u64,
    /// The gain alpha in 1/16 Hz.
    pub alpha: u64,
    /// The gain beta in 1/16 Hz.
    pub beta: u64,
    /// Whether small packets are dropped less.
    pub bytemode: bool,
    /// Whether the delay is estimated from backlog and departure rate, not measured.
    pub dq_rate_estimator: bool,
}

/// `struct pie_vars`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vars {
    /// The delay in ticks, measured at the last departure or estimated at the last update.
    pub qdelay: u64,
    /// The delay at the last update but one.
    pub qdelay_old: u64,
    /// Burst allowance left, in ticks.
    pub burst_time: u64,
    /// Last departure, or start of a measurement of the rate, in ticks.
    pub dq_tstamp: Option<u64>,
    /// Drop probability, in units of 1/[`MAX_PROB`].
    pub prob: u64,
    /// Sum of the probabilities of packets spared since the last drop.
    pub accu_prob: u64,
    /// Bytes that left during a measurement.
    pub dq_count: Option<u64>,
    /// The departure rate in 1/256 bytes per tick, 0 if unknown.
    pub avg_dq_rate: u64,
}

impl Default for Vars {
    fn default() -> Self {
        let mut vars = Self {
            qdelay: 0,
            qdelay_old: 0,
            burst_time: 0,
            dq_tstamp: None,
            prob: 0,
            accu_prob: 0,
            dq_count: None,
            avg_dq_rate: 0,
        };
        vars.restart();
        vars
    }
}

impl Vars {
    /// `pie_vars_init`: a new burst allowance and a new measurement; probability and delay stay.
    pub fn restart(&mut self) {
        self.burst_time = MAX_BURST;
        self.dq_tstamp = None;
        self.accu_prob = 0;
        self.dq_count = None;
        self.avg_dq_rate = 0;
    }

    /// `pie_drop_early`: whether a packet of `len` bytes that finds `backlog` bytes is to be
    /// signalled. Draws at most one random number.
    #[inline]
    pub fn drop_early(
        &mut self,
        params: &Params,
        backlog: u64,
        len: u64,
        mtu: u64,
        draw: impl FnOnce() -> u64,
    ) -> bool {
        // Early drops wait until the burst allowance is spent, are off while the delay is low and so is the probability, and are "similar
        // to min_th in RED" with fewer than two packets of the MTU (sch_pie.c).
        if self.burst_time > 0
            || (self.qdelay < params.target / 2 && self.prob < MAX_PROB / 5)
            || backlog < 2 * mtu
        {
            return false;
        }
        let probability = if params.bytemode && len <= mtu {
            len * (self.prob / mtu.max(1))
        } else {
            self.prob
        };
        self.accu_prob = match probability {
            0 => 0,
            _ => self.accu_prob.wrapping_add(probability),
        };
        // Independent draws would sometimes signal several packets in a row and then none for long; the sum of the probabilities spaces
        // signals, so that one flow does not lose several packets at once.
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let signal = draw() >> 8 < probability;
        if signal {
            self.accu_prob = 0;
        }
        signal
    }

    /// `pie_process_dequeue`: a packet of `len` bytes, here since `arrival`, has left `backlog`
    /// bytes behind. Times are in ticks.
    #[inline]
    pub fn process_dequeue(
        &mut self,
        params: &Params,
        now: u64,
        arrival: u64,
        len: u64,
        backlog: u64,
    ) {
        if params.dq_rate_estimator {
            return self.measure_rate(now, len, backlog);
        }
        self.qdelay = if backlog == 0 {
            0
        } else {
            now.saturating_sub(arrival)
        };
        let since = self.dq_tstamp.map_or(0, |last| now.saturating_sub(last));
        self.dq_tstamp = Some(now);
        self.spend_burst(since);
    }

    /// The departure rate, averaged with weight 1/8 over [`QUEUE_THRESHOLD`] bytes each.
    fn measure_rate(&mut self, now: u64, len: u64, backlog: u64) {
        if backlog >= QUEUE_THRESHOLD && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let Some(count) = &mut self.dq_count else {
            return;
        };
        *count = count.saturating_add(len);
        if *count < QUEUE_THRESHOLD {
            return;
        }
        let since = self.dq_tstamp.map_or(0, |start| now.saturating_sub(start));
        if since == 0 {
            return;
        }
        let rate = (*count << PIE_SCALE) / since;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            average => (average - (average >> 3)) + (rate >> 3),
        };
        if backlog < QUEUE_THRESHOLD {
            self.dq_count = None;
        } else {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        self.spend_burst(since);
    }

    fn spend_burst(&mut self, since: u64) {
        self.burst_time = self.burst_time.saturating_sub(since);
    }

    /// `pie_calculate_probability`, with `backlog` bytes queued.
    pub fn calculate_probability(&mut self, params: &Params, backlog: u64) {
        let (qdelay, qdelay_old) = if params.dq_rate_estimator {
            self.qdelay_old = self.qdelay;
            let estimate = (u128::from(backlog) << PIE_SCALE)
                .checked_div(u128::from(self.avg_dq_rate))
                .unwrap_or(0);
            (u64::try_from(estimate).unwrap_or(u64::MAX), self.qdelay_old)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // "If qdelay is zero and backlog is not, it means backlog is very small, so we do not update probability in this round."
        let mut may_decay = qdelay != 0 || backlog == 0;

        let delta = self.delta(params, qdelay, qdelay_old);
        if delta > 0 {
            if let Some(sum) = self.prob.checked_add(delta.unsigned_abs()) {
                self.prob = sum;
            } else {
                self.prob = MAX_PROB;
                may_decay = false;
            }
        } else {
            self.prob = self.prob.saturating_sub(delta.unsigned_abs());
        }
        // "Reduce drop probability quickly if delay is 0 for 2 consecutive Tupdate periods": the linear law alone would take seconds.
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;

        let half = params.target / 2;
        let knows_rate = !params.dq_rate_estimator || self.avg_dq_rate > 0;
        if self.qdelay < half && self.qdelay_old < half && self.prob == 0 && knows_rate {
            self.restart();
        }
        if !params.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }

    /// The change of probability: PI with gains tuned to the present probability, at most +2 %
    /// where that is above 10 %, and 2 % more above 250 ms.
    fn delta(&self, params: &Params, qdelay: u64, qdelay_old: u64) -> i64 {
        let shift = tuning_shift(self.prob);
        let term = |gain: u64, since: u64| {
            // Gains are below 2³⁴ and differences below 2⁶⁵: no overflow.
            i128::from(scale_gain(gain) >> shift) * (i128::from(qdelay) - i128::from(since))
        };
        let sum = term(params.alpha, params.target) + term(params.beta, qdelay_old);
        let mut delta = sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > HIGH_DELAY {
            delta = delta.saturating_add((MAX_PROB / 50) as i64);
        }
        delta
    }
}

/// A gain of n/16 Hz in units of probability per tick.
pub const fn scale_gain(gain: u64) -> u64 {
    (gain * (MAX_PROB / TICKS_PER_SECOND)) >> 4
}

/// The auto-tuning table (RFC 8033 section 4.2): by which power of two gains are divided.
pub const fn tuning_shift(prob: u64) -> u32 {
    if prob >= MAX_PROB / 10 {
        return 0;
    }
    let mut shift = 1;
    let mut power = 100;
    while power <= 1_000_000 && prob < MAX_PROB / power {
        shift += 2;
        power *= 10;
    }
    shift
}

#[cfg(test)]
mod tests;
