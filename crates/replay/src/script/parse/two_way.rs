//! Segments where data flows both ways: each has numbers and an acknowledgement.

use super::{End, Parsed, Reader, Said, Words, data, said};
use quell_tcp::{Flags, Segment};

impl Reader {
    /// Reads the rest of a line of a client or server.
    pub(super) fn two_way(
        &mut self,
        words: &mut Words<'_>,
        leaves: bool,
        end: &End,
    ) -> Parsed<(Vec<Segment>, Said)> {
        let (own, other) = (usize::from(leaves), usize::from(!leaves));
        let mut pieces = Vec::new();
        let mut flags = Flags::ACK;
        while let Some(piece) = words
            .peek()
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            pieces.extend(data(piece)?);
            words.next();
        }
        if pieces.is_empty() {
            let sequence = match words.peek() {
                Some("SYN") => {
                    let is_answer = leaves != end.opens();
                    flags = Flags::SYN | if is_answer { Flags::ACK } else { 0 };
                    words.next();
                    0
                }
                Some("probe") if self.unas[own] > 0 => {
                    words.next();
                    self.unas[own] - 1
                }
                Some("empty") => {
                    words.next();
                    self.nexts[own]
                }
                Some("FIN") => {
                    flags |= Flags::FIN;
                    words.next();
                    self.fins[own].unwrap_or(self.nexts[own])
                }
                Some("RST") => {
                    // Of a host that has no such connection: it knows no number but what the peer acknowledges.
                    flags = Flags::RST;
                    words.next();
                    self.unas[own]
                }
                Some("ack") => self.nexts[own],
                _ => return Err("a segment is missing".to_owned()),
            };
            pieces.push((sequence, 0, false));
        }
        let said = said(words, flags)?;
        let has_ack = said.flags & Flags::ACK > 0;
        let acknowledgement = said.acknowledgement.unwrap_or(self.unas[other]);
        if has_ack {
            self.unas[other] = self.unas[other].max(acknowledgement);
        }
        let last = pieces.len() - 1;
        let segments = pieces.iter().enumerate();
        let segments = segments.map(|(index, &(sequence, payload, is_pushed))| {
            // Only the last one ends the stream.
            let held = if index < last { Flags::FIN } else { 0 };
            let mut segment = Segment {
                sequence,
                payload,
                acknowledgement: if has_ack { acknowledgement } else { 0 },
                flags: Flags(said.flags & !held | if is_pushed { Flags::PSH } else { 0 }),
                ecn: said.ecn,
                accecn: said.accecn,
                ..Segment::default()
            };
            for block in &said.sacks {
                segment.sacks.push(acknowledgement, *block);
            }
            segment
        });
        let segments: Vec<Segment> = segments.collect();
        let ends = segments
            .iter()
            .find(|segment| segment.flags.has(Flags::FIN));
        self.fins[own] = self.fins[own].or(ends.map(|segment| segment.end() - 1));
        // What a host without the connection sends is no part of a stream.
        let is_foreign = said.flags & (Flags::RST | Flags::ACK) == Flags::RST;
        let ends = segments.iter().filter(|_| !is_foreign).map(Segment::end);
        self.nexts[own] = ends.fold(self.nexts[own], u64::max);
        Ok((segments, said))
    }
}
