//! Datagram flows against closed forms.

use crate::support;

use std::sync::atomic::{AtomicBool, Ordering};

use quell_aqm::{Drop, Observer, QueueId};
use quell_measure::{Direction, FlowId, Hop};
use quell_sim::{Error, LinkChange, Packet, Simulator, Tee};
use quell_units::{Rate, Time};
use support::*;

const MS: fn(u64) -> Time = Time::from_millis;

#[test]
fn a_lone_flow_takes_its_serialisation_and_half_the_base_rtt() {
    // 186 bytes at 10 Mbit/s take 148.8 µs.
    let rate = Rate::from_mbps(10);
    let flow = cbr(0, 186, MS(20), Time::ZERO, MS(3));
    let mut simulator = simulator(config(side("fifo", &[], rate), MS(7), vec![flow]));
    run(&mut simulator, Time::from_secs(10));
    let report = cbr_report(&mut simulator, 0);
    // From 3 ms on, every 20 ms; the last has arrived.
    assert_eq!((report.sent, report.received, report.lost), (500, 500, 0));
    let expected = Some(MS(7) + Time::from_nanos(148_800));
    let delays = &report.delays;
    assert_eq!(
        (delays.min(), report.mean_delay, delays.max()),
        (expected, expected, expected)
    );
    let sample = simulator.sample(FlowId(0)).unwrap();
    assert_eq!(sample.delivered.get(), 500 * (186 - 28));
}

#[test]
fn an_overloaded_link_is_used_to_the_nanosecond() {
    // 1 000 bytes every 1 ms at 7 Mbit/s: each takes 8/7 ms, and the queue fills.
    let rate = Rate::from_mbps(7);
    let flow = cbr(0, 1_000, MS(1), Time::ZERO, Time::ZERO);
    let mut simulator = simulator(config(side("fifo", &[], rate), MS(1), vec![flow]));
    run(&mut simulator, Time::from_secs(70));
    let counter = simulator.observer(Hop::FIRST, Direction::Forward).clone();
    // The packet in service counts as delivered: 70 s · 7 Mbit/s / 8 000 bit, started and ended.
    let whole = 70 * 7_000_000 / 8_000;
    assert_eq!(counter.delivered, whole);
    assert_eq!(counter.last_end, Time::from_secs(70));
}

#[test]
fn each_packet_is_delivered_dropped_or_in_flight() {
    for (kind, settings) in [
        ("fifo", &[("limit", "20p")][..]),
        ("dualpi2", &[("target", "5ms")]),
    ] {
        let rate = Rate::from_mbps(10);
        let stddev = Time::from_micros(300);
        let flows = (0..7)
            .map(|n| {
                cbr(
                    n % 3,
                    900 + u64::from(n),
                    MS(4),
                    stddev,
                    Time::from_micros(u64::from(n)),
                )
            })
            .collect();
        let mut config = config(side(kind, settings, rate), MS(5), flows);
        config.delays = vec![MS(5), MS(1), MS(40)];
        let mut simulator = simulator(config);
        run(&mut simulator, Time::from_secs(20));
        let counter = simulator.observer(Hop::FIRST, Direction::Forward).clone();
        let reports: Vec<_> = (0..7).map(|n| cbr_report(&mut simulator, n)).collect();
        let (queued, wired) = simulator.in_flight(Hop::FIRST, Direction::Forward);
        let sent: u64 = reports.iter().map(|report| report.sent).sum();
        let received: u64 = reports.iter().map(|report| report.received).sum();
        assert_eq!(sent, counter.delivered + counter.dropped + queued, "{kind}");
        assert_eq!(counter.delivered, received + wired, "{kind}");
        assert!(counter.dropped > 0, "{kind}");
    }
}

#[test]
fn changes_happen_at_their_time() {
    // 1 000 bytes every 1 ms over 16 Mbit/s: 0.5 ms each. An outage from 100 to 150 ms keeps what
    // arrives; then 80 Mbit/s: 0.1 ms each.
    let flow = cbr(0, 1_000, MS(1), Time::ZERO, Time::ZERO);
    let mut config = config(side("fifo", &[], Rate::from_mbps(16)), MS(1), vec![flow]);
    config.changes = vec![
        rate_change(MS(100), Rate::ZERO),
        rate_change(MS(150), Rate::from_mbps(80)),
    ];
    let mut simulator = simulator(config);
    run(&mut simulator, MS(100));
    assert_eq!(
        simulator.observer(Hop::FIRST, Direction::Forward).delivered,
        100
    );
    run(&mut simulator, MS(150));
    assert_eq!(
        simulator.observer(Hop::FIRST, Direction::Forward).delivered,
        100
    );
    run(&mut simulator, MS(151));
    // 50 packets waited; ten leave in a millisecond, the first at 150 ms.
    assert_eq!(
        simulator.observer(Hop::FIRST, Direction::Forward).delivered,
        110
    );
    assert_eq!(
        simulator.observer(Hop::FIRST, Direction::Forward).longest,
        MS(50)
    );
    assert_eq!(
        simulator.rate(Hop::FIRST, Direction::Forward),
        Rate::from_mbps(80)
    );
}

#[test]
fn a_parameter_changes_at_its_time_and_a_wrong_one_is_refused() {
    let change = |key: &str, value: &str| LinkChange::Queue {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let build = |change| {
        let flow = cbr(0, 1_000, MS(1), Time::ZERO, Time::ZERO);
        let mut config = config(side("fifo", &[], Rate::from_mbps(4)), MS(1), vec![flow]);
        config.changes = vec![(MS(500), change)];
        simulator(config)
    };
    let mut simulator = build(change("limit", "10p"));
    run(&mut simulator, MS(500));
    assert!(simulator.in_flight(Hop::FIRST, Direction::Forward).0 > 40);
    run(&mut simulator, MS(900));
    assert_eq!(simulator.in_flight(Hop::FIRST, Direction::Forward).0, 10);

    let mut simulator = build(change("limit", "much"));
    let refused = simulator.run(MS(600), &AtomicBool::new(false));
    assert!(matches!(refused, Err(Error::Change(_))));
}

#[test]
fn flows_start_and_stop_when_they_shall() {
    let mut flow = cbr(0, 1_000, MS(10), Time::ZERO, MS(25));
    flow.stop = Some(MS(65));
    let mut simulator = simulator(config(
        side("fifo", &[], Rate::from_mbps(10)),
        MS(1),
        vec![flow],
    ));
    run(&mut simulator, MS(25));
    assert_eq!(simulator.sample(FlowId(0)), None);
    run(&mut simulator, MS(200));
    // At 25, 35, 45 and 55 ms; at 65 it has stopped.
    assert_eq!(cbr_report(&mut simulator, 0).received, 4);
}

#[test]
fn ten_hours_do_not_drift() {
    let hours = Time::from_secs(36_000);
    let flow = cbr(
        0,
        1_250,
        Time::from_nanos(33_333_333),
        Time::ZERO,
        Time::ZERO,
    );
    let mut simulator = simulator(config(
        side("fifo", &[], Rate::from_mbps(3)),
        MS(9),
        vec![flow],
    ));
    run(&mut simulator, hours);
    let report = cbr_report(&mut simulator, 0);
    assert_eq!(report.sent, 36_000_000_000_000 / 33_333_333 + 1);
    // 10 000 bit at 3 Mbit/s: 3.3 ms, rounded down each time, since the link idles in between.
    let expected = MS(9) + Time::from_nanos(3_333_333);
    let delays = &report.delays;
    assert_eq!(
        (delays.min(), delays.max()),
        (Some(expected), Some(expected))
    );
}

#[test]
fn the_same_configuration_gives_the_same_packets() {
    let digest = |seed: &str| {
        let flows = (0..9)
            .map(|n| {
                let start = Time::from_micros(u64::from(n) * 77);
                let mut flow = cbr(n % 2, 400, MS(3), MS(1), start);
                flow.random = quell_units::Random::new(u64::from(n), seed);
                flow
            })
            .collect();
        let mut config = config(side("dualpi2", &[], Rate::from_mbps(9)), MS(5), flows);
        config.delays = vec![MS(5), MS(5)];
        let mut simulator = simulator(config);
        run(&mut simulator, Time::from_secs(20));
        simulator.observer(Hop::FIRST, Direction::Forward).digest
    };
    assert_eq!(digest("a"), digest("a"));
    assert_ne!(digest("a"), digest("b"));
}

#[test]
fn a_run_in_slices_is_the_run_in_one() {
    let digest = |slice: Time| {
        let flows = vec![
            cbr(0, 700, MS(2), MS(1), Time::ZERO),
            cbr(0, 1_400, MS(2), Time::ZERO, Time::ZERO),
        ];
        let mut simulator = simulator(config(side("fifo", &[], Rate::from_mbps(8)), MS(2), flows));
        let mut now = Time::ZERO;
        while now < Time::from_secs(2) {
            now += slice;
            run(&mut simulator, now);
        }
        simulator.observer(Hop::FIRST, Direction::Forward).digest
    };
    assert_eq!(digest(Time::from_secs(2)), digest(MS(1)));
    assert_eq!(digest(Time::from_secs(2)), digest(Time::from_micros(125)));
}

/// Sets the request to stop with the thousandth packet.
struct Impatient(u64, &'static AtomicBool);

impl Observer<Packet> for Impatient {
    fn enqueued(&mut self, _queue: QueueId, _packet: &Packet, _now: Time) {
        self.0 += 1;
        self.1.store(self.0 >= 1_000, Ordering::Relaxed);
    }
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
}

#[test]
fn a_request_to_stop_is_heard_between_events() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let flow = cbr(0, 100, Time::from_micros(1), Time::ZERO, Time::ZERO);
    let config = config(side("fifo", &[], Rate::from_mbps(900)), MS(2), vec![flow]);
    let mut simulator = Simulator::new(config, |_, _| Impatient(0, &STOP)).unwrap();
    let reached = simulator.run(Time::from_secs(1_000), &STOP).unwrap();
    assert!((MS(1)..MS(4)).contains(&reached), "{reached}");
    assert_eq!(simulator.now(), reached);
    assert!(simulator.events() <= 4_096);
}

#[test]
fn a_second_observer_hears_the_same() {
    let flow = cbr(0, 1_000, MS(1), MS(1), Time::ZERO);
    let observer = |_, _| Tee::<Counter, Counter>::default();
    let fifo = side("fifo", &[("limit", "5p")], Rate::from_mbps(7));
    let mut simulator = Simulator::new(config(fifo, MS(1), vec![flow]), observer).unwrap();
    let never = AtomicBool::new(false);
    simulator.run(Time::from_secs(5), &never).unwrap();
    let Tee(first, second) = simulator.observer(Hop::FIRST, Direction::Forward);
    assert_eq!(first, second);
    assert!(first.dropped > 0 && first.delivered > 0);
}

#[test]
fn extremes_do_not_panic() {
    let rates = [
        Rate::from_bps(1_000),
        Rate::from_mbps(1_000_000),
        Rate::from_bps(u64::MAX - 1),
        Rate::UNLIMITED,
        Rate::ZERO,
    ];
    let delays = [
        Time::ZERO,
        Time::from_nanos(1),
        Time::from_secs(1_000_000),
        Time::MAX,
    ];
    for rate in rates {
        for delay in delays {
            let flows = vec![
                cbr(0, 1_500, Time::from_micros(1), Time::ZERO, Time::ZERO),
                cbr(
                    0,
                    29,
                    Time::from_micros(3),
                    Time::from_micros(3),
                    Time::from_nanos(1),
                ),
            ];
            let fifo = side("fifo", &[("limit", "100p")], rate);
            let mut simulator = simulator(config(fifo, delay, flows));
            run(&mut simulator, MS(20));
            let counter = simulator.observer(Hop::FIRST, Direction::Forward);
            assert_eq!(counter.delivered > 0, !rate.is_zero(), "{rate} {delay}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let flow = || cbr(0, 100, MS(1), Time::ZERO, Time::ZERO);
    let fifo = || side("fifo", &[], Rate::from_mbps(1));
    let refused = |config| Simulator::new(config, |_, _| Counter::default()).unwrap_err();
    let mut config = config(fifo(), MS(1), vec![flow()]);
    config.delays = (0..600).map(MS).collect();
    assert_eq!(refused(config), Error::TooManyDelays);

    let mut flow = flow();
    flow.app = quell_app::Bulk::default().into();
    let config = support::config(fifo(), MS(1), vec![flow]);
    assert!(matches!(refused(config), Error::WrongTransport(_)));
}
