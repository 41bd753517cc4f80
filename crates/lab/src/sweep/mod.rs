//! Sweeps: one scenario with many values, and a store of their results that knows each by its content.
//!
//! * [`Plan`]: a sweep file, with every cell resolved and checked.
//! * [`Store`]: a folder with a folder for each cell; [`run`] fills it, [`survey`] says what is missing, [`merge`] adds others,
//!   [`check()`] finds what changed.
//! * [`table`]: the figures of a store.

mod check;
mod draw;
mod file;
mod files;
mod identity;
mod plan;
mod quantity;
mod record;
mod shard;
mod store;
pub mod table;
mod work;

pub use check::{Checked, Merged, check, merge};
pub use file::Objective;
pub use identity::{Identity, Key};
pub use plan::Plan;
pub use record::{PointRecord, Record};
pub use shard::Shard;
pub use store::Store;
pub use work::{Options, Progress, Report, Survey, run, survey};
