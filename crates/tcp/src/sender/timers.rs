//! The timers: RTO (RFC 6298 section 5), tail loss probe (RFC 8985 section 7) and RACK's reorder
//! timer; Linux `tcp_timer.c`, `tcp_output.c` (`tcp_schedule_loss_probe`), `tcp_input.c`
//! (`tcp_rearm_rto`). As in Linux there is one timer, which is one of the three at a time.

use quell_units::Time;

use super::rtt::{INITIAL_RTO, MAX_RTO};
use super::transmit::Forced;
use super::{Phase, Sender};
use crate::cc::State;
use crate::ticks::Ticks;

/// Added to time-outs against delays of the receiver's timers (`TCP_TIMEOUT_MIN_US`).
pub(super) const SLACK: Time = Time::from_millis(2);

/// What the timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rto,
    Probe,
    Reorder,
    /// The receive window is closed.
    Window,
}

/// The timer.
#[derive(Debug, Clone)]
pub(super) struct Timers {
    armed: Option<(Kind, Time)>,
    /// Time-out without backoff, and times it was doubled.
    base: Time,
    backoff: u32,
    /// Time-outs since something was acknowledged (`icsk_retransmits`).
    pub(super) attempts: u32,
    syn_due: Option<Time>,
    ticks: Ticks,
}

impl Timers {
    pub(super) fn new(ticks: Ticks) -> Self {
        Self {
            armed: None,
            base: INITIAL_RTO,
            backoff: 0,
            attempts: 0,
            syn_due: None,
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
    pub(super) fn is(&self, kind: Kind) -> bool {
        self.armed.is_some_and(|(armed, _)| armed == kind)
    }
    /// Sets the timer, so long from now (`tcp_reset_xmit_timer`).
    pub(super) fn set(&mut self, kind: Kind, now: Time, wait: Time) {
        self.armed = Some((kind, self.ticks.after(now, wait)));
    }
    pub(super) fn due(&self) -> Option<Time> {
        match (self.armed, self.syn_due) {
            (Some((_, due)), None) => Some(due),
            (_, syn_due) => syn_due,
        }
    }
    pub(super) fn arm_syn(&mut self, now: Time, attempts: u32) {
        let wait = INITIAL_RTO * (1 << (attempts - 1).min(6));
        self.syn_due = Some(self.ticks.after(now, wait));
    }
}

impl Sender {
    /// Time has come; call [`poll`](Self::poll) afterwards. Harmless when early.
    pub fn on_timer(&mut self, now: Time) {
        if self.timers.syn_due.is_some_and(|due| due <= now) {
            self.timers.syn_due = None;
            self.syn_wanted |= matches!(self.phase, Phase::Opening(..));
        }
        let Some((kind, due)) = self.timers.armed else {
            return;
        };
        if due > now {
            return;
        }
        self.timers.armed = None;
        match kind {
            Kind::Rto => self.on_rto(now),
            Kind::Probe => self.on_probe(now),
            Kind::Reorder => self.on_reorder(now),
            Kind::Window => self.on_closed_window(now),
        }
    }

    /// `tcp_retransmit_timer`: everything old enough is lost, and the first segment goes again.
    fn on_rto(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        self.counters.rto_count += 1;
        self.enter_loss(now);
        self.timers.attempts += 1;
        self.forced = Some(Forced::Head);
        self.timers.backoff += 1;
        self.timers.set(Kind::Rto, now, self.timers.rto());
    }

    /// `tcp_send_loss_probe`: new data if there is any, else the last segment again.
    fn on_probe(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        if self.recovery.probe.is_none() {
            self.forced = Some(Forced::Probe);
        } else {
            self.rearm_rto(now, Some(Kind::Probe));
        }
    }

    fn on_reorder(&mut self, now: Time) {
        let before = self.board.in_flight();
        let wait = self.detect_loss(now);
        if self.board.in_flight() != before {
            if self.recovery.state != State::Recovery {
                self.enter_recovery(false, now);
                if !self.control.sets_window() {
                    self.reduce(1, 0, false);
                }
            }
            self.recovery.holds_back = false;
        }
        match wait {
            // Some wait still: those that the scan did not reach.
            Some(wait) => self.timers.set(Kind::Reorder, now, wait),
            None => self.rearm_rto(now, Some(Kind::Reorder)),
        }
    }

    /// The window is open again: what the probes had backed off ends (`tcp_ack_probe`).
    pub(super) fn on_open_window(&mut self) {
        if self.timers.is(Kind::Window) {
            self.timers.armed = None;
            self.timers.backoff = 0;
        }
    }
    fn on_closed_window(&mut self, now: Time) {
        if self.board.is_empty() {
            self.forced = Some(Forced::IntoClosedWindow);
            self.timers.backoff = (self.timers.backoff + 1).min(16);
            self.timers.set(Kind::Window, now, self.timers.rto());
        }
    }

    /// `tcp_rearm_rto`: a full time-out from now, or what is left of it since the first segment
    /// left if the timer served another purpose (`instead`) meanwhile.
    pub(super) fn rearm_rto(&mut self, now: Time, instead: Option<Kind>) {
        if self.board.is_empty() {
            self.timers.armed = None;
            return;
        }
        let armed = self.timers.armed.map(|(kind, _)| kind).or(instead);
        let wait = match armed {
            Some(Kind::Probe | Kind::Reorder) => {
                let head = self.board.entry(self.board.head()).sent;
                (head + self.timers.rto() - now).max(Time::from_nanos(1))
            }
            _ => self.timers.rto(),
        };
        self.timers.set(Kind::Rto, now, wait);
    }

    /// `tcp_schedule_loss_probe`: two smoothed RTTs, and the receiver's delay if only one segment is
    /// out (RFC 8985 section 7.2); not beyond the RTO.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time, from_now: bool) -> bool {
        if self.recovery.state != State::Open && self.recovery.state != State::Reducing
            || self.board.is_empty()
            || self.recovery.probe.is_some()
        {
            return false;
        }
        let wait = match self.rtt.smoothed() {
            Some(srtt) if self.board.outstanding() == 1 => srtt * 2 + self.rtt.rto_min(),
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
        self.timers.set(Kind::Probe, now, wait);
        true
    }

    /// After an ACK that moved the window (`tcp_set_xmit_timer`).
    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
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
            timers.set(Kind::Reorder, us(9_000), us(3_250));
            assert_eq!(timers.due(), Some(rings));
            timers.on_sample(us(221_300));
            assert_eq!(timers.rto(), rto);
        }
    }
}
