//! Whether a summary is as `quell schema summary` says.

use std::process::Command;

use serde_json::Value;

/// Every key of `summary` is described, and none is missing.
pub(crate) fn fits(summary: &Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(["schema", "summary"])
        .output()
        .unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(summary)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
