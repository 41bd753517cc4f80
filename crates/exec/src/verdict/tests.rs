//! Who limited, interval by interval.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use super::*;
use crate::capacity::Capacity;
use quell_measure::Hop;
use quell_units::Bytes;

const INTERVAL: Time = Time::from_millis(100);

/// Of links a, b … with these rates.
fn judge(rates: &[[Rate; 2]], has_relay: bool) -> Judge {
    let links = rates.iter().zip('a'..);
    let links = links.map(|(rates, name)| LinkCapacities {
        name: name.to_string(),
        capacities: rates.map(Capacity::Rate),
    });
    Judge::new(links.collect(), has_relay, Time::from_millis(20), INTERVAL)
}

fn row(number: u64, direction: Direction, packets: u64, delay: Time) -> QueueRow {
    QueueRow {
        time: INTERVAL * number,
        length: INTERVAL,
        hop: Hop::FIRST,
        queue: "queue",
        direction,
        packets,
        bytes: Bytes::new(packets * 1_500),
        marked: 0,
        dropped: 0,
        delay_mean: Some(delay),
        delay_max: Some(delay),
        backlog: Bytes::ZERO,
    }
}

#[test]
fn each_interval_has_the_one_that_limited_it() {
    // 12 Mbit/s are 100 packets in an interval.
    let rate = Rate::from_mbps(12);
    let mut judge = judge(&[[rate, rate]], true);
    let held = |down: u64, up: u64| [Time::from_millis(down), Time::from_millis(up)];
    let cases = [
        // Packets and delay down, packets up, what was held: who limited down and up.
        (95, 0, 40, held(90, 0)),
        (50, 0, 40, held(60, 80)),
        (50, 0, 2, held(0, 0)),
        (80, 9, 2, held(0, 0)),
        (1, 0, 0, held(0, 0)),
    ];
    for (number, (down, delay, up, held)) in (1..).zip(cases) {
        judge.row(&row(
            number,
            Direction::Forward,
            down,
            Time::from_millis(delay),
        ));
        judge.row(&row(number, Direction::Reverse, up, Time::ZERO));
        judge.bin(Bin {
            end: INTERVAL * number,
            open: INTERVAL,
            held,
            window_limited: Time::ZERO,
        });
        judge.advance();
    }
    let limits = judge.finish();
    assert_eq!(
        (limits.down.link, limits.down.program, limits.down.beyond),
        (0.5, 0.25, 0.25)
    );
    assert_eq!(
        (limits.up.link, limits.up.program, limits.up.beyond),
        (0.0, 0.5, 0.5)
    );
    assert!((limits.down.active_s - 0.4).abs() < 1e-9);
}

#[test]
fn a_link_that_became_slower_limits_by_its_new_rate() {
    let mut judge = judge(&[[Rate::from_mbps(12), Rate::UNLIMITED]], false);
    let slower = LinkChange::SetRate {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        rate: Rate::from_mbps(6),
    };
    judge.follow(&[(INTERVAL * 2, slower)], Later::default());
    for number in 1..=4 {
        judge.row(&row(number, Direction::Forward, 50, Time::ZERO));
        judge.row(&row(number, Direction::Reverse, 0, Time::ZERO));
    }
    // 50 packets are half of the first rate, and all of the second.
    assert_eq!(judge.finish().down.link, 0.5);
}

#[test]
fn neither_a_standing_queue_nor_a_busy_link_limits_without_the_other() {
    // 12 Mbit/s: a packet time is 1 ms, and a standing queue is one of more than four.
    let limits = |packets, delay| {
        let mut judge = judge(&[[Rate::from_mbps(12), Rate::UNLIMITED]], false);
        judge.row(&row(
            1,
            Direction::Forward,
            packets,
            Time::from_millis(delay),
        ));
        judge.row(&row(1, Direction::Reverse, 0, Time::ZERO));
        judge.finish().down
    };
    for (packets, delay, link) in [
        (80, 9, 1.0),
        (80, 0, 0.0),
        (80, 4, 0.0),
        (50, 9, 0.0),
        (69, 90, 0.0),
    ] {
        let down = limits(packets, delay);
        let expected = (link, 1.0 - link);
        assert_eq!((down.link, down.program), expected, "{packets} {delay}");
    }
}

#[test]
fn losses_of_the_link_limit_a_tcp_that_would_send_more() {
    let loses = |packets: u64, up: u64, lost, held, window_limited, has_relay| {
        let mut judge = judge(&[[Rate::from_mbps(12); 2]], has_relay);
        for number in 1..=20 {
            judge.row(&row(number, Direction::Forward, packets, Time::ZERO));
            judge.row(&row(number, Direction::Reverse, up, Time::ZERO));
            // Of one loss in many intervals the rest is the consequence.
            let lost = if number % 4 == 1 { lost } else { 0 };
            for direction in Direction::BOTH {
                judge.lost(direction, INTERVAL * number - INTERVAL / 2, lost);
            }
            judge.bin(Bin {
                end: INTERVAL * number,
                open: INTERVAL,
                held: [held, Time::ZERO],
                window_limited,
            });
            judge.advance();
        }
        judge.finish()
    };
    let (none, all) = (Time::ZERO, INTERVAL);
    // Data waited at the relay for a window, which losses keep small.
    let down = loses(60, 2, 2, all, none, true).down;
    assert_eq!((down.losses, down.program), (1.0, 0.0));
    // Without losses, or with a program that reads slowly, they are not the reason.
    for (lost, slow) in [(0, none), (2, all)] {
        let down = loses(60, 2, lost, all, slow, true).down;
        assert_eq!((down.losses, down.program), (0.0, 1.0), "{lost}");
    }
    // Nothing waited: the server sends no more.
    assert_eq!(loses(60, 2, 2, none, none, true).down.beyond, 1.0);
    // Nobody sees what the program's TCP holds back. 1 loss of 160 packets at 20 ms: Reno gets 5 * 15.5 packets through in 100 ms.
    let up = loses(2, 40, 1, none, none, true).up;
    assert_eq!((up.losses, up.program), (1.0, 0.0));
    let up = loses(2, 8, 1, none, none, true).up;
    assert_eq!((up.losses, up.program), (0.0, 1.0));
    // The same of both directions where there is no relay.
    let down = loses(40, 2, 1, none, none, false).down;
    assert_eq!((down.losses, down.program), (1.0, 0.0));
}

#[test]
fn nothing_that_flows_is_nobodys_limit() {
    let limits = judge(&[[Rate::UNLIMITED; 2]], true).finish();
    assert_eq!(limits, Limits::default());
}

#[test]
fn of_several_links_the_one_that_packets_waited_for_limits_and_is_named() {
    let rate = Rate::from_mbps;
    // Down the first has no limit and the others the same rate.
    let rates = [
        [Rate::UNLIMITED, rate(12)],
        [rate(12), Rate::UNLIMITED],
        [rate(12), rate(24)],
    ];
    let mut judge = judge(&rates, false);
    // Packets down, and how long they waited for each; the last interval is the program's.
    let cases = [
        (98, [0, 1, 40]),
        (98, [0, 50, 2]),
        (98, [0, 9, 9]),
        (50, [0, 0, 0]),
    ];
    for (number, (packets, delays)) in (1..).zip(cases) {
        for (hop, delay) in delays.into_iter().enumerate() {
            let at = |direction, packets, delay| QueueRow {
                hop: Hop(hop as u16),
                ..row(number, direction, packets, Time::from_millis(delay))
            };
            judge.row(&at(Direction::Forward, packets, delay));
            // The first link of what is sent is the last one; of the first one's 100 packets it fills all.
            judge.row(&at(Direction::Reverse, 95, 0));
        }
    }
    let limits = judge.finish();
    let share = |name: &str, share| LinkShare {
        name: name.to_owned(),
        share,
    };
    assert_eq!(
        limits.down.links,
        [share("a", 0.0), share("b", 0.5), share("c", 0.25)]
    );
    assert_eq!((limits.down.link, limits.down.program), (0.75, 0.25));
    assert_eq!(
        limits.up.links,
        [share("a", 1.0), share("b", 0.0), share("c", 0.0)]
    );
}

#[test]
fn a_link_with_a_trace_limits_by_what_the_trace_offers() {
    use quell_aqm::link_trace::{LinkTrace, RateTrace, Trace};
    // 12 Mbit/s, then 6, then nothing, each for an interval.
    let steps = [12, 6, 0].into_iter().zip(0..);
    let steps = steps.map(|(mbps, number)| (INTERVAL * number, Rate::from_mbps(mbps)));
    let trace = RateTrace::new(steps.collect(), INTERVAL * 3).unwrap();
    let course = LinkTrace::new(Trace::Rates(trace));
    let link = LinkCapacities {
        name: "link".to_owned(),
        capacities: [Capacity::Trace(course), Capacity::Rate(Rate::UNLIMITED)],
    };
    let mut judge = Judge::new(vec![link], false, Time::ZERO, INTERVAL);
    // 50 packets are half of the first rate and all of the second; then packets wait, and then nothing does.
    for (number, packets, backlog) in [(1, 50, 0), (2, 50, 0), (3, 0, 9_000), (6, 0, 0)] {
        judge.row(&QueueRow {
            backlog: Bytes::new(backlog),
            ..row(number, Direction::Forward, packets, Time::ZERO)
        });
        judge.row(&row(number, Direction::Reverse, 0, Time::ZERO));
    }
    let down = judge.finish().down;
    assert!((down.link - 2.0 / 3.0).abs() < 1e-9, "{down:?}");
    assert!((down.active_s - 0.3).abs() < 1e-9, "{down:?}");
    assert_eq!(down.links, []);
}
