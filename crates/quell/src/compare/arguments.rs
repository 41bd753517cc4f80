//! The arguments of `quell compare`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::{
    Changes, Consent, GuestPlace, Jobs, Patience, Realtime, Several, Strict, VIRTUAL, Verbosity,
    Where,
};
use crate::expectations::Expected;
use crate::report::Reported;

/// `quell compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Scenario file, or - for standard input. Its queue parameters apply only to a queue of the same kind
    pub(crate) file: PathBuf,
    /// Queues to compare, such as fifo,dualpi2:target=5ms,any_ect=true; may be repeated [default: the scenario's queue]
    #[arg(long = "queue", value_name = "LIST")]
    pub(crate) queues: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) several: Several,
    /// Write the result folders, one per queue, into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print only the summaries, or the errors of the scenario, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reported: Reported,
    #[command(flatten)]
    pub(crate) expected: Expected,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Worlds to run in; several, such as sim,virtual, are shown side by side
    #[arg(
        long = "world",
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "sim"
    )]
    pub(crate) worlds: Vec<Where>,
    /// Kernels to run, by their names in `quell kernel list` [default: the newest]
    #[arg(long = "kernel", value_name = "LIST", value_delimiter = ',', help_heading = VIRTUAL)]
    pub(crate) kernels: Vec<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    #[command(flatten)]
    pub(crate) place: GuestPlace,
    #[command(flatten)]
    pub(crate) realtime: Realtime,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
