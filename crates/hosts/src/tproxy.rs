//! A far edge that takes every connection, whatever its destination: TPROXY in a namespace of our own.
//!
//! From the kernel's Documentation/networking/tproxy.rst and nft(8). For each address family:
//!
//! ```text
//! table ip quell {
//!   chain capture {
//!     type filter hook prerouting priority -150; policy accept;
//!     meta iif != WIRE accept          # only what the wire brings
//!     ip daddr FAR accept              # programs at the far edge itself
//!     tproxy to :PORT accept           # TCP and UDP to everybody else
//!     icmp type 3 icmp code 4 accept   # that packets of the far edge are too long; of ICMPv6 type 2
//!     drop                             # what nobody here can carry: ICMP and the like
//!   }
//! }
//! ip rule add iif WIRE lookup 100; ip route add local default dev lo table 100
//! ```
//!
//! Deviation from the document: no mark. The rule by interface sends all that the wire brings to table 100, which is wanted here.
//! Needs CAP_NET_ADMIN over the namespace and nf_tables with `tproxy` in the kernel (CONFIG_NFT_TPROXY). Nothing of it reaches
//! another namespace, and the kernel takes it with the namespace.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Result;
use crate::error::Doing as _;
use crate::netlink::{Netlink, at_a_wire, interface_index};
use crate::nftables::numbers::{
    NF_ACCEPT, NF_DROP, NF_INET_PRE_ROUTING, NF_IP_PRI_MANGLE, NFPROTO_IPV4, NFPROTO_IPV6,
    NFT_CMP_EQ, NFT_CMP_NEQ, NFT_META_IIF,
};
use crate::nftables::{Batch, Chain, compare, deliver_to, load_header, load_meta, verdict};

/// Routing table that delivers everything here.
const LOCAL_TABLE: u8 = 100;

const TABLE: &str = "quell";
const CHAIN: &str = "capture";
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
    at_a_wire(|| {
        Netlink::open()?.set_up(interface_index("lo")?)?;
        Netlink::open()?.set_up(interface_index("wire")?)?;
        let far = [
            IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        capture("wire", 1, &far)
    })
}

/// The table of one address family.
fn add_table(batch: &mut Batch, wire: u32, port: u16, far: IpAddr) {
    // Where a header has its destination; the protocol, type and code of a message about packets that are too long, and where they are.
    let (family, offset, address, too_long) = match far {
        IpAddr::V4(far) => {
            let too_long: [(u32, &[u8]); 2] = [(9, &[1]), (20, &[3, 4])];
            (NFPROTO_IPV4, 16, far.octets().to_vec(), too_long)
        }
        IpAddr::V6(far) => {
            let too_long: [(u32, &[u8]); 2] = [(6, &[58]), (40, &[2, 0])];
            (NFPROTO_IPV6, 24, far.octets().to_vec(), too_long)
        }
    };
    let chain = Chain {
        family,
        table: TABLE.to_owned(),
        name: CHAIN.to_owned(),
        hook: NF_INET_PRE_ROUTING,
        policy: NF_ACCEPT,
    };
    batch.table(family, TABLE, 0);
    batch.chain(&chain, "filter", NF_IP_PRI_MANGLE);
    batch.rule(&chain, |to| {
        load_meta(to, NFT_META_IIF);
        // The index of an interface is in the order of this machine.
        compare(to, NFT_CMP_NEQ, &wire.to_ne_bytes());
        verdict(to, NF_ACCEPT);
    });
    batch.rule(&chain, |to| {
        load_header(to, offset, address.len());
        compare(to, NFT_CMP_EQ, &address);
        verdict(to, NF_ACCEPT);
    });
    batch.rule(&chain, |to| {
        deliver_to(to, family, port);
        verdict(to, NF_ACCEPT);
    });
    batch.rule(&chain, |to| {
        for (offset, value) in too_long {
            load_header(to, offset, value.len());
            compare(to, NFT_CMP_EQ, value);
        }
        verdict(to, NF_ACCEPT);
    });
    batch.rule(&chain, |to| verdict(to, NF_DROP));
}
