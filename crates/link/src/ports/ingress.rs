//! The receiving half of a port: frames in batches, straight into slots of the pool.

use std::io;
use std::os::fd::BorrowedFd;

use super::messages::{Auxiliary, BATCH, Messages};
use crate::frames::{DESCRIPTION, Frame, FrameId, HEADROOM, Pool, SuperPacket};

/// A received packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) frame: Frame,
    /// Receive stamp of CLOCK_REALTIME in nanoseconds, the same for all segments of a super-packet.
    pub(crate) stamp: Option<i64>,
}

/// Frames that may still be in the socket after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remains {
    /// Nothing.
    Nothing,
    /// Perhaps more.
    Perhaps,
    /// Perhaps more, but the pool has no slot for it.
    NoSlot,
}

/// The least number of frames to ask for.
const FEWEST: usize = 32;

/// Bytes of a super-packet that its slot does not hold: with what a slot holds, more than any frame has.
const BESIDE: usize = 1 << 16;

/// The receiving half of a port.
#[derive(Debug)]
pub(crate) struct Ingress {
    messages: Messages,
    /// Slots for the next frames. The last one is filled first: it came back last and is still in the
    /// cache.
    slots: Vec<FrameId>,
    /// What does not fit into the slot of each frame of a batch, unless that is `zeros` ([`LinkConfig::zeros`](crate::LinkConfig::zeros)). The system gives the memory as super-packets come.
    beside: Vec<u8>,
    zeros: bool,
    /// The number of frames to ask for: preparing a whole batch for a single frame costs more than the
    /// frame.
    wanted: usize,
    /// Of the last batch, which had so many frames, the next one to hand on.
    next: usize,
    filled: usize,
    truncated: u64,
}

impl Ingress {
    pub(crate) fn new(zeros: bool) -> Self {
        Self {
            messages: Messages::new(),
            slots: Vec::with_capacity(BATCH),
            beside: vec![0; if zeros { 0 } else { BATCH * BESIDE }],
            zeros,
            wanted: FEWEST,
            next: 0,
            filled: 0,
            truncated: 0,
        }
    }
    /// Frames that were longer than a packet may be, and are lost.
    pub(crate) fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Appends one received batch to `packets`, super-packets cut into segments.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        pool: &mut Pool,
        packets: &mut Vec<Received>,
    ) -> io::Result<Remains> {
        if self.next < self.filled {
            // What the pool had no room for.
            return Ok(match self.hand_on(pool, packets) {
                true => Remains::Perhaps,
                false => Remains::NoSlot,
            });
        }
        while self.slots.len() < self.wanted {
            let Some(id) = pool.take() else { break };
            self.slots.push(id);
        }
        let asked = self.slots.len().min(self.wanted);
        if asked == 0 {
            return Ok(Remains::NoSlot);
        }
        let room = pool.room() + DESCRIPTION;
        let mut places = [(0, 0); BATCH];
        for (place, &id) in places.iter_mut().zip(self.slots.iter().rev()) {
            *place = (pool.offset(id) + HEADROOM - DESCRIPTION, room);
        }
        let places = places[..asked].iter().copied();
        let received = self
            .messages
            .receive(socket, pool.slab(), &mut self.beside, places);
        (self.next, self.filled) = match received {
            Ok(received) => (0, received),
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::WouldBlock => Ok(Remains::Nothing),
                    io::ErrorKind::Interrupted => Ok(Remains::Perhaps),
                    io::ErrorKind::InvalidInput => {
                        // A super-packet that the kernel cannot describe, and has dropped.
                        self.truncated += 1;
                        Ok(Remains::Perhaps)
                    }
                    _ => Err(error),
                };
            }
        };
        let all = self.hand_on(pool, packets);
        let remains = match self.filled {
            _ if !all => Remains::NoSlot,
            received if received < asked => Remains::Nothing,
            _ if asked < self.wanted => Remains::NoSlot,
            _ => Remains::Perhaps,
        };
        self.wanted = (4 * self.filled).clamp(FEWEST, BATCH);
        Ok(remains)
    }

    /// Appends the frames of the last batch to `packets`, as far as the pool has slots for their segments; returns whether that is all.
    fn hand_on(&mut self, pool: &mut Pool, packets: &mut Vec<Received>) -> bool {
        while let (true, Some(&id)) = (self.next < self.filled, self.slots.last()) {
            let index = self.next;
            let (len, too_long) = self.messages.received(index);
            let len = len.saturating_sub(DESCRIPTION);
            let frame = Frame {
                id,
                len: len.min(pool.room()) as u16,
                start: HEADROOM as u8,
            };
            let Auxiliary { stamp, tag } = self.messages.auxiliary(index);
            let first = packets.len();
            let offload = pool.offload(frame);
            if offload.is_super_packet() {
                let whole = SuperPacket::of(pool.bytes(frame), len, &offload).filter(|whole| {
                    whole.headers + whole.segment <= pool.room()
                        && whole.segments <= pool.slots() / 4
                        && (self.zeros || !too_long)
                });
                if let Some(whole) = whole {
                    if !pool.has(whole.segments - 1) {
                        return false;
                    }
                    let beside = (!self.zeros).then(|| &self.beside[index * BESIDE..]);
                    let segment = |at| cut(&whole, at, (frame, len), beside, pool);
                    let segments = (0..whole.segments).map(segment);
                    packets.extend(segments.map(|frame| Received { frame, stamp }));
                }
            } else if len == usize::from(frame.len) && !too_long {
                packets.push(Received { frame, stamp });
            }
            self.slots.pop();
            self.next += 1;
            if packets.len() == first {
                self.truncated += 1;
                pool.give_back(id);
            }
            if let Some((protocol, control)) = tag {
                for packet in &mut packets[first..] {
                    packet.frame = pool.insert_tag(packet.frame, protocol, control);
                }
            }
        }
        true
    }
}

/// Segment `index` of the super-packet of `len` bytes that begins with `frame` and goes on in `beside`, or with zeros. The first stays there.
fn cut(
    whole: &SuperPacket,
    index: usize,
    (frame, len): (Frame, usize),
    beside: Option<&[u8]>,
    pool: &mut Pool,
) -> Frame {
    let (headers, room) = (whole.headers, usize::from(frame.len));
    let begin = headers + index * whole.segment;
    let end = (begin + whole.segment).min(len);
    let id = match index {
        0 => frame.id,
        _ => pool.take().expect("there are enough slots"),
    };
    let segment = Frame {
        id,
        len: (headers + end - begin) as u16,
        start: HEADROOM as u8,
    };
    let (from, to) = (pool.offset(frame.id) + HEADROOM, pool.offset(id) + HEADROOM);
    let payload = to + headers..to + headers + end - begin;
    let slab = pool.slab();
    match beside {
        _ if index == 0 => {}
        None => slab[payload].fill(0),
        Some(beside) => {
            let here = from + begin.min(room)..from + end.min(room);
            slab.copy_within(here, payload.start);
            let rest = &beside[begin.max(room) - room..end.max(room) - room];
            slab[payload.end - rest.len()..payload.end].copy_from_slice(rest);
        }
    }
    let offload = whole.cut(index, end - begin, pool.bytes_mut(segment));
    pool.describe(segment, &offload);
    segment
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::{fd::AsFd as _, unix::net::UnixDatagram};

    #[test]
    fn a_full_batch_leaves_more_in_the_socket_and_the_next_one_asks_for_more() {
        let (from, to) = UnixDatagram::pair().unwrap();
        (0..40).for_each(|_| assert_eq!(from.send(&[0; 70]).unwrap(), 70));
        let (mut ingress, mut pool) = (Ingress::new(true), Pool::new(300, 1_500).unwrap());
        for (count, remains) in [(32, Remains::Perhaps), (8, Remains::Nothing)] {
            let mut packets = Vec::new();
            let found = ingress.receive(to.as_fd(), &mut pool, &mut packets);
            assert_eq!((packets.len(), found.unwrap()), (count, remains));
        }
    }
}
