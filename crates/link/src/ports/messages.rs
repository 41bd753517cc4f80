//! The arrays behind recvmmsg(2) and sendmmsg(2): made once, used for every batch.
//!
//! A frame may be sent with the time at which the interface's `fq` shall release it: an instant of
//! CLOCK_MONOTONIC in a control message of its own (SCM_TXTIME, include/uapi/linux/net_tstamp.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most frames per system call. A look-ahead interval of 5 ms brings 40 full-sized packets at
/// 100 Mbit/s and 400 at 1 Gbit/s.
pub(crate) const BATCH: usize = 256;

/// Room for the control messages of one frame: a stamp (32 bytes) and the auxiliary data (40).
const CONTROL: usize = 128;

/// A message to send: how many pieces it consists of, how many wire packets it is, and the instant of CLOCK_MONOTONIC in
/// nanoseconds at which the interface releases it; `None` for immediately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) pieces: usize,
    pub(crate) packets: usize,
    pub(crate) release: Option<u64>,
}

/// Control messages are aligned as the kernel's `cmsghdr`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// A control message with a time of release: its header (length, level, type) and 64 bits.
const RELEASE_CONTROL: usize = size_of::<libc::cmsghdr>() + size_of::<u64>();
/// The kernel's control message has the number of the option that allows it.
const SCM_TXTIME: libc::c_int = libc::SO_TXTIME;

impl Control {
    /// Makes this the control message "release at `release`".
    fn set_release(&mut self, release: u64) {
        self.0[..8].copy_from_slice(&(RELEASE_CONTROL as u64).to_ne_bytes());
        self.0[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        self.0[12..16].copy_from_slice(&SCM_TXTIME.to_ne_bytes());
        self.0[16..24].copy_from_slice(&release.to_ne_bytes());
    }
}

/// Headers, vectors and control buffers of one batch.
pub(crate) struct Messages {
    headers: Box<[libc::mmsghdr]>,
    vectors: Vec<libc::iovec>,
    controls: Box<[Control]>,
}

// SAFETY: the pointers in the arrays are set anew before each system call and are not followed
// outside of it, so the arrays may move between threads.
unsafe impl Send for Messages {}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Messages")
    }
}

/// The kernel's data about a received frame besides its bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Auxiliary {
    /// Receive stamp of CLOCK_REALTIME in nanoseconds.
    pub(crate) stamp: Option<i64>,
    /// Type and control word of the VLAN tag that the kernel took off.
    pub(crate) tag: Option<(u16, u16)>,
}

impl Messages {
    pub(crate) fn new() -> Self {
        // SAFETY: all zeroes is valid for this plain C struct: null pointers and lengths of 0.
        let header = unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        Self {
            headers: vec![header; BATCH].into_boxed_slice(),
            vectors: Vec::with_capacity(2 * BATCH),
            controls: vec![Control([0; CONTROL]); BATCH].into_boxed_slice(),
        }
    }

    /// Gives each message as many of the vectors as it has pieces, and as many bytes of its control buffer: `shape` has both.
    fn aim(&mut self, shape: impl Iterator<Item = (usize, usize)>) -> u32 {
        let vectors = self.vectors.as_mut_ptr();
        let (mut count, mut first) = (0, 0);
        for ((pieces, control), index) in shape.zip(0..BATCH) {
            assert!(first + pieces <= self.vectors.len(), "each has its own");
            let header = &mut self.headers[index].msg_hdr;
            // SAFETY: the first one lies within the vectors, as just checked.
            header.msg_iov = unsafe { vectors.add(first) };
            header.msg_iovlen = pieces as _;
            header.msg_flags = 0;
            (header.msg_control, header.msg_controllen) = match control.min(CONTROL) {
                0 => (std::ptr::null_mut(), 0),
                len => ((&raw mut self.controls[index]).cast(), len as _),
            };
            (count, first) = (count + 1, first + pieces);
        }
        count
    }

    /// Receives into the parts `(offset, len)` of `slab`, which do not overlap, and the rest of message `i` into part `i` of [`BATCH`]
    /// of `beside`, if that is not empty; returns how many were filled.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        slab: &mut [u8],
        beside: &mut [u8],
        places: impl ExactSizeIterator<Item = (usize, usize)>,
    ) -> io::Result<usize> {
        let (count, room) = (places.len(), beside.len() / BATCH);
        self.vectors.clear();
        for ((offset, len), index) in places.zip(0..BATCH) {
            self.vectors.push(vector(&mut slab[offset..offset + len]));
            if room > 0 {
                let part = &mut beside[index * room..][..room];
                self.vectors.push(vector(part));
            }
        }
        let pieces = if room > 0 { 2 } else { 1 };
        let count = self.aim(std::iter::repeat_n((pieces, CONTROL), count));
        // SAFETY: the first `count` headers point to our own control buffers and to our own vectors, with
        // their lengths, and these to parts of the memory borrowed for this call.
        let filled = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                // Lengths are those of the frames, and not of what there was room for.
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(filled).map_err(|_| io::Error::last_os_error())
    }

    /// Sends these messages, at most [`BATCH`], of the pieces `(offset, len)` of `slab` in this order; returns how many were accepted.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        slab: &mut [u8],
        parts: &[Part],
        pieces: &[(usize, usize)],
    ) -> io::Result<usize> {
        for (control, part) in self.controls.iter_mut().zip(parts) {
            if let Some(release) = part.release {
                control.set_release(release);
            }
        }
        self.vectors.clear();
        let pieces = pieces.iter();
        let vectors = pieces.map(|&(offset, len)| vector(&mut slab[offset..offset + len]));
        self.vectors.extend(vectors);
        let control = |part: &Part| part.release.map_or(0, |_| RELEASE_CONTROL);
        let count = self.aim(parts.iter().map(|part| (part.pieces, control(part))));
        // SAFETY: as for `receive`; the kernel only reads the parts of the slab and the control
        // buffers, whose first bytes were just written.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Length of received frame `index`, and whether it was longer than its part.
    pub(crate) fn received(&self, index: usize) -> (usize, bool) {
        let message = &self.headers[index];
        (
            message.msg_len as usize,
            message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        )
    }

    /// The kernel's data about received frame `index`.
    pub(crate) fn auxiliary(&self, index: usize) -> Auxiliary {
        let present = self.headers[index].msg_hdr.msg_controllen.min(CONTROL);
        parse_control(&self.controls[index].0[..present])
    }
}

fn vector(part: &mut [u8]) -> libc::iovec {
    libc::iovec {
        iov_base: part.as_mut_ptr().cast(),
        iov_len: part.len(),
    }
}

/// Walks over control messages (cmsg(3)): length, level and type, then the data, each aligned to 8.
fn parse_control(mut rest: &[u8]) -> Auxiliary {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let mut found = Auxiliary::default();
    while rest.len() >= HEADER {
        let len = long(rest, 0) as usize;
        if len < HEADER || len > rest.len() {
            break;
        }
        let data = &rest[HEADER..len];
        match (int(rest, HEADER - 8) as i32, int(rest, HEADER - 4) as i32) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if data.len() >= 16 => {
                let (seconds, nanos) = (long(data, 0) as i64, long(data, 8) as i64);
                found.stamp = seconds
                    .checked_mul(1_000_000_000)
                    .and_then(|stamp| stamp.checked_add(nanos));
            }
            // struct tpacket_auxdata: status, length, captured length (32 bits each), then offsets of
            // the headers, tag control word and tag type (16 bits each).
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) if data.len() >= 20 => {
                let status = int(data, 0);
                if status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
                        short(data, 18)
                    } else {
                        0x8100
                    };
                    found.tag = Some((protocol, short(data, 16)));
                }
            }
            _ => {}
        }
        rest = rest
            .get(len.next_multiple_of(size_of::<usize>())..)
            .unwrap_or_default();
    }
    found
}

fn short(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |chunk| u16::from_ne_bytes(*chunk))
}
fn int(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}
fn long(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |chunk| u64::from_ne_bytes(*chunk))
}

// The offsets above are those of a 64-bit kernel, the only one that quell runs on.
const _: () = assert!(size_of::<libc::cmsghdr>() == 16 && size_of::<libc::tpacket_auxdata>() == 20);

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + data.len() as u64).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn reads_the_stamp_and_the_tag_in_any_order() {
        let stamp = message(
            libc::SOL_SOCKET,
            libc::SCM_TIMESTAMPNS,
            &[3_i64.to_ne_bytes(), 5_i64.to_ne_bytes()].concat(),
        );
        let auxiliary = |status: u32, control: u16, protocol: u16| {
            let mut data = status.to_ne_bytes().to_vec();
            data.extend([0; 12]);
            data.extend(control.to_ne_bytes());
            data.extend(protocol.to_ne_bytes());
            message(libc::SOL_PACKET, libc::PACKET_AUXDATA, &data)
        };
        let (valid, typed) = (libc::TP_STATUS_VLAN_VALID, libc::TP_STATUS_VLAN_TPID_VALID);
        for (status, tag) in [
            (0, None),
            (valid, Some((0x8100, 7))),
            (valid | typed, Some((0x88a8, 7))),
        ] {
            let expected = Auxiliary {
                stamp: Some(3_000_000_005),
                tag,
            };
            let tag = auxiliary(status, 7, 0x88a8);
            assert_eq!(
                parse_control(&[stamp.clone(), tag.clone()].concat()),
                expected
            );
            assert_eq!(parse_control(&[tag, stamp.clone()].concat()), expected);
        }
    }

    #[test]
    fn a_time_of_release_is_the_control_message_that_the_kernel_expects() {
        let mut control = Control([0xff; CONTROL]);
        control.set_release(123_456_789_012);
        // sock_cmsg_send() of net/core/sock.c: level SOL_SOCKET, type 61, 64 bits.
        let expected = message(libc::SOL_SOCKET, 61, &123_456_789_012_u64.to_ne_bytes());
        assert_eq!(&control.0[..RELEASE_CONTROL], expected);
    }

    #[test]
    fn broken_control_messages_say_nothing() {
        let whole = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &[0xff; 16]);
        for cut in 0..whole.len() {
            assert_eq!(parse_control(&whole[..cut]), Auxiliary::default(), "{cut}");
        }
        assert_eq!(parse_control(&[0xff; 64]), Auxiliary::default());
        assert_eq!(parse_control(&[0; 64]), Auxiliary::default());
    }
}
