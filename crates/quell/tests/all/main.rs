//! Every test of the command line that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../apps.rs"]
mod apps;
#[path = "../characterize/main.rs"]
mod characterize;
#[path = "../commands.rs"]
mod commands;
#[path = "../demo.rs"]
mod demo;
#[path = "../determinism.rs"]
mod determinism;
#[path = "../docs/main.rs"]
mod docs;
#[path = "../errors.rs"]
mod errors;
#[path = "../expectations.rs"]
mod expectations;
#[path = "../folders/main.rs"]
mod folders;
#[path = "../instructions.rs"]
mod instructions;
#[path = "../interrupted.rs"]
mod interrupted;
#[path = "../kernel.rs"]
mod kernel;
#[path = "../own/main.rs"]
mod own;
#[path = "../packets.rs"]
mod packets;
#[path = "../common/pcapng.rs"]
mod pcapng;
#[path = "../pictures.rs"]
mod pictures;
#[path = "../proxies.rs"]
mod proxies;
#[path = "../common/recomputed.rs"]
mod recomputed;
#[path = "../reproduce.rs"]
mod reproduce;
#[path = "../scenarios.rs"]
mod scenarios;
#[path = "../schemas.rs"]
mod schemas;
#[path = "../sweep/main.rs"]
mod sweep;
#[path = "../terminal.rs"]
mod terminal;
#[path = "../common/tshark.rs"]
mod tshark;
#[path = "../unchanged/main.rs"]
mod unchanged;
#[path = "../values.rs"]
mod values;
