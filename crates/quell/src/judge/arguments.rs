//! The arguments of `quell judge`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quell_experiment::judge::{Claims, NoClause, Wanted};

use crate::arguments::{Jobs, Patience, Where};

/// `quell judge`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Judge {
    /// Stack files: how a server and a client start, and what they claim
    #[arg(value_name = "STACK", required = true)]
    pub(crate) stacks: Vec<PathBuf>,
    /// Judge by this claim instead of that of the files: l4s, classic, nqb or none
    #[arg(long, value_name = "CLAIM", value_parser = Claims::ALL.map(|(name, _)| name))]
    pub(crate) claims: Option<String>,
    /// Only these clauses, or groups of them, of `quell judge list`
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "quick"
    )]
    pub(crate) clause: Vec<String>,
    /// Only the clauses of a first look, with one seed
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// All clauses; the default
    #[arg(long)]
    pub(crate) full: bool,
    /// Runs of each bed, with seeds from 1 on; where they do not agree a clause is open [default: 3, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) seeds: Option<u64>,
    /// World to run in: virtual, live, or for controls of quell sim
    #[arg(long, value_enum, default_value_t = Where::Virtual)]
    pub(crate) world: Where,
    /// Let the live world run the programs of the stacks, as you
    #[arg(long)]
    pub(crate) allow_programs: bool,
    /// Folder for judge.json, judge.html, and the runs of each clause that is not met, with their packets; one of that name is
    /// replaced if quell judge made it [default: results/judge]
    #[arg(
        long,
        value_name = "DIR",
        default_value = "results/judge",
        hide_default_value = true
    )]
    pub(crate) out: PathBuf,
    /// Write the verdicts as JUnit XML into this file; one of that name is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// End with code 4 where a clause is open
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only what became worse than in this judge.json fails
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Print judge.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Kernel of the virtual world, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    #[command(subcommand)]
    pub(crate) action: Option<JudgeAction>,
}

/// What else it does.
#[derive(Debug, Subcommand)]
pub(crate) enum JudgeAction {
    /// List the clauses, with who asks for them and how strongly
    List,
    /// Explain a clause: what is asked, what is measured, the bound and where it comes from
    Explain {
        /// Its name
        clause: String,
    },
    /// Join the judge.json of several folders into one page with the matrix of all stacks
    Matrix {
        /// Folders that quell judge wrote
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// The page; one of that name is replaced
        #[arg(long, short, value_name = "FILE", default_value = "matrix.html")]
        out: PathBuf,
    },
}

impl Judge {
    /// The clauses that are judged.
    pub(crate) fn wanted(&self) -> Result<Wanted, NoClause> {
        match (&self.clause[..], self.quick) {
            (_, true) => Ok(Wanted::Quick),
            ([], false) => Ok(Wanted::All),
            (names, false) => Wanted::named(names),
        }
    }

    /// The claim in place of that of the files.
    pub(crate) fn claims(&self) -> Option<Claims> {
        let named = |name: &String| Claims::ALL.iter().find(|(known, _)| known == name);
        self.claims
            .as_ref()
            .and_then(named)
            .map(|(_, claims)| *claims)
    }

    /// Runs of each bed.
    pub(crate) fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.quick { 1 } else { 3 })
    }
}
