//! The DualQ Coupled AQM of 2015: Curvy RED in its first form, four parameters and no more.
//!
//! Source: slides "Ultra Low Queuing Delay for ALL Applications" (De Schepper, Briscoe, 2015), "Detailed Implementation". L4S is
//! marked if q_L > T or (q_C << S_L) > R; Classic is dropped if (Q_C << S_C) > max(R1, R2), "think twice to drop". Q_C is q_C
//! smoothed over 2^f Classic packets; L4S feels q_C unsmoothed. Strict priority. So p_C = (p_L / 2^k)² with k = S_L − S_C: the
//! slopes are shifts to the *left*, a larger one is steeper (RFC 9332 appendix B has them to the right).
//!
//! Choices and deviations:
//!
//! 1. The slides give no value to any parameter. R is uniform below 2³². As times the defaults lie next to RFC 9332 appendix B:
//!    k = 1, f = 5, T = 1 ms, certain drop at 2²⁹ ns (537 ms). In packets T is its 5 MTU, and certain drop at 2⁶ packets, because
//!    that power of two comes nearest to the slides' "7 … 100 msec" of Classic delay in their demonstration (docs/evidence/published.md).
//! 2. The unit of q is not stated. Packets are the default, as the axes of the slides; `unit = "time"` takes the sojourn time.
//! 3. q is what stands in the queue when the link asks, with the packet that leaves; as a time, what that packet, or for
//!    L4S the Classic head, has waited.
//! 4. The slides print `QC=(qC-QC)>>f+qC`; meant is Q_C += (q_C − Q_C) >> f. Q_C keeps f + 16 bits more, which count in the
//!    test too: in whole packets it would stall at any distance below 2^f. q_C counts up to 2⁴⁷, 39 hours.
//! 5. Any ECN-capable packet is L4S by default (`any_ect`): the demonstration ran DCTCP "as is", which sends ECT(0).
//! 6. Classic packets are dropped, as drawn; with `ecn` those that can carry a mark are marked ("Drop/Mark" of another slide).
//! 7. No limit is given; 1000 packets are those of the authors' module of the year after. It is shared, and the
//!    only thing that stops an unresponsive L4S flow: as drawn, nothing is dropped in L4S, and Classic starves behind it.
//! 8. Other schedulers and queue protection are additions.
//!
//! Needs randomness, and with times the arrival stamps; no updates, and the rate only for a limit in time and queue protection.
//! Promises: p_C = (p_L/2^k)² at a steady queue. Does not: equalise rates, or protect Classic from L4S traffic that does not respond.
//! Idle: 416 bytes, and the list of parameters given; 16 bytes a bucket with queue protection.
//!
//! | corner case | test in `tests.rs` |
//! | --- | --- |
//! | sign of k, left shifts | `k_is_the_l4s_slope_less_the_classic_one`, `shifts_are_to_the_left_of_a_32_bit_random` |
//! | the screen's 20 % and 4 % | `twenty_percent_marks_and_four_percent_drops_are_k_of_zero` |
//! | instantaneous for L4S, smoothed for Classic | `l4s_feels_the_classic_queue_at_once_and_classic_smoothed` |
//! | integer average that stalls | `ewma.rs`: `it_equals_an_exact_average_where_whole_numbers_would_stall` |
//! | p_C = (p_L/2^k)² as it comes out | `marks_and_drops_obey_the_square_law` |

use crate::dual_queue::{self, DualQueue, Entry, Threshold, classify, drop_queued, refuse};
use crate::ewma::Ewma;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::queue_protection::{self, QueueProtection};
use crate::random::Random;
use crate::scheduler::{self, Scheduler};
use crate::single_queue::Limit;
use crate::units::{Rate, Time};

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "slides of 2015",
    help: "",
};

const TABLE: &[Parameter] =
    &queue_protection::with_rows::<{ OWN.len() + queue_protection::ROWS.len() }>(OWN);

const OWN: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("1000p"),
        source: "olgabo/dualpi2 sch_pi2.c (2016); the slides give none",
        help: "What both queues together may hold.",
        ..ROW
    },
    Parameter {
        name: "unit",
        domain: Domain::Word(&["packets", "time"]),
        default: Preset::Is("packets"),
        live: false,
        source: "slides of 2015: queue size in packets on the axes",
        help: "What the size of the Classic queue is measured in: packets, or nanoseconds of sojourn time.",
        ..ROW
    },
    Parameter {
        name: "s_l",
        domain: Domain::Integer(0, 32),
        default: Preset::By("unit", &[("packets", "27"), ("time", "4")]),
        source: "slides of 2015 (S_L); value: S_C + k with k = 1 as in RFC 9332 figure 9",
        help: "Slope of L4S marking in bits: certain at a Classic queue of 2^(32 − s_l).",
        ..ROW
    },
    Parameter {
        name: "threshold",
        domain: Domain::TimeOrPackets(
            (Time::ZERO, Time::from_nanos(u32::MAX as u64)),
            (0, u32::MAX as u64),
        ),
        default: Preset::By("unit", &[("packets", "5p"), ("time", "1ms")]),
        source: "slides of 2015 (T); value: RFC 9332 appendix B, 5 MTU or 1 ms",
        help: "Above this number of packets or sojourn time in the L4S queue, L4S is marked.",
        ..ROW
    },
    Parameter {
        name: "s_c",
        domain: Domain::Integer(0, 32),
        default: Preset::By("unit", &[("packets", "26"), ("time", "3")]),
        source: "slides of 2015 (S_C); value: next to range_C = 0.5 s of RFC 9332 figure 9, or fitted to their 7 … 100 ms",
        help: "Slope of Classic dropping in bits: certain at a smoothed queue of 2^(32 − s_c).",
        ..ROW
    },
    Parameter {
        name: "f",
        domain: Domain::Integer(0, 20),
        default: Preset::Is("5"),
        source: "slides of 2015 (f); value: RFC 9332 figure 9 (g_C)",
        help: "The Classic queue is smoothed over 2^f Classic packets.",
        ..ROW
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        default: Preset::Is("true"),
        source: "slides of 2015: DCTCP used as is",
        help: "Every ECN-capable packet is L4S, not only ECT(1) and CE.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        only: Some(("any_ect", "false")),
        source: "slides of 2015: Drop/Mark",
        help: "Mark ECN-capable packets of the Classic queue instead of dropping them.",
        ..ROW
    },
    Parameter {
        default: Preset::Is("strict"),
        source: "slides of 2015: strict priority",
        ..scheduler::SCHEDULER
    },
    scheduler::CLASSIC_PROTECTION,
    scheduler::WRR_RATIO,
    scheduler::WRR_UNIT,
    scheduler::TSHIFT,
];

/// The DualQ of 2015.
#[derive(Debug)]
pub struct DualQ2015<P> {
    settings: Settings,
    link: Link,
    limit: Limit,
    queues: DualQueue<P>,
    scheduler: Scheduler,
    protection: QueueProtection,
    curves: Curves,
    random: Random,
}

/// The parameters of the slides, and Q_C.
#[derive(Debug, Clone)]
struct Curves {
    s_l: u32,
    threshold: Threshold,
    s_c: u32,
    in_time: bool,
    any_ect: bool,
    ecn: bool,
    /// Q_C
    smoothed: Ewma,
}

impl Curves {
    fn new(settings: &Settings, smoothed: Ewma) -> Self {
        Self {
            s_l: settings.number("s_l") as u32,
            threshold: Threshold::of(settings, "threshold"),
            s_c: settings.number("s_c") as u32,
            in_time: settings.word("unit") == "time",
            any_ect: settings.flag("any_ect"),
            ecn: settings.flag("ecn"),
            smoothed,
        }
    }
    /// With other parameters, Q_C stays what it is.
    fn changed(&self, settings: &Settings) -> Self {
        let mut smoothed = self.smoothed.clone();
        smoothed.set_bits(settings.number("f") as u32);
        Self::new(settings, smoothed)
    }
    /// q_C << S_L, to be compared with R.
    #[inline]
    fn coupled(&self, q_c: u64) -> u128 {
        u128::from(q_c) << self.s_l
    }
    /// Q_C << S_C, to be compared with max(R1, R2).
    #[inline]
    fn classic(&self) -> u128 {
        self.smoothed.shifted(self.s_c)
    }
}

impl<P> Kind for DualQ2015<P> {
    const NAME: &'static str = "dualq_2015";
    const SUMMARY: &'static str = "DualQ Coupled AQM of 2015: Curvy RED with strict priority.";
    const SOURCE: &'static str =
        "slides \"Ultra Low Queuing Delay for ALL Applications\" (IETF 2015)";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> DualQ2015<P> {
    /// An empty pair of queues.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let curves = Curves::new(&settings, Ewma::new(settings.number("f") as u32));
        let certain = |link| curves.threshold.delay(link);
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            queues: DualQueue::new(),
            scheduler: Scheduler::new(&settings, link),
            protection: QueueProtection::new(&settings, link, certain, &random),
            curves,
            settings,
            link,
            random,
        })
    }

    /// q_C before anything leaves.
    #[inline]
    fn classic_size(&self, now: Time) -> u64 {
        if self.curves.in_time {
            let head = self.queues.head_sojourn(QueueId::CLASSIC, now);
            head.unwrap_or(Time::ZERO).as_nanos()
        } else {
            self.queues.packets(QueueId::CLASSIC)
        }
    }

    /// "DON'T think twice to mark": `value > R`.
    #[inline]
    fn roll(&mut self, value: u128) -> bool {
        value > u128::from(self.random.u32())
    }

    /// "Think twice to drop": `value > max(R1, R2)`.
    #[inline]
    fn roll_twice(&mut self, value: u128) -> bool {
        let (one, other) = (self.random.u32(), self.random.u32());
        value > u128::from(one.max(other))
    }
}

impl<P: Packet> Qdisc<P> for DualQ2015<P> {
    fn queues(&self) -> &'static [&'static str] {
        dual_queue::NAMES
    }

    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let class = classify(packet.ecn(), self.curves.any_ect);
        let queue = if class == QueueId::CLASSIC {
            class
        } else {
            let threshold = self.curves.threshold;
            self.protection
                .place(&packet, &self.queues, now, |delay, packets| {
                    threshold.probability(delay, packets)
                })
        };
        if !self.limit.admits(self.queues.backlog(), packet.len()) {
            return refuse(packet, queue, DropReason::Limit, now, obs);
        }
        obs.enqueued(queue, &packet, now);
        let entry = Entry {
            packet,
            apply_step: queue == QueueId::L4S,
            redirected: class != queue,
        };
        self.queues.push(queue, entry);
    }

    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let queue = self.scheduler.next(&self.queues, now)?;
            let (l4s, classic) = self.queues.backlogged();
            let q_c = self.classic_size(now);
            let l4s_packets = self.queues.packets(QueueId::L4S);
            let Entry {
                mut packet,
                redirected,
                ..
            } = self.queues.pop(queue)?;
            if queue == QueueId::CLASSIC {
                self.curves.smoothed.update(q_c);
            }
            if queue == QueueId::L4S || redirected {
                let native = queue == QueueId::L4S
                    && self
                        .curves
                        .threshold
                        .is_exceeded_by(packet.sojourn(now), l4s_packets);
                // The coupled test first, so that what it marks is p_L of all packets.
                if self.roll(self.curves.coupled(q_c)) {
                    mark(&mut packet, queue, MarkReason::Coupled, now, obs);
                } else if native {
                    mark(&mut packet, queue, MarkReason::Step, now, obs);
                }
            } else if self.roll_twice(self.curves.classic()) {
                if !self.curves.ecn || packet.ecn() == Ecn::NotEct {
                    drop_queued(packet, queue, DropReason::Aqm, now, obs);
                    continue;
                }
                mark(&mut packet, queue, MarkReason::Aqm, now, obs);
            }
            self.scheduler.served(queue, packet.len(), l4s && classic);
            obs.dequeued(queue, &packet, now);
            return Some(packet);
        }
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        self.link.rate = rate;
        let threshold = self.curves.threshold;
        self.protection
            .set_rate(rate, &self.settings, |link| threshold.delay(link));
        self.limit = self.limit.at(&self.settings, self.link);
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        // Only a new limit can be wrong, also where the link has become too slow for one in time.
        let limit = if key == "limit" {
            Limit::of(&settings, self.link)?
        } else {
            self.limit
        };
        self.limit = limit;
        self.curves = self.curves.changed(&settings);
        self.scheduler.configure(&settings, self.link);
        let threshold = self.curves.threshold;
        self.protection
            .configure(&settings, |link| threshold.delay(link));
        self.settings = settings;
        self.queues.drop_heads_while(
            |queues| limit.is_exceeded(queues.backlog()),
            DropReason::Reconfigured,
            now,
            obs,
        );
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queues
            .drop_heads_while(|_| true, DropReason::Drained, now, obs);
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        let head = |queue| self.queues.head_sojourn(queue, now).unwrap_or(Time::ZERO);
        tell("delay_l4s", Gauge::Delay(head(QueueId::L4S)));
        tell("delay_classic", Gauge::Delay(head(QueueId::CLASSIC)));
        let ratio = |value: u128| value.min(1 << 32) as f64 / (1_u64 << 32) as f64;
        let coupled = ratio(self.curves.coupled(self.classic_size(now)));
        tell("coupled_probability", Gauge::Ratio(coupled));
        let root = ratio(self.curves.classic());
        tell("classic_probability", Gauge::Ratio(root * root));
        self.limit.tell(tell);
        self.scheduler.tell(tell);
        self.protection.tell(tell);
    }
}

#[cfg(test)]
mod tests;
