//! Loss recovery: which state an ACK leads to, and how the window shrinks meanwhile. RFC 6675, 8985
//! section 6, 9937 (PRR), 5682 (F-RTO); Linux `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`,
//! `tcp_cwnd_reduction`, `tcp_enter_loss`, `tcp_process_loss`, `tcp_process_tlp_ack`).

use quell_units::Time;

use super::Sender;
use super::ack::News;
use super::scoreboard::SACKED;
use super::timers::{Kind, SLACK};
use crate::cc::{Event, State, Window};

/// A tail loss probe is out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// What had been sent by then.
    pub(super) high: u64,
    /// Whether it repeated a segment.
    pub(super) is_retransmission: bool,
}

/// The state of loss recovery.
#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    pub(super) state: State,
    /// What had been sent when the state began; it ends when this is acknowledged.
    pub(super) high: u64,
    /// What was acknowledged when the reduction began that might be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions that no D-SACK has shown needless; `None` if there has been none.
    pub(super) undo_retransmissions: Option<u32>,
    /// The threshold before; zero where it must not come back.
    pub(super) prior_ssthresh: u32,
    /// Timestamp of the first retransmission.
    pub(super) first_retransmission: Option<Time>,
    /// Whether a time-out might still prove spurious (F-RTO).
    pub(super) frto: bool,
    /// Lost segments wait although the window would allow them.
    pub(super) holds_back: bool,
    /// This ACK has set the reorder timer.
    pub(super) awaits_reordering: bool,
    pub(super) probe: Option<Probe>,
    /// Segments delivered and sent since the reduction began (PRR).
    delivered: u32,
    out: u32,
    /// How far the path reorders, in segments; the duplicate threshold.
    pub(super) reordering: u32,
    pub(super) reordering_seen: bool,
    /// D-SACKs received, in segments.
    pub(super) dsacks: u64,
}

/// The duplicate threshold of a path that has not been seen to reorder.
const REORDERING: u32 = 3;
/// The greatest (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

impl Recovery {
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reducing | State::Recovery)
    }
    pub(super) fn threshold(&self) -> u32 {
        self.reordering.max(REORDERING)
    }
    #[inline]
    pub(super) fn on_departure(&mut self) {
        if self.is_reducing() {
            self.out += 1;
        }
    }
    pub(super) fn on_retransmit(&mut self, stamp: Time) {
        self.first_retransmission.get_or_insert(stamp);
        self.undo_retransmissions = Some(self.undo_retransmissions.unwrap_or(0) + 1);
    }
    pub(super) fn on_probe(&mut self, high: u64, is_retransmission: bool) {
        self.probe = Some(Probe {
            high,
            is_retransmission,
        });
    }
}

impl Sender {
    /// What an unusual ACK means (`tcp_fastretrans_alert`).
    pub(super) fn alert(&mut self, news: &News, now: Time) {
        if news.ece {
            // A reduction that ECN asked for is not undone.
            self.recovery.prior_ssthresh = 0;
        }
        if self.recovery.state == State::Open {
            self.recovery.first_retransmission = None;
        } else if self.una >= self.recovery.high {
            match self.recovery.state {
                State::Reducing if self.una != self.recovery.high => {
                    self.end_reduction(now);
                    self.set_state(State::Open, now);
                }
                State::Recovery => {
                    self.end_recovery(now);
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
        match self.recovery.state {
            State::Recovery => {
                if news.advanced && self.undo_partially(news, now) {
                    self.recovery.holds_back = true;
                    return;
                }
                if self.undo_by_dsack(now) {
                    self.try_to_open(news, now);
                }
                self.identify_loss(now);
                if self.recovery.state != State::Recovery {
                    if self.board.lost() == 0 {
                        return;
                    }
                    self.enter_recovery(news.ece, now);
                }
            }
            State::Loss => {
                self.process_loss(news, now);
                let lost_again = self.identify_loss(now);
                if self.recovery.state == State::Open || lost_again {
                    self.try_to_recover(news, now);
                }
            }
            _ => self.try_to_recover(news, now),
        }
    }
    fn try_to_recover(&mut self, news: &News, now: Time) {
        if self.recovery.state <= State::Disorder {
            self.undo_by_dsack(now);
        }
        self.identify_loss(now);
        if self.board.lost() == 0 {
            self.try_to_open(news, now);
        } else {
            self.enter_recovery(news.ece, now);
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, news: &News, now: Time) {
        if !self.board.any_retransmitted() {
            self.recovery.first_retransmission = None;
        }
        if news.ece {
            self.enter_reduction(now);
        }
        if self.recovery.state != State::Reducing {
            self.try_keep_open(now);
        }
    }
    /// `tcp_try_keep_open`.
    pub(super) fn try_keep_open(&mut self, now: Time) {
        let is_disorderly =
            self.board.sacked() + self.board.lost() > 0 || self.board.any_retransmitted();
        let state = if is_disorderly {
            State::Disorder
        } else {
            State::Open
        };
        if self.recovery.state != state {
            self.set_state(state, now);
            self.recovery.high = self.board.next();
        }
    }

    /// RACK's verdicts, if anything new was delivered. True if a retransmission was lost.
    fn identify_loss(&mut self, now: Time) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let before = self.board.retransmitted();
        if let Some(wait) = self.detect_loss(now) {
            let wait = (wait + SLACK).min(self.timers.rto());
            self.timers.set(Kind::Reorder, now, wait);
            self.recovery.awaits_reordering = true;
        }
        self.board.retransmitted() < before
    }
    pub(super) fn detect_loss(&mut self, now: Time) -> Option<Time> {
        let recovery = &self.recovery;
        let lenient = recovery.reordering_seen
            || (recovery.state < State::Recovery && self.board.sacked() < recovery.threshold());
        let window = self
            .rack
            .window(self.rtt.lowest(), self.rtt.smoothed(), lenient);
        let wait = self.rack.detect(&mut self.board, window, now);
        self.tell_losses();
        wait
    }
    /// A segment arrived behind one that was sent later (`tcp_check_sack_reordering`): `low` starts
    /// before what had been acknowledged up to `highest`.
    pub(super) fn on_reordering(&mut self, low: u64, highest: u64) {
        if low >= highest {
            return;
        }
        let distance = (highest - low).div_ceil(self.mss.into());
        let distance = distance.min(MAX_REORDERING.into()) as u32;
        self.recovery.reordering = self.recovery.threshold().max(distance);
        self.recovery.reordering_seen = true;
    }

    /// Fast recovery begins (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, ece: bool, now: Time) {
        self.counters.recoveries += 1;
        self.recovery.prior_ssthresh = 0;
        self.begin_undo();
        if !self.recovery.is_reducing() {
            if !ece {
                self.recovery.prior_ssthresh = self.current_threshold();
            }
            self.begin_reduction();
        }
        self.set_state(State::Recovery, now);
    }
    /// ECN echo (`tcp_enter_cwr`).
    fn enter_reduction(&mut self, now: Time) {
        self.recovery.prior_ssthresh = 0;
        if self.recovery.state < State::Reducing {
            self.counters.ecn_reductions += 1;
            self.recovery.undo_marker = None;
            self.begin_reduction();
            self.set_state(State::Reducing, now);
        }
    }
    /// `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self) {
        self.recovery.high = self.board.next();
        self.recovery.probe = None;
        self.recovery.delivered = 0;
        self.recovery.out = 0;
        self.window.count = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.control.threshold(&self.window);
        self.announce_reduction = true;
    }
    /// Proportional rate reduction (RFC 9937; Linux `tcp_cwnd_reduction`): as many segments leave
    /// as the new window bears to the old one of those delivered; below the new window, as many as
    /// are delivered, and one more while nothing is lost.
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        let prior = u64::from(self.window.prior_cwnd);
        if delivered == 0 || prior == 0 {
            return;
        }
        let recovery = &mut self.recovery;
        recovery.delivered = recovery.delivered.saturating_add(delivered);
        let in_flight = self.board.in_flight();
        let threshold = self.window.ssthresh;
        let mut count = if in_flight > threshold {
            let due = (u64::from(threshold) * u64::from(recovery.delivered)).div_ceil(prior);
            due as i64 - i64::from(recovery.out)
        } else {
            let bound = i64::from(recovery.delivered) - i64::from(recovery.out);
            let mut bound = bound.max(i64::from(delivered));
            if advanced && lost == 0 {
                bound += 1;
            }
            bound.min(i64::from(threshold - in_flight))
        };
        // The first retransmission leaves whatever the count says.
        count = count.max(i64::from(recovery.out == 0));
        let count = count.clamp(0, i64::from(Window::MAX)) as u32;
        self.window.cwnd = in_flight.saturating_add(count).min(Window::MAX);
    }
    /// `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, now: Time) {
        if self.control.sets_window() {
            return;
        }
        let is_valid =
            self.recovery.state == State::Reducing || self.recovery.undo_marker.is_some();
        if self.window.ssthresh < Window::NO_THRESHOLD && is_valid {
            self.window.cwnd = self.window.ssthresh;
            self.usage.stamp = now;
        }
        self.control.on_event(Event::Reduced, now, &mut self.window);
    }

    /// The retransmission timer ran out (`tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self, now: Time) {
        self.mark_timed_out(now);
        let state = self.recovery.state;
        let is_new = state < State::Recovery;
        let attempts = self.timers.attempts;
        if state <= State::Disorder
            || self.recovery.high <= self.una
            || (state == State::Loss && attempts == 0)
        {
            self.recovery.prior_ssthresh = self.current_threshold();
            self.window.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.control.threshold(&self.window);
            self.control.on_event(Event::Timeout, now, &mut self.window);
            self.begin_undo();
        }
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.count = 0;
        self.usage.stamp = now;
        // So many SACKs and still a time-out: reordering was overestimated.
        if state <= State::Disorder && self.board.sacked() >= REORDERING {
            self.recovery.reordering = REORDERING;
        }
        self.set_state(State::Loss, now);
        self.recovery.high = self.board.next();
        self.recovery.probe = None;
        self.recovery.holds_back = false;
        self.announce_reduction = true;
        self.recovery.frto = is_new || attempts > 0;
    }
    /// All but what left within the last RTT is lost; the first segment in any case.
    fn mark_timed_out(&mut self, now: Time) {
        for index in self.board.head()..self.board.tail() {
            let entry = self.board.entry(index);
            let is_due = index == self.board.head() || self.rack.has_expired(entry.sent, now);
            if !entry.has(SACKED) && is_due {
                self.board.mark_lost(index);
            }
        }
        self.tell_losses();
    }

    /// An ACK after a time-out (`tcp_process_loss`, RFC 5682 section 3.1).
    fn process_loss(&mut self, news: &News, now: Time) {
        let has_recovered = self.una >= self.recovery.high;
        if news.advanced && self.undo_loss(false, now) {
            return;
        }
        if self.recovery.frto {
            // Step 3b: data that was never sent again has arrived, so not all was lost.
            if news.original_delivered && self.undo_loss(true, now) {
                return;
            }
            if self.board.next() > self.recovery.high {
                // Step 3a: the loss was real.
                self.recovery.frto &= !(news.sacked || news.is_duplicate);
            } else if news.advanced && !has_recovered {
                // Step 2b: send new data before anything else.
                self.recovery.high = self.board.next();
                self.recovery.holds_back = true;
                return;
            }
        }
        if has_recovered {
            self.end_recovery(now);
        }
    }
    /// F-RTO found nothing new to send: retransmit after all.
    pub(super) fn may_stop_holding_back(&self) -> bool {
        self.recovery.state == State::Loss && self.board.next() <= self.recovery.high
    }

    /// What an ACK says of the probe (RFC 8985 section 7.4; `tcp_process_tlp_ack`).
    pub(super) fn process_probe(&mut self, news: &News, probe: Probe, ack: u64, now: Time) {
        if ack < probe.high {
            return;
        }
        if !probe.is_retransmission || news.dsack_of_probe {
            self.recovery.probe = None;
        } else if ack > probe.high {
            // The probe repaired a loss: the window shrinks for it.
            self.recovery.probe = None;
            self.control
                .on_event(Event::ProbeRepaired, now, &mut self.window);
            self.begin_reduction();
            self.set_state(State::Reducing, now);
            self.end_reduction(now);
            self.try_keep_open(now);
        } else if !(news.advanced || news.acked || news.sacked || news.window_changed) {
            // A pure duplicate: original and probe have both arrived.
            self.recovery.probe = None;
        }
    }
}
