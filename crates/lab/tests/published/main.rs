//! Published experiments in the simulator: what the source says beside what comes out.
//!
//! One file per idea. Each runs scenarios from `scenarios/`, asserts the published statement, prints its tables (`--nocapture`) and
//! owns its section of `docs/evidence/published.md` and the CSV files that it links to; `QUELL_BLESS=1` rewrites them. The simulator
//! repeats to the bit, so page and files are compared as text: a change of TCP or of a queue that moves a figure shows there.
//!
//! Tests of more than ten seconds run in `make test-all` (`-- --include-ignored`), the others also in `make test`.
#![allow(clippy::unwrap_used)]

mod bbr;
mod bbr_beside_cubic;
mod bbr_bounded;
mod browsing;
mod call;
mod compound;
mod cubic;
mod deviation;
mod dualq2015;
mod evaluation;
mod experiment;
mod fq_codel;
mod gateway;
mod gateway_controls;
mod gateway_sweep;
mod has;
mod independence;
mod overload;
mod page;
mod pairs;
mod panorama;
mod pie;
mod prague;
mod protection;
mod red;
mod scream;
mod statistics;
mod step;
mod sweep;
mod synchronisation;
mod table;
mod vdq;
mod vdq_bbr;
mod video;
mod web;
