//! COBALT (CoDel and BLUE alternate): CoDel for traffic that responds, BLUE for traffic that does not.
//!
//! Source: Linux `sch_cake.c` (6.18), `cobalt_*`, `cake_set_rate`, and the places of `cake_enqueue`, `cake_drop` and `cake_dequeue` that call
//! them; [`law`] is the state machine. CoDel signals by a mark where it can. BLUE's probability rises by `p_inc` with each overflow and
//! falls by `p_dec` with each service of an empty queue, once in `target` at most, and drops ECN-capable packets too. A queue that is full
//! has its head dropped after the new packet was accepted. The last packet may be marked but is never dropped.
//!
//! Deviations: 1. one queue; CAKE has one of these per flow. 2. "The queue turned out to be empty" is when the last packet has left the
//! link; CAKE notices when the flow's turn comes. Nothing decays while the link is idle, as in CAKE. 3. Lengths and the MTU are IP
//! lengths. 4. `limit` is this queue's own, in packets, bytes or time; CAKE knows only `memlimit`, whose default is its formula without
//! the wrap above 86 Gbit/s. 5. No ingress mode, so the delay is never compared with the number of bulk flows. 6. `ecn`, `p_inc`,
//! `p_dec` and `target` can be set; in CAKE they are constants or follow from `rtt`. 7. Drops by BLUE of packets that CoDel
//! may mark are reported as `overload`, those of others as `aqm`. 8. None of ns-3's additions (`BlueThreshold`, `CeThreshold`).
//!
//! A lower limit drops at the next arrival, as CAKE does, and a request to drain keeps the state.
//!
//! Needs: arrival times, the link's rate, randomness while BLUE is active, the end of transmissions. Promises: a standing delay near the
//! target for responsive traffic, and that unresponsive traffic cannot hold the queue full for long. Does not: isolate flows. An idle
//! queue is 224 bytes and the settings (24 per parameter).
//!
//! | corner case                                  | test                                                               |
//! | -------------------------------------------- | ------------------------------------------------------------------ |
//! | control law, cache, BLUE, whole machine      | `law::tests` (against big numbers and a plain model)               |
//! | overflow drops the head and steps BLUE       | `overflow_drops_the_head_and_raises_blue_once_in_a_target`         |
//! | the last packet                              | `the_last_packet_is_never_dropped`                                 |
//! | BLUE drops what CoDel would mark             | `blue_drops_ecn_capable_packets_too`                               |
//! | BLUE decays                                  | `blue_falls_when_the_link_has_nothing_left_to_send`                |
//! | low rates raise the target                   | `the_target_holds_one_and_a_half_packets`                          |

#[doc(hidden)]
pub mod law;
mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, drop_queued};
use crate::units::{Bytes, Time, parameters};
use law::{Params, Vars, Verdict};

/// A probability of one.
const ONE: u64 = 1 << 32;
/// CAKE's `sch->limit`, in packets of the MTU: the largest memory limit that CAKE derives.
const MOST_PACKETS: u64 = 10_240;
/// The smallest memory limit that CAKE derives.
const LEAST_MEMORY: u64 = 4 << 20;

const ROW: Parameter = Parameter::LIVE.default("true").source("sch_cake.c");
const SHORTEST: Time = Time::from_micros(1);
/// CAKE takes 32-bit microseconds, but its control law sees 32 bits of nanoseconds.
const LONGEST: Time = Time::from_secs(4);

parameters! {
    /// The parameters of COBALT.
    pub struct Parameters {
        limit: Amount = LIMIT_ROW.default("10240p").source("sch_cake.c"),
        /// Memory that the packets may occupy.
        memlimit: Option<Bytes> = ROW.domain(Domain::Bytes(1, u32::MAX as u64))
            .derived("4 × rate × interval, from 4 MiB to 10240 × MTU").source("tc-cake(8)"),
        /// Largest delay that may last; raised to one and a half MTUs at low rates.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("5ms").source("sch_cake.c; tc-cake(8): rtt / 20"),
        /// How long the delay must last before the first signal; raised with the target, and at least twice of it.
        interval: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("100ms")
            .source("sch_cake.c; tc-cake(8): rtt"),
        /// CoDel marks ECN-capable packets instead of dropping them.
        ecn: bool = ROW.opposite("noecn").source("quell; sch_cake.c: true"),
        /// By how much BLUE's drop probability rises when the queue overflows; 0 switches BLUE off.
        p_inc: u32 = ROW.domain(Domain::Fraction(0, ONE - 1, ONE)).default("0.00390625").source("sch_cake.c: 1/256"),
        /// By how much BLUE's drop probability falls when the queue is empty.
        p_dec: u32 = ROW.domain(Domain::Fraction(0, ONE - 1, ONE)).default("0.000244140625")
            .source("sch_cake.c: 1/4096"),
    }
}

/// A COBALT queue.
pub type Cobalt<P> = SingleBuffer<P, CobaltController>;

impl QueueKind for CobaltController {
    const ENTRY: Entry = Entry {
        name: "cobalt",
        summary: "CoDel, and BLUE against traffic that does not respond.",
        source: "Linux sch_cake.c (6.18), cobalt_*",
        parameters: Parameters::ROWS,
    };
}

/// The state machine, and the memory that its packets occupy.
#[derive(Debug)]
pub struct CobaltController {
    params: Params,
    vars: Vars,
    memory: Bytes,
    memory_limit: Bytes,
    ecn: bool,
    random: Random,
}

fn params_of(parameters: &Parameters, link: Link) -> Params {
    Params::new(
        parameters.target,
        parameters.interval,
        (parameters.p_inc, parameters.p_dec),
        link.rate,
        link.mtu,
    )
}

/// `cake_reconfigure`.
fn memory_limit_of(parameters: &Parameters, link: Link) -> Bytes {
    parameters.memlimit.unwrap_or_else(|| {
        let most = link.mtu.get().saturating_mul(MOST_PACKETS);
        let four_intervals = link.rate.bytes_in(parameters.interval * 4).get();
        Bytes::new(four_intervals.max(LEAST_MEMORY).min(most))
    })
}

impl CobaltController {
    #[inline]
    fn pop<P: Packet>(&mut self, queue: &mut SingleQueue<P>) -> Option<P> {
        let packet = queue.pop()?;
        self.memory -= packet.memory();
        Some(packet)
    }

    #[inline]
    fn can_mark<P: Packet>(&self, packet: &P) -> bool {
        self.ecn && packet.ecn().is_capable()
    }

    #[inline]
    fn judge<P: Packet>(&mut self, packet: &P, now: Time) -> Verdict {
        let (sojourn, can_mark) = (packet.sojourn(now), self.can_mark(packet));
        let draw = || self.random.u32();
        self.vars.judge(&self.params, now, sojourn, can_mark, draw)
    }

    /// Carries verdicts out until one lets a packet go, or until the last packet.
    fn signal<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        mut verdict: Verdict,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        loop {
            if verdict.mark {
                mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
            }
            if !(verdict.drop || verdict.blue) || queue.is_empty() {
                obs.dequeued(QueueId::SINGLE, &packet, now);
                return Some(packet);
            }
            let reason = if self.can_mark(&packet) {
                DropReason::Overload
            } else {
                DropReason::Aqm
            };
            drop_queued(packet, reason, now, obs);
            packet = self.pop(queue)?;
            verdict = self.judge(&packet, now);
        }
    }

    /// Why the queue is too long, if it is.
    #[inline]
    fn overflow<P: Packet>(&self, queue: &SingleQueue<P>) -> Option<DropReason> {
        if self.memory > self.memory_limit {
            return Some(DropReason::Memory);
        }
        let is_exceeded = queue.limit.is_exceeded(queue.backlog());
        is_exceeded.then_some(DropReason::Limit)
    }

    /// Drops heads until the rest fits (`cake_drop`). Apart from the way of a packet that fits, which only asks.
    #[cold]
    fn drop_overflow<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        while let Some(reason) = self.overflow(queue) {
            let Some(packet) = self.pop(queue) else {
                return;
            };
            self.vars.queue_full(&self.params, now);
            drop_queued(packet, reason, now, obs);
        }
    }
}

impl ControlLaw for CobaltController {
    type Parameters = Parameters;

    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            params: params_of(parameters, link),
            vars: Vars::default(),
            memory: Bytes::ZERO,
            memory_limit: memory_limit_of(parameters, link),
            ecn: parameters.ecn,
            random,
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        self.memory += packet.memory();
        queue.accept(packet, now, obs);
        if self.overflow(queue).is_some() {
            self.drop_overflow(queue, now, obs);
        }
    }
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = self.pop(queue)?;
        let verdict = self.judge(&packet, now);
        if verdict != Verdict::default() {
            return self.signal(queue, packet, verdict, now, obs);
        }
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }
    #[inline]
    fn transmitted<P: Packet>(&mut self, queue: &SingleQueue<P>, now: Time) {
        if queue.is_empty() {
            self.vars.queue_empty(&self.params, now);
        }
    }

    fn adopt(&mut self, parameters: &Parameters, link: Link) {
        self.params = params_of(parameters, link);
        self.memory_limit = memory_limit_of(parameters, link);
        self.ecn = parameters.ecn;
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        self.memory = Bytes::ZERO;
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        report("memory_bytes", Gauge::count(self.memory.get()));
        report("target", Gauge::Delay(self.params.target));
        report("interval", Gauge::Delay(self.params.interval));
        report("count", Gauge::Count(self.vars.count.into()));
        report("dropping", Gauge::Count(self.vars.dropping.into()));
        let blue = f64::from(self.vars.p_drop) / ONE as f64;
        report("blue_probability", Gauge::Ratio(blue));
    }
}

#[cfg(test)]
mod tests;
