//! What to run, behind which link.

use std::path::PathBuf;
use std::time::Duration;

use quell_hosts::account::Account;
use quell_scenario::World;

use crate::attach::Attachment;
use crate::control::ControlSocket;
use crate::net::Net;
use crate::plan::Plan;
use crate::program::Found;
use crate::publish::Door;
use crate::relay::targets::Loopback;
use crate::watcher::Watcher;

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
    /// The value of `net.ipv4.tcp_ecn`.
    pub(crate) fn value(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::On => 1,
            Self::Accurate => 3,
        }
    }
}

/// A line, and who prints it.
pub type Announcement = (String, fn(&str));

/// What to run, behind which link.
#[derive(Debug)]
pub struct Config {
    /// The link.
    pub plan: Plan,
    /// What the link is in front of; `None` for a program of its own.
    pub attachment: Option<Attachment>,
    /// For when the link stands.
    pub announcement: Option<Announcement>,
    /// The program. With an attachment it runs on the host as it is, and may be none.
    pub program: Option<Found>,
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
    /// Ports of this host whose clients reach the program.
    pub doors: Vec<Door>,
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
