//! Modelled hosts and wires around bottlenecks, in virtual time.
//!
//! ```text
//!  senders ── own link ── forward queue ── delay of the group ── receivers
//!     └──────────── delay of the group ── reverse queue ──────┘
//! ```
//!
//! There may be several links in a row, each with a queue in either direction; a packet that leaves one queue arrives at the next one
//! after the link's own delay, and what is left of its group's lies behind the last queue.
//!
//! The queues are `quell-aqm`'s [`Bottleneck`](quell_aqm::Bottleneck)s, the hosts' transport is
//! `quell-tcp` or datagrams, and their applications are those of `quell-app`. This crate only moves
//! time and packets between them:
//!
//! * [`simulator`]: the loop, and the order of events at the same time.
//! * [`config`]: what to simulate.
//! * [`packet`]: a packet, as observers see it; [`Tee`] lets a second observer trace each packet.
//!
//! Time is in integer nanoseconds, up to 208 days. The same configuration gives the same events, to
//! the last packet: nothing here reads a clock, draws a number of its own or calculates in floating
//! point. Memory is allocated when first needed and then kept, so the steady state allocates nothing.
//! A packet in flight takes 64 bytes, in buffers that grow by doubling; a CUBIC flow at 10 Mbit/s and 40 ms
//! takes 20 kB with its packets and TCP's scoreboard (`tests/memory.rs`).

#![forbid(unsafe_code)]

mod access;
pub mod config;
mod flow;
mod network;
mod options;
pub mod packet;
mod session;
pub mod simulator;
mod sources;
mod tee;
mod timers;
mod wakeup_delay;
mod watching;
mod wire;

pub use config::{
    Config, DirectionConfig, Error, FlowConfig, Jitter, LinkChange, LinkConfig, TransportConfig,
};
pub use network::Announce;
pub use packet::{PACKET_MEMORY, Packet};
pub use session::CONNECTION_MEMORY;
pub use simulator::{FLOW_MEMORY, Simulator};
pub use tee::Tee;
pub use wakeup_delay::Lateness;
pub use watching::{Simulated, Watching};
