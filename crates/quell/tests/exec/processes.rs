//! Exit codes, signals, streams, the environment, and what becomes of descendants.

use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_testing::not_run;
use quell_testing::program::{text, wait_until};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::Case;
use crate::fixture::{Fake, SERVER, Sum, WHO};

pub(crate) const CASES: &[Case] = &[
    ("exit_codes_are_those_of_env", exit_codes_are_those_of_env),
    (
        "streams_belong_to_the_program",
        streams_belong_to_the_program,
    ),
    (
        "signals_to_quell_reach_the_program",
        signals_to_quell_reach_the_program,
    ),
    (
        "the_program_has_no_right_and_knows_its_link",
        the_program_has_no_right_and_knows_its_link,
    ),
    (
        "descendants_end_after_the_program_or_with_quell",
        descendants_end_after_the_program_or_with_quell,
    ),
    (
        "a_link_inside_of_a_link_takes_other_addresses",
        a_link_inside_of_a_link_takes_other_addresses,
    ),
];

fn exit_codes_are_those_of_env(fake: &Fake) {
    for (arguments, code, words) in [
        (&["--", "true"][..], 0, ""),
        (&["--", "sh", "-c", "exit 7"], 7, ""),
        // It makes a process group of its own, as shells with job control do.
        (&["--", "timeout", "60", "sh", "-c", "exit 7"], 7, ""),
        (
            &["--quiet", "--", "sh", "-c", "kill -TERM $$"],
            143,
            "SIGTERM",
        ),
        (&["--", "sh", "-c", "kill -KILL $$"], 137, "SIGKILL"),
        (&["--", "/etc/passwd"], 126, "cannot be executed"),
        (&["--", "no-such-program-of-quell"], 127, "no such program"),
        (
            &["--far", "no-such-program-of-quell", "--", "true"],
            127,
            "no such",
        ),
        (&["--rate", "fast", "--", "true"], 125, "fast"),
        (&["--no-such-option", "--", "true"], 125, "no-such-option"),
        (&["--queue", "dualpi2", "--", "true"], 125, "needs a rate"),
        (
            &["--cc", "no-such-control", "--", "true"],
            125,
            "no-such-control",
        ),
        (&["--mtu", "100", "--", "true"], 125, "--mtu 100"),
        (&["--out", "/", "--", "true"], 125, "/"),
        (&["--help"], 0, ""),
    ] {
        let arguments = [&["exec"], arguments].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(
            errors.contains(words),
            "{arguments:?}: no {words:?} in {errors}"
        );
    }
}

fn streams_belong_to_the_program(fake: &Fake) {
    const BYTES: usize = 100 << 20;
    let piece: Vec<u8> = (0..1 << 20)
        .map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut command = fake.quell(&["exec", "--", "cat"]);
    command.stdin(Stdio::piped());
    let mut child = fake.run(|| command.spawn().unwrap());
    let (mut into, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut expected = Sum::default();
    for _ in 0..BYTES >> 20 {
        expected.add(&piece);
    }
    let writer = thread::spawn(move || {
        for _ in 0..BYTES >> 20 {
            into.write_all(&piece).unwrap();
        }
    });
    let mut sum = Sum::default();
    let mut buffer = vec![0; 1 << 16];
    while let read @ 1.. = out.read(&mut buffer).unwrap() {
        sum.add(&buffer[..read]);
    }
    writer.join().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(sum.text(), expected.text());
    assert!(text(&output.stderr).contains("behind unlimited"));
    // Nothing but warnings is said with --quiet, which idle links have none of.
    let quiet = fake.output(&mut fake.quell(&[
        "exec",
        "--quiet",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2",
    ]));
    assert_eq!(
        (text(&quiet.stdout), text(&quiet.stderr)),
        ("out\n".into(), "err\n".into())
    );
}

/// Starts `quell exec` with a shell script; returns when the script has printed its process id.
fn started(fake: &Fake, options: &[&str], script: &str) -> (std::process::Child, Pid) {
    let script = format!("echo $$; {script}");
    let mut arguments = vec!["exec"];
    arguments.extend(options);
    // A shell can trap only what it does not ignore at its start, and under nohup that is HUP.
    arguments.extend(["--", "env", "--default-signal", "sh", "-c", &script]);
    let mut command = fake.quell(&arguments);
    let mut child = fake.run(|| command.spawn().unwrap());
    let mut id = String::new();
    let out = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while out.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        id.push(byte[0] as char);
    }
    let id = Pid::from_raw(id.parse().unwrap()).unwrap();
    (child, id)
}

fn signals_to_quell_reach_the_program(fake: &Fake) {
    for (signal, name, code) in [
        (Signal::TERM, "TERM", 31),
        (Signal::USR1, "USR1", 32),
        (Signal::HUP, "HUP", 33),
    ] {
        let script = format!("trap 'exit {code}' {name}; echo ready; while :; do sleep 0.05; done");
        let (mut child, _) = started(fake, &["--quiet"], &script);
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0; 6])
            .unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
    }
    // Ctrl-C reaches the program by itself: quell goes on, and says how the program ended.
    let (mut child, _) = started(
        fake,
        &["--quiet"],
        "trap 'exit 40' TERM; echo ready; while :; do sleep 0.05; done",
    );
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 6])
        .unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(
        child.try_wait().unwrap().is_none(),
        "quell ends with its program"
    );
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(40));
}

fn the_program_has_no_right_and_knows_its_link(fake: &Fake) {
    let script = "grep -E '^(Cap|NoNewPrivs)' /proc/self/status; env | grep ^QUELL_ | sort; cat /etc/resolv.conf; pwd";
    let output = fake.output(&mut fake.quell(&[
        "exec",
        "--down",
        "20mbit",
        "--up",
        "5mbit",
        "--rtt",
        "40ms",
        "--host-loopback",
        "--",
        "sh",
        "-c",
        script,
    ]));
    let said = text(&output.stdout);
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let line = format!("{set}:\t0000000000000000");
        assert!(said.contains(&line), "no {line:?} in {said}");
    }
    for line in [
        "NoNewPrivs:\t1",
        "QUELL_DEPTH=1",
        "QUELL_FAR=10.77.0.1",
        "QUELL_HOST=10.77.0.254",
        "QUELL_LINK=20mbit/5mbit 40ms fifo",
        "nameserver 10.77.0.53",
    ] {
        assert!(
            said.lines().any(|found| found == line),
            "no {line:?} in {said}"
        );
    }
    let here = std::env::current_dir().unwrap();
    assert_eq!(said.lines().last(), here.to_str());
}

fn is_alive(id: Pid) -> bool {
    let path = format!("/proc/{}/stat", id.as_raw_nonzero());
    // proc_pid_stat(5): the state follows the name in parentheses.
    let state = |text: String| {
        text.rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('Z'))
    };
    std::fs::read_to_string(path).is_ok_and(|text| state(text) == Some(false))
}

fn descendants_end_after_the_program_or_with_quell(fake: &Fake) {
    let script = "sleep 600 & echo $!; exit 3";
    let (child, _) = started(fake, &["--quiet"], script);
    let began = Instant::now();
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(began.elapsed() < Duration::from_secs(60));
    let left = Pid::from_raw(text(&stdout).trim().parse().unwrap()).unwrap();
    assert!(!is_alive(left));
    // One that ends within its time is waited for.
    let wait = [
        "exec",
        "--quiet",
        "--wait",
        "60s",
        "--",
        "sh",
        "-c",
        "(sleep 0.3; echo late) & exit 4",
    ];
    let output = fake.output(&mut fake.quell(&wait));
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(4), "late\n".into())
    );
    // The program goes with quell, however that ends.
    let (mut child, program) = started(fake, &["--quiet"], "sleep 600; true");
    assert!(is_alive(program));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the program has ended", || !is_alive(program));
}

fn a_link_inside_of_a_link_takes_other_addresses(fake: &Fake) {
    let test = "a_link_inside_of_a_link_takes_other_addresses";
    if geteuid().is_root() {
        return not_run(
            test,
            "root without capabilities may make no user namespace: needs another user",
        );
    }
    let quell = crate::fixture::QUELL;
    let script = format!(
        "echo $QUELL_FAR; exec {quell} exec --quiet --rtt 40ms -- sh -c 'echo $QUELL_FAR $QUELL_DEPTH; exec {}'",
        std::env::current_exe().unwrap().display()
    );
    let mut command: Command = fake.quell(&[
        "exec", "--quiet", "--rtt", "30ms", "--", "sh", "-c", &script,
    ]);
    command
        .env(crate::clients::ROLE, "connect")
        .env(crate::clients::WORDS, format!("{SERVER}:{WHO}"));
    let output = fake.output(&mut command);
    let said = text(&output.stdout);
    let expected = format!("10.77.0.1\n10.77.1.1 2\n{SERVER}:{WHO}\n");
    assert_eq!(said, expected, "{}", text(&output.stderr));
}
