//! Same seed, same bytes: over repeats, over runs that go on at once, and over optimisation levels.
//!
//! Everything that a run writes is compared but `run.json`, which tells of the run and not of what it found. Tests are built with
//! little optimisation; `make test` builds `quell` as users do as well, and names it in QUELL_RELEASE.
#![allow(clippy::unwrap_used)]

use quell_testing::not_run;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/");

/// Scenario, queue and duration: every control, application and kind of change that ships, downstream and upstream.
const RUNS: &[(&str, &[&str])] = &[
    (
        "dualq2015/coexistence-voice.toml",
        &["--duration", "12s", "--packets"],
    ),
    (
        "overload/udp-into-l4s.toml",
        &["--duration", "6s", "--set", "run.warmup=2s"],
    ),
    (
        "rtt-pairs/pair.toml",
        &["--duration", "8s", "--set", "run.warmup=2s"],
    ),
    (
        "gsp2014/reno-taildrop.toml",
        &["--duration", "10s", "--set", "run.warmup=2s"],
    ),
    (
        "homegateway2011/adsl1.toml",
        &["--duration", "10s", "--set", "run.warmup=2s"],
    ),
    (
        "applications/transfers.toml",
        &["--duration", "8s", "--set", "run.warmup=2s"],
    ),
    (
        "applications/on-off.toml",
        &["--duration", "8s", "--set", "run.warmup=2s"],
    ),
];

/// What `quell` writes for one scenario with the seeds 1 to 3, by path below the result folder.
fn written(quell: &Path, scenario: &str, more: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = Command::new(quell)
        .arg("run")
        .arg(format!("{SCENARIOS}{scenario}"))
        .args(["--set", "run.seeds=[1,2,3]", "--out"])
        .arg(&out)
        .args(more)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {errors}");
    let mut files = BTreeMap::new();
    collect(&out, "", &mut files);
    assert_eq!(
        files
            .keys()
            .filter(|name| name.ends_with("summary.json"))
            .count(),
        3,
        "{scenario}"
    );
    files
}

fn collect(folder: &Path, above: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{above}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else if !name.ends_with("run.json") {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// Both runs wrote the same files with the same bytes.
fn assert_same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert!(
        one.keys().eq(other.keys()),
        "{what}: {:?}, {:?}",
        one.keys(),
        other.keys()
    );
    for (name, bytes) in one {
        assert!(*bytes == other[name], "{what}: {name} differs");
    }
}

#[test]
fn a_run_again_and_runs_at_once_write_the_same_bytes() {
    let quell = Path::new(env!("CARGO_BIN_EXE_quell"));
    for (scenario, more) in RUNS {
        let run = |jobs: &'static str| {
            let more: Vec<&str> = more.iter().copied().chain(["--jobs", jobs]).collect();
            written(quell, scenario, &more)
        };
        let first = run("1");
        assert_same(&first, &run("1"), &format!("{scenario} again"));
        assert_same(&first, &run("3"), &format!("{scenario}, three at once"));
        // Seeds differ, or the comparison would say nothing.
        assert_ne!(
            first["seed1/summary.json"], first["seed2/summary.json"],
            "{scenario}"
        );
    }
}

#[test]
fn optimisation_changes_nothing() {
    let test = "optimisation_changes_nothing";
    let Some(release) = std::env::var_os("QUELL_RELEASE") else {
        return not_run(
            test,
            "needs an optimised quell, named in QUELL_RELEASE; make test builds one",
        );
    };
    let quell = Path::new(env!("CARGO_BIN_EXE_quell"));
    for (scenario, more) in RUNS {
        let plain = written(quell, scenario, more);
        assert_same(
            &plain,
            &written(Path::new(&release), scenario, more),
            &format!("{scenario}, optimised"),
        );
    }
}
