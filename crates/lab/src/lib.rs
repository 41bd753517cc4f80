//! Scenarios and their checks, the worlds behind one `run()`, results on disk.

#![forbid(unsafe_code)]

pub mod lifetimes;
pub mod live;
pub mod scenario;
pub mod schema;
mod world;

pub use scenario::Scenario;
pub use world::World;
