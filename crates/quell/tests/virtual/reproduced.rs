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

/// One CUBIC flow.
const ONE_FLOW: &str = r#"schema = 1
name = "one"
[link]
rate = "10mbit"
queue = "pie"
[[group]]
name = "flow"
congestion-control = "cubic"
rtt = "10ms"
app = "bulk"
[run]
duration = "4s"
warmup = "1s"
"#;

/// Two points, each with two seeds of the simulator and of Linux.
const COMPARISON: &str = r#"schema = 1
title = "t"
source = "s"
scenario = "scenario.toml"
reference = { file = "r.csv", world = "virtual", point = "{rate}mbit", row = "all rates" }
seeds = 2
most-seeds = 2
set = { "link.rate" = "{rate}mbit" }
axis.rate = [10, 20]
figure.used = { of = "100 * link.utilisation", label = "used, %" }
[statement.used]
published = "the use of the link"
checked = "within 5 %"
check = { figure = "used", beside = "virtual", within = 5 }
"#;

#[test]
fn what_runs_in_the_virtual_world_becomes_the_record_and_a_part_of_the_document() {
    let name = "what_runs_in_the_virtual_world_becomes_the_record_and_a_part_of_the_document";
    let Some(stage) = Stage::new(name) else {
        return;
    };
    let file = |name: &str| stage.path().join(name);
    fs::write(file("own.toml"), COMPARISON).unwrap();
    fs::write(file("scenario.toml"), ONE_FLOW).unwrap();
    fs::write(file("r.csv"), "point,seeds,figure\n").unwrap();
    let part = "written by quell reproduce own --world virtual -->";
    let document = format!("before\n<!-- begin: {part}\n<!-- end: {part}\nbehind\n");
    fs::write(file("page.md"), document).unwrap();
    let words = [
        "reproduce",
        "own.toml",
        "--world",
        "virtual",
        "--store",
        "s",
    ];
    let record = ["--record", "page.md"];
    let output = stage.quell(&[&words[..], &record[..]].concat()).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let page = fs::read_to_string(file("page.md")).unwrap();
    assert!(page.starts_with("before\n") && page.ends_with("behind\n"));
    assert!(
        page.contains("4 runs in the virtual world at 2 points, 2 to 2 of each"),
        "{page}"
    );
    assert!(page.contains("| all rates | 2 of 2 | 2 of 2 |"), "{page}");
    let csv = fs::read_to_string(file("data/r.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "point,seeds,figure,sim,sim_error,virtual,virtual_error,missed"
    );
    assert!(
        rows[1].starts_with("10mbit,2,\"used, %\",100,") && rows.len() == 3,
        "{csv}"
    );
    // The simulator alone is judged by it from now on.
    fs::copy(file("data/r.csv"), file("r.csv")).unwrap();
    let judged = stage
        .quell(&["reproduce", "own.toml", "--store", "s"])
        .output();
    let judged = judged.unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(said.contains("used: reproduced"), "{said}");
    assert!(said.contains("4 runs were there, 0 ran"), "{said}");
}
