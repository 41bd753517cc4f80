//! PVPIE and TL-PVPIE: PIE says how much, packet values say which.
//!
//! Sources: "Take your own share of the PIE" (ANRW 2017), of which only the abstract is at hand, and its public module for ns-3 (tlpvpie,
//! 2019). Every `tupdate` PIE moves a probability p so that the delay comes to `target`; the controller is that of
//! [`pie`](crate::pie) in its RFC form. An arriving packet is dropped if its value is below a threshold:
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
//! 7. Delays are measured from arrival times, and the burst allowance returns in calm, as the RFC form of `pie` says; the module has ns-3's
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
mod threshold;
mod window;

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::pie::Verdict;
use crate::pie::rfc8033::Rfc8033;
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Probability, Rate, Time};
use crate::virtual_queue::parameters::Values;
use threshold::{Controller, Threshold};
use window::Window;

/// Nothing is signalled while so many packets wait, or fewer.
const SHORT: u64 = 2;

/// A PVPIE queue.
#[derive(Debug)]
pub struct Pvpie<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    values: Values,
    queue: SingleQueue<P>,
    pie: Rfc8033,
    window: Window,
    threshold: Threshold,
    /// Whether packets of the threshold's value are signalled by its share.
    shares: bool,
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

impl<P> Kind for Pvpie<P> {
    const NAME: &'static str = "pvpie";
    const SUMMARY: &'static str =
        "PIE by packet values: one queue held at a target delay by drops of the lowest values.";
    const SOURCE: &'static str = "Laki et al., ANRW 2017; tlpvpie (ns-3 module)";
    const PARAMETERS: &'static [Parameter] = parameters::TABLE;
}

impl<P: Packet> Pvpie<P> {
    /// An empty queue. The first update is due after one interval.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let values = Values::of(&settings);
        let second = (settings.number("levels") == 2).then(|| {
            let interval = settings.time("threshold_update");
            SecondLevel {
                controller: Controller::new(settings.number("phi"), settings.number("psi")),
                interval,
                next_update: interval,
            }
        });
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            values,
            link,
            queue: SingleQueue::new(),
            pie: Rfc8033::new(parameters::pie(&settings), random),
            window: Window::new(parameters::window(&settings), values.highest()),
            threshold: Threshold::NONE,
            shares: settings.word("ties") == "share",
            interval: settings.time("tupdate"),
            next_probability: settings.time("tupdate"),
            second,
            settings,
        })
    }

    /// What happens to an arriving packet.
    #[inline]
    fn decide(&mut self, packet: &P, value: u16) -> Verdict {
        let backlog = self.queue.backlog();
        if !self.limit.admits(backlog, packet.len()) {
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
        value < threshold || (value == threshold && self.shares && self.pie.chance(share))
    }
}

impl<P: Packet> Qdisc<P> for Pvpie<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let value = self.values.count(packet.value());
        let verdict = self.decide(&packet, value);
        let signalled = verdict != Verdict::Pass;
        self.window.count(now, value, packet.len(), signalled);
        match verdict {
            Verdict::Drop(reason) => return single_queue::refuse(packet, reason, now, obs),
            Verdict::Pass => {}
            Verdict::Mark => mark(&mut packet, QueueId::SINGLE, MarkReason::Value, now, obs),
        }
        self.queue.accept(packet, now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = self.queue.pop()?;
        self.pie.departed(&packet, self.queue.backlog(), now);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        let second = self.second.as_ref();
        let next = second.map_or(Time::MAX, |second| second.next_update);
        Some(self.next_probability.min(next))
    }

    fn update(&mut self, now: Time) {
        self.window.forget(now);
        if self.next_probability <= now {
            self.pie.update(self.queue.backlog());
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

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if !rate.is_zero() {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
        }
    }

    /// A lowered limit drops from the head, as in `pie`.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        self.limit = Limit::of(&settings, self.link)?;
        self.values = Values::of(&settings);
        self.interval = settings.time("tupdate");
        self.pie.configure(parameters::pie(&settings));
        self.window.set_span(parameters::window(&settings));
        self.shares = settings.word("ties") == "share";
        if let Some(second) = &mut self.second {
            second.interval = settings.time("threshold_update");
            second.controller.phi = settings.number("phi");
            second.controller.psi = settings.number("psi");
        }
        self.settings = settings;
        if key == "limit" {
            let limit = self.limit;
            let too_much = |backlog: Backlog| limit.is_exceeded(backlog);
            self.queue
                .drop_heads_while(too_much, DropReason::Reconfigured, now, obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
        self.pie.drained();
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.limit.tell(tell);
        let ratio = |probability: Probability| Gauge::Ratio(probability.as_f64());
        tell("probability", ratio(self.pie.probability()));
        tell("measured_delay", Gauge::Delay(self.pie.delay()));
        tell("burst_allowance", Gauge::Delay(self.pie.burst_allowance()));
        tell("threshold_value", Gauge::Count(self.threshold.value.into()));
        tell("signalled", ratio(self.window.signalled()));
    }
}

#[cfg(test)]
mod tests;
