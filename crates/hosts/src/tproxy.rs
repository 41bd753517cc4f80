//! A far edge that takes every connection, whatever its destination: TPROXY in a namespace of our own.
//!
//! From the kernel's Documentation/networking/tproxy.rst, nft(8) and include/uapi/linux/netfilter/nf_tables.h; messages by hand, as
//! nothing but a table, a chain and four rules is needed. For each address family:
//!
//! ```text
//! table ip quell {
//!   chain capture {
//!     type filter hook prerouting priority -150; policy accept;
//!     meta iif != WIRE accept          # only what the wire brings
//!     ip daddr FAR accept              # programs at the far edge itself
//!     tproxy to :PORT accept           # TCP and UDP to everybody else
//!     drop                             # what nobody here can carry: ICMP and the like
//!   }
//! }
//! ip rule add iif WIRE lookup 100; ip route add local default dev lo table 100
//! ```
//!
//! Deviation from the document: no mark. The rule by interface sends all that the wire brings to table 100, which is wanted here.
//! Needs CAP_NET_ADMIN over the namespace and nf_tables with `tproxy` in the kernel (CONFIG_NFT_TPROXY). Nothing of it reaches
//! another namespace, and the kernel takes it with the namespace.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

use crate::Result;
use crate::error::Doing as _;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, VethEnd, interface_index};

/// Routing table that delivers everything here.
const LOCAL_TABLE: u8 = 100;

/// NFNL_SUBSYS_NFTABLES.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLA_F_NESTED: u16 = 0x8000;
const NLMSG_ERROR: u16 = 2;

const TABLE: &str = "quell";
const CHAIN: &str = "capture";
/// NF_IP_PRI_MANGLE.
const PRIORITY: i32 = -150;
const NF_DROP: u32 = 0;
const NF_ACCEPT: u32 = 1;
/// NFT_REG_VERDICT, NFT_REG_1, NFT_META_IIF, NFT_PAYLOAD_NETWORK_HEADER, NFT_CMP_EQ and NFT_CMP_NEQ.
const VERDICT: u32 = 0;
const REGISTER: u32 = 1;
const META_IIF: u32 = 4;
const NETWORK_HEADER: u32 = 1;
const EQUAL: u32 = 0;
const UNEQUAL: u32 = 1;

/// Captures in the calling thread's namespace what arrives by `wire`, for the transparent listeners (TCP and UDP) at `port`. What is for
/// `far` goes to whoever listens there.
///
/// # Errors
///
/// The kernel has no nf_tables or no tproxy, or this thread has no rights over its network.
pub fn capture(wire: &str, port: u16, far: &[IpAddr]) -> Result<()> {
    let index = interface_index(wire)?;
    let mut batch = Batch::new();
    for &far in far {
        add_table(&mut batch, index, port, far);
    }
    batch
        .send()
        .doing(|| "capture connections (nf_tables with tproxy)")?;
    let mut netlink = Netlink::open()?;
    let lo = interface_index("lo")?;
    for far in far {
        netlink.look_up_arrivals(wire, LOCAL_TABLE, far.is_ipv4())?;
        netlink.deliver_everything(lo, LOCAL_TABLE, far.is_ipv4())?;
    }
    Ok(())
}

/// Tries [`capture`] in a namespace that vanishes again.
///
/// # Errors
///
/// Those of [`capture`], or no namespace can be made.
pub fn check() -> Result<()> {
    let make = || Namespace::new().doing(|| "make a network namespace");
    let (here, there) = (make()?, make()?);
    let try_it = || {
        let end = |name, last| VethEnd {
            name,
            mac: [0x02, 0x77, 0, 0, 2, last],
            mtu: 1500,
        };
        Netlink::open()?.add_veth(&end("wire", 1), &end("peer", 2), &there)?;
        Netlink::open()?.set_up(interface_index("lo")?)?;
        Netlink::open()?.set_up(interface_index("wire")?)?;
        let far = [
            IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        capture("wire", 1, &far)
    };
    here.run(try_it).doing(|| "enter a network namespace")?
}

/// The table of one address family.
fn add_table(batch: &mut Batch, wire: u32, port: u16, far: IpAddr) {
    // NFPROTO_IPV4 and NFPROTO_IPV6; where a header has its destination.
    let (family, offset, address) = match far {
        IpAddr::V4(far) => (2, 16, far.octets().to_vec()),
        IpAddr::V6(far) => (10, 24, far.octets().to_vec()),
    };
    batch.message(NEW_TABLE, family, NLM_F_CREATE, |to| {
        string(to, 1, TABLE);
    });
    batch.message(NEW_CHAIN, family, NLM_F_CREATE, |to| {
        string(to, 1, TABLE);
        string(to, 3, CHAIN);
        nested(to, 4, |hook| {
            number(hook, 1, 0);
            attribute(hook, 2, &PRIORITY.to_be_bytes());
        });
        number(to, 5, NF_ACCEPT);
        string(to, 7, "filter");
    });
    let mut rule = |expressions: &dyn Fn(&mut Vec<u8>)| {
        batch.message(NEW_RULE, family, NLM_F_CREATE | NLM_F_APPEND, |to| {
            string(to, 1, TABLE);
            string(to, 2, CHAIN);
            nested(to, 4, expressions);
        });
    };
    rule(&|to| {
        expression(to, "meta", |meta| {
            number(meta, 1, REGISTER);
            number(meta, 2, META_IIF);
        });
        // The index of an interface is in the order of this machine.
        compare(to, UNEQUAL, &wire.to_ne_bytes());
        verdict(to, NF_ACCEPT);
    });
    rule(&|to| {
        expression(to, "payload", |payload| {
            number(payload, 1, REGISTER);
            number(payload, 2, NETWORK_HEADER);
            number(payload, 3, offset);
            number(payload, 4, address.len() as u32);
        });
        compare(to, EQUAL, &address);
        verdict(to, NF_ACCEPT);
    });
    rule(&|to| {
        expression(to, "immediate", |immediate| {
            number(immediate, 1, REGISTER);
            nested(immediate, 2, |data| attribute(data, 1, &port.to_be_bytes()));
        });
        expression(to, "tproxy", |tproxy| {
            number(tproxy, 1, u32::from(family));
            number(tproxy, 3, REGISTER);
        });
        verdict(to, NF_ACCEPT);
    });
    rule(&|to| verdict(to, NF_DROP));
}

/// Messages that take effect together.
struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
}

impl Batch {
    fn new() -> Self {
        let mut batch = Self {
            bytes: Vec::new(),
            sequence: 0,
        };
        batch.header(BATCH_BEGIN, 0, NLM_F_REQUEST, SUBSYSTEM, |_| {});
        batch
    }

    /// A request that is acknowledged.
    fn message(&mut self, kind: u16, family: u8, flags: u16, body: impl FnOnce(&mut Vec<u8>)) {
        self.header(kind, family, NLM_F_REQUEST | NLM_F_ACK | flags, 0, body);
    }

    /// struct nlmsghdr and struct nfgenmsg.
    fn header(
        &mut self,
        kind: u16,
        family: u8,
        flags: u16,
        resource: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        self.sequence += 1;
        self.bytes.extend([0; 4]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        body(&mut self.bytes);
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Sends all, and waits until each request is acknowledged.
    fn send(mut self) -> io::Result<()> {
        let last = self.sequence;
        self.header(BATCH_END, 0, NLM_F_REQUEST, SUBSYSTEM, |_| {});
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.send(&self.bytes, 0)?;
        loop {
            let (answers, _) = socket.recv_from_full()?;
            for (sequence, errno) in acknowledgements(&answers) {
                if errno != 0 {
                    return Err(io::Error::from_raw_os_error(errno));
                }
                if sequence == last {
                    return Ok(());
                }
            }
        }
    }
}

/// The sequence number and the errno of each acknowledgement in `bytes`.
fn acknowledgements(bytes: &[u8]) -> Vec<(u32, i32)> {
    let word = |bytes: &[u8], at: usize| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_ne_bytes(word.try_into().ok()?))
    };
    let mut found = Vec::new();
    let mut rest = bytes;
    while let (Some(length), Some(sequence)) = (word(rest, 0), word(rest, 8)) {
        let kind = u16::from_ne_bytes([rest[4], rest[5]]);
        if kind == NLMSG_ERROR
            && let Some(code) = word(rest, 16)
        {
            found.push((sequence, (code as i32).wrapping_neg()));
        }
        let next = (length as usize).next_multiple_of(4);
        if next < 16 || next >= rest.len() {
            break;
        }
        rest = &rest[next..];
    }
    found
}

/// struct nlattr with its padding.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn number(to: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(to, kind, &value.to_be_bytes());
}

fn string(to: &mut Vec<u8>, kind: u16, value: &str) {
    attribute(to, kind, &[value.as_bytes(), b"\0"].concat());
}

fn nested(to: &mut Vec<u8>, kind: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    body(&mut inner);
    attribute(to, kind | NLA_F_NESTED, &inner);
}

/// One element of a rule: NFTA_LIST_ELEM with NFTA_EXPR_NAME and NFTA_EXPR_DATA.
fn expression(to: &mut Vec<u8>, name: &str, body: impl FnOnce(&mut Vec<u8>)) {
    nested(to, 1, |element| {
        string(element, 1, name);
        nested(element, 2, body);
    });
}

fn compare(to: &mut Vec<u8>, how: u32, value: &[u8]) {
    expression(to, "cmp", |compare| {
        number(compare, 1, REGISTER);
        number(compare, 2, how);
        nested(compare, 3, |data| attribute(data, 1, value));
    });
}

fn verdict(to: &mut Vec<u8>, code: u32) {
    expression(to, "immediate", |immediate| {
        number(immediate, 1, VERDICT);
        nested(immediate, 2, |data| {
            nested(data, 2, |verdict| number(verdict, 1, code));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_and_their_lengths_are_not() {
        let mut bytes = Vec::new();
        string(&mut bytes, 1, "quell");
        number(&mut bytes, 2, 0x0102_0304);
        let length = 10_u16.to_ne_bytes();
        assert_eq!(bytes[..2], length);
        assert_eq!(&bytes[4..12], b"quell\0\0\0");
        assert_eq!(bytes[16..], [1, 2, 3, 4]);
    }

    #[test]
    fn answers_are_read_whatever_they_contain() {
        let answer = |sequence: u32, errno: i32| {
            let mut bytes = 36_u32.to_ne_bytes().to_vec();
            bytes.extend(NLMSG_ERROR.to_ne_bytes());
            bytes.extend([0; 2]);
            bytes.extend(sequence.to_ne_bytes());
            bytes.extend([0; 4]);
            bytes.extend((-errno).to_ne_bytes());
            bytes.resize(36, 0);
            bytes
        };
        let two = [answer(2, 0), answer(3, libc::ENOENT)].concat();
        assert_eq!(acknowledgements(&two), [(2, 0), (3, libc::ENOENT)]);
        for cut in 0..two.len() {
            let _ = acknowledgements(&two[..cut]);
        }
        let mut endless = answer(2, 0);
        endless[..4].fill(0);
        assert_eq!(acknowledgements(&endless).len(), 1);
    }
}
