//! Exit codes, signals, streams, the environment, and what becomes of descendants.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_testing::not_run;
use quell_testing::program::{text, wait_until};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::Case;
use crate::fixture::{Fake, QUELL, SERVER, SOURCE, Sum, WHO, read_json};

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
        "strict_makes_a_warning_an_error_unless_the_program_failed_itself",
        strict_makes_a_warning_an_error_unless_the_program_failed_itself,
    ),
    (
        "a_dash_stands_for_standard_output_behind_that_of_the_program",
        a_dash_stands_for_standard_output_behind_that_of_the_program,
    ),
    (
        "a_full_disk_takes_the_packets_and_neither_the_result_nor_the_exit_code",
        a_full_disk_takes_the_packets_and_neither_the_result_nor_the_exit_code,
    ),
    (
        "nothing_is_left_after_kill_9_at_any_instant",
        nothing_is_left_after_kill_9_at_any_instant,
    ),
    (
        "the_program_has_process_ids_of_its_own_and_proc_shows_them",
        the_program_has_process_ids_of_its_own_and_proc_shows_them,
    ),
    (
        "root_can_give_the_program_another_user",
        root_can_give_the_program_another_user,
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

fn strict_makes_a_warning_an_error_unless_the_program_failed_itself(fake: &Fake) {
    for (strict, script, code, words) in [
        (&["--strict"][..], "exit 0", 125, "1 warning, and --strict"),
        (&["--strict"], "exit 7", 7, "1 warning, and --strict"),
        (
            &[],
            "exit 0",
            0,
            "http_proxy=http://127.0.0.1:9 is on this host's loopback",
        ),
    ] {
        let arguments = [&["exec", "--quiet"], strict, &["--", "sh", "-c", script]].concat();
        let mut command = fake.quell(&arguments);
        let output = fake.output(command.env("http_proxy", "http://127.0.0.1:9"));
        let errors = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{strict:?} {script}: {errors}"
        );
        assert!(errors.contains(words), "no {words:?} in {errors}");
    }
    let clean = fake.output(&mut fake.quell(&["exec", "--strict", "--quiet", "--", "true"]));
    assert_eq!(clean.status.code(), Some(0), "{}", text(&clean.stderr));
}

fn a_dash_stands_for_standard_output_behind_that_of_the_program(fake: &Fake) {
    let script = "echo $QUELL_LINK";
    let options = [
        "exec", "--quiet", "--rate", "5mbit", "--delay", "20ms", "--json", "-",
    ];
    let arguments = [&options[..], &["--", "sh", "-c", script]].concat();
    let said = text(&fake.output(&mut fake.quell(&arguments)).stdout);
    let report = said.strip_prefix("5mbit 40ms fifo\n").unwrap();
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["exec"]["rtt_ms"], 40.0);
    assert!(!std::path::Path::new("-").exists());
}

fn a_full_disk_takes_the_packets_and_neither_the_result_nor_the_exit_code(fake: &Fake) {
    let test = "a_full_disk_takes_the_packets_and_neither_the_result_nor_the_exit_code";
    let folder = tempfile::tempdir().unwrap();
    // Mounts of this process are its own.
    let size = c"size=1m,mode=755";
    let flags = rustix::mount::MountFlags::empty();
    if let Err(error) = rustix::mount::mount("tmpfs", folder.path(), "tmpfs", flags, size) {
        return not_run(test, &format!("a small disk cannot be mounted: {error}"));
    }
    let out = folder.path().join("result");
    let own = std::env::current_exe().unwrap();
    let script = format!("{}; exit 7", own.display());
    let options = [
        "exec",
        "--rate",
        "50mbit",
        "--packets",
        "--out",
        out.to_str().unwrap(),
    ];
    let mut command = fake.quell(&[&options[..], &["--", "sh", "-c", &script]].concat());
    command
        .env(crate::clients::ROLE, "read")
        .env(crate::clients::WORDS, format!("{SERVER}:{SOURCE} 4"));
    let output = fake.output(&mut command);
    let errors = text(&output.stderr);
    let there = |name: &str| out.join(name).is_file();
    let found = [
        "summary.json",
        "exec.json",
        "queues.parquet",
        "packets.pcapng",
    ]
    .map(there);
    let unmounted = rustix::mount::unmount(folder.path(), rustix::mount::UnmountFlags::DETACH);
    unmounted.unwrap();
    assert_eq!(output.status.code(), Some(7), "{errors}");
    assert_eq!(found, [true, true, true, false], "{errors}");
    assert!(
        errors.contains("the packets are not in the result"),
        "{errors}"
    );
}

/// Starts `quell exec` with a shell script; returns when the script has printed its process id, which is one of its own ids.
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
        "QUELL_FAR6=fd77::1",
        "QUELL_HOST=10.77.0.254",
        "QUELL_HOST6=fd77::fe",
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

/// A word that no other process has in its command line.
fn word(number: u32) -> String {
    // A time that sleep(1) takes.
    format!("98{number}{}", std::process::id())
}

/// Processes with a word in their command lines, this one left out: quell and its copies, which have the script in theirs, and what sleeps.
fn with_word(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(word).then_some(id)
    });
    ids.collect()
}

/// quell has ended, and so has all that its program had started; one copy of quell closes sockets a little longer, for which nobody waits.
#[track_caller]
fn assert_nothing_is_left(word: &str) {
    let is_quell = |id: &i32| {
        let line = fs::read(format!("/proc/{id}/cmdline"));
        line.is_ok_and(|line| line.is_empty() || line.starts_with(QUELL.as_bytes()))
    };
    let mut left = with_word(word);
    left.retain(|id| !is_quell(id));
    assert!(left.is_empty(), "{left:?} are left of the program");
    wait_until("no copy of quell is left", || with_word(word).is_empty());
}

/// Those of them that sleep.
fn sleeping(word: &str) -> usize {
    let line = format!("sleep\0{word}\0");
    let is_it = |id: &i32| {
        let found = fs::read(format!("/proc/{id}/cmdline"));
        found.is_ok_and(|found| found == line.as_bytes())
    };
    with_word(word).iter().filter(|id| is_it(id)).count()
}

fn descendants_end_after_the_program_or_with_quell(fake: &Fake) {
    let long = word(1);
    let script = format!("sleep {long} & setsid sleep {long} & exit 3");
    let (child, _) = started(fake, &["--quiet"], &script);
    let began = Instant::now();
    let Output { status, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_nothing_is_left(&long);
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
    // One that does not heed is killed, and counted.
    let stubborn = word(2);
    let script = format!("trap '' TERM; setsid sleep {stubborn} & exit 5");
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let options = ["--quiet", "--json", report.to_str().unwrap()];
    let (mut child, _) = started(fake, &options, &script);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_nothing_is_left(&stubborn);
    assert_eq!(read_json(&report)["exec"]["descendants_left"], 1);
}

/// A program that does what it can to outlive quell: it forks, leaves its group, its session and its parent, and ignores signals.
fn that_stays(word: &str) -> String {
    format!(
        "trap '' TERM HUP INT; sleep {word} & setsid sleep {word} & \
         (setsid sh -c 'trap \"\" TERM HUP; sleep {word} & sleep {word}' &) ; echo ready; sleep {word}"
    )
}

fn nothing_is_left_after_kill_9_at_any_instant(fake: &Fake) {
    let far_word = word(3);
    let far = format!("sh -c 'sleep {far_word} & setsid sleep {far_word} & sleep {far_word}'");
    let kinds = [
        vec!["--rate", "50mbit"],
        vec!["--net", "none", "--far", far.as_str()],
    ];
    let before = crate::host::namespaces();
    for (kind, number) in kinds.iter().zip(4..) {
        let word = word(number);
        let script = that_stays(&word);
        let arguments = [&["exec"][..], kind, &["--", "sh", "-c", &script]].concat();
        let gone = || with_word(&word).is_empty() && with_word(&far_word).is_empty();
        // Instants of the start, in ms; then while all of them sleep, which is counted first.
        for instant in [1, 4, 9, 15, 22, 30, 40, 55, 75, 100, 140, 0] {
            let mut command = fake.quell(&arguments);
            let mut child = fake.run(move || command.spawn().unwrap());
            match instant {
                0 => wait_until("all of it runs", || sleeping(&word) == 5),
                ms => thread::sleep(Duration::from_millis(ms)),
            }
            child.kill().unwrap();
            child.wait().unwrap();
            wait_until("no process is left", gone);
        }
        wait_until("no namespace is left", || {
            crate::host::namespaces() <= before
        });
    }
}

fn the_program_has_process_ids_of_its_own_and_proc_shows_them(fake: &Fake) {
    // Where parts of /proc are hidden from this test, the kernel gives no other one.
    let script = "echo $PPID; tr '\\0' ' ' < /proc/$$/cmdline; echo; \
                  ls /proc | grep -c '^[0-9]'; sleep 600 & kill -0 $! && kill $! && wait; \
                  (echo x > /proc/sys/kernel/core_pattern) 2>/dev/null && echo written; echo end";
    let output = fake.output(&mut fake.quell(&["exec", "--quiet", "--", "sh", "-c", script]));
    let said = text(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let [parent, line, processes, end] = lines[..] else {
        panic!("{said}{}", text(&output.stderr));
    };
    assert_eq!((parent, end), ("1", "end"));
    assert!(line.starts_with("sh -c echo $PPID"), "{line}");
    // The first process, the shell, ls and perhaps grep.
    assert!(["3", "4"].contains(&processes), "{processes}");
}

fn root_can_give_the_program_another_user(fake: &Fake) {
    let test = "root_can_give_the_program_another_user";
    if !geteuid().is_root() {
        let output = fake.output(&mut fake.quell(&["exec", "--user", "root", "--", "true"]));
        assert_eq!(output.status.code(), Some(125));
        assert!(text(&output.stderr).contains("only root can"));
        return not_run(test, "only root can give a program another user");
    }
    let script = "id -u; id -g; grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status | sort -u -k2 | wc -l; echo $USER";
    let user = ["exec", "--quiet", "--user", "4321:4322"];
    let output = fake.output(&mut fake.quell(&[&user[..], &["--", "sh", "-c", script]].concat()));
    assert_eq!(
        text(&output.stdout),
        "4321\n4322\n1\n4321:4322\n",
        "{}",
        text(&output.stderr)
    );
    // Signals reach it, what it leaves is ended, and all of it goes with quell.
    let long = word(9);
    let script = format!("trap 'exit 6' TERM; sleep {long} & echo ready; wait");
    let (mut child, _) = started(fake, &user[1..], &script);
    let ready = child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]);
    ready.unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert_nothing_is_left(&long);
    let (mut child, _) = started(fake, &user[1..], &that_stays(&long));
    wait_until("all of it runs", || sleeping(&long) == 5);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("no process is left", || with_word(&long).is_empty());
    for (arguments, why) in [
        (["--user", "no-such-user-of-quell"], "no such user"),
        (["--user", "1:x"], "no such user"),
    ] {
        let output = fake.output(&mut fake.quell(&["exec", arguments[0], arguments[1], "true"]));
        assert_eq!(output.status.code(), Some(125));
        assert!(text(&output.stderr).contains(why), "{arguments:?}");
    }
}

fn a_link_inside_of_a_link_takes_other_addresses(fake: &Fake) {
    let test = "a_link_inside_of_a_link_takes_other_addresses";
    if geteuid().is_root() {
        return not_run(
            test,
            "root without capabilities may make no user namespace: needs another user",
        );
    }
    let script = format!(
        "echo $QUELL_FAR; exec {QUELL} exec --quiet --rtt 40ms -- sh -c 'echo $QUELL_FAR $QUELL_DEPTH; exec {}'",
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
