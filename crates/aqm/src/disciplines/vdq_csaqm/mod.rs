//! VDQ-CSAQM: the Virtual Dual Queue Core-Stateless AQM; L4S for any mix of congestion controls, without state per flow.
//!
//! Source: slides "A Congestion Control Independent L4S Scheduler" (Nádas, Gombos, Fejes, Laki, ANRW 2020). Each packet carries its
//! value from a [marker](crate::Packet::value) at the edge. There are two physical queues, L4S before Classic by strict priority, and
//! two virtual queues that hold only (value, size): VQ0 of L4S, VQ1 of both. Every interval each virtual queue gives a congestion
//! threshold value. A packet of the L4S queue is marked unless its value is above both thresholds; a packet of the Classic queue is
//! dropped unless its value is above the threshold of VQ1.
//!
//! Published are all of this, the interval of 10 ms, C_v ≤ C, and a utilisation of 98.4 %. Not published, and derived here, are how a
//! threshold follows from a histogram (`variant`), D_i, C_vi, the maximum of the virtual queues, and the physical limits (tail drop;
//! such a packet gets no record).
//!
//! 1. CE-marked packets stay in the virtual queues until they are served there, because they use the link; dropped packets leave VQ1
//!    at once. With `remove_marked`, marked packets leave too. That is an error, which lets L4S starve Classic; the option shows it.
//! 2. An L4S packet that arrives with CE is judged like any other; no second mark is possible.
//! 3. `any_ect` is the default, because the senders of the slides set ECT(0). Deploy with `l4s_ect`: then Classic packets with ECT(0)
//!    are marked instead of dropped (`ecn`).
//! 4. `drop_on_overload`, off by default, is quell's own: nothing in the slides limits L4S traffic that does not respond, and strict
//!    priority lets it starve Classic. Once a marked packet has waited too long, or VQ0 is full, packets are dropped instead of
//!    marked, until 16 intervals pass without such a drop. L4S that does not respond but leaves room in VQ0 is not detected.
//! 5. Packets of one value have the same fate for an interval. Without a marker every packet has `default_value`, and the queue
//!    alternates between dropping all and nothing.
//! 6. Virtual queues count IP bytes and take C_v from the link's rate. If the link adds an overhead per packet, lower the serving rates
//!    by its share; otherwise the link is slower than its virtual queues and nothing is signalled.
//!
//! Needs: values, arrival stamps (for delays only), an update every interval, the link's rate; no randomness.
//! Promises: with enough traffic above C_v, C_v is used; with Classic only (open loop, variants r and q), every flow gets its weighted
//! max-min share.
//! Does not: keep the L4S queue short against bursts of its own senders within an interval, or fully equalise marked and dropped flows: a
//! marked packet is still delivered, so L4S gets 1/(1−p) of Classic's share, or with variant r and `compensation` n the (n + 1)-th root
//! of that.
//! Memory: two histograms of 8 bytes per value for each virtual queue (1 MB with 65 535 values; one histogram with `b` and `b_smooth`), of
//! which only the pages of used values are touched, and 24 bytes per packet.
//!
//! | parameter | status |
//! | --- | --- |
//! | `interval` 10 ms | published |
//! | C_v ≤ C, a maximum of virtual queues, D_i | published without a value; 63/64 is 98.4 %, 200 ms and 5 ms are derived |
//! | `variant` and its gains | derived |
//! | `any_ect` | derived: a classifier is published |
//! | everything else | quell |
//!
//! | corner case | test in `tests.rs`, or as named |
//! | --- | --- |
//! | max-min and weighted shares of C_v, all variants, beside the published model's figures | `tests/vdq_csaqm.rs` |
//! | histograms equal live records, no negative counter, priority, who may be dropped | `the_invariants_hold_whatever_happens` |
//! | the same for a virtual queue alone, served exactly at C_v, at any rate and after hours | `virtual_queue/tests.rs` |
//! | the rates of r, and the controller of q with its quantile, against exact rationals | `virtual_queue/tests.rs` |
//! | the compensation for marked packets | `virtual_queue/tests.rs`: `a_threshold_is_raised_to_a_power_of_the_share_that_it_leaves` |
//! | thresholds of `b` never fall with backlog, and are 0 up to C_v·D | `virtual_queue/tests.rs`: `more_backlog_of_the_same_mix_never_lowers_the_threshold` |
//! | strict priority, records in both virtual queues | `l4s_goes_first_and_is_in_both_virtual_queues` |
//! | equal to the threshold is not above it; CE that came in; ECT(0) in Classic | `what_is_not_above_the_threshold_is_marked_or_dropped` |
//! | the larger of two thresholds for L4S | `l4s_obeys_the_larger_threshold_and_classic_that_of_all_traffic` |
//! | marked packets stay, or leave in the experiment | `with_the_ablation_marked_packets_leave_the_virtual_queues`; `tests/vdq_csaqm.rs` |
//! | packets without a value, values above the highest | `a_packet_without_a_value_counts_as_the_default` |
//! | full physical queues, lowered limits | `a_full_physical_queue_refuses_without_a_record` |
//! | unresponsive L4S, with and without the extension | `l4s_is_dropped_only_on_overload_and_only_if_told_to`; `tests/vdq_csaqm.rs` |
//! | how an overload ends | `an_overload_lasts_until_nothing_had_to_be_dropped_for_sixteen_intervals` |
//! | C_v above C, targets beyond the maximum, limits below a packet | `what_cannot_be_is_refused_with_its_reason` |
//! | clock jumps of hours, rate 0, slow links | `a_clock_that_jumps_for_hours_serves_what_is_due_and_no_more`, `a_slow_link_takes_changes` |

mod parameters;
mod test_cases;

use crate::dual_queue::{self, classify, drop_queued, refuse};
use crate::kind::{Entry, QueueKind};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{ParameterError, Settings, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc, mark};
use crate::random::Random;
use crate::shell::Shell;
use crate::units::{Rate, Time};
use crate::virtual_queue::law::ThresholdLaw;
use crate::virtual_queue::parameters::Values;
use crate::virtual_queue::{Position, Queued, ValueQueue, VirtualQueue};

use parameters::{Configuration, Parameters};

/// A VDQ-CSAQM queue.
#[derive(Debug)]
pub struct VdqCsaqm<P> {
    shell: Shell<Parameters>,
    configuration: Configuration,
    values: Values,
    /// Present rate of the link, which may be zero.
    rate: Rate,
    /// Q0 is L4S, Q1 Classic; each packet with its records in VQ0 and VQ1.
    queues: [ValueQueue<P>; 2],
    /// VQ0 and VQ1.
    virtuals: [VirtualQueue; 2],
    /// Threshold for L4S: CTV_0, or CTV_1 raised to compensate for marked packets.
    threshold_l4s: u16,
    next_update: Time,
    /// Number of further updates for which L4S counts as overloaded.
    overload: u32,
}

/// Intervals for which an overload lasts after its last drop: several, because b swings to a threshold of 0 and back.
const OVERLOAD_INTERVALS: u32 = 16;

impl<P> QueueKind for VdqCsaqm<P> {
    const ENTRY: Entry = Entry {
        name: "vdq_csaqm",
        summary: "Virtual DualQ core-stateless AQM: L4S and Classic share by packet values.",
        source: "Nádas et al., \"A Congestion Control Independent L4S Scheduler\", ANRW 2020",
        parameters: Parameters::ROWS,
    };
}

impl<P: Packet> VdqCsaqm<P> {
    /// An empty pair of queues. The first update is due after one interval.
    pub fn new(settings: Settings, link: Link, _random: Random) -> Result<Self, ParameterError> {
        let parameters = Parameters::of(&settings);
        let configuration = Configuration::of(&parameters, link)?;
        let values = parameters.values();
        let highest = values.highest();
        let law = || ThresholdLaw::new(parameters.variant, parameters.gains(), highest);
        let of = |shape| VirtualQueue::new(shape, law(), link, highest);
        Ok(Self {
            shell: Shell::new(settings, link),
            virtuals: configuration.shapes.map(of),
            configuration,
            values,
            rate: link.rate,
            queues: [ValueQueue::new(), ValueQueue::new()],
            threshold_l4s: 0,
            next_update: configuration.interval,
            overload: 0,
        })
    }

    /// Removes a packet from the virtual queues, because it never uses the link or no longer counts.
    fn cancel(&mut self, records: [Position; 2], now: Time) {
        for (queue, record) in self.virtuals.iter_mut().zip(records) {
            if record != Position::NONE {
                queue.cancel(record, now);
            }
        }
    }

    /// Whether L4S packets are dropped instead of marked: from when the delay passes its limit or VQ0 overflows, until several intervals
    /// pass without such a drop. If the first interval ended it, the drops themselves would end the overload, and L4S would keep the link.
    fn is_overloaded(&mut self, sojourn: Time) -> bool {
        let Some(limit) = self.configuration.overload_delay else {
            return false;
        };
        if self.overload > 0 || sojourn > limit || self.virtuals[0].overflows() {
            self.overload = OVERLOAD_INTERVALS;
        }
        self.overload > 0
    }

    /// Marks a packet whose value is not above the threshold, or returns why to drop it.
    fn signal(
        &mut self,
        packet: &mut P,
        (value, queue): (u16, QueueId),
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if queue == QueueId::L4S {
            // A dropped packet does not use the link, so nothing needs compensation.
            let [l4s, both] = &self.virtuals;
            let fair = l4s.threshold().max(both.threshold());
            if self.is_overloaded(packet.sojourn(now)) && value <= fair {
                return Some(DropReason::Overload);
            }
        } else if !self.configuration.ecn || packet.ecn() == Ecn::NotEct {
            return Some(DropReason::Value);
        }
        mark(packet, queue, MarkReason::Value, now, obs);
        None
    }

    /// The threshold that the value of a packet of `queue` must exceed.
    #[inline]
    fn threshold(&self, queue: QueueId) -> u16 {
        if queue == QueueId::L4S {
            self.threshold_l4s
        } else {
            self.virtuals[1].threshold()
        }
    }
}

impl<P: Packet> Qdisc<P> for VdqCsaqm<P> {
    fn queues(&self) -> &'static [&'static str] {
        dual_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let queue = classify(packet.ecn(), self.configuration.any_ect);
        let len = packet.len();
        let physical = &mut self.queues[queue.index()];
        if !self.configuration.limits[queue.index()].admits(physical.backlog(), len) {
            return refuse(packet, queue, DropReason::Limit, now, obs);
        }
        let value = self.values.count(packet.value());
        let [l4s, both] = &mut self.virtuals;
        let records = [
            if queue == QueueId::L4S {
                l4s.admit(value, len, now)
            } else {
                Position::NONE
            },
            both.admit(value, len, now),
        ];
        obs.enqueued(queue, &packet, now);
        physical.push(Queued {
            packet,
            value,
            records,
        });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let (queue, entry) = match self.queues[0].pop() {
                Some(entry) => (QueueId::L4S, entry),
                None => (QueueId::CLASSIC, self.queues[1].pop()?),
            };
            let Queued {
                mut packet,
                value,
                records,
            } = entry;
            if value <= self.threshold(queue) {
                if let Some(reason) = self.signal(&mut packet, (value, queue), now, obs) {
                    self.cancel(records, now);
                    drop_queued(packet, queue, reason, now, obs);
                    continue;
                }
                if self.configuration.remove_marked {
                    self.cancel(records, now);
                }
            }
            obs.dequeued(queue, &packet, now);
            return Some(packet);
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        for queue in &mut self.virtuals {
            queue.update(now);
        }
        let [l4s, both] = &self.virtuals;
        let common = l4s.raised(both.threshold(), self.configuration.compensation);
        self.threshold_l4s = l4s.threshold().max(common);
        self.overload = self.overload.saturating_sub(1);
        self.next_update = now + self.configuration.interval;
    }

    fn set_rate(&mut self, rate: Rate, now: Time, _obs: &mut dyn Observer<P>) {
        self.rate = rate;
        if !rate.is_zero() {
            self.shell.set_rate(rate);
            let parameters = self.shell.parameters();
            self.configuration.set_rate(&parameters, self.shell.link());
        }
        for queue in &mut self.virtuals {
            queue.set_rate(rate, now);
        }
    }

    /// A lowered limit drops no packet in the queue: the queue, real or virtual, refuses new packets until it fits.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        _obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        let old = self.configuration;
        let (parameters, new) = self.shell.change(key, value, |parameters, link| {
            Ok((*parameters, old.changed(key, parameters, link)?))
        })?;
        self.configuration = new;
        self.values = parameters.values();
        let link = Link {
            rate: self.rate,
            ..self.shell.link()
        };
        for (queue, shape) in self.virtuals.iter_mut().zip(new.shapes) {
            queue.configure(shape, link, now);
            queue.set_gains(parameters.gains());
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        for queue in [QueueId::CLASSIC, QueueId::L4S] {
            while let Some(entry) = self.queues[queue.index()].pop() {
                self.cancel(entry.records, now);
                drop_queued(entry.packet, queue, DropReason::Drained, now, &mut obs);
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let [l4s, classic] = [0, 1].map(|queue: usize| self.queues[queue].backlog());
        Backlog {
            packets: l4s.packets + classic.packets,
            bytes: l4s.bytes + classic.bytes,
        }
    }

    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        let [l4s, classic] = &self.queues;
        report("delay_l4s", Gauge::Delay(l4s.head_sojourn(now)));
        report("delay_classic", Gauge::Delay(classic.head_sojourn(now)));
        let [l4s, both] = &self.virtuals;
        report("ctv_0", Gauge::Count(l4s.threshold().into()));
        report("ctv_1", Gauge::Count(both.threshold().into()));
        report("ctv_l4s", Gauge::Count(self.threshold_l4s.into()));
        report("virtual_delay_0", Gauge::Delay(l4s.delay(now)));
        report("virtual_delay_1", Gauge::Delay(both.delay(now)));
        for (name, queue) in [("probability_0", l4s), ("probability_1", both)] {
            if let Some(probability) = queue.probability() {
                report(name, Gauge::Ratio(probability.as_f64()));
            }
        }
        let [limit_l4s, limit_classic] = &self.configuration.limits;
        limit_l4s.report_as("limit_l4s_packets", "limit_l4s_bytes", report);
        limit_classic.report_as("limit_classic_packets", "limit_classic_bytes", report);
    }
}

#[cfg(test)]
mod tests;
