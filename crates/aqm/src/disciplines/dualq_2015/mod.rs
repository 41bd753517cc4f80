//! The DualQ Coupled AQM of 2015: Curvy RED in its first form, with four parameters.
//!
//! Source: slides "Ultra Low Queuing Delay for ALL Applications" (De Schepper, Briscoe, 2015), "Detailed Implementation". L4S is
//! marked if q_L > T or (q_C << S_L) > R; Classic is dropped if (Q_C << S_C) > max(R1, R2), "think twice to drop". Q_C is q_C
//! smoothed over 2^f Classic packets; L4S uses q_C unsmoothed. L4S has strict priority. So p_C = (p_L / 2^k)² with k = S_L − S_C: the
//! slopes are shifts to the *left*, so a larger one is steeper (RFC 9332 appendix B shifts to the right).
//!
//! Choices and deviations:
//!
//! 1. The slides give no parameter values. R is uniform below 2³². The defaults as times are close to RFC 9332 appendix B:
//!    k = 1, f = 5, T = 1 ms, certain drop at 2²⁹ ns (537 ms). In packets, T is the RFC's 5 MTU and certain drop is at 2⁶ packets:
//!    that power of two comes nearest to the slides' "7 … 100 msec" of Classic delay in their demonstration (docs/reproduce.md).
//! 2. The slides do not state the unit of q. Packets are the default, as on their axes; `unit = "time"` uses the sojourn time.
//! 3. q is the queue's length when the link asks for a packet, with the packet that leaves. As a time, it is the sojourn time of
//!    that packet, or for L4S of the Classic head.
//! 4. The slides print `QC=(qC-QC)>>f+qC`, which must mean Q_C += (q_C − Q_C) >> f. Q_C keeps f + 16 fraction bits, which count in
//!    the comparison too: in whole packets it would stall at any distance below 2^f. q_C counts up to 2⁴⁷, which is 39 hours.
//! 5. Any ECN-capable packet is L4S by default (`any_ect`): the demonstration ran DCTCP "as is", which sends ECT(0).
//! 6. Classic packets are dropped, as in the drawing; with `ecn`, ECN-capable ones are marked ("Drop/Mark" on another slide).
//! 7. The slides give no limit; the default of 1000 packets is that of the authors' module of the year after. Both queues share
//!    it, and nothing else stops an unresponsive L4S flow: as drawn, nothing is dropped in L4S, and Classic starves behind it.
//! 8. Other schedulers and queue protection are additions.
//!
//! Needs randomness, with `unit = "time"` arrival stamps, and the rate for a limit in time and for queue protection; no updates.
//! Promises: p_C = (p_L/2^k)² at a steady queue. Does not: equalise rates, or protect Classic from unresponsive L4S traffic.
//! Memory when idle: 416 bytes, the list of given parameters, and 16 bytes per bucket of queue protection.
//!
//! | corner case | test in `tests.rs` |
//! | --- | --- |
//! | sign of k, left shifts | `k_is_the_l4s_slope_less_the_classic_one`, `shifts_are_to_the_left_of_a_32_bit_random` |
//! | the screen's 20 % and 4 % | `twenty_percent_marks_and_four_percent_drops_are_k_of_zero` |
//! | instantaneous for L4S, smoothed for Classic | `l4s_feels_the_classic_queue_at_once_and_classic_smoothed` |
//! | integer average that stalls | `ewma.rs`: `it_equals_an_exact_average_where_whole_numbers_would_stall` |
//! | p_C = (p_L/2^k)², measured | `marks_and_drops_obey_the_square_law` |

mod test_cases;

use crate::dual_buffer::{Arrival, Common, DualBuffer, DualLaw};
use crate::dual_queue::{DualQueue, Queued};
use crate::ewma::Ewma;
use crate::kind::{Entry, QueueKind};
use crate::limit::{LIMIT_ROW, QueueLimit};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Preset, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::queue_protection;
use crate::random::Random;
use crate::scheduler;
use crate::threshold::Threshold;
use crate::units::{Time, parameters, words};

const ROW: Parameter = Parameter::LIVE.source("slides of 2015");

words! {
    /// The word of `unit`.
    pub(crate) enum Unit {
        Packets = "packets",
        Time = "time",
    }
}

parameters! {
    /// The parameters of the DualQ of 2015.
    pub struct Parameters {
        /// What both queues together may hold.
        limit: Amount = LIMIT_ROW.default("1000p").source("olgabo/dualpi2 sch_pi2.c (2016); the slides give none"),
        /// What the size of the Classic queue is measured in: packets, or nanoseconds of sojourn time.
        unit: Unit = ROW.default("packets").fixed().source("slides of 2015: queue size in packets on the axes"),
        /// Slope of L4S marking in bits: certain at a Classic queue of 2^(32 − s_l).
        s_l: u32 = ROW.domain(Domain::Integer(0, 32)).default_by("unit", &[("packets", "27"), ("time", "4")])
            .source("slides of 2015 (S_L); value: S_C + k with k = 1 as in RFC 9332 figure 9"),
        /// Above this number of packets or sojourn time in the L4S queue, L4S is marked.
        threshold: Threshold = ROW.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::TimeOrPackets((Time::ZERO, Time::from_nanos(u32::MAX as u64)), (0, u32::MAX as u64)))
            .default_by("unit", &[("packets", "5p"), ("time", "1ms")])
            .source("slides of 2015 (T); value: RFC 9332 appendix B, 5 MTU or 1 ms"),
        /// Slope of Classic dropping in bits: certain at a smoothed queue of 2^(32 − s_c).
        s_c: u32 = ROW.domain(Domain::Integer(0, 32)).default_by("unit", &[("packets", "26"), ("time", "3")])
            .source("slides of 2015 (S_C); value: next to range_C = 0.5 s of RFC 9332 figure 9, or fitted to their 7 … 100 ms"),
        /// The Classic queue is smoothed over 2^f Classic packets.
        f: u32 = ROW.domain(Domain::Integer(0, 20)).default("5")
            .source("slides of 2015 (f); value: RFC 9332 figure 9 (g_C)"),
        /// Every ECN-capable packet is L4S, not only ECT(1) and CE.
        any_ect: bool = ROW.opposite("l4s_ect").default("true").source("slides of 2015: DCTCP used as is"),
        /// Mark ECN-capable packets of the Classic queue instead of dropping them.
        ecn: bool = ROW.only(("any_ect", "false")).source("slides of 2015: Drop/Mark"),
        ..scheduler: scheduler::Parameters = scheduler::rows(
            Preset::Is("strict"),
            "slides of 2015: strict priority",
        ),
        ..protection: queue_protection::Parameters = queue_protection::ROWS,
    }
}

/// The DualQ of 2015.
pub type DualQ2015<P> = DualBuffer<P, DualQ2015Controller>;

impl QueueKind for DualQ2015Controller {
    const ENTRY: Entry = Entry {
        name: "dualq_2015",
        summary: "DualQ Coupled AQM of 2015: Curvy RED with strict priority.",
        source: "slides \"Ultra Low Queuing Delay for ALL Applications\" (IETF 2015)",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct DualQ2015Controller {
    curves: Curves,
    random: Random,
}

/// The parameters of the slides, and Q_C.
#[derive(Debug, Clone)]
struct Curves {
    s_l: u32,
    threshold: Threshold,
    s_c: u32,
    unit: Unit,
    any_ect: bool,
    ecn: bool,
    /// Q_C
    smoothed: Ewma,
}

impl Curves {
    fn new(parameters: &Parameters, smoothed: Ewma) -> Self {
        Self {
            s_l: parameters.s_l,
            threshold: parameters.threshold,
            s_c: parameters.s_c,
            unit: parameters.unit,
            any_ect: parameters.any_ect,
            ecn: parameters.ecn,
            smoothed,
        }
    }
    /// The law with other parameters; Q_C keeps its value.
    fn changed(&self, parameters: &Parameters) -> Self {
        let mut smoothed = self.smoothed.clone();
        smoothed.set_bits(parameters.f);
        Self::new(parameters, smoothed)
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
    /// q_C before anything leaves.
    #[inline]
    fn classic_size<P: Packet>(&self, queues: &DualQueue<P>, now: Time) -> u64 {
        match self.unit {
            Unit::Packets => queues.packets(QueueId::CLASSIC),
            Unit::Time => {
                let head = queues.head_sojourn(QueueId::CLASSIC, now);
                head.unwrap_or(Time::ZERO).as_nanos()
            }
        }
    }
}

impl DualQ2015Controller {
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

impl DualLaw for DualQ2015Controller {
    type Parameters = Parameters;
    type Native = Threshold;
    const LIMIT_OF_HIGHEST_RATE: bool = false;

    fn new(parameters: &Parameters, _link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            curves: Curves::new(parameters, Ewma::new(parameters.f)),
            random,
        })
    }
    fn common(parameters: &Parameters) -> Common {
        Common {
            limit: parameters.limit,
            scheduler: parameters.scheduler,
            protection: parameters.protection,
        }
    }

    #[inline]
    fn any_ect(&self) -> bool {
        self.curves.any_ect
    }
    #[inline]
    fn native(&self) -> &Threshold {
        &self.curves.threshold
    }

    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        Arrival { limit, .. }: Arrival,
        packet: &mut P,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        (!limit.admits(queues.backlog(), packet.len())).then_some(DropReason::Limit)
    }
    #[inline]
    fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)> {
        let q_c = self.curves.classic_size(queues, now);
        let l4s_packets = queues.packets(QueueId::L4S);
        let Queued {
            mut packet,
            redirected,
            ..
        } = queues.pop(queue)?;
        if queue == QueueId::CLASSIC {
            self.curves.smoothed.update(q_c);
        }
        if queue == QueueId::L4S || redirected {
            let threshold = self.curves.threshold;
            let native =
                queue == QueueId::L4S && threshold.is_exceeded_by(packet.sojourn(now), l4s_packets);
            // The coupled test comes first, so that it marks p_L of all packets.
            if self.roll(self.curves.coupled(q_c)) {
                mark(&mut packet, queue, MarkReason::Coupled, now, obs);
            } else if native {
                mark(&mut packet, queue, MarkReason::Step, now, obs);
            }
        } else if self.roll_twice(self.curves.classic()) {
            if !self.curves.ecn || packet.ecn() == Ecn::NotEct {
                return Some((packet, Some(DropReason::Aqm)));
            }
            mark(&mut packet, queue, MarkReason::Aqm, now, obs);
        }
        Some((packet, None))
    }

    fn configure(&mut self, parameters: &Parameters, _link: Link) -> Result<(), ParameterError> {
        self.curves = self.curves.changed(parameters);
        Ok(())
    }

    fn status<P: Packet>(
        &self,
        queues: &DualQueue<P>,
        limit: QueueLimit,
        now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        let ratio = |value: u128| value.min(1 << 32) as f64 / (1_u64 << 32) as f64;
        let size = self.curves.classic_size(queues, now);
        let coupled = ratio(self.curves.coupled(size));
        report("coupled_probability", Gauge::Ratio(coupled));
        let root = ratio(self.curves.classic());
        report("classic_probability", Gauge::Ratio(root * root));
        limit.report(report);
    }
}

#[cfg(test)]
mod tests;
