//! What is known before anything of a run exists, and the rights to make it.

use std::sync::Arc;

use quell_hosts::confine::capabilities::{CapabilitySet, effective};
use quell_hosts::fd_holder::FdHolder;
use quell_hosts::{sysctl, user_namespace};
use quell_scenario::World;

use crate::config::{Config, Names};
use crate::controls::Controls;
use crate::error::{Doing as _, Error, Result};
use crate::net::Net;
use crate::network::{Claim, check_mtu};
use crate::resolver;
use crate::subnet::{Subnet, has_ipv6};

/// A run that can be built.
pub(super) struct Prepared {
    pub(super) ipv6: bool,
    pub(super) controls: Controls,
    /// `net.ipv4.tcp_ecn` of both sides; `None` for the best that there is.
    pub(super) ecn: Option<u8>,
    pub(super) subnet: Subnet,
    /// That network, where it is one of the host.
    pub(super) claim: Option<Claim>,
    /// The name servers of the host.
    pub(super) names: resolver::Names,
    /// Whether they are reached through the link.
    pub(super) has_names: bool,
    /// Kept to the end, after which the link's sockets are closed in the background.
    pub(super) fd_holder: Option<Arc<FdHolder>>,
}

/// Checks what can be checked, and gets the rights that the run needs.
pub(super) fn prepare(config: &Config) -> Result<Prepared> {
    // A guest's clock stands still while sockets are closed.
    let fd_holder = (config.world == World::Live).then(FdHolder::start);
    let fd_holder = fd_holder.and_then(Result::ok).map(Arc::new);
    let ipv6 = match config.net {
        _ if config.ipv4_only => false,
        Net::Relay => has_ipv6(),
        Net::None => true,
        Net::Nat => false,
    };
    check_mtu(config.mtu, ipv6)?;
    let host_ecn = sysctl::get("net.ipv4.tcp_ecn")?;
    get_rights(config)?;
    let controls = Controls::find(config)?;
    let ecn = match config.ecn {
        Some(ecn) => Some(ecn.value()),
        // Without ECN Prague is Reno: both sides ask for the best that there is.
        None if controls.are_l4s().contains(&true) => None,
        None => Some(host_ecn.parse().unwrap_or(2)),
    };
    // The host is shared with others who do the same; namespaces of our own are not.
    let claim = (config.net == Net::Nat)
        .then(|| Claim::new(config.subnet, config.depth, config.mtu))
        .transpose()?;
    let subnet = match (&claim, config.subnet) {
        (Some(claim), _) => claim.subnet,
        (None, Some(number)) => Subnet::new(number),
        (None, None) => Subnet::find(config.depth)?,
    };
    let names = resolver::Names::of_host();
    let has_names = config.net.stands_for_host() && config.names == Names::Link;
    Ok(Prepared {
        ipv6,
        controls,
        ecn,
        subnet,
        claim,
        names,
        has_names,
        fd_holder,
    })
}

/// Has root's rights over the network, or gets them in a user namespace.
fn get_rights(config: &Config) -> Result<()> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    let has = effective().doing("read capabilities")?;
    if config.net == Net::Nat && !has.contains(needed) {
        return Err(Error::NatNeedsRoot);
    }
    let of_user = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::KILL;
    if config.user.is_some() && !has.contains(needed | of_user) {
        return Err(Error::UserNeedsRoot);
    }
    if !has.contains(needed) {
        user_namespace::enter().map_err(Error::UserNamespace)?;
    }
    Ok(())
}
