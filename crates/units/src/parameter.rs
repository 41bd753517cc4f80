//! Parameters of disciplines: one table from which everything else comes.
//!
//! Scenario check, JSON Schema, `--set`, timed changes, `quell queues` and the documentation read
//! [`Parameter`] rows and [`Settings`]; a discipline, a marker, a control or an application reads the
//! fields of its [`Table`]. Both come from one declaration: [`parameters!`](crate::parameters).
//! Values travel as text in the [`notation`](crate::notation) of scenarios, so there is one parser for a scenario file,
//! a command line and a control page.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::{Bytes, Rate};

mod domain;
mod row;
#[doc(hidden)]
pub mod typed;

pub use domain::{Domain, NotAllowed, Value};
pub use row::{Parameter, Preset, Threshold, condition};
pub use typed::{Amount, Field, Given, Shape, Table, Written};

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
    /// Makes this the refusal of a change of `key` to `found`. If another parameter does not go with the change, the text names it.
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
    /// Values by place in the table; boxed, because a law of sizes is large and most parameters are not given.
    given: Vec<Option<Box<Value>>>,
}

impl Settings {
    /// Settings in which every parameter has its default.
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

    /// The field of this name, for [`Table::of`].
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

    /// The place of the parameter of this name in the table.
    fn index(&self, name: &str) -> Option<usize> {
        self.table.iter().position(|p| p.name == name)
    }
    /// The place of the parameter that has this name, or whose opposite has it.
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
