//! Decides what leaves, and when: Linux `net/ipv4/tcp_output.c` (`tcp_write_xmit`,
//! `tcp_xmit_retransmit_queue`, `tcp_cwnd_validate`, `tcp_cwnd_restart`).

use quell_units::{Rate, Time};

use super::sent_segment::{APP_LIMITED, FIN, SentSegment};
use super::timers::{Forced, Timer};
use super::{Phase, Sender};
use crate::cc::{CaState, CongestionControl as _, Event};
use crate::ecn::FeedbackMode;
use crate::ecn::option::AccEcnOption;
use crate::flags::Flags;
use crate::receiver::timestamp;
use crate::segment::Segment;

/// Number of segments at the start of a connection that are not paced, as in Linux's fq.
const UNPACED: u64 = 10;

/// Why a round of polls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendLimit {
    /// The application has written no more.
    Application,
    CongestionWindow,
    ReceiveWindow,
    /// More data or window is expected, so that a larger burst can leave (`tcp_tso_should_defer`).
    TsoDefer,
}

/// New data, or the FIN alone.
#[derive(Debug, Clone, Copy)]
struct New {
    payload: u32,
    /// Payload of a full segment.
    full: u32,
    /// Whether it carries PSH if it ends a burst.
    may_push: bool,
}

/// Use of the congestion window (RFC 7661; Linux `tcp_cwnd_validate`).
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    /// Whether the window was full in the round that ends at `cwnd_usage_seq`.
    pub(super) is_cwnd_limited: bool,
    /// Largest number of outstanding segments in that round.
    pub(super) max_packets_out: u32,
    cwnd_usage_seq: u64,
    /// Largest number of outstanding segments since `cwnd_stamp`, while the window was not full
    /// (`snd_cwnd_used`).
    cwnd_used: u32,
    /// When the window was last full, or last changed for another reason (`snd_cwnd_stamp`).
    pub(super) cwnd_stamp: Time,
    /// Whether this run of polls has sent new data.
    pub(super) has_sent: bool,
}

/// Spaces departures (Linux `tcp_update_skb_after_send`, `tcp_pacing_check`).
#[derive(Debug, Clone, Default)]
pub(super) struct Pacing {
    /// Rate in bit/s of payload.
    rate_bps: u64,
    /// Time before which nothing leaves.
    next: Time,
    /// Whether something waits for it.
    blocked: bool,
    /// The last burst: when it began, or should have begun; how late it was; its payload in bytes.
    base: Time,
    credit: Time,
    payload: u64,
}

impl Pacing {
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
    fn on_sent(&mut self, payload: u32, begins: bool, counts: bool, now: Time) {
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
    /// The next segment to send now; call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.phase != Phase::Established {
            return self.poll_syn(now);
        }
        if self.queue.has_news {
            self.begin_filling(now);
        }
        match self.poll_established(now) {
            None if self.queue.is_due() => self.poll_filled(now),
            polled => polled,
        }
    }

    pub(super) fn poll_established(&mut self, now: Time) -> Option<Segment> {
        if self.ack_wanted {
            self.ack_wanted = false;
            let flags = Flags::ACK | self.ecn.handshake_flags();
            return Some(self.bare_ack(flags, now));
        }
        if self.challenge_wanted {
            self.challenge_wanted = false;
            let flags = Flags::ACK | self.ecn.ace_flags();
            return Some(self.bare_ack(flags, now));
        }
        if let Some(forced) = self.forced.take()
            && let Some(segment) = self.force(forced, now)
        {
            self.end_burst();
            return Some(segment);
        }
        self.pacing.unblock();
        let lost = match self.board.is_waiting() && !self.recovery.holds_back {
            true => self.board.first_waiting(),
            false => None,
        };
        if !self.continues_burst(lost.unwrap_or(self.board.tail())) {
            self.end_burst();
            if self.is_paced && self.pacing.next > now {
                self.pacing.blocked = self.has_something_to_send();
                self.end_round(None, now);
                return None;
            }
            if !self.has_local_room() {
                self.end_round(None, now);
                return None;
            }
        }
        if let Some(index) = lost
            && let Some(segment) = self.retransmit_lost(index, now)
        {
            return Some(segment);
        }
        match self.next_new(now) {
            Ok(New {
                payload,
                full,
                may_push,
            }) => Some(self.emit(payload, full, may_push, now)),
            Err(_) if self.recovery.holds_back && self.may_stop_holding_back() => {
                self.recovery.holds_back = false;
                self.recovery.frto = false;
                let index = self.board.first_waiting()?;
                self.retransmit_lost(index, now)
            }
            Err(_) if self.ecn.owes_ack() => {
                let flags = Flags::ACK | self.ecn.ace_flags();
                Some(self.bare_ack(flags, now))
            }
            Err(limit) => {
                self.end_burst();
                self.end_round(Some(limit), now);
                None
            }
        }
    }

    fn poll_syn(&mut self, now: Time) -> Option<Segment> {
        let Phase::SynSent { attempt, .. } = self.phase else {
            return None;
        };
        if !self.syn_wanted {
            return None;
        }
        self.syn_wanted = false;
        self.counters.syns += 1;
        let attempt = attempt.saturating_add(1);
        self.phase = Phase::SynSent { at: now, attempt };
        self.timers.arm_syn(now, attempt);
        let (flags, ecn) = self.ecn.syn(attempt);
        let mut syn = self.bare_segment(Flags::SYN | flags, now);
        syn.ecn = ecn;
        Some(syn)
    }

    fn bare_segment(&self, flags: u16, now: Time) -> Segment {
        Segment {
            sequence: self.board.snd_nxt(),
            timestamp: timestamp(now),
            echo: self.ts_recent,
            flags: Flags(flags),
            ecn: self.ecn.fields.others,
            ..Segment::default()
        }
    }
    pub(super) fn bare_ack(&mut self, flags: u16, now: Time) -> Segment {
        self.ecn.on_control_sent();
        let mut ack = self.bare_segment(flags, now);
        ack.accecn = self.ecn.option(self.rtt.srtt(), now);
        ack
    }

    fn has_something_to_send(&self) -> bool {
        self.board.is_waiting() || self.has_unsent()
    }
    fn force(&mut self, forced: Forced, now: Time) -> Option<Segment> {
        match forced {
            Forced::Head if self.board.is_empty() => None,
            Forced::Head => Some(self.retransmit_skb(self.board.head(), now)),
            Forced::LossProbe if self.board.is_empty() => None,
            Forced::LossProbe => Some(self.probe(now)),
            Forced::WindowProbe if !self.has_unsent() => None,
            Forced::WindowProbe => Some(self.write_wakeup(now)),
        }
    }
    /// `tcp_send_loss_probe`. RFC 8985 section 7.3: new data, or else the last segment again.
    fn probe(&mut self, now: Time) -> Segment {
        self.counters.probes += 1;
        let full = self.full_payload(now);
        let payload = self.next_payload(full);
        let is_new = self.has_unsent() && self.fits_window(payload);
        let last = self.board.tail() - 1;
        let repeats = (!is_new).then(|| self.board.entry(last).has(APP_LIMITED));
        let segment = match repeats {
            None => self.emit(payload, full, false, now),
            Some(_) => {
                let sent = self.departure_stamp(now);
                self.board.mark_probed(last, sent);
                self.retransmit(last, now)
            }
        };
        self.recovery.on_probe(self.board.snd_nxt(), repeats);
        // A full time-out from now, so that the answer to the probe can arrive first.
        self.timers.set(Timer::Rto, now, self.timers.rto());
        segment
    }

    fn retransmit_lost(&mut self, index: u64, now: Time) -> Option<Segment> {
        let in_flight = self.board.in_flight();
        (in_flight < self.window.cwnd).then(|| self.retransmit_skb(index, now))
    }

    /// Retransmits an outstanding segment, which may be undone (`tcp_retransmit_skb`).
    fn retransmit_skb(&mut self, index: u64, now: Time) -> Segment {
        self.recovery.on_retransmit(timestamp(now));
        let sent = self.departure_stamp(now);
        self.board.mark_retransmitted(index, sent);
        self.retransmit(index, now)
    }
    /// A segment leaves again that is marked so; a tail loss probe too (`__tcp_retransmit_skb`).
    fn retransmit(&mut self, index: u64, now: Time) -> Segment {
        self.board.note_departure(index);
        self.delivery.on_sent(self.board.entry_mut(index), false);
        let (entry, end) = (*self.board.entry(index), self.board.end(index));
        let stamp = timestamp(now);
        self.counters.retransmitted += 1;
        if index == self.board.head() && !self.timers.is(Timer::Reorder) {
            self.timers.set(Timer::Rto, now, self.timers.rto());
        }
        let is_fin = entry.has(FIN);
        let payload = (end - entry.start() - u64::from(is_fin)) as u32;
        let mut flags = Flags::ACK | if is_fin { Flags::FIN } else { 0 };
        if self.ecn.is_accurate() {
            flags |= self.ecn.ace_flags();
        }
        if self.is_half && self.ends_write(payload, entry.start() + u64::from(payload)) {
            flags |= Flags::PSH;
        }
        self.on_departure(payload, index, now);
        Segment {
            sequence: entry.start(),
            timestamp: stamp,
            echo: self.ts_recent,
            payload,
            flags: Flags(flags),
            ecn: self.ecn.fields.others,
            ..Segment::default()
        }
    }

    /// Payload of a full segment that leaves now.
    #[inline]
    pub(super) fn full_payload(&self, now: Time) -> u32 {
        if self.ecn.is_accurate() {
            self.ecn.full_payload(self.mss, self.rtt.srtt(), now)
        } else {
            self.mss_now
        }
    }
    /// Payload of the next new segment, of `full` bytes at most.
    #[inline]
    pub(super) fn next_payload(&self, full: u32) -> u32 {
        let left = self.write_seq.saturating_sub(self.board.snd_nxt());
        left.min(full.into()) as u32
    }
    /// Whether the FIN follows after `payload` more bytes.
    pub(super) fn is_fin_next(&self, payload: u32) -> bool {
        self.is_closed && self.board.snd_nxt() + u64::from(payload) == self.write_seq
    }

    /// The new data or FIN that may leave now, or why none may.
    #[inline]
    fn next_new(&mut self, now: Time) -> Result<New, SendLimit> {
        let full = self.full_payload(now);
        let mut payload = self.next_payload(full);
        let in_flight = self.board.in_flight();
        if payload == 0 {
            // The FIN waits for the congestion window as data do (`tcp_cwnd_test` of Linux 7.2; in older kernels
            // it does not). Where what had not left was taken back, it leaves at once.
            let is_full = in_flight >= self.window.cwnd && !self.queue.may_pause();
            return match self.is_fin_next(0) {
                true if is_full => Err(SendLimit::CongestionWindow),
                true if !self.fits_window(0) => Err(self.wait_for_window(now)),
                true => Ok(New {
                    payload,
                    full,
                    may_push: false,
                }),
                false => Err(SendLimit::Application),
            };
        }
        if in_flight >= self.window.cwnd {
            return Err(SendLimit::CongestionWindow);
        }
        if !self.fits_window(payload) {
            payload = self.rest_of_window(now)?;
        }
        let waits_for_more = payload < full && self.nagle && !self.is_closed;
        if waits_for_more && self.snd_sml > self.snd_una {
            return Err(SendLimit::Application);
        }
        if !self.continues_burst(self.board.tail())
            && !self.queue.pushes_one
            && let Some(limit) = self.tso_should_defer(in_flight, now)
        {
            return Err(limit);
        }
        if self.board.is_empty() {
            self.cwnd_restart(now);
        }
        Ok(New {
            payload,
            full,
            may_push: true,
        })
    }

    /// Sends new data or the FIN alone. A full segment has `full` bytes. The last segment of a burst
    /// carries PSH if it `may_push`.
    pub(super) fn emit(&mut self, payload: u32, full: u32, may_push: bool, now: Time) -> Segment {
        let sequence = self.board.snd_nxt();
        // A probe may leave where the window ends between the data and the FIN.
        let has_room = payload == 0 || sequence + u64::from(payload) < self.wnd_end;
        let is_fin = self.is_fin_next(payload) && has_room;
        let was_empty = self.board.is_empty();
        if self.board.in_flight() == 0 && self.counters.sent > 0 {
            let pause = now - self.last_departure;
            self.ca_event(Event::TxStart(pause), now);
        }
        let state = if is_fin { FIN } else { 0 };
        let mut entry = SentSegment::new(sequence, state, self.departure_stamp(now));
        self.delivery.on_sent(&mut entry, was_empty);
        let end = sequence + u64::from(payload);
        self.board.push(entry, end + u64::from(is_fin));
        self.board.note_departure(self.board.tail() - 1);
        if payload < full {
            self.snd_sml = end;
        }
        if was_empty || self.timers.is(Timer::LossProbe) {
            self.rearm_rto(now, None);
        }
        self.usage.has_sent = true;
        let fin = if is_fin { Flags::FIN } else { 0 };
        let mut flags = Flags::ACK | fin;
        if self.queue_cwr && payload > 0 {
            self.queue_cwr = false;
            let has_cwr = matches!(self.ecn.agreed, FeedbackMode::Classic | FeedbackMode::Dctcp);
            flags |= if has_cwr { Flags::CWR } else { 0 };
        }
        let mut accecn = AccEcnOption::NONE;
        if self.ecn.is_accurate() {
            flags |= self.ecn.ace_flags();
            accecn = self.ecn.option(self.rtt.srtt(), now);
        }
        self.on_departure(payload, self.board.tail() - 1, now);
        if self.burst.has_begun() {
            self.queue.on_burst(sequence);
        }
        if (may_push && self.has_ended_burst()) || (self.is_half && self.ends_write(payload, end)) {
            flags |= Flags::PSH;
        }
        Segment {
            sequence,
            timestamp: timestamp(now),
            echo: self.ts_recent,
            accecn,
            payload,
            flags: Flags(flags),
            ecn: self.ecn.fields.new_data,
            ..Segment::default()
        }
    }

    /// Departures at the same time are recorded a nanosecond apart, so that RACK knows their order
    /// even if a segment is retransmitted.
    #[inline]
    fn departure_stamp(&mut self, now: Time) -> Time {
        self.last_stamp = now.max(self.last_stamp + Time::from_nanos(1));
        self.last_stamp
    }

    /// The segment at `index` has left, and counts as in flight.
    #[inline]
    fn on_departure(&mut self, payload: u32, index: u64, now: Time) {
        self.counters.sent += 1;
        self.last_departure = now;
        self.recovery.on_departure();
        // `tcp_cwnd_test`: at most half the window leaves together.
        let cwnd = self.window.cwnd;
        let in_flight = self.board.in_flight().saturating_sub(1);
        let room = (cwnd / 2).min(cwnd.saturating_sub(in_flight));
        let begins = self.count_into_burst(index, room);
        if self.is_paced {
            let counts = self.counters.sent >= UNPACED;
            self.pacing.on_sent(payload, begins, counts, now);
        }
    }

    /// Ends a run of polls (the last lines of `tcp_write_xmit`).
    fn end_round(&mut self, limit: Option<SendLimit>, now: Time) {
        let has_sent = std::mem::take(&mut self.usage.has_sent);
        self.queue.pushes_one = false;
        if has_sent {
            self.schedule_loss_probe(now, false);
        }
        match limit {
            Some(SendLimit::CongestionWindow) => self.counters.cwnd_limited += 1,
            Some(SendLimit::ReceiveWindow) => self.counters.rwnd_limited += 1,
            Some(SendLimit::Application) => self.on_app_limited(),
            Some(SendLimit::TsoDefer) | None => {}
        }
        let is_limited = limit == Some(SendLimit::CongestionWindow)
            || self.board.in_flight() >= self.window.cwnd;
        if has_sent || is_limited {
            self.cwnd_validate(is_limited, now);
        }
    }
    #[inline]
    pub(super) fn on_app_limited(&mut self) {
        self.counters.app_limited += 1;
        self.check_app_limited();
    }
    /// `tcp_rate_check_app_limited`, if less than a segment waits to be sent.
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.board.in_flight();
        if in_flight < self.window.cwnd && self.board.lost_out() <= self.board.retrans_out() {
            self.delivery.on_app_limited(in_flight);
        }
    }

    /// `tcp_cwnd_validate`: records how full the window was, and shrinks a window that was not full
    /// for a whole time-out (RFC 2861).
    fn cwnd_validate(&mut self, is_limited: bool, now: Time) {
        let outstanding = self.board.packets_out();
        let usage = &mut self.usage;
        if self.snd_una >= usage.cwnd_usage_seq
            || is_limited
            || (!usage.is_cwnd_limited && outstanding > usage.max_packets_out)
        {
            usage.is_cwnd_limited = is_limited;
            usage.max_packets_out = outstanding;
            usage.cwnd_usage_seq = self.board.snd_nxt();
        }
        if self.is_cwnd_limited() {
            self.usage.cwnd_used = 0;
            self.usage.cwnd_stamp = now;
            return;
        }
        self.usage.cwnd_used = self.usage.cwnd_used.max(outstanding);
        if self.restart_after_idle
            && now - self.usage.cwnd_stamp >= self.timers.rto()
            && !self.control.has_cong_control()
        {
            self.cwnd_application_limited(now);
        }
    }
    /// `tcp_cwnd_application_limited`.
    fn cwnd_application_limited(&mut self, now: Time) {
        if self.recovery.state == CaState::Open {
            let used = self.usage.cwnd_used.max(self.initial_window);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) / 2;
            }
            self.usage.cwnd_used = 0;
        }
        self.usage.cwnd_stamp = now;
    }
    /// `tcp_is_cwnd_limited`. In slow start the window may grow to twice what was outstanding, since it
    /// must be able to double in each round.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.is_cwnd_limited
            || (self.window.in_slow_start()
                && self.window.cwnd < self.usage.max_packets_out.saturating_mul(2))
    }

    /// `tcp_cwnd_restart`: the window halves for each time-out of silence, down to the initial window.
    fn cwnd_restart(&mut self, now: Time) {
        let rto = self.timers.rto();
        let mut idle = now - self.last_departure;
        if !self.restart_after_idle
            || self.counters.sent == 0
            || idle <= rto
            || self.control.has_cong_control()
        {
            return;
        }
        self.ca_event(Event::CwndRestart, now);
        self.window.ssthresh = self.current_ssthresh();
        let floor = self.initial_window.min(self.window.cwnd);
        let mut cwnd = self.window.cwnd;
        while idle > rto && cwnd > floor {
            idle = idle - rto;
            cwnd /= 2;
        }
        self.window.cwnd = cwnd.max(floor);
        self.usage.cwnd_stamp = now;
        self.usage.cwnd_used = 0;
    }
    /// `tcp_current_ssthresh`: three quarters of the window are known to fit the path.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.recovery.is_reducing() {
            self.window.ssthresh
        } else {
            let cwnd = self.window.cwnd;
            self.window.ssthresh.max(cwnd / 2 + cwnd / 4)
        }
    }
}
