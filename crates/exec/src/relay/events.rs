//! Events of sockets: each names the kind of its socket and the place of what the socket belongs to.

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, Event, EventData, EventFlags};

// Kinds, in the lowest bits of an event's data.
pub(super) const STREAMS: u64 = 0;
pub(super) const DATAGRAMS: u64 = 1;
pub(super) const CLIENT: u64 = 2;
pub(super) const SERVER: u64 = 3;
pub(super) const NEAR: u64 = 4;
pub(super) const FAR: u64 = 5;
pub(super) const WAKE: u64 = 6;
pub(super) const DOORS: u64 = 7;
const KIND_BITS: u32 = 3;

/// What is told of the sockets of a connection.
pub(super) const OF_PAIRS: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// Has events of a socket come, with its kind and place.
pub(super) fn watch(
    epoll: &OwnedFd,
    socket: &OwnedFd,
    (kind, place): (u64, usize),
    events: EventFlags,
) -> rustix::io::Result<()> {
    let data = EventData::new_u64((place as u64) << KIND_BITS | kind);
    epoll::add(epoll, socket, data, events)
}

/// The kind and the place that an event names.
pub(super) fn of(event: &Event) -> (u64, usize) {
    let data = event.data.u64();
    (data & ((1 << KIND_BITS) - 1), (data >> KIND_BITS) as usize)
}
