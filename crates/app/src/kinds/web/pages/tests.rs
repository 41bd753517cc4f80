//! Pages over a scripted host.

use quell_units::Rate;

use super::super::WebReport;
use super::*;
use crate::scripted::{Wire, app};
use crate::{AppConfig, Report};

const MS: fn(u64) -> Time = Time::from_millis;
const SECONDS: fn(u64) -> Time = Time::from_secs;
const FAST: Rate = Rate::UNLIMITED;

fn pages(parameters: &str) -> AppConfig {
    app(&format!(
        r#"app = {{ kind = "web", model = "pages"{parameters} }}"#
    ))
}

fn run(config: &AppConfig, rate: Rate, piece: u64, until: Time) -> Wire {
    let mut wire = Wire::new(config, 1, MS(20), rate, piece);
    wire.run(until);
    wire
}

fn report(wire: &mut Wire) -> PagesReport {
    match wire.report() {
        Report::Web(WebReport::Pages(report)) => *report,
        other => panic!("{other:?}"),
    }
}

/// The planned part of an event.
fn plan(wire: &Wire, kind: &str) -> Vec<(u64, u64)> {
    let events = wire.events.iter().filter(|event| event.kind == kind);
    let mut plan: Vec<_> = events.map(|event| (event.number, event.size)).collect();
    plan.sort_unstable();
    plan
}

/// Connection 1 is free with the document, five others two round trips later: the smallest K with
/// K + 5 max(0, K − 2) ≥ N rounds follow those of TCP, TLS and the document.
#[test]
fn a_page_over_http1_takes_the_rounds_of_its_closed_form() {
    for (objects, rounds) in [
        (1, 1),
        (2, 2),
        (6, 3),
        (8, 3),
        (9, 4),
        (14, 4),
        (26, 6),
        (27, 7),
    ] {
        let smallest = (1..).find(|k| k + 5 * (k.max(&2) - 2) >= objects).unwrap();
        assert_eq!(smallest, rounds);
        let config = pages(&format!(
            r#", recipe = "equal", objects = {objects}, object-size = "1kB", protocol = "http1", parse = "0s", reading = "1s", keep-alive = "0s""#
        ));
        let mut wire = run(&config, FAST, u64::MAX, SECONDS(30));
        let report = report(&mut wire);
        assert!(report.completed() > 15);
        let expected = Some(MS(20 * (3 + rounds)));
        assert_eq!(
            (report.load.min(), report.load.max()),
            (expected, expected),
            "{objects}"
        );
        assert_eq!(report.by_start[1].count(), 0, "every page is cold");
        assert_eq!(report.document.max(), Some(MS(60)));
        // TCP, TLS and the request, of the first object on a connection; the request of others.
        assert_eq!(report.flow_startup.max(), Some(MS(60)));
        assert_eq!(report.flow_startup.min(), Some(MS(20)), "{objects}");
        let opened = report.opened / report.completed();
        assert_eq!(opened, (objects).clamp(1, 6), "{objects}");
    }
}

/// One connection, whose second page has no handshakes.
#[test]
fn a_page_over_http2_takes_four_rounds_whatever_it_holds() {
    for (parameters, cold, warm) in [
        (", objects = 1", 4, 2),
        (", objects = 60", 4, 2),
        // Another hundred may be open as soon as the first are answered.
        (", objects = 250", 6, 4),
        (r#", tls = "1.2""#, 5, 2),
        (r#", tls = "none""#, 3, 2),
        (r#", parse = "20ms""#, 5, 3),
        (r#", server-delay = "20ms""#, 6, 4),
    ] {
        let parse = if parameters.contains("parse") {
            ""
        } else {
            r#", parse = "0s""#
        };
        let config = pages(&format!(
            r#", recipe = "equal", object-size = "1kB", reading = "1s"{parse}{parameters}"#
        ));
        let mut wire = run(&config, FAST, 1_448, SECONDS(30));
        let report = report(&mut wire);
        let [first, later] = &report.by_start;
        assert_eq!(
            (first.count(), first.max()),
            (1, Some(MS(20 * cold))),
            "{parameters}"
        );
        assert_eq!(
            (later.min(), later.max()),
            (Some(MS(20 * warm)), Some(MS(20 * warm)))
        );
        assert_eq!((report.opened, wire.open()), (1, 1));
        let besides = [r#"parse"#, "server-delay"].map(|key| parameters.contains(key));
        let waits = u64::from(besides[0]) + 2 * u64::from(besides[1]);
        assert_eq!(
            report.network.max(),
            Some(MS(20 * (cold - waits))),
            "{parameters}"
        );
    }
}

/// A small response that is asked for after a large one does not wait for its end.
#[test]
fn responses_of_one_connection_are_interleaved() {
    let config = pages(r#", protocol = "http2", parse = "0s", pages = 5, reading = "5s""#);
    let mut wire = run(&config, Rate::from_mbps(20), 1_448, SECONDS(60));
    let frames: Vec<Message> = wire
        .log
        .iter()
        .filter_map(|(_, end, input, _)| match input {
            Input::Message { message, .. } if *end == 1 && message.kind == RESPONSE => {
                Some(*message)
            }
            _ => None,
        })
        .collect();
    assert!(frames.iter().all(|frame| frame.length <= 16_384 + 24));
    let turns = frames
        .windows(2)
        .filter(|pair| pair[0].stream != pair[1].stream)
        .count();
    assert!(turns * 10 > frames.len() * 8, "{turns} of {}", frames.len());
    // All that was asked for has arrived, headers of responses included.
    let report = report(&mut wire);
    assert_eq!(report.completed(), 5);
    let arrived: u64 = frames.iter().map(|frame| frame.length).sum();
    assert_eq!(arrived, report.bytes + 250 * report.page_objects);
}

#[test]
fn everything_is_accounted_for_however_it_arrives() {
    for parameters in [
        "",
        r#", protocol = "http1""#,
        r#", protocol = "http1", keep-alive = "0s", reading = "0s""#,
        r#", server-delay = { mean = "30ms", distribution = "exponential" }"#,
        r#", recipe = "3gpp", protocol = "http1", connections = 1, tls = "none""#,
    ] {
        let reading = if parameters.contains("reading") {
            ""
        } else {
            r#", reading = "500ms""#
        };
        let config = pages(&format!("{parameters}{reading}"));
        let mut wire = run(&config, Rate::from_mbps(30), 1_448, SECONDS(60));
        let found = report(&mut wire);
        assert_eq!(
            found.started,
            found.completed() + found.in_flight,
            "{parameters}"
        );
        assert!(
            found.completed() >= 20,
            "{parameters}: {}",
            found.completed()
        );
        let (pages, objects) = (plan(&wire, "page"), plan(&wire, "object"));
        assert_eq!(pages.len() as u64, found.completed());
        assert_eq!(objects.len() as u64, found.objects);
        assert!(pages.iter().map(|page| page.0).eq(0..found.completed()));
        let unfinished = wire.unfinished();
        let left = unfinished
            .iter()
            .filter(|event| event.kind == "page")
            .count();
        assert_eq!(left as u64, found.in_flight, "{parameters}");
        // Objects have their numbers in the plan of all pages.
        let mut numbers: Vec<u64> = objects.iter().map(|object| object.0).collect();
        let left = unfinished.iter().filter(|event| event.kind == "object");
        numbers.extend(left.map(|event| event.number));
        numbers.sort_unstable();
        assert!(
            numbers.iter().copied().eq(0..numbers.len() as u64),
            "{parameters}"
        );

        let slow = run(&config, Rate::from_mbps(10), 333, SECONDS(60));
        let (few, many) = (plan(&slow, "page"), plan(&wire, "page"));
        assert!(!few.is_empty() && few.len() < many.len(), "{parameters}");
        assert_eq!(few, many[..few.len()], "{parameters}");
        // Without serialisation pieces do not even change times.
        let whole = run(&config, FAST, u64::MAX, SECONDS(10));
        let cut = run(&config, FAST, 777, SECONDS(10));
        assert_eq!(whole.events, cut.events, "{parameters}");
    }
}

#[test]
fn a_page_whose_connection_fails_is_given_up_and_the_next_one_is_loaded() {
    let config = pages(r#", protocol = "http1", reading = "1s", keep-alive = "0s""#);
    let mut wire = Wire::new(&config, 1, MS(20), Rate::from_mbps(50), 1_448);
    wire.refused = vec![0, 9];
    wire.run(SECONDS(30));
    let found = report(&mut wire);
    assert_eq!(found.failed, 2);
    assert_eq!(found.started, found.completed() + 2 + found.in_flight);
    assert!(found.completed() > 10);
}

#[test]
fn the_last_page_closes_its_connections() {
    let config = pages(r#", pages = 3, reading = "1s", keep-alive = "2s""#);
    let mut wire = run(&config, Rate::from_mbps(50), 1_448, SECONDS(600));
    assert_eq!((report(&mut wire).completed(), wire.open()), (3, 0));
    assert_eq!(wire.unfinished(), []);
}
