//! The configuration of a simulation.

use std::fmt;

use quell_app::{App, AppChanges, AppConfig, Role};
use quell_aqm::departure_clock::Framing;
use quell_aqm::impair::{Impairer, Impairment};
use quell_aqm::marker::{Marker, Passage};
use quell_aqm::{Discipline, Service};
use quell_measure::{Direction, GroupId, Hop, Hops};
use quell_tcp::{ReceiverConfig, SenderConfig};
use quell_units::{Ecn, ParameterError, Random, Rate, Time};

use crate::packet::Packet;

/// A simulation.
#[derive(Debug)]
pub struct Config {
    /// The links in a row, from the sender of a [`Direction::Forward`] flow to its receiver; at least one.
    pub links: Vec<LinkConfig>,
    /// The one-way delay of each group, by [`GroupId`]: half of its base RTT in each direction. The delay of the links is
    /// a part of it, and the rest lies behind the last queue.
    pub delays: Vec<Time>,
    /// The links that each group crosses, by [`GroupId`]; a group that is missing crosses all.
    pub paths: Vec<Hops>,
    /// Random delays that keep flows out of step.
    pub jitter: Jitter,
    /// Flows, in the order of their ids.
    pub flows: Vec<FlowConfig>,
    /// Timed changes, in the order of time.
    pub changes: Vec<(Time, LinkChange)>,
}

/// A random time that hosts take before they look at a packet that has arrived.
///
/// Without it, segments of equal size and constant delays fall into the same rhythm whenever flows
/// start (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992), and runs
/// with different seeds repeat each other. Packets that share a wire keep their order.
#[derive(Debug, Clone, Default)]
pub struct Jitter {
    /// The longest such time of packets in forward and in reverse direction, by [`GroupId`]. Times are
    /// drawn uniformly from zero to it. A group that is missing has none.
    pub spans: [Vec<Time>; 2],
    /// Seed of the draws.
    pub seed: u64,
}

/// A link.
#[derive(Debug)]
pub struct LinkConfig {
    /// The direction from the sender of a [`Direction::Forward`] flow to its receiver.
    pub forward: DirectionConfig,
    /// The opposite direction.
    pub reverse: DirectionConfig,
    /// The time that packets take from here to the next link of their way, in either direction.
    pub delay: Time,
}

impl LinkConfig {
    /// A link without a delay of its own.
    pub const fn new(forward: DirectionConfig, reverse: DirectionConfig) -> Self {
        Self {
            forward,
            reverse,
            delay: Time::ZERO,
        }
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct DirectionConfig {
    /// Rate at the start.
    pub rate: Rate,
    /// Bytes that a packet occupies on the link.
    pub framing: Framing,
    /// The trace or the medium that moves the link besides its rate.
    pub service: Service,
    /// What happens to packets behind the queue.
    pub impairer: Impairer,
    /// Markers that give packets their values in front of the queue, by [`GroupId`]. Packets of a
    /// group without a marker are unmarked.
    pub markers: Vec<Option<Marker>>,
    /// Gives packets new values behind the markers, where they come from networks that the link knows.
    pub passage: Option<Passage>,
    /// Queue discipline.
    pub discipline: Discipline<Packet>,
}

/// One flow.
#[derive(Debug, Clone)]
pub struct FlowConfig {
    /// Group of the flow.
    pub group: GroupId,
    /// Direction of its data.
    pub direction: Direction,
    /// Its application.
    pub app: AppConfig,
    /// Changes of the application during the run.
    pub changes: AppChanges,
    /// Random stream of its application.
    pub random: Random,
    /// Transport of its data; must fit the application.
    pub transport: TransportConfig,
    /// Rate of the sender's own link, in front of the bottleneck; not zero.
    pub access: Rate,
    /// Start.
    pub start: Time,
    /// Time at which its sender stops; `None` for never.
    pub stop: Option<Time>,
}

impl FlowConfig {
    /// An end of its application.
    pub(crate) fn end(&self, role: Role) -> App {
        let random = self.random.clone();
        self.app.end_with(&self.changes, role, random)
    }
}

/// The transport of a flow's data.
#[derive(Debug, Clone)]
pub enum TransportConfig {
    /// TCP.
    Stream(Box<(SenderConfig, ReceiverConfig)>),
    /// TCP connections of a session: how they are set up at the host of the sender and at that of the
    /// receiver.
    Session(Box<[(SenderConfig, ReceiverConfig); 2]>),
    /// UDP, with this ECN field.
    Datagrams(Ecn),
}

/// A change during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkChange {
    /// The rate of a direction.
    Rate {
        /// The link.
        hop: Hop,
        /// The direction.
        direction: Direction,
        /// Its new rate.
        rate: Rate,
    },
    /// A parameter of a queue.
    Queue {
        /// The link.
        hop: Hop,
        /// Direction of the queue.
        direction: Direction,
        /// Name of the parameter.
        key: String,
        /// Its new value, as text.
        value: String,
    },
    /// The impairment of packets that start their transmission from then on.
    Impair {
        /// The link.
        hop: Hop,
        /// The direction.
        direction: Direction,
        /// Its new impairment.
        impairment: Box<Impairment>,
    },
    /// The delay of packets of a group that start their transmission from then on. What is in flight keeps its own, and the order is kept.
    Delay {
        /// The last link of the group's way in this direction.
        hop: Hop,
        /// The direction.
        direction: Direction,
        /// The group.
        group: GroupId,
        /// Its new delay behind that link: what those before it leave of the group's.
        delay: Time,
    },
}

impl LinkChange {
    /// The link and the direction that change.
    pub const fn side(&self) -> (Hop, Direction) {
        match self {
            Self::Rate { hop, direction, .. }
            | Self::Queue { hop, direction, .. }
            | Self::Impair { hop, direction, .. }
            | Self::Delay { hop, direction, .. } => (*hop, *direction),
        }
    }
}

/// Why a simulation cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// More different delays than the engine has sources for.
    TooManyDelays,
    /// A flow of a group without a delay.
    NoSuchGroup(GroupId),
    /// A flow whose application needs the other transport.
    WrongTransport(GroupId),
    /// A flow whose own link has a rate of zero.
    NoAccess(GroupId),
    /// More flows or groups than there are ids.
    TooManyFlows,
    /// No link, or more than 64.
    Links,
    /// A group whose path has a link that is not there, or less delay than the links of its path.
    Path(GroupId),
    /// A queue refused a change.
    Change(ParameterError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyDelays => f.write_str("more than 500 different base RTTs"),
            Self::NoSuchGroup(group) => write!(f, "group {} has no base RTT", group.0),
            Self::WrongTransport(group) => {
                write!(
                    f,
                    "the application of group {} needs another transport",
                    group.0
                )
            }
            Self::NoAccess(group) => write!(f, "group {} has an access rate of zero", group.0),
            Self::Links => f.write_str("no link, or more than 64"),
            Self::Path(group) => write!(
                f,
                "group {} crosses a link that is not there, or its base RTT is shorter than the delays of its links",
                group.0
            ),
            Self::TooManyFlows => f.write_str("more than 2^30 flows, or 2^16 groups"),
            Self::Change(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
