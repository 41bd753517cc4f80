//! A discipline alone, for those who send packets themselves: put in what arrives, take out what is to be sent.
//!
//! As in a `Bottleneck`, periodic updates are caught up, each at its own time, before a call takes
//! effect. At equal times the order is end of transmission, departure, update, arrival.

use std::ffi::{CString, c_char, c_void};

use quell_aqm::{Discipline, Packet as _, Qdisc, Rate, Time};

use crate::config::{Config, text};
use crate::error::{Failure, QUELL_OK, QUELL_PACKET, guard, status};
use crate::handle::Handle;
use crate::kinds::{Report, report_status};
use crate::observer::Observer;
use crate::packet::{Backlog, Packet, answer};

/// A queue discipline. Made by quell_queue_new.
#[derive(Debug)]
pub struct Queue {
    _opaque: (),
}

#[derive(Debug)]
struct Inner {
    qdisc: Discipline<Packet>,
    observer: Observer,
    names: Vec<CString>,
    now: Time,
}

/// Names of the queues of a discipline, for C.
pub(crate) fn names(qdisc: &Discipline<Packet>) -> Vec<CString> {
    let names = qdisc.queues().iter();
    names
        .map(|name| CString::new(*name).unwrap_or_default())
        .collect()
}

impl Inner {
    /// The logical time of a call; time never runs backwards.
    fn at(&mut self, now: u64) -> Time {
        self.now = self.now.max(Time::from_nanos(now));
        self.now
    }
    /// Everything periodic that was due before `now`, or by then.
    fn catch_up(&mut self, now: Time, inclusive: bool) {
        while let Some(due) = self.qdisc.next_update()
            && (due < now || (inclusive && due == now))
        {
            self.qdisc.update(due);
        }
    }
}

/// # Safety
/// The contract of [`Handle::call`].
unsafe fn call<R>(
    queue: *mut Queue,
    call: impl FnOnce(&mut Inner) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of this function; a pointer to a `Queue` is one to this handle.
    unsafe { Handle::call(queue.cast::<Handle<Inner>>(), call) }
}

/// Makes a discipline; null if that fails. `observer` may be null.
///
/// # Safety
/// `config` is null or points to a configuration whose texts end with a NUL, and which has as many settings as it says; `observer` is null
/// or points to callbacks of these types, which may be called as long as the queue lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_new(
    config: *const Config,
    observer: *const Observer,
) -> *mut Queue {
    guard(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: by the contract of this function.
            let (_, qdisc) = unsafe { Config::build(config) }?;
            // SAFETY: likewise.
            let observer = unsafe { Observer::of(observer) };
            let inner = Inner {
                names: names(&qdisc),
                qdisc,
                observer,
                now: Time::ZERO,
            };
            Ok(Handle::give(inner).cast())
        },
    )
}

/// Drops what waits, with the reason "drained", and frees the queue. Null is nothing. In a callback of the queue it fails: nothing is
/// freed, and quell_last_error has the reason.
///
/// # Safety
/// `queue` is null or comes from quell_queue_new, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_free(queue: *mut Queue) {
    let drain = |inner: &mut Inner| inner.qdisc.drain(inner.now, &mut inner.observer);
    // SAFETY: by the contract of this function.
    unsafe { Handle::take(queue.cast::<Handle<Inner>>(), drain) };
}

/// Offers a packet that arrives `now`. It is copied; after QUELL_OK it belongs to the queue, which may have dropped it, or another one, or
/// have marked one: the callbacks report it. After an error it is still the caller's.
///
/// # Safety
/// `queue` lives and is used by this thread only; `packet` is null or points to a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_enqueue(
    queue: *mut Queue,
    packet: *const Packet,
    now: u64,
) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let mut packet = unsafe { Packet::of(packet) }?;
        let enqueue = |inner: &mut Inner| {
            let now = inner.at(now);
            inner.catch_up(now, true);
            packet.set_arrival(now);
            inner.qdisc.enqueue(packet, now, &mut inner.observer);
            Ok(QUELL_OK)
        };
        // SAFETY: likewise.
        unsafe { call(queue, enqueue) }
    })
}

/// Takes out the packet whose transmission starts `now`: QUELL_PACKET, or QUELL_OK if nothing is left to send.
///
/// # Safety
/// `queue` lives and is used by this thread only; `packet` may be written. Null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_dequeue(
    queue: *mut Queue,
    packet: *mut Packet,
    now: u64,
) -> i32 {
    status(|| {
        if packet.is_null() {
            return Err(const { Failure::argument(c"the packet is null") });
        }
        let dequeue = |inner: &mut Inner| {
            let now = inner.at(now);
            inner.catch_up(now, false);
            Ok(inner.qdisc.dequeue(now, &mut inner.observer))
        };
        // SAFETY: by the contract of this function.
        let Some(taken) = (unsafe { call(queue, dequeue) })? else {
            return Ok(QUELL_OK);
        };
        // SAFETY: likewise.
        unsafe { answer(packet, taken) };
        Ok(QUELL_PACKET)
    })
}

/// The packet taken out last has left `now`. Matters only where the packet in transmission counts, as with fifo's count_in_service.
///
/// # Safety
/// `queue` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_transmitted(queue: *mut Queue, now: u64) -> i32 {
    let transmitted = |inner: &mut Inner| {
        let now = inner.at(now);
        inner.catch_up(now, false);
        inner.qdisc.transmitted(now);
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(queue, transmitted) })
}

/// Does the periodic work that is due by `now`. Every other call does it too: only a status that is read without one needs this.
///
/// # Safety
/// `queue` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_advance(queue: *mut Queue, now: u64) -> i32 {
    let advance = |inner: &mut Inner| {
        let now = inner.at(now);
        inner.catch_up(now, true);
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(queue, advance) })
}

/// The link has another rate from `now` on, in bit/s. Never refused: a limit in time is computed anew, however small it becomes.
///
/// # Safety
/// `queue` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_set_rate(queue: *mut Queue, rate: u64, now: u64) -> i32 {
    let set_rate = |inner: &mut Inner| {
        let now = inner.at(now);
        inner.catch_up(now, true);
        let rate = Rate::from_bps(rate);
        inner.qdisc.set_rate(rate, now, &mut inner.observer);
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(queue, set_rate) })
}

/// Changes a parameter from `now` on. On an error nothing changes, and the error names this parameter. May allocate.
///
/// # Safety
/// `queue` lives and is used by this thread only; the texts are null or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_configure(
    queue: *mut Queue,
    name: *const c_char,
    value: *const c_char,
    now: u64,
) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let (name, value) = unsafe { (text(name)?, text(value)?) };
        let configure = |inner: &mut Inner| {
            let now = inner.at(now);
            inner.catch_up(now, true);
            inner
                .qdisc
                .configure(name, value, now, &mut inner.observer)?;
            Ok(QUELL_OK)
        };
        // SAFETY: likewise.
        unsafe { call(queue, configure) }
    })
}

/// Drops all that waits, with the reason "drained".
///
/// # Safety
/// `queue` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_drain(queue: *mut Queue, now: u64) -> i32 {
    let drain = |inner: &mut Inner| {
        let now = inner.at(now);
        inner.catch_up(now, true);
        inner.qdisc.drain(now, &mut inner.observer);
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(queue, drain) })
}

/// The packets that wait.
///
/// # Safety
/// `queue` lives and is used by this thread only; `backlog` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_backlog(queue: *mut Queue, backlog: *mut Backlog) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let found = unsafe { call(queue, |inner| Ok(inner.qdisc.backlog().into())) }?;
        // SAFETY: likewise.
        unsafe { answer(backlog, found) };
        Ok(QUELL_OK)
    })
}

/// The name of one of its queues, such as "l4s"; null beyond the last. Valid until the queue is freed.
///
/// # Safety
/// `queue` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_name(queue: *mut Queue, index: u32) -> *const c_char {
    let name = |inner: &mut Inner| {
        let name = inner.names.get(index as usize);
        Ok(name.map_or(std::ptr::null(), |name| name.as_ptr()))
    };
    // SAFETY: by the contract of this function.
    guard(|_| std::ptr::null(), || unsafe { call(queue, name) })
}

/// Reports each gauge of the discipline, as of `now`. Allocates.
///
/// # Safety
/// `queue` lives and is used by this thread only; `report` is a function of this type, or null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_queue_status(
    queue: *mut Queue,
    now: u64,
    report: Report,
    context: *mut c_void,
) -> i32 {
    let report = |inner: &mut Inner| {
        let now = inner.at(now);
        inner.catch_up(now, true);
        // SAFETY: by the contract of this function.
        unsafe { report_status(&inner.qdisc, now, report, context) }
    };
    // SAFETY: likewise.
    status(|| unsafe { call(queue, report) })
}
