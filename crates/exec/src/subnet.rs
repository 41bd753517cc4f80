//! The addresses inside: 10.77.d.0/24 and fd77:0:d::/64, with the first number d that this host does not use.
//!
//! Read from the network namespace of the caller, so a link inside of a link takes the next number. An address or a route that overlaps
//! rules a number out; the default route does not. Rules that send packets to other tables are not looked at.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use crate::error::{Doing as _, Error, Result};

/// The network inside, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    number: u8,
}

/// Last byte of the far edge, of the program's side, of the first name server and of the host's loopback.
const FAR: u8 = 1;
const INSIDE: u8 = 2;
const NAMES: u8 = 53;
const HOST: u8 = 254;
/// Name servers that have an address of their own.
pub const MOST_SERVERS: usize = 3;

impl Subnet {
    /// The network of this number.
    pub fn new(number: u8) -> Self {
        Self { number }
    }

    /// The first one from `depth` on that this host does not use.
    ///
    /// # Errors
    ///
    /// All are in use, or the host's routes cannot be read.
    pub fn find(depth: u8) -> Result<Self> {
        let found = Self::free(depth)?.next();
        found.ok_or_else(|| Self::none(depth))
    }

    /// Those from `depth` on that this host does not use now.
    pub(crate) fn free(depth: u8) -> Result<impl Iterator<Item = Self>> {
        let taken = Taken::read()?;
        let all = (depth..=u8::MAX).map(Self::new);
        Ok(all.filter(move |subnet| !taken.overlaps(*subnet)))
    }

    pub(crate) fn none(depth: u8) -> Error {
        Error::NoSubnet(format!("all of 10.77.{depth}.0/24 to 10.77.255.0/24"))
    }

    /// The number d.
    pub fn number(self) -> u8 {
        self.number
    }

    fn pair(self, last: u8) -> [IpAddr; 2] {
        [
            Ipv4Addr::new(10, 77, self.number, last).into(),
            Ipv6Addr::new(0xfd77, 0, self.number.into(), 0, 0, 0, 0, last.into()).into(),
        ]
    }

    /// The far edge, IPv4 and IPv6.
    pub fn far(self) -> [IpAddr; 2] {
        self.pair(FAR)
    }

    /// The program's own addresses.
    pub fn inside(self) -> [IpAddr; 2] {
        self.pair(INSIDE)
    }

    /// What stands for name server `index` of the host.
    pub fn names(self, index: usize) -> [IpAddr; 2] {
        self.pair(NAMES + index.min(MOST_SERVERS - 1) as u8)
    }

    /// What stands for the loopback address of the host.
    pub fn host(self) -> [IpAddr; 2] {
        self.pair(HOST)
    }

    /// Whether an address is one of this network.
    pub fn contains(self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address.octets()[..3] == [10, 77, self.number],
            IpAddr::V6(address) => {
                address.segments()[..4] == [0xfd77, 0, u16::from(self.number), 0]
            }
        }
    }
}

/// Whether this host has a default route for IPv6.
pub fn has_ipv6() -> bool {
    fs::read_to_string("/proc/net/ipv6_route").is_ok_and(|text| text.lines().any(is_default_route))
}

/// Whether the kernel of this host has IPv6 at all.
pub fn knows_ipv6() -> bool {
    Path::new("/proc/net/if_inet6").exists()
}

/// A line of /proc/net/ipv6_route: destination, its prefix, four more, metric, two counters, flags, interface.
fn is_default_route(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [to, bits, .., flags, interface] = words[..] else {
        return false;
    };
    // RTF_REJECT of linux/route.h.
    let is_rejected = u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & 0x0200 != 0);
    bits == "00" && to.bytes().all(|byte| byte == b'0') && interface != "lo" && !is_rejected
}

/// Networks that this host has: first address and bits, IPv4 only; the numbers of IPv6 follow them.
#[derive(Debug, Default)]
struct Taken {
    networks: Vec<(u32, u32)>,
}

impl Taken {
    fn read() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path);
        let routes = read("/proc/net/route").doing("read the routes of this host")?;
        // The addresses of interfaces; not every kernel has it.
        let addresses = read("/proc/net/fib_trie").unwrap_or_default();
        Ok(Self::of(&routes, &addresses))
    }

    /// From /proc/net/route, whose addresses are in hexadecimal digits of this machine's order, and /proc/net/fib_trie.
    fn of(routes: &str, addresses: &str) -> Self {
        let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::from_be);
        let routes = routes.lines().skip(1).filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (to, mask) = (number(words.get(1)?)?, number(words.get(7)?)?);
            (mask != 0).then_some((to, mask))
        });
        let leaves = addresses.lines().filter_map(|line| {
            let address: Ipv4Addr = line.trim().strip_prefix("|-- ")?.parse().ok()?;
            (!address.is_unspecified()).then_some((u32::from(address), u32::MAX))
        });
        Self {
            networks: routes.chain(leaves).collect(),
        }
    }

    fn overlaps(&self, subnet: Subnet) -> bool {
        let ours = u32::from(Ipv4Addr::new(10, 77, subnet.number, 0));
        let mask = u32::MAX << 8;
        let meets = |&(to, other): &(u32, u32)| (to ^ ours) & mask & other == 0;
        self.networks.iter().any(meets)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_an_address_or_a_route_overlaps_is_not_taken() {
        let line = |to: Ipv4Addr, bits: u32| {
            let word = |address: u32| format!("{:08X}", address.to_be());
            let mask = if bits == 0 {
                0
            } else {
                u32::MAX << (32 - bits)
            };
            format!(
                "eth0\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0",
                word(to.into()),
                word(mask)
            )
        };
        let first = |lines: &[String], addresses: &str| {
            let taken = Taken::of(
                &["header".to_owned(), lines.join("\n")].join("\n"),
                addresses,
            );
            (0..=u8::MAX).find(|number| !taken.overlaps(Subnet::new(*number)))
        };
        assert_eq!(first(&[line(Ipv4Addr::UNSPECIFIED, 0)], ""), Some(0));
        assert_eq!(first(&[line(Ipv4Addr::new(10, 77, 0, 1), 32)], ""), Some(1));
        assert_eq!(first(&[line(Ipv4Addr::new(10, 77, 0, 0), 23)], ""), Some(2));
        assert_eq!(first(&[line(Ipv4Addr::new(10, 0, 0, 0), 8)], ""), None);
        assert_eq!(
            first(&[line(Ipv4Addr::new(192, 168, 0, 0), 16)], ""),
            Some(0)
        );
        let trie = "Local:\n  +-- 10.77.0.0/24 2 0 2\n     |-- 10.77.0.2\n        /32 host LOCAL\n";
        assert_eq!(first(&[], trie), Some(1));
    }

    #[test]
    fn only_a_default_route_that_leads_somewhere_is_one() {
        let line = |to: &str, bits: &str, flags: &str, interface: &str| {
            let zero = "0".repeat(32);
            format!("{to} {bits} {zero} 00 {zero} 00000400 00000001 00000000 {flags} {interface}")
        };
        let zero = "0".repeat(32);
        assert!(is_default_route(&line(&zero, "00", "00000003", "eth0")));
        assert!(!is_default_route(&line(&zero, "00", "00200200", "lo")));
        assert!(!is_default_route(&line(&zero, "40", "00000001", "eth0")));
        assert!(!is_default_route(&line(
            &"f".repeat(32),
            "00",
            "00000001",
            "eth0"
        )));
        assert!(!is_default_route(""));
    }

    #[test]
    fn addresses_of_a_network_are_its_own_and_differ() {
        let subnet = Subnet::new(3);
        let all = [
            subnet.far(),
            subnet.inside(),
            subnet.host(),
            subnet.names(0),
            subnet.names(2),
        ];
        for pair in all {
            assert!(
                pair.iter().all(|&address| subnet.contains(address)),
                "{pair:?}"
            );
            assert!(!pair.iter().any(|&address| Subnet::new(4).contains(address)));
        }
        let all: std::collections::BTreeSet<_> = all.into_iter().flatten().collect();
        assert_eq!(all.len(), 10);
    }
}
