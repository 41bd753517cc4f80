//! How a value is written: in the notation of scenario files.

use std::fmt::Display;

use quell_app::Distribution;
use quell_units::Sizes;
use quell_units::parameter::Value;

pub(crate) fn in_toml(value: Value) -> String {
    match value {
        Value::Integer(_)
        | Value::Fraction(..)
        | Value::Flag(_)
        | Value::Interval(_)
        | Value::Rates(_)
        | Value::CommandLine(_) => value.to_string(),
        Value::Period(period) if period.distribution != Distribution::Fixed => period.to_string(),
        Value::Sizes(sizes) if !matches!(sizes, Sizes::Fixed(_)) => sizes.to_string(),
        _ => quoted(value),
    }
}

pub(crate) fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}
