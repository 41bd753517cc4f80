//! RED: Random Early Detection, and Adaptive RED.
//!
//! Two forms of the law behind one set of parameters:
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
//!    given; the average stays. At a rate at which they could not be configured the last ones count.
//! 4. The timer of `adaptive` has no drift.
//! 5. A packet that the full queue refuses is not told as marked before.
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

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Bytes, Rate, Time};

use linux::Action;
use parameters::{Config, Signals, Unit};

/// The timer of `adaptive` (Floyd, Gummadi and Shenker 2001, figure 1; Linux: HZ/2).
const ADAPTATION: Time = Time::from_millis(500);

/// A RED queue.
#[derive(Debug)]
pub struct Red<P> {
    settings: Settings,
    /// With the last rate that was a rate.
    link: Link,
    limit: Limit,
    signals: Signals,
    law: Law,
    /// The next adaptation, if any.
    next_update: Option<Time>,
    queue: SingleQueue<P>,
    random: Random,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a queue has one; a box would cost each packet a hop"
)]
enum Law {
    Linux(linux::Law),
    Floyd(Unit, floyd::Law),
}

impl Law {
    fn new(parameters: &parameters::Law) -> Self {
        match parameters {
            parameters::Law::Linux(parameters) => Self::Linux(linux::Law::new(parameters.clone())),
            parameters::Law::Floyd(unit, parameters) => {
                Self::Floyd(*unit, floyd::Law::new(parameters.clone()))
            }
        }
    }
    fn idle(&mut self, now: Time) {
        match self {
            Self::Linux(law) => law.idle(now),
            Self::Floyd(_, law) => law.idle(now),
        }
    }
    /// Whether it would be the same with these parameters.
    fn has(&self, parameters: &parameters::Law) -> bool {
        match (self, parameters) {
            (Self::Linux(law), parameters::Law::Linux(parameters)) => {
                law.parameters() == parameters
            }
            (Self::Floyd(unit, law), parameters::Law::Floyd(new_unit, parameters)) => {
                unit == new_unit && law.parameters() == parameters
            }
            _ => false,
        }
    }
    /// Takes over the average of `other`, where both count in the same unit, and what it adapted to.
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

impl<P> Kind for Red<P> {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "Random Early Detection, with the adaptive form.";
    const SOURCE: &'static str =
        "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; Linux sch_red.c (6.18)";
    const PARAMETERS: &'static [Parameter] = parameters::TABLE;
}

impl<P: Packet> Red<P> {
    /// An empty queue behind a link that has always been idle.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let config = Config::of(&settings, link)?;
        let mut law = Law::new(&config.law);
        law.idle(Time::ZERO);
        Ok(Self {
            settings,
            link,
            limit: config.limit,
            signals: config.signals,
            law,
            next_update: config.adaptive.then_some(ADAPTATION),
            queue: SingleQueue::new(),
            random,
        })
    }

    /// The law of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_law(&self) -> Option<&linux::Law> {
        match &self.law {
            Law::Linux(law) => Some(law),
            Law::Floyd(..) => None,
        }
    }

    /// What the law says to an arriving packet.
    #[inline]
    fn action(&mut self, packet: &P, now: Time) -> Action {
        let waiting = self.queue.backlog();
        let random = || self.random.u32();
        match &mut self.law {
            Law::Linux(law) => law.arrival(waiting.bytes.get(), now, random),
            Law::Floyd(unit, law) => {
                let queued = match unit {
                    Unit::Packets => waiting.packets,
                    Unit::Bytes => waiting.bytes.get(),
                };
                law.arrival(queued, packet.len(), now, random)
            }
        }
    }
}

/// What to do with a packet.
enum Verdict {
    Queue,
    Mark,
    Drop(DropReason),
}

impl Signals {
    /// How `action` is signalled to a packet that is ECN-capable or not.
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

impl<P: Packet> Qdisc<P> for Red<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let action = self.action(&packet, now);
        let verdict = self.signals.verdict(action, packet.ecn().is_capable());
        if let Verdict::Drop(reason) = verdict {
            return single_queue::refuse(packet, reason, now, obs);
        }
        if !self.limit.admits(self.queue.backlog(), packet.len()) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        if let Verdict::Mark = verdict {
            mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        self.queue.accept(packet, now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let Some(packet) = self.queue.pop() else {
            self.law.idle(now);
            return None;
        };
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        self.next_update
    }

    fn update(&mut self, now: Time) {
        match &mut self.law {
            Law::Linux(law) => law.adapt(now),
            Law::Floyd(_, law) => law.adapt(now),
        }
        self.next_update = Some(now + ADAPTATION);
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if rate.is_zero() || rate.is_unlimited() {
            return;
        }
        self.link.rate = rate;
        self.limit = match self.limit.at(&self.settings, self.link) {
            // The average counts in 32 bits.
            Limit::Bytes(bytes) => Limit::Bytes(bytes.min(Bytes::new(u32::MAX.into()))),
            packets => packets,
        };
        let Ok(config) = Config::of(&self.settings, self.link) else {
            return;
        };
        if !self.law.has(&config.law) {
            let mut law = Law::new(&config.law);
            law.inherit(&self.law, config.adaptive);
            self.law = law;
        }
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let config = Config::of(&settings, self.link)?;
        let mut law = Law::new(&config.law);
        if let Law::Floyd(..) = law {
            let adapted = config.adaptive && self.next_update.is_some() && key != "probability";
            law.inherit(&self.law, adapted);
            let due = self.next_update.unwrap_or(now + ADAPTATION);
            self.next_update = config.adaptive.then_some(due);
        } else {
            self.next_update = config.adaptive.then_some(now + ADAPTATION);
        }
        self.law = law;
        self.limit = config.limit;
        self.signals = config.signals;
        self.settings = settings;
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
        match &mut self.law {
            Law::Linux(law) => law.restart(),
            Law::Floyd(_, law) => law.restart(),
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        let count = |n| Gauge::Count(i64::try_from(n).unwrap_or(i64::MAX));
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        match &self.law {
            Law::Linux(law) => {
                tell("average_bytes", count(law.average()));
                let probability = f64::from(law.probability()) / f64::from(u32::MAX);
                tell("max_probability", Gauge::Ratio(probability));
            }
            Law::Floyd(unit, law) => {
                let name = match unit {
                    Unit::Packets => "average_packets",
                    Unit::Bytes => "average_bytes",
                };
                tell(name, count(law.average()));
                tell("max_probability", Gauge::Ratio(law.probability().as_f64()));
            }
        }
        self.limit.tell(tell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::TestPacket;

    #[test]
    fn an_idle_queue_is_small() {
        // What the head of this file states; the settings hold one value per parameter on the heap.
        let heap = parameters::TABLE.len() * size_of::<Option<crate::parameter::Value>>();
        assert!(size_of::<Red<TestPacket>>() + heap < 900);
        assert_eq!(size_of::<tc::IdleTable>(), 260);
    }
}
