//! A receive window with little or no room: RFC 9293 sections 3.8.6.1 and 3.8.6.2.1; Linux `tcp_output.c`
//! (`tcp_snd_wnd_test`, `tcp_write_wakeup`, `tcp_sync_mss`), `tcp_input.c` (`tcp_ack_probe`), `tcp_timer.c`
//! (`tcp_probe_timer`).
//!
//! A segment is not cut to fit a window: it waits for room. Only the last one of a burst is, and the probe that
//! is due a time-out later, so that a receiver which never opens its window further gets something. A full
//! segment has at most half of the widest window so far.

use quell_units::Time;

use super::Sender;
use super::timers::{Forced, Timer};
use super::transmit::SendLimit;
use crate::flags::Flags;
use crate::segment::Segment;

/// Bytes of a packet from the TCP header on that a small window does not bring a full segment below
/// (`tcp_bound_to_half_wnd`; RFC 791: "Every internet module must be able to forward a datagram of 68
/// octets without further fragmentation").
const LEAST_MTU: u32 = 68;

/// Payload of a full segment, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Mss {
    /// Limited by the receive window so far (`mss_cache`).
    pub(super) full: u32,
    /// Whatever the receive window.
    pub(super) path: u32,
    /// `full` without the options of the other half of a connection (`tcp_current_mss`).
    pub(super) now: u32,
}

impl Mss {
    pub(super) fn new(mss: u32) -> Self {
        Self {
            full: mss,
            path: mss,
            now: mss,
        }
    }
}

impl Sender {
    /// `tcp_sync_mss`: a receive window holds at least two full segments, so that one of them can leave while
    /// the other is acknowledged.
    pub(super) fn sync_mss(&mut self) {
        let timestamps = if self.timestamps.recent.is_zero() {
            0
        } else {
            12
        };
        let least = (LEAST_MTU - 20 - timestamps).min(self.mss.path);
        let bound = self.queue.bound_to_half_window(self.mss.path.into()) as u32;
        self.mss.full = bound.max(least);
        self.mss.now = self.mss.full;
    }
    /// Whether data or the FIN has not left (`tcp_send_head`).
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        let next = self.board.snd_nxt();
        next < self.stream.write_seq || (self.stream.is_closed && next == self.stream.write_seq)
    }
    /// Whether the receive window has room for the next segment, which has this payload, perhaps with the FIN
    /// (`tcp_snd_wnd_test`).
    #[inline]
    pub(super) fn fits_window(&self, payload: u32) -> bool {
        let end = self.board.snd_nxt() + u64::from(payload);
        end + u64::from(self.is_fin_next(payload)) <= self.wnd_end
    }

    /// The room in the window for a burst that is leaving.
    #[cold]
    pub(super) fn rest_of_window(&mut self, now: Time) -> Result<u32, SendLimit> {
        let room = self.wnd_end.saturating_sub(self.board.snd_nxt());
        match self.continues_burst(self.board.tail()) && room > 0 {
            true => Ok(room as u32),
            false => Err(self.wait_for_window(now)),
        }
    }
    /// The receive window has no room for the next segment, which is not cut to fit it: RFC 9293 section
    /// 3.8.6.2.1 avoids silly windows. Where no ACK is due that could open the window, it is probed
    /// (`tcp_check_probe_timer`).
    #[cold]
    pub(super) fn wait_for_window(&mut self, now: Time) -> SendLimit {
        if self.board.is_empty() && !self.timers.is(Timer::Probe0) {
            self.timers.set(Timer::Probe0, now, self.timers.rto());
        }
        SendLimit::ReceiveWindow
    }
    /// `tcp_ack_probe`: an ACK arrives while nothing is outstanding and something has not left. A window that
    /// has room for the next segment ends its probes; else the next one is due a time-out from now.
    #[cold]
    pub(super) fn ack_probe(&mut self, now: Time) {
        let payload = self.next_payload(self.full_payload(now));
        if self.fits_window(payload) {
            self.timers.end_probes();
        } else {
            self.timers.set(Timer::Probe0, now, self.timers.rto());
        }
    }
    /// `tcp_probe_timer`: probes a receive window without room for the next segment. What fits is sent, and
    /// then nothing is left to probe (`tcp_send_probe0`).
    pub(super) fn probe_timer(&mut self, now: Time) {
        if !self.board.is_empty() {
            return;
        }
        self.pending.forced = Some(Forced::WindowProbe);
        if self.wnd_end > self.board.snd_nxt() {
            self.timers.backoff = 0;
        } else {
            self.timers.backoff = (self.timers.backoff + 1).min(16);
            self.timers.set(Timer::Probe0, now, self.timers.rto());
        }
    }

    /// `tcp_write_wakeup`: what fits into a window that is too small for the next segment, or the probe of a
    /// closed one.
    #[cold]
    pub(super) fn write_wakeup(&mut self, now: Time) -> Segment {
        let full = self.full_payload(now);
        let room = self.wnd_end.saturating_sub(self.board.snd_nxt());
        let fits = u64::from(self.next_payload(full)).min(room) as u32;
        if room == 0 && self.snd_una > 0 {
            // `tcp_xmit_probe_skb`: an old number, which any receiver acknowledges.
            let flags = Flags::ACK | self.ecn.ace_flags();
            let mut probe = self.bare_ack(flags, now);
            probe.sequence = self.snd_una - 1;
            return probe;
        }
        // Without an old number RFC 9293 section 3.8.6.1 has one octet of new data.
        let payload = if room == 0 {
            self.next_payload(1)
        } else {
            fits
        };
        let mut segment = self.emit(payload, full, false, now);
        if payload > 0 {
            segment.flags.0 |= Flags::PSH;
        }
        segment
    }
}
