//! Finite transfers and bursts over modelled hosts, against closed forms.

use crate::support;

use quell_app::{
    AppConfig, BurstReport, Datagrams, Interval, OnOff, OnOffReport, Period, Report, Transfer,
    TransferReport, UNSENT,
};
use quell_measure::{Direction, FlowId, Hop};
use quell_sim::{FlowConfig, Simulator, TransportConfig};
use quell_units::{Bytes, Ecn, Random, Rate, Time};
use support::*;

const MS: fn(u64) -> Time = Time::from_millis;
const S: fn(u64) -> Time = Time::from_secs;
/// Payload of a full segment, and its headers with timestamps.
const MSS: u64 = 1_448;
const HEADERS: u64 = 52;

fn stream(app: AppConfig, control: &str) -> FlowConfig {
    FlowConfig {
        app,
        ..bulk(0, control, None, Time::ZERO)
    }
}

fn transfer(size: u64, repeat: Option<Period>) -> FlowConfig {
    let size = Bytes::new(size);
    stream(Transfer { size, repeat }.into(), "cubic")
}

fn on_off(on: Period, off: Period) -> FlowConfig {
    let datagrams = None;
    stream(OnOff { on, off, datagrams }.into(), "cubic")
}

/// Flows over a drop-tail queue of 1 000 packets at `mbps`, with a base RTT of `rtt`.
fn over(mbps: u64, rtt: Time, flows: Vec<FlowConfig>) -> Simulator<Counter> {
    let rate = Rate::from_mbps(mbps);
    simulator(config(
        side("fifo", &[("limit", "1000p")], rate),
        rtt / 2,
        flows,
    ))
}

fn transfers(simulator: &mut Simulator<Counter>, flow: u32) -> TransferReport {
    match simulator.take_report(FlowId(flow)) {
        Some(Report::Transfer(report)) => report,
        other => panic!("{other:?}"),
    }
}

fn bursts(simulator: &mut Simulator<Counter>, flow: u32) -> BurstReport {
    match simulator.take_report(FlowId(flow)) {
        Some(Report::OnOff(OnOffReport::Stream(report))) => report,
        other => panic!("{other:?}"),
    }
}

/// Time on a link of `mbps` of so many payload bytes in full segments and a last one.
fn serialisation(payload: u64, mbps: u64) -> Time {
    let segments = payload.div_ceil(MSS);
    Time::from_nanos((payload + segments * HEADERS) * 8_000 / mbps)
}

#[test]
fn a_transfer_within_the_initial_window_takes_a_handshake_and_half_an_rtt() {
    for size in [1, 1_448, 1_449, 14_480] {
        let mut simulator = over(10, MS(20), vec![transfer(size, None)]);
        run(&mut simulator, S(2));
        let report = transfers(&mut simulator, 0);
        assert_eq!((report.completed(), report.unfinished()), (1, 0));
        // SYN and its answer, then the data; the ACK that ends the handshake goes before it.
        let handshake = serialisation(0, 10) + Time::from_nanos(2 * HEADERS * 800) + MS(20);
        let expected = handshake + serialisation(size, 10) + MS(10);
        assert_eq!(report.completion.max(), Some(expected), "{size}");
        assert_eq!(report.bytes, size);
    }
}

/// An application writes, and then shuts down. Linux `tcp_send_fin`: the FIN stands on the last segment
/// that waits, or else leaves by itself.
#[test]
fn the_fin_rides_on_data_only_where_some_has_to_wait() {
    for (size, sent) in [
        (1, 1 + 1),
        (10_000, 7 + 1),
        (10 * MSS, 10 + 1),
        (10 * MSS + 1, 11),
        (20 * MSS, 20),
    ] {
        let mut simulator = over(10, MS(20), vec![transfer(size, None)]);
        run(&mut simulator, S(2));
        let found = simulator.tcp(FlowId(0)).unwrap().sent;
        assert_eq!(found, sent, "{size}");
        // SYN and ACK come on top.
        let forward = simulator.observer(Hop::FIRST, Direction::Forward);
        assert_eq!(forward.delivered, sent + 2, "{size}");
    }
}

#[test]
fn a_megabyte_over_an_empty_link_takes_its_slow_start_and_its_serialisation() {
    // 10 Mbit/s × 20 ms are 17 segments. The initial window of 10 leaves a gap: its last segment is
    // sent 12 ms after its first, whose ACK returns after 21.2 ms. From then on each ACK releases
    // two segments, the window outgrows the path within the round, and the link never rests.
    let size = 1_000_000;
    let mut simulator = over(10, MS(20), vec![transfer(size, None)]);
    run(&mut simulator, S(3));
    let report = transfers(&mut simulator, 0);
    assert_eq!(
        simulator.observer(Hop::FIRST, Direction::Forward).dropped,
        0
    );
    let handshake = Time::from_nanos(2 * HEADERS * 800) + MS(20);
    let first_round = serialisation(MSS, 10) + MS(20);
    let rest = serialisation(size - 10 * MSS, 10) + MS(10);
    let expected = handshake + first_round + rest;
    let found = report.completion.max().unwrap();
    assert_eq!(found, expected, "0.1 ms is a twelfth of a segment");
    // 868 ms, of which 829 are serialisation.
    assert_eq!(expected.as_nanos() / 1_000_000, 868);
}

#[test]
fn a_renewed_flow_opens_a_new_connection_for_each_transfer() {
    let flow = transfer(100_000, Some(Period::fixed(MS(300))));
    let mut simulator = over(50, MS(20), vec![flow]);
    run(&mut simulator, S(20));
    let report = transfers(&mut simulator, 0);
    // Nothing is remembered: each takes as long as the first.
    assert_eq!(report.completion.min(), report.completion.max());
    let once = report.completion.min().unwrap();
    // 100 kB are 70 segments: windows of 10, 20 and 40, and a handshake of an RTT.
    let handshake = Time::from_nanos(2 * HEADERS * 160) + MS(20);
    let rounds = (serialisation(MSS, 50) + MS(20)) * 2;
    let rest = serialisation(100_000 - 30 * MSS, 50) + MS(10);
    assert_eq!(once, handshake + rounds + rest);
    // The FIN's ACK takes half an RTT more before the pause begins.
    let cycle = once + MS(10) + MS(300);
    let expected = (S(20) - once).as_nanos() / cycle.as_nanos() + 1;
    assert_eq!(report.completed(), expected);
    let sample = simulator.sample(FlowId(0)).unwrap();
    assert_eq!(sample.delivered.get(), report.bytes);
    assert!(report.bytes >= report.completed_bytes);
    // Segments and FINs of all connections.
    let sent = simulator.tcp(FlowId(0)).unwrap().sent;
    assert!(
        sent >= 70 * expected && sent <= 71 * (expected + 1),
        "{sent}"
    );
}

#[test]
fn pauses_are_drawn_from_the_flows_own_randomness() {
    let report = |seed| {
        let mut flow = transfer(10_000, Some(Period::exponential(MS(200))));
        flow.random = Random::new(seed, "app");
        let mut simulator = over(50, MS(20), vec![flow]);
        run(&mut simulator, S(200));
        transfers(&mut simulator, 0)
    };
    let first = report(1);
    assert_eq!(first, report(1));
    assert_ne!(first.completed(), report(2).completed());
    // A handshake and half an RTT, the FIN's half, 1.4 ms of serialisation and the pause: 241 ms,
    // deviating by 200. 829 transfers, four deviations.
    let expected = 200_000.0 / 241.4;
    let found = first.completed() as f64;
    assert!((found - expected).abs() < 96.0, "{found} {expected}");
}

/// A link so slow that time-outs are spurious: copies are still in the queue when a connection is
/// over and the next one has begun.
#[test]
fn renewed_flows_deliver_what_the_link_carries_where_time_outs_are_spurious() {
    let size = 20_000;
    let flows = (0..20)
        .map(|n| FlowConfig {
            start: MS(n),
            ..transfer(size, Some(Period::fixed(Time::ZERO)))
        })
        .collect();
    let mut simulator = over(1, MS(10), flows);
    run(&mut simulator, S(300));
    let again: u64 = (0..20)
        .map(|id| simulator.tcp(FlowId(id)).unwrap().retransmitted)
        .sum();
    assert!(again > 100, "{again}");
    let least = MS(15) + serialisation(size, 1);
    let mut delivered = 0;
    for id in 0..20 {
        let report = transfers(&mut simulator, id);
        assert!(report.completed() > 10, "{report:?}");
        assert!(report.completion.min().unwrap() >= least, "{report:?}");
        let partial = report.bytes - report.completed_bytes;
        assert!(partial < size && report.unfinished() <= 1);
        delivered += report.bytes;
    }
    // Not more than the link carried.
    let carried = Rate::from_mbps(1).bytes_in(S(300)).get();
    assert!(delivered < carried * MSS / 1_500, "{delivered} {carried}");
}

#[test]
fn a_stop_cuts_the_transfer_short_and_ends_the_renewal() {
    let mut flow = transfer(2_000_000, Some(Period::fixed(MS(100))));
    flow.stop = Some(S(5));
    let mut simulator = over(10, MS(20), vec![flow]);
    run(&mut simulator, S(4));
    let first = transfers(&mut simulator, 0);
    // 1.7 s each.
    assert_eq!((first.completed(), first.unfinished()), (2, 1));
    run(&mut simulator, S(30));
    let second = transfers(&mut simulator, 0);
    assert_eq!(
        (second.completed(), second.cut_short, second.in_flight),
        (0, 1, 0)
    );
    // What was in flight at the stop is all that came: the queue held less than half a second.
    let sample = simulator.sample(FlowId(0)).unwrap();
    assert!(sample.delivered.get() < 10_000_000 / 8 * 11 / 2);
    assert_eq!((sample.rtt, sample.congestion_window), (None, None));
    run(&mut simulator, S(40));
    assert_eq!(transfers(&mut simulator, 0), TransferReport::default());
}

#[test]
fn a_transfer_counts_in_the_stretch_in_which_it_completes() {
    let mut simulator = over(10, MS(20), vec![transfer(1_000_000, None)]);
    run(&mut simulator, MS(500));
    let first = transfers(&mut simulator, 0);
    assert_eq!((first.completed(), first.in_flight), (0, 1));
    run(&mut simulator, S(2));
    let second = transfers(&mut simulator, 0);
    assert_eq!((second.completed(), second.unfinished()), (1, 0));
    assert_eq!(first.bytes + second.bytes, 1_000_000);
    assert!(second.completion.max().unwrap() > MS(800));
    // A transfer that is done leaves nothing behind.
    assert_eq!(simulator.in_flight(Hop::FIRST, Direction::Forward), (0, 0));
    assert_eq!(simulator.sample(FlowId(0)).unwrap().rtt, None);
}

#[test]
fn a_connection_that_is_never_answered_is_a_transfer_in_flight() {
    // The link stands still.
    let mut config = config(
        side("fifo", &[], Rate::from_mbps(10)),
        MS(10),
        vec![transfer(1_000, None)],
    );
    config.changes = vec![rate_change(Time::ZERO, Rate::from_bps(0))];
    let mut simulator = simulator(config);
    run(&mut simulator, S(10));
    let report = transfers(&mut simulator, 0);
    assert_eq!((report.completed(), report.unfinished()), (0, 1));
}

#[test]
fn uploads_complete_as_downloads_do() {
    let mut up = transfer(14_480, None);
    up.direction = Direction::Reverse;
    let rate = Rate::from_mbps(10);
    let mut config = config(free(), MS(10), vec![up]);
    config.links[0].reverse = side("fifo", &[], rate);
    let mut simulator = simulator(config);
    run(&mut simulator, S(1));
    let expected = Time::from_nanos(2 * HEADERS * 800) + MS(30) + serialisation(14_480, 10);
    let report = transfers(&mut simulator, 0);
    assert_eq!(report.completion.max(), Some(expected));
}

#[test]
fn a_source_that_is_off_sends_what_its_socket_holds_and_no_more() {
    let flow = on_off(Period::fixed(S(2)), Period::fixed(S(2)));
    let mut simulator = over(10, MS(20), vec![flow]);
    let at = |simulator: &mut Simulator<Counter>, ms| {
        run(simulator, MS(ms));
        simulator.sample(FlowId(0)).unwrap().delivered.get()
    };
    // On from the end of the handshake, 20 ms, to 2 020 ms. In flight are at most the path and a
    // window's worth of queue; UNSENT follows.
    let before = at(&mut simulator, 2_020);
    let window = u64::from(simulator.tcp(FlowId(0)).unwrap().cwnd) * MSS;
    let drained = at(&mut simulator, 3_500);
    let more = drained - before;
    assert!(
        more > UNSENT.get() && more <= window + UNSENT.get() + MSS,
        "{more} {window}"
    );
    assert_eq!(at(&mut simulator, 4_000), drained);
    // And on again.
    assert!(at(&mut simulator, 5_000) > drained + 800_000);
    let report = bursts(&mut simulator, 0);
    assert_eq!(report.bursts, 2);
    run(&mut simulator, S(21));
    let report = bursts(&mut simulator, 0);
    // The four that begin between 5 s and 21 s.
    assert_eq!(report.bursts, 4);
}

#[test]
fn a_window_decays_over_a_pause_longer_than_the_time_out_and_not_over_a_shorter_one() {
    // RFC 2861, Linux's tcp_slow_start_after_idle: halved for each time-out, down to 10.
    for off in [MS(400), S(3), S(9)] {
        let flow = on_off(Period::fixed(S(5)), Period::fixed(off));
        let mut simulator = over(20, MS(50), vec![flow]);
        // The handshake takes 50 ms and the serialisation of two headers.
        run(&mut simulator, MS(5_050) + off);
        let before = simulator.tcp(FlowId(0)).unwrap();
        assert!(before.cwnd > 80, "{before:?}");
        assert!(before.rto > MS(400) && before.rto < S(1), "{before:?}");
        assert_eq!(before.in_flight, 0);
        run(&mut simulator, MS(5_051) + off);
        let after = simulator.tcp(FlowId(0)).unwrap();
        // What the socket held left within 20 ms.
        let halvings = (off - MS(20)).as_nanos() / before.rto.as_nanos();
        assert_eq!(halvings, off.as_nanos() / before.rto.as_nanos());
        let expected = (before.cwnd >> halvings).max(10);
        assert_eq!(after.cwnd, expected, "{off}");
        assert_eq!(after.in_flight, expected);
        if halvings > 0 {
            // `tcp_current_ssthresh`: three quarters are remembered as proven.
            assert_eq!(after.ssthresh, before.cwnd / 2 + before.cwnd / 4);
        }
    }
}

#[test]
fn an_on_time_shorter_than_an_rtt_sends_a_window_and_what_the_socket_holds() {
    // The window of 10 segments and 16 KiB; the pause is so long that the window is 10 again.
    let flow = on_off(Period::fixed(MS(1)), Period::fixed(S(5)));
    let mut simulator = over(100, MS(20), vec![flow]);
    run(&mut simulator, S(60));
    let report = bursts(&mut simulator, 0);
    assert_eq!(report.bursts, 12);
    assert_eq!(report.bytes, 12 * (10 * MSS + UNSENT.get()));
}

#[test]
fn bursts_of_datagrams_leave_at_their_times() {
    let interval = Interval {
        mean: MS(20),
        stddev: Time::ZERO,
    };
    let size = Bytes::new(186);
    let app = OnOff {
        on: Period::fixed(MS(100)),
        off: Period::fixed(MS(400)),
        datagrams: Some(Datagrams::plain(size, interval)),
    };
    let flow = FlowConfig {
        app: app.into(),
        transport: TransportConfig::Datagrams(Ecn::NotEct),
        ..cbr(0, 186, MS(20), Time::ZERO, MS(3))
    };
    let mut simulator = over(10, MS(14), vec![flow]);
    run(&mut simulator, S(10));
    let Some(Report::OnOff(OnOffReport::Datagrams(report))) = simulator.take_report(FlowId(0))
    else {
        panic!("no report of datagrams")
    };
    // Five in each of twenty bursts.
    assert_eq!((report.sent, report.received, report.lost), (100, 100, 0));
    let expected = MS(7) + Time::from_nanos(148_800);
    assert_eq!(report.delays.max(), Some(expected));
}

#[test]
fn the_same_configuration_gives_the_same_segments() {
    let digest = |rtt| {
        let flows = vec![
            transfer(30_000, Some(Period::exponential(MS(100)))),
            on_off(Period::exponential(MS(200)), Period::exponential(MS(300))),
            bulk(0, "cubic", None, MS(2)),
        ];
        let mut simulator = over(20, rtt, flows);
        run(&mut simulator, S(20));
        [Direction::Forward, Direction::Reverse]
            .map(|way| simulator.observer(Hop::FIRST, way).digest)
    };
    assert_eq!(digest(MS(10)), digest(MS(10)));
    assert_ne!(digest(MS(10)), digest(MS(12)));
}
