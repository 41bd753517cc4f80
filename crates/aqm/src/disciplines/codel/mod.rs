//! CoDel: drops at the head while the delay of every packet has been above `target` for `interval`, ever faster.
//!
//! The first drop comes after one interval above target, the next `interval/√count` after the one before, until a packet waited less
//! than the target or no more than an MTU is left behind the head. If the delay comes back within 16 intervals, the rate of drops does.
//!
//! Two forms share one set of parameters. This table shows all their differences; the heads of the two files list where the code
//! deviates from its source.
//!
//! |                        | `linux` (6.18, [`linux`])                        | `rfc8289` (section 5, [`rfc8289`])     |
//! | ---------------------- | ------------------------------------------------ | -------------------------------------- |
//! | time                   | units of 1 024 ns, 32 bits that wrap             | nanoseconds                            |
//! | interval/√count        | 16-bit fraction, one Newton step for each signal | exact, rounded down                    |
//! | first interval         | interval · (1 − 2⁻¹⁶)                            | interval                               |
//! | a signal is possible   | *after* an interval above target                 | *from* an interval above target on     |
//! | `count` on coming back | `count` − `lastcount`, and one Newton step       | `count` − `lastcount`, exact           |
//! | ECN                    | mark, one for each packet sent                   | not in the RFC's code; as in Linux     |
//! | `ce_threshold`         | yes; the selector is `fq_codel`'s                | none                                   |
//!
//! The rule for coming back is the same: RFC 8289 took over Linux's. So is the rule that spares the last packets: no more than an MTU
//! left. Both count IP lengths here (Linux: with the link header, and an MTU of 1 514).
//!
//! The limit may also be in bytes or in time at the link's rate; Linux knows packets. Lowering it drops from the head, as Linux's
//! `change` does; a lower rate only refuses. There is no bypass of an empty qdisc.
//!
//! Needs: arrival times. No rate (but for a limit in time), no randomness, no timer. Promises: a standing delay near the target for
//! responsive traffic. Does not: isolate flows, or bound the delay of traffic that does not respond (the drop rate grows linearly in
//! time; with ECN it never drops what can be marked until the limit). An idle queue is 192 bytes and the
//! settings (24 per parameter).
//!
//! | corner case                                        | test                                                          |
//! | -------------------------------------------------- | ------------------------------------------------------------- |
//! | no drop before an interval has passed              | `drops_nothing_until_an_interval_above_target_has_passed`     |
//! | a packet below target starts the interval anew     | `one_packet_below_target_starts_the_interval_again`           |
//! | drop times                                         | `drops_come_at_interval_over_root_count_exactly`              |
//! | no drop with an MTU or less left                   | `the_last_mtu_is_never_dropped`, `exactly_an_mtu_left_…`      |
//! | coming back within 16 intervals                    | `a_queue_that_comes_back_soon_is_dropped_from_at_the_old_rate`|
//! | the clock wraps                                    | `the_fate_of_packets_does_not_depend_on_the_time_of_day`      |
//! | state of an emptied queue                          | `an_empty_queue_forgets_that_it_was_above_target`             |

#[doc(hidden)]
pub mod linux;
pub(crate) mod parameters;
mod rfc8289;
mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, Parameter, ParameterError, Table as _};
use crate::qdisc::{Gauge, Link};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::SingleQueue;
use crate::units::{Bytes, Time, parameters, words};

const LINUX: (&str, &str) = ("form", "linux");

words! {
    /// The word of `form`.
    pub(crate) enum Form {
        Linux = "linux",
        Rfc8289 = "rfc8289",
    }
}

parameters! {
    /// The parameters of CoDel.
    pub struct Parameters {
        /// Linux's CoDel to the integer, or the pseudocode of RFC 8289.
        form: Form = Parameter::FIXED.default("linux").source("quell"),
        limit: Amount = LIMIT_ROW.default("1000p").source("tc-codel(8)"),
        ..codel: self::parameters::Parameters = self::parameters::rows(Some(LINUX)),
    }
}

/// A queue from which CoDel takes packets.
pub(crate) trait Source<P> {
    /// Removes the head without a word to the observer.
    fn pop(&mut self) -> Option<P>;
    /// Bytes that are left, as the rule of the last MTU counts them.
    fn backlog(&self) -> Bytes;
}

impl<P: Packet> Source<P> for SingleQueue<P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        SingleQueue::pop(self)
    }
    #[inline]
    fn backlog(&self) -> Bytes {
        SingleQueue::backlog(self).bytes
    }
}

/// A CoDel queue.
pub type Codel<P> = SingleBuffer<P, CodelController>;

impl QueueKind for CodelController {
    const ENTRY: Entry = Entry {
        name: "codel",
        summary: "Controlled Delay: drops at the head while the delay stays above a target.",
        source: "RFC 8289; Linux codel_impl.h, sch_codel.c (6.18)",
        parameters: Parameters::ROWS,
    };
}

/// The control law of one of the forms, and its state.
#[derive(Debug)]
pub struct CodelController(CodelForm);

#[derive(Debug)]
enum CodelForm {
    Linux(linux::LinuxCodel, linux::Vars),
    Rfc8289(rfc8289::Rfc8289Codel, rfc8289::Vars),
}

impl CodelController {
    /// The link has found the queue empty.
    #[inline]
    fn found_empty(&mut self) {
        match &mut self.0 {
            CodelForm::Linux(_, vars) => vars.found_empty(),
            CodelForm::Rfc8289(_, vars) => vars.found_empty(),
        }
    }
}

impl<P> Codel<P> {
    /// The state of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> Option<&linux::Vars> {
        match &self.law.0 {
            CodelForm::Linux(_, vars) => Some(vars),
            CodelForm::Rfc8289(..) => None,
        }
    }
}

impl ControlLaw for CodelController {
    type Parameters = Parameters;
    /// The kernel's `codel_change` drops them.
    const LOWERED_LIMIT_DROPS: bool = true;

    fn new(parameters: &Parameters, link: Link, _random: Random) -> Result<Self, ParameterError> {
        let (codel, mtu) = (&parameters.codel, link.mtu);
        Ok(Self(match parameters.form {
            Form::Linux => {
                CodelForm::Linux(linux::LinuxCodel::of(codel, mtu)?, linux::Vars::default())
            }
            Form::Rfc8289 => CodelForm::Rfc8289(
                rfc8289::Rfc8289Codel::of(codel, mtu),
                rfc8289::Vars::default(),
            ),
        }))
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = match &mut self.0 {
            CodelForm::Linux(law, vars) => law.dequeue(vars, queue, now, obs),
            CodelForm::Rfc8289(law, vars) => law.dequeue(vars, queue, now, obs),
        }?;
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }
    #[inline]
    fn pass<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        if !queue.is_empty() || !queue.has_room_for(packet.len()) {
            self.enqueue(queue, packet, now, obs);
            return self.dequeue(queue, now, obs);
        }
        // It has not waited, and nothing is left: below target.
        self.found_empty();
        obs.enqueued(QueueId::SINGLE, &packet, now);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    /// The rate concerns the limit alone.
    fn adopt(&mut self, _parameters: &Parameters, _link: Link) {}
    fn configure<P: Packet>(
        &mut self,
        parameters: &Parameters,
        _key: &str,
        link: Link,
        _queue: &SingleQueue<P>,
        _now: Time,
    ) -> Result<(), ParameterError> {
        let (codel, mtu) = (&parameters.codel, link.mtu);
        match &mut self.0 {
            CodelForm::Linux(law, _) => *law = linux::LinuxCodel::of(codel, mtu)?,
            CodelForm::Rfc8289(law, _) => *law = rfc8289::Rfc8289Codel::of(codel, mtu),
        }
        Ok(())
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        match &mut self.0 {
            CodelForm::Linux(_, vars) => *vars = linux::Vars::default(),
            CodelForm::Rfc8289(_, vars) => *vars = rfc8289::Vars::default(),
        }
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        let (count, last_count, dropping) = match &self.0 {
            CodelForm::Linux(_, vars) => (vars.count, vars.last_count, vars.dropping),
            CodelForm::Rfc8289(_, vars) => (vars.count, vars.last_count, vars.dropping),
        };
        report("count", Gauge::Count(count.into()));
        report("lastcount", Gauge::Count(last_count.into()));
        report("dropping", Gauge::Count(dropping.into()));
    }
}

#[cfg(test)]
mod tests;
