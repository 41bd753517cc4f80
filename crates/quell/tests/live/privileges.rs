//! What the processes of a live run may still do while it goes on, read from /proc.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use std::{fs, io};

use quell_testing::program::{refused, wait_until};

use crate::lacking::{as_nobody, for_nobody};
use crate::support::*;

/// CAP_NET_ADMIN of linux/capability.h.
const NET_ADMIN: u64 = 1 << 12;
/// What the broker may keep: SETGID, SETUID, SETPCAP, KILL, NET_ADMIN, NET_RAW, SYS_ADMIN, SYS_NICE, SYS_RESOURCE, PERFMON, BPF.
const SET_UP: u64 = {
    let numbers = [6, 7, 8, 5, 12, 13, 21, 23, 24, 38, 39];
    let (mut bits, mut next) = (0, 0);
    while next < numbers.len() {
        bits |= 1 << numbers[next];
        next += 1;
    }
    bits
};
const NOBODY: u32 = 65_534;

#[test]
fn no_thread_of_a_run_of_root_keeps_what_it_does_not_need() {
    let test = "no_thread_of_a_run_of_root_keeps_what_it_does_not_need";
    let _beside = beside_others();
    if !is_root() || !can_run(test) {
        return not_run(test, "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = [
        "--packets",
        "--duration",
        "20s",
        "--out",
        out.to_str().unwrap(),
    ];
    judge(start(&arguments));
    assert!(!out.exists(), "it was killed");
}

#[test]
fn no_thread_of_a_run_of_a_user_keeps_what_it_does_not_need() {
    let test = "no_thread_of_a_run_of_a_user_keeps_what_it_does_not_need";
    let _beside = beside_others();
    if !is_root() {
        return not_run(test, "needs root, to become somebody else");
    }
    if !doctor_says("user namespaces") {
        return not_run(test, "user namespaces are forbidden here");
    }
    let (folder, quell) = for_nobody();
    let mut command = as_nobody(&quell);
    command
        .args([
            "run",
            COEXISTENCE,
            "--world",
            "live",
            "--duration",
            "20s",
            "--packets",
        ])
        .args(CUBIC)
        .arg("--out")
        .arg(folder.path().join("out"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    judge(command.spawn().unwrap());
}

/// Reads every thread of the run once all are there, and kills it.
fn judge(mut program: Child) {
    // The threads are given their names before they give their rights away, and begin the run some 50 ms later.
    wait_until("the run has its threads", || {
        if let Some(status) = program.try_wait().unwrap() {
            let errors = program.stderr.take().map(io::read_to_string);
            panic!("it has ended, {status}: {errors:?}");
        }
        worker_of(program.id()).is_some_and(|worker| threads(worker).len() >= 4)
    });
    sleep(Duration::from_secs(1));
    let broker = children(program.id())[0];
    let worker = children(broker)[0];
    let found = [program.id(), broker, worker].map(threads);
    program.kill().unwrap();
    program.wait().unwrap();

    let [of_program, of_broker, of_worker] = found;
    for thread in of_program.iter().chain(&of_broker).chain(&of_worker) {
        assert_eq!(thread.number("NoNewPrivs", 10), 1, "{thread:?}");
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(thread.number(set, 16), 0, "{set} of {thread:?}");
        }
    }
    for thread in &of_program {
        thread.has_at_most(0);
    }
    assert_eq!(of_broker.len(), 1, "nothing runs beside it: {of_broker:?}");
    of_broker[0].has_at_most(SET_UP);
    let names: Vec<&str> = of_worker.iter().map(|thread| &*thread.name).collect();
    for name in [
        "quell-link",
        "quell-sender",
        "quell-receiver",
        "quell-packets",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for thread in &of_worker {
        let opens_sockets = ["quell-sender", "quell-receiver"].contains(&&*thread.name);
        thread.has_at_most(if opens_sockets { NET_ADMIN } else { 0 });
    }
    // The worker goes with the program.
    wait_until("the worker is gone", || {
        !fs::exists(format!("/proc/{worker}/status")).unwrap()
    });
}

#[derive(Debug)]
struct Thread {
    name: String,
    status: BTreeMap<String, String>,
}

impl Thread {
    fn number(&self, key: &str, base: u32) -> u64 {
        u64::from_str_radix(&self.status[key], base).unwrap()
    }

    fn has_at_most(&self, allowed: u64) {
        for set in ["CapEff", "CapPrm", "CapBnd"] {
            let has = self.number(set, 16);
            assert_eq!(has & !allowed, 0, "{set} {has:x} of {self:?}");
        }
    }
}

fn threads(process: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let each = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("status")).ok()?;
        let status: BTreeMap<String, String> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
            .collect();
        Some(Thread {
            name: status.get("Name")?.clone(),
            status,
        })
    });
    each.collect()
}

/// The process that carries a run's packets, once it is there.
pub(crate) fn worker_of(program: u32) -> Option<u32> {
    children(*children(program).first()?).first().copied()
}

/// The processes whose parent is `process`.
fn children(process: u32) -> Vec<u32> {
    let parent = |id: u32| -> Option<u32> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&id| parent(id) == Some(process))
        .collect()
}

#[test]
fn root_writes_into_a_users_folder_as_that_user() {
    let test = "root_writes_into_a_users_folder_as_that_user";
    let _beside = beside_others();
    if !is_root() || !can_run(test) {
        return not_run(test, "needs root");
    }
    // As with sudo, in a home that is closed to others.
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let out = home.join("all/out");
    let time = [
        "--duration",
        "2s",
        "--set",
        "run.warmup=500ms",
        "--set",
        "run.seeds=[1, 2]",
    ];
    let output = run(&["--out", out.to_str().unwrap()])
        .args(time)
        .args(CUBIC)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for file in ["", "aggregate.json", "seed1/summary.json", "seed2/run.json"] {
        let of = fs::metadata(out.join(file)).unwrap();
        assert_eq!(of.uid(), NOBODY, "{file}");
    }
}

#[test]
fn a_folder_that_root_alone_may_write_in_by_its_rights_is_refused_at_once() {
    let test = "a_folder_that_root_alone_may_write_in_by_its_rights_is_refused_at_once";
    let _beside = beside_others();
    if !is_root() || !can_run(test) {
        return not_run(test, "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let output = run(&["--out", folder.path().join("out").to_str().unwrap()])
        .args(CUBIC)
        .output()
        .unwrap();
    refused(&output, &["cannot be written", "--out"]);
}

/// A control that the kernel has no word for is not asked for: that is what loads a module.
#[test]
fn no_module_is_asked_for_unless_the_caller_says_so() {
    let test = "no_module_is_asked_for_unless_the_caller_says_so";
    let trace = |arguments: &[&str]| {
        let output = Command::new("strace")
            .args(["-f", "-e", "trace=setsockopt", QUELL])
            .args(arguments)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let Some(quiet) = trace(&["cc", "load", "cdg"]) else {
        return not_run(test, "strace is missing");
    };
    if !quiet.contains("+++ exited with") {
        return not_run(test, "strace may not trace here");
    }
    assert!(!quiet.contains("TCP_CONGESTION"), "{quiet}");
    let doctor = trace(&["doctor"]).unwrap();
    assert!(!doctor.contains("\"prague\""), "{doctor}");
    let asked = trace(&["cc", "load", "cdg", "--load-modules"]).unwrap();
    assert!(asked.contains("TCP_CONGESTION, \"cdg"), "{asked}");
}
