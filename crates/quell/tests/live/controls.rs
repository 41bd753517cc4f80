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
    let (l4s, others): (Vec<_>, Vec<_>) = cc::loadable().into_iter().partition(|name| is_l4s(name));
    // Each has a link of its own, of 20 Mbit/s. L4S, whose delays are judged in fractions of a millisecond, has less beside it.
    for controls in [l4s, others] {
        live(test, |run| {
            if !can_run(test) || !has_dctcp(test) {
                return Ok(());
            }
            let folder = tempfile::tempdir().unwrap();
            let started: Vec<_> = controls
                .iter()
                .map(|control| ["sim", "live"].map(|world| start(folder.path(), control, world)))
                .collect();
            let end = |child: Child| summary(&child.wait_with_output().unwrap());
            // All of them end before the first is judged.
            let ended: Vec<_> = started.into_iter().map(|both| both.map(end)).collect();
            for [_, real] in &ended {
                note(run, real, 10.0);
            }
            let mut all = controls.iter().zip(&ended);
            all.try_for_each(|(control, [modelled, real])| carries(run, control, real, modelled))
        });
    }
}

/// Otherwise connections silently have the kernel's default.
#[test]
fn a_control_as_bpf_is_there_as_long_as_the_program_behind_a_link() {
    let test = "a_control_as_bpf_is_there_as_long_as_the_program_behind_a_link";
    let _turn = beside_others();
    if !can_run(test) || !has_dctcp(test) {
        return;
    }
    for side in ["--cc", "--far-cc"] {
        let output = Command::new(QUELL)
            .args([
                "exec", "--rate", "10mbit", "--net", "none", "--quiet", side, "prague", "--", "cat",
            ])
            .arg("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.split_whitespace()
                .any(|name| name.starts_with("prague")),
            "{side}: {said}{why}"
        );
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

/// One flow of each feedback; no warm-up, so that the link counts all marks, too.
const TOLD: &str = r#"schema = 1
name = "told"
[link]
rate = "20mbit"
queue = { kind = "dualpi2" }
[[group]]
name = "one"
congestion-control = "prague"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "other"
congestion-control = "dctcp"
ecn = "ect1"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "none"
congestion-control = "htcp"
rtt = "10ms"
app = { kind = "bulk" }
[run]
duration = "4s"
warmup = "0s"
"#;

#[test]
fn senders_know_the_marks_of_the_link_and_run_json_says_what_ran() {
    let test = "senders_know_the_marks_of_the_link_and_run_json_says_what_ran";
    live(test, |run| {
        if !can_run(test) || !has_dctcp(test) {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (folder.path().join("told.toml"), folder.path().join("out"));
        fs::write(&file, TOLD).unwrap();
        let output = Command::new(QUELL)
            .args(["run", file.to_str().unwrap(), "--world", "live", "--json"])
            .arg("--out")
            .arg(&out)
            .output()
            .unwrap();
        let told = summary(&output);
        note(run, &told, 10.0);
        let facts: Value =
            serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
        let ran = |index: usize, key: &str| facts["controls"][index][key].clone();
        for (index, name) in ["prague", "dctcp", "htcp"].into_iter().enumerate() {
            assert_eq!(ran(index, "control"), name);
            let ours = ran(index, "carrier") == "bpf";
            assert!(ours || ran(index, "carrier") == "kernel", "{facts:#}");
        }
        assert_eq!(ran(2, "feedback"), serde_json::json!(["off"]));
        assert_eq!(ran(2, "reported_ce"), 0);
        assert_eq!(ran(1, "feedback"), serde_json::json!(["dctcp"]));
        // By the kernel: AccECN where a control can ask for it.
        let accurate = ran(0, "feedback") == serde_json::json!(["accecn"]);
        assert!(accurate || ran(0, "feedback") == serde_json::json!(["dctcp"]));
        for (index, few) in [(0, if accurate { 0.0 } else { 0.05 }), (1, 0.05)] {
            let reported = number(&facts, &format!("/controls/{index}/reported_ce"));
            let marked = number(&told, &format!("/groups/{index}/marked"));
            // Those of the last flight are not reported yet: 20 Mbit/s of 1500 bytes for the RTT and its queue.
            bound!(
                reported <= marked * (1.0 + few) && reported + 40.0 > marked * (1.0 - few),
                "{index}: {reported} of {marked}"
            );
            bound!(marked > 200.0, "{told:#}");
        }
        Ok(())
    });
}
