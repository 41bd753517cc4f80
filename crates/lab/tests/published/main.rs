//! Published experiments in the simulator: what the source says beside what comes out.
//!
//! One file per idea. Each runs scenarios that are shipped in `scenarios/`, asserts the published
//! statement, prints its tables (`--nocapture`) and owns its section of `docs/evidence/published.md`, which
//! `QUELL_BLESS=1` writes anew. The simulator repeats to the bit, so the page is compared as text: a
//! change of TCP or of a queue that moves a figure shows it there.
//!
//! Those that take more than ten seconds run in `make test-all` (`-- --include-ignored`), the others also in `make test`.
#![allow(clippy::unwrap_used)]

mod call;
mod cubic;
mod dualq2015;
mod evaluation;
mod experiment;
mod fq_codel;
mod gateway;
mod gateway_sweep;
mod overload;
mod page;
mod pairs;
mod pie;
mod protection;
mod red;
mod statistics;
mod step;
mod sweep;
mod synchronisation;
mod table;
mod vdq;
