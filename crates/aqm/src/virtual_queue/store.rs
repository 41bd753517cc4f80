//! Packets in their order, each with its value and the positions of its records: the store of disciplines with virtual queues.

use alloc::collections::VecDeque;

use super::Position;
use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::units::Time;

/// A packet and its records in so many virtual queues.
#[derive(Debug)]
pub(crate) struct Entry<P, const N: usize> {
    pub(crate) packet: P,
    /// What it counts as: that of an unmarked packet is the default.
    pub(crate) value: u16,
    pub(crate) records: [Position; N],
}

/// A queue of them.
#[derive(Debug)]
pub(crate) struct ValueQueue<P, const N: usize> {
    entries: VecDeque<Entry<P, N>>,
    backlog: Backlog,
}

impl<P: Packet, const N: usize> ValueQueue<P, N> {
    pub(crate) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<P, N>) {
        self.backlog.add(entry.packet.len());
        self.entries.push_back(entry);
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<P, N>> {
        let entry = self.entries.pop_front()?;
        self.backlog.remove(entry.packet.len());
        Some(entry)
    }
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }
    /// How long the head has waited; zero if there is none.
    pub(crate) fn head_sojourn(&self, now: Time) -> Time {
        let head = self.entries.front();
        head.map_or(Time::ZERO, |entry| entry.packet.sojourn(now))
    }
}
