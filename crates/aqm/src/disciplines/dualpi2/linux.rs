//! The Linux form of DualPI2: `net/sched/sch_dualpi2.c` as merged in 6.17, to the integer.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! PI controller on a 32-bit probability whose maximum is 2³² − 1; two random draws for Classic
//! ("think twice"), one for L4S; a step in the L4S queue; byte-credit scheduler.
//!
//! Deviations from the kernel:
//!
//! 1. Lengths are IP lengths, without the link header that the kernel counts (14 bytes on
//!    Ethernet): in the backlog, in the 2 × MTU test, in the scheduler's credit and in the default
//!    memory limit.
//! 2. The update timer has no drift: the kernel re-arms it relative to the moment it ran.
//! 3. The change of probability saturates. The kernel's wraps where one update would change it by more than 1: with the
//!    default gains when the delay changes by more than 0.3 s at once (its comment names 4.2 s).
//! 4. No `split_gso`, because disciplines see wire packets only, and no classes by priority or
//!    filter, so no Not-ECT packet is ever in the L4S queue. The kernel's scheduler is `credit`; the others, and queue
//!    protection, are additions.
//! 5. Lowering a limit drops from the Classic queue's head first, then from the L4S queue's (as
//!    the kernel does since its fix for a change with only L4S packets queued).
//! 6. A changed parameter resets the scheduler's credit only if `classic_protection` itself
//!    changed.
//! 7. A request to drain drops what waits and keeps probability and credit, which the kernel's `reset` clears.

use super::parameters::{Gains, Parameters};
use crate::dual_buffer::{Arrival, Native, Place};
use crate::dual_queue::{DualQueue, Queued};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Amount, ParameterError};
use crate::qdisc::{Gauge, Link, mark};
use crate::random::Random;
use crate::threshold::Threshold;
use crate::units::{Bytes, Frequency, Probability, Time, name_of};

/// A probability of one.
const MAX_PROB: u32 = u32::MAX;
/// Gains are kept in units of 2⁶ ns, so that the smallest, 1/256 Hz, does not round to zero.
const GAIN_GRANULARITY: u32 = 6;

/// State and configuration of the Linux form.
#[derive(Debug)]
pub(super) struct Linux {
    memory_limit: Bytes,
    pi: Pi,
    step: Threshold,
    min_qlen_step: u64,
    coupling_factor: u64,
    drop_early: bool,
    drop_overload: bool,
    /// 2 × MTU: with less in both queues, neither Classic nor coupled signals are given.
    least_backlog: Bytes,
    random: Random,
}

/// The PI controller.
#[derive(Debug, Clone)]
struct Pi {
    target: Time,
    alpha: u64,
    beta: u64,
    /// The highest probability allowed.
    cap: u32,
    probability: u32,
    last_delay: Time,
}

impl Pi {
    /// One update with the queue delay `delay`.
    fn update(&mut self, delay: Time) {
        // Delays fit 64 bits and gains 32, so 128 bits hold both products and their sum.
        let gain = |gain: u64, difference: i64| i128::from(gain) * i128::from(difference);
        let delta = gain(self.alpha, delay.signed_since(self.target))
            + gain(self.beta, delay.signed_since(self.last_delay));
        self.last_delay = delay;
        let change = u32::try_from(delta.unsigned_abs() >> GAIN_GRANULARITY).unwrap_or(MAX_PROB);
        let probability = if delta > 0 {
            self.probability.saturating_add(change)
        } else {
            self.probability.saturating_sub(change)
        };
        self.probability = probability.min(self.cap);
    }
}

/// A gain of n/256 Hz in probability units per 2⁶ ns: ⌊⌊n·(2³²−1)/4⌋/10⁹⌋.
fn scale_gain(gain: Frequency) -> u64 {
    // n < 2³¹, so the product is below 2⁶³.
    ((gain.as_256ths() * u64::from(MAX_PROB)) >> (8 - GAIN_GRANULARITY)) / 1_000_000_000
}

impl Linux {
    pub(super) fn new(
        parameters: &Parameters,
        gains: Gains,
        link: Link,
        random: Random,
    ) -> Result<Self, ParameterError> {
        let mut form = Self {
            memory_limit: Bytes::ZERO,
            pi: Pi {
                target: gains.target,
                alpha: 0,
                beta: 0,
                cap: MAX_PROB,
                probability: 0,
                last_delay: Time::ZERO,
            },
            step: parameters.step_thresh,
            min_qlen_step: 0,
            coupling_factor: 1,
            drop_early: false,
            drop_overload: true,
            least_backlog: Bytes::new(2 * link.mtu.get()),
            random,
        };
        form.configure(parameters, gains, link)?;
        Ok(form)
    }

    /// The limit, which the kernel counts in packets.
    pub(super) fn limit(limit: Amount) -> Result<u64, ParameterError> {
        let Amount::Packets(packets) = limit else {
            let allowed = "must be in packets with form = \"linux\"";
            return Err(ParameterError::new(LIMIT, limit, allowed));
        };
        Ok(packets)
    }

    /// Adopts changed parameters; on an error nothing changes.
    pub(super) fn configure(
        &mut self,
        parameters: &Parameters,
        gains: Gains,
        link: Link,
    ) -> Result<(), ParameterError> {
        for (name, gain) in [
            (name_of!(Parameters, alpha), gains.alpha),
            (name_of!(Parameters, beta), gains.beta),
        ] {
            if gain.as_256ths() == 0 {
                let allowed = "must be at least 1/256 Hz with form = \"linux\"";
                return Err(ParameterError::new(name, gain, allowed));
            }
        }
        let limit = Self::limit(parameters.limit)?;
        self.memory_limit = parameters.memlimit.unwrap_or_else(|| {
            let memory = limit.saturating_mul(2 * link.mtu.get());
            Bytes::new(memory.min(u64::from(u32::MAX)))
        });
        self.coupling_factor = parameters.coupling_factor;
        self.drop_overload = !parameters.overflow;
        self.pi.target = gains.target;
        self.pi.alpha = scale_gain(gains.alpha);
        self.pi.beta = scale_gain(gains.beta);
        // Without drops on overload the L4S probability is capped at one.
        self.pi.cap = if self.drop_overload {
            MAX_PROB
        } else {
            MAX_PROB / self.coupling_factor as u32
        };
        self.step = parameters.step_thresh;
        self.min_qlen_step = parameters.min_qlen_step;
        self.drop_early = parameters.drop_enqueue;
        Ok(())
    }

    /// Whether more is queued than the limits allow.
    pub(super) fn is_exceeded<P: Packet>(&self, queues: &DualQueue<P>, limit: QueueLimit) -> bool {
        limit.is_exceeded(queues.backlog()) || queues.memory() > self.memory_limit
    }

    pub(super) fn arriving<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        Arrival { place, limit, .. }: Arrival,
        packet: &mut P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if !limit.admits(queues.backlog(), packet.len()) {
            Some(DropReason::Limit)
        } else if queues.memory() + packet.memory() > self.memory_limit {
            Some(DropReason::Memory)
        } else if self.drop_early {
            self.must_drop(queues, place, packet, now, obs)
        } else {
            None
        }
    }
    /// Whether the step may mark a packet that finds `l4s_packets` in the L4S queue.
    pub(super) fn may_step(&self, l4s_packets: u64) -> bool {
        l4s_packets >= self.min_qlen_step
    }

    pub(super) fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)> {
        let Queued {
            mut packet,
            apply_step,
            redirected,
        } = queues.pop(queue)?;
        let class = if redirected { QueueId::L4S } else { queue };
        let place = Place { class, queue };
        if !self.drop_early
            && let Some(reason) = self.must_drop(queues, place, &mut packet, now, obs)
        {
            return Some((packet, Some(reason)));
        }
        if apply_step && self.is_above_step(queues, &packet, now) {
            mark(&mut packet, queue, MarkReason::Step, now, obs);
        }
        Some((packet, None))
    }

    pub(super) fn update(&mut self, delay: Time) {
        self.pi.update(delay);
    }

    pub(super) fn status(&self, report: &mut dyn FnMut(&'static str, Gauge)) {
        let probability = f64::from(self.pi.probability) / f64::from(MAX_PROB);
        report("probability", Gauge::Ratio(probability));
        report(
            "coupled_probability",
            Gauge::Ratio((probability * self.coupling_factor as f64).min(1.0)),
        );
        report(
            "classic_probability",
            Gauge::Ratio(probability * probability),
        );
    }

    /// The native marking probability at a delay and a number of packets, the new one included:
    /// that of the step.
    pub(super) fn native(&self, delay: Time, packets: u64) -> Probability {
        if packets > self.min_qlen_step {
            self.step.probability(delay, packets)
        } else {
            Probability::ZERO
        }
    }

    pub(super) fn certain(&self, link: Link) -> Time {
        self.step.certain(link)
    }

    /// The PI2 AQM on one packet that is not in the queues: marks it, or returns why to drop it.
    fn must_drop<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        Place { class, queue }: Place,
        packet: &mut P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        // With less than two packets there is no queue to speak of, and a signal would only idle the link.
        if queues.backlog().bytes < self.least_backlog {
            return None;
        }
        let probability = self.pi.probability;
        let coupled = u64::from(probability) * self.coupling_factor;
        let overload = coupled > u64::from(MAX_PROB);
        if class == QueueId::CLASSIC {
            if self.roll_twice(probability) {
                if packet.ecn() == Ecn::NotEct {
                    return Some(DropReason::Aqm);
                }
                if overload {
                    return Some(DropReason::Overload);
                }
                mark(packet, queue, MarkReason::Aqm, now, obs);
            }
        } else if overload {
            if self.drop_overload && self.roll_twice(probability) {
                return Some(DropReason::Overload);
            }
            mark(packet, queue, MarkReason::Overload, now, obs);
        } else if self.roll(coupled as u32) {
            mark(packet, queue, MarkReason::Coupled, now, obs);
        }
        None
    }

    fn is_above_step<P: Packet>(&self, queues: &DualQueue<P>, packet: &P, now: Time) -> bool {
        let packets = queues.packets(QueueId::L4S);
        self.step.is_exceeded_by(packet.sojourn(now), packets)
    }

    /// The kernel's comparison includes equality: a probability of zero still fires once in 2³².
    fn roll(&mut self, probability: u32) -> bool {
        self.random.u32() <= probability
    }

    /// "Think twice to drop": the square of the probability.
    fn roll_twice(&mut self, probability: u32) -> bool {
        self.roll(probability) && self.roll(probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pi() -> Pi {
        Pi {
            target: Time::from_millis(15),
            alpha: scale_gain(Frequency::from_256ths(41)),
            beta: scale_gain(Frequency::from_256ths(819)),
            cap: MAX_PROB,
            probability: 0,
            last_delay: Time::ZERO,
        }
    }

    #[test]
    fn gains_scale_as_in_the_kernel() {
        // spec of L4S section 1.3.6: 44 and 879.
        assert_eq!(pi().alpha, 44);
        assert_eq!(pi().beta, 879);
    }

    #[test]
    fn the_controller_equals_the_golden_vector_to_the_integer() {
        let mut pi = pi();
        for (delay_ms, expected) in [
            (0, 0),
            (5, 61_796_875),
            (10, 127_031_250),
            (20, 267_812_500),
            (30, 415_468_750),
            (30, 425_781_250),
            (25, 363_984_375),
            (15, 226_640_625),
            (10, 154_531_250),
            (5, 78_984_375),
            (0, 0),
        ] {
            pi.update(Time::from_millis(delay_ms));
            assert_eq!(pi.probability, expected, "at {delay_ms} ms");
        }
    }

    #[test]
    fn the_probability_saturates_at_both_ends() {
        let mut pi = pi();
        for _ in 0..1_000 {
            pi.update(Time::from_secs(3_600));
        }
        assert_eq!(pi.probability, MAX_PROB);
        pi.update(Time::ZERO);
        assert_eq!(pi.probability, 0);
    }

    #[test]
    fn overflow_caps_the_probability_where_the_coupled_one_is_full() {
        let mut pi = pi();
        pi.cap = MAX_PROB / 2;
        for _ in 0..1_000 {
            pi.update(Time::from_millis(100));
        }
        assert_eq!(pi.probability, MAX_PROB / 2);
    }
}
