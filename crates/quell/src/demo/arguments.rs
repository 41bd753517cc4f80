//! The arguments of `quell demo`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::{Jobs, Strict, Verbosity, Where};
use crate::report::Reported;

/// `quell demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// What to show
    #[arg(value_enum, default_value_t = Demonstration::Coexistence)]
    pub(crate) name: Demonstration,
    /// Write the result folders, one per queue, into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print only the summaries, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Duration of each run, such as 20s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Run with this seed only [default: several seeds, one in the live world]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) reported: Reported,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// World to run in
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// A demonstration.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Demonstration {
    /// Downloads with DCTCP and CUBIC over drop-tail, PIE, FQ-CoDel and DualPI2
    Coexistence,
    /// What each person of a household feels behind drop-tail, FQ-CoDel and DualPI2
    Home,
}
