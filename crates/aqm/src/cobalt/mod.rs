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
//! may mark are told as `overload`, those of others as `aqm`. 8. None of ns-3's additions (`BlueThreshold`, `CeThreshold`).
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

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue, drop_queued};
use crate::units::{Bytes, Rate, Time};
use law::{Params, Vars, Verdict};

/// What makes a probability of one.
const ONE: u64 = 1 << 32;
/// CAKE's `sch->limit`, in packets of the MTU: the most that its memory limit becomes by itself.
const MOST_PACKETS: u64 = 10_240;
/// The least that its memory limit becomes by itself.
const LEAST_MEMORY: u64 = 4 << 20;

/// A COBALT queue.
#[derive(Debug)]
pub struct Cobalt<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    memory_limit: Bytes,
    ecn: bool,
    params: Params,
    vars: Vars,
    queue: SingleQueue<P>,
    memory: Bytes,
    random: Random,
}

impl<P> Kind for Cobalt<P> {
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str = "CoDel, and BLUE against traffic that does not respond.";
    const SOURCE: &'static str = "Linux sch_cake.c (6.18), cobalt_*";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

/// A living parameter; rows override what differs.
const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("true"),
    only: None,
    live: true,
    source: "sch_cake.c",
    help: "",
};
const SHORTEST: Time = Time::from_micros(1);
/// CAKE takes 32-bit microseconds, but its control law sees 32 bits of nanoseconds.
const LONGEST: Time = Time::from_secs(4);

const TABLE: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("10240p"),
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "memlimit",
        domain: Domain::Bytes(1, u32::MAX as u64),
        default: Preset::Derived("4 × rate × interval, from 4 MiB to 10240 × MTU"),
        source: "tc-cake(8)",
        help: "Memory that the packets may occupy.",
        ..ROW
    },
    Parameter {
        name: "target",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("5ms"),
        source: "sch_cake.c; tc-cake(8): rtt / 20",
        help: "Largest delay that may last; raised to one and a half MTUs at low rates.",
        ..ROW
    },
    Parameter {
        name: "interval",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("100ms"),
        source: "sch_cake.c; tc-cake(8): rtt",
        help: "How long the delay must last before the first signal; raised with the target, and at least twice of it.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        opposite: Some("noecn"),
        source: "quell; sch_cake.c: true",
        help: "CoDel marks ECN-capable packets instead of dropping them.",
        ..ROW
    },
    Parameter {
        name: "p_inc",
        domain: Domain::Fraction(0, ONE - 1, ONE),
        default: Preset::Is("0.00390625"),
        source: "sch_cake.c: 1/256",
        help: "By how much BLUE's drop probability rises when the queue overflows; 0 switches BLUE off.",
        ..ROW
    },
    Parameter {
        name: "p_dec",
        domain: Domain::Fraction(0, ONE - 1, ONE),
        default: Preset::Is("0.000244140625"),
        source: "sch_cake.c: 1/4096",
        help: "By how much BLUE's drop probability falls when the queue is empty.",
        ..ROW
    },
];

fn params_of(settings: &Settings, link: Link) -> Params {
    // Both steps are below 2³².
    let step = |key| settings.number(key) as u32;
    Params::new(
        settings.time("target"),
        settings.time("interval"),
        (step("p_inc"), step("p_dec")),
        link.rate,
        link.mtu,
    )
}

/// `cake_reconfigure`.
fn memory_limit_of(settings: &Settings, link: Link) -> Bytes {
    if let Some(Value::Bytes(limit)) = settings.value("memlimit") {
        return limit;
    }
    let most = link.mtu.get().saturating_mul(MOST_PACKETS);
    let four_intervals = link.rate.bytes_in(settings.time("interval") * 4).get();
    Bytes::new(four_intervals.max(LEAST_MEMORY).min(most))
}

impl<P: Packet> Cobalt<P> {
    /// An empty queue.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            memory_limit: memory_limit_of(&settings, link),
            ecn: settings.flag("ecn"),
            params: params_of(&settings, link),
            vars: Vars::default(),
            queue: SingleQueue::new(),
            memory: Bytes::ZERO,
            random,
            link,
            settings,
        })
    }

    #[inline]
    fn pop(&mut self) -> Option<P> {
        let packet = self.queue.pop()?;
        self.memory -= packet.memory();
        Some(packet)
    }

    #[inline]
    fn can_mark(&self, packet: &P) -> bool {
        self.ecn && packet.ecn().is_capable()
    }

    #[inline]
    fn judge(&mut self, packet: &P, now: Time) -> Verdict {
        let (sojourn, can_mark) = (packet.sojourn(now), self.can_mark(packet));
        let draw = || self.random.u32();
        self.vars.judge(&self.params, now, sojourn, can_mark, draw)
    }

    /// Carries verdicts out until one lets a packet go, or until the last packet.
    fn signal(
        &mut self,
        mut packet: P,
        mut verdict: Verdict,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        loop {
            if verdict.mark {
                mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
            }
            if !(verdict.drop || verdict.blue) || self.queue.is_empty() {
                obs.dequeued(QueueId::SINGLE, &packet, now);
                return Some(packet);
            }
            let reason = if self.can_mark(&packet) {
                DropReason::Overload
            } else {
                DropReason::Aqm
            };
            drop_queued(packet, reason, now, obs);
            packet = self.pop()?;
            verdict = self.judge(&packet, now);
        }
    }

    /// Drops heads until what is left fits (`cake_drop`).
    fn drop_overflow(&mut self, now: Time, obs: &mut impl Observer<P>) {
        loop {
            let reason = if self.memory > self.memory_limit {
                DropReason::Memory
            } else if self.limit.is_exceeded(self.queue.backlog()) {
                DropReason::Limit
            } else {
                return;
            };
            let Some(packet) = self.pop() else { return };
            self.vars.queue_full(&self.params, now);
            drop_queued(packet, reason, now, obs);
        }
    }
}

impl<P: Packet> Qdisc<P> for Cobalt<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        self.memory += packet.memory();
        self.queue.accept(packet, now, obs);
        self.drop_overflow(now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = self.pop()?;
        let verdict = self.judge(&packet, now);
        if verdict != Verdict::default() {
            return self.signal(packet, verdict, now, obs);
        }
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    #[inline]
    fn transmitted(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.vars.queue_empty(&self.params, now);
        }
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if rate.is_zero() {
            return;
        }
        self.link.rate = rate;
        self.limit = self.limit.at(&self.settings, self.link);
        self.memory_limit = memory_limit_of(&self.settings, self.link);
        self.params = params_of(&self.settings, self.link);
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        if key == "limit" {
            self.limit = Limit::of(&settings, self.link)?;
        }
        self.memory_limit = memory_limit_of(&settings, self.link);
        self.ecn = settings.flag("ecn");
        self.params = params_of(&settings, self.link);
        self.settings = settings;
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
        self.memory = Bytes::ZERO;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.limit.tell(tell);
        let memory = i64::try_from(self.memory.get()).unwrap_or(i64::MAX);
        tell("memory_bytes", Gauge::Count(memory));
        tell("target", Gauge::Delay(self.params.target));
        tell("interval", Gauge::Delay(self.params.interval));
        tell("count", Gauge::Count(self.vars.count.into()));
        tell("dropping", Gauge::Count(self.vars.dropping.into()));
        let blue = f64::from(self.vars.p_drop) / ONE as f64;
        tell("blue_probability", Gauge::Ratio(blue));
    }
}

#[cfg(test)]
mod tests;
