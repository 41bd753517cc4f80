//! The arguments of `quell sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use quell_lab::sweep::Shard;
use quell_units::notation::{self, NotationError};

use crate::arguments::{ArgumentError, Jobs, Patience, Where, level};
use crate::expectations::Expected;

/// `quell sweep FILE`, or one of its commands.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) action: Option<SweepAction>,
    /// Sweep file: a scenario, axes with their values, seeds, experiments
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Store of the results; cells that it has do not run again [default: results/sweep-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Run only part K of N; all parts take about equally long
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Show what is there and what would run, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the cells again that failed
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// What to keep of each cell
    #[arg(long, value_enum, default_value_t = Keep::Summary)]
    pub(crate) keep: Keep,
    /// Stop after this time, such as 30min; whole cells are kept, and the next call goes on
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Take the cells that are there as they are, without comparing their files with their sums
    #[arg(long)]
    pub(crate) trust: bool,
    /// Live world: keep cells that are there, although they would not repeat
    #[arg(long)]
    pub(crate) reuse_live: bool,
    /// World to run in [default: the file's, otherwise sim]
    #[arg(long, value_enum)]
    pub(crate) world: Option<Where>,
    /// Kernel of the virtual world, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// What is expected of each point; figures are those of the sweep's table
    #[command(flatten)]
    pub(crate) expected: Expected,
}

/// What is done with a store.
#[derive(Debug, Subcommand)]
pub(crate) enum SweepAction {
    /// Print the figures of a store, or write them to a file: a row per cell, or per point over its seeds
    Table(SweepTable),
    /// Add the cells of other stores to a store
    Merge {
        /// Store to add to; a new one takes the plan of the first source
        dest: PathBuf,
        /// Stores whose cells are added; they stay as they are
        #[arg(required = true)]
        sources: Vec<PathBuf>,
    },
    /// Check that every cell of a store is as it was made
    Check {
        /// The store
        store: PathBuf,
        /// Move damaged cells to the store's folder damaged, so that the next run makes them again
        #[arg(long)]
        set_aside: bool,
    },
}

/// `quell sweep table`.
#[derive(Debug, Args)]
pub(crate) struct SweepTable {
    /// The store
    pub(crate) store: PathBuf,
    /// Write all columns to this file, .csv or .parquet; one of that name is replaced [default: print a few columns]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Only these columns, such as link.utilisation,queue.*.delay_ms.p99; may be repeated
    #[arg(long = "columns", value_name = "LIST", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// One row per point: means over its seeds, with standard errors and confidence intervals
    #[arg(long)]
    pub(crate) over_seeds: bool,
    /// Take the cells as they are, without comparing their files with their sums
    #[arg(long)]
    pub(crate) trust: bool,
    /// Level of the intervals, such as 0.99 [default: 0.95]
    #[arg(long, value_name = "LEVEL", value_parser = level, requires = "over_seeds")]
    pub(crate) confidence: Option<f64>,
}

/// What a cell keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// summary.json and histograms.json
    Summary,
    /// Also queues.parquet, flows.parquet and events.parquet
    Series,
}

fn duration(text: &str) -> Result<Duration, NotationError> {
    let time = notation::time(text)?;
    Ok(Duration::from_nanos(time.as_nanos()))
}

impl Sweep {
    /// Cells in parallel.
    pub(crate) fn jobs(&self, world: quell_lab::World) -> Result<NonZeroUsize, ArgumentError> {
        self.jobs.number(world)
    }
}
