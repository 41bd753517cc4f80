//! Folders of results, whatever ends a run: nothing incomplete under a final name, nothing of others touched.
#![allow(clippy::unwrap_used)]

mod ends;
#[path = "../common/not_run.rs"]
mod not_run;
mod remains;
mod seeds;
mod support;
mod swapped;
mod synced;
mod taken;
