//! Parts of disciplines, for those of this crate and of others.
//!
//! A discipline with one queue is a [`ControlLaw`] in a [`SingleBuffer`]: the buffer has the packets, the limit and the settings, and the law
//! decides about packets. Anything else implements [`Qdisc`](crate::Qdisc) itself.

pub use crate::limit::QueueLimit;
pub use crate::qdisc::mark;
pub use crate::single_buffer::{ControlLaw, SingleBuffer};
pub use crate::single_queue::{SingleQueue, drop_queued, refuse};
