//! `quell demo`: the effect of a queue, in one command.

pub(crate) mod arguments;
mod coexistence;
mod home;
mod worlds;

use crate::demo::arguments::{Demo, Demonstration};
use crate::failure::Failure;
use crate::output::page::Page;

/// Runs a demonstration.
pub(crate) fn demo(arguments: &Demo, page: &mut Page) -> Result<(), Failure> {
    match arguments.name {
        Demonstration::Coexistence => coexistence::coexistence(arguments, page),
        Demonstration::Home => home::home(arguments, page),
    }
}
