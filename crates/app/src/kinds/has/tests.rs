//! The player on connections, over a scripted host.

use super::*;
use crate::scripted::{Wire, app};
use crate::{AppConfig, ConnectionId, KindReport as _, Outcome, Report};
use quell_units::Settings;

const MS: fn(u64) -> Time = Time::from_millis;
const SECONDS: fn(u64) -> Time = Time::from_secs;

fn has(parameters: &str) -> AppConfig {
    app(&format!(r#"app = {{ kind = "has"{parameters} }}"#))
}

/// Over a wire with 20 ms of RTT.
fn run(config: &AppConfig, rate: Rate, piece: u64, until: Time) -> Wire {
    let mut wire = Wire::new(config, 1, MS(20), rate, piece);
    wire.run(until);
    wire
}

fn report(wire: &mut Wire) -> HasReport {
    match wire.report() {
        Report::Has(report) => report,
        other => panic!("{other:?}"),
    }
}

fn settings(given: &[(&str, &str)]) -> Result<AppConfig, ParameterError> {
    let entry = crate::find("has").unwrap();
    let mut settings = Settings::new(entry.parameters);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    entry.configure(&settings)
}

/// A handshake of TCP, none to two of TLS, and the first segment: a round trip each.
#[test]
fn the_first_picture_takes_as_many_round_trips_as_its_exchange() {
    for (tls, rtts) in [("none", 2), ("1.3", 3), ("1.2", 4)] {
        let config = has(&format!(r#", tls = "{tls}""#));
        let mut wire = run(&config, Rate::UNLIMITED, 1_448, SECONDS(1));
        let report = report(&mut wire);
        assert_eq!(report.startup.max(), Some(MS(20 * rtts)), "{tls}");
        // The first request has waited for its connection; the others find one.
        let found = (report.flow_startup.min(), report.flow_startup.max());
        assert_eq!(found, (Some(MS(20)), Some(MS(20 * rtts))), "{tls}");
    }
}

/// 6 Mbit/s for segments of 5 s at 40 Mbit/s: 3.75 MB and 250 B of headers behind one round trip.
#[test]
fn a_full_buffer_makes_on_and_off_of_the_closed_form() {
    let config = has(r#", preset = "fixed-chunks""#);
    let mut wire = run(&config, Rate::from_mbps(40), 1_448, SECONDS(60));
    let whole = report(&mut wire);
    wire.start_counting();
    wire.run(SECONDS(160));
    let report = report(&mut wire);
    // The request takes 350 B on the way to the server.
    let on = MS(770) + Time::from_micros(70 + 50);
    assert_eq!(report.requests.min(), report.requests.max());
    let found = report.requests.max().unwrap();
    assert!(found.signed_since(on).abs() <= 2_000, "{found} {on}");
    assert_eq!(report.requests.count(), 20);
    assert_eq!(report.pauses.max(), Some(SECONDS(5) - found));
    assert_eq!(report.on + report.off, SECONDS(100));
    assert_eq!((report.played, report.stalls), (SECONDS(100), 0));
    assert_eq!(report.bytes, 75_000_000);
    assert_eq!(report.bitrate_bps(), Some(6e6));
    assert!((report.on_bps().unwrap() / 1e6 - 30e6 / (found.as_nanos() as f64 / 1e3)).abs() < 1e-3);
    assert_eq!(whole.startup.count(), 1);
    assert_eq!(report.startup.count(), 0, "it began before");
}

/// The bandwidth falls from 20 to 0.5 Mbit/s within a segment.
#[test]
fn a_download_that_is_given_up_takes_its_connection_along() {
    for abandon in [true, false] {
        let config = has(&format!(
            r#", abr = "throughput", ladder = "pensieve", abandon = {abandon}"#
        ));
        let mut wire = Wire::new(&config, 1, MS(20), Rate::from_mbps(20), 1_448);
        wire.changes = vec![(MS(24_500), Rate::from_bps(500_000))];
        wire.run(SECONDS(120));
        let aborted = wire
            .log
            .iter()
            .flat_map(|(.., actions)| actions)
            .filter(|action| **action == Action::Abort(ConnectionId(0)))
            .count() as u64;
        let report = report(&mut wire);
        assert_eq!(report.abandoned, aborted);
        assert_eq!(report.abandoned > 0, abandon);
        let given_up = wire
            .events
            .iter()
            .position(|event| event.outcome == Outcome::Abandoned);
        if let Some(index) = given_up {
            let [first, second] = [wire.events[index], wire.events[index + 1]];
            assert_eq!(first.number, second.number);
            assert!(second.value < first.value && second.size < first.size);
            // TCP, TLS, and then the request.
            assert!(second.started - first.ended.unwrap() >= MS(40));
        }
        let complete = wire.events.iter();
        let complete = complete.filter(|event| event.outcome == Outcome::Complete);
        let numbers: Vec<u64> = complete.map(|event| event.number).collect();
        assert!(
            numbers
                .iter()
                .enumerate()
                .all(|(index, number)| index as u64 == *number)
        );
        assert!(numbers.len() > 12);
    }
}

/// Time, seconds of content and bytes: nothing is lost or made, at any instant.
#[test]
fn nothing_is_lost_or_made() {
    for abr in ["throughput", "bola-e", "dynamic", "bba-0"] {
        let config = has(&format!(
            r#", abr = "{abr}", variation = 0.5, audio = "64kbit""#
        ));
        let mut wire = Wire::new(&config, 3, MS(50), Rate::from_mbps(2), 1_000);
        wire.changes = vec![
            (SECONDS(40), Rate::from_bps(150_000)),
            (SECONDS(90), Rate::from_mbps(8)),
        ];
        for second in [1, 17, 43, 77, 200] {
            wire.run(SECONDS(second));
            let report = report(&mut wire);
            assert_eq!(
                report.waited + report.played + report.stalled,
                SECONDS(second)
            );
            assert_eq!(report.on + report.off, SECONDS(second));
            let complete: u64 = wire
                .events
                .iter()
                .filter(|event| event.outcome == Outcome::Complete)
                .map(|event| event.size)
                .sum();
            let asked: u64 = wire
                .events
                .iter()
                .chain(&wire.unfinished())
                .map(|event| event.size)
                .sum();
            assert!(complete <= report.bytes && report.bytes <= asked, "{abr}");
            assert!(report.played <= SECONDS(4) * report.downloaded.0);
        }
        assert!(report(&mut wire).downloaded.0 > 30, "{abr}");
    }
}

#[test]
fn a_host_that_cuts_what_arrives_otherwise_changes_nothing_but_times() {
    let config = has(r#", abr = "bola-basic", variation = 0.3, tls = "1.2""#);
    let of = |piece| {
        let mut wire = run(&config, Rate::from_mbps(3), piece, SECONDS(90));
        let report = report(&mut wire);
        let plan: Vec<_> = wire
            .events
            .iter()
            .map(|event| (event.number, event.value, event.size))
            .collect();
        (plan, report.bytes, report.startup.max())
    };
    let whole = of(u64::MAX);
    assert_eq!(of(1_448).0, whole.0);
    assert_eq!(of(97).0, whole.0);
}

/// The size of a segment does not depend on the player's earlier choices.
#[test]
fn sizes_are_planned_whatever_is_chosen() {
    let of = |abr: &str, rate| {
        let config = has(&format!(
            r#", abr = "{abr}", variation = 0.3, ladder = ["1mbit"]"#
        ));
        let wire = run(&config, Rate::from_mbps(rate), 1_448, SECONDS(60));
        wire.events
            .iter()
            .map(|event| event.size)
            .take(10)
            .collect::<Vec<_>>()
    };
    let plan = of("dynamic", 3);
    assert_eq!(plan.len(), 10);
    assert!(plan.iter().any(|size| *size != plan[0]));
    assert_eq!(of("bba-0", 50), plan);
}

#[test]
fn a_connection_that_cannot_be_opened_is_asked_for_again() {
    let config = has("");
    let mut wire = Wire::new(&config, 1, MS(20), Rate::UNLIMITED, 1_448);
    wire.refused = vec![0, 1];
    wire.run(SECONDS(10));
    let report = report(&mut wire);
    // Two refusals after a round trip, each with a second behind it.
    assert_eq!(report.startup.max(), Some(MS(2 * 1_020 + 60)));
    assert_eq!(report.failed, 0, "no download was in flight");
}

#[test]
fn content_ends_with_its_duration_and_closes_its_connections() {
    let config = has(r#", duration = "9s", audio = "64kbit""#);
    let mut wire = run(&config, Rate::from_mbps(20), 1_448, SECONDS(60));
    // Nothing happens any more while the buffer plays.
    assert!(wire.now < SECONDS(4));
    wire.now = SECONDS(60);
    let report = report(&mut wire);
    assert_eq!(report.played, SECONDS(12), "whole segments");
    assert_eq!((report.stalled, report.segments), (Time::ZERO, 3));
    assert_eq!(wire.open(), 0);
    let sound = wire.log.iter().filter(|(_, end, input, _)| {
        let audio = ConnectionId(1);
        *end == 1 && matches!(input, Input::Message { connection, message } if *connection == audio && message.kind == exchange::RESPONSE)
    });
    assert_eq!(sound.count(), 3, "as much sound as video");
    assert_eq!(report.figures().len(), HasReport::forms()[0].figures.len());
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |given: &[(&str, &str)]| settings(given).unwrap_err();
    let list = "must be \"classic\" or \"smooth\" or \"4k\" or \"pensieve\" or a list of 1 to 16 \
        rising rates from 1kbit to 4gbit, such as [\"1mbit\", \"3mbit\"]";
    for ladder in [
        "",
        "[]",
        "2mbit, 1mbit",
        "1mbit, 1mbit",
        "100gbit",
        "0bit",
        "huge",
    ] {
        assert_eq!(refused(&[("ladder", ladder)]).allowed, list, "{ladder}");
    }
    for (given, key, allowed) in [
        (
            vec![("segment", "15s")],
            "max-buffer",
            "must be at least 30s, two segments",
        ),
        (
            vec![("startup", "26s")],
            "startup",
            "must be at most max-buffer, 25s",
        ),
        (
            vec![("resume", "26s")],
            "resume",
            "must be at most max-buffer, 25s",
        ),
        (
            vec![("low-buffer", "19s")],
            "low-buffer",
            "must be at most high-buffer, 18s",
        ),
        (
            vec![("abr", "bba-0"), ("low-buffer", "5s")],
            "low-buffer",
            "has an effect only with abr = \"dynamic\"",
        ),
        (
            vec![("segment", "16s")],
            "segment",
            "must be a time from 500ms to 15s",
        ),
        (
            vec![("variation", "1.5")],
            "variation",
            "must be a fraction from 0 to 1",
        ),
    ] {
        let error = refused(&given);
        assert_eq!((error.key.as_str(), error.allowed.as_str()), (key, allowed));
    }
    // The largest of everything.
    let most = [
        ("ladder", "4gbit"),
        ("segment", "15s"),
        ("max-buffer", "300s"),
        ("variation", "1"),
        ("audio", "10mbit"),
    ];
    let mut wire = run(
        &settings(&most).unwrap(),
        Rate::UNLIMITED,
        u64::MAX,
        SECONDS(1_000),
    );
    assert!(report(&mut wire).downloaded.0 > 60);
}

/// Each parameter changes something that can be seen.
#[test]
fn every_parameter_has_an_effect() {
    let of = |given: &str| {
        let mut wire = Wire::new(&has(given), 1, MS(20), Rate::from_mbps(3), 1_448);
        wire.changes = vec![
            (SECONDS(60), Rate::from_bps(200_000)),
            (SECONDS(85), Rate::from_mbps(3)),
        ];
        wire.run(SECONDS(150));
        let report = report(&mut wire);
        (report, wire.log.len())
    };
    let plain = of("");
    for given in [
        r#"segment = "3s""#,
        r#"ladder = "smooth""#,
        "variation = 0.2",
        r#"abr = "throughput""#,
        r#"high-buffer = "12s""#,
        r#"low-buffer = "2s""#,
        "abandon = false",
        r#"max-buffer = "40s""#,
        r#"startup = "12s""#,
        r#"resume = "12s""#,
        r#"duration = "40s""#,
        r#"request = "2kB""#,
        r#"response = "9kB""#,
        r#"tls = "none""#,
        r#"audio = "128kbit""#,
    ] {
        assert_ne!(of(&format!(", {given}")), plain, "{given}");
    }
    let rules = [
        "throughput",
        "bola-basic",
        "bola-e",
        "bola-dash",
        "dynamic-sabre",
        "bba-0",
        "robust-mpc",
    ];
    for (index, abr) in rules.iter().enumerate() {
        for other in &rules[..index] {
            let [one, two] = [abr, other].map(|abr| of(&format!(r#", abr = "{abr}""#)));
            assert_ne!(one, two, "{abr} {other}");
        }
    }
}
