//! The worlds behind one [`run()`], and batches of runs.
//!
//! * [`mod@run`]: one result per seed, in any [`World`].
//! * [`live`]: the world of real packets.
//! * [`virtual_world`]: the same inside a user-mode kernel, in virtual time.
//! * [`sweep`]: many cells, each run once, and the table of their figures.
//! * [`at_once`]: work on as many threads as there can be.
//! * [`readiness`]: what this host is missing for a scenario.
//! * [`writer`]: the user who writes results.
//!
//! The simulated world, the file format and its checks are in [`scenario`] (`quell-scenario`), the files of a result in
//! [`results`] (`quell-results`); both are part of this crate's interface.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod at_once;
mod batch;
mod error;
mod guest_command;
mod guest_day;
mod job;
pub mod live;
mod options;
mod program_env;
pub mod readiness;
mod requirements;
pub mod run;
mod simulated;
pub mod sweep;
pub mod virtual_world;
mod write_result;
pub mod writer;

pub use error::{KeptSeeds, RunError};
pub use guest_command::{GuestCommand, GuestCommandError};
pub use guest_day::GuestDay;
pub use job::{Finished, Job, Outcome, Progress, Task};
pub use options::{GuestOptions, GuestUser, LiveOptions, Options};
pub use program_env::{ProgramEnv, ProgramError, find_program};
pub use quell_results::packets::PacketFile;
pub use quell_results::{self as results, bottleneck, confidence};
pub use quell_scenario::contract::{EventRow, Listener, Measurements, Row, Unwritten, Work};
pub use quell_scenario::{self as scenario, OneLine, Scenario, World, printable, schema, sim};
pub use run::{run, run_all, run_in};
