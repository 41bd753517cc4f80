//! The buffer of every dual queue, and what its control law must answer.
//!
//! [`DualBuffer`] is the discipline: settings, link, limit, classifier, both queues, [scheduler] and queue protection
//! (RFC 9957), with everything that is the same for all. A [`DualLaw`] decides about packets. Its methods stand in the order in which a
//! packet meets them.

use crate::dual_queue::{self, DualQueue, Queued, classify, drop_queued, refuse};
use crate::kind::{Entry, QueueKind};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Settings, Table};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc};
use crate::queue_protection::{self, QueueProtection};
use crate::random::Random;
use crate::scheduler::{self, Scheduler};
use crate::shell::Shell;
use crate::test_cases::{TestCases, Tested};
use crate::threshold::Threshold;
use crate::units::{Bytes, Probability, Rate, Time};

/// The parameters that every dual queue has.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    pub(crate) limit: Amount,
    pub(crate) scheduler: scheduler::Parameters,
    pub(crate) protection: queue_protection::Parameters,
}

/// The class of a packet, and the queue that it goes to; they differ where queue protection redirects it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) class: QueueId,
    pub(crate) queue: QueueId,
}

/// Facts of an arrival that a law may need.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub(crate) place: Place,
    pub(crate) limit: QueueLimit,
    /// Largest IP packet of the link.
    pub(crate) mtu: Bytes,
}

/// The native AQM of the L4S queue, without the coupling from Classic. Queue protection asks for it.
pub trait Native {
    /// The marking probability at a delay and a number of packets, the new one included.
    fn probability(&self, delay: Time, packets: u64) -> Probability;
    /// The delay above which marking is certain.
    fn certain(&self, link: Link) -> Time;
}

impl Native for Threshold {
    #[inline]
    fn probability(&self, delay: Time, packets: u64) -> Probability {
        if self.is_exceeded_by(delay, packets) {
            Probability::ONE
        } else {
            Probability::ZERO
        }
    }
    /// Packets are as large as the MTU.
    fn certain(&self, link: Link) -> Time {
        match *self {
            Self::Sojourn(threshold) => threshold,
            Self::Packets(packets) => link
                .rate
                .time_for(Bytes::new(packets.saturating_mul(link.mtu.get()))),
        }
    }
}

/// The control law of a dual queue.
pub trait DualLaw: QueueKind + Sized {
    /// Its parameters.
    type Parameters: Table;
    /// Its native AQM.
    type Native: Native;
    /// A limit in time is sized for the highest rate that the link has had, not for the present one.
    const LIMIT_OF_HIGHEST_RATE: bool;

    /// The law of empty queues.
    fn new(
        parameters: &Self::Parameters,
        link: Link,
        random: Random,
    ) -> Result<Self, ParameterError>;
    /// The common parameters.
    fn common(parameters: &Self::Parameters) -> Common;
    /// The limit on `link`; refuses one that never accepts a packet of the MTU.
    fn check_limit(
        parameters: &Self::Parameters,
        link: Link,
    ) -> Result<QueueLimit, ParameterError> {
        QueueLimit::of(LIMIT, Self::common(parameters).limit, link)
    }

    /// Whether every ECN-capable packet is L4S, and not only ECT(1) and CE.
    fn any_ect(&self) -> bool;
    /// The native AQM of the L4S queue.
    fn native(&self) -> &Self::Native;

    /// A packet arrives: marks it, or returns why to drop it.
    fn arriving<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        arrival: Arrival,
        packet: &mut P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason>;
    /// Whether the native threshold may mark a packet that finds `l4s_packets` in the L4S queue.
    fn may_step(&self, _l4s_packets: u64) -> bool {
        true
    }
    /// Removes the head of `queue`, which is not empty, and marks it, or returns why to drop it.
    fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)>;

    /// [`Qdisc::next_update`].
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// [`Qdisc::update`].
    fn update<P: Packet>(&mut self, _queues: &DualQueue<P>, _now: Time) {}

    /// Adopts changed parameters, besides the common ones; on an error the law stays as it is.
    fn configure(
        &mut self,
        parameters: &Self::Parameters,
        link: Link,
    ) -> Result<(), ParameterError>;
    /// Whether more waits than is allowed, after a change.
    fn is_exceeded<P: Packet>(&self, queues: &DualQueue<P>, limit: QueueLimit) -> bool {
        limit.is_exceeded(queues.backlog())
    }
    /// Named gauges besides the delays of the heads, the scheduler's and queue protection's.
    fn status<P: Packet>(
        &self,
        queues: &DualQueue<P>,
        limit: QueueLimit,
        now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    );
}

/// A dual queue with the control law `L`.
#[derive(Debug)]
pub struct DualBuffer<P, L: DualLaw> {
    shell: Shell<L::Parameters>,
    pub(crate) limit: QueueLimit,
    pub(crate) queues: DualQueue<P>,
    scheduler: Scheduler,
    protection: QueueProtection,
    pub(crate) law: L,
}

impl<P, L: DualLaw> QueueKind for DualBuffer<P, L> {
    const ENTRY: Entry = L::ENTRY;
}

impl<P, L: DualLaw + Tested> Tested for DualBuffer<P, L> {
    const TEST_CASES: TestCases = L::TEST_CASES;
}

impl<P: Packet, L: DualLaw> DualBuffer<P, L> {
    /// An empty pair of queues. Its randomness is drawn from `random` alone.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let parameters = L::Parameters::of(&settings);
        let common = L::common(&parameters);
        let limit = L::check_limit(&parameters, link)?;
        let law = L::new(&parameters, link, random.clone())?;
        let certain = |link| law.native().certain(link);
        Ok(Self {
            shell: Shell::new(settings, link),
            limit,
            queues: DualQueue::new(),
            scheduler: Scheduler::new(&common.scheduler, link),
            protection: QueueProtection::new(&common.protection, link, certain, &random),
            law,
        })
    }
}

impl<P: Packet, L: DualLaw> Qdisc<P> for DualBuffer<P, L> {
    fn queues(&self) -> &'static [&'static str] {
        dual_queue::NAMES
    }

    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let (law, queues) = (&mut self.law, &mut self.queues);
        let class = classify(packet.ecn(), law.any_ect());
        let queue = if class == QueueId::CLASSIC {
            class
        } else {
            let native = |delay, packets| law.native().probability(delay, packets);
            self.protection.place(&packet, queues, now, native)
        };
        let arrival = Arrival {
            place: Place { class, queue },
            limit: self.limit,
            mtu: self.shell.link().mtu,
        };
        if let Some(reason) = law.arriving(queues, arrival, &mut packet, now, obs) {
            return refuse(packet, queue, reason, now, obs);
        }
        // Tested here and remembered, because at the head the last packet of a burst would always find a short queue.
        let apply_step = queue == QueueId::L4S && law.may_step(queues.packets(QueueId::L4S));
        obs.enqueued(queue, &packet, now);
        let entry = Queued {
            packet,
            apply_step,
            redirected: class != queue,
        };
        queues.push(queue, entry);
    }

    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let queue = self.scheduler.next(&self.queues, now)?;
            let (l4s, classic) = self.queues.backlogged();
            let (packet, dropped) = self.law.take(&mut self.queues, queue, now, obs)?;
            if let Some(reason) = dropped {
                drop_queued(packet, queue, reason, now, obs);
                continue;
            }
            self.scheduler.served(queue, packet.len(), l4s && classic);
            obs.dequeued(queue, &packet, now);
            return Some(packet);
        }
    }

    fn next_update(&self) -> Option<Time> {
        self.law.next_update()
    }
    fn update(&mut self, now: Time) {
        self.law.update(&self.queues, now);
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut dyn Observer<P>) {
        let parameters = self.shell.parameters();
        let common = L::common(&parameters);
        let certain = |link| self.law.native().certain(link);
        self.protection.set_rate(rate, &common.protection, certain);
        if rate.is_zero() || (L::LIMIT_OF_HIGHEST_RATE && rate <= self.shell.link().rate) {
            return;
        }
        self.shell.set_rate(rate);
        self.limit = QueueLimit::at_rate(common.limit, self.shell.link());
    }

    /// A lowered limit drops the heads of Classic before those of L4S.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        let (law, old) = (&mut self.law, self.limit);
        let (common, limit, link) = self.shell.change(key, value, |parameters, link| {
            // Only a new limit can be wrong, also where the link has become too slow for an old one in time.
            let limit = if key == LIMIT {
                L::check_limit(parameters, link)?
            } else {
                old
            };
            law.configure(parameters, link)?;
            Ok((L::common(parameters), limit, link))
        })?;
        self.limit = limit;
        self.scheduler.configure(&common.scheduler, link);
        let law = &self.law;
        self.protection
            .configure(&common.protection, |link| law.native().certain(link));
        let too_much = |queues: &DualQueue<P>| law.is_exceeded(queues, limit);
        self.queues
            .drop_heads_while(too_much, DropReason::Reconfigured, now, &mut obs);
        Ok(())
    }

    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        self.queues
            .drop_heads_while(|_| true, DropReason::Drained, now, &mut obs);
    }
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        let head = |queue| self.queues.head_sojourn(queue, now).unwrap_or(Time::ZERO);
        report("delay_l4s", Gauge::Delay(head(QueueId::L4S)));
        report("delay_classic", Gauge::Delay(head(QueueId::CLASSIC)));
        self.law.status(&self.queues, self.limit, now, report);
        self.scheduler.report(report);
        self.protection.report(report);
    }
}
