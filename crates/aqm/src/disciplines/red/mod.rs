//! RED: Random Early Detection, and Adaptive RED.
//!
//! Two forms of the law share one set of parameters:
//!
//! * [`linux`]: `net/sched/sch_red.c` with `include/net/red.h` (6.18), to the integer, and [`tc`]: the
//!   derivations that `tc` makes before the kernel sees anything;
//! * [`floyd`]: Floyd and Jacobson 1993 with gentle mode, byte mode and ns-2's `wait`.
//!
//! Both decide on arrivals from an average of what waits, and space their signals evenly. Deviations
//! of this file from `sch_red.c` (those of the laws stand at the heads of their files):
//!
//! 1. Lengths are IP lengths, without the link header that the kernel counts (14 bytes on Ethernet).
//! 2. A changed parameter starts the average anew, as in the kernel, but keeps the packets, which the
//!    kernel throws away with its inner queue; a lowered limit only refuses, as `bfifo`. The form
//!    `floyd` keeps its average.
//! 3. Thresholds and limits in time follow the link's rate, and so does a bandwidth that is not
//!    given; the average stays. At a rate at which they could not be configured the last ones count,
//!    and an unlimited rate changes nothing.
//! 4. The timer of `adaptive` has no drift.
//! 5. A packet that the full queue refuses is not reported as marked before.
//!
//! It needs the clock (for idle times) and randomness, no time stamps; the rate only for 3. Promises:
//! an average queue between `min` and `max` where senders respond. Does not: hold a delay (`min` and `max` are bytes), or tune itself
//! unless `adaptive` (the right `probability` depends on the number of flows). Memory: below 900
//! bytes per idle queue on a 64-bit machine, of which 260 are the idle table (test `an_idle_queue_is_small`).
//!
//! | corner case | test |
//! | --- | --- |
//! | fixed point of the average and of its decay | `linux`, `floyd`: `the_average_*`, `an_idle_time_*` |
//! | spacing of signals by the count | `a_random_number_decides_*`, `marks_are_spaced_uniformly*`, `marks_are_decided_exactly` |
//! | `min` equal to `max`, 31 bits, `tc`'s refusals | `thresholds_decide_*`, `the_kernel_refuses_*`, `refuses_what_tc_refuses` |
//! | `ecn`, `harddrop`, `nodrop`, CE that came in | `tests/red.rs`: `signals_follow_the_flags` |
//! | rates of 0, of next to nothing and without end | `tests/red.rs`: `thresholds_in_time_follow_the_rate` |
//! | closed operating points | `tests/red.rs`: `the_average_rests_*`, `adaptive_red_holds_*` |

#[doc(hidden)]
pub mod floyd;
#[doc(hidden)]
pub mod linux;
mod parameters;
#[doc(hidden)]
pub mod tc;
mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::QueueLimit;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, refuse};
use crate::units::{Bytes, Rate, Time, name_of};

use linux::Action;
use parameters::{Config, Constants, Parameters, Signals, Unit};

/// The timer of `adaptive` (Floyd, Gummadi and Shenker 2001, figure 1; Linux: HZ/2).
const ADAPTATION: Time = Time::from_millis(500);

/// A RED queue.
pub type Red<P> = SingleBuffer<P, RedController>;

impl QueueKind for RedController {
    const ENTRY: Entry = Entry {
        name: "red",
        summary: "Random Early Detection, with the adaptive form.",
        source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; Linux sch_red.c (6.18)",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct RedController {
    /// The last rate for which the parameters could be configured.
    rate: Rate,
    signals: Signals,
    state: RedForm,
    /// The next adaptation, if any.
    next_update: Option<Time>,
    random: Random,
}

/// The average and the probability, in one of the forms.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a queue has one; a box would cost each packet a hop"
)]
enum RedForm {
    Linux(linux::LinuxRed),
    Floyd(Unit, floyd::FloydRed),
}

impl RedForm {
    fn new(constants: &Constants) -> Self {
        match constants {
            Constants::Linux(constants) => Self::Linux(linux::LinuxRed::new(constants.clone())),
            Constants::Floyd(unit, constants) => {
                Self::Floyd(*unit, floyd::FloydRed::new(constants.clone()))
            }
        }
    }
    fn idle(&mut self, now: Time) {
        match self {
            Self::Linux(law) => law.idle(now),
            Self::Floyd(_, law) => law.idle(now),
        }
    }
    /// Whether it has these constants.
    fn has(&self, constants: &Constants) -> bool {
        match (self, constants) {
            (Self::Linux(law), Constants::Linux(constants)) => law.parameters() == constants,
            (Self::Floyd(unit, law), Constants::Floyd(new_unit, constants)) => {
                unit == new_unit && law.parameters() == constants
            }
            _ => false,
        }
    }
    /// Inherits the average of `other`, if both count in the same unit, and its adapted probability.
    fn inherit(&mut self, other: &Self, adapted: bool) {
        match (self, other) {
            (Self::Linux(law), Self::Linux(other)) => law.inherit(other, adapted),
            (Self::Floyd(unit, law), Self::Floyd(other_unit, other)) if unit == other_unit => {
                law.inherit(other, adapted);
            }
            _ => {}
        }
    }
}

/// The fate of a packet.
enum Verdict {
    Queue,
    Mark,
    Drop(DropReason),
}

impl Signals {
    /// The signal for `action`, to a packet that is ECN-capable or not.
    #[inline]
    fn verdict(self, action: Action, capable: bool) -> Verdict {
        match action {
            Action::Pass => Verdict::Queue,
            _ if !self.ecn => Verdict::Drop(DropReason::Aqm),
            Action::Forced if self.harddrop && capable => Verdict::Drop(DropReason::Overload),
            Action::Forced if self.harddrop => Verdict::Drop(DropReason::Aqm),
            _ if capable => Verdict::Mark,
            _ if self.nodrop => Verdict::Queue,
            _ => Verdict::Drop(DropReason::Aqm),
        }
    }
}

impl<P> Red<P> {
    /// The law of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_law(&self) -> Option<&linux::LinuxRed> {
        match &self.law.state {
            RedForm::Linux(law) => Some(law),
            RedForm::Floyd(..) => None,
        }
    }
}

impl RedController {
    /// The law's answer to an arriving packet.
    #[inline]
    fn action<P: Packet>(&mut self, queue: &SingleQueue<P>, packet: &P, now: Time) -> Action {
        let waiting = queue.backlog();
        let random = || self.random.u32();
        match &mut self.state {
            RedForm::Linux(law) => law.arrival(waiting.bytes.get(), now, random),
            RedForm::Floyd(unit, law) => {
                let queued = match unit {
                    Unit::Packets => waiting.packets,
                    Unit::Bytes => waiting.bytes.get(),
                };
                law.arrival(queued, packet.len(), now, random)
            }
        }
    }
}

impl ControlLaw for RedController {
    type Parameters = Parameters;
    /// The average counts in 32 bits.
    const LARGEST_LIMIT: Bytes = parameters::LARGEST;

    /// Behind a link that has always been idle.
    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        let config = Config::of(parameters, link)?;
        let mut state = RedForm::new(&config.constants);
        state.idle(Time::ZERO);
        Ok(Self {
            rate: link.rate,
            signals: config.signals,
            state,
            next_update: config.adaptive.then_some(ADAPTATION),
            random,
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }
    fn check_limit(parameters: &Parameters, link: Link) -> Result<QueueLimit, ParameterError> {
        parameters::limit_of(parameters, link)
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        let action = self.action(queue, &packet, now);
        let verdict = self.signals.verdict(action, packet.ecn().is_capable());
        if let Verdict::Drop(reason) = verdict {
            return refuse(packet, reason, now, obs);
        }
        if !queue.has_room_for(packet.len()) {
            return refuse(packet, DropReason::Limit, now, obs);
        }
        if let Verdict::Mark = verdict {
            mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
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
        let Some(packet) = queue.pop() else {
            self.state.idle(now);
            return None;
        };
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        self.next_update
    }
    fn update<P: Packet>(&mut self, _queue: &SingleQueue<P>, now: Time) {
        match &mut self.state {
            RedForm::Linux(law) => law.adapt(now),
            RedForm::Floyd(_, law) => law.adapt(now),
        }
        self.next_update = Some(now + ADAPTATION);
    }

    /// A rate for which the thresholds cannot be configured changes nothing.
    fn adopt(&mut self, parameters: &Parameters, link: Link) {
        if link.rate.is_unlimited() {
            return;
        }
        let Ok(config) = Config::of(parameters, link) else {
            return;
        };
        self.rate = link.rate;
        if !self.state.has(&config.constants) {
            let mut state = RedForm::new(&config.constants);
            state.inherit(&self.state, config.adaptive);
            self.state = state;
        }
    }
    fn configure<P: Packet>(
        &mut self,
        parameters: &Parameters,
        key: &str,
        link: Link,
        _queue: &SingleQueue<P>,
        now: Time,
    ) -> Result<(), ParameterError> {
        // Where the present rate suits no thresholds, the last one that did is what a change is judged by.
        let present = Config::of(parameters, link)
            .ok()
            .filter(|_| !link.rate.is_unlimited());
        let config = match present {
            Some(config) => {
                self.rate = link.rate;
                config
            }
            None => {
                let rate = self.rate;
                Config::of(parameters, Link { rate, ..link })?
            }
        };
        let mut state = RedForm::new(&config.constants);
        if let RedForm::Floyd(..) = state {
            let is_other = key != name_of!(Parameters, probability);
            let adapted = config.adaptive && self.next_update.is_some() && is_other;
            state.inherit(&self.state, adapted);
            let due = self.next_update.unwrap_or(now + ADAPTATION);
            self.next_update = config.adaptive.then_some(due);
        } else {
            self.next_update = config.adaptive.then_some(now + ADAPTATION);
        }
        self.state = state;
        self.signals = config.signals;
        Ok(())
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        match &mut self.state {
            RedForm::Linux(law) => law.restart(),
            RedForm::Floyd(_, law) => law.restart(),
        }
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        match &self.state {
            RedForm::Linux(law) => {
                report("average_bytes", Gauge::count(law.average()));
                let probability = f64::from(law.probability()) / f64::from(u32::MAX);
                report("max_probability", Gauge::Ratio(probability));
            }
            RedForm::Floyd(unit, law) => {
                let name = match unit {
                    Unit::Packets => "average_packets",
                    Unit::Bytes => "average_bytes",
                };
                report(name, Gauge::count(law.average()));
                let probability = law.probability().as_f64();
                report("max_probability", Gauge::Ratio(probability));
            }
        }
        queue.limit.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::TestPacket;

    #[test]
    fn an_idle_queue_is_small() {
        // What the head of this file states; the settings hold a place per parameter on the heap, and those that are given.
        let heap = Parameters::ROWS.len()
            * size_of::<Option<alloc::boxed::Box<crate::parameter::Value>>>();
        assert!(size_of::<Red<TestPacket>>() + heap < 900);
        assert_eq!(size_of::<tc::IdleTable>(), 260);
    }
}
