//! Applications over real TCP in virtual time, beside the simulator: the same code over modelled and real hosts.

use std::fs;

use serde_json::Value;

use crate::idle_items::{END_OF_LINUX, LAST_BYTE, SCENARIO, assert_complete, medians};
use crate::stage::Stage;

/// In ms. The closed form counts the last packet as a full one (0.07 ms for 1 kB) and is rounded to 0.1 ms.
const TOLERANCE: f64 = 0.13;

#[test]
fn items_over_an_idle_link_take_what_a_closed_form_says() {
    let Some(stage) = Stage::new("items_over_an_idle_link_take_what_a_closed_form_says") else {
        return;
    };
    fs::write(stage.path().join("items.toml"), SCENARIO).unwrap();
    for world in ["sim", "virtual"] {
        let mut command = stage.quell(&["run", "items.toml", "--json", "--world", world]);
        let output = command.args(["--out", world]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{world}: {said}");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_complete(&summary);
        let check = |figure, expected: [f64; 4]| {
            let found = medians(&summary, figure);
            let is_close = |(found, expected): (&f64, &f64)| (found - expected).abs() < TOLERANCE;
            assert!(
                found.iter().zip(&expected).all(is_close),
                "{world}, {figure}: {found:?} instead of {expected:?}"
            );
        };
        check("completion_last_byte_ms", LAST_BYTE);
        if world == "virtual" {
            check("completion_ms", END_OF_LINUX);
        }
    }
}
