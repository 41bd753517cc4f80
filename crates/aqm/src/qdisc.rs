//! The contract of a queue discipline.

use crate::observer::{MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::ParameterError;
use crate::units::{Bytes, Rate, Time};

/// The packets that wait in a discipline, without the one in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: Bytes,
}

impl Backlog {
    /// Adds a packet of `len`.
    pub fn add(&mut self, len: Bytes) {
        self.packets += 1;
        self.bytes += len;
    }
    /// Removes a packet of `len`.
    pub fn remove(&mut self, len: Bytes) {
        self.packets -= 1;
        self.bytes -= len;
    }
}

/// The link that a discipline feeds, as far as the discipline knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Rate at the start of the run; [`Qdisc::set_rate`] reports changes.
    pub rate: Rate,
    /// Largest IP packet.
    pub mtu: Bytes,
}

/// A value of [`Qdisc::status`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gauge {
    /// A probability or another pure number.
    Ratio(f64),
    /// A delay.
    Delay(Time),
    /// A whole number: packets, bytes, credit.
    Count(i64),
}

impl Gauge {
    /// A number of packets or bytes.
    pub fn count(number: u64) -> Self {
        Self::Count(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A queue discipline. Only [`Bottleneck`](crate::Bottleneck) calls it, with times that never run
/// backwards.
///
/// The laws, checked for every discipline by the crate `quell-laws`:
///
/// * each packet offered comes out exactly once, delivered or dropped;
/// * [`Qdisc::backlog`] equals what is inside, and is never negative;
/// * CE only on ECT; each drop carries a reason that the discipline's source allows in that state;
/// * `dequeue` on an empty discipline returns nothing and changes no counter;
/// * order is kept within a flow and queue;
/// * same seed and same calls, same fate of every packet, to the bit;
/// * a change of parameters or rate on a non-empty queue loses nothing without a reason;
/// * a refused change of a parameter leaves the discipline as it was, and names no other parameter;
/// * no allocation after the first fill.
///
/// A discipline may drop another packet than the one offered, in any call with an observer.
pub trait Qdisc<P: Packet> {
    /// Names of the queues, in the order of their [`QueueId`].
    fn queues(&self) -> &'static [&'static str];
    /// Accepts or drops `packet`, whose arrival is set.
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>);
    /// The packet whose transmission starts now; `None` only when nothing is left to send.
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P>;
    /// [`enqueue`](Qdisc::enqueue) and then [`dequeue`](Qdisc::dequeue) at the same time: what a
    /// free link does with a packet. An override does the same with less work.
    #[inline]
    fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        self.enqueue(packet, now, obs);
        self.dequeue(now, obs)
    }
    /// The packet in service, the last one dequeued, has left the link.
    fn transmitted(&mut self, _now: Time) {}
    /// When [`Qdisc::update`] is due; `None` without periodic control.
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// Whether [`Qdisc::next_update`] may return a time before the next change of a parameter: nobody asks for it otherwise.
    fn has_updates(&self) -> bool {
        true
    }
    /// Periodic control. Called at exactly [`Qdisc::next_update`], which must advance.
    fn update(&mut self, _now: Time) {}
    /// The link has another rate. This is never refused, because the link has the rate that it has: what follows from the rate is computed
    /// anew, such as a limit in time, even where the parameters would be refused on a link of this rate; what cannot be computed keeps its
    /// last value. At a rate of zero everything keeps its last value.
    fn set_rate(&mut self, _rate: Rate, _now: Time, _obs: &mut dyn Observer<P>) {}
    /// Changes a parameter of the living queue; packets that no longer fit are dropped as
    /// [`DropReason::Reconfigured`](crate::DropReason::Reconfigured). On an error nothing changes, and the error is about `key`: a change is
    /// never refused because an unrelated parameter no longer suits the link's rate.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError>;
    /// Drops all that is queued, as [`DropReason::Drained`](crate::DropReason::Drained).
    fn drain(&mut self, now: Time, obs: &mut dyn Observer<P>);
    /// The packets that wait, without the one in service.
    fn backlog(&self) -> Backlog;
    /// Reports named gauges for tables and pages, as of `now`.
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge));
}

/// Sets CE on an ECN-capable packet, unless it carries CE already.
pub fn mark<P: Packet>(
    packet: &mut P,
    queue: QueueId,
    reason: MarkReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    if packet.ecn() != Ecn::Ce {
        packet.mark_ce();
        obs.marked(queue, packet, reason, now);
    }
}
