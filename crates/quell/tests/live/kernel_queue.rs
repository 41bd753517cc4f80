//! A queue of this kernel in the place of quell's, measured from outside like quell's own.
//!
//! Only drop-tail is in every kernel; the others are compared in the virtual world, see `tests/virtual/parity.rs`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::support::*;

/// Fifty packets: of 1 500 bytes to quell, of 1 514 to the kernel.
const SCENARIO: &str = r#"schema = 1
name = "drop-tail"
[link]
rate = "20mbit"
overhead = 14
queue = { kind = "fifo", limit = "75000B" }
[[group]]
name = "bulk"
count = 2
rtt = "10ms"
app = { kind = "bulk" }
[run]
duration = "6s"
warmup = "2s"
"#;

fn quell(folder: &Path, scenario: &str, name: &str, arguments: &[&str]) -> Output {
    let child = start(folder, scenario, name, arguments);
    child.wait_with_output().unwrap()
}

fn start(folder: &Path, scenario: &str, name: &str, arguments: &[&str]) -> Child {
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, scenario).unwrap();
    Command::new(QUELL)
        .args(["run", file.to_str().unwrap(), "--json", "--out"])
        .arg(folder.join(name))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn drop_tail_of_this_kernel_does_what_quells_does() {
    let test = "drop_tail_of_this_kernel_does_what_quells_does";
    live(test, |run| drop_tail(test, run));
}

fn drop_tail(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let folder = tempfile::tempdir().unwrap();
    // Side by side, so that both have the same machine.
    let [kernel, ours] = [
        ("kernel", &["--kernel-queue", "bfifo limit 75700"][..]),
        ("ours", &["--watch"]),
    ]
    .map(|(name, how)| {
        let arguments = [&["--world", "live"], how].concat();
        start(folder.path(), SCENARIO, name, &arguments)
    })
    .map(|child| child.wait_with_output().unwrap());
    let told = String::from_utf8_lossy(&kernel.stderr);
    let lacks = ["no such discipline", "install iproute2"];
    if lacks.iter().any(|why| told.contains(why)) {
        not_run(test, told.trim());
        return Ok(());
    }
    let (kernel, ours) = (summary(&kernel), summary(&ours));
    note(run, &kernel, 10.0);
    note(run, &ours, 10.0);
    let path = "/link/path/groups/0";
    let delay = |told: &Value| number(told, &format!("{path}/delay_ms/mean"));
    // A queue that is never empty.
    let ratio = delay(&ours) / delay(&kernel);
    bound!((0.75..1.33).contains(&ratio), "{ours:#} {kernel:#}");
    let ratio = goodput(&ours, 0) / goodput(&kernel, 0);
    bound!((0.9..1.11).contains(&ratio), "{ours:#} {kernel:#}");
    // What was seen from outside is what quell's queue says of itself, but for how late the link was, and in the last second.
    let own = number(&ours, "/groups/0/delay_ms/mean");
    let late = number(&ours, "/link/lateness_ms/p99");
    bound!(
        (delay(&ours) - own).abs() < 0.1 * own + late,
        "{own} {late} {ours:#}"
    );
    // The summary speaks of the kernel's queue where it would speak of quell's.
    assert_eq!(kernel["queues"][0]["name"], "bfifo");
    assert_eq!(kernel["queues"].as_array().unwrap().len(), 1);
    assert_eq!(number(&kernel, "/link/rate_bps"), 20e6);
    assert_eq!(number(&kernel, "/groups/0/delay_ms/mean"), delay(&kernel));
    for told in [&ours, &kernel] {
        bound!(number(told, "/link/path/missed") == 0.0, "{told:#}");
        bound!(number(told, &format!("{path}/dropped")) > 0.0, "{told:#}");
    }
    // The kernel's counter goes on for a second longer, and is read within some ten milliseconds of the warm-up's end.
    let seen = number(&kernel, &format!("{path}/dropped"));
    let counted = number(&kernel, "/link/kernel_queue/dropped");
    bound!(
        counted + 5.0 >= seen && counted <= 2.0 * seen + 20.0,
        "{counted} {seen}"
    );
    Ok(())
}

#[test]
fn a_queue_of_the_kernel_is_refused_where_it_cannot_be() {
    let test = "a_queue_of_the_kernel_is_refused_where_it_cannot_be";
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let bare = SCENARIO.replace("overhead = 14\n", "");
    let changing =
        format!("{SCENARIO}[[at]]\ntime = \"5s\"\nset = {{ \"link.rate\" = \"10mbit\" }}\n");
    let short = SCENARIO.replace("6s", "3s");
    let bfifo = ["--world", "live", "--kernel-queue", "bfifo"];
    let mut refusals: Vec<(&str, &[&str], &str)> = vec![
        (
            SCENARIO,
            &["--kernel-queue", "pie"],
            "--world live or virtual",
        ),
        (SCENARIO, &["--watch"], "--world live or virtual"),
        (
            SCENARIO,
            &["--world", "live", "--packets", "--kernel-queue", "bfifo"],
            "--packets",
        ),
        (&bare, &bfifo, "link.overhead must be 14"),
        (&changing, &bfifo, "[[at]]"),
        (
            SCENARIO,
            &["--world", "live", "--kernel-queue", "no_such_queue"],
            "no such discipline",
        ),
        (
            SCENARIO,
            &["--world", "live", "--kernel-queue", "bfifo parent 1:2"],
            "no parameter",
        ),
    ];
    if can_run(test) {
        refusals.push((&short, &["--world", "live", "--watch"], "after its warm-up"));
    } else {
        refusals.retain(|(_, _, says)| *says != "no such discipline");
    }
    for (number, (scenario, arguments, says)) in refusals.into_iter().enumerate() {
        let output = quell(folder.path(), scenario, &number.to_string(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(says), "{arguments:?}: {errors}");
    }
}
