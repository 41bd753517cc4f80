//! The JSON Schema of `summary.json` (draft 2020-12): every key with its meaning and unit.
//!
//! Strict, so that a test of any world finds a key that is not described. Descriptions are also those of `docs/reference/files.md`.

use quell_app::{FormInfo, KINDS, Quantity};
use serde_json::{Map, Value, json};

/// A key of an object.
struct Key {
    name: &'static str,
    schema: Value,
    /// Only some runs have it.
    optional: bool,
}

fn key(name: &'static str, description: &str, mut schema: Value) -> Key {
    schema["description"] = description.into();
    Key {
        name,
        schema,
        optional: false,
    }
}

impl Key {
    fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

fn object(keys: impl IntoIterator<Item = Key>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for key in keys {
        if !key.optional {
            required.push(key.name);
        }
        properties.insert(key.name.to_owned(), key.schema);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn number() -> Value {
    json!({ "type": "number" })
}
fn ratio() -> Value {
    json!({ "type": "number", "minimum": 0 })
}
fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}
fn string() -> Value {
    json!({ "type": "string" })
}
fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}
fn or_null(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    schema
}
fn by_reason() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } })
}
fn dist() -> Value {
    or_null(json!({ "$ref": "#/$defs/dist" }))
}

/// The schema.
pub fn summary_schema() -> Value {
    let mut root = object(
        [
            key("schema", "version of the format", json!({ "const": quell_measure::summary::SCHEMA })),
            key("scenario", "name of the scenario", string()),
            key("world", "`sim`, `virtual` or `live`", json!({ "enum": ["sim", "virtual", "live"] })),
            key("seed", "seed of all random choices", count()),
            key("duration_s", "s; length of the run, with its warm-up", number()),
            key("warmup_s", "s; length of the warm-up", number()),
            key("partial", "whether the run ended early", json!({ "type": "boolean" })),
            key("warnings", "reasons to doubt the result", list(string())),
        ]
        .into_iter()
        .chain(figures())
        .chain([key(
            "phases",
            "the same figures for each phase between changes of the scenario; empty without changes",
            list(json!({ "$ref": "#/$defs/phase" })),
        )]),
    );
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("quell summary");
    root["$defs"] = json!({
        "phase": object([
            key("start_s", "s; start of the measurement, after the settling time", number()),
            key("end_s", "s; end: the next change, or the end of the run", number()),
        ].into_iter().chain(figures())),
        "link": link(),
        "named_link": named_link(),
        "queue": queue(),
        "fairness": fairness(),
        "group": group(),
        "dist": object(percentiles()),
        "app": { "anyOf": apps() },
    });
    root
}

fn figures() -> [Key; 6] {
    [
        key(
            "link",
            "the bottleneck; of several links the first one, with the losses of all",
            json!({ "$ref": "#/$defs/link" }),
        ),
        key(
            "links",
            "every link, only where there are several, in the order of the scenario",
            list(json!({ "$ref": "#/$defs/named_link" })),
        )
        .optional(),
        key(
            "queues",
            "every queue, link by link: first the forward direction, then the reverse one",
            list(json!({ "$ref": "#/$defs/queue" })),
        ),
        key(
            "groups",
            "every group, in the order of the scenario",
            list(json!({ "$ref": "#/$defs/group" })),
        ),
        key(
            "jain",
            "Jain's fairness index over all `bulk` flows; null where there is nothing to share, or where they do not all cross the same links in the same direction",
            or_null(ratio()),
        ),
        key(
            "fairness",
            "the same for each direction of each link that `bulk` flows cross; absent where they all cross the only link forward",
            list(json!({ "$ref": "#/$defs/fairness" })),
        )
        .optional(),
    ]
}

/// How evenly a direction of a link was shared.
fn fairness() -> Value {
    object([
        key(
            "hop",
            "name of the link; `link` if there is only one",
            string(),
        ),
        key(
            "direction",
            "direction of the data",
            json!({ "enum": ["forward", "reverse"] }),
        ),
        key("flows", "`bulk` flows whose data crosses it", count()),
        key(
            "jain",
            "Jain's fairness index over them; null where there is nothing to share",
            or_null(ratio()),
        ),
    ])
}

/// Mean, percentiles and maximum.
fn percentiles() -> impl Iterator<Item = Key> {
    [
        ("mean", "mean"),
        ("p1", "1st percentile"),
        ("p25", "25th percentile"),
        ("p50", "median"),
        ("p75", "75th percentile"),
        ("p90", "90th percentile"),
        ("p99", "99th percentile"),
        ("p999", "99.9th percentile"),
        ("max", "maximum"),
    ]
    .into_iter()
    .map(|(name, text)| key(name, text, number()))
}

fn link() -> Value {
    let late = || object(["p50", "p99", "max"].map(|name| key(name, "ms", number())));
    let slept = ["p50", "p90", "p99", "p999", "p9999", "max"].map(|name| key(name, "ms", number()));
    let slept = slept
        .into_iter()
        .chain([key("count", "number of sleeps", count())]);
    let reverse = object([
        key(
            "rate_bps",
            "bit/s; mean rate over time; null if it was unlimited for a while",
            or_null(count()),
        ),
        key(
            "utilisation",
            "share of time in which it transmitted",
            ratio(),
        ),
    ]);
    let header_values = object([
        key("written", "packets whose value was written", count()),
        key(
            "read",
            "packets that came to a link with a value in their header",
            count(),
        ),
        key(
            "not_carried",
            "packets whose header could not carry their value",
            count(),
        ),
    ]);
    object([
        key("rate_bps", "bit/s; mean rate over time; null if it was unlimited", or_null(count())),
        key("utilisation", "share of time in which the link transmitted", ratio()),
        key("lost_outside", "packets lost outside the discipline, both directions", count()),
        key("reverse", "the reverse direction, if its rate is limited", reverse).optional(),
        key("lateness_ms", "live, virtual: delay of packets beyond their computed release time", late()).optional(),
        key("reverse_lateness_ms", "the same for the reverse direction", late()).optional(),
        key("oversleep_ms", "live, virtual: time that the link's thread slept beyond the requested time", object(slept)).optional(),
        key("cpu_share", "live, virtual: share of a processor that the link's thread used", number()).optional(),
        key("looks_ahead", "live, virtual: whether the kernel releases packets by its own timer, so that the link's thread can hand them over early", json!({ "type": "boolean" })).optional(),
        key("wakeups", "live, virtual: number of wake-ups of the link's thread", count()).optional(),
        key("bypassed", "live, virtual: frames that bypassed the queue because they are not IP packets of flows", count()).optional(),
        key("unclassified", "live, virtual: packets that belong to no group", count()).optional(),
        key("header_values", "live, virtual, where links write packet values into headers: packets by what became of these, at all links and in both directions, with the warm-up", header_values).optional(),
        key("path", "only with a queue of the kernel: fate of the packets, observed from outside", observed_path()).optional(),
        key("kernel_queue", "only with a queue of the kernel: its own counters after the warm-up", kernel_queue()).optional(),
    ])
}

/// What an observer outside the queue saw.
fn observed_path() -> Value {
    let seen = object([
        key("name", "name of the group", string()),
        key("packets", "packets that came out", count()),
        key(
            "marked",
            "packets that came out with a new CE mark",
            count(),
        ),
        key("dropped", "packets that did not come out", count()),
        key(
            "delay_ms",
            "ms; from one end of the link to the other",
            dist(),
        ),
    ]);
    object([
        key("groups", "every group", list(seen)),
        key("missed", "packets that passed unobserved", count()),
        key("unknown", "packets that belong to no group", count()),
    ])
}

/// The counters of a queue of the kernel.
fn kernel_queue() -> Value {
    object([
        key("discipline", "name, as tc prints it", string()),
        key("rate_bps", "bit/s; rate of its shaper", count()),
        key("burst", "bytes; burst of its shaper", count()),
        key(
            "packets",
            "packets that it sent",
            json!({ "type": "integer" }),
        ),
        key(
            "dropped",
            "packets that it dropped",
            json!({ "type": "integer" }),
        ),
        key(
            "marked",
            "packets that it marked; null if it does not count them",
            or_null(json!({ "type": "integer" })),
        ),
    ])
}

/// One of several links.
fn named_link() -> Value {
    let reverse = object(used());
    object(
        [key("name", "name of the link", string())]
            .into_iter()
            .chain(used())
            .chain([
                key(
                    "lost_outside",
                    "packets lost outside its disciplines, both directions",
                    count(),
                ),
                key(
                    "reverse",
                    "the reverse direction, if its rate is limited or data crosses it",
                    reverse,
                )
                .optional(),
            ]),
    )
}

/// How one direction of one of several links was used.
fn used() -> [Key; 3] {
    [
        key(
            "rate_bps",
            "bit/s; mean rate over time; null if it was unlimited for a while",
            or_null(count()),
        ),
        key(
            "utilisation",
            "share of time in which it transmitted",
            ratio(),
        ),
        key(
            "bottleneck_share",
            "share of time in which packets waited for it",
            ratio(),
        ),
    ]
}

fn queue() -> Value {
    object([
        key("name", "name within the discipline", string()),
        key(
            "hop",
            "name of the link behind the queue; `link` if there is only one",
            string(),
        ),
        key(
            "direction",
            "direction of the link",
            json!({ "enum": ["forward", "reverse"] }),
        ),
        key("packets", "packets delivered", count()),
        key("bytes", "IP bytes delivered", count()),
        key("marked", "packets newly marked CE", count()),
        key("dropped", "packets dropped", count()),
        key("mark_ratio", "newly marked / delivered", number()),
        key("drop_ratio", "dropped / (delivered + dropped)", ratio()),
        key("marks", "packets newly marked, by reason", by_reason()),
        key("drops", "packets dropped, by reason", by_reason()),
        key(
            "delay_ms",
            "ms; sojourn time of delivered packets: arrival to start of transmission",
            dist(),
        ),
        key(
            "backlog_bytes",
            "bytes; backlog, weighted by time, without the packet in service",
            dist(),
        ),
    ])
}

fn group() -> Value {
    object([
        key("name", "name in the scenario", string()),
        key(
            "count",
            "flows that were alive in the measured time",
            count(),
        ),
        key(
            "congestion_control",
            "name; null without one",
            or_null(string()),
        ),
        key(
            "goodput_bps",
            "bit/s; payload to the application while the flow was alive, for each flow in the order of their start",
            list(number()),
        ),
        key(
            "alive_s",
            "s; time for which each flow was alive in the measured time",
            list(number()),
        )
        .optional(),
        key(
            "jain",
            "Jain's fairness index over the group's flows; null where there is nothing to share",
            or_null(ratio()),
        ),
        key("packets", "packets delivered", count()),
        key("marked", "packets newly marked CE", count()),
        key("dropped", "packets dropped", count()),
        key(
            "retransmitted",
            "retransmitted segments; null for programs, of whose TCP nothing is known",
            or_null(count()),
        ),
        key(
            "delay_ms",
            "ms; sojourn time of delivered packets; over several links the sum of those at each",
            dist(),
        ),
        key(
            "links",
            "the same at each link on its way, in that order; only where there are several links",
            list(group_link()),
        )
        .optional(),
        key("rtt_ms", "ms; smoothed RTT, sampled each interval", dist()),
        key(
            "app",
            "report of the application, by its kind",
            json!({ "$ref": "#/$defs/app" }),
        ),
    ])
}

/// A group at one of several links.
fn group_link() -> Value {
    object([
        key("name", "name of the link", string()),
        key("packets", "packets delivered", count()),
        key("marked", "packets newly marked CE", count()),
        key("dropped", "packets dropped", count()),
        key("delay_ms", "ms; sojourn time of delivered packets", dist()),
        key(
            "bottleneck_share",
            "share of time in which packets, of whatever group, waited for this link in the direction of the data",
            ratio(),
        ),
    ])
}

/// One for each form of report; several kinds of applications may share one, and a kind may have several.
fn apps() -> Vec<Value> {
    let kind = |kinds: &[&str]| key("kind", "kind of the application", json!({ "enum": kinds }));
    let mut forms: Vec<(FormInfo, Vec<&str>)> = Vec::new();
    for entry in KINDS {
        for form in (entry.forms)() {
            match forms.iter_mut().find(|(known, _)| *known == form) {
                Some((_, kinds)) => kinds.push(entry.name),
                None => forms.push((form, vec![entry.name])),
            }
        }
    }
    let with_figures = forms.iter().map(|(form, kinds)| {
        let figures = form.figures.iter();
        let figures =
            figures.map(|figure| key(figure.name, figure.meaning, quantity(figure.quantity)));
        object([kind(kinds)].into_iter().chain(figures))
    });
    // Where no flow of a group has reported.
    let all: Vec<&str> = KINDS.iter().map(|entry| entry.name).collect();
    let silent = [object([kind(&all)]), json!({ "type": "null" })];
    with_figures.chain(silent).collect()
}

fn quantity(quantity: Quantity) -> Value {
    match quantity {
        Quantity::Count => count(),
        Quantity::Ratio => ratio(),
        Quantity::Number => number(),
        Quantity::MaybeNumber => or_null(number()),
        Quantity::Times | Quantity::Ratios => {
            let least = key("min", "minimum", number());
            // Where few values are behind them.
            let missing = [("p99", "99th percentile"), ("p999", "99.9th percentile")];
            let missing = missing.map(|(name, text)| key(name, text, or_null(number())));
            let sure = percentiles().filter(|key| !key.name.starts_with("p99"));
            or_null(object([least].into_iter().chain(sure).chain(missing)))
        }
    }
}
