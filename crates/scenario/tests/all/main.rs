//! Every test of quell-scenario that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../browsing.rs"]
mod browsing;
#[path = "../changing.rs"]
mod changing;
#[path = "../common/mod.rs"]
mod common;
#[path = "../controls.rs"]
mod controls;
#[path = "../has.rs"]
mod has;
#[path = "../hostile.rs"]
mod hostile;
#[path = "../links.rs"]
mod links;
#[path = "../networks.rs"]
mod networks;
#[path = "../programs.rs"]
mod programs;
#[path = "../refusals/main.rs"]
mod refusals;
#[path = "../rules.rs"]
mod rules;
#[path = "../schema.rs"]
mod schema;
#[path = "../several.rs"]
mod several;
#[path = "../shipped.rs"]
mod shipped;
#[path = "../web.rs"]
mod web;
