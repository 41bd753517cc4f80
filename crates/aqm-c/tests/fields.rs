//! Every field that C fills in changes something, and a link does what its functions say.
#![allow(clippy::unwrap_used)]

use std::ffi::{CStr, c_void};
use std::ptr::null;

use quell_aqm_c::config::Config;
use quell_aqm_c::error::*;
use quell_aqm_c::link::*;
use quell_aqm_c::observer::Observer;
use quell_aqm_c::packet::{Backlog, Packet};

/// What came out: number, start, end and link bytes of departures; number and name of the reason of drops and marks.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Log {
    departed: Vec<(u64, u64, u64, u64)>,
    dropped: Vec<(u64, String)>,
    marked: Vec<(u64, String)>,
}

/// # Safety
/// `context` is the log of the test, which nobody else uses during the call.
unsafe fn log<'a>(context: *mut c_void) -> &'a mut Log {
    // SAFETY: by the contract of this function.
    unsafe { &mut *context.cast::<Log>() }
}

unsafe extern "C" fn departed(
    context: *mut c_void,
    packet: *const Packet,
    departure: *const Departure,
) {
    // SAFETY: packet and departure live during the call, and the context is the log.
    let (packet, departure, log) = unsafe { (&*packet, &*departure, log(context)) };
    let number = packet.user as u64;
    log.departed
        .push((number, departure.start, departure.end, departure.link_bytes));
}
unsafe extern "C" fn dropped(
    context: *mut c_void,
    packet: *const Packet,
    _queue: u32,
    reason: u32,
    _queued: bool,
    _now: u64,
) {
    // SAFETY: as above; reasons have names that live for ever.
    let (packet, log, reason) = unsafe {
        let reason = CStr::from_ptr(quell_aqm_c::kinds::quell_drop_reason(reason));
        (&*packet, log(context), reason)
    };
    let reason = reason.to_str().unwrap().to_owned();
    log.dropped.push((packet.user as u64, reason));
}
unsafe extern "C" fn marked(
    context: *mut c_void,
    packet: *const Packet,
    _queue: u32,
    reason: u32,
    _now: u64,
) {
    // SAFETY: as above.
    let (packet, log, reason) = unsafe {
        let reason = CStr::from_ptr(quell_aqm_c::kinds::quell_mark_reason(reason));
        (&*packet, log(context), reason)
    };
    let reason = reason.to_str().unwrap().to_owned();
    log.marked.push((packet.user as u64, reason));
}

fn config(kind: &'static CStr) -> Config {
    Config {
        kind: kind.as_ptr(),
        settings: null(),
        setting_count: 0,
        rate: 8_000_000,
        seed: 1,
        mtu: 1_500,
        overhead: 0,
        mpu: 0,
    }
}

/// An overloaded link: 3 000 packets of 1 000 bytes, one each 800 µs where 1 ms would do. `change` has its way with each.
fn overload(config: Config, change: impl Fn(u64, &mut Packet)) -> Log {
    let mut log = Log::default();
    let observer = observer(&mut log);
    // SAFETY: all pointers are to values of this test; one thread uses the link.
    unsafe {
        let link = quell_link_new(&config, &observer, Some(departed));
        assert!(!link.is_null());
        for number in 0..3_000 {
            let mut packet = Packet {
                user: number as *mut c_void,
                flow: number % 3,
                arrival: 0,
                length: 1_000,
                memory: 0,
                value: 0,
                traffic_class: 0,
            };
            change(number, &mut packet);
            assert_eq!(quell_link_arrive(link, &packet, number * 800_000), QUELL_OK);
        }
        quell_link_free(link);
    }
    log
}

fn observer(log: &mut Log) -> Observer {
    Observer {
        context: std::ptr::from_mut(log).cast(),
        enqueued: None,
        dequeued: None,
        marked: Some(marked),
        dropped: Some(dropped),
    }
}

#[test]
fn every_field_of_packets_and_configurations_changes_something() {
    let same = |_, _: &mut Packet| ();
    let plain = |kind| overload(config(kind), same);
    let dualpi2 = plain(c"dualpi2");
    let changed: [(&str, Log); 8] = [
        (
            "seed",
            overload(
                Config {
                    seed: 2,
                    ..config(c"dualpi2")
                },
                same,
            ),
        ),
        (
            "rate",
            overload(
                Config {
                    rate: 9_000_000,
                    ..config(c"dualpi2")
                },
                same,
            ),
        ),
        (
            "overhead",
            overload(
                Config {
                    overhead: 14,
                    ..config(c"dualpi2")
                },
                same,
            ),
        ),
        (
            "mpu",
            overload(
                Config {
                    mpu: 1_100,
                    ..config(c"dualpi2")
                },
                same,
            ),
        ),
        (
            "length",
            overload(config(c"dualpi2"), |n, p| p.length = 900 + n as u32 % 200),
        ),
        (
            "memory",
            overload(config(c"dualpi2"), |_, p| p.memory = 40_000_000),
        ),
        (
            "traffic_class",
            overload(config(c"dualpi2"), |n, p| p.traffic_class = (n % 2) as u8),
        ),
        ("kind", plain(c"fifo")),
    ];
    for (field, log) in &changed {
        assert_ne!(*log, dualpi2, "{field}");
    }
    assert!(
        changed[6]
            .1
            .marked
            .iter()
            .any(|(_, reason)| reason == "coupled")
    );
    assert!(
        changed[5]
            .1
            .dropped
            .iter()
            .any(|(_, reason)| reason == "memory")
    );
    // Flows matter to a discipline that keeps them apart.
    let one_flow = |_, packet: &mut Packet| packet.flow = 0;
    assert_ne!(overload(config(c"fq_codel"), one_flow), plain(c"fq_codel"));
    // The largest packet is for disciplines that count in packets, and for limits in time, which hold some of them.
    let large = Config {
        mtu: 200_000,
        ..config(c"fifo")
    };
    assert_ne!(overload(large, |_, _: &mut Packet| {}), plain(c"fifo"));
    // A packet is reported with its own number, whatever else it has.
    let numbers = |log: &Log| {
        let departed = log.departed.iter().map(|d| d.0);
        let mut all: Vec<u64> = departed.chain(log.dropped.iter().map(|d| d.0)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(numbers(&dualpi2), (0..3_000).collect::<Vec<_>>());
}

#[test]
fn a_link_does_what_its_functions_say() {
    let mut log = Log::default();
    let observer = observer(&mut log);
    let packet = |number: u64| Packet {
        user: number as *mut c_void,
        flow: 0,
        arrival: 0,
        length: 1_000,
        memory: 0,
        value: 0,
        traffic_class: 0,
    };
    const MS: u64 = 1_000_000;
    // SAFETY: all pointers are to values of this test; one thread uses the link.
    unsafe {
        let link = quell_link_new(&config(c"fifo"), &observer, Some(departed));
        assert_eq!(quell_link_next_event(link), u64::MAX);
        for number in 0..6 {
            assert_eq!(quell_link_arrive(link, &packet(number), 0), QUELL_OK);
        }
        // 1 ms each; the packet in transmission finishes at the old rate.
        assert_eq!(quell_link_next_event(link), MS);
        assert_eq!(quell_link_set_rate(link, 16_000_000, MS / 2), QUELL_OK);
        assert_eq!(quell_link_advance(link, MS * 2), QUELL_OK);
        let mut backlog = Backlog::default();
        assert_eq!(quell_link_backlog(link, &mut backlog), QUELL_OK);
        // 0 left at 1 ms, 1 at 1.5 ms, 2 at 2 ms when 3 began.
        assert_eq!((backlog.packets, backlog.bytes), (2, 2_000));
        let change = |name: &CStr, value: &CStr| {
            quell_link_configure(link, name.as_ptr(), value.as_ptr(), MS * 2)
        };
        assert_eq!(change(c"limit", c"2p"), QUELL_OK);
        assert_eq!(change(c"limit", c"zero"), QUELL_ERROR_PARAMETER);
        assert_eq!(quell_link_arrive(link, &packet(6), MS * 2), QUELL_OK);
        assert_eq!(quell_link_drain(link, MS * 2), QUELL_OK);
        assert_eq!(CStr::from_ptr(quell_link_queue_name(link, 0)), c"queue");
        assert!(quell_link_queue_name(link, 9).is_null());
        quell_link_free(link);
    }
    assert_eq!(
        log.departed,
        [
            (0, 0, MS, 1_000),
            (1, MS, MS * 3 / 2, 1_000),
            (2, MS * 3 / 2, MS * 2, 1_000),
            (3, MS * 2, MS * 5 / 2, 1_000),
        ]
    );
    let dropped: Vec<_> = log
        .dropped
        .iter()
        .map(|(n, why)| (*n, why.as_str()))
        .collect();
    assert_eq!(dropped, [(6, "limit"), (4, "drained"), (5, "drained")]);
}
