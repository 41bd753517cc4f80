//! PVPIE and TL-PVPIE: PIE decides how much is dropped, packet values decide what.
//!
//! Sources: "Take your own share of the PIE" (ANRW 2017), of which only the abstract is at hand, and its public module for ns-3 (tlpvpie,
//! 2019). Every `tupdate` PIE moves a probability p so that the delay comes to `target`; the controller is that of
//! [`pie`](crate::disciplines::pie) in its RFC form. An arriving packet is dropped if its value is below a threshold:
//!
//! * one level (PVPIE): the threshold is the value below which the part p of the bytes of the last `window` is, eCDF⁻¹(p);
//! * two levels (TL-PVPIE): every `threshold_update` a second controller moves it so that the part that was signalled in the last
//!   `window` follows p.
//!
//! All pass during the burst allowance; while p is below 20 % and the delay was below half the target; and while at most two packets
//! wait. All arrivals feed the window, dropped ones too.
//!
//! Where the sources leave a choice, or this deviates:
//!
//! 1. Shares are of bytes; the module's are of packets.
//! 2. Of packets whose value is the threshold itself as many are signalled as p asks for, at random; so traffic without values meets
//!    plain PIE. The module passes them all (`ties = "pass"`): traffic of one value is then untouched below p = 1.
//! 3. At p = 1 everything is below the threshold; the module reads beyond its list.
//! 4. Values are 16-bit codes. The module's are 32-bit numbers that wrap where a throughput-value function falls below zero, so that
//!    its least valuable packets become the most valuable; codes end at 1.
//! 5. The second controller's v_min and v_max are the ends of what is in the window; the module has constants. What is refused because of
//!    the limit counts as signalled, as there.
//! 6. `ecn` marks ECN-capable packets instead of dropping them, by PIE's own rule only while p is below `max_ecnth`. Off by
//!    default, because the module knows no ECN: ECN-capable packets are then dropped like others.
//! 7. Delays are measured from arrival times, and the burst allowance returns in calm, as in the RFC form of `pie`; the module has ns-3's
//!    estimator and its states. p is not held at 0 during the allowance.
//! 8. The window of the second level is 100 ms. Over the module's second, and over its experiments' 300 ms where few packets are worth
//!    much more than the rest, the threshold swings: seven constant flows at twice the link then missed their shares by a quarter.
//! 9. More than 262 144 arrivals in a window are too many: the last count.
//!
//! Needs: values, arrival times, updates, randomness for ties; the link's rate for a limit in time. Promises: the mean delay comes to `target`
//! and flows share by their functions as far as the threshold stands still. Does not: react faster than its window, or protect values in
//! a burst. Holds 8 bytes per value (512 KiB with 65 535) and 16 per arrival in the window.
//!
//! | corner case | test |
//! | --- | --- |
//! | what is spared | `nothing_is_signalled_to_a_short_queue_or_a_burst` |
//! | threshold strictly above, ties, p = 0 and 1 | `what_is_below_the_threshold_goes`, `threshold::tests` |
//! | the window, to the packet and bounded | `window::tests` |
//! | the second level | `threshold::tests`, `as_much_is_signalled_as_pie_wants` |
//! | marks below `max_ecnth`, drops above | `ecn_packets_are_dropped_unless_asked_and_only_while_it_is_mild` |
//! | no values | `without_values_it_is_pie` |
//! | shares of flows, delay | `tests/values.rs` |

mod parameters;
mod test_cases;
mod threshold;
mod window;

use crate::disciplines::pie::Verdict;
use crate::disciplines::pie::rfc8033::Rfc8033;
use crate::kind::{Entry, QueueKind};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, refuse};
use crate::units::{Probability, Time};
use crate::virtual_queue::parameters::Values;
use parameters::{Parameters, Ties};
use threshold::{Controller, Threshold};
use window::Window;

/// Nothing is signalled while this number of packets wait, or fewer.
const SHORT: u64 = 2;

/// A PVPIE queue.
pub type Pvpie<P> = SingleBuffer<P, PvpieController>;

impl QueueKind for PvpieController {
    const ENTRY: Entry = Entry {
        name: "pvpie",
        summary: "PIE by packet values: one queue held at a target delay by drops of the lowest values.",
        source: "Laki et al., ANRW 2017; tlpvpie (ns-3 module)",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct PvpieController {
    values: Values,
    pie: Rfc8033,
    window: Window,
    threshold: Threshold,
    ties: Ties,
    interval: Time,
    next_probability: Time,
    second: Option<SecondLevel>,
}

#[derive(Debug)]
struct SecondLevel {
    controller: Controller,
    interval: Time,
    next_update: Time,
}

impl PvpieController {
    /// The fate of an arriving packet.
    #[inline]
    fn decide<P: Packet>(&mut self, queue: &SingleQueue<P>, packet: &P, value: u16) -> Verdict {
        let backlog = queue.backlog();
        if !queue.limit.admits(backlog, packet.len()) {
            return Verdict::Drop(DropReason::Limit);
        }
        if self.pie.spares(backlog) || backlog.packets <= SHORT || !self.is_low(value) {
            return Verdict::Pass;
        }
        match self.pie.signal(packet) {
            Verdict::Drop(DropReason::Aqm) => Verdict::Drop(DropReason::Value),
            verdict => verdict,
        }
    }

    #[inline]
    fn is_low(&mut self, value: u16) -> bool {
        let Threshold {
            value: threshold,
            share,
        } = self.threshold;
        let value = u32::from(value);
        value < threshold
            || (value == threshold && self.ties == Ties::Share && self.pie.chance(share))
    }
}

impl ControlLaw for PvpieController {
    type Parameters = Parameters;
    /// The discipline `pie` drops them too.
    const LOWERED_LIMIT_DROPS: bool = true;

    /// The first update is due after one interval.
    fn new(parameters: &Parameters, _link: Link, random: Random) -> Result<Self, ParameterError> {
        let values = Values::of(&parameters.values);
        let interval = parameters.threshold_update;
        Ok(Self {
            values,
            pie: Rfc8033::new(parameters.pie(), random),
            window: Window::new(parameters.window(), values.highest()),
            threshold: Threshold::NONE,
            ties: parameters.ties,
            interval: parameters.tupdate,
            next_probability: parameters.tupdate,
            second: (parameters.levels == 2).then(|| SecondLevel {
                controller: Controller::new(parameters.phi, parameters.psi),
                interval,
                next_update: interval,
            }),
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        let value = self.values.count(packet.value());
        let verdict = self.decide(queue, &packet, value);
        let signalled = verdict != Verdict::Pass;
        self.window.count(now, value, packet.len(), signalled);
        match verdict {
            Verdict::Drop(reason) => return refuse(packet, reason, now, obs),
            Verdict::Pass => {}
            Verdict::Mark => mark(&mut packet, QueueId::SINGLE, MarkReason::Value, now, obs),
        }
        queue.accept(packet, now, obs);
    }
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = queue.pop()?;
        self.pie.departed(&packet, queue.backlog(), now);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        let second = self.second.as_ref();
        let next = second.map_or(Time::MAX, |second| second.next_update);
        Some(self.next_probability.min(next))
    }
    fn update<P: Packet>(&mut self, queue: &SingleQueue<P>, now: Time) {
        self.window.forget(now);
        if self.next_probability <= now {
            self.pie.update(queue.backlog());
            self.next_probability = now + self.interval;
            if self.second.is_none() {
                self.threshold = Threshold::quantile(&self.window, self.pie.probability());
            }
        }
        let Some(second) = &mut self.second else {
            return;
        };
        if second.next_update <= now {
            let probability = self.pie.probability();
            second.controller.update(&self.window, probability);
            self.threshold = second.controller.threshold();
            second.next_update = now + second.interval;
        }
    }

    fn adopt(&mut self, parameters: &Parameters, _link: Link) {
        self.values = Values::of(&parameters.values);
        self.interval = parameters.tupdate;
        self.pie.configure(parameters.pie());
        self.window.set_span(parameters.window());
        self.ties = parameters.ties;
        if let Some(second) = &mut self.second {
            second.interval = parameters.threshold_update;
            second.controller.phi = parameters.phi;
            second.controller.psi = parameters.psi;
        }
    }
    /// The rate concerns the limit alone.
    fn set_rate<P: Packet>(
        &mut self,
        _parameters: &Parameters,
        _link: Link,
        _queue: &SingleQueue<P>,
        _now: Time,
    ) {
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        self.pie.drained();
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        let ratio = |probability: Probability| Gauge::Ratio(probability.as_f64());
        report("probability", ratio(self.pie.probability()));
        report("measured_delay", Gauge::Delay(self.pie.delay()));
        let burst = self.pie.burst_allowance();
        report("burst_allowance", Gauge::Delay(burst));
        report("threshold_value", Gauge::Count(self.threshold.value.into()));
        report("signalled", ratio(self.window.signalled()));
    }
}

#[cfg(test)]
mod tests;
