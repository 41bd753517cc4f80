//! Runs that are interrupted: what they write, what they say, and how they end; and `--strict`.
#![allow(clippy::unwrap_used)]

use crate::recomputed;
use quell_testing::not_run;

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quell_lab::scenario::Scenario;
use quell_lab::{Options, Task, World};
use quell_testing::program::{program, refused, text, wait_until};
use quell_units::Time;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");

/// Longer than any test, and slow enough to be cheap. Its step is no shorter than the time of a packet, or each run would have a warning.
const LONG: &str = quell_testing::l4s_beside_classic!(
    name: "long",
    link: r#"rate = "2mbit"
queue = { kind = "dualpi2", step_thresh = "6ms" }
"#,
    flows: [2, 1],
    rtts: ["10ms", "10ms"],
    then: r#"[run]
duration = "80000s"
warmup = "1s"
interval = "10ms"
"#,
);

#[test]
fn a_simulation_that_ends_early_has_the_figures_of_the_time_that_it_ran() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let scenario = Scenario::parse(&LONG.replace("80000s", "2000s").replace("2mbit", "20mbit"));
    let scenario = scenario.unwrap();
    let at = Time::from_millis(recomputed::some_time_ms(5_000, 20_000));
    let stop = AtomicBool::new(false);
    let options = Options {
        out: Some(out.clone()),
        packets: true,
        ..Options::new(World::Sim, &stop)
    };
    let task = Task {
        scenario: &scenario,
        options,
    };
    quell_lab::run_all(&[task], NonZeroUsize::MIN, &mut |progress| {
        stop.fetch_or(progress.elapsed >= at, Ordering::Relaxed);
    })
    .unwrap();
    recomputed::check(&out, 0);
}

fn quell(folder: &Path, arguments: &[&str]) -> Command {
    fs::write(folder.join("long.toml"), LONG).unwrap();
    program(QUELL, folder, arguments)
}

/// Until the run has begun whose result will be `out` in `folder`: until then it is in a hidden folder, as one of several.
fn wait_for(folder: &Path, out: &str) {
    let hidden = folder.join(format!(".{out}.unfinished"));
    wait_until("the run has begun", || {
        let results = fs::read_dir(&hidden).into_iter().flatten().flatten();
        let mut results = results.map(|result| result.path());
        // The first rows are written after some minutes of its time.
        results.any(|result| {
            let series = fs::metadata(result.join("flows.parquet"));
            series.is_ok_and(|series| series.len() > 1_000)
        })
    });
}

/// Ctrl-C once the run of `out` has begun; how the program ended.
fn interrupted(folder: &Path, mut command: Command, out: &str, signal: Signal) -> Output {
    let child = command.spawn().unwrap();
    wait_for(folder, out);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
    output
}

#[test]
fn an_interrupted_run_says_when_and_ends_by_the_signal() {
    for (signal, json) in [(Signal::INT, false), (Signal::TERM, true)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = vec!["run", "long.toml", "--set", "run.warmup=0s", "--out", "out"];
        arguments.extend(json.then_some("--json"));
        let command = quell(folder.path(), &arguments);
        let output = interrupted(folder.path(), command, "out", signal);
        let (told, errors) = (text(&output.stdout), text(&output.stderr));
        let summary = fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let ended = (summary["duration_s"].as_f64().unwrap() * 10.0).round() / 10.0;
        let line = format!("quell: interrupted at {ended} s of 80000 s\n");
        assert!(errors.ends_with(&line), "{line}{errors}");
        if json {
            assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), summary);
        } else {
            assert!(
                told.contains("ended early") && told.contains("classic"),
                "{told}"
            );
        }
    }
}

/// Whatever ends the process that started quell closes its end of the pipe.
#[test]
fn a_run_ends_when_the_other_end_of_its_parent_pipe_closes() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "long.toml", "--out", "out", "--parent-pipe", "0"];
    let mut child = quell(folder.path(), &arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(folder.path(), "out");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::HUP.as_raw()));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("interrupted at ") && errors.contains(" s of 80000 s"),
        "{errors}"
    );
    assert!(folder.path().join("out/summary.json").exists());

    // It is closed already.
    let mut child = quell(
        folder.path(),
        &["run", "long.toml", "--out", "none", "--parent-pipe=0"],
    )
    .stdin(Stdio::piped())
    .spawn()
    .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.signal(),
        Some(Signal::HUP.as_raw()),
        "{output:?}"
    );
}

#[test]
fn a_parent_pipe_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (descriptor, word) in [
        ("77", "Bad file descriptor"),
        ("-1", "Bad file descriptor"),
        ("0", "neither a pipe nor a socket"),
    ] {
        let pipe = format!("--parent-pipe={descriptor}");
        let output = quell(folder.path(), &["run", "long.toml", "--out", "out", &pipe])
            .output()
            .unwrap();
        refused(
            &output,
            &[
                &format!("--parent-pipe {descriptor}: must be the descriptor of a pipe"),
                word,
            ],
        );
        assert!(!folder.path().join("out").exists());
    }
    let output = quell(folder.path(), &["exec", "--parent-pipe=0", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(
        text(&output.stderr).contains("--parent-pipe has no effect with exec"),
        "{output:?}"
    );
}

#[test]
fn what_did_not_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "compare",
        "long.toml",
        "--queue",
        "pie,codel,dualpi2",
        "--jobs",
        "1",
        "--seed",
        "1",
    ];
    let mut command = quell(folder.path(), &arguments);
    command.args(["--out", "out", "--set", "run.warmup=0s"]);
    // Its results lie in out/pie.
    fs::create_dir(folder.path().join("out")).unwrap();
    let output = interrupted(&folder.path().join("out"), command, "pie", Signal::INT);
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(
        errors.contains("interrupted at ")
            && errors.contains(" s of 80000 s (pie); codel, dualpi2 did not run\n"),
        "{errors}"
    );
    assert!(told.contains("pie") && !told.contains("codel"), "{told}");

    let arguments = [
        "run",
        "long.toml",
        "--set",
        "run.seeds=[7, 8, 9]",
        "--jobs",
        "1",
        "--out",
        "some",
    ];
    let command = quell(folder.path(), &arguments);
    let output = interrupted(folder.path(), command, "some", Signal::INT);
    let errors = text(&output.stderr);
    assert!(
        errors.contains(" s of 80000 s (seed 7); seed 8, seed 9 did not run\n"),
        "{errors}"
    );
}

#[test]
fn in_the_warm_up_nothing_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "run",
        "long.toml",
        "--set",
        "run.warmup=79999s",
        "--out",
        "out",
    ];
    let command = quell(folder.path(), &arguments);
    let output = interrupted(folder.path(), command, "out", Signal::INT);
    let told = text(&output.stdout).replace('\n', " ");
    assert!(
        told.contains("warning: nothing was measured: the run ended at "),
        "{told}"
    );
    for figure in ["utilised", "per flow", " 0.0", "bottleneck"] {
        assert!(!told.contains(figure), "{figure} in {told}");
    }
    let summary = fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(
        summary["warnings"].as_array().unwrap().len(),
        1,
        "{summary:#}"
    );
    assert_eq!(summary["groups"][0]["goodput_bps"], serde_json::json!([]));
}

/// Whether one Ctrl-C ends a loop of `shell` over three runs.
fn loop_ends(shell: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.toml"), LONG).unwrap();
    let script = "for i in 1 2 3; do \"$QUELL\" run long.toml --out out$i; done; echo after";
    let mut child = Command::new(shell)
        .args(["-c", script])
        .env("QUELL", QUELL)
        .current_dir(folder.path())
        // As from a terminal: the signal goes to all of them.
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(folder.path(), "out1");
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let began = Instant::now();
    let goes_on = || folder.path().join(".out2.unfinished").exists();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if goes_on() || began.elapsed() > Duration::from_secs(60) {
            kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
            child.wait().unwrap();
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    // Some shells do not wait for their child then.
    wait_until("the first run has ended", || {
        !folder.path().join(".out1.unfinished").exists()
    });
    assert!(folder.path().join("out1/summary.json").exists(), "{shell}");
    status.signal() == Some(Signal::INT.as_raw()) && !folder.path().join("out2").exists()
}

#[test]
fn one_ctrl_c_ends_a_shells_loop() {
    let test = "one_ctrl_c_ends_a_shells_loop";
    for shell in ["bash", "sh"] {
        if Command::new(shell).args(["-c", ":"]).status().is_err() {
            not_run(test, &format!("there is no {shell}"));
            continue;
        }
        // A shell that learns of its child's end before it gets its own signal goes on, whatever its child was: on a busy
        // machine that happens now and then.
        assert!((0..10).any(|_| loop_ends(shell)), "{shell}");
    }
}

#[test]
fn strict_turns_a_warning_into_an_exit_code_and_keeps_the_results() {
    let folder = tempfile::tempdir().unwrap();
    // The access of each flow is slower than the link: the link is not the bottleneck.
    let idle = [
        "--duration",
        "3s",
        "--set",
        "group.l4s.access-rate=100kbit",
        "--set",
        "group.classic.access-rate=100kbit",
    ];
    let code = |words: &[&str]| {
        let output = quell(folder.path(), words).output().unwrap();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    for (command, more) in [("run", &[][..]), ("compare", &["--queue", "pie"])] {
        let words = [&[command, "long.toml"], more, &idle].concat();
        let out = format!("{command}-strict");
        let (exit, told, errors) = code(&[&words[..], &["--strict", "--out", &out]].concat());
        assert_eq!(exit, Some(1), "{errors}");
        assert!(
            told.contains("warning: ") && errors.contains("--strict makes that an error"),
            "{told}{errors}"
        );
        assert!(folder.path().join(&out).is_dir());
        let out = format!("{command}-lenient");
        assert_eq!(code(&[&words[..], &["--out", &out]].concat()).0, Some(0));
    }
    // Nothing is wrong with a full link.
    let full = [
        "run",
        "long.toml",
        "--duration",
        "3s",
        "--strict",
        "--out",
        "full",
    ];
    let (exit, _, errors) = code(&full);
    assert_eq!(exit, Some(0), "{errors}");
}

#[test]
fn the_order_of_seeds_changes_no_byte_of_an_aggregate() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |seeds: &str, out: &str| {
        let seeds = format!("run.seeds={seeds}");
        let arguments = [
            "run",
            "long.toml",
            "--duration",
            "3s",
            "--set",
            &seeds,
            "--out",
            out,
        ];
        let output = quell(folder.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::read(folder.path().join(out).join("aggregate.json")).unwrap()
    };
    let up = bytes("[1, 2, 3, 4]", "up");
    assert!(up == bytes("[4, 3, 2, 1]", "down"));
    assert!(up == bytes("[3, 1, 4, 2]", "mixed"));
}
