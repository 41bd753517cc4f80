//! The virtual world, run as people run it. Where there is no kernel a test says so by name.
//!
//! As root, what is run is run by an ordinary user without any right (uid 65534), from a folder that such a user can read.
#![allow(clippy::unwrap_used)]

mod against_sim;
#[path = "../../../lab/tests/robustness/any/mod.rs"]
mod any;
mod applications;
mod broken;
mod calls;
mod commands;
#[path = "../common/first_flight.rs"]
mod first_flight;
mod first_process;
#[path = "../common/fits.rs"]
mod fits;
mod folders;
#[path = "../common/idle_items.rs"]
mod idle_items;
#[path = "../common/in_a_row.rs"]
mod in_a_row;
mod judge;
mod links;
mod networks;
mod own_controls;
mod parity;
#[path = "../common/pcapng.rs"]
mod pcapng;
mod privileges;
mod programs;
#[path = "../common/recomputed.rs"]
mod recomputed;
mod reproduced;
mod runs;
mod scenario_programs;
mod signals;
mod stage;
mod starts;
mod streaming;
mod surroundings;
mod sweeps;
#[path = "../common/tshark.rs"]
mod tshark;
