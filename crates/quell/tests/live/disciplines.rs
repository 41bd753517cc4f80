//! Every discipline there is carries real TCP, and does to it about what it does to modelled TCP.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
    // At once as many as leave the processors mostly idle; a miss repeats these and not all.
    for entries in quell_aqm::disciplines::KINDS.chunks(9) {
        live(test, |run| {
            let folder = tempfile::tempdir().unwrap();
            let started: Vec<_> = entries
                .iter()
                .map(|entry| (entry.name, Both::start(folder.path(), entry.name)))
                .collect();
            // All of them end before the first is judged.
            let ended: Vec<_> = started
                .into_iter()
                .map(|(name, both)| (name, both.end()))
                .collect();
            ended
                .iter()
                .try_for_each(|(name, [sim, live])| carries_real_tcp(run, name, sim, live))
        });
    }
}

/// The same scenario in the simulator and live.
struct Both([Child; 2]);

impl Both {
    fn start(folder: &Path, name: &str) -> Self {
        let file = folder.join(format!("{name}.toml"));
        fs::write(&file, SCENARIO.replace("KIND", name)).unwrap();
        Self(["sim", "live"].map(|world| {
            Command::new(QUELL)
                .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
                .arg("--out")
                .arg(folder.join(format!("{name}-{world}")))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        }))
    }

    fn end(self) -> [Value; 2] {
        self.0
            .map(|child| summary(&child.wait_with_output().unwrap()))
    }
}

fn carries_real_tcp(run: &mut Run, name: &str, sim: &Value, live: &Value) -> Result<(), Missed> {
    note(run, live, 10.0);
    carries(name, sim).unwrap();
    carries(name, live)?;
    // Four flows of two seconds: within a factor of three, or 3 ms.
    let delay = |told| number(told, "/groups/1/delay_ms/mean");
    let (real, modelled) = (delay(live), delay(sim));
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
