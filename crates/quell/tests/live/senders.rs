//! Pacing, segmentation offload and the senders' own links, seen from the queue.
//!
//! One flow in slow start over a long path, before it fills the link: what its queue holds comes from bursts alone.

use std::fs;
use std::process::Command;

use quell_testing::{Missed, Run, bound, live};

use crate::first_flight;
use crate::support::*;

const SCENARIO: &str = r#"schema = 1
name = "senders"
[link]
rate = "100mbit"
queue = { kind = "fifo", limit = "100ms" }
[[group]]
name = "a"
rtt = "100ms"
app = { kind = "bulk" }
[run]
duration = "700ms"
"#;

/// Mean delay in the queue, in milliseconds.
fn mean_delay(run: &mut Run, world: &str, group: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("senders.toml");
    fs::write(&file, SCENARIO.replace("app =", &format!("{group}\napp ="))).unwrap();
    let output = Command::new(QUELL)
        .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    let summary = summary(&output);
    if world == "live" {
        note(run, &summary, 100.0);
    }
    number(&summary, "/queues/0/delay_ms/mean")
}

/// Acknowledgements open twice their number of segments: unpaced, half a window queues up each round.
/// Paced, a window is spread over half a round, and only bursts of a millisecond queue.
fn pacing_empties_the_queue(run: &mut Run, world: &str) -> Result<(), Missed> {
    let unpaced = mean_delay(run, world, "pacing = false");
    let paced = mean_delay(run, world, "pacing = true");
    bound!(paced < unpaced / 5.0, "{world}: {paced} {unpaced}");
    let alone = mean_delay(run, world, "pacing = true\ngso = false");
    bound!(alone < paced / 2.0, "{world}: {alone} {paced}");
    Ok(())
}

#[test]
fn pacing_and_offload_change_the_queue_of_the_simulator() {
    let _beside = beside_others();
    pacing_empties_the_queue(&mut Run::default(), "sim").unwrap();
}

/// Behind a link of its own, hardly faster than the bottleneck, a burst comes as slowly as the queue sends it.
#[test]
fn links_of_senders_empty_the_queue_of_the_simulator_and_are_refused_in_the_live_world() {
    let _beside = beside_others();
    let delay = |group| mean_delay(&mut Run::default(), "sim", group);
    let (without, with) = (delay(""), delay("access-rate = \"101mbit\""));
    assert!(with < without / 10.0, "{with} {without}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("senders.toml");
    fs::write(&file, SCENARIO).unwrap();
    let output = Command::new(QUELL)
        .args([
            "run",
            file.to_str().unwrap(),
            "--world",
            "live",
            "--set",
            "group.a.access-rate=101mbit",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("the live world has no access-rate"),
        "{errors}"
    );
}

#[test]
fn pacing_and_offload_change_the_queue_of_real_hosts() {
    let test = "pacing_and_offload_change_the_queue_of_real_hosts";
    live(test, |run| {
        if can_run(test) {
            pacing_empties_the_queue(run, "live")?;
        }
        Ok(())
    });
}

fn first_flights(world: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first-flight.toml");
    fs::write(&file, first_flight::SCENARIO).unwrap();
    for (number, case) in first_flight::CASES.into_iter().enumerate() {
        let output = Command::new(QUELL)
            .args(["run", file.to_str().unwrap(), "--world", world, "--json"])
            .args(first_flight::arguments(case))
            .arg("--out")
            .arg(folder.path().join(format!("out{number}")))
            .output()
            .unwrap();
        first_flight::check(world, case, &summary(&output));
    }
}

#[test]
fn initial_window_and_segment_size_shape_the_first_flight_of_the_simulator() {
    let _beside = beside_others();
    first_flights("sim");
}

#[test]
fn initial_window_and_segment_size_shape_the_first_flight_of_real_hosts() {
    let test = "initial_window_and_segment_size_shape_the_first_flight_of_real_hosts";
    live(test, |_| {
        if can_run(test) {
            first_flights("live");
        }
        Ok(())
    });
}
