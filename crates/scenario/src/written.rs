//! The notation of values in scenario files and in canonical JSON, and the types of fields.

use std::fmt::Display;

use quell_app::Distribution;
use quell_aqm::value::CodeScale;
use quell_measure::{Direction, Hops};
use quell_units::parameter::{Parameter, Value};
use quell_units::{Bytes, ParameterError, Rate, Settings, Sizes, Time};
use serde_json::{Map, Value as Json, json};

use crate::domain::Parsed;
use crate::section::{Key, KeyDefault};
use crate::{Carried, DirectionSpec, Group, Link, Run, TimedChange};

/// A value as it is written.
pub(crate) struct Written {
    /// The value in a scenario file.
    pub(crate) toml: String,
    /// The value in canonical JSON: times in nanoseconds, rates in bit/s, amounts of data in bytes.
    pub(crate) json: Json,
}

impl Written {
    /// The same text in a scenario file and in canonical JSON.
    pub(crate) fn alike(toml: String) -> Self {
        let json = json!(toml);
        Self { toml, json }
    }
    /// Whether the value is the default of `key`.
    pub(crate) fn is_default(&self, key: &Key) -> bool {
        let KeyDefault::Is(text) = key.default else {
            return false;
        };
        let default = key.domain.parse(text);
        default.is_some_and(|default| Self::from(default).json == self.json)
    }
}

/// The type of a field whose value a key gives.
pub(crate) trait Field: Sized {
    /// The field for what was read; `None` for the value of another domain.
    fn from_parsed(_parsed: Parsed) -> Option<Self> {
        None
    }
    /// The field without a value and without a default.
    fn absent() -> Option<Self> {
        None
    }
    /// The notation of the field; `None` where it is left out, or where only its own code can write it.
    fn written(&self) -> Option<Written> {
        None
    }
}

impl<T: Field> Field for Option<T> {
    fn from_parsed(parsed: Parsed) -> Option<Self> {
        T::from_parsed(parsed).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn written(&self) -> Option<Written> {
        self.as_ref()?.written()
    }
}

// Written under headings of their own.
impl Field for DirectionSpec {}
impl Field for Run {}
impl Field for Vec<Group> {}
impl Field for Vec<Link> {}
impl Field for Vec<TimedChange> {}
// Written with the names of links, which only the scenario knows.
impl Field for Hops {}

/// Implements [`Field`] for types that hold the content of a value as it is.
macro_rules! fields {
    ($($type:ty: $pattern:pat => $value:expr, $field:pat => $written:expr;)*) => {$(
        impl Field for $type {
            fn from_parsed(parsed: Parsed) -> Option<Self> {
                match parsed { $pattern => $value, _ => None }
            }
            fn written(&self) -> Option<Written> {
                let $field = self;
                Some($written.into())
            }
        }
    )*};
}

fields! {
    Time: Parsed::Value(Value::Time(time)) => Some(time), time => Value::Time(*time);
    Rate: Parsed::Value(Value::Rate(rate)) => Some(rate), rate => Value::Rate(*rate);
    Bytes: Parsed::Value(Value::Bytes(bytes)) => Some(bytes), bytes => Value::Bytes(*bytes);
    bool: Parsed::Value(Value::Flag(flag)) => Some(flag), flag => Value::Flag(*flag);
    u64: Parsed::Value(Value::Integer(n) | Value::Fraction(n, _)) => Some(n), n => Value::Integer(*n);
    u32: Parsed::Value(Value::Integer(n) | Value::Fraction(n, _)) => n.try_into().ok(), n => Value::Integer(u64::from(*n));
    &'static str: Parsed::Value(Value::Word(word)) => Some(word), word => Value::Word(word);
    Direction: Parsed::Value(Value::Word(word)) => Self::BOTH.into_iter().find(|one| one.name() == word), one => Value::Word(one.name());
    Distribution: Parsed::Value(Value::Word(word)) => Self::ALL.into_iter().find(|one| one.name() == word), one => Value::Word(one.name());
    Carried: Parsed::Value(Value::Word(word)) => Some(Self::from_word(word)), one => Value::Word(one.name());
    CodeScale: Parsed::Value(Value::Integer(bins)) => Some(Self::new(bins)), scale => Value::Integer(scale.bins_per_octave());
    i32: Parsed::Signed(number) => Some(number), number => Parsed::Signed(*number);
    String: Parsed::Text(text) => Some(text), text => Parsed::Text(text.clone());
    Vec<u64>: Parsed::Seeds(seeds) => Some(seeds), seeds => Parsed::Seeds(seeds.clone());
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        Parsed::Value(value).into()
    }
}

impl From<Parsed> for Written {
    fn from(parsed: Parsed) -> Self {
        let (toml, json) = match parsed {
            Parsed::Value(value) => (in_toml(value), in_json(value)),
            Parsed::Signed(number) => (number.to_string(), json!(number)),
            Parsed::Text(text) => (quoted(&text), json!(text)),
            Parsed::Seeds(seeds) => (format!("{seeds:?}"), json!(seeds)),
        };
        Self { toml, json }
    }
}

fn in_json(value: Value) -> Json {
    match value {
        Value::Time(time) => json!(format!("{}ns", time.as_nanos())),
        Value::Rate(rate) if !rate.is_unlimited() => json!(format!("{}bit", rate.as_bps())),
        Value::Bytes(bytes) => json!(format!("{}B", bytes.get())),
        Value::Integer(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        other => json!(other.to_string()),
    }
}

/// Parameters with their values, in canonical JSON.
pub(crate) fn parameters(values: impl Iterator<Item = (&'static str, Value)>) -> Json {
    let values = values.map(|(name, value)| (name.to_owned(), in_json(value)));
    Json::Object(values.collect::<Map<_, _>>())
}

/// The parameters that apply, with their values, in canonical JSON.
pub(crate) fn settings(settings: &Settings) -> Json {
    let rows = settings.applicable();
    parameters(rows.filter_map(|(row, value)| Some((row.name, value?))))
}

/// The parameters that apply, each with its value: settings that mean the same have the same ones.
pub(crate) fn values(settings: &Settings) -> Vec<(&'static str, Option<Value>)> {
    let rows = settings.applicable();
    rows.map(|(row, value)| (row.name, value)).collect()
}

/// The parameters to write: those given, and the defaults that say what happens anyway. A default that cannot be given beside
/// another parameter, as `try_out` finds, is left out.
pub(crate) fn explicit(
    given: &Settings,
    try_out: impl Fn(Settings) -> Result<(), ParameterError>,
) -> Vec<(&'static Parameter, Value)> {
    let rows = given.applicable();
    let mut all: Vec<_> = rows
        .filter_map(|(row, value)| Some((row, value?)))
        .collect();
    loop {
        let mut settings = Settings::new(given.table());
        let set = |(row, value): &(&Parameter, Value)| settings.set(row.name, &value.to_string());
        let whole = all
            .iter()
            .try_for_each(set)
            .and_then(|()| try_out(settings));
        let culprit = whole.err().and_then(|error| {
            let mut all = all.iter();
            all.position(|(row, _)| row.name == error.key && !given.is_given(row.name))
        });
        match culprit {
            Some(index) => drop(all.remove(index)),
            None => return all,
        }
    }
}

/// The keys that have a value, as a table on one line.
pub(crate) fn inline(keys: impl Iterator<Item = (&'static Key, Option<Written>)>) -> String {
    let given = keys.filter_map(|(key, value)| Some((key.name, value?.toml)));
    let given = given.map(|(name, value)| format!("{name} = {value}"));
    format!("{{ {} }}", given.collect::<Vec<_>>().join(", "))
}

/// The name of the key of a field: with hyphens.
pub(crate) const fn hyphens<const N: usize>(field: &str) -> [u8; N] {
    let mut name = [0; N];
    let mut index = 0;
    while index < N {
        name[index] = match field.as_bytes()[index] {
            b'_' => b'-',
            byte => byte,
        };
        index += 1;
    }
    name
}

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
