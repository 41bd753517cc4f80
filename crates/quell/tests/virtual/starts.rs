//! What `quell check` accepts for the virtual world starts in it.

use std::fs;

use quell_lab::World;

use crate::any;
use crate::stage::Stage;

/// What a case may cost: a guest does some hundred thousand packets a second.
const EVENTS: u64 = 20_000;
/// Guests that are started: each takes some tenths of a second, or what its flows take to set up.
const GUESTS: usize = 8;

/// The space of scenarios, a few of it: not at random, what is drawn here is the same in each run.
#[test]
fn what_check_accepts_for_the_virtual_world_starts_in_it() {
    let Some(stage) = Stage::new("what_check_accepts_for_the_virtual_world_starts_in_it") else {
        return;
    };
    let mut random = quell_units::Random::new(3, "starts");
    let (mut started, mut drawn) = (0, 0);
    while started < GUESTS {
        drawn += 1;
        assert!(
            drawn < 40 * GUESTS,
            "only {started} of {drawn} are accepted"
        );
        let bytes: Vec<u8> = (0..300).map(|_| random.below(256) as u8).collect();
        let (text, scenario) = any::accepted(&bytes, EVENTS, World::Virtual);
        if scenario.is_ok() && starts(&stage, &text, drawn) {
            started += 1;
        }
    }
}

/// More than the simulator has memory for, as 100 windows of a GiB each may be.
#[test]
fn a_scenario_too_large_for_the_simulator_starts_in_a_guest() {
    let Some(stage) = Stage::new("a_scenario_too_large_for_the_simulator_starts_in_a_guest") else {
        return;
    };
    let text = "schema = 1\nname = \"large\"\n[link]\nrate = \"8gbit\"\nqueue = \"fifo\"\n[link.reverse]\nrate = \"8gbit\"\n\
                [[group]]\nname = \"a\"\ncount = 100\nrtt = \"400ms\"\napp = \"bulk\"\n[run]\nduration = \"100ms\"\n";
    assert!(starts(&stage, text, 0), "accepted for the virtual world");
}

/// Whether the command line accepts the scenario here; then it must run.
fn starts(stage: &Stage, text: &str, number: usize) -> bool {
    let file = format!("any-{number}.toml");
    fs::write(stage.path().join(&file), text).unwrap();
    let check = stage
        .quell(&["check", &file, "--world", "virtual"])
        .output()
        .unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !check.status.success() {
        // Only this host may say no to what the file's check has accepted: for want of room, say.
        let errors = told(&check.stderr);
        assert!(errors.contains("this host lacks"), "{errors}\n{text}");
        return false;
    }
    let out = format!("out-{number}");
    let run = ["run", &file, "--world", "virtual", "--out", &out, "--json"];
    let run = stage.quell(&run).output().unwrap();
    assert!(run.status.success(), "{}\n{text}", told(&run.stderr));
    true
}
