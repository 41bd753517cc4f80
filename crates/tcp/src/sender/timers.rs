//! The timers: RTO (RFC 6298 section 5), tail loss probe (RFC 8985 section 7), RACK's reorder timer
//! and the probe of a closed window; Linux `tcp_timer.c`, `tcp_output.c`
//! (`tcp_schedule_loss_probe`), `tcp_input.c` (`tcp_rearm_rto`). As in Linux there is one timer, which
//! serves one purpose at a time (`icsk_pending`).

use quell_units::Time;

use super::rtt::{INITIAL_RTO, MAX_RTO};
use super::{Phase, Sender};
use crate::cc::{CaState, CongestionControl as _};
use crate::ticks::Ticks;

/// Added to time-outs to allow for delays of the receiver's timers (`TCP_TIMEOUT_MIN_US`).
pub(super) const SLACK: Time = Time::from_millis(2);

/// `tcp_syn_linear_timeouts`.
const LINEAR_SYNS: u32 = 4;

/// Purpose of the timer (`ICSK_TIME_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Rto,
    LossProbe,
    /// RACK's (`ICSK_TIME_REO_TIMEOUT`).
    Reorder,
    /// The receive window is closed (`ICSK_TIME_PROBE0`).
    Probe0,
}

/// A segment that leaves regardless of the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forced {
    /// The first outstanding segment, after a time-out.
    Head,
    /// A tail loss probe.
    LossProbe,
    /// A probe of a closed receive window.
    WindowProbe,
}

/// The timer.
#[derive(Debug, Clone)]
pub(super) struct Timers {
    /// The purpose that it is set for; since when, and for how long.
    armed: Option<Timer>,
    since: Time,
    wait: Time,
    /// Time-out without backoff, and how often it was doubled (`icsk_rto`, `icsk_backoff`).
    base: Time,
    pub(super) backoff: u32,
    /// Time-outs since the last acknowledgement of new data (`icsk_retransmits`).
    pub(super) retransmits: u32,
    syn_due: Option<Time>,
    /// Number of time-outs of the SYN that are not doubled (`tcp_syn_linear_timeouts`).
    linear_syns: u32,
    ticks: Ticks,
}

impl Timers {
    pub(super) fn new(ticks: Ticks) -> Self {
        Self {
            armed: None,
            since: Time::ZERO,
            wait: Time::ZERO,
            base: INITIAL_RTO,
            backoff: 0,
            retransmits: 0,
            syn_due: None,
            linear_syns: 0,
            ticks,
        }
    }
    pub(super) fn on_established(&mut self, rto: Time) {
        self.base = self.ticks.whole(rto);
        self.backoff = 0;
        self.syn_due = None;
    }
    /// A new RTT sample ends the backoff.
    #[inline]
    pub(super) fn on_sample(&mut self, rto: Time) {
        self.base = self.ticks.whole(rto);
        self.backoff = 0;
    }
    pub(super) fn rto(&self) -> Time {
        (self.base * (1 << self.backoff.min(20))).min(MAX_RTO)
    }
    pub(super) fn is(&self, timer: Timer) -> bool {
        self.armed == Some(timer)
    }
    /// Sets the timer to expire `wait` from now (`tcp_reset_xmit_timer`).
    pub(super) fn set(&mut self, timer: Timer, now: Time, wait: Time) {
        (self.armed, self.since, self.wait) = (Some(timer), now, wait);
    }
    pub(super) fn due(&self) -> Option<Time> {
        match (self.armed, self.syn_due) {
            // The host's clock is read here, because it is set more often than it is looked at.
            (Some(_), None) => Some(self.ticks.after(self.since, self.wait)),
            (_, syn_due) => syn_due,
        }
    }
    /// The receive window is open again, so the backoff of its probes ends.
    pub(super) fn end_probes(&mut self) {
        if self.is(Timer::Probe0) {
            self.armed = None;
            self.backoff = 0;
        }
    }
    /// The clock of this host's timers.
    pub(super) fn ticks(&self) -> Ticks {
        self.ticks
    }
    /// The next time-outs of the SYN are Linux's of 6.5 and later: five of 1 s, then 2 s, 4 s and so on.
    pub(super) fn begin_linearly(&mut self) {
        self.linear_syns = LINEAR_SYNS;
    }
    pub(super) fn arm_syn(&mut self, now: Time, attempt: u32) {
        let doublings = (attempt - 1).saturating_sub(self.linear_syns);
        let wait = INITIAL_RTO * (1 << doublings.min(6));
        self.syn_due = Some(self.ticks.after(now, wait));
    }
}

impl Sender {
    /// Handles the timers that have expired; call [`poll`](Self::poll) afterwards. A call before they
    /// expire has no effect.
    pub fn on_timer(&mut self, now: Time) {
        if self.timers.syn_due.is_some_and(|due| due <= now) {
            self.timers.syn_due = None;
            self.pending.syn |= matches!(self.phase, Phase::SynSent { .. });
        }
        let Some(timer) = self.timers.armed else {
            return;
        };
        if self.timers.ticks.after(self.timers.since, self.timers.wait) > now {
            return;
        }
        self.timers.armed = None;
        match timer {
            Timer::Rto => self.retransmit_timer(now),
            Timer::LossProbe => self.send_loss_probe(now),
            Timer::Reorder => self.rack_reo_timeout(now),
            Timer::Probe0 => self.probe_timer(now),
        }
    }

    /// `tcp_retransmit_timer`: marks everything old enough as lost and retransmits the first segment.
    fn retransmit_timer(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        self.counters.rto_count += 1;
        self.enter_loss(now);
        self.timers.retransmits += 1;
        self.pending.forced = Some(Forced::Head);
        self.timers.backoff += 1;
        self.timers.set(Timer::Rto, now, self.timers.rto());
    }

    /// `tcp_send_loss_probe`: one probe per flight.
    fn send_loss_probe(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        if self.recovery.tlp.is_none() {
            self.pending.forced = Some(Forced::LossProbe);
        } else {
            self.rearm_rto(now, Some(Timer::LossProbe));
        }
    }

    /// `tcp_rack_reo_timeout`.
    fn rack_reo_timeout(&mut self, now: Time) {
        let before = self.board.in_flight();
        self.rack_mark_lost(now);
        if self.board.in_flight() != before {
            if self.recovery.state != CaState::Recovery {
                self.enter_recovery(false, now);
                if !self.control.has_cong_control() {
                    self.cwnd_reduction(1, 0, false);
                }
            }
            self.recovery.holds_back = false;
        }
        self.rearm_rto(now, Some(Timer::Reorder));
    }

    /// `tcp_rearm_rto`: sets a full time-out from now. If the timer served another purpose (`instead`)
    /// in the meantime, sets what remains of the time-out since the first segment left: probe and
    /// reorder timer must not delay the RTO.
    pub(super) fn rearm_rto(&mut self, now: Time, instead: Option<Timer>) {
        if self.board.is_empty() {
            self.timers.armed = None;
            return;
        }
        let armed = self.timers.armed.or(instead);
        let wait = match armed {
            Some(Timer::LossProbe | Timer::Reorder) => {
                let head = self.board.entry(self.board.head()).sent;
                (head + self.timers.rto() - now).max(Time::from_nanos(1))
            }
            _ => self.timers.rto(),
        };
        self.timers.set(Timer::Rto, now, wait);
    }

    /// `tcp_schedule_loss_probe`. RFC 8985 section 7.2: PTO = 2 * SRTT, plus the receiver's delay if one
    /// segment is in flight, and never later than the RTO. Returns true if the probe is
    /// scheduled.
    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, now: Time, from_now: bool) -> bool {
        if self.recovery.state != CaState::Open && self.recovery.state != CaState::Cwr
            || self.board.is_empty()
            || self.recovery.tlp.is_some()
        {
            return false;
        }
        let wait = match self.rtt.srtt() {
            Some(srtt) if self.board.packets_out() == 1 => srtt * 2 + self.rtt.rto_min(),
            Some(srtt) => srtt * 2 + SLACK,
            None => INITIAL_RTO,
        };
        let rto = self.timers.rto();
        let wait = if from_now {
            wait.min(rto)
        } else {
            let head = self.board.entry(self.board.head()).sent + rto;
            if head > now {
                wait.min(head - now)
            } else {
                wait
            }
        };
        self.timers.set(Timer::LossProbe, now, wait);
        true
    }

    /// Sets the timer after an ACK that acknowledges segments (`tcp_set_xmit_timer`).
    #[inline]
    pub(super) fn set_xmit_timer(&mut self, now: Time) {
        if !self.schedule_loss_probe(now, true) {
            self.rearm_rto(now, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18: `tcp_rack_mark_lost` and `__tcp_set_rto` round up to jiffies, `calc_index` adds one.
    #[test]
    fn time_outs_are_whole_ticks_and_ring_at_one() {
        let us = Time::from_micros;
        for (ticks, rings, rto) in [
            (Ticks::EXACT, us(12_250), us(221_300)),
            (Ticks::new(250, Time::ZERO), us(16_000), us(224_000)),
            (Ticks::new(1_000, Time::ZERO), us(14_000), us(222_000)),
        ] {
            let mut timers = Timers::new(ticks);
            timers.set(Timer::Reorder, us(9_000), us(3_250));
            assert_eq!(timers.due(), Some(rings));
            timers.on_sample(us(221_300));
            assert_eq!(timers.rto(), rto);
        }
    }
}
