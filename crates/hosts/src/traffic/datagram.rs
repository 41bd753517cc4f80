//! Batches of datagrams: one system call for up to 64, headers only.
//!
//! A payload begins with its sequence number and its time of sending (ns of the run), both 64 bits big-endian; the rest is
//! zeros, which are never copied: sending points at one constant, receiving lets the kernel cut them off (MSG_TRUNC).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _};
use std::ptr;

use quell_units::{Bytes, Time};
use rustix::net::SocketAddrAny;
use rustix::net::addr::{SocketAddrArg as _, SocketAddrStorage};

/// Datagrams per system call.
pub(super) const BATCH: usize = 64;

const HEADER: usize = 16;
const LARGEST_PAYLOAD: usize = 65_507;
static ZEROS: [u8; LARGEST_PAYLOAD] = [0; LARGEST_PAYLOAD];

/// A datagram that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) sequence: u64,
    pub(super) sent: Time,
    pub(super) payload: usize,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) sequence: u64,
    pub(super) sent: Time,
    pub(super) payload: usize,
    /// Where it came from, `None` on a connected socket.
    pub(super) from: Option<SocketAddr>,
}

/// Bytes that IP and UDP add to a payload.
pub(super) const fn header_length(is_ipv4: bool) -> Bytes {
    Bytes::new(if is_ipv4 { 20 + 8 } else { 40 + 8 })
}

/// The payload of a datagram of IP length `size`: `None` if it has no room for sequence number and time.
pub(super) fn payload_length(size: Bytes, is_ipv4: bool) -> Option<usize> {
    let payload = size.get().checked_sub(header_length(is_ipv4).get())?;
    let payload = usize::try_from(payload).unwrap_or(usize::MAX);
    (payload >= HEADER).then_some(payload)
}

/// The smallest IP length that [`payload_length`] accepts.
pub(super) fn least_size(is_ipv4: bool) -> Bytes {
    header_length(is_ipv4) + Bytes::new(HEADER as u64)
}

/// Sends as many datagrams of `batch` as there is room for, at most [`BATCH`], and returns how many. An error concerns the first
/// one.
///
/// A payload that has no room for sequence number and time is refused with `InvalidInput`, one that is too long for a datagram with
/// EMSGSIZE; nothing of the batch is sent then.
pub(super) fn send(
    socket: impl AsFd,
    to: Option<SocketAddr>,
    batch: &[Outgoing],
) -> io::Result<usize> {
    let batch = &batch[..batch.len().min(BATCH)];
    // How much of a payload is zeros: what follows the header.
    let mut zeros = [0; BATCH];
    for (zeros, datagram) in zeros.iter_mut().zip(batch) {
        *zeros = datagram
            .payload
            .checked_sub(HEADER)
            .ok_or(io::ErrorKind::InvalidInput)?;
        if datagram.payload > LARGEST_PAYLOAD {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
    }
    let to = to.map(|address| address.as_any());
    let mut headers = [[0_u8; HEADER]; BATCH];
    let mut parts = [[EMPTY_PART; 2]; BATCH];
    let mut messages = [EMPTY_MESSAGE; BATCH];
    for (i, datagram) in batch.iter().enumerate() {
        headers[i][..8].copy_from_slice(&datagram.sequence.to_be_bytes());
        headers[i][8..].copy_from_slice(&datagram.sent.as_nanos().to_be_bytes());
        parts[i][0] = libc::iovec {
            iov_base: headers[i].as_mut_ptr().cast(),
            iov_len: HEADER,
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
    // None of these is moved or dropped before the call returns. The first part of each is a whole header. The second is as long as the
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
    into: &mut Vec<Incoming>,
) -> io::Result<usize> {
    let mut headers = [[0_u8; HEADER]; BATCH];
    let mut parts = [EMPTY_PART; BATCH];
    let mut addresses = [const { std::mem::MaybeUninit::<SocketAddrStorage>::uninit() }; BATCH];
    let mut messages = [EMPTY_MESSAGE; BATCH];
    for i in 0..BATCH {
        parts[i] = libc::iovec {
            iov_base: headers[i].as_mut_ptr().cast(),
            iov_len: HEADER,
        };
        let message = &mut messages[i].msg_hdr;
        message.msg_iov = &raw mut parts[i];
        message.msg_iovlen = 1;
        if !connected {
            message.msg_name = addresses[i].as_mut_ptr().cast();
            message.msg_namelen = size_of::<SocketAddrStorage>() as _;
        }
    }
    // SAFETY: each message points at a header and at an address of the lengths given, which outlive the call.
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
        if payload < HEADER {
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
            from: from.and_then(|from| SocketAddr::try_from(from).ok()),
        });
    }
    Ok(received)
}

fn number(header: &[u8; HEADER], at: usize) -> u64 {
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
    use std::net::UdpSocket;

    fn outgoing(sequence: u64) -> Outgoing {
        Outgoing {
            sequence,
            sent: Time::from_micros(sequence),
            payload: 16 + sequence as usize,
        }
    }

    #[test]
    fn ip_length_is_payload_and_28_or_48() {
        assert_eq!(payload_length(Bytes::new(1_500), true), Some(1_472));
        assert_eq!(payload_length(Bytes::new(1_500), false), Some(1_452));
        for is_ipv4 in [true, false] {
            let least = least_size(is_ipv4);
            assert_eq!(payload_length(least, is_ipv4), Some(HEADER));
            assert_eq!(payload_length(least - Bytes::new(1), is_ipv4), None);
            assert_eq!(payload_length(Bytes::ZERO, is_ipv4), None);
        }
    }

    #[test]
    fn a_batch_arrives_with_numbers_times_sizes_and_origin() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A host without IPv6 has nothing to test there.
            let Ok(receiver) = UdpSocket::bind(address) else {
                continue;
            };
            let sender = UdpSocket::bind(address).unwrap();
            let batch: Vec<_> = (0..100).map(outgoing).collect();
            let to = receiver.local_addr().unwrap();
            assert_eq!(send(&sender, Some(to), &batch).unwrap(), BATCH);
            assert_eq!(
                send(&sender, Some(to), &batch[BATCH..]).unwrap(),
                100 - BATCH
            );
            let mut arrived = Vec::new();
            assert_eq!(receive(&receiver, false, &mut arrived).unwrap(), BATCH);
            assert_eq!(
                receive(&receiver, false, &mut arrived).unwrap(),
                100 - BATCH
            );
            for (sent, came) in batch.iter().zip(&arrived) {
                assert_eq!(
                    (sent.sequence, sent.sent, sent.payload),
                    (came.sequence, came.sent, came.payload)
                );
                assert_eq!(came.from, Some(sender.local_addr().unwrap()));
            }
            let empty = receive(&receiver, false, &mut arrived).unwrap_err();
            assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn what_cannot_fit_a_datagram_is_refused_and_what_is_too_short_ignored() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let with = |payload| Outgoing {
            payload,
            ..outgoing(0)
        };
        let refused = |batch: &[Outgoing]| send(&sender, None, batch).unwrap_err();
        let huge = refused(&[with(HEADER), with(LARGEST_PAYLOAD + 1)]);
        assert_eq!(huge.raw_os_error(), Some(libc::EMSGSIZE));
        // Less than its own header: below zero is nothing to send.
        for payload in [0, 1, HEADER - 1] {
            let tiny = refused(&[with(HEADER), with(payload)]);
            assert_eq!(tiny.kind(), io::ErrorKind::InvalidInput, "{payload}");
        }
        sender.send(b"stray").unwrap();
        assert_eq!(send(&sender, None, &[outgoing(9)]).unwrap(), 1);
        let mut arrived = Vec::new();
        assert_eq!(receive(&receiver, false, &mut arrived).unwrap(), 2);
        assert_eq!(
            arrived
                .iter()
                .map(|datagram| datagram.sequence)
                .collect::<Vec<_>>(),
            [9]
        );
    }
}
