//! Scenarios and their checks, the worlds behind one [`run()`], results on disk.
//!
//! * [`scenario`]: what runs over which link, read, checked and written as TOML.
//! * [`schema`]: the same as JSON Schema, for editors.
//! * [`mod@run`]: one result per seed, in any [`World`].
//! * [`sim`]: the world of modelled hosts.
//! * [`live`]: the world of real packets.
//! * [`virtual_world`]: the same inside a user-mode kernel, in virtual time.
//! * [`results`]: the folder of a result and its files.
//! * [`confidence`]: intervals of the mean of several runs.
//! * [`limits`]: what kept a link from being full.

#![forbid(unsafe_code)]

mod batch;
pub mod confidence;
mod error;
mod figures;
pub mod lifetimes;
pub mod limits;
pub mod live;
mod markers;
mod packets;
mod printable;
pub mod readiness;
pub mod results;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod sim;
pub mod virtual_world;
mod world;

pub use error::{KeptSeeds, RunError};
pub use packets::PacketFile;
pub use printable::{OneLine, printable};
pub use run::{
    Finished, GuestOptions, Job, Measured, Options, Outcome, Progress, Task, run, run_all, run_in,
};
pub use scenario::Scenario;
pub use world::World;
