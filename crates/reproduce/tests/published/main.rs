//! Published experiments in the simulator: what the source says beside what comes out.
//!
//! The experiments of the library are run in full by [`definitions`]. The other files own a section each: they run scenarios from
//! `scenarios/`, assert the published statement and print their tables (`--nocapture`). All of them own their section of
//! `docs/evidence/published.md` and the CSV files that it links to; `QUELL_BLESS=1` rewrites them. The simulator
//! repeats to the bit, so page and files are compared as text: a change of TCP or of a queue that moves a figure shows there.
//!
//! Tests of more than ten seconds run in `make test-all` (`-- --include-ignored`), the others also in `make test`.
#![allow(clippy::unwrap_used)]

mod browsing;
mod definitions;
mod evaluation;
mod experiment;
mod has;
mod page;
mod panorama;
mod scream;
mod sweep;
mod verdicts;
mod video;
mod web;

use quell_reproduce::{statistics, table};
