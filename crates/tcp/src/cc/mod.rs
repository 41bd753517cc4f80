//! Congestion controls: one file each, dispatched by an enum.
//!
//! A control is made from a [`CcConfig`], which comes from a name and a table of options; the
//! tables are the ones that scenario checks and the documentation read. To add a control: its file,
//! its row in [`KINDS`], its variants in [`CcConfig`] and [`Control`].

mod control;
pub mod cubic;
pub mod cubic_textbook;
mod custom;
pub mod dctcp;
mod hystart;
mod hystart_plus;
mod model;
pub mod reno;
mod window;

pub use control::{Control, Event, State};
pub use cubic::CubicConfig;
pub use custom::{CongestionControl, Custom};
pub use dctcp::{DctcpConfig, DctcpFeedback};
pub use model::{Connection, LostSegment, Rounds};
pub use reno::RenoConfig;
pub use window::{AckSample, RateSample, Window};

use quell_units::parameter::ParameterError;
use quell_units::{Parameter, Settings};

use crate::config::{Codepoint, EcnMode, EctScope};

/// A congestion control with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CcConfig {
    /// NewReno.
    Reno(RenoConfig),
    /// CUBIC.
    Cubic(CubicConfig),
    /// DCTCP.
    Dctcp(DctcpConfig),
}

/// What there is to say of a control without making one.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Whether its response to marks is scalable: it wants shallow, frequent marking (RFC 9331), and
    /// is nothing without ECN.
    pub scalable: bool,
    /// One sentence.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its options.
    pub parameters: &'static [Parameter],
    /// Makes its configuration from resolved options.
    make: fn(&Settings) -> CcConfig,
}

/// Every control there is.
pub const KINDS: &[Kind] = &[reno::KIND, cubic::KIND, dctcp::KIND];

/// The control of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl Kind {
    /// The control with these options.
    pub fn configure(&self, options: &[(&str, &str)]) -> Result<CcConfig, ParameterError> {
        let mut settings = Settings::new(self.parameters);
        for (key, value) in options {
            settings.set(key, value)?;
        }
        self.with(&settings)
    }
    /// The control with options that were read before, of the table of this kind.
    pub fn with(&self, settings: &Settings) -> Result<CcConfig, ParameterError> {
        settings.check()?;
        Ok((self.make)(settings))
    }
    /// ECN where nobody says.
    pub fn default_ecn(&self) -> EcnMode {
        (self.make)(&Settings::new(self.parameters)).default_ecn()
    }
}

impl CcConfig {
    /// The control `name` with these options; `None` if there is no such control.
    pub fn new(name: &str, options: &[(&str, &str)]) -> Option<Result<Self, ParameterError>> {
        Some(kind(name)?.configure(options))
    }
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reno(_) => reno::KIND.name,
            Self::Cubic(_) => cubic::KIND.name,
            Self::Dctcp(_) => dctcp::KIND.name,
        }
    }
    /// Its options' table.
    pub fn parameters(&self) -> &'static [Parameter] {
        kind(self.name()).map_or(&[], |kind| kind.parameters)
    }
    /// ECN where nobody says: ECT(0) for DCTCP, off otherwise, as Linux.
    pub fn default_ecn(&self) -> EcnMode {
        match self {
            Self::Dctcp(_) => self.ecn(Some(Codepoint::Ect0)),
            _ => EcnMode::Off,
        }
    }
    /// Which packets of both ends are ECN-capable, where the control says: all of them with one that
    /// needs ECN (Linux `TCP_CONG_NEEDS_ECN`).
    pub fn ect_scope(&self) -> Option<EctScope> {
        match self {
            Self::Dctcp(_) => Some(EctScope::Everything),
            _ => None,
        }
    }
    /// The feedback that suits this control with packets of this codepoint.
    pub fn ecn(&self, codepoint: Option<Codepoint>) -> EcnMode {
        match (self, codepoint) {
            (_, None) => EcnMode::Off,
            (Self::Dctcp(config), Some(codepoint)) => match config.feedback {
                DctcpFeedback::Own => EcnMode::Dctcp(codepoint),
                DctcpFeedback::AccEcn => EcnMode::Accurate(codepoint),
            },
            (_, Some(codepoint)) => EcnMode::Classic(codepoint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_is_made_by_its_name_and_every_default_is_in_range() {
        for kind in KINDS {
            let config = CcConfig::new(kind.name, &[]).unwrap().unwrap();
            assert_eq!(config.name(), kind.name);
            assert_eq!(config.parameters().len(), kind.parameters.len());
        }
        assert!(CcConfig::new("vegas", &[]).is_none());
        assert!(CcConfig::new("reno", &[("beta", "1")]).unwrap().is_err());
    }
}
