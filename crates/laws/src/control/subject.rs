//! The control that a law is about.

use quell_tcp::CcConfig;
use quell_tcp::cc::own::{OwnConfig, OwnKind};
use quell_tcp::cc::{ControlKind, Declared, KINDS};
use quell_units::{Origin, ParameterError, Settings};

/// A congestion control under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Its row in listings.
    pub kind: &'static ControlKind,
    /// Set if the kind is of another crate, registered or not.
    own: Option<&'static OwnKind>,
}

impl Subject {
    /// A control of another crate, which need not be registered.
    pub fn of<C: Declared + 'static>() -> Self {
        let origin = Origin {
            package: "a test",
            version: "0",
        };
        // A few hundred bytes for each test.
        let own: &'static OwnKind = Box::leak(Box::new(OwnKind::of::<C>(origin)));
        Self {
            kind: &own.kind,
            own: Some(own),
        }
    }

    /// Every control of quell.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        KINDS.iter().map(|kind| Self { kind, own: None })
    }

    /// The configuration of the control with the given options.
    ///
    /// # Errors
    /// The options are refused.
    pub fn config(&self, given: &[(&str, &str)]) -> Result<CcConfig, ParameterError> {
        let Some(own) = self.own else {
            return CcConfig::new(self.kind.name, given).expect("a control of quell");
        };
        let mut settings = Settings::new(self.kind.parameters);
        for (key, value) in given {
            settings.set(key, value)?;
        }
        settings.check()?;
        Ok(CcConfig::Own(OwnConfig::of(own, settings)))
    }
}
