//! Every test of quell-aqm that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../curvy_red.rs"]
mod curvy_red;
#[path = "../dualpi2/main.rs"]
mod dualpi2;
#[path = "../gsp.rs"]
mod gsp;
#[path = "../kernel/main.rs"]
mod kernel;
#[path = "../laws.rs"]
mod laws;
#[path = "../markers/main.rs"]
mod markers;
#[path = "../moving.rs"]
mod moving;
#[path = "../operating_points.rs"]
mod operating_points;
#[path = "../opportunities.rs"]
mod opportunities;
#[path = "../pie.rs"]
mod pie;
#[path = "../red.rs"]
mod red;
#[path = "../sensitivity.rs"]
mod sensitivity;
#[path = "../values.rs"]
mod values;
#[path = "../vdq_csaqm.rs"]
mod vdq_csaqm;
