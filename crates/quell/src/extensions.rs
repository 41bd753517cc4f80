//! Kinds that another crate brings along.

use quell_aqm::disciplines;
use quell_aqm::own::{self as queues, OwnQueue};
use quell_tcp::cc::Declared;
use quell_tcp::cc::own as controls;
use quell_units::{Origin, OriginError};

/// The queues and controls of another crate, for [`main_with`](crate::main_with). [`extensions!`](crate::extensions!) begins a list.
#[derive(Debug, Clone)]
pub struct Extensions {
    origin: Origin,
    queues: Vec<queues::OwnKind>,
    controls: Vec<controls::OwnKind>,
}

impl Extensions {
    /// None yet, of the crate with this name and version.
    pub fn of(package: &'static str, version: &'static str) -> Self {
        Self {
            origin: Origin { package, version },
            queues: Vec::new(),
            controls: Vec::new(),
        }
    }

    /// Adds a queue discipline, which runs in every world.
    #[must_use]
    pub fn queue<Q: OwnQueue>(mut self) -> Self {
        self.queues.push(queues::OwnKind::of::<Q>(self.origin));
        self
    }

    /// Adds a congestion control, which runs in the simulator.
    #[must_use]
    pub fn control<C: Declared + 'static>(mut self) -> Self {
        self.controls.push(controls::OwnKind::of::<C>(self.origin));
        self
    }

    /// Registers them, once in a process. [`main_with`](crate::main_with) does it; a test calls it before anything reads a list of kinds.
    ///
    /// # Errors
    /// A name is taken or is none, a table is wrong, or it is too late.
    pub fn install(self) -> Result<(), OriginError> {
        disciplines::register(self.queues)?;
        controls::register(self.controls)
    }

    /// The crate that they come from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}

/// An empty list of [`Extensions`] of the crate that calls it.
#[macro_export]
macro_rules! extensions {
    () => {
        $crate::Extensions::of(
            ::core::env!("CARGO_PKG_NAME"),
            ::core::env!("CARGO_PKG_VERSION"),
        )
    };
}
