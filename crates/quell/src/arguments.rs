//! The arguments of every command.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use quell_lab::live::GuestCommand;
use quell_lab::scenario::{Loaded, closest};
use quell_lab::{GuestOptions, World};
use quell_units::notation;

use crate::examples;
use crate::new::New;
use crate::spread::Spread;
use crate::strict::Strict;

/// Keeps network queues short, and shows it.
#[derive(Debug, Parser)]
#[command(name = "quell", version, arg_required_else_help = true, after_help = examples::QUELL)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Those of the process; an error is also what they ask for themselves (`--help`), so many columns wide.
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

/// Adds the command that was probably meant, where clap finds none: it does not see that neighbours were swapped (`rnu`).
fn suggest(command: &clap::Command, error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    // Those of `quell kernel` too: whoever mistyped one mistyped that of one level.
    let inner = command
        .get_subcommands()
        .flat_map(clap::Command::get_subcommands);
    let names = command.get_subcommands().chain(inner);
    let meant = closest(word, names.map(clap::Command::get_name));
    if error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(meant) = meant
    {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write its results
    #[command(after_help = examples::RUN)]
    Run(Run),
    /// Show what a queue does: DCTCP and CUBIC over drop-tail, PIE, FQ-CoDel and DualPI2
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Run one scenario over several queues, and print one table
    #[command(after_help = examples::COMPARE)]
    Compare(Compare),
    /// Check a scenario without running it
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Print the JSON Schema of scenario files, or of the summary of a run
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// Of which file
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// Print or write a scenario to start from, with comments
    #[command(after_help = examples::NEW)]
    New(New),
    /// List the keys of a scenario file, or explain one: link.reverse, rtt, app.size
    #[command(after_help = examples::KEYS)]
    Keys {
        /// One key, by its name or path
        name: Option<String>,
    },
    /// List the queue disciplines, or the parameters of one
    #[command(after_help = examples::QUEUES)]
    Queues {
        /// One discipline
        name: Option<String>,
    },
    /// List what gives packets their values, or the parameters of one
    #[command(after_help = examples::VALUES)]
    Values {
        /// One throughput-value function or marker
        name: Option<String>,
    },
    /// List congestion controls, or load or unload one
    #[command(after_help = examples::CC)]
    Cc {
        #[command(subcommand)]
        action: Option<Cc>,
    },
    /// Build, list, add or remove kernels for the virtual world
    #[command(after_help = examples::KERNEL)]
    Kernel {
        #[command(subcommand)]
        action: Kernel,
    },
    /// Show what this host can do, and what fixes what it cannot
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    /// Print the script that completes quell's arguments in a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// Which
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the pages of the manual into a folder: quell.1, and one for each command
    #[command(after_help = examples::MAN)]
    Man {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// A file with a JSON Schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A scenario file
    Scenario,
    /// summary.json of a result
    Summary,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kernel {
    /// Build one from source, in some minutes and without root; at once where it was built before
    #[command(after_help = examples::KERNEL_BUILD)]
    Build(KernelBuild),
    /// Those there are; without --kernel a run takes the first
    List {
        /// Also show the congestion controls and queue disciplines of each, and its folder
        #[arg(long, short)]
        verbose: bool,
    },
    /// Copy a user-mode kernel that you built (ARCH=um, CONFIG_UML_TIME_TRAVEL_SUPPORT=y)
    Add {
        /// The executable: the file `linux` of the build
        path: PathBuf,
        /// Call it so; without this its version
        #[arg(long)]
        name: Option<String>,
        /// Take the place of a kernel of that name
        #[arg(long)]
        replace: bool,
    },
    /// Remove one
    Remove {
        /// Its name in the list
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KernelBuild {
    /// Build from a source tree, which is not written to, or from a package (.deb) or archive (.tar.xz) at hand;
    /// without this the newest linux-source package of the distribution is fetched
    #[arg(long, value_name = "PATH", conflicts_with = "package")]
    pub(crate) source: Option<PathBuf>,
    /// Fetch this source package of the distribution: linux-source-6.1, or 6.1
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// Call it so; without this by its version, a source tree's folder and the name of FRAGMENT
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Kernel options (CONFIG_NAME=y lines) in addition to quell's own
    #[arg(long, value_name = "FRAGMENT")]
    pub(crate) config: Option<PathBuf>,
    /// Begin from nothing; without this a source folder is compiled as far as it has changed since the last build
    #[arg(long)]
    pub(crate) clean: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cc {
    /// Those modelled, with their options; what the kernel has, and what can be loaded
    List,
    /// Try to load one as BPF; runs load what they need by themselves
    Load {
        /// Name in scenarios
        name: String,
        /// Let the kernel load a module for it; the module stays, and every program of the host may use it
        #[arg(long)]
        load_modules: bool,
    },
    /// Unload one
    Unload {
        /// Name in scenarios
        name: String,
    },
}

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Where {
    /// Modelled hosts, virtual time
    Sim,
    /// Real TCP in a user-mode kernel, virtual time
    Virtual,
    /// Real TCP of this host, real time
    Live,
}

impl From<Where> for World {
    fn from(place: Where) -> Self {
        match place {
            Where::Sim => Self::Sim,
            Where::Virtual => Self::Virtual,
            Where::Live => Self::Live,
        }
    }
}

/// The kernel of the virtual world.
#[derive(Debug, Args)]
pub(crate) struct Guest {
    /// Virtual world: the kernel, by its name in `quell kernel list`; the newest by default
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    #[command(flatten)]
    patience: Patience,
    /// Virtual world: run a command with `sh -c` inside the guest, such as '10s:sender:ss -tin'. AT is a time, several (5s,10s), or
    /// FIRST/INTERVAL; NAMESPACE is sender, receiver or link. The folder guest-exec of the result keeps what it prints
    #[arg(long, value_name = "AT:NAMESPACE:COMMAND")]
    guest_exec: Vec<String>,
}

impl Guest {
    /// Whether anything of it was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.kernel.is_some()
            || self.patience.guest_timeout.is_some()
            || !self.guest_exec.is_empty()
    }
    /// The commands to run inside.
    pub(crate) fn commands(&self) -> Result<Vec<GuestCommand>, String> {
        let read = |text: &String| {
            GuestCommand::parse(text).map_err(|error| format!("--guest-exec {error}"))
        };
        self.guest_exec.iter().map(read).collect()
    }
    /// As the library takes them.
    pub(crate) fn options(&self) -> Result<GuestOptions, String> {
        self.patience.options(self.kernel.clone())
    }
}

/// How long to wait for a guest.
#[derive(Debug, Args)]
pub(crate) struct Patience {
    /// Virtual world: give a guest up whose time stands still for so long; 60s by default
    #[arg(long, value_name = "TIME")]
    guest_timeout: Option<String>,
}

impl Patience {
    /// With a kernel, as the library takes them.
    pub(crate) fn options(&self, kernel: Option<String>) -> Result<GuestOptions, String> {
        let mut options = GuestOptions {
            kernel,
            ..GuestOptions::default()
        };
        if let Some(text) = &self.guest_timeout {
            let time = notation::time(text).map_err(|error| format!("--guest-timeout: {error}"))?;
            options.patience = Duration::from_nanos(time.as_nanos());
        }
        Ok(options)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario file; - is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) guest: Guest,
    #[command(flatten)]
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) how: How,
    /// Write packets.pcapng too: every packet with its queue, sojourn time and fate
    #[arg(long)]
    pub(crate) packets: bool,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Where to run
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    /// Live and virtual world: a queue of the kernel in the place of quell's, in tc's words: "pie limit
    /// 1000 target 15ms"
    #[arg(long, value_name = "QDISC", hide = true)]
    pub(crate) kernel_queue: Option<String>,
    /// Live and virtual world: measure what becomes of packets from outside the queue, too
    #[arg(long, hide = true)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Scenario file; - is standard input. Its own queue parameters apply to its own kind only
    pub(crate) file: PathBuf,
    /// The queues: fifo,dualpi2:target=5ms,any_ect=true; given again it adds more. Without it the scenario's own
    #[arg(long = "queue", value_name = "LIST")]
    pub(crate) queues: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) several: Several,
    /// Write one folder of results per queue into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the summaries as JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Where to run; several, such as sim,virtual, stand side by side
    #[arg(
        long = "world",
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "sim"
    )]
    pub(crate) worlds: Vec<Where>,
    /// Virtual world: the kernels, by their names in `quell kernel list`; the newest by default
    #[arg(long = "kernel", value_name = "LIST", value_delimiter = ',')]
    pub(crate) kernels: Vec<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Write one folder of results per queue into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the summaries as JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Run for so long, such as 20s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Where to run
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario file; - is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Judge for this world and this host; without it for the simulator, with a word on the others
    #[arg(long, value_enum)]
    pub(crate) world: Option<Where>,
}

/// How many runs at once.
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Simulated and virtual world: do so many runs at once, if memory allows; one per processor by
    /// default. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().and_then(NonZeroUsize::new);
    number.ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

impl Jobs {
    /// As asked for, else one per processor. In real time runs would disturb each other.
    pub(crate) fn number(&self, world: World) -> Result<NonZeroUsize, String> {
        match (self.jobs, world) {
            (None, World::Sim | World::Virtual) => {
                Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
            }
            (Some(jobs), World::Sim | World::Virtual) => Ok(jobs),
            (None, World::Live) => Ok(NonZeroUsize::MIN),
            (Some(_), World::Live) => Err("--jobs has no effect with --world live".to_owned()),
        }
    }
}

/// How several seeds become one figure.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// Several seeds: print half of the confidence interval of that level (Student's t) behind each mean, such as 0.95; without it
    /// the standard error
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) confidence: Option<f64>,
    /// Several seeds: print the least and the greatest below each mean
    #[arg(long, conflicts_with = "json")]
    range: bool,
}

impl Several {
    /// How to print.
    pub(crate) fn spread(&self) -> Spread {
        Spread::new(self.confidence, self.range)
    }

    /// Refuses what would do nothing.
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

/// A probability that an interval can have.
fn level(text: &str) -> Result<f64, String> {
    let level = text
        .parse()
        .ok()
        .filter(|level| (0.5..=0.9999).contains(level));
    level.ok_or_else(|| "must be from 0.5 to 0.9999, such as 0.95".to_owned())
}

/// What differs from the file.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Change a value: link.rate=20mbit, group.l4s.count=10, link.queue.target=5ms
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Run with this seed only
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run for so long, such as 10s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// Whether to say more.
#[derive(Debug, Args)]
pub(crate) struct Verbosity {
    /// Say on standard error what is done besides: which remains of killed runs are removed
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What a run prints and writes.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Write the results to this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the summary as JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Live world: run the link's thread under SCHED_FIFO with this priority (1 to 99), and the hosts'
    /// with one less; good for their punctuality below half a core, harmful above
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) realtime: Option<u8>,
    /// Live world, as root: let the kernel load a module for a congestion control that it does not have; the
    /// module stays, and every program of the host may use it
    #[arg(long)]
    pub(crate) load_modules: bool,
}
