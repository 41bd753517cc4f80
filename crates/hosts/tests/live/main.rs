//! Every test of quell-hosts in real time that may share a process with others, in one program: it is linked once.
//!
//! Each takes its turn of the machine, so that none runs beside another. What a thread gives up or enters (capabilities, namespaces) is
//! that thread's alone.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;
mod controls;
mod dctcp;
mod kernel_queue;
mod prague;
mod topology;
mod traffic;
