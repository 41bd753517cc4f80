//! Calls and games over the simulator: both directions, idle and beside downloads.

use crate::support;

use quell_app::game::report::GameReport;
use quell_app::voice::report::{Heard, Score, VoiceReport};
use quell_app::{AppConfig, Report, find};
use quell_aqm::{Discipline, Link, disciplines};
use quell_measure::{Direction, FlowId, GroupId};
use quell_sim::{Config, DirectionConfig, FlowConfig, LinkConfig, TransportConfig};
use quell_units::{Ecn, Random, Rate, Settings, Time};

use support::{MTU, bulk, free, run, side, simulator};

const SEEDS: std::ops::Range<u64> = 1..5;

fn voice(settings: &[(&str, &str)]) -> AppConfig {
    let entry = find("voice").expect("a kind");
    let mut values = Settings::new(entry.parameters);
    for (key, value) in settings {
        values.set(key, value).expect("a setting");
    }
    entry.configure(&values).expect("a call")
}

fn call(app: AppConfig, ecn: Ecn, seed: u64) -> FlowConfig {
    FlowConfig {
        group: GroupId(0),
        direction: Direction::Forward,
        app,
        changes: Default::default(),
        random: Random::new(seed, "call"),
        transport: TransportConfig::Datagrams(ecn),
        access: Rate::UNLIMITED,
        start: Time::from_millis(seed),
        stop: None,
    }
}

/// What was heard of flow 0 from `from` to `until`.
fn heard(config: Config, from: Time, until: Time) -> VoiceReport {
    let mut simulator = simulator(config);
    run(&mut simulator, from);
    simulator.take_report(FlowId(0));
    run(&mut simulator, until);
    match simulator.take_report(FlowId(0)) {
        Some(Report::Voice(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// A queue whose random stream is that of `seed`.
fn queue(kind: &str, settings: &[(&str, &str)], rate: Rate, seed: u64) -> DirectionConfig {
    let mut values = Settings::new(disciplines::find(kind).expect("a kind").parameters);
    for (key, value) in settings {
        values.set(key, value).expect("a setting");
    }
    let link = Link { rate, mtu: MTU };
    let random = Random::new(seed, "queue");
    let discipline = Discipline::new(kind, values, link, random).expect("a queue");
    DirectionConfig {
        discipline,
        ..side("fifo", &[], rate)
    }
}

#[test]
fn both_directions_of_an_idle_path_take_their_time_and_no_more() {
    // 200 bytes take 160 µs at 10 Mbit/s, and 320 µs at 5; 10 ms each way.
    let config = Config {
        links: vec![LinkConfig::new(
            side("fifo", &[], Rate::from_mbps(10)),
            side("fifo", &[], Rate::from_mbps(5)),
        )],
        paths: Vec::new(),
        delays: vec![Time::from_millis(10)],
        jitter: Default::default(),
        flows: vec![call(voice(&[]), Ecn::NotEct, 1)],
        changes: Vec::new(),
    };
    let report = heard(config, Time::ZERO, Time::from_secs(30));
    for (heard, micros) in [(report.heard, 10_160), (report.back, 10_320)] {
        let datagrams = &heard.datagrams;
        let delay = Some(Time::from_micros(micros));
        assert_eq!(
            (datagrams.delays.min(), datagrams.delays.max()),
            (delay, delay)
        );
        assert_eq!((datagrams.sent, datagrams.received), (1_500, 1_500));
        assert_eq!((datagrams.lost, datagrams.reordered, heard.late), (0, 0, 0));
        assert_eq!(heard.calls[0].played, 1_500);
        assert_eq!(heard.windows.values().sum::<u32>(), 3);
    }
}

#[test]
fn one_end_that_stops_ends_both_directions() {
    let mut flow = call(voice(&[]), Ecn::NotEct, 1);
    flow.stop = Some(Time::from_millis(2_001));
    let config = support::config(
        side("fifo", &[], Rate::from_mbps(10)),
        Time::from_millis(10),
        vec![flow],
    );
    let report = heard(config, Time::ZERO, Time::from_secs(4));
    for heard in [report.heard, report.back] {
        let datagrams = heard.datagrams;
        // At 1, 21 … 1 981 ms.
        assert_eq!((datagrams.sent, datagrams.received), (100, 100));
    }
}

fn download(control: &str, seed: u64, number: u64) -> FlowConfig {
    let start = Time::from_micros(7_919 * number + 1_013 * seed);
    bulk(1, control, None, start)
}

/// A call beside one CUBIC download at 20 Mbit/s and 20 ms.
fn beside_a_download(kind: &str, settings: &[(&str, &str)], ecn: Ecn, seed: u64) -> Heard {
    let config = Config {
        links: vec![LinkConfig::new(
            queue(kind, settings, Rate::from_mbps(20), seed),
            free(),
        )],
        paths: Vec::new(),
        delays: vec![Time::from_millis(10); 2],
        jitter: Default::default(),
        flows: vec![call(voice(&[]), ecn, seed), download("cubic", seed, 1)],
        changes: Vec::new(),
    };
    let report = heard(config, Time::from_secs(10), Time::from_secs(70));
    *report.heard
}

fn score(heard: &Heard) -> Score {
    let impairment = heard.impairment.expect("a codec");
    heard.calls[0].score(impairment).expect("packets")
}

fn mos(heard: &Heard) -> f64 {
    score(heard).mos()
}

#[test]
fn calls_sound_better_the_shorter_the_queue() {
    for seed in SEEDS {
        let of = |kind, settings: &[_], ecn| mos(&beside_a_download(kind, settings, ecn, seed));
        let fair = of("fq_codel", &[], Ecn::NotEct);
        let l4s = of("dualpi2", &[], Ecn::Ect1);
        let classic = of("dualpi2", &[], Ecn::NotEct);
        let pie = of("pie", &[], Ecn::NotEct);
        let bloated = of("fifo", &[("limit", "200ms")], Ecn::NotEct);
        let all = format!("{seed}: {fair} {l4s} {classic} {pie} {bloated}");
        assert!(fair > l4s - 0.005 && (fair - l4s).abs() < 0.02, "{all}");
        // A queue of 15 ms costs little, and the more than its losses do.
        for aqm in [classic, pie] {
            assert!(l4s > aqm + 0.005 && aqm > bloated + 0.2, "{all}");
        }
    }
}

#[test]
fn losses_come_in_bursts_from_drop_tail_and_one_by_one_from_an_aqm() {
    let app = voice(&[("concealment", "false")]);
    let of = |kind, settings: &[_], seed| {
        let mut flows = vec![call(app.clone(), Ecn::NotEct, seed)];
        flows.extend((0..8).map(|number| download("reno", seed, number)));
        let config = Config {
            links: vec![LinkConfig::new(
                queue(kind, settings, Rate::from_mbps(5), seed),
                free(),
            )],
            paths: Vec::new(),
            delays: vec![Time::from_millis(10), Time::from_millis(50)],
            jitter: Default::default(),
            flows,
            changes: Vec::new(),
        };
        let report = heard(config, Time::from_secs(10), Time::from_secs(210));
        score(&report.heard)
    };
    for seed in SEEDS {
        let tail = of("fifo", &[("limit", "100p")], seed);
        for aqm in ["pie", "dualpi2"] {
            let single = of(aqm, &[], seed);
            assert!(tail.burst > 1.15, "{seed} {tail:?}");
            assert!(
                (0.95..1.08).contains(&single.burst),
                "{seed} {aqm} {single:?}"
            );
            // Although it loses less.
            assert!(tail.rating < single.rating - 5.0, "{tail:?} {single:?}");
        }
    }
}

fn game(settings: &[(&str, &str)], ecn: Ecn, seed: u64) -> FlowConfig {
    let entry = find("game").expect("a kind");
    let mut values = Settings::new(entry.parameters);
    for (key, value) in settings {
        values.set(key, value).expect("a setting");
    }
    call(entry.configure(&values).expect("a game"), ecn, seed)
}

fn played(config: Config, from: Time, until: Time) -> GameReport {
    let mut simulator = simulator(config);
    run(&mut simulator, from);
    simulator.take_report(FlowId(0));
    run(&mut simulator, until);
    match simulator.take_report(FlowId(0)) {
        Some(Report::Game(report)) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_and_its_state_take_a_round_trip_of_an_idle_path() {
    // 100 bytes of command take 160 µs at 5 Mbit/s, 300 of state 240 at 10; 10 ms each way.
    let config = Config {
        links: vec![LinkConfig::new(
            side("fifo", &[], Rate::from_mbps(10)),
            side("fifo", &[], Rate::from_mbps(5)),
        )],
        paths: Vec::new(),
        delays: vec![Time::from_millis(10)],
        jitter: Default::default(),
        flows: vec![game(&[("traffic", "fps-64")], Ecn::NotEct, 1)],
        changes: Vec::new(),
    };
    let report = played(config, Time::ZERO, Time::from_secs(20));
    let rtt = Some(Time::from_micros(20_400));
    assert_eq!(
        (report.network_rtt.min(), report.network_rtt.max()),
        (rtt, rtt)
    );
    assert_eq!((report.states.sent, report.commands.sent), (1_280, 1_280));
    // Both begin at once: command n is there 10.16 ms after state n, and waits for the next.
    let shown = Some(Time::from_micros(15_625 + 10_240));
    let times = &report.command_to_state;
    assert_eq!((times.min(), times.max()), (shown, shown));
}

#[test]
fn games_are_quick_beside_downloads_where_sparse_or_l4s_traffic_passes() {
    let of = |kind, settings: &[_], ecn, seed| {
        let mut flows = vec![game(&[], ecn, seed)];
        flows.extend((0..16).map(|number| download("cubic", seed, number)));
        let config = Config {
            links: vec![LinkConfig::new(
                queue(kind, settings, Rate::from_mbps(50), seed),
                free(),
            )],
            paths: Vec::new(),
            delays: vec![Time::from_millis(10); 2],
            jitter: Default::default(),
            flows,
            changes: Vec::new(),
        };
        let report = played(config, Time::from_secs(5), Time::from_secs(45));
        let quantile = |thousandths| report.network_rtt.quantile(thousandths);
        [500, 990].map(|thousandths| quantile(thousandths).unwrap().as_nanos() as f64 / 1e6 - 20.0)
    };
    for seed in SEEDS {
        let fair = of("fq_codel", &[], Ecn::NotEct, seed);
        let l4s = of("dualpi2", &[], Ecn::Ect1, seed);
        let classic = of("dualpi2", &[], Ecn::NotEct, seed);
        let tail = of("fifo", &[("limit", "100ms")], Ecn::NotEct, seed);
        let all = format!("{seed}: {fair:?} {l4s:?} {classic:?} {tail:?}");
        assert!(fair[1] < 4.0 && l4s[1] < 4.0, "{all}");
        assert!(classic[0] > 5.0 && classic[0] < 30.0, "{all}");
        assert!(tail[0] > 2.0 * classic[0], "{all}");
    }
}
