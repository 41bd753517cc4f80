//! FQ-CoDel: a CoDel queue per flow, served by deficit round robin with new flows first.
//!
//! Sources: RFC 8290; Linux `sch_fq_codel.c` (6.18), which this follows to the integer where the RFC leaves a choice: the signals are
//! those of [`codel::linux`], turns and lists those of `flow_queue`. A packet that makes the queue exceed `limit` or
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
//! empty qdisc. 5. A batch is reported as `memory` if the memory limit was exceeded and as `limit` otherwise, where the kernel counts the
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

mod test_cases;

use crate::disciplines::codel::linux::{LinuxCodel, Vars};
use crate::disciplines::codel::{self, Source};
use crate::flow_queue::{FlowHead, FlowQueue};
use crate::kind::{Entry, QueueKind};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc};
use crate::random::Random;
use crate::shell::Shell;
use crate::single_queue::{self, drop_queued};
use crate::units::{Bytes, Time, name_of, parameters};

/// The kernel's bounds of the quantum.
const LEAST_QUANTUM: u64 = 256;
const LARGEST_QUANTUM: u64 = 1 << 20;

/// An FQ-CoDel queue.
#[derive(Debug)]
pub struct FqCodel<P> {
    shell: Shell<Parameters>,
    law: LinuxCodel,
    limits: Limits,
    flows: FlowQueue<P, Vars>,
}

/// The limits on what waits, and the batch that is dropped when more does.
#[derive(Debug, Clone, Copy)]
struct Limits {
    packets: u64,
    memory: Bytes,
    drop_batch: u64,
}

impl<P> QueueKind for FqCodel<P> {
    const ENTRY: Entry = Entry {
        name: "fq_codel",
        summary: "A CoDel queue per flow, served in turn, new flows first.",
        source: "RFC 8290; Linux sch_fq_codel.c (6.18)",
        parameters: Parameters::ROWS,
    };
}

const ROW: Parameter = Parameter::LIVE.source("tc-fq_codel(8); RFC 8290 section 5.2");

parameters! {
    /// The parameters of FQ-CoDel.
    pub struct Parameters {
        /// Packets that may wait in all flows together.
        limit: u64 = ROW.domain(Domain::Packets(1, u32::MAX as u64)).default("10240p"),
        /// Memory that the packets of all flows may occupy.
        memory_limit: Bytes = ROW.domain(Domain::Bytes(1, 1 << 31)).default("32MiB")
            .source("tc-fq_codel(8); RFC 8290 section 5.2.7 (4 MB on small systems)"),
        /// Buckets into which flows are hashed.
        flows: u32 = ROW.domain(Domain::Integer(1, 65_536)).default("1024").fixed(),
        /// Bytes that a flow may send in one turn.
        quantum: Option<Bytes> = ROW.domain(Domain::Bytes(LEAST_QUANTUM, LARGEST_QUANTUM)).derived("the link's MTU"),
        /// Packets that are dropped at most from the fattest flow when the queue is full.
        drop_batch: u64 = ROW.domain(Domain::Packets(1, u32::MAX as u64)).default("64p"),
        ..codel: codel::parameters::Parameters = codel::parameters::rows_with_ecn(
            Preset::Is("true"),
            "tc-fq_codel(8); RFC 8290 section 5.2.5",
        ),
    }
}

impl Parameters {
    /// Refuses a memory limit that never holds a packet of the MTU.
    fn limits(&self, link: Link) -> Result<Limits, ParameterError> {
        if self.memory_limit < link.mtu {
            let allowed = alloc::format!("never holds a packet of {}", link.mtu);
            let name = name_of!(Parameters, memory_limit);
            return Err(ParameterError::new(name, self.memory_limit, allowed));
        }
        Ok(Limits {
            packets: self.limit,
            memory: self.memory_limit,
            drop_batch: self.drop_batch,
        })
    }
    fn quantum(&self, link: Link) -> Bytes {
        let mtu = link.mtu.get().clamp(LEAST_QUANTUM, LARGEST_QUANTUM);
        self.quantum.unwrap_or(Bytes::new(mtu))
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
        let parameters = Parameters::of(&settings);
        let quantum = parameters.quantum(link);
        Ok(Self {
            law: LinuxCodel::of(&parameters.codel, link.mtu)?,
            limits: parameters.limits(link)?,
            flows: FlowQueue::new(parameters.flows, quantum, &mut random),
            shell: Shell::new(settings, link),
        })
    }

    /// The next packet, charged to its flow, without a word to the observer.
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
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        let (law, limits, quantum) = self.shell.change(key, value, |parameters, link| {
            let law = LinuxCodel::of(&parameters.codel, link.mtu)?;
            Ok((law, parameters.limits(link)?, parameters.quantum(link)))
        })?;
        (self.law, self.limits) = (law, limits);
        self.flows.set_quantum(quantum);
        while self.is_beyond_limits() {
            let Some(packet) = self.take(now, &mut obs) else {
                break;
            };
            drop_queued(packet, DropReason::Reconfigured, now, &mut obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        self.flows
            .reset(|packet| drop_queued(packet, DropReason::Drained, now, &mut obs));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        let (new, old) = self.flows.active();
        report("delay", Gauge::Delay(self.flows.longest_head_sojourn(now)));
        report("memory_bytes", Gauge::count(self.flows.memory().get()));
        report("new_flows", Gauge::Count(new.into()));
        report("old_flows", Gauge::Count(old.into()));
    }
}

#[cfg(test)]
mod tests;
