//! `quell demo`: the headline experiment, and an evening at home.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    command.env_remove("COLUMNS");
    command
}

/// Standard output of quell with these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = command().args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_help_of_the_demo_names_every_queue_that_it_shows() {
    let help = printed(&["demo", "--help"]);
    let list = printed(&["--help"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = ["--json", "--out", out.to_str().unwrap()];
    let shown = printed(&[&["demo", "--duration", "11s"][..], &out].concat());
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    for column in shown.as_array().unwrap() {
        let queue = column["queue"].as_str().unwrap();
        let name = match queue.split(':').next().unwrap() {
            "fifo" => "drop-tail",
            "pie" => "PIE",
            "fq_codel" => "FQ-CoDel",
            "dualpi2" => "DualPI2",
            other => panic!("what does the help call {other}?"),
        };
        assert!(help.contains(name), "no {name}: {help}");
        assert!(list.contains(name), "no {name}: {list}");
    }
}

#[test]
fn the_demo_shows_the_contrast_in_the_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let demo = |more: &[&str]| {
        let output = command()
            .args(["demo", "--duration", "20s"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = demo(&[]);
    let fits = |line: &str| line.chars().count() <= 80 || line.contains(": results in ");
    assert!(printed.lines().all(fits), "{printed}");
    for part in [
        "fifo:limit=100ms",
        "pie:ecn=true",
        "fq_codel",
        "dualpi2",
        "median",
        "quell run ",
    ] {
        assert!(printed.contains(part), "{part} in {printed}");
    }
    // All runs are on disk, each whole.
    let results = fs::read_dir(folder.path().join("results")).unwrap();
    assert_eq!(results.count(), 4);
    assert!(
        printed.contains("mean of 3 runs ± its standard error"),
        "{printed}"
    );

    let compared: serde_json::Value = serde_json::from_str(&demo(&["--json"])).unwrap();
    let l4s = |queue: usize| {
        let summary = &compared[queue]["summaries"][0];
        assert_eq!(summary["world"], "sim");
        assert!(summary["link"]["utilisation"].as_f64().unwrap() > 0.99);
        summary["groups"][0]["delay_ms"]["mean"].as_f64().unwrap()
    };
    // A drop-tail queue of 100 ms, PIE's target of 15 ms, CoDel's of 5, which its square root comes to slowly, and the bound of
    // RFC 9332 1.4: below 1 ms on average.
    let (droptail, pie, fq_codel, dualpi2) = (l4s(0), l4s(1), l4s(2), l4s(3));
    assert!(
        droptail > 50.0 && (10.0..20.0).contains(&pie) && fq_codel < pie && dualpi2 < 1.0,
        "{droptail} {pie} {fq_codel} {dualpi2}"
    );
}

/// The means in a row of a household behind each queue: drop-tail, FQ-CoDel, DualPI2.
fn felt(out: &str, what: &str) -> [f64; 3] {
    let row = out.lines().find(|line| line.contains(what));
    let row = row.unwrap_or_else(|| panic!("no row {what}: {out}"));
    let (_, figures) = row.split_once(what).unwrap();
    let cells = figures.split(" ± ").flat_map(str::split_whitespace);
    // Of `3.01 ± 0.15 0.97 ± 0.02 ~` every second number is a mean.
    let numbers: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
    let means: Vec<f64> = numbers.iter().step_by(2).copied().collect();
    means.try_into().unwrap()
}

#[test]
fn a_household_feels_the_queue_and_not_only_its_packets() {
    let folder = tempfile::tempdir().unwrap();
    let run = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        let command = command.env("COLUMNS", columns).current_dir(&folder);
        let output = command.args(["demo", "home", "--duration", "70s"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let out = run("100");
    for what in [
        "a page loads in, s",
        "words arrive after, ms",
        "answers a command after, ms",
    ] {
        let [drop_tail, fair, dual] = felt(&out, what);
        assert!(
            drop_tail > 1.5 * fair && drop_tail > 1.5 * dual,
            "{what}: {out}"
        );
    }
    for what in ["hears, MOS of 1 to 4.5", "is heard, MOS of 1 to 4.5"] {
        let [drop_tail, fair, dual] = felt(&out, what);
        assert!(
            drop_tail < fair && drop_tail < dual && dual <= 4.5,
            "{what}: {out}"
        );
    }
    // The film's picture over drop-tail is what one evening makes of it; a page differs in every one.
    let row = |what: &str| out.lines().find(|line| line.contains(what)).unwrap();
    assert!(row("a page loads in, s").contains(" ± "), "{out}");
    assert!(!row("a page loads in, s").contains('~'), "{out}");
    assert!(row("picture, Mbit/s").contains('~'), "{out}");
    assert!(out.contains("mean of 5 runs ± its standard error"), "{out}");
    assert!(
        out.contains("~: no clear difference from drop-tail"),
        "{out}"
    );
    // Wherever the lines were broken.
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "drop-tail: a page takes ",
        "fq_codel: ",
        "dualpi2: ",
        "the game answers within ",
    ] {
        assert!(said.contains(words), "{words}: {out}");
    }
    // The same on a narrow terminal.
    let narrow = run("40");
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 40),
        "{narrow}"
    );
    assert!(narrow.contains("a page loads in, s"), "{narrow}");
}

#[test]
fn what_people_feel_stands_once_in_a_run_and_only_where_there_are_people() {
    let folder = tempfile::tempdir().unwrap();
    let run = |scenario: &str| {
        let file = format!("{}/../../scenarios/{scenario}", env!("CARGO_MANIFEST_DIR"));
        let mut command = command();
        let command = command.env("COLUMNS", "150").current_dir(&folder);
        let output = command.args(["run", &file, "--duration", "40s"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let home = run("home/evening.toml");
    for (felt, elsewhere) in [
        ("a page loads in, s", "load p50 ms"),
        ("stops, times", "stalls"),
        ("is heard, MOS of 1 to 4.5", "back MOS"),
        ("answers a command after, ms", "command P50 ms"),
        ("In words\na page takes ", "in all, Mbit/s"),
    ] {
        assert_eq!(home.matches(felt).count(), 1, "{felt}: {home}");
        assert!(!home.contains(elsewhere), "{elsewhere}: {home}");
    }
    let bulk = run("l4s-suite/s1-10.toml");
    assert!(
        bulk.contains("per flow") && !bulk.contains("In words"),
        "{bulk}"
    );
}

#[test]
fn the_summaries_of_a_household_are_printed_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    let command = command.current_dir(&folder);
    let output = command
        .args(["demo", "home", "--duration", "15s", "--json"])
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for queue in all.as_array().unwrap() {
        assert_eq!(queue["summaries"].as_array().unwrap().len(), 5);
        assert_eq!(
            queue["aggregate"]["seeds"],
            serde_json::json!([1, 2, 3, 4, 5])
        );
    }
    let queues: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["queue"].as_str().unwrap())
        .collect();
    assert_eq!(queues, ["drop-tail", "fq_codel", "dualpi2"]);
}
