//! The command line: the commands, each with arguments of its own.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use quell_lab::scenario::closest;

use crate::arguments::examples;
use crate::cc::arguments::Cc;
use crate::characterize::arguments::Characterize;
use crate::check::arguments::{Check, SchemaOf};
use crate::compare::arguments::Compare;
use crate::demo::arguments::Demo;
use crate::exec::arguments::{Exec, Shell as ShellBehind};
use crate::explain::Explain;
use crate::judge::arguments::Judge;
use crate::kernel::arguments::KernelAction;
use crate::link::LinkAction;
use crate::new::New;
use crate::plot::arguments::Plot;
use crate::report::Report;
use crate::reproduce::arguments::Reproduce;
use crate::run::arguments::Run;
#[cfg(feature = "serve")]
use crate::serve::arguments::Serve;
use crate::sweep::arguments::Sweep;

/// Run network queues and congestion controls against each other, in simulation and on Linux
#[derive(Debug, Parser)]
#[command(name = "quell", version, arg_required_else_help = true, after_help = examples::QUELL)]
pub(crate) struct Arguments {
    /// End the runs, as Ctrl-C does, when the other end of this pipe closes: for programs that start quell, which hold that end
    #[arg(long, value_name = "DESCRIPTOR", global = true, hide = true)]
    pub(crate) parent_pipe: Option<i32>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads the arguments of the process. `--help` and `--version` come back as errors, formatted for this many columns.
    pub(crate) fn read(columns: usize) -> Result<Self, clap::Error> {
        let mut command = Self::command().term_width(columns.min(100));
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let read = matches.and_then(|matches| Self::from_arg_matches(&matches));
        read.map_err(|mut error| {
            suggest(&command, &mut error);
            error
        })
    }
}

/// Suggests the command that was probably meant where clap finds none: clap does not see that two letters were swapped (`rnu`).
fn suggest(command: &clap::Command, error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    // Also the commands of `quell kernel`, `quell cc` and `quell sweep`: the mistyped word may be on either level.
    let inner = command
        .get_subcommands()
        .flat_map(clap::Command::get_subcommands);
    let names = command.get_subcommands().chain(inner);
    let meant = closest(word, names.map(clap::Command::get_name));
    // Clap's own suggestion may be further away: `kernel` for `rn`.
    if let Some(meant) = meant {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write its results
    #[command(after_help = examples::RUN)]
    Run(Run),
    /// Run a demonstration: downloads over drop-tail, PIE, FQ-CoDel and DualPI2, or an evening at home
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Run one scenario over several queues and print one table
    #[command(after_help = examples::COMPARE)]
    Compare(Compare),
    /// Draw results: delays, rates, windows, marks and drops, completion times
    #[command(after_help = examples::PLOT)]
    Plot(Plot),
    /// Write one HTML file about results: figures, pictures, warnings, how to repeat them
    #[command(after_help = examples::REPORT)]
    Report(Report),
    /// Run a scenario with many values into a store, and print the table of a store
    #[command(after_help = examples::SWEEP)]
    Sweep(Sweep),
    /// Repeat published experiments, and say which of their statements come out
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(Reproduce),
    /// Print the report card of a queue: what it does to each kind of traffic, by the scenarios of RFC 7928
    #[command(after_help = examples::CHARACTERIZE)]
    Characterize(Characterize),
    /// Say whether a stack does what the standards of L4S and ECN ask, clause by clause
    #[command(after_help = examples::JUDGE)]
    Judge(Box<Judge>),
    /// Watch and change a run in a browser, or play a result there
    #[cfg(feature = "serve")]
    #[command(after_help = examples::SERVE)]
    Serve(Serve),
    /// Run a program behind a link, without root: its packets cross a queue of quell
    #[command(after_help = examples::EXEC)]
    Exec(Box<Exec>),
    /// Run a shell behind a link, with a prompt that shows it
    #[command(after_help = examples::SHELL)]
    Shell(Box<ShellBehind>),
    /// List, show, change, cut or stop links that run with a name
    #[command(after_help = examples::LINK)]
    Link {
        #[command(subcommand)]
        action: LinkAction,
    },
    /// Check a scenario without running it
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Print the JSON Schema of scenario, sweep and experiment files, suites, summary.json or card.json
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// The file that the schema describes
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// Print or write a commented scenario to start from
    #[command(after_help = examples::NEW)]
    New(New),
    /// List the figures that expectations can name, with units and values
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// List the keys of a scenario file, or explain one
    #[command(after_help = examples::KEYS)]
    Keys {
        /// Key to explain, by name or path: rtt, link.reverse, app.size
        name: Option<String>,
    },
    /// List profiles of links, such as dsl or 3g, or explain one
    #[command(after_help = examples::PROFILES)]
    Profiles {
        /// Profile to explain
        name: Option<String>,
    },
    /// List the queue disciplines, or the parameters of one
    #[command(after_help = examples::QUEUES)]
    Queues {
        /// Discipline to explain
        name: Option<String>,
    },
    /// List the applications with their presets, or explain one
    #[command(after_help = examples::APPS)]
    Apps {
        /// Application to explain
        name: Option<String>,
    },
    /// List the functions and markers of packet values, or the parameters of one
    #[command(after_help = examples::VALUES)]
    Values {
        /// Throughput-value function or marker to explain
        name: Option<String>,
    },
    /// List congestion controls, or load or unload one
    #[command(after_help = examples::CC)]
    Cc {
        /// Print the list as JSON
        #[arg(long, global = true)]
        json: bool,
        #[command(subcommand)]
        action: Option<Cc>,
    },
    /// Build, list, add or remove kernels for the virtual world
    #[command(after_help = examples::KERNEL)]
    Kernel {
        #[command(subcommand)]
        action: KernelAction,
    },
    /// Check what this host supports, and how to fix what is missing
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    /// Print a shell script that completes quell's arguments
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// Shell that runs the script
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the manual pages into a folder: quell.1 and one page for each command
    #[command(after_help = examples::MAN)]
    Man {
        /// Folder for the pages
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Write the reference instead, as Markdown: all keys, queues, controls, applications and packet values
        #[arg(long)]
        reference: bool,
    },
}
