//! One end of the link: a packet socket on an interface (packet(7)).
//!
//! Frames arrive with the kernel's receive stamp (SO_TIMESTAMPNS) and the VLAN tag that it took off
//! (PACKET_AUXDATA); the interface's own outgoing frames do not arrive (PACKET_IGNORE_OUTGOING).
//! Frames that are sent pass the interface's queue discipline, which should be none (as of veth) or `fq`: that one sends them at
//! times that the link gives (SO_TXTIME).
//!
//! Nothing else should use the interface: no addresses, no forwarding. The hosts behind it may leave
//! checksums and the segmentation of TCP to it, which a link gets described in front of each frame (PACKET_VNET_HDR),
//! but no other segmentation: other frames longer than the MTU are lost and counted.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use quell_units::Bytes;
use rustix::net::sockopt;

use super::fq;

/// All protocols, in network byte order.
const ALL_PROTOCOLS: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A description stands in front of each frame; include/uapi/linux/if_packet.h.
const PACKET_VNET_HDR: i32 = 15;

/// A packet socket on one interface.
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    /// The interface's queue discipline is `fq`.
    fq: bool,
    dropped: u64,
}

/// Size of a socket's buffers in bytes, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) receive: Bytes,
    pub(crate) send: Bytes,
}

impl Port {
    /// Opens `interface` of the calling thread's network namespace. Needs CAP_NET_RAW there.
    pub fn open(interface: &str) -> io::Result<Self> {
        // Protocol 0 receives nothing until the socket is bound, with all its options set.
        // SAFETY: creates a descriptor and touches no memory.
        let fd = unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                0,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and owned by nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let index = rustix::net::netdevice::name_to_index(&socket, interface)?;
        let port = Self {
            socket,
            fq: fq::is_root_of(index),
            dropped: 0,
        };
        for option in [libc::PACKET_IGNORE_OUTGOING, libc::PACKET_AUXDATA] {
            port.set(libc::SOL_PACKET, option, &1_i32)?;
        }
        port.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        // Frames for the hosts on the other side are not addressed to this interface.
        let everything = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        port.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &everything)?;
        port.bind(index)?;
        Ok(port)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all zeroes is a valid address of this plain C struct.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL_PROTOCOLS;
        address.sll_ifindex = index as i32;
        // SAFETY: the pointer is to an address of the length given, which the kernel only reads.
        let done = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn set<T>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        // SAFETY: the pointer is to a value of the length given, which the kernel only reads.
        let done = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                level,
                option,
                (&raw const *value).cast(),
                size_of::<T>() as u32,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Whether the interface's queue discipline was `fq` when the port was opened, so that frames
    /// can be handed over ahead of their time ([`Wakeup::Ahead`](crate::Wakeup::Ahead)).
    pub fn has_fq(&self) -> bool {
        self.fq
    }

    /// Sends frames through the interface's `fq`, at the times that they come with.
    pub(crate) fn send_at_times(&self) -> io::Result<()> {
        let clock = libc::sock_txtime {
            clockid: libc::CLOCK_MONOTONIC,
            flags: 0,
        };
        self.set(libc::SOL_SOCKET, libc::SO_TXTIME, &clock)
    }

    /// From now on a description of what a host left to the interface stands in front of each frame, received or sent.
    pub(crate) fn describe_offloads(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, PACKET_VNET_HDR, &1_i32)
    }

    /// Asks for room for `size` bytes of received frames, as the kernel counts them: beyond the
    /// system's limit with CAP_NET_ADMIN, else up to it. Sent frames get as much. Returns what the
    /// kernel gave.
    pub(crate) fn set_buffer(&self, size: Bytes) -> io::Result<Buffers> {
        // The kernel doubles the number, for its own overhead.
        let half = i32::try_from(size.get() / 2)
            .unwrap_or(i32::MAX / 2)
            .min(i32::MAX / 2);
        for (force, plain) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            if self.set(libc::SOL_SOCKET, force, &half).is_err() {
                self.set(libc::SOL_SOCKET, plain, &half)?;
            }
        }
        let given = |size: rustix::io::Result<usize>| size.map(|size| Bytes::new(size as u64));
        Ok(Buffers {
            receive: given(sockopt::socket_recv_buffer_size(&self.socket))?,
            send: given(sockopt::socket_send_buffer_size(&self.socket))?,
        })
    }

    /// Frames dropped so far because the socket's buffer was full.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        let mut since_last = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut len = size_of::<libc::tpacket_stats>() as u32;
        // SAFETY: both pointers are to values that live through the call, and the length is theirs.
        let done = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut since_last).cast(),
                &raw mut len,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        self.dropped += u64::from(since_last.tp_drops);
        Ok(self.dropped)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
