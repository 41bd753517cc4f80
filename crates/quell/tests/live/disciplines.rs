//! Every discipline there is carries real TCP, and does to it about what it does to modelled TCP.

use std::fs;
use std::process::Command;

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::support::*;

const SCENARIO: &str = r#"schema = 1
name = "any-queue"
[link]
rate = "20mbit"
queue = { kind = "KIND" }
[[group]]
name = "marked"
count = 2
ecn = "ect0"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "dropped"
count = 2
rtt = "10ms"
app = { kind = "bulk" }
[run]
duration = "3s"
warmup = "1s"
"#;

#[test]
fn every_discipline_carries_real_tcp() {
    let test = "every_discipline_carries_real_tcp";
    if !can_run(test) {
        return;
    }
    for entry in quell_aqm::registry::KINDS {
        // One after the other, so that a miss repeats the one and not all; of one name, because it is one test.
        live(test, |run| carries_real_tcp(run, entry.name));
    }
}

fn carries_real_tcp(run: &mut Run, name: &str) -> Result<(), Missed> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("any.toml");
    fs::write(&file, SCENARIO.replace("KIND", name)).unwrap();
    let summary_in = |world: &str| {
        let output = Command::new(QUELL)
            .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
            .arg("--out")
            .arg(folder.path().join(world))
            .output()
            .unwrap();
        summary(&output)
    };
    let (sim, live) = (summary_in("sim"), summary_in("live"));
    note(run, &live, 10.0);
    carries(name, &sim).unwrap();
    carries(name, &live)?;
    // Four flows of two seconds: within a factor of three, or 3 ms.
    let delay = |told| number(told, "/groups/1/delay_ms/mean");
    let (real, modelled) = (delay(&live), delay(&sim));
    bound!(
        real < 3.0 * modelled + 3.0 && modelled < 3.0 * real + 3.0,
        "{name}: {real} and {modelled} ms"
    );
    Ok(())
}

fn carries(name: &str, told: &Value) -> Result<(), Missed> {
    // A threshold of 1 ms, less than two packets here, leaves CUBIC windows of a few packets: 0.36 to 0.39 in both worlds.
    let least = if name == "step" { 0.25 } else { 0.7 };
    bound!(
        number(told, "/link/utilisation") > least,
        "{name}: {told:#}"
    );
    assert!(
        goodput(told, 0) > 0.0 && goodput(told, 1) > 0.0,
        "{name}: {told:#}"
    );
    // TCP without end slows down only when it is told to.
    let count = |group: usize, what: &str| number(told, &format!("/groups/{group}/{what}"));
    let signals: f64 = (0..2)
        .map(|g| count(g, "marked") + count(g, "dropped"))
        .sum();
    bound!(signals > 0.0, "{name}: {told:#}");
    Ok(())
}
