//! What `quell check` accepts for the live world starts in it.

use std::fs;
use std::process::{Command, Stdio};

use quell_lab::World;

use crate::any;
use crate::support::{QUELL, beside_others, can_run};

/// A few packets: what is tried is that it starts.
const EVENTS: u64 = 2_000;
/// Each takes a quarter of a second at most, and what its flows take to set up.
const RUNS: usize = 5;

/// The space of scenarios, a few of it: not at random, what is drawn here is the same in each run.
#[test]
fn what_check_accepts_for_the_live_world_starts_in_it() {
    if !can_run("what_check_accepts_for_the_live_world_starts_in_it") {
        return;
    }
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let mut random = quell_units::Random::new(5, "starts");
    let (mut started, mut drawn) = (0, 0);
    while started < RUNS {
        drawn += 1;
        assert!(drawn < 80 * RUNS, "only {started} of {drawn} are accepted");
        let bytes: Vec<u8> = (0..300).map(|_| random.below(256) as u8).collect();
        let (text, scenario) = any::accepted(&bytes, EVENTS, World::Live);
        if scenario.is_err() {
            continue;
        }
        let file = folder.path().join(format!("any-{drawn}.toml"));
        fs::write(&file, &text).unwrap();
        let quell = |arguments: &[&str]| {
            Command::new(QUELL)
                .args(arguments)
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .unwrap()
        };
        let file = file.to_str().unwrap();
        let check = quell(&["check", file, "--world", "live"]);
        if !check.status.success() {
            // This kernel may lack a control.
            let errors = String::from_utf8_lossy(&check.stderr);
            assert!(errors.contains("this host lacks"), "{errors}\n{text}");
            continue;
        }
        let out = format!("out-{drawn}");
        let run = quell(&["run", file, "--world", "live", "--out", &out, "--json"]);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{errors}\n{text}");
        started += 1;
    }
}
