//! How the tests start runs and read their summaries, and say what cannot run here.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use quell_testing::{Run, Turn};
use serde_json::Value;

use crate::fits::fits;

pub(crate) const QUELL: &str = env!("CARGO_BIN_EXE_quell");

pub(crate) const COEXISTENCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/dualq2015/coexistence.toml"
);

/// Four and two CUBIC flows: runs without BPF.
pub(crate) const CUBIC: [&str; 2] = ["--set", "group.l4s.congestion-control=cubic"];

/// For tests that look at what the whole machine has: namespaces, modules, congestion controls.
pub(crate) fn alone() -> Turn {
    Turn::take()
}

/// For tests that judge no rate and no delay, and must not disturb those that do.
pub(crate) fn beside_others() -> Turn {
    Turn::share()
}

pub(crate) use quell_testing::not_run;

/// Whether `quell doctor` finds it: its report has a line about it that begins with "ok".
pub(crate) fn doctor_says(what: &str) -> bool {
    // It tries everything out, which takes time; this host does not change meanwhile.
    static SAID: OnceLock<String> = OnceLock::new();
    let text = SAID.get_or_init(|| {
        let output = Command::new(QUELL).arg("doctor").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    text.lines()
        .any(|line| line.starts_with("ok") && line.contains(what))
}

/// Whether the live world runs here; as root it must.
pub(crate) fn can_run(test: &str) -> bool {
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
pub(crate) fn has_dctcp(test: &str) -> bool {
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

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn run(arguments: &[&str]) -> Command {
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
pub(crate) fn summary(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let summary: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    // Of several seeds it is the mean.
    if summary["seed"].is_number() {
        fits(&summary);
    }
    summary
}

/// The share of the smallest base RTT that the link may be late, as in the program's own warning.
const TOLERABLE: f64 = 0.05;

/// Takes down how late the links of a live run say that they were; `rtt_ms` is the smallest base RTT of its groups.
pub(crate) fn note(run: &mut Run, summary: &Value, rtt_ms: f64) {
    for direction in ["lateness_ms", "reverse_lateness_ms"] {
        let late = number(summary, &format!("/link/{direction}/p99"));
        run.was_late(late, TOLERABLE * rtt_ms);
    }
}

pub(crate) fn json_run(out: &Path, arguments: &[&str]) -> Value {
    let out = out.to_str().unwrap();
    summary(
        &run(&["--json", "--out", out])
            .args(arguments)
            .output()
            .unwrap(),
    )
}

pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

/// The sum of a group's flows.
pub(crate) fn goodput(summary: &Value, group: usize) -> f64 {
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

pub(crate) fn start(arguments: &[&str]) -> Child {
    run(arguments).args(CUBIC).spawn().unwrap()
}
