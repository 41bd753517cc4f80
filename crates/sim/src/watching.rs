//! Observers of a simulation. The simulator is compiled for three kinds of them, here and nowhere else, which would take the compiler long: the
//! recorder alone and the one of a page, which are fast, and whatever else, behind a pointer.

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicBool;

use quell_aqm::Observer;
use quell_measure::{Recorder, Recording, Seeing};
use quell_units::Time;

use crate::config::Error;
use crate::packet::Packet;
use crate::simulator::Simulator;
use crate::tee::Tee;

/// An observer of modelled packets, whatever it does with them.
pub trait Watching: Observer<Packet> + Any {
    /// Itself, if a recorder is in it; a queue without one has no results.
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        None
    }
}

impl<O: Observer<Packet> + Recording + Any> Watching for O {
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        Some(self)
    }
}

impl<A: Observer<Packet> + Any, B: Observer<Packet> + Any> Watching for Tee<A, B> {}

impl Watching for Box<dyn Watching> {
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        (**self).recording()
    }
}

impl fmt::Debug for dyn Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

impl dyn Watching {
    /// What it is, if it is that.
    pub fn known<O: Any>(&mut self) -> Option<&mut O> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// What the simulator is compiled for.
pub trait Simulated: Watching + Sized {
    /// [`Simulator::run`].
    ///
    /// # Errors
    ///
    /// As there.
    fn simulate(
        simulator: &mut Simulator<Self>,
        until: Time,
        stop: &AtomicBool,
    ) -> Result<Time, Error>;
}

macro_rules! simulated {
    ($($observer:ty),+) => {
        $(impl Simulated for $observer {
            fn simulate(
                simulator: &mut Simulator<Self>,
                until: Time,
                stop: &AtomicBool,
            ) -> Result<Time, Error> {
                simulator.run(until, stop)
            }
        })+
    };
}

simulated!(Recorder, Seeing, Box<dyn Watching>);
