//! Observers that record. A link is compiled for them here and nowhere else, which would take the compiler long.

use std::sync::atomic::AtomicBool;

use quell_aqm::Observer;
use quell_measure::Recording;
use quell_units::Time;

use crate::error::Error;
use crate::frames::Descriptor;
use crate::link::Link;

/// An observer of a real link with a recorder in it.
pub trait Watching: Observer<Descriptor> + Recording {
    /// `packet` arrives, with these bytes, before anything else happens to it.
    fn announced(&mut self, packet: &Descriptor, bytes: &[u8]);
}

impl Link<Box<dyn Watching>> {
    /// [`Link::run`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn carry(&mut self, until: Time, stop: &AtomicBool) -> Result<(), Error> {
        self.run(until, stop)
    }
}
