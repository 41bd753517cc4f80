//! Segmentation offload (TSO, GSO): how many segments leave together, and when the sender defers them
//! to send more; Linux `net/ipv4/tcp_output.c` of 6.18 (`tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_cwnd_test`, `tcp_small_queue_check`).
//!
//! A host with segmentation offload passes to its network at once what the pacing rate sends in about
//! a millisecond, paced or not; the receiver sees bursts of full-sized packets. Window for less than
//! that stays unused while an ACK is due that will open more of it. The last segment of a burst
//! carries PSH (`__tcp_transmit_skb`), which its receiver answers at once.
//!
//! Deviations from Linux: 1. lost segments form a burst wherever they are neighbours, however they
//! left first; 2. what waits in the host counts with its IP length, not with `truesize`.

use quell_units::{Bytes, Time};

use super::Sender;
use super::transmit::SendLimit;
use crate::cc::{CaState, CongestionControl as _};
use crate::segment::Segment;

/// Largest payload of a burst in bytes: 64 KiB without headers (`sk_gso_max_size`).
pub(super) const LARGEST: u64 = 65_536 - 321;
/// A burst takes 2⁻¹⁰ s at the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// The allowance for close peers halves with each 2⁹ µs of RTT (`tcp_tso_rtt_log`): in a data centre
/// larger bursts save more than they harm.
const RTT_LOG: u32 = 9;
/// A burst of a third of the window is not deferred (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Longest wait for an ACK that a burst is deferred for, and longest silence before it.
const PATIENCE: Time = Time::from_millis(1);

/// Segmentation offload: the burst that is leaving, and what waits in the host.
#[derive(Debug, Clone, Default)]
pub(super) struct Offload {
    /// Whether the host has it (`sk_can_gso`).
    pub(super) is_on: bool,
    /// Number of the burst's segments that have not left yet.
    left: u32,
    /// Number of segments that it began with.
    size: u32,
    /// Index of its next segment on the board.
    next: u64,
    /// Bytes of this connection's packets in the host's own queue.
    local_queue: Bytes,
}

impl Offload {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }
    /// Whether the segment that has just left was its burst's first.
    pub(super) fn has_begun(&self) -> bool {
        self.left + 1 == self.size
    }
}

impl Sender {
    /// Sets the number of bytes of this connection's packets that wait in its host's own queue. The
    /// sender holds back when they are more than the pacing rate sends in about a millisecond.
    pub fn set_local_queue(&mut self, bytes: Bytes) {
        self.offload.local_queue = bytes;
    }

    /// `tcp_small_queue_check`: two bursts, or what the pacing rate sends in about a millisecond, may
    /// wait in the host.
    #[inline]
    pub(super) fn has_local_room(&self) -> bool {
        self.offload.local_queue == Bytes::ZERO
            || self.board.is_empty()
            || self.offload.local_queue.get() <= self.local_limit()
    }
    fn local_limit(&self) -> u64 {
        let burst =
            u64::from(self.tso_segs()) * (u64::from(self.mss.full) + Segment::HEADERS.get());
        (2 * burst).max((self.send_rate().as_bps() / 8) >> PACING_SHIFT)
    }

    /// `tcp_tso_segs`, `tcp_tso_autosize`: the number of segments in a burst.
    fn tso_segs(&self) -> u32 {
        if !self.offload.is_on {
            return 1;
        }
        let mut bytes = (self.send_rate().as_bps() / 8) >> PACING_SHIFT;
        let micros = self.rtt.min_rtt().map(|rtt| rtt.as_nanos() / 1_000);
        if let Some(halvings @ ..32) = micros.map(|micros| micros >> RTT_LOG) {
            bytes = bytes.saturating_add(LARGEST >> halvings);
        }
        self.control
            .tso_segs(bytes.min(LARGEST), self.mss.full)
            .max(1)
    }

    /// Whether the segment at `index` leaves together with the one before it.
    #[inline]
    pub(super) fn continues_burst(&self, index: u64) -> bool {
        self.offload.left > 0 && self.offload.next == index
    }
    pub(super) fn end_burst(&mut self) {
        self.offload.left = 0;
    }
    /// The segment at `index` leaves; what follows may leave with it if the window has `room` for it.
    /// Returns true if a burst begins with this segment.
    #[inline]
    pub(super) fn count_into_burst(&mut self, index: u64, room: u32) -> bool {
        let begins = !self.continues_burst(index);
        if begins {
            let size = match self.offload.is_on {
                true => self.tso_burst(index, room).max(1),
                false => 1,
            };
            (self.offload.left, self.offload.size) = (size, size);
        }
        self.offload.left -= 1;
        self.offload.next = index + 1;
        begins
    }
    /// Number of segments that leave together from the segment at `index` on, which is on the board.
    #[inline]
    fn tso_burst(&self, index: u64, room: u32) -> u32 {
        let mut most = room;
        if index + 1 == self.board.tail() {
            let next = self.board.snd_nxt();
            let left = self.stream.write_seq.min(self.wnd_end).saturating_sub(next);
            let mut more = left / u64::from(self.mss.full);
            if self.wnd_end < self.stream.write_seq && self.may_end_small(left) {
                more += 1;
            }
            most = most.min(1 + more.min(u64::from(u32::MAX - 1)) as u32);
        }
        // A burst this small does not depend on the rate.
        if most <= self.control.min_tso_segs() {
            return most;
        }
        most.min(self.tso_segs())
    }
    /// `tcp_mss_split_point`: whether a burst that fills `left` bytes, up to the end of the window, ends with a
    /// small segment. It does unless a small one is outstanding (`tcp_nagle_check`).
    fn may_end_small(&self, left: u64) -> bool {
        let ends_full = left.is_multiple_of(u64::from(self.mss.full));
        !(ends_full || self.nagle.holds(self.snd_una))
    }
    /// Whether the segment that has just left was the last of several, which carries PSH
    /// (`__tcp_transmit_skb`).
    #[inline]
    pub(super) fn has_ended_burst(&self) -> bool {
        self.offload.left == 0 && self.offload.size > 1
    }

    /// `tcp_tso_should_defer`: why new data that could leave now is deferred; `None` if it is not.
    #[inline]
    pub(super) fn tso_should_defer(&self, in_flight: u32, now: Time) -> Option<SendLimit> {
        let left = self.stream.write_seq.saturating_sub(self.board.snd_nxt());
        if !self.offload.is_on || left <= u64::from(self.mss.full) || !self.expects_ack_soon(now) {
            return None;
        }
        self.defer_reason(left, in_flight, now)
    }
    /// Whether the ACK of the first outstanding segment is due within a millisecond, or half an RTT if
    /// that is less. It stays due until something arrives.
    #[inline]
    fn expects_ack_soon(&self, now: Time) -> bool {
        if self.board.is_empty() || self.recovery.state >= CaState::Recovery {
            return false;
        }
        let srtt = self.rtt.srtt().unwrap_or_default();
        let expected = self.board.entry(self.board.head()).sent + srtt;
        expected <= now + PATIENCE.min(srtt / 2)
    }
    fn defer_reason(&self, left: u64, in_flight: u32, now: Time) -> Option<SendLimit> {
        let mss = u64::from(self.mss.full);
        // The last departure may be planned for later (`tcp_wstamp_ns`).
        let last = self.departures.data.max(self.departures.control);
        let stamp = last.max(self.pacing.next());
        if now > stamp + PATIENCE {
            return None;
        }
        let by_receiver = self.wnd_end.saturating_sub(self.board.snd_nxt());
        let by_congestion = u64::from(self.window.cwnd - in_flight) * mss;
        let room = by_receiver.min(by_congestion);
        let window = self.wnd_end.saturating_sub(self.snd_una);
        let window = window.min(u64::from(self.window.cwnd) * mss);
        let is_enough = room >= u64::from(self.tso_segs()) * mss;
        if is_enough || room >= window / WINDOW_DIVISOR {
            return None;
        }
        let written = match self.queue.head(self.board.snd_nxt()) {
            // The rest of a buffer that will get no more data.
            Some((rest, false)) if rest <= room => return None,
            Some((rest, _)) => rest,
            None => left.min(LARGEST / mss * mss),
        };
        if by_congestion < by_receiver && by_congestion <= written {
            return Some(SendLimit::CongestionWindow);
        }
        if by_receiver <= by_congestion && by_receiver <= written {
            return Some(SendLimit::ReceiveWindow);
        }
        // All of it fits, and the application may write more unless it has closed.
        (!self.stream.is_closed).then_some(SendLimit::TsoDefer)
    }
}
