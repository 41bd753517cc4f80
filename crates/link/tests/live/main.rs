//! Every test of quell-link over real interfaces, in one program: it is linked once.
//!
//! Each takes its turn of the machine, so that none runs beside another. The namespaces are entered by threads, which end with the test.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod ahead;
mod frames;
mod packets;
mod support;
mod values;
