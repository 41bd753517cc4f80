//! What a page must show, natively: for each scenario a line of JSON with the hash of everything that comes out.
//!
//! ```text
//! cargo run --release -p quell-watch --example digest -- SCENARIO…
//! ```
//!
//! `web/tests/wasm.test.js` holds the WebAssembly against it. Each runs to its end, or for QUELL_SECONDS of its own time.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use quell_units::Time;
use quell_watch::{Budget, Preparation, Rows, Series, Watched};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn digest(text: &str, longest: Time) -> Value {
    let mut run = match Watched::open(
        "scenario.toml",
        text,
        &[],
        Some(1),
        Preparation::default(),
        Budget::PAGE,
    ) {
        Ok(run) => run,
        Err(refused) => return json!({ "refused": refused.to_string() }),
    };
    let about = run.about().to_string();
    let began = Instant::now();
    let mut series = Series::ALL.map(|_| Sha256::new());
    let mut take = |rows: &mut Rows| {
        for (hash, series) in series.iter_mut().zip(Series::ALL) {
            for value in rows.take(series) {
                hash.update(value.to_le_bytes());
            }
        }
    };
    // As a page does: rows are taken while the run goes on.
    let mut until = Time::ZERO;
    while !run.is_over() && until < longest {
        until += Time::from_secs(1);
        run.advance(until).unwrap();
        take(run.rows());
    }
    let events = run.events();
    let (files, mut over) = run.finish().unwrap();
    take(&mut over.rows);
    let seconds = began.elapsed().as_secs_f64();
    let series = series.map(|hash| hexadecimal(&hash.finalize()));
    json!({
        "about": hash(about.as_bytes()),
        "summary": hash(files.summary.as_bytes()),
        "histograms": hash(files.histograms.as_bytes()),
        "series": series,
        "words": over.rows.words(),
        "events": events,
        "seconds": seconds,
    })
}

fn main() {
    let seconds = std::env::var("QUELL_SECONDS").unwrap_or_default();
    let longest = seconds.parse().map_or(Time::MAX, Time::from_secs);
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        println!(
            "{}",
            json!({ "file": file, "digest": digest(&text, longest) })
        );
    }
}
