//! One packet queue with its accounting and its limit: the store of every single-queue discipline.

use alloc::collections::VecDeque;

use crate::limit::QueueLimit;
use crate::observer::{Drop, DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::units::{Bytes, Time};

/// Names of the queues of a discipline that has one.
pub(crate) const NAMES: &[&str] = &["queue"];

/// Packets in their order, and how much they are.
#[derive(Debug)]
pub struct SingleQueue<P> {
    packets: VecDeque<P>,
    bytes: Bytes,
    /// The limit of the backlog. The control law applies it; the queue itself takes everything.
    pub limit: QueueLimit,
}

impl<P: Packet> SingleQueue<P> {
    /// An empty queue.
    pub fn new(limit: QueueLimit) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            limit,
        }
    }

    /// The packets that wait.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        // The number is not kept a second time: side by side, the two are written one by one and then read at once, which makes a
        // processor wait.
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// The time that the head has waited; zero if there is none.
    pub fn head_sojourn(&self, now: Time) -> Time {
        let head = self.packets.front();
        head.map_or(Time::ZERO, |packet| packet.sojourn(now))
    }
    /// Whether the limit allows a packet of `len` more.
    #[inline]
    pub fn has_room_for(&self, len: Bytes) -> bool {
        self.limit.admits(self.backlog(), len)
    }

    /// Adds `packet` without a word to the observer.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += packet.len();
        self.packets.push_back(packet);
    }
    /// Removes the head without a word to the observer.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// Accepts `packet`.
    #[inline]
    pub fn accept(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        obs.enqueued(QueueId::SINGLE, &packet, now);
        self.push(packet);
    }
    /// Drops heads while `too_much` is true.
    pub fn drop_heads_while(
        &mut self,
        too_much: impl Fn(Backlog) -> bool,
        reason: DropReason,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        while too_much(self.backlog()) {
            let Some(packet) = self.pop() else { break };
            drop_queued(packet, reason, now, obs);
        }
    }
    /// Drops everything.
    pub fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.drop_heads_while(|_| true, DropReason::Drained, now, obs);
    }
}

/// Drops `packet`, which had been accepted into the only queue.
#[inline]
pub fn drop_queued<P: Packet>(
    packet: P,
    reason: DropReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    let drop = Drop {
        queue: QueueId::SINGLE,
        reason,
        queued: true,
    };
    obs.dropped(packet, drop, now);
}

/// Drops `packet`, which was offered to the only queue.
#[inline]
pub fn refuse<P: Packet>(packet: P, reason: DropReason, now: Time, obs: &mut impl Observer<P>) {
    let drop = Drop {
        queue: QueueId::SINGLE,
        reason,
        queued: false,
    };
    obs.dropped(packet, drop, now);
}
