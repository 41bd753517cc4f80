//! The common part of the BBRs: their integers, their view of a connection, and the two state machines.
//!
//! Linux reckons in packets, microseconds and jiffies. Bandwidth is in packets per microsecond, times
//! 2²⁴, in 32 bits; gains and fractions are in 1/256. All products are in 64 bits and in a fixed order, so
//! that they round as Linux's do. The state machines see a connection only through [`Sock`] and
//! [`Ack`], whose fields are Linux's: so the same calls can go to the C cores of `bpf/core`, whose state
//! must then be equal to the bit.
//!
//! * [`v1`]: BBR v1 (`bbr1`).
//! * [`bounded`]: BBR v2 and v3 (`bbr2`, `bbr3`), which bound what is in flight from below and above.

pub mod bounded;
mod connect;
mod control;
pub mod integers;
mod sock;
pub mod v1;
mod windowed_max;

pub(super) use connect::{Link, ack};
pub use control::{Bounded, Version};
pub use sock::{Ack, Draw, Lost, NO_RTT, Sock, state};
