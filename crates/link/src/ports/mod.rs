//! Packet sockets: opening one on an interface, receiving and sending frames in batches, and
//! sleeping until one of them is ready.
//!
//! All system calls per batch are made here. A [`Port`] is the socket; [`Ingress`] and [`Egress`]
//! are its two halves, which one thread may use for two directions.

mod egress;
mod fq;
mod ingress;
mod messages;
mod port;
mod waiting;

pub(crate) use egress::{Blocked, Egress, Outgoing};
pub(crate) use ingress::{Ingress, Received, Remains};
pub(crate) use messages::{BATCH, Messages};
pub(crate) use port::Buffers;
pub use port::Port;
pub(crate) use waiting::{Interest, Waiting};
