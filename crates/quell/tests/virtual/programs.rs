//! `quell exec --world virtual`: programs of this host in a guest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use quell_testing::not_run;
use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{Stage, is_root};

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
pub(crate) const LINK: [&str; 9] = [
    "exec", "--world", "virtual", "--rate", "10mbit", "--rtt", "20ms", "--far-cc", "cubic",
];

pub(crate) fn has_python() -> bool {
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
    refused(&["--name", "one", "--", "true"], 125, "--control SOCKET");
    refused(&["--page", "--", "true"], 125, "quell serve DIR");
    refused(&["--set", "new=refuse", "--", "true"], 125, "no relay");
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

/// Makes the link slower after half of the bytes; prints when, how long the rest took, and what cannot be done.
const CHANGER: &str = "import json, os, socket, time
control = socket.socket(socket.AF_UNIX)
control.connect(os.environ['QUELL_CONTROL'])
answers = control.makefile()
def ask(request):
    control.sendall(json.dumps(request).encode() + b'\\n')
    return json.loads(answers.readline())
connection = socket.create_connection((os.environ['QUELL_FAR'], 4321))
connection.recv(500_000, socket.MSG_WAITALL)
begin = time.monotonic()
changed = ask({'set': {'down': '1mbit', 'rtt': '40ms'}})
while connection.recv(65536):
    pass
print(changed['changed']['time_s'], time.monotonic() - begin, ask({'get': 'summary'})['summary']['world'])
print(ask({'set': {'down': 'fast'}}), ask({'cut': {'how': 'rst'}}))
";

#[test]
fn a_program_in_a_guest_changes_its_own_link_at_the_same_instant_each_time() {
    let test = "virtual control socket";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    fs::write(stage.path().join("changer.py"), CHANGER).unwrap();
    let own = stage.program();
    let set = format!("{} link set $QUELL_CONTROL up=2mbit", own.display());
    let script = format!("{set} && exec python3 changer.py");
    let run = |out: &str| {
        let mut words = LINK.to_vec();
        words.extend(["--control", "no/such/control", "--out", out]);
        words.extend(["--far", "python3 server.py", "--", "sh", "-c", &script]);
        let mut command = stage.quell(&words);
        // Of a link around all of this, which a guest cannot reach.
        let output = command.env("QUELL_CONTROL", "/elsewhere").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run("one");
    assert_eq!(said, run("two"));
    for name in [
        "summary.json",
        "queues.parquet",
        "exec.json",
        "scenario.toml",
    ] {
        let file = |folder: &str| fs::read(stage.path().join(folder).join(name)).unwrap();
        assert_eq!(file("one"), file("two"), "{name}");
    }
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains(" 10mbit 20ms fifo, up=2mbit"), "{said}");
    let words: Vec<&str> = lines[1].split(' ').collect();
    // The payload of 1448 of 1500 bytes at 1 Mbit/s, of which some have crossed the link before; at 10 Mbit/s it were 0.4 s.
    let seconds: f64 = words[1].parse().unwrap();
    assert!((3.5..5.0).contains(&seconds), "{said}");
    assert_eq!(words[2], "virtual");
    for part in ["= fast", "--net relay"] {
        assert!(lines[2].contains(part), "{said}");
    }
    let changed = &stage.json("one/exec.json")["changes"][1];
    assert_eq!(changed["time_s"].to_string(), words[0]);
    assert_eq!(changed["set"]["down"], "1mbit");
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

#[test]
fn a_guest_has_memory_for_every_link() {
    let Some(stage) = Stage::new("virtual memory of links") else {
        return;
    };
    let links: [&[&str]; 8] = [
        &[],
        &["--rtt", "20ms"],
        &["--set", "link.impair={ loss = 0.01 }"],
        &["--down", "770mbit"],
        &["--rate", "1gbit", "--rtt", "100ms"],
        &["--rate", "10gbit", "--rtt", "20ms"],
        &["--down", "100mbit", "--rtt", "10s"],
        &["--down", "1mbit", "--at", "1s", "down=2gbit"],
    ];
    for link in links {
        let words = [
            &["exec", "--world", "virtual"],
            link,
            &["--quiet", "--", "true"],
        ]
        .concat();
        let output = stage.quell(&words).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{link:?}: {errors}");
    }
}

/// Draws random numbers over two minutes, in which the kernel draws a new key more than once.
const DRAWS: &str = "import os, time
for _ in range(8):
    print(os.urandom(8).hex(), flush=True)
    time.sleep(15)
";

#[test]
fn the_day_of_a_guest_is_ahead_and_changes_nothing_but_the_time() {
    let test = "virtual the day of a guest";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    let client = format!("{CLIENT}{DRAWS}");
    fs::write(stage.path().join("client.py"), client).unwrap();
    let printed = |more: &[&str]| {
        let words = [&LINK[..], &["--quiet"], more].concat();
        let output = stage.quell(&words).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs();
    let begins: u64 = printed(&["--", "date", "+%s"]).trim().parse().unwrap();
    assert!((now..now + 86_400 + 60).contains(&begins), "{begins}");
    let day = ["--guest-day", "2030-02-28", "--", "date", "-u", "+%F %H:%M"];
    assert_eq!(printed(&day), "2030-02-28 22:13\n");
    let on = |day: &str, out: &str| {
        let more = [
            "--out",
            out,
            "--guest-day",
            day,
            "--far",
            "python3 server.py",
        ];
        let said = printed(&[&more[..], &["--", "python3", "client.py"]].concat());
        assert_eq!(stage.json(&format!("{out}/exec.json"))["guest_day"], day);
        said
    };
    let (first, later) = (on("2026-11-27", "first"), on("2031-07-01", "later"));
    for name in ["summary.json", "histograms.json", "queues.parquet"] {
        let file = |folder: &str| fs::read(stage.path().join(folder).join(name)).unwrap();
        assert_eq!(file("first"), file("later"), "{name}");
    }
    if !stage.has_clock() {
        return not_run(
            test,
            "the kernel has no clock of quell's: make kernel, or quell kernel build",
        );
    }
    assert_eq!(first, later);
}

#[test]
fn a_certificate_that_is_made_now_is_valid_in_a_guest() {
    let test = "virtual a certificate of today";
    let Some(stage) = Stage::new(test) else {
        return;
    };
    let make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=quell.test 2>/dev/null && chmod 644 cert.pem";
    let mut command = Command::new("sh");
    command.args(["-c", make]).current_dir(stage.path());
    if !command.status().is_ok_and(|status| status.success()) {
        return not_run(test, "openssl is missing");
    }
    let verify = [
        "--quiet", "--", "openssl", "verify", "-CAfile", "cert.pem", "cert.pem",
    ];
    let output = stage
        .quell(&[&LINK[..], &verify].concat())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{said:?}");
    assert!(said[0].contains("cert.pem: OK"), "{said:?}");
}

#[test]
fn prague_is_l4s_behind_a_link_in_the_direction_in_which_it_sends() {
    let test = "virtual prague behind a link";
    let Some(stage) = Stage::with_own_controls(test) else {
        return;
    };
    if !has_python() {
        return not_run(test, "python3 is missing");
    }
    fs::write(stage.path().join("server.py"), SERVER).unwrap();
    fs::write(stage.path().join("client.py"), CLIENT).unwrap();
    for (control, ecn, is_l4s) in [
        ("prague", &["--ecn", "accecn"][..], true),
        ("prague", &[], true),
        ("cubic", &["--ecn", "on"], false),
    ] {
        let out = format!("{control}-{}", ecn.len());
        let words = [
            &[
                "exec", "--world", "virtual", "--rate", "10mbit", "--rtt", "20ms",
            ],
            &["--queue", "dualpi2", "--cc", "cubic", "--far-cc", control][..],
            ecn,
            &[
                "--out",
                &out,
                "--far",
                "python3 server.py",
                "--",
                "python3",
                "client.py",
            ],
        ]
        .concat();
        let output = stage.quell(&words).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        let exec = stage.json(&format!("{out}/exec.json"));
        // A million bytes in segments of 1448 at most, all but the handshake with ECT.
        let rewritten = exec["down"]["ect1_rewritten"].as_u64().unwrap();
        assert_eq!(rewritten > 690, is_l4s, "{control} {ecn:?}: {exec:#}");
        assert_eq!(exec["up"]["ect1_rewritten"], 0, "the program has CUBIC");
    }
}

#[test]
fn roots_guest_says_what_it_cannot_read_and_runs_as_root_where_that_is_asked_for() {
    let test = "virtual programs that only root may read";
    if !is_root() {
        return not_run(test, "needs root");
    }
    let Some(stage) = Stage::new(test) else {
        return;
    };
    stage.give_to_root();
    let home = stage.path().join("home");
    fs::create_dir_all(home.join("bin")).unwrap();
    fs::copy("/bin/sh", home.join("bin/mine")).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(home.join("bin/mine"), stage.path().join("link")).unwrap();
    let shown = home.display().to_string();
    let run = |more: &[&str], folder: &Path| {
        let words = [&LINK[..], &["--quiet"], more].concat();
        let mut command = stage.quell_of_caller(&words);
        let output = command.current_dir(folder).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let of_scenario = "home/bin/mine";
    for (program, folder) in [
        ("home/bin/mine", stage.path()),
        ("./link", stage.path()),
        ("true", &home),
    ] {
        let (code, errors) = run(&["--", program, "-c", "exit 7"], folder);
        assert_eq!(code, Some(125), "{program}: {errors}");
        let first = errors.lines().next().unwrap();
        for part in [
            "runs as user ",
            "may not enter",
            &shown,
            "mode 0700, of user 0",
        ] {
            assert!(first.contains(part), "{program}: {part}: {errors}");
        }
        assert!(
            errors.contains("--guest-user caller"),
            "{program}: {errors}"
        );
    }
    for (program, folder, code) in [
        ("home/bin/mine", stage.path(), 7),
        ("./link", stage.path(), 7),
        ("true", &home, 0),
    ] {
        let more = ["--guest-user", "caller", "--", program, "-c", "exit 7"];
        let (ended, errors) = run(&more, folder);
        assert_eq!(ended, Some(code), "{program}: {errors}");
    }
    // The same of a scenario's programs.
    let text = format!(
        "schema = 1\nname = \"p\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"p\"\nrtt = \"10ms\"\n\
         app = {{ kind = \"program\", client = [\"{of_scenario}\", \"-c\", \"true\"] }}\n[run]\nduration = \"1s\"\n"
    );
    fs::write(stage.path().join("p.toml"), text).unwrap();
    let words = ["run", "p.toml", "--world", "virtual", "--out", "p"];
    let output = stage.quell_of_caller(&words).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && errors.contains("may not enter"),
        "{errors}"
    );
    let words = [&words[..], &["--guest-user", "caller"]].concat();
    let output = stage.quell_of_caller(&words).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    let day = stage.json("p/run.json")["guest"]["day"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(day.as_str() > "2026-11-26", "{day}");
}

#[test]
fn another_users_kernel_does_not_run_as_root() {
    let test = "virtual another user's kernel as root";
    if !is_root() {
        return not_run(test, "needs root");
    }
    let stage = Stage::empty();
    stage.fake_kernel("theirs", "echo it ran; exit 3", true);
    for path in [
        "kernels/theirs",
        "kernels/theirs/linux",
        "kernels/theirs/kernel.json",
    ] {
        std::os::unix::fs::chown(stage.path().join(path), Some(12_345), None).unwrap();
    }
    stage.give_to_root();
    let words = [&LINK[..], &["--guest-user", "caller", "--", "true"]].concat();
    let output = stage.quell_of_caller(&words).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(
        errors.contains("belongs to user 12345") && !errors.contains("it ran"),
        "{errors}"
    );
}
