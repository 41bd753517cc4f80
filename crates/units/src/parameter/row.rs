//! A row of a table of parameters.

use alloc::format;
use alloc::string::String;

use super::Domain;

/// The value of a parameter that was not given.
#[derive(Debug, Clone, Copy)]
pub enum Preset {
    /// There is none: the parameter must be given.
    Required,
    /// The default is this value.
    Is(&'static str),
    /// The value depends on a word-valued parameter of the same table: its name, then (word, value) for each word.
    By(&'static str, &'static [(&'static str, &'static str)]),
    /// The owner of the table derives the value; the text says how.
    Derived(&'static str),
}

/// The delay that a threshold of queuing delay is compared with. A threshold that is shorter than the wait of a packet without any queue signals
/// all the time, so scenarios are checked for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// The delay of each packet, one by one: a step, or the start of a ramp.
    EachPacket {
        /// Another parameter and the packets from which on it spares a queue as short as that; by these, only what waits behind others counts.
        spares: Option<(&'static str, u64)>,
    },
    /// A delay that stays: the smallest for some time, the average, or one that is only looked at now and then.
    Standing,
}

/// One row of a table of parameters.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The key in scenarios; `tc`'s name where `tc` has one. The name of the field in a [`Table`](super::Table), perhaps with hyphens.
    pub name: &'static str,
    /// Name of the other position of a flag, accepted with the opposite value.
    pub opposite: Option<&'static str>,
    /// Kind, unit and range.
    pub domain: Domain,
    /// The value if none is given.
    pub default: Preset,
    /// The parameter exists only if another parameter (a word, a flag or a number) has this value.
    pub only: Option<(&'static str, &'static str)>,
    /// Whether it can change during a run.
    pub live: bool,
    /// The delay that is compared with this parameter, if it is a threshold of queuing delay.
    pub threshold: Option<Threshold>,
    /// Source of the name and the default.
    pub source: &'static str,
    /// Effect of the parameter, for listings and documentation.
    pub help: &'static str,
}

impl Parameter {
    /// A flag that is off and can change during a run.
    pub const LIVE: Self = Self {
        name: "",
        opposite: None,
        domain: Domain::Flag,
        default: Preset::Is("false"),
        only: None,
        live: true,
        threshold: None,
        source: "",
        help: "",
    };
    /// A flag that is off and fixed during a run.
    pub const FIXED: Self = Self::LIVE.fixed();

    /// Can change during a run.
    pub const fn live(self) -> Self {
        Self { live: true, ..self }
    }
    /// Cannot change during a run.
    pub const fn fixed(self) -> Self {
        Self {
            live: false,
            ..self
        }
    }
    /// Must be given.
    pub const fn required(self) -> Self {
        self.preset(Preset::Required)
    }
}

/// Each sets the field of its name.
macro_rules! setters {
    ($($name:ident($($argument:ident: $type:ty),*), $field:ident = $value:expr;)*) => {
        impl Parameter {$(
            #[doc = concat!("Sets [`Parameter::", stringify!($field), "`].")]
            pub const fn $name(self, $($argument: $type),*) -> Self {
                Self { $field: $value, ..self }
            }
        )*}
    };
}

setters! {
    named(name: &'static str), name = name;
    opposite(name: &'static str), opposite = Some(name);
    domain(domain: Domain), domain = domain;
    preset(preset: Preset), default = preset;
    default(value: &'static str), default = Preset::Is(value);
    default_by(other: &'static str, choices: &'static [(&'static str, &'static str)]), default = Preset::By(other, choices);
    derived(how: &'static str), default = Preset::Derived(how);
    only(condition: (&'static str, &'static str)), only = Some(condition);
    threshold(threshold: Threshold), threshold = Some(threshold);
    source(source: &'static str), source = source;
    help(help: &'static str), help = help;
}

/// A condition of [`Parameter::only`] as scenarios write it: `form = "linux"`, `adaptive = true`, `levels = 2`.
pub fn condition((other, value): (&str, &str)) -> String {
    match value {
        "true" | "false" => format!("{other} = {value}"),
        number if number.parse::<u64>().is_ok() => format!("{other} = {number}"),
        word => format!("{other} = \"{word}\""),
    }
}
