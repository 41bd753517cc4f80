//! The arithmetic of the congestion controls in `bpf/core`, compiled as plain C, and callable.
//!
//! BPF programs and files of a kernel include the same headers. The tests of this crate compare them with the controls of `quell-tcp`: equal
//! state to the bit after a million random ACKs, losses, marks, time-outs, pauses and undos. Nothing of quell links this crate.
//!
//! A function of a header is a method here, and a struct of a header a struct with the same fields in the same order. Recovery states have
//! Linux's numbers (`enum tcp_ca_state`).

mod bbr;
mod compound;
mod htcp;
mod prague;
mod ring;

pub use bbr::{
    Bbr, BbrAck, BbrLost, BbrRules, BbrSock, BbrState, BbrVersion, bbr_sizes, seed_bbr_draws,
};
pub use compound::{Compound, CompoundRules};
pub use htcp::{Htcp, HtcpRules};
pub use prague::{Prague, PraguePath, PragueRules};
pub use ring::{Departure, Flight, Ring};

/// The congestion window; `struct cc_window`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increment.
    pub cwnd_cnt: u32,
    /// Window when the last reduction began.
    pub prior_cwnd: u32,
}
