//! A program behind a link, from the first namespace to the report.
//!
//! The order matters: copies of the process while it has one thread; namespaces, sockets and the link while it has rights; then no rights
//! any more; then the relay and the program. The calling thread stays in the host's network, where the relay's sockets to the world are.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use quell_confine::capabilities::{CapabilitySet, effective, keep_only};
use quell_hosts::keeper::Keeper;
use quell_hosts::namespace::Namespace;
use quell_hosts::{child, sysctl, user_namespace};
use quell_link::{Descriptor, monotonic};
use quell_measure::{LinkResults, Summary};
use quell_results::packets::LivePackets;
use quell_scenario::World;
use quell_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::set_child_subreaper;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::control::ControlSocket;
use crate::controls::Controls;
use crate::error::Doing as _;
use crate::felt::{Felt, Known, felt};
use crate::link::{self, LinkThread, Linked};
use crate::network::{Network, NetworkConfig, check_mtu};
use crate::pasta::{self, Pasta, PastaConfig, WaitingPasta};
use crate::program::{Ended, FAILED, Found, Running, Start, Waiting, end_descendants, reap};
use crate::relay::targets::{Loopback, Targets};
use crate::relay::{Bin, Counts, Relay, RelayConfig, Sockets};
use crate::report::{Ran, report, summarise, warnings};
use crate::results::Results;
use crate::steer::Remote;
use crate::subnet::{Subnet, has_ipv6};
use crate::verdict::{Judge, Limits};
use crate::watch::{Watcher, Watching};
use crate::{Error, LinkMemory, Net, Plan, Result, far, resolver};

/// Between two looks at what the threads have measured.
const TURN: i64 = 50_000_000;
/// What the program has sent may take so long to leave after its end.
const LINGER: Duration = Duration::from_secs(5);
/// The warning of every result behind pasta.
const PASTA_SENDS: &str = "--net pasta: the sender of downloads is pasta, which has no congestion control, so the queue is measured against that; with --net relay the kernel's TCP sends";

/// Where the program's name queries go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Through the link, to the host's servers.
    Link,
    /// Where the host's resolv.conf says; its loopback servers do not answer.
    Direct,
}

/// What TCP of both sides does about ECN (`net.ipv4.tcp_ecn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Never.
    Off,
    /// Asks for it (RFC 3168).
    On,
    /// Asks for AccECN (RFC 9768).
    Accurate,
}

impl Ecn {
    fn value(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::On => 1,
            Self::Accurate => 3,
        }
    }
}

/// What to run, behind which link.
#[derive(Debug)]
pub struct Config {
    /// The link.
    pub plan: Plan,
    /// The program.
    pub program: Found,
    /// Variables for its environment, beside those of this link.
    pub variables: Vec<(String, String)>,
    /// A program at the far edge.
    pub far: Option<Found>,
    /// What is behind the far edge.
    pub net: Net,
    /// The number of the network inside; `None` finds one.
    pub subnet: Option<u8>,
    /// How many links there are around this process already.
    pub depth: u8,
    /// Name queries.
    pub names: Names,
    /// Services of the host's loopback.
    pub loopback: Loopback,
    /// No IPv6.
    pub ipv4_only: bool,
    /// Largest packet, in bytes.
    pub mtu: u16,
    /// Congestion control of the program's side.
    pub control: Option<String>,
    /// Congestion control of the far edge.
    pub far_control: Option<String>,
    /// ECN of both sides; `None` as on the host.
    pub ecn: Option<Ecn>,
    /// Ports of remote hosts whose packets continue with ECT(1) where they arrive with ECT(0); an empty list is all of them.
    pub ect1: Option<Vec<u16>>,
    /// How long descendants may outlive the program.
    pub wait: Duration,
    /// The folder of the result, which must not exist.
    pub out: Option<PathBuf>,
    /// Whether to write every packet.
    pub packets: bool,
    /// Live, or virtual inside a guest.
    pub world: World,
    /// The day on which the clock of the guest around it began.
    pub guest_day: Option<String>,
    /// Where the link is changed while the program runs.
    pub socket: Option<ControlSocket>,
    /// Who watches.
    pub watcher: Option<Watcher>,
}

/// What a run was.
#[derive(Debug)]
pub struct Outcome {
    /// How the program ended.
    pub ended: Ended,
    /// Its figures.
    pub summary: Summary,
    /// Figures of each direction of the link, limited or not.
    pub links: Vec<LinkResults>,
    /// Who limited.
    pub limits: Limits,
    /// What the user felt.
    pub felt: Felt,
    /// All that is in `exec.json`.
    pub exec: Value,
    /// Where the result is.
    pub folder: Option<PathBuf>,
}

/// Runs the program; the exit code and the reason where it could not be started.
///
/// # Errors
///
/// The link, its namespaces or its relay could not be made, or failed; the program has then been ended.
pub fn run(mut config: Config) -> Result<std::result::Result<Outcome, (u8, String)>> {
    // Kept to the end, after which the link's sockets are closed in the background. A guest's clock stands still meanwhile.
    let keeper = (config.world == World::Live).then(Keeper::start);
    let keeper = keeper.and_then(std::result::Result::ok).map(Arc::new);
    let ipv6 = match config.net {
        _ if config.ipv4_only => false,
        Net::Relay | Net::Pasta => has_ipv6(),
        Net::None => true,
        Net::Nat => false,
    };
    check_mtu(config.mtu, ipv6)?;
    let subnet = match config.subnet {
        Some(number) => Subnet::new(number),
        None => Subnet::find(config.depth)?,
    };
    let host_ecn = sysctl::get("net.ipv4.tcp_ecn")?;
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    let has = effective().doing("read capabilities")?;
    if config.net == Net::Nat && !has.contains(needed) {
        return Err(Error::Options(
            "--net nat adds an interface and a table of addresses to this host: only root may"
                .to_owned(),
        ));
    }
    // pasta keeps a right over what it is started in, so root, too, goes where that is nothing of the host.
    if !has.contains(needed) || config.net == Net::Pasta {
        user_namespace::enter().map_err(|error| {
            let fix = error.fix().map(|fix| format!("; fix: {fix}"));
            Error::Options(format!("{error}{}", fix.unwrap_or_default()))
        })?;
    }
    let controls = Controls::find(&config)?;
    let ecn = match config.ecn {
        Some(ecn) => ecn.value(),
        // Without ECN Prague is Reno: both sides ask for the best that there is.
        None if controls.are_l4s().contains(&true) => sysctl::best_ecn(),
        None => host_ecn.parse().unwrap_or(2),
    };

    let names = resolver::Names::of_host();
    let has_names = config.net.stands_for_host() && config.names == Names::Link;
    let pasta = match config.net {
        Net::Pasta => Some((
            pasta::find()?,
            PastaConfig::new(
                subnet,
                config.mtu,
                ipv6,
                &config.loopback,
                has_names.then_some(&names),
            )?,
        )),
        _ => None,
    };
    let waiting = Waiting::fork(Start {
        environment: [environment(&config, subnet), config.variables.clone()].concat(),
        names: has_names.then(|| match &pasta {
            Some((_, pasta)) => names.with(pasta.names),
            None => names.inside(subnet),
        }),
        program: config.program.clone(),
    })?;
    let far = config.far.clone().map(|program| {
        Waiting::fork(Start {
            environment: environment(&config, subnet),
            names: None,
            program,
        })
    });
    let far = far.transpose()?;
    let outside = match (&far, config.net) {
        (Some(far), _) => far.network()?,
        (None, Net::Nat) => Namespace::current().doing("find the host's network namespace")?,
        (None, _) => Namespace::new().doing("make a network namespace")?,
    };
    let pasta = pasta.map(|(program, pasta)| WaitingPasta::fork(program, &outside, &pasta));
    let pasta = pasta.transpose()?;
    let network_config = NetworkConfig {
        subnet,
        mtu: config.mtu,
        ipv6,
        ecn,
        control: controls.name(&controls.inside),
        far_control: controls.name(&controls.outside),
        net: config.net,
    };
    let network = Network::build(waiting.network()?, outside, &network_config)?;
    let pasta = pasta.map(|pasta| pasta.start(&network.outside, &network_config));
    let pasta = pasta.transpose()?;
    let mut results = match &config.out {
        Some(out) => Some(Results::create(
            out,
            &config.plan,
            config.packets,
            config.world,
        )?),
        None => None,
    };
    let packets = match &results {
        Some(results) => results.packets()?,
        None => None,
    };
    let packets = packets
        .map(|file| LivePackets::of_live::<Descriptor>(config.plan.scenario(), config.world, file));
    let packets = packets.transpose()?;
    let epoch = monotonic();
    let link = LinkThread::start(link::Start {
        plan: &config.plan,
        namespace: &network.link,
        mtu: config.mtu,
        epoch,
        changes: config.socket.is_some() || config.watcher.is_some(),
        ect1: config.ect1.as_deref(),
        is_l4s: controls.are_l4s(),
        keeper: keeper.clone(),
        packets: packets.clone(),
    })?;
    let remote = Remote::new(link.asks(), epoch, config.plan.clone());
    let sockets = match config.net {
        Net::Relay => Some(Sockets::open(&network, ipv6)?),
        Net::None | Net::Nat | Net::Pasta => None,
    };
    let used = controls.used(&network)?;
    // Threads from here on, and this one, have no right over anything.
    keep_only(CapabilitySet::empty())?;
    let socket = config.socket.as_ref().map(ControlSocket::path);
    for file in config.out.as_deref().into_iter().chain(socket) {
        may_write(file)?;
    }
    let interval = config.plan.scenario().run.interval;
    let (bins, bins_out) = mpsc::channel();
    let relay = sockets.map(|sockets| {
        Relay::start(
            sockets,
            RelayConfig {
                targets: Targets {
                    subnet,
                    servers: names.servers.clone(),
                    loopback: config.loopback.clone(),
                },
                ipv6,
                epoch,
                bin: interval,
                bins,
            },
        )
    });
    let relay = relay.transpose()?;

    set_child_subreaper(Some(rustix::process::getpid())).doing("look after orphans")?;
    child::leave_keys_to_others();
    let signals = Signals::new([SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]).doing("catch signals")?;
    let far = match far.map(Waiting::start).transpose()? {
        Some(Ok(far)) => Some(far),
        Some(Err(refused)) => return Ok(Err(refused)),
        None => None,
    };
    if let Some(far) = &far {
        far::wait_until_it_listens(far);
    }
    let watcher = config.watcher.take();
    let watcher = watcher.map(|watcher| Watching::begin(watcher, remote.clone()));
    let watching = watcher.transpose()?;
    if let Some(socket) = &config.socket {
        socket.answer(remote.clone())?;
    }
    let running = match waiting.start()? {
        Ok(running) => running,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut judge = Judge::new(config.plan.judged(), relay.is_some(), interval);
    judge.follow(&config.plan.changes());
    let mut watch = Watch {
        link,
        remote,
        pasta,
        changes: 0,
        watching,
        epoch,
        judge,
        bins: bins_out,
        results: results.as_mut(),
        signals,
    };
    let looked_after = watch.look_after(&running, &config, relay.as_ref(), far.as_ref());
    let (ended, descendants) = match looked_after {
        Ok(ended) => ended,
        Err(error) => {
            running.signal(SIGTERM);
            end_descendants(Duration::ZERO, None, || {});
            return Err(error);
        }
    };
    let (connections, counts) = match relay {
        Some(relay) => {
            let counts = relay.counts.clone();
            (relay.finish()?, counts)
        }
        None => (Vec::new(), Arc::default()),
    };
    let (plan, changes) = watch.remote.close();
    config.plan = plan;
    // Nobody can ask any more, and the file is gone with the program.
    config.socket = None;
    let watching = watch.watching.take();
    let (linked, limits) = watch.finish()?;
    let missing = match &packets {
        Some(packets) => packets.finish(linked.ended)?,
        None => 0,
    };
    let (mut summary, histograms) = summarise(&config.plan, config.world, &linked, false);
    summary.warnings = warnings(&config.plan, &linked.report, &counts, missing);
    if config.net == Net::Nat && names.are_of_loopback() {
        summary.warnings.push(
            "the name servers of this host are on its loopback, which --net nat does not reach: names were not found".to_owned(),
        );
    }
    let needed = LinkMemory::of(&config.plan, config.mtu).window;
    summary.warnings.extend(network.warnings(needed, ecn));
    if config.net == Net::Pasta {
        summary.warnings.push(PASTA_SENDS.to_owned());
    }
    let felt = felt(&summary, &Known::of(&config.plan, limits.has_data()));
    let exec = report(&Ran {
        config: &config,
        subnet,
        ipv6,
        ecn: network.ecn,
        controls: used,
        ended,
        descendants,
        connections: &connections,
        counts: &counts,
        limits: &limits,
        felt: &felt,
        linked: &linked,
        changes,
    });
    if let Some(watching) = watching {
        watching.finish(&summary, &histograms)?;
    }
    let folder = match results {
        Some(results) => Some(results.finish(&config.plan, &summary, &histograms, &exec)?),
        None => None,
    };
    Ok(Ok(Outcome {
        ended,
        summary,
        links: linked.results,
        limits,
        felt,
        exec,
        folder,
    }))
}

/// What the program finds in its environment.
fn environment(config: &Config, subnet: Subnet) -> Vec<(String, String)> {
    let mut variables = vec![
        ("QUELL_LINK".to_owned(), config.plan.describe()),
        ("QUELL_FAR".to_owned(), subnet.far()[0].to_string()),
        ("QUELL_DEPTH".to_owned(), (config.depth + 1).to_string()),
    ];
    if config.net.stands_for_host() && config.loopback != Loopback::Closed {
        variables.push(("QUELL_HOST".to_owned(), subnet.host()[0].to_string()));
    }
    variables
}

/// Whether the folder of the result can be given its name at the end, or the control socket be removed.
fn may_write(file: &std::path::Path) -> Result<()> {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(std::path::Path::new("."));
    access(parent, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| Error::System {
        doing: format!(
            "write to {}: quell exec gives up root's right to write anywhere",
            parent.display()
        ),
        source: errno.into(),
    })
}

/// The calling thread, while the program runs.
struct Watch<'a> {
    link: LinkThread,
    remote: Remote,
    pasta: Option<Pasta>,
    /// Changes that the judge and a watcher know of.
    changes: usize,
    watching: Option<Watching>,
    epoch: Time,
    judge: Judge,
    bins: Receiver<Bin>,
    results: Option<&'a mut Results>,
    signals: Signals,
}

impl Watch<'_> {
    /// Until the program, its descendants and what they have sent are gone. How many descendants there were to wait for.
    fn look_after(
        &mut self,
        running: &Running,
        config: &Config,
        relay: Option<&Relay>,
        far: Option<&Running>,
    ) -> Result<(Ended, usize)> {
        let descriptor = running.descriptor();
        let ended = loop {
            if let Some(ended) = reap(running.id()) {
                break ended;
            }
            let mut ready = [PollFd::new(descriptor, PollFlags::IN)];
            let patience = Timespec {
                tv_sec: 0,
                tv_nsec: TURN,
            };
            // A signal interrupts it, too.
            let _ = poll(&mut ready, Some(&patience));
            for signal in self.signals.pending() {
                running.signal(signal);
            }
            self.take_rows()?;
        };
        let spare = far.map(Running::id).or(self.pasta.as_ref().map(Pasta::id));
        let descendants = end_descendants(config.wait, spare, || {
            let _ = self.take_rows();
        });
        self.pass_on_the_rest(relay);
        if let Some(pasta) = self.pasta.take() {
            pasta.settle();
        }
        if let Some(far) = far {
            far.signal(SIGTERM);
            end_descendants(Duration::ZERO, None, || {});
        }
        Ok((ended, descendants))
    }

    /// Waits until all that the program has sent is through the link and passed on, for at most [`LINGER`]. What it sent last may be in a
    /// socket that nobody has looked at since: the link must have had a full turn, and then the relay.
    fn pass_on_the_rest(&self, relay: Option<&Relay>) {
        let began = Instant::now();
        self.link.hurry();
        let wait = |is_there: &dyn Fn() -> bool| {
            while !is_there() {
                if began.elapsed() >= LINGER || self.link.has_failed() {
                    return false;
                }
                thread::sleep(Duration::from_millis(1));
            }
            true
        };
        loop {
            let slices = self.link.slices();
            let through = || self.link.slices() >= slices + 2 && !self.link.holds_packets();
            let (true, Some(relay)) = (wait(&through), relay) else {
                return;
            };
            let rounds = Counts::get(&relay.counts.rounds);
            let looked = || {
                relay.wake();
                Counts::get(&relay.counts.rounds) >= rounds + 2
            };
            if !wait(&looked) || Counts::get(&relay.counts.unfinished) == 0 {
                return;
            }
            // The rest of it may have to come through the link first.
        }
    }

    fn take_rows(&mut self) -> Result<()> {
        let changes = self.remote.changes();
        if changes != std::mem::replace(&mut self.changes, changes) {
            let plan = self.remote.plan();
            self.judge.follow(&plan.changes());
            if let Some(watching) = &self.watching {
                watching.changed(plan.scenario().clone());
            }
        }
        let rows = self.link.rows();
        for row in &rows {
            self.judge.row(row);
        }
        for bin in self.bins.try_iter() {
            self.judge.bin(bin);
        }
        self.judge.advance();
        if self.judge.has_data() {
            self.remote.data_flows();
        }
        if let Some(results) = &mut self.results {
            results.rows(&rows)?;
        }
        if let Some(watching) = &mut self.watching
            && !rows.is_empty()
        {
            watching.rows(monotonic() - self.epoch, rows);
        }
        if self.link.has_failed() {
            return Err(Error::Gone("the link"));
        }
        self.pasta.as_ref().map_or(Ok(()), Pasta::check)
    }

    fn finish(mut self) -> Result<(Linked, Limits)> {
        let rows = self.link.rows();
        let (linked, last) = self.link.finish()?;
        for row in rows.iter().chain(&last) {
            self.judge.row(row);
        }
        for bin in self.bins.try_iter() {
            self.judge.bin(bin);
        }
        if let Some(results) = &mut self.results {
            results.rows(&rows)?;
            results.rows(&last)?;
        }
        Ok((linked, self.judge.finish()))
    }
}

/// The exit code of an error of quell itself.
pub const OWN_FAILURE: u8 = FAILED;
