//! What pages ask of the web server: each line is a request. Any bytes are an ask or words why not; what is refused changes nothing, and
//! what was changed is a scenario that is read again.

#![no_main]

use quell_lab::Scenario;
use quell_serve::fuzz_session::Session;

/// One group of each kind that can change.
const SCENARIO: &str = r#"
schema = 1
name = "asked"
[link]
rate = "10mbit"
queue = { kind = "dualpi2" }
[[group]]
name = "a"
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "b"
rtt = "10ms"
app = { kind = "cbr", size = "200B", interval = { mean = "5ms", stddev = "1ms" } }
[run]
duration = "600s"
warmup = "0s"
"#;

libfuzzer_sys::fuzz_target!(|bodies: &[u8]| {
    let mut session = Session::open(SCENARIO).expect("the scenario is right");
    for body in bodies.split(|byte| *byte == b'\n').take(8) {
        if let Err(why) = session.ask(body) {
            assert!(!why.to_string().is_empty());
        }
    }
    let repeated = session.scenario();
    if let Err(problems) = Scenario::parse(&repeated) {
        panic!("what repeats the run is refused: {problems}\n{repeated}");
    }
});
