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
    let queue = match kind.scalable {
        true => "kind = \"dualpi2\"",
        false => "kind = \"fifo\", limit = \"30ms\"",
    };
    let control = kind.name;
    let group = |name: &str, rtt: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\ncount = 2\nrtt = \"{rtt}\"\napp = {{ kind = \"bulk\" }}\n\
             congestion-control = {{ name = \"{control}\"{options} }}\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"options\"\n[link]\nrate = \"20mbit\"\nqueue = {{ {queue} }}\n\
         {}{}[run]\nduration = \"40s\"\n",
        group("a", "60ms"),
        group("b", "5ms")
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
                let other = other_value(row, settings.value(row.name));
                let after = measured(kind, &format!("{chosen}, {} = {other}", row.name));
                assert!(
                    after != before,
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
