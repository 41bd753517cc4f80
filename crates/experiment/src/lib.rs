//! Experiments that are files: what a source says, the runs that repeat it, and the verdicts. Rust computes figures, files judge.
//!
//! * [`registry`]: every experiment by its ID, chapter by chapter.
//! * [`Experiment`]: a file with axes, figures, statements, tables and pictures: `file` reads it, `expression` its formulas, `evaluate` plans its
//!   runs and judges their results, `function` has the figures that no formula says.
//! * [`Reproduction`]: some experiments with all their runs; a [store](quell_lab::sweep::Store) keeps the results.
//! * [`Findings`]: what an experiment found: text, tables, figures, and each [`Statement`] with its [`Verdict`].
//! * [`expectation`]: what the results of any run have to be, in the same language.
//! * [`book`]: all of that as one HTML file.
//! * [`characterize`]: report cards of queues.
//! * [`mod@reference`]: figures that are recorded of another world, and how far those of the simulator are from them.
//! * [`link_profile`]: links of phones, homes and browsers' presets, by name.
//! * [`shipped`]: the scenarios and experiments, inside the program.
//!
//! `docs/reproduce.md` comes from the same definitions.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod book;
mod cell;
pub mod characterize;
mod deviation;
mod digits;
mod evaluate;
pub mod expectation;
mod experiment;
mod expression;
mod figure;
mod file;
mod findings;
mod found;
mod function;
pub mod inputs;
pub mod judge;
pub mod link_profile;
pub mod live;
mod measure;
pub mod probe;
pub mod reference;
pub mod registry;
mod reproduction;
mod ruling;
pub mod shipped;
mod statement;
mod statistics;

pub use cell::{Cell, Length};
pub use experiment::{Experiment, OpenError, Section, Unevaluated};
pub use figure::{Curve, Figure, Pair};
pub use file::{schema, suite_schema};
pub use findings::Findings;
pub use reproduction::{Outcome, Reproduction, Unable};
pub use statement::{Checks, Expected, Judged, Statement, Verdict};
