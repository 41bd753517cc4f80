//! `quell apps` lists and explains every application with all that its table holds; `quell demo home` shows what they feel.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Exit code, standard output, standard error.
fn told(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
    let output = command.env_remove("COLUMNS").args(arguments).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn every_application_is_listed_and_explained_with_its_presets_figures_and_events() {
    let (code, list, _) = told(&["apps"]);
    assert_eq!(code, 0);
    for entry in quell_app::KINDS {
        assert!(list.contains(entry.name), "{list}");
        let (code, out, _) = told(&["apps", entry.name]);
        assert_eq!(code, 0, "{}", entry.name);
        let presets = entry.presets.iter().map(|preset| preset.name);
        let parameters = entry.parameters.iter().map(|row| row.name);
        let forms = (entry.forms)();
        let figures = forms
            .iter()
            .flat_map(|form| form.figures.iter().map(|figure| figure.name));
        let events = entry.events.iter().map(|event| event.kind);
        for name in presets
            .clone()
            .chain(parameters)
            .chain(figures)
            .chain(events)
        {
            assert!(out.contains(name), "{name} of {}: {out}", entry.name);
        }
        for name in presets {
            assert!(list.contains(name), "{name}: {list}");
        }
    }
    let (code, _, errors) = told(&["apps", "wbe"]);
    assert!(
        code == 2 && errors.contains("did you mean web?"),
        "{errors}"
    );
}

/// What the rows of a household say behind each queue: drop-tail, FQ-CoDel, DualPI2.
fn felt(out: &str, what: &str) -> [f64; 3] {
    let row = out.lines().find(|line| line.contains(what));
    let row = row.unwrap_or_else(|| panic!("no row {what}: {out}"));
    let (_, figures) = row.split_once(what).unwrap();
    let figures: Vec<f64> = figures
        .split_whitespace()
        .map(|figure| figure.parse().unwrap())
        .collect();
    figures.try_into().unwrap()
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
    let queues: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["queue"].as_str().unwrap())
        .collect();
    assert_eq!(queues, ["drop-tail", "fq_codel", "dualpi2"]);
}
