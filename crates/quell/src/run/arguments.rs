//! The arguments of `quell run`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::{
    Changes, Consent, Guest, Jobs, LIVE, QueueChoice, Realtime, Several, Strict, Verbosity, Where,
};
use crate::expectations::Expected;
use crate::report::Reported;

/// `quell run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario file, or - for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) queue: QueueChoice,
    #[command(flatten)]
    pub(crate) guest: Guest,
    #[command(flatten)]
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) consent: Consent,
    /// Also write packets.pcapng: every packet with its queue, sojourn time and fate
    #[arg(long)]
    pub(crate) packets: bool,
    #[command(flatten)]
    pub(crate) reported: Reported,
    #[command(flatten)]
    pub(crate) expected: Expected,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// World to run in
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    /// Live and virtual world: use this queue of the kernel in place of quell's, in tc's syntax: "pie limit
    /// 1000 target 15ms"
    #[arg(long, value_name = "QDISC", hide = true)]
    pub(crate) kernel_queue: Option<String>,
    /// Live and virtual world: also measure from outside the queue what happens to each packet
    #[arg(long, hide = true)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// What a run prints and writes.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Write the results into this folder, which must not exist yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print only the summary, or the errors of the scenario, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) realtime: Realtime,
    /// As root, let the kernel load the module of a congestion control that it lacks; the module stays loaded,
    /// for every program of the host
    #[arg(long, help_heading = LIVE)]
    pub(crate) load_modules: bool,
}
