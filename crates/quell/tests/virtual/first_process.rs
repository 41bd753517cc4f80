//! quell as the first process of a process-id namespace, as in a container.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{NOBODY, Stage, is_root};
use quell_testing::not_run;

/// quell with `arguments` as an ordinary user, and as process 1.
fn contained(stage: &Stage, arguments: &[&str]) -> Command {
    let like = stage.quell(&[]);
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        let user = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        command
            .args(user)
            .args(["--clear-groups", "--inh-caps=-all", "unshare"]);
        command
    } else {
        Command::new("unshare")
    };
    for (name, value) in like.get_envs() {
        command.env(name, value.unwrap());
    }
    command
        .args([
            "--user",
            "--map-current-user",
            "--pid",
            "--fork",
            "--mount-proc",
        ])
        .arg(stage.program())
        .args(arguments)
        .current_dir(stage.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn can_contain(test: &str) -> bool {
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-current-user",
        "--pid",
        "--fork",
        "--mount-proc",
        "true",
    ]);
    let can = command.output().is_ok_and(|output| output.status.success());
    if !can {
        not_run(test, "unshare makes no user and process-id namespaces here");
    }
    can
}

#[test]
fn the_simulator_runs_as_the_first_process_and_codes_come_through() {
    if !can_contain("the_simulator_runs_as_the_first_process_and_codes_come_through") {
        return;
    }
    let stage = Stage::empty();
    let output = contained(&stage, &["run", "scenario.toml", "--out", "out"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("results in out"));
    let output = contained(&stage, &["run", "missing.toml"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_virtual_world_runs_as_the_first_process() {
    let test = "the_virtual_world_runs_as_the_first_process";
    if !can_contain(test) {
        return;
    }
    let Some(stage) = Stage::new(test) else {
        return;
    };
    let run = ["run", "scenario.toml", "--world", "virtual", "--out", "out"];
    let output = contained(&stage, &run).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(stage.json("out/summary.json")["partial"], false);
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    let doctor = contained(&stage, &["doctor"]).output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("ok       virtual time"), "{doctor}");
}

/// Without a handler a signal does nothing to a first process; an orphan is its child, and a zombie unless it waits.
#[test]
fn a_first_process_is_ended_by_a_signal_and_leaves_no_zombie_meanwhile() {
    let test = "a_first_process_is_ended_by_a_signal_and_leaves_no_zombie_meanwhile";
    if !can_contain(test) {
        return;
    }
    let stage = Stage::empty();
    // The orphan ends at once; the kernel goes on.
    stage.fake_kernel("parent", "(sleep 0.1 &)\nsleep 600 & wait", true);
    let run = ["run", "scenario.toml", "--world", "virtual", "--out", "out"];
    let outer = contained(&stage, &run).spawn().unwrap();
    let first = first_of(&outer);
    let began = Instant::now();
    let names = |id: u32| -> Vec<String> {
        let in_it = descendants(id).into_iter();
        in_it
            .map(|id| state_and_name(id).unwrap_or_default())
            .collect()
    };
    let is_kernel = |name: &String| name.ends_with("sleep");
    while !names(first).iter().any(is_kernel) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{:?}",
            names(first)
        );
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_millis(500));
    let all = names(first);
    assert!(!all.iter().any(|name| name.starts_with('Z')), "{all:?}");
    // The second ends the process, as everywhere.
    for _ in 0..2 {
        kill_process(Pid::from_raw(first as i32).unwrap(), Signal::TERM).unwrap();
        sleep(Duration::from_millis(300));
    }
    let began = Instant::now();
    let mut outer = outer;
    while outer.try_wait().unwrap().is_none() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "SIGTERM has no effect"
        );
        sleep(Duration::from_millis(20));
    }
}

fn first_of(outer: &Child) -> u32 {
    let began = Instant::now();
    loop {
        // unshare, which setpriv becomes, has one child.
        if let Some(first) = children(outer.id()).first() {
            return *first;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "unshare starts nothing"
        );
        sleep(Duration::from_millis(20));
    }
}

fn descendants(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut next = 0;
    while next < all.len() {
        all.extend(children(all[next]));
        next += 1;
    }
    all
}

fn children(id: u32) -> Vec<u32> {
    let path = format!("/proc/{id}/task/{id}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect()
}

/// `Z sleep`.
fn state_and_name(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    Some(format!("{} {name}", rest.split_whitespace().next()?))
}
