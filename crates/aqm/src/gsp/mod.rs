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
#[cfg(test)]
mod tests;

use adaptation::{Adaptation, Mode};
use parameters::{Config, Threshold};

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::qdisc::{self, Backlog, Gauge, Kind, Link, Qdisc};
use crate::single_queue::{self, SingleQueue};
use crate::units::{Bytes, Rate, Time};

/// A queue with Global Synchronization Protection.
#[derive(Debug)]
pub struct Gsp<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    config: Config,
    queue: SingleQueue<P>,
    /// Of the last packet that left; zero once the queue is empty.
    last_sojourn: Time,
    /// GSP drops nothing until after this; `None` before the first timeout.
    expiry: Option<Time>,
    adaptation: Option<Adaptation>,
}

impl<P> Kind for Gsp<P> {
    const NAME: &'static str = "gsp";
    const SUMMARY: &'static str = "Global Synchronization Protection: drop-tail that drops single packets in time, so that flows do not back off together.";
    const SOURCE: &'static str = "draft-lauten-aqm-gsp (slides of IETF 89); HPSR 2015, arXiv 1602.05333 (through its ns-3 and P4 ports)";
    const PARAMETERS: &'static [Parameter] = parameters::TABLE;
}

impl<P: Packet> Gsp<P> {
    /// An empty queue.
    pub fn new(settings: Settings, link: Link) -> Result<Self, ParameterError> {
        let config = Config::of(&settings, link)?;
        Ok(Self {
            adaptation: config
                .law
                .map(|law| Adaptation::new(law, Time::ZERO, false)),
            config,
            link,
            queue: SingleQueue::new(),
            last_sojourn: Time::ZERO,
            expiry: None,
            settings,
        })
    }

    /// The timeout of a drop at `now`.
    fn timeout(&self, now: Time) -> Time {
        let interval = self.config.interval;
        self.adaptation
            .map_or(interval, |adaptation| adaptation.timeout(interval, now))
    }

    /// Whether the queue is above its threshold when a packet of `len` arrives.
    #[inline]
    fn is_violated_by(&self, len: Bytes) -> bool {
        let mut backlog = self.queue.backlog();
        if self.config.count_arriving {
            backlog.add(len);
        }
        self.config
            .threshold
            .is_exceeded(backlog, self.last_sojourn)
    }

    /// Books the time until `now`, before anything changes.
    #[inline]
    fn touch(&mut self, now: Time) {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.touch(now);
        }
    }

    /// Takes up what the queue, its threshold or the last sojourn time has become.
    #[inline]
    fn moved(&mut self) {
        let empty = self.queue.is_empty();
        if empty {
            self.last_sojourn = Time::ZERO;
        }
        if let Some(adaptation) = &mut self.adaptation {
            let threshold = self.config.threshold;
            let above = threshold.is_exceeded(self.queue.backlog(), self.last_sojourn);
            adaptation.moved(above, empty);
        }
    }

    fn lose(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        if self.config.overflow_restarts {
            self.expiry = Some(now + self.timeout(now));
        }
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.overflowed(self.queue.is_empty());
        }
        single_queue::refuse(packet, DropReason::Limit, now, obs);
    }
}

impl<P: Packet> Qdisc<P> for Gsp<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        self.touch(now);
        let len = packet.len();
        let fits = self.config.limit.admits(self.queue.backlog(), len);
        let is_looked_at = fits || !self.config.limit_first;
        if is_looked_at && self.is_violated_by(len) && self.expiry.is_none_or(|expiry| now > expiry)
        {
            self.expiry = Some(now + self.timeout(now));
            if !(self.config.ecn && fits && packet.ecn().is_capable()) {
                return single_queue::refuse(packet, DropReason::Aqm, now, obs);
            }
            qdisc::mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        if !fits {
            return self.lose(packet, now, obs);
        }
        self.queue.accept(packet, now, obs);
        self.moved();
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        self.touch(now);
        let packet = self.queue.pop()?;
        self.last_sojourn = packet.sojourn(now);
        self.moved();
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn set_rate(&mut self, rate: Rate, now: Time, _obs: &mut impl Observer<P>) {
        if rate.is_zero() {
            return;
        }
        self.touch(now);
        self.link.rate = rate;
        // Not refused here, however small: the rate is what it is.
        let limit = self.config.limit.at(&self.settings, self.link);
        self.config = Config::with(&self.settings, rate, limit);
        self.moved();
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let config = if matches!(key, "limit" | "threshold") {
            Config::of(&settings, self.link)?
        } else {
            parameters::switches(&settings)?;
            Config::with(&settings, self.link.rate, self.config.limit)
        };
        self.touch(now);
        (self.config, self.settings) = (config, settings);
        match (&mut self.adaptation, config.law) {
            (Some(adaptation), Some(law)) => adaptation.set_law(law),
            (adaptation, law) => {
                *adaptation = law.map(|law| Adaptation::new(law, now, false));
            }
        }
        self.moved();
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.touch(now);
        self.queue.drain(now, obs);
        self.moved();
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// `delay` is the head's; `timeout` that of a drop now; `overflow` is 0 while time below counts, 1 after a loss to the limit,
    /// 2 once the queue has been empty since.
    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        let count = |n: u64| Gauge::Count(i64::try_from(n).unwrap_or(i64::MAX));
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        match self.config.threshold {
            Threshold::Packets(packets) => tell("threshold_packets", count(packets)),
            Threshold::Bytes(bytes) => tell("threshold_bytes", count(bytes.get())),
            Threshold::Sojourn(sojourn) => tell("threshold_sojourn", Gauge::Delay(sojourn)),
        }
        self.config.limit.tell(tell);
        tell("timeout", Gauge::Delay(self.timeout(now)));
        if let Some(adaptation) = &self.adaptation {
            tell("cumulative_time", Gauge::Delay(adaptation.cumulative(now)));
            let overflow = match adaptation.mode {
                Mode::Clear => 0,
                Mode::Overflow => 1,
                Mode::Drained => 2,
            };
            tell("overflow", Gauge::Count(overflow));
        }
    }
}
