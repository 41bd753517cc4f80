//! What the virtual world writes, and what it leaves where it is killed.

use std::fs;

use quell_units::Time;
use rustix::process::{Pid, Signal, kill_process};

use crate::fits::fits;
use crate::signals::under_way;
use crate::stage::{SCENARIO, Stage};

#[test]
fn a_run_counts_what_its_guest_took_and_fits_the_schema_of_its_summary() {
    let Some(stage) =
        Stage::new("a_run_counts_what_its_guest_took_and_fits_the_schema_of_its_summary")
    else {
        return;
    };
    let more = r#"
[[group]]
name = "voice"
rtt = "10ms"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms" } }
[[group]]
name = "web"
rtt = "10ms"
app = { kind = "transfer", size = "30kB", repeat = { mean = "100ms" } }
[[group]]
name = "bursts"
rtt = "10ms"
app = { kind = "on-off", on = "200ms", off = "100ms" }
[[at]]
time = "3s"
set = { "group.l4s.count" = 3 }
"#;
    fs::write(
        stage.path().join("scenario.toml"),
        SCENARIO.replace("[run]", &format!("{more}\n[run]")),
    )
    .unwrap();
    stage.succeed(&["--out", "out"]);
    fits(&stage.json("out/summary.json"));
    let facts = stage.json("out/run.json");
    let number = |key: &str| facts[key].as_f64().unwrap();
    // The guest is one process at a time, and takes most of what passes; this process sleeps.
    let (cpu, wall) = (number("cpu_s"), number("wall_s"));
    assert!(cpu > 0.1 && cpu < 2.0 * wall, "{cpu} {wall}");
    // A kernel and quell in it touch some tens of megabytes, and not more than it was given and quell has outside.
    let peak = number("peak_memory_bytes");
    let given = facts["guest"]["memory_bytes"].as_f64().unwrap();
    assert!(peak > 30e6 && peak < given + 200e6, "{peak} {given}");
    let command = facts["command"].as_array().unwrap();
    assert!(command.contains(&"scenario.toml".into()), "{command:?}");
    let kernels = facts["environment"]["QUELL_KERNELS"].as_str().unwrap();
    assert!(kernels.ends_with("/kernels"), "{kernels}");
}

#[test]
fn the_next_run_removes_what_a_killed_one_left_for_its_guest() {
    let Some(stage) = Stage::new("the_next_run_removes_what_a_killed_one_left_for_its_guest")
    else {
        return;
    };
    let mut killed = under_way(&stage, &["--set", "link.rate=1mbit"], Time::from_secs(1));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = stage.left_over();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("quell-guest-"), "{left:?}");
    // What only looks alike, and is somebody else's.
    let other = stage.path().join("tmp/quell-guest-of-somebody");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "").unwrap();
    let next = |out: &str| {
        let output = stage.run(&["--out", out, "--verbose"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        errors
    };
    let said = next("next");
    assert!(said.contains(&left[0]), "{said}");
    assert_eq!(stage.left_over(), ["quell-guest-of-somebody"]);
    // Nor does it touch the folder of a run that lives.
    let living = under_way(&stage, &["--set", "link.rate=1mbit"], Time::from_secs(1));
    let said = next("another");
    assert!(!said.contains("removed"), "{said}");
    assert_eq!(stage.left_over().len(), 2);
    kill_process(Pid::from_child(&living), Signal::INT).unwrap();
    living.wait_with_output().unwrap();
    assert_eq!(stage.left_over(), ["quell-guest-of-somebody"]);
}
