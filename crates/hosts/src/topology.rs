//! Sender — link — receiver: two hosts, and between them a place for a bottleneck.
//!
//! ```text
//!  namespace sender      namespace link                    namespace receiver
//!  [ host ]─────veth─────[ to-sender ]  (link)  [ to-receiver ]─────veth─────[ host ]
//! ```
//!
//! Both hosts are on one IP network and talk Ethernet to each other, as if joined by a cable; the cable is whatever carries
//! frames between the two ports of the link. Each group of flows has its own pair of addresses, so that the link tells groups
//! apart by address alone and each pair has a route of its own, with or without ECN. Addresses are single (/32, /128) and
//! routes and neighbours are entered for good: nothing is learned, nothing expires, ARP and neighbour discovery work but are
//! not needed. The network numbers (10.77.0.0/16, fd77::/64) exist only inside.
//!
//! With [`TopologyConfig::kernel_queue`] a fourth namespace stands between the link and the receiver: a router, whose port
//! to the receiver has this kernel's own queue. Hosts do not notice it: towards each of them it has the Ethernet address of
//! the other. A queue on a hop of its own drops as a network does; on the sender's port TCP would see each drop at once.
//!
//! ```text
//!  (link)  [ to-receiver ]─────veth─────[ from-link  router  out: htb + the queue ]─────veth─────[ host ]
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Doing as _, KernelQueueError};
use crate::kernel_queue::{self, Counters, KernelQueue};
use crate::namespace::Namespace;
pub use crate::netlink::GroupConfig;
use crate::netlink::{Mac, Netlink, VethEnd, interface_index};
use crate::sysctl::ReadOnly;
use crate::{Error, Result, offload, ready, sysctl};

const HOST_PORT: &str = "host";
const TO_SENDER: &str = "to-sender";
const TO_RECEIVER: &str = "to-receiver";
/// Both ports of the link.
const LINK_PORTS: [&str; 2] = [TO_SENDER, TO_RECEIVER];
const FROM_LINK: &str = "from-link";
const OUT: &str = "out";

// Locally administered addresses (bit 1 of the first byte).
const SENDER_MAC: Mac = [0x02, 0x77, 0, 0, 0, 0x01];
const RECEIVER_MAC: Mac = [0x02, 0x77, 0, 0, 0, 0x02];
const TO_SENDER_MAC: Mac = [0x02, 0x77, 0, 0, 0, 0x11];
const TO_RECEIVER_MAC: Mac = [0x02, 0x77, 0, 0, 0, 0x12];

/// Smallest MTU that IPv6 allows (RFC 8200 section 5), and the one of IPv4 hosts (RFC 791: 576 is to be expected).
const MIN_MTU_IPV6: u32 = 1280;
const MIN_MTU_IPV4: u32 = 576;
/// veth carries frames up to 65 535 bytes.
const MAX_MTU: u32 = 65_535 - 14;

/// Half of the /16 belongs to the sender; 250 addresses are used of each /24.
const MAX_GROUPS: usize = 128 * GROUPS_PER_NET;
const GROUPS_PER_NET: usize = 250;

/// What to build.
#[derive(Clone, Debug)]
pub struct TopologyConfig {
    /// Largest IP packet on both wires, in bytes; at least 576, with IPv6 1280.
    pub mtu: u32,
    /// One entry per group of flows, at most 32 000.
    pub groups: Vec<GroupConfig>,
    /// Largest window that a flow shall reach, in bytes: sizes the socket buffers.
    pub max_window: u64,
    /// IPv6 addresses beside those of IPv4.
    pub ipv6: bool,
    /// Whether all TCP of both hosts asks for AccECN, which no kernel before Linux 7.0 lets one connection do alone.
    pub accurate_ecn: bool,
    /// Whether TCP of the sender and of the receiver host takes part in ECN only where a group says so, not wherever it is asked.
    pub refuses_ecn: [bool; 2],
    /// Whether TCP of the sender and of the receiver host builds super-segments. The kernel or the link splits them before a
    /// queue sees them; what is left of them are bursts.
    pub gso: [bool; 2],
    /// Offloads that stay on at every interface, because what carries frames between the link's ports takes them.
    pub offloads: &'static [&'static str],
    /// A queue of this kernel behind the link, on the way to the receiver; IPv4 only.
    pub kernel_queue: Option<KernelQueue>,
}

impl Default for TopologyConfig {
    /// Ethernet packets, one group without ECN, windows up to 16 MiB, IPv4 only, super-segments as Linux has them, no offloads.
    fn default() -> Self {
        Self {
            mtu: 1500,
            groups: vec![GroupConfig::default()],
            max_window: 16 << 20,
            ipv6: false,
            accurate_ecn: false,
            refuses_ecn: [false; 2],
            gso: [true; 2],
            offloads: &[],
            kernel_queue: None,
        }
    }
}

/// The addresses of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupAddresses {
    /// IPv4 address of the sender.
    pub sender: Ipv4Addr,
    /// IPv4 address of the receiver.
    pub receiver: Ipv4Addr,
    /// IPv6 address of the sender, in use when the topology has IPv6.
    pub sender_v6: Ipv6Addr,
    /// IPv6 address of the receiver.
    pub receiver_v6: Ipv6Addr,
}

impl GroupAddresses {
    /// The addresses of group number `group`, from 0.
    pub fn of(group: usize) -> Self {
        let (net, host) = (group / GROUPS_PER_NET % 128, group % GROUPS_PER_NET + 1);
        // Both fit: net < 128, host <= 250, and a group number is below MAX_GROUPS < 2^16.
        let (net, host, number) = (net as u8, host as u8, (group % MAX_GROUPS) as u16 + 1);
        Self {
            sender: Ipv4Addr::new(10, 77, net, host),
            receiver: Ipv4Addr::new(10, 77, 128 + net, host),
            sender_v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 1, number),
            receiver_v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 2, number),
        }
    }
}

/// A port of the link: one end of a veth pair, inside the namespace `link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name of the interface.
    pub name: &'static str,
    /// Its index in the namespace `link`.
    pub index: u32,
}

impl Port {
    fn of(link: &Namespace, name: &'static str) -> Result<Self> {
        let index = link.run(|| interface_index(name));
        let index = index.doing(|| "enter a network namespace")??;
        Ok(Self { name, index })
    }
}

/// Three namespaces joined by two veth pairs, or four by three; gone when this value, or the process, is gone.
#[derive(Debug)]
pub struct Topology {
    /// Where flows begin.
    pub sender: Namespace,
    /// Where the link's two ports are.
    pub link: Namespace,
    /// Where flows end.
    pub receiver: Namespace,
    /// Where the queue of this kernel is, if there is one.
    pub router: Option<Namespace>,
    /// The port that frames of the sender come in by.
    pub to_sender: Port,
    /// The port that leads to the receiver.
    pub to_receiver: Port,
    /// Whether both ports have the queue discipline `fq`, so that the kernel keeps frames until the times that the link
    /// gives them; not every kernel has it.
    pub fq: bool,
    /// One pair of addresses per group.
    pub groups: Vec<GroupAddresses>,
    /// Largest IP packet on both wires, in bytes.
    pub mtu: u32,
    /// What both hosts do without, because settings cannot be written.
    pub without: ReadOnly,
    /// Of the kernel's queue.
    counters: Option<Counters>,
}

impl Topology {
    /// Ethernet address of the sender.
    pub const SENDER_MAC: Mac = SENDER_MAC;
    /// Ethernet address of the receiver.
    pub const RECEIVER_MAC: Mac = RECEIVER_MAC;
    /// Name of a host's interface, in the namespaces `sender` and `receiver`.
    pub const HOST_PORT: &'static str = HOST_PORT;

    /// Builds everything: namespaces, wires, addresses, routes, settings; what is sent
    /// from now on crosses the wires.
    ///
    /// Needs CAP_SYS_ADMIN and CAP_NET_ADMIN, as root or in a user namespace ([`crate::user_namespace::enter`]).
    pub fn new(config: &TopologyConfig) -> Result<Self> {
        check(config)?;
        let groups: Vec<_> = (0..config.groups.len()).map(GroupAddresses::of).collect();
        let [sender, link, receiver] = [new_namespace()?, new_namespace()?, new_namespace()?];

        // Before any interface exists, so that none of them announces itself.
        let of_link = link.run(sysctl::prepare_link);
        let of_link = of_link.doing(|| "enter a network namespace")??;
        let router = config.kernel_queue.is_some().then(new_namespace);
        let router = router.transpose()?;
        if let Some(router) = &router {
            inside(router, &|| {
                let without = sysctl::prepare_router()?;
                add_wire(&FROM_LINK_TO_LINK, config, &link, without)
            })?;
        }
        let (behind, receiver_wire) = match &router {
            Some(router) => (router, &RECEIVER_TO_ROUTER),
            None => (&link, &RECEIVER_TO_LINK),
        };
        let mut without = ReadOnly::default();
        let hosts = [
            (&sender, &SENDER_TO_LINK, &link),
            (&receiver, receiver_wire, behind),
        ];
        for (index, (host, wire, there)) in hosts.into_iter().enumerate() {
            let prepared = host.run(|| prepare_host(config, index, wire, there));
            without = without.and(prepared.doing(|| "enter a network namespace")??);
        }
        inside(&link, &|| {
            let mut ports = LINK_PORTS.iter();
            ports.try_for_each(|port| bring_up(port, config.offloads, of_link))
        })?;
        let fq = inside(&link, &add_fq).is_ok();
        let from_receiver = |group: &GroupAddresses| pairs_from_sender(group).map(swap);
        let ours = |group: usize| pairs_from_sender(&groups[group]);
        let theirs = |group: usize| from_receiver(&groups[group]);
        inside(&sender, &|| add_pairs(config, 0, RECEIVER_MAC, ours))?;
        inside(&receiver, &|| add_pairs(config, 1, SENDER_MAC, theirs))?;
        if let Some(router) = &router {
            inside(router, &|| route(&groups, of_link))?;
        }

        let hosts = [(&sender, &[HOST_PORT][..]), (&receiver, &[HOST_PORT])];
        let ports = (&link, &LINK_PORTS[..]);
        let of_router = router
            .as_ref()
            .map(|router| (router, &[FROM_LINK, OUT][..]));
        for (namespace, ports) in hosts.into_iter().chain([ports]).chain(of_router) {
            inside(namespace, &|| wait_until_running(ports))?;
        }
        inside(&sender, &|| {
            wait_for_pairs(config, &groups, pairs_from_sender)
        })?;
        inside(&receiver, &|| {
            wait_for_pairs(config, &groups, from_receiver)
        })?;

        if let (Some(router), Some(queue)) = (&router, &config.kernel_queue) {
            inside(router, &|| kernel_queue::attach(queue, OUT))?;
        }

        let counters = router.as_ref().map(|router| Counters::start(router, OUT));
        let counters = counters.transpose()?;
        let (to_sender, to_receiver) = (Port::of(&link, TO_SENDER)?, Port::of(&link, TO_RECEIVER)?);
        Ok(Self {
            sender,
            link,
            receiver,
            router,
            to_sender,
            to_receiver,
            fq,
            groups,
            mtu: config.mtu,
            without,
            counters,
        })
    }

    /// What the kernel's queue has counted so far; `None` where there is none.
    pub fn kernel_queue_statistics(&self) -> Result<Option<kernel_queue::Statistics>> {
        self.counters.as_ref().map(Counters::read).transpose()
    }
}

/// Runs `f` inside of a namespace.
fn inside(namespace: &Namespace, f: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    namespace.run(f).doing(|| "enter a network namespace")?
}

/// Prepares the sender (0) or receiver host (1) in this namespace, with the wire to `there`. What it does without.
fn prepare_host(
    config: &TopologyConfig,
    host: usize,
    wire: &Wire,
    there: &Namespace,
) -> Result<ReadOnly> {
    let without = sysctl::prepare_host(config.max_window, config.ipv6)?;
    if config.accurate_ecn {
        sysctl::request_accurate_ecn()?;
    }
    if config.refuses_ecn[host] {
        sysctl::refuse_ecn()?;
    }
    add_wire(wire, config, there, without)?;
    if !config.gso[host] {
        // A connection learns the limit from its route, so before there is one.
        Netlink::open()?.set_largest_burst(interface_index(HOST_PORT)?, 1)?;
    }
    Ok(without)
}

/// Gives the link's ports, in this namespace, the queue discipline fq. A kernel that has no fq, or not this one's options, refuses; the link
/// then waits for releases itself.
fn add_fq() -> Result<()> {
    let mut netlink = Netlink::open()?;
    LINK_PORTS
        .iter()
        .try_for_each(|port| netlink.add_fq(interface_index(port)?))
}

/// Waits until these interfaces of this namespace carry frames.
fn wait_until_running(ports: &[&str]) -> Result<()> {
    ports
        .iter()
        .try_for_each(|port| Netlink::open()?.wait_until_running(interface_index(port)?))
}

/// Waits until the pairs of all groups, as the host in this namespace has them, reach each other.
fn wait_for_pairs(
    config: &TopologyConfig,
    groups: &[GroupAddresses],
    pairs: impl Fn(&GroupAddresses) -> [Pair; 2],
) -> Result<()> {
    let families = if config.ipv6 { 2 } else { 1 };
    let pairs = || {
        let each = groups.iter().map(&pairs);
        each.flat_map(|pairs| pairs.into_iter().take(families))
    };
    ready::wait_until_delivered(pairs().map(|(own, _)| own))?;
    ready::wait_until_reachable(pairs().map(|(_, remote)| remote))
}

/// The local and the remote address of a pair.
type Pair = (IpAddr, IpAddr);

fn check(config: &TopologyConfig) -> Result<()> {
    let smallest = if config.ipv6 {
        MIN_MTU_IPV6
    } else {
        MIN_MTU_IPV4
    };
    if !(smallest..=MAX_MTU).contains(&config.mtu) {
        return Err(Error::Mtu {
            mtu: config.mtu,
            least: smallest,
            most: MAX_MTU,
        });
    }
    if let Some(queue) = &config.kernel_queue {
        if config.ipv6 {
            return Err(KernelQueueError::Ipv6.into());
        }
        queue.check()?;
    }
    if config.groups.is_empty() || config.groups.len() > MAX_GROUPS {
        return Err(Error::Groups {
            groups: config.groups.len(),
            most: MAX_GROUPS,
        });
    }
    Ok(())
}

fn new_namespace() -> Result<Namespace> {
    Namespace::new().doing(|| "make a network namespace")
}

/// A veth pair between a namespace and the one that comes after it, on the way to the link.
struct Wire {
    here: (&'static str, Mac),
    there: (&'static str, Mac),
}

const SENDER_TO_LINK: Wire = Wire {
    here: (HOST_PORT, SENDER_MAC),
    there: (TO_SENDER, TO_SENDER_MAC),
};
const RECEIVER_TO_LINK: Wire = Wire {
    here: (HOST_PORT, RECEIVER_MAC),
    there: (TO_RECEIVER, TO_RECEIVER_MAC),
};
/// To the sender the router is the receiver, and to the receiver the sender.
const FROM_LINK_TO_LINK: Wire = Wire {
    here: (FROM_LINK, RECEIVER_MAC),
    there: (TO_RECEIVER, TO_RECEIVER_MAC),
};
const RECEIVER_TO_ROUTER: Wire = Wire {
    here: (HOST_PORT, RECEIVER_MAC),
    there: (OUT, SENDER_MAC),
};

/// A veth pair between the calling thread's namespace and `to`; the end here is up afterwards.
fn add_wire(wire: &Wire, config: &TopologyConfig, to: &Namespace, without: ReadOnly) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let mtu = config.mtu;
    let end = |(name, mac)| VethEnd { name, mac, mtu };
    netlink.add_veth(&end(wire.here), &end(wire.there), to)?;
    netlink.set_up(interface_index("lo")?)?;
    bring_up(wire.here.0, config.offloads, without)
}

/// Both directions of every group through the router, in the calling thread's namespace.
fn route(groups: &[GroupAddresses], without: ReadOnly) -> Result<()> {
    bring_up(OUT, &[], without)?;
    let mut netlink = Netlink::open()?;
    let (back, out) = (interface_index(FROM_LINK)?, interface_index(OUT)?);
    for group in groups {
        for (interface, address, mac) in [
            (back, group.sender, SENDER_MAC),
            (out, group.receiver, RECEIVER_MAC),
        ] {
            netlink.add_forwarding_route(interface, address.into())?;
            netlink.add_neighbour(interface, address.into(), mac)?;
        }
    }
    Ok(())
}

fn bring_up(interface: &str, stay: &[&str], without: ReadOnly) -> Result<()> {
    offload::turn_off(interface, stay)?;
    let mut netlink = Netlink::open()?;
    if without.announces() {
        netlink.have_no_address(interface_index(interface)?);
    }
    netlink.set_up(interface_index(interface)?)
}

/// Addresses, routes and neighbours of every group at the sender (0) or receiver host (1), in the calling thread's namespace.
fn add_pairs(
    config: &TopologyConfig,
    host: usize,
    peer: Mac,
    pairs: impl Fn(usize) -> [Pair; 2],
) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let interface = interface_index(HOST_PORT)?;
    for (number, group) in config.groups.iter().enumerate() {
        for (local, remote) in pairs(number)
            .into_iter()
            .take(if config.ipv6 { 2 } else { 1 })
        {
            netlink.add_address(interface, local)?;
            netlink.add_host_route(interface, remote, local, group, host)?;
            netlink.add_neighbour(interface, remote, peer)?;
        }
    }
    Ok(())
}

fn pairs_from_sender(group: &GroupAddresses) -> [Pair; 2] {
    [
        (group.sender.into(), group.receiver.into()),
        (group.sender_v6.into(), group.receiver_v6.into()),
    ]
}

fn swap((local, remote): Pair) -> Pair {
    (remote, local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_groups_share_an_address() {
        let all: BTreeSet<IpAddr> = (0..MAX_GROUPS)
            .map(GroupAddresses::of)
            .flat_map(|group| pairs_from_sender(&group))
            .flat_map(|(a, b)| [a, b])
            .collect();
        assert_eq!(all.len(), 4 * MAX_GROUPS);
    }

    #[test]
    fn the_first_and_last_addresses_are_inside_the_network() {
        assert_eq!(GroupAddresses::of(0).sender, Ipv4Addr::new(10, 77, 0, 1));
        assert_eq!(
            GroupAddresses::of(250).receiver,
            Ipv4Addr::new(10, 77, 129, 1)
        );
        assert_eq!(
            GroupAddresses::of(MAX_GROUPS - 1).receiver,
            Ipv4Addr::new(10, 77, 255, 250)
        );
    }

    #[test]
    fn what_cannot_be_built_is_refused_before_anything_is_made() {
        let with = |mtu, groups, ipv6| TopologyConfig {
            mtu,
            groups: vec![GroupConfig::default(); groups],
            ipv6,
            ..TopologyConfig::default()
        };
        for config in [
            with(575, 1, false),
            with(1279, 1, true),
            with(MAX_MTU + 1, 1, false),
            with(1500, 0, false),
            with(1500, MAX_GROUPS + 1, false),
        ] {
            assert!(matches!(
                Topology::new(&config),
                Err(Error::Mtu { .. } | Error::Groups { .. })
            ));
        }
    }
}
