//! HTTP adaptive streaming: a player that asks for one segment after another, each at the level that its
//! rule chooses, and plays them from a buffer.
//!
//! The [`player`] is exact in event time and knows nothing of connections. Its parts:
//!
//! * [`ladder`]: the levels; [`rule`]: how one is chosen, by the [`throughput`](rule::Kind::Throughput),
//!   by the buffer ([`bola`], [`BBA-0`](rule::Kind::Bba0)) or by both; [`estimator`]: what the player
//!   believes of the network.
//! * [`playback`]: the buffer, and what the user sees of it; [`report`]: the figures of that.
//!
//! Rules decide in integers: times in ns, rates in bit/s, logarithms and powers in fixed point. So they
//! decide alike on every machine. The tests hold them against Sabre, decision for decision.

mod bba;
pub mod bola;
pub mod estimator;
mod fixed;
pub mod ladder;
mod mpc;
pub mod playback;
pub mod player;
pub mod report;
pub mod rule;
mod throughput;
