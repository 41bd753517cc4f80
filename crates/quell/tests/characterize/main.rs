//! Report cards by the program: two whole ones as text, and that interruption, parallel runs and a full disk change nothing.
//!
//! The cards in `fifo.txt`, `dualpi2.txt` and those of the suite `l4s` guard what a card holds and how it is put; their figures are the simulator's own. Whoever
//! means to change them writes them anew with `make bless`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use quell_testing::compare_or_bless;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const QUELL: &str = env!("CARGO_BIN_EXE_quell");
/// A small card.
const SMALL: &str = "--profile 10mbit --duration 2s --seeds 2";

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(QUELL);
        command
            .arg("characterize")
            .args(words.split_whitespace())
            .env("COLUMNS", "80")
            .current_dir(self.path());
        command
    }

    fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    fn ok(&self, words: &str) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words}: {}", errors(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs in a store.
    fn runs(&self, store: &str) -> usize {
        let parts = fs::read_dir(self.path().join(store).join("cells")).unwrap();
        let runs = parts.map(|part| fs::read_dir(part.unwrap().path()).unwrap().count());
        runs.sum()
    }

    fn card(&self, folder: &str) -> Vec<u8> {
        fs::read(self.path().join(folder).join("card.json")).unwrap()
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn cards_of_drop_tail_and_dualpi2_hold_every_item() {
    let place = Place::new();
    for queue in ["fifo", "dualpi2"] {
        let text = place.ok(&format!("{queue} {SMALL} --out {queue}"));
        compare(queue, &text);
        let ids = [
            "friendly",
            "udp-over",
            "lbe",
            "rtt-560",
            "ecn-5",
            "burst-4",
            "heavy",
            "level",
            "mix",
            "multi-same",
            "multi-params",
            "multi-other",
            "cost",
        ];
        for id in ids {
            assert!(
                text.lines().any(|line| line.starts_with(id)
                    && !line[id.len()..].starts_with(char::is_alphanumeric)),
                "{id}"
            );
        }
        for figure in [
            "page load ms",
            "completion ms",
            "MOS",
            "goodput II/I",
            "flows at once",
        ] {
            assert!(text.contains(figure), "{figure}");
        }
    }
}

/// Compares a card with the recorded one, or records it.
fn compare(name: &str, text: &str) {
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/characterize");
    let file = file.join(format!("{name}.txt"));
    compare_or_bless(&file, text);
}

#[test]
fn cards_for_l4s_judge_each_requirement_or_print_why_not() {
    let place = Place::new();
    for queue in ["fifo", "dualpi2"] {
        let text = place.ok(&format!("{queue} --suite l4s {SMALL} --out {queue}"));
        compare(&format!("{queue}-l4s"), &text);
        let (ran, not_run) = text.split_once("\nNot run, or not judged\n").unwrap();
        for id in ["s1-10", "s2-1", "s3", "s4", "s6-ecn", "s6-shift", "call-l"] {
            assert!(ran.lines().any(|line| line.starts_with(id)), "{id}");
        }
        let not_judged = [
            "s5",
            "replace",
            "monitor",
            "shared-4",
            "reordering",
            "bursts",
        ];
        for id in not_judged {
            assert!(not_run.lines().any(|line| line.starts_with(id)), "{id}");
        }
        let verdicts = ran.split_once("\nVerdicts").unwrap().1;
        assert!(verdicts.contains("item 2"), "{verdicts}");
        for (id, item) in [("round-trips", "item 4"), ("few", "item 5")] {
            let is_judged = verdicts.contains(item);
            assert_eq!(is_judged, queue == "dualpi2", "{id}");
            assert_ne!(is_judged, not_run.contains(&format!("\n{id}:")), "{id}");
        }
    }
}

#[test]
fn an_interrupted_card_goes_on_and_equals_the_uninterrupted_one() {
    let place = Place::new();
    let words = "codel --only mild,rtt,params --profile 10mbit --duration 6s --seeds 4";
    let whole = place.ok(&format!("{words} --jobs 1 --out whole"));
    let words = format!("{words} --store cut/store");
    let child = place
        .command(&format!("{words} --jobs 2 --out cut"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cells = place.path().join("cut/store/cells");
    while fs::read_dir(&cells).map_or(0, Iterator::count) < 2 {
        sleep(Duration::from_millis(2));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()));
    assert!(
        errors(&output).contains("the same command goes on"),
        "{}",
        errors(&output)
    );
    assert!(!place.path().join("cut/card.json").exists());
    let resumed = place.ok(&format!("{words} --jobs 2 --out cut"));
    assert_eq!(resumed.replace("are in cut", "are in whole"), whole);
    assert!(place.card("cut") == place.card("whole"));
    // Another number of jobs, and nothing left to run.
    place.ok(&format!("{words} --jobs 1 --out cut"));
    assert!(place.card("cut") == place.card("whole"));
}

/// Test cases that say the same of a queue are one run, and cards take each other's from their store, also at once. Without a store a card
/// is the same.
#[test]
fn cards_share_the_runs_that_they_have_in_common() {
    let place = Place::new();
    let words = "--only multi-same,multi-params --profile 10mbit --duration 2s --seeds 2";
    place.ok(&format!("fifo {words} --out fifo"));
    // Drop-tail has no parameter to double.
    assert_eq!(place.runs("results/characterize"), 2);
    let start = |queue: &str| {
        let mut command = place.command(&format!("{queue} {words} --out {queue}"));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in ["pie", "codel"].map(start) {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(place.runs("results/characterize"), 2 + 2 * 4);
    place.ok(&format!("pie {words} --out other --store other/store"));
    assert_eq!(place.runs("other/store"), 2 + 4);
    fs::write(place.path().join("taken"), "").unwrap();
    let output = place.output(&format!("pie {words} --out unkept --store taken"));
    assert!(output.status.success());
    let note = "note: the runs are not kept: ";
    assert!(errors(&output).contains(note), "{}", errors(&output));
    for folder in ["other", "unkept"] {
        assert!(place.card(folder) == place.card("pie"), "{folder}");
    }
}

#[test]
fn a_card_chooses_its_seeds_by_its_figures_alone() {
    let place = Place::new();
    let words = "codel --only friendly,rtt-100,params --profile 10mbit --duration 12s";
    let text = place.ok(&format!("{words} --jobs 1 --out one"));
    place.ok(&format!("{words} --jobs 2 --out two --store two/store"));
    assert!(place.card("one") == place.card("two"));
    assert!(text.contains("- Seeds, of codel/fifo: friendly "), "{text}");
    let card: serde_json::Value = serde_json::from_slice(&place.card("one")).unwrap();
    let results = card["scenarios"].as_array().unwrap().iter();
    let results = results.flat_map(|one| one["results"].as_array().unwrap());
    let seeds = results.map(|one| one["whole"]["utilisation"]["n"].as_u64().unwrap());
    let seeds: Vec<u64> = seeds.collect();
    assert!(seeds.iter().all(|n| [3, 4, 5, 10].contains(n)), "{seeds:?}");
    assert!(seeds.iter().any(|n| *n < 5), "{seeds:?}");
    assert_eq!(card["seeds"].as_u64().as_ref(), seeds.iter().max());
    // An open verdict has had every seed.
    for verdict in card["verdicts"].as_array().unwrap() {
        let (ending, n) = (&verdict["ending"], &verdict["found"]["n"]);
        assert!(ending != "open" || n == 10, "{verdict}");
    }
    assert_eq!(card["verdicts"].as_array().unwrap().len(), 3);
}

#[test]
fn twenty_parameter_sets_of_a_queue_have_a_card_each() {
    let place = Place::new();
    let sets: Vec<String> = (5..25).map(|ms| format!("codel:target={ms}ms")).collect();
    let words = "--only friendly --profile 10mbit --duration 2s --seeds 2 --out all";
    let text = place.ok(&format!("{} {words}", sets.join(" ")));
    for set in &sets {
        let folder = format!("all/characterize-{}", set.replace([':', '='], "-"));
        let card: serde_json::Value = serde_json::from_slice(&place.card(&folder)).unwrap();
        assert_eq!(card["queues"][0]["name"], **set);
        let is_row = |line: &str| line.starts_with(set) && line.ends_with(&folder);
        assert!(text.lines().any(is_row), "{set}: {text}");
    }
    assert_eq!(place.runs("results/characterize"), 2 + 2 * sets.len());
}

#[test]
fn a_card_as_json_is_the_file() {
    let place = Place::new();
    let json = place
        .ok("pie:target=5ms --only mild --profile 10mbit --duration 2s --seeds 2 --json --out p");
    assert_eq!(json.as_bytes(), place.card("p"));
    let card: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(card["queues"][0]["spec"], "pie:target=5ms,limit=83p");
    assert_eq!(card["queues"][1]["name"], "fifo");
    assert_eq!(card["profile"]["flows"], serde_json::json!([6, 14, 19]));
    let figures = &card["scenarios"][0]["results"][0]["whole"];
    for figure in [
        "utilisation",
        "delay_ms.mean",
        "delay_ms.p99",
        "pdv_ms.p99",
        "loss_ratio",
        "mark_ratio",
    ] {
        assert_eq!(figures[figure]["n"], 2, "{figure}");
    }
    assert!(card["scenarios"][0]["results"][1]["losses"]["dropped"].is_u64());
    distributions_fit(&card);
    // The report of a card is its page.
    let page = place.path().join("p/card.html");
    let mut report = Command::new(QUELL);
    let report = report
        .args(["report", "p", "-o", "again.html"])
        .current_dir(place.path());
    assert!(report.output().unwrap().status.success());
    let again = fs::read_to_string(place.path().join("again.html")).unwrap();
    assert_eq!(again, fs::read_to_string(page).unwrap());
    assert!(again.contains("What each queue does to the traffic of each scenario"));
    let output = Command::new(QUELL)
        .args(["schema", "card"])
        .output()
        .unwrap();
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&card)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Distributions rise, have a value for each share, and say the same as the figures; flows become steady.
fn distributions_fit(card: &serde_json::Value) {
    let numbers = |list: &serde_json::Value| -> Vec<f64> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one.as_f64().unwrap()).collect()
    };
    let shares = numbers(&card["shares"]);
    assert_eq!((shares[0], shares[shares.len() - 1]), (0.0, 1.0));
    for outcome in card["scenarios"][0]["results"].as_array().unwrap() {
        for name in ["delay_ms", "goodput_bps"] {
            let values = numbers(&outcome["distribution"][name]);
            assert_eq!(values.len(), shares.len(), "{name}");
            assert!(values.is_sorted(), "{name}: {values:?}");
        }
        let values = numbers(&outcome["distribution"]["delay_ms"]);
        let mean = outcome["whole"]["delay_ms.mean"]["mean"].as_f64().unwrap();
        assert!(values[0] < mean && mean < values[values.len() - 1]);
        let rates = numbers(&outcome["distribution"]["goodput_bps"]);
        assert!(rates[rates.len() - 1] <= 10e6, "{rates:?}");
        let steady = outcome["whole"]["steady_after_s"]["mean"].as_f64().unwrap();
        assert!((0.0..2.0).contains(&steady), "{steady}");
    }
}

#[test]
fn other_queues_controls_and_suites_are_rows_of_the_card() {
    let place = Place::new();
    let text = place.ok("red --against gsp,fq_codel:target=3ms --only rtt-100,medium --cc reno,cubic --profile 10mbit --duration 2s --seeds 1 --out o");
    for part in [
        "rtt-100 reno",
        "rtt-100 cubic",
        "medium cubic",
        "gsp",
        "fq_codel:target=3ms",
        "one seed, so no intervals",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let text = place.ok("vdq_csaqm --suite access --duration 3s --seeds 1 --only evening --out a");
    for part in ["film", "voice", "video Mbit/s", "a buffer of its own"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_profile_of_a_file_is_the_path() {
    let place = Place::new();
    fs::write(
        place.path().join("p.toml"),
        "rate = \"4mbit\"\nrtt = \"40ms\"\nduration = \"2s\"\n",
    )
    .unwrap();
    let text = place.ok("codel --profile p.toml --only friendly --seeds 1 --out o");
    assert!(
        text.contains("4 Mbit/s, base RTT 40 ms, buffer 13 packets, S = 27"),
        "{text}"
    );
}

#[test]
fn wrong_inputs_are_errors_with_a_fix() {
    let place = Place::new();
    fs::write(
        place.path().join("bad.toml"),
        "rate = \"4mbit\"\nrtt = 40\n",
    )
    .unwrap();
    fs::write(
        place.path().join("wrong.toml"),
        "schema = 1\nitem.one = { losss = true }\n",
    )
    .unwrap();
    fs::create_dir(place.path().join("mine")).unwrap();
    fs::write(place.path().join("mine/notes"), "mine").unwrap();
    for (words, expected) in [
        ("codle", "there is no queue codle"),
        ("codle", "did you mean codel?"),
        (
            "codel:target=5",
            "quell: codel:target=5: link.queue.target = 5: must be a time",
        ),
        ("codel:aim=5ms", "link.queue.aim"),
        (
            "codel --only midl",
            "--only midl: the suite rfc7928 has sched, friendly",
        ),
        ("codel --only midl", "did you mean mild?"),
        (
            "codel --against fifo,,pie",
            "--against fifo,,pie: there is a comma",
        ),
        (
            "codel --cc cubik",
            "--cc cubik: group.bulk.congestion-control = \"cubik\": the sim world has no such control",
        ),
        (
            "codel --profile 5mbit",
            "--profile 5mbit: must be one of 10mbit, 100mbit, 1gbit, or a file",
        ),
        (
            "codel --profile bad.toml",
            "bad.toml:2: rtt: must be in quotes",
        ),
        (
            "codel --suite rfc",
            "--suite rfc: must be one of rfc7928, l4s, access, all, or a file",
        ),
        (
            "codel --suite wrong.toml",
            "wrong.toml:2: item.one.losss = true: unknown key (did you mean losses?)",
        ),
        (
            "codel --duration 1s",
            "--duration 1s: must be from 2s to 3600s",
        ),
        ("codel --world live", "use sim or virtual"),
        (
            "codel --kernel 6.12",
            "--kernel has an effect only with --world virtual",
        ),
        ("codel --seeds 0", "--seeds"),
        (
            "codel --out mine",
            "mine exists and is no characterization; name another folder",
        ),
    ] {
        let output = place.output(words);
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {errors}");
        assert!(errors.contains(expected), "{words}: {errors}");
    }
    assert!(!place.path().join("results").exists());
    assert_eq!(fs::read_dir(place.path().join("mine")).unwrap().count(), 1);
}

/// A file system that takes no more than a few kilobytes of a file: as on a full disk a write fails.
#[test]
fn a_full_disk_is_an_error_with_nothing_half_written() {
    let place = Place::new();
    let words = "codel --only mild --profile 10mbit --duration 2s --seeds 2 --out o";
    for (blocks, there) in [(1, false), (6, false)] {
        let limited = format!("ulimit -f {blocks}; exec {QUELL} characterize {words}");
        let output = Command::new("sh")
            .args(["-c", &limited])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
        assert!(
            errors(&output).contains("cannot write"),
            "{}",
            errors(&output)
        );
        assert_eq!(place.path().join("o/card.json").exists(), there);
        let left = fs::read_dir(place.path().join("o")).unwrap();
        let names: Vec<String> = left
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            names.iter().all(|name| !name.contains("unfinished")),
            "{names:?}"
        );
    }
    place.ok(words);
    assert!(place.path().join("o/card.json").exists());
}
