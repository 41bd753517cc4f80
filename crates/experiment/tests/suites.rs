//! The scenario files of the suites: those that are shipped are those of the suites' files, each runs, and drop-tail loses what RFC 7928 says.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use quell_experiment::characterize::measured::Measured;
use quell_experiment::characterize::test_case::Content;
use quell_experiment::characterize::verdict::Ending;
use quell_experiment::characterize::{Prepared, Profile, Request, Suite, simulated};
use quell_lab::{Scenario, World, sim};
use quell_measure::Summary;
use quell_units::parameter::Value;
use quell_units::{Rate, Time};

use crate::cards::run::Nobody;

fn request(suite: Suite, profile: Profile) -> Request {
    Request {
        queue: "fifo".to_owned(),
        against: Vec::new(),
        profile,
        suite,
        only: Vec::new(),
        world: World::Sim,
        controls: Vec::new(),
        seeds: Some(5),
    }
}

fn prepared(suite: Suite, profile: Profile) -> Prepared {
    request(suite, profile).prepare().unwrap()
}

fn run(scenario: &Scenario, seed: u64) -> Summary {
    let never = AtomicBool::new(false);
    sim::run(scenario, seed, &never, &mut Nobody)
        .unwrap()
        .summary
}

/// The folder of the shipped scenarios of a suite.
fn folder(suite: &Suite) -> PathBuf {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    scenarios.join(match suite.name() {
        "l4s" => "l4s-suite",
        name => name,
    })
}

/// Every suite but that of all.
fn suites() -> impl Iterator<Item = Suite> {
    let names = Suite::names().filter(|name| *name != "all");
    names.map(|name| Suite::named(name).unwrap())
}

#[test]
fn shipped_scenarios_are_those_of_the_tables() {
    let bless = std::env::var_os("QUELL_BLESS").is_some();
    for suite in suites() {
        let prepared = prepared(suite.clone(), Profile::named("100mbit").unwrap());
        let folder = folder(&suite);
        let mut names = BTreeSet::new();
        for (file, text) in prepared.files() {
            let name = file.strip_prefix("scenarios/").unwrap();
            let path = folder.join(name);
            names.insert(name.to_owned());
            if bless {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, text).unwrap();
            }
            let shipped = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                shipped == *text,
                "{}: make it anew with QUELL_BLESS=1",
                path.display()
            );
            Scenario::load(name, text, &[], Some(World::Sim)).unwrap();
        }
        let there = fs::read_dir(&folder).unwrap();
        let there: BTreeSet<String> = there
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(there, names);
    }
}

#[test]
fn every_item_that_runs_has_a_scenario_that_measures_something() {
    let profile = Profile {
        duration: Time::from_secs(2),
        ..Profile::named("10mbit").unwrap()
    };
    for suite in suites() {
        let prepared = prepared(suite.clone(), profile.clone());
        let mut ran = BTreeSet::new();
        for cell in &prepared.cells {
            if ran.insert(cell.test_case.id.as_str()) {
                let summary = run(&prepared.resolved(cell).unwrap(), 1);
                let packets = summary.figures.queues.iter().map(|queue| queue.packets);
                assert!(packets.sum::<u64>() > 50, "{}", cell.test_case.id);
            }
        }
        for case in suite.test_cases() {
            let without = prepared
                .not_run
                .iter()
                .any(|(one, why)| one.id == case.id && !why.is_empty());
            let ran =
                ran.contains(case.id.as_str()) || matches!(case.content, Content::Description);
            assert!(ran != without, "{}", case.id);
        }
    }
}

/// A profile that no suite has as its own: the home has its rate down, a fifth of it up, and its base RTT, and every other suite's scenarios
/// follow it too.
#[test]
fn every_suite_obeys_a_profile_of_ones_own() {
    let text = "name = \"mine\"\nrate = \"35mbit\"\nrtt = \"33ms\"\nduration = \"7s\"";
    let profile = Profile::read("mine.toml", text).unwrap();
    for suite in suites() {
        let prepared = prepared(suite.clone(), profile.clone());
        let usual = self::prepared(suite.clone(), Profile::named("100mbit").unwrap());
        let usual: BTreeSet<&str> = usual
            .files()
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        let of_home = prepared.cells.iter().filter(|_| suite.name() == "access");
        for cell in of_home {
            let scenario = prepared.resolved(cell).unwrap();
            let (id, run) = (&cell.test_case.id, &scenario.run);
            let link = &scenario.links[0];
            let rates = (link.forward.rate, link.reverse.rate);
            assert_eq!(rates, (Rate::from_mbps(35), Rate::from_mbps(7)), "{id}");
            // A bandwidth-delay product each way.
            for (queue, packets) in [(&link.forward.queue, 96), (&link.reverse.queue, 19)] {
                let limit = queue.settings.applicable_value("limit");
                assert_eq!(limit, Some(Value::Packets(packets)), "{id}");
            }
            let mut rtts = scenario.groups.iter().map(|group| group.rtt);
            assert!(rtts.all(|rtt| rtt == Time::from_millis(33)), "{id}");
            assert_eq!(run.duration - run.warmup, Time::from_secs(7), "{id}");
        }
        let same = prepared
            .files()
            .iter()
            .filter(|(_, text)| usual.contains(text.as_str()));
        let same: Vec<&str> = same.map(|(name, _)| name.as_str()).collect();
        assert!(same.is_empty(), "the profile changes nothing of {same:?}");
    }
}

/// The suite of the guide: items of one's own, a queue in both directions, statements on a group and on queues that mark.
#[test]
fn a_suite_of_ones_own_gives_a_card_with_verdicts() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/characterize.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, rest) = guide
        .split_once("<!-- file: shop.toml -->\n```toml\n")
        .unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let profile = Profile {
        duration: Time::from_secs(3),
        ..Profile::named("10mbit").unwrap()
    };
    let mut request = request(Suite::read("my/shop.toml", text).unwrap(), profile);
    request.queue = "codel:ecn=true".to_owned();
    request.controls = vec!["reno".to_owned(), "cubic".to_owned()];
    request.seeds = Some(2);
    let never = AtomicBool::new(false);
    let card = simulated(&request.prepare().unwrap(), NonZeroUsize::MIN, &never).unwrap();
    assert_eq!(card.suite, "shop");
    let labels: Vec<String> = card.scenarios.iter().map(|one| one.label()).collect();
    assert_eq!(
        labels,
        ["sale reno", "sale cubic", "night reno", "night cubic"]
    );
    let verdicts = card.verdicts.iter().map(|one| {
        (
            one.scenario.as_str(),
            one.queue.as_str(),
            one.threshold,
            one.unit.as_str(),
        )
    });
    let expected = [
        ("sale", "codel:ecn=true", 1_000.0, "ms"),
        ("sale", "codel:ecn=true", 1_000.0, "ms"),
        ("night", "codel:ecn=true", 0.9, ""),
        ("night", "codel:ecn=true", 0.9, ""),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let night = card.scenarios.last().unwrap();
    assert_eq!(night.results[0].phases.len(), 2);
}

/// The RFC's self-check: with the right buffer, drop-tail loses 0.1 %, 0.5 % and 1 % (sections 8.2.2 to 8.2.4).
#[test]
fn drop_tail_loses_what_the_levels_are_named_for() {
    let mut request = request(
        Suite::named("rfc7928").unwrap(),
        Profile::named("100mbit").unwrap(),
    );
    let levels = [("mild", 0.001), ("medium", 0.005), ("heavy", 0.01)];
    request.only = levels.map(|(id, _)| id.to_owned()).into();
    let prepared = request.prepare().unwrap();
    assert_eq!(prepared.cells.len(), levels.len());
    for (cell, (id, named)) in prepared.cells.iter().zip(levels) {
        assert_eq!(cell.test_case.id, id);
        let summary = run(&prepared.resolved(cell).unwrap(), 1);
        let queue = summary
            .figures
            .queues
            .iter()
            .find(|queue| queue.packets > 0);
        let share = queue.unwrap().drop_ratio / named;
        assert!((0.5..=2.0).contains(&share), "{id}: {share} times {named}");
    }
}

/// The direction of S1 and S6 of the tests of 2020: 2 to 3 to 1 in favour of Prague behind DualPI2 at 10 ms, more than 10 to 1 in one
/// queue of RFC 3168. Prague keeps its share only because the queue marks: where CoDel drops, both have the same.
#[test]
fn prague_beside_cubic_has_the_shares_that_the_tests_of_2020_found() {
    let mut request = request(
        Suite::named("l4s").unwrap(),
        Profile::named("100mbit").unwrap(),
    );
    request.queue = "dualpi2".to_owned();
    request.against = vec!["codel".to_owned(), "codel:ecn=false".to_owned()];
    request.only = vec!["s1-10".to_owned(), "s6-ecn".to_owned()];
    request.seeds = Some(3);
    let never = AtomicBool::new(false);
    let card = simulated(
        &request.prepare().unwrap(),
        NonZeroUsize::new(2).unwrap(),
        &never,
    );
    let card = card.unwrap();
    let verdicts = card.verdicts.iter().map(|one| {
        assert_eq!(one.ending, Ending::Met, "{one:?}");
        (one.scenario.as_str(), one.queue.as_str())
    });
    let expected = [
        ("s1-10", "dualpi2"),
        ("s1-10", "dualpi2"),
        ("s1-10", "fifo"),
        ("s6-ecn", "codel"),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let shared = card.scenarios.iter().find(|one| one.id == "s6-ecn");
    let dropping = &shared.unwrap().results[3];
    assert_eq!(dropping.queue, "codel:ecn=false");
    let ratio = dropping.whole["ratio"].mean;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

/// Two links in a row: where the shared queue is the bottleneck Prague has what S6 found, though the second link knows L4S; where the second
/// link is, it has what S1 found.
#[test]
fn of_two_links_the_slower_decides_what_prague_leaves_to_cubic() {
    let mut request = request(
        Suite::named("l4s").unwrap(),
        Profile::named("100mbit").unwrap(),
    );
    request.queue = "dualpi2".to_owned();
    request.only = vec!["s6-first".to_owned(), "s6-second".to_owned()];
    request.seeds = Some(3);
    let never = AtomicBool::new(false);
    let prepared = request.prepare().unwrap();
    let card = simulated(&prepared, NonZeroUsize::new(2).unwrap(), &never).unwrap();
    let verdicts = card.verdicts.iter().map(|one| {
        assert_eq!(one.ending, Ending::Met, "{one:?}");
        (one.scenario.as_str(), one.queue.as_str())
    });
    let expected = [
        ("s6-first", "dualpi2"),
        ("s6-first", "fifo"),
        ("s6-second", "dualpi2"),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    for (scenario, bottleneck) in card.scenarios.iter().zip([0, 1]) {
        for outcome in &scenario.results {
            let waited = |link: usize| outcome.links[link].figures["bottleneck_share"].mean;
            assert!(waited(bottleneck) > 0.95, "{} {outcome:?}", scenario.id);
            let used = outcome.links[1 - bottleneck].figures["utilisation"].mean;
            assert!((used - 5.0 / 6.0).abs() < 0.01, "{} {used}", scenario.id);
        }
    }
}

/// RFC 7928 section 10.2: the same queue, with another parameter, and another one in front; and the figures of the way are those of its parts.
#[test]
fn queues_in_a_row_are_those_that_the_scenario_is_named_for() {
    let mut request = request(
        Suite::named("rfc7928").unwrap(),
        Profile::named("100mbit").unwrap(),
    );
    request.queue = "pie".to_owned();
    request.only = vec!["multi".to_owned()];
    let prepared = request.prepare().unwrap();
    let of_pie = prepared.cells.iter().filter(|cell| cell.queue == 0);
    let resolved = of_pie.map(|cell| {
        let id = cell.test_case.id.as_str();
        (id, prepared.resolved(cell).unwrap())
    });
    let resolved: Vec<(&str, Scenario)> = resolved.collect();
    let seen = resolved.iter().map(|(id, scenario)| {
        let queue = |link: usize| {
            let queue = &scenario.links[link].forward.queue;
            let target = queue.settings.value("target").map(|one| one.to_string());
            (queue.kind, target.unwrap_or_default())
        };
        (*id, queue(0), queue(1))
    });
    let of = |kind, target: &str| (kind, target.to_owned());
    let expected = [
        ("multi-same", of("pie", "15ms"), of("pie", "15ms")),
        ("multi-params", of("pie", "30ms"), of("pie", "15ms")),
        ("multi-other", of("codel", "5ms"), of("pie", "15ms")),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);

    let never = AtomicBool::new(false);
    let run = sim::run(&resolved[0].1, 1, &never, &mut Nobody).unwrap();
    let measured = Measured::new(&run.summary, &run.histograms, &[], true);
    // Half of the flows wait twice and are signalled twice.
    assert!(measured.whole["ratio"] < 1.0, "{:?}", measured.whole);
    let figures = &run.summary.figures;
    let queues = figures
        .queues
        .iter()
        .filter_map(|queue| Some((queue.packets, queue.delay_ms?)));
    let waited: f64 = queues
        .map(|(packets, delay)| packets as f64 * delay.mean)
        .sum();
    let packets: u64 = figures.groups.iter().map(|group| group.packets).sum();
    let whole = measured.whole["delay_ms.mean"] * packets as f64;
    assert!((whole / waited - 1.0).abs() < 0.005, "{whole} {waited}");
    let names = measured.links.iter().map(|(name, _)| name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["first", "second"]);
}
