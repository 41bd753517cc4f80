//! The receiving end: RFC 9293, 5681, 2018, 2883, 7323; Linux `net/ipv4/tcp_input.c`.
//!
//! The host calls [`Receiver::poll`] after each segment and each timer, as a receive interrupt would:
//! ACKs requested between two polls become one.
//!
//! Limitations: 1. the application reads as soon as it is woken, so the window never closes; 2. segments
//! are not aggregated before they are acknowledged (GRO); 3. a receiver alone has no data to send, so its
//! ACKs are never piggybacked ([`Connection`](crate::Connection) has both); 4. timestamps have a resolution of 1 ms, Linux's
//! default; 5. a fourth SACK block, for which there is room without timestamps, is left out.

mod buffer;
mod compression;
mod delayed_ack;
mod feedback;
mod handshake;
mod reading;
mod reassembly;
mod timestamps;
mod two_way;

use quell_units::{Bytes, Time};

use crate::config::ReceiverConfig;
use crate::ecn::FeedbackMode;
use crate::ecn::counters::SackRoom;
use crate::flags::Flags;
use crate::prefetch::prefetch;
use crate::segment::{Sack, SackBlocks, Segment};
use buffer::Buffer;
use compression::Before;
use delayed_ack::{DelayedAck, QUICK_ACKS};
use feedback::{Demand, Feedback};
use handshake::rto;
use reading::Reading;
use reassembly::{Arrival, Reassembly};
pub(crate) use timestamps::{is_outdated, timestamp};
pub(crate) use two_way::Accepted;

/// Largest window in bytes that TCP can advertise (RFC 7323 section 2.3).
const MAX_WINDOW: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Listening,
    /// SYN-ACK sent; `attempt` counts retransmissions, from 1 for the first.
    SynReceived {
        at: Time,
        attempt: u32,
    },
    Established,
}

/// An ACK for what arrived before the last segment (RFC 8257 section 3.2).
#[derive(Debug, Clone, Copy)]
struct EarlierAck {
    acknowledgement: u64,
    flags: Flags,
}

/// The receiving end of a connection.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Window that the next ACK advertises, in bytes.
    window: u32,
    /// The buffer that it follows; `None` if it is fixed.
    buffer: Option<Buffer>,
    /// Whether `window` is already that of the next ACK.
    is_window_set: bool,
    mss: u32,
    /// Number of bytes beyond which data is acknowledged at once.
    ack_beyond: u64,
    compress_sacks: bool,
    /// It is half of a [`Connection`](crate::Connection), whose other half may have sent its FIN.
    is_half: bool,
    has_sent_fin: bool,
    phase: Phase,
    reassembly: Reassembly,
    reading: Reading,
    delayed: DelayedAck,
    feedback: Feedback,
    /// Acknowledgement number of the last ACK.
    rcv_wup: u64,
    /// First number after the last byte, once the FIN has arrived.
    fin: Option<u64>,
    /// Timestamp to echo (TS.Recent, RFC 7323 section 4.3).
    ts_recent: Time,
    /// Time from SYN-ACK to ACK.
    rtt: Option<Time>,
    duplicate: Option<Sack>,
    /// RCV.NXT before the last arrival, for [`EarlierAck`].
    prior_rcv_nxt: u64,
    earlier: Option<EarlierAck>,
    syn_ack_wanted: bool,
    syn_ack_due: Option<Time>,
    /// Timestamp of the first SYN-ACK.
    first_syn_ack: Time,
    /// Number of time-outs of the SYN-ACK.
    syn_ack_timeouts: u32,
    /// Number of SYN-ACKs sent.
    syn_acks: u32,
    ack_wanted: bool,
    /// An ACK without SACK blocks, for marks on ACKs.
    ack_of_acks_wanted: bool,
    ack_scheduled: bool,
    /// The unread data ends with PSH or a small segment: it is acknowledged when the application reads
    /// it.
    is_pushed: bool,
    /// After it came another small segment: the ACK does not wait for an answer (`ICSK_ACK_PUSHED2`).
    is_pushed_twice: bool,
    /// Number of duplicate ACKs held back, and not held back, since the stream last grew.
    compressed_ack: u32,
    dup_ack_counter: u32,
    compressed_ack_rcv_nxt: u64,
    compressed_ack_due: Option<Time>,
    /// The next ACK is for what arrived before the last segment.
    before: Option<Before>,
}

impl Receiver {
    /// A receiver that listens.
    pub fn new(config: &ReceiverConfig) -> Self {
        let mss = u64::from(config.mss.max(1));
        let fixed = config.window.get().max(2 * mss).min(MAX_WINDOW);
        let buffer = config
            .buffer
            .map(|buffer| Buffer::new(buffer, config.mss.max(1)));
        let window = buffer
            .as_ref()
            .map_or(fixed, |buffer| buffer.initial().into());
        Self {
            window: window as u32,
            buffer,
            is_window_set: false,
            mss: config.mss.max(1),
            ack_beyond: mss * u64::from(config.ack_every.max(1) - 1),
            compress_sacks: config.compress_sacks,
            is_half: false,
            has_sent_fin: false,
            phase: Phase::Listening,
            reassembly: Reassembly::default(),
            reading: Reading::new(config.reads),
            delayed: DelayedAck::new(config.quick_ack, window / mss, config.ticks),
            feedback: Feedback::new(config),
            rcv_wup: 0,
            fin: None,
            ts_recent: Time::ZERO,
            rtt: None,
            duplicate: None,
            prior_rcv_nxt: 0,
            earlier: None,
            syn_ack_wanted: false,
            syn_ack_due: None,
            first_syn_ack: Time::ZERO,
            syn_ack_timeouts: 0,
            syn_acks: 0,
            ack_wanted: false,
            ack_of_acks_wanted: false,
            ack_scheduled: false,
            is_pushed: false,
            is_pushed_twice: false,
            compressed_ack: 0,
            dup_ack_counter: 0,
            compressed_ack_rcv_nxt: 0,
            compressed_ack_due: None,
            before: None,
        }
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        if segment.flags.has(Flags::SYN) {
            self.on_syn(segment);
            return;
        }
        let mut is_handshake = false;
        match self.phase {
            Phase::Listening => return,
            Phase::SynReceived { at, attempt } => {
                is_handshake = self.on_first_ack(segment, at, attempt, now);
            }
            Phase::Established => {}
        }
        if !self.is_half && is_outdated(self.ts_recent, segment) {
            if segment.sequence < segment.end() {
                self.on_outdated(segment);
            }
            return;
        }
        // A segment that ends before that is discarded before its timestamp is looked at (Linux `tcp_sequence`).
        let is_at_edge = segment.sequence <= self.rcv_wup && segment.end() >= self.rcv_wup;
        if is_at_edge && segment.timestamp >= self.ts_recent {
            self.ts_recent = segment.timestamp;
        }
        let (start, end) = (segment.sequence, segment.end());
        let next = self.reassembly.rcv_nxt();
        let prompt = if self.feedback.is_accurate() {
            // Only acceptable packets count (RFC 9768 section 3.2; Linux `tcp_sequence`).
            let is_acceptable = end >= self.rcv_wup && start <= self.limit();
            let owes_ack = start < end || next > self.rcv_wup;
            is_acceptable && self.feedback.on_packet(segment, !is_handshake, owes_ack)
        } else {
            false
        };
        if start < end {
            self.on_data(segment, start, end, prompt, now);
        } else if start < next && !self.is_half {
            // A probe of an idle or closed connection.
            self.ack_wanted = true;
        } else {
            self.ack_of_acks_wanted |= prompt;
        }
    }
    /// First number that is not accepted.
    fn limit(&self) -> u64 {
        match &self.buffer {
            Some(buffer) => buffer.edge(),
            None => self.reassembly.rcv_nxt().saturating_add(self.window.into()),
        }
    }

    /// Data arrived; `prompt` requests an ACK at once.
    fn on_data(&mut self, segment: &Segment, start: u64, end: u64, prompt: bool, now: Time) {
        if end > self.limit() {
            self.delayed.enter_quick_phase(QUICK_ACKS);
            self.ack_wanted = true;
            return;
        }
        let buffer = &self.buffer;
        let per_rtt = || buffer.as_ref().map_or(u64::MAX, Buffer::read_per_rtt);
        self.reading.look(self.reassembly.rcv_nxt(), per_rtt, now);
        self.before = None;
        // `tcp_data_queue`: an ACK that waits reports a duplicate only if nothing arrives before it leaves.
        self.duplicate = None;
        if self.compressed_ack > 0 {
            self.end_compression(start, end);
        }
        if !self.queue_data(segment, start, end, now) {
            return;
        }
        if segment.flags.has(Flags::FIN) && self.fin.is_none() {
            self.fin = Some(end - 1);
        }
        self.answer_marks(segment);
        self.ack_wanted |= prompt;
        self.prior_rcv_nxt = self.reassembly.rcv_nxt();
        if self.is_finished() {
            self.on_finished();
        }
        self.ack_scheduled = true;
        match self.before {
            None => self.ack_snd_check(now),
            Some(before) => {
                self.ack_wanted = true;
                self.ack_scheduled = !before.is_new_range;
            }
        }
        if self.reading.is_woken(self.reassembly.rcv_nxt()) {
            self.read(now);
        }
    }

    /// Puts a segment into the stream. Returns false if it brings nothing new, or nothing that is taken.
    #[inline]
    fn queue_data(&mut self, segment: &Segment, start: u64, end: u64, now: Time) -> bool {
        let was_contiguous = self.reassembly.is_contiguous();
        let unread = self.reading.unread(self.reassembly.rcv_nxt());
        match self.reassembly.insert(start, end) {
            Arrival::Duplicate(range) => {
                self.duplicate = Some(range);
                // Beyond a gap it is acknowledged as any other segment there (`tcp_data_queue_ofo`).
                self.ack_wanted |= self.before.take().is_some();
                if end <= self.prior_rcv_nxt {
                    self.feedback.on_duplicate(start);
                    self.delayed.enter_quick_phase(QUICK_ACKS);
                    self.ack_wanted = true;
                    self.ack_scheduled = true;
                    return false;
                }
            }
            Arrival::Refused => {
                self.before = None;
                return false;
            }
            Arrival::InOrder => {
                if segment.payload > 0 || !self.is_half {
                    self.on_payload(segment, now);
                }
                // RFC 5681 section 4.2: "a TCP receiver SHOULD send an immediate ACK when the incoming
                // segment fills in all or part of a gap in the sequence space".
                self.ack_wanted |= !was_contiguous && self.reassembly.is_contiguous();
                let (next, waiting) = (self.reassembly.rcv_nxt(), self.reassembly.waiting());
                if let Some(buffer) = &mut self.buffer {
                    if buffer.on_in_order(segment, next, unread, now).quick {
                        self.delayed.on_window_grown();
                    }
                    buffer.on_gap_filled(waiting);
                }
            }
            Arrival::OutOfOrder => {
                let (next, end) = (self.reassembly.rcv_nxt(), self.reassembly.end());
                if let Some(buffer) = &mut self.buffer
                    && buffer
                        .on_out_of_order(segment, next, end, unread, now)
                        .quick
                {
                    self.delayed.on_window_grown();
                }
            }
        }
        true
    }
    /// Answers the ECN field of a data segment, and CWR.
    #[inline]
    fn answer_marks(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::CWR) && !self.feedback.is_accurate() {
            // The sender's window may now be a single segment, which must not wait for a second.
            self.feedback.on_window_reduced();
            self.ack_wanted = true;
        }
        match self.feedback.on_data(segment.ecn) {
            // A retransmission, probably.
            Demand::None if self.is_half && self.feedback.lacks_ect(segment.ecn) => {
                self.delayed.enter_quick_phase(2);
            }
            Demand::None => {}
            Demand::Quick => self.delayed.enter_quick_phase(2),
            Demand::Change(flags) => {
                if self.delayed.due().is_some() {
                    self.earlier = Some(EarlierAck {
                        acknowledgement: self.prior_rcv_nxt,
                        flags,
                    });
                }
                self.ack_wanted = true;
            }
        }
    }

    /// Payload arrived in order (`tcp_event_data_recv`).
    #[inline]
    fn on_payload(&mut self, segment: &Segment, now: Time) {
        let rtt = self.rtt;
        self.delayed.on_data(now, || rto(rtt));
        // `tcp_measure_rcv_mss` and `__tcp_cleanup_rbuf`, Linux 6.6 and later: a full segment with PSH
        // ends a write as a small one does. Options reduce the payload of a full segment.
        let full = Segment::HEADERS + Bytes::new(self.mss.into());
        if segment.ip_length() < full {
            self.is_pushed_twice |= self.is_pushed;
            self.is_pushed = true;
        }
        self.is_pushed |= segment.flags.has(Flags::PSH);
    }
    /// Decides whether to acknowledge now, soon or later (`__tcp_ack_snd_check`). RFC 5681 section 4.2:
    /// "an ACK SHOULD be generated for at least every second full-sized segment".
    #[inline]
    fn ack_snd_check(&mut self, now: Time) {
        let next = self.reassembly.rcv_nxt();
        if self.ack_wanted || self.delayed.is_quick() {
            self.ack_wanted = true;
            self.update_window();
        } else if next - self.rcv_wup > self.ack_beyond && self.acknowledges(next) {
            self.ack_wanted = true;
        } else if self.reassembly.is_contiguous() {
            self.ack_wanted = self.delayed.schedule(now, self.rtt);
        } else {
            self.compress_sack(now);
        }
    }
    /// More than one full segment is not acknowledged yet. Returns whether to acknowledge it now: not if
    /// the ACK would not advance the window and the application is about to read, since the reader will
    /// then acknowledge it.
    #[inline]
    fn acknowledges(&mut self, next: u64) -> bool {
        let is_woken = self.reading.is_woken(next);
        let unread = self.reading.unread(next);
        let Some(buffer) = &mut self.buffer else {
            return true;
        };
        let advertised = if is_woken {
            buffer.advertise_if_kept(next, unread)
        } else {
            Some(buffer.advertise(next, unread))
        };
        let Some(advertised) = advertised else {
            return false;
        };
        self.set_window(advertised);
        true
    }
    /// The application reads everything (`tcp_recvmsg`, `__tcp_cleanup_rbuf`).
    #[inline]
    fn read(&mut self, now: Time) {
        let (next, end) = (self.reassembly.rcv_nxt(), self.reassembly.end());
        let unread = self.reading.unread(next);
        self.reading.on_read(next);
        let is_answered = self.delayed.is_interactive() && !self.is_pushed_twice;
        let is_contiguous = self.reassembly.is_contiguous();
        self.ack_wanted |= next - self.rcv_wup > self.ack_beyond
            || (self.is_pushed && is_contiguous && !is_answered);
        if let Some(buffer) = &mut self.buffer {
            buffer.rcv_space_adjust(next, unread, end, now);
            self.ack_wanted |= buffer.has_opened(next);
        }
    }

    /// The next segment to send now; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let due = self.ack_wanted || self.syn_ack_wanted || self.earlier.is_some();
        if due || self.ack_of_acks_wanted {
            self.answer(now)
        } else {
            None
        }
    }

    fn answer(&mut self, now: Time) -> Option<Segment> {
        if self.syn_ack_wanted {
            return Some(self.syn_ack(now));
        }
        if !self.is_window_set && (self.ack_wanted || self.earlier.is_some()) {
            self.update_window();
        }
        if let Some(earlier) = self.earlier.take() {
            return Some(self.ack(earlier.acknowledgement, earlier.flags, now));
        }
        if !self.ack_wanted && !self.ack_of_acks_wanted {
            return None;
        }
        let has_sacks = self.ack_wanted;
        let next = self.reassembly.rcv_nxt();
        let flags = self.feedback.flags();
        self.on_ack_sent(next);
        let ack = if self.feedback.is_accurate() || self.duplicate.is_some() {
            self.unusual_ack(next, flags, has_sacks, now)
        } else {
            self.ack(next, flags, now)
        };
        self.before = None;
        Some(ack)
    }
    /// An ACK of everything before `next` leaves (`tcp_event_ack_sent`).
    #[inline]
    fn on_ack_sent(&mut self, next: u64) {
        self.ack_wanted = false;
        self.ack_of_acks_wanted = false;
        self.rcv_wup = next;
        self.delayed.on_ack_sent(self.ack_scheduled);
        self.ack_scheduled = false;
        self.is_pushed = false;
        self.is_pushed_twice = false;
        self.is_window_set = false;
        self.compressed_ack = 0;
        self.compressed_ack_due = None;
    }
    /// Sets the window of the next ACK.
    #[inline]
    fn update_window(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            let next = self.reassembly.rcv_nxt();
            let advertised = buffer.advertise(next, self.reading.unread(next));
            self.set_window(advertised);
        }
    }
    #[inline]
    fn set_window(&mut self, (window, is_ample): (u32, bool)) {
        self.window = window;
        self.is_window_set = true;
        if !is_ample {
            self.delayed.end_quick_phase();
        }
    }
    /// An ACK with an AccECN option or a D-SACK.
    #[cold]
    fn unusual_ack(&mut self, next: u64, flags: Flags, has_sacks: bool, now: Time) -> Segment {
        let mut ack = self.ack(next, flags, now);
        if self.feedback.is_accurate() {
            self.add_option(&mut ack, has_sacks, now);
        }
        self.duplicate = None;
        ack
    }

    /// Adds the AccECN option, in place of SACK blocks if necessary. RFC 9768 section 3.2.2.5.1: "ACKs of
    /// ACKs MUST NOT contain any SACK blocks".
    #[cold]
    fn add_option(&mut self, ack: &mut Segment, has_sacks: bool, now: Time) {
        let blocks = if has_sacks { ack.sacks.len() } else { 0 };
        let duplicate = self
            .duplicate
            .filter(|_| has_sacks)
            .map(|range| range.start);
        let sacks = self.sack_room(blocks);
        let (option, blocks) = self.feedback.option(sacks, duplicate, self.rtt, now);
        ack.accecn = option;
        ack.sacks.truncate(blocks);
    }

    /// The room for options of a segment with this many SACK blocks; timestamps take 12 bytes.
    fn sack_room(&self, blocks: usize) -> SackRoom {
        let room = if self.ts_recent.is_zero() {
            40
        } else {
            40 - 12
        };
        SackRoom { blocks, room }
    }

    fn ack(&self, acknowledgement: u64, feedback: Flags, now: Time) -> Segment {
        let mut flags = Flags::ACK | feedback.0;
        if !self.is_half && self.is_finished() && acknowledgement == self.reassembly.rcv_nxt() {
            flags |= Flags::FIN;
        }
        let sacks = match self.before {
            Some(before) => before.blocks,
            None if self.duplicate.is_some() || !self.reassembly.is_contiguous() => {
                self.sack_blocks(acknowledgement)
            }
            None => SackBlocks::default(),
        };
        Segment {
            acknowledgement,
            window: self.window,
            timestamp: timestamp(now),
            echo: self.ts_recent,
            sacks,
            flags: Flags(flags),
            ecn: self.feedback.field(),
            ..Segment::default()
        }
    }

    /// A segment will arrive soon: prefetches what it will need.
    #[inline]
    pub fn prefetch(&self) {
        // One of each cache line, or nearly so.
        prefetch(&self.delayed);
        prefetch(&self.rtt);
        prefetch(&self.duplicate);
        prefetch(&self.compressed_ack_due);
        self.reassembly.prefetch();
        prefetch(&self.feedback);
        prefetch(&self.compressed_ack);
    }

    /// Time of the next call of [`on_timer`](Self::on_timer); any other call may change it.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let never = |due: Option<Time>| due.unwrap_or(Time::MAX);
        let due = never(self.delayed.due())
            .min(never(self.compressed_ack_due))
            .min(never(self.syn_ack_due));
        (due < Time::MAX).then_some(due)
    }

    /// Handles the timers that have expired; call [`poll`](Self::poll) afterwards. A call before they
    /// expire has no effect.
    pub fn on_timer(&mut self, now: Time) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        if is_due(self.delayed.due()) {
            self.delayed.on_timer(rto(self.rtt));
            self.ack_wanted = true;
        }
        if is_due(self.compressed_ack_due) {
            self.compressed_ack_due = None;
            self.ack_wanted = true;
        }
        if is_due(self.syn_ack_due) {
            self.syn_ack_due = None;
            self.syn_ack_wanted = true;
            self.syn_ack_timeouts = self.syn_ack_timeouts.saturating_add(1);
        }
    }

    /// ECN feedback that the handshake has agreed on.
    pub fn feedback(&self) -> FeedbackMode {
        self.feedback.agreed()
    }
    /// Number of packets of this end, mostly ACKs, that arrived with CE, as far as AccECN has reported.
    pub fn marked_acks(&self) -> u64 {
        self.feedback.marked()
    }
    /// Number of bytes delivered to the application in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        let next = self.reassembly.rcv_nxt();
        self.fin.map_or(next, |fin| next.min(fin))
    }

    /// Whether the FIN and everything before it have arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.reassembly.rcv_nxt() > fin)
    }
}
