//! The socket of a stream. Data has no content: writes come from one constant, reads are counted and dropped in the kernel.
//!
//! What is written and not yet sent is bounded (TCP_NOTSENT_LOWAT), so thousands of flows need little memory and a stopped
//! flow has little left to send; the bound follows the rate, so that a fast flow never waits for its host. A receiver of bulk
//! data is woken about 25 times per sampling interval (SO_RCVLOWAT): a wake-up costs more than the segments that it is for.
//! Before each sample it reads what has come, so that no count is late for it; and what it leaves unread stays a small part
//! of its window, so that it never holds the sender back.
//!
//! A source that pauses fills its socket up to [`UNSENT`] bytes ahead of what has been sent, as on modelled hosts, so that a
//! pause soon takes effect. Its receiver is woken for every segment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use quell_app::UNSENT;
use quell_units::Time;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use crate::traffic::poller::Interest;
use crate::traffic::socket;
use crate::traffic::tcp_info::TcpInfo;

/// Bytes written at once.
pub(super) const CHUNK: usize = 256 << 10;
pub(super) static CHUNK_OF_ZEROS: [u8; CHUNK] = [0; CHUNK];
/// Bytes written in one turn, before other flows are served.
pub(super) const WRITES_PER_TURN: usize = 4;

/// The bound on what is written and not yet sent: so much time's worth, within these limits.
const UNSENT_SPAN: Time = Time::from_millis(10);
pub(super) const LEAST_UNSENT: usize = 128 << 10;
const MOST_UNSENT: usize = 1 << 20;

/// The same for a source that pauses.
pub(super) const PAUSING_UNSENT: usize = UNSENT.get() as usize;

/// A reader is woken for this part of an interval's bytes, but below the first of these for each segment.
const WAKES_PER_INTERVAL: u64 = 25;
const LEAST_WAKE: u64 = 2 << 10;
const MOST_WAKE: u64 = 64 << 10;
/// And at most for this part of what it reads in an RTT. The kernel keeps the window at least twice that
/// (tcp_rcvbuf_grow() of net/ipv4/tcp_input.c), so that no more than an eighth of the window waits to be read.
const WAKES_PER_RTT: u64 = 4;

/// The connection of one end.
#[derive(Debug)]
pub(in crate::traffic) struct StreamEnd {
    pub(super) socket: OwnedFd,
    /// Bytes not yet written; `u64::MAX` for endless data.
    pub(super) unwritten: u64,
    /// Whether the source may pause.
    pub(super) pauses: bool,
    pub(super) write_ended: bool,
    pub(super) read_ended: bool,
    /// The interest that the poller has now.
    pub(super) interest: Interest,
    pub(super) unsent_limit: usize,
    pub(super) wake_threshold: usize,
}

impl StreamEnd {
    /// Takes a connection that is up and registered with the poller for `interest`.
    pub(super) fn new(socket: OwnedFd, interest: Interest) -> io::Result<Self> {
        socket::set_unsent_limit(&socket, LEAST_UNSENT)?;
        Ok(Self {
            socket,
            unwritten: 0,
            pauses: false,
            write_ended: false,
            read_ended: false,
            interest,
            unsent_limit: LEAST_UNSENT,
            wake_threshold: 1,
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn queue(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_add(bytes);
    }

    pub(super) fn queue_endless(&mut self) -> io::Result<()> {
        self.unwritten = u64::MAX;
        socket::set_endless(&self.socket)
    }

    /// There is more to write until [`pause`](Self::pause).
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.queue_endless()?;
        self.pauses = true;
        if self.unsent_limit != PAUSING_UNSENT {
            self.unsent_limit = PAUSING_UNSENT;
            socket::set_unsent_limit(&self.socket, PAUSING_UNSENT)?;
        }
        Ok(())
    }

    /// Nothing follows what the socket takes now.
    pub(super) fn pause(&mut self) -> rustix::io::Result<()> {
        let written = self.write();
        self.unwritten = 0;
        written
    }

    pub(super) fn forget_unwritten(&mut self) {
        self.unwritten = 0;
    }

    /// Writes what there is room for, up to one turn's share.
    pub(super) fn write(&mut self) -> rustix::io::Result<()> {
        for _ in 0..WRITES_PER_TURN {
            let length = self.unwritten.min(self.room()?) as usize;
            if length == 0 {
                break;
            }
            match send(
                &self.socket,
                &CHUNK_OF_ZEROS[..length],
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Ok(written) => {
                    if self.unwritten != u64::MAX {
                        self.unwritten -= written as u64;
                    }
                    if written < length {
                        break;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// What may be written at once. The kernel's own limit lets a whole super-packet more in.
    pub(super) fn room(&self) -> rustix::io::Result<u64> {
        if !self.pauses || self.unwritten == 0 {
            return Ok(CHUNK as u64);
        }
        let unsent = socket::unsent(&self.socket).map_err(|error| {
            error
                .raw_os_error()
                .map_or(Errno::IO, Errno::from_raw_os_error)
        })?;
        Ok(PAUSING_UNSENT.saturating_sub(unsent) as u64)
    }

    /// Says that nothing more will be written, once all has been.
    pub(super) fn end_writing(&mut self) -> rustix::io::Result<()> {
        if self.unwritten == 0 && !self.write_ended {
            self.write_ended = true;
            shutdown(&self.socket, Shutdown::Write)?;
        }
        Ok(())
    }

    /// Takes what has arrived: `None` if nothing has, or if the other end has said that nothing more will come.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> rustix::io::Result<Option<u64>> {
        if self.read_ended {
            return Ok(None);
        }
        // tcp(7): with MSG_TRUNC received bytes are discarded instead of copied.
        match recv(&self.socket, buffer, RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.read_ended = true;
                Ok(None)
            }
            Ok((bytes, _)) => Ok(Some(bytes as u64)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn wanted(&self) -> Interest {
        Interest {
            read: !self.read_ended,
            write: self.unwritten > 0 && !self.write_ended,
        }
    }

    /// `bytes` were delivered in the last interval.
    pub(super) fn adapt_writes(&mut self, bytes: u64, interval: Time) -> io::Result<()> {
        let span = u128::from(bytes) * u128::from(UNSENT_SPAN.as_nanos())
            / u128::from(interval.as_nanos().max(1));
        // Powers of two, so that a steady flow changes nothing.
        let limit = (span.min(MOST_UNSENT as u128) as usize)
            .next_power_of_two()
            .clamp(LEAST_UNSENT, MOST_UNSENT);
        if limit != self.unsent_limit {
            self.unsent_limit = limit;
            socket::set_unsent_limit(&self.socket, limit)?;
        }
        Ok(())
    }

    /// `bytes` were delivered in the last interval.
    pub(super) fn adapt_reads(&mut self, bytes: u64) -> io::Result<()> {
        let threshold = wake_threshold(bytes, TcpInfo::received_per_rtt(&self.socket)?);
        if threshold != self.wake_threshold {
            self.wake_threshold = threshold;
            socket::set_wake_threshold(&self.socket, threshold)?;
        }
        Ok(())
    }
}

/// Bytes to wake a reader for, of which so many arrived in the last interval and in an RTT. A power of two, so that a steady
/// flow changes nothing.
fn wake_threshold(interval: u64, rtt: u64) -> usize {
    let share = (interval / WAKES_PER_INTERVAL)
        .min(rtt / WAKES_PER_RTT)
        .min(MOST_WAKE);
    if share < LEAST_WAKE {
        1
    } else {
        1 << share.ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (StreamEnd, StreamEnd) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let end = |stream: TcpStream| StreamEnd::new(stream.into(), Interest::READ).unwrap();
        (end(client), end(server))
    }

    /// Moves bytes until nothing moves any more.
    fn transfer(from: &mut StreamEnd, to: &mut StreamEnd, finish: bool) -> u64 {
        let mut buffer = vec![0; 1 << 20];
        let mut total = 0;
        for _ in 0..10_000 {
            from.write().unwrap();
            if finish {
                from.end_writing().unwrap();
            }
            while let Some(bytes) = to.read(&mut buffer).unwrap() {
                total += bytes;
            }
            if to.read_ended || from.unwritten == 0 {
                break;
            }
        }
        total
    }

    #[test]
    fn a_finite_transfer_arrives_whole_and_ends_whatever_the_wake_threshold() {
        let (mut from, mut to) = pair();
        to.wake_threshold = MOST_WAKE as usize;
        socket::set_wake_threshold(&to.socket, to.wake_threshold).unwrap();
        from.queue(10_000_000);
        from.queue(1);
        assert_eq!(transfer(&mut from, &mut to, true), 10_000_001);
        assert!(to.read_ended && from.write_ended);
        assert_eq!(to.wanted(), Interest::default());
    }

    #[test]
    fn a_stream_without_end_wants_to_write_until_it_is_stopped() {
        let (mut from, mut to) = pair();
        from.queue_endless().unwrap();
        // Nobody reads: writing must stop by itself.
        for _ in 0..1_000 {
            from.write().unwrap();
        }
        assert!(from.wanted().write);
        from.forget_unwritten();
        from.end_writing().unwrap();
        assert!(!from.wanted().write);
        assert!(transfer(&mut from, &mut to, true) > 0);
        assert!(
            to.read_ended,
            "what was written still arrives, and then the end"
        );
    }

    #[test]
    fn sizes_follow_the_rate_within_their_limits() {
        let (mut end, _other) = pair();
        let interval = Time::from_millis(100);
        // Bytes per 100 ms of 0, 1 Mbit/s, 100 Mbit/s, 1 Gbit/s, 10 Gbit/s.
        let cases = [
            (0, LEAST_UNSENT),
            (12_500, LEAST_UNSENT),
            (1_250_000, LEAST_UNSENT),
            (12_500_000, MOST_UNSENT),
            (125_000_000, MOST_UNSENT),
        ];
        for (bytes, unsent) in cases {
            end.adapt_writes(bytes, interval).unwrap();
            assert_eq!(end.unsent_limit, unsent, "{bytes}");
        }
    }

    #[test]
    fn a_reader_is_woken_rarely_but_well_before_its_window_is_full() {
        // The same rates, at an RTT of 20 ms, and 100 Mbit/s and 1 Gbit/s at one of 1 ms.
        let cases = [
            (0, 0, 1),
            (12_500, 2_500, 1),
            (1_250_000, 250_000, 32 << 10),
            (12_500_000, 2_500_000, 64 << 10),
            (125_000_000, 25_000_000, 64 << 10),
            (1_250_000, 12_500, 2 << 10),
            (12_500_000, 125_000, 16 << 10),
        ];
        for (interval, rtt, expected) in cases {
            assert_eq!(wake_threshold(interval, rtt), expected, "{interval} {rtt}");
        }
        // A connection that has just begun has the window of ten segments as its measure.
        let (mut end, _other) = pair();
        end.adapt_reads(u64::MAX).unwrap();
        assert!(
            (1..=16 << 10).contains(&end.wake_threshold),
            "{}",
            end.wake_threshold
        );
    }
}
