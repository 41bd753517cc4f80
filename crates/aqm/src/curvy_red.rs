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

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Rate, Time};

/// Below it, nanoseconds times 2³² fit 64 bits, and figure 11's shift loses no bit.
const LONGEST: Time = Time::from_nanos(u32::MAX as u64);

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("true"),
    only: None,
    live: true,
    source: "RFC 9332 figure 9",
    help: "",
};

const TABLE: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("250ms"),
        source: "RFC 9332 figure 9 (MAX_LINK_RATE × 250 ms)",
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "range",
        domain: Domain::Time(Time::from_nanos(1), LONGEST),
        default: Preset::Is("500ms"),
        source: "RFC 9332 figure 9 (range_C, S_C = -1)",
        help: "Smoothed delay beyond min_th at which every packet is signalled.",
        ..ROW
    },
    Parameter {
        name: "min_th",
        domain: Domain::Time(Time::ZERO, LONGEST),
        default: Preset::Is("0s"),
        source: "quell; RFC 9332 figure 9 prints 500 ms (minTh), probably for 500 us",
        help: "Smoothed delay below which nothing is signalled.",
        ..ROW
    },
    Parameter {
        name: "g_c",
        domain: Domain::Integer(0, 32),
        default: Preset::Is("5"),
        source: "RFC 9332 figure 9 (g_C); f on the slides of 2015",
        help: "The delay is smoothed over 2^g_c packets.",
        ..ROW
    },
    Parameter {
        name: "u",
        domain: Domain::Integer(1, 16),
        default: Preset::Is("1"),
        source: "RFC 9332 appendix B.1 (U)",
        help: "Curviness: the probability is the 2u-th power of the delay over the range.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        source: "RFC 9332 figure 10",
        help: "Mark packets that are ECN-capable instead of dropping them.",
        ..ROW
    },
];

/// A Curvy RED queue.
#[derive(Debug)]
pub struct CurvyRed<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    curve: Curve,
    ecn: bool,
    queue: SingleQueue<P>,
    random: Random,
}

/// The control law.
#[derive(Debug, Clone, Copy)]
struct Curve {
    min: Time,
    range: Time,
    smoothing: u32,
    /// How many random numbers must be small: 2u.
    thinks: u64,
    /// The smoothed delay (Q_C).
    smoothed: Time,
}

impl Curve {
    fn new(settings: &Settings, smoothed: Time) -> Self {
        Self {
            min: settings.time("min_th"),
            range: settings.time("range"),
            // At most 32.
            smoothing: settings.number("g_c") as u32,
            thinks: 2 * settings.number("u"),
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

    /// How far the smoothed delay is above `min_th`.
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
    /// Thinks as often as it must.
    #[inline]
    fn signals(&self, random: &mut Random) -> bool {
        (0..self.thinks).all(|_| self.exceeds(random.u32()))
    }
}

impl<P> Kind for CurvyRed<P> {
    const NAME: &'static str = "curvy_red";
    const SUMMARY: &'static str =
        "Curvy RED on one queue: delay grows with the square root of the drop probability.";
    const SOURCE: &'static str = "RFC 9332 appendix B; arXiv 1904.07339";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> CurvyRed<P> {
    /// An empty queue without a memory of delay.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            curve: Curve::new(&settings, Time::ZERO),
            ecn: settings.flag("ecn"),
            settings,
            link,
            queue: SingleQueue::new(),
            random,
        })
    }
}

impl<P: Packet> Qdisc<P> for CurvyRed<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        if !self.limit.admits(self.queue.backlog(), packet.len()) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        self.queue.accept(packet, now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let mut packet = self.queue.pop()?;
            self.curve.sample(packet.sojourn(now));
            if self.curve.signals(&mut self.random) {
                let capable = self.ecn && packet.ecn().is_capable();
                if !capable || self.curve.is_full() {
                    let reason = if capable {
                        DropReason::Overload
                    } else {
                        DropReason::Aqm
                    };
                    single_queue::drop_queued(packet, reason, now, obs);
                    continue;
                }
                mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
            }
            obs.dequeued(QueueId::SINGLE, &packet, now);
            return Some(packet);
        }
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        self.limit = self.limit.at(&self.settings, Link { rate, ..self.link });
        if !rate.is_zero() {
            self.link.rate = rate;
        }
    }

    /// A lowered limit refuses and drops nothing that waits; the smoothed delay stays.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        self.limit = Limit::of(&settings, self.link)?;
        self.curve = Curve::new(&settings, self.curve.smoothed);
        self.ecn = settings.flag("ecn");
        self.settings = settings;
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        tell("smoothed_delay", Gauge::Delay(self.curve.smoothed));
        let root = self.curve.above().as_nanos() as f64 / self.curve.range.as_nanos() as f64;
        let root = root.min(1.0);
        let probability = (0..self.curve.thinks).fold(1.0, |product, _| product * root);
        tell("probability", Gauge::Ratio(probability));
        self.limit.tell(tell);
    }
}

#[cfg(test)]
mod tests;
