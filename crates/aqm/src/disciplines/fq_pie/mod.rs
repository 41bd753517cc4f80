//! FQ-PIE: a PIE queue per flow, served by deficit round robin with new flows first.
//!
//! Source: Linux `net/sched/sch_fq_pie.c` (6.18), which this follows to the integer: each flow has the controller of
//! [`pie::linux`](crate::disciplines::pie::linux), turns and lists are those of `flow_queue`. A packet that fits is signalled with the probability
//! of its own flow, which sees its own backlog and delay; one timer walks all flows. `change` dequeues until a lowered limit is met.
//! `tests/kernel` compares it with the kernel's own code, compiled.
//!
//! Deviations, beside 1 to 3 of `pie::linux` and those of `flow_queue`:
//!
//! 1. `memory_limit` is a limit: a packet that would exceed it is refused. The kernel counts such packets (with a comparison
//!    that errs by twice their size) and accepts them, against its manual page.
//! 2. Above 2 048 flows the kernel walks them in rounds one timer tick apart (1 to 10 ms); here the rounds are 1 ms apart.
//! 3. On a request to drain all turns and states are forgotten; the kernel's `reset` keeps each flow's probability and delay.
//!
//! Needs: arrival times, an update every `tupdate`, flow keys, randomness. No rate. Promises: flows share the rate in bytes, and each
//! greedy flow comes to `target` by itself. Does not: keep apart flows that share a bucket, or protect the limit from one flow that
//! does not respond (there is no drop from the fattest flow).
//!
//! An idle queue holds 112 bytes per bucket, 112 KiB with 1 024 (32 of the store, 80 of PIE), and a few hundred of its own.
//!
//! | corner case                                    | test                                                  |
//! | ---------------------------------------------- | ----------------------------------------------------- |
//! | one flow is PIE, packet by packet              | `a_single_flow_is_pie`                                |
//! | new and old lists                              | `flow_queue::tests`                                   |
//! | a flow's probability is its own                | `a_flow_within_its_share_is_not_signalled`            |
//! | ECN up to `ecn_prob` and not above             | `marks_turn_into_drops_above_ecn_prob`                |
//! | memory limit                                   | `memory_is_a_limit_of_its_own`                        |
//! | the timer walks 2 048 flows at a time          | `many_flows_are_walked_in_rounds`                     |
//! | a lower limit dequeues                         | `lowering_the_limit_dequeues_until_it_fits`           |
//! | every flow comes to the target by itself       | `tests/operating_points.rs`                           |
//! | equal to the kernel's own code                 | `tests/kernel/fq_pie.rs`                              |

mod test_cases;

use crate::disciplines::pie::linux::{MAX_PROB, Params, Vars, ticks};
use crate::disciplines::pie::{FIRST_UPDATE, LONGEST, SHORTEST, linux_ratio};
use crate::flow_queue::FlowQueue;
use crate::kind::{Entry, QueueKind};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{self, Domain, Parameter, ParameterError, Settings, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc, mark};
use crate::random::Random;
use crate::shell::Shell;
use crate::single_queue::{self, drop_queued, refuse};
use crate::units::{Bytes, Time, parameters};

/// The kernel's bounds of the default quantum.
const LEAST_QUANTUM: u64 = 256;
const LARGEST_QUANTUM: u64 = 1 << 20;
/// Flows that one round of the timer walks.
const ROUND: usize = 2_048;
/// The time from one round to the next.
const ROUND_INTERVAL: Time = Time::from_millis(1);

const ROW: Parameter = Parameter::LIVE.source("tc-fq_pie(8)");

parameters! {
    /// The parameters of FQ-PIE.
    pub struct Parameters {
        /// Packets that may wait in all flows together.
        limit: u64 = ROW.domain(Domain::Packets(1, u32::MAX as u64)).default("10240p"),
        /// Memory that the packets of all flows may occupy.
        memory_limit: Bytes = ROW.domain(Domain::Bytes(1, u32::MAX as u64)).default("32MiB"),
        /// Buckets into which flows are hashed.
        flows: u32 = ROW.domain(Domain::Integer(1, 65_536)).default("1024").fixed(),
        /// Bytes that a flow may send in one turn.
        quantum: Option<Bytes> = ROW.domain(Domain::Bytes(1, LARGEST_QUANTUM))
            .derived("the link's MTU, at least 256 bytes"),
        /// Queue delay that the controller of each flow holds.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("15ms"),
        /// Interval between two updates of the probabilities.
        tupdate: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("15ms"),
        /// Integral gain, in sixteenths of 1 Hz.
        alpha: u64 = ROW.domain(Domain::Integer(0, 32)).default("2"),
        /// Proportional gain, in sixteenths of 1 Hz.
        beta: u64 = ROW.domain(Domain::Integer(0, 32)).default("20"),
        /// Mark ECN-capable packets up to ecn_prob, instead of dropping them.
        ecn: bool = ROW.opposite("noecn"),
        /// Probability in percent above which ECN-capable packets are dropped too.
        ecn_prob: u64 = ROW.domain(Domain::Integer(0, 100)).default("10"),
        /// Scale the probability by the packet's length in MTUs.
        bytemode: bool = ROW.opposite("nobytemode"),
        /// Estimate delays from backlog and departure rate instead of measuring them.
        dq_rate_estimator: bool = ROW.opposite("no_dq_rate_estimator"),
    }
}

/// An FQ-PIE queue.
#[derive(Debug)]
pub struct FqPie<P> {
    shell: Shell<Parameters>,
    config: Config,
    flows: FlowQueue<P, Vars>,
    random: Random,
    /// The first flow of the next round of the timer.
    cursor: usize,
    /// Whether a flow was found awake in this walk, or a packet came since it began.
    awake: bool,
    /// Whether every flow is as it was made, so that a walk would change nothing.
    at_rest: bool,
    next_update: Time,
}

#[derive(Debug, Clone, Copy)]
struct Config {
    params: Params,
    mtu: u64,
    limit: u64,
    memory_limit: Bytes,
    quantum: Bytes,
    update_interval: Time,
    ecn: bool,
    /// The highest probability with which packets are marked.
    ecn_limit: u64,
}

impl Config {
    fn of(parameters: &Parameters, link: Link) -> Self {
        let mtu = link.mtu.get().clamp(LEAST_QUANTUM, LARGEST_QUANTUM);
        Self {
            params: Params {
                target: ticks(parameters.target),
                alpha: parameters.alpha,
                beta: parameters.beta,
                bytemode: parameters.bytemode,
                dq_rate_estimator: parameters.dq_rate_estimator,
            },
            mtu: link.mtu.get(),
            limit: parameters.limit,
            memory_limit: parameters.memory_limit,
            quantum: parameters.quantum.unwrap_or(Bytes::new(mtu)),
            update_interval: parameters.tupdate,
            ecn: parameters.ecn,
            ecn_limit: MAX_PROB / 100 * parameters.ecn_prob,
        }
    }
}

impl<P> QueueKind for FqPie<P> {
    const ENTRY: Entry = Entry {
        name: "fq_pie",
        summary: "A PIE queue per flow, served in turn, new flows first.",
        source: "Linux sch_fq_pie.c (6.18)",
        parameters: Parameters::ROWS,
    };
}

impl<P: Packet> FqPie<P> {
    /// Memory in bytes and the state of each bucket, for their comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> (u64, &[Vars]) {
        (self.flows.memory().get(), self.flows.all_states())
    }

    /// Empty flows; the salt of their hash is drawn from `random`. The first update is due after
    /// half a second.
    pub fn new(settings: Settings, link: Link, mut random: Random) -> Result<Self, ParameterError> {
        let parameters = Parameters::of(&settings);
        let config = Config::of(&parameters, link);
        Ok(Self {
            flows: FlowQueue::new(parameters.flows, config.quantum, &mut random),
            shell: Shell::new(settings, link),
            config,
            random,
            cursor: 0,
            awake: false,
            at_rest: true,
            next_update: FIRST_UPDATE,
        })
    }

    /// The next packet, charged to its flow, without a word to the observer.
    #[inline]
    fn take(&mut self, now: Time) -> Option<P> {
        loop {
            let flow = self.flows.turn()?;
            let Some(packet) = self.flows.flow(flow).1.pop() else {
                self.flows.retire();
                continue;
            };
            let len = packet.len();
            self.flows.charge(flow, len);
            let (now, arrival) = (ticks(now), ticks(packet.arrival()));
            let left = self.flows.backlog_of(flow).get();
            let (vars, _) = self.flows.flow(flow);
            vars.process_dequeue(&self.config.params, now, arrival, len.get(), left);
            return Some(packet);
        }
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let flow = self.flows.flow_of(packet.flow());
        let backlog = self.flows.backlog_of(flow).get();
        let full = if self.flows.backlog().packets >= self.config.limit {
            Some(DropReason::Limit)
        } else if self.flows.memory() + packet.memory() > self.config.memory_limit {
            Some(DropReason::Memory)
        } else {
            None
        };
        let (vars, _) = self.flows.flow(flow);
        if let Some(reason) = full {
            vars.accu_prob = 0;
            return refuse(packet, reason, now, obs);
        }
        let (params, mtu, random) = (&self.config.params, self.config.mtu, &mut self.random);
        if vars.drop_early(params, backlog, packet.len().get(), mtu, || random.u64()) {
            let marks = self.config.ecn && packet.ecn().is_capable();
            if !marks || vars.prob > self.config.ecn_limit {
                vars.accu_prob = 0;
                let reason = if marks {
                    DropReason::Overload
                } else {
                    DropReason::Aqm
                };
                return refuse(packet, reason, now, obs);
            }
            mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        (self.awake, self.at_rest) = (true, false);
        obs.enqueued(QueueId::SINGLE, &packet, now);
        self.flows.push(flow, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = self.take(now)?;
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        if !self.at_rest {
            let params = &self.config.params;
            let idle = Vars::default();
            for (vars, backlog) in self.flows.states().skip(self.cursor).take(ROUND) {
                // A flow without traffic stays as it is; there are many.
                if backlog != Bytes::ZERO || *vars != idle {
                    vars.calculate_probability(params, backlog.get());
                    self.awake = true;
                }
            }
        }
        self.cursor += ROUND;
        self.next_update = now + ROUND_INTERVAL;
        if self.cursor >= self.flows.all_states().len() {
            self.cursor = 0;
            self.at_rest = !self.awake;
            self.awake = false;
            self.next_update = now + self.config.update_interval;
        }
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        self.config = self.shell.change(key, value, |parameters, link| {
            Ok(Config::of(parameters, link))
        })?;
        self.flows.set_quantum(self.config.quantum);
        while self.flows.backlog().packets > self.config.limit
            || self.flows.memory() > self.config.memory_limit
        {
            let Some(packet) = self.take(now) else { break };
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
        let highest = self.flows.all_states().iter().map(|vars| vars.prob).max();
        report("delay", Gauge::Delay(self.flows.longest_head_sojourn(now)));
        report("memory_bytes", Gauge::count(self.flows.memory().get()));
        report("new_flows", Gauge::Count(new.into()));
        report("old_flows", Gauge::Count(old.into()));
        report(
            "highest_probability",
            Gauge::Ratio(linux_ratio(highest.unwrap_or(0))),
        );
    }
}

#[cfg(test)]
mod tests;
