//! Everything that can be refused is tried before the first packet: open files, addresses, ports, congestion controls.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quell_app::{AppConfig, Transport};
use quell_units::Time;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::clock::{Present, Timers};
use super::end::{Context, DatagramEnd, End, Port};
use super::endpoint::Host;
use super::error::TrafficError;
use super::host::Running;
use super::plan::{FlowPlan, TrafficConfig};
use super::poller::{Interest, Poller, Token};
use super::shared::Shared;
use super::socket;
use super::ticks::Ticks;

/// The most bytes read at once from a stream; the pages are never touched.
const READ: usize = 1 << 20;
/// Open files of a host beside those of its flows, and some for the rest of the program.
const OTHER_FILES: u64 = 64;

/// Open files for sockets that have not been closed yet while their successors are opened already.
const SPARE_FILES: u64 = 256;
/// Connections of a flow that must have their open files for a run to start, if its session opens as many.
const LEAST_CONNECTIONS: u64 = 8;

/// The sockets that flows may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sockets {
    /// Groups of flows: one listener or port each.
    pub groups: u64,
    /// Flows over TCP with one connection at a time, and flows of datagrams: the sockets of both ends.
    pub plain: u64,
    /// Sessions: the sockets without which they cannot begin, of both ends.
    pub least: u64,
    /// Sessions: the sockets of all connections that they may have at once, of both ends. Most need fewer.
    pub most: u64,
}

impl Sockets {
    /// Counts a flow of `app`.
    pub fn add(&mut self, app: &AppConfig) {
        let most = app.session().map(|session| u64::from(session.connections));
        match (most, app.transport()) {
            (Some(most), _) => {
                self.least += 2 * most.min(LEAST_CONNECTIONS);
                self.most += 2 * most;
            }
            (None, Transport::Stream) => self.plain += 2,
            // The receiver host's is that of the group.
            (None, Transport::Datagram) => self.plain += 1,
        }
    }

    fn of(plans: &[FlowPlan]) -> Self {
        let groups = plans.iter().map(|plan| plan.group as u64 + 1).max();
        let mut sockets = Self {
            groups: groups.unwrap_or(0),
            ..Self::default()
        };
        plans.iter().for_each(|plan| sockets.add(&plan.app));
        sockets
    }
}

/// Makes sure that the flows may have the open files that they need, and raises the limit if not. Returns how many are left for
/// the connections of sessions.
pub(super) fn allow_open_files(plans: &[FlowPlan]) -> Result<u64, TrafficError> {
    allow_files_for(&Sockets::of(plans))
}

/// Makes sure that flows may have the open files that they need, as [`Traffic::start`](super::Traffic::start) does. Raises this
/// process's limit if necessary, and for sessions as far as possible. Returns how many files are left for their connections; one
/// that finds none left fails.
///
/// # Errors
///
/// [`TrafficError::TooManyFlows`]: the limit is lower and cannot be raised.
pub fn allow_files_for(sockets: &Sockets) -> Result<u64, TrafficError> {
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    let others = sockets
        .plain
        .saturating_add(sockets.groups + open + OTHER_FILES);
    let allowed = allow(
        others.saturating_add(sockets.least),
        others.saturating_add(sockets.most + SPARE_FILES),
    )?;
    Ok(allowed - others)
}

/// Allows `needed` open files, and up to `wanted` if it can be had. Returns how many there may be.
fn allow(needed: u64, wanted: u64) -> Result<u64, TrafficError> {
    let limit = getrlimit(Resource::Nofile);
    let (current, maximum) = (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    );
    if current >= wanted {
        return Ok(current);
    }
    // Raising the maximum takes CAP_SYS_RESOURCE, so it is tried only where it must be.
    let steps = [wanted, wanted.min(maximum), needed];
    let raised = steps.into_iter().find(|&files| {
        let raised = Rlimit {
            current: Some(files.max(current)),
            maximum: limit.maximum.map(|maximum| maximum.max(files)),
        };
        files >= needed && setrlimit(Resource::Nofile, raised).is_ok()
    });
    raised.ok_or(TrafficError::TooManyFlows {
        needed,
        limit: maximum,
    })
}

/// A host under construction, on its own thread and in its own namespace.
struct Setup<'a> {
    host: Host,
    plans: &'a [FlowPlan],
    poller: Poller,
    ends: Vec<End>,
    listeners: Vec<OwnedFd>,
    ports: Vec<Port>,
    /// Index into `listeners` or `ports` of each group that has been set up.
    groups: HashMap<usize, usize>,
}

/// Opens everything that a host needs before the flows begin. The receiver host's datagram flows still lack their other end.
pub(super) fn set_up(
    host: Host,
    config: &TrafficConfig,
    shared: Arc<Shared>,
) -> Result<Running, TrafficError> {
    let refused = |doing| {
        move |source| TrafficError::System {
            host,
            doing,
            source,
        }
    };
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|errno| refused("set its timer slack")(errno.into()))?;
    let poller = Poller::new().map_err(refused("open an epoll"))?;
    poller
        .add(shared.waker(host), Token::Waker, Interest::READ)
        .map_err(refused("watch its waker"))?;
    let plans = &config.plans[..];
    let mut setup = Setup {
        host,
        plans,
        poller,
        ends: plans
            .iter()
            .enumerate()
            .map(|(index, plan)| End::new(index, plan, host))
            .collect(),
        listeners: Vec::new(),
        ports: Vec::new(),
        groups: HashMap::new(),
    };
    for index in 0..plans.len() {
        setup.prepare(index, &shared)?;
    }
    let end = config.end.at();
    let mut ticks = Ticks::new(config.interval, config.boundaries.clone());
    ticks.end_at(end);
    let Setup {
        poller,
        ends,
        listeners,
        ports,
        ..
    } = setup;
    let mut running = Running {
        context: Context {
            host,
            present: Present::new(config.epoch),
            connect_within: config.connect_within,
            shared,
            poller,
            timers: Timers::default(),
            ports,
            read_buffer: vec![0; READ],
            actions: Vec::new(),
            events: Vec::new(),
        },
        told: vec![false; ends.len()],
        ends,
        listeners,
        ticks,
        interval: config.interval,
        end: config.end.clone(),
        known_end: end,
        names: plans.iter().map(|plan| (plan.group, plan.flow)).collect(),
        last_boundary: Time::ZERO,
        caught_up: None,
        heard: 0,
    };
    running.set_timers();
    Ok(running)
}

impl Setup<'_> {
    fn prepare(&mut self, index: usize, shared: &Shared) -> Result<(), TrafficError> {
        let plan = &self.plans[index];
        let first_of_group = match self.groups.entry(plan.group) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(if plan.is_stream() {
                    self.listeners.len()
                } else {
                    self.ports.len()
                });
                true
            }
        };
        match (self.host == plan.opener(), plan.is_stream()) {
            (true, true) => {
                if first_of_group {
                    self.try_client(plan)?;
                }
            }
            (true, false) => self.open_client(index, plan, shared)?,
            (false, true) => {
                if first_of_group {
                    self.open_listener(plan)?;
                }
            }
            (false, false) => {
                if first_of_group {
                    self.open_port(plan)?;
                }
            }
        }
        Ok(())
    }

    /// Connections are opened when their flows start; whether they can be is tried now.
    fn try_client(&self, plan: &FlowPlan) -> Result<(), TrafficError> {
        let socket = socket::client(plan.client())
            .map_err(|error| self.explain(plan, "open a socket", error))?;
        self.set_control(plan, &socket)
    }

    fn open_listener(&mut self, plan: &FlowPlan) -> Result<(), TrafficError> {
        let open = || -> io::Result<OwnedFd> { socket::listener(plan.server()) };
        let listener =
            open().map_err(|error| self.explain(plan, "listen at a group's port", error))?;
        self.set_control(plan, &listener)?;
        socket::start_listening(&listener)
            .and_then(|()| {
                self.poller.add(
                    &listener,
                    Token::Listener(self.listeners.len()),
                    Interest::READ,
                )
            })
            .map_err(|error| self.explain(plan, "listen at a group's port", error))?;
        self.listeners.push(listener);
        Ok(())
    }

    fn open_port(&mut self, plan: &FlowPlan) -> Result<(), TrafficError> {
        let Some(layout) = plan.layout() else {
            return Ok(());
        };
        let socket = socket::datagram(plan.receiver, plan.datagram_ecn, layout)
            .and_then(|socket| {
                self.poller
                    .add(&socket, Token::Port(self.ports.len()), Interest::READ)?;
                Ok(socket)
            })
            .map_err(|error| self.explain(plan, "open a group's port", error))?;
        self.ports.push(Port {
            socket,
            layout,
            flows: HashMap::new(),
            blocked: Vec::new(),
        });
        Ok(())
    }

    fn open_client(
        &mut self,
        index: usize,
        plan: &FlowPlan,
        shared: &Shared,
    ) -> Result<(), TrafficError> {
        let Some(layout) = plan.layout() else {
            return Ok(());
        };
        let open = || -> io::Result<OwnedFd> {
            let socket = socket::datagram((plan.sender, 0).into(), plan.datagram_ecn, layout)?;
            rustix::net::connect(&socket, &plan.receiver)?;
            // The other host reads it only after both have been set up, so it is set once and in time.
            let _ = shared.flows[index]
                .datagram_client
                .set(socket::local_address(&socket)?);
            self.poller
                .add(&socket, Token::End(index), Interest::READ)?;
            Ok(socket)
        };
        let socket = open().map_err(|error| self.explain(plan, "open a datagram socket", error))?;
        self.ends[index].use_datagrams(DatagramEnd::own(socket, layout));
        Ok(())
    }

    fn set_control(&self, plan: &FlowPlan, socket: &OwnedFd) -> Result<(), TrafficError> {
        let Some(name) = plan.control_at(self.host) else {
            return Ok(());
        };
        let (group, name) = (plan.group, name.to_owned());
        socket::set_control(socket, &name).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
                TrafficError::NoSuchControl { group, name }
            }
            io::ErrorKind::PermissionDenied => TrafficError::ControlRestricted { group, name },
            _ => TrafficError::System {
                host: self.host,
                doing: "choose the congestion control",
                source,
            },
        })
    }

    fn explain(&self, plan: &FlowPlan, doing: &'static str, source: io::Error) -> TrafficError {
        let (host, group) = (self.host, plan.group);
        match source.kind() {
            io::ErrorKind::AddrInUse => TrafficError::PortInUse {
                group,
                host,
                at: plan.server(),
            },
            io::ErrorKind::AddrNotAvailable => {
                let address = if host == Host::Sender {
                    plan.sender
                } else {
                    plan.receiver.ip()
                };
                TrafficError::NoSuchAddress {
                    group,
                    host,
                    address,
                }
            }
            _ => TrafficError::System {
                host,
                doing,
                source,
            },
        }
    }
}

/// Gives the receiver host's datagram flows the addresses of their other ends, after both hosts have been set up.
pub(super) fn join_datagrams(running: &mut Running, plans: &[FlowPlan]) {
    let mut ports: HashMap<usize, usize> = HashMap::new();
    for (index, plan) in plans
        .iter()
        .enumerate()
        .filter(|(_, plan)| !plan.is_stream())
    {
        // In the order in which the ports were opened: that of each group's first plan.
        let next = ports.len();
        let port = *ports.entry(plan.group).or_insert(next);
        if let Some(&client) = running.context.shared.flows[index].datagram_client.get() {
            let layout = running.context.ports[port].layout;
            running.context.ports[port].flows.insert(client, index);
            running.ends[index].use_datagrams(DatagramEnd::at_port(port, client, layout));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_flows_than_files_are_refused_with_the_numbers() {
        assert!(allow(1, 1).unwrap() >= 1);
        // Above fs.nr_open, whoever asks.
        let Err(TrafficError::TooManyFlows { needed, limit }) = allow(1 << 40, 1 << 41) else {
            panic!()
        };
        assert_eq!(needed, 1 << 40);
        assert!(limit < needed);
        // What is only wanted is had as far as it goes.
        let allowed = allow(2, 1 << 40).unwrap();
        assert!((2..1 << 40).contains(&allowed), "{allowed}");
    }
}
