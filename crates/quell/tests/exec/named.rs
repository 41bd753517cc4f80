//! Links with names: found, changed, cut, joined and stopped from elsewhere.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use quell_fixture::Link;
use serde_json::Value;

use crate::Case;
use crate::fixture::{Fake, OTHER, QUELL, SERVER, SOURCE, TRICKLE, WHO, read_json};
use crate::steering::path;

pub(crate) const CASES: &[Case] = &[
    (
        "connections_are_cut_while_the_program_runs",
        connections_are_cut_while_the_program_runs,
    ),
    (
        "a_link_with_a_name_is_found_changed_and_stopped",
        a_link_with_a_name_is_found_changed_and_stopped,
    ),
    ("a_test_in_rust_has_a_link", a_test_in_rust_has_a_link),
    (
        "new_connections_are_treated_as_somebody_asks_meanwhile",
        new_connections_are_treated_as_somebody_asks_meanwhile,
    ),
];

fn new_connections_are_treated_as_somebody_asks_meanwhile(fake: &Fake) {
    fake.run(|| {
        let to_other = format!("new=refuse to {OTHER}");
        let options = ["--rate", "20mbit", "--rtt", "20ms", "--set", "new=refuse"];
        let planned = ["--at", "1ms", "new=accept", "--at", "2ms", &to_other];
        let link = Link::start_by(QUELL, &[&options[..], &planned].concat()).unwrap();
        let cut = |words: &[&str]| {
            let mut command = Command::new(QUELL);
            let command = command.args(["link", "cut", link.name()]).args(words);
            let output = command.output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8(said).unwrap())
        };
        let own = std::env::current_exe().unwrap();
        let play_to = |server: &str, port: u16| {
            let mut command = link.command("timeout");
            let command = command
                .arg("3")
                .arg(&own)
                .env(crate::clients::ROLE, "connect");
            let command = command.env(crate::clients::WORDS, format!("{server}:{port}"));
            let began = Instant::now();
            let output = command.output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            (output.status.code(), said, began.elapsed())
        };
        let play = |port| play_to(SERVER, port);
        let who = || play(WHO);
        let (_, answer, _) = who();
        assert!(answer.contains(SERVER), "{answer}");

        assert_eq!(play_to(OTHER, WHO).1, "ConnectionReset");
        link.set(&["new=accept", "cut=rst older than 1s", "rtt=21ms"])
            .unwrap();
        assert!(play_to(OTHER, WHO).1.contains(OTHER));
        let why = link.set(&["rtt=22ms", "new=rst"]).unwrap_err().to_string();
        assert!(why.contains("must be rst, fin or silent"), "{why}");

        let to_who = format!(":{WHO}");
        let (code, said) = cut(&["refuse", "--to", &to_who]);
        let expected = ": new connections from now on: refuse\n";
        assert!(code == Some(0) && said.ends_with(expected), "{said}");
        assert_eq!(who().1, "ConnectionReset");
        // Those to elsewhere are none of its business.
        cut(&["limit=100kB", "--to", &format!("{SERVER}:{SOURCE}")]);
        assert_eq!(play(SOURCE).1, "ConnectionReset");
        cut(&["blackhole", "--to", &to_who]);
        assert_eq!(who().0, Some(124), "nothing comes, and timeout ends it");
        cut(&["accept"]);
        assert_eq!(who().1, answer);
        cut(&["accept-delay=1s"]);
        let (_, said, took) = who();
        assert!(
            said == answer && took >= Duration::from_secs(1),
            "{said} {took:?}"
        );
        assert!(cut(&["refuze"]).1.contains("must be rst, fin or silent"));
        let (code, said) = cut(&["refuse", "--older", "1s"]);
        assert!(
            code == Some(2) && said.contains("which have no age"),
            "{said}"
        );
        let report: Value = serde_json::from_str(&link.finish().unwrap()).unwrap();
        let counted = ["turned_away", "unanswered", "delayed", "limited"];
        let counted = counted.map(|name| report["exec"]["relay"][name].as_u64());
        assert_eq!(counted, [2, 1, 1, 1].map(Some), "{report}");
        let mut ended = report["exec"]["connections"].as_array().unwrap().iter();
        let limited = ended.find(|one| one["end"] == "limit").unwrap();
        let sum = ["down_bytes", "up_bytes"].map(|name| limited[name].as_u64().unwrap());
        assert_eq!(sum.iter().sum::<u64>(), 100_000);
        let made = &report["exec"]["changes"];
        assert_eq!(made[0]["set"]["rtt"], "21ms");
        assert_eq!(made[1]["set"]["new"], format!("refuse to {to_who}"));
        assert_eq!(made[5]["set"]["new"], "accept-delay=1s");
    });
}

/// As a crate's own tests use it.
fn a_test_in_rust_has_a_link(fake: &Fake) {
    fake.run(|| {
        let start = |options: &[&str]| Link::start_by(QUELL, options);
        let link = start(&["--rate", "10mbit", "--rtt", "40ms"]).unwrap();
        let mut command = link.command("sh");
        let script = "echo $QUELL_LINK; $0 link set $QUELL_CONTROL up=9mbit >&2; exit 5";
        let output = command.args(["-c", script, QUELL]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(output.stdout, b"10mbit 40ms fifo\n");
        assert!(String::from_utf8_lossy(&output.stderr).contains("up=9mbit"));
        link.set(&["down=1mbit", "loss=2%"]).unwrap();
        let why = link.set(&["down=fast"]).unwrap_err().to_string();
        assert!(why.contains("= fast"), "{why}");
        let summary: Value = serde_json::from_str(&link.summary().unwrap()).unwrap();
        assert!(summary["queues"].is_array(), "{summary}");
        let (name, report) = (link.name().to_owned(), link.finish().unwrap());
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(report["exec"].is_object(), "{report}");
        // Gone with its value; and what cannot be says why.
        let dropped = start(&[]).unwrap().name().to_owned();
        for name in [name, dropped] {
            let mut show = Command::new(QUELL);
            let gone = show.args(["link", "show", &name]).output().unwrap();
            assert!(!gone.status.success(), "{gone:?}");
        }
        let why = start(&["--rate", "fast"]).unwrap_err().to_string();
        assert!(why.contains("fast"), "{why}");
    });
}

fn connections_are_cut_while_the_program_runs(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    for (how, words) in [
        ("rst", "ConnectionReset"),
        ("fin", "ended"),
        ("silent", "WouldBlock"),
    ] {
        let report = folder.path().join(format!("{how}.json"));
        let arguments = [
            "exec",
            "--quiet",
            "--name",
            "cut",
            "--json",
            path(&report),
            "--",
        ];
        let mut command = fake.quell(&[&arguments[..], &[path(&own)]].concat());
        command.env("XDG_RUNTIME_DIR", folder.path());
        // Two connections that nothing ends; the one that is not meant goes on.
        command.env(crate::clients::ROLE, "listen");
        command.env(
            crate::clients::WORDS,
            format!("{SERVER}:{TRICKLE} {OTHER}:{TRICKLE}"),
        );
        let mut child = fake.run(|| command.spawn().unwrap());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let to = format!("{SERVER}:{TRICKLE}");
        let mut cut = fake.quell(&["link", "cut", "cut", how, "--to", &to, "--older", "1ms"]);
        let output = fake.output(cut.env("XDG_RUNTIME_DIR", folder.path()));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "cut: 1 connection cut\n", "{output:?}");
        assert_eq!(
            lines.next().unwrap().unwrap(),
            format!("{words}, the other goes on")
        );
        assert!(child.wait().unwrap().success());
        let report = read_json(&report);
        assert_eq!(report["exec"]["relay"]["cut"], 1);
        assert_eq!(
            report["exec"]["changes"][0]["set"]["cut"],
            format!("{how} to {to} older than 1ms: 1")
        );
    }
}

fn a_link_with_a_name_is_found_changed_and_stopped(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let quell = |arguments: &[&str]| {
        let mut command = fake.quell(arguments);
        command.env("XDG_RUNTIME_DIR", folder.path());
        command
    };
    let said = |arguments: &[&str]| {
        let output = fake.output(&mut quell(arguments));
        let text = [&output.stdout[..], &output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let start = |name: &str| {
        let script = "echo ready; exec sleep 600";
        let options = ["exec", "--quiet", "--down", "20mbit", "--name", name];
        let mut command = quell(&[&options[..], &["--", "sh", "-c", script]].concat());
        let mut child = fake.run(|| command.spawn().unwrap());
        let out = child.stdout.as_mut().unwrap();
        out.read_exact(&mut [0; 6]).unwrap();
        child
    };
    let (code, text) = said(&["link", "list"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("no link runs with a name"), "{text}");

    let (mut first, mut second) = (start("first"), start("second"));
    let links = folder.path().join("quell/links");
    let mode = fs::metadata(&links).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let (_, text) = said(&["link", "list"]);
    let expected = format!("first   process {}, 20mbit/unlimited", first.id());
    assert!(text.contains(&expected), "{text}");
    let (code, text) = said(&[
        "link",
        "set",
        "first",
        "down=5mbit",
        "down.queue.limit=50ms",
    ]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("20mbit/unlimited fifo, down=5mbit, down.queue.limit=50ms"),
        "{text}"
    );
    let (_, text) = said(&["link", "show", "first"]);
    assert!(
        text.contains("fifo, down=5mbit") && text.contains("felt"),
        "{text}"
    );
    let (_, text) = said(&["link", "show", "first", "--json"]);
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["partial"], true);

    // A second program shares the network, and ends with the link.
    let join = |words: &[&str]| {
        let arguments = [&["exec", "--join", "first", "--"], words].concat();
        fake.output(&mut quell(&arguments))
    };
    let output = join(&["sh", "-c", "echo $QUELL_LINK; cat /proc/net/route; exit 7"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(
        printed.starts_with("20mbit/unlimited fifo\nIface"),
        "{printed}"
    );
    let own = std::env::current_exe().unwrap();
    let mut command = quell(&["exec", "--join", "first", "--", path(&own)]);
    command.env(crate::clients::ROLE, "connect");
    command.env(
        crate::clients::WORDS,
        format!("{SERVER}:{}", crate::fixture::WHO),
    );
    let output = fake.output(&mut command);
    assert!(output.status.success(), "{output:?}");
    let (_, text) = said(&["link", "show", "first"]);
    assert!(
        text.contains("up    link: ") || text.contains("packets"),
        "{text}"
    );
    let mut third = quell(&["exec", "--join", "first", "--", "sleep", "600"]);
    let mut third = fake.run(|| third.spawn().unwrap());

    // What cannot be done is refused with what can.
    for (arguments, expected) in [
        (
            &["link", "cut", "first", "--to", "example.org"][..],
            "by where they go",
        ),
        (&["link", "show", "frist"][..], "there is first, second"),
        (&["link", "set", "first", "down"], "must be KEY=VALUE"),
        (&["link", "set", "first", "down=fast"], "fast"),
        (&["link", "stop", "a/b"], "no name of a link"),
    ] {
        let (code, text) = said(arguments);
        assert!(code == Some(2) && text.contains(expected), "{text}");
    }
    let (code, text) = said(&["exec", "--name", "first", "--", "true"]);
    assert!(
        code == Some(125) && text.contains("running already"),
        "{text}"
    );

    // A link that was killed is shown as that; a new one takes its name.
    second.kill().unwrap();
    second.wait().unwrap();
    let (_, text) = said(&["link", "list"]);
    assert!(text.contains("second  dead"), "{text}");
    let mut second = start("second");
    for (name, child) in [("first", &mut first), ("second", &mut second)] {
        assert_eq!(said(&["link", "stop", name]), (Some(0), String::new()));
        assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    }
    assert_eq!(third.wait().unwrap().code(), Some(128 + 9));
    assert_eq!(fs::read_dir(&links).unwrap().count(), 0);
}
