//! Queue disciplines and the bottleneck that drives them.
//!
//! Everything here is pure: time, randomness and the link's rate are arguments, packets are seen
//! through a small trait, and nothing reads a clock, logs or blocks. Nothing on the per-packet path
//! uses floating point; only the gauges of [`qdisc::Gauge`], which are read now and then, are `f64`.
//! So one code decides the fate of modelled packets in a simulator and of real ones on a
//! link.
//!
//! * [`packet`]: the view of a packet that a discipline gets.
//! * [`qdisc`]: the contract of a queue discipline; [`observer`]: receives what it did.
//! * [`disciplines`]: every discipline there is, behind one enum; [`kind`]: their rows in listings; [`test_cases`]: data for their tests.
//! * [`own`]: disciplines of other crates; [`parts`]: parts to make a discipline of.
//! * [`value`]: values of packets; [`marker`]: writes them into packets, in front of the bottleneck.
//! * [`bottleneck`]: a discipline behind a [`departure_clock`]; nothing else calls a discipline.
//!
//! Panics: only on a broken invariant of this crate, never on the content of a call or a packet.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bottleneck;
pub mod departure_clock;
pub mod disciplines;
mod dual_buffer;
mod dual_queue;
mod ewma;
mod flow_queue;
pub mod impair;
pub mod kind;
mod limit;
pub mod link_trace;
pub mod marker;
pub mod medium;
pub mod observer;
pub mod own;
pub mod packet;
pub mod parts;
pub mod path_trace;
mod pi;
pub mod qdisc;
mod queue_protection;
pub mod scheduler;
pub mod service;
mod shell;
mod single_buffer;
mod single_queue;
pub mod test_cases;
mod threshold;
pub mod value;
mod virtual_queue;

pub use bottleneck::Bottleneck;
pub use departure_clock::Departure;
pub use disciplines::Discipline;
pub use marker::Marker;
pub use observer::{Drop, DropReason, MarkReason, Observer, QueueId};
pub use packet::Packet;
pub use qdisc::{Backlog, Link, Qdisc};
pub use service::Service;
pub use value::ValueFunction;

// The units of the public items above; `units` as a whole for the notation of parameters.
use quell_units::random;
pub use quell_units::{
    self as units, Bytes, Ecn, Frequency, Parameter, ParameterError, Probability, Random, Rate,
    Settings, Time, parameter,
};
