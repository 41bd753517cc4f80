//! The configuration of a link.

use std::net::Ipv4Addr;

use quell_aqm::departure_clock::Framing;
use quell_aqm::impair::{Impairer, Impairment};
use quell_aqm::marker::{Marker, Passage};
use quell_aqm::{Discipline, Link, Service, disciplines};
use quell_units::{Bytes, Random, Rate, Settings, Time};

use crate::frames::{Descriptor, FrameId, OnWire, Pool, Side, slot};
use crate::only::Only;
use crate::ports::BATCH;
use quell_measure::{Direction, Hop, Hops};

/// The queue of one direction.
#[derive(Debug)]
pub struct DirectionConfig {
    /// Rate at the start of the run.
    pub rate: Rate,
    /// Bytes that a packet occupies on the link beyond its IP length.
    pub framing: Framing,
    /// The trace or the medium that moves the link besides its rate.
    pub service: Service,
    /// What happens to packets behind the queue.
    pub impairer: Impairer,
    /// The discipline, empty.
    pub discipline: Discipline<Descriptor>,
    /// The marker in front of the queue, by group. Packets of a group that is missing here, or has
    /// `None`, keep the value that they arrived with.
    pub markers: Vec<Option<Marker>>,
    /// Gives packets new values behind the markers, where they come from networks that the link knows.
    pub passage: Option<Passage>,
    /// Whether packet values arrive and leave in the headers, at each of several links in a row.
    pub values: OnWire,
}

impl DirectionConfig {
    /// No bottleneck: packets of up to `mtu` bytes pass without delay. The default of the reverse direction.
    pub fn unlimited(mtu: u16) -> Self {
        let table = disciplines::find("fifo")
            .expect("there is a fifo")
            .parameters;
        let link = Link {
            rate: Rate::UNLIMITED,
            mtu: Bytes::new(u64::from(mtu)),
        };
        let discipline = Discipline::new(
            "fifo",
            Settings::new(table),
            link,
            Random::new(0, "unlimited"),
        );
        Self {
            rate: Rate::UNLIMITED,
            framing: Framing::default(),
            service: Service::default(),
            impairer: Impairer::new(None, 0, "unlimited"),
            discipline: discipline.expect("the defaults of fifo are valid"),
            markers: Vec::new(),
            passage: None,
            values: OnWire::default(),
        }
    }
}

/// A group of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupConfig {
    /// The port of its listeners. Every packet of the group has it: as the destination port towards their side, and as the source
    /// port from there.
    pub port: u16,
    /// The side of its listeners.
    pub listens: Side,
    /// Delay behind the queue in each direction: half of the base RTT. The delays of links in a row are a part of it.
    pub delay: Time,
    /// The links that its packets cross; `None` is all of them.
    pub path: Option<Hops>,
    /// Packets that arrive with ECT(0) and continue with ECT(1).
    pub ect1: Ect1,
    /// Its IPv4 addresses behind port A and behind port B, if these identify it and not its port; its payload is counted then.
    pub addresses: Option<[Ipv4Addr; 2]>,
}

/// Packets whose ECT(0) becomes ECT(1), because their sender is L4S and its TCP cannot say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ect1 {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Packets of TCP, in the forward and in the reverse direction if the flag of each is set.
    Tcp([bool; 2]),
}

impl Ect1 {
    /// Whether it is for a packet in this direction.
    pub(crate) fn is_for(self, direction: Direction, is_tcp: bool) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Tcp(directions) => is_tcp && directions[direction.index()],
        }
    }
}

/// One of several links in a row. It has no ports: packets come from the link before, or from a port where a group's path begins.
#[derive(Debug)]
pub struct NextLink {
    /// The direction from port A to port B.
    pub forward: DirectionConfig,
    /// The direction from port B to port A.
    pub reverse: DirectionConfig,
    /// The delay of a packet from here to the next link of its way, in either direction.
    pub delay: Time,
}

/// A change of a direction. It happens at its own logical time, whenever the thread wakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkChange {
    /// A new rate for transmissions that start from then on.
    SetRate {
        /// The link that changes.
        hop: Hop,
        /// The direction that changes.
        direction: Direction,
        /// The new rate.
        rate: Rate,
    },
    /// A parameter of the discipline.
    Configure {
        /// The link that changes.
        hop: Hop,
        /// The direction that changes.
        direction: Direction,
        /// The parameter's name.
        key: String,
        /// Its value in text, as in a scenario.
        value: String,
    },
    /// The impairment of packets that start their transmission from then on.
    Impair {
        /// The link that changes.
        hop: Hop,
        /// The direction that changes.
        direction: Direction,
        /// The new impairment.
        impairment: Impairment,
    },
    /// The delay of packets of a group that start their transmission from then on. What is in flight keeps its own, and the order is kept.
    SetDelay {
        /// The last link of the group's way in this direction.
        hop: Hop,
        /// The direction that changes.
        direction: Direction,
        /// The index of the group; `None` is all whose way ends there.
        group: Option<u16>,
        /// The delay behind that link: what those before it leave of the group's.
        delay: Time,
    },
}

impl LinkChange {
    /// The direction that changes.
    pub fn direction(&self) -> Direction {
        self.side().1
    }
    /// The link and the direction that change.
    pub fn side(&self) -> (Hop, Direction) {
        match self {
            Self::SetRate { hop, direction, .. }
            | Self::Configure { hop, direction, .. }
            | Self::Impair { hop, direction, .. }
            | Self::SetDelay { hop, direction, .. } => (*hop, *direction),
        }
    }
    /// The rate that a direction gets.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::SetRate { rate, .. } => Some(*rate),
            _ => None,
        }
    }
    /// The delay that a group gets.
    pub(crate) fn delay(&self) -> Option<Time> {
        match self {
            Self::SetDelay { delay, .. } => Some(*delay),
            _ => None,
        }
    }
    /// How much earlier than its delay a packet then is at most.
    pub(crate) fn most_early(&self) -> Time {
        match self {
            Self::Impair { impairment, .. } => impairment.most_early(),
            _ => Time::ZERO,
        }
    }
}

/// When the thread looks at its sockets, and whether the thread or the kernel waits for releases. The
/// fate of every packet is the same either way, because decisions are taken at logical times; only
/// the number of wake-ups and the lateness of releases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// The thread wakes as soon as a packet arrives, and for each release. Needed when a group has no delay.
    PerPacket,
    /// Once per interval while packets flow, half of the smallest one-way delay, at most
    /// [`Wakeup::LONGEST_LAZY`]; and for each release. A packet that arrives in between waits in the socket
    /// with its stamp, and no release of it can fall due before the next look. A packet without a
    /// group has no delay and may leave late by up to one interval. An idle link sleeps until
    /// something arrives.
    Lazy,
    /// Once per interval, and not for releases: each packet is handed to the kernel with the time of
    /// its release, and the interface's `fq` keeps it until then. The interval is half of the
    /// smallest one-way delay, or nearly all of it where the clock is exact
    /// ([`LinkConfig::exact_clock`]), as far as the sockets' buffers hold what arrives. Needs the
    /// queue discipline `fq` at the interfaces of both ports (`fq nopacing flow_limit 1000000 limit
    /// 1000000 timer_slack 0`), and a delay in every group.
    Ahead,
}

impl Wakeup {
    /// The longest interval between two lazy looks, so that the sockets' buffers hold what arrives.
    pub const LONGEST_LAZY: Time = Time::from_millis(1);
    /// Below this interval a look per interval gains nothing over waking per packet.
    pub const SHORTEST: Time = Time::from_micros(50);
}

/// A random time that each packet waits after its delay, without overtaking others of its group. It models the time
/// that hosts take before they look at a packet, where their own clock stands still meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noise {
    /// The longest such time of each group, forward and reverse, below 4 s; none for a group that is missing.
    pub spans: [Vec<Time>; 2],
    /// Seed of the random stream that it is drawn from.
    pub seed: u64,
}

/// A link between two ports.
#[derive(Debug)]
pub struct LinkConfig {
    /// Largest IP packet, in bytes. A longer frame is lost and counted, unless it is a super-packet of TCP whose segments
    /// are no longer.
    pub mtu: u16,
    /// The instant of CLOCK_MONOTONIC that all times count from; see [`monotonic`](crate::monotonic).
    pub epoch: Time,
    /// The direction from port A to port B.
    pub forward: DirectionConfig,
    /// The direction from port B to port A.
    pub reverse: DirectionConfig,
    /// The delay of a packet from here to the next link of its way, in either direction.
    pub delay: Time,
    /// Links behind this one, in forward direction.
    pub behind: Vec<NextLink>,
    /// Groups of flows; a packet's group is its index here.
    pub groups: Vec<GroupConfig>,
    /// The group of packets that no group's port names; `None` leaves them without a group.
    pub others: Option<u16>,
    /// Random times behind the delays.
    pub noise: Noise,
    /// Changes with their times, in any order.
    pub changes: Vec<(Time, LinkChange)>,
    /// The highest rate of a direction by [`Link::change`](crate::Link::change); zero if that is no faster than the planned rates.
    pub fastest: Rate,
    /// The packets that it is for, where it is not for all.
    pub only: Option<Only>,
    /// Whether super-packets of TCP carry only zeros, so that their payload need not be read.
    pub zeros: bool,
    /// Slots of the frame pool, at least [`LinkConfig::FEWEST_FRAMES`]: as many as the queues, the
    /// delay lines and a few batches hold. When all are in use, frames wait in the sockets.
    pub frames: u32,
    /// Buffer of each port's socket in bytes, as the kernel counts them (2 304 bytes for a full-sized packet).
    pub receive_buffer: Bytes,
    /// When to look at the sockets. `None` chooses [`Wakeup::Ahead`] with an `fq` at both ports and
    /// [`Wakeup::Lazy`] without, where the delays allow it.
    pub wakeup: Option<Wakeup>,
    /// Whether the clock stands still while anything runs, as in a machine with simulated time, and
    /// nobody sets the time of day. The thread then wakes exactly when it should, and needs almost no
    /// reserve.
    pub exact_clock: bool,
}

impl LinkConfig {
    /// The least number of slots: each port holds a batch, and as many frames again are in flight.
    pub const FEWEST_FRAMES: u32 = 4 * BATCH as u32;
    /// The smallest MTU, in bytes (RFC 791 section 3.2).
    pub const LEAST_MTU: u16 = 68;
    /// The most groups that a descriptor can number.
    pub const MOST_GROUPS: usize = u16::MAX as usize - 1;

    /// A link with these queues, an MTU of 1 500 bytes, no groups and no changes, whose time starts now.
    pub fn new(forward: DirectionConfig, reverse: DirectionConfig) -> Self {
        Self {
            mtu: 1_500,
            epoch: crate::time::monotonic(),
            forward,
            reverse,
            delay: Time::ZERO,
            behind: Vec::new(),
            groups: Vec::new(),
            others: None,
            noise: Noise::default(),
            changes: Vec::new(),
            fastest: Rate::ZERO,
            only: None,
            zeros: false,
            frames: 1 << 16,
            receive_buffer: Bytes::new(64 << 20),
            wakeup: None,
            exact_clock: false,
        }
    }

    /// The smallest delay that a packet of a group has at any time that is known; zero without groups.
    pub(crate) fn least_delay(&self) -> Time {
        let delays = self.groups.iter().map(|group| group.delay);
        let changed = self.changes.iter().filter_map(|(_, change)| change.delay());
        let least = delays.chain(changed).min().unwrap_or(Time::ZERO);
        let sides = [&self.forward, &self.reverse].map(|side| side.impairer.most_early());
        let planned = self.changes.iter().map(|(_, change)| change.most_early());
        least - planned.chain(sides).fold(Time::ZERO, Time::max)
    }

    /// The delay behind each link.
    pub(crate) fn delays(&self) -> impl Iterator<Item = Time> {
        let behind = self.behind.iter().map(|link| link.delay);
        std::iter::once(self.delay).chain(behind)
    }

    /// Memory of a pool of `frames` slots for packets of at most `mtu` bytes. The system gives it as packets come.
    pub fn pool_bytes(frames: u32, mtu: u16) -> Bytes {
        // A slot, its number in the list of free ones, and whether it is in use.
        let each = slot(usize::from(mtu)) + size_of::<FrameId>() + size_of::<bool>();
        Bytes::new(u64::from(frames) * each as u64)
    }

    /// Returns an error for a configuration that cannot work.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.frames < Self::FEWEST_FRAMES {
            return Err(ConfigError::Frames(self.frames));
        }
        if usize::from(self.mtu) > Pool::MAX_MTU || self.mtu < Self::LEAST_MTU {
            return Err(ConfigError::Mtu(self.mtu));
        }
        if self.groups.len() > Self::MOST_GROUPS {
            return Err(ConfigError::Groups(self.groups.len()));
        }
        if let Some(others) = self
            .others
            .filter(|&group| usize::from(group) >= self.groups.len())
        {
            return Err(ConfigError::NoSuchGroup(others));
        }
        for (index, group) in self.groups.iter().enumerate() {
            let mut others = self.groups[..index].iter();
            if others.any(|other| (other.port, other.listens) == (group.port, group.listens)) {
                return Err(ConfigError::SharedPort(group.port));
            }
        }
        let delays: Vec<Time> = self.delays().collect();
        for (_, change) in &self.changes {
            let hop = change.side().0.index();
            if hop >= delays.len() {
                return Err(ConfigError::NoSuchLink(hop));
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            let path = group.path.unwrap_or(Hops::all(delays.len()));
            let links = delays.get(path.first.index()..=path.last.index());
            let links = links.map(|links| links.iter().fold(Time::ZERO, |sum, link| sum + *link));
            if links.is_none_or(|links| links > group.delay) {
                return Err(ConfigError::Path(index));
            }
        }
        let delayed = !self.least_delay().is_zero();
        let rare = matches!(self.wakeup, Some(Wakeup::Lazy | Wakeup::Ahead));
        if rare && (self.groups.is_empty() || !delayed) {
            return Err(ConfigError::NoDelay);
        }
        Ok(())
    }
}

/// A fault in the configuration of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The pool has too few slots.
    #[error("{0} frames are too few: at least {least}", least = LinkConfig::FEWEST_FRAMES)]
    Frames(u32),
    /// No packet, or no slot, has this size.
    #[error("an MTU of {0} is not between {least} and {most}", least = LinkConfig::LEAST_MTU, most = Pool::MAX_MTU)]
    Mtu(u16),
    /// There are more groups than a descriptor can number.
    #[error("{0} groups are too many: at most {most}", most = LinkConfig::MOST_GROUPS)]
    Groups(usize),
    /// [`LinkConfig::others`] is no index of a group.
    #[error("there is no group {0} for all other packets")]
    NoSuchGroup(u16),
    /// Two groups have this port, on one side.
    #[error("port {0} stands for two groups")]
    SharedPort(u16),
    /// Fewer observers than directions of links.
    #[error("each direction of each link needs an observer")]
    Observers,
    /// A change of a link that is not there.
    #[error("a change of link {0}, which is not there")]
    NoSuchLink(usize),
    /// A group whose path has a link that is not there, or whose links delay more than it does.
    #[error(
        "group {0} crosses a link that is not there, or has less delay than the links of its path"
    )]
    Path(usize),
    /// [`Wakeup::Lazy`] or [`Wakeup::Ahead`] with a group without delay, or without
    /// groups.
    #[error("looking once per interval needs a delay in every group")]
    NoDelay,
    /// [`Wakeup::Ahead`] at an interface without `fq`.
    #[error("looking ahead needs the queue discipline fq at both ports")]
    NoFq,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(delays: &[Time]) -> LinkConfig {
        let mut config = LinkConfig::new(
            DirectionConfig::unlimited(1_500),
            DirectionConfig::unlimited(1_500),
        );
        let group = |(index, &delay): (usize, &Time)| GroupConfig {
            port: 5_000 + index as u16,
            delay,
            ..GroupConfig::default()
        };
        config.groups = delays.iter().enumerate().map(group).collect();
        config
    }

    #[test]
    fn refuses_what_cannot_work() {
        let delay = [Time::from_millis(1); 2];
        assert!(config(&delay).check().is_ok());
        let mut same_port = config(&delay);
        same_port.groups[1].port = same_port.groups[0].port;
        for (wrong, expected) in [
            (
                LinkConfig {
                    frames: 10,
                    ..config(&delay)
                },
                ConfigError::Frames(10),
            ),
            (
                LinkConfig {
                    mtu: u16::MAX,
                    ..config(&delay)
                },
                ConfigError::Mtu(u16::MAX),
            ),
            (
                LinkConfig {
                    wakeup: Some(Wakeup::Lazy),
                    ..config(&[])
                },
                ConfigError::NoDelay,
            ),
            (
                LinkConfig {
                    wakeup: Some(Wakeup::Ahead),
                    ..config(&[Time::ZERO])
                },
                ConfigError::NoDelay,
            ),
            (same_port, ConfigError::SharedPort(5_000)),
            (
                LinkConfig {
                    others: Some(2),
                    ..config(&delay)
                },
                ConfigError::NoSuchGroup(2),
            ),
        ] {
            assert_eq!(wrong.check(), Err(expected));
        }
    }
}
