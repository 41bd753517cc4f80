//! Three namespaces and two wires: inside — link — outside.
//!
//! ```text
//!  inside: eth0 10.77.d.2/32, default via 10.77.d.1     link: to-inside, to-outside     outside: wire 10.77.d.1/32, route to 10.77.d.2
//! ```
//!
//! With [`Net::Nat`] outside is the host itself, its interface is called `quell` with the number d, and the host routes.
//!
//! Addresses are single and neighbours are entered for good, so nothing is learned and nothing but the program's packets crosses the link.
//! The congestion control of each side is a property of its route (`congctl` of ip-route(8)): so one that only an administrator may
//! choose works too, on whatever socket.

use std::io;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::masquerade::{Masquerade, forwards};
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Mac, Netlink, RouteTcp, VethEnd, interface_index};
use quell_hosts::sysctl::ReadOnly;
use quell_hosts::{offload, ready, sysctl, tproxy};
use quell_units::Bytes;

use crate::error::{Doing as _, Error, Result};
use crate::net::Net;
use crate::subnet::Subnet;

/// Name of the program's interface.
pub const INSIDE_PORT: &str = "eth0";
/// Names of the link's ports.
pub(crate) const TO_INSIDE: &str = "to-inside";
pub(crate) const TO_OUTSIDE: &str = "to-outside";

// Locally administered addresses (bit 1 of the first byte).
pub(crate) const INSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x02];
pub(crate) const OUTSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x01];
pub(crate) const TO_INSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x12];
pub(crate) const TO_OUTSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x11];

/// Windows reach this, in bytes: 1 Gbit/s with 200 ms.
pub(crate) const MAX_WINDOW: u64 = 32 << 20;

/// The port of the transparent listeners at the far edge: above the ephemeral ones, for no program of its own.
pub const RELAY_PORT: u16 = 65_077;

/// Values of `net.ipv4.tcp_ecn`: asking as of RFC 3168, and for AccECN (RFC 9768).
const CLASSIC: u8 = 1;
const ACCURATE: u8 = 3;

/// The warning of a result where AccECN was wanted.
const NO_ACCURATE_ECN: &str = "/proc/sys cannot be written here, as in most containers: TCP asks for ECN as of RFC 3168 and not for AccECN; --world virtual has it";

/// What to build.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// Addresses.
    pub subnet: Subnet,
    /// Largest packet, in bytes.
    pub mtu: u16,
    /// IPv6 beside IPv4.
    pub ipv6: bool,
    /// `net.ipv4.tcp_ecn` of both sides; `None` for the best that this kernel has.
    pub ecn: Option<u8>,
    /// Congestion control of the program's side; `None` for the kernel's default.
    pub control: Option<String>,
    /// Congestion control of the far edge.
    pub far_control: Option<String>,
    /// What is behind the far edge.
    pub net: Net,
}

impl NetworkConfig {
    /// Name of the far edge's interface; on the host itself one that says whose it is.
    fn outside_port(&self) -> String {
        match self.net {
            Net::Nat => on_host(self.subnet),
            Net::Relay | Net::None => "wire".to_owned(),
        }
    }

    pub(crate) fn families(&self) -> usize {
        if self.ipv6 { 2 } else { 1 }
    }
}

/// The interface on the host itself.
fn on_host(subnet: Subnet) -> String {
    format!("quell{}", subnet.number())
}

/// A network of [`Net::Nat`] that nobody else on this host has: its interface is there, and its other end in the namespace of a link.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) subnet: Subnet,
    link: Namespace,
    /// What the link does without, because settings cannot be written.
    without: ReadOnly,
}

impl Claim {
    /// Of this number, or of the first one from `depth` on that is free: two that look at the same time cannot both make the interface.
    pub(crate) fn new(number: Option<u8>, depth: u8, mtu: u16) -> Result<Self> {
        forwards()?;
        let (link, without) = link_namespace()?;
        let take = |subnet| {
            let here = on_host(subnet);
            add_wire(
                (&here, OUTSIDE_MAC),
                (TO_OUTSIDE, TO_OUTSIDE_MAC),
                mtu,
                &link,
            )
        };
        if let Some(number) = number {
            let subnet = Subnet::new(number);
            wait_until_gone(&on_host(subnet));
            take(subnet)?;
            return Ok(Self {
                subnet,
                link,
                without,
            });
        }
        for subnet in Subnet::free(depth)? {
            match take(subnet) {
                Ok(()) => {
                    return Ok(Self {
                        subnet,
                        link,
                        without,
                    });
                }
                Err(Error::Host(quell_hosts::Error::System { source, .. }))
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(Subnet::none(depth))
    }
}

/// Of the link's ports, without a port yet.
pub(crate) fn link_namespace() -> Result<(Namespace, ReadOnly)> {
    let link = Namespace::new().doing("make a network namespace")?;
    let without = within(&link, || Ok(sysctl::prepare_link()?))?;
    Ok((link, without))
}

/// The namespaces, and with [`Net::Nat`] the table of addresses; the kernel takes each when its last descriptor, process and socket are gone.
#[derive(Debug)]
pub struct Network {
    /// Of the program.
    pub inside: Namespace,
    /// Of the link's ports.
    pub link: Namespace,
    /// Of the far edge; the host's own with [`Net::Nat`].
    pub outside: Namespace,
    /// What gives the program's packets the host's address.
    pub masquerade: Option<Masquerade>,
    /// What the program's TCP does about ECN, as `net.ipv4.tcp_ecn` counts.
    pub ecn: u8,
    /// What both hosts do without, because settings cannot be written.
    pub without: ReadOnly,
    /// Whether a socket of the far edge needs a right for a port below 1024.
    pub needs_right_to_ports: bool,
}

/// What became of the settings of a host.
#[derive(Debug, Clone, Copy, Default)]
struct Prepared {
    without: ReadOnly,
    /// What TCP does about ECN, as `net.ipv4.tcp_ecn` counts.
    ecn: u8,
    /// Routes ask for it, because the setting cannot be written.
    asks_by_route: bool,
    needs_right_to_ports: bool,
}

impl Prepared {
    /// Prepares the namespace of the calling thread.
    fn here(config: &NetworkConfig) -> Result<Self> {
        let without = sysctl::prepare_host(MAX_WINDOW, config.ipv6)?;
        let (wanted, is_set) = match config.ecn {
            Some(ecn) => (ecn, sysctl::set_ecn(ecn)?),
            // A kernel without AccECN does not know the value.
            None => match sysctl::set_ecn(ACCURATE) {
                Ok(is_set) => (ACCURATE, is_set),
                Err(_) => (CLASSIC, sysctl::set_ecn(CLASSIC)?),
            },
        };
        // A namespace answers who asks, and asks for nothing itself: as good as never, where no control needs ECN.
        let asks_by_route = !is_set && !matches!(wanted, 0 | 2);
        Ok(Self {
            without,
            ecn: if asks_by_route { CLASSIC } else { wanted },
            asks_by_route,
            needs_right_to_ports: false,
        })
    }

    /// What TCP gets from its route.
    fn tcp(self, control: Option<&str>) -> RouteTcp<'_> {
        RouteTcp {
            control,
            ecn: self.asks_by_route,
        }
    }
}

impl Network {
    /// Builds everything around two namespaces that exist.
    ///
    /// Needs CAP_SYS_ADMIN and CAP_NET_ADMIN, as root or in a user namespace.
    ///
    /// # Errors
    ///
    /// The kernel refuses something; with `capture` most often that it has no tproxy.
    pub(crate) fn build(
        inside: Namespace,
        outside: Namespace,
        claim: Option<Claim>,
        config: &NetworkConfig,
    ) -> Result<Self> {
        let is_wired = claim.is_some();
        let (link, of_link) = match claim {
            Some(claim) => (claim.link, claim.without),
            None => link_namespace()?,
        };
        let outside_port = config.outside_port();
        let (masquerade, far) = within(&outside, || {
            build_outside(config, &outside_port, &link, is_wired)
        })?;
        let near = within(&inside, || build_inside(config, &link))?;
        within(&link, || build_link(of_link))?;
        let addresses = [config.subnet.inside(), config.subnet.far()];
        for (side, port, [own, other]) in [
            (&inside, INSIDE_PORT, addresses),
            (&outside, &outside_port, [addresses[1], addresses[0]]),
        ] {
            within(side, || {
                Netlink::open()?.wait_until_running(interface_index(port)?)?;
                ready::wait_until_delivered(own.into_iter().take(config.families()))?;
                Ok(ready::wait_until_reachable(
                    other.into_iter().take(config.families()),
                )?)
            })?;
        }
        Ok(Self {
            inside,
            link,
            outside,
            masquerade,
            ecn: near.ecn,
            without: near.without.and(far.without),
            needs_right_to_ports: far.needs_right_to_ports,
        })
    }

    /// What a result must say, where flows need a window of `needed` bytes and TCP should do `ecn` about ECN.
    pub(crate) fn warnings(&self, needed: Bytes, ecn: Option<u8>) -> Vec<String> {
        let is_less = ecn.is_some_and(|ecn| ecn >= ACCURATE && self.ecn < ecn);
        let accurate = is_less.then(|| NO_ACCURATE_ECN.to_owned());
        let settings = self.without.warning(needed.get());
        settings.into_iter().chain(accurate).collect()
    }

    /// The congestion control that a side uses where its route names none.
    pub fn default_control(&self, side: &Namespace) -> Result<String> {
        within(side, || Ok(sysctl::get("net.ipv4.tcp_congestion_control")?))
    }
}

/// Builds the far edge, in its namespace: its interface `port` with its other end in `link` unless that `is_wired` already, addresses and
/// routes, and what takes connections.
fn build_outside(
    config: &NetworkConfig,
    port: &str,
    link: &Namespace,
    is_wired: bool,
) -> Result<(Option<Masquerade>, Prepared)> {
    // The host's own settings are not ours to change.
    let is_host = config.net == Net::Nat;
    let mut far = Prepared::default();
    if !is_host {
        far = Prepared::here(config)?;
        far.needs_right_to_ports = !sysctl::prepare_far_edge()?;
    }
    let masquerade = match (config.net, config.subnet.inside()[0]) {
        (Net::Nat, IpAddr::V4(source)) => Some(Masquerade::start(port, source)?),
        _ => None,
    };
    if !is_wired {
        let here = (port, OUTSIDE_MAC);
        add_wire(here, (TO_OUTSIDE, TO_OUTSIDE_MAC), config.mtu, link)?;
    }
    if is_host {
        // Of this interface alone: no address of its own, no announcement. A host without IPv6 has no such setting.
        let _ = sysctl::set(&format!("net.ipv6.conf.{port}.disable_ipv6"), "1");
    } else {
        Netlink::open()?.set_up(interface_index("lo")?)?;
    }
    bring_up(port, is_host || far.without.announces())?;
    let mut netlink = Netlink::open()?;
    let wire = interface_index(port)?;
    let ends = config.subnet.far().into_iter().zip(config.subnet.inside());
    for (own, inside) in ends.take(config.families()) {
        netlink.add_address(wire, own)?;
        netlink.add_controlled_route(wire, inside, far.tcp(config.far_control.as_deref()))?;
        netlink.add_neighbour(wire, inside, INSIDE_MAC)?;
    }
    if config.net == Net::Relay {
        let own = &config.subnet.far()[..config.families()];
        tproxy::capture(port, RELAY_PORT, own)?;
    }
    Ok((masquerade, far))
}

/// Builds the program's side, in its namespace.
fn build_inside(config: &NetworkConfig, link: &Namespace) -> Result<Prepared> {
    let here = Prepared::here(config)?;
    let tcp = here.tcp(config.control.as_deref());
    // ping(8) without rights, where the caller's group is one of this user namespace.
    let group = rustix::process::getgid().as_raw();
    let _ = sysctl::set("net.ipv4.ping_group_range", &format!("{group} {group}"));
    add_wire(
        (INSIDE_PORT, INSIDE_MAC),
        (TO_INSIDE, TO_INSIDE_MAC),
        config.mtu,
        link,
    )?;
    Netlink::open()?.set_up(interface_index("lo")?)?;
    bring_up(INSIDE_PORT, here.without.announces())?;
    let mut netlink = Netlink::open()?;
    let port = interface_index(INSIDE_PORT)?;
    let ends = config.subnet.inside().into_iter().zip(config.subnet.far());
    for (own, far) in ends.take(config.families()) {
        netlink.add_address(port, own)?;
        netlink.add_controlled_route(port, far, tcp)?;
        netlink.add_neighbour(port, far, OUTSIDE_MAC)?;
        // Where nobody is behind the far edge, a program learns at once that there is no way.
        if config.net != Net::None {
            netlink.add_default_route(port, far, own, tcp)?;
        }
    }
    Ok(here)
}

/// Brings up the link's ports, in their namespace.
pub(crate) fn build_link(without: ReadOnly) -> Result<()> {
    [TO_INSIDE, TO_OUTSIDE]
        .iter()
        .try_for_each(|port| bring_up(port, without.announces()))?;
    // A kernel that has no fq refuses; the link then waits for releases itself.
    let mut netlink = Netlink::open()?;
    for port in [TO_INSIDE, TO_OUTSIDE] {
        let _ = netlink.add_fq(interface_index(port)?);
    }
    for port in [TO_INSIDE, TO_OUTSIDE] {
        Netlink::open()?.wait_until_running(interface_index(port)?)?;
    }
    Ok(())
}

/// Runs `f` inside of a namespace.
pub(crate) fn within<R: Send>(
    namespace: &Namespace,
    f: impl FnOnce() -> Result<R> + Send,
) -> Result<R> {
    namespace.run(f).doing("enter a network namespace")?
}

/// Makes a pair with one end here, and the other one in `namespace`.
pub(crate) fn add_wire(
    here: (&str, Mac),
    there: (&str, Mac),
    mtu: u16,
    namespace: &Namespace,
) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let end = |(name, mac)| VethEnd {
        name,
        mac,
        mtu: u32::from(mtu),
    };
    Ok(netlink.add_veth(&end(here), &end(there), namespace)?)
}

/// The kernel takes the interface of an earlier run away in the background.
fn wait_until_gone(interface: &str) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let began = Instant::now();
    while interface_index(interface).is_ok() && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Brings an interface up; `quietly`, where it would announce an address of its own.
pub(crate) fn bring_up(interface: &str, quietly: bool) -> Result<()> {
    offload::turn_off(interface, &offload::LINK_TAKES)?;
    let mut netlink = Netlink::open()?;
    if quietly {
        netlink.have_no_address(interface_index(interface)?);
    }
    Ok(netlink.set_up(interface_index(interface)?)?)
}

/// A far edge's port of a name server.
pub(crate) const NAME_SERVICE: u16 = 53;

/// Refuses an MTU that a side cannot have.
pub fn check_mtu(mtu: u16, ipv6: bool) -> Result<()> {
    // RFC 791 and RFC 8200 section 5; the link carries Ethernet's at most.
    let least = if ipv6 { 1280 } else { 576 };
    match (least..=1500).contains(&mtu) {
        true => Ok(()),
        false => Err(Error::Mtu { mtu, ipv6 }),
    }
}

/// Whether two addresses are of one family.
pub(crate) fn alike(one: IpAddr, other: IpAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}
