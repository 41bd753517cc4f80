//! The arguments of every command.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use quell_lab::GuestCommand;
use quell_lab::GuestOptions;
use quell_lab::scenario::{Loaded, Override, closest};

use crate::Failure;
use crate::arguments::examples;
use crate::arguments::queue_lists::one_queue;
use crate::arguments::strict::Strict;
pub(crate) use crate::arguments::{GuestPlace, Jobs, Patience, Where, level};
use crate::characterize::arguments::Characterize;
use crate::exec::arguments::{Exec, Shell as ShellBehind};
use crate::new::New;
use crate::output::spread::Spread;
use crate::plot::Plot;
use crate::report::{Report, Reported};
use crate::reproduce::arguments::Reproduce;
#[cfg(feature = "serve")]
use crate::serve::arguments::Serve;
use crate::sweep::arguments::Sweep;

/// Headings of the options that only one world has.
const VIRTUAL: &str = "Virtual world";
const LIVE: &str = "Live world";

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
    /// Check a scenario without running it
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Print the JSON Schema of scenario files, sweep files, summary.json or card.json
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// The file that the schema describes
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// Print or write a commented scenario to start from
    #[command(after_help = examples::NEW)]
    New(New),
    /// List the keys of a scenario file, or explain one
    #[command(after_help = examples::KEYS)]
    Keys {
        /// Key to explain, by name or path: rtt, link.reverse, app.size
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
        action: Kernel,
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
    },
}

/// A kind of file that has a JSON Schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A scenario file
    Scenario,
    /// A sweep file
    Sweep,
    /// summary.json of a result
    Summary,
    /// card.json of quell characterize
    Card,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kernel {
    /// Build a kernel from source in a few minutes, without root; an unchanged kernel is not built again
    #[command(after_help = examples::KERNEL_BUILD)]
    Build(KernelBuild),
    /// List the kernels; without --kernel a run uses the first one
    List {
        /// Also show each kernel's folder, congestion controls and queue disciplines
        #[arg(long, short)]
        verbose: bool,
    },
    /// Add a user-mode kernel that you built (ARCH=um, CONFIG_UML_TIME_TRAVEL_SUPPORT=y)
    Add {
        /// The kernel executable: the file `linux` of the build; or the folder of a kernel in another store
        path: PathBuf,
        /// Name for this kernel [default: its version]
        #[arg(long)]
        name: Option<String>,
        /// Replace the kernel of that name
        #[arg(long)]
        replace: bool,
    },
    /// Remove a kernel
    Remove {
        /// Name of the kernel in `quell kernel list`
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KernelBuild {
    /// Build from this source tree (which stays unchanged), package (.deb) or archive (.tar.xz) [default: the
    /// distribution's newest linux-source package, which quell downloads]
    #[arg(long, value_name = "PATH", conflicts_with = "package")]
    pub(crate) source: Option<PathBuf>,
    /// Download and build this source package of the distribution: linux-source-6.1, or 6.1
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// Name for this kernel [default: its version, with the folder of the source tree and the name of FRAGMENT]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// File with more kernel options, one CONFIG_NAME=y per line
    #[arg(long, value_name = "FRAGMENT")]
    pub(crate) config: Option<PathBuf>,
    /// Build everything again; without this option only the files of a source tree that changed are compiled
    #[arg(long)]
    pub(crate) clean: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cc {
    /// List the modelled controls with their options, and what each control is in each world
    List,
    /// Load a control as BPF to test it; a run loads the controls that it needs by itself
    Load {
        /// Name of the control, as in scenarios
        name: String,
        /// Let the kernel load a module for the control; the module stays loaded, for every program of the host
        #[arg(long)]
        load_modules: bool,
    },
    /// Unload a control
    Unload {
        /// Name of the control, as in scenarios
        name: String,
    },
}

/// The kernel of the virtual world.
#[derive(Debug, Args)]
pub(crate) struct Guest {
    /// Kernel to run, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME", help_heading = VIRTUAL)]
    kernel: Option<String>,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    place: GuestPlace,
    /// Run a command with `sh -c` inside the guest, such as '10s:sender:ss -tin'. AT is a time, several times (5s,10s) or
    /// FIRST/INTERVAL; NAMESPACE is sender, receiver or link. The output goes to the folder guest-exec of the result
    #[arg(long, value_name = "AT:NAMESPACE:COMMAND", help_heading = VIRTUAL)]
    guest_exec: Vec<String>,
}

impl Guest {
    /// Whether any of these options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.kernel.is_some()
            || self.patience.guest_timeout.is_some()
            || self.place.is_given()
            || !self.guest_exec.is_empty()
    }
    /// The commands of `--guest-exec`.
    pub(crate) fn commands(&self) -> Result<Vec<GuestCommand>, String> {
        let read = |text: &String| {
            GuestCommand::parse(text).map_err(|error| format!("--guest-exec {error}"))
        };
        self.guest_exec.iter().map(read).collect()
    }
    /// The options in the library's form.
    pub(crate) fn options(&self) -> Result<GuestOptions, String> {
        let options = self.patience.options(self.kernel.clone())?;
        Ok(self.place.set(options))
    }
}

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

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario file, or - for standard input
    pub(crate) file: PathBuf,
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

/// How the figures of several seeds are combined.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// With several seeds, print half of the confidence interval of this level (Student's t) after each mean,
    /// such as 0.95 [default: the standard error]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) confidence: Option<f64>,
    /// With several seeds, print the smallest and the largest value below each mean
    #[arg(long, conflicts_with = "json")]
    range: bool,
}

impl Several {
    /// How to print the spread of several seeds.
    pub(crate) fn spread(&self) -> Spread {
        Spread::new(self.confidence, self.range)
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self, loaded: &Loaded) -> Result<(), String> {
        let given = match (self.confidence, self.range) {
            (Some(_), _) => "--confidence",
            (None, true) => "--range",
            (None, false) => return Ok(()),
        };
        match loaded.scenario.run.seeds.len() {
            0 | 1 => Err(format!(
                "{given} needs several seeds, such as --set run.seeds=[1,2,3]"
            )),
            _ => Ok(()),
        }
    }
}

/// Another queue than the scenario's.
#[derive(Debug, Args)]
pub(crate) struct QueueChoice {
    /// Use this queue, such as dualpi2:target=5ms, or LINK=QUEUE where there are several links. The file's parameters apply only to a
    /// queue of the same kind
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
}

impl QueueChoice {
    /// What it sets.
    pub(crate) fn overrides(&self) -> Result<Vec<Override>, Failure> {
        one_queue(self.queue.as_deref()).map_err(Failure::input)
    }
}

/// Changes to the scenario file.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Change a value: link.rate=20mbit, group.l4s.count=10, link.queue.target=5ms
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Run with this seed only
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Duration of the run, such as 10s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// How the threads of the live world are scheduled.
#[derive(Debug, Args)]
pub(crate) struct Realtime {
    /// Run the thread of the link under SCHED_FIFO with this priority (1 to 99), and those of the hosts with one less. This
    /// keeps them on time below half a core of load, and makes them later above
    #[arg(long = "realtime", value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99), help_heading = LIVE)]
    pub(crate) priority: Option<u8>,
}

/// How much to report.
#[derive(Debug, Args)]
pub(crate) struct Verbosity {
    /// Also report background work on standard error, such as removing the remains of killed runs
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Whether a scenario may run programs.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Let the live world run the programs that the scenario names (kind = "program"), as you and without further rights. Read the
    /// scenario first
    #[arg(long, help_heading = LIVE)]
    pub(crate) allow_programs: bool,
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
