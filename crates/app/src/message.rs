//! Messages on a stream: what a request asks for and how long an answer is travels in the stream
//! itself, so that the two ends share nothing and real hosts need no other channel.
//!
//! A message is a header of 24 bytes, and zeros up to its length. A modelled stream has no contents:
//! its host keeps the headers beside it, in the order of sending. A real one carries the bytes. Both
//! cut what arrives into [`Piece`]s by the same [`Deframer`].

/// A message, as its header describes it. What `kind`, `stream` and `reply` mean is up to the kind of
/// application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its length in bytes, with the header; at least [`Message::HEADER`].
    pub length: u64,
    /// Its kind.
    pub kind: u8,
    /// Its stream within the connection, or a number to be echoed.
    pub stream: u32,
    /// Length of the answer that is wanted, headers included; 0 for none.
    pub reply: u64,
}

impl Message {
    /// Bytes of the header.
    pub const HEADER: u64 = 24;

    /// A message of this length, or of a header alone if that is longer.
    pub const fn new(length: u64, kind: u8, stream: u32, reply: u64) -> Self {
        let length = if length < Self::HEADER {
            Self::HEADER
        } else {
            length
        };
        Self {
            length,
            kind,
            stream,
            reply,
        }
    }

    /// Bytes behind the header.
    pub const fn body(&self) -> u64 {
        self.length.saturating_sub(Self::HEADER)
    }

    /// The header: length (8 bytes), kind (1), zeros (3), stream (4), reply (8), big-endian.
    pub fn encode(&self) -> [u8; Self::HEADER as usize] {
        let mut header = [0; Self::HEADER as usize];
        header[..8].copy_from_slice(&self.length.to_be_bytes());
        header[8] = self.kind;
        header[12..16].copy_from_slice(&self.stream.to_be_bytes());
        header[16..].copy_from_slice(&self.reply.to_be_bytes());
        header
    }

    /// The message of a header; `None` if it is none: shorter than its header, or without the zeros.
    pub fn decode(header: &[u8; Self::HEADER as usize]) -> Option<Self> {
        let [l0, l1, l2, l3, l4, l5, l6, l7, kind, 0, 0, 0, rest @ ..] = *header else {
            return None;
        };
        let [s0, s1, s2, s3, reply @ ..] = rest;
        let message = Self {
            length: u64::from_be_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            kind,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            reply: u64::from_be_bytes(reply),
        };
        (message.length >= Self::HEADER).then_some(message)
    }
}

/// A part of what arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A header is complete.
    Message(Message),
    /// Further bytes of the body of that message.
    Body(u64),
    /// The bytes are no header: the other end is not one of ours.
    Garbage,
}

/// Bytes that have arrived and were not cut yet.
#[derive(Debug)]
pub enum Arrived<'a> {
    /// Bytes of a real stream.
    Bytes(&'a [u8]),
    /// A number of bytes of a modelled stream. A header is asked for when its last byte is among them.
    Count(u64),
}

impl Arrived<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Count(count) => *count,
        }
    }
}

/// Cuts one direction of a connection into messages.
#[derive(Debug, Clone, Default)]
pub struct Deframer {
    header: [u8; Message::HEADER as usize],
    /// Bytes of the header that have arrived.
    known: usize,
    /// Bytes of the body that have not.
    left: u64,
}

impl Deframer {
    /// Bytes of the body of the last message that have not arrived. A host may discard them unread, and pass them on as
    /// [`Arrived::Count`].
    pub fn body_left(&self) -> u64 {
        self.left
    }

    /// The next piece of `arrived`, which shrinks by it; `None` when no piece is complete.
    ///
    /// `modelled` hands over the header that is next in a modelled stream; a real one does not call it.
    pub fn next(
        &mut self,
        arrived: &mut Arrived<'_>,
        modelled: impl FnOnce() -> Option<Message>,
    ) -> Option<Piece> {
        if self.left > 0 {
            let count = self.left.min(arrived.len());
            self.left -= count;
            match arrived {
                Arrived::Bytes(bytes) => *bytes = &bytes[count as usize..],
                Arrived::Count(left) => *left -= count,
            }
            return (count > 0).then_some(Piece::Body(count));
        }
        let wanted = self.header.len() - self.known;
        let message = match arrived {
            Arrived::Bytes(bytes) => {
                let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
                self.header[self.known..self.known + taken.len()].copy_from_slice(taken);
                self.known += taken.len();
                *bytes = rest;
                (taken.len() == wanted).then(|| Message::decode(&self.header))?
            }
            Arrived::Count(count) => {
                let taken = (wanted as u64).min(*count);
                self.known += taken as usize;
                *count -= taken;
                (taken == wanted as u64).then(modelled)?
            }
        };
        self.known = 0;
        let Some(message) = message else {
            return Some(Piece::Garbage);
        };
        self.left = message.body();
        Some(Piece::Message(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// All pieces, with neighbouring bodies of one message joined.
    fn join(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Body(before)), Piece::Body(count)) => *before += count,
                _ => joined.push(piece),
            }
        }
        joined
    }

    #[test]
    fn a_header_survives_the_wire_and_anything_else_is_no_header() {
        let message = Message::new(1 << 40, 7, u32::MAX, 350);
        let mut header = message.encode();
        assert_eq!(Message::decode(&header), Some(message));
        header[10] = 1;
        assert_eq!(Message::decode(&header), None);
        assert_eq!(Message::decode(&[0; 24]), None, "shorter than its header");
        assert_eq!(Message::new(3, 0, 0, 0).length, Message::HEADER);
        let mut bytes = Arrived::Bytes(&[1; 30]);
        let piece = Deframer::default().next(&mut bytes, || None);
        assert_eq!(piece, Some(Piece::Garbage));
    }

    proptest! {
        #[test]
        fn a_modelled_and_a_real_stream_are_cut_alike_however_they_arrive(
            messages in prop::collection::vec((0_u64..4_000, any::<u8>(), any::<u32>(), any::<u64>()), 1..20),
            steps in prop::collection::vec(1_usize..3_000, 1..200),
        ) {
            let messages: Vec<_> = messages
                .into_iter()
                .map(|(length, kind, stream, reply)| Message::new(length, kind, stream, reply))
                .collect();
            let mut stream = Vec::new();
            for message in &messages {
                let from = stream.len();
                stream.extend(message.encode());
                stream.resize(from + message.length as usize, 0);
            }
            let expected = join(messages.iter().flat_map(|message| {
                let body = (message.body() > 0).then_some(Piece::Body(message.body()));
                [Piece::Message(*message)].into_iter().chain(body)
            }));

            let (mut real, mut model) = (Deframer::default(), Deframer::default());
            let mut headers: VecDeque<_> = messages.iter().copied().collect();
            let (mut seen, mut counted) = (Vec::new(), Vec::new());
            let mut rest = &stream[..];
            for step in steps.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*step).min(rest.len()));
                rest = later;
                let mut arrived = Arrived::Bytes(now);
                while let Some(piece) = real.next(&mut arrived, || None) {
                    seen.push(piece);
                }
                let mut arrived = Arrived::Count(now.len() as u64);
                while let Some(piece) = model.next(&mut arrived, || headers.pop_front()) {
                    counted.push(piece);
                }
            }
            prop_assert_eq!(&seen, &counted);
            prop_assert_eq!(join(seen), expected);
        }
    }
}
