//! Pacing: the rate of departures, and when the next one may be (Linux `tcp_update_pacing_rate`,
//! `tcp_update_skb_after_send`, `tcp_pacing_check`).

use quell_units::{Rate, Time};

use super::Sender;
use crate::cc::CongestionControl as _;

/// Spaces departures.
#[derive(Debug, Clone, Default)]
pub(super) struct Pacing {
    /// Whether departures are paced.
    pub(super) is_on: bool,
    /// Rate in bit/s of payload.
    rate_bps: u64,
    /// Time before which nothing leaves.
    next: Time,
    /// Whether something waits for it.
    pub(super) blocked: bool,
    /// The last burst: when it began, or should have begun; how late it was; its payload in bytes.
    base: Time,
    credit: Time,
    payload: u64,
}

impl Pacing {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate_bps = rate.as_bps();
    }
    pub(super) fn rate(&self) -> Rate {
        match self.rate_bps {
            0 => Rate::UNLIMITED,
            bps => Rate::from_bps(bps),
        }
    }
    /// Nothing waits for it any more.
    #[inline]
    pub(super) fn unblock(&mut self) {
        self.blocked = false;
    }
    pub(super) fn release(&self) -> Option<Time> {
        self.blocked.then_some(self.next)
    }
    pub(super) fn next(&self) -> Time {
        self.next
    }
    /// A segment leaves; one that begins no burst belongs to the last one. If it `counts`, what follows
    /// waits for the whole burst.
    pub(super) fn on_sent(&mut self, payload: u32, begins: bool, counts: bool, now: Time) {
        if begins {
            (self.base, self.credit) = (self.next.max(now), now - self.next);
            self.payload = 0;
        }
        self.payload += u64::from(payload);
        if !counts {
            self.next = self.base;
            return;
        }
        // 2³² bytes · 8 bits · 10⁹ ns do not fit 64 bits; 2.3 · 10⁹ bytes do.
        let nanobits = self.payload.saturating_mul(8_000_000_000);
        let gap = Time::from_nanos(nanobits.checked_div(self.rate_bps).unwrap_or(0));
        // A late start is made up for by half a gap at most, so that lateness never causes a burst.
        self.next = self.base + gap - (gap / 2).min(self.credit);
    }
}

impl Sender {
    /// The control may have changed the pacing rate that it sets.
    pub(super) fn heed_pacing(&mut self) {
        if self.pacing.is_on
            && let Some(rate) = self.control.pacing_rate()
        {
            self.pacing.set_rate(rate);
        }
    }
    /// Sets the pacing rate: the control's, or else that of the window.
    pub(super) fn update_pacing(&mut self) {
        if self.pacing.is_on {
            let rate = self
                .control
                .pacing_rate()
                .unwrap_or_else(|| self.window_rate());
            self.pacing.set_rate(rate);
        }
    }
    /// 200 % of a window per RTT in slow start, 120 % afterwards (`tcp_update_pacing_rate`).
    fn window_rate(&self) -> Rate {
        let Some(srtt) = self.rtt.srtt() else {
            return Rate::UNLIMITED;
        };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let segments = u64::from(self.window.cwnd.max(self.board.packets_out()));
        let srtt = srtt.as_nanos().max(1);
        let bits = segments.saturating_mul(u64::from(self.mss.full)) * 8;
        // 10⁹ ns, percent: fits 64 bits up to a window of 1.9 GB.
        let rate = match bits.checked_mul(percent * 10_000_000) {
            Some(scaled) => scaled / srtt,
            None => (bits / srtt).saturating_mul(percent * 10_000_000),
        };
        Rate::from_bps(rate.clamp(1, u64::MAX - 1))
    }
    /// Linux's `sk_pacing_rate`, which exists even where departures are not paced.
    pub(super) fn send_rate(&self) -> Rate {
        if self.pacing.is_on {
            self.pacing.rate()
        } else {
            self.window_rate()
        }
    }
}
