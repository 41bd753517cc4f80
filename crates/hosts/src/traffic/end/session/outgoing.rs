//! What an end has given to a connection and the socket has not taken yet.
//!
//! Headers of messages are really written, everything else is zeros from one constant. A header and what follows it go into one
//! write: with TCP_NODELAY a write of its own would be a segment of its own.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::AsFd;

use quell_app::Message;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use crate::traffic::end::stream_socket::{CHUNK, CHUNK_OF_ZEROS, WRITES_PER_TURN};

/// The most pieces that one write takes.
const PIECES: usize = 64;

/// Bytes of one kind.
#[derive(Debug)]
enum Piece {
    /// A header, and how much of it has been written.
    Header([u8; Message::HEADER as usize], usize),
    /// So many zeros; `u64::MAX` never ends.
    Zeros(u64),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Header(header, written) => (header.len() - written) as u64,
            Self::Zeros(count) => *count,
        }
    }
}

/// In the order in which it was given.
#[derive(Debug, Default)]
pub(super) struct Outgoing(VecDeque<Piece>);

impl Outgoing {
    /// Adds `count` bytes; `u64::MAX` for endless data.
    pub(super) fn queue(&mut self, count: u64) {
        if let Some(Piece::Zeros(before)) = self.0.back_mut() {
            *before = before.saturating_add(count);
        } else if count > 0 {
            self.0.push_back(Piece::Zeros(count));
        }
    }

    pub(super) fn queue_message(&mut self, message: &Message) {
        self.0.push_back(Piece::Header(message.encode(), 0));
        self.queue(message.body());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Writes what the socket takes, up to one turn's share and at most `room` bytes.
    pub(super) fn write(&mut self, socket: impl AsFd, mut room: u64) -> rustix::io::Result<()> {
        for _ in 0..WRITES_PER_TURN {
            if room == 0 || self.is_empty() {
                break;
            }
            let (wanted, written) = match self.write_once(&socket, room) {
                Ok(lengths) => lengths,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            };
            self.advance(written);
            room -= written;
            if written < wanted {
                break;
            }
        }
        Ok(())
    }

    /// One write: how much it was to be, and how much was taken.
    fn write_once(&self, socket: impl AsFd, room: u64) -> rustix::io::Result<(u64, u64)> {
        let most = room.min(CHUNK as u64);
        let mut slices = [IoSlice::new(&[]); PIECES];
        let mut wanted = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.0) {
            let length = piece.length().min(most - wanted) as usize;
            *slice = IoSlice::new(match piece {
                Piece::Header(header, written) => &header[*written..written + length],
                Piece::Zeros(_) => &CHUNK_OF_ZEROS[..length],
            });
            wanted += length as u64;
        }
        let slices = &slices[..self.0.len().min(PIECES)];
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        // More follows at once, so its last segment waits to be full.
        flags.set(SendFlags::MORE, self.exceeds(wanted));
        let mut nothing = SendAncillaryBuffer::default();
        let written = sendmsg(socket, slices, &mut nothing, flags)? as u64;
        Ok((wanted, written))
    }

    /// Whether there are more than so many bytes.
    fn exceeds(&self, mut bytes: u64) -> bool {
        self.0.iter().any(|piece| {
            let more = piece.length() > bytes;
            bytes = bytes.saturating_sub(piece.length());
            more
        })
    }

    fn advance(&mut self, mut written: u64) {
        while let Some(piece) = self.0.front_mut() {
            let length = piece.length();
            if length > written {
                match piece {
                    Piece::Header(_, before) => *before += written as usize,
                    Piece::Zeros(u64::MAX) => {}
                    Piece::Zeros(count) => *count -= written,
                }
                return;
            }
            written -= length;
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, server)
    }

    #[test]
    fn messages_leave_as_their_headers_and_zeros_however_the_socket_takes_them() {
        let (from, mut to) = pair();
        let messages = [
            Message::new(0, 1, 2, 3),
            Message::new(5_000_000, 4, 5, 6),
            Message::new(25, 7, 8, 9),
        ];
        let mut expected = Vec::new();
        let mut outgoing = Outgoing::default();
        for message in messages.iter().cycle().take(300 + 3) {
            // Few of the long ones.
            let message = match (message.length, expected.len()) {
                (5_000_000, 10_000_000..) => Message::new(30, 4, 5, 6),
                _ => *message,
            };
            outgoing.queue_message(&message);
            expected.extend(message.encode());
            expected.resize(expected.len() + message.body() as usize, 0);
        }
        let mut steps = [1, 7, 23, 24, 25, 100_000, u64::MAX].into_iter().cycle();
        let mut seen: Vec<u8> = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        to.set_nonblocking(true).unwrap();
        while seen.len() < expected.len() {
            outgoing.write(&from, steps.next().unwrap()).unwrap();
            while let Ok(count @ 1..) = to.read(&mut buffer) {
                seen.extend(&buffer[..count]);
            }
        }
        assert!(outgoing.is_empty() && seen == expected);
    }

    #[test]
    fn endless_data_never_ends_and_nobody_who_does_not_read_stops_the_host() {
        let (from, _to) = pair();
        let mut outgoing = Outgoing::default();
        outgoing.queue(u64::MAX);
        outgoing.queue(u64::MAX);
        for _ in 0..1_000 {
            outgoing.write(&from, u64::MAX).unwrap();
        }
        assert!(!outgoing.is_empty());
        outgoing.clear();
        assert!(outgoing.is_empty());
    }
}
