//! Every test of quell-tcp that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../accecn.rs"]
mod accecn;
#[path = "../acknowledgements.rs"]
mod acknowledgements;
#[path = "../allocation.rs"]
mod allocation;
#[path = "../bursts.rs"]
mod bursts;
#[path = "../common/mod.rs"]
mod common;
#[path = "../connections.rs"]
mod connections;
#[path = "../contract.rs"]
mod contract;
#[path = "../control.rs"]
mod control;
#[path = "../delivery.rs"]
mod delivery;
#[path = "../ecn_handshake.rs"]
mod ecn_handshake;
#[path = "../laws.rs"]
mod laws;
#[path = "../options.rs"]
mod options;
#[path = "../prague.rs"]
mod prague;
#[path = "../random_loss.rs"]
mod random_loss;
#[path = "../recovery.rs"]
mod recovery;
#[path = "../renewal.rs"]
mod renewal;
#[path = "../undo.rs"]
mod undo;
