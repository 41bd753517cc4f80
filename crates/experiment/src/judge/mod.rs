//! `quell judge`: what standards ask of a stack, and whether it does so.
//!
//! A clause is a statement of an experiment file in `clauses/`, with the document that asks, how strongly, and when it does not apply. Its runs are
//! those of any experiment; the group `stack` in them is what a [`Stack`] file says.
//!
//! * [`Clause`]: what is asked; [`clauses()`] has all of them.
//! * [`Trial`]: stacks with the clauses that are judged, all of their runs, and the verdicts.

mod clause;
mod echo;
mod flow_log;
mod keys;
mod qlog;
mod record;
mod rtp;
mod stack;
mod traffic;
mod trial;

pub use crate::ruling::{Level, Verdict};
pub use clause::{Clause, NoClause, Wanted, clauses};
pub use echo::echoed;
pub use qlog::Sample;
pub use record::{Judgement, Record, Ruling};
pub use stack::{Claims, Stack};
pub use trial::{Judged, Run, Trial, samples};

#[cfg(test)]
mod tests;
