//! The figures of a program behind a link, for expectations: those of its summary, of both directions, and of the program.

use quell_exec::Outcome;
use serde_json::{Value, json};

use crate::failure::Failure;

/// The figures, by the names that expectations have.
pub(crate) fn figures(outcome: &Outcome) -> Result<Value, Failure> {
    let mut all = serde_json::to_value(&outcome.summary).map_err(Failure::failed)?;
    for way in ["down", "up"] {
        let mut side = outcome.exec[way].clone();
        let link = match way {
            "down" => &all["link"],
            _ => &all["link"]["reverse"],
        };
        for figure in ["utilisation", "rate_bps"] {
            side[figure] = link[figure].clone();
        }
        let count = |name: &str| side[name].as_f64().unwrap_or_default();
        let lost = 100.0 * (count("dropped") + count("lost_outside")) / count("packets");
        side["lost_percent"] = json!(lost.is_finite().then_some(lost));
        all[way] = side;
    }
    all["program"] = json!({
        "exit": outcome.exec["exit_code"],
        "seconds": outcome.summary.duration_s,
    });
    Ok(all)
}
