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
//! Scalable flows a shorter queue (dualpi2 does), hold the delay of a burst, or tell flows apart. An idle queue holds 232 bytes and its
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

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::pi::Pi;
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Frequency, Probability, Rate, Time};

const SHORTEST: Time = Time::from_micros(1);
/// Linux hands times over as 32-bit microseconds.
const LONGEST: Time = Time::from_micros(u32::MAX as u64);
const LARGEST_GAIN: Frequency = Frequency::from_256ths((1 << 31) - 1);

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "sch_pi2.c",
    help: "",
};

const TABLE: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("1000p"),
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "target",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("20ms"),
        help: "Queue delay that the PI controller holds.",
        ..ROW
    },
    Parameter {
        name: "tupdate",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("32ms"),
        source: "CoNEXT 2016; sch_pi2.c: 30 ms",
        help: "Interval between two updates of the probability.",
        ..ROW
    },
    Parameter {
        name: "alpha",
        domain: Domain::Frequency(Frequency::from_nanohertz(0), LARGEST_GAIN),
        default: Preset::Is("0.3125"),
        source: "sch_pi2.c: 10/16 Hz in the scale of k·p'",
        help: "Integral gain.",
        ..ROW
    },
    Parameter {
        name: "beta",
        domain: Domain::Frequency(Frequency::from_nanohertz(0), LARGEST_GAIN),
        default: Preset::Is("3.125"),
        source: "sch_pi2.c: 100/16 Hz in the scale of k·p'",
        help: "Proportional gain.",
        ..ROW
    },
    Parameter {
        name: "coupling_factor",
        domain: Domain::Integer(1, 255),
        default: Preset::Is("2"),
        source: "sch_pi2.c (k)",
        help: "How much more often Scalable is marked than the square root of Classic's probability.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        opposite: Some("noecn"),
        default: Preset::Is("true"),
        help: "Mark what is ECN-capable; without it every packet is Classic and dropped.",
        ..ROW
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        source: "tc-dualpi2(8); sch_pi2.c: ecn_scal",
        help: "Every ECN-capable packet is Scalable, not only ECT(1) and CE.",
        ..ROW
    },
    Parameter {
        name: "overflow",
        opposite: Some("drop_on_overload"),
        source: "tc-dualpi2(8); RFC 9332 section 4.2.3 (delay on saturation)",
        help: "On overload let the queue grow to its limit instead of dropping ECN packets too.",
        ..ROW
    },
    Parameter {
        name: "drop_dequeue",
        opposite: Some("drop_enqueue"),
        source: "tc-dualpi2(8); sch_pi2.c: at enqueue",
        help: "Signal when a packet leaves instead of when it arrives.",
        ..ROW
    },
];

/// A PI2 queue.
#[derive(Debug)]
pub struct Pi2<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    queue: SingleQueue<P>,
    aqm: Aqm,
    at_dequeue: bool,
    next_update: Time,
    update_interval: Time,
}

/// The controller and what becomes of its output.
#[derive(Debug)]
struct Aqm {
    pi: Pi,
    coupling_factor: u64,
    ecn: bool,
    any_ect: bool,
    overflow: bool,
    /// 2 × MTU: with less in the queue nothing is signalled.
    least_backlog: u64,
    random: Random,
}

impl Aqm {
    fn configure(&mut self, settings: &Settings) {
        self.pi.configure(
            settings.time("target"),
            settings.frequency("alpha"),
            settings.frequency("beta"),
        );
        self.coupling_factor = settings.number("coupling_factor");
        self.ecn = settings.flag("ecn");
        self.any_ect = settings.flag("any_ect");
        self.overflow = settings.flag("overflow");
        self.pi.limit(if self.overflow {
            Probability::ratio(1, self.coupling_factor)
        } else {
            Probability::ONE
        });
    }

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

    /// Marks a packet that is not in the queue, or says why to drop it.
    #[inline]
    fn signal<P: Packet>(
        &mut self,
        packet: &mut P,
        backlog: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if backlog.bytes.get() < self.least_backlog {
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

impl<P> Kind for Pi2<P> {
    const NAME: &'static str = "pi2";
    const SUMMARY: &'static str =
        "PI controller on one queue: squared for Classic traffic, linear for Scalable.";
    const SOURCE: &'static str = "De Schepper et al., CoNEXT 2016; sch_pi2.c (2016)";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> Pi2<P> {
    /// An empty queue. The first update is due after one interval.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let update_interval = settings.time("tupdate");
        let mut aqm = Aqm {
            pi: Pi::new(
                Time::ZERO,
                Frequency::from_nanohertz(0),
                Frequency::from_nanohertz(0),
            ),
            coupling_factor: 1,
            ecn: false,
            any_ect: false,
            overflow: false,
            least_backlog: link.mtu.get().saturating_mul(2),
            random,
        };
        aqm.configure(&settings);
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            at_dequeue: settings.flag("drop_dequeue"),
            settings,
            link,
            queue: SingleQueue::new(),
            aqm,
            next_update: update_interval,
            update_interval,
        })
    }
}

impl<P: Packet> Qdisc<P> for Pi2<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let backlog = self.queue.backlog();
        let refused = if !self.limit.admits(backlog, packet.len()) {
            Some(DropReason::Limit)
        } else if self.at_dequeue {
            None
        } else {
            self.aqm.signal(&mut packet, backlog, now, obs)
        };
        match refused {
            Some(reason) => single_queue::refuse(packet, reason, now, obs),
            None => self.queue.accept(packet, now, obs),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let mut packet = self.queue.pop()?;
            if self.at_dequeue {
                let left = self.queue.backlog();
                if let Some(reason) = self.aqm.signal(&mut packet, left, now, obs) {
                    single_queue::drop_queued(packet, reason, now, obs);
                    continue;
                }
            }
            obs.dequeued(QueueId::SINGLE, &packet, now);
            return Some(packet);
        }
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        self.aqm.pi.update(self.queue.head_sojourn(now));
        self.next_update = now + self.update_interval;
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if !rate.is_zero() {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
        }
    }

    /// A lowered limit drops from the head, as the code's `pi2_change` does.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        self.limit = Limit::of(&settings, self.link)?;
        self.update_interval = settings.time("tupdate");
        self.at_dequeue = settings.flag("drop_dequeue");
        self.aqm.configure(&settings);
        self.settings = settings;
        if key == "limit" {
            let limit = self.limit;
            let too_much = |backlog| limit.is_exceeded(backlog);
            self.queue
                .drop_heads_while(too_much, DropReason::Reconfigured, now, obs);
        }
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
        self.limit.tell(tell);
        let base = self.aqm.pi.probability();
        tell("probability", Gauge::Ratio(base.as_f64()));
        let scalable = self.aqm.scalable();
        tell("scalable_probability", Gauge::Ratio(scalable.as_f64()));
        tell("classic_probability", Gauge::Ratio(base.squared().as_f64()));
    }
}

#[cfg(test)]
mod tests;
