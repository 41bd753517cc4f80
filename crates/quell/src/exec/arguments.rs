//! The arguments of `quell exec` and `quell shell`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use quell_exec::{Ecn, Target};

use crate::arguments::{GuestPlace, Patience, VIRTUAL};
use crate::expectations::Expected;

/// Headings of the options.
const WATCH: &str = "While it runs";
const LINK: &str = "Link";
const HOSTS: &str = "Hosts";
const RESULTS: &str = "Results";
const ATTACH: &str = "In front of what runs already, as root";

/// What the link has already that `--join` names.
#[rustfmt::skip]
const NOT_BESIDE_JOIN: [&str; 37] = [
    "down", "up", "rate", "trace", "only", "except", "down_trace", "up_trace", "rtt", "delay", "loss", "jitter", "queue", "down_queue", "up_queue", "scenario", "sets",
    "at", "mtu", "net", "host_loopback", "publish", "dns", "ipv4_only", "subnet", "cc", "far_cc", "ecn", "ect1", "far", "user", "name",
    "control", "page", "out", "json", "world",
];

/// What a link in front of something else does not have.
#[rustfmt::skip]
const NOT_ATTACHED: [&str; 14] = [
    "join", "net", "host_loopback", "publish", "dns", "ipv4_only", "subnet", "mtu", "cc", "far_cc", "ecn", "far", "user", "kernel",
];

/// `quell exec`.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) behind: Behind,
    #[command(flatten)]
    pub(crate) attach: Attach,
    /// The program and its arguments [default: $SHELL; none with --container, --pid and --netns, where a program runs beside the link, as it is]
    #[arg(value_name = "PROGRAM", trailing_var_arg = true)]
    pub(crate) program: Vec<OsString>,
}

/// What runs already, and is to be behind the link.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("attached").args(["container", "pid", "netns"]).conflicts_with_all(NOT_ATTACHED))]
pub(crate) struct Attach {
    /// Put the link in front of this container of Docker or Podman, until Ctrl-C or the end of PROGRAM
    #[arg(long, value_name = "NAME", help_heading = ATTACH)]
    container: Option<String>,
    /// The same for the network of this process
    #[arg(long, value_name = "N", help_heading = ATTACH)]
    pid: Option<u32>,
    /// The same for the network namespace of this file, such as /run/netns/NAME
    #[arg(long, value_name = "PATH", help_heading = ATTACH)]
    netns: Option<PathBuf>,
    /// Its interface, as it is called inside [default: the only one]
    #[arg(long, value_name = "NAME", requires = "attached", help_heading = ATTACH)]
    pub(crate) interface: Option<String>,
}

impl Attach {
    /// What the link is to be put in front of.
    pub(crate) fn target(&self) -> Option<Target> {
        match (&self.container, self.pid, &self.netns) {
            (Some(name), ..) => Some(Target::Container(name.clone())),
            (None, Some(process), _) => Some(Target::Process(process)),
            (None, None, path) => path.clone().map(Target::Namespace),
        }
    }
}

/// `quell shell`.
#[derive(Debug, Args)]
pub(crate) struct Shell {
    #[command(flatten)]
    pub(crate) behind: Behind,
}

/// What a program is put behind.
#[derive(Debug, Args)]
pub(crate) struct Behind {
    /// Rate towards the program, such as 40mbit [default: unlimited]
    #[arg(long, value_name = "RATE", help_heading = LINK)]
    pub(crate) down: Option<String>,
    /// Rate of what the program sends [default: unlimited]
    #[arg(long, value_name = "RATE", help_heading = LINK)]
    pub(crate) up: Option<String>,
    /// Both rates
    #[arg(long, value_name = "RATE", alias = "bandwidth", conflicts_with_all = ["down", "up"], help_heading = LINK)]
    pub(crate) rate: Option<String>,
    /// Let both ways follow a trace of rates, delays or losses: FILE, or FILE:offset=2s,scale=0.5,repeat=false with the keys of traces in a scenario
    #[arg(long, value_name = "FILE", conflicts_with_all = ["down_trace", "up_trace"], help_heading = LINK)]
    pub(crate) trace: Option<String>,
    /// Let the way towards the program follow a trace
    #[arg(long, value_name = "FILE", help_heading = LINK)]
    pub(crate) down_trace: Option<String>,
    /// Let the way of what the program sends follow a trace
    #[arg(long, value_name = "FILE", help_heading = LINK)]
    pub(crate) up_trace: Option<String>,
    /// Base RTT that the link adds to that of the path, such as 40ms [default: none]
    #[arg(long, value_name = "TIME", help_heading = LINK)]
    pub(crate) rtt: Option<String>,
    /// The same as a delay one way: --delay 20ms is --rtt 40ms
    #[arg(long, alias = "latency", value_name = "TIME", conflicts_with = "rtt", help_heading = LINK)]
    pub(crate) delay: Option<String>,
    #[command(flatten)]
    pub(crate) impairments: Impairments,
    /// Queue of each direction that has a rate, such as dualpi2:target=15ms, or wifi=fq_codel where there are several links [default: fifo:limit=100ms]
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["down_queue", "up_queue"], help_heading = LINK)]
    pub(crate) queue: Vec<String>,
    /// Queue towards the program
    #[arg(long, value_name = "QUEUE", help_heading = LINK)]
    pub(crate) down_queue: Vec<String>,
    /// Queue of what the program sends
    #[arg(long, value_name = "QUEUE", help_heading = LINK)]
    pub(crate) up_queue: Vec<String>,
    /// Take the link, or several in a row, and what changes from a scenario file; the groups and expectations do not count
    #[arg(long, value_name = "FILE", help_heading = LINK)]
    pub(crate) scenario: Option<PathBuf>,
    /// Take the link from a profile, such as dsl or 3g (quell profiles lists them); other options change single values
    #[arg(long, value_name = "NAME", conflicts_with = "scenario", help_heading = LINK)]
    pub(crate) profile: Option<String>,
    /// Change a value of the link: link.overhead=14, down.queue.target=5ms, or link.wifi.rate=5mbit where there are several; or what happens to new connections, as with --at
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = LINK)]
    pub(crate) sets: Vec<String>,
    /// Change the link while the program runs: --at 10s down=5mbit, or link.wifi.rate=5mbit where there are several. Connections, too: cut=rst (or fin, silent) cuts those that are open; new=refuse (or blackhole, accept-delay=3s, limit=1MB, accept) is for those that begin later; each with 'to :443' behind it for some of them
    #[arg(long, value_names = ["TIME", "KEY=VALUE"], num_args = 2, action = ArgAction::Append, help_heading = LINK)]
    pub(crate) at: Vec<String>,
    /// Largest packet in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, help_heading = LINK)]
    pub(crate) mtu: u16,
    /// What is behind the link
    #[arg(long, value_enum, default_value_t = NetArgument::Relay, help_heading = HOSTS)]
    pub(crate) net: NetArgument,
    /// Let the program reach the services on this host's loopback, at the address in $QUELL_HOST: all, or those at these ports
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, value_delimiter = ',', help_heading = HOSTS)]
    pub(crate) host_loopback: Option<Vec<u16>>,
    /// Let clients of this port of the host reach the program's server, through the link; at 127.0.0.1 without ADDR, at port INSIDE of the program's addresses. Port 0 is a free one, in $QUELL_PUBLISHED
    #[arg(long, value_name = "[ADDR:]PORT[/udp][:INSIDE]", help_heading = HOSTS)]
    pub(crate) publish: Vec<String>,
    /// Let the link be for these packets: a protocol, one of its ports, a host, a network, such as tcp/443,host:NAME,net:10.0.0.0/8. The rest passes it by
    #[arg(long, value_name = "KIND", value_delimiter = ',', help_heading = LINK)]
    pub(crate) only: Vec<String>,
    /// Let these packets pass the link by
    #[arg(long, value_name = "KIND", value_delimiter = ',', conflicts_with = "only", help_heading = LINK)]
    pub(crate) except: Vec<String>,
    /// Where name queries go
    #[arg(long, value_enum, default_value_t = DnsArgument::Link, help_heading = HOSTS)]
    pub(crate) dns: DnsArgument,
    /// No IPv6 for the program
    #[arg(long, help_heading = HOSTS)]
    pub(crate) ipv4_only: bool,
    /// Number of the network inside, 10.77.N.0/24 [default: the first that is free]
    #[arg(long, value_name = "N", help_heading = HOSTS)]
    pub(crate) subnet: Option<u8>,
    /// Congestion control of the program's TCP [default: that of this kernel]
    #[arg(long, value_name = "NAME", help_heading = HOSTS)]
    pub(crate) cc: Option<String>,
    /// Congestion control of the far edge, which sends the downloads [default: that of this kernel]
    #[arg(long, value_name = "NAME", help_heading = HOSTS)]
    pub(crate) far_cc: Option<String>,
    /// ECN of both TCPs [default: as on this host]
    #[arg(long, value_enum, help_heading = HOSTS)]
    pub(crate) ecn: Option<EcnArgument>,
    /// Let packets with ECT(0) continue with ECT(1), in both directions, so that they are L4S to queues: all, or those of remote hosts at these ports
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, value_delimiter = ',', help_heading = HOSTS)]
    pub(crate) ect1: Option<Vec<u16>>,
    /// Also run this program at the far edge, at the address in $QUELL_FAR; no shell reads it
    #[arg(long, value_name = "COMMAND", help_heading = HOSTS)]
    pub(crate) far: Option<String>,
    /// Run the program, and that of --far, as this user, by name or number: only root can. Without, a program that root starts owns root's files
    #[arg(long, value_name = "USER", help_heading = HOSTS)]
    pub(crate) user: Option<String>,
    /// How long what the program has started may outlive it; then it is ended. Without PROGRAM: how long what a link is in front of may be gone, until one is put in front of it again
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = HOSTS)]
    pub(crate) wait: String,
    /// Where it runs: with this host's kernel in real time, or in a guest, where only --far can answer
    #[arg(long, value_enum, default_value_t = ExecWorld::Live, help_heading = HOSTS)]
    pub(crate) world: ExecWorld,
    /// Kernel of the virtual world, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME", help_heading = VIRTUAL)]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    #[command(flatten)]
    pub(crate) place: GuestPlace,
    /// Name the link, so that `quell link` finds and changes it: letters, digits, '-', '_' and '.'
    #[arg(long, value_name = "NAME", conflicts_with = "control", help_heading = WATCH)]
    pub(crate) name: Option<String>,
    /// Run the program behind a link that runs already, as its first program does; it ends with the link
    #[arg(long, value_name = "NAME", conflicts_with_all = NOT_BESIDE_JOIN, help_heading = WATCH)]
    pub(crate) join: Option<String>,
    /// Change the link through this Unix socket, which is made for it, in the virtual world inside the guest: a JSON object a line, such as {"set":{"down":"5mbit"}} or {"get":"summary"}. The program finds its path in $QUELL_CONTROL, and quell link takes it as a NAME
    #[arg(long, value_name = "SOCKET", help_heading = WATCH)]
    pub(crate) control: Option<PathBuf>,
    /// Show the link on a page, on which it can be changed; its address is printed on standard error, and only this host can open it
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = WATCH)]
    pub(crate) page: Option<u16>,
    /// Take the files of the page from this folder
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) page_files: Option<PathBuf>,
    /// Write the results into this folder, which must not exist yet
    #[arg(long, value_name = "DIR", help_heading = RESULTS)]
    pub(crate) out: Option<PathBuf>,
    /// Also write packets.pcapng into that folder: every packet with its queue, sojourn time and fate
    #[arg(long, requires = "out", help_heading = RESULTS)]
    pub(crate) packets: bool,
    /// Write the report as JSON into this file; - is standard output, after what the program has written there
    #[arg(long, value_name = "FILE", help_heading = RESULTS)]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten, next_help_heading = RESULTS)]
    pub(crate) expected: Expected,
    /// No report on standard error; warnings and errors remain
    #[arg(long, short, help_heading = RESULTS)]
    pub(crate) quiet: bool,
    /// Exit with code 125 if the report has a warning and the program succeeded; the results are kept
    #[arg(long, help_heading = RESULTS)]
    pub(crate) strict: bool,
}

/// What the path does to packets behind the queues: options without their dashes, and values. With `down-` or `up-` in front an option is
/// of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Impairments(pub(crate) Vec<(String, String)>);

/// Names of both directions and of one, the value, the help.
const IMPAIRMENTS: [(&[&str], &str, &str); 7] = [
    (
        &["loss", "down-loss", "up-loss"],
        "SHARE",
        "Lose this share of the packets in each direction behind its queue: 1%, or 0.01; --down-loss and --up-loss in one, and so with the next four",
    ),
    (
        &["jitter", "down-jitter", "up-jitter"],
        "TIME",
        "Delay packets in each direction by a random time from zero to this one; or scatter their delays: around:20ms, around:20ms:normal (or pareto). They keep their order",
    ),
    (
        &["reorder", "down-reorder", "up-reorder"],
        "SHARE",
        "Hold this share of the packets back, so that others overtake them: 5%, or 5%:hold=20ms",
    ),
    (
        &["duplicate", "down-duplicate", "up-duplicate"],
        "SHARE",
        "Deliver this share of the packets twice",
    ),
    (
        &["corrupt", "down-corrupt", "up-corrupt"],
        "SHARE",
        "Flip a bit of this share of the packets; the checksum stays",
    ),
    (
        &["down-delay", "up-delay"],
        "TIME",
        "Delay packets in one direction, in addition to half of the base RTT; --up-delay in the other",
    ),
    (
        &["rule", "down-rule", "up-rule"],
        "FROM>TO",
        "Change, drop or copy packets by what they are, in several rules one after the other: ect0,ect1>ce:probability=5%, or any>not-ect:to-dscp=0",
    ),
];

impl Args for Impairments {
    fn augment_args(command: Command) -> Command {
        let each = IMPAIRMENTS.iter().flat_map(|(names, value, help)| {
            names.iter().enumerate().map(move |(index, name)| {
                let one = Arg::new(*name).long(*name).value_name(*value);
                let one = one.help(*help).help_heading(LINK).hide(index > 0);
                let one = one.action(match name.ends_with("rule") {
                    true => ArgAction::Append,
                    false => ArgAction::Set,
                });
                match (index, names.len()) {
                    (1.., 3) => one.conflicts_with(names[0]),
                    _ => one,
                }
            })
        });
        command.args(each)
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Impairments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = IMPAIRMENTS.iter().flat_map(|(names, ..)| *names);
        let given = names.flat_map(|name| {
            let values = matches.get_many::<String>(name).unwrap_or_default();
            values.map(|value| ((*name).to_owned(), value.clone()))
        });
        Ok(Self(given.collect()))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Where a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExecWorld {
    /// This host's kernel in real time
    Live,
    /// A user-mode kernel in virtual time: the program reads this host's files, writes only to $TMPDIR, and repeats to the byte
    Virtual,
}

/// What is behind the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetArgument {
    /// All that this host reaches, by a relay: the kernel's TCP at the far edge sends the downloads, not the remote server's
    Relay,
    /// Nothing but the far edge: for --far
    None,
    /// What this host routes to, with its address, as root: the remote servers send the downloads. IPv4 only; the host must forward packets
    Nat,
}

/// Where name queries go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DnsArgument {
    /// Through the link, to the servers of this host
    Link,
    /// Where this host's resolv.conf says, also through the link; servers on its loopback do not answer
    Direct,
}

impl From<EcnArgument> for Ecn {
    fn from(ecn: EcnArgument) -> Self {
        match ecn {
            EcnArgument::Off => Self::Off,
            EcnArgument::On => Self::On,
            EcnArgument::Accecn => Self::Accurate,
        }
    }
}

/// What both TCPs do about ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EcnArgument {
    /// Never
    Off,
    /// Ask for it (RFC 3168)
    On,
    /// Ask for AccECN (RFC 9768); needs Linux 6.18
    Accecn,
}
