//! PI2: a PI controller whose output is squared for Classic traffic, on one queue.
//!
//! Sources: De Schepper, Bondarenko, Tsang and Briscoe, "PI²: A Linearized AQM for both Classic and
//! Scalable TCP" (CoNEXT 2016); the authors' `sch_pi2.c` of July 2016 (olgabo/dualpi2) with one
//! queue; RFC 9332 section 2.1 and figure 6 for the notation. With p' from the PI core, Classic
//! packets are dropped (or, if ECN-capable, marked) with p'², by drawing twice; Scalable packets are
//! marked with k·p'. No gain is tuned and no case is special, which is the point of the design.
//!
//! Differences from `sch_pi2.c`:
//!
//! 1. The delay is the age of the head at the update, as in RFC 9332 and Linux's dualpi2; the code
//!    estimates it from backlog and departure rate.
//! 2. p' is kept in the Classic scale and k multiplies it; the code keeps k·p' and divides, so its
//!    gains 10/16 and 100/16 Hz are 5/16 and 50/16 Hz here.
//! 3. Scalable is ECT(1) and CE; `any_ect` adds ECT(0), which is the code's default.
//! 4. Saturation as in RFC 9332 section 4.2.3, with `overflow` as in dualpi2: once k·p' reaches 1,
//!    Scalable packets are dropped with p'² and the rest marked, and Classic packets are dropped
//!    whatever their ECN field, or p' is capped at 1/k. (For k = 2 that is at p'² = 25 %.) The code
//!    never drops what it can mark.
//! 5. No `bytemode`, no decay by 0.98 while idle: at an empty queue the integral brings p' down.
//! 6. Lengths are IP lengths, without the link header that the kernel counts.
//!
//! Needs: arrival times, an update every `tupdate`, randomness; the link's rate only for a limit in time. Promises: the mean delay of
//! greedy flows comes to `target`, and Scalable is marked with k times the square root of what Classic is dropped with. Does not: give
//! Scalable flows a shorter queue (dualpi2 does), hold the delay of a burst, or distinguish flows. An idle queue holds 232 bytes and its
//! settings (24 per parameter).
//!
//! | corner case                                 | test                                                        |
//! | ------------------------------------------- | ----------------------------------------------------------- |
//! | PI core, golden vectors                     | `pi::tests`                                                 |
//! | p'² and k·p', ECN code points, CE, `noecn`  | `classic_is_squared_and_scalable_is_linear`                 |
//! | saturation, `overflow`                      | `saturation_drops_ecn_too_or_caps_the_probability`          |
//! | less than 2 × MTU                           | `nothing_is_signalled_with_less_than_two_mtus_waiting`      |
//! | limit                                       | `the_limit_refuses_before_the_aqm_draws`                    |
//! | operating points, square law                | `tests/operating_points.rs`                                 |

mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Table as _};
use crate::pi::Pi;
use crate::qdisc::{Backlog, Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::SingleQueue;
use crate::units::{Bytes, Frequency, Probability, Time, parameters};

const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds.
const LONGEST: Time = Time::from_micros(u32::MAX as u64);
const LARGEST_GAIN: Frequency = Frequency::from_256ths((1 << 31) - 1);

const ROW: Parameter = Parameter::LIVE.source("sch_pi2.c");

parameters! {
    /// The parameters of PI2.
    pub struct Parameters {
        limit: Amount = LIMIT_ROW.default("1000p").source("sch_pi2.c"),
        /// Queue delay that the PI controller holds.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("20ms"),
        /// Interval between two updates of the probability.
        tupdate: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("32ms")
            .source("CoNEXT 2016; sch_pi2.c: 30 ms"),
        /// Integral gain.
        alpha: Frequency = ROW.domain(Domain::Frequency(Frequency::from_nanohertz(0), LARGEST_GAIN)).default("0.3125")
            .source("sch_pi2.c: 10/16 Hz in the scale of k·p'"),
        /// Proportional gain.
        beta: Frequency = ROW.domain(Domain::Frequency(Frequency::from_nanohertz(0), LARGEST_GAIN)).default("3.125")
            .source("sch_pi2.c: 100/16 Hz in the scale of k·p'"),
        /// How much more often Scalable is marked than the square root of Classic's probability.
        coupling_factor: u64 = ROW.domain(Domain::Integer(1, 255)).default("2").source("sch_pi2.c (k)"),
        /// Mark what is ECN-capable; without it every packet is Classic and dropped.
        ecn: bool = ROW.opposite("noecn").default("true"),
        /// Every ECN-capable packet is Scalable, not only ECT(1) and CE.
        any_ect: bool = ROW.opposite("l4s_ect").source("tc-dualpi2(8); sch_pi2.c: ecn_scal"),
        /// On overload let the queue grow to its limit instead of dropping ECN packets too.
        overflow: bool = ROW.opposite("drop_on_overload")
            .source("tc-dualpi2(8); RFC 9332 section 4.2.3 (delay on saturation)"),
        /// Signal when a packet leaves instead of when it arrives.
        drop_dequeue: bool = ROW.opposite("drop_enqueue").source("tc-dualpi2(8); sch_pi2.c: at enqueue"),
    }
}

/// A PI2 queue.
pub type Pi2<P> = SingleBuffer<P, Pi2Controller>;

impl QueueKind for Pi2Controller {
    const ENTRY: Entry = Entry {
        name: "pi2",
        summary: "PI controller on one queue: squared for Classic traffic, linear for Scalable.",
        source: "De Schepper et al., CoNEXT 2016; sch_pi2.c (2016)",
        parameters: Parameters::ROWS,
    };
}

/// The controller, and how its output is signalled.
#[derive(Debug)]
pub struct Pi2Controller {
    pi: Pi,
    coupling_factor: u64,
    ecn: bool,
    any_ect: bool,
    overflow: bool,
    at_dequeue: bool,
    /// 2 × MTU: with less in the queue nothing is signalled.
    least_backlog: Bytes,
    random: Random,
    next_update: Time,
    update_interval: Time,
}

impl Pi2Controller {
    fn is_scalable(&self, ecn: Ecn) -> bool {
        self.ecn
            && match ecn {
                Ecn::Ect1 | Ecn::Ce => true,
                Ecn::Ect0 => self.any_ect,
                Ecn::NotEct => false,
            }
    }

    /// p = k·p'
    fn scalable(&self) -> Probability {
        self.pi.probability().scaled(self.coupling_factor)
    }

    /// "Think twice to drop": p'² by two draws.
    fn thinks_twice(&mut self) -> bool {
        let probability = self.pi.probability();
        self.random.chance(probability) && self.random.chance(probability)
    }

    /// Marks a packet that is not in the queue, or returns why to drop it.
    #[inline]
    fn signal<P: Packet>(
        &mut self,
        packet: &mut P,
        backlog: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if backlog.bytes < self.least_backlog {
            return None;
        }
        let scalable = self.scalable();
        let saturated = !self.overflow && scalable >= Probability::ONE;
        let reason = if self.is_scalable(packet.ecn()) {
            if saturated {
                if self.thinks_twice() {
                    return Some(DropReason::Overload);
                }
                MarkReason::Overload
            } else if self.random.chance(scalable) {
                MarkReason::Coupled
            } else {
                return None;
            }
        } else if !self.thinks_twice() {
            return None;
        } else if !self.ecn || packet.ecn() == Ecn::NotEct {
            return Some(DropReason::Aqm);
        } else if saturated {
            return Some(DropReason::Overload);
        } else {
            MarkReason::Aqm
        };
        mark(packet, QueueId::SINGLE, reason, now, obs);
        None
    }
}

impl ControlLaw for Pi2Controller {
    type Parameters = Parameters;
    /// The code's `pi2_change` drops them.
    const LOWERED_LIMIT_DROPS: bool = true;

    /// The first update is due after one interval.
    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        let mut law = Self {
            pi: Pi::new(parameters.target, parameters.alpha, parameters.beta),
            coupling_factor: parameters.coupling_factor,
            ecn: parameters.ecn,
            any_ect: parameters.any_ect,
            overflow: parameters.overflow,
            at_dequeue: parameters.drop_dequeue,
            least_backlog: Bytes::new(link.mtu.get().saturating_mul(2)),
            random,
            next_update: parameters.tupdate,
            update_interval: parameters.tupdate,
        };
        law.adopt(parameters, link);
        Ok(law)
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        packet: &mut P,
        ahead: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if self.at_dequeue {
            return None;
        }
        self.signal(packet, ahead, now, obs)
    }
    #[inline]
    fn leaving<P: Packet>(
        &mut self,
        packet: &mut P,
        left: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if !self.at_dequeue {
            return None;
        }
        self.signal(packet, left, now, obs)
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn update<P: Packet>(&mut self, queue: &SingleQueue<P>, now: Time) {
        self.pi.update(queue.head_sojourn(now));
        self.next_update = now + self.update_interval;
    }

    fn adopt(&mut self, parameters: &Parameters, _link: Link) {
        let Parameters {
            target,
            alpha,
            beta,
            coupling_factor,
            overflow,
            ..
        } = *parameters;
        self.pi.configure(target, alpha, beta);
        self.pi.limit(if overflow {
            Probability::ratio(1, coupling_factor)
        } else {
            Probability::ONE
        });
        (self.coupling_factor, self.overflow) = (coupling_factor, overflow);
        (self.ecn, self.any_ect) = (parameters.ecn, parameters.any_ect);
        self.at_dequeue = parameters.drop_dequeue;
        self.update_interval = parameters.tupdate;
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        let base = self.pi.probability();
        report("probability", Gauge::Ratio(base.as_f64()));
        report(
            "scalable_probability",
            Gauge::Ratio(self.scalable().as_f64()),
        );
        report("classic_probability", Gauge::Ratio(base.squared().as_f64()));
    }
}

#[cfg(test)]
mod tests;
