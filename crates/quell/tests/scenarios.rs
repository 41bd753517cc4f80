//! Writing scenarios: `quell new`, `quell keys`, and what `quell check` says of worlds and traces.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use quell_lab::scenario::keys::KEYS;
use quell_lab::scenario::start::STARTS;

/// Exit code, standard output, standard error of quell with `arguments` in `folder`.
fn told(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(arguments)
        .current_dir(folder)
        // No kernel: what is said of the virtual world does not depend on this machine.
        .env("QUELL_KERNELS", folder.join("kernels"))
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn each_start_is_written_checked_without_a_surprise_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    let (_, listed, _) = told(&["new"]);
    for start in STARTS {
        let name = start.name;
        assert!(listed.contains(&format!("{name} ")), "{listed}");
        let file = format!("{name}.toml");
        let (code, out, errors) = told(&["new", name, "-o", &file]);
        assert_eq!((code, errors.as_str()), (0, ""));
        assert!(out.starts_with(&format!("{file} written")), "{out}");
        assert_eq!(
            fs::read_to_string(folder.path().join(&file)).unwrap(),
            start.text
        );
        let (code, out, errors) = told(&["check", &file, "--strict"]);
        assert_eq!((code, errors.as_str()), (0, ""), "{out}");
        assert!(out.starts_with(&format!("{file}: {name} is OK")), "{out}");
        // The data centre's RTT is one that hosts in real time do not have; what else is said of live is of this host.
        let too_near = out.contains("the smallest RTT of the live world");
        assert_eq!(too_near, name == "datacentre", "{out}");
        // As short as may be, but the links must fill.
        let short: &[&str] = match name {
            "datacentre" => &["--duration", "60ms", "--set", "run.warmup=20ms"],
            "lan" => &["--duration", "1s", "--set", "run.warmup=100ms"],
            "satellite" => &["--duration", "30s", "--set", "run.warmup=10s"],
            _ => &["--duration", "4s", "--set", "run.warmup=1s"],
        };
        let run = [
            &["run", &file, "--json", "--strict", "--out", name][..],
            short,
        ]
        .concat();
        let (code, out, errors) = told(&run);
        assert_eq!(code, 0, "{errors}");
        assert!(out.contains("\"partial\": false"), "{out}");
    }
}

#[test]
fn a_start_is_printed_and_never_written_over_anything() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    let access = STARTS[0].text;
    for arguments in [&["new", "access"][..], &["new", "access", "-o", "-"]] {
        assert_eq!(told(arguments), (0, access.to_owned(), String::new()));
    }
    fs::write(folder.path().join("mine.toml"), "mine").unwrap();
    let refused = "quell: mine.toml exists; name another file\n".to_owned();
    assert_eq!(
        told(&["new", "lan", "-o", "mine.toml"]),
        (2, String::new(), refused)
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("mine.toml")).unwrap(),
        "mine"
    );
    let (code, _, errors) = told(&["new", "data-center"]);
    assert_eq!(code, 2);
    assert!(errors.contains("did you mean datacentre?"), "{errors}");
}

#[test]
fn every_key_is_listed_and_explained_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    let (code, all, _) = told(&["keys"]);
    assert_eq!(code, 0);
    for key in KEYS.iter() {
        assert!(all.contains(&format!("  {} ", key.name)), "{}", key.name);
        let (code, out, errors) = told(&["keys", &key.path()]);
        assert_eq!(code, 0, "{errors}");
        assert!(out.contains(key.example), "{out}");
    }
    let (_, out, _) = told(&["keys", "link.reverse.rate"]);
    assert_eq!(
        out,
        "link.reverse.rate  (can change during a run)\n\
         \x20   Rate of the link in the reverse direction.\n\
         \x20   Default: unlimited. Allowed: a rate from 1kbit to 1tbit, or unlimited.\n\
         \x20   In every world.\n\
         \n\
         \x20   [link.reverse]\n\
         \x20   rate = \"20mbit\"\n\
         \n\
         \x20   Keys inside: trace, data, format, unit, interval, mode, repeat, offset,\n\
         \x20   scale, framing.\n"
    );
    for (name, meant) in [
        ("upload", "link.reverse.rate"),
        ("cc", "group.NAME.congestion-control"),
    ] {
        let (code, _, errors) = told(&["keys", name]);
        assert_eq!(code, 2);
        assert!(
            errors.contains(&format!("did you mean {meant}?")),
            "{errors}"
        );
    }
}

/// A control that no modelled host has: `run` refuses it, and so must `check`.
#[test]
fn check_judges_for_the_world_in_which_a_run_would_run() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    let text = "schema = 1\nname = \"mine\"\n[link]\nrate = \"10mbit\"\nqueue = \"codel\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
                congestion-control = \"sprout\"\napp = \"bulk\"\n[run]\nduration = \"2s\"\n";
    fs::write(folder.path().join("f.toml"), text).unwrap();
    let controls: Vec<&str> = quell_tcp::cc::KINDS.iter().map(|kind| kind.name).collect();
    let why = format!(
        "f.toml:9: group.a.congestion-control = \"sprout\": the sim world has no such control; it has {}\n",
        controls.join(", ")
    );
    let (code, _, errors) = told(&["run", "f.toml"]);
    assert_eq!(code, 2);
    assert!(errors.ends_with(&why), "{errors}");
    let (code, out, errors) = told(&["check", "f.toml"]);
    assert_eq!(code, 2, "{out}");
    assert!(errors.ends_with(&why), "{errors}");
    assert!(
        out.contains("f.toml: mine cannot run in the sim world\n"),
        "{out}"
    );
    // Neither has a kernel this control; where there is no kernel that is said first.
    assert!(out.contains("  virtual  no: "), "{out}");
    assert!(out.contains("  live     no: "), "{out}");
    let (code, out, errors) = told(&["check", "f.toml", "--world", "live"]);
    assert_eq!(code, 2, "{out}");
    assert!(
        errors.contains("this host lacks something for the live world\n"),
        "{errors}"
    );
    // What the world itself lacks.
    let near = text.replace("sprout", "cubic").replace("20ms", "500us");
    fs::write(folder.path().join("near.toml"), near).unwrap();
    let (code, out, _) = told(&["check", "near.toml"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("  live     no: near.toml:8: group.a.rtt = \"500us\": must be at least 1ms"),
        "{out}"
    );
}

#[test]
fn jobs_are_refused_in_words_that_are_true() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = told(folder.path(), &["run", "f.toml", "--jobs", "0"]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("must be a whole number of at least 1"),
        "{errors}"
    );
}

/// In the folder `shows`, from the folder above it.
#[test]
fn a_ladder_comes_from_a_file_beside_the_scenario_and_a_result_repeats_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let shows = folder.path().join("shows");
    fs::create_dir(&shows).unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    let scenario = "schema = 1\nname = \"tv\"\n[link]\nrate = \"5mbit\"\nqueue = \"pie\"\n[[group]]\nname = \"tv\"\nrtt = \"20ms\"\n\
                    app = { kind = \"has\", ladder = { file = \"levels.txt\" } }\n[run]\nduration = \"20s\"\nwarmup = \"0s\"\n";
    fs::write(shows.join("tv.toml"), scenario).unwrap();
    let (code, _, errors) = told(&["check", "shows/tv.toml"]);
    assert_eq!(code, 2);
    let missing = "shows/tv.toml:9: group.tv.app.ladder.file = \"levels.txt\": cannot read shows/levels.txt: there is no such file";
    assert!(errors.contains(missing), "{errors}");

    let levels = shows.join("levels.txt");
    for (content, why) in [
        (vec![0xff, 0xfe], "it is not a text"),
        (
            b"2mbit\n1mbit".to_vec(),
            "levels.txt:2: group.tv.app.ladder = 1mbit: must be above line 1",
        ),
    ] {
        fs::write(&levels, content).unwrap();
        let (code, _, errors) = told(&["check", "shows/tv.toml"]);
        assert_eq!(code, 2);
        assert!(errors.contains(why), "{errors}");
    }
    // Of no content.
    let long = fs::File::create(&levels).unwrap();
    long.set_len((512 << 20) + 1).unwrap();
    let (_, _, errors) = told(&["check", "shows/tv.toml"]);
    assert!(errors.contains("it is longer than 512 MiB"), "{errors}");
    let set = "group.tv.app.ladder.file=shows";
    let (_, _, errors) = told(&["check", "shows/tv.toml", "--set", set]);
    assert!(
        errors.contains("cannot read shows: it is not a file"),
        "{errors}"
    );

    fs::write(&levels, "500kbit\n3mbit\n").unwrap();
    let (code, first, errors) = told(&["run", "shows/tv.toml", "--json", "--out", "first"]);
    assert_eq!(code, 0, "{errors}");
    // In an argument it is relative to the current folder.
    let set = "group.tv.app.ladder.file=shows/levels.txt";
    let (_, same, _) = told(&[
        "run",
        "shows/tv.toml",
        "--json",
        "--out",
        "same",
        "--set",
        set,
    ]);
    assert_eq!(same, first);
    fs::remove_file(&levels).unwrap();
    let resolved = fs::read_to_string(folder.path().join("first/scenario.toml")).unwrap();
    assert!(
        resolved.contains(r#"ladder = ["500kbit", "3mbit"]"#),
        "{resolved}"
    );
    let (_, again, _) = told(&["run", "first/scenario.toml", "--json", "--out", "again"]);
    assert_eq!(again, first);
}

/// Whoever reads it notices a wrong format, unit or column; and a threshold that is shorter than a packet.
#[test]
fn what_was_understood_of_a_trace_and_what_is_doubtful_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    fs::write(folder.path().join("drive.txt"), "5000\n2000\n5000\n").unwrap();
    let groups = ["prague", "cubic"].map(|control| {
        format!("[[group]]\nname = \"{control}\"\ncongestion-control = \"{control}\"\nrtt = \"20ms\"\napp = \"bulk\"\n")
    });
    let text = format!(
        "schema = 1\nname = \"drive\"\n[link]\nrate = {{ trace = \"drive.txt\" }}\nqueue = \"dualpi2\"\n{}{}[run]\nduration = \"2s\"\nwarmup = \"0s\"\n",
        groups[0], groups[1]
    );
    fs::write(folder.path().join("drive.toml"), &text).unwrap();
    let (code, _, errors) = told(&["check", "drive.toml"]);
    assert_eq!(code, 2, "{errors}");
    assert!(
        errors.contains("drive.txt:1: link.rate.trace = 5000: could be times, rates or delays"),
        "{errors}"
    );
    let spaced = text.replace(
        "drive.txt\"",
        "drive.txt\", unit = \"kbit\", interval = \"1s\"",
    );
    fs::write(folder.path().join("drive.toml"), &spaced).unwrap();
    let line = "link.rate: drive.txt, rates: 3 rates in 3s, 2 to 5 Mbit/s, mean 4 Mbit/s";
    let line = line.replace("2 to", "2 Mbit/s to");
    let (code, out, errors) = told(&["check", "drive.toml"]);
    assert_eq!(code, 0, "{errors}");
    assert!(out.lines().any(|said| said == line), "{out}");
    let (code, out, errors) = told(&["run", "drive.toml", "--out", "result", "--strict"]);
    assert!(errors.lines().any(|said| said == line), "{errors}");
    let advice = "step_thresh = 2.4ms or min_qlen_step = 1p avoids that";
    let whole: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains(advice), "{out}");
    assert_eq!(code, 1, "{errors}");
}

#[test]
fn an_outage_that_loses_shows_in_a_run_and_a_wrong_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = |at: &str| {
        format!(
            "schema = 1\nname = \"outage\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
             app = {{ kind = \"cbr\", size = \"500B\", interval = \"10ms\" }}\n[[at]]\ntime = \"1s\"\nset = {{ {at} }}\n[run]\nduration = \"3s\"\n"
        )
    };
    let run = |at: &str| {
        fs::write(folder.path().join("s.toml"), text(at)).unwrap();
        told(folder.path(), &["run", "s.toml", "--json"])
    };
    let (code, out, errors) = run("\"link.impair.loss\" = 1, \"group.a.rtt\" = \"80ms\"");
    assert_eq!(code, 0, "{errors}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["link"]["lost_outside"], 200, "{summary:#}");
    let (code, _, errors) = run("\"link.impair.loss\" = 2");
    assert!(
        code == 2 && errors.contains("link.impair.loss = 2: must be"),
        "{errors}"
    );
}
