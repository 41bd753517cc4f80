//! Modelled hosts and wires around the bottleneck, in virtual time.
//!
//! ```text
//!  senders ── forward queue ── delay of the group ── receivers
//!     └────── delay of the group ── reverse queue ──────┘
//! ```
//!
//! The queues are `quell-aqm`'s [`Bottleneck`](quell_aqm::Bottleneck)s, the hosts' transport is
//! `quell-tcp` or datagrams, their applications are `quell-app`'s; here is only what moves time and
//! packets between them:
//!
//! * [`simulator`]: the loop, and the order of what happens at the same time.
//! * [`config`]: what to simulate.
//! * [`packet`]: a packet, as observers see it.
//!
//! Time is integer nanoseconds, up to 208 days. Same configuration, same events, to the last
//! packet: nothing here reads a clock, draws a number of its own or calculates in floating point.
//! Memory is one kilobyte or so per flow and one cache line per packet under way, taken when first
//! needed and kept: in the steady state nothing is allocated.

#![forbid(unsafe_code)]

pub mod config;
mod flow;
mod network;
pub mod packet;
mod sacks;
pub mod simulator;
mod sources;
mod timers;
mod wire;

pub use config::{Change, Config, Error, FlowConfig, Side, TransportConfig};
pub use packet::Packet;
pub use simulator::Simulator;
