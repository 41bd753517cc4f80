//! Telling what this machine or this call cannot run.

pub(crate) use quell_testing::not_run;
