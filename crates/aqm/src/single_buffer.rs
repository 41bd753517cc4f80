//! The buffer of every discipline with one queue, and what its control law must answer.
//!
//! [`SingleBuffer`] is the discipline: settings, link, limit and queue, with everything that is the same for all. A [`ControlLaw`] decides
//! about packets. Its methods stand in the order in which a packet meets them; a law writes those that it needs.

use crate::kind::{Entry, QueueKind};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Settings, Table};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc};
use crate::random::Random;
use crate::shell::Shell;
use crate::single_queue::{self, SingleQueue, drop_queued, refuse};
use crate::test_cases::{TestCases, Tested};
use crate::units::{Bytes, Rate, Time};

/// The control law of a discipline with one queue.
pub trait ControlLaw: QueueKind + Sized {
    /// Its parameters.
    type Parameters: Table;
    /// A lowered limit drops heads until the rest fits. Otherwise it only refuses packets until the queue fits.
    const LOWERED_LIMIT_DROPS: bool = false;
    /// The largest limit that the law can count.
    const LARGEST_LIMIT: Bytes = Bytes::MAX;

    /// The law of an empty queue.
    fn new(
        parameters: &Self::Parameters,
        link: Link,
        random: Random,
    ) -> Result<Self, ParameterError>;
    /// The parameter `limit`.
    fn limit(parameters: &Self::Parameters) -> Amount;
    /// The limit on `link`; refuses one that never accepts a packet of the MTU.
    fn check_limit(
        parameters: &Self::Parameters,
        link: Link,
    ) -> Result<QueueLimit, ParameterError> {
        QueueLimit::of(LIMIT, Self::limit(parameters), link)
    }
    /// The limit on a link that has become another one; see [`QueueLimit::at_rate`].
    fn limit_at_rate(parameters: &Self::Parameters, link: Link) -> QueueLimit {
        QueueLimit::at_rate(Self::limit(parameters), link)
    }
    /// The limit is this from now on, also at the start.
    fn set_limit(&mut self, _limit: QueueLimit) {}

    /// A packet arrives at the tail: accepts or drops it.
    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        let ahead = queue.backlog();
        if !queue.limit.admits(ahead, packet.len()) {
            return refuse(packet, DropReason::Limit, now, obs);
        }
        if let Some(reason) = self.arriving(&mut packet, ahead, now, obs) {
            return refuse(packet, reason, now, obs);
        }
        queue.accept(packet, now, obs);
    }
    /// A packet arrives that fits behind what is `ahead`: marks it, or returns why to drop it.
    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        _packet: &mut P,
        _ahead: Backlog,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        None
    }

    /// The link asks for the next packet.
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        loop {
            let mut packet = queue.pop()?;
            if let Some(reason) = self.leaving(&mut packet, queue.backlog(), now, obs) {
                drop_queued(packet, reason, now, obs);
                continue;
            }
            obs.dequeued(QueueId::SINGLE, &packet, now);
            return Some(packet);
        }
    }
    /// The head leaves and `left` stays behind: marks it, or returns why to drop it.
    #[inline]
    fn leaving<P: Packet>(
        &mut self,
        _packet: &mut P,
        _left: Backlog,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        None
    }
    /// [`Qdisc::pass`].
    #[inline]
    fn pass<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        self.enqueue(queue, packet, now, obs);
        self.dequeue(queue, now, obs)
    }
    /// [`Qdisc::transmitted`].
    #[inline]
    fn transmitted<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {}

    /// [`Qdisc::next_update`].
    #[inline]
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// [`Qdisc::update`].
    fn update<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {}

    /// Adopts changed parameters, or a changed rate of the link; `link` has the last rate that was not zero.
    fn adopt(&mut self, parameters: &Self::Parameters, link: Link);
    /// The link has another rate, not zero.
    fn set_rate<P: Packet>(
        &mut self,
        parameters: &Self::Parameters,
        link: Link,
        _queue: &SingleQueue<P>,
        _now: Time,
    ) {
        self.adopt(parameters, link);
    }
    /// The link stands still.
    fn stop(&mut self, _now: Time) {}
    /// The parameter `key` has another value; on an error the law stays as it is.
    fn configure<P: Packet>(
        &mut self,
        parameters: &Self::Parameters,
        _key: &str,
        link: Link,
        _queue: &SingleQueue<P>,
        _now: Time,
    ) -> Result<(), ParameterError> {
        self.adopt(parameters, link);
        Ok(())
    }
    /// All that was queued has been dropped.
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {}
    /// Named gauges besides the delay of the head.
    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
    }
}

/// A discipline with one queue and the control law `L`.
#[derive(Debug)]
pub struct SingleBuffer<P, L: ControlLaw> {
    shell: Shell<L::Parameters>,
    pub(crate) queue: SingleQueue<P>,
    pub(crate) law: L,
}

impl<P, L: ControlLaw> QueueKind for SingleBuffer<P, L> {
    const ENTRY: Entry = L::ENTRY;
}

impl<P, L: ControlLaw + Tested> Tested for SingleBuffer<P, L> {
    const TEST_CASES: TestCases = L::TEST_CASES;
}

impl<P: Packet, L: ControlLaw> SingleBuffer<P, L> {
    /// An empty queue. Its randomness is drawn from `random` alone.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let parameters = L::Parameters::of(&settings);
        let limit = L::check_limit(&parameters, link)?;
        let mut law = L::new(&parameters, link, random)?;
        law.set_limit(limit);
        Ok(Self {
            shell: Shell::new(settings, link),
            queue: SingleQueue::new(limit),
            law,
        })
    }

    fn set_limit(&mut self, limit: QueueLimit) {
        self.queue.limit = limit;
        self.law.set_limit(limit);
    }
}

impl<P: Packet, L: ControlLaw> Qdisc<P> for SingleBuffer<P, L> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        self.law.enqueue(&mut self.queue, packet, now, obs);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        self.law.dequeue(&mut self.queue, now, obs)
    }
    #[inline]
    fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        self.law.pass(&mut self.queue, packet, now, obs)
    }
    #[inline]
    fn transmitted(&mut self, now: Time) {
        self.law.transmitted(&self.queue, now);
    }
    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.law.next_update()
    }
    fn update(&mut self, now: Time) {
        self.law.update(&self.queue, now);
    }

    fn set_rate(&mut self, rate: Rate, now: Time, _obs: &mut dyn Observer<P>) {
        if rate.is_zero() {
            return self.law.stop(now);
        }
        self.shell.set_rate(rate);
        let parameters = self.shell.parameters();
        let link = self.shell.link();
        let limit = L::limit_at_rate(&parameters, link);
        self.set_limit(limit.at_most(L::LARGEST_LIMIT));
        self.law.set_rate(&parameters, link, &self.queue, now);
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        let (law, queue) = (&mut self.law, &self.queue);
        let limit = self.shell.change(key, value, |parameters, link| {
            // Only a new limit can be wrong, also where the link has become too slow for an old one in time.
            let limit = if key == LIMIT {
                L::check_limit(parameters, link)?
            } else {
                queue.limit
            };
            law.configure(parameters, key, link, queue, now)?;
            Ok(limit)
        })?;
        self.set_limit(limit);
        if key == LIMIT && L::LOWERED_LIMIT_DROPS {
            let too_much = |backlog| limit.is_exceeded(backlog);
            self.queue
                .drop_heads_while(too_much, DropReason::Reconfigured, now, &mut obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        self.queue.drain(now, &mut obs);
        self.law.drained(&self.queue, now);
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        report("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.law.status(&self.queue, now, report);
    }
}
