//! A simulated run that somebody watches: it goes on in slices, and its series come as columns of numbers.
//!
//! A page has it as WebAssembly (`quell-wasm`), a server as it is. [`Watched::open`] reads a scenario, [`Watched::advance`] simulates
//! as far as is wanted, [`Watched::rows`] has what happened since, [`Watched::packets`] what single packets waited, [`Watched::finish`] the texts of `summary.json` and
//! `histograms.json`. Slices change no result: the same scenario and seed give the bytes of `quell run`. [`Watched::change`] changes what
//! runs; the scenario that repeats it is [`Watched::scenario`].
//!
//! [`catalogue()`] has what a scenario may name, for the controls of a page, [`felt()`] what people feel in runs that it made.
//!
//! There is no file, thread, clock or socket in here.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod about;
mod catalogue;
mod felt;
mod packets;
mod rows;
mod watched;

pub use about::about;
pub use catalogue::catalogue;
pub use felt::felt;
pub use packets::PACKET_COLUMNS;
pub use quell_scenario::sim::SimError;
pub use rows::{Rows, Series};
pub use watched::{Budget, Finished, Over, Preparation, Refused, Watched};
