//! Interfaces, addresses, routes and neighbours over a blocking route socket.
//!
//! From rtnetlink(7) and veth(4). One request, one acknowledgement; nothing is cached. A socket belongs to the namespace of
//! the thread that opened it and keeps working from any thread. Route metrics carry `features ecn` (RTAX_FEATURE_ECN,
//! include/uapi/linux/rtnetlink.h), the kernel's way to initiate ECN for one destination while `tcp_ecn` stays passive.

mod message;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use libc::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, c_int};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

pub(crate) use message::Request;
use message::{Answer, Content, attribute, number};

use crate::error::Doing as _;
use crate::{Error, Result};

/// RTAX_FEATURES and RTAX_FEATURE_ECN, include/uapi/linux/rtnetlink.h.
const RTAX_FEATURES: u16 = 12;
const FEATURE_ECN: u32 = 1;
/// include/uapi/linux/veth.h.
const VETH_INFO_PEER: u16 = 1;
/// IF_OPER_UP, include/uapi/linux/if.h.
const UP: u8 = 6;
/// Bytes of `struct ifinfomsg`.
const LINK: usize = 16;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// One end of a veth pair.
#[derive(Clone, Debug)]
pub struct VethEnd<'a> {
    /// Name of the interface, at most 15 bytes.
    pub name: &'a str,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
}

/// A route socket of one namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a route socket in the namespace of the calling thread.
    pub fn open() -> Result<Self> {
        let open = || {
            let flags = SocketFlags::CLOEXEC;
            let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
            let socket = rustix::net::socket_with(family, kind, flags, None)?;
            // To the kernel: nobody else can answer.
            rustix::net::connect(&socket, &SocketAddrNetlink::new(0, 0))?;
            io::Result::Ok(socket)
        };
        Ok(Self {
            socket: open().doing(|| "open a route socket")?,
            sequence: 0,
        })
    }

    /// Makes a veth pair: `here` in this socket's namespace, `there` in another one.
    pub fn add_veth(
        &mut self,
        here: &VethEnd<'_>,
        there: &VethEnd<'_>,
        namespace: impl AsFd,
    ) -> Result<()> {
        let namespace = namespace.as_fd().as_raw_fd().cast_unsigned();
        let peer = attributes(nothing(), there).with_number(libc::IFLA_NET_NS_FD, namespace);
        let data = nothing().with_all_of(VETH_INFO_PEER, &[0; LINK], &peer);
        let info = nothing().with_name(libc::IFLA_INFO_KIND, "veth");
        let info = info.with_all_of(libc::IFLA_INFO_DATA, &[], &data);
        let request = attributes(Request::new(libc::RTM_NEWLINK, &[0; LINK]), here).with_all_of(
            libc::IFLA_LINKINFO,
            &[],
            &info,
        );
        self.request(request, NLM_F_CREATE | NLM_F_EXCL)
            .doing(|| format!("make the veth pair {} - {}", here.name, there.name))
    }

    /// Brings an interface up.
    pub fn set_up(&mut self, interface: u32) -> Result<()> {
        let up = libc::IFF_UP.cast_unsigned();
        self.request(Request::new(libc::RTM_SETLINK, &link(interface, up)), 0)
            .doing(|| format!("bring interface {interface} up"))
    }

    /// Limits how many segments TCP hands to an interface at once; 1 leaves no super-segments (IFLA_GSO_MAX_SEGS).
    pub fn set_largest_burst(&mut self, interface: u32, segments: u32) -> Result<()> {
        let request = Request::new(libc::RTM_SETLINK, &link(interface, 0));
        self.request(request.with_number(libc::IFLA_GSO_MAX_SEGS, segments), 0)
            .doing(|| format!("limit the bursts of interface {interface} to {segments}"))
    }

    /// The limit that [`Self::set_largest_burst`] has set, or the kernel's default.
    pub fn largest_burst(&mut self, interface: u32) -> Result<Option<u32>> {
        self.link_attribute(interface, libc::IFLA_GSO_MAX_SEGS, |value| number(value, 0))
            .doing(|| format!("read the largest burst of interface {interface}"))
    }

    /// Waits until an interface that was brought up really sends.
    ///
    /// The end of a veth pair that came up first learns of its peer in the background; until then the kernel drops what it
    /// sends. A SYN lost there is retransmitted after a second, without ECN (RFC 3168 section 6.1.1.1): a group would not get
    /// the ECN that it asked for.
    pub fn wait_until_running(&mut self, interface: u32) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let began = Instant::now();
        loop {
            let state = self
                .operational_state(interface)
                .doing(|| format!("read the state of interface {interface}"))?;
            if state == Some(UP) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::NotUp {
                    interface,
                    seconds: PATIENCE.as_secs(),
                    state: state.map_or("unknown", name).to_owned(),
                });
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// One of IF_OPER_… (include/uapi/linux/if.h).
    fn operational_state(&mut self, interface: u32) -> io::Result<Option<u8>> {
        self.link_attribute(interface, libc::IFLA_OPERSTATE, |value| {
            value.first().copied()
        })
    }

    /// What `read` finds in an attribute of an interface.
    fn link_attribute<T>(
        &mut self,
        interface: u32,
        kind: u16,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        self.send(Request::new(libc::RTM_GETLINK, &link(interface, 0)), 0)?;
        match self.answer()? {
            Content::Message(libc::RTM_NEWLINK, link) => {
                let attributes = link.get(LINK..).unwrap_or_default();
                Ok(attribute(attributes, kind).and_then(read))
            }
            Content::Done(Err(error)) => Err(error),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Gives an interface one address, alone in its prefix (/32, /128): it makes no route and no duplicate detection.
    pub fn add_address(&mut self, interface: u32, address: IpAddr) -> Result<()> {
        // struct ifaddrmsg; the flags that do not fit into its byte are an attribute.
        let flags = libc::IFA_F_NODAD | libc::IFA_F_NOPREFIXROUTE;
        let [flag, ..] = libc::IFA_F_NODAD.to_le_bytes();
        let [a, b, c, d] = interface.to_ne_bytes();
        let fixed = [family(address), bits(address), flag, 0, a, b, c, d];
        let request = Request::new(libc::RTM_NEWADDR, &fixed)
            .with_address(libc::IFA_LOCAL, address)
            .with_address(libc::IFA_ADDRESS, address)
            .with_number(libc::IFA_FLAGS, flags);
        self.request(request, NLM_F_CREATE | NLM_F_EXCL)
            .doing(|| format!("add the address {address}"))
    }

    /// Routes one host straight to an interface, from a preferred source; with `ecn`, TCP to that host asks for ECN.
    pub fn add_host_route(
        &mut self,
        interface: u32,
        to: IpAddr,
        source: IpAddr,
        ecn: bool,
    ) -> Result<()> {
        let mut request = route(interface, to).with_address(libc::RTA_PREFSRC, source);
        if ecn {
            let metrics = nothing().with_number(RTAX_FEATURES, FEATURE_ECN);
            request = request.with_all_of(libc::RTA_METRICS, &[], &metrics);
        }
        self.add_route(to, request)
    }

    /// Routes one host straight to an interface, for a router, which has no address of its own.
    pub fn add_forwarding_route(&mut self, interface: u32, to: IpAddr) -> Result<()> {
        self.add_route(to, route(interface, to))
    }

    fn add_route(&mut self, to: IpAddr, request: Request) -> Result<()> {
        self.request(request, NLM_F_CREATE | NLM_F_EXCL)
            .doing(|| format!("add a route to {to}"))
    }

    /// Enters a permanent neighbour, so that no first packet waits for ARP or neighbour discovery.
    pub fn add_neighbour(&mut self, interface: u32, address: IpAddr, mac: Mac) -> Result<()> {
        // struct ndmsg
        let [a, b, c, d] = interface.to_ne_bytes();
        let [state, more] = libc::NUD_PERMANENT.to_ne_bytes();
        let family = family(address);
        let fixed = [
            family,
            0,
            0,
            0,
            a,
            b,
            c,
            d,
            state,
            more,
            0,
            libc::RTN_UNICAST,
        ];
        let request = Request::new(libc::RTM_NEWNEIGH, &fixed)
            .with_address(libc::NDA_DST, address)
            .with(libc::NDA_LLADDR, &mac);
        self.request(request, NLM_F_CREATE | NLM_F_REPLACE)
            .doing(|| format!("enter the neighbour {address}"))
    }

    /// Sends one request and waits for its acknowledgement.
    pub(crate) fn request(&mut self, request: Request, flags: c_int) -> io::Result<()> {
        self.send(request, NLM_F_ACK | flags)?;
        match self.answer()? {
            Content::Done(done) => done,
            Content::Message(..) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn send(&mut self, request: Request, flags: c_int) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = request.finish(NLM_F_REQUEST | flags, self.sequence);
        rustix::net::send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// The answer to the last request; notices and answers to earlier requests are ignored.
    fn answer(&mut self) -> io::Result<Content> {
        loop {
            let look = RecvFlags::PEEK | RecvFlags::TRUNC;
            let (_, length) = rustix::net::recv(&self.socket, &mut [0_u8; 0], look)?;
            let mut bytes = vec![0; length];
            rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::empty())?;
            let answer = Answer::read(&bytes)?;
            if answer.sequence == self.sequence {
                return Ok(answer.content);
            }
        }
    }
}

/// Index of an interface in the namespace of the calling thread.
pub fn interface_index(name: &str) -> Result<u32> {
    let index = || {
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::DGRAM,
            None,
        )?;
        rustix::net::netdevice::name_to_index(&socket, name)
    };
    index().doing(|| format!("find the interface {name}"))
}

/// Adds name, Ethernet address and MTU.
fn attributes(request: Request, end: &VethEnd<'_>) -> Request {
    request
        .with_name(libc::IFLA_IFNAME, end.name)
        .with(libc::IFLA_ADDRESS, &end.mac)
        .with_number(libc::IFLA_MTU, end.mtu)
}

/// Attributes that will be inside of others.
fn nothing() -> Request {
    Request::new(0, &[])
}

/// `struct ifinfomsg` of an interface whose `flags` are to be set.
fn link(interface: u32, flags: u32) -> [u8; LINK] {
    let mut bytes = [0; LINK];
    bytes[4..8].copy_from_slice(&interface.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// A route to one host through an interface.
fn route(interface: u32, to: IpAddr) -> Request {
    let scope = if to.is_ipv4() {
        libc::RT_SCOPE_LINK
    } else {
        libc::RT_SCOPE_UNIVERSE
    };
    let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
    // struct rtmsg
    let mut fixed = [0; 12];
    fixed[..2].copy_from_slice(&[family(to), bits(to)]);
    fixed[4..8].copy_from_slice(&[table, protocol, scope, libc::RTN_UNICAST]);
    Request::new(libc::RTM_NEWROUTE, &fixed)
        .with_address(libc::RTA_DST, to)
        .with_number(libc::RTA_OIF, interface)
}

/// The name of an operational state (RFC 2863), in the order of include/uapi/linux/if.h.
fn name(state: u8) -> &'static str {
    const NAMES: [&str; 7] = [
        "unknown",
        "not present",
        "down",
        "lower layer down",
        "testing",
        "dormant",
        "up",
    ];
    NAMES.get(usize::from(state)).copied().unwrap_or("unknown")
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    u8::try_from(family).expect("address families have a byte here")
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
