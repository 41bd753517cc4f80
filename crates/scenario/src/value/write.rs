//! Functions and values as TOML, with every default explicit.

use std::fmt::Write as _;

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

impl Field for FunctionSpec {
    fn written(&self) -> Option<Written> {
        Some(Written::alike(quoted(&self.name)))
    }
}

// Written each under a heading of its own.
impl Field for Vec<FunctionSpec> {}

/// The key `value` of a group.
impl Field for Option<ValueSpec> {
    fn written(&self) -> Option<Written> {
        Some(Written::alike(group(self.as_ref())))
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
