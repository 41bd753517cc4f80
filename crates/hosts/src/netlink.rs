//! Interfaces, addresses, routes and neighbours over a blocking route socket.
//!
//! From rtnetlink(7) and veth(4). One request, one acknowledgement; nothing is cached. A socket belongs to the namespace of
//! the thread that opened it and keeps working from any thread. Route metrics carry `features ecn` (RTAX_FEATURE_ECN,
//! include/uapi/linux/rtnetlink.h), the kernel's way to initiate ECN for one destination while `tcp_ecn` stays passive, and
//! `initcwnd` and `advmss` (ip-route(8)).

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::{Duration, Instant};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, State, XdpAttached,
};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::error::Doing as _;
use crate::namespace::Namespace;
use crate::{Error, Result};

/// What a group of flows needs of its route.
#[derive(Clone, Debug, Default)]
pub struct GroupConfig {
    /// Whether TCP of the sender and of the receiver host asks for ECN, and agrees to it where the host by itself does not. A congestion
    /// control that needs ECN (DCTCP) does in any case.
    pub ecn: [bool; 2],
    /// Initial window of both hosts, in segments; `None` for the kernel's (10).
    pub initial_window: Option<u32>,
    /// Maximum segment size that both hosts announce, in bytes; `None` for what fills a packet.
    pub mss: Option<u32>,
    /// Congestion control of connections of either host that choose none themselves; `None` for the kernel's default.
    pub control: [Option<String>; 2],
    /// Whether the sender and the receiver host acknowledge each segment at once.
    pub quick_ack: [bool; 2],
}

/// What TCP gets from the route of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteTcp<'a> {
    /// Its congestion control, also one that only an administrator may choose; `None` for the namespace's.
    pub control: Option<&'a str>,
    /// Whether it asks for ECN whatever the namespace's setting is.
    pub ecn: bool,
}

/// RTAX_FEATURE_ECN.
const FEATURE_ECN: u32 = 1;

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

/// An interface that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its index, in its namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// What somebody has written at it.
    pub alias: String,
    /// Whether it is up, and carries frames of Ethernet, as no loopback does.
    pub carries: bool,
    /// Whether an XDP program is at it.
    pub has_xdp: bool,
    /// The other end of a pair, where that is in another namespace: its index there, and the number of that namespace here.
    pub other_end: Option<(u32, i32)>,
}

/// All interfaces in the namespace of the calling thread.
pub fn devices() -> Result<Vec<Device>> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").doing(|| "list interfaces")?;
    let names = text.lines().filter_map(|line| line.split_once(':'));
    let device = |(name, _): (&str, &str)| Netlink::open()?.device(interface_index(name.trim())?);
    names.map(device).collect()
}

/// Runs `f` in a namespace with one end of a pair, called `wire`; both vanish again.
pub(crate) fn at_a_wire(f: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    let make = || Namespace::new().doing(|| "make a network namespace");
    let (here, there) = (make()?, make()?);
    let end = |name, last| VethEnd {
        name,
        mac: [0x02, 0x77, 0, 0, 2, last],
        mtu: 1500,
    };
    let try_it = || {
        Netlink::open()?.add_veth(&end("wire", 1), &end("peer", 2), &there)?;
        f()
    };
    here.run(try_it).doing(|| "enter a network namespace")?
}

/// A route socket of one namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a route socket in the namespace of the calling thread.
    pub fn open() -> Result<Self> {
        let open = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
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
        let mut peer = veth_end(there);
        peer.attributes
            .push(LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd()));
        let mut message = veth_end(here);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.request(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| format!("make the veth pair {} - {}", here.name, there.name))
    }

    /// Brings an interface up.
    pub fn set_up(&mut self, interface: u32) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = interface;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(message), 0)
            .doing(|| format!("bring interface {interface} up"))
    }

    /// Writes something at an interface, for whoever looks at it.
    pub fn set_alias(&mut self, interface: u32, alias: String) -> Result<()> {
        self.set_link(interface, LinkAttribute::IfAlias(alias))
            .doing(|| format!("write at interface {interface}"))
    }

    /// Gives an interface no IPv6 address of its own, so that it announces nothing when it comes up (`addrgenmode none`). A kernel without IPv6
    /// refuses, and an interface too small for IPv6 needs nothing.
    pub fn have_no_address(&mut self, interface: u32) {
        let none = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        let none = vec![AfSpecUnspec::Inet6(vec![none])];
        let _ = self.set_link(interface, LinkAttribute::AfSpecUnspec(none));
    }

    /// Limits how many segments TCP hands to an interface at once; 1 leaves no super-segments (IFLA_GSO_MAX_SEGS).
    pub fn set_largest_burst(&mut self, interface: u32, segments: u32) -> Result<()> {
        self.set_link(interface, LinkAttribute::GsoMaxSegs(segments))
            .doing(|| format!("limit the bursts of interface {interface} to {segments}"))
    }

    fn set_link(&mut self, interface: u32, attribute: LinkAttribute) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = interface;
        message.attributes = vec![attribute];
        self.request(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// The limit that [`Self::set_largest_burst`] has set, or the kernel's default.
    pub fn largest_burst(&mut self, interface: u32) -> Result<Option<u32>> {
        self.link_attribute(interface, |attribute| match attribute {
            LinkAttribute::GsoMaxSegs(segments) => Some(segments),
            _ => None,
        })
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
            if state == Some(State::Up) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::NotUp {
                    interface,
                    seconds: PATIENCE.as_secs(),
                    state: state.map_or_else(|| "unknown".to_owned(), |state| format!("{state:?}")),
                });
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn operational_state(&mut self, interface: u32) -> io::Result<Option<State>> {
        self.link_attribute(interface, |attribute| match attribute {
            LinkAttribute::OperState(state) => Some(state),
            _ => None,
        })
    }

    /// What `pick` finds among the attributes of an interface.
    fn link_attribute<T>(
        &mut self,
        interface: u32,
        pick: impl Fn(LinkAttribute) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let link = self.link(interface)?;
        Ok(link.attributes.into_iter().find_map(pick))
    }

    fn link(&mut self, interface: u32) -> io::Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.header.index = interface;
        self.send(RouteNetlinkMessage::GetLink(message), 0)?;
        match self.answer()? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The interface of this index.
    pub fn device(&mut self, interface: u32) -> Result<Device> {
        let link = self.link(interface);
        let link = link.doing(|| format!("look at interface {interface}"))?;
        let flags = link.header.flags;
        let mut device = Device {
            index: interface,
            carries: flags.contains(LinkFlags::Up)
                && link.header.link_layer_type == LinkLayerType::Ether,
            ..Device::default()
        };
        let (mut end, mut namespace, mut is_pair) = (None, None, false);
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => device.name = name,
                LinkAttribute::IfAlias(alias) => device.alias = alias,
                LinkAttribute::Mtu(mtu) => device.mtu = mtu,
                LinkAttribute::Link(index) => end = Some(index),
                LinkAttribute::Xdp(all) => {
                    let is_one = |one: &LinkXdp| matches!(one, LinkXdp::Attached(_));
                    let none = LinkXdp::Attached(XdpAttached::None);
                    device.has_xdp = all.iter().any(|one| is_one(one) && *one != none);
                }
                LinkAttribute::LinkNetNsId(number) => namespace = Some(number),
                // Others name the device that they are on.
                LinkAttribute::LinkInfo(all) => {
                    is_pair = all.contains(&LinkInfo::Kind(InfoKind::Veth))
                }
                _ => {}
            }
        }
        device.other_end = end.zip(namespace).filter(|_| is_pair);
        Ok(device)
    }

    /// The number by which this socket's namespace knows another one, if it does (`ip netns list-id`).
    pub fn number_of(&mut self, namespace: impl AsFd) -> Result<Option<i32>> {
        let mut message = NsidMessage::default();
        message.attributes = vec![NsidAttribute::Fd(namespace.as_fd().as_raw_fd() as u32)];
        let sent = self.send(RouteNetlinkMessage::GetNsId(message), 0);
        let answer = sent.and_then(|()| self.answer());
        let found = match answer.doing(|| "ask for the number of a network namespace")? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewNsId(found)) => found.attributes,
            _ => Vec::new(),
        };
        let number = found.into_iter().find_map(|attribute| match attribute {
            NsidAttribute::Id(number) => Some(number),
            _ => None,
        });
        // -1 is none.
        Ok(number.filter(|number| *number >= 0))
    }

    /// Gives an interface one address, alone in its prefix (/32, /128): it makes no route and no duplicate detection.
    pub fn add_address(&mut self, interface: u32, address: IpAddr) -> Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = bits(address);
        message.header.index = interface;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
            AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute),
        ];
        self.request(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| format!("add the address {address}"))
    }

    /// Routes one host straight to an interface, from a preferred source, with what TCP of the sender (0) or receiver host (1) needs.
    pub fn add_host_route(
        &mut self,
        interface: u32,
        to: IpAddr,
        source: IpAddr,
        group: &GroupConfig,
        host: usize,
    ) -> Result<()> {
        let mut extra = vec![RouteAttribute::PrefSource(source.into())];
        let metrics = [
            group.ecn[host].then_some(RouteMetric::Features(FEATURE_ECN)),
            group.initial_window.map(RouteMetric::InitCwnd),
            group.mss.map(RouteMetric::Advmss),
            group.control[host].clone().map(RouteMetric::CcAlgo),
            group.quick_ack[host].then_some(RouteMetric::QuickAck(1)),
        ];
        let metrics: Vec<_> = metrics.into_iter().flatten().collect();
        if !metrics.is_empty() {
            extra.push(RouteAttribute::Metrics(metrics));
        }
        self.add_route(interface, to, extra)
    }

    /// Routes one host straight to an interface, for a router, which has no address of its own.
    pub fn add_forwarding_route(&mut self, interface: u32, to: IpAddr) -> Result<()> {
        self.add_route(interface, to, Vec::new())
    }

    /// Routes everything else to `gateway`, a neighbour behind an interface, from a preferred source, with what TCP gets from the route.
    pub fn add_default_route(
        &mut self,
        interface: u32,
        gateway: IpAddr,
        source: IpAddr,
        tcp: RouteTcp<'_>,
    ) -> Result<()> {
        let mut message = unicast(gateway.is_ipv4(), RouteHeader::RT_TABLE_MAIN);
        message.header.scope = RouteScope::Universe;
        message.attributes = vec![
            RouteAttribute::Gateway(gateway.into()),
            RouteAttribute::Oif(interface),
            RouteAttribute::PrefSource(source.into()),
        ];
        message.attributes.extend(tcp.attribute());
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| match tcp.control {
            Some(control) => format!("use the congestion control {control}"),
            None => format!("route everything to {gateway}"),
        })
    }

    /// Routes one host straight to an interface, with what TCP gets from the route.
    pub fn add_controlled_route(
        &mut self,
        interface: u32,
        to: IpAddr,
        tcp: RouteTcp<'_>,
    ) -> Result<()> {
        self.add_route(interface, to, tcp.attribute().into_iter().collect())
    }

    /// Looks up in `table` what arrives by the interface of this name (`ip rule add iif NAME lookup TABLE`).
    pub(crate) fn look_up_arrivals(
        &mut self,
        interface: &str,
        table: u8,
        is_ipv4: bool,
    ) -> Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = family_of(is_ipv4);
        message.header.table = table;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![RuleAttribute::Iifname(interface.to_owned())];
        self.request(
            RouteNetlinkMessage::NewRule(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| format!("add a rule for what arrives by {interface}"))
    }

    /// Has `table` deliver every packet to this host, whatever its address (`ip route add local default dev lo table TABLE`).
    pub(crate) fn deliver_everything(
        &mut self,
        loopback: u32,
        table: u8,
        is_ipv4: bool,
    ) -> Result<()> {
        let mut message = unicast(is_ipv4, table);
        message.header.scope = RouteScope::Host;
        message.header.kind = RouteType::Local;
        message.attributes = vec![RouteAttribute::Oif(loopback)];
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| "deliver every packet here")
    }

    fn add_route(&mut self, interface: u32, to: IpAddr, extra: Vec<RouteAttribute>) -> Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to);
        message.header.destination_prefix_length = bits(to);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = if to.is_ipv4() {
            RouteScope::Link
        } else {
            RouteScope::Universe
        };
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(to.into()),
            RouteAttribute::Oif(interface),
        ];
        message.attributes.extend(extra);
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
        .doing(|| format!("add a route to {to}"))
    }

    /// Whether packets to `address` are delivered in this namespace: it is one of its own, and complete.
    pub(crate) fn is_delivered(&mut self, address: IpAddr) -> io::Result<bool> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(address);
        message.header.destination_prefix_length = bits(address);
        message.attributes = vec![RouteAttribute::Destination(address.into())];
        self.send(RouteNetlinkMessage::GetRoute(message), 0)?;
        match self.answer()? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                Ok(route.header.kind == RouteType::Local)
            }
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Enters a permanent neighbour, so that no first packet waits for ARP or neighbour discovery.
    pub fn add_neighbour(&mut self, interface: u32, address: IpAddr, mac: Mac) -> Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = interface;
        message.header.state = NeighbourState::Permanent;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            NeighbourAttribute::Destination(address.into()),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.request(
            RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
        .doing(|| format!("enter the neighbour {address}"))
    }

    /// Sends one request and waits for its acknowledgement.
    pub(crate) fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_ACK | flags)?;
        match self.answer()? {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// The answer to the last request; notices and answers to earlier requests are ignored.
    fn answer(&mut self) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
                .map_err(|_| io::ErrorKind::InvalidData)?;
            if answer.header.sequence_number == self.sequence {
                return Ok(answer.payload);
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

/// A route of that family in `table`, without destination: the default.
fn unicast(is_ipv4: bool, table: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family_of(is_ipv4);
    message.header.table = table;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    message
}

impl RouteTcp<'_> {
    fn attribute(self) -> Option<RouteAttribute> {
        let control = self.control.map(str::to_owned).map(RouteMetric::CcAlgo);
        let ecn = self.ecn.then_some(RouteMetric::Features(FEATURE_ECN));
        let metrics: Vec<_> = [ecn, control].into_iter().flatten().collect();
        (!metrics.is_empty()).then_some(RouteAttribute::Metrics(metrics))
    }
}

fn veth_end(end: &VethEnd<'_>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::Address(end.mac.to_vec()),
        LinkAttribute::Mtu(end.mtu),
    ];
    message
}

fn family(address: IpAddr) -> AddressFamily {
    family_of(address.is_ipv4())
}

fn family_of(is_ipv4: bool) -> AddressFamily {
    if is_ipv4 {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
