//! CSAQM: the Core-Stateless AQM on a single queue, which shares a link by packet values without knowing a flow.
//!
//! Source: "Towards a Congestion Control-Independent Core-Stateless AQM" (ANRW 2018), of which only the abstract could be had: arbitrary
//! congestion controls and rich sharing policies on one queue. So the procedure is that of [`vdq_csaqm`](crate::disciplines::vdq_csaqm) with one queue of
//! each kind, derived in the same way: a packet whose value is not above the congestion threshold value is marked if it can carry a
//! mark (`ecn`) and dropped if not.
//!
//! The threshold is computed every `interval` from a virtual queue served at C_v < C (`measure = "virtual"`), which keeps the queue
//! itself all but empty, or from what stands in the queue (`measure = "queue"`), which uses the whole link and lets `target` stand. In a virtual queue dropped packets leave at once and marked ones stay, because they use the link.
//!
//! The numbered remarks of `vdq_csaqm` on CE that comes in, on equal values and on overhead hold here too. What differs: packets that can be
//! marked and packets that cannot wait for each other, so there is one delay for both (the later publication gives this as the reason for two queues).
//!
//! Needs: values, an update every interval, the link's rate; no randomness. Promises: what `vdq_csaqm` promises of its Classic queue, and with
//! `measure = "queue"` and variant q a backlog of `target` under a load above the link; what is sent waits shorter, because what is dropped
//! takes no time. Does not: give any flow low delay while another builds a queue. Memory: half of `vdq_csaqm`; 16 bytes beside each packet.
//!
//! | corner case | test |
//! | --- | --- |
//! | max-min shares, both measures; the queue held at its target | `tests/vdq_csaqm.rs`: `the_single_queue_shares_by_values_too` |
//! | mark what can be marked, drop the rest | `what_can_be_marked_is_marked_and_the_rest_dropped` |
//! | records equal the queue where it is measured itself | `measured_itself_the_queue_is_its_own_record` |
//! | refused: targets beyond the virtual queue, serving rates above the link | `what_cannot_be_is_refused` |

mod test_cases;

use alloc::collections::VecDeque;

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Amount, ParameterError, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::SingleQueue;
use crate::units::{Frequency, Rate, Time, name_of, parameters, words};
use crate::virtual_queue::law::{self, Gains};
use crate::virtual_queue::parameters::{
    ALPHA, BETA, INTERVAL, RECOVERY, ROW, SERVING_RATE, TARGET_OF_CLASSIC, VARIANT, VQ_LIMIT,
    ValueParameters, Values, Variant, check_target, value_rows,
};
use crate::virtual_queue::{Position, Shape, VirtualQueue};

const VIRTUAL: (&str, &str) = ("measure", "virtual");

words! {
    /// The backlog from which the threshold is computed.
    pub(crate) enum Measure {
        Virtual = "virtual",
        Queue = "queue",
    }
}

parameters! {
    /// The parameters of CSAQM.
    pub struct Parameters {
        variant: Variant = VARIANT,
        /// What the threshold is computed from: a virtual queue served at serving_rate, or what waits in the queue
        /// itself.
        measure: Measure = ROW.default("virtual").fixed().source("quell; virtual: slides of ANRW 2020"),
        /// Delay target D of the queue that is measured.
        target: Time = TARGET_OF_CLASSIC,
        /// Serving rate C_v of the virtual queue, as a part of the link's rate; at most 1. The link is used to this
        /// degree.
        serving_rate: u64 = SERVING_RATE.only(VIRTUAL),
        vq_limit: Time = VQ_LIMIT.only(VIRTUAL),
        interval: Time = INTERVAL,
        recovery: Time = RECOVERY,
        alpha: Frequency = ALPHA,
        beta: Frequency = BETA,
        limit: Amount = LIMIT_ROW.default("250ms").source("quell; as vdq_csaqm"),
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = ROW.opposite("noecn").default("true").source("slides of ANRW 2020: drop (or ECN mark)"),
        ..values: ValueParameters = value_rows(None),
    }
}

/// A CSAQM queue.
pub type Csaqm<P> = SingleBuffer<P, CsaqmController>;

impl QueueKind for CsaqmController {
    const ENTRY: Entry = Entry {
        name: "csaqm",
        summary: "Core-stateless AQM: one queue whose traffic shares the link by packet values.",
        source: "Nádas et al., ANRW 2018 (abstract) and ANRW 2020",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct CsaqmController {
    measure: Measure,
    interval: Time,
    ecn: bool,
    values: Values,
    /// Present rate of the link, which may be zero.
    rate: Rate,
    /// The value of each packet in the queue and the position of its record, in the queue's order.
    records: VecDeque<(u16, Position)>,
    measured: VirtualQueue,
    next_update: Time,
}

/// The virtual queue, or one that the link alone serves; refuses a target that it can never exceed.
fn shape(parameters: &Parameters) -> Result<Shape, ParameterError> {
    let Parameters {
        target, vq_limit, ..
    } = *parameters;
    Ok(match parameters.measure {
        Measure::Virtual => {
            check_target(name_of!(Parameters, target), target, vq_limit)?;
            Shape {
                serving_rate: Some(parameters.serving_rate),
                target,
                limit: vq_limit,
            }
        }
        Measure::Queue => Shape {
            serving_rate: None,
            target,
            limit: Time::MAX,
        },
    })
}

fn gains(parameters: &Parameters) -> Gains {
    Gains {
        alpha: parameters.alpha,
        beta: parameters.beta,
        recovery: parameters.recovery,
    }
}

impl ControlLaw for CsaqmController {
    type Parameters = Parameters;

    /// The first update is due after one interval.
    fn new(parameters: &Parameters, link: Link, _random: Random) -> Result<Self, ParameterError> {
        let values = Values::of(&parameters.values);
        let law = law::ThresholdLaw::new(parameters.variant, gains(parameters), values.highest());
        Ok(Self {
            measure: parameters.measure,
            interval: parameters.interval,
            ecn: parameters.ecn,
            values,
            rate: link.rate,
            records: VecDeque::new(),
            measured: VirtualQueue::new(shape(parameters)?, law, link, values.highest()),
            next_update: parameters.interval,
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        packet: &mut P,
        _ahead: Backlog,
        now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        let value = self.values.count(packet.value());
        let record = self.measured.admit(value, packet.len(), now);
        self.records.push_back((value, record));
        None
    }
    #[inline]
    fn leaving<P: Packet>(
        &mut self,
        packet: &mut P,
        _left: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        let (value, record) = self.records.pop_front()?;
        let signalled = value <= self.measured.threshold();
        let dropped = signalled && (!self.ecn || packet.ecn() == Ecn::NotEct);
        if dropped || self.measure == Measure::Queue {
            self.measured.cancel(record, now);
        }
        if dropped {
            return Some(DropReason::Value);
        }
        if signalled {
            mark(packet, QueueId::SINGLE, MarkReason::Value, now, obs);
        }
        None
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn update<P: Packet>(&mut self, _queue: &SingleQueue<P>, now: Time) {
        self.measured.update(now);
        self.next_update = now + self.interval;
    }

    fn adopt(&mut self, parameters: &Parameters, _link: Link) {
        self.interval = parameters.interval;
        self.ecn = parameters.ecn;
        self.values = Values::of(&parameters.values);
    }
    fn set_rate<P: Packet>(
        &mut self,
        _parameters: &Parameters,
        link: Link,
        _queue: &SingleQueue<P>,
        now: Time,
    ) {
        self.rate = link.rate;
        self.measured.set_rate(link.rate, now);
    }
    fn stop(&mut self, now: Time) {
        self.rate = Rate::ZERO;
        self.measured.set_rate(Rate::ZERO, now);
    }
    fn configure<P: Packet>(
        &mut self,
        parameters: &Parameters,
        _key: &str,
        link: Link,
        _queue: &SingleQueue<P>,
        now: Time,
    ) -> Result<(), ParameterError> {
        let shape = shape(parameters)?;
        self.adopt(parameters, link);
        let present = Link {
            rate: self.rate,
            ..link
        };
        self.measured.configure(shape, present, now);
        self.measured.set_gains(gains(parameters));
        Ok(())
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, now: Time) {
        for (_, record) in self.records.drain(..) {
            self.measured.cancel(record, now);
        }
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        report("ctv", Gauge::Count(self.measured.threshold().into()));
        if self.measure == Measure::Virtual {
            report("virtual_delay", Gauge::Delay(self.measured.delay(now)));
        }
        if let Some(probability) = self.measured.probability() {
            report("probability", Gauge::Ratio(probability.as_f64()));
        }
        queue.limit.report(report);
    }
}

#[cfg(test)]
mod tests;
