//! Published experiments over real TCP whose figures are read from the packets and windows of a run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::stage::Stage;

/// The `figures.json` of every cell below `folder`.
fn figures(folder: &Path, found: &mut Vec<Value>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            figures(&path, found);
        } else if path.ends_with("figures.json") {
            found.push(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap());
        }
    }
}

#[test]
fn bursts_windows_and_the_longest_passage_are_read_from_a_run_over_real_tcp() {
    let name = "bursts_windows_and_the_longest_passage_are_read_from_a_run_over_real_tcp";
    let Some(stage) = Stage::new(name) else {
        return;
    };
    // Short, and one of them over a control that no kernel has any more.
    for experiment in ["gsp2014/e6", "homegateway2011/m9"] {
        let words = ["reproduce", experiment, "--quick", "--world", "virtual"];
        let mut command = stage.quell(&[&words[..], &["--store", "s"]].concat());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(said.contains("ran; too short to judge"), "{said}");
    }
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    let mut found = Vec::new();
    figures(&stage.path().join("s/cells"), &mut found);
    assert!(found.len() >= 2, "{found:?}");
    for one in &found {
        let number = |key: &str| one[key].as_f64().unwrap();
        assert!(number("goodput") > 0.0, "{one:#}");
        // A packet is not sent in no time, and none waits longer than the run.
        let longest = number("longest_ns");
        assert!(longest > 0.0 && longest < 10e9, "{one:#}");
        assert!(number("utilisation") > 0.1, "{one:#}");
        assert_eq!(one["queues"].as_array().unwrap().len(), 1, "{one:#}");
    }
    // Ten flows in slow start fill a queue together.
    let of_ten = found.iter().any(|one| {
        let drops = one["queues"][0]["dropped"].as_u64().unwrap();
        drops > 0
            && one["variance_ratio"]
                .as_f64()
                .is_some_and(|ratio| ratio > 0.0)
    });
    assert!(of_ten, "{found:#?}");
}

#[test]
fn an_experiment_over_a_control_that_the_kernel_lacks_is_left_out_before_anything_runs() {
    let Some(stage) = Stage::new("reproduce a control that the guest lacks") else {
        return;
    };
    let run = |words: &[&str]| {
        let words = [&["reproduce", "--world", "virtual", "--store", "s"], words].concat();
        stage.quell(&words).output().unwrap()
    };
    let alone = run(&["controls/ledbat"]);
    let errors = String::from_utf8_lossy(&alone.stderr);
    assert_eq!(alone.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("\n  controls/ledbat\n    the kernel ")
            && errors.contains(" has no ledbat"),
        "{errors}"
    );
    assert!(!errors.contains("the sweep has"), "{errors}");
    let both = run(&["controls/ledbat", "homegateway2011/m9", "--dry-run"]);
    let errors = String::from_utf8_lossy(&both.stderr);
    assert!(both.status.success(), "{errors}");
    assert!(
        errors.contains("note: cannot run in this world:\n  controls/ledbat\n"),
        "{errors}"
    );
    assert!(!stage.path().join("s").exists());
}
