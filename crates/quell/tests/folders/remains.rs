//! What a killed run leaves, and who removes it.

use std::fs;
use std::path::Path;

use crate::folders::support::{COEXISTENCE, begun, names, quell, unfinished, wait_until};

/// A short run; what it said on standard error.
fn next(folder: &Path, arguments: &[&str]) -> String {
    let mut command = quell(folder, &["run", COEXISTENCE, "--duration", "11s"]);
    let output = command.args(arguments).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    errors
}

#[test]
fn the_next_run_removes_what_a_killed_one_left_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    // One that lives, and what looks alike and is somebody else's.
    let mut living = begun(folder.path(), "living");
    let mut killed = begun(folder.path(), "killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let others = [".empty.unfinished", ".full.unfinished"].map(|name| folder.path().join(name));
    for other in &others {
        fs::create_dir(other).unwrap();
    }
    fs::write(others[1].join("file"), "").unwrap();
    let left = ".killed.unfinished";
    assert!(unfinished(folder.path()).contains(&left.to_owned()));
    let said = next(folder.path(), &["--out", "next", "--verbose"]);
    assert!(said.contains(&format!("removed ./{left}")), "{said}");
    let hidden = [".empty", ".full", ".living"].map(|name| format!("{name}.unfinished"));
    assert_eq!(unfinished(folder.path()), hidden);
    // Another one with the killed one's name has nothing in its way, and says nothing unasked.
    let said = next(folder.path(), &["--out", "killed"]);
    assert!(!said.contains("removed"), "{said}");
    living.kill().unwrap();
    living.wait().unwrap();
}

#[test]
fn whole_seeds_of_a_killed_run_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = quell(
        folder.path(),
        &["run", COEXISTENCE, "--out", "out", "--jobs", "1"],
    );
    let seeds: Vec<String> = (1..=200).map(|seed: u32| seed.to_string()).collect();
    let set = format!("run.seeds=[{}]", seeds.join(","));
    let mut killed = command
        .args(["--duration", "20s", "--set", &set])
        .spawn()
        .unwrap();
    let result = folder.path().join(".out.unfinished/result");
    wait_until("a seed is whole", || !names(&result).is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!folder.path().join("out").exists());
    let said = next(folder.path(), &["--out", "next", "-v"]);
    assert!(said.contains("in ./out.incomplete"), "{said}");
    assert_eq!(names(folder.path()), ["next", "out.incomplete"]);
    let kept = folder.path().join("out.incomplete");
    assert!(!names(&kept).is_empty() && !kept.join("aggregate.json").exists());
    for seed in names(&kept) {
        assert!(kept.join(&seed).join("summary.json").is_file(), "{seed}");
    }
}
