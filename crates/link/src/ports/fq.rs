//! Finds out whether an interface has the queue discipline `fq`, so that frames may be handed over ahead of their time.
//!
//! It follows rtnetlink(7) and include/uapi/linux/rtnetlink.h: one dump of the namespace's disciplines,
//! and in it the root of the interface. Only `fq` (sch_fq) keeps a frame until the time that its
//! sender gave it (SO_TXTIME); every other discipline, and an interface that has none, would send it
//! at once. Needs no rights.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

// include/uapi/linux/netlink.h, include/uapi/linux/rtnetlink.h, include/uapi/linux/pkt_sched.h
const MESSAGE_HEADER: usize = 16;
const DISCIPLINE_HEADER: usize = 20;
const ROOT: u32 = 0xffff_ffff;
const KIND: u16 = 1;

/// Whether the root discipline of the interface with this index, in the calling thread's network
/// namespace, is `fq`; false where the kernel lists no disciplines.
pub(crate) fn is_root_of(interface: u32) -> bool {
    dump().is_ok_and(|answers| answers.iter().any(|answer| has_fq_root(answer, interface)))
}

/// The kernel's dump of the disciplines of the namespace, datagram by datagram.
fn dump() -> io::Result<Vec<Vec<u8>>> {
    let socket: OwnedFd = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // NETLINK_ROUTE is protocol 0.
        None,
    )?;
    let mut request = Vec::with_capacity(MESSAGE_HEADER + DISCIPLINE_HEADER);
    request.extend(((MESSAGE_HEADER + DISCIPLINE_HEADER) as u32).to_ne_bytes());
    request.extend(libc::RTM_GETQDISC.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    request.resize(MESSAGE_HEADER + DISCIPLINE_HEADER, 0);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answers = Vec::new();
    loop {
        // The kernel fills at most 32 KiB at a time (netlink_dump of net/netlink/af_netlink.c).
        let mut answer = vec![0; 1 << 15];
        let (len, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
        answer.truncate(len);
        let done = messages(&answer)
            .any(|(kind, _)| kind == libc::NLMSG_DONE as u16 || kind == libc::NLMSG_ERROR as u16);
        answers.push(answer);
        if done || len == 0 {
            return Ok(answers);
        }
    }
}

fn has_fq_root(answer: &[u8], interface: u32) -> bool {
    messages(answer).any(|(kind, body)| {
        // struct tcmsg: family and padding, index, handle, parent, info.
        kind == libc::RTM_NEWQDISC
            && word(body, 4) == Some(interface)
            && word(body, 12) == Some(ROOT)
            && attribute(body.get(DISCIPLINE_HEADER..).unwrap_or_default(), KIND)
                .is_some_and(|name| name == b"fq\0")
    })
}

/// Type and body of each message of a datagram.
fn messages(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = word(rest, 0)? as usize;
        let kind = half(rest, 4)?;
        let body = rest.get(MESSAGE_HEADER..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The value of the first attribute of type `wanted`.
fn attribute(mut rest: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (len, kind) = (usize::from(half(rest, 0)?), half(rest, 2)?);
        let value = rest.get(4..len)?;
        if kind == wanted {
            return Some(value);
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*chunk))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discipline(kind: u16, interface: u32, parent: u32, name: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 4];
        body.extend(interface.to_ne_bytes());
        body.extend([0; 4]);
        body.extend(parent.to_ne_bytes());
        body.extend([0; 4]);
        // An attribute of another type, of three bytes, comes first.
        body.extend([7, 0, 9, 0, 1, 2, 3, 0]);
        body.extend((4 + name.len() as u16).to_ne_bytes());
        body.extend(KIND.to_ne_bytes());
        body.extend(name);
        body.resize(body.len().next_multiple_of(4), 0);
        let mut message = ((MESSAGE_HEADER + body.len()) as u32)
            .to_ne_bytes()
            .to_vec();
        message.extend(kind.to_ne_bytes());
        message.resize(MESSAGE_HEADER, 0);
        message.extend(body);
        message
    }

    #[test]
    fn only_the_root_of_the_interface_counts() {
        let new = libc::RTM_NEWQDISC;
        for (kind, interface, parent, name, expected) in [
            (new, 3, ROOT, &b"fq\0"[..], true),
            (new, 3, ROOT, b"fq_codel\0", false),
            (new, 3, ROOT, b"pfifo\0", false),
            (new, 3, 0x0001_0002, b"fq\0", false),
            (new, 4, ROOT, b"fq\0", false),
            (libc::RTM_NEWTCLASS, 3, ROOT, b"fq\0", false),
        ] {
            let other = discipline(new, 9, ROOT, b"fq\0");
            let answer = [other, discipline(kind, interface, parent, name)].concat();
            assert_eq!(
                has_fq_root(&answer, 3),
                expected,
                "{kind} {interface} {parent} {name:?}"
            );
        }
    }

    #[test]
    fn a_broken_answer_says_nothing() {
        let whole = discipline(libc::RTM_NEWQDISC, 3, ROOT, b"fq\0");
        for cut in 0..whole.len() - 1 {
            assert!(!has_fq_root(&whole[..cut], 3), "{cut}");
        }
        assert!(!has_fq_root(&[0; 64], 3) && !has_fq_root(&[0xff; 64], 3));
    }

    #[test]
    fn the_loopback_interface_has_no_fq() {
        // Linux gives it `noqueue`, which is not in the dump.
        assert!(!is_root_of(1));
    }
}
