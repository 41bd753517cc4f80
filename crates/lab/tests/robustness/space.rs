//! The space of scenarios, at random.
//!
//! Each case is a scenario that the checker accepts; it must run to its end without an error, report figures that can be,
//! and take no more memory than the checker reckons with. What starts in the virtual and the live world is tried by the tests of
//! the command line; here is that a guest judges as its host does.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quell_lab::World;
use quell_lab::scenario::{Memory, Scenario, Setting};
use quell_lab::virtual_world::{guest_memory, guest_scenario};
use quell_measure::Summary;
use quell_units::Random;

use crate::robustness::any;
use crate::robustness::measured::measured;

/// What a case may cost; a test build does some millions of events a second.
const EVENTS: u64 = 150_000;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_runs_to_its_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (text, scenario) = any::accepted(&bytes, EVENTS, World::Sim);
        if let Ok(scenario) = scenario {
            let (summary, taken) = measured(&scenario);
            plausible(&scenario, &summary, &text);
            let reckoned = Memory::of(&scenario).total(1).get();
            assert!(taken <= reckoned, "takes {taken} of {reckoned} bytes\n{text}");
        }
    }

    #[test]
    fn a_guest_accepts_what_its_host_has_accepted(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (text, scenario) = any::accepted(&bytes, EVENTS, World::Virtual);
        if let Ok(scenario) = scenario {
            agreed(&scenario, &text);
        }
    }
}

/// Otherwise the two above would try less than their names say.
#[test]
fn every_application_and_a_change_of_one_are_among_what_is_accepted() {
    let mut random = Random::new(1, "bytes");
    let mut missing: BTreeSet<&str> = quell_app::KINDS
        .iter()
        .filter(|kind| kind.modelled)
        .map(|kind| kind.name)
        .collect();
    missing.insert("a change of an application");
    for _ in 0..1_500 {
        let bytes: Vec<u8> = (0..400).map(|_| random.below(256) as u8).collect();
        let Ok(scenario) = any::accepted(&bytes, EVENTS, World::Sim).1 else {
            continue;
        };
        for group in &scenario.groups {
            missing.remove(group.app.config().kind());
        }
        let mut set = scenario.changes.iter().flat_map(|change| &change.set);
        if set.any(|setting| matches!(setting, Setting::App { .. })) {
            missing.remove("a change of an application");
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("not among them: {missing:?}");
}

/// What the host hands over: the resolved scenario, and the memory that it takes.
pub(crate) fn agreed(scenario: &Scenario, text: &str) {
    let memory = guest_memory(scenario).get();
    match guest_scenario(&scenario.to_toml(), memory) {
        Ok(again) => assert_eq!(&again, scenario, "{text}"),
        Err(error) => panic!("{error}\n{text}"),
    }
    // With less it would break off, and not for want of a rate.
    let error = guest_scenario(&scenario.to_toml(), memory - 1).unwrap_err();
    assert!(error.to_string().contains(" and the guest has "), "{error}");
}

/// The one that the simulator's budget does not hold: a queue of small packets that nobody sends, and windows of a GiB each.
#[test]
fn a_guest_does_not_judge_by_the_memory_of_the_simulator() {
    let text = "schema = 1\nname = \"large\"\n[link]\nrate = \"8gbit\"\nqueue = \"fifo\"\n[link.reverse]\nrate = \"8gbit\"\n\
                [[group]]\nname = \"a\"\ncount = 100\nrtt = \"400ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n";
    let load =
        |world| Scenario::load("large", text, &[], Some(world)).map(|loaded| loaded.scenario);
    agreed(&load(World::Virtual).unwrap(), text);
    let refused = load(World::Sim).unwrap_err().to_string();
    assert!(refused.contains("memory budget"), "{refused}");
}

/// `ecn` goes with `any_ect = false` only: the change leaves it without effect, and the resolved scenario names its default.
#[test]
fn a_guest_accepts_a_change_after_which_a_default_has_no_effect() {
    let text = "schema = 1\nname = \"changed\"\n[link]\nrate = \"40mbit\"\n\
                queue = { kind = \"dualq_2015\", any_ect = false }\n\
                [[group]]\nname = \"a\"\nrtt = \"5ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n\
                [[at]]\ntime = \"500ms\"\nset = { \"link.queue.any_ect\" = true }\n";
    let loaded = Scenario::load("changed", text, &[], Some(World::Virtual)).unwrap();
    agreed(&loaded.scenario, text);
}

/// `delay` has an effect with a threshold in time only: the change leaves it without, and the resolved scenario names its
/// default.
#[test]
fn a_guest_accepts_a_threshold_of_gsp_that_becomes_one_in_bytes() {
    let text = "schema = 1\nname = \"changed\"\n[link]\nrate = \"2gbit\"\nqueue = { kind = \"gsp\", interval = \"1us\" }\n\
                [[group]]\nname = \"a\"\nrtt = \"5ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n\
                [[at]]\ntime = \"500ms\"\nset = { \"link.queue.threshold\" = \"1500B\" }\n";
    let loaded = Scenario::load("changed", text, &[], Some(World::Virtual)).unwrap();
    agreed(&loaded.scenario, text);
}

/// RED derives `max` so that its default probability fits, and the resolved scenario names that probability.
#[test]
fn a_guest_accepts_a_rate_at_which_a_default_depends_on_another() {
    let text = "schema = 1\nname = \"faster\"\n[link]\nrate = \"300300bit\"\nqueue = \"red\"\n\
                [[group]]\nname = \"a\"\nrtt = \"5ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n\
                [[at]]\ntime = \"500ms\"\nset = { \"link.rate\" = \"6442582261bit\" }\n";
    let loaded = Scenario::load("faster", text, &[], Some(World::Virtual)).unwrap();
    agreed(&loaded.scenario, text);
}

/// Figures that any run must report.
pub(crate) fn plausible(scenario: &Scenario, summary: &Summary, text: &str) {
    assert!(!summary.partial, "{text}");
    let ratio = |ratio: f64| (0.0..=1.0).contains(&ratio);
    assert!(
        ratio(summary.figures.link.utilisation),
        "{summary:?}\n{text}"
    );
    for queue in &summary.figures.queues {
        assert!(ratio(queue.drop_ratio), "{queue:?}\n{text}");
        // A packet may be marked as it arrives, and be delivered later.
        assert!(queue.mark_ratio.is_finite(), "{queue:?}\n{text}");
        let marks: u64 = queue.marks.values().sum();
        let drops: u64 = queue.drops.values().sum();
        assert_eq!((queue.marked, queue.dropped), (marks, drops), "{text}");
    }
    for (group, told) in scenario.groups.iter().zip(&summary.figures.groups) {
        assert!(
            told.goodput_bps
                .iter()
                .all(|rate| rate.is_finite() && *rate >= 0.0),
            "{text}"
        );
        assert_eq!(told.name, group.name);
        assert!(
            told.jain
                .is_none_or(|jain| (0.0..=1.000_001).contains(&jain)),
            "{text}"
        );
    }
    // Everything can be written.
    serde_json::to_string(summary).unwrap();
}

#[test]
fn most_of_the_space_is_accepted_and_some_of_it_is_refused() {
    // Not at random: what is drawn here is the same in each run.
    let mut random = Random::new(1, "space");
    let mut refused = Vec::new();
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..400).map(|_| random.below(256) as u8).collect();
        refused.extend(any::accepted(&bytes, EVENTS, World::Sim).1.err());
    }
    assert!(
        (30..150).contains(&refused.len()),
        "{} refused: {refused:#?}",
        refused.len()
    );
}
