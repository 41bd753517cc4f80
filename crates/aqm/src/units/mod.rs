//! Quantities with their units in the type, and the notation people write them in.

mod bytes;
mod frequency;
pub mod notation;
mod probability;
mod rate;
mod time;

pub use bytes::Bytes;
pub use frequency::Frequency;
pub use probability::Probability;
pub use rate::Rate;
pub use time::Time;
