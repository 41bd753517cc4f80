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

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::masquerade::Masquerade;
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Mac, Netlink, VethEnd, interface_index};
use quell_hosts::{offload, ready, sysctl, tproxy};

use crate::error::Doing as _;
use crate::subnet::Subnet;
use crate::{Error, Net, Result};

/// Name of the program's interface.
pub const INSIDE_PORT: &str = "eth0";
/// Names of the link's ports.
pub(crate) const TO_INSIDE: &str = "to-inside";
pub(crate) const TO_OUTSIDE: &str = "to-outside";

// Locally administered addresses (bit 1 of the first byte).
const INSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x02];
const OUTSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x01];
const TO_INSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x12];
const TO_OUTSIDE_MAC: Mac = [0x02, 0x77, 1, 0, 0, 0x11];

/// Windows reach this, in bytes: 1 Gbit/s with 200 ms.
const MAX_WINDOW: u64 = 32 << 20;

/// The port of the transparent listeners at the far edge: above the ephemeral ones, for no program of its own.
pub const RELAY_PORT: u16 = 65_077;

/// What to build.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// Addresses.
    pub subnet: Subnet,
    /// Largest packet, in bytes.
    pub mtu: u16,
    /// IPv6 beside IPv4.
    pub ipv6: bool,
    /// `net.ipv4.tcp_ecn` of both sides.
    pub ecn: u8,
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
            Net::Nat => format!("quell{}", self.subnet.number()),
            Net::Relay | Net::None | Net::Pasta => "wire".to_owned(),
        }
    }

    pub(crate) fn families(&self) -> usize {
        if self.ipv6 { 2 } else { 1 }
    }
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
}

impl Network {
    /// Builds everything around two namespaces that exist.
    ///
    /// Needs CAP_SYS_ADMIN and CAP_NET_ADMIN, as root or in a user namespace.
    ///
    /// # Errors
    ///
    /// The kernel refuses something; with `capture` most often that it has no tproxy.
    pub fn build(inside: Namespace, outside: Namespace, config: &NetworkConfig) -> Result<Self> {
        let link = Namespace::new().doing("make a network namespace")?;
        within(&link, || Ok(sysctl::prepare_link()?))?;
        let outside_port = config.outside_port();
        let masquerade = within(&outside, || {
            // The host's own settings are not ours to change.
            let is_host = config.net == Net::Nat;
            if !is_host {
                sysctl::prepare_host(MAX_WINDOW, config.ipv6)?;
                sysctl::prepare_far_edge()?;
                sysctl::set_ecn(config.ecn)?;
            }
            if config.net == Net::Pasta {
                sysctl::prepare_gateway(config.ipv6)?;
            }
            if is_host {
                wait_until_gone(&outside_port);
            }
            let masquerade = match (config.net, config.subnet.inside()[0]) {
                (Net::Nat, IpAddr::V4(source)) => Some(Masquerade::start(&outside_port, source)?),
                _ => None,
            };
            add_wire(
                (&outside_port, OUTSIDE_MAC),
                (TO_OUTSIDE, TO_OUTSIDE_MAC),
                config,
                &link,
            )?;
            if is_host {
                // Of this interface alone: no address of its own, no announcement. A host without IPv6 has no such setting.
                let _ = sysctl::set(&format!("net.ipv6.conf.{outside_port}.disable_ipv6"), "1");
            } else {
                Netlink::open()?.set_up(interface_index("lo")?)?;
            }
            bring_up(&outside_port)?;
            let mut netlink = Netlink::open()?;
            let wire = interface_index(&outside_port)?;
            let ends = config.subnet.far().into_iter().zip(config.subnet.inside());
            for (far, inside) in ends.take(config.families()) {
                netlink.add_address(wire, far)?;
                netlink.add_controlled_route(wire, inside, config.far_control.as_deref())?;
                netlink.add_neighbour(wire, inside, INSIDE_MAC)?;
            }
            if config.net == Net::Relay {
                let far = &config.subnet.far()[..config.families()];
                tproxy::capture(&outside_port, RELAY_PORT, far)?;
            }
            Ok(masquerade)
        })?;
        within(&inside, || {
            sysctl::prepare_host(MAX_WINDOW, config.ipv6)?;
            sysctl::set_ecn(config.ecn)?;
            // ping(8) without rights, where the caller's group is one of this user namespace.
            let group = rustix::process::getgid().as_raw();
            let _ = sysctl::set("net.ipv4.ping_group_range", &format!("{group} {group}"));
            add_wire(
                (INSIDE_PORT, INSIDE_MAC),
                (TO_INSIDE, TO_INSIDE_MAC),
                config,
                &link,
            )?;
            Netlink::open()?.set_up(interface_index("lo")?)?;
            bring_up(INSIDE_PORT)?;
            let mut netlink = Netlink::open()?;
            let port = interface_index(INSIDE_PORT)?;
            let ends = config.subnet.inside().into_iter().zip(config.subnet.far());
            for (own, far) in ends.take(config.families()) {
                netlink.add_address(port, own)?;
                netlink.add_controlled_route(port, far, config.control.as_deref())?;
                netlink.add_neighbour(port, far, OUTSIDE_MAC)?;
                // Where nobody is behind the far edge, a program learns at once that there is no way.
                if config.net != Net::None {
                    netlink.add_default_route(port, far, own, config.control.as_deref())?;
                }
            }
            Ok(())
        })?;
        within(&link, || {
            [TO_INSIDE, TO_OUTSIDE]
                .iter()
                .try_for_each(|port| bring_up(port))?;
            // A kernel that has no fq refuses; the link then waits for releases itself.
            let mut netlink = Netlink::open()?;
            for port in [TO_INSIDE, TO_OUTSIDE] {
                let _ = netlink.add_fq(interface_index(port)?);
            }
            for port in [TO_INSIDE, TO_OUTSIDE] {
                Netlink::open()?.wait_until_running(interface_index(port)?)?;
            }
            Ok(())
        })?;
        let (near, far) = (config.subnet.inside(), config.subnet.far());
        for (side, port, own, other) in [
            (&inside, INSIDE_PORT, near, far),
            (&outside, &outside_port, far, near),
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
        })
    }

    /// The congestion control that a side uses where its route names none.
    pub fn default_control(&self, side: &Namespace) -> Result<String> {
        within(side, || Ok(sysctl::get("net.ipv4.tcp_congestion_control")?))
    }
}

/// Runs `f` inside of a namespace.
pub(crate) fn within<R: Send>(
    namespace: &Namespace,
    f: impl FnOnce() -> Result<R> + Send,
) -> Result<R> {
    namespace.run(f).doing("enter a network namespace")?
}

fn add_wire(
    here: (&str, Mac),
    there: (&str, Mac),
    config: &NetworkConfig,
    namespace: &Namespace,
) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let end = |(name, mac)| VethEnd {
        name,
        mac,
        mtu: u32::from(config.mtu),
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

pub(crate) fn bring_up(interface: &str) -> Result<()> {
    offload::turn_off(interface)?;
    Ok(Netlink::open()?.set_up(interface_index(interface)?)?)
}

/// A far edge's port of a name server.
pub(crate) const NAME_SERVICE: u16 = 53;

/// Refuses an MTU that a side cannot have.
pub fn check_mtu(mtu: u16, ipv6: bool) -> Result<()> {
    // RFC 791 and RFC 8200 section 5; the link carries Ethernet's at most.
    let least = if ipv6 { 1280 } else { 576 };
    if (least..=1500).contains(&mtu) {
        return Ok(());
    }
    Err(Error::Options(format!(
        "--mtu {mtu}: must be from {least} to 1500{}",
        if ipv6 {
            ", or 576 with --ipv4-only"
        } else {
            ""
        }
    )))
}

/// Whether two addresses are of one family.
pub(crate) fn alike(one: IpAddr, other: IpAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}
