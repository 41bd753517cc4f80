//! The receiving half of a port: frames in batches, straight into slots of the pool.

use std::io;
use std::os::fd::BorrowedFd;

use crate::messages::{BATCH, Messages};
use crate::pool::{Frame, FrameId, HEADROOM, Pool};

/// A frame that came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) frame: Frame,
    /// Receive stamp of CLOCK_REALTIME in nanoseconds.
    pub(crate) stamp: Option<i64>,
    pub(crate) checksum_missing: bool,
}

/// What may still be in the socket after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remains {
    /// Nothing.
    Nothing,
    /// More, perhaps.
    Perhaps,
    /// More, perhaps, but the pool has no slot for it.
    NoSlot,
}

/// The receiving half of a port.
#[derive(Debug)]
pub(crate) struct Ingress {
    messages: Messages,
    /// Slots for the next frames; the first is filled first.
    slots: Vec<FrameId>,
    truncated: u64,
}

impl Ingress {
    pub(crate) fn new() -> Self {
        Self {
            messages: Messages::new(),
            slots: Vec::with_capacity(BATCH),
            truncated: 0,
        }
    }
    /// Frames that were longer than a slot, and are lost.
    pub(crate) fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Receives one batch into `frames`, behind what is there.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        pool: &mut Pool,
        frames: &mut Vec<Received>,
    ) -> io::Result<Remains> {
        while self.slots.len() < BATCH {
            let Some(id) = pool.take() else { break };
            self.slots.push(id);
        }
        let wanted = self.slots.len();
        if wanted == 0 {
            return Ok(Remains::NoSlot);
        }
        let room = pool.room();
        let mut places = [(0, 0); BATCH];
        for (place, &id) in places.iter_mut().zip(&self.slots) {
            *place = (pool.offset(id) + HEADROOM, room);
        }
        let received =
            match self
                .messages
                .receive(socket, pool.slab(), places[..wanted].iter().copied())
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
        let mut kept = 0;
        for index in 0..received {
            let id = self.slots[index];
            let (len, too_long) = self.messages.received(index);
            if too_long {
                self.truncated += 1;
                self.slots[kept] = id;
                kept += 1;
                continue;
            }
            let told = self.messages.auxiliary(index);
            let mut frame = Frame {
                id,
                len: len as u16,
                start: HEADROOM as u8,
            };
            if let Some((protocol, control)) = told.tag {
                frame = pool.insert_tag(frame, protocol, control);
            }
            frames.push(Received {
                frame,
                stamp: told.stamp,
                checksum_missing: told.checksum_missing,
            });
        }
        self.slots.drain(kept..received);
        Ok(match received {
            _ if received < wanted => Remains::Nothing,
            _ if wanted < BATCH => Remains::NoSlot,
            _ => Remains::Perhaps,
        })
    }
}
