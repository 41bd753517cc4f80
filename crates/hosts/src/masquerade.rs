//! A network behind this host's own routing: what it sends leaves with this host's address (NAT), as nft(8) has it.
//!
//! ```text
//! table ip NAME {
//!   flags owner
//!   chain leaving {
//!     type nat hook postrouting priority srcnat; policy accept;
//!     ip saddr SOURCE masquerade
//!   }
//! }
//! ```
//!
//! The table belongs to a socket, and the kernel deletes it with that socket, however the process ends (Linux 5.12). Nothing else of the host
//! is changed: a host that does not forward packets, or whose firewall drops them, is told so.

use std::net::Ipv4Addr;

use netlink_sys::Socket;

use crate::error::{Doing as _, Error};
use crate::nftables::numbers::{
    NF_ACCEPT, NF_DROP, NF_INET_FORWARD, NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC, NFPROTO_INET,
    NFPROTO_IPV4, NFT_CMP_EQ, NFT_TABLE_F_OWNER,
};
use crate::nftables::{Batch, Chain, chains, compare, load_header, masquerade};
use crate::{Result, sysctl};

/// Where IPv4 has its source.
const SOURCE: u32 = 12;
const CHAIN: &str = "leaving";

/// The table; it is gone with this.
#[derive(Debug)]
pub struct Masquerade {
    _owner: Socket,
}

impl Masquerade {
    /// Gives what `source` sends this host's address, in a table of this name in the calling thread's namespace. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    ///
    /// This host forwards no packets, its firewall drops them, or the kernel has no nf_tables with `masq`.
    pub fn start(name: &str, source: Ipv4Addr) -> Result<Self> {
        forwards()?;
        let mut batch = Batch::new();
        let chain = Chain {
            family: NFPROTO_IPV4,
            table: name.to_owned(),
            name: CHAIN.to_owned(),
            hook: NF_INET_POST_ROUTING,
            policy: NF_ACCEPT,
        };
        batch.table(NFPROTO_IPV4, name, NFT_TABLE_F_OWNER);
        batch.chain(&chain, "nat", NF_IP_PRI_NAT_SRC);
        batch.rule(&chain, |to| {
            load_header(to, SOURCE, source.octets().len());
            compare(to, NFT_CMP_EQ, &source.octets());
            masquerade(to);
        });
        let owner = batch
            .send()
            .doing(|| "masquerade packets (nf_tables with masq)")?;
        Ok(Self { _owner: owner })
    }
}

/// Whether this host passes packets on; how it would, otherwise.
///
/// # Errors
///
/// It does not, or its chains cannot be read.
pub fn forwards() -> Result<()> {
    if sysctl::get("net.ipv4.ip_forward")? != "1" {
        return Err(Error::Forwarding(
            "this host forwards no packets: sysctl -w net.ipv4.ip_forward=1".to_owned(),
        ));
    }
    let all = chains().doing(|| "read the chains of nf_tables")?;
    let drops = all.iter().find(|chain| {
        [NFPROTO_IPV4, NFPROTO_INET].contains(&chain.family)
            && chain.hook == NF_INET_FORWARD
            && chain.policy == NF_DROP
    });
    match drops {
        None => Ok(()),
        Some(chain) => Err(Error::Forwarding(format!(
            "this host's firewall drops what it forwards: policy of the chain {} of the table {}",
            chain.name, chain.table
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;

    #[test]
    fn a_host_that_drops_what_it_forwards_is_told_by_the_name_of_its_chain() {
        let Ok(host) = Namespace::new() else {
            return quell_testing::not_run(
                "a_host_that_drops_what_it_forwards_is_told_by_the_name_of_its_chain",
                "networks cannot be made here: needs root",
            );
        };
        let source = Ipv4Addr::new(10, 77, 0, 2);
        let outcomes = host.run(|| {
            let deaf = Masquerade::start("quell0", source).map(drop);
            sysctl::set("net.ipv4.ip_forward", "1").unwrap();
            let first = Masquerade::start("quell0", source);
            let beside = Masquerade::start("quell0", source).map(drop);
            drop(first.unwrap());
            let after = Masquerade::start("quell0", source).map(drop);
            let mut batch = Batch::new();
            let chain = Chain {
                family: NFPROTO_IPV4,
                table: "filter".to_owned(),
                name: "FORWARD".to_owned(),
                hook: NF_INET_FORWARD,
                policy: NF_DROP,
            };
            batch.table(NFPROTO_IPV4, "filter", 0);
            batch.chain(&chain, "filter", 0);
            batch.send().unwrap();
            let closed = Masquerade::start("quell0", source).map(drop);
            [deaf, beside, after, closed]
        });
        let [deaf, beside, after, closed] = outcomes.unwrap();
        assert!(deaf.unwrap_err().to_string().contains("ip_forward=1"));
        assert!(beside.is_err(), "the table has an owner");
        after.unwrap();
        let why = closed.unwrap_err().to_string();
        assert!(why.contains("FORWARD of the table filter"), "{why}");
    }
}
