//! The JSON Schema of `card.json`.

use serde_json::{Map, Value, json};

/// The schema, as `quell schema card` prints it.
pub fn schema() -> Value {
    let text = json!({ "type": "string" });
    let maybe_text = json!({ "type": ["string", "null"] });
    let number = json!({ "type": "number" });
    let maybe_number = json!({ "type": ["number", "null"] });
    let count = json!({ "type": "integer", "minimum": 0 });
    let list = |of: &Value| json!({ "type": "array", "items": of });
    let named = |of: &Value| json!({ "type": "object", "additionalProperties": of });
    let figure = json!({ "$ref": "#/$defs/figure" });
    let point =
        json!({ "type": "array", "prefixItems": [number, number], "minItems": 2, "maxItems": 2 });
    let outcome = object(
        &[
            ("queue", &text, "the queue, by its name"),
            (
                "whole",
                &named(&figure),
                "figures of the link, forward direction; over several links of the whole way, and the use of the busiest link",
            ),
            (
                "classes",
                &list(&json!({ "$ref": "#/$defs/class" })),
                "figures of each group of flows",
            ),
            (
                "points",
                &list(&point),
                "of each seed: mean sojourn time in ms, goodput in bit/s",
            ),
            (
                "distribution",
                &json!({ "$ref": "#/$defs/distribution" }),
                "distributions, a value for each of the shares",
            ),
            (
                "warnings",
                &list(&text),
                "reasons to doubt a result, each once",
            ),
        ],
        &[
            (
                "links",
                &list(&json!({ "$ref": "#/$defs/link" })),
                "figures of each link in the direction of the data, where there are several",
            ),
            (
                "directions",
                &list(&json!({ "$ref": "#/$defs/link" })),
                "figures of each direction, forward and reverse, where both are looked at; ack_loss_ratio is of what acknowledges data of the other direction",
            ),
            (
                "phases",
                &list(&json!({ "$ref": "#/$defs/phase" })),
                "figures of the link in each phase",
            ),
            (
                "losses",
                &json!({ "$ref": "#/$defs/losses" }),
                "losses of the first seed, one by one",
            ),
        ],
    );
    let distribution = object(
        &[(
            "delay_ms",
            &list(&number),
            "sojourn times of the packets of all seeds, in ms",
        )],
        &[(
            "goodput_bps",
            &list(&number),
            "goodput of the first seed in windows of ten base RTTs, in bit/s",
        )],
    );
    let class = object(
        &[
            ("name", &text, "name of the group"),
            (
                "figures",
                &named(&figure),
                "figures of the group; those of its application begin with app.",
            ),
            (
                "points",
                &list(&point),
                "of each seed: mean sojourn time in ms, goodput of a flow in bit/s",
            ),
        ],
        &[],
    );
    let link = object(
        &[
            ("name", &text, "name of the link, or the direction"),
            ("figures", &named(&figure), "figures of the link"),
        ],
        &[],
    );
    let phase = object(
        &[
            ("start_s", &number, "start in s"),
            ("end_s", &number, "end in s"),
            ("figures", &named(&figure), "figures of the link"),
        ],
        &[],
    );
    let losses = object(
        &[
            ("dropped", &count, "packets that were dropped"),
            (
                "events",
                &count,
                "loss events: drops within one RTT, the queue included",
            ),
            (
                "synchronisation",
                &maybe_number,
                "mean share of the flows that lose in an event",
            ),
            (
                "gap_mean_ms",
                &maybe_number,
                "mean time between two losses in ms",
            ),
            ("gap_p50_ms", &maybe_number, "median of the same"),
            ("gap_p99_ms", &maybe_number, "99th percentile of the same"),
        ],
        &[],
    );
    let figure_of = object(
        &[
            ("mean", &number, "mean over the seeds that have the figure"),
            (
                "half",
                &maybe_number,
                "half of the 95 % interval; null of a single seed",
            ),
            ("n", &count, "seeds that have the figure"),
        ],
        &[(
            "beside",
            &json!({ "enum": ["higher", "lower"] }),
            "the interval lies above or below that of drop-tail",
        )],
    );
    let queue = object(
        &[
            ("name", &text, "as it was asked for"),
            ("spec", &text, "with the buffer of the card"),
            ("summary", &text, "what it is"),
            ("source", &text, "where the algorithm is defined"),
            ("note", &maybe_text, "what of the buffer is different"),
        ],
        &[],
    );
    let scenario = object(
        &[
            ("id", &text, "its name"),
            (
                "control",
                &maybe_text,
                "congestion control of standard flows, where there are several",
            ),
            ("source", &text, "where it comes from"),
            ("weight", &text, "must, should, may …"),
            ("title", &text, "what it is"),
            (
                "results",
                &list(&json!({ "$ref": "#/$defs/outcome" })),
                "in the order of the queues",
            ),
        ],
        &[],
    );
    let verdict = object(
        &[
            ("scenario", &text, "the scenario"),
            (
                "control",
                &maybe_text,
                "congestion control of standard flows, where there are several",
            ),
            ("queue", &text, "the queue, by its name"),
            ("what", &text, "what is judged, in words"),
            ("source", &text, "whose threshold it is"),
            ("found", &figure, "the figure"),
            ("threshold", &number, "the threshold"),
            ("unit", &text, "its unit; empty of a ratio"),
            (
                "at_most",
                &json!({ "type": "boolean" }),
                "the figure is to be at most the threshold; else at least",
            ),
            (
                "ending",
                &json!({ "enum": ["met", "missed", "open", "implied"] }),
                "open: the threshold lies within the interval; implied: the queue's own limit is below it, so it cannot be missed",
            ),
        ],
        &[],
    );
    let sensitivity = object(
        &[
            (
                "parameter",
                &maybe_text,
                "the parameter; null of the queue as it is",
            ),
            (
                "value",
                &maybe_text,
                "its value, and whether it is half or double",
            ),
            ("figures", &named(&figure), "figures of the link"),
        ],
        &[],
    );
    let not_run = object(
        &[
            ("id", &text, "its name"),
            ("title", &text, "what it is"),
            ("source", &text, "where it comes from"),
            ("why", &text, "what is missing"),
        ],
        &[],
    );
    let path = object(
        &[
            ("name", &text, "name of the profile"),
            ("rate_bps", &count, "rate of the bottleneck in bit/s"),
            ("rtt_ms", &number, "base RTT in ms"),
            ("measured_s", &number, "what is measured of a run, in s"),
            ("warmup_s", &number, "what precedes it, in s"),
            (
                "buffer_packets",
                &count,
                "what every queue may hold: one bandwidth-delay product",
            ),
            ("held_packets", &count, "S: what path and buffer hold"),
            (
                "flows",
                &list(&count),
                "N of mild, medium and heavy congestion",
            ),
        ],
        &[],
    );
    let mut card = object(
        &[
            ("schema", &json!({ "const": 1 }), "version of the format"),
            ("suite", &text, "name of the suite"),
            ("world", &text, "where it ran"),
            ("profile", &path, "the path"),
            ("seeds", &count, "seeds of each cell, from 1 on"),
            ("queues", &list(&queue), "the queue, drop-tail, the others"),
            (
                "shares",
                &list(&number),
                "shares of all samples, from 0 to 1: a distribution has the smallest value that so many do not exceed",
            ),
            ("scenarios", &list(&scenario), "every scenario that ran"),
            (
                "parameters",
                &list(&sensitivity),
                "parameters of the queue, halved and doubled",
            ),
            ("not_run", &list(&not_run), "what did not run"),
            (
                "verdicts",
                &list(&verdict),
                "figures against named thresholds",
            ),
            ("notes", &list(&text), "what a reader has to know"),
        ],
        &[],
    );
    card["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    card["title"] = json!("card.json of quell characterize");
    card["$defs"] = json!({ "figure": figure_of, "class": class, "link": link, "distribution": distribution, "phase": phase, "losses": losses, "outcome": outcome });
    card
}

/// A key, what it may hold, and what it means.
type Key<'a> = (&'a str, &'a Value, &'a str);

/// An object with these keys and no others; the first ones are always there.
fn object(always: &[Key<'_>], sometimes: &[Key<'_>]) -> Value {
    let mut properties = Map::new();
    for (name, of, meaning) in always.iter().chain(sometimes) {
        let mut of = (*of).clone();
        of["description"] = json!(meaning);
        properties.insert((*name).to_owned(), of);
    }
    let required: Vec<&str> = always.iter().map(|(name, ..)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_one() {
        let schema = super::schema();
        assert!(jsonschema::meta::is_valid(&schema));
        // A key that is not there is refused, as is one too many.
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(!validator.is_valid(&serde_json::json!({})));
    }
}
