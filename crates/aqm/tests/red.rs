//! RED behind a link: operating points against closed forms, how it signals, and what changes do.
//!
//! The laws are compared with exact arithmetic beside the code; here they are driven as a link drives
//! them.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Event, Ledger, TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::Discipline;
use quell_aqm::qdisc::Gauge;
use quell_aqm::{Bottleneck, DropReason, Ecn, MarkReason, Packet, Qdisc, Rate, Time};

type Given<'a> = &'a [(&'a str, &'a str)];

/// 1 000 bytes at 8 Mbit/s: a packet takes a millisecond.
const RATE: Rate = Rate::from_mbps(8);
const LEN: u64 = 1_000;

fn gauge(qdisc: &Discipline<TestPacket>, wanted: &str) -> f64 {
    let mut found = None;
    qdisc.status(Time::ZERO, &mut |name, gauge| {
        if name == wanted {
            found = Some(match gauge {
                Gauge::Ratio(ratio) => ratio,
                Gauge::Delay(delay) => delay.as_nanos() as f64,
                Gauge::Count(count) => count as f64,
            });
        }
    });
    found.unwrap_or_else(|| panic!("no gauge {wanted}"))
}

/// A link that a constant, unresponsive load overloads.
struct Load {
    link: Bottleneck<TestPacket, Discipline<TestPacket>, Ledger>,
    now: Time,
    next_id: u64,
    offered: u64,
    average: f64,
    samples: f64,
}

impl Load {
    fn new(given: Given<'_>) -> Self {
        let qdisc = discipline("red", given, RATE).unwrap();
        Self {
            link: Bottleneck::new(qdisc, RATE, Framing::default(), Ledger::default()),
            now: Time::ZERO,
            next_id: 0,
            offered: 0,
            average: 0.0,
            samples: 0.0,
        }
    }
    /// For `span` a packet every `interval`; what is measured starts anew.
    fn run(&mut self, interval: Time, span: Time, ecn: Ecn) -> &mut Self {
        self.link.observer_mut().events.clear();
        (self.offered, self.average, self.samples) = (0, 0.0, 0.0);
        let end = self.now + span;
        while self.now < end {
            self.now += interval;
            let packet = TestPacket::new(self.next_id, 0, LEN, ecn);
            self.link.arrive(packet, self.now, &mut |_, _| ());
            self.next_id += 1;
            self.offered += 1;
            let form = gauge_name(self.link.qdisc());
            self.average += gauge(self.link.qdisc(), form);
            self.samples += 1.0;
        }
        self
    }
    fn mean_average(&self) -> f64 {
        self.average / self.samples
    }
    fn drop_ratio(&self, reason: DropReason) -> f64 {
        self.link.observer().drops(reason) as f64 / self.offered as f64
    }
}

fn gauge_name(qdisc: &Discipline<TestPacket>) -> &'static str {
    let mut name = "average_bytes";
    qdisc.status(Time::ZERO, &mut |known, _| {
        if known == "average_packets" {
            name = known;
        }
    });
    name
}

#[test]
fn the_average_rests_where_signals_equal_the_excess_load() {
    // A load of ρ times the rate must lose d = 1 − 1/ρ. Spacing that is uniform on 1..=1/p has a mean
    // of (1 + 1/p)/2, so p = d/(2 − d) in Linux; on 1..=1/p − 1 (the paper) p = d/2; on 1/p..=2/p − 1
    // (wait) p = 3/(2/d + 1). The average is where the law gives this p.
    let linux = |d: f64| d / (2.0 - d);
    let paper = |d: f64| d / 2.0;
    let waiting = |d: f64| 3.0 / (2.0 / d + 1.0);
    let bytes: Given<'_> = &[
        ("min", "20kB"),
        ("max", "60kB"),
        ("limit", "500kB"),
        ("probability", "0.2"),
    ];
    let floyd: Given<'_> = &[
        ("form", "floyd"),
        ("min", "20p"),
        ("max", "60p"),
        ("limit", "500p"),
        ("probability", "0.2"),
    ];
    let mut wait = floyd.to_vec();
    wait.push(("wait", "true"));
    let mut gentle = floyd.to_vec();
    gentle[4].1 = "0.02";
    for (given, needed, unit, ends) in [
        (bytes, linux as fn(f64) -> f64, 1_000.0, false),
        (floyd, paper, 1.0, false),
        (&wait, waiting, 1.0, false),
        (&gentle, paper, 1.0, true),
    ] {
        for micros in [950, 900, 850] {
            let d = 1.0 - micros as f64 / 1_000.0;
            let p = needed(d);
            let packets = if ends {
                // From 0.02 at 60 to 1 at 120.
                60.0 + 60.0 * (p - 0.02) / 0.98
            } else {
                20.0 + 40.0 * p / 0.2
            };
            let mut load = Load::new(given);
            let interval = Time::from_micros(micros);
            load.run(interval, Time::from_secs(60), Ecn::NotEct);
            load.run(interval, Time::from_secs(200), Ecn::NotEct);
            let (average, drops) = (load.mean_average() / unit, load.drop_ratio(DropReason::Aqm));
            // Whole packets and 12 000 to 30 000 draws leave a percent.
            assert!(
                (drops / d - 1.0).abs() < 0.01,
                "{given:?} {micros}: {drops}"
            );
            assert!(
                (average / packets - 1.0).abs() < 0.03,
                "{given:?} {micros}: {average} {packets}"
            );
        }
    }
}

#[test]
fn adaptive_red_holds_the_middle_whatever_the_load() {
    // [min + 0.4·(max − min), min + 0.6·(max − min)] is 36 to 44 packets.
    for (given, unit) in [
        (&[("min", "20kB"), ("max", "60kB")][..], 1_000.0),
        (
            &[
                ("form", "floyd"),
                ("min", "20p"),
                ("max", "60p"),
                ("limit", "320p"),
            ],
            1.0,
        ),
    ] {
        let average = |adaptive, micros| {
            let given: Vec<_> = given
                .iter()
                .copied()
                .chain([("adaptive", adaptive)])
                .collect();
            let mut load = Load::new(&given);
            let interval = Time::from_micros(micros);
            load.run(interval, Time::from_secs(100), Ecn::NotEct);
            load.run(interval, Time::from_secs(100), Ecn::NotEct)
                .mean_average()
                / unit
        };
        // A load that needs 1 %, 3.5 % and 7.5 % of drops.
        for micros in [990, 965, 925] {
            let (fixed, adaptive) = (average("false", micros), average("true", micros));
            assert!(
                (35.5..=44.5).contains(&adaptive),
                "{given:?} {micros}: {adaptive}"
            );
            assert!(
                !(35.5..=44.5).contains(&fixed),
                "{given:?} {micros}: {fixed}"
            );
        }
    }
}

#[test]
fn signals_follow_the_flags() {
    const FULL: Given<'_> = &[
        ("min", "3kB"),
        ("max", "9kB"),
        ("limit", "90kB"),
        ("burst", "3"),
    ];
    const FLOYD: Given<'_> = &[
        ("form", "floyd"),
        ("min", "3kB"),
        ("max", "9kB"),
        ("weight", "1"),
    ];
    let fates = |form: Given<'_>, flags: Given<'_>, ecn| {
        let given: Vec<_> = form.iter().chain(flags).copied().collect();
        let mut qdisc = discipline("red", &given, RATE).unwrap();
        let mut ledger = Ledger::default();
        // A burst that takes the average far above both thresholds.
        for id in 0..80 {
            let mut packet = TestPacket::new(id, 0, LEN, ecn);
            packet.set_arrival(Time::from_millis(1));
            qdisc.enqueue(packet, Time::from_millis(1), &mut ledger);
        }
        let drops = |reason| ledger.drops(reason) > 0;
        (
            ledger.marks(MarkReason::Aqm) > 0,
            drops(DropReason::Aqm),
            drops(DropReason::Overload),
        )
    };
    let ecn = ("ecn", "true");
    for form in [FULL, FLOYD] {
        for (flags, code, expected) in [
            (&[][..], Ecn::Ect0, (false, true, false)),
            (&[ecn], Ecn::Ect0, (true, false, false)),
            (&[ecn], Ecn::Ect1, (true, false, false)),
            (&[ecn], Ecn::NotEct, (false, true, false)),
            // Marked before: neither marked again nor dropped.
            (&[ecn], Ecn::Ce, (false, false, false)),
            (
                &[ecn, ("nodrop", "true")],
                Ecn::NotEct,
                (false, false, false),
            ),
            (
                &[ecn, ("harddrop", "true"), ("nodrop", "true")],
                Ecn::NotEct,
                (false, true, false),
            ),
        ] {
            assert_eq!(
                fates(form, flags, code),
                expected,
                "{form:?} {flags:?} {code:?}"
            );
        }
        // Above max an ECN packet is dropped; whether it is marked before hangs on chance.
        let (_, aqm, overload) = fates(form, &[ecn, ("harddrop", "true")], Ecn::Ect0);
        assert_eq!((aqm, overload), (false, true));
    }
}

#[test]
fn flags_without_effect_are_refused() {
    for (given, message) in [
        (
            &[("nodrop", "true")][..],
            "nodrop = true: has an effect only with ecn = true",
        ),
        (
            &[("harddrop", "true")],
            "harddrop = true: has an effect only with ecn = true",
        ),
        (
            &[("min", "20p"), ("max", "60p")],
            "max = 60p: must be in bytes or time with form = \"linux\"",
        ),
        (
            &[("limit", "60p")],
            "limit = 60p: must be in bytes or time with form = \"linux\"",
        ),
        (
            &[("form", "floyd"), ("min", "20p"), ("max", "60kB")],
            "min = 20p: must have the unit of max",
        ),
        (
            &[("min", "20kB"), ("max", "10kB")],
            "min = 20kB: is 20000 and must not be above max, 10000",
        ),
        (
            &[("min", "20kB"), ("max", "60kB"), ("burst", "10")],
            "burst = 10p: is too small: must be at least 21p, 1 + min / avpkt",
        ),
        (
            &[("min", "500B")],
            "min = 500B: makes min 500B, which must be above avpkt, 1kB, for any weight to allow the burst",
        ),
        (
            &[("max", "2kB")],
            "max = 2kB: makes min 666B, which must be above avpkt, 1kB, for any weight to allow the burst",
        ),
        (
            &[("min", "3MB"), ("burst", "9000")],
            "max = derived: is 9000000 and must be below 2^17 with this burst",
        ),
        (
            &[("probability", "0.000001")],
            "probability = 0.000001: is too small: must be above (max - min) in bytes / 2^31",
        ),
        (
            &[("bandwidth", "8bit")],
            "bandwidth = 8bit: is too low for packets of 1000 bytes",
        ),
        (
            &[("limit", "9GB")],
            "limit = 9GB: is 9000000000 and must be from 1 to 4294967295",
        ),
        (
            &[("burst", "6"), ("form", "floyd")],
            "burst = 6p: has an effect only with form = \"linux\"",
        ),
    ] {
        let error = discipline("red", given, RATE).unwrap_err().to_string();
        assert_eq!(error, message, "{given:?}");
    }
}

#[test]
fn the_defaults_are_those_of_tc_at_every_usual_rate() {
    // 320 ms, a quarter and a twelfth of it; the kernel's 31 bits bound the weight, not the rate.
    for mbps in [1, 10, 40, 1_000, 10_000, 100_000] {
        let rate = Rate::from_mbps(mbps);
        for form in ["linux", "floyd"] {
            let made = discipline("red", &[("form", form)], rate);
            assert!(made.is_ok(), "{form} at {rate}: {:?}", made.err());
        }
    }
    // Thresholds of less than an average packet make no RED: where somebody wrote them that is refused, and derived ones are larger.
    let slow = Rate::from_bps(100_000);
    assert!(discipline("red", &[], slow).is_ok());
    let limit = discipline("red", &[("limit", "200ms")], slow);
    assert!(limit.is_ok(), "{:?}", limit.err());
    let given = [("min", "5ms"), ("max", "15ms")];
    let message = discipline("red", &given, slow).unwrap_err().to_string();
    assert!(message.starts_with("min = 5ms: makes min 62B"), "{message}");
}

#[test]
fn an_average_decays_while_the_link_is_idle() {
    // Floyd: (1 − w)^m with m packets of 1 ms; 0.998^500 = 0.367.
    let mut load = Load::new(&[
        ("form", "floyd"),
        ("min", "100p"),
        ("max", "300p"),
        ("limit", "400p"),
    ]);
    load.run(Time::from_micros(900), Time::from_secs(2), Ecn::NotEct);
    let busy = gauge(load.link.qdisc(), "average_packets");
    // The queue empties first.
    let waiting = Time::from_millis(load.link.backlog().packets + 1);
    load.now += waiting + Time::from_millis(500);
    load.run(Time::from_millis(1), Time::from_millis(1), Ecn::NotEct);
    let rested = gauge(load.link.qdisc(), "average_packets");
    assert!((rested / busy - 0.367).abs() < 0.01, "{busy} {rested}");
}

#[test]
fn a_change_starts_linux_anew_and_keeps_the_packets() {
    for (form, starts_anew) in [("linux", true), ("floyd", false)] {
        let given = [("form", form), ("min", "20kB"), ("max", "60kB")];
        let mut load = Load::new(&given);
        load.run(Time::from_micros(900), Time::from_secs(10), Ecn::NotEct);
        let before = (
            load.link.backlog(),
            gauge(load.link.qdisc(), "average_bytes"),
        );
        assert!(before.0.packets > 10 && before.1 > 20_000.0, "{before:?}");
        let now = load.now;
        load.link
            .configure("probability", "0.5", now, &mut |_, _| ())
            .unwrap();
        let average = gauge(load.link.qdisc(), "average_bytes");
        assert_eq!(load.link.backlog(), before.0);
        assert_eq!(average, if starts_anew { 0.0 } else { before.1 });
        // A limit below what waits refuses, and drops nothing.
        load.link
            .configure("limit", "2kB", now, &mut |_, _| ())
            .unwrap();
        assert_eq!(load.link.backlog(), before.0);
        load.run(Time::from_micros(100), Time::from_millis(1), Ecn::NotEct);
        let events = &load.link.observer().events;
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Enqueued(..)))
        );
        assert!(load.link.observer().drops(DropReason::Limit) > 0);
    }
}

#[test]
fn thresholds_in_time_follow_the_rate() {
    for form in ["linux", "floyd"] {
        let given = [
            ("form", form),
            ("probability", "0.2"),
            ("min", "20ms"),
            ("max", "60ms"),
            ("adaptive", "true"),
        ];
        let mut load = Load::new(&given);
        load.run(Time::from_micros(900), Time::from_secs(100), Ecn::NotEct);
        let (before, probability) = (
            gauge(load.link.qdisc(), "average_bytes"),
            gauge(load.link.qdisc(), "max_probability"),
        );
        let now = load.now;
        load.link.set_rate(Rate::from_mbps(4), now, &mut |_, _| ());
        // The average and what was adapted to stay …
        let after = gauge(load.link.qdisc(), "average_bytes");
        assert!((after - before).abs() <= 1.0, "{before} {after}");
        assert_eq!(gauge(load.link.qdisc(), "max_probability"), probability);
        // … and half the bytes make the same delay.
        load.run(Time::from_micros(1_800), Time::from_secs(100), Ecn::NotEct);
        let halved = load
            .run(Time::from_micros(1_800), Time::from_secs(100), Ecn::NotEct)
            .mean_average();
        assert!((17_500.0..=22_500.0).contains(&halved), "{halved}");
        // A rate at which nothing could be configured leaves the last thresholds, and no rate all.
        for rate in [
            Rate::from_bps(8_000),
            Rate::ZERO,
            Rate::UNLIMITED,
            Rate::from_bps(u64::MAX - 1),
        ] {
            let now = load.now;
            load.link.set_rate(rate, now, &mut |_, _| ());
            load.run(Time::from_millis(2), Time::from_millis(20), Ecn::NotEct);
        }
    }
}

#[test]
fn the_limit_refuses_what_the_average_lets_in() {
    // The average is slow: a burst into an empty queue is dropped by the limit alone.
    let mut load = Load::new(&[
        ("limit", "30kB"),
        ("min", "20kB"),
        ("max", "60kB"),
        ("burst", "400"),
    ]);
    load.run(Time::from_nanos(1), Time::from_nanos(100), Ecn::NotEct);
    let ledger = load.link.observer();
    assert_eq!(ledger.drops(DropReason::Limit), 100 - 31);
    assert_eq!(ledger.drops(DropReason::Aqm), 0);
}

#[test]
fn a_marked_packet_that_the_full_queue_refuses_is_told_once() {
    let given = [
        ("form", "floyd"),
        ("min", "1p"),
        ("max", "1p"),
        ("weight", "1"),
        ("limit", "5p"),
        ("ecn", "true"),
    ];
    let mut load = Load::new(&given);
    load.run(Time::from_nanos(1), Time::from_nanos(50), Ecn::Ect0);
    let events = &load.link.observer().events;
    let marked = events
        .iter()
        .filter(|event| matches!(event, Event::Marked(..)))
        .count();
    assert_eq!(load.link.observer().drops(DropReason::Limit), 50 - 6);
    assert!(marked <= 5, "{marked}");
}
