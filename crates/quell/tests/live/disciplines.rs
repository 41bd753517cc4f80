//! Every discipline there is carries real TCP, and does to it about what it does to modelled TCP.

use std::fs;
use std::process::Command;

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
duration = "6s"
warmup = "2s"
"#;

#[test]
fn every_discipline_carries_real_tcp() {
    let test = "every_discipline_carries_real_tcp";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for entry in quell_aqm::registry::KINDS {
        let file = folder.path().join("any.toml");
        fs::write(&file, SCENARIO.replace("KIND", entry.name)).unwrap();
        let summary_in = |world: &str| {
            let output = Command::new(QUELL)
                .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
                .arg("--out")
                .arg(folder.path().join(format!("{}-{world}", entry.name)))
                .output()
                .unwrap();
            summary(&output)
        };
        let (live, sim) = (summary_in("live"), summary_in("sim"));
        let name = entry.name;
        // A threshold of 1 ms, less than two packets here, leaves CUBIC windows of a few packets: 0.36 to 0.39 in both worlds; 0.22
        // in the live one on a machine so busy that its link was 13 ms late at the 99th percentile.
        let least = |live| match (name, live) {
            ("step", true) => 0.1,
            ("step", false) => 0.25,
            _ => 0.7,
        };
        for (told, is_live) in [(&live, true), (&sim, false)] {
            assert!(
                number(told, "/link/utilisation") > least(is_live),
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
            assert!(signals > 0.0, "{name}: {told:#}");
        }
        // Four flows of four seconds, on a machine that may be busy: within a factor of three, or 3 ms.
        let delay = |told| number(told, "/groups/1/delay_ms/mean");
        let (real, modelled) = (delay(&live), delay(&sim));
        assert!(
            real < 3.0 * modelled + 3.0 && modelled < 3.0 * real + 3.0,
            "{name}: {real} and {modelled} ms"
        );
    }
}
