//! A program behind a link, from the first namespace to the report.
//!
//! The order matters: copies of the process while it has one thread; namespaces, sockets and the link while it has rights; then no rights
//! any more; then the relay and the program. The calling thread stays in the host's network, where the relay's sockets to the world are.

mod watch;

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use quell_confine::capabilities::{CapabilitySet, effective, keep_only};
use quell_confine::threads::require_one;
use quell_hosts::account::Account;
use quell_hosts::fd_holder::FdHolder;
use quell_hosts::namespace::Namespace;
use quell_hosts::terminal::Front;
use quell_hosts::{child, sysctl, user_namespace};
use quell_link::{Descriptor, monotonic};
use quell_measure::{LinkResults, Summary};
use quell_results::packets::LivePackets;
use quell_scenario::World;
use rustix::fs::{Access, access};
use rustix::process::set_child_subreaper;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::bypass::{Surroundings, bypasses};
use crate::control::ControlSocket;
use crate::controls::Controls;
use crate::error::Doing as _;
use crate::experience::{Known, UserImpact, impact};
use crate::link::{self, LinkThread};
use crate::network::{Claim, Network, NetworkConfig, check_mtu};
use crate::pasta::{self, PastaConfig, WaitingPasta};
use crate::program::{Ended, FAILED, Found};
use crate::relay::targets::{Loopback, Targets};
use crate::relay::{Relay, RelayConfig, Sockets};
use crate::remote::Remote;
use crate::report::{Ran, report, summarise, warnings};
use crate::results::Results;
use crate::running::{Start, Waiting};
use crate::subnet::{Subnet, has_ipv6};
use crate::verdict::{Judge, Limits};
use crate::watcher::{Watcher, Watching};
use crate::{Error, LinkMemory, Net, Plan, Result, far_ready, resolver};
use watch::Watch;

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
    /// Whose rights the programs have; `None` for those of the caller. Only root can give others.
    pub user: Option<Account>,
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
    pub impact: UserImpact,
    /// All that is in `exec.json`.
    pub exec: Value,
    /// Where the result is.
    pub folder: Option<PathBuf>,
    /// Why it is nowhere although it was asked for: the program has run all the same.
    pub unwritten: Option<Error>,
}

/// Runs the program; the exit code and the reason where it could not be started.
///
/// # Errors
///
/// The link, its namespaces or its relay could not be made, or failed; the program has then been ended.
pub fn run(mut config: Config) -> Result<std::result::Result<Outcome, (u8, String)>> {
    // Kept to the end, after which the link's sockets are closed in the background. A guest's clock stands still meanwhile.
    let fd_holder = (config.world == World::Live).then(FdHolder::start);
    let fd_holder = fd_holder.and_then(std::result::Result::ok).map(Arc::new);
    let ipv6 = match config.net {
        _ if config.ipv4_only => false,
        Net::Relay | Net::Pasta => has_ipv6(),
        Net::None => true,
        Net::Nat => false,
    };
    check_mtu(config.mtu, ipv6)?;
    let host_ecn = sysctl::get("net.ipv4.tcp_ecn")?;
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    let has = effective().doing("read capabilities")?;
    if config.net == Net::Nat && !has.contains(needed) {
        return Err(Error::Options(
            "--net nat adds an interface and a table of addresses to this host: only root may"
                .to_owned(),
        ));
    }
    let of_user = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::KILL;
    if config.user.is_some() && (!has.contains(needed | of_user) || config.net == Net::Pasta) {
        return Err(Error::Options(match config.net {
            Net::Pasta => "--user: with --net pasta all is in a user namespace that has one user; use --net relay".to_owned(),
            _ => "--user: only root can give a program another user".to_owned(),
        }));
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
        Some(ecn) => Some(ecn.value()),
        // Without ECN Prague is Reno: both sides ask for the best that there is.
        None if controls.are_l4s().contains(&true) => None,
        None => Some(host_ecn.parse().unwrap_or(2)),
    };
    // The host is shared with others who do the same; namespaces of our own are not.
    let claim = (config.net == Net::Nat)
        .then(|| Claim::new(config.subnet, config.depth, config.mtu))
        .transpose()?;
    let subnet = match (&claim, config.subnet) {
        (Some(claim), _) => claim.subnet,
        (None, Some(number)) => Subnet::new(number),
        (None, None) => Subnet::find(config.depth)?,
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
    let inside = Namespace::new().doing("make a network namespace")?;
    let outside = match config.net {
        Net::Nat => Namespace::current().doing("find the host's network namespace")?,
        _ => Namespace::new().doing("make a network namespace")?,
    };
    wait_for_joined_threads();
    let own_ids = config.world == World::Live;
    let start = |program: &Found, network, environment, names| Start {
        program: program.clone(),
        network,
        environment,
        names,
        user: config.user.clone(),
        own_ids,
    };
    let variables = environment(&config, subnet, ipv6);
    let waiting = Waiting::fork(start(
        &config.program,
        &inside,
        [variables.clone(), config.variables.clone()].concat(),
        has_names.then(|| match &pasta {
            Some((_, pasta)) => names.with(pasta.names),
            None => names.inside(subnet),
        }),
    ))?;
    let far = config.far.as_ref();
    let far = far.map(|program| Waiting::fork(start(program, &outside, variables.clone(), None)));
    let far = far.transpose()?;
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
    let network = Network::build(inside, outside, claim, &network_config)?;
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
    let link = LinkThread::start(link::Start {
        plan: &config.plan,
        namespace: &network.link,
        mtu: config.mtu,
        changes: config.socket.is_some() || config.watcher.is_some(),
        ect1: config.ect1.as_deref(),
        is_l4s: controls.are_l4s(),
        fd_holder: fd_holder.clone(),
        packets: packets.clone(),
    })?;
    let sockets = match config.net {
        Net::Relay => Some(Sockets::open(&network, ipv6)?),
        Net::None | Net::Nat | Net::Pasta => None,
    };
    let used = controls.used(&network)?;
    // Threads from here on, and this one, have no right over anything; and what the program could gain by reading their memory stays theirs.
    keep_only(CapabilitySet::empty())?;
    child::keep_out_of_sight();
    let socket = config.socket.as_ref().map(ControlSocket::path);
    for file in config.out.as_deref().into_iter().chain(socket) {
        may_write(file)?;
    }
    if !own_ids {
        set_child_subreaper(Some(rustix::process::getpid())).doing("look after orphans")?;
    }
    let front = Front::now();
    child::leave_keys_to_others();
    let signals = Signals::new([SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]).doing("catch signals")?;
    let far = match far.map(Waiting::start).transpose()? {
        Some(Ok(far)) => Some(far),
        Some(Err(refused)) => return Ok(Err(refused)),
        None => None,
    };
    if let Some(far) = &far {
        far_ready::wait_until_it_listens(far);
    }
    // The run begins here: what it took until a server was there is no part of it.
    let epoch = monotonic();
    link.begin(epoch);
    let remote = Remote::new(link.asks(), epoch, config.plan.clone());
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
    let mut judge = Judge::new(
        config.plan.judged(),
        relay.is_some(),
        config.plan.rtt(),
        interval,
    );
    judge.follow(&config.plan.changes(), config.plan.later());
    let mut watch = Watch {
        link,
        remote,
        pasta,
        changes: 0,
        watching,
        lost: [0; 2],
        epoch,
        judge,
        bins: bins_out,
        results: results.as_mut(),
        packets: packets.clone(),
        signals,
    };
    let looked_after = watch.look_after(&running, &config, relay.as_ref(), far.as_ref());
    let (ended, descendants) = match looked_after {
        Ok(ended) => ended,
        Err(error) => {
            running.signal(SIGTERM);
            running.end_descendants(Duration::ZERO, None, || {});
            front.iter().for_each(Front::take_back);
            return Err(error);
        }
    };
    front.iter().for_each(Front::take_back);
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
    // A result without packets is one, and the program's end is known.
    let missing = packets.map(|packets| packets.finish(linked.ended));
    let (missing, unwritten) = match missing.transpose() {
        Ok(missing) => (missing.unwrap_or(0), None),
        Err(error) => (0, Some(error)),
    };
    if let (Some(_), Some(results)) = (&unwritten, &results) {
        results.give_packets_up();
    }
    let (mut summary, histograms) = summarise(&config.plan, config.world, &linked, false);
    summary.warnings = warnings(&config.plan, &linked.report, &counts, missing);
    let unwritten = unwritten.map(|error| format!("the packets are not in the result: {error}"));
    summary.warnings.extend(unwritten);
    if config.world == World::Live {
        summary.warnings.extend(bypasses(
            &config.program.name(),
            &config.loopback,
            subnet,
            &Surroundings {
                variable: &|name| env::var(name).ok(),
                is_there: &|path| path.symlink_metadata().is_ok(),
            },
        ));
    }
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
    let known = Known::of(&config.plan, limits.has_data(), &linked.report);
    let impact = impact(&summary, &known);
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
        impact: &impact,
        linked: &linked,
        changes,
    });
    if let Some(watching) = watching {
        watching.finish(&summary, &histograms)?;
    }
    let folder = results.map(|results| results.finish(&config.plan, &summary, &histograms, &exec));
    let (folder, unwritten) = match folder.transpose() {
        Ok(folder) => (folder, None),
        Err(error) => (None, Some(error)),
    };
    Ok(Ok(Outcome {
        unwritten,
        ended,
        summary,
        links: linked.results,
        limits,
        impact,
        exec,
        folder,
    }))
}

/// A thread that was joined may be listed for a moment longer, and where there is another thread nothing can be copied.
fn wait_for_joined_threads() {
    let began = Instant::now();
    while require_one().is_err() && began.elapsed() < Duration::from_secs(1) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// What the program finds in its environment.
fn environment(config: &Config, subnet: Subnet, ipv6: bool) -> Vec<(String, String)> {
    let mut variables = vec![
        ("QUELL_LINK".to_owned(), config.plan.describe()),
        ("QUELL_FAR".to_owned(), subnet.far()[0].to_string()),
        ("QUELL_DEPTH".to_owned(), (config.depth + 1).to_string()),
    ];
    if config.net.stands_for_host() && config.loopback != Loopback::Closed {
        variables.push(("QUELL_HOST".to_owned(), subnet.host()[0].to_string()));
        if ipv6 {
            variables.push(("QUELL_HOST6".to_owned(), subnet.host()[1].to_string()));
        }
    }
    if let Some(user) = &config.user {
        variables.extend(user.variables());
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

/// The exit code of an error of quell itself.
pub const OWN_FAILURE: u8 = FAILED;
