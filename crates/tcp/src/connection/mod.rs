//! One end of a connection with data in both directions: a [`Sender`] and a [`Receiver`] of one host.
//!
//! Either end may open, both may write. Each half works as it does alone. Together they add what a real end
//! has: ACKs ride on data (Linux's "pingpong" mode delays them for that), each end ends its own stream with a
//! FIN, and either may reset the connection.
//!
//! The host calls [`poll`](Connection::poll) until it returns `None` after each segment, each timer and each
//! call of the application. What the application writes in answer to a segment leaves after the ACK that the
//! segment demands at once, even if both are polled together, as a real one is woken later.
//!
//! Deviations from Linux: 1. if both ends open at once neither gets an answer (RFC 9293 section 3.5 has a
//! simultaneous open); 2. a connection never gives up: SYN, SYN-ACK and data are repeated for ever
//! (`tcp_syn_retries`, `tcp_retries2`); 3. TIME-WAIT lasts until a RST arrives, and no SYN ends it; 4.
//! [`close`](Connection::close) is `shutdown(SHUT_WR)`: data that arrives afterwards is received; 5. a
//! retransmission is not split to make room for SACK blocks: if an ACK is due it leaves on its own; 6. a full
//! segment of the peer is known in advance, where Linux learns its size from what arrives
//! (`tcp_measure_rcv_mss`), so that it may acknowledge the first small segments sooner; 7. a retransmission
//! that data of the peer brings about acknowledges that data, while Linux sends it before it looks at the
//! data.

#[cfg(test)]
mod tests;

use quell_units::{Bytes, Time};

use crate::challenge::AnswerLimit;
use crate::config::{ReceiverConfig, SenderConfig};
use crate::flags::Flags;
use crate::receiver::{Receiver, timestamp};
use crate::segment::Segment;
use crate::sender::Sender;

/// A RST that must be sent.
#[derive(Debug, Clone, Copy)]
enum Reset {
    /// This end has aborted (`tcp_send_active_reset`).
    Active,
    /// The answer to a segment for which there is no connection (`tcp_v4_send_reset`).
    Answer {
        sequence: u64,
        acknowledgement: u64,
        echo: Time,
        flags: Flags,
    },
}

/// An end of a connection.
#[derive(Debug, Clone)]
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
    /// The ACK that is due leaves before data that was written after it.
    is_ack_first: bool,
    /// It is over because of a RST, sent or received, or it was closed before it was open.
    is_reset: bool,
    /// Once both streams have ended nothing is left of it: this end closed last (LAST-ACK), or TIME-WAIT is
    /// over.
    leaves_nothing: bool,
    owes: Option<Reset>,
    answers: AnswerLimit,
}

impl Connection {
    /// A closed end: it accepts a connection unless it is [opened](Self::open). Both halves should have the
    /// same ECN configuration, MSS and clock: they are one host. If it opens, the sender's ECN mode counts;
    /// if it accepts, the receiver's decides on the feedback.
    pub fn new(sender: &SenderConfig, receiver: &ReceiverConfig) -> Self {
        Self::of(Sender::new(sender), Receiver::new(receiver))
    }
    /// An end of this sender, perhaps [with a control of its own](Sender::with_control), and receiver. Both
    /// are new.
    pub fn of(mut sender: Sender, mut receiver: Receiver) -> Self {
        sender.join();
        receiver.join();
        Self {
            sender,
            receiver,
            is_ack_first: false,
            is_reset: false,
            leaves_nothing: false,
            owes: None,
            answers: AnswerLimit::default(),
        }
    }

    /// Becomes a [new](Self::new) end in the memory of this one, for a host with many short connections.
    pub fn renew(&mut self, sender: &SenderConfig, receiver: &ReceiverConfig) {
        let before = std::mem::replace(self, Self::new(sender, receiver));
        self.sender.reuse(before.sender);
        self.receiver.reuse(before.receiver);
    }

    /// Opens the connection: [`poll`](Self::poll) will return the SYN. Without effect once it is open, or
    /// the other end has opened it.
    pub fn open(&mut self, now: Time) {
        if !self.receiver.is_accepting() {
            self.sender.open(now);
        }
    }
    /// The application writes `bytes` more bytes; without effect after [`close`](Self::close). It may write
    /// before the connection is open.
    pub fn write(&mut self, bytes: u64) {
        self.before_write();
        self.sender.write(bytes);
    }
    /// The application writes without end.
    pub fn write_endless(&mut self) {
        self.write(u64::MAX);
    }
    /// Writes without end, for an application that will [`retract`](Self::retract) some of it.
    pub fn write_until_retracted(&mut self) {
        self.before_write();
        self.sender.write_until_retracted();
    }
    /// Takes back what was written, except the next `unsent` bytes to send.
    pub fn retract(&mut self, unsent: u64) {
        self.sender.retract(unsent);
    }
    /// The application closes its stream: a FIN follows what was written. It is part of the last segment if
    /// that has not left (`tcp_send_fin`). An endless stream ends with what has been sent. An end that has asked
    /// for a connection and written nothing gives it up, as by [`abort`](Self::abort) (`tcp_disconnect`).
    pub fn close(&mut self) {
        if self.sender.is_opening() && self.sender.unsent() == 0 {
            self.is_reset = true;
        }
        if !self.sender.is_closed() {
            self.leaves_nothing = self.receiver.is_finished();
        }
        self.before_write();
        self.sender.close();
    }
    /// An answer that is due for earlier arrivals leaves before the data written now, unless that had to wait already.
    fn before_write(&mut self) {
        if self.receiver.owes_ack() && self.sender.unsent() == 0 {
            self.is_ack_first = true;
        }
    }
    /// Ends the connection at once: the next [`poll`](Self::poll) returns a RST if the other end may have a
    /// connection (`tcp_need_reset`), and then nothing leaves any more.
    pub fn abort(&mut self) {
        if !self.is_reset {
            let is_known = self.sender.is_established() || self.receiver.is_accepting();
            if is_known && !self.is_over() {
                self.owes = Some(Reset::Active);
            }
            self.is_reset = true;
        }
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        if self.is_reset || self.is_over() {
            self.on_late(segment, now);
        } else if segment.flags.has(Flags::RST) {
            self.on_reset(segment, now);
        } else if !self.sender.is_established() {
            self.on_handshake(segment, now);
        } else if segment.flags.has(Flags::SYN) {
            self.on_late_syn(segment, now);
        } else {
            self.on_established(segment, now);
        }
    }
    fn on_handshake(&mut self, segment: &Segment, now: Time) {
        let (has_syn, has_ack) = (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK));
        let is_listening = self.is_listening();
        if has_ack && (segment.acknowledgement != 0 || is_listening) {
            // RFC 9293 section 3.10.7.2 and 3.10.7.3: an ACK of what this end has not sent.
            self.refuse(segment);
        } else if self.sender.is_opening() {
            if has_syn && has_ack {
                self.sender.on_segment(segment, now);
                let counters = self.sender.take_counters();
                let agreed = self.sender.feedback();
                self.receiver.on_connected(segment, agreed, counters, now);
                self.heed();
            }
        } else if has_syn && !has_ack {
            // A repeated one is answered as seldom as other segments outside the window (`tcp_check_req`).
            if is_listening || self.answers.allows(self.receiver.ticks(), now) {
                self.receiver.on_segment(segment, now);
            }
        } else if has_ack && !has_syn {
            self.answers = AnswerLimit::default();
            self.receiver.on_segment(segment, now);
            let accepted = self.receiver.accepted(segment);
            self.sender.accept(segment, accepted, now);
            self.heed();
        }
    }
    /// A SYN of an open connection (RFC 5961 section 4.2): the handshake's last ACK was lost, most probably.
    fn on_late_syn(&mut self, segment: &Segment, now: Time) {
        if !segment.flags.has(Flags::ACK) {
            self.challenge(now);
            return;
        }
        let is_allowed = self.answers.allows(self.receiver.ticks(), now);
        if self.sender.on_repeated_syn_ack(segment, is_allowed) {
            self.receiver.on_ce_syn_ack();
        }
        self.heed();
    }
    fn on_established(&mut self, segment: &Segment, now: Time) {
        let (start, end) = (segment.sequence, segment.end());
        if self.receiver.is_outdated(segment) && self.discards_outdated(segment, now) {
            return;
        }
        let is_acceptable = self.receiver.is_acceptable(start, end);
        if !is_acceptable && start == end {
            // A probe of an idle connection, or a pure ACK that others have overtaken.
            self.challenge(now);
            return;
        }
        if is_acceptable && segment.flags.has(Flags::ACK) && !self.sender.knows(segment) {
            if !self.sender.accepts(segment.acknowledgement) {
                // RFC 9293 section 3.10.7.4: "send an ACK, drop the segment, and return".
                self.challenge(now);
                return;
            }
            self.sender.on_segment(segment, now);
        }
        self.heed();
        self.receiver.on_segment(segment, now);
    }
    /// A segment is older than what has been acknowledged since (PAWS, RFC 7323 section 5;
    /// `tcp_disordered_ack_check`). It is discarded unless it only repeats the last ACK. An ACK of this kind with an
    /// old number is common, and not answered.
    #[cold]
    fn discards_outdated(&mut self, segment: &Segment, now: Time) -> bool {
        let (start, next) = (segment.sequence, self.receiver.rcv_nxt());
        if start < segment.end() {
            self.receiver.on_outdated(segment);
            return true;
        }
        let repeats = start == next && self.sender.repeats_ack(segment);
        if start >= next && !repeats {
            self.challenge(now);
        }
        !repeats
    }
    /// An ACK shows the peer what this end expects, unless one has done so just now.
    fn challenge(&mut self, now: Time) {
        if self.answers.allows(self.receiver.ticks(), now) {
            self.receiver.demand_ack();
        }
    }
    fn heed(&mut self) {
        let sender = &self.sender;
        self.receiver.heed(
            sender.srtt(),
            sender.has_sent_fin(),
            sender.has_seen_option(),
        );
    }
    /// RFC 9293 section 3.10.7.3 and RFC 5961 section 3.2: a RST that is inside the window but not exact gets
    /// an ACK, to which an end without connection answers with an exact one.
    fn on_reset(&mut self, segment: &Segment, now: Time) {
        if self.sender.is_opening() {
            self.is_reset = segment.flags.has(Flags::ACK) && segment.acknowledgement == 0;
        } else if self.is_listening() {
            // It still does.
        } else if self.receiver.is_exact_reset(segment) {
            self.on_exact_reset();
        } else if self
            .receiver
            .is_acceptable(segment.sequence, segment.sequence)
        {
            self.challenge(now);
        }
    }
    fn on_exact_reset(&mut self) {
        if self.sender.is_established() {
            self.is_reset = true;
        } else {
            // RFC 9293 section 3.10.7.4: "If this connection was initiated with a passive OPEN [...], then
            // return this connection to LISTEN state".
            self.answers = AnswerLimit::default();
            self.receiver.listen_again();
        }
    }
    /// A segment arrived after the end of the connection.
    #[cold]
    fn on_late(&mut self, segment: &Segment, now: Time) {
        if self.is_reset || self.leaves_nothing {
            self.refuse(segment);
        } else if segment.flags.has(Flags::RST) {
            // It ends TIME-WAIT.
            self.leaves_nothing = self.receiver.is_exact_reset(segment);
        } else if segment.end() > segment.sequence {
            // `tcp_timewait_state_process`: the FIN again, most probably.
            self.receiver.demand_ack();
        } else if segment.sequence != self.receiver.rcv_nxt() || segment.flags.has(Flags::SYN) {
            self.challenge(now);
        }
    }
    /// Answers a segment for which there is no connection.
    #[cold]
    fn refuse(&mut self, segment: &Segment) {
        if !segment.flags.has(Flags::RST) && self.owes.is_none() {
            let reset = Self::reset_for(segment);
            self.owes = Some(Reset::Answer {
                sequence: reset.sequence,
                acknowledgement: reset.acknowledgement,
                echo: reset.echo,
                flags: reset.flags,
            });
        }
    }

    /// The next segment to send now; call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.owes.is_some() {
            return self.poll_reset(now);
        }
        if self.is_reset {
            return None;
        }
        if !self.sender.is_established() {
            return match self.sender.poll(now) {
                Some(mut syn) => {
                    syn.window = self.receiver.initial_window();
                    Some(syn)
                }
                None => self.receiver.poll_bare(now),
            };
        }
        let is_ack_first = std::mem::take(&mut self.is_ack_first) && self.receiver.owes_ack();
        if (is_ack_first || self.receiver.owes_earlier_ack()) && !self.sender.owes_handshake_ack() {
            return self.bare_ack(now);
        }
        if self.sender.is_idle() {
            self.sender.poll_idle(now);
            return self.bare_ack(now);
        }
        let options = self.receiver.options(now);
        self.sender.set_options(options);
        let is_handshake = self.sender.owes_handshake_ack();
        match self.sender.poll(now) {
            Some(mut segment) => {
                let room = self.sender.mss().saturating_sub(segment.payload);
                self.receiver.ride(&mut segment, room, !is_handshake, now);
                Some(segment)
            }
            None => self.bare_ack(now),
        }
    }
    fn bare_ack(&mut self, now: Time) -> Option<Segment> {
        let mut ack = self.receiver.poll_bare(now)?;
        ack.sequence = self.sender.acceptable_seq();
        self.sender.on_control_sent(now);
        Some(ack)
    }
    #[cold]
    fn poll_reset(&mut self, now: Time) -> Option<Segment> {
        Some(match self.owes.take()? {
            Reset::Active => Segment {
                sequence: self.sender.acceptable_seq(),
                acknowledgement: self.receiver.rcv_nxt(),
                timestamp: timestamp(now),
                flags: Flags(Flags::RST | Flags::ACK),
                ..Segment::default()
            },
            Reset::Answer {
                sequence,
                acknowledgement,
                echo,
                flags,
            } => Segment {
                sequence,
                acknowledgement,
                echo,
                flags,
                ..Segment::default()
            },
        })
    }
    /// The answer of a host without this connection to `segment` (RFC 9293 section 3.10.7.1). It must not
    /// answer a RST.
    pub fn reset_for(segment: &Segment) -> Segment {
        let (sequence, acknowledgement, flags) = if segment.flags.has(Flags::ACK) {
            (segment.acknowledgement, 0, Flags::RST)
        } else {
            (0, segment.end(), Flags::RST | Flags::ACK)
        };
        Segment {
            sequence,
            acknowledgement,
            echo: segment.timestamp,
            flags: Flags(flags),
            ..Segment::default()
        }
    }

    /// Time of the next call of [`on_timer`](Self::on_timer); any other call may change it.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        if self.is_reset {
            return None;
        }
        let due = |at: Option<Time>| at.unwrap_or(Time::MAX);
        let at = due(self.sender.next_timer()).min(due(self.receiver.next_timer()));
        (at < Time::MAX).then_some(at)
    }
    /// Handles the timers that have expired; call [`poll`](Self::poll) afterwards. A call before they
    /// expire has no effect.
    pub fn on_timer(&mut self, now: Time) {
        if !self.is_reset {
            self.sender.on_timer(now);
            self.receiver.on_timer(now);
        }
    }
    /// Sets the number of bytes of this end's packets that wait in its host's own queue, see
    /// [`Sender::set_local_queue`].
    pub fn set_local_queue(&mut self, bytes: Bytes) {
        self.sender.set_local_queue(bytes);
    }
    /// A segment will arrive soon: prefetches what it will need, except the outstanding segments.
    #[inline]
    pub fn prefetch(&self) {
        self.sender.prefetch();
        self.receiver.prefetch();
    }
    /// Prefetches the outstanding segments, see [`Sender::prefetch_segments`].
    #[inline]
    pub fn prefetch_segments(&self) {
        self.sender.prefetch_segments();
    }
    /// Frees the memory for outstanding segments if there will never be any again.
    pub fn release_if_finished(&mut self) {
        self.sender.release_if_finished();
    }

    /// Whether this end may send data: the SYN-ACK has arrived, or the ACK of its own SYN-ACK.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.sender.is_established()
    }
    /// Number of bytes from the other end that have arrived in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }
    /// Whether the other end's FIN has arrived, and everything before it.
    pub fn has_peer_finished(&self) -> bool {
        self.receiver.is_finished()
    }
    /// Whether both streams have ended: this end's FIN is acknowledged, and it has acknowledged the other
    /// end's. It still answers: the end that closed first as in TIME-WAIT, the other one with a RST.
    pub fn is_over(&self) -> bool {
        self.sender.has_ended() && self.receiver.has_ended()
    }
    /// Whether a RST has arrived, or the application has [aborted](Self::abort), or closed before the
    /// connection was open. What arrives is answered with a RST.
    pub fn is_reset(&self) -> bool {
        self.is_reset
    }
    /// Whether it waits for a SYN: from the start, unless it [opens](Self::open), and again after a RST in
    /// answer to its SYN-ACK.
    pub fn is_listening(&self) -> bool {
        !self.is_established() && !self.sender.is_opening() && !self.receiver.is_accepting()
    }
    /// Number of bytes that are written and have not left yet.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }
    /// SYNs of the end that opens, or SYN-ACKs of the other one, that left again.
    pub fn handshake_retries(&self) -> u64 {
        self.sender.syn_retries() + self.receiver.syn_ack_retries()
    }
    /// The sending half: statistics, congestion control.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
    /// The receiving half: feedback. It no longer counts [marked ACKs](Receiver::marked_acks).
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}
