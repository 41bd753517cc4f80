//! `--net pasta`: what crosses, what is said of it, and what happens where pasta is missing, refuses or ends.

use std::env;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use quell_testing::not_run;
use quell_testing::program::text;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::Case;
use crate::fixture::{COUNT, ECHO, FROM, Fake, HOST, LOCAL, PAGE, SERVER, SERVER_V6, WEB, WHO};

pub(crate) const CASES: &[Case] = &[
    (
        "with_pasta_bytes_datagrams_and_names_cross_the_link",
        with_pasta_bytes_datagrams_and_names_cross_the_link,
    ),
    (
        "with_pasta_the_loopback_of_the_host_is_closed_unless_asked_for",
        with_pasta_the_loopback_of_the_host_is_closed_unless_asked_for,
    ),
    (
        "what_pasta_cannot_do_is_refused_in_words",
        what_pasta_cannot_do_is_refused_in_words,
    ),
    (
        "with_pasta_its_end_is_the_end_of_quell",
        with_pasta_its_end_is_the_end_of_quell,
    ),
];

const PASTA: [&str; 2] = ["--net", "pasta"];

/// Whether the test can run here; says so where it cannot.
pub(crate) fn can_run(test: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&folders);
    if !places.any(|folder| folder.join("pasta").is_file()) {
        not_run(test, "pasta is missing");
        return false;
    }
    let tun = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    if let Err(error) = tun {
        not_run(test, &format!("/dev/net/tun cannot be opened: {error}"));
        return false;
    }
    true
}

fn warns_of_pasta(report: &Value) -> bool {
    let warnings = report["summary"]["warnings"].as_array().unwrap();
    let mut warnings = warnings.iter().filter_map(Value::as_str);
    warnings.any(|warning| warning.contains("sender of downloads is pasta"))
}

fn with_pasta_bytes_datagrams_and_names_cross_the_link(fake: &Fake) {
    if !can_run("with_pasta_bytes_datagrams_and_names_cross_the_link") {
        return;
    }
    let role = |more: &[&str], role: &str, words: &str| {
        fake.role(&[&PASTA[..], more].concat(), role, words)
    };
    // A download to the byte, and the host's own address as its source.
    // The queue has room for all of it: pasta sends without congestion control, and resets a connection that loses too much.
    let fast = [
        "--rate",
        "50mbit",
        "--rtt",
        "4ms",
        "--queue",
        "fifo:limit=4MB",
    ];
    let (said, report) = role(&fast, "fetch", &format!("{SERVER}:{WEB}"));
    assert_eq!(said, format!("{PAGE}\n"));
    assert!(warns_of_pasta(&report), "{report:#}");
    assert_eq!(report["exec"]["net"], "pasta");
    assert_eq!(report["exec"]["far_congestion_control"], Value::Null);
    // It crossed this link, in packets that a wire carries.
    let down = report["exec"]["down"]["packets"].as_u64().unwrap();
    assert!(down >= PAGE as u64 / 1460, "{report:#}");
    assert_eq!(report["summary"]["link"]["lost_outside"], 0, "{report:#}");
    // An upload: the sum of what arrived comes back. All that was sent has left when quell ends.
    // It is not read to its end: pasta of Debian 12 passes no end on to a program that has finished its own half.
    let (said, _) = role(&fast, "sum", &format!("{SERVER}:{COUNT} 1000000"));
    assert_eq!(said, "1000000\n");
    let words = format!("{SERVER}:{FROM} {SERVER}:{WHO} [{SERVER_V6}]:{WHO}");
    let (said, _) = role(&[], "connect", &words);
    assert_eq!(
        said,
        format!("{HOST}\n{SERVER}:{WHO}\n[{SERVER_V6}]:{WHO}\n")
    );
    // Datagrams, behind the RTT of the link.
    let (said, _) = role(&["--rtt", "20ms"], "ping", &format!("{SERVER}:{ECHO} 5"));
    let times: Vec<u64> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 5);
    assert!(times.iter().all(|time| *time >= 20_000), "{times:?}");
    // The name server of the host is on its loopback, and is asked through the link.
    let (said, _) = role(&["--rtt", "100ms"], "names", "name.test");
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words[0].parse::<u64>().unwrap() >= 100, "{said}");
    assert_eq!(words[1..], [SERVER]);
    for (dns, server) in [("link", "10.77.0.53"), ("direct", "127.0.0.53")] {
        let arguments = ["--quiet", "--dns", dns, "--", "cat", "/etc/resolv.conf"];
        let arguments = [&["exec"], &PASTA[..], &arguments].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let said = text(&output.stdout);
        assert_eq!(said.matches("nameserver").count(), 1, "{said}");
        assert!(said.contains(&format!("nameserver {server}")), "{said}");
        assert!(text(&output.stderr).contains("sender of downloads is pasta"));
    }
    let _ = fake.ends.try_iter().count();
}

fn with_pasta_the_loopback_of_the_host_is_closed_unless_asked_for(fake: &Fake) {
    if !can_run("with_pasta_the_loopback_of_the_host_is_closed_unless_asked_for") {
        return;
    }
    let options = [&PASTA[..], &["--host-loopback"]].concat();
    let (said, _) = fake.role(&options, "to-host", &LOCAL.to_string());
    assert_eq!(said, "local\n");
    let closed = format!("10.77.0.254:{LOCAL} [fd77::fe]:{LOCAL}");
    let (said, _) = fake.role(&PASTA, "connect", &closed);
    assert_eq!(said, "ConnectionRefused\nConnectionRefused\n");
    // Nor does the program reach what listens on the host's loopback by that address itself.
    let (said, _) = fake.role(&PASTA, "connect", &format!("127.0.0.1:{LOCAL}"));
    assert_eq!(said, "ConnectionRefused\n");
}

/// What `quell exec --net pasta` with these options says, where it fails.
fn refused(fake: &Fake, options: &[&str], path: Option<&str>) -> String {
    let arguments = [&["exec"], &PASTA[..], options, &["--", "/bin/true"]].concat();
    let mut command: Command = fake.quell(&arguments);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = fake.output(&mut command);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{options:?}: {said}");
    said
}

fn what_pasta_cannot_do_is_refused_in_words(fake: &Fake) {
    for (options, part) in [
        (&["--far-cc", "reno"][..], "no congestion control"),
        (&["--far", "sleep 1"], "needs --net none or relay"),
    ] {
        let why = refused(fake, options, None);
        assert!(why.contains(part), "{why}");
    }
    let why = refused(fake, &[], Some("/nonexistent"));
    assert!(why.contains("install the package passt"), "{why}");
    if !can_run("what_pasta_cannot_do_is_refused_in_words") {
        return;
    }
    let why = refused(fake, &["--host-loopback=80"], None);
    assert!(why.contains("without ports"), "{why}");
    // One that does not know an option, as the real one says it.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("pasta");
    let script = "#!/bin/sh\necho \"pasta: unrecognized option '--no-ra'\" >&2\necho 'Usage: pasta' >&2\nexit 1\n";
    fs::write(&other, script).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let why = refused(fake, &[], folder.path().to_str());
    assert!(
        why.contains("pasta has ended: pasta: unrecognized option '--no-ra'"),
        "{why}"
    );
    assert!(!why.contains("Usage"), "{why}");
}

/// The children of the process `of` that are pasta, which is also called passt, by the file that it becomes.
pub(crate) fn pastas_of(of: u32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let found = entries.filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, tail) = status.rsplit_once(") ")?;
        let parent: u32 = tail.split_whitespace().nth(1)?.parse().ok()?;
        let name = head.split_once('(')?.1;
        let is_it = name.starts_with("pasta") || name.starts_with("passt");
        (is_it && parent == of).then(|| Pid::from_raw(id))?
    });
    found.collect()
}

fn with_pasta_its_end_is_the_end_of_quell(fake: &Fake) {
    if !can_run("with_pasta_its_end_is_the_end_of_quell") {
        return;
    }
    let script = "echo ready; exec sleep 600";
    let arguments = [&["exec"], &PASTA[..], &["--", "sh", "-c", script]].concat();
    let mut command = fake.quell(&arguments);
    command.stderr(Stdio::piped());
    let mut child = fake.run(|| command.spawn().unwrap());
    let out = child.stdout.as_mut().unwrap();
    out.read_exact(&mut [0; 6]).unwrap();
    let pastas = pastas_of(child.id());
    assert_eq!(pastas.len(), 1);
    // It has no right over the host, and no way to get one.
    let status = fs::read_to_string(format!("/proc/{}/status", pastas[0].as_raw_nonzero()));
    assert!(status.unwrap().contains("NoNewPrivs:\t1"));
    let own = fs::read_link("/proc/self/ns/user").unwrap();
    let its = fs::read_link(format!("/proc/{}/ns/user", pastas[0].as_raw_nonzero()));
    assert!(its.is_err() || its.unwrap() != own);
    kill_process(pastas[0], Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("--net pasta: pasta has ended"), "{said}");
}
