//! Adaptive streaming over modelled hosts: on and off against the closed form, what is conserved, and what is allocated.
#![allow(clippy::unwrap_used)]

use crate::support;

use quell_app::kinds::has::HasReport;
use quell_app::{AppConfig, Report};
use quell_measure::FlowId;
use quell_sim::{FlowConfig, Simulator, TransportConfig};
use quell_tcp::SenderConfig;
use quell_units::{Random, Rate, Settings, Time};
use support::*;

const MS: fn(u64) -> Time = Time::from_millis;
const S: fn(u64) -> Time = Time::from_secs;

/// A player with these parameters, whose video comes with this control.
fn player(parameters: &[(&str, &str)], control: &str) -> FlowConfig {
    let entry = quell_app::find("has").unwrap();
    let mut settings = Settings::new(entry.parameters);
    for (name, value) in parameters {
        settings.set(name, value).unwrap();
    }
    let app: AppConfig = entry.configure(&settings).unwrap();
    let plain = bulk(0, control, None, Time::ZERO);
    let TransportConfig::Stream(ends) = &plain.transport else {
        panic!("a stream");
    };
    let sender = SenderConfig {
        nagle: false,
        ..ends.0.clone()
    };
    let end = (sender, ends.1.clone());
    FlowConfig {
        app,
        random: Random::new(1, "app"),
        transport: TransportConfig::Session(Box::new([end.clone(), end])),
        ..plain
    }
}

fn over(rate: Rate, rtt: Time, limit: &str, flows: Vec<FlowConfig>) -> Simulator<Counter> {
    simulator(config(
        side("fifo", &[("limit", limit)], rate),
        rtt / 2,
        flows,
    ))
}

fn streaming(simulator: &mut Simulator<Counter>, flow: u32) -> HasReport {
    match simulator.take_report(FlowId(flow)) {
        Some(Report::Has(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// In ms: an answer of so many bytes in windows of 10, 20, 40 … packets. With R the RTT and s the time of a packet it is the largest of
/// r R + (n − 10 (2^(r − 1) − 1) + r − 1) s over all rounds r that send something.
fn closed_form(bytes: u64, rtt: f64, mbps: f64) -> f64 {
    let packets = bytes.div_ceil(1_448) as f64;
    let serialisation = 12.0 / mbps;
    let ended = |round: i32| {
        let sent = 10.0 * (2_f64.powi(round - 1) - 1.0);
        (sent < packets).then(|| {
            let behind = packets - sent + f64::from(round - 1);
            f64::from(round) * rtt + behind * serialisation
        })
    };
    (1..=20).filter_map(ended).fold(0.0, f64::max)
}

/// A full buffer asks once per segment. The player is on for the RTT, the segment at the link's rate and the gaps of a slow start from
/// the initial window, because the window ages while it is off; and off for the rest of the segment's length.
#[test]
fn on_and_off_on_an_idle_link_are_those_of_the_closed_form() {
    for (kilobits, seconds, ladder) in [
        (235, 4, "235kbit"),
        (1_000, 4, "1mbit"),
        (8_000, 4, "8mbit"),
        (2_962, 2, "2.962mbit"),
    ] {
        let segment = format!("{seconds}s");
        let flow = player(&[("ladder", ladder), ("segment", &segment)], "reno");
        let mut simulator = over(Rate::from_mbps(40), MS(7), "1000p", vec![flow]);
        run(&mut simulator, S(60));
        streaming(&mut simulator, 0);
        run(&mut simulator, S(160));
        let report = streaming(&mut simulator, 0);
        let ms = |time: Option<Time>| time.unwrap().as_nanos() as f64 / 1e6;
        let bytes = kilobits * 125 * seconds;
        let on = closed_form(bytes + 250, 7.0, 40.0);
        // As in the dossiers of streaming: the RTT and the segment's time at the link's rate.
        let plain = 7.0 + bytes as f64 / 1_448.0 * 0.3;
        let found = [report.requests.min(), report.requests.max()].map(ms);
        let off = ms(report.pauses.quantile(500));
        println!("{ladder}: {found:?}, {on:.2}, plain {plain:.2}; off {off:.2}");
        for found in found {
            assert!((found / on - 1.0).abs() < 0.02, "{ladder}: {found} {on}");
        }
        if kilobits >= 4_000 {
            assert!((found[1] / plain - 1.0).abs() < 0.03, "{ladder}: {plain}");
        }
        let expected = 1_000.0 * seconds as f64 - on;
        assert!(
            (off / expected - 1.0).abs() < 0.01,
            "{ladder}: {off} {expected}"
        );
        assert_eq!(
            (report.stalls, report.played, report.on + report.off),
            (0, S(100), S(100))
        );
        assert_eq!(report.requests.count(), 100 / seconds);
        assert_eq!(report.bytes, 100 / seconds * bytes);
    }
}

/// SYN, TLS and the request take a round trip each; 117 500 bytes are 82 packets, in windows of 10, 20, 40 and the rest.
#[test]
fn playback_begins_after_the_handshakes_and_one_segment() {
    let flow = player(&[("ladder", "235kbit")], "reno");
    let mut simulator = over(Rate::from_mbps(40), MS(20), "1000p", vec![flow]);
    run(&mut simulator, S(1));
    let startup = streaming(&mut simulator, 0).startup.max().unwrap();
    println!("{startup}");
    let expected = 2.0 * 20.0 + closed_form(117_750, 20.0, 40.0);
    let found = startup.as_nanos() as f64 / 1e6;
    // The flight of the TLS handshake has opened the window by its packets.
    assert!(
        (expected - 3.0..expected + 2.0).contains(&found),
        "{found} {expected}"
    );
}

/// Players that give downloads up, stall and start connections anew beside downloads.
#[test]
fn nothing_is_lost_or_made_beside_downloads() {
    let parameters = [
        ("ladder", "300kbit, 1mbit, 3mbit, 8mbit"),
        ("abr", "bola-e"),
        ("segment", "2s"),
        ("variation", "0.4"),
        ("audio", "64kbit"),
    ];
    let flows = || {
        let downloads = (0..6).map(|n| bulk(0, "reno", None, S(20) + MS(7 * n)));
        let players = (0..3).map(|_| player(&parameters, "cubic"));
        players.chain(downloads).collect::<Vec<_>>()
    };
    let results = || {
        let mut simulator = over(Rate::from_mbps(6), MS(20), "100p", flows());
        run(&mut simulator, S(120));
        (0..3)
            .map(|flow| streaming(&mut simulator, flow))
            .collect::<Vec<_>>()
    };
    let reports = results();
    for report in &reports {
        println!(
            "{} segments, {} given up, {} stalls, {} failed",
            report.downloaded.0, report.abandoned, report.stalls, report.failed
        );
        assert_eq!(report.waited + report.played + report.stalled, S(120));
        assert_eq!(report.on + report.off, S(120));
        assert!(report.played <= S(2) * report.downloaded.0);
        // What was downloaded and not played is in the buffer, which holds 25 s and a segment at most.
        assert!(S(2) * report.downloaded.0 - report.played <= S(27));
        assert!(report.downloaded.0 > 30, "{report:?}");
    }
    assert!(reports.iter().any(|report| report.abandoned > 0));
    assert_eq!(results(), reports, "the same seed, the same session");
}
