//! `quell judge` with the TCP of Linux, with programs, and with what is wrong.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::stage::Stage;

/// A stage with these stack files, if this host can run them.
fn stage(test: &str, stacks: &[(&str, &str)]) -> Option<Stage> {
    let stage = Stage::new(test)?;
    for (name, text) in stacks {
        let text = format!("schema = 1\nname = \"{name}\"\n{text}\n");
        fs::write(stage.path().join(format!("{name}.toml")), text).unwrap();
    }
    Some(stage)
}

fn judge(stage: &Stage, arguments: &[&str]) -> (i32, String, String) {
    let mut command = stage.quell(&[&["judge"], arguments].concat());
    let Output {
        status,
        stdout,
        stderr,
    } = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Verdict, and what decides it, of each clause of a stack.
fn verdicts(json: &str, stack: &str) -> Vec<(String, String, String)> {
    let record: Value = serde_json::from_str(json).unwrap();
    let stacks = record["stacks"].as_array().unwrap();
    let own = stacks.iter().find(|one| one["name"] == stack).unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let all = own["clauses"].as_array().unwrap().iter();
    all.map(|one| {
        let found = text(one, "figure") + &text(one, "why");
        (text(one, "id"), text(one, "verdict"), found)
    })
    .collect()
}

fn verdict<'v>(all: &'v [(String, String, String)], id: &str) -> &'v str {
    let found = all.iter().find(|(own, ..)| own == id);
    &found.unwrap_or_else(|| panic!("no {id} in {all:?}")).1
}

#[test]
fn prague_answers_marks_as_it_claims_and_reports_each_of_them_and_repeats() {
    let test = "virtual judge of Prague";
    let stacks = [("prague", "control = \"prague\"\nclaims = \"l4s\"")];
    let Some(stage) = stage(test, &stacks) else {
        return;
    };
    let only = [
        "prague.toml",
        "--clause",
        "identification,rtt-independence",
        "--seeds",
        "1",
        "--json",
        "--out",
    ];
    let (code, one, errors) = judge(&stage, &[&only[..], &["one"]].concat());
    assert_eq!(code, 0, "{one}{errors}");
    let all = verdicts(&one, "prague");
    for id in [
        "id-ect1",
        "fb-nego",
        "fb-ace",
        "fb-option",
        "burst-pace",
        "rtt-independent",
    ] {
        assert_eq!(verdict(&all, id), "pass", "{all:?}");
    }
    assert_eq!(verdict(&all, "fb-quic"), "n/a", "{all:?}");
    // The second time with one run after the other.
    let (_, two, _) = judge(&stage, &[&only[..], &["two", "--jobs", "1"]].concat());
    assert_eq!(one, two);
    // What is met leaves no packets behind.
    assert!(!stage.path().join("one/prague").exists());
    let page = fs::read_to_string(stage.path().join("one/judge.html")).unwrap();
    assert!(page.contains("rtt-independent") && page.contains("CE packets reported"));
    let badge = fs::read_to_string(stage.path().join("one/badge.svg")).unwrap();
    let passed = all.iter().filter(|(_, verdict, _)| verdict == "pass");
    let said = format!(">0 FAIL, 0 open, {} pass</text>", passed.count());
    assert!(badge.contains(&said), "{badge}");
}

#[test]
fn a_control_that_is_not_scalable_is_found_and_its_packets_stay() {
    let test = "virtual judge of DCTCP";
    let stacks = [(
        "dctcp",
        "control = \"dctcp\"\nclaims = \"l4s\"\nmonitoring = \"none\"",
    )];
    let Some(stage) = stage(test, &stacks) else {
        return;
    };
    let only = [
        "dctcp.toml",
        "--clause",
        "rtt-independence",
        "--seeds",
        "1",
        "--junit",
        "junit.xml",
    ];
    let (code, shown, errors) = judge(&stage, &[&only[..], &["--out", "o"]].concat());
    assert_eq!(code, 3, "{shown}{errors}");
    assert!(
        errors.contains("a MUST is not met: rtt-independent of dctcp"),
        "{errors}"
    );
    let rate = shown.find("RTT^-").map(|at| &shown[at + 4..at + 9]);
    let exponent: f64 = rate.unwrap().trim().parse().unwrap();
    assert!((-1.1..=-0.7).contains(&exponent), "{shown}");
    let run = stage.path().join("o/dctcp/rtt-independence/1-seed1");
    assert!(run.join("packets.pcapng").is_file());
    let log = fs::read_to_string(run.join("flow.sqlog")).unwrap();
    let windows = log.matches("\"congestion_window\":").count();
    assert!(windows > 100 && log.starts_with('\u{1e}'), "{windows}");
    let junit = fs::read_to_string(stage.path().join("junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\""), "{junit}");
    // What was so before is no failure beside a baseline.
    fs::copy(
        stage.path().join("o/judge.json"),
        stage.path().join("before.json"),
    )
    .unwrap();
    let beside = [&only[..], &["--out", "o", "--baseline", "before.json"]].concat();
    let (code, shown, errors) = judge(&stage, &beside);
    assert_eq!(code, 0, "{shown}{errors}");
}

/// A stack file of the toy with these arguments of its server, of both ends, and of a variant that offers little.
fn toy(claims: &str, server: &str, both: &str, limited: bool) -> String {
    let words = |role: &str, ends: &str| {
        let all = format!("/usr/bin/python3 toy.py {role} {ends} {both}");
        format!("{:?}", all.split_whitespace().collect::<Vec<_>>())
    };
    let client = words("client", "$SERVER $RESULT");
    let of = |more: &str| {
        let server = words("server", &format!("$SERVER {server} {more}"));
        format!("server = {server}, client = {client}")
    };
    let variant = format!("limited = {{ {} }}", of("--limit 1"));
    let usual = of("").replace(", client", "\nclient");
    let variant = if limited { variant.as_str() } else { "" };
    format!("claims = \"{claims}\"\nsends = \"server\"\n{usual}\n{variant}")
}

/// Judges these stacks, and asserts that each fails the clauses named beside it, and no other; `judge.json`, empty if this host cannot.
/// `judge.json` and `judge.html`, once each has failed its clauses.
fn each_fails_its_clause(
    test: &str,
    stacks: &[(&str, String, &[&str])],
    clauses: &str,
) -> Option<[String; 2]> {
    let files: Vec<(&str, &str)> = stacks.iter().map(|one| (one.0, one.1.as_str())).collect();
    let stage = stage(test, &files)?;
    if !Path::new("/usr/bin/python3").exists() {
        quell_testing::not_run(test, "python3 is missing");
        return None;
    }
    for (name, text) in [
        ("toy.py", include_str!("judge/toy.py")),
        ("tunnel.py", include_str!("judge/tunnel.py")),
        ("probe.py", include_str!("../../../../stacks/tunnel.py")),
    ] {
        fs::write(stage.path().join(name), text).unwrap();
    }
    let files: Vec<String> = files.iter().map(|one| format!("{}.toml", one.0)).collect();
    let only = ["--clause", clauses, "--seeds", "1", "--json", "--out", "o"];
    let files = files.iter().map(String::as_str);
    let arguments: Vec<&str> = files.chain(only).collect();
    let (code, json, errors) = judge(&stage, &arguments);
    assert!(code == 0 || code == 3, "{json}{errors}");
    for (name, _, expected) in stacks {
        let all = verdicts(&json, name);
        let failed = all.iter().filter(|(_, verdict, _)| verdict == "FAIL");
        let failed: Vec<&str> = failed.map(|(id, ..)| id.as_str()).collect();
        assert_eq!(failed, *expected, "{name}: {all:?}");
    }
    let page = fs::read_to_string(stage.path().join("o/judge.html")).unwrap();
    Some([json, page])
}

/// A transport of the tests, whose defects are known: each is found by its clause, and by no other.
#[test]
fn a_defect_is_found_by_its_clause_and_by_no_other() {
    let of = |defect: &str| toy("l4s", "", &format!("--defect {defect}"), false);
    let stacks: [(&str, String, &[&str]); 3] = [
        ("base", toy("l4s", "", "", false), &[]),
        ("start-ce", of("start-ce"), &["law-start"]),
        ("accept-remark", of("accept-remark"), &["path-remark"]),
    ];
    let test = "virtual judge of known defects";
    each_fails_its_clause(test, &stacks, "start,broken-paths");
}

/// What is echoed is encrypted, so a log of it decides: with one, the wrong counts are found, and right ones pass; without, nobody can say.
#[test]
fn wrong_counts_are_found_in_the_log_of_their_receiver() {
    let bad = "--defect half-counts";
    let logged = |defect: &str| toy("l4s", "", defect, false) + "qlog = \"QLOGDIR\"\n";
    let stacks: [(&str, String, &[&str]); 3] = [
        ("base", logged(""), &[]),
        ("half-counts", logged(bad), &["fb-quic-count"]),
        ("no-log", toy("l4s", "", bad, false), &[]),
    ];
    let test = "virtual judge of echoed counts";
    let Some([json, page]) = each_fails_its_clause(test, &stacks, "identification") else {
        return;
    };
    // What both ends log stands beside what the link saw.
    for drawn in [
        "window in its qlog",
        "smoothed RTT in its qlog",
        "reported by it",
    ] {
        assert!(page.contains(drawn), "{drawn}");
    }
    let expected = [
        ("base", "pass"),
        ("half-counts", "FAIL"),
        ("no-log", "open"),
    ];
    for (stack, expected) in expected {
        let all = verdicts(&json, stack);
        assert_eq!(verdict(&all, "fb-quic-count"), expected, "{all:?}");
    }
}

#[test]
fn a_window_that_nothing_filled_and_a_stream_that_is_no_nqb_are_found() {
    let growth = toy("l4s", "", "--defect idle-growth", true);
    let stacks: [(&str, String, &[&str]); 3] = [
        ("base", toy("l4s", "", "", true), &[]),
        ("idle-growth", growth, &["idle-restart"]),
        // It never offers more.
        ("late", toy("l4s", "--nqb", "", true), &[]),
    ];
    let found = each_fails_its_clause("virtual judge of pauses", &stacks, "idle");
    if let Some([json, _]) = found {
        let all = verdicts(&json, "late");
        assert!(
            all[0].1 == "open" && all[0].2.contains("not begun"),
            "{all:?}"
        );
    }
    let nqb = |defect: &str| toy("nqb", "", &format!("--defect {defect}"), false);
    let stacks: [(&str, String, &[&str]); 3] = [
        ("base-nqb", toy("nqb", "--nqb", "", false), &[]),
        ("nqb", nqb("nqb"), &["nqb-rate"]),
        ("nqb-burst", nqb("nqb-burst"), &["nqb-rate"]),
    ];
    each_fails_its_clause("virtual judge of NQB", &stacks, "nqb-rate,nqb-dscp");
}

/// Tunnels of the tests, whose defects are known, and one that does not come up.
#[test]
fn a_tunnel_is_judged_by_its_clauses_alone_and_each_defect_found_by_one() {
    let tunnel = |program: &str, more: &str| {
        let words = |role: &str, peer: &str| {
            let all = format!("/usr/bin/python3 probe.py {role} $SERVER {program} {peer} {more}");
            format!("{:?}", all.split_whitespace().collect::<Vec<_>>())
        };
        let (server, client) = (words("server", ""), words("client", "$SERVER"));
        format!("claims = \"tunnel\"\nsends = \"server\"\nserver = {server}\nclient = {client}")
    };
    let of = |more: &str| tunnel("/usr/bin/python3 tunnel.py", more);
    let stacks: [(&str, String, &[&str]); 7] = [
        ("base", of(""), &[]),
        ("cubic", "control = \"cubic\"".to_owned(), &[]),
        ("no-copy", of("--defect no-copy"), &["tunnel-encap"]),
        ("lose-ce", of("--defect lose-ce"), &["tunnel-decap"]),
        (
            "forward-not-ect",
            of("--defect forward-not-ect"),
            &["tunnel-decap"],
        ),
        ("inner-ect", of("--defect inner-ect"), &["tunnel-decap"]),
        ("down", tunnel("/bin/false", ""), &[]),
    ];
    let test = "virtual judge of tunnels";
    let Some([json, _]) = each_fails_its_clause(test, &stacks, "tunnel,start") else {
        return;
    };
    for (stack, expected) in [
        ("base", ["pass", "pass", "n/a"]),
        ("cubic", ["n/a", "n/a", "pass"]),
    ] {
        let all = verdicts(&json, stack);
        let found = ["tunnel-encap", "tunnel-decap", "law-start"].map(|id| verdict(&all, id));
        assert_eq!(found, expected, "{all:?}");
    }
    let all = verdicts(&json, "down");
    let line = "it sent nothing; its client said: nothing came through the tunnel; try its two programs by hand";
    assert!(all[0].1 == "open" && all[0].2.contains(line), "{all:?}");
}

#[test]
fn what_cannot_be_judged_says_why_and_the_others_go_on() {
    let test = "virtual judge of what does not run";
    let stacks = [
        ("silent", "client = [\"sleep\", \"1000\"]"),
        (
            "dies",
            "client = [\"sh\", \"-c\", \"echo no such certificate >&2; exit 7\"]",
        ),
        ("gone", "client = [\"./nowhere\"]\nbuild = \"make nowhere\""),
        ("cubic", "control = \"cubic\""),
    ];
    let Some(stage) = stage(test, &stacks) else {
        return;
    };
    let files = [
        "silent.toml",
        "dies.toml",
        "gone.toml",
        "cubic.toml",
        "./cubic.toml",
    ];
    let only = ["--clause", "id-ecn", "--seeds", "1", "--json", "--out", "o"];
    let (code, json, errors) = judge(&stage, &[&files[..], &only].concat());
    assert_eq!(code, 3, "{json}{errors}");
    for why in [
        "build it: make nowhere",
        "another stack of this command is called cubic",
    ] {
        assert!(errors.contains(why), "{errors}");
    }
    assert!(
        errors.contains("silent: nothing could be judged"),
        "{errors}"
    );
    let of = |stack: &str| verdicts(&json, stack).remove(0);
    assert_eq!(of("silent").1, "open");
    assert!(
        of("silent").2.contains("it sent nothing"),
        "{:?}",
        of("silent")
    );
    assert!(
        of("dies").2.contains("no such certificate"),
        "{:?}",
        of("dies")
    );
    assert_eq!(of("cubic").1, "pass", "{:?}", of("cubic"));
    let (code, shown, _) = judge(&stage, &["cubic.toml", "--clause", "tunnel", "--out", "n"]);
    let line = "\n  n/a  it is no tunnel: tunnel-encap, tunnel-decap\n";
    assert!(code == 0 && shown.contains(line), "{shown}");
    // A folder of somebody else's is left alone; a wrong clause, and a world without programs, are refused before anything runs.
    fs::create_dir(stage.path().join("mine")).unwrap();
    fs::write(stage.path().join("mine/letter"), "dear").unwrap();
    for (arguments, why) in [
        (["cubic.toml", "--out", "mine"], "name a new one"),
        (["cubic.toml", "--clause", "id-ecm"], "did you mean id-ecn?"),
        (
            ["silent.toml", "--world", "sim"],
            "--world virtual runs them",
        ),
        (["silent.toml", "--world", "live"], "--allow-programs"),
        (["gone.toml", "--out", "x"], "build it"),
    ] {
        let (code, _, errors) = judge(&stage, &arguments);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
    assert!(stage.path().join("mine/letter").is_file());
}
