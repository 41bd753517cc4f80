//! Each option of each congestion control changes what a simulated run measures.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_scenario::Scenario;
use quell_scenario::sim;
use quell_tcp::cc::{ControlKind, KINDS};
use quell_units::parameter::{Domain, Parameter, Settings, Value};

/// Everything that is measured of flows that fill a queue which drops, or marks for a scalable control. One base RTT is
/// long enough for the cubic to matter, the other short enough for W_est.
fn measured(kind: &ControlKind, options: &str) -> String {
    let control = kind.name;
    let (rate, queue, duration) = match control {
        // Windows beyond Reno's, and a queue in which the delay-based part shrinks.
        "compound" => ("100mbit", "kind = \"fifo\", limit = \"10ms\"", "40s"),
        // Longer than a minute, of which it keeps the lowest delay.
        "ledbat" => ("20mbit", "kind = \"fifo\", limit = \"30ms\"", "150s"),
        // A queue shorter than the target, in which alone the transition counts.
        "prague" if options.contains("0.6") => ("20mbit", "kind = \"dualpi2\"", "40s"),
        // Marks at random, so that the first one may share an ACK with a segment without one.
        "prague" => (
            "20mbit",
            "kind = \"red\", ecn = true, limit = \"60ms\"",
            "40s",
        ),
        // It marks if the control asks for that, and drops if not.
        _ if kind.parameters.iter().any(|row| row.name == "ecn") => (
            "20mbit",
            "kind = \"red\", ecn = true, limit = \"60ms\"",
            "40s",
        ),
        _ if kind.scalable => ("20mbit", "kind = \"dualpi2\"", "40s"),
        _ => ("20mbit", "kind = \"fifo\", limit = \"30ms\"", "40s"),
    };
    // Prague's first mark matters in slow start, and after the first segments, which are acknowledged one by one; and the rate leads where
    // windows are small.
    let (count, start) = match control {
        "prague" => (6, "10s"),
        _ => (2, "0s"),
    };
    let group = |name: &str, rtt: &str, start: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\ncount = {count}\nrtt = \"{rtt}\"\nstart = \"{start}\"\napp = {{ kind = \"bulk\" }}\n\
             congestion-control = {{ name = \"{control}\"{options} }}\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"options\"\n[link]\nrate = \"{rate}\"\nqueue = {{ {queue} }}\n\
         {}{}[run]\nduration = \"{duration}\"\n",
        group("a", "60ms", "0s"),
        group("b", "5ms", start)
    );
    let scenario = Scenario::parse(&text).unwrap();
    let result = sim::run(&scenario, 1, &AtomicBool::new(false), &mut ()).unwrap();
    serde_json::to_string(&result.summary).unwrap()
}

/// Another value of an option than this.
fn other_value(row: &Parameter, than: Option<Value>) -> String {
    let other = |choices: &[Value]| {
        let found = choices.iter().find(|choice| Some(**choice) != than);
        found.expect("a second value").to_string()
    };
    match row.domain {
        Domain::Flag => other(&[Value::Flag(true), Value::Flag(false)]),
        Domain::Integer(low, high) => other(&[Value::Integer(low), Value::Integer(high)]),
        Domain::Packets(low, high) => {
            let ends = [Value::Packets(low), Value::Packets(high)];
            // No flow here ever gets near the lowest gamma.
            let choices = match row.name {
                "gamma_low" => [ends[1], ends[0]],
                _ => ends,
            };
            format!("\"{}\"", other(&choices))
        }
        Domain::Time(low, high) => {
            format!("\"{}\"", other(&[Value::Time(high), Value::Time(low)]))
        }
        Domain::Fraction(low, high, of) => {
            let middle = low + (high - low) / 2;
            other(&[Value::Fraction(middle, of), Value::Fraction(low, of)])
        }
        Domain::Word(words) => {
            let choices: Vec<Value> = words.iter().map(|word| Value::Word(word)).collect();
            format!("\"{}\"", other(&choices))
        }
        _ => panic!("{}: choose a value here", row.name),
    }
}

/// What must be set besides, so that this option counts; `None` if this variant does not have it.
fn needed(kind: &ControlKind, variant: &str, row: &Parameter) -> Option<String> {
    let Some((other, value)) = row.only else {
        return Some(String::new());
    };
    if other == "variant" {
        return (value == variant).then(String::new);
    }
    let switch = kind.parameters.iter().find(|row| row.name == other)?;
    let before = needed(kind, variant, switch)?;
    // Marks count at any RTT.
    let at_any_rtt = match (other, row.name) {
        ("ecn", name) if name != "ecn_max_rtt" => ", ecn_max_rtt = \"0s\"",
        _ => "",
    };
    Some(format!("{before}, {other} = {value}{at_any_rtt}"))
}

#[test]
fn each_option_of_each_control_changes_the_run() {
    for kind in KINDS {
        let variants: &[&str] = match kind.parameters.iter().find(|row| row.name == "variant") {
            Some(row) => match row.domain {
                Domain::Word(words) => words,
                _ => panic!("variants are words"),
            },
            None => &[""],
        };
        let mut plain: Vec<String> = Vec::new();
        for variant in variants {
            let chosen = match *variant {
                "" => String::new(),
                variant => format!(", variant = \"{variant}\""),
            };
            let before = measured(kind, &chosen);
            let mut settings = Settings::new(kind.parameters);
            if !variant.is_empty() {
                settings.set("variant", variant).unwrap();
            }
            for row in kind.parameters.iter().filter(|row| row.name != "variant") {
                let Some(needed) = needed(kind, variant, row) else {
                    continue;
                };
                let chosen = format!("{chosen}{needed}");
                let other = other_value(row, settings.value(row.name));
                let after = measured(kind, &format!("{chosen}, {} = {other}", row.name));
                let without = match needed.as_str() {
                    "" => before.clone(),
                    _ => measured(kind, &chosen),
                };
                assert!(
                    after != without,
                    "{} {variant}: {} does nothing",
                    kind.name,
                    row.name
                );
            }
            assert!(!plain.contains(&before), "{} {variant}", kind.name);
            plain.push(before);
        }
    }
}
