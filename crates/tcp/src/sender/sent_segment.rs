//! A segment that was sent, as the scoreboard records it.

use quell_units::Time;

/// Selectively acknowledged (`TCPCB_SACKED_ACKED`).
pub(super) const SACKED: u8 = 1;
/// Considered lost (`TCPCB_LOST`).
pub(super) const LOST: u8 = 2;
/// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
pub(super) const RETRANSMITTED: u8 = 4;
/// Was retransmitted at some time (`TCPCB_EVER_RETRANS`).
pub(super) const EVER_RETRANSMITTED: u8 = 8;
/// Sent while the application limited the sender.
pub(super) const APP_LIMITED: u8 = 16;
/// Carries the FIN, which occupies its last number.
pub(super) const FIN: u8 = 32;
/// RACK has found it lost, and it has not left again: it is not in the list in order of sending.
pub(super) const UNLISTED: u8 = 64;

/// A segment in 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SentSegment {
    /// First sequence number in the upper 56 bits (enough for 72 PB), the bits above in the lower 8.
    word: u64,
    /// Time of its last departure.
    pub(super) sent: Time,
    /// Segments delivered by then, modulo 2³².
    pub(super) delivered: u32,
    /// Segments with CE among them.
    pub(super) delivered_ce: u32,
    /// Time from the departure of its flight's first segment to its own, in µs.
    send_span_us: u32,
    /// Time from the last delivery to its departure, in µs.
    ack_span_us: u32,
}

/// An instant or a time in whole microseconds.
#[inline]
pub(super) fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

impl SentSegment {
    pub(super) fn new(start: u64, flags: u8, sent: Time) -> Self {
        Self {
            word: start << 8 | u64::from(flags),
            sent,
            ..Self::default()
        }
    }
    pub(super) fn start(&self) -> u64 {
        self.word >> 8
    }
    /// Whether any of `flags` is set.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.word & u64::from(flags) != 0
    }
    pub(super) fn set(&mut self, flags: u8) {
        self.word |= u64::from(flags);
    }
    pub(super) fn clear(&mut self, flags: u8) {
        self.word &= !u64::from(flags);
    }
    /// Records whether the application limits the sender at this departure.
    pub(super) fn set_app_limited(&mut self, is_limited: bool) {
        self.clear(APP_LIMITED);
        self.word |= u64::from(is_limited) * u64::from(APP_LIMITED);
    }
    /// Records the state of delivery at departure, for rate samples: three instants in µs.
    pub(super) fn set_spans(&mut self, sent_us: u64, flight_start_us: u64, last_delivery_us: u64) {
        let since = |start| u32::try_from(sent_us.saturating_sub(start)).unwrap_or(u32::MAX);
        self.send_span_us = since(flight_start_us);
        self.ack_span_us = since(last_delivery_us);
    }
    pub(super) fn send_span_us(&self) -> u64 {
        self.send_span_us.into()
    }
    pub(super) fn ack_span_us(&self) -> u64 {
        self.ack_span_us.into()
    }
}
