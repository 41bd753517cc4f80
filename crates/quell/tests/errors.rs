//! What `--json` prints for programs besides summaries: the errors of a scenario, and where results are.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

const SCENARIO: &str = "schema = 1\nname = \"two\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n\
    [[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n[run]\nduration = \"3s\"\nwarmup = \"1s\"\n";

/// Runs quell in `folder`.
fn quell(folder: &tempfile::TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn read(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_program_reads_where_each_error_of_a_scenario_is_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = SCENARIO.replace("\"10mbit\"", "\"5: x\"");
    fs::write(folder.path().join("two.toml"), wrong).unwrap();
    let expected = json!({ "errors": [
        {
            "file": "two.toml", "line": 4, "argument": null, "key": "link.rate", "found": "\"5: x\"",
            "allowed": "must be a rate from 1kbit to 1tbit",
        },
        {
            "file": "two.toml", "line": null, "argument": "--set link.mpuu=1", "key": "link.mpuu", "found": "1",
            "allowed": "unknown key (did you mean mpu?); [link] has name, rate, overhead, mpu, bins-per-octave, access, impair, delay, remark, values, queue, reverse",
        },
    ]});
    let change = ["two.toml", "--set", "link.mpuu=1"];
    for command in ["run", "compare"] {
        let arguments = [&[command][..], &change].concat();
        let plain = quell(&folder, &arguments);
        assert_eq!((plain.status.code(), &plain.stdout[..]), (Some(2), &[][..]));
        let both = quell(&folder, &[&arguments[..], &["--json"]].concat());
        assert_eq!(both.status.code(), Some(2));
        assert_eq!(read(&both), expected, "{command}");
        // People read the same as ever.
        assert_eq!(both.stderr, plain.stderr);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_program_finds_the_results_of_each_queue() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("two.toml"), SCENARIO).unwrap();
    let queues = ["compare", "two.toml", "--queue", "fifo:limit=20ms,pie"];
    for more in [
        &["--out", "both", "--json"][..],
        &["--set", "run.seeds=[1,2]", "--json"],
    ] {
        let compared = read(&quell(&folder, &[&queues[..], more].concat()));
        let compared = compared.as_array().unwrap();
        assert_eq!(compared.len(), 2);
        for case in compared {
            let result = folder.path().join(case["folder"].as_str().unwrap());
            let scenario = ["scenario.toml", "seed2/scenario.toml"]
                .into_iter()
                .find_map(|file| fs::read_to_string(result.join(file)).ok());
            let (kind, _) = case["queue"]
                .as_str()
                .unwrap()
                .split_once(':')
                .unwrap_or(("pie", ""));
            assert!(scenario.unwrap().contains(&format!("kind = \"{kind}\"")));
        }
    }
}
