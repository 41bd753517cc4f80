//! TCP without sockets: a sender and a receiver that behave like Linux's.
//!
//! Each is a state machine: its host hands it segments and the time, asks it for segments to send
//! ([`poll`](Sender) until `None`), and wakes it when a timer is due. Nothing here reads a clock.
//! Sequence numbers are 64-bit offsets into the stream, so they never wrap; SYN and FIN are flags
//! and occupy no sequence space.

#![forbid(unsafe_code)]

mod segment;

pub use segment::{Flags, Sack, SackBlocks, Segment};
