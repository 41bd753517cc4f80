//! The comparisons with Linux: `experiments/validation`.

use std::collections::BTreeSet;

use quell_experiment::registry::comparisons;
use quell_experiment::{Experiment, shipped};
use quell_lab::World;
use quell_lab::scenario::{Override, Scenario};
use quell_lab::sweep::Watched;

fn named(id: &str) -> &'static Experiment {
    comparisons().iter().find(|one| one.id == id).unwrap()
}

/// Every point with the seeds of its file.
fn all(id: &str) -> Experiment {
    named(id).with_seeds(None).unwrap()
}

fn names(one: &Experiment) -> Vec<String> {
    let points = one.points().unwrap();
    points.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_point_is_a_scenario_of_its_own() {
    for one in comparisons() {
        let one = one.with_seeds(None).unwrap();
        let mut texts = BTreeSet::new();
        for (name, cells) in one.points().unwrap() {
            let file = cells[0].file();
            let sets = cells[0].settings().iter();
            let mut overrides = vec![Override::seed(1)];
            overrides.extend(sets.map(|set| Override::set(set).unwrap()));
            let text = shipped::scenario(file).unwrap();
            let loaded = Scenario::load(file, text, &overrides, Some(World::Virtual));
            let loaded = loaded.unwrap_or_else(|problems| panic!("{name}: {problems}"));
            texts.insert(loaded.scenario.to_toml());
        }
        let names: BTreeSet<String> = names(&one).into_iter().collect();
        assert_eq!(names.len(), one.points().unwrap().len(), "{one:?}");
        // Where drop-tail holds 10 ms at least, one and two products of rate and RTT are the same at 5 ms.
        let alike = if one.id == "validation/controls" {
            5
        } else {
            0
        };
        assert_eq!(texts.len() + alike, names.len(), "{one:?}");
    }
}

#[test]
fn the_points_are_those_that_the_documentation_counts() {
    for (id, count) in [
        // 366 are possible; queues, and two of the axes with three values, make 63; greedily a quarter more.
        ("validation/grid", 77),
        ("validation/worlds", 2 * 3 * 3 * 3),
        // Every control at every queue, alone and beside CUBIC, and one in two held back.
        ("validation/controls", 6 * 7 * 2 + 6 * 7),
        // Four queues each, and two of SCReAM.
        ("validation/applications", 7 * 4 + 2),
        ("validation/recovery", 20),
    ] {
        assert_eq!(all(id).points().unwrap().len(), count, "{id}");
    }
    let grid = names(&all("validation/grid"));
    // 2 and 4 packets of drop-tail.
    let small = ["fifo0.5bdp", "fifo1bdp"].map(|queue| format!("{queue}-reno-10mbit-5ms-1"));
    assert!(!grid.iter().any(|name| small.contains(name)));
}

#[test]
fn every_control_has_every_rate_and_rtt_in_both_sets() {
    let all = names(&all("validation/controls"));
    for set in [&all[..84], &all[84..]] {
        for control in ["htcp", "bbr1", "prague", "compound", "bbr2", "bbr3"] {
            let own = set.iter().map(|name| name.split('-').collect::<Vec<_>>());
            let own: Vec<_> = own.filter(|parts| parts[1] == control).collect();
            for place in [2, 3] {
                let values: BTreeSet<&str> = own.iter().map(|parts| parts[place]).collect();
                assert_eq!(values.len(), 3, "{control}: {values:?}");
            }
        }
    }
}

#[test]
fn a_run_is_as_long_as_its_sawteeth_ask_for() {
    let grid = all("validation/grid");
    let points = grid.points().unwrap();
    let seconds = |name: &str| {
        let (_, cells) = points.iter().find(|(known, _)| known == name).unwrap();
        let of = |key: &str| {
            let set = cells[0]
                .settings()
                .iter()
                .find_map(|set| set.strip_prefix(key));
            set.unwrap().to_owned()
        };
        [of("run.warmup="), of("run.duration=")]
    };
    // 2 000 packets in flight: the cube root of 1 500 is 11.4 s.
    assert_eq!(seconds("fifo2bdp-cubic-100mbit-80ms-1"), ["12s", "70s"]);
    // Round trips of seconds together are more than a night has room for.
    assert_eq!(seconds("fifo0.5bdp-reno-100mbit-80ms-1"), ["20s", "120s"]);
    // 8 packets in flight, and 4 round trips: the least.
    assert_eq!(seconds("fifo2bdp-reno-10mbit-5ms-1"), ["5s", "25s"]);
}

#[test]
fn every_point_has_figures_of_linux() {
    for one in comparisons() {
        let found = one.compare(&[], &[], "virtual").unwrap();
        assert_eq!(found.len(), 0, "nothing ran");
        let recorded: BTreeSet<String> = names(one).into_iter().collect();
        assert_eq!(
            recorded,
            names(&one.with_seeds(None).unwrap()).into_iter().collect()
        );
        for (name, cells) in one.points().unwrap() {
            assert!(cells.len() >= 5, "{name}");
        }
    }
}

#[test]
fn both_queues_of_a_point_hold_as_many_packets() {
    // Four disciplines with and without ECN, drop-tail without, DualPI2 with or without, at two rates with one and four flows.
    let parity = named("validation/parity");
    let points = 4 * 8 + 4 + 4;
    assert_eq!(parity.cells().len(), points * 2 * 5);
    let mut compared = 0;
    for both in parity.cells().chunks(10) {
        let [quell, kernel] = [&both[0], &both[5]];
        assert_eq!(quell.settings(), kernel.settings());
        assert_eq!(quell.watches(), Some(&Watched::Quell));
        let Some(Watched::Kernel(words)) = kernel.watches() else {
            panic!("{kernel:?}");
        };
        let words: Vec<&str> = words.split(' ').collect();
        for key in ["limit", "min", "max", "avpkt", "quantum"] {
            let set = format!("link.queue.{key}=");
            let set = quell
                .settings()
                .iter()
                .find_map(|one| one.strip_prefix(&set));
            let Some(bytes) = set.and_then(|set| set.strip_suffix('B')) else {
                continue;
            };
            let place = words.iter().position(|word| *word == key).unwrap();
            let theirs: u32 = words[place + 1].parse().unwrap();
            let ours: u32 = bytes.parse().unwrap();
            // The kernel counts 14 bytes of Ethernet, quell does not.
            assert_eq!((ours % 1_500, theirs % 1_514), (0, 0), "{words:?}");
            assert_eq!(ours / 1_500, theirs / 1_514, "{words:?}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}
