//! Experiment files: any text is read or refused, its runs are planned, and what it says of results is evaluated or refused.

#![no_main]

use quell_experiment::{Experiment, Findings};
use quell_lab::sweep::Stored;

/// What lies beside the experiment.
const ROWS: &str = "rtt,name,known\n5,a,1.5\n77,\"b, c\",\n";
const SCENARIO: &str = "schema = 1\n";
const OTHER: &str = "schema = 1\nscenario = \"s.toml\"\n[axis.flows]\nvalues = [1, 2]\n[figure]\nratio = \"run.a / run.b\"\n";

/// A result that has what columns look for, and one that lacks most of it.
const RESULTS: [&str; 2] = [
    r#"{"a":3.5,"b":0,"length_ns":60000000000,"list":[1,2,5,1e308],"link":{"utilisation":0.5},
        "queues":[{"name":"q","hop":"link","direction":"forward","delay_ms":{"p99":1.5},"marks":{"step":2}}],
        "groups":[{"name":"g","goodput_bps":[1.0,3.0],"packets":4},{"name":"h","goodput_bps":[]}],
        "phases":[{"start_s":1.0,"end_s":4.0,"a":1,"groups":[{"name":"g","packets":2}]},{"start_s":4.0,"end_s":5.0,"a":2}]}"#,
    r#"{"a":null,"groups":[{"name":"g"}],"phases":[]}"#,
];

libfuzzer_sys::fuzz_target!(|text: &str| {
    let files = |name: &str| match name {
        "rows.csv" => Some(ROWS.to_owned()),
        "s.toml" => Some(SCENARIO.to_owned()),
        "other.toml" => Some(OTHER.to_owned()),
        _ => None,
    };
    let Ok(experiment) = Experiment::read("e", text, &files) else {
        return;
    };
    let results: Vec<Stored> = experiment
        .cells()
        .iter()
        .take(64)
        .enumerate()
        .map(|(number, _)| match number % 5 {
            4 => Stored::Missing,
            other => Stored::Figures(RESULTS[other % 2].to_owned()),
        })
        .collect();
    let findings = Findings::of(&experiment, &results);
    assert_eq!(findings.judged().len(), experiment.statements.len());
    let _ = findings.problems();
});
