//! Callbacks that report what happens to packets.

use std::ffi::c_void;

use quell_aqm::{Drop, MarkReason, QueueId, Time};

use crate::packet::Packet;

/// Callbacks; each may be null. Each gets the packet and the time of the event. `queue` is an index of quell_queue_name, `reason`
/// one of quell_mark_reason or quell_drop_reason. A callback may keep nothing of what it is given but copies, and calls no function of
/// the same handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Observer {
    /// Given to each callback.
    pub context: *mut c_void,
    /// The packet was accepted; it waits from now on.
    pub enqueued: Option<
        unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, queue: u32, now: u64),
    >,
    /// The packet left the queue, to be transmitted.
    pub dequeued: Option<
        unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, queue: u32, now: u64),
    >,
    /// The packet was marked. The copy that comes out carries the mark too.
    pub marked: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            packet: *const Packet,
            queue: u32,
            reason: u32,
            now: u64,
        ),
    >,
    /// The packet was dropped and does not come out any more: free the real one here. `queued` is true if it had
    /// been accepted before. It may be another packet than the one offered, and it may happen in any call but those that only read.
    pub dropped: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            packet: *const Packet,
            queue: u32,
            reason: u32,
            queued: bool,
            now: u64,
        ),
    >,
}

impl Observer {
    /// A copy of what C passed; no callbacks if that is null.
    ///
    /// # Safety
    /// `observer` is null or points to an observer whose callbacks are functions of these types.
    pub(crate) unsafe fn of(observer: *const Self) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { observer.as_ref() }.copied().unwrap_or(Self {
            context: std::ptr::null_mut(),
            enqueued: None,
            dequeued: None,
            marked: None,
            dropped: None,
        })
    }
}

fn number(queue: QueueId) -> u32 {
    u32::from(queue.0)
}

// What all blocks below rely on: the callbacks come from `Observer::of`, whose caller promised that they are functions of these
// types; the packet is a reference and so outlives the call.
impl quell_aqm::Observer<Packet> for Observer {
    #[inline]
    fn enqueued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        if let Some(callback) = self.enqueued {
            // SAFETY: see above.
            unsafe { callback(self.context, packet, number(queue), now.as_nanos()) };
        }
    }
    #[inline]
    fn dequeued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        if let Some(callback) = self.dequeued {
            // SAFETY: see above.
            unsafe { callback(self.context, packet, number(queue), now.as_nanos()) };
        }
    }
    #[inline]
    fn marked(&mut self, queue: QueueId, packet: &Packet, reason: MarkReason, now: Time) {
        if let Some(callback) = self.marked {
            let reason = reason.index() as u32;
            // SAFETY: see above.
            unsafe { callback(self.context, packet, number(queue), reason, now.as_nanos()) };
        }
    }
    #[inline]
    fn dropped(&mut self, packet: Packet, drop: Drop, now: Time) {
        if let Some(callback) = self.dropped {
            let (queue, reason) = (number(drop.queue), drop.reason.index() as u32);
            // SAFETY: see above.
            unsafe {
                callback(
                    self.context,
                    &packet,
                    queue,
                    reason,
                    drop.queued,
                    now.as_nanos(),
                );
            }
        }
    }
}
