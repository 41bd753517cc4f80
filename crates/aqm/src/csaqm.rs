//! CSAQM: the Core-Stateless AQM on a single queue, which shares a link by packet values without knowing a flow.
//!
//! Source: "Towards a Congestion Control-Independent Core-Stateless AQM" (ANRW 2018), of which only the abstract could be had: arbitrary
//! congestion controls and rich sharing policies on one queue. So the procedure is that of [`vdq_csaqm`](crate::vdq_csaqm) with one queue of
//! each kind, derived in the same way: a packet whose value is not above the congestion threshold value is marked if it can carry a
//! mark (`ecn`) and dropped if not.
//!
//! The threshold is computed every `interval` from a virtual queue served at C_v < C (`measure = "virtual"`), which keeps the queue
//! itself all but empty, or from what stands in the queue (`measure = "queue"`), which uses the whole link and lets `target` stand. In a virtual queue dropped packets leave at once and marked ones stay, because they use the link.
//!
//! The numbered remarks of `vdq_csaqm` on CE that comes in, on equal values and on overhead hold here too. What differs: packets that can be
//! marked and packets that cannot wait for each other, so there is one delay for both (the reason for two queues, says the later publication).
//!
//! Needs: values, an update every interval, the link's rate; no randomness. Promises: what `vdq_csaqm` promises of its Classic queue, and with
//! `measure = "queue"` and variant q a backlog of `target` under a load above the link; what is sent waits shorter, because what is dropped
//! takes no time. Does not: give low delay to anybody while anybody builds a queue. Memory: half of `vdq_csaqm`; 16 bytes beside each packet.
//!
//! | corner case | test |
//! | --- | --- |
//! | max-min shares, both measures; the queue held at its target | `tests/vdq_csaqm.rs`: `the_single_queue_shares_by_values_too` |
//! | mark what can be marked, drop the rest | `what_can_be_marked_is_marked_and_the_rest_dropped` |
//! | records equal the queue where it is measured itself | `measured_itself_the_queue_is_its_own_record` |
//! | refused: targets beyond the virtual queue, serving rates above the link | `what_cannot_be_is_refused` |

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::single_queue::{self, Limit};
use crate::units::{Rate, Time};
use crate::virtual_queue::parameters::{
    ALPHA, BETA, DEFAULT_VALUE, HIGHEST_VALUE, INTERVAL, RECOVERY, ROW, SERVING_RATE,
    TARGET_OF_CLASSIC, VARIANT, VQ_LIMIT, Values, gains, law, shape,
};
use crate::virtual_queue::{Entry, Shape, ValueQueue, VirtualQueue};

const VIRTUAL: Option<(&str, &str)> = Some(("measure", "virtual"));

const TABLE: &[Parameter] = &[
    VARIANT,
    Parameter {
        name: "measure",
        domain: Domain::Word(&["virtual", "queue"]),
        default: Preset::Is("virtual"),
        live: false,
        source: "quell; virtual: slides of ANRW 2020",
        help: "What the threshold is computed from: a virtual queue served at serving_rate, or what waits in the queue itself.",
        ..ROW
    },
    Parameter {
        name: "target",
        help: "Delay target D of the queue that is measured.",
        ..TARGET_OF_CLASSIC
    },
    Parameter {
        name: "serving_rate",
        only: VIRTUAL,
        help: "Serving rate C_v of the virtual queue, as a part of the link's rate; at most 1. The link is used to this degree.",
        ..SERVING_RATE
    },
    Parameter {
        only: VIRTUAL,
        ..VQ_LIMIT
    },
    INTERVAL,
    RECOVERY,
    ALPHA,
    BETA,
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("250ms"),
        source: "quell; as vdq_csaqm",
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        opposite: Some("noecn"),
        default: Preset::Is("true"),
        source: "slides of ANRW 2020: drop (or ECN mark)",
        help: "Mark ECN-capable packets instead of dropping them.",
        ..ROW
    },
    DEFAULT_VALUE,
    HIGHEST_VALUE,
];

/// A CSAQM queue.
#[derive(Debug)]
pub struct Csaqm<P> {
    settings: Settings,
    limit: Limit,
    interval: Time,
    ecn: bool,
    /// Whether packets leave their records behind when they are sent.
    is_virtual: bool,
    values: Values,
    /// With the last rate that was not zero, for the limit.
    link: Link,
    /// The present rate, which may be zero.
    rate: Rate,
    queue: ValueQueue<P, 1>,
    measured: VirtualQueue,
    next_update: Time,
}

/// The virtual queue, or one that is served by the link alone.
fn measured(settings: &Settings) -> Result<Shape, ParameterError> {
    if settings.word("measure") == "virtual" {
        return shape(settings, "serving_rate", "target");
    }
    Ok(Shape {
        serving_rate: None,
        target: settings.time("target"),
        limit: Time::MAX,
    })
}

impl<P> Kind for Csaqm<P> {
    const NAME: &'static str = "csaqm";
    const SUMMARY: &'static str =
        "Core-stateless AQM: one queue whose traffic shares the link by packet values.";
    const SOURCE: &'static str = "Nádas et al., ANRW 2018 (abstract) and ANRW 2020";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> Csaqm<P> {
    /// An empty queue. The first update is due after one interval.
    pub fn new(settings: Settings, link: Link) -> Result<Self, ParameterError> {
        let (values, interval) = (Values::of(&settings), settings.time("interval"));
        let law = law(&settings);
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            interval,
            ecn: settings.flag("ecn"),
            is_virtual: settings.word("measure") == "virtual",
            values,
            link,
            rate: link.rate,
            queue: ValueQueue::new(),
            measured: VirtualQueue::new(measured(&settings)?, law, link, values.highest()),
            next_update: interval,
            settings,
        })
    }

    fn reshape(&mut self, shape: Shape, now: Time) {
        let link = Link {
            rate: self.rate,
            ..self.link
        };
        self.measured.configure(shape, link, now);
        self.measured.set_gains(gains(&self.settings));
    }
}

impl<P: Packet> Qdisc<P> for Csaqm<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let len = packet.len();
        if !self.limit.admits(self.queue.backlog(), len) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        let value = self.values.count(packet.value());
        let records = [self.measured.admit(value, len, now)];
        obs.enqueued(QueueId::SINGLE, &packet, now);
        self.queue.push(Entry {
            packet,
            value,
            records,
        });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let Entry {
                mut packet,
                value,
                records: [record],
            } = self.queue.pop()?;
            let signalled = value <= self.measured.threshold();
            let dropped = signalled && (!self.ecn || packet.ecn() == Ecn::NotEct);
            if dropped || !self.is_virtual {
                self.measured.cancel(record, now);
            }
            if dropped {
                single_queue::drop_queued(packet, DropReason::Value, now, obs);
                continue;
            }
            if signalled {
                mark(&mut packet, QueueId::SINGLE, MarkReason::Value, now, obs);
            }
            obs.dequeued(QueueId::SINGLE, &packet, now);
            return Some(packet);
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        self.measured.update(now);
        self.next_update = now + self.interval;
    }

    fn set_rate(&mut self, rate: Rate, now: Time, _obs: &mut impl Observer<P>) {
        self.rate = rate;
        if !rate.is_zero() {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
        }
        self.reshape(self.measured.shape(), now);
    }

    /// A lowered limit drops nothing that waits: the queue only refuses until it fits.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let shape = measured(&settings)?;
        // Only a new limit can be wrong, also where the link has become too slow for one in time.
        if key == "limit" {
            self.limit = Limit::of(&settings, self.link)?;
        }
        self.interval = settings.time("interval");
        self.ecn = settings.flag("ecn");
        self.values = Values::of(&settings);
        self.settings = settings;
        self.reshape(shape, now);
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        while let Some(entry) = self.queue.pop() {
            self.measured.cancel(entry.records[0], now);
            single_queue::drop_queued(entry.packet, DropReason::Drained, now, obs);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        tell("ctv", Gauge::Count(self.measured.threshold().into()));
        if self.is_virtual {
            tell("virtual_delay", Gauge::Delay(self.measured.delay(now)));
        }
        if let Some(probability) = self.measured.probability() {
            tell("probability", Gauge::Ratio(probability.as_f64()));
        }
        self.limit.tell(tell);
    }
}

#[cfg(test)]
mod tests;
