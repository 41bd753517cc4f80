//! The send queue in `sk_buff`s, and when the application fills it; Linux 7.2 `net/ipv4/tcp.c`
//! (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `tcp_stream_memory_free`), `tcp_input.c` (`tcp_new_space`,
//! `tcp_sndbuf_expand`), `net/core/stream.c` (`sk_stream_write_space`).
//!
//! An application that always has more fills the last buffer up to 64 KiB and starts others, until as
//! much waits as may; it is woken when half of that has left. Both show in what leaves: the rest of a
//! buffer that is not the last is not deferred (`tcp_tso_should_defer`), and a write that fills the
//! buffer at the head of the queue sends what the window allows (`tcp_push_one`). So bursts fall out of
//! step with the ACKs about every 50 segments, which decides how many of them meet a full queue.
//!
//! Deviations from Linux: 1. beyond [`MOST`] buffers the last ones are merged; 2. a retransmitted
//! segment is not split off its buffer, and only one gap at a time has a buffer of its own; 3. the limit
//! does not follow the rate, while that of the other worlds' hosts does above 100 Mbit/s; 4. a source
//! that pauses has one endless buffer, while those hosts let 16 KiB wait.

use quell_units::Time;

use super::Sender;
use super::tso::LARGEST;
use crate::cc::CongestionControl as _;
use crate::segment::Segment;

/// Number of buffers whose ends are recorded.
const MOST: usize = 8;
/// Number of outstanding bursts whose memory is counted; a power of two. With more of them the window is
/// so large that memory is no limit.
const BURSTS: usize = 32;
/// Bytes that the hosts of the other worlds let wait in a socket (TCP_NOTSENT_LOWAT).
const UNSENT: u64 = 128 << 10;
/// Initial memory of a send buffer (their `tcp_wmem`), and memory of a segment, of which the window has
/// two for each, or what the control says (`sndbuf_expand`): `struct sk_buff` and the power of two that
/// holds 1 460 bytes, the headers and `struct skb_shared_info`. The headers are 192 bytes in the virtual
/// world's kernel; with drivers for wireless networks they are 320, and the power of two is 4 096.
const MEMORY: u64 = 131_072;
const MEMORY_OF_SEGMENT: u64 = 2_048 + 256;
/// Least number of segments to have memory for (`TCP_INIT_CWND`).
const FEWEST: u32 = 10;
/// Memory of an `sk_buff` without payload: headers, itself, `struct skb_shared_info`
/// (`tcp_stream_alloc_skb`).
const OVERHEAD: u64 = 256 + 256 + 320;
/// Windows up to this size are not halved for the size of a segment or a buffer (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

/// Data that is written and has not left.
#[derive(Debug, Clone)]
pub(super) struct SendQueue {
    /// An ACK has arrived or something has left, so there may be room.
    may_have_room: bool,
    /// The application is writing.
    is_filling: bool,
    /// The data that the window allows leaves at once, without deferral (`tcp_push_one`).
    pub(super) pushes_one: bool,
    /// The application has written more since the last poll.
    pub(super) has_news: bool,
    /// The application may pause.
    pauses: bool,
    /// End of the last buffer (Linux's `write_seq`).
    end: u64,
    /// The widest receive window so far.
    widest: u64,
    /// End of the data when it was last pushed (`pushed_seq`).
    pushed: u64,
    /// Bytes of memory that the queue and the outstanding data may use (`sk_sndbuf`).
    memory: u64,
    /// Number of bursts that have begun, and of those the acknowledged ones.
    begun: u32,
    gone: u32,
    /// Ends of the first `count` buffers that have not left completely.
    count: usize,
    ends: [u64; MOST],
    /// Starts of the last bursts, as wrapping numbers; each burst is a buffer until it is acknowledged.
    bursts: [u32; BURSTS],
}

impl Default for SendQueue {
    fn default() -> Self {
        Self {
            may_have_room: false,
            is_filling: false,
            pushes_one: false,
            has_news: false,
            pauses: false,
            end: 0,
            widest: 0,
            pushed: 0,
            memory: MEMORY,
            begun: 0,
            gone: 0,
            count: 0,
            ends: [0; MOST],
            bursts: [0; BURSTS],
        }
    }
}

impl SendQueue {
    /// An ACK arrived with this window, in bytes.
    #[inline]
    pub(super) fn on_ack(&mut self, window: u64) {
        self.widest = self.widest.max(window);
        self.may_have_room = true;
    }
    /// The widest receive window so far, in bytes (`max_window`).
    pub(super) fn widest(&self) -> u64 {
        self.widest
    }
    /// A burst of new data begins.
    #[inline]
    pub(super) fn on_burst(&mut self, start: u64) {
        self.bursts[self.begun as usize % BURSTS] = start as u32;
        self.begun = self.begun.wrapping_add(1);
        self.may_have_room = true;
    }
    /// Whether the application may have to write.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.may_have_room || self.is_filling
    }
    /// Whether the application writes, or has written since the last poll.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.has_news || self.is_filling
    }
    /// A poll has found that the application has written no more than has left.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.may_have_room = false;
        self.pushes_one = false;
    }
    /// Bytes left of the buffer that holds `next`, and whether it is the last.
    pub(super) fn head(&self, next: u64) -> Option<(u64, bool)> {
        let mut ends = self.ends.iter().take(self.count);
        let end = *ends.find(|&&end| end > next)?;
        Some((end - next, end == self.end))
    }
    /// The application may pause.
    pub(super) fn pause(&mut self) {
        self.pauses = true;
        self.count = 0;
        self.is_filling = false;
    }

    /// Whether the application may pause, or something has been taken back.
    pub(super) fn may_pause(&self) -> bool {
        self.pauses
    }

    /// Number of buffers that have left and reach beyond `delivered`.
    fn outstanding(&mut self, delivered: u64) -> u64 {
        let oldest = self.begun.wrapping_sub(BURSTS as u32);
        if self.begun.wrapping_sub(self.gone) > BURSTS as u32 {
            self.gone = oldest;
        }
        // A burst is gone when delivery has reached the start of the next one.
        while self.begun.wrapping_sub(self.gone) > 1 {
            let next = self.bursts[self.gone.wrapping_add(1) as usize % BURSTS];
            if (delivered as u32).wrapping_sub(next) > u32::MAX / 2 {
                break;
            }
            self.gone = self.gone.wrapping_add(1);
        }
        self.begun.wrapping_sub(self.gone).into()
    }
    fn drop_sent(&mut self, next: u64) {
        let ends = self.ends.iter().take(self.count);
        let sent = ends.take_while(|&&end| end <= next).count();
        self.ends.copy_within(sent..self.count, 0);
        self.count -= sent;
        self.end = self.end.max(next);
    }
    /// `size`, at most half of the widest receive window so far, or all of a small one
    /// (`tcp_bound_to_half_wnd`).
    pub(super) fn bound_to_half_window(&self, size: u64) -> u64 {
        match self.widest {
            0 => size,
            window @ ..=SMALL_WINDOW => size.min(window),
            window => size.min(window / 2),
        }
    }
    /// Bytes of a full buffer (`tcp_xmit_size_goal`).
    fn goal(&self, mss: u64) -> u64 {
        (self.bound_to_half_window(LARGEST) / mss).max(1) * mss
    }
    /// The application fills the last buffer, or starts the first one; its stream ends at `written`.
    fn fill_last(&mut self, next: u64, written: u64, goal: u64) {
        self.drop_sent(next);
        self.count = self.count.max(1);
        let start = match self.count {
            1 => next,
            count => self.ends[count - 2],
        };
        let room = goal.saturating_sub(self.end - start);
        self.end += room.min(written.saturating_sub(self.end));
        self.ends[self.count - 1] = self.end;
    }
    /// The application fills further buffers as long as there is room; `used` is the memory of the
    /// outstanding data.
    fn fill_more(&mut self, next: u64, written: u64, goal: u64, used: u64) {
        while self.end < written && self.end - next < UNSENT {
            if used + self.memory_waiting(next) >= self.memory {
                break;
            }
            self.end += goal.min(written - self.end);
            self.count = (self.count + 1).min(MOST);
            self.ends[self.count - 1] = self.end;
        }
        self.pushed = self.end;
    }
    fn memory_waiting(&self, next: u64) -> u64 {
        self.end - next + self.count as u64 * OVERHEAD
    }
}

impl Sender {
    /// Continues [`poll`](Self::poll) when nothing more may leave: lets the application write.
    pub(super) fn poll_filled(&mut self, now: Time) -> Option<Segment> {
        if self.queue.may_have_room && self.is_woken(now) {
            self.begin_filling(now);
            let pushed = self.poll_established(now);
            if pushed.is_some() {
                return pushed;
            }
        }
        if !self.queue.is_filling {
            return None;
        }
        self.end_filling(now);
        self.poll_established(now)
    }
    /// The application writes: it fills the last buffer first. If that is also the head of the queue and
    /// there is more to write, what the window allows leaves each time the buffer is full again.
    #[cold]
    pub(super) fn begin_filling(&mut self, now: Time) {
        self.queue.has_news = false;
        if !self.offload.is_on || self.queue.pauses {
            return;
        }
        let before = self.queue.end;
        self.fill_last(now);
        let queue = &mut self.queue;
        // More than half of the receive window is pushed in the usual way (`forced_push`).
        let is_forced = queue.end > queue.pushed + queue.widest / 2;
        let has_filled = queue.end > before && queue.end < self.stream.write_seq;
        queue.pushes_one = queue.count == 1 && has_filled && !is_forced;
        queue.is_filling = true;
    }
    fn end_filling(&mut self, now: Time) {
        self.queue.is_filling = false;
        self.fill_last(now);
        let (next, used) = (self.board.snd_nxt(), self.memory_outstanding());
        let goal = self.goal(now);
        self.queue
            .fill_more(next, self.stream.write_seq, goal, used);
    }
    fn fill_last(&mut self, now: Time) {
        let (next, goal) = (self.board.snd_nxt(), self.goal(now));
        self.queue.fill_last(next, self.stream.write_seq, goal);
    }
    fn goal(&self, now: Time) -> u64 {
        self.queue.goal(self.full_payload(now).max(1).into())
    }
    /// Memory of the outstanding data. What is selectively acknowledged is one buffer, wherever it began,
    /// and so is the gap before it (`tcp_shift_skb_data`).
    fn memory_outstanding(&mut self) -> u64 {
        let (snd_una, next) = (self.snd_una, self.board.snd_nxt());
        if snd_una == next {
            return 0;
        }
        let delivered = self.board.highest_sack(snd_una);
        let merged = if delivered > snd_una { 2 } else { 0 };
        next - snd_una + (self.queue.outstanding(delivered) + merged) * OVERHEAD
    }

    /// `tcp_new_space`: whether an application that has more to write is woken.
    fn is_woken(&mut self, now: Time) -> bool {
        self.queue.may_have_room = false;
        let next = self.board.snd_nxt();
        let unsent = self.queue.end.saturating_sub(next);
        if !self.offload.is_on || self.queue.pauses || self.stream.write_seq <= next + unsent {
            return false;
        }
        let cwnd = self.window.cwnd;
        if self.board.in_flight() < cwnd {
            let segments = cwnd.max(FEWEST).max(self.recovery.reordering + 1);
            let per_segment = u64::from(self.control.sndbuf_expand()) * MEMORY_OF_SEGMENT;
            let memory = u64::from(segments) * per_segment;
            self.queue.memory = self.queue.memory.max(memory);
            self.usage.cwnd_stamp = now;
        }
        if unsent * 2 >= UNSENT {
            return false;
        }
        self.queue.drop_sent(next);
        let used = self.memory_outstanding() + self.queue.memory_waiting(next);
        // `sk_stream_is_writeable`: a third of the memory is free.
        used + used / 2 <= self.queue.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CcConfig;
    use crate::config::SenderConfig;
    use crate::flags::Flags;
    use crate::segment::Sack;

    const MSS: u64 = 1_448;
    /// Segments of a full buffer: 64 KiB without headers.
    const FULL: u64 = 45;

    fn us(n: u64) -> Time {
        Time::from_micros(n)
    }
    fn answer(ack: u64, flags: u16, sack: Option<(u64, u64)>) -> Segment {
        let mut segment = Segment {
            acknowledgement: ack * MSS,
            window: 1 << 20,
            flags: Flags(Flags::ACK | flags),
            ..Segment::default()
        };
        if let Some((start, end)) = sack {
            let block = Sack {
                start: start * MSS,
                end: end * MSS,
            };
            segment.sacks.push(ack * MSS, block);
        }
        segment
    }
    fn polled(sender: &mut Sender, now: Time) -> u64 {
        let mut count = 0;
        while sender.poll(now).is_some_and(|segment| segment.payload > 0) {
            count += 1;
        }
        count
    }
    fn acknowledged(sender: &mut Sender, ack: u64, now: Time) -> u64 {
        sender.on_segment(&answer(ack, 0, None), now);
        polled(sender, now)
    }
    /// A sender with this window beyond slow start, at 20 ms, with its first flight sent.
    fn opened(window: u32, bytes: Option<u64>) -> Sender {
        let mut sender = Sender::new(&SenderConfig {
            initial_window: window,
            ..SenderConfig::new(CcConfig::Reno(Default::default()))
        });
        sender.open(Time::ZERO);
        sender.poll(Time::ZERO);
        sender.on_segment(&answer(0, Flags::SYN, None), us(20_000));
        // The handshake's ACK.
        sender.poll(us(20_000));
        sender.window.ssthresh = window;
        match bytes {
            Some(bytes) => sender.write(bytes),
            None => sender.write_endless(),
        }
        assert_eq!(polled(&mut sender, us(20_000)), u64::from(window));
        sender
    }
    fn buffers(sender: &Sender) -> Vec<u64> {
        let ends = sender.queue.ends[..sender.queue.count].to_vec();
        let starts = std::iter::once(sender.board.snd_nxt()).chain(ends.clone());
        starts
            .zip(ends)
            .map(|(start, end)| (end - start) / MSS)
            .collect()
    }

    /// `tcp_stream_memory_free`: a buffer more may begin while less than 128 KiB waits and the memory of
    /// 128 KiB is not used up: 4 608 bytes for each segment of the window where that is more.
    #[test]
    fn buffers_are_full_and_end_where_enough_waits() {
        // 20 segments outstanding: two buffers use up the memory.
        assert_eq!(buffers(&opened(20, None)), [FULL, FULL]);
        // The last buffer of a stream that ends is smaller.
        assert_eq!(buffers(&opened(20, Some(75 * MSS))), [FULL, 10]);
        let mut wide = opened(20, None);
        wide.queue.memory = 1 << 20;
        wide.end_filling(us(20_000));
        assert_eq!(buffers(&wide), [FULL, FULL, FULL]);
        // `tcp_bound_to_half_wnd`: half of 64 KiB is 22 segments.
        assert_eq!(
            SendQueue {
                widest: 65_535,
                ..wide.queue
            }
            .goal(MSS),
            22 * MSS
        );
    }

    /// `tcp_sndbuf_expand`: only where the window is not full.
    #[test]
    fn memory_grows_with_the_window() {
        let mut sender = opened(40, None);
        assert_eq!(sender.queue.memory, MEMORY);
        // Nothing leaves: the first ACK opens the window by one segment, which is deferred.
        sender.departures.data = us(40_000);
        assert_eq!(acknowledged(&mut sender, 1, us(40_000)), 0);
        assert_eq!(sender.queue.memory, 40 * 4_608);
    }

    /// `tcp_tso_should_defer`: "Middle in queue won't get any more data, full sendable already?"
    #[test]
    fn the_rest_of_a_buffer_that_is_not_the_last_does_not_wait() {
        // The ACK leaves room for two; a smaller rest is filled up from the next buffer (`tcp_grow_skb`).
        for (rest, leaves) in [(1, 2), (2, 2), (3, 0), (FULL, 0)] {
            let mut sender = opened(90, None);
            let next = sender.board.snd_nxt();
            let queue = &mut sender.queue;
            (queue.count, queue.end) = (2, next + (rest + FULL) * MSS);
            (queue.ends[0], queue.ends[1]) = (next + rest * MSS, next + (rest + FULL) * MSS);
            queue.memory = 0;
            sender.departures.data = us(40_000);
            assert_eq!(acknowledged(&mut sender, 2, us(40_000)), leaves, "{rest}");
        }
        // The last one may get more.
        let mut sender = opened(90, Some(92 * MSS));
        sender.departures.data = us(40_000);
        assert_eq!(acknowledged(&mut sender, 2, us(40_000)), 0);
        assert_eq!(buffers(&sender), [2]);
    }

    /// `tcp_sendmsg_locked` with `tcp_push_one`: what is there is sent alone, the buffer is filled again, and
    /// others follow.
    #[test]
    fn a_write_that_fills_the_head_of_the_queue_sends_what_the_window_allows() {
        for (waiting, sent) in [(30, 2), (FULL, 0)] {
            let mut sender = opened(90, None);
            let next = sender.board.snd_nxt();
            let queue = &mut sender.queue;
            (queue.count, queue.end, queue.ends[0]) =
                (1, next + waiting * MSS, next + waiting * MSS);
            queue.memory = 1 << 20;
            sender.departures.data = us(40_000);
            assert_eq!(acknowledged(&mut sender, 2, us(40_000)), sent, "{waiting}");
            assert_eq!(buffers(&sender), [FULL, FULL, FULL], "{waiting}");
            // Afterwards there is nothing to fill, and two segments are deferred.
            assert_eq!(acknowledged(&mut sender, 4, us(40_050)), 0, "{waiting}");
        }
    }

    /// `sk_stream_write_space`: half of the 128 KiB has left, and a third of the memory is free.
    #[test]
    fn the_application_is_woken_when_half_has_left_and_memory_is_free() {
        for (waiting, memory, expected) in [
            (46, 1 << 20, false),
            (45, 1 << 20, true),
            // 10 outstanding in 5 buffers and 30 waiting in one: 40 · 1 448 + 6 · 832 bytes, and half of it.
            (30, 94_367, false),
            (30, 94_368, true),
        ] {
            let mut sender = opened(10, None);
            let next = sender.board.snd_nxt();
            let queue = &mut sender.queue;
            (queue.count, queue.end, queue.ends[0]) =
                (1, next + waiting * MSS, next + waiting * MSS);
            queue.memory = memory;
            assert_eq!(queue.outstanding(0), 5);
            assert_eq!(sender.is_woken(us(20_000)), expected, "{waiting} {memory}");
        }
    }

    /// `tcp_shift_skb_data`: buffers that are selectively acknowledged merge.
    #[test]
    fn what_is_selectively_acknowledged_is_one_buffer() {
        let mut sender = opened(10, None);
        assert_eq!(sender.memory_outstanding(), 10 * MSS + 5 * OVERHEAD);
        sender.on_segment(&answer(0, 0, Some((1, 2))), us(40_000));
        assert_eq!(sender.memory_outstanding(), 10 * MSS + (2 + 4) * OVERHEAD);
        sender.on_segment(&answer(0, 0, Some((1, 8))), us(40_000));
        assert_eq!(sender.memory_outstanding(), 10 * MSS + (2 + 1) * OVERHEAD);
        sender.on_segment(&answer(9, 0, None), us(60_000));
        assert_eq!(sender.memory_outstanding(), MSS + OVERHEAD);
    }
}
