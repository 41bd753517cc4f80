//! Congestion controls: one file each, dispatched by an enum.
//!
//! A control is made from a [`CcConfig`], which comes from a name and a table of options; the
//! tables are the ones that scenario checks and the documentation read.

mod reno;

pub use reno::{Growth, RenoConfig};

use quell_aqm::parameter::ParameterError;
use quell_aqm::{Parameter, Settings};

use crate::config::{Codepoint, EcnMode};

/// A congestion control with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CcConfig {
    /// NewReno.
    Reno(RenoConfig),
}

/// What there is to say of a control without making one.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its options.
    pub parameters: &'static [Parameter],
}

/// Every control there is.
pub const KINDS: &[Kind] = &[reno::KIND];

/// The control of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl CcConfig {
    /// The control `name` with these options, `None` if there is no such control.
    pub fn new(name: &str, options: &[(&str, &str)]) -> Option<Result<Self, ParameterError>> {
        let kind = kind(name)?;
        let mut settings = Settings::new(kind.parameters);
        for (key, value) in options {
            if let Err(error) = settings.set(key, value) {
                return Some(Err(error));
            }
        }
        Some(
            settings
                .check()
                .map(|()| Self::from_settings(name, &settings)),
        )
    }
    /// The control `name` with resolved options of its table.
    fn from_settings(_name: &str, settings: &Settings) -> Self {
        Self::Reno(RenoConfig::from_settings(settings))
    }
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind().name
    }
    /// Its table and description.
    pub fn kind(&self) -> &'static Kind {
        &KINDS[match self {
            Self::Reno(_) => 0,
        }]
    }
    /// ECN where the scenario does not say: ECT(0) for DCTCP, off otherwise, as Linux.
    pub fn default_ecn(&self) -> EcnMode {
        self.ecn(None)
    }
    /// The feedback that this control needs for packets with `codepoint`.
    pub fn ecn(&self, codepoint: Option<Codepoint>) -> EcnMode {
        match (self, codepoint) {
            (_, None) => EcnMode::Off,
            (_, Some(codepoint)) => EcnMode::Classic(codepoint),
        }
    }
}
