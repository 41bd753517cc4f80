//! Several links in a row: what they have in common with one, what gets lost between them, who gets how much.

use crate::support;

use proptest::prelude::*;
use quell_measure::{Direction, FlowId, Hop, Hops};
use quell_sim::{Config, Error, Jitter, LinkConfig, Simulator};
use quell_tcp::Codepoint;
use quell_units::{Rate, Time};
use support::{Counter, bulk, cbr, free, run, side, simulator};

const MS: fn(u64) -> Time = Time::from_millis;

fn link(kind: &str, mbps: u64, delay: Time) -> LinkConfig {
    let mut link = LinkConfig::new(side(kind, &[], Rate::from_mbps(mbps)), free());
    link.delay = delay;
    link
}

/// Nothing but a delay.
fn wire(delay: Time) -> LinkConfig {
    let mut link = LinkConfig::new(free(), free());
    link.delay = delay;
    link
}

/// Three CUBIC flows, one of them with ECN, two DCTCP flows and a stream of datagrams, of two base RTTs.
fn config(links: Vec<LinkConfig>) -> Config {
    let flows = vec![
        bulk(0, "cubic", None, MS(0)),
        bulk(1, "cubic", None, MS(13)),
        bulk(1, "cubic", Some(Codepoint::Ect0), MS(20)),
        bulk(0, "dctcp", Some(Codepoint::Ect1), MS(7)),
        bulk(1, "dctcp", Some(Codepoint::Ect1), MS(9)),
        cbr(0, 200, MS(20), MS(1), MS(3)),
    ];
    let mut config = support::config(free(), MS(0), flows);
    config.links = links;
    config.delays = vec![MS(10), MS(25)];
    config.jitter = Jitter {
        spans: [vec![Time::ZERO; 2], vec![Time::from_micros(20); 2]],
        seed: 3,
    };
    config
}

/// What the queue of a link saw, packet by packet, and what each flow got.
fn outcome(config: Config, hop: Hop) -> (Counter, Vec<u64>) {
    let flows = config.flows.len() as u32;
    let mut simulator = simulator(config);
    run(&mut simulator, Time::from_secs(5));
    let delivered = (0..flows).map(|flow| {
        let sample = simulator.sample(FlowId(flow)).expect("a flow");
        sample.delivered.get()
    });
    let delivered = delivered.collect();
    (
        simulator.observer(hop, Direction::Forward).clone(),
        delivered,
    )
}

#[test]
fn a_second_link_without_a_limit_and_a_delay_changes_nothing() {
    let alone = outcome(config(vec![link("dualpi2", 20, MS(0))]), Hop::FIRST);
    assert!(
        alone.0.marked > 100 && alone.0.delivered > 8_000,
        "{alone:?}"
    );
    let before = config(vec![wire(MS(0)), link("dualpi2", 20, MS(0))]);
    let behind = config(vec![link("dualpi2", 20, MS(0)), wire(MS(0))]);
    assert_eq!(outcome(behind, Hop::FIRST), alone);
    assert_eq!(outcome(before, Hop(1)), alone);
}

#[test]
fn where_a_delay_lies_does_not_matter_as_long_as_nothing_waits_between() {
    // Behind the bottleneck there is the same time to the receiver, in whatever parts.
    let parts = [[0, 0, 0], [4, 0, 0], [2, 2, 0], [1, 3, 0], [3, 1, 0]];
    let outcomes = parts.map(|[first, second, third]| {
        let links = vec![
            link("pie", 20, MS(first)),
            wire(MS(second)),
            wire(MS(third)),
        ];
        outcome(config(links), Hop::FIRST)
    });
    for other in &outcomes[1..] {
        assert_eq!(*other, outcomes[0]);
    }
}

#[test]
fn the_order_of_two_equal_delays_does_not_matter() {
    let outcome = |swapped: bool| {
        let mut links = vec![link("fifo", 20, MS(4)), wire(MS(4)), wire(MS(2))];
        if swapped {
            links.swap(1, 2);
            links[1].delay = MS(4);
            links[2].delay = MS(2);
        }
        outcome(config(links), Hop::FIRST)
    };
    assert_eq!(outcome(false), outcome(true));
}

#[test]
fn a_packet_crosses_each_queue_and_delay_of_its_path_and_no_other() {
    // 1 500 bytes take 1.2 ms at 10 Mbit/s, 0.6 ms at 20, 0.4 ms at 30; 20 ms in all are delays.
    let flow = |group| cbr(group, 1_500, MS(50), MS(0), MS(0));
    for (path, micros) in [((0, 2), 22_200), ((1, 1), 20_600), ((0, 1), 21_800)] {
        let mut config = support::config(free(), MS(20), vec![flow(0)]);
        config.links = [10, 20, 30].map(|mbps| link("fifo", mbps, MS(3))).into();
        let (first, last) = (Hop(path.0), Hop(path.1));
        config.paths = vec![Hops { first, last }];
        let mut simulator = simulator(config);
        run(&mut simulator, Time::from_secs(2));
        let report = support::cbr_report(&mut simulator, 0);
        let micros = Some(Time::from_micros(micros));
        assert_eq!((report.delays.min(), report.delays.max()), (micros, micros));
        for hop in (0..3).map(Hop) {
            let seen = simulator.observer(hop, Direction::Forward).delivered;
            let crossed = (first..=last).contains(&hop);
            assert_eq!(seen > 0, crossed, "{path:?} {hop:?}");
        }
    }
}

#[test]
fn a_path_that_is_not_there_or_takes_longer_than_its_group_is_refused() {
    let refused = |links: Vec<LinkConfig>, paths: Vec<Hops>| {
        let mut config = support::config(free(), MS(5), vec![bulk(0, "reno", None, MS(0))]);
        (config.links, config.paths) = (links, paths);
        Simulator::new(config, |_, _| Counter::default()).err()
    };
    let group = Error::Path(quell_measure::GroupId(0));
    let two = || vec![wire(MS(3)), wire(MS(2))];
    assert_eq!(refused(two(), Vec::new()), None);
    assert_eq!(refused(Vec::new(), Vec::new()), Some(Error::Links));
    let slow = vec![wire(MS(3)), wire(MS(3))];
    assert_eq!(refused(slow, Vec::new()), Some(group.clone()));
    let beyond = Hops {
        first: Hop(1),
        last: Hop(2),
    };
    assert_eq!(refused(two(), vec![beyond]), Some(group));
}

/// A parking lot: one flow crosses all links, and each link has a flow of its own.
#[test]
fn a_flow_through_three_bottlenecks_gets_less_than_those_through_one() {
    let hops = |first, last| Hops {
        first: Hop(first),
        last: Hop(last),
    };
    let flows = (0..4).map(|group| bulk(group, "cubic", None, MS(10 * u64::from(group))));
    let mut config = support::config(free(), MS(0), flows.collect());
    config.links = (0..3).map(|_| link("codel", 20, MS(2))).collect();
    config.paths = vec![hops(0, 2), hops(0, 0), hops(1, 1), hops(2, 2)];
    config.delays = vec![MS(20); 4];
    let mut simulator = simulator(config);
    run(&mut simulator, Time::from_secs(60));
    let delivered = |flow| {
        simulator
            .sample(FlowId(flow))
            .expect("a flow")
            .delivered
            .get()
    };
    let through = delivered(0);
    for cross in 1..4 {
        // Each link is shared by two flows of one base RTT, of which one is marked or dropped at three places.
        assert!(through < delivered(cross), "{through} {}", delivered(cross));
        let link = (through + delivered(cross)) * 8 / 60;
        assert!((18_000_000..20_000_000).contains(&link), "{link}");
    }
    assert!(through > delivered(1) / 10, "it is not starved: {through}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is sent into a chain is delivered, dropped at one of its queues, queued, or on a wire.
    #[test]
    fn nothing_is_lost_or_made_between_links(
        rates in prop::collection::vec(2_u64..20, 1..5),
        delay in 0_u64..3,
        size in 100_u64..1_500,
        micros in 200_u64..2_000,
        until in 100_u64..900,
    ) {
        let mut config = support::config(
            free(),
            MS(20),
            vec![cbr(0, size, Time::from_micros(micros), MS(0), MS(0))],
        );
        let limited = |&mbps: &u64| {
            let queue = side("fifo", &[("limit", "20p")], Rate::from_mbps(mbps));
            let mut link = LinkConfig::new(queue, free());
            link.delay = MS(delay);
            link
        };
        config.links = rates.iter().map(limited).collect();
        let hops: Vec<Hop> = (0..rates.len() as u16).map(Hop).collect();
        let mut simulator = simulator(config);
        run(&mut simulator, MS(until));
        let report = support::cbr_report(&mut simulator, 0);
        // At 0 and every so many microseconds.
        let mut entered = (until * 1_000 - 1) / micros + 1;
        for hop in hops {
            let counter = simulator.observer(hop, Direction::Forward);
            let (queued, on_wires) = simulator.in_flight(hop, Direction::Forward);
            prop_assert_eq!(entered, counter.delivered + counter.dropped + queued);
            entered = counter.delivered - on_wires;
        }
        prop_assert_eq!(entered, report.received);
    }
}
