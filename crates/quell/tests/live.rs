//! The live world, run as people run it: real TCP through the real bottleneck, and what happens
//! when something is missing, is killed, or runs beside it.
//!
//! Judged by ratios and orders, with room for a busy machine; published figures are checked by hand
//! with the commands that the README gives. Where this host cannot run a test it says so by name.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");
const COEXISTENCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/dualq2015/coexistence.toml"
);
/// Four and two CUBIC flows: runs without BPF.
const CUBIC: [&str; 2] = ["--set", "group.l4s.congestion-control=cubic"];

/// One live run at a time: they share two processors.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Says that a test cannot run here, for a person and for `make test`.
fn not_run(test: &str, reason: &str) {
    let line = format!("not run: {test}: {reason}\n");
    // Not through the test harness, which would swallow it.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("QUELL_NOT_RUN") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// What `quell doctor` finds missing: lines of its report that do not begin with "ok".
fn doctor_says(what: &str) -> bool {
    let output = Command::new(QUELL).arg("doctor").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .any(|line| line.starts_with("ok") && line.contains(what))
}

/// Whether the live world runs here; as root it must.
fn can_run(test: &str) -> bool {
    let can = doctor_says("veth") && doctor_says("packet sockets");
    if !can {
        assert!(!is_root(), "root can run the live world: see quell doctor");
        not_run(
            test,
            "no network namespaces, veth or packet sockets: see quell doctor",
        );
    }
    can
}

/// Whether DCTCP is to be had; a build with the feature run by root must have it.
fn has_dctcp(test: &str) -> bool {
    let has = doctor_says("congestion control dctcp");
    if !has {
        assert!(
            !(is_root() && cfg!(feature = "bpf-cc")),
            "root can load dctcp: see quell doctor"
        );
        not_run(
            test,
            "no dctcp: needs root and a build with clang and libelf (feature bpf-cc)",
        );
    }
    has
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn run(arguments: &[&str]) -> Command {
    let mut command = Command::new(QUELL);
    command
        .args(["run", COEXISTENCE, "--world", "live"])
        .args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The summary of a run that must succeed.
fn summary(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn json_run(out: &Path, arguments: &[&str]) -> Value {
    let out = out.to_str().unwrap();
    summary(
        &run(&["--json", "--out", out])
            .args(arguments)
            .output()
            .unwrap(),
    )
}

fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

/// The sum of a group's flows.
fn goodput(summary: &Value, group: usize) -> f64 {
    let flows = summary
        .pointer(&format!("/groups/{group}/goodput_bps"))
        .unwrap();
    flows
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow.as_f64().unwrap())
        .sum()
}

#[test]
fn dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not() {
    let test = "dualpi2_keeps_l4s_short_beside_classic_and_drop_tail_does_not";
    let _alone = alone();
    if !can_run(test) || !has_dctcp(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let time = ["--duration", "12s", "--set", "run.warmup=4s"];
    let dual = json_run(&folder.path().join("dual"), &time);
    let (l4s, classic) = ("/queues/0", "/queues/1");
    assert_eq!(dual["queues"][0]["name"], "l4s");
    assert_eq!(number(&dual, "/link/lost_outside"), 0.0);
    assert!(
        number(&dual, "/link/utilisation") > 0.9,
        "{:#}",
        dual["link"]
    );
    // The target of 15 ms is Classic's; L4S waits for a step of 1 ms.
    let delay = |queue: &str, figure: &str| number(&dual, &format!("{queue}/delay_ms/{figure}"));
    assert!(
        delay(l4s, "p50") < delay(classic, "p50") / 4.0,
        "{:#}",
        dual["queues"]
    );
    // Signals: L4S by marks alone, Classic by drops of the AQM alone.
    let count = |queue: &str, what: &str| number(&dual, &format!("{queue}/{what}"));
    assert!(count(l4s, "marks/coupled") > 0.0 && count(l4s, "marks/step") > 0.0);
    assert_eq!(count(l4s, "dropped"), 0.0);
    assert!(count(classic, "drops/aqm") > 0.0);
    assert_eq!(
        count(classic, "marked") + count(classic, "drops/limit"),
        0.0
    );
    // k = 2 couples p_L to 2·√p_C. Few flows and a noisy machine: within a factor of two.
    let p_l = count(l4s, "marks/coupled") / count(l4s, "packets");
    let drops = count(classic, "drops/aqm");
    let p_c = drops / (count(classic, "packets") + drops);
    let coupling = 2.0 * p_c.sqrt() / p_l;
    assert!((0.5..2.0).contains(&coupling), "{coupling}");

    let tail = json_run(
        &folder.path().join("tail"),
        &[
            "--duration",
            "12s",
            "--set",
            "run.warmup=4s",
            "--set",
            "link.queue.kind=fifo",
            "--set",
            "link.queue.limit=100ms",
        ],
    );
    assert_eq!(tail["queues"][0]["name"], "queue");
    let tail_delay = number(&tail, "/groups/0/delay_ms/p50");
    assert!(tail_delay > 5.0 * delay(l4s, "p50"), "{tail_delay}");
    assert!(number(&tail, "/queues/0/drops/limit") > 0.0);
}

#[test]
fn changes_take_effect_and_each_phase_has_its_figures() {
    let test = "changes_take_effect_and_each_phase_has_its_figures";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("phases.toml");
    fs::write(
        &file,
        r#"
schema = 1
name = "phases"
[link]
rate = "20mbit"
queue = { kind = "fifo", limit = "20ms" }
[link.reverse]
rate = "10mbit"
queue = { kind = "fifo", limit = "10ms" }
[[group]]
name = "down"
count = 1
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "up"
rtt = "10ms"
direction = "reverse"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "4ms"
ecn = "ect0"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms", stddev = "1ms" } }
[[at]]
time = "3s"
set = { "link.rate" = "5mbit", "group.down.count" = 3 }
[run]
duration = "6s"
warmup = "1s"
settle = "1s"
"#,
    )
    .unwrap();
    let out = folder.path().join("out");
    let output = Command::new(QUELL)
        .args([
            "run",
            file.to_str().unwrap(),
            "--world",
            "live",
            "--json",
            "--realtime",
            "10",
            "--out",
        ])
        .arg(&out)
        .output()
        .unwrap();
    if !output.status.success() && !is_root() {
        return not_run(test, "real-time priority needs root or RLIMIT_RTPRIO");
    }
    let summary = summary(&output);
    let phases = summary["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    assert_eq!(number(&phases[0], "/link/rate_bps"), 20e6);
    assert_eq!(number(&phases[1], "/link/rate_bps"), 5e6);
    assert_eq!(phases[0]["groups"][0]["count"], 1);
    assert_eq!(phases[1]["groups"][0]["count"], 3);
    let [before, after] = [goodput(&phases[0], 0), goodput(&phases[1], 0)];
    assert!(before > 2.0 * after && after > 2e6, "{before} {after}");
    // The reverse direction has its own rate, below its 10 Mbit/s in payload.
    let up = goodput(&summary, 1);
    assert!((5e6..10e6).contains(&up), "{up}");
    let voice = &summary["groups"][2];
    assert_eq!(voice["app"]["kind"], "cbr");
    // 50 datagrams a second for 5 s.
    assert!(
        (200.0..=260.0).contains(&number(voice, "/app/sent")),
        "{voice:#}"
    );
    assert_eq!(number(&summary, "/link/lost_outside"), 0.0);
    // The queue of 20 ms, and half the base RTT, bound the one-way delay from below and above, with
    // room for late wake-ups on one side only.
    assert!(number(voice, "/app/one_way_delay_ms/min") >= 2.0);
    for file in [
        "scenario.toml",
        "run.json",
        "summary.json",
        "flows.parquet",
        "queues.parquet",
        "histograms.json",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let again = Command::new(QUELL)
        .args(["check"])
        .arg(out.join("scenario.toml"))
        .status()
        .unwrap();
    assert!(again.success(), "the resolved scenario runs again");
}

#[test]
fn an_interrupt_ends_a_run_cleanly_with_what_was_measured() {
    let test = "an_interrupt_ends_a_run_cleanly_with_what_was_measured";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let child = start(&[
        "--json",
        "--set",
        "run.warmup=1s",
        "--out",
        out.to_str().unwrap(),
    ]);
    sleep(Duration::from_secs(4));
    signal(&child, rustix::process::Signal::INT);
    let summary = summary(&child.wait_with_output().unwrap());
    assert_eq!(summary["partial"], true);
    let duration = number(&summary, "/duration_s");
    assert!((1.0..30.0).contains(&duration), "{duration}");
    assert!(goodput(&summary, 0) > 0.0);
    assert!(out.join("summary.json").is_file());
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let test = "two_runs_at_once_do_not_disturb_each_other";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let outs = ["a", "b"].map(|name| folder.path().join(name));
    let children: Vec<Child> = outs
        .iter()
        .zip(["10mbit", "20mbit"])
        .map(|(out, rate)| {
            let rate = format!("link.rate={rate}");
            let out = out.to_str().unwrap();
            start(&[
                "--json",
                "--duration",
                "6s",
                "--set",
                "run.warmup=2s",
                "--set",
                &rate,
                "--out",
                out,
            ])
        })
        .collect();
    let summaries: Vec<Value> = children
        .into_iter()
        .map(|child| summary(&child.wait_with_output().unwrap()))
        .collect();
    for (summary, rate) in summaries.iter().zip([10e6, 20e6]) {
        assert_eq!(number(summary, "/link/rate_bps"), rate);
        let both = goodput(summary, 0) + goodput(summary, 1);
        // Payload is 1448 of 1500 bytes of the rate at most; less where the machine is busy.
        assert!(
            (0.7 * rate..0.97 * rate).contains(&both),
            "{both} at {rate}"
        );
        assert_eq!(number(summary, "/link/lost_outside"), 0.0);
    }
}

#[test]
fn a_killed_run_leaves_no_namespace_interface_or_control() {
    let test = "a_killed_run_leaves_no_namespace_interface_or_control";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    let before = traces();
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(&[
        "--duration",
        "60s",
        "--out",
        folder.path().join("out").to_str().unwrap(),
    ]);
    if !(is_root() && doctor_says("congestion control dctcp")) {
        command.args(CUBIC);
    }
    let mut child = command.spawn().unwrap();
    wait_until("the run has namespaces of its own", || {
        traces().namespaces > before.namespaces
    });
    sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel takes namespaces down in its own time.
    wait_until("everything is gone", || traces() == before);
}

/// What a run could leave in the system.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    namespaces: usize,
    interfaces: Vec<String>,
    controls: String,
}

fn traces() -> Traces {
    let mut namespaces = std::collections::BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for thread in fs::read_dir(process.path().join("task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            namespaces.extend(fs::read_link(thread.path().join("ns/net")).ok());
        }
    }
    let mut interfaces: Vec<String> = fs::read_dir("/sys/class/net")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    interfaces.sort();
    let controls =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    Traces {
        namespaces: namespaces.len(),
        interfaces,
        controls,
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "not so after 20 s: {what}"
        );
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn without_root_a_user_namespace_serves() {
    let test = "without_root_a_user_namespace_serves";
    let _alone = alone();
    if !is_root() {
        return not_run(test, "needs root, to become somebody else");
    }
    if !doctor_says("user namespaces") {
        return not_run(test, "user namespaces are forbidden here");
    }
    let (folder, quell) = for_nobody();
    let out = folder.path().join("out");
    let output = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(&quell)
        .args([
            "run",
            COEXISTENCE,
            "--world",
            "live",
            "--json",
            "--duration",
            "5s",
        ])
        .args(["--set", "run.warmup=1s", "--out", out.to_str().unwrap()])
        .args(CUBIC)
        .output()
        .unwrap();
    let summary = summary(&output);
    assert!(
        number(&summary, "/link/utilisation") > 0.8,
        "{:#}",
        summary["link"]
    );
    // And DCTCP, which only root can load, is refused with what mends it.
    let output = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(&quell)
        .args(["run", COEXISTENCE, "--world", "live", "--out"])
        .arg(folder.path().join("refused"))
        .output()
        .unwrap();
    refused(&output, &["dctcp", "what mends it"]);
    assert!(!folder.path().join("refused").exists());
}

#[test]
fn what_is_missing_is_named_with_what_mends_it() {
    let test = "what_is_missing_is_named_with_what_mends_it";
    let _alone = alone();
    if !is_root() {
        return not_run(test, "needs root, to take its own rights away");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = [
        "run",
        COEXISTENCE,
        "--world",
        "live",
        "--out",
        out.to_str().unwrap(),
    ];
    // Without the right to load BPF.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-bpf,-perfmon,-sys_admin", QUELL])
        .args(arguments)
        .output()
        .unwrap();
    refused(&output, &["dctcp", "what mends it"]);
    // Without the right to make namespaces, as root in a container.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", QUELL])
        .args(arguments)
        .args(CUBIC)
        .output()
        .unwrap();
    refused(&output, &["network namespaces", "what mends it"]);
    // Without root, where user namespaces are forbidden.
    let (nobody, quell) = for_nobody();
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all \
         {} run {1}/coexistence.toml --world live --set group.l4s.congestion-control=cubic --out {1}/out",
        quell.display(),
        nobody.path().display()
    );
    let output = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        // A user namespace has limits of its own, which its owner may set.
        .args([
            "unshare",
            "--user",
            "--map-current-user",
            "--keep-caps",
            "sh",
            "-c",
            &script,
        ])
        .output()
        .unwrap();
    refused(&output, &["max_user_namespaces", "what mends it"]);
    assert!(!out.exists(), "nothing is left behind");
}

#[test]
fn a_full_disk_fails_the_run_and_leaves_nothing() {
    let test = "a_full_disk_fails_the_run_and_leaves_nothing";
    let _alone = alone();
    if !is_root() || !can_run(test) {
        return not_run(test, "needs root, to mount a small file system");
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().to_str().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16k none {disk} && {QUELL} run {COEXISTENCE} --world live --duration 3s \
         --set run.warmup=1s --set group.l4s.congestion-control=cubic --out {disk}/out; \
         code=$?; echo \"left: $(ls -A {disk})\" >&2; exit $code"
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("cannot write") && errors.contains("No space left"),
        "{errors}"
    );
    assert!(errors.ends_with("left: \n"), "{errors}");
}

/// Exit code 2, and a message with all of `words`.
fn refused(output: &Output, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no {word:?} in: {errors}");
    }
}

fn start(arguments: &[&str]) -> Child {
    run(arguments).args(CUBIC).spawn().unwrap()
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, signal).unwrap();
}

/// A folder that anyone may write to, with a copy of the binary that anyone may run.
fn for_nobody() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), open.clone()).unwrap();
    let quell = folder.path().join("quell");
    fs::copy(QUELL, &quell).unwrap();
    fs::set_permissions(&quell, open).unwrap();
    let scenario = folder.path().join("coexistence.toml");
    fs::copy(COEXISTENCE, scenario).unwrap();
    (folder, quell)
}
