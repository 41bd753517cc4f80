//! Every control that quell loads as BPF carries traffic, about as its model does.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use quell_hosts::cc;
use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::support::*;

const SCENARIO: &str = r#"schema = 1
name = "one-control"
[link]
rate = "20mbit"
queue = { QUEUE }
[[group]]
name = "one"
congestion-control = "CONTROL"
ECN
rtt = "10ms"
app = { kind = "bulk" }
[run]
duration = "7s"
warmup = "3s"
"#;

/// Those that respond to each mark are behind DualPI2 as L4S, the others behind a buffer of two round trips.
fn scenario(control: &str) -> String {
    let (queue, ecn) = if is_l4s(control) {
        ("kind = \"dualpi2\"", "ecn = \"ect1\"")
    } else {
        ("kind = \"fifo\", limit = \"20ms\"", "ecn = \"off\"")
    };
    SCENARIO
        .replace("QUEUE", queue)
        .replace("CONTROL", control)
        .replace("ECN", ecn)
}

fn is_l4s(control: &str) -> bool {
    matches!(control, "prague" | "dctcp")
}

fn start(folder: &Path, control: &str, world: &str) -> Child {
    let file = folder.join(format!("{control}.toml"));
    fs::write(&file, scenario(control)).unwrap();
    let mut command = Command::new(QUELL);
    command
        .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
        .arg("--out")
        .arg(folder.join(format!("{control}-{world}")));
    if world == "live" && is_root() {
        command.args(["--realtime", "10"]);
    }
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn every_control_as_bpf_fills_the_link_as_its_model_does() {
    let test = "every_control_as_bpf_fills_the_link_as_its_model_does";
    for control in cc::loadable() {
        live(test, |run| {
            if !can_run(test) || !has_dctcp(test) {
                return Ok(());
            }
            let folder = tempfile::tempdir().unwrap();
            let end = |child: Child| summary(&child.wait_with_output().unwrap());
            let real = end(start(folder.path(), control, "live"));
            let modelled = end(start(folder.path(), control, "sim"));
            note(run, &real, 10.0);
            carries(run, control, &real, &modelled)
        });
    }
}

/// Within the spread of short runs. Bounds of the model itself are judged elsewhere.
fn carries(run: &mut Run, name: &str, real: &Value, modelled: &Value) -> Result<(), Missed> {
    run.judges_a_percentile();
    bound!(number(real, "/link/lost_outside") == 0.0, "{real:#}");
    let used = |of: &Value| number(of, "/link/utilisation");
    bound!(
        (used(real) - used(modelled)).abs() < 0.07 && used(real) > 0.85,
        "{name}: {} live, {} modelled",
        used(real),
        used(modelled)
    );
    let delay = |of: &Value, figure: &str| number(of, &format!("/groups/0/delay_ms/{figure}"));
    let (here, there) = (delay(real, "mean"), delay(modelled, "mean"));
    bound!(
        here < 1.5 * there + 1.0 && there < 1.5 * here + 1.0,
        "{name}: {here} ms live, {there} ms modelled"
    );
    if is_l4s(name) {
        assert_eq!(real["queues"][0]["name"], "l4s");
        assert!(number(real, "/queues/0/marked") > 0.0, "{name}: {real:#}");
        assert_eq!(number(real, "/queues/0/dropped"), 0.0, "{name}: {real:#}");
        assert_eq!(number(real, "/queues/1/packets"), 0.0, "{name}: {real:#}");
        // The step marks from 1 ms on.
        bound!(delay(real, "p50") < 1.2, "{name}: {real:#}");
        bound!(delay(real, "p99") < 4.0, "{name}: {real:#}");
    }
    Ok(())
}
