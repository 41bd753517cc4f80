//! Messages of a route socket, written and read byte by byte.
//!
//! From netlink(7), rtnetlink(7) and include/uapi/linux/{netlink,rtnetlink,if_link,if_addr,neighbour,veth}.h. A message is a header
//! of 16 bytes, a fixed part that follows from its type, and attributes: length, type, value, each padded to four bytes. Numbers are
//! in the byte order of the machine. Only what quell asks for is here: a library that knows every attribute of the kernel took a
//! fifteenth of the time to build quell.

use std::io;
use std::net::IpAddr;

use libc::c_int;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of `struct nlattr`.
const ATTRIBUTE: usize = 4;

/// A request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of that type, one of RTM_…, whose fixed part is `fixed`.
    pub(crate) fn new(kind: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self { bytes }
    }

    /// Adds an attribute.
    pub(crate) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.nest(kind, |inner| inner.extend_from_slice(value));
        self
    }

    /// Adds an attribute that holds a number of four bytes.
    pub(crate) fn with_number(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute that holds a name, with the zero that ends it.
    pub(crate) fn with_name(self, kind: u16, name: &str) -> Self {
        self.with(kind, &[name.as_bytes(), &[0]].concat())
    }

    /// Adds an attribute that holds an address.
    pub(crate) fn with_address(self, kind: u16, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.with(kind, &address.octets()),
            IpAddr::V6(address) => self.with(kind, &address.octets()),
        }
    }

    /// Adds an attribute that holds `fixed` and then the attributes of `inner`, whose own header and fixed part do not count.
    pub(crate) fn with_all_of(mut self, kind: u16, fixed: &[u8], inner: &Self) -> Self {
        self.nest(kind, |bytes| {
            bytes.extend_from_slice(fixed);
            bytes.extend_from_slice(&inner.bytes[HEADER..]);
        });
        self
    }

    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; ATTRIBUTE]);
        fill(&mut self.bytes);
        let length = self.bytes.len() - begin;
        let length = u16::try_from(length).expect("no attribute of ours is that long");
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[begin + 2..begin + 4].copy_from_slice(&kind.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The bytes to send, with NLM_F_… and a number that the answer repeats.
    pub(crate) fn finish(mut self, flags: c_int, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("no request of ours is that long");
        let flags = u16::try_from(flags).expect("NLM_F_… have 16 bits");
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// An answer of the kernel.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The number of the request that it answers.
    pub(crate) sequence: u32,
    /// What it says.
    pub(crate) content: Content,
}

/// What an answer says.
#[derive(Debug)]
pub(crate) enum Content {
    /// The request was carried out, or not for this reason.
    Done(io::Result<()>),
    /// A message of this type, without its header.
    Message(u16, Vec<u8>),
}

impl Answer {
    /// Reads the first answer in what a socket gave.
    pub(crate) fn read(bytes: &[u8]) -> io::Result<Self> {
        let read = || {
            let length = usize::try_from(number(bytes, 0)?).ok()?;
            let kind = short(bytes, 4)?;
            let sequence = number(bytes, 8)?;
            let body = bytes.get(HEADER..length)?;
            let content = if c_int::from(kind) == libc::NLMSG_ERROR {
                let code = number(body, 0)?.cast_signed();
                Content::Done(match code {
                    0 => Ok(()),
                    code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                })
            } else {
                Content::Message(kind, body.to_vec())
            };
            Some(Self { sequence, content })
        };
        read().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The value of the first attribute of that type among `bytes`.
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(short(bytes, 0)?);
        let value = bytes.get(ATTRIBUTE..length)?;
        if short(bytes, 2)? == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

/// The number of four bytes at `at`.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ip link add a type veth` sends, by the headers of the kernel: little-endian machines only.
    #[cfg(target_endian = "little")]
    #[test]
    fn a_request_is_laid_out_as_the_kernel_reads_it() {
        let empty = Request::new(0, &[]);
        let kind = empty.with_name(libc::IFLA_INFO_KIND, "veth");
        let request = Request::new(libc::RTM_NEWLINK, &[0; 16])
            .with_name(libc::IFLA_IFNAME, "a")
            .with_all_of(libc::IFLA_LINKINFO, &[], &kind);
        let expected = [
            &[56, 0, 0, 0, 16, 0, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0][..],
            &[0; 16],
            &[6, 0, 3, 0, b'a', 0, 0, 0],
            &[16, 0, 18, 0, 9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0],
        ];
        assert_eq!(request.finish(0x605, 7), expected.concat());
    }

    #[test]
    fn attributes_come_back_out_of_what_they_were_put_into() {
        let bytes = Request::new(libc::RTM_NEWLINK, &[0; 16])
            .with_name(libc::IFLA_IFNAME, "to-sender")
            .with_number(libc::IFLA_MTU, 1500)
            .with_address(libc::IFA_LOCAL + 100, IpAddr::from([10, 77, 0, 1]))
            .finish(0, 3);
        let answer = Answer::read(&bytes).unwrap();
        assert_eq!(answer.sequence, 3);
        let Content::Message(libc::RTM_NEWLINK, body) = answer.content else {
            panic!("{answer:?}");
        };
        let attributes = &body[16..];
        assert_eq!(
            attribute(attributes, libc::IFLA_IFNAME),
            Some(&b"to-sender\0"[..])
        );
        let mtu = attribute(attributes, libc::IFLA_MTU).unwrap();
        assert_eq!(number(mtu, 0), Some(1500));
        let address = attribute(attributes, libc::IFA_LOCAL + 100);
        assert_eq!(address, Some(&[10, 77, 0, 1][..]));
        assert_eq!(attribute(attributes, libc::IFLA_OPERSTATE), None);
    }

    #[test]
    fn an_answer_that_is_cut_short_anywhere_is_an_error_and_no_panic() {
        let error = u16::try_from(libc::NLMSG_ERROR).unwrap();
        let whole = Request::new(error, &(-libc::EEXIST).to_ne_bytes()).finish(0, 9);
        let answer = Answer::read(&whole).unwrap();
        let Content::Done(Err(reason)) = answer.content else {
            panic!("{answer:?}");
        };
        assert_eq!(reason.kind(), io::ErrorKind::AlreadyExists);
        for length in 0..whole.len() {
            assert!(Answer::read(&whole[..length]).is_err(), "{length} bytes");
        }
        let link = Request::new(libc::RTM_NEWLINK, &[])
            .with_number(libc::IFLA_MTU, 1500)
            .finish(0, 1);
        for length in 0..link.len() - HEADER {
            let cut = &link[HEADER..HEADER + length];
            assert_eq!(attribute(cut, libc::IFLA_MTU), None, "{length} bytes");
        }
        // An attribute that says it has no length, which would be read for ever.
        assert_eq!(attribute(&[0; 64], libc::IFLA_MTU), None);
    }
}
