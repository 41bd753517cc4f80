//! Parameters of disciplines: one table from which everything else comes.
//!
//! Scenario check, JSON Schema, `--set`, timed changes, `quell queues` and the documentation read
//! [`Parameter`] rows and [`Settings`]; a discipline, a marker, a control or an application reads the
//! fields of its [`Table`]. Both come from one declaration: [`parameters!`](crate::parameters).
//! Values travel as text in the [`notation`] of scenarios, so there is one parser for a scenario file,
//! a command line and a control page.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::{Bytes, CommandLine, Frequency, Interval, Period, Rate, Rates, Sizes, Time, notation};

mod row;
#[doc(hidden)]
pub mod typed;

pub use row::{Parameter, Preset, Threshold, condition};
pub use typed::{Amount, Field, Given, Shape, Table, Written};

/// What a parameter may be, with its range (inclusive).
#[derive(Debug, Clone, Copy)]
pub enum Domain {
    /// A time.
    Time(Time, Time),
    /// A number of bytes.
    Bytes(u64, u64),
    /// A number of packets; a plain number is accepted too.
    Packets(u64, u64),
    /// A whole number.
    Integer(u64, u64),
    /// A fraction, kept as a whole number of equal parts: the lowest and the highest number of
    /// parts, and how many make 1. Written as a decimal, which is rounded to the nearest part.
    /// Above 1 where the highest number of parts is.
    Fraction(u64, u64, u64),
    /// Hz.
    Frequency(Frequency, Frequency),
    /// A rate; never `unlimited`.
    Rate(Rate, Rate),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A time or a number of packets, each with its range.
    TimeOrPackets((Time, Time), (u64, u64)),
    /// A queue limit in bytes, packets or time at the link's rate; at least one of its unit.
    Limit {
        /// Whether a number without a unit counts packets. Where it does not, it is refused: it
        /// would be bytes in one tool and packets in another.
        plain_is_packets: bool,
    },
    /// A [`Period`], whose mean has this range. A time alone is a fixed length.
    Period(Time, Time),
    /// An [`Interval`], whose mean has this range. A time alone is exact spacing.
    Interval(Time, Time),
    /// A law of [`Sizes`], all of which are in this range of bytes. An amount of data alone is one size.
    Sizes(u64, u64),
    /// [`Rates`], or one of these names of a list.
    Rates(&'static [(&'static str, Rates)]),
    /// A program and its arguments.
    CommandLine,
}

/// The value of a parameter.
#[allow(
    clippy::large_enum_variant,
    reason = "it is read once, and kept in a box"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A time.
    Time(Time),
    /// Bytes.
    Bytes(Bytes),
    /// Packets.
    Packets(u64),
    /// A whole number.
    Integer(u64),
    /// So many parts, of so many that make 1.
    Fraction(u64, u64),
    /// Hz.
    Frequency(Frequency),
    /// A rate.
    Rate(Rate),
    /// A switch.
    Flag(bool),
    /// One of the words of a [`Domain::Word`].
    Word(&'static str),
    /// A length of time that may vary.
    Period(Period),
    /// A spacing that may vary.
    Interval(Interval),
    /// A law of sizes.
    Sizes(Sizes),
    /// Rising rates.
    Rates(Rates),
    /// A program and its arguments.
    CommandLine(CommandLine),
}

impl fmt::Display for Value {
    /// In the notation of scenario files, which reads back as the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => f.pad(&format!("{packets}p")),
            Self::Integer(number) => number.fmt(f),
            Self::Fraction(parts, of) => f.pad(&notation::write_fraction(*parts, *of)),
            Self::Frequency(frequency) => frequency.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Word(word) => f.pad(word),
            Self::Period(period) => period.fmt(f),
            Self::Interval(interval) => interval.fmt(f),
            Self::Sizes(sizes) => sizes.fmt(f),
            Self::Rates(rates) => rates.fmt(f),
            Self::CommandLine(line) => line.fmt(f),
        }
    }
}

impl Domain {
    /// Reads a value, or says what is allowed.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let in_range = |value: u64, low: u64, high: u64| (low..=high).contains(&value);
        let value = match *self {
            Self::Time(low, high) => notation::time(text)
                .ok()
                .filter(|time| (low..=high).contains(time))
                .map(Value::Time),
            Self::Bytes(low, high) => notation::bytes(text)
                .ok()
                .filter(|bytes| in_range(bytes.get(), low, high))
                .map(Value::Bytes),
            Self::Packets(low, high) => notation::packets(text)
                .or_else(|_| notation::integer(text))
                .ok()
                .filter(|&packets| in_range(packets, low, high))
                .map(Value::Packets),
            Self::Integer(low, high) => notation::integer(text)
                .ok()
                .filter(|&number| in_range(number, low, high))
                .map(Value::Integer),
            Self::Fraction(low, high, of) if high <= of => notation::fraction(text, of)
                .ok()
                .filter(|&parts| in_range(parts, low, high))
                .map(|parts| Value::Fraction(parts, of)),
            Self::Fraction(low, high, of) => notation::multiple(text, of)
                .ok()
                .filter(|&parts| in_range(parts, low, high))
                .map(|parts| Value::Fraction(parts, of)),
            Self::Frequency(low, high) => notation::frequency(text)
                .ok()
                .filter(|frequency| (low..=high).contains(frequency))
                .map(Value::Frequency),
            Self::Rate(low, high) => notation::rate(text)
                .ok()
                .filter(|rate| (low..=high).contains(rate) && !rate.is_unlimited())
                .map(Value::Rate),
            Self::Flag => match text {
                "true" => Some(Value::Flag(true)),
                "false" => Some(Value::Flag(false)),
                _ => None,
            },
            Self::Word(words) => words
                .iter()
                .find(|word| **word == text)
                .copied()
                .map(Value::Word),
            Self::TimeOrPackets((shortest, longest), (fewest, most)) => {
                Self::Time(shortest, longest)
                    .parse(text)
                    .or_else(|_| Self::Packets(fewest, most).parse(text))
                    .ok()
            }
            Self::Limit { plain_is_packets } => Self::Time(Time::from_nanos(1), Time::MAX)
                .parse(text)
                .or_else(|_| Self::Bytes(1, u64::MAX).parse(text))
                .ok()
                .or_else(|| {
                    let plain = notation::integer(text).ok().filter(|_| plain_is_packets);
                    let packets = notation::packets(text).ok().or(plain)?;
                    (packets > 0).then_some(Value::Packets(packets))
                }),
            Self::Period(low, high) => Period::parse(text)
                .filter(|period| (low..=high).contains(&period.mean))
                .map(Value::Period),
            Self::Interval(low, high) => Interval::parse(text)
                .filter(|interval| (low..=high).contains(&interval.mean))
                .map(Value::Interval),
            Self::Sizes(low, high) => Sizes::parse(text)
                .filter(|sizes| {
                    let (smallest, largest) = sizes.range();
                    low <= smallest.get() && largest.get() <= high
                })
                .map(Value::Sizes),
            Self::Rates(named) => {
                let named = named.iter().find(|(name, _)| *name == text);
                let rates = named.map(|(_, rates)| *rates);
                rates.or_else(|| Rates::parse(text)).map(Value::Rates)
            }
            Self::CommandLine => CommandLine::parse(text).map(Value::CommandLine),
        };
        value.ok_or_else(|| self.to_string())
    }

    /// Whether `value` is one of this domain.
    fn has(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Period(low, high), Value::Period(period)) => {
                (low..=high).contains(&&period.mean)
            }
            (Self::Interval(low, high), Value::Interval(interval)) => {
                (low..=high).contains(&&interval.mean)
            }
            _ => self.parse(&value.to_string()).as_ref() == Ok(value),
        }
    }
}

impl fmt::Display for Domain {
    /// What is allowed, in words that finish the sentence "must be …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>,
                     what: &str,
                     low: &dyn fmt::Display,
                     high: Option<&dyn fmt::Display>| match high {
            Some(high) => write!(f, "{what} from {low} to {high}"),
            None => write!(f, "{what} of at least {low}"),
        };
        fn bounded<T: PartialEq + fmt::Display>(
            high: &T,
            unbounded: T,
        ) -> Option<&dyn fmt::Display> {
            (*high != unbounded).then_some(high as &dyn fmt::Display)
        }
        match self {
            Self::Time(low, high) => range(f, "a time", low, bounded(high, Time::MAX)),
            Self::Bytes(low, high) => range(
                f,
                "an amount of data",
                &Bytes::new(*low),
                (*high != u64::MAX).then_some(&Bytes::new(*high)),
            ),
            Self::Packets(low, high) => range(f, "a number of packets", low, bounded(high, u64::MAX)),
            Self::Integer(low, high) => range(f, "a whole number", low, bounded(high, u64::MAX)),
            Self::Fraction(low, high, of) => range(
                f,
                if high > of { "a number" } else { "a fraction" },
                &Value::Fraction(*low, *of),
                Some(&Value::Fraction(*high, *of)),
            ),
            Self::Frequency(low, high) => range(f, "a number of Hz", low, Some(high)),
            Self::Rate(low, high) => range(f, "a rate", low, Some(high)),
            Self::Flag => f.write_str("true or false"),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
            Self::TimeOrPackets((low, high), (fewest, most)) => {
                write!(f, "{} or {}", Self::Time(*low, *high), Self::Packets(*fewest, *most))
            }
            Self::Limit { .. } => f.write_str(
                "an amount of data (64kB), a number of packets (100p), or a time at the link's rate (100ms)",
            ),
            Self::Period(low, high) => {
                let table = "{ mean = \"1s\", distribution = \"exponential\" }";
                write!(f, "{}, or a table {table}", Self::Time(*low, *high))
            }
            Self::Interval(low, high) => {
                let table = "{ mean = \"20ms\", stddev = \"1ms\" }";
                write!(f, "{}, or a table {table}", Self::Time(*low, *high))
            }
            Self::Sizes(low, high) => {
                write!(f, "{}, {}", Self::Bytes(*low, *high), Sizes::FORMS)
            }
            Self::Rates(named) => Rates::allowed(f, named),
            Self::CommandLine => write!(
                f,
                "a list of a program and its arguments, such as [\"iperf3\", \"-s\"], of at most {} bytes",
                CommandLine::MOST_BYTES
            ),
        }
    }
}

/// Why a parameter was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    /// The key as given.
    pub key: String,
    /// The value as given.
    pub found: String,
    /// The allowed values, or the reason of the refusal.
    pub allowed: String,
}

impl ParameterError {
    /// The refusal of `found` as the value of `key`.
    pub fn new(key: &str, found: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self {
            key: key.to_string(),
            found: found.to_string(),
            allowed: allowed.into(),
        }
    }
    /// The same refusal, of a change of `key` to `found`: where another parameter does not go with the change, the text names it.
    #[must_use]
    pub fn of_change(self, key: &str, found: &str) -> Self {
        let allowed = if self.key == key {
            self.allowed
        } else {
            format!(
                "does not go with {} = {}, which {}",
                self.key, self.found, self.allowed
            )
        };
        Self::new(key, found, allowed)
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.key, self.found, self.allowed)
    }
}

impl core::error::Error for ParameterError {}

/// The values of a table's parameters: those given, and the defaults of the rest.
#[derive(Debug, Clone)]
pub struct Settings {
    table: &'static [Parameter],
    /// By place in the table. A law of sizes is large, and most parameters are not given.
    given: Vec<Option<Box<Value>>>,
}

impl Settings {
    /// All defaults.
    pub fn new(table: &'static [Parameter]) -> Self {
        Self {
            table,
            given: table.iter().map(|_| None).collect(),
        }
    }

    /// The table.
    pub fn table(&self) -> &'static [Parameter] {
        self.table
    }

    /// Sets a parameter. [`Settings::check`] refuses it if it has no effect, once all are set.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ParameterError> {
        let Some(index) = self.position(key) else {
            let known: Vec<&str> = self.table.iter().map(|p| p.name).collect();
            let allowed = format!("unknown parameter; known are {}", known.join(", "));
            return Err(ParameterError::new(key, text, allowed));
        };
        let parameter = &self.table[index];
        let value = parameter
            .domain
            .parse(text)
            .map_err(|allowed| ParameterError::new(key, text, format!("must be {allowed}")))?;
        self.given[index] = Some(Box::new(match value {
            Value::Flag(flag) if parameter.name != key => Value::Flag(!flag),
            value => value,
        }));
        Ok(())
    }

    /// Sets a parameter to a value that has been read.
    pub fn give(&mut self, key: &str, value: Value) -> Result<(), ParameterError> {
        let Some(index) = self.index(key) else {
            return Err(ParameterError::new(key, value, "unknown parameter"));
        };
        let domain = &self.table[index].domain;
        if !domain.has(&value) {
            return Err(ParameterError::new(key, value, format!("must be {domain}")));
        }
        self.given[index] = Some(Box::new(value));
        Ok(())
    }

    /// Refuses a parameter that was given but has no effect in this combination, and one that is missing.
    pub fn check(&self) -> Result<(), ParameterError> {
        for (parameter, given) in self.table.iter().zip(&self.given) {
            if let (None, Preset::Required) = (given, parameter.default)
                && self.applies(parameter)
            {
                let allowed = format!("must be {}", parameter.domain);
                return Err(ParameterError::new(parameter.name, "nothing", allowed));
            }
            let (Some(value), Some(only)) = (given, parameter.only) else {
                continue;
            };
            if !self.applies(parameter) {
                let allowed = format!("has an effect only with {}", condition(only));
                return Err(ParameterError::new(parameter.name, value, allowed));
            }
        }
        Ok(())
    }

    /// A copy with one parameter changed, which must be one that can change during a run.
    ///
    /// Default values that were written down do not stand in the way of the change: what is true of a
    /// scenario is true of the same scenario with every default named.
    pub fn changed(&self, key: &str, text: &str) -> Result<Self, ParameterError> {
        let mut changed = self.clone();
        changed.set(key, text)?;
        changed.forget_defaults_without_effect(key);
        changed
            .check()
            .map_err(|error| error.of_change(key, text))?;
        if self
            .position(key)
            .is_some_and(|index| !self.table[index].live)
        {
            let allowed = "cannot change while the queue lives";
            return Err(ParameterError::new(key, text, allowed));
        }
        Ok(changed)
    }

    /// Whether the parameter was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.index(name)
            .is_some_and(|index| self.given[index].is_some())
    }

    /// Whether the value is the default, given or not. One that is derived is, unless it was given.
    pub fn is_default(&self, name: &str) -> bool {
        self.index(name).is_none_or(|index| {
            let given = self.given[index].as_deref().copied();
            given.is_none() || given == self.default_of(&self.table[index])
        })
    }

    /// The value given, else the default; `None` where it is derived, and without such a parameter.
    pub fn value(&self, name: &str) -> Option<Value> {
        let index = self.index(name)?;
        let given = self.given[index].as_deref().copied();
        given.or_else(|| self.default_of(&self.table[index]))
    }

    /// The default in this combination; `None` where there is none or it is derived.
    fn default_of(&self, parameter: &Parameter) -> Option<Value> {
        let text = match parameter.default {
            Preset::Is(text) => text,
            Preset::By(other, choices) => {
                let Some(Value::Word(word)) = self.value(other) else {
                    return None;
                };
                choices.iter().find(|(choice, _)| *choice == word)?.1
            }
            Preset::Required | Preset::Derived(_) => return None,
        };
        Some(parameter.domain.parse(text).expect("defaults are in range"))
    }

    /// Takes every default but that of `key` for not given where it has no effect.
    fn forget_defaults_without_effect(&mut self, key: &str) {
        let changed = self.position(key);
        for (index, parameter) in self.table.iter().enumerate() {
            if Some(index) != changed
                && self.given[index].is_some()
                && self.given[index].as_deref().copied() == self.default_of(parameter)
                && !self.applies(parameter)
            {
                self.given[index] = None;
            }
        }
    }

    /// Every parameter that applies, with its value where it has one, in the table's order.
    pub fn applicable(&self) -> impl Iterator<Item = (&'static Parameter, Option<Value>)> + '_ {
        self.table
            .iter()
            .filter(|p| self.applies(p))
            .map(|p| (p, self.value(p.name)))
    }

    /// The value of a parameter that applies; `None` also where it is derived, and without such a parameter.
    pub fn applicable_value(&self, name: &str) -> Option<Value> {
        let row = &self.table[self.index(name)?];
        self.applies(row).then(|| self.value(name))?
    }

    /// Whether the parameter exists in this combination: the one that it depends on has the right
    /// value, and exists itself.
    fn applies(&self, parameter: &Parameter) -> bool {
        parameter.only.is_none_or(|(other, value)| {
            let is = match self.value(other) {
                Some(Value::Flag(flag)) => flag == (value == "true"),
                Some(Value::Integer(number)) => value.parse() == Ok(number),
                Some(Value::Word(word)) => word == value,
                _ => false,
            };
            let other = self.index(other).map(|index| &self.table[index]);
            is && other.is_some_and(|other| self.applies(other))
        })
    }

    /// For [`Table::of`]: the field of this name.
    #[doc(hidden)]
    pub fn field<T: Field>(&self, field: &str) -> T {
        let mut rows = self.table.iter();
        let row = rows.find(|row| typed::is_for(row.name, field));
        let name = row.map_or(field, |row| row.name);
        let value = self.value(name);
        let written = Written {
            is_given: self.is_given(name),
            is_default: self.is_default(name),
        };
        T::read(value, written).unwrap_or_else(|| wrong(name, value))
    }

    /// Where the parameter of this name is in the table.
    fn index(&self, name: &str) -> Option<usize> {
        self.table.iter().position(|p| p.name == name)
    }
    /// The same, also by the name of the opposite.
    fn position(&self, name: &str) -> Option<usize> {
        self.table
            .iter()
            .position(|p| p.name == name || p.opposite == Some(name))
    }
}

/// The settings are of another table than the one that reads them.
fn wrong(name: &str, value: Option<Value>) -> ! {
    panic!("parameter {name} is {value:?}, which its table does not have")
}

/// The bytes that a limit allows at `rate`, if it is one of bytes or time.
pub fn limit_bytes(limit: Value, rate: Rate) -> Option<Bytes> {
    match limit {
        Value::Bytes(bytes) => Some(bytes),
        Value::Time(time) => Some(rate.bytes_in(time)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
