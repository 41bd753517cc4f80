//! The plan of each flow, and the checks before anything starts.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use quell_app::{AppChanges, AppConfig, Application, Report, Role, Session, Transport};
use quell_units::{Ecn, Random, Time};

use super::clock::Epoch;
use super::datagram::Layout;
use super::endpoint::Host;
use super::error::TrafficError;
use super::run_end::RunEnd;

/// One flow.
///
/// Connections are made from the sender host to the group's port at the receiver host, whichever way the data goes, and datagrams
/// that go the other way come from that port. Only a session opens its connections at the end that it says: where that is at the
/// receiver host, the group's port is at the sender host.
#[derive(Debug, Clone)]
pub struct FlowPlan {
    /// Index of the group; its flows share the receiver's address and port, the transport and the congestion control.
    pub group: usize,
    /// Index within the group.
    pub flow: usize,
    /// The host that the data comes from, most of it in a session: that of [`Role::Sender`].
    pub source: Host,
    /// Address of the sender host.
    pub sender: IpAddr,
    /// Address of the receiver host, and port of the group at either host, by which the link identifies the group.
    pub receiver: SocketAddr,
    /// The application at both ends.
    pub app: AppConfig,
    /// What that becomes during the run.
    pub changes: AppChanges,
    /// The kernel's names of the congestion control of a stream at the source and at the other end; `None` for the host's default.
    pub congestion_control: Option<[String; 2]>,
    /// ECN field of datagrams. Streams negotiate theirs, as the hosts' `tcp_ecn` and the control say.
    pub datagram_ecn: Ecn,
    /// Whether the source of a stream paces even if its congestion control does not.
    pub paced: bool,
    /// Start of the flow: the connection request of a stream.
    pub start: Time,
    /// When the data's sender closes, or both ends of a session; `None` for never. It writes nothing more, and the kernel still
    /// delivers what it has taken.
    pub stop: Option<Time>,
    /// Random stream of the flow's application.
    pub random: Random,
    /// What a test has in place of the application.
    #[cfg(test)]
    pub(super) script: Option<Script>,
}

/// Either end of any application.
pub(super) type AnyEnd = Box<dyn Application<Report = Report> + Send>;

/// A session that a test plays itself.
#[cfg(test)]
#[derive(Clone)]
pub(super) struct Script {
    pub(super) session: Session,
    pub(super) end: std::sync::Arc<dyn Fn(Role) -> AnyEnd + Send + Sync>,
}

#[cfg(test)]
impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.session.fmt(f)
    }
}

/// Traffic for one run.
#[derive(Debug, Clone)]
pub struct TrafficConfig {
    /// Origin of time, a little ahead, so that the first flows start on time.
    pub epoch: Epoch,
    /// End of the run, which may be brought forward while it goes on.
    pub end: RunEnd,
    /// Time between samples, which are taken at its multiples.
    pub interval: Time,
    /// Further times to sample: where the figures of a phase begin or end. The end of the run always is one.
    pub boundaries: Vec<Time>,
    /// Time after which a connection that is not up has failed, and with it its flow unless that is a session.
    pub connect_within: Time,
    /// The flows.
    pub plans: Vec<FlowPlan>,
    /// The most open files that a test leaves for the connections of sessions.
    #[cfg(test)]
    pub(super) places: Option<u64>,
}

impl TrafficConfig {
    /// Default of [`Self::interval`].
    pub const INTERVAL: Time = Time::from_millis(100);
    /// Default of [`Self::connect_within`]: five requests (0, 1, 3, 7 and 15 s), because link and queue may drop some.
    pub const CONNECT_WITHIN: Time = Time::from_secs(20);

    /// A run with the defaults, starting now.
    pub fn new(duration: Time, plans: Vec<FlowPlan>) -> Self {
        Self {
            epoch: Epoch::now(),
            end: RunEnd::planned(duration),
            interval: Self::INTERVAL,
            boundaries: Vec::new(),
            connect_within: Self::CONNECT_WITHIN,
            plans,
            #[cfg(test)]
            places: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), TrafficError> {
        if self.interval.is_zero() {
            return Err(TrafficError::Interval);
        }
        let mut flows = HashSet::new();
        let mut groups: HashMap<usize, &FlowPlan> = HashMap::new();
        let mut ports: HashMap<(SocketAddr, bool), usize> = HashMap::new();
        for plan in &self.plans {
            let first = *groups.entry(plan.group).or_insert(plan);
            let port = (plan.receiver, plan.transport() == Transport::Stream);
            let owner = *ports.entry(port).or_insert(plan.group);
            let why = if !flows.insert((plan.group, plan.flow)) {
                Some(format!("flow {} is planned twice", plan.flow))
            } else if owner != plan.group {
                Some(format!(
                    "{} belongs to group {owner}; each group needs a port of its own",
                    plan.receiver
                ))
            } else {
                plan.contradiction(first)
            };
            if let Some(why) = why {
                return Err(TrafficError::Plan {
                    group: plan.group,
                    why,
                });
            }
        }
        Ok(())
    }
}

/// The host that makes the connections of flows of `app` whose data comes from `source`; the group's port is at the other one.
pub fn opener(app: &AppConfig, source: Host) -> Host {
    opener_of(app.session(), source)
}

fn opener_of(session: Option<Session>, source: Host) -> Host {
    match session.map(|session| session.opener) {
        None => Host::Sender,
        Some(Role::Sender) => source,
        Some(Role::Receiver) => source.other(),
    }
}

impl FlowPlan {
    pub(super) fn transport(&self) -> Transport {
        self.app.transport()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.transport() == Transport::Stream
    }

    /// How the datagrams of the flow look; as those of its whole group.
    pub(super) fn layout(&self) -> Option<Layout> {
        let datagrams = self.app.datagrams()?;
        Some(Layout::of(datagrams, self.receiver.is_ipv4()))
    }

    pub(super) fn session(&self) -> Option<Session> {
        #[cfg(test)]
        if let Some(script) = &self.script {
            return Some(script.session);
        }
        self.app.session()
    }

    pub(super) fn is_session(&self) -> bool {
        self.session().is_some()
    }

    pub(super) fn opener(&self) -> Host {
        opener_of(self.session(), self.source)
    }

    /// The congestion control of the end on this host.
    pub(super) fn control_at(&self, host: Host) -> Option<&str> {
        let [source, other] = self.congestion_control.as_ref()?;
        Some(if self.source == host { source } else { other })
    }

    /// The application's end on this host.
    pub(super) fn end(&self, host: Host) -> AnyEnd {
        let role = match self.source == host {
            true => Role::Sender,
            false => Role::Receiver,
        };
        #[cfg(test)]
        if let Some(script) = &self.script {
            return (script.end)(role);
        }
        let random = self.random.clone();
        Box::new(self.app.end_with(&self.changes, role, random))
    }

    /// The address that connections are made from.
    pub(super) fn client(&self) -> IpAddr {
        match self.opener() {
            Host::Sender => self.sender,
            Host::Receiver => self.receiver.ip(),
        }
    }

    /// Where they go: the group's port.
    pub(super) fn server(&self) -> SocketAddr {
        match self.opener() {
            Host::Sender => self.receiver,
            Host::Receiver => SocketAddr::new(self.sender, self.receiver.port()),
        }
    }

    /// Whether the flow's stop is one for its end on this host, which sends.
    pub(super) fn stops_at(&self, host: Host) -> bool {
        let both_ways = self
            .app
            .datagrams()
            .is_some_and(|datagrams| datagrams.both_ways);
        self.source == host || both_ways || self.is_session()
    }

    /// Datagrams carry their sequence number and time, whatever the application.
    fn too_small(&self) -> Option<String> {
        let (size, least) = (self.app.datagrams()?.least, self.layout()?.least_size());
        (size < least).then(|| {
            format!(
                "datagrams of {size} have no room for a sequence number and a time; {least} is the least"
            )
        })
    }

    /// What is wrong with the plan, alone or beside the first plan of its group.
    fn contradiction(&self, first: &Self) -> Option<String> {
        let same_port = self.receiver == first.receiver && self.transport() == first.transport();
        if !same_port {
            Some("all flows of a group have one receiver address, port and transport".into())
        } else if self.opener() != first.opener() {
            Some("all flows of a group open their connections at one host".into())
        } else if self.congestion_control != first.congestion_control
            || self.datagram_ecn != first.datagram_ecn
        {
            Some("all flows of a group have one congestion control and one ECN field".into())
        } else if self.layout() != first.layout() {
            Some("all flows of a group have datagrams of one form".into())
        } else if self.sender.is_ipv4() != self.receiver.is_ipv4() {
            Some(format!(
                "{} and {} are not of one IP version",
                self.sender,
                self.receiver.ip()
            ))
        } else if self.receiver.port() == 0 {
            Some("port 0 identifies no group; choose a port".into())
        } else if self.stop.is_some_and(|stop| stop <= self.start) {
            Some(format!("flow {} stops before it starts", self.flow))
        } else if self.congestion_control.is_some() && !self.is_stream() {
            Some("datagrams have no congestion control; leave it out".into())
        } else {
            self.too_small()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_app::{Bulk, Cbr, Interval};
    use quell_units::Bytes;

    fn plan() -> FlowPlan {
        FlowPlan {
            group: 0,
            flow: 0,
            source: Host::Sender,
            sender: "10.0.0.1".parse().unwrap(),
            receiver: "10.0.0.2:5000".parse().unwrap(),
            app: Bulk::default().into(),
            congestion_control: Some([(); 2].map(|()| "cubic".into())),
            paced: false,
            datagram_ecn: Ecn::NotEct,
            start: Time::ZERO,
            stop: None,
            script: None,
            changes: Default::default(),
            random: Random::new(1, "plan"),
        }
    }

    fn check(plans: &[FlowPlan]) -> Result<(), TrafficError> {
        TrafficConfig::new(Time::from_secs(1), plans.to_vec()).check()
    }

    #[test]
    fn flows_of_a_group_share_a_port_and_groups_do_not() {
        let first = plan();
        assert!(check(&[first.clone(), FlowPlan { flow: 1, ..plan() }]).is_ok());
        let other_group = FlowPlan {
            group: 1,
            receiver: "10.0.0.2:5001".parse().unwrap(),
            ..plan()
        };
        assert!(check(&[first, other_group]).is_ok());
    }

    #[test]
    fn contradictions_are_refused_with_what_would_be_right() {
        let interval = Interval {
            mean: Time::from_millis(20),
            stddev: Time::ZERO,
        };
        let cbr = |size| {
            let size = Bytes::new(size);
            AppConfig::from(Cbr { size, interval })
        };
        let second = || FlowPlan { flow: 1, ..plan() };
        let cases = [
            (plan(), "planned twice"),
            (FlowPlan { group: 1, ..plan() }, "port of its own"),
            (
                FlowPlan {
                    receiver: "10.0.0.2:5001".parse().unwrap(),
                    ..second()
                },
                "one receiver address",
            ),
            (
                FlowPlan {
                    app: cbr(200),
                    ..second()
                },
                "transport",
            ),
            (
                FlowPlan {
                    congestion_control: None,
                    paced: false,
                    ..second()
                },
                "one congestion control",
            ),
            (
                FlowPlan {
                    sender: "::1".parse().unwrap(),
                    ..second()
                },
                "IP version",
            ),
            (
                FlowPlan {
                    stop: Some(Time::ZERO),
                    ..second()
                },
                "stops before",
            ),
            (
                FlowPlan {
                    group: 1,
                    app: cbr(200),
                    ..plan()
                },
                "leave it out",
            ),
            (
                FlowPlan {
                    group: 1,
                    app: cbr(43),
                    congestion_control: None,
                    paced: false,
                    ..plan()
                },
                "44B is the least",
            ),
        ];
        for (wrong, part) in cases {
            let error = check(&[plan(), wrong]).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let no_interval = TrafficConfig {
            interval: Time::ZERO,
            ..TrafficConfig::new(Time::ZERO, Vec::new())
        };
        assert!(matches!(no_interval.check(), Err(TrafficError::Interval)));
    }
}
