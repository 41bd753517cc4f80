//! The text of `docs/reference/files.md`, from the tables of the files and the schema of summaries.

use std::fmt::Write as _;

use quell_app::EventInfo;
use quell_lab::results::series::{ColumnInfo, EVENT_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS};
use quell_lab::results::summary_schema;
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
        ("fairness", "`fairness[]`"),
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

pub(super) fn page() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n## run.json\n\nThe circumstances of the run besides its scenario. This file differs from run to run; in the simulator no other file does.\n\n");
    table(&mut out, &[FACTS, CONTROLS, GUEST].concat());
    let _ = write!(out, "\n## Series\n{SERIES}");
    columns(&mut out, "queues.parquet", QUEUE_COLUMNS);
    columns(&mut out, "flows.parquet", FLOW_COLUMNS);
    out.push_str(EVENTS);
    columns(&mut out, "events.parquet", EVENT_COLUMNS);
    out.push_str(REPAIRS);
    events(&mut out);
    out.push_str(HISTOGRAMS);
    table(&mut out, HISTOGRAM_KEYS);
    out.push_str(SEVERAL.trim_end());
    out.push('\n');
    summary(&mut out);
    out
}
