//! The link carries, the relay and those who watch begin, and then the program.

use std::sync::mpsc;

use quell_hosts::child;
use quell_hosts::terminal::Front;
use quell_link::monotonic;
use quell_results::packets::LivePackets;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use super::build::{Built, Ground};
use super::main_loop::MainLoop;
use crate::config::Config;
use crate::error::{Doing as _, Result};
use crate::far_ready;
use crate::program::NotStarted;
use crate::relay::targets::Targets;
use crate::relay::{Relay, RelayConfig};
use crate::remote::Remote;
use crate::running::{Running, Waiting};
use crate::verdict::Judge;
use crate::watcher::Watching;

/// The program runs.
pub(super) struct Started {
    pub(super) main_loop: MainLoop,
    pub(super) program: Option<Running>,
    pub(super) relay: Option<Relay>,
    pub(super) far: Option<Running>,
    /// Whoever was in front of the terminal before.
    pub(super) front: Option<Front>,
    pub(super) packets: Option<LivePackets>,
    pub(super) ground: Ground,
}

/// Starts everything, the program last; the inner error says why a program cannot be started.
pub(super) fn start(config: &mut Config, built: Built) -> Result<Result<Started, NotStarted>> {
    // Dropped in the opposite order.
    let ground = built.ground;
    let link = built.link;
    let front = Front::now();
    let signals = match &built.program {
        Some(_) => {
            child::leave_keys_to_others();
            Signals::new([SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])
        }
        // The keys are for the link alone.
        None => Signals::new([SIGTERM, SIGHUP, SIGINT]),
    };
    let signals = signals.doing("catch signals")?;
    let far = match built.far.map(Waiting::start).transpose()?.transpose() {
        Ok(far) => far,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some(far) = &far {
        far_ready::wait_until_it_listens(far);
    }
    // The run begins here: what it took until a server was there is no part of it.
    let epoch = monotonic();
    link.begin(epoch);
    let remote = Remote::new(link.asks(), epoch, config.plan.clone(), config.world);
    let interval = config.plan.scenario().run.interval;
    let (bins, bins_out) = mpsc::channel();
    let relay = built.sockets.zip(ground.hosts.as_ref());
    let cuts = config.plan.cuts().iter();
    let relay = relay.map(|(sockets, hosts)| {
        let targets = Targets {
            subnet: hosts.subnet,
            servers: hosts.names.servers.clone(),
            loopback: config.loopback.clone(),
        };
        let config = RelayConfig {
            targets,
            ipv6: hosts.ipv6,
            epoch,
            bin: interval,
            bins,
            planned: cuts.map(|planned| (planned.at, planned.cut)).collect(),
        };
        Relay::start(sockets, config)
    });
    let relay = relay.transpose()?;
    let scissors = relay.as_ref().map(|relay| relay.scissors.clone());
    let remote = remote.with(scissors);
    let watcher = config.watcher.take();
    let watcher = watcher.map(|watcher| Watching::begin(watcher, remote.clone()));
    let watching = watcher.transpose()?;
    if let Some(socket) = &config.socket {
        socket.answer(remote.clone())?;
    }
    if let Some((line, say)) = &config.announcement {
        say(line);
    }
    let program = match built.program.map(Waiting::start).transpose()?.transpose() {
        Ok(program) => program,
        Err(refused) => return Ok(Err(refused)),
    };
    // Only what is behind the link is joined.
    if let (Some(program), None) = (&program, &config.attachment) {
        remote.program_runs(program.id());
    }
    let plan = &config.plan;
    let mut judge = Judge::new(plan.capacities(), relay.is_some(), plan.rtt(), interval);
    judge.follow(&plan.changes(), plan.later());
    let main_loop = MainLoop {
        link,
        detour: built.detour,
        gone: None,
        remote,
        changes: 0,
        watching,
        lost: [0; 2],
        epoch,
        judge,
        bins: bins_out,
        results: built.results,
        packets: built.packets.clone(),
        signals,
    };
    Ok(Ok(Started {
        main_loop,
        program,
        relay,
        far,
        front,
        packets: built.packets,
        ground,
    }))
}
