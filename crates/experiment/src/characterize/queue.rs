//! Queues as they are written, `KIND[:KEY=VALUE,…]`, and their parameters.

use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_units::parameter::Value;
use quell_units::{Bytes, Frequency, Rate, Settings, Time};

use crate::characterize::error::Error;

/// The value of the parameter `target`, where a queue has one.
pub(crate) fn target(spec: &str) -> Option<Value> {
    settings(spec).ok()?.applicable_value("target")
}

/// The parameters of a queue that are numbers, with their values; without the limits of its buffer.
pub(crate) fn numbers(spec: &str) -> Result<Vec<(&'static str, Value)>, Error> {
    let settings = settings(spec)?;
    let all = settings.applicable();
    let all = all.filter(|(parameter, _)| !parameter.name.contains("limit"));
    Ok(all
        .filter_map(|(parameter, value)| Some((parameter.name, value?)))
        .filter(|(_, value)| scaled(*value, 2, 1).is_some())
        .collect())
}

/// The entry of a kind of queue in the list of kinds.
///
/// # Errors
///
/// There is no such kind.
pub(crate) fn entry(kind: &str) -> Result<&'static Entry, Error> {
    disciplines::find(kind).map_err(|source| {
        let names = disciplines::kinds().map(|entry| entry.name);
        Error::NoQueue {
            kind: kind.to_owned(),
            source,
            meant: quell_lab::scenario::closest(kind, names).map(str::to_owned),
        }
    })
}

fn settings(spec: &str) -> Result<Settings, Error> {
    let (kind, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let mut settings = Settings::new(entry(kind)?.parameters);
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let set = settings.set(key.trim(), value.trim());
        set.map_err(Error::Parameter)?;
    }
    Ok(settings)
}

/// A number times `by` / `of`; `None` for a value that is no number, or does not change.
pub(crate) fn scaled(value: Value, by: u64, of: u64) -> Option<Value> {
    let times = |number: u64| number.checked_mul(by).map(|number| number / of);
    let scaled = match value {
        Value::Time(time) => Value::Time(Time::from_nanos(times(time.as_nanos())?)),
        Value::Bytes(bytes) => Value::Bytes(Bytes::new(times(bytes.get())?)),
        Value::Packets(packets) => Value::Packets(times(packets)?),
        Value::Integer(number) => Value::Integer(times(number)?),
        Value::Fraction(parts, whole) => Value::Fraction(times(parts)?, whole),
        Value::Rate(rate) => Value::Rate(Rate::from_bps(times(rate.as_bps())?)),
        Value::Frequency(one) => {
            Value::Frequency(Frequency::from_nanohertz(times(one.as_nanohertz())?))
        }
        _ => return None,
    };
    (scaled != value).then_some(scaled)
}

/// Whether a queue marks ECN-capable packets or drops them, where that is a choice.
pub(crate) fn marks(spec: &str) -> Option<bool> {
    match settings(spec).ok()?.applicable_value("ecn") {
        Some(Value::Flag(marks)) => Some(marks),
        _ => None,
    }
}

/// Whether a queue, as it is written, gives this parameter a value.
pub(crate) fn is_given(spec: &str, parameter: &str) -> bool {
    let mut parts = spec.split([':', ',']).skip(1);
    parts.any(|part| part.split('=').next().map(str::trim) == Some(parameter))
}

/// A queue with one parameter set to another value.
pub(crate) fn with(spec: &str, name: &str, value: &str) -> String {
    let (kind, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let mut parts: Vec<String> = Vec::new();
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        if part.split('=').next().map(str::trim) != Some(name) {
            parts.push(part.to_owned());
        }
    }
    parts.push(format!("{name}={value}"));
    format!("{kind}:{}", parts.join(","))
}

/// The value of a parameter that is a whole number.
pub(crate) fn number(spec: &str, parameter: &str) -> Option<u64> {
    match settings(spec).ok()?.applicable_value(parameter) {
        Some(Value::Integer(number)) => Some(number),
        _ => None,
    }
}
