//! Folders of results, whatever ends a run: nothing incomplete under a final name, nothing of others touched.
#![allow(clippy::unwrap_used)]

mod ends;
mod remains;
mod seeds;
mod support;
mod swapped;
mod synced;
mod taken;
