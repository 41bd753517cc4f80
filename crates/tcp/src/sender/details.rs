//! Details for a control that models the path: what was in flight and lost when each segment left, and
//! which segments were lost. BBR v2 and v3 need them (`google/bbr`: `tcp_set_tx_in_flight`,
//! `skb_marked_lost`).
//!
//! They are kept beside the scoreboard's ring, in slots with the same numbers, so that other controls
//! pay nothing for them. Nothing is allocated once they have reached the ring's size.

use quell_units::Time;

use super::Sender;
use super::sent_segment::{APP_LIMITED, SentSegment};
use crate::cc::{CongestionControl as _, LostSegment};

/// State of the connection when a segment left.
#[derive(Debug, Clone, Copy, Default)]
struct Detail {
    /// Segments in flight, itself included.
    in_flight: u32,
    /// Segments found lost since the start, modulo 2³².
    lost: u32,
}

/// The details of the segments on the board.
#[derive(Debug, Clone, Default)]
pub(super) struct Details {
    slots: Vec<Detail>,
    /// Segments found lost and not reported yet.
    lost: Vec<LostSegment>,
}

impl Details {
    /// Takes over the memory of earlier details.
    pub(super) fn reuse(&mut self, before: Self) {
        *self = before;
        self.lost.clear();
    }
    /// The segment in this slot of a ring of `size` slots leaves.
    pub(super) fn on_departure(&mut self, slot: usize, size: usize, in_flight: u32, lost: u64) {
        if self.slots.len() < size {
            self.grow(size);
        }
        self.slots[slot] = Detail {
            in_flight,
            lost: lost as u32,
        };
    }
    /// The ring has doubled: what was in a slot is in the same one or half the ring further.
    fn grow(&mut self, size: usize) {
        let old = self.slots.len();
        self.slots.resize(size, Detail::default());
        for slot in old..size {
            self.slots[slot] = self.slots[slot % old.max(1)];
        }
    }
    /// The segment in this slot was found lost; `lost` counts the losses, itself included.
    pub(super) fn on_lost(&mut self, slot: usize, entry: &SentSegment, lost: u64) {
        let detail = self.slots.get(slot).copied().unwrap_or_default();
        self.lost.push(LostSegment {
            sent: entry.sent,
            delivered: entry.delivered,
            delivered_ce: entry.delivered_ce,
            prior_lost: detail.lost,
            in_flight: detail.in_flight,
            app_limited: entry.has(APP_LIMITED),
            lost,
        });
    }
    /// Number of segments in flight, and found lost, when the segment in this slot left.
    pub(super) fn at_departure(&self, slot: usize) -> (u32, u32) {
        let detail = self.slots.get(slot).copied().unwrap_or_default();
        (detail.in_flight, detail.lost)
    }
}

impl Sender {
    /// Reports the segments just found lost to the control.
    #[inline]
    pub(super) fn report_losses(&mut self, now: Time) {
        if let Some(details) = &self.board.details
            && !details.lost.is_empty()
        {
            self.report_each_loss(now);
        }
    }
    #[cold]
    fn report_each_loss(&mut self, now: Time) {
        let connection = self.connection(now);
        if let Some(details) = &mut self.board.details {
            for lost in details.lost.drain(..) {
                self.control.on_lost(&lost, &connection, &mut self.window);
            }
        }
    }
}
