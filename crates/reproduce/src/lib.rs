//! Published experiments: what their sources say, the runs that repeat them, and the verdicts.
//!
//! * [`registry`]: every experiment by its ID, chapter by chapter.
//! * [`Experiment`]: scenarios, statements, the plan of its runs, and the judge of their results.
//! * [`Reproduction`]: some experiments with all their runs; a [store](quell_lab::sweep::Store) keeps the results.
//! * [`Findings`]: what an experiment found: text, tables, figures, and each [`Statement`] with its [`Verdict`].
//! * [`book`]: all of that as one HTML file.
//! * [`shipped`]: the scenarios, inside the program.
//!
//! `docs/evidence/published.md` and `docs/reproduce.md` come from the same definitions.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod book;
mod cell;
mod cells;
pub mod deviation;
pub mod evaluation;
mod evaluate;
mod experiment;
mod experiment_file;
mod expression;
mod figure;
mod file;
mod findings;
pub mod function;
pub mod probe;
pub mod registry;
mod reproduction;
pub mod sections;
pub mod shipped;
mod statement;
pub mod statistics;
pub mod table;
#[doc(hidden)]
pub mod twin;

pub use cell::{Cell, Length};
pub use cells::Cells;
pub use experiment::{Experiment, Section};
pub use experiment_file::ExperimentFile;
pub use expression::Value;
pub use figure::{Curve, Figure, Pair};
pub use findings::Findings;
pub use reproduction::{Outcome, Reproduction, Unable};
pub use statement::{Checks, Expected, Judged, Statement, Verdict};
