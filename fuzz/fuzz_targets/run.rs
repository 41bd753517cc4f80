//! Runs: bytes become a scenario of any kind; one that the checker accepts runs to its end, and its summary can be written.

#![no_main]

use std::sync::atomic::AtomicBool;

use quell_lab::{World, sim};

#[path = "../../crates/lab/tests/robustness/any/mod.rs"]
mod any;

/// What a case may cost: instrumented code does some hundred thousand events a second.
const EVENTS: u64 = 50_000;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (text, Ok(scenario)) = any::accepted(bytes, EVENTS, World::Sim) else {
        return;
    };
    let seed = scenario.run.seeds[0];
    match sim::run(&scenario, seed, &AtomicBool::new(false), &mut ()) {
        Ok(run) => assert!(!run.summary.partial, "{text}"),
        Err(error) => panic!("{error}\n{text}"),
    }
});
