//! Programs of this host as groups of a scenario.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use quell_testing::not_run;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::stage::Stage;

/// A server that sends two million bytes to whoever comes, and a client that fetches them, over a queue that a second group shares.
const FETCH: &str = r#"schema = 1
name = "fetch"
[link]
rate = "10mbit"
queue = { kind = "fifo", limit = "50ms" }

[[group]]
name = "fetch"
congestion-control = "reno"
rtt = "20ms"
start = "1s"
app = { kind = "program", sends = "server", server = ["python3", "server.py", "$SERVER"], client = ["python3", "client.py", "$SERVER", "$RESULT"] }

[[group]]
name = "bulk"
rtt = "20ms"
start = "4s"
app = { kind = "bulk" }

[run]
duration = "6s"
"#;

const SERVER: &str = "import socket, sys, time
time.sleep(0.3)
listener = socket.create_server((sys.argv[1], 4321))
connection, _ = listener.accept()
connection.sendall(bytes(2_000_000))
control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
connection.close()
print(control.rstrip(bytes(1)).decode(), flush=True)
while True:
    time.sleep(1)
";
const CLIENT: &str = "import os, socket, sys, time
begin = time.monotonic()
connection = socket.create_connection((sys.argv[1], 4321))
count = 0
while part := connection.recv(65536):
    count += len(part)
print(count, time.monotonic() - begin, os.urandom(4).hex())
open(sys.argv[2] + '/mine', 'w').write('kept')
";

/// A stage with these files, if this host can run them.
fn stage(test: &str, files: &[(&str, &str)]) -> Option<Stage> {
    let stage = Stage::new(test)?;
    let mut python = Command::new("/usr/bin/python3");
    if !python
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        not_run(test, "python3 is missing");
        return None;
    }
    for (name, text) in files {
        fs::write(stage.path().join(name), text).unwrap();
    }
    Some(stage)
}

/// Runs `quell run FILE --world virtual`; its exit code and what it printed.
fn run(stage: &Stage, arguments: &[&str]) -> (i32, String, String) {
    let all = [&["run"], arguments, &["--world", "virtual"]].concat();
    let mut command = stage.quell(&all);
    // An ordinary user has no programs in root's folders.
    let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn warnings(summary: &Value) -> Vec<&str> {
    let all = summary["warnings"].as_array().unwrap().iter();
    all.map(|warning| warning.as_str().unwrap()).collect()
}

#[test]
fn a_server_and_a_client_of_this_host_are_a_group_and_give_the_same_bytes_twice() {
    let test = "virtual programs of a scenario";
    let files = [
        ("fetch.toml", FETCH),
        ("server.py", SERVER),
        ("client.py", CLIENT),
    ];
    let Some(stage) = stage(test, &files) else {
        return;
    };
    let (code, table, errors) = run(&stage, &["fetch.toml", "--out", "one"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(run(&stage, &["fetch.toml", "--out", "two"]).0, 0);
    let file = |path: &str| {
        fs::read(stage.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    for name in [
        "summary.json",
        "histograms.json",
        "flows.parquet",
        "queues.parquet",
        "programs/fetch-client.out",
        "programs/fetch-client.err",
        "programs/fetch-server.out",
        "programs/fetch/mine",
    ] {
        assert_eq!(
            file(&format!("one/{name}")),
            file(&format!("two/{name}")),
            "{name}"
        );
    }
    assert_eq!(file("one/programs/fetch/mine"), b"kept");
    // The control of the group is that of the server's connection.
    assert_eq!(file("one/programs/fetch-server.out"), b"reno\n");
    let said = String::from_utf8(file("one/programs/fetch-client.out")).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[0], "2000000", "{said}");
    // 1448 of 1500 bytes at 10 Mbit/s, behind two round trips, and no more than slow start costs.
    let seconds: f64 = words[1].parse().unwrap();
    assert!((1.657 + 0.04..2.2).contains(&seconds), "{seconds}");

    let summary = stage.json("one/summary.json");
    assert_eq!(warnings(&summary), [] as [&str; 0], "{summary:#}");
    let group = &summary["groups"][0];
    assert_eq!(
        (&group["count"], &group["rtt_ms"]),
        (&1.into(), &Value::Null)
    );
    // What the link delivered in the five seconds of the group, with what it delivered twice.
    let delivered =
        group["goodput_bps"][0].as_f64().unwrap() * group["alive_s"][0].as_f64().unwrap() / 8.0;
    assert!(
        (1_999_999.0..2_100_000.0).contains(&delivered),
        "{delivered}"
    );
    let packets = group["packets"].as_u64().unwrap();
    assert!((1_381..1_460).contains(&packets), "{packets}");
    assert!(group["delay_ms"]["max"].as_f64() > Some(10.0), "{group:#}");
    // The other group shares the link, and its packets are its own.
    let bulk = &summary["groups"][1];
    let rate = bulk["goodput_bps"][0].as_f64().unwrap();
    assert!((8e6..9.66e6).contains(&rate), "{rate}");
    assert_eq!(summary["link"]["unclassified"], 0);

    // The client ended by itself; the server was ended with its group, which is no failure.
    let app = &group["app"];
    assert_eq!(app["client_exit_code"], 0.0, "{app:#}");
    assert_eq!(
        (&app["server_exit_code"], &app["failed"]),
        (&Value::Null, &0.into())
    );
    let ran = app["client_ran_s"].as_f64().unwrap();
    assert!((seconds..seconds + 0.2).contains(&ran), "{ran}");
    assert!(
        table.contains("programs") && table.contains("client exit"),
        "{table}"
    );
}

#[test]
fn iperf3_repeats_to_the_byte_and_received_what_the_link_delivered() {
    let test = "virtual iperf3 in a scenario";
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"20mbit\"\nqueue = { kind = \"dualpi2\" }\n[[group]]\nname = \"a\"\n\
        congestion-control = \"dctcp\"\necn = \"ect1\"\nrtt = \"20ms\"\napp = { kind = \"program\", server = [\"iperf3\", \"-s\", \"-1\"], \
        client = [\"iperf3\", \"-c\", \"$SERVER\", \"-t\", \"3\", \"-J\"] }\n[run]\nduration = \"5s\"\n";
    let mut iperf3 = Command::new("/usr/bin/iperf3");
    if iperf3.arg("--version").output().is_err() {
        return not_run(test, "iperf3 is missing");
    }
    let Some(stage) = stage(test, &[("t.toml", text)]) else {
        return;
    };
    for out in ["one", "two"] {
        let (code, _, errors) = run(&stage, &["t.toml", "--out", out]);
        assert_eq!(code, 0, "{errors}");
    }
    for name in [
        "summary.json",
        "flows.parquet",
        "programs/a-client.out",
        "programs/a-server.out",
    ] {
        let file = |folder: &str| fs::read(stage.path().join(folder).join(name)).unwrap();
        assert_eq!(file("one"), file("two"), "{name}");
    }
    let (summary, said) = (
        stage.json("one/summary.json"),
        stage.json("one/programs/a-client.out"),
    );
    assert_eq!(warnings(&summary), [] as [&str; 0]);
    let group = &summary["groups"][0];
    let received = said["end"]["sum_received"]["bytes"].as_f64().unwrap();
    // Of 20 Mbit/s for 3 s; a lone DCTCP behind a step of 1 ms takes its time to fill them.
    assert!((2e6..7.5e6).contains(&received), "{received}");
    let delivered =
        group["goodput_bps"][0].as_f64().unwrap() * group["alive_s"][0].as_f64().unwrap() / 8.0;
    // And its own connection for control, and what was in flight at its end.
    assert!(
        (received..received * 1.02 + 50_000.0).contains(&delivered),
        "{delivered} of {received}"
    );
    // The group's DCTCP has the queue for itself that marks for it.
    let queue = &summary["queues"][0];
    assert!(
        queue["name"] == "l4s" && queue["packets"].as_u64() > Some(1_400),
        "{queue:#}"
    );
    assert!(group["marked"].as_u64() > Some(100), "{group:#}");
}

/// scenarios/programs/iperf3.toml: `quell check` passes with the world given, and of iperf3's TCP nothing is known that only it knows.
#[test]
fn the_shipped_scenario_of_iperf3_runs_and_says_what_it_does_not_know() {
    let test = "virtual scenarios/programs/iperf3.toml";
    if Command::new("/usr/bin/iperf3")
        .arg("--version")
        .output()
        .is_err()
    {
        return not_run(test, "iperf3 is missing");
    }
    let text = include_str!("../../../../scenarios/programs/iperf3.toml");
    let Some(stage) = stage(test, &[("iperf3.toml", text)]) else {
        return;
    };
    let check = |world: &[&str]| {
        let mut command = stage.quell(&[&["check", "iperf3.toml"], world].concat());
        let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), errors)
    };
    assert_eq!(check(&["--world", "virtual"]), (0, String::new()));
    let (code, errors) = check(&[]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("modelled hosts, which run no programs"),
        "{errors}"
    );

    let short = ["iperf3.toml", "--duration", "4s", "--out", "out"];
    let (code, table, errors) = run(&stage, &short);
    assert_eq!(code, 0, "{errors}");
    let summary = stage.json("out/summary.json");
    assert_eq!(warnings(&summary), [] as [&str; 0]);
    let [iperf3, bulk] = [0, 1].map(|index| &summary["groups"][index]);
    for key in ["retransmitted", "rtt_ms"] {
        assert_eq!(iperf3[key], Value::Null, "{iperf3:#}");
        assert_ne!(bulk[key], Value::Null, "{bulk:#}");
    }
    // Both lose in the same queue, and of one it is known what it sent again.
    assert!(bulk["retransmitted"].as_u64() > Some(0), "{bulk:#}");
    assert!(iperf3["dropped"].as_u64() > Some(0), "{iperf3:#}");
    let rates = [iperf3, bulk].map(|group| group["goodput_bps"][0].as_f64().unwrap());
    let ratio = rates[0] / rates[1];
    assert!((0.5..2.0).contains(&ratio), "{rates:?}");
    let row = table.lines().find(|line| line.starts_with("iperf3 "));
    assert!(row.is_some_and(|row| row.ends_with(" -")), "{table}");
}

#[test]
fn a_program_that_fails_does_not_start_or_is_turned_round_is_reported() {
    let test = "virtual programs that fail";
    let group = |name: &str, app: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nrtt = \"20ms\"\napp = {{ kind = \"program\", {app} }}\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"fails\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n{}{}{}{}[run]\nduration = \"2s\"\n",
        group("code", r#"client = ["sh", "-c", "echo to >&2; exit 7"]"#),
        group(
            "signal",
            r#"server = ["sh", "-c", "kill -9 $$"], client = ["true"]"#
        ),
        group(
            "deaf",
            r#"client = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]"#
        ),
        group(
            "turned",
            r#"server = ["python3", "server.py", "$SERVER"], client = ["python3", "client.py", "$SERVER", "$RESULT"]"#
        ),
    );
    let files = [
        ("fails.toml", &*text),
        ("server.py", SERVER),
        ("client.py", CLIENT),
    ];
    let Some(stage) = stage(test, &files) else {
        return;
    };
    let (code, _, errors) = run(&stage, &["fails.toml", "--out", "fails"]);
    assert_eq!(code, 0, "{errors}");
    let summary = stage.json("fails/summary.json");
    let said = warnings(&summary).join("\n");
    for expected in [
        "group code: its client failed with exit code 7; see programs/code-client.err",
        "group signal: its server failed with signal 9",
        "group signal: its client did not start: its server had ended",
        "bytes went against its direction",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(!said.contains("deaf"), "{said}");
    let err = fs::read_to_string(stage.path().join("fails/programs/code-client.err"));
    assert_eq!(err.unwrap(), "to\n");
    let app = |index: usize| &summary["groups"][index]["app"];
    assert_eq!(app(0)["client_exit_code"], 7.0);
    assert_eq!(
        (&app(1)["server_exit_code"], &app(1)["failed"]),
        (&137.0.into(), &2.into())
    );
    assert_eq!(app(2)["client_exit_code"], Value::Null);
    // A run that must be without doubt fails with them.
    let strict = run(&stage, &["fails.toml", "--strict", "--out", "strict"]);
    assert_ne!(strict.0, 0);
}

#[test]
fn a_program_that_this_host_does_not_have_is_refused_with_file_line_and_key() {
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
        app = { kind = \"program\", client = [\"no-such-program\", \"-x\"] }\n[run]\nduration = \"2s\"\n";
    let stage = Stage::empty();
    fs::write(stage.path().join("t.toml"), text).unwrap();
    let (code, _, errors) = run(&stage, &["t.toml"]);
    assert_eq!(code, 2, "{errors}");
    let expected = "t.toml:9: group.a.app.client = [\"no-such-program\", \"-x\"]: there is no program no-such-program in the folders of PATH";
    assert!(errors.contains(expected), "{errors}");
    let mut check = stage.quell(&["check", "t.toml", "--world", "virtual"]);
    let checked = check.output().unwrap();
    assert!(
        String::from_utf8_lossy(&checked.stderr).contains(expected),
        "{checked:?}"
    );
    for (world, why) in [("sim", "modelled hosts"), ("live", expected)] {
        let mut command = stage.quell(&["run", "t.toml", "--world", world]);
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && errors.contains(why),
            "{errors}"
        );
    }
    // A store would keep what may change.
    let sweep = "schema = 1\nname = \"s\"\nscenario = \"t.toml\"\n[axis]\n\"link.rate\" = [\"5mbit\", \"10mbit\"]\n";
    fs::write(stage.path().join("s.toml"), sweep).unwrap();
    let mut command = stage.quell(&["sweep", "s.toml", "--world", "virtual", "--dry-run"]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_ne!(output.status.code(), Some(0), "{errors}");
}

#[test]
fn ctrl_c_ends_the_programs_and_keeps_what_they_printed() {
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
        app = { kind = \"program\", client = [\"sh\", \"-c\", \"echo begun; while :; do sleep 0.001; done\"] }\n[run]\nduration = \"5000s\"\n";
    let Some(stage) = stage("virtual Ctrl-C and programs", &[("t.toml", text)]) else {
        return;
    };
    let mut command = stage.quell(&["run", "t.toml", "--world", "virtual", "--out", "one"]);
    let mut child = command.env("PATH", "/usr/bin:/bin").spawn().unwrap();
    // The folder has a hidden name until it is whole.
    quell_testing::program::wait_until("the program has begun", || {
        let entries = fs::read_dir(stage.path()).unwrap().flatten();
        let mut said = entries.map(|entry| entry.path().join("result/programs/a-client.out"));
        said.any(|path| fs::read_to_string(path).is_ok_and(|text| text == "begun\n"))
    });
    sleep(Duration::from_millis(50));
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    child.wait().unwrap();
    let summary = stage.json("one/summary.json");
    assert_eq!(summary["partial"], true);
    let said = fs::read_to_string(stage.path().join("one/programs/a-client.out"));
    assert_eq!(said.unwrap(), "begun\n");
    assert_eq!(stage.left_over(), [] as [&str; 0]);
}
