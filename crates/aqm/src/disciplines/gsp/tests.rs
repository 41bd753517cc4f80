use super::*;
use crate::Qdisc as _;
use crate::observer::Drop;
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Rate;
use std::string::{String, ToString};
use std::vec::Vec;

/// What became of each packet: accepted, dropped by GSP, lost to the limit, marked.
#[derive(Default)]
struct Fates(String);

impl Observer<TestPacket> for Fates {
    fn enqueued(&mut self, _queue: QueueId, _packet: &TestPacket, _now: Time) {
        // A marked packet has its letter already.
        match self.0.pop() {
            Some('m') => self.0.push('M'),
            last => {
                self.0.extend(last);
                self.0.push('A');
            }
        }
    }
    fn marked(&mut self, _queue: QueueId, _packet: &TestPacket, reason: MarkReason, _now: Time) {
        assert_eq!(reason, MarkReason::Aqm);
        self.0.push('m');
    }
    fn dropped(&mut self, _packet: TestPacket, drop: Drop, _now: Time) {
        self.0.push(match drop.reason {
            DropReason::Aqm => 'G',
            DropReason::Limit => 'L',
            other => panic!("{other:?}"),
        });
    }
}

/// On a link of 8 Mbit/s: 1 000 bytes take 1 ms.
fn gsp(given: &[(&str, &str)]) -> Result<Gsp<TestPacket>, ParameterError> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    let link = Link {
        rate: Rate::from_mbps(8),
        mtu: Bytes::new(1_500),
    };
    Gsp::new(settings, link, Random::new(1, "queue"))
}

fn packet(ecn: Ecn, at: Time) -> TestPacket {
    let mut packet = TestPacket::new(0, 1_000, ecn);
    packet.set_arrival(at);
    packet
}

/// One letter each ms: `a` is an arrival, `e` one that is ECN-capable, `d` a departure, anything else a pause.
fn fates(given: &[(&str, &str)], script: &str) -> String {
    let mut gsp = gsp(given).unwrap();
    let mut fates = Fates::default();
    for (ms, what) in script.chars().enumerate() {
        let now = Time::from_millis(ms as u64);
        match what {
            'a' => gsp.enqueue(packet(Ecn::NotEct, now), now, &mut fates),
            'e' => gsp.enqueue(packet(Ecn::Ect0, now), now, &mut fates),
            'd' => drop(gsp.dequeue(now, &mut fates)),
            _ => {}
        }
    }
    fates.0
}

fn gauge(gsp: &Gsp<TestPacket>, name: &str, now: Time) -> Gauge {
    let mut found = None;
    gsp.status(now, &mut |gauge, value| {
        if gauge == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("no gauge {name}"))
}

/// T2: threshold 125 kB, interval 0.2 s, a packet of 1250 bytes each ms and no departure.
#[test]
fn one_drop_at_the_first_violation_and_then_after_the_interval() {
    let mut gsp = gsp(&[("threshold", "125kB"), ("limit", "2MB")]).unwrap();
    let mut fates = Fates::default();
    for ms in 0..800 {
        let mut packet = TestPacket::new(ms, 1_250, Ecn::NotEct);
        packet.set_arrival(Time::from_millis(ms));
        gsp.enqueue(packet, Time::from_millis(ms), &mut fates);
    }
    let dropped: Vec<_> = fates.0.match_indices('G').map(|(ms, _)| ms).collect();
    // The packet of 100 ms finds exactly 125 kB, and that of 101 ms finds more. 301 ms is not after 101 ms + 200 ms.
    assert_eq!(dropped, [101, 302, 503, 704]);
    assert!(!fates.0.contains('L'));
}

#[test]
fn open_points_are_options() {
    let two = ("threshold", "2kB");
    let one_of_three = [("threshold", "1p"), ("limit", "3p"), ("interval", "5ms")];
    let with = |more: (&'static str, &'static str)| {
        let mut given = one_of_three.to_vec();
        given.push(more);
        given
    };
    for (given, script, expected) in [
        // A queue of 2 kB is not above 2 kB; with the arriving packet it is.
        (&[two][..], "aaaa", "AAAG"),
        (&[two, ("count_arriving", "true")], "aaaa", "AAGA"),
        // Dropped at 2 ms; full from 3 ms on; after 7 ms GSP drops again.
        (&one_of_three[..], "aaaaaaaaaa", "AAGALLLLGL"),
        // What does not fit is never GSP's; once a packet fits, the timeout is long over.
        (
            &with(("limit_first", "true")),
            "aaaaaaaaaadad",
            "AAGALLLLLLG",
        ),
        (&one_of_three, "aaaaaaaaaadad", "AAGALLLLGLA"),
        // Each loss begins the timeout anew.
        (
            &with(("overflow_restarts", "true")),
            "aaaaaaaaaaaaaaaa",
            "AAGALLLLLLLLLLLL",
        ),
        (
            &with(("overflow_restarts", "true")),
            "aaaaa.....a",
            "AAGALG",
        ),
        (&one_of_three, "aaaaa..a", "AAGALL"),
        (&with(("overflow_restarts", "true")), "aaaa....a", "AAGAG"),
        // A mark instead of a drop, for those who understand it and where there is room.
        (&with(("ecn", "true")), "eeeee...e", "AAMLLG"),
        (&with(("ecn", "true")), "aaaaa", "AAGAL"),
        (&with(("noecn", "true")), "eeeee", "AAGAL"),
    ] {
        assert_eq!(fates(given, script), expected, "{given:?} {script}");
    }
}

#[test]
fn a_sojourn_counts_until_the_queue_is_empty() {
    let given = [
        ("threshold", "3ms"),
        ("delay", "sojourn"),
        ("interval", "1ms"),
        ("limit", "50p"),
    ];
    // Four wait; nobody has left, so nothing is dropped. The departure at 5 ms has waited 5 ms.
    assert_eq!(fates(&given, "aaaa.da"), "AAAAG");
    // The one at 3 ms has waited exactly 3 ms.
    assert_eq!(fates(&given, "aaada"), "AAAA");
    // The last departure leaves an empty queue.
    assert_eq!(fates(&given, "a....da"), "AA");
}

#[test]
fn a_threshold_in_time_follows_the_rate_but_not_an_outage() {
    let mut gsp = gsp(&[("threshold", "3ms"), ("limit", "9ms")]).unwrap();
    let mut fates = Fates::default();
    let bytes = |n: u64| Threshold::Bytes(Bytes::new(n));
    assert_eq!(gsp.law.config.threshold, bytes(3_000));
    for (rate, expected) in [
        (Rate::from_mbps(16), bytes(6_000)),
        (Rate::ZERO, bytes(6_000)),
        (Rate::from_bps(8), bytes(0)),
        (Rate::UNLIMITED, Threshold::Bytes(Bytes::MAX)),
    ] {
        gsp.set_rate(rate, Time::ZERO, &mut fates);
        assert_eq!(gsp.law.config.threshold, expected, "{rate}");
    }
}

/// 1 kB is above the threshold for 3 s.
fn booked() -> (Gsp<TestPacket>, Time) {
    let given = [("threshold", "500B"), ("adaptive", "true"), ("limit", "5p")];
    let mut gsp = gsp(&given).unwrap();
    gsp.enqueue(
        packet(Ecn::NotEct, Time::ZERO),
        Time::ZERO,
        &mut Fates::default(),
    );
    (gsp, Time::from_secs(3))
}

#[test]
fn changes_keep_what_is_booked() {
    // Cumulative time 3 s after the change, and 1 s after that.
    for (key, value, then, later) in [
        ("interval", "100ms", 6, 8),
        ("alpha", "1", 6, 7),
        ("max_time", "5s", 5, 5),
        ("threshold", "1kB", 6, 5),
        ("adaptive", "true", 6, 8),
    ] {
        let (mut gsp, now) = booked();
        let cumulative = |gsp: &_, at| gauge(gsp, "cumulative_time", at);
        let seconds = |secs| Gauge::Delay(Time::from_secs(secs));
        assert_eq!(cumulative(&gsp, now), seconds(6));
        gsp.configure(key, value, now, &mut Fates::default())
            .unwrap();
        assert_eq!(cumulative(&gsp, now), seconds(then), "{key}");
        let after = now + Time::from_secs(1);
        assert_eq!(cumulative(&gsp, after), seconds(later), "{key}");
    }
    let (mut gsp, now) = booked();
    let mut fates = Fates::default();
    // 0.2 s / (1 + 6 s / 1 s), rounded down.
    let timeout = |gsp: &_| gauge(gsp, "timeout", now);
    assert_eq!(timeout(&gsp), Gauge::Delay(Time::from_nanos(28_571_428)));
    gsp.configure("tau", "6s", now, &mut fates).unwrap();
    assert_eq!(timeout(&gsp), Gauge::Delay(Time::from_millis(100)));
    gsp.configure("tau", "1s", now, &mut fates).unwrap();
    // Alpha, tau and max_time belong to the adaptive form.
    let refused = gsp.configure("adaptive", "false", now, &mut fates);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "adaptive = false: does not go with tau = 1s, which has an effect only with adaptive = true"
    );
    // Switched off and on again it begins anew.
    let (mut gsp, now) = booked();
    gsp.configure("adaptive", "false", now, &mut fates).unwrap();
    assert_eq!(
        gauge(&gsp, "timeout", now),
        Gauge::Delay(Time::from_millis(200))
    );
    gsp.configure("adaptive", "true", now, &mut fates).unwrap();
    let cumulative = gauge(&gsp, "cumulative_time", now + Time::from_secs(1));
    assert_eq!(cumulative, Gauge::Delay(Time::from_secs(2)));
}

/// Time below counts again only after overflow, empty and above, in this order.
#[test]
fn time_below_does_not_count_after_an_overflow() {
    // Above with 2 packets, full with 3. GSP drops once.
    let given = [
        ("threshold", "1p"),
        ("limit", "3p"),
        ("adaptive", "true"),
        ("interval", "1h"),
        ("alpha", "1"),
    ];
    let mut gsp = gsp(&given).unwrap();
    let mut fates = Fates::default();
    let mut story = Vec::new();
    for (second, what) in "aaaaa.ddd.aa.dd.".chars().enumerate() {
        let now = Time::from_secs(second as u64);
        match what {
            'a' => gsp.enqueue(packet(Ecn::NotEct, now), now, &mut fates),
            'd' => drop(gsp.dequeue(now, &mut fates)),
            _ => {}
        }
        let (Gauge::Delay(booked), Gauge::Count(overflow)) = (
            gauge(&gsp, "cumulative_time", now),
            gauge(&gsp, "overflow", now),
        ) else {
            panic!("other gauges");
        };
        story.push((booked.as_nanos() / 1_000_000_000, overflow));
    }
    assert_eq!(fates.0, "AAGALAA");
    // Above from 1 s to 7 s, lost at 4 s, empty at 8 s, above from 11 s to 13 s; below counts from then on.
    assert_eq!(
        story,
        [
            (0, 0),
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 1),
            (4, 1),
            (5, 1),
            (6, 1),
            (6, 2),
            (6, 2),
            (6, 2),
            (6, 0),
            (7, 0),
            (8, 0),
            (7, 0),
            (6, 0),
        ]
    );
}

#[test]
fn what_cannot_work_or_does_nothing_is_refused() {
    for (given, message) in [
        (
            &[("threshold", "100ms")][..],
            "threshold = 100ms: must be below the limit, which is 100ms",
        ),
        (
            &[("threshold", "100kB")],
            "threshold = 100kB: must be below the limit, which is 100ms",
        ),
        (
            &[("threshold", "10p"), ("limit", "10p")],
            "threshold = 10p: must be below the limit, which is 10p",
        ),
        (
            &[("threshold", "10p"), ("delay", "sojourn")],
            "delay = sojourn: has an effect only with a threshold in time",
        ),
        (
            &[("delay", "sojourn"), ("count_arriving", "true")],
            "count_arriving = true: has no effect with delay = \"sojourn\"",
        ),
        (
            &[("alpha", "2")],
            "alpha = 2: has an effect only with adaptive = true",
        ),
        (
            &[("alpha", "17"), ("adaptive", "true")],
            "alpha = 17: must be a number from 0.001 to 16",
        ),
        (
            &[("limit", "1kB"), ("threshold", "500B")],
            "limit = 1kB: never accepts a packet of 1500B; it must be 1500B or more",
        ),
    ] {
        assert_eq!(gsp(given).unwrap_err().to_string(), message);
    }
    let (mut gsp, now) = booked();
    let mut fates = Fates::default();
    assert!(gsp.configure("delay", "sojourn", now, &mut fates).is_err());
    assert!(gsp.configure("limit", "1p", now, &mut fates).is_ok());
    assert!(gsp.configure("threshold", "1p", now, &mut fates).is_err());
}

/// Only where the rate has fallen so far that the limit, in time, is less than a packet.
#[test]
fn a_loss_to_the_limit_of_an_empty_queue_has_drained_it() {
    // A limit in time holds packets at any rate; one in bytes may be below a packet that is larger than the usual ones.
    let given = [
        ("threshold", "500B"),
        ("limit", "1500B"),
        ("adaptive", "true"),
    ];
    let mut gsp = gsp(&given).unwrap();
    let mut fates = Fates::default();
    let mut large = TestPacket::new(0, 2_000, Ecn::NotEct);
    large.set_arrival(Time::ZERO);
    gsp.enqueue(large, Time::ZERO, &mut fates);
    assert_eq!(fates.0, "L");
    assert_eq!(gauge(&gsp, "overflow", Time::ZERO), Gauge::Count(2));
}
