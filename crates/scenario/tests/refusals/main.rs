//! Wrong scenarios and the exact words in which they are refused.
//!
//! Each case changes one good scenario by replacing some text, so that line numbers are those of [`GOOD`].
#![allow(clippy::unwrap_used)]

mod arguments;
mod guesses;
mod limits;
mod mistakes;
mod senders;
mod thresholds;
mod values;

use quell_scenario::World;
use quell_scenario::{Origin, Override, Scenario};

const GOOD: &str = r#"schema = 1
name = "good"
[link]
rate = "40mbit"
[link.queue]
kind = "fifo"
limit = "100ms"
[[group]]
name = "a"
count = 2
congestion-control = "dctcp"
rtt = "7ms"
app = { kind = "bulk" }
[[group]]
name = "voice"
rtt = "7ms"
app = { kind = "cbr", size = "186B", interval = "20ms" }
[[at]]
time = "5s"
set = { "link.rate" = "20mbit" }
[run]
duration = "10s"
"#;

/// The names of quell's own controls, as messages list them.
fn controls() -> String {
    let names: Vec<&str> = quell_tcp::cc::KINDS.iter().map(|kind| kind.name).collect();
    names.join(", ")
}

fn refusal(text: &str) -> String {
    match Scenario::load("f.toml", text, &[], Some(World::Live)) {
        Ok(_) => "accepted".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

/// What the simulator says of [`GOOD`] with some text replaced.
fn simulated(changes: &[(&str, &str)]) -> String {
    let mut text = GOOD.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    match Scenario::load("f.toml", &text, &[], Some(World::Sim)) {
        Ok(_) => "accepted".to_owned(),
        Err(problems) => problems.to_string(),
    }
}
