use super::*;
use crate::Drop;
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Who was dropped, and how: `3v` refused by its value, `3V` dropped by its value after it had been accepted, `l` by the limit, `R`
/// by a change of parameters, `D` drained.
#[derive(Default)]
struct Drops(Vec<String>);

impl Observer<TestPacket> for Drops {
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _: Time) {
        let letter = match (drop.reason, drop.queued) {
            (DropReason::Value, false) => "v",
            (DropReason::Value, true) => "V",
            (DropReason::Limit, false) => "l",
            (DropReason::Reconfigured, true) => "R",
            (DropReason::Drained, true) => "D",
            other => panic!("{other:?}"),
        };
        self.0.push(format!("{}{letter}", packet.id));
    }
}

struct Story {
    queue: DropMinValue<TestPacket>,
    drops: Drops,
    next: u64,
}

impl Story {
    /// At 8 Mbit/s: 1 ms is 1 000 bytes.
    fn new(given: &[(&str, &str)]) -> Self {
        let mut settings = Settings::new(Parameters::ROWS);
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        settings.check().unwrap();
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        Self {
            queue: DropMinValue::new(settings, link, Random::new(1, "queue")).unwrap(),
            drops: Drops::default(),
            next: 0,
        }
    }
    /// Packets (value, length) arrive; they are numbered from 0.
    fn arrive(&mut self, packets: &[(u16, u64)]) -> &mut Self {
        for &(value, len) in packets {
            let mut packet = TestPacket::new(self.next, len, Ecn::NotEct);
            packet.value = value;
            self.queue.enqueue(packet, Time::ZERO, &mut self.drops);
            self.next += 1;
        }
        self
    }
    fn set(&mut self, key: &str, value: &str) -> &mut Self {
        let drops = &mut self.drops;
        self.queue.configure(key, value, Time::ZERO, drops).unwrap();
        self
    }
    /// The next `count` that are sent.
    fn send(&mut self, count: usize) -> Vec<u64> {
        let next = || Some(self.queue.dequeue(Time::ZERO, &mut self.drops)?.id);
        core::iter::from_fn(next).take(count).collect()
    }
    /// Who was dropped since the last question.
    fn dropped(&mut self) -> String {
        core::mem::take(&mut self.drops.0).join(" ")
    }
    fn gauge(&self, name: &str) -> Option<Gauge> {
        let mut found = None;
        self.queue.status(Time::ZERO, &mut |reported, gauge| {
            if reported == name {
                found = Some(gauge);
            }
        });
        found
    }
}

/// Arrivals, and who goes when in each form: until the queue is emptied, and meanwhile.
struct Row {
    limit: &'static str,
    arrive: &'static [(u16, u64)],
    ideal: &'static str,
    fifo: [&'static str; 2],
    sent: [&'static [u64]; 2],
}

fn judge(rows: &[Row]) {
    for row in rows {
        for (form, (expected, sent)) in ["ideal", "fifo"]
            .into_iter()
            .zip([[row.ideal, ""], row.fifo].into_iter().zip(row.sent))
        {
            let mut story = Story::new(&[("form", form), ("limit", row.limit)]);
            let before = story.arrive(row.arrive).dropped();
            let left = story.send(99);
            let reported = (before.as_str(), story.dropped(), left.as_slice());
            let expected = (expected[0], String::from(expected[1]), sent);
            assert_eq!(reported, expected, "{form} {:?}", row.arrive);
            assert_eq!(story.queue.backlog(), Backlog::default());
            assert_eq!(story.gauge("lowest_value"), Some(Gauge::Count(0)));
        }
    }
}

#[test]
fn the_lowest_value_goes_and_the_order_stays() {
    judge(&[
        Row {
            limit: "3p",
            arrive: &[
                (5, 100),
                (9, 100),
                (7, 100),
                (8, 100),
                (6, 100),
                (65_535, 1_500),
            ],
            ideal: "0V 4v 2V",
            fifo: ["4v", "0V 2V"],
            sent: [&[1, 3, 5]; 2],
        },
        // Rising values: everybody is overtaken in worth.
        Row {
            limit: "2p",
            arrive: &[(1, 100), (2, 100), (3, 100), (4, 100), (5, 100)],
            ideal: "0V 1V 2V",
            fifo: ["", "0V 1V 2V"],
            sent: [&[3, 4]; 2],
        },
        // Falling values: nobody is.
        Row {
            limit: "2p",
            arrive: &[(5, 100), (4, 100), (3, 100), (2, 100)],
            ideal: "2v 3v",
            fifo: ["2v 3v", ""],
            sent: [&[0, 1]; 2],
        },
        // Two have to go for a large one.
        Row {
            limit: "3000B",
            arrive: &[(7, 1_000), (5, 500), (6, 500), (9, 1_000), (8, 1_000)],
            ideal: "1V 2V",
            fifo: ["", "1V 2V"],
            sent: [&[0, 3, 4]; 2],
        },
        // The small one goes although the one it was to make room for goes too.
        Row {
            limit: "2000B",
            arrive: &[(7, 1_000), (2, 400), (9, 600), (5, 1_000)],
            ideal: "1V 3v",
            fifo: ["3v", "1V"],
            sent: [&[0, 2]; 2],
        },
    ]);
}

#[test]
fn of_equal_values_the_arriving_packet_goes_and_then_the_oldest() {
    judge(&[
        Row {
            limit: "3p",
            arrive: &[(4, 100), (4, 100), (4, 100), (4, 100), (4, 100)],
            ideal: "3v 4v",
            fifo: ["3v 4v", ""],
            sent: [&[0, 1, 2]; 2],
        },
        Row {
            limit: "3p",
            arrive: &[(4, 100), (4, 100), (4, 100), (5, 100), (6, 100)],
            ideal: "0V 1V",
            fifo: ["", "0V 1V"],
            sent: [&[2, 3, 4]; 2],
        },
        // Without values: drop-tail.
        Row {
            limit: "2p",
            arrive: &[(0, 100), (0, 1_500), (0, 40), (1, 40)],
            ideal: "2v 3v",
            fifo: ["2v 3v", ""],
            sent: [&[0, 1]; 2],
        },
    ]);
}

#[test]
fn a_queue_of_one_packet_keeps_the_best() {
    judge(&[Row {
        limit: "1p",
        arrive: &[(5, 100), (5, 100), (3, 100), (6, 1_500), (0, 40), (7, 40)],
        ideal: "1v 2v 0V 4v 3V",
        fifo: ["1v 2v 4v", "0V 3V"],
        sent: [&[5]; 2],
    }]);
}

#[test]
fn what_never_fits_costs_nobody_a_place() {
    judge(&[Row {
        limit: "2000B",
        arrive: &[(1, 1_000), (65_535, 2_001), (65_535, 9_000), (2, 1_000)],
        ideal: "1l 2l",
        fifo: ["1l 2l", ""],
        sent: [&[0, 3]; 2],
    }]);
}

#[test]
fn condemned_packets_go_at_the_head() {
    let mut story = Story::new(&[("form", "fifo"), ("limit", "3000B")]);
    story.arrive(&[(7, 1_000), (5, 1_000), (6, 1_000), (8, 1_000)]);
    // 1 is condemned and stands where it stood.
    assert_eq!(
        (story.dropped().as_str(), story.queue.backlog().packets),
        ("", 4)
    );
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(1_000)));
    assert_eq!(story.gauge("lowest_value"), Some(Gauge::Count(6)));
    assert_eq!(story.send(1), [0]);
    assert_eq!(story.dropped(), "");
    // A younger packet of its value lives, because an older one goes for it; what counts is how much.
    story.arrive(&[(5, 1_000)]);
    assert_eq!(story.send(1), [2]);
    assert_eq!(story.dropped(), "1V");
    assert_eq!(story.send(9), [3, 4]);
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(0)));
    // All that is left is condemned: nothing is sent.
    let mut story = Story::new(&[("form", "fifo"), ("limit", "1000p")]);
    story.arrive(&[(5, 100), (5, 100), (9, 100)]);
    assert_eq!(story.set("limit", "1p").send(1), [2]);
    assert_eq!(story.dropped(), "0V 1V");
    story.arrive(&[(5, 1_000), (6, 400)]).set("limit", "1500B");
    story.queue.drain(Time::ZERO, &mut story.drops);
    assert_eq!(story.dropped(), "3D 4D");
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(0)));
}

#[test]
fn a_packet_goes_whole() {
    let mut story = Story::new(&[("form", "fifo"), ("limit", "3000B")]);
    story.arrive(&[(5, 1_500), (5, 1_500), (6, 100)]);
    // 100 of the 3 000 bytes of value 5 are condemned; another 100 more.
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(100)));
    story.arrive(&[(7, 100)]);
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(200)));
    // The first of the value goes with all of its bytes: 1 300 more have room now.
    assert_eq!(story.send(1), [1]);
    assert_eq!(story.dropped(), "0V");
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(0)));
    // 200 of 3 000 are left: 2 800 fit, and nobody is condemned.
    story.arrive(&[(4, 1_500), (4, 1_300), (4, 1)]);
    assert_eq!(story.dropped(), "6v");
    assert_eq!(story.send(9), [2, 3, 4, 5]);
    assert_eq!(story.dropped(), "");
}

#[test]
fn a_lower_limit_drops_or_condemns_the_lowest() {
    let arrivals = &[(7, 500), (3, 500), (5, 500), (9, 500), (3, 500)];
    for (form, limit, before, after, sent) in [
        ("ideal", "2p", "1R 4R 2R", "", &[0, 3][..]),
        ("fifo", "2p", "", "1V 2V 4V", &[0, 3]),
        ("ideal", "1500B", "1R 4R", "", &[0, 2, 3]),
        ("fifo", "1500B", "", "1V 4V", &[0, 2, 3]),
        // 1 600 bytes: of value 3 there is still room for 100, but the packet goes whole.
        ("ideal", "1600B", "1R 4R", "", &[0, 2, 3]),
        ("fifo", "1600B", "", "1V 4V", &[0, 2, 3]),
    ] {
        let mut story = Story::new(&[("form", form), ("limit", "2500B")]);
        story.arrive(arrivals).set("limit", limit);
        assert_eq!(story.dropped(), before, "{form} {limit}");
        assert_eq!(story.send(99), sent, "{form} {limit}");
        assert_eq!(story.dropped(), after, "{form} {limit}");
    }
    // A limit in time follows the rate: 3 ms are 3 000 bytes, then 1 500. The next arrival makes it fit.
    for (form, before, sent) in [("ideal", "1V 0V 3v", &[2][..]), ("fifo", "3v", &[2])] {
        let mut story = Story::new(&[("form", form), ("limit", "3ms")]);
        story.arrive(&[(5, 1_000), (4, 1_000), (7, 1_000)]);
        let half = Rate::from_mbps(4);
        story.queue.set_rate(half, Time::ZERO, &mut story.drops);
        story
            .queue
            .set_rate(Rate::ZERO, Time::ZERO, &mut story.drops);
        assert_eq!(story.arrive(&[(6, 1_000)]).dropped(), before);
        assert_eq!(story.send(9), sent);
    }
}

#[test]
fn condemned_packets_stay_condemned_in_another_unit() {
    let mut story = Story::new(&[("form", "fifo"), ("limit", "4000B")]);
    // Of the 3 000 bytes of value 5 one packet and a part of the next are condemned.
    story.arrive(&[(5, 1_000), (6, 1_000), (5, 1_000), (5, 1_000), (8, 1_500)]);
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(1_500)));
    story.set("limit", "10p");
    assert_eq!(story.gauge("condemned_packets"), Some(Gauge::Count(2)));
    assert_eq!(story.send(9), [1, 3, 4]);
    assert_eq!(story.dropped(), "0V 2V");
    // And back, with nothing condemned.
    story.arrive(&[(5, 300), (6, 1_000)]).set("limit", "1500B");
    assert_eq!(story.gauge("condemned_bytes"), Some(Gauge::Count(0)));
    assert_eq!(story.send(9), [5, 6]);
}

#[test]
fn the_buffer_bounds_what_is_condemned() {
    let rising: Vec<(u16, u64)> = (1..=10).map(|value| (value, 500)).collect();
    for (given, dropped, sent) in [
        // At most 2 · 2 packets stand, 2 of them to be sent.
        (
            &[("limit", "2p"), ("buffer", "2")][..],
            "4l 5l 6l 7l 8l 9l",
            &[2, 3][..],
        ),
        (
            &[("limit", "2p"), ("buffer", "1")],
            "2l 3l 4l 5l 6l 7l 8l 9l",
            &[0, 1],
        ),
        (
            &[("limit", "1500B"), ("buffer", "2")],
            "6l 7l 8l 9l",
            &[3, 4, 5],
        ),
        (&[("limit", "2p"), ("buffer", "1024")], "", &[8, 9]),
    ] {
        let given: Vec<_> = given.iter().copied().chain([("form", "fifo")]).collect();
        let mut story = Story::new(&given);
        assert_eq!(story.arrive(&rising).dropped(), dropped, "{given:?}");
        assert_eq!(story.send(99), sent, "{given:?}");
    }
}

#[test]
fn a_value_is_what_it_was_on_arrival() {
    for form in ["ideal", "fifo"] {
        let mut story = Story::new(&[("form", form), ("limit", "2p"), ("default_value", "5")]);
        story
            .arrive(&[(0, 100), (9, 100)])
            .set("default_value", "20");
        // The new one without a value is worth more than the old one, and than 9.
        assert_eq!(
            story.arrive(&[(0, 100), (0, 100)]).send(9),
            [2, 3],
            "{form}"
        );
    }
    // Above `highest_value` all are equal.
    let given = [("form", "fifo"), ("limit", "1p"), ("highest_value", "10")];
    let mut story = Story::new(&given);
    story.arrive(&[(10, 100), (11, 100), (65_535, 100)]);
    assert_eq!(story.dropped(), "1v 2v");
}
