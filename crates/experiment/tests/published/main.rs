//! Published experiments in the simulator: what the source says beside what comes out.
//!
//! The experiments of the library are run in full by [`definitions`], which checks their verdicts (`statements.csv`), their tables and
//! the hash of their text (`--nocapture` prints it); `QUELL_BLESS=1` rewrites them. The simulator repeats to the bit, so all are compared
//! as text: a change of TCP or of a queue that moves a figure shows there. `docs/reproduce.md` follows from `statements.csv`.
//!
//! A section whose sources, scenarios and pages are those that were checked last does not run again ([`checked`]).
//!
//! Tests of more than ten seconds run in `make test-all` (`-- --include-ignored`), the others also in `make test`.
#![allow(clippy::unwrap_used)]

mod checked;
mod data;
mod definitions;
mod evaluation;
mod experiment;
mod page;
mod panorama;
mod verdicts;
