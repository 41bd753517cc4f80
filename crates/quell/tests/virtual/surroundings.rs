//! What a program of this host finds in a guest: standard input, terminals, a home, IPv6, and a clock that stands still while it computes.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use quell_testing::not_run;
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::{LINK, has_python};
use crate::stage::Stage;

/// The stage, if its kernel has everything for programs.
fn stage(test: &str) -> Option<Stage> {
    let stage = Stage::new(test)?;
    if !stage.config().contains("CONFIG_QUELL_INPUT=y") {
        not_run(
            test,
            "an earlier quell built the kernel, without what programs need: make kernel, or quell kernel build",
        );
        return None;
    }
    Some(stage)
}

fn command(stage: &Stage, more: &[&str]) -> Command {
    stage.quell(&[&LINK[..], &["--quiet"], more].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Output of a program that succeeds, with `parts` for its standard input, one every 300 ms.
fn fed(stage: &Stage, parts: &[&str], more: &[&str]) -> Output {
    let mut command = command(stage, more);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for part in parts {
        // A program that does not read has ended by now.
        let _ = input.write_all(part.as_bytes());
        if parts.len() > 1 {
            sleep(Duration::from_millis(300));
        }
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

#[test]
fn time_stands_still_while_a_program_reads_standard_input() {
    let Some(stage) = stage("virtual standard input") else {
        return;
    };
    let script = "date +%s.%N; read first; echo $first; cat; date +%s.%N; cat /dev/stdin; echo end";
    let words = [
        "--guest-timeout",
        "1s",
        "--guest-day",
        "2026-11-28",
        "--",
        "sh",
        "-c",
        script,
    ];
    let printed = |parts: &[&str]| text(&fed(&stage, parts, &words).stdout);
    let at_once = printed(&["a\nb\nc"]);
    let lines: Vec<&str> = at_once.lines().collect();
    let [begin, "a", "b", last, "end"] = lines[..] else {
        panic!("{at_once}");
    };
    let end = last.strip_prefix('c').unwrap();
    let took = end.parse::<f64>().unwrap() - begin.parse::<f64>().unwrap();
    assert!((0.0..0.01).contains(&took), "{took}");
    // It waits longer for its input than its clock may stop.
    assert_eq!(printed(&["a", "\n", "b\n", "", "", "c"]), at_once);
    // A file, more than a pipe holds.
    let numbers: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    fs::write(stage.path().join("numbers"), &numbers).unwrap();
    let mut copied = command(&stage, &["--", "cat"]);
    let numbers_file = fs::File::open(stage.path().join("numbers")).unwrap();
    let copied = copied.stdin(numbers_file).output().unwrap();
    assert_eq!(text(&copied.stdout), numbers);
    // Nothing is read that no program asks for: this pipe stays open.
    let mut idle = command(&stage, &["--", "true"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let _open = idle.stdin.take();
    assert!(idle.wait().unwrap().success());
}

#[test]
fn a_kernel_without_an_input_says_so() {
    let Some(stage) = stage("virtual no standard input") else {
        return;
    };
    let without = stage.config().replace("CONFIG_QUELL_INPUT=y\n", "");
    fs::write(stage.config_file(), without).unwrap();
    let output = fed(&stage, &["a"], &["--", "cat"]);
    let errors = text(&output.stderr);
    assert!(
        output.stdout.is_empty() && errors.contains("quell kernel build"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn files_that_programs_expect_are_there() {
    let test = "virtual files of programs";
    let Some(stage) = stage(test) else {
        return;
    };
    let script = "cat <(echo one); echo two >/dev/stdout; echo three | tee /dev/fd/1 >/dev/null; echo error >/dev/stderr
test -e /proc/self/exe && echo four; head -c 4 /dev/zero | wc -c; head -c 8 /dev/urandom | od -An -tx1; echo \"$WORD $HOME\"
echo x >$HOME/mine && cat $HOME/mine";
    let run = |home: &str| {
        let mut command = command(&stage, &["--", "bash", "-c", script]);
        let output = command
            .env("WORD", "a b")
            .env("HOME", home)
            .output()
            .unwrap();
        let said = [text(&output.stdout), text(&output.stderr)];
        assert!(said[1].starts_with("error\n"), "{said:?}");
        said
    };
    let [said, _] = run("/root/nobody-may-read-this");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["one", "two"], "{said}");
    assert!(lines.contains(&"four") && lines.contains(&"4"), "{said}");
    assert_eq!(
        lines[lines.len() - 2..],
        ["a b /dev/shm/home", "x"],
        "{said}"
    );
    assert_eq!(run("/root/nobody-may-read-this")[0], said, "it repeats");
    let own = stage.path().display().to_string();
    let [said, errors] = run(&own);
    assert!(
        said.contains(&format!("a b {own}\n")) && errors.contains("mine"),
        "{said}{errors}"
    );
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    let terminal = "import os, pty\npty.spawn(['sh', '-c', 'test -t 0 && tty'])";
    let output = command(&stage, &["--", "python3", "-c", terminal])
        .output()
        .unwrap();
    assert_eq!(
        text(&output.stdout).trim(),
        "/dev/pts/0",
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_program_that_computes_takes_no_time_and_ends_at_once_when_asked() {
    let Some(stage) = stage("virtual a program that computes") else {
        return;
    };
    let took = |turns: u32| -> u64 {
        let count = format!(
            "a=$(date +%s%N); i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done; echo $(($(date +%s%N) - a))"
        );
        let output = command(&stage, &["--", "sh", "-c", &count])
            .output()
            .unwrap();
        text(&output.stdout).trim().parse().unwrap()
    };
    // The start of `date` takes more where it looks in more folders for its libraries, but always the same.
    assert_eq!(took(10), took(100_000));
    let spin = ["--", "sh", "-c", "echo begun; while :; do :; done"];
    let output = command(&stage, &[&["--guest-timeout", "1s"], &spin[..]].concat())
        .output()
        .unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert_eq!(text(&output.stdout), "begun\n");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for part in [
        "clock stopped at 0s for 1 s",
        "sh, or what it started, computes",
        "--guest-timeout 10m",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let interrupted = |mut child: Child| {
        sleep(Duration::from_millis(1_500));
        let asked = Instant::now();
        let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        // A guest that is asked to end otherwise has 20 s for it.
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "{:?}",
            asked.elapsed()
        );
    };
    interrupted(command(&stage, &spin).spawn().unwrap());
    let mut reading = command(&stage, &["--", "cat"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let _open = reading.stdin.take();
    interrupted(reading);
    // Nobody reads what it prints any more.
    let mut printing = command(&stage, &["--", "yes"]).spawn().unwrap();
    drop(printing.stdout.take());
    let began = Instant::now();
    assert!(!printing.wait().unwrap().success());
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

/// Answers each datagram with the code point that it came with, and prints that.
const ECHO: &str = "import socket
here = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
here.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
here.bind(('::', 4321))
while True:
    data, extra, _, sender = here.recvmsg(100, 100)
    code = extra[0][2][0] & 3
    here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, code)
    here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code)
    here.sendto(bytes([code]), sender)
";
/// Sends each code point by both families: prints what arrived there, and with what the answer came.
const ASK: &str = "import os, socket
V4, V6 = socket.IPPROTO_IP, socket.IPPROTO_IPV6
for family, far, level, code_of, wish in (
    (socket.AF_INET, 'QUELL_FAR', V4, socket.IP_TOS, socket.IP_RECVTOS),
    (socket.AF_INET6, 'QUELL_FAR6', V6, socket.IPV6_TCLASS, socket.IPV6_RECVTCLASS),
):
    here = socket.socket(family, socket.SOCK_DGRAM)
    here.settimeout(1)
    here.setsockopt(level, wish, 1)
    for code in range(4):
        here.setsockopt(level, code_of, code)
        here.sendto(b'x', (os.environ[far], 4321))
        data, extra, _, _ = here.recvmsg(100, 100)
        print(code, data[0], extra[0][2][0] & 3)
";

#[test]
fn programs_have_ipv6_with_every_code_point_and_scenarios_have_none() {
    let test = "virtual IPv6";
    let Some(stage) = stage(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("echo.py"), ECHO).unwrap();
    fs::write(stage.path().join("ask.py"), ASK).unwrap();
    let words = ["--far", "python3 echo.py", "--", "python3", "ask.py"];
    let output = command(&stage, &words).output().unwrap();
    let each: String = (0..4)
        .map(|code| format!("{code} {code} {code}\n"))
        .collect();
    assert_eq!(
        text(&output.stdout),
        each.repeat(2),
        "{}",
        text(&output.stderr)
    );
    let only = [
        "--ipv4-only",
        "--",
        "sh",
        "-c",
        "ls /proc/net/if_inet6; echo $QUELL_FAR6",
    ];
    let output = command(&stage, &only).output().unwrap();
    assert_eq!(text(&output.stdout), "\n", "{}", text(&output.stderr));
    let exec = "0s:sender:ls /proc/net/if_inet6 || echo none";
    stage.succeed(&["--guest-exec", exec, "--duration", "2s", "--out", "plain"]);
    let folder = fs::read_dir(stage.path().join("plain/guest-exec")).unwrap();
    let said: String = folder
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(
        said.contains("none\n") && !said.contains("\n/proc"),
        "{said}"
    );
}
