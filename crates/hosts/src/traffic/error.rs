//! Why traffic cannot start, and why a single flow failed.

use std::io;
use std::net::{IpAddr, SocketAddr};

use quell_units::{Bytes, Time};

use super::endpoint::Host;

/// Error of the caller's step into a host's namespace.
pub type EnterError = Box<dyn std::error::Error + Send + Sync>;

/// Why traffic could not be started, or failed as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The plans contradict themselves or each other.
    #[error("group {group}: {why}")]
    Plan {
        /// Index of the group.
        group: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The sampling interval is zero.
    #[error("the sampling interval must be longer than 0s")]
    Interval,
    /// The caller's step into a host's namespace failed.
    #[error("cannot enter the {host}: {source}")]
    Enter {
        /// The host.
        host: Host,
        /// The caller's error.
        source: EnterError,
    },
    /// A group's port is taken.
    #[error(
        "group {group}: {at} is in use on the {host}; give the group another port, or stop the program that listens there"
    )]
    PortInUse {
        /// Index of the group.
        group: usize,
        /// The host that the port is on.
        host: Host,
        /// Address and port.
        at: SocketAddr,
    },
    /// A host does not have the address that a plan gives it.
    #[error("group {group}: the {host} has no address {address}; add it to one of its interfaces")]
    NoSuchAddress {
        /// Index of the group.
        group: usize,
        /// The host.
        host: Host,
        /// The address.
        address: IpAddr,
    },
    /// This kernel has no such congestion control.
    #[error("group {group}: this kernel has no congestion control {name}")]
    NoSuchControl {
        /// Index of the group.
        group: usize,
        /// Name of the control.
        name: String,
    },
    /// The control is there, but not for this process.
    #[error(
        "group {group}: congestion control {name} is restricted; run as root, or add it to net.ipv4.tcp_allowed_congestion_control"
    )]
    ControlRestricted {
        /// Index of the group.
        group: usize,
        /// Name of the control.
        name: String,
    },
    /// More sockets than this process may open.
    #[error(
        "the flows need {needed} open files and this process may have {limit}; raise the limit (ulimit -Hn {needed}) or have fewer flows"
    )]
    TooManyFlows {
        /// Open files that the plans need.
        needed: u64,
        /// The most that this process may have.
        limit: u64,
    },
    /// The kernel refused something else.
    #[error("{host}: cannot {doing}: {source}")]
    System {
        /// The host.
        host: Host,
        /// What was asked, as the end of "cannot …".
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A host's thread panicked: a bug, in an application, in the caller's sampling or here.
    #[error("the thread of the {0} panicked")]
    Panicked(Host),
}

/// Why one flow failed; the other flows go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowFailure {
    /// No answer to the connection requests.
    #[error("no connection within {within}; is the link up, in both directions?")]
    NotConnected {
        /// For how long it was tried.
        within: Time,
    },
    /// The connection request was refused.
    #[error("{at} refuses the connection: nothing listens there, or a firewall rejects it")]
    Refused {
        /// Address and port of the host that accepts connections.
        at: SocketAddr,
    },
    /// The connection died during the run.
    #[error("the connection died at {at}: {source}")]
    Died {
        /// Time of the run at which it died.
        at: Time,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A connection of a session would need more open files than this process may have.
    #[error("this process may not have more open files; raise the limit (ulimit -Hn)")]
    NoFiles,
    /// What arrived on a connection that carries messages is none.
    #[error("what arrived on connection {connection} is no message")]
    NoMessage {
        /// Number of the connection.
        connection: u32,
    },
    /// A datagram without room for its sequence number and time.
    #[error(
        "a datagram of {size} is too small for its headers, sequence number and time: {least} is the least"
    )]
    DatagramTooSmall {
        /// IP length asked for.
        size: Bytes,
        /// The smallest IP length.
        least: Bytes,
    },
    /// A datagram above the path's MTU; it would reach the link in fragments.
    #[error("a datagram of {size} does not fit the MTU of the path; make it smaller")]
    DatagramTooLarge {
        /// IP length asked for.
        size: Bytes,
    },
    /// The application asked a stream for datagrams, or datagrams for a stream.
    #[error("the application asks for a send that its transport does not have")]
    WrongTransport,
    /// The kernel refused something else.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked, as the end of "cannot …".
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Names what was asked when a flow's system call failed.
pub(super) fn doing<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> FlowFailure {
    move |source| FlowFailure::System {
        doing,
        source: source.into(),
    }
}
