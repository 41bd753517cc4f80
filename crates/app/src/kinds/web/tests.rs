//! Items over a scripted host.

use super::*;
use crate::scripted::{Wire, app};
use crate::{AppConfig, Event, KindReport as _, Outcome, Report};

const MS: fn(u64) -> Time = Time::from_millis;
const SECONDS: fn(u64) -> Time = Time::from_secs;
const FAST: Rate = Rate::UNLIMITED;

fn items(parameters: &str) -> AppConfig {
    app(&format!(r#"app = {{ kind = "web"{parameters} }}"#))
}

fn run(config: &AppConfig, rate: Rate, piece: u64, until: Time) -> Wire {
    let mut wire = Wire::new(config, 1, MS(20), rate, piece);
    wire.run(until);
    wire
}

fn report(wire: &mut Wire) -> ItemsReport {
    match wire.report() {
        Report::Web(WebReport::Items(report)) => *report,
        other => panic!("{other:?}"),
    }
}

/// The planned part of an event.
fn plan(events: &[Event]) -> Vec<(u64, u64)> {
    let mut plan: Vec<_> = events
        .iter()
        .map(|event| (event.number, event.size))
        .collect();
    plan.sort_unstable();
    plan
}

/// Without a request: SYN, SYN-ACK, ACK and the item take two RTTs of 20 ms. A request takes another,
/// TLS one or two more.
#[test]
fn an_item_takes_as_many_round_trips_as_its_exchange() {
    for (parameters, rtts) in [
        ("", 2),
        (r#", request = "350B""#, 2),
        (r#", tls = "1.3""#, 3),
        (r#", tls = "1.3", request = "350B""#, 3),
        (r#", tls = "1.2""#, 4),
    ] {
        let config = items(&format!(r#", rate = 20{parameters}"#));
        let mut wire = run(&config, FAST, 1_448, SECONDS(10));
        let report = report(&mut wire);
        assert!(report.completed() > 150, "{parameters}");
        let expected = Some(MS(20 * rtts));
        let found = (report.completion.min(), report.completion.max());
        assert_eq!(found, (expected, expected), "{parameters}");
        assert_eq!(report.last_byte.max(), expected);
        assert_eq!(report.without_handshake.max(), Some(MS(20 * (rtts - 1))));
        let found = (report.flow_startup.min(), report.flow_startup.max());
        assert_eq!(found, (expected, expected), "{parameters}");
    }
}

/// Each item has its first byte, a lost one too, so long after its connection was asked for as a SYN that is sent once takes; on a kept
/// connection that is up one round trip after its request, however long it waited behind others.
#[test]
fn a_flow_starts_up_with_its_connection_or_with_its_request() {
    let slow = Rate::from_mbps(1);
    for (parameters, least, most) in [
        (r#", request = "350B""#, MS(40), MS(40)),
        // With the 11.6 ms of its first segment.
        (r#", connection = "kept""#, MS(20), MS(34)),
    ] {
        let config = items(&format!(r#", rate = 4, size = "20kB"{parameters}"#));
        let mut wire = run(&config, slow, 1_448, SECONDS(60));
        let report = report(&mut wire);
        let found = &report.flow_startup;
        let (first, last) = (found.min().unwrap(), found.quantile(900).unwrap());
        assert!(found.count() >= report.completed() && found.count() > 100);
        assert!(first >= least, "{parameters}: {first}");
        if parameters.contains("kept") {
            assert!(last <= most, "{parameters}: {last}");
            // The first of all had the handshake in front.
            assert!(found.max().unwrap() >= MS(40), "{parameters}");
            let waited = report.completion.quantile(900).unwrap();
            assert!(waited > MS(200), "{parameters}: {waited}");
        }
    }
}

#[test]
fn every_item_is_accounted_for_and_every_connection_is_closed() {
    for parameters in [
        "",
        r#", request = "350B""#,
        r#", tls = "1.2""#,
        r#", connection = "kept""#,
        r#", connection = "kept", tls = "1.3", max-concurrent = 3"#,
        r#", max-concurrent = 2"#,
    ] {
        let config = items(&format!(", rate = 100{parameters}"));
        let mut wire = Wire::new(&config, 3, MS(20), Rate::from_mbps(10), 1_448);
        wire.refused = vec![0, 7, 8, 30];
        wire.run(SECONDS(20));
        let found = report(&mut wire);
        let outcome = |outcome| {
            wire.events
                .iter()
                .filter(|event| event.outcome == outcome)
                .count()
        };
        assert_eq!(
            found.completed() as usize,
            outcome(Outcome::Complete),
            "{parameters}"
        );
        assert_eq!(
            found.refused as usize,
            outcome(Outcome::Refused),
            "{parameters}"
        );
        assert_eq!(
            found.failed as usize,
            outcome(Outcome::Failed),
            "{parameters}"
        );
        let ended = found.completed() + found.failed + found.cut_short;
        assert_eq!(found.started, ended + found.in_flight, "{parameters}");
        assert!(found.started + found.refused > 1_800, "{parameters}");
        let is_kept = parameters.contains("kept");
        assert_eq!(found.failed, if is_kept { 0 } else { 4 }, "{parameters}");
        assert_eq!(
            parameters.contains("max"),
            found.refused > 0,
            "{parameters}"
        );
        let by_size: u64 = found
            .by_size
            .iter()
            .map(|range| range.completion.count())
            .sum();
        assert_eq!(by_size, found.completed(), "none is below 1 kB");
        assert!(
            wire.open() <= found.in_flight as usize + 3,
            "{}",
            wire.open()
        );
        // Each number once, with those that have not ended.
        let unfinished = wire.unfinished();
        assert_eq!(unfinished.len() as u64, found.in_flight);
        let all = wire.events.iter().chain(&unfinished);
        let mut numbers: Vec<u64> = all.map(|event| event.number).collect();
        numbers.sort_unstable();
        assert!(
            numbers.iter().copied().eq(0..numbers.len() as u64),
            "{parameters}"
        );
    }
}

/// Arrival in pieces changes no plan; over a wire without serialisation not even times.
#[test]
fn the_plan_is_the_same_whatever_the_host_does() {
    for parameters in [
        "",
        r#", request = "350B", tls = "1.3""#,
        r#", connection = "kept""#,
    ] {
        let config = items(&format!(", rate = 20{parameters}"));
        let whole = run(&config, FAST, u64::MAX, SECONDS(10));
        let cut = run(&config, FAST, 311, SECONDS(10));
        assert_eq!(whole.events, cut.events, "{parameters}");
        let slow = run(&config, Rate::from_mbps(5), 1_448, SECONDS(10));
        let (planned, slow) = (plan(&whole.events), plan(&slow.events));
        // The last ones are in flight.
        let common = slow.iter().filter(|item| planned.contains(item)).count();
        assert_eq!(common, slow.len(), "{parameters}");
        assert!(slow.len() > 150, "{parameters}");
    }
}

/// Both ends draw the size of a connection by its serial number.
#[test]
fn a_connection_that_fails_shifts_no_size() {
    let config = items(", rate = 50");
    let all = run(&config, FAST, u64::MAX, SECONDS(4));
    let mut some = Wire::new(&config, 1, MS(20), FAST, u64::MAX);
    some.refused = vec![0, 5, 17];
    some.run(SECONDS(4));
    assert_eq!(plan(&all.events), plan(&some.events));
    let failed: Vec<u64> = some
        .events
        .iter()
        .filter(|event| event.outcome == Outcome::Failed)
        .map(|event| event.number)
        .collect();
    assert_eq!(failed, [0, 5, 17]);
}

/// Counts per second have the variance of a Poisson process, and sizes do not touch times.
#[test]
fn arrivals_are_poisson_and_independent_of_the_sizes() {
    let config = items(r#", rate = 10, size = "1kB", request = "24B""#);
    let wire = run(&config, FAST, u64::MAX, SECONDS(10_000));
    let mut counts = vec![0_u64; 9_999];
    let started: Vec<Time> = wire.events.iter().map(|event| event.started).collect();
    for started in &started {
        if let Some(count) = counts.get_mut((started.as_nanos() / 1_000_000_000) as usize) {
            *count += 1;
        }
    }
    let count = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / count;
    let squares = counts
        .iter()
        .map(|&n| (n as f64 - mean).powi(2))
        .sum::<f64>()
        / count;
    // Four deviations: √(λ/n) of the mean, √(2/n) of the ratio.
    assert!((mean - 10.0).abs() < 0.127, "{mean}");
    assert!((squares / mean - 1.0).abs() < 0.057, "{}", squares / mean);

    let other = items(r#", rate = 10, size = "9kB""#);
    let other = run(&other, FAST, u64::MAX, SECONDS(100));
    let times = other.events.iter().map(|event| event.started);
    assert!(times.eq(started[..other.events.len()].iter().copied()));
}

#[test]
fn a_late_host_catches_up_with_the_plan() {
    let config = items(", rate = 1000");
    let mut client = config.end(Role::Receiver, Random::new(1, "flow"));
    let [Action::WakeAt(first)] = crate::answer(&mut client, Time::ZERO, Input::Started)[..] else {
        panic!("no plan");
    };
    let late = first + MS(50);
    let mut opened = 0;
    loop {
        let answer = crate::answer(&mut client, late, Input::Wake);
        opened += answer
            .iter()
            .filter(|action| matches!(action, Action::Open(_)))
            .count();
        let Some(Action::WakeAt(next)) = answer.first() else {
            panic!("{answer:?}")
        };
        if *next > late {
            break;
        }
    }
    // 51 ± 7.
    assert!((25..80).contains(&opened), "{opened}");
}

#[test]
fn normalised_times_are_ideal_over_actual_ones() {
    let config = items(r#", rate = 20, size = "10kB", ideal-rate = "10mbit", ideal-rtt = "20ms""#);
    let report = report(&mut run(&config, Rate::from_mbps(10), 1_000, SECONDS(10)));
    // 10 kB take 8 ms at 10 Mbit/s: the ideal is 48 ms, and most items are alone.
    let found = &report.by_size[2];
    assert_eq!(found.normalised.count(), report.completed());
    assert_eq!(found.normalised.max(), Some(MS(1)));
    assert!(found.normalised.min() < found.normalised.max());
}

#[test]
fn a_stretch_has_what_completed_in_it_and_what_is_left_in_the_last() {
    let config = items(r#", rate = 50, size = "200kB""#);
    let mut wire = Wire::new(&config, 1, MS(20), Rate::from_mbps(20), 1_448);
    wire.run(SECONDS(2));
    let whole = report(&mut wire);
    assert!(
        whole.in_flight > 0 && whole.oldest > Some(MS(100)),
        "overloaded"
    );
    wire.start_counting();
    wire.run(SECONDS(4));
    let second = report(&mut wire);
    let mut appended = WebReport::Items(Box::new(whole));
    appended.append(&WebReport::Items(Box::new(second.clone())));
    let WebReport::Items(whole) = appended.clone() else {
        panic!("another form");
    };
    let complete = wire
        .events
        .iter()
        .filter(|event| event.outcome == Outcome::Complete);
    assert_eq!(whole.completed() as usize, complete.count());
    assert_eq!(whole.started, whole.completed() + whole.in_flight);
    assert_eq!(whole.oldest, second.oldest);
    let mut both = appended.clone();
    both.merge(&appended);
    let WebReport::Items(both) = both else {
        panic!("another form");
    };
    assert_eq!(both.in_flight, 2 * whole.in_flight);
    assert_eq!(both.slower[0], 2 * whole.slower[0]);
}

#[test]
fn presets_and_the_path_give_what_is_not_given() {
    let entry = crate::find("web").unwrap();
    let mut settings = Settings::new(entry.parameters);
    settings.set("rate", "7").unwrap();
    let mut settings = entry.filled(&settings, entry.preset("ccafct").unwrap());
    let rtt = MS(7);
    let rate = Rate::from_mbps(20);
    entry.settle(&mut settings, &Path { rate, rtt });
    let AppConfig::Web(web) = entry.configure(&settings).unwrap() else {
        panic!("another kind");
    };
    assert_eq!((web.rate, web.ideal), (7 * PARTS, Some(Path { rate, rtt })));
    assert_eq!(Some(web.size), Sizes::parse(super::presets::CCAFCT_SIZES));

    let mut settings = Settings::new(entry.parameters);
    settings.set("scale-with-link", "true").unwrap();
    for _ in 0..2 {
        entry.settle(&mut settings, &Path { rate, rtt });
        assert_eq!(
            settings.value("rate"),
            Some(Value::Fraction(5 * PARTS, PARTS))
        );
        assert_eq!(settings.value("scale-with-link"), Some(Value::Flag(false)));
    }
}

/// Items 7 and on of another rate are those of the same numbers, at times that are stretched from the
/// change on; 40 times as many come at 200 as at 5 per second.
#[test]
fn a_change_of_rate_stretches_the_plan_and_no_more() {
    let of = |rate| items(&format!(r#", rate = {rate}, size = "1kB""#));
    let starts = |changes: &[(Time, AppConfig)], seconds| -> Vec<u64> {
        let mut wire = Wire::changing(&of(5), changes, 1, MS(20), FAST, 1_448);
        wire.run(SECONDS(seconds));
        let events = wire
            .events
            .iter()
            .chain(&wire.unfinished())
            .cloned()
            .collect::<Vec<_>>();
        let mut starts: Vec<_> = events
            .iter()
            .map(|event| event.started.as_nanos())
            .collect();
        starts.sort_unstable();
        starts
    };
    let plain = starts(&[], 12);
    let off = [
        (SECONDS(1), of(0)),
        (SECONDS(3), of(200)),
        (SECONDS(4), of(5)),
    ];
    let changed = starts(&off, 12);
    let is_before = |start: &&u64| **start < 1_000_000_000;
    let first = plain.iter().filter(is_before).count();
    assert_eq!(changed[..first], plain[..first]);
    assert!(changed[first] > 3_000_000_000, "none while it is off");
    // The items of 40 s at 5 per second come in 1 s at 200, and later ones as before.
    let stretched = |start: u64| match start {
        0..1_000_000_000 => start,
        1_000_000_000..41_000_000_000 => 3_000_000_000 + (start - 1_000_000_000) / 40,
        _ => start - 37_000_000_000,
    };
    let long = starts(&[], 49).into_iter().map(stretched);
    let mut count = 0;
    for (found, expected) in changed.iter().zip(long) {
        // Whole nanoseconds, 40 times as long after the change back.
        assert!(found.abs_diff(expected) < 20_000, "{found} {expected}");
        count += 1;
    }
    assert!(
        count > 200 && count == changed.len(),
        "{count} of {}",
        changed.len()
    );
}
