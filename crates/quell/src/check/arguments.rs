//! The arguments of `quell check` and `quell schema`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::{Changes, QueueChoice, Where};

/// `quell check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario file, or - for standard input
    #[arg(required_unless_present = "trace")]
    pub(crate) file: Option<PathBuf>,
    /// Say what a trace of rates, delays or losses is understood as: FILE, or FILE:format=delays,interval=10ms
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub(crate) trace: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) queue: QueueChoice,
    /// Exit with code 1 if there is a warning
    #[arg(long)]
    pub(crate) strict: bool,
    /// Check for this world on this host [default: the simulator, with a line about each other world]
    #[arg(long, value_enum)]
    pub(crate) world: Option<Where>,
}

/// A kind of file that has a JSON Schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A scenario file
    Scenario,
    /// A sweep file
    Sweep,
    /// An experiment file of quell reproduce
    Experiment,
    /// A suite of quell characterize
    Suite,
    /// summary.json of a result
    Summary,
    /// card.json of quell characterize
    Card,
}
