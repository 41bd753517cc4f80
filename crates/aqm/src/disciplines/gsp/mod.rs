//! Global Synchronization Protection (GSP): drop-tail that drops one packet and then waits for its effect.
//!
//! Sources: the slides of draft-lauten-aqm-gsp-00 (IETF 89); Lautenschlaeger and Francini, HPSR 2015 (arXiv 1602.05333), through
//! two ports that restate or quote it: github.com/Tarun-Karthik/Implementation-of-GSP-in-NS3 (the ns-3 port) and
//! github.com/sibanez12/P4-examples, AQM/GSP (the P4 port). On arrival of a packet, with `q` what waits without it:
//!
//! ```text
//! if q > threshold and now > expiry:  expiry := now + timeout; drop the packet
//! else if it does not fit the limit:  drop it
//! else:                               accept it
//! ```
//!
//! The timeout is `interval`, or shorter if `adaptive`: see [`adaptation`]. Where the sources leave something open:
//!
//! 1. Whether `q` includes the arriving packet is `count_arriving`; the packet in service is never part of it.
//! 2. Which of the two tests comes first is `limit_first`; whether a loss to the limit begins a timeout, `overflow_restarts`.
//! 3. The unit of `q` is that of the threshold. A threshold in time is compared with the backlog at the link's rate, or with the
//!    sojourn time of the last packet that left (`delay`), which counts as zero once the queue is empty; the ns-3 port keeps it.
//!    While the link stands still its last rate counts.
//! 4. Marking (`ecn`) is an extension. A packet that would be marked but does not fit is dropped as without ECN.
//! 5. A changed interval counts from the next drop on; a lowered limit drops nothing that waits, as in Linux's FIFO.
//! 6. The draft's texts and the paper's full text were not at hand.
//! 7. What the ports do wrong is not kept: one turns a threshold in time upside down, takes sojourn times for times above, adds them
//!    anew at each arrival, has a fixed interval of 0.2 s and mixes packets with bytes; the other integrates twice.
//!
//! Needs: the clock; the rate if threshold or limit is a time; time stamps only for `delay = "sojourn"`. No randomness.
//! Promises: the same calls have the same fate whatever the seed; drops of its own are never closer than the timeout. Does not:
//! share fairly, or bound the delay below the limit: with more flows than the time between the drops of one flow has intervals,
//! the basic form fills the buffer. An idle queue is 256 bytes and the settings (24 per parameter).
//!
//! | corner | test |
//! | --- | --- |
//! | strict comparisons, one drop per interval | `one_drop_at_the_first_violation_and_then_after_the_interval` |
//! | open points 1 to 4 | `open_points_are_options` |
//! | time and timeout, overflow, departures | `tests/gsp.rs`: an exact account of random runs |
//! | the share of time above; decay; alpha = 1 | `tests/gsp.rs` |
//! | change of rate and parameters | `a_threshold_in_time_follows_the_rate_but_not_an_outage`, `changes_keep_what_is_booked` |

mod adaptation;
mod parameters;
mod test_cases;
#[cfg(test)]
mod tests;

use adaptation::{Adaptation, Mode};
use parameters::{Config, Parameters, Threshold};

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, refuse};
use crate::units::{Bytes, Time, name_of};

/// A queue with Global Synchronization Protection.
pub type Gsp<P> = SingleBuffer<P, GspController>;

impl QueueKind for GspController {
    const ENTRY: Entry = Entry {
        name: "gsp",
        summary: "Global Synchronization Protection: drop-tail that drops single packets in time, so that flows do not back off together.",
        source: "draft-lauten-aqm-gsp (slides of IETF 89); HPSR 2015, arXiv 1602.05333 (through its ns-3 and P4 ports)",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct GspController {
    config: Config,
    /// Sojourn time of the last packet that left; zero once the queue is empty.
    last_sojourn: Time,
    /// GSP drops nothing until after this; `None` before the first timeout.
    expiry: Option<Time>,
    adaptation: Option<Adaptation>,
}

impl GspController {
    /// The timeout of a drop at `now`.
    fn timeout(&self, now: Time) -> Time {
        let interval = self.config.interval;
        self.adaptation
            .map_or(interval, |adaptation| adaptation.timeout(interval, now))
    }

    /// Whether the queue is above its threshold when a packet of `len` arrives.
    #[inline]
    fn is_violated_by<P: Packet>(&self, queue: &SingleQueue<P>, len: Bytes) -> bool {
        let mut backlog = queue.backlog();
        if self.config.count_arriving {
            backlog.add(len);
        }
        let threshold = self.config.threshold;
        threshold.is_exceeded(backlog, self.last_sojourn)
    }

    /// Counts the time until `now`, before anything changes.
    #[inline]
    fn touch(&mut self, now: Time) {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.touch(now);
        }
    }

    /// Follows a change of the queue, its threshold or the last sojourn time.
    #[inline]
    fn moved<P: Packet>(&mut self, queue: &SingleQueue<P>) {
        let empty = queue.is_empty();
        if empty {
            self.last_sojourn = Time::ZERO;
        }
        if let Some(adaptation) = &mut self.adaptation {
            let threshold = self.config.threshold;
            let above = threshold.is_exceeded(queue.backlog(), self.last_sojourn);
            adaptation.moved(above, empty);
        }
    }

    /// The limit refuses `packet`.
    fn lose<P: Packet>(
        &mut self,
        queue: &SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        if self.config.overflow_restarts {
            self.expiry = Some(now + self.timeout(now));
        }
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.overflowed(queue.is_empty());
        }
        refuse(packet, DropReason::Limit, now, obs);
    }
}

impl ControlLaw for GspController {
    type Parameters = Parameters;

    /// Refuses a threshold that is not below the limit, and switches that would have no effect.
    fn new(parameters: &Parameters, link: Link, _random: Random) -> Result<Self, ParameterError> {
        parameters::check_threshold(parameters, link.rate)?;
        parameters::check_switches(parameters)?;
        let config = Config::of(parameters, link.rate);
        Ok(Self {
            adaptation: config
                .adaptation
                .map(|coefficients| Adaptation::new(coefficients, Time::ZERO, false)),
            config,
            last_sojourn: Time::ZERO,
            expiry: None,
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
        self.touch(now);
        let len = packet.len();
        let fits = queue.has_room_for(len);
        let is_looked_at = fits || !self.config.limit_first;
        if is_looked_at
            && self.is_violated_by(queue, len)
            && self.expiry.is_none_or(|expiry| now > expiry)
        {
            self.expiry = Some(now + self.timeout(now));
            if !(self.config.ecn && fits && packet.ecn().is_capable()) {
                return refuse(packet, DropReason::Aqm, now, obs);
            }
            mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        if !fits {
            return self.lose(queue, packet, now, obs);
        }
        queue.accept(packet, now, obs);
        self.moved(queue);
    }
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        self.touch(now);
        let packet = queue.pop()?;
        self.last_sojourn = packet.sojourn(now);
        self.moved(queue);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn adopt(&mut self, parameters: &Parameters, link: Link) {
        self.config = Config::of(parameters, link.rate);
    }
    fn set_rate<P: Packet>(
        &mut self,
        parameters: &Parameters,
        link: Link,
        queue: &SingleQueue<P>,
        now: Time,
    ) {
        self.touch(now);
        self.adopt(parameters, link);
        self.moved(queue);
    }
    fn configure<P: Packet>(
        &mut self,
        parameters: &Parameters,
        key: &str,
        link: Link,
        queue: &SingleQueue<P>,
        now: Time,
    ) -> Result<(), ParameterError> {
        // A change of rate may have brought the two together, which is not the fault of any other key.
        if key == LIMIT || key == name_of!(Parameters, threshold) {
            parameters::check_threshold(parameters, link.rate)?;
        }
        parameters::check_switches(parameters)?;
        self.touch(now);
        self.adopt(parameters, link);
        match (&mut self.adaptation, self.config.adaptation) {
            (Some(adaptation), Some(coefficients)) => adaptation.set_coefficients(coefficients),
            (adaptation, coefficients) => {
                *adaptation =
                    coefficients.map(|coefficients| Adaptation::new(coefficients, now, false));
            }
        }
        self.moved(queue);
        Ok(())
    }
    fn drained<P: Packet>(&mut self, queue: &SingleQueue<P>, now: Time) {
        self.touch(now);
        self.moved(queue);
    }

    /// `timeout` is that of a drop now; `overflow` is 0 while time below counts, 1 after a loss to the limit, 2 once the queue has been
    /// empty since.
    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        match self.config.threshold {
            Threshold::Packets(packets) => report("threshold_packets", Gauge::count(packets)),
            Threshold::Bytes(bytes) => report("threshold_bytes", Gauge::count(bytes.get())),
            Threshold::Sojourn(sojourn) => report("threshold_sojourn", Gauge::Delay(sojourn)),
        }
        queue.limit.report(report);
        report("timeout", Gauge::Delay(self.timeout(now)));
        if let Some(adaptation) = &self.adaptation {
            report("cumulative_time", Gauge::Delay(adaptation.cumulative(now)));
            let overflow = match adaptation.mode {
                Mode::Clear => 0,
                Mode::Overflow => 1,
                Mode::Drained => 2,
            };
            report("overflow", Gauge::Count(overflow));
        }
    }
}
