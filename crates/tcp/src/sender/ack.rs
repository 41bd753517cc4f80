//! The processing of an ACK: RFC 9293 section 3.10.7.4, RFC 2018, 2883, 9768; Linux
//! `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_clean_rtx_queue`).

use quell_units::Time;

use super::Sender;
use super::delivery::Newest;
use super::ecn::Delivered;
use super::sent_segment::{EVER_RETRANSMITTED, FIN, RETRANSMITTED, SACKED};
use crate::cc::{AckSample, CaState, CongestionControl as _};
use crate::ecn::FeedbackMode;
use crate::ecn::decoder::Marks;
use crate::flags::Flags;
use crate::receiver::{is_outdated, timestamp};
use crate::segment::Segment;

/// The news of an ACK: Linux's `FLAG_*`, whose names the fields have, and `struct
/// tcp_sacktag_state`.
#[derive(Debug, Clone, Default)]
pub(super) struct AckFlags {
    /// First number not acknowledged before this ACK.
    pub(super) prior_snd_una: u64,
    /// The acknowledgement number has moved.
    pub(super) snd_una_advanced: bool,
    /// Segments were acknowledged.
    pub(super) data_acked: bool,
    /// Segments were selectively acknowledged.
    pub(super) data_sacked: bool,
    /// An acknowledged segment had been retransmitted.
    retrans_data_acked: bool,
    /// A segment was delivered that was in flight when recovery began and was never retransmitted.
    pub(super) orig_sack_acked: bool,
    /// It reports a duplicate.
    pub(super) dsacking_ack: bool,
    /// The duplicate is the tail loss probe.
    pub(super) dsack_tlp: bool,
    /// It echoes congestion.
    pub(super) ece: bool,
    /// Payload bytes of the segments newly delivered.
    pub(super) delivered_bytes: u64,
    /// Segments that the acknowledgement number has passed.
    pkts_acked: u32,
    /// The receive window has changed.
    pub(super) win_update: bool,
    /// It contains nothing new.
    pub(super) is_dupack: bool,
    /// Lowest number that was delivered out of order; `u64::MAX` if none was.
    pub(super) reord: u64,
    /// Departures of the first and the last acknowledged segment that was never retransmitted.
    acked_sent: Option<(Time, Time)>,
    /// Departures of those selectively acknowledged.
    pub(super) sacked_sent: Option<(Time, Time)>,
    pub(super) newest: Newest,
}

/// The state before an ACK.
struct Prior {
    packets_out: u32,
    in_flight: u32,
    delivered: u64,
    lost: u64,
    highest_sack: u64,
}

impl Prior {
    #[inline]
    fn of(sender: &Sender) -> Self {
        Self {
            packets_out: sender.board.packets_out(),
            in_flight: sender.board.in_flight(),
            delivered: sender.delivery.delivered,
            lost: sender.board.lost_total(),
            highest_sack: sender.board.highest_sack(sender.snd_una),
        }
    }
}

impl Sender {
    /// Whether an acknowledgement is one that an honest peer can send. RFC 5961 section 5.2: "The ACK value is
    /// considered acceptable only if it is in the range of ((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT)".
    #[inline]
    pub(crate) fn accepts(&self, ack: u64) -> bool {
        ack <= self.board.snd_nxt() && (ack >= self.snd_una || self.is_recent(ack))
    }
    #[cold]
    fn is_recent(&self, ack: u64) -> bool {
        self.snd_una - ack <= self.queue.widest()
    }
    /// An ACK arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment, now: Time) {
        if self.is_plain(segment) {
            self.take_ack::<true>(segment, now);
        } else {
            self.on_any_ack(segment, now);
        }
    }
    /// Whether an ACK does no more than acknowledge what was sent once, where nothing was lost or marked lately, as most do.
    #[inline]
    fn is_plain(&self, segment: &Segment) -> bool {
        #[cfg(test)]
        if self.takes_all_as_unusual {
            return false;
        }
        let ack = segment.acknowledgement;
        ack > self.snd_una
            && ack <= self.board.snd_nxt()
            && segment.flags == Flags(Flags::ACK)
            && segment.sacks.is_empty()
            && segment.timestamp >= self.timestamps.recent
            && self.recovery.state == CaState::Open
            && self.recovery.tlp.is_none()
            && self.ecn.agreed != FeedbackMode::Accurate
            && self.board.is_clean()
    }
    #[inline(never)]
    fn on_any_ack(&mut self, segment: &Segment, now: Time) {
        if !self.accepts(segment.acknowledgement) {
            self.pending.challenge |= self.pending.answers.allows(self.timers.ticks(), now);
            return;
        }
        if !self.is_half
            && is_outdated(self.timestamps.recent, segment)
            && !self.repeats_ack(segment)
        {
            return;
        }
        self.take_ack::<false>(segment, now);
    }
    /// Takes an acceptable ACK. What cannot be true of a [plain](Self::is_plain) one is not asked for.
    #[inline(always)]
    fn take_ack<const PLAIN: bool>(&mut self, segment: &Segment, now: Time) {
        let ack = segment.acknowledgement;
        let prior = Prior::of(self);
        let mut flag = AckFlags {
            prior_snd_una: self.snd_una,
            snd_una_advanced: PLAIN || ack > self.snd_una,
            reord: u64::MAX,
            ..AckFlags::default()
        };
        let is_later = segment.timestamp > self.timestamps.recent;
        self.timestamps.recent = self.timestamps.recent.max(segment.timestamp);
        self.timestamps.echoed = segment.echo;
        if !PLAIN && ack < self.snd_una {
            self.on_old_ack(segment, flag, now);
            return;
        }
        flag.win_update = self.update_window(segment);
        if flag.snd_una_advanced {
            self.timers.retransmits = 0;
        }
        self.recovery.holds_back = false;
        self.recovery.awaits_reordering = false;
        if !PLAIN && !segment.sacks.is_empty() {
            self.sacktag_write_queue(segment, &mut flag, now);
        }
        // `tcp_clean_rtx_queue`.
        if flag.snd_una_advanced {
            self.snd_una = ack;
            if PLAIN || self.board.is_clean() {
                self.clean_pristine(&mut flag, now);
            } else {
                self.clean_each(&mut flag, prior.highest_sack, now);
            }
        }
        let delivered = (self.delivery.delivered - prior.delivered) as u32;
        let marks = match PLAIN {
            true => Marks::default(),
            false => self.count_marks(segment, delivered, is_later, &mut flag),
        };
        let is_informative =
            flag.snd_una_advanced || flag.dsacking_ack || flag.data_acked || flag.win_update;
        flag.is_dupack = !(is_informative || self.is_no_dupack(segment));
        let sample = self.ack_sample(segment, &flag, delivered, marks, now);
        self.act_on::<PLAIN>(sample, &flag, &prior, now);
    }
    /// Takes over the receive window of an ACK. Returns whether it has changed.
    #[inline]
    fn update_window(&mut self, segment: &Segment) -> bool {
        let ack = segment.acknowledgement;
        let end = ack.saturating_add(segment.window.into());
        let has_changed = end - ack != self.wnd_end.saturating_sub(self.snd_una);
        self.wnd_end = end;
        self.queue.on_ack(segment.window.into());
        if self.mss.full < self.mss.path {
            self.sync_mss();
        }
        has_changed
    }
    /// The sample of an ACK for the control, with the RTT and the rate measured by it. The values that
    /// depend on the state before it or on the losses that it shows are missing.
    #[inline(always)]
    fn ack_sample(
        &mut self,
        segment: &Segment,
        flag: &AckFlags,
        delivered: u32,
        marks: Marks,
        now: Time,
    ) -> AckSample {
        let rtt = self.update_rtt(flag, segment, now);
        if flag.data_acked || flag.data_sacked {
            let prior = self.delivery.prior_delivered(&flag.newest);
            // `tcp_rack_update_reo_wnd` disregards an ACK of what left before anything was delivered.
            if let Some(prior) = prior.filter(|&prior| prior > 0) {
                self.rack.update_reo_wnd(prior, self.delivery.delivered);
            }
        }
        let mut rate = self.delivery.sample(&flag.newest, now, self.rtt.min_rtt());
        if self.board.details.is_some()
            && rate.delivered > 0
            && let Some((in_flight, lost)) = self.board.at_departure(flag.newest.index)
        {
            rate.tx_in_flight = in_flight;
            rate.lost = lost;
        }
        AckSample {
            now,
            acked: delivered,
            acked_in_order: flag.pkts_acked,
            acked_ce: marks.packets,
            acked_bytes: flag.delivered_bytes,
            acked_ce_bytes: marks.bytes,
            lost: 0,
            ece: flag.ece,
            is_ack_delayed: false,
            prior_in_flight: 0,
            rtt,
            one_way_delay: (delivered > 0 && !segment.echo.is_zero())
                .then(|| segment.timestamp - segment.echo),
            snd_una: self.snd_una,
            snd_nxt: self.board.snd_nxt(),
            cwnd_limited: false,
            is_acking_tlp_retrans_seq: false,
            paced: self.pacing.is_on,
            burst_time: self.burst_time(),
            delivered: self.delivery.delivered,
            delivered_ce: self.delivery.delivered_ce,
            rate,
        }
    }
    /// Lets an ACK change the state of loss recovery, the timers, the window and the pacing rate.
    #[inline(always)]
    fn act_on<const PLAIN: bool>(
        &mut self,
        mut sample: AckSample,
        flag: &AckFlags,
        prior: &Prior,
        now: Time,
    ) {
        sample.prior_in_flight = prior.in_flight;
        self.control
            .on_ack_of(&sample, || connection!(self, now), &mut self.window);
        if let (Some(probe), false) = (self.recovery.tlp, PLAIN) {
            sample.is_acking_tlp_retrans_seq = self.process_tlp_ack(flag, probe, self.snd_una, now);
        }
        let is_unusual = !PLAIN
            && (flag.is_dupack
                || flag.data_sacked
                || flag.ece
                || flag.dsacking_ack
                || self.recovery.state != CaState::Open);
        if is_unusual && (prior.packets_out > 0 || flag.dsacking_ack) {
            self.fastretrans_alert(flag, now);
        }
        if !self.recovery.awaits_reordering && self.restarts_timer(flag) {
            self.set_xmit_timer(now);
        }
        if !PLAIN && prior.packets_out == 0 {
            if self.has_unsent() {
                self.ack_probe(now);
            }
            return;
        }
        if !PLAIN {
            sample.lost = (self.board.lost_total() - prior.lost) as u32;
        }
        if self.control.has_cong_control() {
            sample.cwnd_limited = self.is_cwnd_limited();
            self.cong_control(sample, flag);
        } else if !PLAIN && self.recovery.is_reducing() {
            self.cwnd_reduction(sample.acked, sample.lost, flag.snd_una_advanced);
        } else if sample.acked > 0 && self.may_raise_cwnd(flag) && self.is_cwnd_limited() {
            sample.cwnd_limited = true;
            self.control
                .cong_avoid_of(&sample, || connection!(self, now), &mut self.window);
        }
        self.update_pacing();
    }

    /// Whether an ACK without data acknowledges no more than the last one, and opens no window: such a one is
    /// taken however old it is (`tcp_disordered_ack_check`; the limit of 1.2 RTOs is left out).
    pub(crate) fn repeats_ack(&self, segment: &Segment) -> bool {
        segment.payload == 0
            && segment.acknowledgement == self.snd_una
            && segment.acknowledgement + u64::from(segment.window) <= self.wnd_end
    }
    /// An ACK that others have overtaken (`old_ack` in `tcp_ack`): what it acknowledges selectively counts,
    /// and may start or end recovery. It samples neither RTT nor rate, and leaves the window as it is.
    #[cold]
    fn on_old_ack(&mut self, segment: &Segment, mut flag: AckFlags, now: Time) {
        if segment.sacks.is_empty() {
            return;
        }
        self.recovery.holds_back = false;
        self.recovery.awaits_reordering = false;
        self.sacktag_write_queue(segment, &mut flag, now);
        self.fastretrans_alert(&flag, now);
    }

    /// The control sets window and pacing rate (`tcp_cong_control`).
    #[cold]
    fn cong_control(&mut self, mut sample: AckSample, flag: &AckFlags) {
        // `FLAG_ACK_MAYBE_DELAYED`: it acknowledges one small segment that was alone in flight.
        sample.is_ack_delayed = flag.data_acked
            && !(flag.data_sacked || flag.ece || flag.dsacking_ack)
            && sample.acked == 1
            && self.snd_una - flag.prior_snd_una < u64::from(self.mss.full)
            && sample.rate.prior_delivered + 1 == sample.delivered;
        if self.board.details.is_some() && sample.rate.delivered > 0 {
            let since = self.board.lost_total() as u32;
            sample.rate.lost = since.wrapping_sub(sample.rate.lost);
        }
        let connection = self.connection(sample.now);
        self.control
            .cong_control(&sample, &connection, &mut self.window);
        self.heed_app_limit();
    }
    /// A segment with data is no duplicate ACK (`FLAG_NOT_DUP`). With AccECN an ACK may acknowledge ACKs.
    /// Those have no SACK blocks; duplicate ACKs do (RFC 9768 section 3.2.2.5.1).
    fn is_no_dupack(&self, segment: &Segment) -> bool {
        segment.payload > 0
            || (self.ecn.agreed == FeedbackMode::Accurate && segment.sacks.is_empty())
    }
    /// Whether the timer starts again (`FLAG_SET_XMIT_TIMER`): when segments are acknowledged, and for
    /// SACKs of segments sent before the first outstanding one was. Any SACK would postpone the
    /// time-out for as long as SACKs arrive.
    fn restarts_timer(&self, flag: &AckFlags) -> bool {
        flag.data_acked
            || flag.sacked_sent.is_some_and(|(first, _)| {
                !self.board.is_empty() && first < self.board.entry(self.board.head()).sent
            })
    }

    /// Whether the window may grow (`tcp_may_raise_cwnd`). On a path that reorders, SACKs count as
    /// ACKs do: holes are common there, and the acknowledgement number rarely moves.
    fn may_raise_cwnd(&self, flag: &AckFlags) -> bool {
        flag.data_acked
            || (self.recovery.dupthresh() > 3 && (flag.data_sacked || flag.snd_una_advanced))
    }

    /// `hystart_ack_delay`: the time that four bursts of 64 KiB take at the pacing rate, at most 1 ms.
    fn burst_time(&self) -> Time {
        let srtt = self.rtt.srtt();
        let (true, Some(srtt)) = (self.window.in_slow_start(), srtt) else {
            return Time::ZERO;
        };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let window = u64::from(self.window.cwnd) * u64::from(self.mss.full) * percent / 100;
        (srtt * (4 << 16) / window.max(1)).min(Time::from_millis(1))
    }

    /// Nothing outstanding was ever retransmitted or selectively acknowledged: the first and the last
    /// acknowledged segment are all that matters.
    #[inline(always)]
    fn clean_pristine(&mut self, flag: &mut AckFlags, now: Time) {
        let count = self.board.covered(self.snd_una);
        if count == 0 {
            return;
        }
        let head = self.board.head();
        let (first, last) = (*self.board.entry(head), *self.board.entry(head + count - 1));
        let end = self.board.end(head + count - 1);
        flag.delivered_bytes += end - first.start() - u64::from(last.has(FIN));
        self.rack.on_delivered(&last, end, now, self.rtt.min_rtt());
        flag.newest.consider(&last, end, head + count - 1);
        flag.acked_sent = Some((first.sent, last.sent));
        flag.orig_sack_acked = self.board.end(head) <= self.recovery.high_seq;
        flag.data_acked = true;
        self.board.pop_clean(count);
        flag.pkts_acked = count as u32;
        self.delivery.delivered += count;
    }
    fn clean_each(&mut self, flag: &mut AckFlags, prior_highest: u64, now: Time) {
        let mut reordered = u64::MAX;
        while !self.board.is_empty() {
            let head = self.board.head();
            let end = self.board.end(head);
            if end > self.snd_una {
                break;
            }
            let entry = self.board.pop();
            if entry.has(EVER_RETRANSMITTED | RETRANSMITTED) {
                flag.retrans_data_acked = true;
            } else if !entry.has(SACKED) {
                let first = flag.acked_sent.map_or(entry.sent, |(first, _)| first);
                flag.acked_sent = Some((first, entry.sent));
                reordered = reordered.min(entry.start());
                flag.orig_sack_acked |= end <= self.recovery.high_seq;
            }
            if !entry.has(SACKED) {
                // An echo older than the retransmission acknowledges the original. Its departure time
                // is unknown, so RACK learns nothing from it (`tcp_skb_spurious_retrans`).
                let is_spurious = entry.has(EVER_RETRANSMITTED)
                    && !self.timestamps.echoed.is_zero()
                    && self.timestamps.echoed < timestamp(entry.sent);
                if !is_spurious {
                    self.rack.on_delivered(&entry, end, now, self.rtt.min_rtt());
                }
                flag.newest.consider(&entry, end, head);
                flag.delivered_bytes += end - entry.start() - u64::from(entry.has(FIN));
                self.delivery.delivered += 1;
            }
            flag.data_acked = true;
            flag.pkts_acked += 1;
        }
        if reordered < prior_highest {
            self.check_sack_reordering(reordered, prior_highest);
        }
    }

    /// Takes RTT samples (`tcp_ack_update_rtt`): from the oldest segment for the time-out, from the
    /// newest for the control, never from a retransmission (Karn's algorithm, RFC 6298 section 3), and
    /// from the timestamp where there is no other.
    #[inline(always)]
    fn update_rtt(&mut self, flag: &AckFlags, segment: &Segment, now: Time) -> Option<Time> {
        let usable = flag.acked_sent.filter(|_| !flag.retrans_data_acked);
        let newest = flag.sacked_sent.or(usable).map(|(_, last)| now - last);
        let mut oldest = usable.or(flag.sacked_sent).map(|(first, _)| now - first);
        if oldest.is_none() && flag.data_acked && !segment.echo.is_zero() {
            oldest = Some(now - segment.echo);
        }
        let oldest = oldest?;
        self.rtt.update_min_rtt(newest.unwrap_or(oldest), now);
        self.rtt
            .on_sample(oldest, self.snd_una, self.board.snd_nxt());
        self.timers.on_sample(self.rtt.rto());
        newest
    }

    /// Counts the marks that the ACK reports.
    #[inline]
    fn count_marks(
        &mut self,
        segment: &Segment,
        packets: u32,
        is_later: bool,
        flag: &mut AckFlags,
    ) -> Marks {
        let bytes = flag.delivered_bytes;
        let marks = match self.ecn.agreed {
            FeedbackMode::Off => Marks::default(),
            FeedbackMode::Classic | FeedbackMode::Dctcp => {
                flag.ece = segment.flags.has(Flags::ECE);
                if flag.ece {
                    Marks { packets, bytes }
                } else {
                    Marks::default()
                }
            }
            // An ACK that others have overtaken reports old counters (RFC 9768 section 3.2.2.2,
            // appendix A.1: newlyAckedB > 0 or newlyAckedT > 0; Linux `FLAG_TS_PROGRESS`).
            FeedbackMode::Accurate => {
                let is_superseded = segment.acknowledgement < flag.prior_snd_una
                    || !(flag.data_acked || flag.data_sacked || is_later);
                if is_superseded {
                    return Marks::default();
                }
                let (mss, sent) = (self.mss.full, self.board.snd_nxt());
                let marks = self.ecn.decode(
                    segment,
                    Delivered {
                        packets,
                        bytes,
                        mss,
                        sent,
                    },
                );
                flag.ece = marks.packets > 0;
                marks
            }
        };
        self.delivery.delivered_ce += u64::from(marks.packets);
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CcConfig;
    use crate::config::SenderConfig;
    use crate::segment::Sack;

    const MSS: u64 = 1_448;

    /// An ACK may report two new ranges at once with SACK compression, the later one first.
    /// `tcp_sacktag_write_queue` sorts them, so that nothing seems to be out of order.
    #[test]
    fn blocks_of_one_ack_are_taken_in_the_order_of_their_numbers() {
        let ms = Time::from_millis;
        let mut sender = Sender::new(&SenderConfig::new(CcConfig::Reno(Default::default())));
        sender.open(ms(0));
        sender.poll(ms(0));
        let answer = |ack: u64, flags: u16, blocks: &[(u64, u64)]| {
            let mut segment = Segment {
                acknowledgement: ack * MSS,
                window: 1 << 20,
                flags: Flags(Flags::ACK | flags),
                ..Segment::default()
            };
            for &(start, end) in blocks {
                let block = Sack {
                    start: start * MSS,
                    end: end * MSS,
                };
                segment.sacks.push(ack * MSS, block);
            }
            segment
        };
        sender.on_segment(&answer(0, Flags::SYN, &[]), ms(20));
        sender.write(10 * MSS);
        while sender.poll(ms(20)).is_some() {}
        // Segments 1 and 5 are lost.
        sender.on_segment(&answer(1, 0, &[(2, 3)]), ms(40));
        sender.on_segment(&answer(1, 0, &[(6, 8), (2, 5)]), ms(41));
        assert_eq!(sender.board.sacked_out(), 5);
        assert!(!sender.recovery.reordering_seen);
        // A segment that fills a gap is really late.
        sender.on_segment(&answer(1, 0, &[(2, 8)]), ms(42));
        assert!(sender.recovery.reordering_seen);
    }
}
