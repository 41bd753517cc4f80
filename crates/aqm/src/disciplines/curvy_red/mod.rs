//! Curvy RED on one queue: the drop probability is the square of the smoothed queue delay over a range.
//!
//! Sources: RFC 9332 appendix B, figures 9 to 11, its Classic queue alone; De Schepper, Bondarenko and
//! Tsang's slides of 2015 and "Insights from Curvy RED" (arXiv 1904.07339): a fixed delay target forces
//! high loss at high load, so delay rises softly with the load instead, as √p. The same parameters fit
//! every link rate, because the queue is measured in time.
//!
//! As a packet leaves after a sojourn time `d`, in whole nanoseconds and to the integer as figure 11:
//! `Q ← Q + ((d − Q) >> g_c)`; the signal is given if 2·`u` random numbers are all below
//! `s = (Q − min_th) / range`, hence with probability `s^(2u)`. Where ECN-capable packets are marked, the next
//! packet is not tried; where one is dropped, it is, with its own sojourn time.
//!
//! Deviations from appendix B:
//!
//! 1. `min_th` is 0. Figure 9 prints 500 ms, as long as the whole range, which must be an error; the
//!    integer form (figure 11) has none.
//! 2. `range` is any time. Figure 11's is a power of two of nanoseconds: `536.870912ms` for S_C = −1.
//! 3. Random numbers are drawn until one is not below `s`, and not all before the comparison.
//! 4. Overload, which the RFC leaves to the reader with a pointer to DualPI2: from s = 1, where every
//!    packet is signalled, ECN-capable ones are dropped, too.
//!
//! Needs: arrival times, randomness; the link's rate only for a limit in time. Promises: delay = min_th + range·√p at the load
//! that needs p (`u` = 1). Does not: hold a delay at all loads, or forget while idle: only packets move `Q`. Bytes of an idle
//! queue: below 340 with its settings (test `an_idle_queue_is_small`).
//!
//! | corner case | test |
//! | --- | --- |
//! | the average, its rounding and its stall | `the_smoothed_delay_is_the_exact_one_rounded_down`, `the_smoothed_delay_answers_a_step_within_2_to_the_g_nanoseconds` |
//! | the law, its ends, the shifts of the RFC | `the_probability_is_the_even_power_of_the_delay_over_the_range`, `the_ends_of_the_curve_are_certain`, `a_range_of_a_power_of_two_is_the_shift_of_the_rfc` |
//! | overload | `ecn_packets_are_marked_until_every_packet_is_signalled` |
//! | idle time | `the_smoothed_delay_needs_packets_to_rise` |
//! | delay as √p | `delay_grows_with_the_root_of_the_drops_that_a_load_needs` |

mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, Domain, Parameter, ParameterError, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::SingleQueue;
use crate::units::{Time, parameters};

/// Below it, nanoseconds times 2³² fit 64 bits, and figure 11's shift loses no bit.
const LONGEST: Time = Time::from_nanos(u32::MAX as u64);

const ROW: Parameter = Parameter::LIVE.default("true").source("RFC 9332 figure 9");

parameters! {
    /// The parameters of Curvy RED.
    pub struct Parameters {
        limit: Amount = LIMIT_ROW.default("250ms").source("RFC 9332 figure 9 (MAX_LINK_RATE × 250 ms)"),
        /// Smoothed delay beyond min_th at which every packet is signalled.
        range: Time = ROW.domain(Domain::Time(Time::from_nanos(1), LONGEST)).default("500ms")
            .source("RFC 9332 figure 9 (range_C, S_C = -1)"),
        /// Smoothed delay below which nothing is signalled.
        min_th: Time = ROW.domain(Domain::Time(Time::ZERO, LONGEST)).default("0s")
            .source("quell; RFC 9332 figure 9 prints 500 ms (minTh), probably for 500 us"),
        /// The delay is smoothed over 2^g_c packets.
        g_c: u32 = ROW.domain(Domain::Integer(0, 32)).default("5")
            .source("RFC 9332 figure 9 (g_C); f on the slides of 2015"),
        /// Curviness: the probability is the 2u-th power of the delay over the range.
        u: u64 = ROW.domain(Domain::Integer(1, 16)).default("1").source("RFC 9332 appendix B.1 (U)"),
        /// Mark packets that are ECN-capable instead of dropping them.
        ecn: bool = ROW.source("RFC 9332 figure 10"),
    }
}

/// A Curvy RED queue.
pub type CurvyRed<P> = SingleBuffer<P, CurvyRedController>;

impl QueueKind for CurvyRedController {
    const ENTRY: Entry = Entry {
        name: "curvy_red",
        summary: "Curvy RED on one queue: delay grows with the square root of the drop probability.",
        source: "RFC 9332 appendix B; arXiv 1904.07339",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct CurvyRedController {
    curve: Curve,
    ecn: bool,
    random: Random,
}

/// The smoothed delay, and the probability that follows from it.
#[derive(Debug, Clone, Copy)]
struct Curve {
    min: Time,
    range: Time,
    smoothing: u32,
    /// Number of random numbers that must be small: 2u.
    thinks: u64,
    /// The smoothed delay (Q_C).
    smoothed: Time,
}

impl Curve {
    fn new(parameters: &Parameters, smoothed: Time) -> Self {
        Self {
            min: parameters.min_th,
            range: parameters.range,
            smoothing: parameters.g_c,
            thinks: 2 * parameters.u,
            smoothed,
        }
    }

    /// A packet leaves after `sojourn`.
    #[inline]
    fn sample(&mut self, sojourn: Time) {
        // Rounds towards minus infinity, as the RFC's shift of a signed number.
        let change = sojourn.signed_since(self.smoothed) >> self.smoothing;
        self.smoothed = Time::from_nanos(self.smoothed.as_nanos().saturating_add_signed(change));
    }

    /// The part of the smoothed delay above `min_th`.
    fn above(&self) -> Time {
        self.smoothed - self.min
    }
    /// Whether every packet is signalled.
    #[inline]
    fn is_full(&self) -> bool {
        self.above() >= self.range
    }
    /// Whether a random number of 32 bits is below `s`.
    #[inline]
    fn exceeds(&self, random: u32) -> bool {
        // Both sides below 2⁶⁴, as the range is below 2³².
        self.is_full() || u64::from(random) * self.range.as_nanos() < self.above().as_nanos() << 32
    }
    /// Whether all random numbers are below `s`.
    #[inline]
    fn signals(&self, random: &mut Random) -> bool {
        (0..self.thinks).all(|_| self.exceeds(random.u32()))
    }
}

impl ControlLaw for CurvyRedController {
    type Parameters = Parameters;

    fn new(parameters: &Parameters, _link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            curve: Curve::new(parameters, Time::ZERO),
            ecn: parameters.ecn,
            random,
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn leaving<P: Packet>(
        &mut self,
        packet: &mut P,
        _left: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        self.curve.sample(packet.sojourn(now));
        if !self.curve.signals(&mut self.random) {
            return None;
        }
        if !(self.ecn && packet.ecn().is_capable()) {
            return Some(DropReason::Aqm);
        }
        if self.curve.is_full() {
            return Some(DropReason::Overload);
        }
        mark(packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        None
    }

    fn adopt(&mut self, parameters: &Parameters, _link: Link) {
        self.curve = Curve::new(parameters, self.curve.smoothed);
        self.ecn = parameters.ecn;
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        report("smoothed_delay", Gauge::Delay(self.curve.smoothed));
        let root =
            (self.curve.above().as_nanos() as f64 / self.curve.range.as_nanos() as f64).min(1.0);
        let probability = (0..self.curve.thinks).fold(1.0, |product, _| product * root);
        report("probability", Gauge::Ratio(probability));
        queue.limit.report(report);
    }
}

#[cfg(test)]
mod tests;
