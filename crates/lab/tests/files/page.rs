//! `docs/reference/files.md`, and `files.csv` with every key: from the tables of the files and the schema of summaries.

use quell_app::EventInfo;
use quell_lab::results::series::{ColumnInfo, EVENT_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS};
use quell_lab::results::summary_schema;
use serde_json::Value;

const HEAD: &str = "\
# Files of a result

[files.csv](files.csv) lists every key and column of the files of a result, with its unit and what it holds: `file,key,type,unit,holds`. Both are
generated from the tables of `quell-results`, and compared with the files of a run. [results.md](results.md) explains how to read the figures.

In names `_ns` means nanoseconds, `_ms` milliseconds, `_s` seconds, `_bytes` bytes, `_bps` bits per second. Bytes of packets are IP bytes.
Times count from the start of the run, in virtual time except in the live world. `run.json` has the circumstances of the run besides its
scenario: in the simulator no other file differs from run to run.
";

const SERIES: &str = "
## Series

`queues.parquet` and `flows.parquet` have a row for each queue or flow and interval.
A row covers an interval of `run.interval` (100 ms by default), and **its time is the end of the interval**. The first row of a queue
ends one interval after the start of the run; the last row of a queue or a flow may be shorter. Rows of the warm-up are included. Each
file describes its columns in its key-value metadata too (`column.NAME`).
";

const EVENTS: &str = "
## events.parquet

`events.parquet` is there if an application of the scenario records events: a row for each, in the order in which they ended at their
host; what had not ended comes last. Rows of the warm-up are included, so figures of `summary.json` are over fewer.
";

const REPAIRS: &str = "
The columns from `syn_retries` on say what TCP repaired while it carried the event, which is why it was slow. 0 is none; null is unknown,
and not carried by a TCP connection. The real worlds have what the kernel counts by connection: neither `probes` nor `recoveries`, and
`timeouts` from Linux 6.7 on.

| event | the columns count |
| --- | --- |
| item on a connection of its own | all that its connection repaired, from its SYN on |
| item on a kept connection, object, segment | what its connection repaired from its request on; the handshake belongs to the first item |
| page | what all connections of its user repaired since it began, SYNs included |
| frame of a panorama | what the connection repaired since the last byte of the frame before |

What is carried together shares these counts: a lost packet of an HTTP/2 connection is in the row of each object in flight. A time-out or a
probe of a later FIN is in the row only if it came before the row was written. What an event costs: a SYN or SYN-ACK sent again 1 s, a
time-out at least 200 ms, a probe 2 SRTT, and 200 ms more where the lost packet was alone in flight, fast recovery about an RTT.
";

const HISTOGRAMS: &str = "
## histograms.json

Over the measured time of the whole run. A distribution is a list of pairs `[value, count]` in ascending order of the value: `count`
packets had that value. A value stands for its bucket, whose width is at most 0.1 % of it; with very many groups, the buckets of groups
are wider.
";

pub(super) const HISTOGRAM_KEYS: &[(&str, &str, &str)] = &[
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

const SUMMARY: &str = "
## summary.json

`quell schema summary` prints its JSON Schema. The overall figures are over the measured time: after the warm-up. `phases[]` has the keys of
`link`, `queues`, `groups` and `jain` again. A distribution (`DISTRIBUTION` in the list) is null where there is no value. `groups[].app` depends
on the kind of the application, which stands in the column `type`.
";

pub(super) const FACTS: &[(&str, &str, &str)] = &[
    ("version", "", "version of quell"),
    (
        "build",
        "",
        "state of the repository that it was built from; `debug` of a program built without `--release`",
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
    (
        "extensions",
        "",
        "the queues and controls of other crates that the program had; empty for quell itself",
    ),
    (
        "program_sha256",
        "",
        "SHA-256 of the program, if it has extensions; else null",
    ),
];

pub(super) const CONTROLS: &[(&str, &str, &str)] = &[
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

pub(super) const GUEST: &[(&str, &str, &str)] = &[
    ("guest.name", "", "its name in the store"),
    ("guest.source", "", "its origin"),
    (
        "guest.config_hash",
        "",
        "SHA-256 of its source and configuration; empty for a kernel that was added",
    ),
    ("guest.memory_bytes", "bytes", "its memory limit"),
    (
        "guest.day",
        "",
        "the day on which its clock began, at 22:13:20 UTC",
    ),
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

/// A row of `files.csv`: file, key, type, unit, what it holds.
type Row = [String; 5];

fn row(file: &str, key: &str, kind: &str, unit: &str, holds: &str) -> Row {
    [file, key, kind, unit, holds].map(str::to_owned)
}

fn listed(file: &str, keys: &[(&str, &str, &str)]) -> Vec<Row> {
    let rows = keys.iter();
    rows.map(|(key, unit, holds)| row(file, key, "", unit, holds))
        .collect()
}

fn columns(file: &str, columns: &[ColumnInfo]) -> Vec<Row> {
    let rows = columns.iter();
    rows.map(|one| row(file, one.name, one.type_name(), one.unit, one.meaning))
        .collect()
}

/// The keys of an object of the schema, each behind `before`.
fn keys(rows: &mut Vec<Row>, before: &str, object: &Value) {
    for (name, schema) in object["properties"].as_object().unwrap() {
        let path = format!("{before}{name}");
        let meaning = schema["description"].as_str().unwrap();
        rows.push(row("summary.json", &path, "", "", meaning));
        if schema.get("properties").is_some() {
            keys(rows, &format!("{path}."), schema);
        }
        if schema["items"].get("properties").is_some() {
            keys(rows, &format!("{path}[]."), &schema["items"]);
        }
    }
}

fn summary() -> Vec<Row> {
    let schema = summary_schema();
    let mut rows = Vec::new();
    keys(&mut rows, "", &schema);
    for (name, before) in [
        ("phase", "phases[]."),
        ("link", "link."),
        ("fairness", "fairness[]."),
        ("queue", "queues[]."),
        ("group", "groups[]."),
        ("dist", "DISTRIBUTION."),
    ] {
        keys(&mut rows, before, &schema["$defs"][name]);
    }
    for app in schema["$defs"]["app"]["anyOf"].as_array().unwrap() {
        let properties = app.get("properties").and_then(Value::as_object);
        let kinds = app["properties"]["kind"]["enum"].as_array();
        let kinds = kinds.into_iter().flatten().filter_map(Value::as_str);
        let kinds: Vec<&str> = kinds.collect();
        for (name, schema) in properties.into_iter().flatten() {
            if name != "kind" {
                let key = format!("groups[].app.{name}");
                let meaning = schema["description"].as_str().unwrap();
                rows.push(row("summary.json", &key, &kinds.join(" "), "", meaning));
            }
        }
    }
    rows
}

/// The kinds of events that each application records, with what `value` holds.
fn events() -> Vec<Row> {
    let kinds = quell_app::KINDS.iter();
    let events = kinds.flat_map(|entry| entry.events.iter().map(|event| (entry.name, event)));
    let row = |(name, event): (&str, &EventInfo)| {
        let holds = format!("{}; value: {}", event.meaning, event.value);
        row("events.parquet", "kind", name, event.kind, &holds)
    };
    events.map(row).collect()
}

/// `files.csv`.
pub(super) fn data() -> String {
    let rows = [
        listed("run.json", FACTS),
        listed("run.json", CONTROLS),
        listed("run.json", GUEST),
        columns("queues.parquet", QUEUE_COLUMNS),
        columns("flows.parquet", FLOW_COLUMNS),
        columns("events.parquet", EVENT_COLUMNS),
        events(),
        listed("histograms.json", HISTOGRAM_KEYS),
        summary(),
    ];
    let mut out = String::from("file,key,type,unit,holds\n");
    for row in rows.iter().flatten() {
        let quoted = |cell: &String| match cell.contains([',', '"']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        out.push_str(&(row.each_ref().map(quoted).join(",") + "\n"));
    }
    out
}

/// `files.md`.
pub(super) fn page() -> String {
    [HEAD, SERIES, EVENTS, REPAIRS, HISTOGRAMS, SEVERAL, SUMMARY].concat()
}
