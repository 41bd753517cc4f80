//! `docs/reference/files.csv` says what the files of a result hold: it is compared with the files of a run, and `summary.json` with its
//! schema. `make bless` writes it anew, and `files.md`.
#![allow(clippy::unwrap_used)]

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use quell_lab::results::facts::GuestFacts;
use quell_lab::results::series::{FLOW_COLUMNS, QUEUE_COLUMNS};
use quell_lab::results::summary_schema;
use quell_lab::{Options, Scenario, Task, World, run_all};
use serde_json::Value;

use crate::bless::compare_or_bless;
use page::{CONTROLS, FACTS, GUEST, HISTOGRAM_KEYS, data, page};

/// Every application in both directions, over both kinds of queue, with a change.
const SCENARIO: &str = r#"
schema = 1
name = "every-app"
[link]
rate = "10mbit"
queue = { kind = "dualpi2" }
[link.reverse]
rate = "5mbit"
queue = { kind = "fifo" }
[[group]]
name = "bulk"
count = 2
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "up"
rtt = "10ms"
direction = "reverse"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "10ms"
app = { kind = "cbr", size = "186B", interval = { mean = "20ms" } }
[[group]]
name = "web"
rtt = "10ms"
app = { kind = "transfer", size = "30kB", repeat = { mean = "100ms" } }
[[group]]
name = "none"
count = 0
rtt = "10ms"
app = { kind = "transfer", size = "30kB" }
[[group]]
name = "bursts"
rtt = "10ms"
app = { kind = "on-off", on = "200ms", off = "100ms" }
[[at]]
time = "3s"
set = { "group.none.count" = 1, "link.rate" = "8mbit" }
[run]
duration = "4s"
warmup = "1s"
seeds = [1, 2]
"#;

fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::parse(SCENARIO).unwrap_or_else(|problems| panic!("{problems}"));
    let stop = AtomicBool::new(false);
    let options = Options {
        out: Some(folder.path().join("out")),
        packets: true,
        ..Options::new(World::Sim, &stop)
    };
    let task = Task {
        scenario: &scenario,
        options,
    };
    run_all(&[task], NonZeroUsize::MIN, &mut |_| {}).unwrap();
    folder
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn listed(keys: &[(&str, &str, &str)], before: &str) -> BTreeSet<String> {
    let keys = keys.iter().filter_map(|(key, ..)| key.strip_prefix(before));
    keys.map(str::to_owned).collect()
}

/// Every row of a file, by the names of its columns.
fn read(path: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let cells = |row: parquet::record::Row| {
        row.get_column_iter()
            .map(|(n, f)| (n.clone(), f.clone()))
            .collect()
    };
    rows.map(|row| cells(row.unwrap())).collect()
}

#[test]
fn the_page_of_files_says_what_is_in_the_files() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let data = data();
    compare_or_bless(&docs.join("files.md"), &page());
    compare_or_bless(&docs.join("files.csv"), &data);

    let folder = results();
    let out = folder.path().join("out");
    let seed = out.join("seed1");
    for (file, columns) in [
        ("queues.parquet", QUEUE_COLUMNS),
        ("flows.parquet", FLOW_COLUMNS),
    ] {
        let reader = SerializedFileReader::new(fs::File::open(seed.join(file)).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        let in_file: Vec<&str> = metadata
            .schema_descr()
            .columns()
            .iter()
            .map(|column| column.name())
            .collect();
        let in_page = data.lines();
        let in_page: Vec<&str> = in_page
            .filter_map(|line| line.strip_prefix(&format!("{file},"))?.split(',').next())
            .collect();
        assert_eq!(in_file, in_page, "{file}");
        for column in columns {
            let key = format!("column.{}", column.name);
            let notes = metadata.key_value_metadata().unwrap();
            let note = notes
                .iter()
                .find(|note| note.key == key)
                .unwrap()
                .value
                .as_ref()
                .unwrap();
            assert!(
                note.starts_with(column.unit) && note.ends_with(column.meaning),
                "{note}"
            );
            // A unit in the name is the unit.
            let unit = ["_ns", "_bytes", "_bps"]
                .into_iter()
                .zip(["ns", "bytes", "bit/s"])
                .find(|(end, _)| column.name.ends_with(end));
            assert!(
                unit.is_none_or(|(_, unit)| unit == column.unit),
                "{}",
                column.name
            );
        }
    }
    let facts = json(&seed.join("run.json"));
    assert_eq!(names(&facts), listed(FACTS, ""));
    assert_eq!(
        names(&facts["controls"][0]),
        listed(CONTROLS, "controls[].")
    );
    let guest = GuestFacts {
        name: String::new(),
        source: String::new(),
        config_hash: String::new(),
        memory_bytes: 0,
        day: String::new(),
        host_kernel: String::new(),
        host_kernel_hz: None,
    };
    assert_eq!(
        names(&serde_json::to_value(guest).unwrap()),
        listed(GUEST, "guest.")
    );
    let histograms = json(&seed.join("histograms.json"));
    assert_eq!(
        names(&histograms["queues"][0]),
        listed(HISTOGRAM_KEYS, "queues[].")
    );
    assert_eq!(
        names(&histograms["groups"][0]),
        listed(HISTOGRAM_KEYS, "groups[].")
    );
    let pairs = histograms["queues"][0]["delay_ns"].as_array().unwrap();
    let pairs: Vec<(u64, u64)> = pairs
        .iter()
        .map(|pair| serde_json::from_value(pair.clone()).unwrap())
        .collect();
    assert!(pairs.is_sorted_by(|one, next| one.0 < next.0));
    let summary = json(&seed.join("summary.json"));
    let packets: u64 = pairs.iter().map(|pair| pair.1).sum();
    assert_eq!(summary["queues"][0]["packets"], packets);

    let mut expected = names(&summary);
    expected.remove("seed");
    expected.insert("seeds".to_owned());
    let aggregate = json(&out.join("aggregate.json"));
    assert_eq!(names(&aggregate), expected);
    let estimate = &aggregate["groups"][0]["goodput_bps"][0];
    assert_eq!(
        names(estimate),
        ["mean", "n", "standard_error"].map(str::to_owned).into()
    );
}

#[test]
fn the_time_of_a_row_is_the_end_of_its_interval() {
    let folder = results();
    let rows = read(&folder.path().join("out/seed1/queues.parquet"));
    let number = |row: &[(String, Field)], name: &str| match row.iter().find(|cell| cell.0 == name)
    {
        Some((_, Field::Long(number))) => *number,
        other => panic!("{other:?}"),
    };
    let queue = |row: &[(String, Field)]| format!("{} {}", row[3].1, row[4].1);
    let of_one: Vec<_> = rows
        .iter()
        .filter(|row| queue(row) == queue(&rows[0]))
        .collect();
    let mut end = 0;
    for row in of_one {
        assert_eq!(number(row, "time_ns") - number(row, "length_ns"), end);
        end = number(row, "time_ns");
    }
    assert_eq!(end, 4_000_000_000);
}

#[test]
fn summaries_of_every_application_fit_their_schema() {
    let schema = summary_schema();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let folder = results();
    for seed in ["seed1", "seed2"] {
        let summary = json(&folder.path().join("out").join(seed).join("summary.json"));
        let errors: Vec<String> = validator
            .iter_errors(&summary)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        let kinds = summary["groups"].as_array().unwrap().iter();
        let kinds: BTreeSet<&str> = kinds
            .map(|group| group["app"]["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["bulk", "cbr", "on-off", "transfer"].into());
        assert!(summary["phases"].as_array().unwrap().len() > 1);
        // It is strict: a key that nobody described does not fit.
        for pointer in ["", "/link", "/queues/0", "/groups/0", "/groups/0/app"] {
            let mut odd = summary.clone();
            odd.pointer_mut(pointer).unwrap()["odd"] = 1.into();
            assert!(!validator.is_valid(&odd), "{pointer}");
        }
    }
}
