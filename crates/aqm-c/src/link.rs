//! A discipline behind a link: `Bottleneck` of `quell-aqm`, for simulators.

use std::ffi::{CString, c_char, c_void};

use quell_aqm::departure_clock::Framing;
use quell_aqm::{Bottleneck, Bytes, Discipline, Rate, Time};

use crate::config::{Config, text};
use crate::error::{Failure, QUELL_OK, guard, status};
use crate::handle::Handle;
use crate::kinds::{Report, report_status};
use crate::observer::Observer;
use crate::packet::{Backlog, Packet, answer};
use crate::queue::names;

/// A link of limited rate with a queue discipline. Made by quell_link_new.
#[derive(Debug)]
pub struct Link {
    _opaque: (),
}

/// The transmission of a packet.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Departure {
    /// Start, when the packet leaves the queue.
    pub start: u64,
    /// End, when the last bit leaves the link.
    pub end: u64,
    /// Bytes that it occupies on the link.
    pub link_bytes: u64,
}

/// Called with each transmission as it starts, with both its times: a delay behind the link can be planned at once. The packet does not come
/// back. Calls no function of the same handle.
pub type Sink = Option<
    unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, departure: *const Departure),
>;

#[derive(Debug)]
struct Inner {
    link: Bottleneck<Packet, Discipline<Packet>, Observer>,
    names: Vec<CString>,
    sink: Sink,
    /// Context of the observer and of the sink.
    context: *mut c_void,
    now: Time,
}

impl Inner {
    /// Calls with the link, its logical time and the sink of packets that depart.
    fn at<R>(
        &mut self,
        now: u64,
        call: impl FnOnce(
            &mut Bottleneck<Packet, Discipline<Packet>, Observer>,
            Time,
            &mut dyn FnMut(Packet, quell_aqm::Departure),
        ) -> R,
    ) -> R {
        self.now = self.now.max(Time::from_nanos(now));
        let (sink, context) = (self.sink, self.context);
        call(
            &mut self.link,
            self.now,
            &mut |packet: Packet, departure: quell_aqm::Departure| {
                let Some(callback) = sink else { return };
                let departure = Departure {
                    start: departure.start.as_nanos(),
                    end: departure.end.as_nanos(),
                    link_bytes: departure.link_bytes.get(),
                };
                // SAFETY: the caller of quell_link_new promised that it is a function of this type; both outlive the call.
                unsafe { callback(context, &packet, &departure) };
            },
        )
    }
}

/// # Safety
/// The contract of [`Handle::call`].
unsafe fn call<R>(
    link: *mut Link,
    call: impl FnOnce(&mut Inner) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of this function; a pointer to a `Link` is one to this handle.
    unsafe { Handle::call(link.cast::<Handle<Inner>>(), call) }
}

/// Makes an idle link; null if that fails. `sink` gets the context of `observer`. Each may be null.
///
/// # Safety
/// `config` is null or points to a configuration whose texts end with a NUL, and which has as many settings as it says; `observer` is null
/// or points to callbacks of these types; `sink` is null or a function of its type. They may be called as long as the link lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_new(
    config: *const Config,
    observer: *const Observer,
    sink: Sink,
) -> *mut Link {
    guard(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: by the contract of this function.
            let (config, qdisc) = unsafe { Config::build(config) }?;
            // SAFETY: likewise.
            let observer = unsafe { Observer::of(observer) };
            let framing = Framing {
                overhead: config.overhead,
                mpu: Bytes::new(u64::from(config.mpu)),
            };
            let inner = Inner {
                names: names(&qdisc),
                context: observer.context,
                link: Bottleneck::new(qdisc, Rate::from_bps(config.rate), framing, observer),
                sink,
                now: Time::ZERO,
            };
            Ok(Handle::give(inner).cast())
        },
    )
}

/// Drops what waits, with the reason "drained", and frees the link. Null is nothing. In a callback of the link it fails: nothing is
/// freed, and quell_last_error has the reason.
///
/// # Safety
/// `link` is null or comes from quell_link_new, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_free(link: *mut Link) {
    let drain = |inner: &mut Inner| inner.at(0, |link, now, sink| link.drain(now, &mut &mut *sink));
    // SAFETY: by the contract of this function.
    unsafe { Handle::take(link.cast::<Handle<Inner>>(), drain) };
}

/// A packet arrives `now`; all that is due until then happens first. It is copied; after QUELL_OK it belongs to the link.
///
/// # Safety
/// `link` lives and is used by this thread only; `packet` is null or points to a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_arrive(
    link: *mut Link,
    packet: *const Packet,
    now: u64,
) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let packet = unsafe { Packet::of(packet) }?;
        let arrive = |inner: &mut Inner| {
            inner.at(now, |link, now, sink| {
                link.arrive(packet, now, &mut &mut *sink);
            });
            Ok(QUELL_OK)
        };
        // SAFETY: likewise.
        unsafe { call(link, arrive) }
    })
}

/// Everything that is due by `now` happens, in order.
///
/// # Safety
/// `link` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_advance(link: *mut Link, now: u64) -> i32 {
    let advance = |inner: &mut Inner| {
        inner.at(now, |link, now, sink| link.advance(now, &mut &mut *sink));
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(link, advance) })
}

/// When something happens next if nothing arrives; UINT64_MAX for never, and on an error.
///
/// # Safety
/// `link` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_next_event(link: *mut Link) -> u64 {
    let next = |inner: &mut Inner| Ok(inner.link.next_event().map_or(u64::MAX, Time::as_nanos));
    // SAFETY: by the contract of this function.
    guard(|_| u64::MAX, || unsafe { call(link, next) })
}

/// Transmissions that start from `now` on have this rate, in bit/s.
///
/// # Safety
/// `link` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_set_rate(link: *mut Link, rate: u64, now: u64) -> i32 {
    let set_rate = |inner: &mut Inner| {
        inner.at(now, |link, now, sink| {
            link.set_rate(Rate::from_bps(rate), now, &mut &mut *sink);
        });
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(link, set_rate) })
}

/// Changes a parameter of the discipline from `now` on. On an error none changes. May allocate.
///
/// # Safety
/// `link` lives and is used by this thread only; the texts are null or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_configure(
    link: *mut Link,
    name: *const c_char,
    value: *const c_char,
    now: u64,
) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let (name, value) = unsafe { (text(name)?, text(value)?) };
        let configure = |inner: &mut Inner| {
            inner.at(now, |link, now, sink| {
                link.configure(name, value, now, &mut &mut *sink)
            })?;
            Ok(QUELL_OK)
        };
        // SAFETY: likewise.
        unsafe { call(link, configure) }
    })
}

/// Drops all that waits, with the reason "drained"; the packet in transmission still leaves.
///
/// # Safety
/// `link` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_drain(link: *mut Link, now: u64) -> i32 {
    let drain = |inner: &mut Inner| {
        inner.at(now, |link, now, sink| link.drain(now, &mut &mut *sink));
        Ok(QUELL_OK)
    };
    // SAFETY: by the contract of this function.
    status(|| unsafe { call(link, drain) })
}

/// The packets that wait, without the one in transmission.
///
/// # Safety
/// `link` lives and is used by this thread only; `backlog` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_backlog(link: *mut Link, backlog: *mut Backlog) -> i32 {
    status(|| {
        // SAFETY: by the contract of this function.
        let found = unsafe { call(link, |inner| Ok(inner.link.backlog().into())) }?;
        // SAFETY: likewise.
        unsafe { answer(backlog, found) };
        Ok(QUELL_OK)
    })
}

/// The name of one of its queues, such as "l4s"; null beyond the last. Valid until the link is freed.
///
/// # Safety
/// `link` lives and is used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_queue_name(link: *mut Link, index: u32) -> *const c_char {
    let name = |inner: &mut Inner| {
        let name = inner.names.get(index as usize);
        Ok(name.map_or(std::ptr::null(), |name| name.as_ptr()))
    };
    // SAFETY: by the contract of this function.
    guard(|_| std::ptr::null(), || unsafe { call(link, name) })
}

/// Reports each gauge of the discipline, as of `now`; all that is due until then happens first. Allocates.
///
/// # Safety
/// `link` lives and is used by this thread only; `report` is a function of this type, or null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_link_status(
    link: *mut Link,
    now: u64,
    report: Report,
    context: *mut c_void,
) -> i32 {
    let report = |inner: &mut Inner| {
        inner.at(now, |link, now, sink| link.advance(now, &mut &mut *sink));
        // SAFETY: by the contract of this function.
        unsafe { report_status(inner.link.qdisc(), inner.now, report, context) }
    };
    // SAFETY: likewise.
    status(|| unsafe { call(link, report) })
}
