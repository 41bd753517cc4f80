//! Two packet queues with joint accounting: the store of every dual-queue discipline.

use alloc::collections::VecDeque;

use crate::observer::{Drop, DropReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::qdisc::Backlog;
use crate::units::{Bytes, Time};

/// Names of the queues, in the order of [`QueueId::L4S`] and [`QueueId::CLASSIC`].
pub(crate) const NAMES: &[&str] = &["l4s", "classic"];

/// A packet and its discipline's notes about it.
#[derive(Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    /// Whether the native threshold of the L4S queue may mark this packet, decided on arrival.
    pub(crate) apply_step: bool,
    /// An L4S packet that queue protection put into the Classic queue.
    pub(crate) redirected: bool,
}

/// An L4S and a Classic queue.
#[derive(Debug)]
pub struct DualQueue<P> {
    queues: [VecDeque<Queued<P>>; 2],
    backlogs: [Backlog; 2],
    memory: Bytes,
}

/// The queue that the IP-ECN classifier chooses: L4S for ECT(1) and CE, the odd values of the field (RFC 9332 section 2.3), and with
/// `any_ect` for ECT(0) too.
pub(crate) fn classify(ecn: Ecn, any_ect: bool) -> QueueId {
    let mask = if any_ect { 3 } else { 1 };
    if ecn.bits() & mask == 0 {
        QueueId::CLASSIC
    } else {
        QueueId::L4S
    }
}

/// Drops `packet`, which was offered to `queue`.
pub(crate) fn refuse<P: Packet>(
    packet: P,
    queue: QueueId,
    reason: DropReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    let drop = Drop {
        queue,
        reason,
        queued: false,
    };
    obs.dropped(packet, drop, now);
}

/// Drops `packet`, which had been accepted into `queue`.
pub(crate) fn drop_queued<P: Packet>(
    packet: P,
    queue: QueueId,
    reason: DropReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    let drop = Drop {
        queue,
        reason,
        queued: true,
    };
    obs.dropped(packet, drop, now);
}

impl<P: Packet> DualQueue<P> {
    pub(crate) fn new() -> Self {
        Self {
            queues: [VecDeque::new(), VecDeque::new()],
            backlogs: [Backlog::default(); 2],
            memory: Bytes::ZERO,
        }
    }

    pub(crate) fn push(&mut self, queue: QueueId, entry: Queued<P>) {
        self.backlogs[queue.index()].add(entry.packet.len());
        self.memory += entry.packet.memory();
        self.queues[queue.index()].push_back(entry);
    }

    pub(crate) fn pop(&mut self, queue: QueueId) -> Option<Queued<P>> {
        let entry = self.queues[queue.index()].pop_front()?;
        self.backlogs[queue.index()].remove(entry.packet.len());
        self.memory -= entry.packet.memory();
        Some(entry)
    }

    /// Number of packets in `queue`.
    pub(crate) fn packets(&self, queue: QueueId) -> u64 {
        self.backlogs[queue.index()].packets
    }
    /// IP bytes in `queue`.
    pub(crate) fn bytes(&self, queue: QueueId) -> Bytes {
        self.backlogs[queue.index()].bytes
    }
    /// Whether L4S and whether Classic hold packets.
    #[inline]
    pub(crate) fn backlogged(&self) -> (bool, bool) {
        (!self.queues[0].is_empty(), !self.queues[1].is_empty())
    }
    /// The backlog of both queues together.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.backlogs[0].packets + self.backlogs[1].packets,
            bytes: self.backlogs[0].bytes + self.backlogs[1].bytes,
        }
    }
    /// Memory of both queues together.
    pub(crate) fn memory(&self) -> Bytes {
        self.memory
    }
    /// The time that the head of `queue` has waited; `None` if the queue is empty.
    pub(crate) fn head_sojourn(&self, queue: QueueId, now: Time) -> Option<Time> {
        self.queues[queue.index()]
            .front()
            .map(|entry| entry.packet.sojourn(now))
    }
    /// The longer head sojourn of the two queues, zero if both are empty.
    pub(crate) fn longest_head_sojourn(&self, now: Time) -> Time {
        let head = |queue| self.head_sojourn(queue, now).unwrap_or(Time::ZERO);
        head(QueueId::L4S).max(head(QueueId::CLASSIC))
    }

    /// Drops heads, Classic before L4S, while `too_much` is true.
    pub(crate) fn drop_heads_while(
        &mut self,
        too_much: impl Fn(&Self) -> bool,
        reason: DropReason,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        for queue in [QueueId::CLASSIC, QueueId::L4S] {
            while too_much(self) {
                let Some(entry) = self.pop(queue) else { break };
                drop_queued(entry.packet, queue, reason, now, obs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classifier_reads_the_ecn_field() {
        for (ecn, strict, any) in [
            (Ecn::NotEct, QueueId::CLASSIC, QueueId::CLASSIC),
            (Ecn::Ect0, QueueId::CLASSIC, QueueId::L4S),
            (Ecn::Ect1, QueueId::L4S, QueueId::L4S),
            // CE goes to L4S even if it began as ECT(0): RFC 9332 section 2.3.
            (Ecn::Ce, QueueId::L4S, QueueId::L4S),
        ] {
            assert_eq!(classify(ecn, false), strict);
            assert_eq!(classify(ecn, true), any);
        }
    }
}
