//! What a run leaves when it is killed, and what it says when something is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use quell_testing::program::{copy_program, refused, wait_until};

use crate::support::*;

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

#[test]
fn without_root_a_user_namespace_serves() {
    let test = "without_root_a_user_namespace_serves";
    let _beside = beside_others();
    if !is_root() {
        return not_run(test, "needs root, to become somebody else");
    }
    if !doctor_says("user namespaces") {
        return not_run(test, "user namespaces are forbidden here");
    }
    let (folder, quell) = for_nobody();
    let out = folder.path().join("out");
    // What doctor says of this user is what a run of this user finds.
    let doctor = as_nobody(&quell).arg("doctor").output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    for what in [
        "network namespaces",
        "veth",
        "packet sockets",
        "hosts of the live world",
    ] {
        let is_ok = |line: &str| line.starts_with("ok") && line.contains(what);
        assert!(doctor.lines().any(is_ok), "no {what} in {doctor}");
    }
    let output = as_nobody(&quell)
        .args([
            "run",
            COEXISTENCE,
            "--world",
            "live",
            "--json",
            "--duration",
            "3s",
        ])
        .args(["--set", "run.warmup=1s", "--out", out.to_str().unwrap()])
        .args(CUBIC)
        .output()
        .unwrap();
    let summary = summary(&output);
    // That it works, not how well: real-time priority is root's.
    assert!(goodput(&summary, 0) > 0.0 && goodput(&summary, 1) > 0.0);
    // And DCTCP, which only root can load, is refused with a fix.
    let output = as_nobody(&quell)
        .args(["run", COEXISTENCE, "--world", "live", "--out"])
        .arg(folder.path().join("refused"))
        .output()
        .unwrap();
    refused(&output, &["dctcp", "fix: "]);
    assert!(!folder.path().join("refused").exists());
}

#[test]
fn what_is_missing_is_named_with_its_fix() {
    let test = "what_is_missing_is_named_with_its_fix";
    let _beside = beside_others();
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
    refused(&output, &["dctcp", "fix: "]);
    // Without the right to make namespaces, as root in a container.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", QUELL])
        .args(arguments)
        .args(CUBIC)
        .output()
        .unwrap();
    refused(&output, &["network namespaces", "fix: "]);
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
    refused(&output, &["max_user_namespaces", "fix: "]);
    assert!(!out.exists(), "nothing is left behind");
}

#[test]
fn a_full_disk_fails_the_run_and_leaves_nothing() {
    let test = "a_full_disk_fails_the_run_and_leaves_nothing";
    let _beside = beside_others();
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

/// A command of nobody's.
pub(crate) fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ])
        .arg(program);
    command
}

/// A folder that anyone may write to, with a copy of the binary that anyone may run.
pub(crate) fn for_nobody() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), open.clone()).unwrap();
    let quell = folder.path().join("quell");
    copy_program(QUELL.as_ref(), &quell);
    fs::set_permissions(&quell, open).unwrap();
    let scenario = folder.path().join("coexistence.toml");
    fs::copy(COEXISTENCE, scenario).unwrap();
    (folder, quell)
}
