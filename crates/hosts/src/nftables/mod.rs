//! Messages to nf_tables, by hand: nothing but tables, chains and a few rules is needed.
//!
//! From include/uapi/linux/netfilter/nf_tables.h and nft(8).

use std::io;

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

/// NFNL_SUBSYS_NFTABLES.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
pub(crate) const NEW_TABLE: u16 = SUBSYSTEM << 8;
pub(crate) const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
pub(crate) const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
pub(crate) const NLM_F_CREATE: u16 = 0x400;
pub(crate) const NLM_F_APPEND: u16 = 0x800;
const NLA_F_NESTED: u16 = 0x8000;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_DUMP: u16 = 0x300;
const GET_CHAIN: u16 = SUBSYSTEM << 8 | 4;

/// The verdicts.
pub(crate) const NF_DROP: u32 = 0;
pub(crate) const NF_ACCEPT: u32 = 1;
/// NFT_REG_VERDICT, NFT_REG_1, NFT_CMP_EQ and NFT_CMP_NEQ.
const VERDICT: u32 = 0;
pub(crate) const REGISTER: u32 = 1;
pub(crate) const EQUAL: u32 = 0;
pub(crate) const UNEQUAL: u32 = 1;

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
        batch.header(BATCH_BEGIN, 0, NLM_F_REQUEST, SUBSYSTEM, |_| {});
        batch
    }

    /// A request that is acknowledged.
    pub(crate) fn message(
        &mut self,
        kind: u16,
        family: u8,
        flags: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
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

    /// Sends all, and waits until each request is acknowledged. Tables with an owner are gone with the socket that is returned.
    pub(crate) fn send(mut self) -> io::Result<Socket> {
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
    /// As nf_tables counts: 1 is `inet`, 2 `ip`, 10 `ip6`.
    pub(crate) family: u8,
    pub(crate) table: String,
    pub(crate) name: String,
    /// NF_INET_FORWARD is 2.
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
    batch.header(GET_CHAIN, 0, NLM_F_REQUEST | NLM_F_DUMP, 0, |_| {});
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
                NEW_CHAIN => found.extend(chain(body)),
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
    let hook = find(&all, 4)?;
    Some(Chain {
        family: *body.first()?,
        table: text(1)?,
        name: text(3)?,
        hook: number(find(&attributes(&hook), 1)?)?,
        policy: find(&all, 5).and_then(number).unwrap_or(NF_ACCEPT),
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
        // Without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
        found.push((u16::from_ne_bytes([c, d]) & 0x3fff, value));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

/// struct nlattr with its padding.
pub(crate) fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

pub(crate) fn number(to: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(to, kind, &value.to_be_bytes());
}

pub(crate) fn string(to: &mut Vec<u8>, kind: u16, value: &str) {
    attribute(to, kind, &[value.as_bytes(), b"\0"].concat());
}

pub(crate) fn nested(to: &mut Vec<u8>, kind: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    body(&mut inner);
    attribute(to, kind | NLA_F_NESTED, &inner);
}

/// One element of a rule: NFTA_LIST_ELEM with NFTA_EXPR_NAME and NFTA_EXPR_DATA.
pub(crate) fn expression(to: &mut Vec<u8>, name: &str, body: impl FnOnce(&mut Vec<u8>)) {
    nested(to, 1, |element| {
        string(element, 1, name);
        nested(element, 2, body);
    });
}

pub(crate) fn compare(to: &mut Vec<u8>, how: u32, value: &[u8]) {
    expression(to, "cmp", |compare| {
        number(compare, 1, REGISTER);
        number(compare, 2, how);
        nested(compare, 3, |data| attribute(data, 1, value));
    });
}

pub(crate) fn verdict(to: &mut Vec<u8>, code: u32) {
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

    #[test]
    fn a_chain_is_read_and_what_is_cut_short_is_none() {
        let mut body = vec![2, 0, 0, 0];
        string(&mut body, 1, "filter");
        string(&mut body, 3, "FORWARD");
        nested(&mut body, 4, |hook| {
            number(hook, 1, 2);
            number(hook, 2, 0);
        });
        number(&mut body, 5, NF_DROP);
        let expected = Chain {
            family: 2,
            table: "filter".to_owned(),
            name: "FORWARD".to_owned(),
            hook: 2,
            policy: NF_DROP,
        };
        assert_eq!(chain(&body), Some(expected));
        for cut in 0..body.len() - 8 {
            assert_ne!(chain(&body[..cut]).map(|chain| chain.policy), Some(NF_DROP));
        }
        let mut ordinary = vec![2, 0, 0, 0];
        string(&mut ordinary, 1, "filter");
        string(&mut ordinary, 3, "mine");
        assert_eq!(chain(&ordinary), None);
    }
}
