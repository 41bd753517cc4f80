//! Sweeps: one scenario with many values, and a store of their results that knows each by its content.
//!
//! * [`Plan`]: a sweep file, with every cell resolved and checked; [`schema()`] is for editors.
//! * [`Store`]: a folder with a folder for each cell; [`run`] fills it, [`survey`] says what is missing, [`merge`] adds others,
//!   [`check()`] finds what changed.
//! * [`Plan::of`]: the plan of runs that a program wants; [`stored()`] has their results, and a [`Probe`] figures of its own.
//! * [`table`]: the figures of a store.

mod cell;
mod cell_folder;
mod check;
mod cost;
mod draw;
mod file;
mod files;
mod identity;
mod plan;
mod probe;
mod quantity;
mod record;
mod shard;
#[cfg(test)]
mod sources;
mod store;
mod stored;
pub mod table;
mod work;

pub use cell_folder::Damage;
pub use check::{Checked, Merged, check, merge};
pub use file::{Objective, schema};
pub use identity::{Identity, Key};
pub use plan::{Plan, PointOfPlan, Wanted};
pub use probe::{Probe, Reading, Watched};
pub use record::{PointRecord, Record};
pub use shard::{NoShard, Shard};
pub use store::Store;
pub use stored::{Stored, forget, stored};
pub use work::{Options, Progress, Report, Survey, run, survey};
