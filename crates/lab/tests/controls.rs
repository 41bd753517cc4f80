//! Each option of each congestion control changes what a simulated run measures.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_lab::live::{Listener, Row};
use quell_lab::scenario::Scenario;
use quell_lab::sim;
use quell_tcp::cc::KINDS;
use quell_units::Time;
use quell_units::parameter::Domain;

struct Deaf;

impl Listener for Deaf {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that is measured of flows that fill a queue which drops, or marks for a scalable control. One base RTT is
/// long enough for the cubic to matter, the other short enough for Reno's line beside it.
fn measured(control: &str, options: &str) -> String {
    let queue = match control {
        "dctcp" => "kind = \"dualpi2\"",
        _ => "kind = \"fifo\", limit = \"30ms\"",
    };
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
    let result = sim::run(&scenario, 1, &AtomicBool::new(false), &mut Deaf).unwrap();
    serde_json::to_string(&result.summary).unwrap()
}

/// A value of the option that is not its default in any variant.
fn other_value(name: &str) -> &'static str {
    match name {
        "beta" => "0.5",
        "shift_g" => "1",
        "alpha_on_init" => "0",
        "growth" => "\"acks\"",
        "feedback" => "\"accecn\"",
        _ => panic!("give {name} a value here"),
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
            let before = measured(kind.name, &chosen);
            for row in kind.parameters.iter().filter(|row| row.name != "variant") {
                let run =
                    |value: &str| measured(kind.name, &format!("{chosen}, {} = {value}", row.name));
                let differs = match row.domain {
                    Domain::Flag => run("true") != run("false"),
                    _ => run(other_value(row.name)) != before,
                };
                assert!(
                    differs,
                    "{} {variant}: {} does nothing",
                    kind.name, row.name
                );
            }
            assert!(!plain.contains(&before), "{} {variant}", kind.name);
            plain.push(before);
        }
    }
}
