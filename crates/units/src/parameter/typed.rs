//! Typed parameters: a struct to read and the rows of a table, from one declaration.
//!
//! ```
//! use quell_units::{Time, parameter::{Domain, Parameter, Settings, Table}, parameters, words};
//!
//! words! {
//!     /// Where packets are judged.
//!     pub(crate) enum Place { Dequeue = "dequeue", Enqueue = "enqueue" }
//! }
//! const ROW: Parameter = Parameter::LIVE.source("an example");
//! parameters! {
//!     /// The parameters of an example.
//!     pub(crate) struct Parameters {
//!         /// Delay that is accepted.
//!         target: Time = ROW.domain(Domain::Time(Time::ZERO, Time::from_secs(1))).default("5ms"),
//!         /// Where packets are judged.
//!         at: Place = ROW.default("dequeue"),
//!     }
//! }
//!
//! let mut settings = Settings::new(Parameters::ROWS);
//! settings.set("target", "7ms").unwrap();
//! let parameters = Parameters::of(&settings);
//! assert_eq!(parameters.target, Time::from_millis(7));
//! assert!(match parameters.at { Place::Dequeue => true, Place::Enqueue => false });
//! ```
//!
//! The compiler refuses a field that does not exist, a `match` that forgets a word, a field that nothing reads, a row whose domain does not
//! fit the type of its field, and a row that names a parameter or a word that does not exist.

use super::{Domain, Parameter, Preset, Settings, Value};
use crate::{Bytes, CommandLine, Frequency, Interval, Period, Rate, Rates, Sizes, Time};

/// A struct of parameters that was declared with [`parameters!`](crate::parameters).
pub trait Table: Sized {
    /// The rows, in the order of the declaration.
    const ROWS: &'static [Parameter];
    /// Reads every field from settings of these rows.
    ///
    /// # Panics
    /// If `settings` are of other rows.
    fn of(settings: &Settings) -> Self;
}

/// No parameters.
impl Table for () {
    const ROWS: &'static [Parameter] = &[];
    fn of(_settings: &Settings) -> Self {}
}

/// A type that a field of a [`Table`] can have.
pub trait Field: Sized {
    /// The domain that the row must have.
    const SHAPE: Shape;
    /// Whether the row must have no default of its own ([`Preset::Derived`]).
    const IS_DERIVED: bool = false;
    /// The field for a value; `None` for the value of another domain.
    fn read(value: Option<Value>, written: Written) -> Option<Self>;
}

/// Whether a parameter was given, and whether it has its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Whether a value was given.
    pub is_given: bool,
    /// Whether the value is the default. A resolved scenario gives defaults too, and must mean the same as one that leaves them out.
    pub is_default: bool,
}

/// The kind of a [`Domain`], without its range.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// [`Domain::Time`].
    Time,
    /// [`Domain::Bytes`].
    Bytes,
    /// [`Domain::Packets`], [`Domain::Integer`], or the parts of a [`Domain::Fraction`], up to this number at most.
    Count(u64),
    /// [`Domain::Frequency`].
    Frequency,
    /// [`Domain::Rate`].
    Rate,
    /// [`Domain::Flag`].
    Flag,
    /// [`Domain::Word`] with these words.
    Word(&'static [&'static str]),
    /// [`Domain::TimeOrPackets`].
    TimeOrPackets,
    /// [`Domain::Limit`].
    Limit,
    /// [`Domain::Period`].
    Period,
    /// [`Domain::Interval`].
    Interval,
    /// [`Domain::Sizes`].
    Sizes,
    /// [`Domain::Rates`].
    Rates,
    /// [`Domain::CommandLine`].
    CommandLine,
}

/// Declares a struct of parameters and its [`Table`].
///
/// Each field is `name: type = row`: the row is a [`Parameter`](crate::Parameter), which gets the name of the field, its comment as help, and
/// the words where the type has some. A row that names itself has hyphens where the field has underscores:
/// `keep_alive: Time = ROW.named("keep-alive")`. After the fields may follow groups of parameters that several tables share, each `..name: type = rows`, where `type` is itself such a struct and `rows` is an
/// array with its rows.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $table:ident {
            $( $(#[doc = $help:literal])* $field:ident: $field_type:ty = $row:expr, )*
            $( .. $group:ident: $group_type:ty = $group_rows:expr, )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy)]
        $visibility struct $table {
            $( $(#[doc = $help])* pub(crate) $field: $field_type, )*
            $( pub(crate) $group: $group_type, )*
        }

        impl $crate::parameter::Table for $table {
            const ROWS: &'static [$crate::Parameter] = {
                const FIELDS: &[$crate::Parameter] = &[
                    $( $crate::parameter::typed::row::<$field_type>(stringify!($field), concat!($($help),*), $row), )*
                ];
                const GROUPS: &[&[$crate::Parameter]] = &[FIELDS, $( &$group_rows, )*];
                const ROWS: &[$crate::Parameter] =
                    &$crate::parameter::typed::joined::<{ $crate::parameter::typed::count(GROUPS) }>(GROUPS);
                $crate::parameter::typed::checked(ROWS)
            };
            fn of(settings: &$crate::Settings) -> Self {
                Self {
                    $( $field: settings.field(stringify!($field)), )*
                    $( $group: <$group_type as $crate::parameter::Table>::of(settings), )*
                }
            }
        }
    };
}

/// Declares an enum whose variants are the words of a parameter, and makes it a [`Field`].
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $( $(#[$variant_attribute:meta])* $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name { $( $(#[$variant_attribute])* $variant, )+ }

        impl $crate::parameter::Field for $name {
            const SHAPE: $crate::parameter::Shape = $crate::parameter::Shape::Word(&[$( $word ),+]);
            fn read(value: Option<$crate::parameter::Value>, _written: $crate::parameter::Written) -> Option<Self> {
                match value {
                    $( Some($crate::parameter::Value::Word($word)) => Some(Self::$variant), )+
                    _ => None,
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(match self { $( Self::$variant => $word, )+ })
            }
        }
    };
}

/// The name of a parameter for an error: `name_of!(Parameters, target)` is `"target"`, and does not compile without such a field.
#[macro_export]
macro_rules! name_of {
    ($table:ty, $field:ident) => {{
        let _ = |table: &$table| {
            let _ = &table.$field;
        };
        stringify!($field)
    }};
}

/// A value and whether it was given, for parameters of which that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<T> {
    /// The value given, else the default.
    pub value: T,
    /// Whether it was given.
    pub is_given: bool,
}

/// The value of a [`Domain::Limit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// The amount that a link sends in this time.
    Time(Time),
    /// The amount that a link sends in the default time. The default was chosen for usual rates, so a slow link gets a few packets instead.
    DefaultTime(Time),
    /// Bytes.
    Bytes(Bytes),
    /// Packets.
    Packets(u64),
}

impl Amount {
    /// The time, if it is one.
    pub fn time(self) -> Option<Time> {
        match self {
            Self::Time(time) | Self::DefaultTime(time) => Some(time),
            Self::Bytes(_) | Self::Packets(_) => None,
        }
    }
    /// The amount in bytes at `rate`; `None` for packets.
    pub fn bytes_at(self, rate: Rate) -> Option<Bytes> {
        match self {
            Self::Time(time) | Self::DefaultTime(time) => Some(rate.bytes_in(time)),
            Self::Bytes(bytes) => Some(bytes),
            Self::Packets(_) => None,
        }
    }
}

impl core::fmt::Display for Amount {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::Time(time) | Self::DefaultTime(time) => Value::Time(time).fmt(f),
            Self::Bytes(bytes) => Value::Bytes(bytes).fmt(f),
            Self::Packets(packets) => Value::Packets(packets).fmt(f),
        }
    }
}

/// Implements [`Field`] for types that hold the content of a value as it is.
macro_rules! fields {
    ($($type:ty: $shape:expr, $pattern:pat => $value:expr;)*) => {$(
        impl Field for $type {
            const SHAPE: Shape = $shape;
            fn read(value: Option<Value>, _written: Written) -> Option<Self> {
                match value {
                    Some($pattern) => $value,
                    _ => None,
                }
            }
        }
    )*};
}

fields! {
    Time: Shape::Time, Value::Time(time) => Some(time);
    Bytes: Shape::Bytes, Value::Bytes(bytes) => Some(bytes);
    Frequency: Shape::Frequency, Value::Frequency(frequency) => Some(frequency);
    Rate: Shape::Rate, Value::Rate(rate) => Some(rate);
    Period: Shape::Period, Value::Period(period) => Some(period);
    Interval: Shape::Interval, Value::Interval(interval) => Some(interval);
    Sizes: Shape::Sizes, Value::Sizes(sizes) => Some(sizes);
    Rates: Shape::Rates, Value::Rates(rates) => Some(rates);
    CommandLine: Shape::CommandLine, Value::CommandLine(line) => Some(line);
    bool: Shape::Flag, Value::Flag(flag) => Some(flag);
    u64: Shape::Count(u64::MAX), Value::Integer(n) | Value::Packets(n) | Value::Fraction(n, _) => Some(n);
    u32: Shape::Count(u32::MAX as u64), Value::Integer(n) | Value::Packets(n) | Value::Fraction(n, _) => n.try_into().ok();
    u16: Shape::Count(u16::MAX as u64), Value::Integer(n) | Value::Packets(n) | Value::Fraction(n, _) => n.try_into().ok();
    u8: Shape::Count(u8::MAX as u64), Value::Integer(n) | Value::Packets(n) | Value::Fraction(n, _) => n.try_into().ok();
}

impl Field for Amount {
    const SHAPE: Shape = Shape::Limit;
    fn read(value: Option<Value>, written: Written) -> Option<Self> {
        match value? {
            Value::Time(time) if written.is_default => Some(Self::DefaultTime(time)),
            Value::Time(time) => Some(Self::Time(time)),
            Value::Bytes(bytes) => Some(Self::Bytes(bytes)),
            Value::Packets(packets) => Some(Self::Packets(packets)),
            _ => None,
        }
    }
}

/// The type of a parameter that is derived if it is not given.
impl<T: Field> Field for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const IS_DERIVED: bool = true;
    fn read(value: Option<Value>, written: Written) -> Option<Self> {
        match value {
            Some(_) => T::read(value, written).map(Some),
            None => Some(None),
        }
    }
}

impl<T: Field> Field for Given<T> {
    const SHAPE: Shape = T::SHAPE;
    const IS_DERIVED: bool = T::IS_DERIVED;
    fn read(value: Option<Value>, written: Written) -> Option<Self> {
        let value = T::read(value, written)?;
        Some(Self {
            value,
            is_given: written.is_given,
        })
    }
}

/// A row with the name of its field, or its own with hyphens, if it fits the field's type.
#[doc(hidden)]
pub const fn row<T: Field>(
    name: &'static str,
    help: &'static str,
    mut row: Parameter,
) -> Parameter {
    if row.name.is_empty() {
        row.name = name;
    }
    if !help.is_empty() {
        row.help = help.trim_ascii();
    }
    if let (Domain::Flag, Shape::Word(words)) = (row.domain, T::SHAPE) {
        row.domain = Domain::Word(words);
    }
    assert!(
        row.domain.is_of(T::SHAPE),
        "the row's domain does not fit the field's type"
    );
    assert!(
        matches!(row.default, Preset::Derived(_)) == T::IS_DERIVED,
        "a derived parameter is an Option, and every other has a default"
    );
    row
}

/// The number of rows of all groups.
#[doc(hidden)]
pub const fn count(groups: &[&[Parameter]]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].len();
        group += 1;
    }
    count
}

/// The rows of all groups, of which there are `N`.
#[doc(hidden)]
pub const fn joined<const N: usize>(groups: &[&[Parameter]]) -> [Parameter; N] {
    let mut rows = [Parameter::LIVE; N];
    let (mut next, mut group) = (0, 0);
    while group < groups.len() {
        let mut row = 0;
        while row < groups[group].len() {
            rows[next] = groups[group][row];
            next += 1;
            row += 1;
        }
        group += 1;
    }
    rows
}

/// Returns the rows, if their statements about each other are true.
#[doc(hidden)]
pub const fn checked(rows: &'static [Parameter]) -> &'static [Parameter] {
    let mut index = 0;
    while index < rows.len() {
        let row = &rows[index];
        assert!(
            matches!(find(rows, row.name), Some(first) if first == index),
            "two parameters have one name"
        );
        if let Some((other, value)) = row.only {
            let Some(other) = find(rows, other) else {
                panic!("`only` names no parameter of the table");
            };
            assert!(
                rows[other].domain.can_be(value),
                "`only` names no value of the other parameter"
            );
        }
        if let Preset::Is(text) = row.default {
            assert!(row.domain.may_begin_with(text), "the default is no value");
        }
        if let Preset::By(other, choices) = row.default {
            let Some(other) = find(rows, other) else {
                panic!("`By` names no parameter of the table");
            };
            let Domain::Word(words) = rows[other].domain else {
                panic!("`By` names a parameter that is no word");
            };
            assert!(
                words.len() == choices.len(),
                "`By` needs one default for each word"
            );
            let mut choice = 0;
            while choice < choices.len() {
                assert!(
                    same(words[choice], choices[choice].0),
                    "`By` needs the words in their order"
                );
                assert!(
                    row.domain.may_begin_with(choices[choice].1),
                    "a default is no value"
                );
                choice += 1;
            }
        }
        index += 1;
    }
    rows
}

const fn find(rows: &[Parameter], name: &str) -> Option<usize> {
    let mut index = 0;
    while index < rows.len() {
        if same(rows[index].name, name) {
            return Some(index);
        }
        index += 1;
    }
    None
}

impl Domain {
    /// Whether every value is one of this shape.
    const fn is_of(&self, shape: Shape) -> bool {
        match (self, shape) {
            (Self::Time(..), Shape::Time)
            | (Self::Bytes(..), Shape::Bytes)
            | (Self::Frequency(..), Shape::Frequency)
            | (Self::Rate(..), Shape::Rate)
            | (Self::Flag, Shape::Flag)
            | (Self::TimeOrPackets(..), Shape::TimeOrPackets)
            | (Self::Limit { .. }, Shape::Limit)
            | (Self::Period(..), Shape::Period)
            | (Self::Interval(..), Shape::Interval)
            | (Self::Sizes(..), Shape::Sizes)
            | (Self::Rates(_), Shape::Rates)
            | (Self::CommandLine, Shape::CommandLine) => true,
            (
                Self::Packets(_, high) | Self::Integer(_, high) | Self::Fraction(_, high, _),
                Shape::Count(most),
            ) => *high <= most,
            (Self::Word(words), Shape::Word(expected)) => {
                let mut index = 0;
                while index < words.len() && index < expected.len() {
                    if !same(words[index], expected[index]) {
                        return false;
                    }
                    index += 1;
                }
                words.len() == expected.len()
            }
            _ => false,
        }
    }

    /// Whether `text` can be a default, as far as the compiler can read it; the rest is for a test.
    const fn may_begin_with(&self, text: &str) -> bool {
        match self {
            Self::Flag | Self::Word(_) | Self::Integer(..) => self.can_be(text),
            _ => true,
        }
    }

    /// Whether `value` can be the value of [`Parameter::only`].
    const fn can_be(&self, value: &str) -> bool {
        match self {
            Self::Flag => same(value, "true") || same(value, "false"),
            Self::Word(words) => {
                let mut index = 0;
                while index < words.len() {
                    if same(words[index], value) {
                        return true;
                    }
                    index += 1;
                }
                false
            }
            Self::Integer(low, high) => match u64::from_str_radix(value, 10) {
                Ok(number) => *low <= number && number <= *high,
                Err(_) => false,
            },
            _ => false,
        }
    }
}

/// Whether a row of this name is for `field`: its hyphens are underscores there.
pub(super) fn is_for(name: &str, field: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    name.bytes().map(plain).eq(field.bytes())
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    one.len() == other.len()
}

/// Declarations and uses that do not compile. With `5ms`, `Place::Enqueue` and `target` spelt right they do: see the head of this file.
///
/// A field that does not exist:
/// ```compile_fail
/// # use quell_units::{Time, parameter::{Domain, Parameter}, parameters};
/// parameters! {
///     struct Parameters {
///         target: Time = Parameter::LIVE.domain(Domain::Time(Time::ZERO, Time::MAX)).default("5ms"),
///     }
/// }
/// fn read(parameters: &Parameters) -> Time { parameters.tarket }
/// ```
/// A word that is forgotten:
/// ```compile_fail
/// # use quell_units::words;
/// words! {
///     /// Where packets are judged.
///     enum Place { Dequeue = "dequeue", Enqueue = "enqueue" }
/// }
/// fn at_enqueue(place: Place) -> bool { match place { Place::Dequeue => false } }
/// ```
/// A type that does not fit the domain:
/// ```compile_fail
/// # use quell_units::{Bytes, Time, parameter::{Domain, Parameter, Table}, parameters};
/// parameters! {
///     struct Parameters {
///         target: Bytes = Parameter::LIVE.domain(Domain::Time(Time::ZERO, Time::MAX)).default("5ms"),
///     }
/// }
/// let rows = Parameters::ROWS;
/// ```
/// A condition on a parameter that does not exist:
/// ```compile_fail
/// # use quell_units::{Time, parameter::{Domain, Parameter, Table}, parameters};
/// parameters! {
///     struct Parameters {
///         target: Time = Parameter::LIVE.domain(Domain::Time(Time::ZERO, Time::MAX)).default("5ms").only(("from", "linux")),
///     }
/// }
/// let rows = Parameters::ROWS;
/// ```
#[cfg(doctest)]
struct Refused;
