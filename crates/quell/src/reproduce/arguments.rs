//! The arguments of `quell reproduce`.

use std::path::PathBuf;

use clap::Args;
use quell_experiment::Length;
use quell_lab::World;
use quell_lab::sweep::Shard;

use crate::arguments::{Jobs, Patience, Where};
use crate::reproduce::STORE;

/// `quell reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// IDs of experiments, sources (the first part of IDs), all, or experiment files of your own (.toml); list, or nothing,
    /// lists what there is
    #[arg(value_name = "ID")]
    pub(crate) names: Vec<String>,
    /// One seed and a few seconds of each run: shows that everything runs, and judges nothing
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// The lengths and seeds that the verdicts need; the default
    #[arg(long)]
    pub(crate) full: bool,
    /// Store of the results; runs that it has do not run again [default: results/reproduce, or
    /// results/reproduce-quick]
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
    /// Run only experiments of which something has changed since a full run judged them: the file, what it names, or quell;
    /// the others are listed with how that run ended
    #[arg(long, conflicts_with_all = ["quick", "shard", "tables", "report", "record"])]
    pub(crate) changed: bool,
    /// Run those again that failed
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Write the text with its tables (.md) and the CSV files of each experiment into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) tables: Option<PathBuf>,
    /// Write the book to this file, .html: every verdict, and figures beside what the sources print; one of that name
    /// is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write comparisons with Linux (validation/…) into this document, between its markers, and the CSV files into data/
    /// beside it; in the virtual world, what ran becomes the record
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "shard", "dry_run", "tables", "report", "json"])]
    pub(crate) record: Option<PathBuf>,
    /// So many simulations of each point of a comparison with Linux (validation/…), however many runs Linux had
    #[arg(long, value_name = "N", conflicts_with_all = ["quick", "record"], value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) seeds: Option<u64>,
    /// Print the statements and verdicts, or the list, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// World to run in; sim is the one that the verdicts are about [default: sim]
    #[arg(long, value_enum)]
    pub(crate) world: Option<Where>,
    /// Kernel of the virtual world, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
}

impl Reproduce {
    /// How much runs.
    pub(crate) fn length(&self) -> Length {
        if self.quick {
            Length::Quick
        } else {
            Length::Full
        }
    }

    /// The store.
    pub(crate) fn store(&self) -> PathBuf {
        let usual = match self.length() {
            Length::Quick => "results/reproduce-quick",
            Length::Full => STORE,
        };
        self.store.clone().unwrap_or_else(|| PathBuf::from(usual))
    }

    /// Whether the experiments are listed instead of run, and the names that are left.
    pub(crate) fn wanted(&self) -> (bool, &[String]) {
        match &self.names[..] {
            [] => (true, &[]),
            [first, rest @ ..] if first == "list" => (true, rest),
            names => (false, names),
        }
    }

    /// The command that does the same, without where its files are.
    pub(crate) fn words(&self, world: World) -> Vec<String> {
        let mut words: Vec<String> = ["quell", "reproduce"].map(str::to_owned).to_vec();
        words.extend(self.names.iter().cloned());
        if self.quick {
            words.push("--quick".to_owned());
        }
        if world != World::Sim {
            words.push(format!("--world {}", world.name()));
        }
        words
    }
}
