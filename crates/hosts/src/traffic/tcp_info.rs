//! The kernel's figures of a connection: TCP_INFO, the part that quell reports.
//!
//! The layout is that of `struct tcp_info` in linux/tcp.h, which only ever grows at its end; an older kernel fills less of it.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd as _};

use quell_units::Time;

/// `TCP_INFINITE_SSTHRESH` of include/net/tcp.h.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// `TCP_CLOSE` of include/net/tcp_states.h.
const CLOSED: u8 = 7;

/// TCPI_OPT_ECN: ECN of any kind was agreed on.
const HAS_ECN: u8 = 8;

/// The word of `counts` whose lower half is `tcpi_total_rto` (Linux 6.7).
const TOTAL_RTO: usize = 6;

/// The word of `words` with `tcpi_unacked`, and that of `last_words` with `tcpi_notsent_bytes`.
const UNACKED: usize = 4;
const NOT_SENT: usize = 2;

/// The beginning of the kernel's structure, as far as `tcpi_received_ce_bytes` (Linux 6.18).
#[repr(C)]
#[derive(Default)]
struct Raw {
    /// State, congestion state, retransmits, probes, backoff, options, window scales, flags.
    bytes: [u8; 8],
    /// rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets, the four "last" times, pmtu, rcv_ssthresh.
    words: [u32; 15],
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    /// advmss, reordering, rcv_rtt.
    more_words: [u32; 3],
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    /// segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out.
    last_words: [u32; 6],
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    /// bytes_sent, bytes_retrans.
    sent: [u64; 2],
    /// dsack_dups, reord_seen, rcv_ooopack, snd_wnd, rcv_wnd, rehash, the counts of time-outs (16 bits each), total_rto_time.
    counts: [u32; 8],
    /// received_ce, then bytes delivered and received with ECT(1), ECT(0) and CE.
    accurate: [u32; 7],
}

/// The ECN feedback that a connection agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum EcnFeedback {
    /// None.
    #[default]
    Off,
    /// The flag ECE, by RFC 3168 or by RFC 8257: the kernel does not say which.
    Flag,
    /// AccECN (RFC 9768). Seen by its option, which counts the bytes of each ECN field, so not before the first ACK of data.
    Accurate,
}

/// The state of a connection at its data sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Smoothed RTT; `None` before the first measurement.
    pub rtt: Option<Time>,
    /// Congestion window, in segments.
    pub cwnd: u64,
    /// Segments retransmitted so far.
    pub retransmitted: u64,
    /// Time with data to send or to be acknowledged.
    pub busy: Time,
    /// Part of `busy` in which the receive window held the sender back.
    pub receive_window_limited: Time,
    /// Part of `busy` in which the send buffer held the sender back.
    pub send_buffer_limited: Time,
    /// ECN feedback.
    pub feedback: EcnFeedback,
    /// Segments delivered so far that were marked, as the feedback says.
    pub reported_ce: u64,
}

/// The congestion control of a connection, as a test of the stack asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionState {
    /// State of loss recovery: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss (`enum tcp_ca_state`).
    pub state: u8,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow start threshold, in segments; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Segments sent again so far.
    pub retransmitted: u64,
}

impl CongestionState {
    /// Asks the kernel.
    ///
    /// # Errors
    ///
    /// `EINVAL` or `ENOPROTOOPT` where `socket` is not TCP.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let raw = Raw::of(socket)?;
        Ok(Self {
            state: raw.bytes[1],
            cwnd: raw.snd_cwnd,
            ssthresh: (raw.snd_ssthresh < NO_THRESHOLD).then_some(raw.snd_ssthresh),
            retransmitted: u64::from(raw.total_retrans),
        })
    }
}

impl TcpInfo {
    /// For a flow of several connections one after another: counters continue from `before`.
    pub(super) fn following(self, before: &Self) -> Self {
        Self {
            retransmitted: self.retransmitted + before.retransmitted,
            busy: self.busy + before.busy,
            receive_window_limited: self.receive_window_limited + before.receive_window_limited,
            send_buffer_limited: self.send_buffer_limited + before.send_buffer_limited,
            reported_ce: self.reported_ce + before.reported_ce,
            ..self
        }
    }

    /// For a flow of several connections at once, `before` among them: counters and windows add up, and the RTT is that of `self`.
    pub(super) fn beside(self, before: &Self) -> Self {
        Self {
            cwnd: self.cwnd + before.cwnd,
            feedback: self.feedback.max(before.feedback),
            ..self.following(before)
        }
    }

    /// Bytes that a receiver reads in an RTT, as the kernel measures them to size its window.
    pub(super) fn received_per_rtt(socket: impl AsFd) -> io::Result<u64> {
        Ok(u64::from(Raw::of(socket)?.rcv_space))
    }

    /// Whether the other end has acknowledged all that was written to a connection, or the connection is gone.
    pub fn is_delivered(socket: impl AsFd) -> bool {
        let waits = |raw: Raw| raw.words[UNACKED] > 0 || raw.last_words[NOT_SENT] > 0;
        !Raw::of(socket).is_ok_and(|raw| raw.bytes[0] != CLOSED && waits(raw))
    }

    /// Asks the kernel. Fails with `EINVAL` or `ENOPROTOOPT` if `socket` is not TCP.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let raw = Raw::of(socket)?;
        Ok(Self {
            rtt: (raw.rtt > 0).then(|| Time::from_micros(u64::from(raw.rtt))),
            cwnd: u64::from(raw.snd_cwnd),
            retransmitted: u64::from(raw.total_retrans),
            busy: Time::from_micros(raw.busy_time),
            receive_window_limited: Time::from_micros(raw.rwnd_limited),
            send_buffer_limited: Time::from_micros(raw.sndbuf_limited),
            feedback: raw.feedback(),
            reported_ce: u64::from(raw.delivered_ce),
        })
    }
}

/// What the kernel has sent again on a connection, the handshake included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SentAgain {
    /// Segments: SYNs, or SYN-ACKs, among them.
    pub(super) segments: u64,
    /// Time-outs; `None` before Linux 6.7.
    pub(super) timeouts: Option<u64>,
}

impl SentAgain {
    /// Asks the kernel.
    pub(super) fn of(socket: impl AsFd) -> io::Result<Self> {
        let (raw, length) = Raw::read(socket)?;
        let timeouts = u64::from(raw.counts[TOTAL_RTO] as u16);
        let has_timeouts = length >= offset_of!(Raw, counts) + (TOTAL_RTO + 1) * size_of::<u32>();
        Ok(Self {
            segments: u64::from(raw.total_retrans),
            timeouts: has_timeouts.then_some(timeouts),
        })
    }
}

/// Whether a connection is over for the kernel: both ends have finished and it has seen the last acknowledgement of its own data
/// (it may be in TIME-WAIT, apart from its socket), or it has been reset.
pub(super) fn is_closed(socket: impl AsFd) -> bool {
    Raw::of(socket).is_ok_and(|raw| raw.bytes[0] == CLOSED)
}

impl Raw {
    fn feedback(&self) -> EcnFeedback {
        if self.bytes[5] & HAS_ECN == 0 {
            EcnFeedback::Off
        } else if self.accurate[1..4].iter().any(|bytes| *bytes > 0) {
            EcnFeedback::Accurate
        } else {
            EcnFeedback::Flag
        }
    }

    fn of(socket: impl AsFd) -> io::Result<Self> {
        Ok(Self::read(socket)?.0)
    }

    /// With the number of bytes that this kernel has filled.
    fn read(socket: impl AsFd) -> io::Result<(Self, usize)> {
        let mut raw = Self::default();
        let mut length = size_of::<Self>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `raw`, whose every bit pattern is valid.
        let answer = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut raw).cast(),
                &mut length,
            )
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((raw, length as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn the_layout_is_the_kernels() {
        // Offsets of linux/tcp.h: 8 bytes, 24 words, then 64-bit fields from 104.
        assert_eq!(offset_of!(Raw, rtt), 68);
        assert_eq!(offset_of!(Raw, snd_cwnd), 80);
        assert_eq!(offset_of!(Raw, rcv_space), 96);
        assert_eq!(offset_of!(Raw, total_retrans), 100);
        assert_eq!(offset_of!(Raw, pacing_rate), 104);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
        assert_eq!(offset_of!(Raw, sndbuf_limited), 184);
        assert_eq!(offset_of!(Raw, delivered_ce), 196);
        // `tcpi_total_rto` is the first half of the word before `tcpi_total_rto_time`, the last of these.
        assert_eq!(offset_of!(Raw, counts) + 4 * TOTAL_RTO, 240);
        assert_eq!(offset_of!(Raw, accurate), 248);
    }

    #[test]
    fn a_fresh_connection_has_an_rtt_and_an_initial_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&client).unwrap();
        assert!(info.rtt.is_some());
        // RFC 6928: an initial window of ten segments.
        assert_eq!(info.cwnd, 10);
        assert_eq!(info.retransmitted, 0);
        let state = CongestionState {
            state: 0,
            cwnd: 10,
            ssthresh: None,
            retransmitted: 0,
        };
        assert_eq!(CongestionState::of(&client).unwrap(), state);
        let nothing = SentAgain::of(&client).unwrap();
        assert_eq!((nothing.segments, nothing.timeouts.unwrap_or(0)), (0, 0));
    }

    #[test]
    fn a_datagram_socket_has_none() {
        assert!(TcpInfo::of(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
