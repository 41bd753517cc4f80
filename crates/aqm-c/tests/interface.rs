//! The interface called as C calls it, where that is easier to judge from Rust: errors, time, callbacks, allocation.
#![allow(clippy::unwrap_used)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use quell_aqm::disciplines::KINDS;
use quell_aqm_c::config::{Config, Setting};
use quell_aqm_c::error::*;
use quell_aqm_c::kinds::*;
use quell_aqm_c::link::*;
use quell_aqm_c::observer::Observer;
use quell_aqm_c::packet::{Backlog, Packet};
use quell_aqm_c::queue::*;

fn config(kind: &CStr) -> Config {
    Config {
        kind: kind.as_ptr(),
        settings: null(),
        setting_count: 0,
        rate: 10_000_000,
        seed: 1,
        mtu: 0,
        overhead: 0,
        mpu: 0,
    }
}

fn packet(number: u64) -> Packet {
    Packet {
        user: number as *mut c_void,
        flow: number % 7,
        arrival: 0,
        length: 1_000,
        memory: 0,
        value: 0,
        traffic_class: (number % 4) as u8,
    }
}

fn last_error() -> String {
    // SAFETY: the text of this thread's last error lives until the next failing call.
    unsafe { CStr::from_ptr(quell_last_error()) }
        .to_str()
        .unwrap()
        .to_owned()
}

/// What callbacks saw: a letter each.
#[derive(Default)]
struct Seen {
    letters: String,
    queue: *mut Queue,
    nested: Vec<i32>,
}

unsafe extern "C" fn enqueued(
    context: *mut c_void,
    _packet: *const Packet,
    _queue: u32,
    _now: u64,
) {
    // SAFETY: the context is the `Seen` of the test, which nobody else uses during the call.
    unsafe { &mut *context.cast::<Seen>() }.letters.push('e');
}
unsafe extern "C" fn dequeued(
    context: *mut c_void,
    _packet: *const Packet,
    _queue: u32,
    _now: u64,
) {
    // SAFETY: as above.
    unsafe { &mut *context.cast::<Seen>() }.letters.push('d');
}
unsafe extern "C" fn dropped(
    context: *mut c_void,
    packet: *const Packet,
    queue: u32,
    reason: u32,
    queued: bool,
    now: u64,
) {
    // SAFETY: as above.
    let seen = unsafe { &mut *context.cast::<Seen>() };
    seen.letters.push(if queued { 'q' } else { 'x' });
    assert_eq!(queue, 0);
    // SAFETY: reasons have names that live for ever.
    let reason = unsafe { CStr::from_ptr(quell_drop_reason(reason)) };
    assert_eq!(reason, if queued { c"drained" } else { c"limit" });
    // SAFETY: the handle is alive; that it is busy is for the library to find out.
    unsafe {
        assert!((*packet).arrival <= now);
        seen.nested
            .push(quell_queue_enqueue(seen.queue, packet, now));
        quell_queue_free(seen.queue);
    }
}

fn observer(seen: &mut Seen) -> Observer {
    Observer {
        context: std::ptr::from_mut(seen).cast(),
        enqueued: Some(enqueued),
        dequeued: Some(dequeued),
        marked: None,
        dropped: Some(dropped),
    }
}

#[test]
fn a_queue_tells_what_happens_and_no_callback_enters_it_again() {
    let mut seen = Seen::default();
    let observer = observer(&mut seen);
    let limit = Setting {
        name: c"limit".as_ptr(),
        value: c"2p".as_ptr(),
    };
    let config = Config {
        settings: &limit,
        setting_count: 1,
        ..config(c"fifo")
    };
    // SAFETY: all pointers are to values of this test, which outlive the queue; one thread uses it.
    unsafe {
        let queue = quell_queue_new(&config, &observer);
        assert!(!queue.is_null());
        (*observer.context.cast::<Seen>()).queue = queue;
        for number in 0..3 {
            assert_eq!(quell_queue_enqueue(queue, &packet(number), 100), QUELL_OK);
        }
        let mut out = packet(9);
        // The clock of the queue does not go back.
        assert_eq!(quell_queue_dequeue(queue, &mut out, 50), QUELL_PACKET);
        assert_eq!((out.user as u64, out.arrival), (0, 100));
        assert_eq!(quell_queue_transmitted(queue, 200), QUELL_OK);
        let mut backlog = Backlog::default();
        assert_eq!(quell_queue_backlog(queue, &mut backlog), QUELL_OK);
        assert_eq!((backlog.packets, backlog.bytes), (1, 1_000));
        assert_eq!(CStr::from_ptr(quell_queue_name(queue, 0)), c"queue");
        assert!(quell_queue_name(queue, 1).is_null());
        assert_eq!(quell_queue_dequeue(queue, &mut out, 300), QUELL_PACKET);
        assert_eq!(quell_queue_dequeue(queue, &mut out, 300), QUELL_OK);
        assert_eq!(quell_queue_enqueue(queue, &packet(4), 400), QUELL_OK);
        quell_queue_free(queue);
    }
    assert_eq!(seen.letters, "eexddeq");
    assert_eq!(seen.nested, [QUELL_ERROR_BUSY; 2]);
}

#[test]
fn errors_are_codes_with_a_sentence_and_change_nothing() {
    // SAFETY: pointers are null or to values of this test; one thread uses the handles.
    unsafe {
        assert!(quell_queue_new(null(), null()).is_null());
        assert_eq!(last_error(), "the configuration is null");
        assert!(quell_link_new(&config(c"\xff"), null(), None).is_null());
        assert_eq!(last_error(), "a text is not UTF-8");
        assert!(
            quell_queue_new(
                &Config {
                    kind: null(),
                    ..config(c"")
                },
                null()
            )
            .is_null()
        );
        assert_eq!(last_error(), "a text is null");
        let counted = Config {
            setting_count: 1,
            ..config(c"fifo")
        };
        assert!(quell_queue_new(&counted, null()).is_null());
        assert_eq!(last_error(), "the settings are null");
        assert!(quell_queue_new(&config(c"fif"), null()).is_null());
        assert!(last_error().starts_with("kind = fif: must be one of \"fifo\", "));
        let tiny = Setting {
            name: c"limit".as_ptr(),
            value: c"100B".as_ptr(),
        };
        let tiny = Config {
            settings: &tiny,
            setting_count: 1,
            ..config(c"fifo")
        };
        assert!(quell_queue_new(&tiny, null()).is_null());
        assert_eq!(
            last_error(),
            "limit = 100B: never accepts a packet of 1500B; it must be 1500B or more"
        );

        let queue = quell_queue_new(&config(c"fifo"), null());
        let empty = Packet {
            length: 0,
            ..packet(0)
        };
        assert_eq!(quell_queue_enqueue(queue, &empty, 0), QUELL_ERROR_ARGUMENT);
        assert_eq!(last_error(), "the packet has no length");
        assert_eq!(quell_queue_enqueue(queue, null(), 0), QUELL_ERROR_ARGUMENT);
        assert_eq!(
            quell_queue_enqueue(null_mut(), &packet(0), 0),
            QUELL_ERROR_ARGUMENT
        );
        assert_eq!(last_error(), "the handle is null");
        assert_eq!(
            quell_queue_dequeue(queue, null_mut(), 0),
            QUELL_ERROR_ARGUMENT
        );
        assert_eq!(
            quell_queue_status(queue, 0, None, null_mut()),
            QUELL_ERROR_ARGUMENT
        );
        let change = |name: &CStr, value: &CStr| {
            quell_queue_configure(queue, name.as_ptr(), value.as_ptr(), 0)
        };
        assert_eq!(change(c"rule", c"slots"), QUELL_ERROR_PARAMETER);
        assert_eq!(
            last_error(),
            "rule = slots: cannot change while the queue lives"
        );
        assert_eq!(change(c"limit", c"1"), QUELL_ERROR_PARAMETER);
        assert_eq!(change(c"limit", c"10kB"), QUELL_OK);
        quell_queue_free(queue);
        quell_queue_free(null_mut());
        quell_link_free(null_mut());
    }
}

#[test]
fn kinds_and_parameters_are_those_of_the_registry() {
    let text = |text: *const c_char| {
        // SAFETY: texts of kinds and parameters live for ever.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap()
    };
    let mut kinds = Vec::new();
    // SAFETY: what is written to are values of this test.
    unsafe {
        let mut kind = std::mem::zeroed();
        while quell_kind_get(kinds.len(), &mut kind) == QUELL_OK {
            let index = kinds.len();
            let mut names = Vec::new();
            let mut parameter = std::mem::zeroed();
            while quell_parameter_get(index, names.len(), &mut parameter) == QUELL_OK {
                names.push((text(parameter.name), parameter.live));
            }
            assert_eq!(names.len(), kind.parameters);
            kinds.push((text(kind.name), names));
        }
        assert_eq!(last_error(), "there is no such kind");
        assert_eq!(quell_kind_get(0, null_mut()), QUELL_OK);
    }
    let registry = KINDS.iter().map(|entry| {
        let rows = entry.parameters.iter().map(|row| (row.name, row.live));
        (entry.name, rows.collect::<Vec<_>>())
    });
    assert_eq!(kinds, registry.collect::<Vec<_>>());
    assert!(quell_drop_reason(u32::MAX).is_null() && quell_mark_reason(u32::MAX).is_null());
}

/// A discipline with periodic updates, driven in large steps: its updates come at their own times, as those of a link do.
#[test]
fn updates_come_at_their_own_times() {
    let probability = |steps: u64| {
        unsafe extern "C" fn find(context: *mut c_void, gauge: *const Gauge) {
            // SAFETY: the gauge lives during the call, and the context is the pair below.
            let (gauge, found) = unsafe { (&*gauge, &mut *context.cast::<Vec<(CString, f64)>>()) };
            // SAFETY: so does its name.
            let name = unsafe { CStr::from_ptr(gauge.name) }.to_owned();
            found.push((name, gauge.value));
        }
        let mut found: Vec<(CString, f64)> = Vec::new();
        // SAFETY: all pointers are to values of this test; one thread uses the queue.
        unsafe {
            let queue = quell_queue_new(&config(c"dualpi2"), null());
            for number in 0..200 {
                assert_eq!(
                    quell_queue_enqueue(queue, &packet(number * 4), number),
                    QUELL_OK
                );
            }
            for step in 1..=steps {
                assert_eq!(
                    quell_queue_advance(queue, step * 960_000_000 / steps),
                    QUELL_OK
                );
            }
            let context = std::ptr::from_mut(&mut found).cast();
            assert_eq!(quell_queue_status(queue, 0, Some(find), context), QUELL_OK);
            quell_queue_free(queue);
        }
        found
    };
    let (once, often) = (probability(1), probability(960));
    assert_eq!(once, often);
    let moved =
        |(name, value): &(CString, f64)| name.to_str().unwrap().contains('p') && *value > 0.0;
    assert!(once.iter().any(moved), "{once:?}");
}

#[test]
fn the_packet_path_does_not_allocate() {
    for entry in KINDS {
        let kind = CString::new(entry.name).unwrap();
        // SAFETY: all pointers are to values of this test; one thread uses the handles.
        unsafe {
            let queue = quell_queue_new(&config(&kind), null());
            let link = quell_link_new(&config(&kind), null(), None);
            let mut now = 0;
            let mut round = || {
                let mut out = packet(0);
                for number in 0..20_000 {
                    now += 700_000;
                    assert_eq!(quell_link_arrive(link, &packet(number), now), QUELL_OK);
                    assert_eq!(quell_queue_enqueue(queue, &packet(number), now), QUELL_OK);
                    if number % 8 > 0 {
                        assert!(quell_queue_dequeue(queue, &mut out, now) >= QUELL_OK);
                        assert_eq!(quell_queue_transmitted(queue, now), QUELL_OK);
                    }
                }
                // Errors of packets do not allocate either.
                assert_eq!(
                    quell_queue_enqueue(queue, null(), now),
                    QUELL_ERROR_ARGUMENT
                );
            };
            round();
            let counted = allocation_counter::measure(&mut round);
            assert_eq!(counted.count_total, 0, "{}", entry.name);
            quell_queue_free(queue);
            quell_link_free(link);
        }
    }
}
