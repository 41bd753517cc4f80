//! Decides what leaves, and when: Linux `net/ipv4/tcp_output.c` (`tcp_write_xmit`,
//! `tcp_xmit_retransmit_queue`).

use quell_units::Time;

use super::sent_segment::{APP_LIMITED, FIN, SentSegment};
use super::timers::{Forced, Timer};
use super::{Phase, Sender};
use crate::cc::Event;
use crate::challenge::AnswerLimit;
use crate::ecn::FeedbackMode;
use crate::ecn::option::AccEcnOption;
use crate::flags::Flags;
use crate::receiver::timestamp;
use crate::segment::Segment;

/// Number of segments at the start of a connection that are not paced, as in Linux's fq.
const UNPACED: u64 = 10;

/// The reason why a round of polls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendLimit {
    /// The application has written no more.
    Application,
    CongestionWindow,
    ReceiveWindow,
    /// More data or window is expected, so that a larger burst can leave (`tcp_tso_should_defer`).
    TsoDefer,
}

/// Segments that must leave.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    pub(super) syn: bool,
    /// The ACK of the SYN-ACK.
    pub(super) ack: bool,
    /// A challenge ACK; half of a connection leaves that to the connection.
    pub(super) challenge: bool,
    pub(super) forced: Option<Forced>,
    /// Limits the answers to segments that are not acceptable.
    pub(super) answers: AnswerLimit,
}

/// Times of the last departures.
#[derive(Debug, Clone, Default)]
pub(super) struct Departures {
    /// Recorded for the last segment.
    stamp: Time,
    /// Departure of data (`lsndtime`).
    pub(super) data: Time,
    /// Departure of an ACK without data, which the other half of a connection has sent.
    pub(super) control: Time,
}

/// Nagle's algorithm, as Minshall has it: one small segment in flight at most (`tcp_nagle_check`).
#[derive(Debug, Clone)]
pub(super) struct Nagle {
    is_on: bool,
    /// End of the last segment that was smaller than a full one.
    snd_sml: u64,
}

impl Nagle {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, snd_sml: 0 }
    }
    /// Whether a small segment must wait for the acknowledgement of another.
    pub(super) fn holds(&self, snd_una: u64) -> bool {
        self.is_on && self.snd_sml > snd_una
    }
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

impl Sender {
    /// The next segment to send now; call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.continues_plainly() {
            return Some(self.emit(self.mss.now, self.mss.now, true, now));
        }
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

    /// Whether the next full segment of new data leaves with the one before it, and neither more nor less than that can happen.
    #[inline]
    fn continues_plainly(&self) -> bool {
        #[cfg(test)]
        if self.takes_all_as_unusual {
            return false;
        }
        let full = u64::from(self.mss.now);
        let next = self.board.snd_nxt();
        self.continues_burst(self.board.tail())
            && next + full < self.stream.write_seq.min(self.wnd_end)
            && self.board.in_flight() < self.window.cwnd
            && !self.board.is_waiting()
            && !self.queue.has_news
            && !(self.pending.ack | self.pending.challenge)
            && self.pending.forced.is_none()
            && self.ecn.agreed != FeedbackMode::Accurate
            && !self.board.is_empty()
    }

    pub(super) fn poll_established(&mut self, now: Time) -> Option<Segment> {
        if self.pending.ack {
            self.pending.ack = false;
            let flags = Flags::ACK | self.ecn.handshake_flags();
            return Some(self.bare_ack(flags, now));
        }
        if self.pending.challenge {
            self.pending.challenge = false;
            let flags = Flags::ACK | self.ecn.ace_flags();
            return Some(self.bare_ack(flags, now));
        }
        if let Some(forced) = self.pending.forced.take()
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
            if self.pacing.is_on && self.pacing.next() > now {
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
        if !self.pending.syn {
            return None;
        }
        self.pending.syn = false;
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
            echo: self.timestamps.recent,
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
            echo: self.timestamps.recent,
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
            self.ecn.full_payload(self.mss.full, self.rtt.srtt(), now)
        } else {
            self.mss.now
        }
    }
    /// Payload of the next new segment, of `full` bytes at most.
    #[inline]
    pub(super) fn next_payload(&self, full: u32) -> u32 {
        let left = self.stream.write_seq.saturating_sub(self.board.snd_nxt());
        left.min(full.into()) as u32
    }
    /// Whether the FIN follows after `payload` more bytes.
    pub(super) fn is_fin_next(&self, payload: u32) -> bool {
        self.stream.is_closed && self.board.snd_nxt() + u64::from(payload) == self.stream.write_seq
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
        if payload < full && !self.stream.is_closed && self.nagle.holds(self.snd_una) {
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
            let pause = now - self.departures.data;
            self.ca_event(Event::TxStart(pause), now);
        }
        let state = if is_fin { FIN } else { 0 };
        let mut entry = SentSegment::new(sequence, state, self.departure_stamp(now));
        self.delivery.on_sent(&mut entry, was_empty);
        let end = sequence + u64::from(payload);
        self.board.push(entry, end + u64::from(is_fin));
        self.board.note_departure(self.board.tail() - 1);
        if payload < full {
            self.nagle.snd_sml = end;
        }
        if was_empty || self.timers.is(Timer::LossProbe) {
            self.rearm_rto(now, None);
        }
        self.usage.has_sent = true;
        let fin = if is_fin { Flags::FIN } else { 0 };
        let mut flags = Flags::ACK | fin;
        if self.ecn.queue_cwr && payload > 0 {
            self.ecn.queue_cwr = false;
            let has_cwr = matches!(self.ecn.agreed, FeedbackMode::Classic | FeedbackMode::Dctcp);
            flags |= if has_cwr { Flags::CWR } else { 0 };
        }
        let mut accecn = AccEcnOption::NONE;
        if self.ecn.is_accurate() {
            flags |= self.ecn.ace_flags();
            accecn = self.ecn.option(self.rtt.srtt(), now);
        }
        self.on_departure(payload, self.board.tail() - 1, now);
        if self.offload.has_begun() {
            self.queue.on_burst(sequence);
        }
        if (may_push && self.has_ended_burst()) || (self.is_half && self.ends_write(payload, end)) {
            flags |= Flags::PSH;
        }
        Segment {
            sequence,
            timestamp: timestamp(now),
            echo: self.timestamps.recent,
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
        self.departures.stamp = now.max(self.departures.stamp + Time::from_nanos(1));
        self.departures.stamp
    }

    /// The segment at `index` has left, and counts as in flight.
    #[inline]
    fn on_departure(&mut self, payload: u32, index: u64, now: Time) {
        self.counters.sent += 1;
        self.departures.data = now;
        self.recovery.on_departure();
        // `tcp_cwnd_test`: at most half the window leaves together.
        let cwnd = self.window.cwnd;
        let in_flight = self.board.in_flight().saturating_sub(1);
        let room = (cwnd / 2).min(cwnd.saturating_sub(in_flight));
        let begins = self.count_into_burst(index, room);
        if self.pacing.is_on {
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
}
