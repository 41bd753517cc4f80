//! CoDel: drops at the head while the delay of every packet has been above `target` for `interval`, ever faster.
//!
//! The first drop comes after one interval above target, the next `interval/√count` after the one before, until a packet waited less
//! than the target or no more than an MTU is left behind the head. If the delay comes back within 16 intervals, the rate of drops does.
//!
//! Two forms behind one set of parameters. They differ in nothing else than this table; the heads of the two files say where the code
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

use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc};
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Bytes, Rate, Time};
use parameters::{CeThreshold, ROW};

/// Where CoDel takes packets from.
pub(crate) trait Source<P> {
    /// Takes the head out without telling anybody.
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
#[derive(Debug)]
pub struct Codel<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    form: Form,
    queue: SingleQueue<P>,
}

#[derive(Debug)]
enum Form {
    Linux(linux::Law, linux::Vars),
    Rfc8289(rfc8289::Law, rfc8289::Vars),
}

impl<P> Kind for Codel<P> {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str =
        "Controlled Delay: drops at the head while the delay stays above a target.";
    const SOURCE: &'static str = "RFC 8289; Linux codel_impl.h, sch_codel.c (6.18)";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

const LINUX: Option<(&str, &str)> = Some(("form", "linux"));

const TABLE: &[Parameter] = &[
    Parameter {
        name: "form",
        domain: Domain::Word(&["linux", "rfc8289"]),
        default: Preset::Is("linux"),
        live: false,
        source: "quell",
        help: "Linux's CoDel to the integer, or the pseudocode of RFC 8289.",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("1000p"),
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    parameters::TARGET,
    parameters::INTERVAL,
    parameters::ECN,
    Parameter {
        only: LINUX,
        ..parameters::CE_THRESHOLD
    },
    Parameter {
        only: LINUX,
        ..parameters::CE_THRESHOLD_SELECTOR
    },
    Parameter {
        only: LINUX,
        ..parameters::CE_THRESHOLD_MASK
    },
];

impl<P> Codel<P> {
    /// The state of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> Option<&linux::Vars> {
        match &self.form {
            Form::Linux(_, vars) => Some(vars),
            Form::Rfc8289(..) => None,
        }
    }
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    pub fn new(settings: Settings, link: Link) -> Result<Self, ParameterError> {
        let limit = Limit::of(&settings, link)?;
        let form = if settings.word("form") == "rfc8289" {
            Form::Rfc8289(rfc_law(&settings, link), rfc8289::Vars::default())
        } else {
            Form::Linux(linux_law(&settings, link)?, linux::Vars::default())
        };
        Ok(Self {
            settings,
            link,
            limit,
            form,
            queue: SingleQueue::new(),
        })
    }
}

fn linux_law(settings: &Settings, link: Link) -> Result<linux::Law, ParameterError> {
    Ok(linux::Law::new(
        settings.time("target"),
        settings.time("interval"),
        settings.flag("ecn"),
        CeThreshold::from_settings(settings)?,
        link.mtu,
    ))
}

fn rfc_law(settings: &Settings, link: Link) -> rfc8289::Law {
    rfc8289::Law {
        target: settings.time("target"),
        interval: settings.time("interval"),
        ecn: settings.flag("ecn"),
        mtu: link.mtu,
    }
}

impl Form {
    /// Takes over changed settings and keeps the state; on an error nothing changes.
    fn change(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError> {
        match self {
            Self::Linux(law, _) => *law = linux_law(settings, link)?,
            Self::Rfc8289(law, _) => *law = rfc_law(settings, link),
        }
        Ok(())
    }
    /// Nothing waits.
    #[inline]
    fn found_empty(&mut self) {
        match self {
            Self::Linux(_, vars) => vars.found_empty(),
            Self::Rfc8289(_, vars) => vars.found_empty(),
        }
    }
    fn forget(&mut self) {
        match self {
            Self::Linux(_, vars) => *vars = linux::Vars::default(),
            Self::Rfc8289(_, vars) => *vars = rfc8289::Vars::default(),
        }
    }
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        if !self.limit.admits(self.queue.backlog(), packet.len()) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        self.queue.accept(packet, now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = match &mut self.form {
            Form::Linux(law, vars) => law.dequeue(vars, &mut self.queue, now, obs),
            Form::Rfc8289(law, vars) => law.dequeue(vars, &mut self.queue, now, obs),
        }?;
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    #[inline]
    fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let admitted = self.limit.admits(Backlog::default(), packet.len());
        if !self.queue.is_empty() || !admitted {
            self.enqueue(packet, now, obs);
            return self.dequeue(now, obs);
        }
        // It has not waited, and nothing is left: below target.
        self.form.found_empty();
        obs.enqueued(QueueId::SINGLE, &packet, now);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if rate.is_zero() {
            return;
        }
        self.link.rate = rate;
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
        let limit = if key == "limit" {
            Limit::of(&settings, self.link)?
        } else {
            self.limit
        };
        self.form.change(&settings, self.link)?;
        self.settings = settings;
        self.limit = limit;
        if key == "limit" {
            self.queue.drop_heads_while(
                |backlog| limit.is_exceeded(backlog),
                DropReason::Reconfigured,
                now,
                obs,
            );
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
        self.form.forget();
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.limit.tell(tell);
        let (count, last_count, dropping) = match &self.form {
            Form::Linux(_, vars) => (vars.count, vars.last_count, vars.dropping),
            Form::Rfc8289(_, vars) => (vars.count, vars.last_count, vars.dropping),
        };
        tell("count", Gauge::Count(count.into()));
        tell("lastcount", Gauge::Count(last_count.into()));
        tell("dropping", Gauge::Count(dropping.into()));
    }
}

#[cfg(test)]
mod tests;
