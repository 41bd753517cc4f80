//! FQ-CoDel: a CoDel queue per flow, served by deficit round robin with new flows first.
//!
//! Sources: RFC 8290; Linux `sch_fq_codel.c` (6.18), which this follows to the integer where the RFC leaves a choice: the signals are
//! those of [`codel::linux`](crate::codel::linux), turns and lists those of `flow_queue`. A packet that makes the queue exceed `limit` or
//! `memory_limit` is accepted first; then half of the bytes of the fattest flow are dropped from its head, at most `drop_batch` packets
//! and at least one, and CoDel's `count` of that flow grows by as many. The rule of the last MTU looks at the backlog of *all* flows.
//! `change` dequeues, with CoDel's drops and marks, until the limits are met.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! `ce_threshold` with `ce_threshold_selector = 1` and `ce_threshold_mask = 1` is the L4S mode: ECT(1) is marked by a step.
//!
//! Deviations: 1. the default quantum is the link's MTU in IP bytes, and all lengths are IP lengths (Linux: 14 bytes more on Ethernet).
//! 2. A packet's bucket comes from its flow key, salted from the discipline's stream (RFC 8290 section 4.1.2 asks for a salt); no
//! filters or classes. 3. Values below the kernel's minimum (quantum 256, drop batch 1) are refused instead of raised. 4. No bypass of an
//! empty qdisc. 5. A batch is told as `memory` if the memory limit was exceeded and as `limit` otherwise, where the kernel counts the
//! former in both. 6. On a request to drain all turns and states are forgotten, as by the kernel's `reset`.
//!
//! Needs: arrival times, flow keys, one draw of randomness for the salt. No rate, no timer. Promises: flows share the rate in bytes;
//! a flow that sends less than a quantum between its turns does not wait behind others. Does not: keep apart flows that share a bucket
//! (two of n flows do with about n²/2·1/flows), or hold the delay of a flow that does not respond below the limit.
//!
//! An idle queue holds 56 bytes per bucket, 56 KiB with 1 024 (32 of the store, 24 of CoDel), 248 of its own
//! and the settings (24 per parameter).
//!
//! | corner case                                     | test                                                                |
//! | ----------------------------------------------- | ------------------------------------------------------------------- |
//! | new and old lists, no starvation by a new flow  | `flow_queue::tests` (against a model of RFC 8290 section 4)         |
//! | half of the fattest flow, batch, at least one   | `a_full_queue_drops_half_of_the_fattest_flow_but_no_more_than_a_batch` |
//! | memory limit                                    | `memory_is_a_limit_of_its_own`                                      |
//! | one flow is CoDel                               | `a_single_flow_is_codel`                                            |
//! | the last MTU counts all flows                   | `another_flows_backlog_keeps_codel_dropping`                        |
//! | a lower limit goes through CoDel                | `lowering_a_limit_dequeues_until_it_fits`                           |
//! | L4S mode                                        | `the_l4s_mode_marks_ect1_only`                                      |
//! | count raised before CoDel ever dropped          | `drops_of_a_full_queue_before_the_first_signal_collapse_the_spacing`|

use alloc::string::ToString;

use crate::codel::Source;
use crate::codel::linux::{Law, Vars};
use crate::codel::parameters::{self, CeThreshold, ROW};
use crate::flow_queue::{FlowHead, FlowQueue};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc};
use crate::random::Random;
use crate::single_queue::{self, drop_queued};
use crate::units::{Bytes, Time};

/// The kernel's bounds of the quantum.
const LEAST_QUANTUM: u64 = 256;
const LARGEST_QUANTUM: u64 = 1 << 20;

/// An FQ-CoDel queue.
#[derive(Debug)]
pub struct FqCodel<P> {
    settings: Settings,
    link: Link,
    law: Law,
    limits: Limits,
    flows: FlowQueue<P, Vars>,
}

/// What may wait, and what is dropped when more does.
#[derive(Debug, Clone, Copy)]
struct Limits {
    packets: u64,
    memory: Bytes,
    drop_batch: u64,
}

impl<P> Kind for FqCodel<P> {
    const NAME: &'static str = "fq_codel";
    const SUMMARY: &'static str = "A CoDel queue per flow, served in turn, new flows first.";
    const SOURCE: &'static str = "RFC 8290; Linux sch_fq_codel.c (6.18)";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

/// A row whose name and default come from `fq_codel`.
const FQ_ROW: Parameter = Parameter {
    source: "tc-fq_codel(8); RFC 8290 section 5.2",
    ..ROW
};

const TABLE: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Packets(1, u32::MAX as u64),
        default: Preset::Is("10240p"),
        help: "Packets that may wait in all flows together.",
        ..FQ_ROW
    },
    Parameter {
        name: "memory_limit",
        domain: Domain::Bytes(1, 1 << 31),
        default: Preset::Is("32MiB"),
        source: "tc-fq_codel(8); RFC 8290 section 5.2.7 (4 MB on small systems)",
        help: "Memory that the packets of all flows may occupy.",
        ..FQ_ROW
    },
    Parameter {
        name: "flows",
        domain: Domain::Integer(1, 65_536),
        default: Preset::Is("1024"),
        live: false,
        help: "Buckets into which flows are hashed.",
        ..FQ_ROW
    },
    Parameter {
        name: "quantum",
        domain: Domain::Bytes(LEAST_QUANTUM, LARGEST_QUANTUM),
        default: Preset::Derived("the link's MTU"),
        help: "Bytes that a flow may send in one turn.",
        ..FQ_ROW
    },
    Parameter {
        name: "drop_batch",
        domain: Domain::Packets(1, u32::MAX as u64),
        default: Preset::Is("64p"),
        help: "Packets that are dropped at most from the fattest flow when the queue is full.",
        ..FQ_ROW
    },
    parameters::TARGET,
    parameters::INTERVAL,
    Parameter {
        default: Preset::Is("true"),
        source: "tc-fq_codel(8); RFC 8290 section 5.2.5",
        ..parameters::ECN
    },
    parameters::CE_THRESHOLD,
    parameters::CE_THRESHOLD_SELECTOR,
    parameters::CE_THRESHOLD_MASK,
];

fn law_of(settings: &Settings, link: Link) -> Result<Law, ParameterError> {
    Ok(Law::new(
        settings.time("target"),
        settings.time("interval"),
        settings.flag("ecn"),
        CeThreshold::from_settings(settings)?,
        link.mtu,
    ))
}

fn limits_of(settings: &Settings, link: Link) -> Result<Limits, ParameterError> {
    let memory = Bytes::new(settings.number("memory_limit"));
    if memory < link.mtu {
        return Err(ParameterError {
            key: "memory_limit".to_string(),
            found: memory.to_string(),
            allowed: alloc::format!("never holds a packet of {}", link.mtu),
        });
    }
    Ok(Limits {
        packets: settings.number("limit"),
        memory,
        drop_batch: settings.number("drop_batch"),
    })
}

fn quantum_of(settings: &Settings, link: Link) -> Bytes {
    match settings.value("quantum") {
        Some(Value::Bytes(quantum)) => quantum,
        _ => Bytes::new(link.mtu.get().clamp(LEAST_QUANTUM, LARGEST_QUANTUM)),
    }
}

impl<P: Packet> Source<P> for FlowHead<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        FlowHead::pop(self)
    }
    #[inline]
    fn backlog(&self) -> Bytes {
        self.total_backlog()
    }
}

impl<P: Packet> FqCodel<P> {
    /// Memory in bytes and the state of each bucket, for their comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> (u64, &[Vars]) {
        (self.flows.memory().get(), self.flows.all_states())
    }

    /// Empty flows; the salt of their hash is drawn from `random`.
    pub fn new(settings: Settings, link: Link, mut random: Random) -> Result<Self, ParameterError> {
        let buckets = settings.number("flows") as u32;
        Ok(Self {
            law: law_of(&settings, link)?,
            limits: limits_of(&settings, link)?,
            flows: FlowQueue::new(buckets, quantum_of(&settings, link), &mut random),
            link,
            settings,
        })
    }

    /// The next packet, charged to its flow; the observer has not been told that it leaves.
    #[inline]
    fn take(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let flow = self.flows.turn()?;
            let (vars, mut packets) = self.flows.flow(flow);
            if let Some(packet) = self.law.dequeue(vars, &mut packets, now, obs) {
                self.flows.charge(flow, packet.len());
                return Some(packet);
            }
            self.flows.retire();
        }
    }

    /// Drops half of the fattest flow from its head, but no more than a batch.
    fn drop_from_fattest(&mut self, reason: DropReason, now: Time, obs: &mut impl Observer<P>) {
        let fattest = self.flows.fattest();
        let enough = Bytes::new(self.flows.backlog_of(fattest).get() / 2);
        let (vars, mut packets) = self.flows.flow(fattest);
        let (mut bytes, mut dropped) = (Bytes::ZERO, 0);
        while let Some(packet) = packets.pop() {
            bytes += packet.len();
            dropped += 1;
            drop_queued(packet, reason, now, obs);
            if dropped >= self.limits.drop_batch || bytes >= enough {
                break;
            }
        }
        // At most 2³² − 1 packets are in a batch.
        vars.count = vars.count.wrapping_add(dropped as u32);
    }

    fn is_beyond_limits(&self) -> bool {
        self.flows.backlog().packets > self.limits.packets
            || self.flows.memory() > self.limits.memory
    }
}

impl<P: Packet> Qdisc<P> for FqCodel<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let flow = self.flows.flow_of(packet.flow());
        obs.enqueued(QueueId::SINGLE, &packet, now);
        self.flows.push(flow, packet);
        if self.flows.memory() > self.limits.memory {
            self.drop_from_fattest(DropReason::Memory, now, obs);
        } else if self.flows.backlog().packets > self.limits.packets {
            self.drop_from_fattest(DropReason::Limit, now, obs);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = self.take(now, obs)?;
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let limits = limits_of(&settings, self.link)?;
        self.law = law_of(&settings, self.link)?;
        self.limits = limits;
        self.flows.set_quantum(quantum_of(&settings, self.link));
        self.settings = settings;
        while self.is_beyond_limits() {
            let Some(packet) = self.take(now, obs) else {
                break;
            };
            drop_queued(packet, DropReason::Reconfigured, now, obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.flows
            .reset(|packet| drop_queued(packet, DropReason::Drained, now, obs));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        let (new, old) = self.flows.active();
        let memory = i64::try_from(self.flows.memory().get()).unwrap_or(i64::MAX);
        tell("delay", Gauge::Delay(self.flows.longest_head_sojourn(now)));
        tell("memory_bytes", Gauge::Count(memory));
        tell("new_flows", Gauge::Count(new.into()));
        tell("old_flows", Gauge::Count(old.into()));
    }
}

#[cfg(test)]
mod tests;
