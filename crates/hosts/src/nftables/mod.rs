//! Messages to nf_tables, by hand: nothing but tables, chains and a few rules is needed.
//!
//! From include/uapi/linux/netfilter/nf_tables.h, whose numbers are in [`numbers`], and nft(8).

pub(crate) mod numbers;

use std::io;

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

use numbers::*;

/// Messages that take effect together.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
}

impl Batch {
    pub(crate) fn new() -> Self {
        let mut batch = Self {
            bytes: Vec::new(),
            sequence: 0,
        };
        batch.header(
            NFNL_MSG_BATCH_BEGIN,
            0,
            NLM_F_REQUEST,
            NFNL_SUBSYS_NFTABLES,
            |_| {},
        );
        batch
    }

    /// A request that is acknowledged.
    fn message(&mut self, kind: u16, family: u8, flags: u16, body: impl FnOnce(&mut Vec<u8>)) {
        self.header(kind, family, NLM_F_REQUEST | NLM_F_ACK | flags, 0, body);
    }

    /// A table of this name and with these flags.
    pub(crate) fn table(&mut self, family: u8, name: &str, flags: u32) {
        self.message(NFT_MSG_NEWTABLE, family, NLM_F_CREATE, |to| {
            string(to, NFTA_TABLE_NAME, name);
            if flags != 0 {
                number(to, NFTA_TABLE_FLAGS, flags);
            }
        });
    }

    /// A chain of this kind (`filter`, `nat`) at its hook.
    pub(crate) fn chain(&mut self, chain: &Chain, kind: &str, priority: i32) {
        self.message(NFT_MSG_NEWCHAIN, chain.family, NLM_F_CREATE, |to| {
            string(to, NFTA_CHAIN_TABLE, &chain.table);
            string(to, NFTA_CHAIN_NAME, &chain.name);
            nested(to, NFTA_CHAIN_HOOK, |hook| {
                number(hook, NFTA_HOOK_HOOKNUM, chain.hook);
                attribute(hook, NFTA_HOOK_PRIORITY, &priority.to_be_bytes());
            });
            number(to, NFTA_CHAIN_POLICY, chain.policy);
            string(to, NFTA_CHAIN_TYPE, kind);
        });
    }

    /// A rule behind those that the chain has.
    pub(crate) fn rule(&mut self, chain: &Chain, expressions: impl FnOnce(&mut Vec<u8>)) {
        let flags = NLM_F_CREATE | NLM_F_APPEND;
        self.message(NFT_MSG_NEWRULE, chain.family, flags, |to| {
            string(to, NFTA_RULE_TABLE, &chain.table);
            string(to, NFTA_RULE_CHAIN, &chain.name);
            nested(to, NFTA_RULE_EXPRESSIONS, expressions);
        });
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

    /// Sends all, and waits until each request is acknowledged. Tables with an owner are gone with the socket that is returned.
    pub(crate) fn send(mut self) -> io::Result<Socket> {
        let last = self.sequence;
        self.header(
            NFNL_MSG_BATCH_END,
            0,
            NLM_F_REQUEST,
            NFNL_SUBSYS_NFTABLES,
            |_| {},
        );
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
                    return Ok(socket);
                }
            }
        }
    }
}

/// The sequence number and the errno of each acknowledgement in `bytes`.
fn acknowledgements(bytes: &[u8]) -> Vec<(u32, i32)> {
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

/// A chain at a hook of this network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// `NFPROTO_INET` and the like.
    pub(crate) family: u8,
    pub(crate) table: String,
    pub(crate) name: String,
    /// [`NF_INET_FORWARD`] and the like.
    pub(crate) hook: u32,
    /// What becomes of packets that no rule decides on.
    pub(crate) policy: u32,
}

/// The chains at hooks in the calling thread's namespace.
pub(crate) fn chains() -> io::Result<Vec<Chain>> {
    let mut batch = Batch {
        bytes: Vec::new(),
        sequence: 0,
    };
    batch.header(NFT_MSG_GETCHAIN, 0, NLM_F_REQUEST | NLM_F_DUMP, 0, |_| {});
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&batch.bytes, 0)?;
    let mut found = Vec::new();
    loop {
        let (answers, _) = socket.recv_from_full()?;
        let mut rest = &answers[..];
        while let Some((kind, body, next)) = message(rest) {
            match kind {
                NLMSG_DONE => return Ok(found),
                NLMSG_ERROR => {
                    let code = word(body, 0).unwrap_or(0) as i32;
                    return Err(io::Error::from_raw_os_error(code.wrapping_neg()));
                }
                NFT_MSG_NEWCHAIN => found.extend(chain(body)),
                _ => {}
            }
            rest = next;
        }
    }
}

/// The first message of `bytes`: its kind, its body, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let body = bytes.get(16..length)?;
    Some((
        kind,
        body,
        bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]),
    ))
}

/// struct nfgenmsg and its attributes; `None` for a chain at no hook.
fn chain(body: &[u8]) -> Option<Chain> {
    let all = attributes(body.get(4..)?);
    let find = |all: &[(u16, &[u8])], kind: u16| {
        let found = all.iter().find(|(found, _)| *found == kind);
        found.map(|(_, value)| value.to_vec())
    };
    let text = |kind| {
        let text = find(&all, kind)?;
        Some(String::from_utf8_lossy(text.strip_suffix(b"\0").unwrap_or(&text)).into_owned())
    };
    let number = |value: Vec<u8>| Some(u32::from_be_bytes(value.get(..4)?.try_into().ok()?));
    let hook = find(&all, NFTA_CHAIN_HOOK)?;
    Some(Chain {
        family: *body.first()?,
        table: text(NFTA_CHAIN_TABLE)?,
        name: text(NFTA_CHAIN_NAME)?,
        hook: number(find(&attributes(&hook), NFTA_HOOK_HOOKNUM)?)?,
        policy: find(&all, NFTA_CHAIN_POLICY)
            .and_then(number)
            .unwrap_or(NF_ACCEPT),
    })
}

/// The kind and the value of each struct nlattr in `bytes`.
fn attributes(bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let Some(value) = rest.get(4..length) else {
            break;
        };
        found.push((u16::from_ne_bytes([c, d]) & NLA_TYPE_MASK, value));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
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

/// One element of a rule.
fn expression(to: &mut Vec<u8>, name: &str, body: impl FnOnce(&mut Vec<u8>)) {
    nested(to, NFTA_LIST_ELEM, |element| {
        string(element, NFTA_EXPR_NAME, name);
        nested(element, NFTA_EXPR_DATA, body);
    });
}

/// Loads what is known of the packet beside its content.
pub(crate) fn load_meta(to: &mut Vec<u8>, key: u32) {
    expression(to, "meta", |meta| {
        number(meta, NFTA_META_DREG, NFT_REG_1);
        number(meta, NFTA_META_KEY, key);
    });
}

/// Loads some bytes of the packet's network header.
pub(crate) fn load_header(to: &mut Vec<u8>, offset: u32, length: usize) {
    expression(to, "payload", |payload| {
        number(payload, NFTA_PAYLOAD_DREG, NFT_REG_1);
        number(payload, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
        number(payload, NFTA_PAYLOAD_OFFSET, offset);
        number(payload, NFTA_PAYLOAD_LEN, length as u32);
    });
}

/// Compares what was loaded; the rule goes on where that holds.
pub(crate) fn compare(to: &mut Vec<u8>, how: u32, value: &[u8]) {
    expression(to, "cmp", |compare| {
        number(compare, NFTA_CMP_SREG, NFT_REG_1);
        number(compare, NFTA_CMP_OP, how);
        nested(compare, NFTA_CMP_DATA, |data| {
            attribute(data, NFTA_DATA_VALUE, value);
        });
    });
}

/// Decides on the packet.
pub(crate) fn verdict(to: &mut Vec<u8>, code: u32) {
    expression(to, "immediate", |immediate| {
        number(immediate, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        nested(immediate, NFTA_IMMEDIATE_DATA, |data| {
            nested(data, NFTA_DATA_VERDICT, |verdict| {
                number(verdict, NFTA_VERDICT_CODE, code);
            });
        });
    });
}

/// Gives the packet to the transparent listener at a port.
pub(crate) fn deliver_to(to: &mut Vec<u8>, family: u8, port: u16) {
    expression(to, "immediate", |immediate| {
        number(immediate, NFTA_IMMEDIATE_DREG, NFT_REG_1);
        nested(immediate, NFTA_IMMEDIATE_DATA, |data| {
            attribute(data, NFTA_DATA_VALUE, &port.to_be_bytes());
        });
    });
    expression(to, "tproxy", |tproxy| {
        number(tproxy, NFTA_TPROXY_FAMILY, u32::from(family));
        number(tproxy, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    });
}

/// Gives the packet the address of the interface by which it leaves.
pub(crate) fn masquerade(to: &mut Vec<u8>) {
    expression(to, "masq", |_| {});
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

    #[test]
    fn a_chain_is_read_and_what_is_cut_short_is_none() {
        let mut body = vec![NFPROTO_IPV4, 0, 0, 0];
        string(&mut body, NFTA_CHAIN_TABLE, "filter");
        string(&mut body, NFTA_CHAIN_NAME, "FORWARD");
        nested(&mut body, NFTA_CHAIN_HOOK, |hook| {
            number(hook, NFTA_HOOK_HOOKNUM, NF_INET_FORWARD);
            number(hook, NFTA_HOOK_PRIORITY, 0);
        });
        number(&mut body, NFTA_CHAIN_POLICY, NF_DROP);
        let expected = Chain {
            family: NFPROTO_IPV4,
            table: "filter".to_owned(),
            name: "FORWARD".to_owned(),
            hook: NF_INET_FORWARD,
            policy: NF_DROP,
        };
        assert_eq!(chain(&body), Some(expected));
        for cut in 0..body.len() - 8 {
            assert_ne!(chain(&body[..cut]).map(|chain| chain.policy), Some(NF_DROP));
        }
        let mut ordinary = vec![NFPROTO_IPV4, 0, 0, 0];
        string(&mut ordinary, NFTA_CHAIN_TABLE, "filter");
        string(&mut ordinary, NFTA_CHAIN_NAME, "mine");
        assert_eq!(chain(&ordinary), None);
    }
}
