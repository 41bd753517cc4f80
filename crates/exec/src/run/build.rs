//! The processes, the networks, the link and its sockets: made while there are rights for it, which are gone at the end.

use std::sync::Arc;

use quell_hosts::child;
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::fd_holder::FdHolder;
use quell_hosts::namespace::Namespace;
use quell_link::Descriptor;
use quell_measure::Direction;
use quell_results::packets::LivePackets;
use quell_scenario::World;
use rustix::fs::{Access, access};
use rustix::process::set_child_subreaper;

use super::prepare::Prepared;
use crate::attach::{Attachment, Detour};
use crate::config::Config;
use crate::control::ControlSocket;
use crate::controls::Controls;
use crate::error::{Doing as _, Error, Result};
use crate::link::{self, LinkThread};
use crate::net::Net;
use crate::network::{Network, NetworkConfig, build_link, link_namespace, within};
use crate::option_error::OptionError;
use crate::program::Found;
use crate::publish::Door;
use crate::relay::Sockets;
use crate::relay::targets::Loopback;
use crate::resolver;
use crate::results::Results;
use crate::running::{Start, Waiting};
use crate::subnet::Subnet;

/// What stays as it is from here to the end of the run.
pub(super) struct Ground {
    /// What a program of its own is in; none where the link is in front of something else.
    pub(super) hosts: Option<Hosts>,
    /// Dropped last.
    _fd_holder: Option<Arc<FdHolder>>,
}

/// The hosts at both ends of the link.
pub(super) struct Hosts {
    pub(super) ipv6: bool,
    pub(super) subnet: Subnet,
    /// The name servers of the host.
    pub(super) names: resolver::Names,
    /// What was wanted of `net.ipv4.tcp_ecn`.
    pub(super) ecn: Option<u8>,
    /// Congestion controls of the program's side and of the far edge.
    pub(super) controls: [String; 2],
    pub(super) network: Network,
    /// Controls that were loaded as BPF are there as long as somebody holds them.
    _loaded: Controls,
}

/// Everything stands, and nothing moves.
pub(super) struct Built {
    pub(super) program: Option<Waiting>,
    pub(super) far: Option<Waiting>,
    pub(super) detour: Option<Detour>,
    pub(super) results: Option<Results>,
    pub(super) packets: Option<LivePackets>,
    pub(super) link: LinkThread,
    pub(super) sockets: Option<Sockets>,
    pub(super) ground: Ground,
}

/// Copies of this process, made while it has one thread, and the networks that they wait in.
struct Copies {
    inside: Namespace,
    outside: Namespace,
    program: Waiting,
    far: Option<Waiting>,
}

/// Builds what a run needs; from then on this process has no right over anything.
pub(super) fn build(config: &mut Config, prepared: Prepared) -> Result<Built> {
    if config.doors.iter().any(Door::needs_ipv6) && !prepared.ipv6 {
        return Err(OptionError::PublishIpv6.into());
    }
    let copies = copies(config, &prepared)?;
    let (ipv6, ecn, controls) = (prepared.ipv6, prepared.ecn, prepared.controls);
    let network_config = NetworkConfig {
        subnet: prepared.subnet,
        mtu: config.mtu,
        ipv6,
        ecn,
        control: controls.name(&controls.inside),
        far_control: controls.name(&controls.outside),
        net: config.net,
    };
    let (inside, outside) = (copies.inside, copies.outside);
    let network = Network::build(inside, outside, prepared.claim, &network_config)?;
    let results = results(config)?;
    let packets = packets(config, results.as_ref())?;
    let fd_holder = prepared.fd_holder;
    let link = LinkThread::start(link::Start {
        plan: &config.plan,
        namespace: &network.link,
        mtu: config.mtu,
        awaited: &[Direction::Reverse],
        changes: config.socket.is_some() || config.watcher.is_some(),
        only: config.only.clone(),
        ect1: config.ect1.as_deref(),
        is_l4s: controls.are_l4s(),
        fd_holder: fd_holder.clone(),
        packets: packets.clone(),
    })?;
    let doors = std::mem::take(&mut config.doors);
    let sockets = match config.net {
        Net::Relay => Some(Sockets::open(&network, ipv6, doors)?),
        Net::None | Net::Nat => None,
    };
    let used = Controls::used(&controls, &network)?;
    give_up_rights(config)?;
    Ok(Built {
        program: Some(copies.program),
        far: copies.far,
        detour: None,
        results,
        packets,
        link,
        sockets,
        ground: Ground {
            hosts: Some(Hosts {
                ipv6,
                subnet: prepared.subnet,
                names: prepared.names,
                ecn,
                controls: used,
                network,
                _loaded: controls,
            }),
            _fd_holder: fd_holder,
        },
    })
}

/// Builds a link in front of what runs already, which notices nothing before the last step.
pub(super) fn build_attached(config: &Config, attachment: &Attachment) -> Result<Built> {
    let program = config.program.as_ref().map(|program| {
        Waiting::fork(Start {
            program: program.clone(),
            network: None,
            environment: config.variables.clone(),
            names: None,
            user: None,
            own_ids: false,
        })
    });
    let program = program.transpose()?;
    let (namespace, without) = link_namespace()?;
    let wires = Detour::wires(attachment, &namespace)?;
    within(&namespace, || build_link(without))?;
    let results = results(config)?;
    let packets = packets(config, results.as_ref())?;
    let link = LinkThread::start(link::Start {
        plan: &config.plan,
        namespace: &namespace,
        mtu: attachment.mtu,
        awaited: &Direction::BOTH,
        changes: config.socket.is_some() || config.watcher.is_some(),
        only: config.only.clone(),
        ect1: config.ect1.as_deref(),
        is_l4s: [false; 2],
        // It would keep the wires for a while.
        fd_holder: None,
        packets: packets.clone(),
    })?;
    let detour = Detour::begin(attachment, &wires)?;
    give_up_rights(config)?;
    Ok(Built {
        program,
        far: None,
        detour: Some(detour),
        results,
        packets,
        link,
        sockets: None,
        ground: Ground {
            hosts: None,
            _fd_holder: None,
        },
    })
}

/// Makes the processes that become programs. They wait.
fn copies(config: &Config, prepared: &Prepared) -> Result<Copies> {
    let inside = Namespace::new().doing("make a network namespace")?;
    let outside = match config.net {
        Net::Nat => Namespace::current().doing("find the host's network namespace")?,
        Net::Relay | Net::None => Namespace::new().doing("make a network namespace")?,
    };
    let start = |program: &Found, network, environment, names| Start {
        program: program.clone(),
        network: Some(network),
        environment,
        names,
        user: config.user.clone(),
        own_ids: config.world == World::Live,
    };
    let variables = environment(config, prepared.subnet, prepared.ipv6);
    let names = prepared
        .has_names
        .then(|| prepared.names.inside(prepared.subnet));
    let environment = [variables.clone(), config.variables.clone()].concat();
    let program = config.program.as_ref().ok_or(Error::Gone("the program"))?;
    let program = Waiting::fork(start(program, &inside, environment, names))?;
    let far = config.far.as_ref();
    let far = far.map(|program| Waiting::fork(start(program, &outside, variables, None)));
    let far = far.transpose()?;
    Ok(Copies {
        inside,
        outside,
        program,
        far,
    })
}

/// What the program finds in its environment.
fn environment(config: &Config, subnet: Subnet, ipv6: bool) -> Vec<(String, String)> {
    let mut variables = vec![
        ("QUELL_LINK".to_owned(), config.plan.describe()),
        ("QUELL_FAR".to_owned(), subnet.far()[0].to_string()),
        ("QUELL_DEPTH".to_owned(), (config.depth + 1).to_string()),
    ];
    if ipv6 {
        variables.push(("QUELL_FAR6".to_owned(), subnet.far()[1].to_string()));
    }
    if config.net.stands_for_host() && config.loopback != Loopback::Closed {
        variables.push(("QUELL_HOST".to_owned(), subnet.host()[0].to_string()));
        if ipv6 {
            variables.push(("QUELL_HOST6".to_owned(), subnet.host()[1].to_string()));
        }
    }
    if !config.doors.is_empty() {
        let doors = config
            .doors
            .iter()
            .map(|door| door.published.at.to_string());
        let doors: Vec<String> = doors.collect();
        variables.push(("QUELL_PUBLISHED".to_owned(), doors.join(" ")));
    }
    if let Some(socket) = &config.socket {
        let path = socket.path().to_string_lossy().into_owned();
        variables.push(("QUELL_CONTROL".to_owned(), path));
    }
    if let Some(user) = &config.user {
        variables.extend(user.variables());
    }
    variables
}

/// The folder of the result, where one was asked for.
fn results(config: &Config) -> Result<Option<Results>> {
    let out = config.out.as_deref();
    let results = out.map(|out| Results::create(out, &config.plan, config.packets, config.world));
    results.transpose()
}

/// Whoever writes every packet, where that was asked for.
fn packets(config: &Config, results: Option<&Results>) -> Result<Option<LivePackets>> {
    let file = match results {
        Some(results) => results.packets()?,
        None => None,
    };
    let (scenario, world) = (config.plan.scenario(), config.world);
    let packets = file.map(|file| LivePackets::of_live::<Descriptor>(scenario, world, file));
    Ok(packets.transpose()?)
}

/// Threads from here on, and this one, have no right over anything; and what the program could gain by reading their memory stays theirs.
fn give_up_rights(config: &Config) -> Result<()> {
    keep_only(CapabilitySet::empty())?;
    child::keep_out_of_sight();
    let socket = config.socket.as_ref().map(ControlSocket::path);
    for file in config.out.as_deref().into_iter().chain(socket) {
        may_write(file)?;
    }
    if config.world != World::Live || config.attachment.is_some() {
        set_child_subreaper(Some(rustix::process::getpid())).doing("look after orphans")?;
    }
    Ok(())
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
