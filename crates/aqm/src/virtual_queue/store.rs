//! Packets in their order, each with its value and the positions of its records in two virtual queues.

use alloc::collections::VecDeque;

use super::Position;
use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::units::Time;

/// A packet and its records.
#[derive(Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    /// Value that it counts as; an unmarked packet has the default.
    pub(crate) value: u16,
    pub(crate) records: [Position; 2],
}

/// A queue of them.
#[derive(Debug)]
pub(crate) struct ValueQueue<P> {
    entries: VecDeque<Queued<P>>,
    backlog: Backlog,
}

impl<P: Packet> ValueQueue<P> {
    pub(crate) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }
    #[inline]
    pub(crate) fn push(&mut self, entry: Queued<P>) {
        self.backlog.add(entry.packet.len());
        self.entries.push_back(entry);
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Queued<P>> {
        let entry = self.entries.pop_front()?;
        self.backlog.remove(entry.packet.len());
        Some(entry)
    }
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }
    /// The time that the head has waited; zero if there is none.
    pub(crate) fn head_sojourn(&self, now: Time) -> Time {
        let head = self.entries.front();
        head.map_or(Time::ZERO, |entry| entry.packet.sojourn(now))
    }
}
