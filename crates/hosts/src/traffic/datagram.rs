//! Batches of datagrams: one system call for up to 64, headers only.
//!
//! A payload begins with its sequence number and its time of sending (ns of the run), and with the two numbers of its content
//! where it has one, each 64 bits big-endian; the rest is zeros, which are never copied: sending points at one constant,
//! receiving lets the kernel cut them off (MSG_TRUNC). The ECN field comes as a control message, only where there is content.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _};
use std::ptr;

use quell_app::{Content, Datagrams};
use quell_units::{Bytes, Ecn, Time};
use rustix::net::SocketAddrAny;
use rustix::net::addr::{SocketAddrArg as _, SocketAddrStorage};

/// Datagrams per system call.
pub(super) const BATCH: usize = 64;

/// Sequence number and time.
const PLAIN: usize = 16;
/// The same, and a content.
const WITH_CONTENT: usize = 32;
const LARGEST_PAYLOAD: usize = 65_507;
static ZEROS: [u8; LARGEST_PAYLOAD] = [0; LARGEST_PAYLOAD];

/// A datagram that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) sequence: u64,
    pub(super) sent: Time,
    pub(super) payload: usize,
    pub(super) content: Content,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) sequence: u64,
    pub(super) sent: Time,
    pub(super) payload: usize,
    /// Zeros without content.
    pub(super) content: Content,
    /// [`Ecn::NotEct`] without content, or if the kernel does not say.
    pub(super) ecn: Ecn,
    /// Where it came from, `None` on a connected socket.
    pub(super) from: Option<SocketAddr>,
}

/// How the datagrams of a group look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    is_ipv4: bool,
    content: bool,
}

impl Layout {
    pub(super) const fn of(datagrams: Datagrams, is_ipv4: bool) -> Self {
        let content = datagrams.content;
        Self { is_ipv4, content }
    }

    /// Whether they have content, and their ECN field matters.
    pub(super) const fn has_content(self) -> bool {
        self.content
    }

    /// Bytes in front of the zeros.
    const fn header(self) -> usize {
        if self.content { WITH_CONTENT } else { PLAIN }
    }

    /// Bytes that IP and UDP add to a payload.
    const fn outer(self) -> u64 {
        if self.is_ipv4 { 20 + 8 } else { 40 + 8 }
    }

    /// The payload of a datagram of IP length `size`: `None` if it has no room for its header.
    pub(super) fn payload_length(self, size: Bytes) -> Option<usize> {
        let payload = size.get().checked_sub(self.outer())?;
        let payload = usize::try_from(payload).unwrap_or(usize::MAX);
        (payload >= self.header()).then_some(payload)
    }

    /// The IP length of a datagram with this payload.
    pub(super) const fn size(self, payload: usize) -> Bytes {
        Bytes::new(self.outer() + payload as u64)
    }

    /// The smallest IP length that [`Self::payload_length`] accepts.
    pub(super) const fn least_size(self) -> Bytes {
        self.size(self.header())
    }
}

/// Sends as many datagrams of `batch` as there is room for, at most [`BATCH`], and returns how many. An error concerns the first
/// one.
///
/// A payload that has no room for its header is refused with `InvalidInput`, one that is too long for a datagram with
/// EMSGSIZE; nothing of the batch is sent then.
pub(super) fn send(
    socket: impl AsFd,
    to: Option<SocketAddr>,
    layout: Layout,
    batch: &[Outgoing],
) -> io::Result<usize> {
    let header = layout.header();
    let batch = &batch[..batch.len().min(BATCH)];
    // How much of a payload is zeros: what follows the header.
    let mut zeros = [0; BATCH];
    for (zeros, datagram) in zeros.iter_mut().zip(batch) {
        *zeros = datagram
            .payload
            .checked_sub(header)
            .ok_or(io::ErrorKind::InvalidInput)?;
        if datagram.payload > LARGEST_PAYLOAD {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
    }
    let to = to.map(|address| address.as_any());
    let mut headers = [[0_u8; WITH_CONTENT]; BATCH];
    let mut parts = [[EMPTY_PART; 2]; BATCH];
    let mut messages = [EMPTY_MESSAGE; BATCH];
    for (i, datagram) in batch.iter().enumerate() {
        let numbers = [
            datagram.sequence,
            datagram.sent.as_nanos(),
            datagram.content[0],
            datagram.content[1],
        ];
        for (place, number) in headers[i][..header].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        parts[i][0] = libc::iovec {
            iov_base: headers[i].as_mut_ptr().cast(),
            iov_len: header,
        };
        // The kernel only reads what it sends, so the constant stays one.
        parts[i][1] = libc::iovec {
            iov_base: ZEROS.as_ptr().cast_mut().cast(),
            iov_len: zeros[i],
        };
        let message = &mut messages[i].msg_hdr;
        message.msg_iov = parts[i].as_mut_ptr();
        message.msg_iovlen = 2;
        if let Some(to) = &to {
            message.msg_name = to.as_ptr().cast_mut().cast();
            message.msg_namelen = to.addr_len() as _;
        }
    }
    // SAFETY: the first `batch.len()` messages, which is all that the kernel is told of, point at `parts`, `headers`, ZEROS and `to`.
    // None of these is moved or dropped before the call returns. The first part of each is a header, or its first half. The second is as long as the
    // payload without its header: at least 0 and below LARGEST_PAYLOAD, the size of ZEROS, as both bounds were checked above. The kernel
    // reads from all of them, and writes only to `msg_len`.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            batch.len() as libc::c_uint,
            (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Appends up to [`BATCH`] datagrams that wait at `socket` to `into`, and returns how many were taken. Datagrams of
/// other programs that have no room for a header are taken and dropped.
pub(super) fn receive(
    socket: impl AsFd,
    connected: bool,
    layout: Layout,
    into: &mut Vec<Incoming>,
) -> io::Result<usize> {
    let header_length = layout.header();
    let mut headers = [[0_u8; WITH_CONTENT]; BATCH];
    let mut controls = [[0_u64; CONTROL_WORDS]; BATCH];
    let mut parts = [EMPTY_PART; BATCH];
    let mut addresses = [const { std::mem::MaybeUninit::<SocketAddrStorage>::uninit() }; BATCH];
    let mut messages = [EMPTY_MESSAGE; BATCH];
    for i in 0..BATCH {
        parts[i] = libc::iovec {
            iov_base: headers[i].as_mut_ptr().cast(),
            iov_len: header_length,
        };
        let message = &mut messages[i].msg_hdr;
        message.msg_iov = &raw mut parts[i];
        message.msg_iovlen = 1;
        if layout.content {
            message.msg_control = controls[i].as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&controls[i]) as _;
        }
        if !connected {
            message.msg_name = addresses[i].as_mut_ptr().cast();
            message.msg_namelen = size_of::<SocketAddrStorage>() as _;
        }
    }
    // SAFETY: each message points at a header, at room for control messages and at an address of the lengths given, which outlive the
    // call.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            BATCH as libc::c_uint,
            (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
            ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (message, (header, address)) in messages
        .iter()
        .zip(headers.iter().zip(&addresses))
        .take(received)
    {
        let payload = message.msg_len as usize;
        if payload < header_length {
            continue;
        }
        let from = (!connected).then(|| {
            // SAFETY: for this message the kernel wrote an address of `msg_namelen` bytes.
            unsafe { SocketAddrAny::read(address.as_ptr(), message.msg_hdr.msg_namelen as _) }
        });
        into.push(Incoming {
            sequence: number(header, 0),
            sent: Time::from_nanos(number(header, 8)),
            payload,
            // Zeros are left where nothing was read.
            content: [number(header, 16), number(header, 24)],
            ecn: if layout.content {
                // SAFETY: the kernel has set the length of the control messages that it wrote to `controls`, which still is there.
                unsafe { ecn(&message.msg_hdr) }
            } else {
                Ecn::NotEct
            },
            from: from.and_then(|from| SocketAddr::try_from(from).ok()),
        });
    }
    Ok(received)
}

/// The ECN field that came with a message: the low two bits of the byte of IPv4's TOS, or of the int of IPv6's traffic class.
///
/// # Safety
///
/// `msg_control` and `msg_controllen` of `message` must describe control messages that the kernel wrote, or none.
unsafe fn ecn(message: &libc::msghdr) -> Ecn {
    // SAFETY: the caller's promise; each control message is followed as its own length says.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            let field = match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => Some(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    Some(data.cast::<libc::c_int>().read_unaligned() as u8)
                }
                _ => None,
            };
            if let Some(field) = field {
                return Ecn::from_bits(field);
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    Ecn::NotEct
}

/// Room for one control message of an int, in words of 8 bytes.
const CONTROL_WORDS: usize = 4;

fn number(header: &[u8; WITH_CONTENT], at: usize) -> u64 {
    header[at..at + 8]
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

const EMPTY_PART: libc::iovec = libc::iovec {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};
const EMPTY_MESSAGE: libc::mmsghdr = libc::mmsghdr {
    // SAFETY: null pointers and zero lengths are a valid, empty message.
    msg_hdr: unsafe { std::mem::zeroed() },
    msg_len: 0,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::socket;
    use std::net::UdpSocket;

    const HEADER: usize = PLAIN;

    fn layout(is_ipv4: bool, content: bool) -> Layout {
        Layout { is_ipv4, content }
    }

    fn outgoing(sequence: u64) -> Outgoing {
        Outgoing {
            sequence,
            sent: Time::from_micros(sequence),
            payload: WITH_CONTENT + sequence as usize,
            content: [sequence << 40, !sequence],
        }
    }

    #[test]
    fn ip_length_is_payload_and_28_or_48() {
        let mtu = Bytes::new(1_500);
        for (is_ipv4, payload) in [(true, 1_472), (false, 1_452)] {
            for (content, header) in [(false, 16), (true, 32)] {
                let layout = layout(is_ipv4, content);
                assert_eq!(layout.payload_length(mtu), Some(payload));
                assert_eq!(layout.size(payload), mtu);
                let least = layout.least_size();
                assert_eq!(layout.payload_length(least), Some(header));
                assert_eq!(layout.payload_length(least - Bytes::new(1)), None);
                assert_eq!(layout.payload_length(Bytes::ZERO), None);
            }
        }
    }

    #[test]
    fn a_batch_arrives_with_numbers_times_sizes_and_origin() {
        for (address, content) in [
            ("127.0.0.1:0", false),
            ("[::1]:0", false),
            ("127.0.0.1:0", true),
            ("[::1]:0", true),
        ] {
            let layout = layout(address.starts_with('1'), content);
            // A host without IPv6 has nothing to test there.
            let Ok(receiver) = UdpSocket::bind(address) else {
                continue;
            };
            let sender = UdpSocket::bind(address).unwrap();
            let batch: Vec<_> = (0..100).map(outgoing).collect();
            let to = receiver.local_addr().unwrap();
            assert_eq!(send(&sender, Some(to), layout, &batch).unwrap(), BATCH);
            assert_eq!(
                send(&sender, Some(to), layout, &batch[BATCH..]).unwrap(),
                100 - BATCH
            );
            let mut arrived = Vec::new();
            assert_eq!(
                receive(&receiver, false, layout, &mut arrived).unwrap(),
                BATCH
            );
            assert_eq!(
                receive(&receiver, false, layout, &mut arrived).unwrap(),
                100 - BATCH
            );
            for (sent, came) in batch.iter().zip(&arrived) {
                assert_eq!(
                    (sent.sequence, sent.sent, sent.payload),
                    (came.sequence, came.sent, came.payload)
                );
                assert_eq!(came.from, Some(sender.local_addr().unwrap()));
                let told = if content { sent.content } else { [0; 2] };
                assert_eq!(came.content, told);
            }
            let empty = receive(&receiver, false, layout, &mut arrived).unwrap_err();
            assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn what_cannot_fit_a_datagram_is_refused_and_what_is_too_short_ignored() {
        let layout = layout(true, false);
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let with = |payload| Outgoing {
            payload,
            ..outgoing(0)
        };
        let refused = |batch: &[Outgoing]| send(&sender, None, layout, batch).unwrap_err();
        let huge = refused(&[with(HEADER), with(LARGEST_PAYLOAD + 1)]);
        assert_eq!(huge.raw_os_error(), Some(libc::EMSGSIZE));
        // Less than its own header: below zero is nothing to send.
        for payload in [0, 1, HEADER - 1] {
            let tiny = refused(&[with(HEADER), with(payload)]);
            assert_eq!(tiny.kind(), io::ErrorKind::InvalidInput, "{payload}");
        }
        sender.send(b"stray").unwrap();
        assert_eq!(send(&sender, None, layout, &[outgoing(9)]).unwrap(), 1);
        let mut arrived = Vec::new();
        assert_eq!(receive(&receiver, false, layout, &mut arrived).unwrap(), 2);
        assert_eq!(
            arrived
                .iter()
                .map(|datagram| datagram.sequence)
                .collect::<Vec<_>>(),
            [9]
        );
    }

    #[test]
    fn the_ecn_field_arrives_with_content() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let address: SocketAddr = address.parse().unwrap();
            for sent in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                for content in [false, true] {
                    let layout = layout(address.is_ipv4(), content);
                    let Ok(receiver) = socket::datagram(address, Ecn::NotEct, layout) else {
                        continue;
                    };
                    let sender = socket::datagram(address, sent, layout).unwrap();
                    let to = socket::local_address(&receiver).unwrap();
                    send(&sender, Some(to), layout, &[outgoing(1)]).unwrap();
                    let mut arrived = Vec::new();
                    receive(&receiver, false, layout, &mut arrived).unwrap();
                    let seen = if content { sent } else { Ecn::NotEct };
                    assert_eq!(arrived[0].ecn, seen, "{address} {content}");
                }
            }
        }
    }
}
