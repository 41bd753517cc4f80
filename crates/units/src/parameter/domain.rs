//! Values of parameters, and which of them a parameter can have.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::{Bytes, CommandLine, Frequency, Interval, Period, Rate, Rates, Sizes, Time, notation};

/// The kind of a parameter, with its range (inclusive).
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
    /// A number of parts, and how many make 1.
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
    /// Prints the notation of scenario files, which reads back as the same value.
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

/// A value is not one of this domain; displays as the values that are allowed.
#[derive(Debug, Clone, Copy)]
pub struct NotAllowed(Domain);

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for NotAllowed {}

/// The value that was read, if there is one and it is from `low` to `high`.
fn within<T: PartialOrd, E>(read: Result<T, E>, low: T, high: T) -> Option<T> {
    read.ok().filter(|value| (low..=high).contains(value))
}

impl Domain {
    /// Reads a value.
    pub fn parse(&self, text: &str) -> Result<Value, NotAllowed> {
        self.read(text.trim()).ok_or(NotAllowed(*self))
    }

    fn read(&self, text: &str) -> Option<Value> {
        match *self {
            Self::Time(low, high) => within(notation::time(text), low, high).map(Value::Time),
            Self::Bytes(low, high) => {
                within(notation::bytes(text), Bytes::new(low), Bytes::new(high)).map(Value::Bytes)
            }
            Self::Packets(low, high) => {
                let packets = notation::packets(text).or_else(|_| notation::integer(text));
                within(packets, low, high).map(Value::Packets)
            }
            Self::Integer(low, high) => {
                within(notation::integer(text), low, high).map(Value::Integer)
            }
            Self::Fraction(low, high, of) => {
                let parts = match high <= of {
                    true => notation::fraction(text, of),
                    false => notation::multiple(text, of),
                };
                within(parts, low, high).map(|parts| Value::Fraction(parts, of))
            }
            Self::Frequency(low, high) => {
                within(notation::frequency(text), low, high).map(Value::Frequency)
            }
            Self::Rate(low, high) => within(notation::rate(text), low, high)
                .filter(|rate| !rate.is_unlimited())
                .map(Value::Rate),
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Word(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Word(word)),
            Self::TimeOrPackets((shortest, longest), (fewest, most)) => {
                Self::Time(shortest, longest)
                    .read(text)
                    .or_else(|| Self::Packets(fewest, most).read(text))
            }
            Self::Limit { plain_is_packets } => Self::Time(Time::from_nanos(1), Time::MAX)
                .read(text)
                .or_else(|| Self::Bytes(1, u64::MAX).read(text))
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
            Self::Rates(named) => named
                .iter()
                .find(|(name, _)| *name == text)
                .map(|(_, rates)| *rates)
                .or_else(|| Rates::parse(text))
                .map(Value::Rates),
            Self::CommandLine => CommandLine::parse(text).map(Value::CommandLine),
        }
    }

    /// Whether `value` is one of this domain.
    pub(super) fn has(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Period(low, high), Value::Period(period)) => {
                (low..=high).contains(&&period.mean)
            }
            (Self::Interval(low, high), Value::Interval(interval)) => {
                (low..=high).contains(&&interval.mean)
            }
            _ => self.read(&value.to_string()).as_ref() == Some(value),
        }
    }
}

impl fmt::Display for Domain {
    /// Prints the allowed values, in words that complete the sentence "must be …".
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
