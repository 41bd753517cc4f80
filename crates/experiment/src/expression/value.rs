//! What an expression gives.

use quell_units::{Rate, Time};

use crate::digits::digits;
use crate::statistics::mean;

/// A value of an expression.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Value {
    /// Nothing: no packet was delivered, a cell of a table is empty.
    #[default]
    None,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Some values.
    List(Vec<Value>),
}

impl Value {
    /// The number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether it counts as yes: not nothing, not no, not 0, not empty.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Self::None => false,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::Flag(flag) => *flag,
            Self::List(values) => !values.is_empty(),
        }
    }

    /// As a file would have it: a number in its shortest form.
    pub(crate) fn plain(&self) -> String {
        self.written(&|number| format!("{number}"))
    }

    /// Numbers with three digits.
    pub(crate) fn digits(&self) -> String {
        self.written(&digits)
    }

    /// Numbers in a form of a template, such as `.2`, `+.1`, `d`, `g`, `time` (of nanoseconds) or `rate` (of bits per second); `None` if there
    /// is no such form.
    pub(crate) fn formed(&self, form: &str) -> Option<String> {
        let decimals = |text: &str| {
            text.parse::<usize>()
                .ok()
                .filter(|decimals| *decimals <= 17)
        };
        Some(match form {
            "" | "d" => self.digits(),
            "g" => self.plain(),
            "time" => self.written(&|nanos| Time::from_nanos(nanos as u64).to_string()),
            "rate" => self.written(&|bps| Rate::from_bps(bps as u64).to_string()),
            _ => match (
                form.strip_prefix("+."),
                form.strip_prefix('.'),
                form.strip_prefix('±'),
            ) {
                (Some(signed), ..) => {
                    let decimals = decimals(signed)?;
                    self.written(&|number| format!("{number:+.decimals$}"))
                }
                (_, Some(fixed), _) => {
                    let decimals = decimals(fixed)?;
                    self.written(&|number| format!("{number:.decimals$}"))
                }
                (.., Some(scatter)) => {
                    let Self::List(values) = self else {
                        return Some(String::new());
                    };
                    let numbers: Vec<f64> = values.iter().filter_map(Self::number).collect();
                    match (numbers.is_empty(), scatter) {
                        (true, _) => String::new(),
                        (false, "") => format!("{:?}", mean(numbers)),
                        (false, decimals_of) => mean(numbers).show(decimals(decimals_of)?),
                    }
                }
                _ => return None,
            },
        })
    }

    fn written(&self, number: &dyn Fn(f64) -> String) -> String {
        match self {
            Self::None => String::new(),
            Self::Number(value) => number(*value),
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(values) => {
                let all: Vec<String> = values.iter().map(|value| value.written(number)).collect();
                all.join(", ")
            }
        }
    }

    /// Whether a selection that names `other` means this: the same text, or the same number.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(text), Self::Number(_)) => *text == other.plain(),
            (Self::Number(_), Self::Text(text)) => self.plain() == *text,
            _ => self == other,
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl FromIterator<f64> for Value {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        Self::List(numbers.into_iter().map(Self::Number).collect())
    }
}
