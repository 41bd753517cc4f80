//! The receive buffer and the window that it advertises: Linux 7.2 `net/ipv4/tcp_input.c`
//! (`tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`, `tcp_measure_rcv_mss`), `tcp_output.c`
//! (`tcp_select_window`).
//!
//! A buffer counts memory, a window counts payload; the first full segment shows the ratio of the two.
//! The window follows the buffer by two segments with each segment that arrives, and each such step
//! makes the receiver acknowledge that segment at once. The buffer follows what the application has read
//! in the last RTT ("dynamic right-sizing"). So in slow start the receiver acknowledges segment by
//! segment far beyond the first sixteen, and HyStart sees a longer train of ACKs.
//!
//! Deviations from Linux: 1. there is no memory pressure, and nothing is dropped for lack of memory; 2.
//! memory is that of segments that arrived alone, each in a buffer of its own (`truesize` without GRO),
//! and waiting data counts as full segments.

use quell_units::{Bytes, Time};

use super::timestamp;
use crate::config::ReceiveBuffer;
use crate::segment::Segment;

/// The ratio of payload to memory is in units of 2^-8 (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_SHIFT: u32 = 8;
/// Half of the memory is assumed to be payload before the first segment (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 1 << (RATIO_SHIFT - 1);
/// Bytes of a segment that timestamps take (`TCPOLEN_TSTAMP_ALIGNED`).
const TIMESTAMPS: u64 = 12;
/// Size of the peer's segments assumed before the first one (`TCP_MSS_DEFAULT`).
const MSS_BEFORE: u64 = 536;
/// Least payload of a segment that makes the window grow.
const LEAST_TO_GROW: u64 = 128;
/// Initial window in segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u64 = 10;
/// RTT in microseconds below which the buffer grows less (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: u64 = 1_000;
/// The largest unscaled window.
const UNSCALED: u64 = 65_535;

/// The duties of the owner of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Grown {
    /// Acknowledge the segment at once.
    pub(super) quick: bool,
}

/// The buffer of one connection.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    /// Bytes of memory that may be used, and the largest number (`sk_rcvbuf`, `tcp_rmem[2]`).
    rcvbuf: u64,
    rmem_max: u64,
    /// Bytes of payload in 256 bytes of memory.
    scaling_ratio: u64,
    /// Largest window for this size of the buffer, and the window aimed at.
    window_clamp: u64,
    rcv_ssthresh: u64,
    /// The window is advertised in units of 2^`shift` bytes.
    shift: u32,
    /// First number beyond the advertised window, and the window that the last ACK advertised.
    edge: u64,
    rcv_wnd: u64,
    /// Payload of a full segment, and the memory that it takes.
    mss: u64,
    full_memory: u64,
    /// Payload of the peer's full segments.
    rcv_mss: u64,
    /// Memory of the data that waits beyond a gap.
    waiting: u64,
    /// Eight times the RTT in microseconds, zero if unknown (`rcv_rtt_est`); the echo of the last
    /// measurement; for measurements without an echo, the number that ends the round, and its start.
    rcv_rtt: u64,
    echo: Time,
    rcv_rtt_seq: u64,
    rcv_rtt_time: Option<Time>,
    /// Largest number of bytes read in an RTT; the first unread number when this RTT began, and when it
    /// began (`rcvq_space`).
    rcvq_space: u64,
    rcvq_seq: u64,
    rcvq_time: Time,
}

impl Buffer {
    pub(super) fn new(config: ReceiveBuffer, mss: u32) -> Self {
        let mss = u64::from(mss);
        let rcvbuf = config.initial.get().max(4 * mss);
        let rmem_max = config.most.get().max(rcvbuf);
        let sizes = ReceiveBuffer {
            initial: Bytes::new(rcvbuf),
            most: Bytes::new(rmem_max),
        };
        let mut buffer = Self {
            rcvbuf,
            rmem_max,
            scaling_ratio: DEFAULT_RATIO,
            window_clamp: 0,
            rcv_ssthresh: 0,
            shift: sizes.window_scale(),
            edge: 0,
            rcv_wnd: 0,
            mss,
            full_memory: truesize_of(mss),
            rcv_mss: MSS_BEFORE.min(mss),
            waiting: 0,
            rcv_rtt: 0,
            echo: Time::ZERO,
            rcv_rtt_seq: 0,
            rcv_rtt_time: None,
            rcvq_space: 0,
            rcvq_seq: 0,
            rcvq_time: Time::ZERO,
        };
        // `tcp_select_initial_window`: whole segments.
        let space = buffer.win_from_space(rcvbuf);
        buffer.edge = (space / mss * mss).min(UNSCALED);
        buffer.rcv_wnd = buffer.edge;
        buffer
    }
    /// `tcp_win_from_space`.
    fn win_from_space(&self, memory: u64) -> u64 {
        (memory * self.scaling_ratio) >> RATIO_SHIFT
    }
    /// Window that the free memory allows (`tcp_space`).
    fn tcp_space(&self, used: u64) -> u64 {
        self.win_from_space(self.rcvbuf.saturating_sub(used))
    }

    /// The handshake is over (`tcp_init_buffer_space`).
    pub(super) fn init_buffer_space(&mut self, now: Time) {
        // Without the timestamps yet.
        let mss = self.mss + TIMESTAMPS;
        let full = self.win_from_space(self.rcvbuf);
        self.window_clamp = full.saturating_sub(mss).max(2 * mss).min(full);
        self.rcv_ssthresh = self.edge.min(self.window_clamp);
        self.rcvq_space = self.rcv_ssthresh.min(self.edge).min(INITIAL_WINDOW * mss);
        self.rcvq_time = now;
    }

    /// A segment with new data arrived in order, and with it everything before `next`; `unread` bytes
    /// before the segment are not read yet.
    #[inline]
    pub(super) fn on_in_order(
        &mut self,
        segment: &Segment,
        next: u64,
        unread: u64,
        now: Time,
    ) -> Grown {
        self.rcv_rtt_measure_ts(segment, unread == 0, now);
        self.measure_rcv_mss(segment);
        self.rcv_rtt_measure(next, now);
        if self.rcv_ssthresh >= self.window_clamp {
            // It is as large as it can be, as usual after the first seconds.
            return Grown::default();
        }
        self.grow_window(segment, self.memory(unread) + truesize(segment))
    }
    /// A segment with new data arrived beyond a gap: `next` is missing, and the last byte that arrived is
    /// before `end`.
    pub(super) fn on_out_of_order(
        &mut self,
        segment: &Segment,
        next: u64,
        end: u64,
        unread: u64,
        now: Time,
    ) -> Grown {
        self.rcv_rtt_measure_ts(segment, unread == 0, now);
        self.measure_rcv_mss(segment);
        let grown = self.grow_window(segment, self.memory(unread));
        self.waiting += truesize(segment);
        self.rcvbuf_grow(self.rcvq_space, end.saturating_sub(next));
        grown
    }
    /// `waiting` bytes still wait beyond a gap.
    #[inline]
    pub(super) fn on_gap_filled(&mut self, waiting: u64) {
        if self.waiting > 0 {
            self.waiting = self.waiting.min(self.memory(waiting));
        }
    }
    /// The application reads everything before `next`, of which `unread` bytes were unread; the last byte
    /// that arrived is before `end` (`tcp_rcv_space_adjust`, called for each segment; only the first call
    /// after an RTT has an effect).
    #[inline]
    pub(super) fn rcv_space_adjust(&mut self, next: u64, unread: u64, end: u64, now: Time) {
        if self.rcv_rtt == 0 || micros(now - self.rcvq_time) < self.rcv_rtt >> 3 {
            return;
        }
        let behind = unread.saturating_sub(self.mss);
        let position = next - behind;
        let read = (position - self.rcvq_seq).saturating_sub(behind);
        if read > self.rcvq_space {
            self.rcvbuf_grow(read, end - next);
        }
        self.rcvq_seq = position;
        self.rcvq_time = now;
    }
    /// Memory that `bytes` bytes take in full segments.
    #[inline]
    fn memory(&self, bytes: u64) -> u64 {
        let segments = if bytes <= 2 * self.mss {
            // The common case, without a division.
            u64::from(bytes > 0) + u64::from(bytes > self.mss)
        } else {
            bytes.div_ceil(self.mss)
        };
        segments * self.full_memory
    }

    /// `tcp_measure_rcv_mss`: measures the payload of full segments and its share of memory.
    #[inline]
    fn measure_rcv_mss(&mut self, segment: &Segment) {
        let length = u64::from(segment.payload);
        if length <= self.rcv_mss {
            return;
        }
        self.rcv_mss = length.min(self.mss);
        let scaling_ratio = ((length << RATIO_SHIFT) / truesize(segment)).max(1);
        if scaling_ratio != self.scaling_ratio {
            self.scaling_ratio = scaling_ratio;
            self.window_clamp = self.win_from_space(self.rcvbuf);
            self.rcvq_space = self.rcvq_space.min(self.window_clamp);
        }
    }
    /// `tcp_rcv_rtt_measure_ts`: takes one sample per timestamp echoed, and lets the RTT rise only if
    /// everything has been read.
    #[inline]
    fn rcv_rtt_measure_ts(&mut self, segment: &Segment, has_read: bool, now: Time) {
        if segment.echo == self.echo {
            return;
        }
        self.echo = segment.echo;
        let sample = micros(timestamp(now) - self.echo);
        if u64::from(segment.payload) < self.rcv_mss || self.echo.is_zero() || sample == 0 {
            return;
        }
        self.rcv_rtt = match self.rcv_rtt {
            0 => sample << 3,
            rtt if sample << 3 < rtt => sample << 3,
            rtt if has_read => rtt - (rtt >> 3) + sample,
            rtt => rtt,
        };
    }
    /// `tcp_rcv_rtt_measure`: a whole window takes at least an RTT to arrive.
    #[inline]
    fn rcv_rtt_measure(&mut self, next: u64, now: Time) {
        if let Some(start) = self.rcv_rtt_time {
            if next < self.rcv_rtt_seq {
                return;
            }
            let sample = micros(now - start).max(1) << 3;
            if self.rcv_rtt == 0 || sample < self.rcv_rtt {
                self.rcv_rtt = sample;
            }
        }
        self.rcv_rtt_seq = next + self.rcv_wnd;
        self.rcv_rtt_time = Some(now);
    }
    /// RTT measured at this end; `None` before the first sample.
    pub(super) fn rtt(&self) -> Option<Time> {
        (self.rcv_rtt > 0).then(|| Time::from_micros(self.rcv_rtt >> 3))
    }

    /// `tcp_grow_window`; `unread` is the memory of unread data.
    #[inline]
    fn grow_window(&mut self, segment: &Segment, unread: u64) -> Grown {
        let length = u64::from(segment.payload);
        let room = self.window_clamp.min(self.tcp_space(self.waiting + unread));
        if length < LEAST_TO_GROW || room <= self.rcv_ssthresh {
            return Grown::default();
        }
        let room = room - self.rcv_ssthresh;
        let memory = self.win_from_space(truesize(segment));
        let increment = if memory <= length {
            2 * self.mss
        } else {
            self.increment(memory, length)
        };
        if increment == 0 {
            return Grown::default();
        }
        self.rcv_ssthresh += room.min(increment.max(2 * length));
        Grown { quick: true }
    }
    /// `__tcp_grow_window`: segments that waste memory make only a small window grow.
    fn increment(&self, memory: u64, length: u64) -> u64 {
        let mut memory = memory >> 1;
        let mut window = self.win_from_space(self.rmem_max) >> 1;
        while self.rcv_ssthresh <= window {
            if memory <= length {
                return 2 * self.rcv_mss;
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// Largest number of bytes read in an RTT (`rcvq_space.space`).
    pub(super) fn read_per_rtt(&self) -> u64 {
        self.rcvq_space
    }

    /// `tcp_rcvbuf_grow`: `read` bytes were read in an RTT, and `beyond` bytes span the gaps.
    fn rcvbuf_grow(&mut self, read: u64, beyond: u64) {
        let before = std::mem::replace(&mut self.rcvq_space, read).max(1);
        let mut window = 2 * read;
        let rtt = self.rcv_rtt >> 3;
        window += if rtt < LOW_RTT {
            window * rtt / LOW_RTT
        } else {
            // In slow start the next RTT will bring as large an increase again.
            2 * window * (read - before.min(read)) / before
        };
        window += beyond;
        let rcvbuf = ((window << RATIO_SHIFT) / self.scaling_ratio).min(self.rmem_max);
        if rcvbuf > self.rcvbuf {
            self.rcvbuf = rcvbuf;
            self.window_clamp = self.win_from_space(rcvbuf);
        }
    }

    /// The window that an ACK may advertise now with `unread` bytes not read yet, zero if none fits
    /// (`__tcp_select_window`); and whether half of the buffer is free: if not, the quick-ack phase ends.
    fn select_window(&self, unread: u64) -> (u64, bool) {
        let allowed = self.win_from_space(self.rcvbuf);
        let full = self.window_clamp.min(allowed);
        let mss = self.rcv_mss.min(full);
        let mut free = self.tcp_space(self.waiting + self.memory(unread));
        let is_ample = free >= full >> 1;
        if !is_ample {
            free = free >> self.shift << self.shift;
            if free < allowed >> 4 || free < mss {
                return (0, false);
            }
        }
        let window = free
            .min(self.rcv_ssthresh)
            .next_multiple_of(1 << self.shift);
        (window, is_ample)
    }
    /// `tcp_select_window`: the window that an ACK of `next` advertises. RFC 9293 section 3.8.6: "A TCP
    /// receiver SHOULD NOT shrink the window".
    pub(super) fn advertise(&mut self, next: u64, unread: u64) -> (u32, bool) {
        let selected = self.select_window(unread);
        self.advance_edge(next, selected)
    }
    /// The window, if the ACK would advertise as large a one as the last (`__tcp_ack_snd_check`).
    #[inline]
    pub(super) fn advertise_if_kept(&mut self, next: u64, unread: u64) -> Option<(u32, bool)> {
        let selected = self.select_window(unread);
        (selected.0 >= self.rcv_wnd).then(|| self.advance_edge(next, selected))
    }
    fn advance_edge(&mut self, next: u64, (new, is_ample): (u64, bool)) -> (u32, bool) {
        let current = self.edge.saturating_sub(next);
        self.rcv_wnd = if new < current {
            current.next_multiple_of(1 << self.shift)
        } else {
            new
        };
        self.edge = next + self.rcv_wnd;
        (self.rcv_wnd.min(UNSCALED << self.shift) as u32, is_ample)
    }
    /// Window of the SYN-ACK in bytes.
    pub(super) fn initial(&self) -> u32 {
        self.edge as u32
    }
    /// Whether an ACK of `next` would at least double a small window, now that everything has been read
    /// (`__tcp_cleanup_rbuf`).
    #[inline]
    pub(super) fn has_opened(&self, next: u64) -> bool {
        let current = self.edge.saturating_sub(next);
        if 2 * current > self.window_clamp {
            return false;
        }
        let (new, _) = self.select_window(0);
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

/// Memory of a segment: 256 bytes of `sk_buff`, and a buffer whose size is a power of two and that holds 64
/// bytes of headroom, the Ethernet header, the packet and 320 bytes of `skb_shared_info`.
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
        buffer.init_buffer_space(Time::from_millis(20));
        buffer
    }
    /// Segment number `n`, sent after the ACK that left at `echo`.
    fn segment(n: u64, echo: Time) -> Segment {
        Segment {
            sequence: n * MSS,
            payload: MSS as u32,
            echo,
            ..Segment::default()
        }
    }

    /// Windows of the ACKs of the first ten segments, as Linux 7.2 (user-mode, veth, `tcp_rmem` 4096
    /// 131072 16777216) advertised them at 10 Mbit/s and 20 ms. The segments that made the window grow
    /// were in the quick-ack phase anyway, and about twelve later ones because of them.
    #[test]
    fn the_window_grows_by_two_segments_with_each_as_in_linux() {
        let mut buffer = buffer();
        let mut windows = Vec::new();
        for n in 0..10 {
            let now = Time::from_micros(31_311 + 1_200 * n);
            let end = (n + 1) * MSS;
            let grown = buffer.on_in_order(&segment(n, Time::from_millis(10)), end, 0, now);
            let (window, is_ample) = buffer.advertise(end, MSS);
            buffer.rcv_space_adjust(end, MSS, end, now);
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
                buffer.rcv_space_adjust(n * MSS, MSS, n * MSS, now);
                buffer.advertise(n * MSS, 0);
            }
            assert_eq!(buffer.rtt(), Some(Time::from_millis(20)));
            windows.push(buffer.edge() - n * MSS);
            flight = (2 * flight).min(buffer.rcv_ssthresh / MSS);
        }
        // A sender in slow start is never held up.
        for (round, window) in windows.iter().enumerate() {
            assert!(
                *window >= ((20 * MSS) << round).min(8 << 20),
                "{round}: {window}"
            );
        }
        assert_eq!(buffer.rcvbuf, 16 << 20);
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
        // The buffer has grown with them: 2 · 14 600 bytes and 43 segments beyond the gap.
        assert!(!is_ample, "less than half of it was free");
        buffer.on_gap_filled(0);
        assert_eq!(buffer.waiting, 0);
    }
}
