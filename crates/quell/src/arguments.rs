//! The arguments of every command.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use quell_aqm::units::notation;
use quell_lab::live::GuestCommand;
use quell_lab::{GuestOptions, World};

use crate::new::New;
use crate::strict::Strict;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 failed, or warnings with --strict; 2 the input is wrong. Ctrl-C ends a run \
    with what was measured, and quell then ends by that signal: a shell shows 130, and ends the loop around it";

/// Keeps network queues short, and shows it.
#[derive(Debug, Parser)]
#[command(name = "quell", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write its results
    Run(Run),
    /// Show what a queue does: DCTCP and CUBIC over drop-tail, PIE, FQ-CoDel and DualPI2
    Demo(Demo),
    /// Run one scenario over several queues, and print one table
    Compare(Compare),
    /// Check a scenario without running it
    Check(Check),
    /// Print the JSON Schema of scenario files, or of the summary of a run
    Schema {
        /// Of which file
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// Print or write a scenario to start from, with comments
    New(New),
    /// List the keys of a scenario file, or explain one: link.reverse, rtt, app.size
    Keys {
        /// One key, by its name or path
        name: Option<String>,
    },
    /// List the queue disciplines, or the parameters of one
    Queues {
        /// One discipline
        name: Option<String>,
    },
    /// List what gives packets their values, or the parameters of one
    Values {
        /// One throughput-value function or marker
        name: Option<String>,
    },
    /// List congestion controls, or load or unload one
    Cc {
        #[command(subcommand)]
        action: Option<Cc>,
    },
    /// Build, list, add or remove kernels for the virtual world
    Kernel {
        #[command(subcommand)]
        action: Kernel,
    },
    /// Tell what this host can do, and what mends what it cannot
    Doctor,
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
    /// Scenario file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) guest: Guest,
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
    /// Scenario file; its own queue parameters apply to its own kind only
    pub(crate) file: PathBuf,
    /// The queues: fifo,dualpi2:target=5ms,any_ect=true; without it the scenario's own
    #[arg(long = "queue", value_name = "LIST")]
    pub(crate) queues: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
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
    /// Scenario file
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
