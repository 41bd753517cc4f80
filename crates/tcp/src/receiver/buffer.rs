//! The receive buffer and the window that it allows: Linux 7.2 `net/ipv4/tcp_input.c`
//! (`tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`, `tcp_measure_rcv_mss`), `tcp_output.c`
//! (`tcp_select_window`).
//!
//! A buffer counts memory, a window payload; how much of the one is the other is measured with the first
//! full segment. The window follows the buffer by two segments with each that arrives, and each such
//! step has that segment acknowledged at once. The buffer follows what the application has read in the
//! last RTT ("dynamic right-sizing"). So a connection in slow start is acknowledged segment by segment
//! far beyond the first sixteen, which HyStart hears as a longer train.
//!
//! Deviations from Linux: 1. there is no pressure of memory, and nothing is dropped for want of it; 2.
//! memory is that of segments that came alone, in a buffer of their own (`truesize` without GRO), and
//! what waits counts as full segments.

use quell_units::{Bytes, Time};

use super::timestamp;
use crate::segment::Segment;

/// Memory is counted in so many parts (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_SHIFT: u32 = 8;
/// Half of the memory is payload until a segment tells (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 1 << (RATIO_SHIFT - 1);
/// Timestamps take so much of a segment (`TCPOLEN_TSTAMP_ALIGNED`).
const TIMESTAMPS: u64 = 12;
/// The peer's segments are taken to be this large before the first one (`TCP_MSS_DEFAULT`).
const MSS_BEFORE: u64 = 536;
/// Smaller segments do not make the window grow.
const LEAST_TO_GROW: u64 = 128;
/// Segments of the initial window (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u64 = 10;
/// RTTs below this make the buffer grow less (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: u64 = 1_000;
/// The largest unscaled window, and the largest shift.
const UNSCALED: u64 = 65_535;
const MOST_SHIFT: u32 = 14;

/// Sizes of a receive buffer (`tcp_rmem`), in bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// At the start of a connection; 131 072 in Linux.
    pub initial: Bytes,
    /// The most to which it grows.
    pub most: Bytes,
}

impl ReceiveBuffer {
    /// By how many bits the windows of a connection with this buffer are shifted (`tcp_select_initial_window`): enough for one as
    /// large as the largest buffer, and 14 at most.
    pub fn window_scale(&self) -> u32 {
        let most = self.most.max(self.initial).get().max(1);
        most.ilog2().saturating_sub(15).min(MOST_SHIFT)
    }
}

/// What a buffer's owner shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Grown {
    /// The segment is to be acknowledged at once.
    pub(super) quick: bool,
}

/// The buffer of one connection.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    /// Memory that may be used, and the most (`sk_rcvbuf`, `tcp_rmem[2]`).
    size: u64,
    most: u64,
    /// Payload in 256 of memory.
    ratio: u64,
    /// The largest window for this size (`window_clamp`), and the one aimed at (`rcv_ssthresh`).
    clamp: u64,
    threshold: u64,
    /// The window is told in units of 2 to the power of this.
    shift: u32,
    /// First number that has not been allowed, and the window that the last ACK told (`rcv_wnd`).
    edge: u64,
    told: u64,
    /// A full segment, and the memory that it takes.
    mss: u64,
    full_memory: u64,
    /// Full segments as the peer sends them (`rcv_mss`).
    full: u64,
    /// Memory of what waits beyond a gap.
    waiting: u64,
    /// Eight times the RTT in microseconds, zero if unknown (`rcv_rtt_est`); the echo it was last
    /// measured with; what is to arrive until the next measurement without one, and since when.
    rtt: u64,
    echo: Time,
    round_end: u64,
    round_start: Option<Time>,
    /// What was read in an RTT, at most; what had been read when this RTT began, and when
    /// (`rcvq_space`).
    read: u64,
    read_before: u64,
    read_since: Time,
}

impl Buffer {
    pub(super) fn new(config: ReceiveBuffer, mss: u32) -> Self {
        let mss = u64::from(mss);
        let size = config.initial.get().max(4 * mss);
        let most = config.most.get().max(size);
        let sizes = ReceiveBuffer {
            initial: Bytes::new(size),
            most: Bytes::new(most),
        };
        let mut buffer = Self {
            size,
            most,
            ratio: DEFAULT_RATIO,
            clamp: 0,
            threshold: 0,
            shift: sizes.window_scale(),
            edge: 0,
            told: 0,
            mss,
            full_memory: truesize_of(mss),
            full: MSS_BEFORE.min(mss),
            waiting: 0,
            rtt: 0,
            echo: Time::ZERO,
            round_end: 0,
            round_start: None,
            read: 0,
            read_before: 0,
            read_since: Time::ZERO,
        };
        // `tcp_select_initial_window`: whole segments.
        let space = buffer.window_of(size);
        buffer.edge = (space / mss * mss).min(UNSCALED);
        buffer.told = buffer.edge;
        buffer
    }
    /// `tcp_win_from_space`.
    fn window_of(&self, memory: u64) -> u64 {
        (memory * self.ratio) >> RATIO_SHIFT
    }
    /// What is free (`tcp_space`).
    fn space(&self, used: u64) -> u64 {
        self.window_of(self.size.saturating_sub(used))
    }

    /// The handshake is over (`tcp_init_buffer_space`).
    pub(super) fn on_established(&mut self, now: Time) {
        // Without the timestamps yet.
        let mss = self.mss + TIMESTAMPS;
        let full = self.window_of(self.size);
        self.clamp = full.saturating_sub(mss).max(2 * mss).min(full);
        self.threshold = self.edge.min(self.clamp);
        self.read = self.threshold.min(self.edge).min(INITIAL_WINDOW * mss);
        self.read_since = now;
    }

    /// A segment with new data arrived in order, so that everything up to `next` has; so many bytes before it
    /// are not read yet.
    #[inline]
    pub(super) fn on_in_order(
        &mut self,
        segment: &Segment,
        next: u64,
        unread: u64,
        now: Time,
    ) -> Grown {
        self.measure_with_echo(segment, unread == 0, now);
        self.measure_segment(segment);
        self.measure_with_window(next, now);
        if self.threshold >= self.clamp {
            // As large as it can be, as after the first seconds.
            return Grown::default();
        }
        self.grow(segment, self.memory(unread) + truesize(segment))
    }
    /// A segment with new data arrived beyond a gap; what arrived ends at `end`, and `next` is missing.
    pub(super) fn on_out_of_order(
        &mut self,
        segment: &Segment,
        next: u64,
        end: u64,
        unread: u64,
        now: Time,
    ) -> Grown {
        self.measure_with_echo(segment, unread == 0, now);
        self.measure_segment(segment);
        let grown = self.grow(segment, self.memory(unread));
        self.waiting += truesize(segment);
        self.enlarge(self.read, end.saturating_sub(next));
        grown
    }
    /// So many bytes wait beyond a gap.
    #[inline]
    pub(super) fn on_gap_filled(&mut self, waiting: u64) {
        if self.waiting > 0 {
            self.waiting = self.waiting.min(self.memory(waiting));
        }
    }
    /// The application reads everything up to `next`, of which it had not read so much; what arrived ends at
    /// `end` (`tcp_rcv_space_adjust`, which is called for each segment, and only the first finds an RTT over).
    #[inline]
    pub(super) fn on_read(&mut self, next: u64, unread: u64, end: u64, now: Time) {
        if self.rtt == 0 || micros(now - self.read_since) < self.rtt >> 3 {
            return;
        }
        let behind = unread.saturating_sub(self.mss);
        let position = next - behind;
        let read = (position - self.read_before).saturating_sub(behind);
        if read > self.read {
            self.enlarge(read, end - next);
        }
        self.read_before = position;
        self.read_since = now;
    }
    /// Memory of so many bytes in full segments.
    #[inline]
    fn memory(&self, bytes: u64) -> u64 {
        let segments = if bytes <= 2 * self.mss {
            // As a rule, and without a division.
            u64::from(bytes > 0) + u64::from(bytes > self.mss)
        } else {
            bytes.div_ceil(self.mss)
        };
        segments * self.full_memory
    }

    /// `tcp_measure_rcv_mss`: what share of memory payload is.
    #[inline]
    fn measure_segment(&mut self, segment: &Segment) {
        let length = u64::from(segment.payload);
        if length <= self.full {
            return;
        }
        self.full = length.min(self.mss);
        let ratio = ((length << RATIO_SHIFT) / truesize(segment)).max(1);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.window_of(self.size);
            self.read = self.read.min(self.clamp);
        }
    }
    /// `tcp_rcv_rtt_measure_ts`: once for each timestamp echoed; a longer one only where all has been read.
    #[inline]
    fn measure_with_echo(&mut self, segment: &Segment, has_read: bool, now: Time) {
        if segment.echo == self.echo {
            return;
        }
        self.echo = segment.echo;
        let sample = micros(timestamp(now) - self.echo);
        if u64::from(segment.payload) < self.full || self.echo.is_zero() || sample == 0 {
            return;
        }
        self.rtt = match self.rtt {
            0 => sample << 3,
            rtt if sample << 3 < rtt => sample << 3,
            rtt if has_read => rtt - (rtt >> 3) + sample,
            rtt => rtt,
        };
    }
    /// `tcp_rcv_rtt_measure`: a window's worth takes an RTT at least.
    #[inline]
    fn measure_with_window(&mut self, next: u64, now: Time) {
        if let Some(start) = self.round_start {
            if next < self.round_end {
                return;
            }
            let sample = micros(now - start).max(1) << 3;
            if self.rtt == 0 || sample < self.rtt {
                self.rtt = sample;
            }
        }
        self.round_end = next + self.told;
        self.round_start = Some(now);
    }
    /// The RTT as this end sees it; `None` before it is known.
    pub(super) fn rtt(&self) -> Option<Time> {
        (self.rtt > 0).then(|| Time::from_micros(self.rtt >> 3))
    }

    /// `tcp_grow_window`, with so much memory not read yet.
    #[inline]
    fn grow(&mut self, segment: &Segment, unread: u64) -> Grown {
        let length = u64::from(segment.payload);
        let room = self.clamp.min(self.space(self.waiting + unread));
        if length < LEAST_TO_GROW || room <= self.threshold {
            return Grown::default();
        }
        let room = room - self.threshold;
        let memory = self.window_of(truesize(segment));
        let increment = if memory <= length {
            2 * self.mss
        } else {
            self.increment(memory, length)
        };
        if increment == 0 {
            return Grown::default();
        }
        self.threshold += room.min(increment.max(2 * length));
        Grown { quick: true }
    }
    /// `__tcp_grow_window`: segments that waste memory make small windows grow only.
    fn increment(&self, memory: u64, length: u64) -> u64 {
        let mut memory = memory >> 1;
        let mut window = self.window_of(self.most) >> 1;
        while self.threshold <= window {
            if memory <= length {
                return 2 * self.full;
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// What was read in an RTT, at most (`rcvq_space.space`).
    pub(super) fn read_per_rtt(&self) -> u64 {
        self.read
    }

    /// `tcp_rcvbuf_grow`: so much was read in an RTT, and so much is under way beyond a gap.
    fn enlarge(&mut self, read: u64, beyond: u64) {
        let before = std::mem::replace(&mut self.read, read).max(1);
        let mut window = 2 * read;
        let rtt = self.rtt >> 3;
        window += if rtt < LOW_RTT {
            window * rtt / LOW_RTT
        } else {
            // In slow start the next RTT brings as much more again.
            2 * window * (read - before.min(read)) / before
        };
        window += beyond;
        let size = ((window << RATIO_SHIFT) / self.ratio).min(self.most);
        if size > self.size {
            self.size = size;
            self.clamp = self.window_of(size);
        }
    }

    /// The window that an ACK may tell now, with so many bytes not read yet (`__tcp_select_window`); zero where
    /// none fits. False if less than half of the buffer is free, which ends the quick-ack phase.
    fn select(&self, unread: u64) -> (u64, bool) {
        let allowed = self.window_of(self.size);
        let full = self.clamp.min(allowed);
        let mss = self.full.min(full);
        let mut free = self.space(self.waiting + self.memory(unread));
        let is_ample = free >= full >> 1;
        if !is_ample {
            free = free >> self.shift << self.shift;
            if free < allowed >> 4 || free < mss {
                return (0, false);
            }
        }
        let window = free.min(self.threshold).next_multiple_of(1 << self.shift);
        (window, is_ample)
    }
    /// `tcp_select_window`: what an ACK of `next` tells; it never takes back what was allowed.
    pub(super) fn advertise(&mut self, next: u64, unread: u64) -> (u32, bool) {
        let selected = self.select(unread);
        self.tell(next, selected)
    }
    /// The same if an ACK would tell of as large a window as the last one (`__tcp_ack_snd_check`).
    #[inline]
    pub(super) fn advertise_if_kept(&mut self, next: u64, unread: u64) -> Option<(u32, bool)> {
        let selected = self.select(unread);
        (selected.0 >= self.told).then(|| self.tell(next, selected))
    }
    fn tell(&mut self, next: u64, (new, is_ample): (u64, bool)) -> (u32, bool) {
        let current = self.edge.saturating_sub(next);
        self.told = if new < current {
            current.next_multiple_of(1 << self.shift)
        } else {
            new
        };
        self.edge = next + self.told;
        (self.told.min(UNSCALED << self.shift) as u32, is_ample)
    }
    /// Before there is a connection.
    pub(super) fn initial(&self) -> u32 {
        self.edge as u32
    }
    /// Whether an ACK of `next` would at least double the window, where it is small and all has been read
    /// (`__tcp_cleanup_rbuf`).
    #[inline]
    pub(super) fn has_opened(&self, next: u64) -> bool {
        let current = self.edge.saturating_sub(next);
        if 2 * current > self.clamp {
            return false;
        }
        let (new, _) = self.select(0);
        new > 0 && new >= 2 * current
    }
    /// First number that is not accepted.
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }
}

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

/// Memory of a segment: 256 bytes of `sk_buff`, and a buffer of a power of two that holds 64 bytes of
/// headroom, the Ethernet header, the packet and 320 bytes of `skb_shared_info`.
fn truesize(segment: &Segment) -> u64 {
    truesize_of(u64::from(segment.payload))
}
fn truesize_of(payload: u64) -> u64 {
    let length = payload + Segment::HEADERS.get() + 64 + 14 + 320;
    256 + length.next_power_of_two().max(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    fn buffer() -> Buffer {
        let sizes = ReceiveBuffer {
            initial: Bytes::new(131_072),
            most: Bytes::new(16 << 20),
        };
        let mut buffer = Buffer::new(sizes, MSS as u32);
        assert_eq!(buffer.initial(), 65_160);
        buffer.on_established(Time::from_millis(20));
        buffer
    }
    /// The `n`th segment, sent after the ACK that left at `echo`.
    fn segment(n: u64, echo: Time) -> Segment {
        Segment {
            sequence: n * MSS,
            payload: MSS as u32,
            echo,
            ..Segment::default()
        }
    }

    /// Windows of the ACKs of the first ten segments, as Linux 7.2 (user-mode, veth, `tcp_rmem` 4096
    /// 131072 16777216) told them at 10 Mbit/s and 20 ms; those where the window grew were in quick mode
    /// anyway, and some twelve later ones because of it.
    #[test]
    fn the_window_grows_by_two_segments_with_each_as_in_linux() {
        let mut buffer = buffer();
        let mut windows = Vec::new();
        for n in 0..10 {
            let now = Time::from_micros(31_311 + 1_200 * n);
            let end = (n + 1) * MSS;
            let grown = buffer.on_in_order(&segment(n, Time::from_millis(10)), end, 0, now);
            let (window, is_ample) = buffer.advertise(end, MSS);
            buffer.on_read(end, MSS, end, now);
            assert!(is_ample);
            assert_eq!(grown.quick, n < 6, "{n}");
            windows.push(window);
        }
        let grows = [67_072, 70_144, 73_216, 75_776, 78_848, 80_896];
        assert_eq!(windows[..6], grows);
        assert_eq!(windows[6..], [80_896; 4]);
    }

    /// `tcp_rcvbuf_grow`: twice what was read in an RTT, and in slow start twice the growth again; never more than
    /// `tcp_rmem[2]`.
    #[test]
    fn the_buffer_follows_what_is_read_in_an_rtt() {
        let mut buffer = buffer();
        let (mut n, mut flight) = (0, 10);
        let mut windows = Vec::new();
        for round in 0..14 {
            let now = Time::from_millis(40 + 20 * round);
            for _ in 0..flight {
                let segment = segment(n, now - Time::from_millis(20));
                n += 1;
                buffer.on_in_order(&segment, n * MSS, 0, now);
                buffer.on_read(n * MSS, MSS, n * MSS, now);
                buffer.advertise(n * MSS, 0);
            }
            assert_eq!(buffer.rtt(), Some(Time::from_millis(20)));
            windows.push(buffer.edge() - n * MSS);
            flight = (2 * flight).min(buffer.threshold / MSS);
        }
        // A sender in slow start is never held up.
        for (round, window) in windows.iter().enumerate() {
            assert!(
                *window >= ((20 * MSS) << round).min(8 << 20),
                "{round}: {window}"
            );
        }
        assert_eq!(buffer.size, 16 << 20);
    }

    #[test]
    fn what_waits_beyond_a_gap_takes_memory_and_the_right_edge_stays() {
        let mut buffer = buffer();
        let now = Time::from_millis(40);
        buffer.on_in_order(&segment(0, now), MSS, 0, now);
        let (window, _) = buffer.advertise(MSS, 0);
        let edge = buffer.edge();
        assert_eq!(edge, MSS + u64::from(window));
        // A buffer of 131 072 bytes holds 56 segments of 2 304.
        let mut is_ample = true;
        for n in 2..44 {
            buffer.on_out_of_order(&segment(n, now), MSS, (n + 1) * MSS, 0, now);
            is_ample &= buffer.advertise(MSS, 0).1;
            assert!(buffer.edge() >= edge);
        }
        assert_eq!(buffer.waiting, 42 * 2_304);
        // It has grown with them: 2 · 14 600 bytes and 43 segments beyond.
        assert!(!is_ample, "less than half of it was free");
        buffer.on_gap_filled(0);
        assert_eq!(buffer.waiting, 0);
    }
}
