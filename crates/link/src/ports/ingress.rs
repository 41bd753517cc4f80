//! The receiving half of a port: frames in batches, straight into slots of the pool.

use std::io;
use std::os::fd::BorrowedFd;

use super::messages::{BATCH, Messages};
use crate::frames::{Frame, FrameId, HEADROOM, Pool};

/// A received frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) frame: Frame,
    /// Receive stamp of CLOCK_REALTIME in nanoseconds.
    pub(crate) stamp: Option<i64>,
    pub(crate) checksum_missing: bool,
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

/// The receiving half of a port.
#[derive(Debug)]
pub(crate) struct Ingress {
    messages: Messages,
    /// Slots for the next frames. The last one is filled first: it came back last and is still in the
    /// cache.
    slots: Vec<FrameId>,
    /// The number of frames to ask for: preparing a whole batch for a single frame costs more than the
    /// frame.
    wanted: usize,
    truncated: u64,
}

impl Ingress {
    pub(crate) fn new() -> Self {
        Self {
            messages: Messages::new(),
            slots: Vec::with_capacity(BATCH),
            wanted: FEWEST,
            truncated: 0,
        }
    }
    /// Frames that were longer than a slot, and are lost.
    pub(crate) fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Appends one received batch to `frames`.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        pool: &mut Pool,
        frames: &mut Vec<Received>,
    ) -> io::Result<Remains> {
        while self.slots.len() < self.wanted {
            let Some(id) = pool.take() else { break };
            self.slots.push(id);
        }
        let asked = self.slots.len().min(self.wanted);
        if asked == 0 {
            return Ok(Remains::NoSlot);
        }
        let room = pool.room();
        let mut places = [(0, 0); BATCH];
        for (place, &id) in places.iter_mut().zip(self.slots.iter().rev()) {
            *place = (pool.offset(id) + HEADROOM, room);
        }
        let received =
            match self
                .messages
                .receive(socket, pool.slab(), places[..asked].iter().copied())
            {
                Ok(received) => received,
                Err(error) => {
                    return match error.kind() {
                        io::ErrorKind::WouldBlock => Ok(Remains::Nothing),
                        io::ErrorKind::Interrupted => Ok(Remains::Perhaps),
                        _ => Err(error),
                    };
                }
            };
        for index in 0..received {
            let Some(id) = self.slots.pop() else { break };
            let (len, too_long) = self.messages.received(index);
            if too_long {
                self.truncated += 1;
                pool.give_back(id);
                continue;
            }
            let auxiliary = self.messages.auxiliary(index);
            let mut frame = Frame {
                id,
                len: len as u16,
                start: HEADROOM as u8,
            };
            if let Some((protocol, control)) = auxiliary.tag {
                frame = pool.insert_tag(frame, protocol, control);
            }
            frames.push(Received {
                frame,
                stamp: auxiliary.stamp,
                checksum_missing: auxiliary.checksum_missing,
            });
        }
        let remains = match received {
            _ if received < asked => Remains::Nothing,
            _ if asked < self.wanted => Remains::NoSlot,
            _ => Remains::Perhaps,
        };
        self.wanted = (4 * received).clamp(FEWEST, BATCH);
        Ok(remains)
    }
}
