//! When a namespace may be used: what the kernel does in the background after it has answered.
//!
//! IPv6 finishes an address in a work queue, without duplicate detection too (net/ipv6/addrconf.c, `addrconf_dad_work`): until then it has
//! no local route, and packets to it are thrown away (`Ip6InAddrErrors`). An interface that runs tells IPv6 so in the background as well;
//! until then its routes are dead. On a busy machine either takes longer than the first packet (3 of 100 programs, 1 of 13 runs of tests).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::error::Doing as _;
use crate::netlink::Netlink;

/// The longest wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until packets to each of these addresses of the calling thread's namespace are delivered here.
///
/// # Errors
///
/// One of them is not there within five seconds, or the kernel refuses to tell.
pub fn wait_until_delivered(own: impl IntoIterator<Item = IpAddr>) -> Result<()> {
    let mut netlink = Netlink::open()?;
    each(own, "deliver packets to", |address| {
        match netlink.is_delivered(address)? {
            true => Ok(()),
            false => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    })
}

/// Waits until each of these addresses has a route from the calling thread's namespace, and a source address.
///
/// # Errors
///
/// One of them has none within five seconds.
pub fn wait_until_reachable(remotes: impl IntoIterator<Item = IpAddr>) -> Result<()> {
    each(remotes, "find a route to", |remote| {
        let any: IpAddr = match remote {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // A datagram socket that connects looks its route up, and sends nothing.
        UdpSocket::bind((any, 0))?.connect((remote, 9))
    })
}

/// Tries `check` of each address until it succeeds.
fn each(
    addresses: impl IntoIterator<Item = IpAddr>,
    doing: &str,
    mut check: impl FnMut(IpAddr) -> io::Result<()>,
) -> Result<()> {
    let began = Instant::now();
    for address in addresses {
        while let Err(source) = check(address) {
            if began.elapsed() > PATIENCE {
                return Err(source).doing(|| format!("{doing} {address}"));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}
