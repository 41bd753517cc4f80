//! `docs/reference/files.md` says what the files of a result hold: it is compared with the files of a run, and `summary.json` with its
//! schema. With `QUELL_BLESS=1` the page is written anew.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use quell_app::EventInfo;
use quell_lab::results::facts::GuestFacts;
use quell_lab::results::series::{ColumnInfo, EVENT_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS};
use quell_lab::results::summary_schema;
use quell_lab::{Options, Scenario, Task, World, run_all};
use serde_json::Value;

const HEAD: &str = "\
# Files of a result, key by key

Generated from the tables of `quell-results`; a test compares it with the files of a run. [results.md](results.md) lists the files and
explains how to read the figures.

In names `_ns` means nanoseconds, `_ms` milliseconds, `_s` seconds, `_bytes` bytes, `_bps` bits per second. Bytes of packets are IP bytes.
Times count from the start of the run, in virtual time except in the live world.
";

const SERIES: &str = "
A row covers an interval of `run.interval` (100 ms by default), and **its time is the end of the interval**. The first row of a queue
ends one interval after the start of the run; the last row of a queue or a flow may be shorter. Rows of the warm-up are included. Each
file describes its columns in its key-value metadata too (`column.NAME`).
";

const EVENTS: &str = "
`events.parquet` is there if an application of the scenario records events: a row for each, in the order in which they ended at their
host; what had not ended comes last. Rows of the warm-up are included, so figures of `summary.json` are over fewer.
";

const HISTOGRAMS: &str = "
## histograms.json

Over the measured time of the whole run. A distribution is a list of pairs `[value, count]` in ascending order of the value: `count`
packets had that value. A value stands for its bucket, whose width is at most 0.1 % of it; with very many groups, the buckets of groups
are wider.

";

const HISTOGRAM_KEYS: &[(&str, &str, &str)] = &[
    (
        "schema",
        "",
        "version of the format, that of `summary.json`",
    ),
    (
        "queues[].name",
        "",
        "name within the discipline; in the order of `summary.json`",
    ),
    (
        "queues[].hop",
        "",
        "name of the link behind the queue; `link` if there is only one",
    ),
    ("queues[].direction", "", "`forward` or `reverse`"),
    (
        "queues[].delay_ns",
        "[ns, packets]",
        "sojourn time of each delivered packet",
    ),
    (
        "queues[].backlog_at_dequeue_bytes",
        "[bytes, packets]",
        "backlog of its queue after each delivered packet",
    ),
    ("groups[].name", "", "name in the scenario, in its order"),
    (
        "groups[].delay_ns",
        "[ns, packets]",
        "sojourn time of each delivered packet of the group",
    ),
];

const SEVERAL: &str = "
## seedN/ and aggregate.json

With several seeds the folder holds `seed1/`, `seed2/` … (by the seed's number), each of them a result as described here, and
`aggregate.json`. That has the keys of `summary.json`, with these differences:

* `seeds`, a list, replaces `seed`; `duration_s` is that of the longest run; `warnings` are those of all runs, each once; `partial` is
  true if a run was partial or a seed is missing.
* Each measured number is an object: `mean` over the runs that have the figure, `standard_error` of that mean (sample standard deviation /
  √n; null for one run), and `n`, the number of runs that have it. Lists of numbers, such as `goodput_bps`, are matched by position.
* Other values are kept if all runs agree, and are null if they do not; so are lists of different lengths.

";

const FACTS: &[(&str, &str, &str)] = &[
    ("version", "", "version of quell"),
    (
        "build",
        "",
        "state of the repository that it was built from",
    ),
    ("host", "", "name of the machine"),
    (
        "kernel",
        "",
        "release of the kernel whose TCP ran: the guest's in the virtual world, else the machine's",
    ),
    (
        "kernel_hz",
        "Hz",
        "timer ticks of that kernel (`CONFIG_HZ`); null where it does not say. Delayed ACKs and time-outs end at a tick",
    ),
    ("machine", "", "architecture of the machine"),
    ("cpus", "", "processors that the run could use"),
    ("world", "", "`sim`, `virtual` or `live`"),
    ("seed", "", "seed of all random choices"),
    (
        "command",
        "",
        "the command line: the program and its arguments as given",
    ),
    (
        "environment",
        "",
        "environment variables that quell reads: `QUELL_…` (except those that look like a secret), `HOME`, `TMPDIR`, `XDG_CACHE_HOME`",
    ),
    ("started", "", "start of the run, UTC (ISO 8601)"),
    ("wall_s", "s", "wall-clock time of the run"),
    (
        "cpu_s",
        "s",
        "processor time, user and system. Simulator: of the run's thread; virtual world: of that thread and the guest (to 10 ms); live world: of the process",
    ),
    (
        "peak_memory_bytes",
        "bytes",
        "peak resident memory of the process; in the virtual world, plus the peak of the guest. With parallel runs the process's part covers all of them",
    ),
    (
        "packets",
        "packets",
        "simulator: packets delivered by the forward queue, warm-up included; else null",
    ),
    (
        "events",
        "",
        "simulator: iterations of its event loop; else null",
    ),
    (
        "controls",
        "",
        "the congestion control of each group that has one, in their order",
    ),
    ("guest", "", "virtual world: the kernel inside; else null"),
];

const CONTROLS: &[(&str, &str, &str)] = &[
    ("controls[].group", "", "name of the group"),
    (
        "controls[].control",
        "",
        "name of the control in the scenario",
    ),
    (
        "controls[].variant",
        "",
        "which of several published forms it is; null where there is one only, or where it is not known",
    ),
    ("controls[].carrier", "", "`model`, `kernel` or `bpf`"),
    (
        "controls[].feedback",
        "",
        "what its connections agreed on for marks: `off`, `classic` (RFC 3168), `dctcp` (RFC 8257) or `accecn` (RFC 9768); more than one where they differ",
    ),
    (
        "controls[].reported_ce",
        "packets",
        "live and virtual world: packets that the senders know to be marked, warm-up included; else null",
    ),
    (
        "controls[].approximations",
        "",
        "what stands in for data that the carrier does not have",
    ),
];

const GUEST: &[(&str, &str, &str)] = &[
    ("guest.name", "", "its name in the store"),
    ("guest.source", "", "its origin"),
    (
        "guest.config_hash",
        "",
        "SHA-256 of its source and configuration; empty for a kernel that was added",
    ),
    ("guest.memory_bytes", "bytes", "its memory limit"),
    (
        "guest.host_kernel",
        "",
        "release of the machine's own kernel",
    ),
    (
        "guest.host_kernel_hz",
        "Hz",
        "timer ticks of the machine's own kernel; null where it does not say",
    ),
];

fn table(out: &mut String, rows: &[(&str, &str, &str)]) {
    out.push_str("| key | unit | holds |\n| --- | --- | --- |\n");
    for (key, unit, meaning) in rows {
        let _ = writeln!(out, "| `{key}` | {unit} | {meaning} |");
    }
}

fn columns(out: &mut String, file: &str, columns: &[ColumnInfo]) {
    let _ = write!(
        out,
        "\n### {file}\n\n| column | type | unit | holds |\n| --- | --- | --- | --- |\n"
    );
    for column in columns {
        let (name, unit, kind) = (column.name, column.unit, column.type_name());
        let _ = writeln!(out, "| `{name}` | {kind} | {unit} | {} |", column.meaning);
    }
}

/// Rows for the keys of an object of the schema.
fn keys(out: &mut String, title: &str, object: &Value) {
    if !title.is_empty() {
        let _ = write!(out, "\n{title}\n\n");
    }
    out.push_str("| key | holds |\n| --- | --- |\n");
    rows(out, "", object);
}

fn rows(out: &mut String, before: &str, object: &Value) {
    for (name, schema) in object["properties"].as_object().unwrap() {
        let path = format!("{before}{name}");
        let meaning = schema["description"].as_str().unwrap();
        let _ = writeln!(out, "| `{path}` | {} |", meaning.replace('|', "\\|"));
        if schema.get("properties").is_some() {
            rows(out, &format!("{path}."), schema);
        }
        if schema["items"].get("properties").is_some() {
            rows(out, &format!("{path}[]."), &schema["items"]);
        }
    }
}

fn summary(out: &mut String) {
    let schema = summary_schema();
    out.push_str("\n## summary.json\n\n`quell schema summary` prints its JSON Schema. The overall figures are over the measured time: after the warm-up.\n\n");
    keys(out, "", &schema);
    for (name, title) in [
        (
            "phase",
            "`phases[]`; with `link`, `queues`, `groups` and `jain` as above",
        ),
        ("link", "`link`"),
        ("queue", "`queues[]`"),
        ("group", "`groups[]`"),
        ("dist", "a distribution; null where there is no value"),
    ] {
        keys(out, title, &schema["$defs"][name]);
    }
    out.push_str("\n`groups[].app` of each kind of application:\n\n| kind | key | holds |\n| --- | --- | --- |\n");
    for app in schema["$defs"]["app"]["anyOf"].as_array().unwrap() {
        let properties = app.get("properties").and_then(Value::as_object);
        let kinds: Vec<&str> = app["properties"]["kind"]["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, schema) in properties.into_iter().flatten() {
            if name != "kind" {
                let meaning = schema["description"].as_str().unwrap();
                let _ = writeln!(out, "| {} | `{name}` | {meaning} |", kinds.join(", "));
            }
        }
    }
}

/// What each kind of application records.
fn events(out: &mut String) {
    let kinds = quell_app::KINDS.iter();
    let mut events = kinds
        .flat_map(|entry| entry.events.iter().map(|event| (entry.name, event)))
        .peekable();
    if events.peek().is_none() {
        return;
    }
    out.push_str("\n| application | kind | an event | `value` |\n| --- | --- | --- | --- |\n");
    for (name, event) in events {
        let EventInfo {
            kind,
            meaning,
            value,
        } = event;
        let _ = writeln!(out, "| {name} | `{kind}` | {meaning} | {value} |");
    }
}

fn page() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n## run.json\n\nThe circumstances of the run besides its scenario. This file differs from run to run; in the simulator no other file does.\n\n");
    table(&mut out, &[FACTS, CONTROLS, GUEST].concat());
    let _ = write!(out, "\n## Series\n{SERIES}");
    columns(&mut out, "queues.parquet", QUEUE_COLUMNS);
    columns(&mut out, "flows.parquet", FLOW_COLUMNS);
    out.push_str(EVENTS);
    columns(&mut out, "events.parquet", EVENT_COLUMNS);
    events(&mut out);
    out.push_str(HISTOGRAMS);
    table(&mut out, HISTOGRAM_KEYS);
    out.push_str(SEVERAL.trim_end());
    out.push('\n');
    summary(&mut out);
    out
}

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
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/files.md");
    let page = page();
    if std::env::var_os("QUELL_BLESS").is_some() {
        fs::write(&docs, &page).unwrap();
    }
    let found = fs::read_to_string(&docs).unwrap_or_default();
    assert!(
        found == page,
        "docs/reference/files.md is not current: QUELL_BLESS=1 cargo test -p quell-lab --test files"
    );

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
        let in_page = page.split(&format!("### {file}\n")).nth(1).unwrap();
        let in_page = in_page
            .split("\n#")
            .next()
            .unwrap()
            .lines()
            .filter_map(|line| line.strip_prefix("| `"));
        let in_page: Vec<&str> = in_page
            .map(|line| line.split('`').next().unwrap())
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
