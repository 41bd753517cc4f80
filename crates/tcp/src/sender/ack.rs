//! What an ACK tells: RFC 9293 section 3.10.7.4, RFC 2018, 2883, 9768; Linux
//! `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`).

use quell_units::Time;

use super::Sender;
use super::delivery::Newest;
use super::ecn::Delivered;
use super::scoreboard::{EVER_RETRANSMITTED, FIN, RETRANSMITTED, SACKED};
use crate::cc::{AckSample, State};
use crate::ecn::FeedbackMode;
use crate::ecn::decoder::Marks;
use crate::receiver::timestamp;
use crate::segment::{Flags, Sack, Segment};

/// What is new in an ACK; Linux's `FLAG_*` and `struct tcp_sacktag_state`.
#[derive(Debug, Clone, Default)]
pub(super) struct News {
    /// What was acknowledged before.
    pub(super) prior_una: u64,
    /// The acknowledgement has moved.
    pub(super) advanced: bool,
    /// Segments were acknowledged.
    pub(super) acked: bool,
    /// Segments were selectively acknowledged.
    pub(super) sacked: bool,
    /// One of those acknowledged had been retransmitted.
    retransmission_acked: bool,
    /// Data never sent again was delivered that was out when recovery began.
    pub(super) original_delivered: bool,
    /// It reports a duplicate.
    dsack: bool,
    /// The duplicate is the tail loss probe.
    pub(super) dsack_of_probe: bool,
    /// It echoes congestion.
    pub(super) ece: bool,
    /// Payload of the segments newly delivered.
    delivered_bytes: u64,
    /// The receive window has changed.
    pub(super) window_changed: bool,
    /// It says nothing new.
    pub(super) is_duplicate: bool,
    /// The lowest number that was delivered late, `u64::MAX` if none was.
    reordered: u64,
    /// When the first and the last of the originals acknowledged left.
    acked_sent: Option<(Time, Time)>,
    /// The same of those selectively acknowledged.
    sacked_sent: Option<(Time, Time)>,
    newest: Newest,
}

impl Sender {
    /// An ACK arrived.
    pub(super) fn on_ack(&mut self, segment: &Segment, now: Time) {
        let ack = segment.acknowledgement;
        if ack > self.board.next() {
            return;
        }
        let prior_una = self.una;
        let prior_outstanding = self.board.outstanding();
        let prior_in_flight = self.board.in_flight();
        let prior_delivered = self.delivery.delivered;
        let prior_lost = self.board.lost_total();
        let prior_highest = self.board.highest_sack(prior_una);
        let mut news = News {
            prior_una,
            advanced: ack > prior_una,
            reordered: u64::MAX,
            ..News::default()
        };
        let is_later = segment.timestamp > self.echo;
        self.echo = self.echo.max(segment.timestamp);
        self.echoed = segment.echo;
        if ack >= prior_una {
            let end = ack.saturating_add(segment.window.into());
            news.window_changed = end - ack != self.window_end.saturating_sub(prior_una);
            self.window_end = end;
            self.queue.on_ack(segment.window.into());
        }
        if news.advanced {
            self.timers.attempts = 0;
        }
        self.recovery.holds_back = false;
        self.recovery.awaits_reordering = false;
        if !segment.sacks.is_empty() {
            self.on_sacks(segment, &mut news, now);
        }
        if news.advanced {
            self.una = ack;
            self.remove_acknowledged(&mut news, prior_highest, now);
        }
        let delivered = (self.delivery.delivered - prior_delivered) as u32;
        let marks = self.count_marks(segment, delivered, is_later, &mut news);
        let is_news = news.advanced || news.dsack || news.acked || news.window_changed;
        news.is_duplicate = !(is_news || self.is_ack_of_acks(segment));
        let rtt = self.measure(&news, segment, now);
        if news.acked || news.sacked {
            let prior = self.delivery.prior_delivered(&news.newest);
            if let Some(prior) = prior.filter(|&prior| prior > 0) {
                self.rack.adapt(prior, self.delivery.delivered);
            }
        }
        if let Some(probe) = self.recovery.probe {
            self.process_probe(&news, probe, ack, now);
        }
        let mut rate = self.delivery.sample(&news.newest, now, self.rtt.lowest());
        if self.board.details.is_some()
            && rate.delivered > 0
            && let Some((in_flight, lost)) = self.board.at_departure(news.newest.index)
        {
            rate.tx_in_flight = in_flight;
            rate.lost = lost;
        }
        let mut sample = AckSample {
            now,
            acked: delivered,
            acked_ce: marks.packets,
            acked_bytes: news.delivered_bytes,
            acked_ce_bytes: marks.bytes,
            lost: 0,
            ece: news.ece,
            maybe_delayed: false,
            prior_in_flight,
            rtt,
            una: self.una,
            next: self.board.next(),
            cwnd_limited: false,
            paced: self.is_paced,
            burst_time: self.burst_time(),
            delivered: self.delivery.delivered,
            delivered_ce: self.delivery.delivered_ce,
            rate,
        };
        self.control.on_ack(&sample, &mut self.window);
        let is_unusual = news.is_duplicate
            || news.sacked
            || news.ece
            || news.dsack
            || self.recovery.state != State::Open;
        if is_unusual && (prior_outstanding > 0 || news.dsack) {
            self.alert(&news, now);
        }
        if !self.recovery.awaits_reordering && self.restarts_timer(&news) {
            self.set_timer(now);
        }
        if prior_outstanding == 0 {
            if news.window_changed && self.window_end > self.board.next() {
                self.on_open_window();
            }
            return;
        }
        sample.lost = (self.board.lost_total() - prior_lost) as u32;
        if self.control.sets_window() {
            self.conclude(sample, &news);
        } else if self.recovery.is_reducing() {
            self.reduce(delivered, sample.lost, news.advanced);
        } else if delivered > 0 && self.may_grow(&news) {
            sample.cwnd_limited = self.is_cwnd_limited();
            self.control.increase(&sample, &mut self.window);
        }
        self.update_pacing();
    }

    /// The control does the rest itself (`tcp_cong_control`).
    #[cold]
    fn conclude(&mut self, mut sample: AckSample, news: &News) {
        // `FLAG_ACK_MAYBE_DELAYED`: a small segment that was alone on its round trip.
        sample.maybe_delayed = news.acked
            && !(news.sacked || news.ece || news.dsack)
            && sample.acked == 1
            && self.una - news.prior_una < u64::from(self.mss)
            && sample.rate.prior_delivered + 1 == sample.delivered;
        if self.board.details.is_some() && sample.rate.delivered > 0 {
            let since = self.board.lost_total() as u32;
            sample.rate.lost = since.wrapping_sub(sample.rate.lost);
        }
        let connection = self.connection();
        self.control
            .conclude(&sample, &connection, &mut self.window);
    }
    /// With AccECN an ACK may be for ACKs; such have no SACK blocks, duplicates do (RFC 9768 section
    /// 3.2.2.5.1).
    fn is_ack_of_acks(&self, segment: &Segment) -> bool {
        self.ecn.agreed == FeedbackMode::Accurate && segment.sacks.is_empty()
    }
    /// The timer starts again when segments are acknowledged, and for SACKs of what left before the
    /// first segment last did: else the time-out would recede for as long as SACKs come.
    fn restarts_timer(&self, news: &News) -> bool {
        news.acked
            || news.sacked_sent.is_some_and(|(first, _)| {
                !self.board.is_empty() && first < self.board.entry(self.board.head()).sent
            })
    }

    /// On a path that reorders, SACKs let the window grow too (`tcp_may_raise_cwnd`).
    fn may_grow(&self, news: &News) -> bool {
        news.acked || (self.recovery.threshold() > 3 && (news.sacked || news.advanced))
    }

    /// `hystart_ack_delay`: the time of four bursts of 64 KiB, at most 1 ms.
    fn burst_time(&self) -> Time {
        let srtt = self.rtt.smoothed();
        let (true, Some(srtt)) = (self.window.in_slow_start(), srtt) else {
            return Time::ZERO;
        };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let window = u64::from(self.window.cwnd) * u64::from(self.mss) * percent / 100;
        (srtt * (4 << 16) / window.max(1)).min(Time::from_millis(1))
    }

    /// `tcp_sacktag_write_queue`.
    fn on_sacks(&mut self, segment: &Segment, news: &mut News, now: Time) {
        let ack = segment.acknowledgement;
        let mut blocks = [Sack::default(); 3];
        for (slot, block) in blocks.iter_mut().zip(segment.sack_blocks()) {
            *slot = block;
        }
        let [first, second, _] = blocks;
        let is_inside = second.start <= first.start && first.end <= second.end;
        if first.start < ack || (is_inside && second.start < second.end) {
            self.on_dsack(first, news);
        }
        for block in &mut blocks {
            let is_valid = block.start < block.end
                && block.end <= self.board.next()
                && block.start >= self.una.max(ack);
            if !is_valid {
                *block = Sack::default();
            }
        }
        // In the order of their numbers: else what is new in an older block would seem to have been overtaken by
        // a newer one of the same ACK.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks.iter().filter(|block| block.start < block.end) {
            self.on_block(*block, news, now);
        }
        self.known_sacks = blocks;
        let is_judge = self.recovery.state != State::Loss || self.recovery.undo_marker.is_some();
        if is_judge && news.reordered != u64::MAX {
            self.on_reordering(news.reordered, self.board.highest_sack(self.una));
        }
    }
    /// Looks at what the last ACK had not told yet.
    fn on_block(&mut self, block: Sack, news: &mut News, now: Time) {
        let known = self
            .known_sacks
            .iter()
            .filter(|known| known.start < known.end)
            .filter(|known| known.start >= block.start && known.end <= block.end)
            .max_by_key(|known| known.end - known.start)
            .copied();
        match known {
            Some(known) => {
                self.sack_range(block.start, known.start, news, now);
                self.sack_range(known.end, block.end, news, now);
            }
            None => self.sack_range(block.start, block.end, news, now),
        }
    }
    fn sack_range(&mut self, start: u64, end: u64, news: &mut News, now: Time) {
        if start >= end {
            return;
        }
        let mut index = self.board.find(start);
        while index < self.board.tail() && self.board.end(index) <= end {
            self.sack_segment(index, news, now);
            index += 1;
        }
    }
    /// `tcp_sacktag_one`.
    fn sack_segment(&mut self, index: u64, news: &mut News, now: Time) {
        let (entry, end) = (*self.board.entry(index), self.board.end(index));
        if entry.has(SACKED) {
            return;
        }
        self.rack.on_delivered(&entry, end, now, self.rtt.lowest());
        news.newest.consider(&entry, end, index);
        if !entry.has(EVER_RETRANSMITTED) {
            if entry.start() < self.board.highest_sack(self.una) {
                news.reordered = news.reordered.min(entry.start());
            }
            news.original_delivered |= end <= self.recovery.high;
            let first = news.sacked_sent.map_or(entry.sent, |(first, _)| first);
            news.sacked_sent = Some((first, entry.sent));
        }
        news.delivered_bytes += end - entry.start() - u64::from(entry.has(FIN));
        self.board.mark_sacked(index);
        self.delivery.delivered += 1;
        news.sacked = true;
    }
    /// A duplicate arrived at the receiver (`tcp_check_dsack`).
    fn on_dsack(&mut self, block: Sack, news: &mut News) {
        let segments = block
            .end
            .saturating_sub(block.start)
            .div_ceil(self.mss.into())
            .max(1);
        self.recovery.dsacks += segments;
        // More duplicates than retransmissions: the network makes them.
        if self.recovery.dsacks > self.counters.retransmitted {
            return;
        }
        news.dsack = true;
        let probe = self.recovery.probe;
        if probe.is_some_and(|probe| probe.is_retransmission && probe.high == block.end) {
            news.dsack_of_probe = true;
        } else {
            self.rack.dsack_seen = true;
        }
        let recovery = &mut self.recovery;
        if let (Some(marker), Some(left)) = (recovery.undo_marker, recovery.undo_retransmissions)
            && block.end > marker
        {
            recovery.undo_retransmissions = Some(left.saturating_sub(segments as u32));
        }
    }

    /// `tcp_clean_rtx_queue`.
    fn remove_acknowledged(&mut self, news: &mut News, prior_highest: u64, now: Time) {
        if self.board.is_clean() {
            self.remove_clean(news, now);
        } else {
            self.remove_each(news, prior_highest, now);
        }
    }
    /// Nothing was ever sent again or selectively acknowledged: the first and the last segment tell
    /// all.
    #[inline]
    fn remove_clean(&mut self, news: &mut News, now: Time) {
        let count = self.board.covered(self.una);
        if count == 0 {
            return;
        }
        let head = self.board.head();
        let (first, last) = (*self.board.entry(head), *self.board.entry(head + count - 1));
        let end = self.board.end(head + count - 1);
        news.delivered_bytes += end - first.start() - u64::from(last.has(FIN));
        self.rack.on_delivered(&last, end, now, self.rtt.lowest());
        news.newest.consider(&last, end, head + count - 1);
        news.acked_sent = Some((first.sent, last.sent));
        news.original_delivered = self.board.end(head) <= self.recovery.high;
        news.acked = true;
        self.board.pop_clean(count);
        self.delivery.delivered += count;
    }
    fn remove_each(&mut self, news: &mut News, prior_highest: u64, now: Time) {
        let mut reordered = u64::MAX;
        while !self.board.is_empty() {
            let head = self.board.head();
            let end = self.board.end(head);
            if end > self.una {
                break;
            }
            let entry = self.board.pop();
            if entry.has(EVER_RETRANSMITTED | RETRANSMITTED) {
                news.retransmission_acked = true;
            } else if !entry.has(SACKED) {
                let first = news.acked_sent.map_or(entry.sent, |(first, _)| first);
                news.acked_sent = Some((first, entry.sent));
                reordered = reordered.min(entry.start());
                news.original_delivered |= end <= self.recovery.high;
            }
            if !entry.has(SACKED) {
                // An echo older than the retransmission is that of the original, which says
                // nothing of what was sent in between (`tcp_skb_spurious_retrans`).
                let is_spurious = entry.has(EVER_RETRANSMITTED)
                    && !self.echoed.is_zero()
                    && self.echoed < timestamp(entry.sent);
                if !is_spurious {
                    self.rack.on_delivered(&entry, end, now, self.rtt.lowest());
                }
                news.newest.consider(&entry, end, head);
                news.delivered_bytes += end - entry.start() - u64::from(entry.has(FIN));
                self.delivery.delivered += 1;
            }
            news.acked = true;
        }
        if reordered < prior_highest {
            self.on_reordering(reordered, prior_highest);
        }
    }

    /// RTT samples (`tcp_ack_update_rtt`): of the oldest segment for the time-out, of the newest for
    /// the control, neither from retransmissions (Karn); the timestamp where there is no other.
    fn measure(&mut self, news: &News, segment: &Segment, now: Time) -> Option<Time> {
        let usable = news.acked_sent.filter(|_| !news.retransmission_acked);
        let newest = news.sacked_sent.or(usable).map(|(_, last)| now - last);
        let mut oldest = usable.or(news.sacked_sent).map(|(first, _)| now - first);
        if oldest.is_none() && news.acked && !segment.echo.is_zero() {
            oldest = Some(now - segment.echo);
        }
        let oldest = oldest?;
        self.rtt.on_lowest(newest.unwrap_or(oldest), now);
        self.rtt.on_sample(oldest, self.una, self.board.next());
        self.timers.on_sample(self.rtt.timeout());
        newest
    }

    /// What the ACK says of CE.
    #[inline]
    fn count_marks(
        &mut self,
        segment: &Segment,
        packets: u32,
        is_later: bool,
        news: &mut News,
    ) -> Marks {
        let bytes = news.delivered_bytes;
        let marks = match self.ecn.agreed {
            FeedbackMode::Off => Marks::default(),
            FeedbackMode::Classic | FeedbackMode::Dctcp => {
                news.ece = segment.flags.has(Flags::ECE);
                if news.ece {
                    Marks { packets, bytes }
                } else {
                    Marks::default()
                }
            }
            // An ACK that others have overtaken tells of the past (RFC 9768 section 3.2.2.2, appendix
            // A.1: newlyAckedB > 0 or newlyAckedT > 0; Linux `FLAG_TS_PROGRESS`).
            FeedbackMode::Accurate => {
                let is_superseded = segment.acknowledgement < news.prior_una
                    || !(news.acked || news.sacked || is_later);
                if is_superseded {
                    return Marks::default();
                }
                let (mss, sent) = (self.mss, self.board.next());
                let marks = self.ecn.decode(
                    segment,
                    Delivered {
                        packets,
                        bytes,
                        mss,
                        sent,
                    },
                );
                news.ece = marks.packets > 0;
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

    const MSS: u64 = 1_448;

    /// With SACK compression an ACK may tell of two ranges at once, the later one first.
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
        assert_eq!(sender.board.sacked(), 5);
        assert!(!sender.recovery.reordering_seen);
        // What fills a gap is late indeed.
        sender.on_segment(&answer(1, 0, &[(2, 8)]), ms(42));
        assert!(sender.recovery.reordering_seen);
    }
}
