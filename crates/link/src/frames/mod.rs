//! Frames: the pool that holds them, what the link reads of their headers and writes into them, and
//! the descriptor that queues in their place.
//!
//! Everything here is computation on bytes: no sockets and no clock.

pub mod classifier;
mod descriptor;
pub mod ecn_field;
pub mod flow_key;
pub mod frame;
mod header_checksum;
mod label;
mod pool;
pub mod value_field;

pub use classifier::Classifier;
pub use descriptor::Descriptor;
pub(crate) use pool::HEADROOM;
pub use pool::{Frame, FrameId, Pool};
pub use value_field::OnWire;
