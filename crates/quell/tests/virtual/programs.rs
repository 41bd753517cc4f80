//! `quell exec --world virtual`: programs of this host in a guest.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use quell_testing::not_run;
use rustix::process::{Pid, Signal, kill_process};

use crate::stage::Stage;

/// Sends a million bytes to whoever comes first.
const SERVER: &str = "import socket
listener = socket.create_server(('0.0.0.0', 4321))
connection, _ = listener.accept()
connection.sendall(bytes(1_000_000))
";
/// Prints how many came, when the last one did, and something random.
const CLIENT: &str = "import os, socket, time
begin = time.monotonic()
connection = socket.create_connection((os.environ['QUELL_FAR'], 4321))
count = 0
while part := connection.recv(65536):
    count += len(part)
print(count, time.monotonic() - begin, os.urandom(4).hex())
";
const LINK: [&str; 9] = [
    "exec", "--world", "virtual", "--rate", "10mbit", "--rtt", "20ms", "--far-cc", "cubic",
];

fn has_python() -> bool {
    let mut command = Command::new("python3");
    let output = command.arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn a_program_of_this_host_gives_the_same_bytes_twice() {
    let test = "virtual a program of this host";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    fs::write(stage.path().join("client.py"), CLIENT).unwrap();
    let run = |out: &str, queue: &str| {
        let more = [
            "--queue",
            queue,
            "--out",
            out,
            "--far",
            "python3 server.py",
            "--",
            "python3",
            "client.py",
        ];
        let output = stage.quell(&[&LINK[..], &more].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("10mbit 20ms"), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (said, report) = run("one", "fifo:limit=50ms");
    let (again, _) = run("two", "fifo:limit=50ms");
    assert_eq!(said, again);
    for name in [
        "summary.json",
        "histograms.json",
        "queues.parquet",
        "exec.json",
        "stdout",
    ] {
        let file = |folder: &str| fs::read(stage.path().join(folder).join(name)).unwrap();
        assert_eq!(file("one"), file("two"), "{name}");
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[0], "1000000", "{said}{report}");
    // The payload of 1448 of 1500 bytes at 10 Mbit/s, behind two round trips, and no more than slow start costs.
    let seconds: f64 = words[1].parse().unwrap();
    assert!((0.828 + 0.03..1.3).contains(&seconds), "{seconds}");
    let summary = stage.json("one/summary.json");
    assert_eq!(summary["world"], "virtual");
    assert!(summary["queues"][0]["packets"].as_u64() > Some(690));
    assert!(stage.path().join("one/kernel.log").is_file());
    // Another queue is another run.
    assert_ne!(run("three", "codel").0, said);
}

#[test]
fn a_program_in_a_guest_crosses_several_links_and_follows_a_trace() {
    let test = "virtual links in a row around a program";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    fs::write(stage.path().join("client.py"), CLIENT).unwrap();
    // A chance each two milliseconds is 6 Mbit/s; the other link has more.
    fs::write(stage.path().join("chances"), "2\n").unwrap();
    fs::write(
        stage.path().join("two.toml"),
        "schema = 1\nname = \"two\"\n[[link]]\nname = \"line\"\nrate = \"20mbit\"\ndelay = \"10ms\"\nqueue = \"fifo\"\n\
         [[link]]\nname = \"wifi\"\nrate = { trace = \"chances\" }\nqueue = \"fifo\"\n[run]\nduration = \"5s\"\n",
    )
    .unwrap();
    let run = |link: &[&str], out: &str| {
        let more = [
            "--out",
            out,
            "--far",
            "python3 server.py",
            "--",
            "python3",
            "client.py",
        ];
        let words = [
            &["exec", "--world", "virtual", "--far-cc", "cubic"],
            link,
            &more,
        ]
        .concat();
        let output = stage.quell(&words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let seconds: f64 = printed.split_whitespace().nth(1).unwrap().parse().unwrap();
        (seconds, stage.json(&format!("{out}/exec.json")))
    };
    // The payload of 1448 of 1500 bytes at 6 Mbit/s, and no more than slow start costs.
    let least = 1.381;
    let (seconds, exec) = run(&["--scenario", "two.toml"], "two");
    assert!((least + 0.03..least + 0.5).contains(&seconds), "{seconds}");
    let links = &exec["limited_by"]["down"]["links"];
    assert_eq!(links[1]["name"], "wifi");
    assert!(links[1]["share"].as_f64() > Some(0.7), "{links}");
    assert_eq!(exec["rtt_ms"], 20.0);
    let (seconds, exec) = run(
        &["--down-trace", "chances:repeat=true", "--rtt", "20ms"],
        "one",
    );
    assert!((least + 0.03..least + 0.5).contains(&seconds), "{seconds}");
    assert_eq!(exec["link"], "trace/unlimited 20ms fifo");
}

#[test]
fn a_program_in_a_guest_ends_as_elsewhere_and_changes_nothing() {
    let Some(stage) = Stage::new("virtual ends of a program") else {
        return;
    };
    let script = |script: &str| {
        let words = [&LINK[..], &["--quiet", "--", "sh", "-c", script]].concat();
        stage.quell(&words).output().unwrap()
    };
    assert_eq!(script("exit 7").status.code(), Some(7));
    assert_eq!(script("kill -9 $$").status.code(), Some(137));
    let written = script("echo word; echo more >&2; echo mine > mine");
    assert_eq!(String::from_utf8(written.stdout).unwrap(), "word\n");
    let errors = String::from_utf8(written.stderr).unwrap();
    assert!(
        errors.starts_with("more\n") && errors.contains("mine"),
        "{errors}"
    );
    assert!(!stage.path().join("mine").exists());
    assert_eq!(script("echo x > $TMPDIR/mine").status.code(), Some(0));
    let refused = |more: &[&str], code: i32, why: &str| {
        let output = stage.quell(&[&LINK[..], more].concat()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(errors.contains(why), "{errors}");
    };
    refused(&["--", "no-such-program"], 127, "no such program");
    refused(&["--host-loopback", "--", "true"], 125, "no network");
    refused(&["--kernel", "none", "--", "true"], 125, "none");
    refused(&[], 125, "no terminal");
    refused(
        &[
            "--guest-timeout",
            "3s",
            "--",
            "sh",
            "-c",
            "while :; do :; done",
        ],
        125,
        "clock stopped",
    );
}

#[test]
fn ctrl_c_ends_a_program_in_a_guest() {
    let Some(stage) = Stage::new("virtual Ctrl-C and a program") else {
        return;
    };
    // So long that its virtual time takes minutes.
    let words = [
        "--",
        "sh",
        "-c",
        "echo begun; while :; do sleep 0.001; done",
    ];
    let mut command = stage.quell(&[&LINK[..], &words].concat());
    let printed = stage.path().join("printed");
    command.stdout(fs::File::create(&printed).unwrap());
    let mut child = command.spawn().unwrap();
    quell_testing::program::wait_until("the program has begun", || {
        fs::read_to_string(&printed).is_ok_and(|text| text == "begun\n")
    });
    sleep(Duration::from_millis(50));
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), None);
    assert!(matches!(status.code(), Some(130 | 143)), "{status:?}");
}
