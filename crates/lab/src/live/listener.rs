//! Who hears what a live run gives.

use std::path::PathBuf;

use quell_results::packets::PacketFile;
use quell_scenario::contract::Listener;

use super::prepared::Prepared;
use super::steer::NotChanged;

/// Receives what a live run gives while it goes on, and takes part in its set-up.
pub trait LiveListener: Listener {
    /// The file for every packet; asked once, before the run begins.
    fn packets(&mut self) -> Option<PacketFile> {
        None
    }
    /// The folder that is made for the output of commands; without one no command runs.
    fn commands(&mut self) -> Option<PathBuf> {
        None
    }
    /// The folder that is made for the output of programs; without one none starts.
    fn programs(&mut self) -> Option<PathBuf> {
        None
    }
    /// What the run is prepared for, if somebody watches and changes it; asked once, before the run begins.
    fn prepared(&self) -> Option<Prepared> {
        None
    }
    /// A change that somebody wants now: a key and its value. Asked often while such a run goes on.
    fn wished(&mut self) -> Option<(String, String)> {
        None
    }
    /// What came of it: the scenario as TOML that repeats the run, or why nothing was changed.
    fn answered(&mut self, _answer: Result<String, NotChanged>) {}
    /// The hosts and their networks exist, and no other thread of the run does yet.
    fn is_built(&mut self) -> Result<(), quell_hosts::confine::Error> {
        Ok(())
    }
    /// Every thread of the run exists and has what it needs; the calling thread needs no rights any more.
    fn has_begun(&mut self) -> Result<(), quell_hosts::confine::Error> {
        Ok(())
    }
}

impl LiveListener for () {}
