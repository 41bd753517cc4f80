//! Functions and values as TOML, with every default explicit.

use std::fmt::Write as _;

use serde_json::json;

use super::{FunctionSpec, PIECEWISE, UNMARKED, ValueSpec};
use crate::written::{Field, Written, in_toml, quoted};

/// The body of `[value.NAME]`.
pub(crate) fn function(spec: &FunctionSpec) -> String {
    let mut text = format!("kind = {}\n", quoted(spec.kind));
    let rows = spec.settings.applicable();
    for (row, value) in rows.filter_map(|(row, value)| Some((row, value?))) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} = {}", row.name, in_toml(value));
    }
    if spec.kind == PIECEWISE {
        let points = spec.points.iter();
        let points: Vec<String> = points
            .map(|point| format!("[{}, {}]", quoted(point.rate), point.value))
            .collect();
        let _ = writeln!(text, "points = [{}]", points.join(", "));
    }
    text
}

/// The key `value` of a group.
impl Field for Option<ValueSpec> {
    const BY_HAND: bool = true;
    fn written(&self) -> Option<Written> {
        let toml = group(self.as_ref());
        let json = json!(toml);
        Some(Written { toml, json })
    }
}

fn group(value: Option<&ValueSpec>) -> String {
    let Some(spec) = value else {
        return quoted(UNMARKED);
    };
    let names: Vec<String> = spec.functions.iter().map(|one| quoted(&one.name)).collect();
    let function = match names.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let mut text = format!("{{ function = {function}, marker = {}", quoted(spec.marker));
    for (row, value) in spec.explicit() {
        let _ = write!(text, ", {} = {}", row.name, in_toml(value));
    }
    text + " }"
}
