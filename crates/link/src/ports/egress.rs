//! The sending half of a port: frames in batches, straight from their slots, with retries.
//!
//! A frame that the kernel refuses stays at the head and is offered again: after EAGAIN, when the
//! socket has room (EPOLLOUT); after ENOBUFS or ENOMEM, which mean that the interface or memory is
//! full and whose end no event announces, after a pause that doubles from 50 µs to 10 ms. A frame is
//! lost only if it can never be sent (too long, interface down) or was refused for a whole second.
//!
//! If the interface has an `fq`, a frame may be handed over before its release, with that time
//! ([`Outgoing::ahead`]): the kernel copies it, so its slot is free at once, and sends it at its
//! time. Until then it counts as in flight, not as transmitted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

use quell_units::Time;

use super::messages::{BATCH, Messages, Part};
use crate::frames::{DESCRIPTION, Frame, FrameId, Pool, SuperPacket};
use crate::time::{Clock, LatenessHistogram};

const SHORTEST_PAUSE: Time = Time::from_micros(50);
const LONGEST_PAUSE: Time = Time::from_millis(10);
const PATIENCE: Time = Time::from_secs(1);

/// A frame to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    pub(crate) frame: Frame,
    /// When it should leave; `None` for immediately.
    pub(crate) release: Option<Time>,
    /// Whether its lateness counts.
    pub(crate) judged: bool,
    /// Whether the kernel gets the time of its release.
    pub(crate) ahead: bool,
}

impl Outgoing {
    /// A frame that bypasses the queue.
    pub(crate) fn at_once(frame: Frame) -> Self {
        Self {
            frame,
            release: None,
            judged: false,
            ahead: false,
        }
    }
}

/// Why frames wait here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// The socket has no room.
    UntilWritable,
    /// The interface has none.
    Until(Time),
}

/// The sending half of a port.
#[derive(Debug)]
pub(crate) struct Egress {
    messages: Messages,
    /// The messages of one call, what they consist of, and the slots with the headers of those that are super-packets.
    parts: Vec<Part>,
    pieces: Vec<(usize, usize)>,
    headers: Vec<FrameId>,
    waiting: VecDeque<Outgoing>,
    blocked: Option<Blocked>,
    pause: Time,
    /// Since when the first frame has been refused.
    refused_since: Option<Time>,
    /// Release times of frames that the kernel holds until then, as of the last hand-over.
    held: BinaryHeap<Reverse<Time>>,
    accepted: u64,
    retried: u64,
    lost: u64,
    lateness: LatenessHistogram,
}

impl Egress {
    pub(crate) fn new() -> Self {
        Self {
            messages: Messages::new(),
            parts: Vec::with_capacity(BATCH),
            pieces: Vec::with_capacity(2 * BATCH),
            headers: Vec::with_capacity(BATCH),
            waiting: VecDeque::with_capacity(BATCH),
            blocked: None,
            pause: SHORTEST_PAUSE,
            refused_since: None,
            held: BinaryHeap::new(),
            accepted: 0,
            retried: 0,
            lost: 0,
            lateness: LatenessHistogram::new(),
        }
    }
    /// Adds a frame behind those that wait.
    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.waiting.push_back(outgoing);
    }
    /// Frames that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
    /// Frames that the kernel has accepted and, by `now`, released.
    pub(crate) fn transmitted(&self, now: Time) -> u64 {
        self.accepted - self.held(now)
    }
    /// Frames that the kernel holds beyond `now`.
    pub(crate) fn held(&self, now: Time) -> u64 {
        self.held
            .iter()
            .filter(|Reverse(release)| *release > now)
            .count() as u64
    }
    /// The number of temporary refusals by the kernel.
    pub(crate) fn retried(&self) -> u64 {
        self.retried
    }
    /// Frames that could not be sent.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
    /// The lateness of frames that were handed to the kernel after their release.
    pub(crate) fn lateness(&self) -> &LatenessHistogram {
        &self.lateness
    }
    /// The reason why sending waits.
    pub(crate) fn blocked(&self) -> Option<Blocked> {
        self.blocked
    }
    /// The socket has room again.
    pub(crate) fn writable(&mut self) {
        if self.blocked == Some(Blocked::UntilWritable) {
            self.blocked = None;
        }
    }

    /// Sends the frames that wait, as far as the kernel takes them.
    pub(crate) fn flush(&mut self, socket: BorrowedFd<'_>, pool: &mut Pool, clock: &Clock) {
        match self.blocked {
            Some(Blocked::UntilWritable) => return,
            Some(Blocked::Until(at)) if clock.now() < at => return,
            _ => self.blocked = None,
        }
        while !self.waiting.is_empty() && self.blocked.is_none() {
            self.gather(pool, clock);
            let (parts, pieces) = (&self.parts, &self.pieces);
            let sent = self.messages.send(socket, pool.slab(), parts, pieces);
            self.headers.drain(..).for_each(|id| pool.give_back(id));
            let now = clock.now();
            match sent {
                Ok(sent) => {
                    let packets = self.parts[..sent].iter().map(|part| part.packets).sum();
                    self.accepted(packets, now, pool);
                }
                Err(error) => self.refused(&error, now, pool),
            }
        }
    }

    /// Makes messages of the first frames that wait. Segments of TCP that leave at once are one message.
    fn gather(&mut self, pool: &mut Pool, clock: &Clock) {
        self.parts.clear();
        self.pieces.clear();
        let mut next = 0;
        while let Some(outgoing) = self.waiting.get(next)
            && self.parts.len() < BATCH
        {
            let release = outgoing.release.filter(|_| outgoing.ahead);
            let before = self.pieces.len();
            let packets = self.join(next, pool);
            self.parts.push(Part {
                pieces: self.pieces.len() - before,
                packets,
                release: release.map(|release| clock.monotonic(release)),
            });
            next += packets;
        }
    }

    /// Adds the pieces of frame `first` with those behind it that it can be joined with; returns how many frames that are.
    fn join(&mut self, first: usize, pool: &mut Pool) -> usize {
        let Outgoing { frame, ahead, .. } = self.waiting[first];
        let bytes = pool.bytes(frame);
        let mut whole = SuperPacket::of(bytes, bytes.len(), &pool.offload(frame));
        if let Some(whole) = whole.as_mut().filter(|_| !ahead) {
            let fits = |other: &&Outgoing| {
                let frame = other.frame;
                !other.ahead && whole.join(pool.bytes(frame), &pool.offload(frame))
            };
            let behind = self.waiting.iter().skip(first + 1);
            behind.take_while(fits).for_each(drop);
        }
        let whole = whole.filter(|whole| whole.segments > 1);
        let Some((whole, id)) = whole.and_then(|whole| Some((whole, pool.take()?))) else {
            let all = DESCRIPTION + usize::from(frame.len);
            self.pieces.push((pool.described(frame), all));
            return 1;
        };
        self.headers.push(id);
        let len = whole.headers as u16;
        let headers = Frame { id, len, ..frame };
        let offload = whole.write(pool.bytes_mut(headers));
        pool.describe(headers, &offload);
        let skipped = DESCRIPTION + whole.headers;
        self.pieces.push((pool.described(headers), skipped));
        let segments = self.waiting.range(first..first + whole.segments);
        self.pieces.extend(segments.map(|&Outgoing { frame, .. }| {
            let payload = usize::from(frame.len) - whole.headers;
            (pool.described(frame) + skipped, payload)
        }));
        whole.segments
    }

    fn accepted(&mut self, sent: usize, now: Time, pool: &mut Pool) {
        self.accepted += sent as u64;
        self.pause = SHORTEST_PAUSE;
        self.refused_since = None;
        while self.held.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.held.pop();
        }
        for outgoing in self.waiting.drain(..sent) {
            pool.give_back(outgoing.frame.id);
            let Some(release) = outgoing.release else {
                continue;
            };
            if outgoing.judged {
                // What was handed over before its time is not late.
                self.lateness.record(now - release);
            }
            if outgoing.ahead && release > now {
                self.held.push(Reverse(release));
            }
        }
    }

    fn refused(&mut self, error: &io::Error, now: Time, pool: &mut Pool) {
        let since = *self.refused_since.get_or_insert(now);
        let for_now = matches!(
            error.raw_os_error(),
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM)
        );
        if error.raw_os_error() == Some(libc::EINTR) {
            return;
        }
        if !for_now || now - since > PATIENCE {
            if let Some(outgoing) = self.waiting.pop_front() {
                pool.give_back(outgoing.frame.id);
                self.lost += 1;
            }
            self.refused_since = None;
            return;
        }
        self.retried += 1;
        self.blocked = Some(if error.raw_os_error() == Some(libc::EAGAIN) {
            Blocked::UntilWritable
        } else {
            let until = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            Blocked::Until(until)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_frames(count: usize) -> (Egress, Pool) {
        let (mut egress, mut pool) = (Egress::new(), Pool::new(8, 1_500).unwrap());
        for _ in 0..count {
            let frame = Frame {
                id: pool.take().unwrap(),
                len: 60,
                start: 16,
            };
            egress.push(Outgoing::at_once(frame));
        }
        (egress, pool)
    }

    #[test]
    fn what_is_refused_for_now_is_kept_and_tried_again_ever_more_rarely() {
        let (mut egress, mut pool) = with_frames(2);
        let full = io::Error::from_raw_os_error(libc::ENOBUFS);
        let mut now = Time::from_secs(5);
        let mut pauses = Vec::new();
        for _ in 0..10 {
            egress.refused(&full, now, &mut pool);
            let Some(Blocked::Until(at)) = egress.blocked else {
                panic!("{:?}", egress.blocked)
            };
            pauses.push((at - now).as_nanos() / 1_000);
            now = at;
        }
        assert_eq!(
            pauses,
            [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
        );
        assert_eq!(
            (
                egress.waiting(),
                egress.lost(),
                egress.retried(),
                pool.free()
            ),
            (2, 0, 10, 6)
        );
        egress.accepted(2, now, &mut pool);
        assert_eq!(
            (egress.waiting(), egress.transmitted(now), pool.free()),
            (0, 2, 8)
        );
        assert_eq!(egress.pause, SHORTEST_PAUSE);
    }

    #[test]
    fn what_was_handed_over_before_its_time_is_not_late_and_not_yet_transmitted() {
        let (mut egress, mut pool) = with_frames(0);
        let us = Time::from_micros;
        for (release, ahead) in [(90, true), (130, true), (110, true), (95, false)] {
            let frame = Frame {
                id: pool.take().unwrap(),
                len: 60,
                start: 16,
            };
            egress.push(Outgoing {
                frame,
                release: Some(us(release)),
                judged: true,
                ahead,
            });
        }
        egress.accepted(4, us(100), &mut pool);
        assert_eq!(pool.free(), 8, "the kernel has copied them");
        for (now, transmitted, held) in [(100, 2, 2), (109, 2, 2), (110, 3, 1), (130, 4, 0)] {
            assert_eq!(
                (egress.transmitted(us(now)), egress.held(us(now))),
                (transmitted, held),
                "{now}"
            );
        }
        // Late by 10, 0, 0 and 5 µs.
        let late = egress.lateness().summary();
        assert_eq!((late.count, late.p50), (4, Time::ZERO));
        assert!(late.max >= us(10) && late.max < us(11), "{late:?}");
    }

    #[test]
    fn a_frame_is_lost_when_it_can_never_be_sent_or_was_refused_too_long() {
        let (mut egress, mut pool) = with_frames(3);
        egress.refused(
            &io::Error::from_raw_os_error(libc::EMSGSIZE),
            Time::ZERO,
            &mut pool,
        );
        assert_eq!(
            (egress.lost(), egress.waiting(), egress.blocked),
            (1, 2, None)
        );
        let again = io::Error::from_raw_os_error(libc::EAGAIN);
        egress.refused(&again, Time::ZERO, &mut pool);
        assert_eq!(
            (egress.lost(), egress.blocked),
            (1, Some(Blocked::UntilWritable))
        );
        egress.writable();
        egress.refused(&again, PATIENCE + Time::from_nanos(1), &mut pool);
        assert_eq!((egress.lost(), egress.waiting(), pool.free()), (2, 1, 7));
    }
}
