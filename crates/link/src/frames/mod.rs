//! Frames: the pool that holds them, what the link reads of their headers and writes into them, and
//! the descriptor that queues in their place.
//!
//! Everything here is computation on bytes: no sockets and no clock.

mod addressed;
mod classifier;
mod descriptor;
pub mod ecn_field;
mod flow_key;
pub mod frame;
mod header_checksum;
mod offload;
mod pool;
pub(crate) mod too_long;
pub mod value_field;

pub(crate) use addressed::Addressed;
pub(crate) use classifier::Classifier;
pub use classifier::Side;
pub use descriptor::Descriptor;
pub(crate) use offload::{DESCRIPTION, SuperPacket};
pub use pool::FrameId;
pub(crate) use pool::HEADROOM;
pub(crate) use pool::{Frame, OutOfMemory, Pool, slot};
pub use value_field::OnWire;
