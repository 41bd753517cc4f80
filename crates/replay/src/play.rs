//! Goes through a script with an end under test.

use std::io;

use quell_kernel::machine::MachineError;
use quell_units::Time;

use crate::script::{Arrival, Event, Script, Subject};
use crate::state::SenderState;

/// Why a script could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// `quell-tcp` has no congestion control of this name.
    #[error("no such congestion control: {0}")]
    Control(String),
    /// A receiver has no congestion window.
    #[error("a receiver has no state of a sender")]
    NoSender,
    /// A system call or a file failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was done, as the end of "cannot …".
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The guest's network could not be set up.
    #[error(transparent)]
    Host(#[from] quell_hosts::Error),
    /// The kernel did not start, or ended too early.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The kernel is not one to be started.
    #[error(transparent)]
    Store(#[from] quell_kernel::Error),
    /// The guest's time stood still.
    #[error("the guest did not end within {0} s: {1}")]
    Late(u64, MachineError),
    /// The guest's kernel does not show when it ticks.
    #[error("/proc/timer_list does not say when the kernel ticks")]
    Ticks,
    /// The guest failed, and says why.
    #[error("in the guest: {0}")]
    Guest(String),
}

/// Says what was done when a system call failed.
pub(crate) trait Doing<T> {
    /// `doing` is the end of "cannot …".
    fn doing(self, doing: &'static str) -> Result<T, ReplayError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: &'static str) -> Result<T, ReplayError> {
        self.map_err(|source| ReplayError::System {
            doing,
            source: source.into(),
        })
    }
}

/// An end of a connection, which notes what leaves it.
pub(crate) trait Endpoint {
    /// Time passes until `at`.
    fn run_until(&mut self, at: Time) -> Result<(), ReplayError>;
    /// It begins the handshake.
    fn open(&mut self) -> Result<(), ReplayError>;
    /// Its application writes so many bytes.
    fn write(&mut self, bytes: u64) -> Result<(), ReplayError>;
    /// Its application closes its stream.
    fn close(&mut self) -> Result<(), ReplayError>;
    /// Its application ends the connection.
    fn abort(&mut self) -> Result<(), ReplayError>;
    /// A segment arrives.
    fn arrive(&mut self, arrival: &Arrival) -> Result<(), ReplayError>;
    /// Its state, if it is a sender.
    fn state(&mut self) -> Result<SenderState, ReplayError>;
}

/// Lets happen to `end` what `script` says for `subject`, and gives its state where that is asked for.
pub(crate) fn play(
    script: &Script,
    subject: &Subject,
    end: &mut impl Endpoint,
) -> Result<Vec<(Time, SenderState)>, ReplayError> {
    let mut states = Vec::new();
    for line in script.lines_for(subject) {
        end.run_until(line.at)?;
        match &line.event {
            Event::Open => end.open()?,
            Event::Write(bytes) => end.write(*bytes)?,
            Event::Close => end.close()?,
            Event::Abort => end.abort()?,
            Event::Arrive(arrivals) => arrivals
                .iter()
                .try_for_each(|arrival| end.arrive(arrival))?,
            Event::Is(_) => states.push((line.at, end.state()?)),
            Event::Leave(_) | Event::End => {}
        }
    }
    Ok(states)
}
