//! Sockets of a relay that stands in for every host: transparent ones (IP_TRANSPARENT of ip(7)), and datagrams with their whole TOS byte.
//!
//! A transparent socket may be bound to an address that is not this host's; the far edge answers by it in the name of the host that was
//! asked. It needs CAP_NET_RAW or CAP_NET_ADMIN over the namespace of the thread, once.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::ptr;

use rustix::net::addr::SocketAddrStorage;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketFlags, SocketType, bind, connect, listen, socket_with,
    sockopt,
};

/// Bytes of a socket's send buffer that may wait unsent, so that a backlog stays where it can be seen: in the link.
const UNSENT: i32 = 64 << 10;
/// Buffer that is asked for on each side of a socket for datagrams, in bytes.
const DATAGRAM_BUFFER: usize = 1 << 20;
/// Room for control messages: a TOS and an address with its header, each aligned, with space to spare.
const CONTROL_WORDS: usize = 16;

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of payload.
    pub length: usize,
    /// The TOS byte or the traffic class.
    pub tos: u8,
    /// Who sent it.
    pub from: Option<SocketAddr>,
    /// Where it was going, if the socket asked for that.
    pub to: Option<SocketAddr>,
}

fn open(is_ipv4: bool, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if is_ipv4 {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, kind, flags, None)?;
    if !is_ipv4 {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

fn transparent(is_ipv4: bool, kind: SocketType) -> io::Result<OwnedFd> {
    let socket = open(is_ipv4, kind)?;
    match is_ipv4 {
        true => set(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, 1)?,
        false => set(&socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1)?,
    }
    Ok(socket)
}

fn any(is_ipv4: bool) -> IpAddr {
    match is_ipv4 {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// A transparent listener for connections to any address, at `port` of the calling thread's namespace; accepted sockets are like it.
/// `control` is the congestion control of what is sent back.
pub fn stream_listener(is_ipv4: bool, port: u16, control: Option<&str>) -> io::Result<OwnedFd> {
    let socket = transparent(is_ipv4, SocketType::STREAM)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    set(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT)?;
    if let Some(control) = control {
        sockopt::set_tcp_congestion(&socket, control)?;
    }
    bind(&socket, &SocketAddr::new(any(is_ipv4), port))?;
    listen(&socket, 4096)?;
    Ok(socket)
}

/// A transparent socket for datagrams to any address, at `port` of the calling thread's namespace, which says where each was going.
pub fn datagram_listener(is_ipv4: bool, port: u16) -> io::Result<OwnedFd> {
    let socket = transparent(is_ipv4, SocketType::DGRAM)?;
    prepare_datagrams(&socket, is_ipv4)?;
    match is_ipv4 {
        true => set(&socket, libc::SOL_IP, libc::IP_RECVORIGDSTADDR, 1)?,
        false => set(&socket, libc::SOL_IPV6, libc::IPV6_RECVORIGDSTADDR, 1)?,
    }
    bind(&socket, &SocketAddr::new(any(is_ipv4), port))?;
    Ok(socket)
}

/// A transparent socket of `local`, any address, that talks with `remote` only: later datagrams between the two arrive here.
pub fn datagrams_between(local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
    let socket = transparent(local.is_ipv4(), SocketType::DGRAM)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    prepare_datagrams(&socket, local.is_ipv4())?;
    bind(&socket, &local)?;
    connect(&socket, &remote)?;
    Ok(socket)
}

/// An ordinary socket for datagrams at `local`, where others of its kind may be.
pub fn datagrams_at(local: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(local.is_ipv4(), SocketType::DGRAM)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    prepare_datagrams(&socket, local.is_ipv4())?;
    bind(&socket, &local)?;
    Ok(socket)
}

/// The same for `remote` only: its later datagrams arrive here.
pub fn datagrams_at_for(local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
    let socket = datagrams_at(local)?;
    connect(&socket, &remote)?;
    Ok(socket)
}

/// A transparent stream socket of `local`, any address, whose connection to `remote` has begun.
pub fn stream_between(local: SocketAddr, remote: SocketAddr) -> io::Result<OwnedFd> {
    let socket = transparent(local.is_ipv4(), SocketType::STREAM)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    set(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT)?;
    bind(&socket, &local)?;
    begin(socket, remote)
}

/// An ordinary socket for datagrams that talks with `remote` only.
pub fn datagrams_to(remote: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(remote.is_ipv4(), SocketType::DGRAM)?;
    prepare_datagrams(&socket, remote.is_ipv4())?;
    connect(&socket, &remote)?;
    Ok(socket)
}

/// An ordinary stream socket whose connection to `remote` has begun.
pub fn stream_to(remote: SocketAddr) -> io::Result<OwnedFd> {
    begin(open(remote.is_ipv4(), SocketType::STREAM)?, remote)
}

fn begin(socket: OwnedFd, remote: SocketAddr) -> io::Result<OwnedFd> {
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &remote) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno.into()),
    }
}

fn prepare_datagrams(socket: &OwnedFd, is_ipv4: bool) -> io::Result<()> {
    // Within net.core.rmem_max and wmem_max; what is less is what the host gives everybody.
    let _ = sockopt::set_socket_recv_buffer_size(socket, DATAGRAM_BUFFER);
    let _ = sockopt::set_socket_send_buffer_size(socket, DATAGRAM_BUFFER);
    match is_ipv4 {
        true => sockopt::set_ip_recvtos(socket, true)?,
        false => sockopt::set_ipv6_recvtclass(socket, true)?,
    }
    Ok(())
}

fn set(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads one int from `value`, which outlives the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Receives one datagram into `buffer`, without waiting. One that is longer is cut, and `length` is what there is of it.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Datagram> {
    let mut control = [0_u64; CONTROL_WORDS];
    let mut address = MaybeUninit::<SocketAddrStorage>::zeroed();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: null pointers and zero lengths are a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = address.as_mut_ptr().cast();
    message.msg_namelen = size_of::<SocketAddrStorage>() as _;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points at a buffer, at room for an address and for control messages, of the lengths given; all outlive the call.
    let received = unsafe {
        libc::recvmsg(
            socket.as_fd().as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC,
        )
    };
    let length = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    let from = (message.msg_namelen > 0).then(|| {
        // SAFETY: the kernel wrote an address of `msg_namelen` bytes.
        unsafe { SocketAddrAny::read(address.as_ptr(), message.msg_namelen as _) }
    });
    // SAFETY: the kernel has set the length of the control messages that it wrote to `control`, which still is there.
    let (tos, to) = unsafe { controls(&message) };
    Ok(Datagram {
        length,
        tos,
        from: from.and_then(|from| SocketAddr::try_from(from).ok()),
        to,
    })
}

/// The TOS byte and the original destination that came with a message.
///
/// # Safety
///
/// `msg_control` and `msg_controllen` of `message` must describe control messages that the kernel wrote, or none.
unsafe fn controls(message: &libc::msghdr) -> (u8, Option<SocketAddr>) {
    let (mut tos, mut to) = (0, None);
    // SAFETY: the caller's promise; each control message is followed as its own length says, and each is as long as the kernel makes it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => tos = data.read(),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    tos = data.cast::<libc::c_int>().read_unaligned() as u8;
                }
                (libc::IPPROTO_IP, libc::IP_RECVORIGDSTADDR) => {
                    let address = data.cast::<libc::sockaddr_in>().read_unaligned();
                    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                    to = Some(SocketAddr::new(ip.into(), u16::from_be(address.sin_port)));
                }
                (libc::IPPROTO_IPV6, libc::IPV6_RECVORIGDSTADDR) => {
                    let address = data.cast::<libc::sockaddr_in6>().read_unaligned();
                    let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
                    to = Some(SocketAddr::new(ip.into(), u16::from_be(address.sin6_port)));
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    (tos, to)
}

/// Sends one datagram by a connected socket of this family, with this TOS byte or traffic class, without waiting.
pub fn send(socket: impl AsFd, is_ipv4: bool, payload: &[u8], tos: u8) -> io::Result<()> {
    let mut control = [0_u64; 4];
    let mut part = libc::iovec {
        // The kernel only reads what it sends.
        iov_base: payload.as_ptr().cast_mut().cast(),
        iov_len: payload.len(),
    };
    // SAFETY: null pointers and zero lengths are a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = ptr::null_mut();
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    let (level, kind) = match is_ipv4 {
        true => (libc::IPPROTO_IP, libc::IP_TOS),
        false => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    let length = size_of::<libc::c_int>() as u32;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: `control` has room for one message of an int (24 of its 32 bytes) and is aligned for its header, so the first header and its
    // data lie inside it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(length) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(header)
            .cast::<libc::c_int>()
            .write_unaligned(libc::c_int::from(tos));
    }
    // SAFETY: the message points at a payload and a control message, which the kernel reads and which outlive the call.
    let sent = unsafe {
        libc::sendmsg(
            socket.as_fd().as_raw_fd(),
            &raw const message,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn the_whole_tos_byte_crosses_a_socket_of_either_family() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(receiver) = UdpSocket::bind(any) else {
                // A machine without IPv6.
                continue;
            };
            let to = receiver.local_addr().unwrap();
            let receiver: OwnedFd = receiver.into();
            prepare_datagrams(&receiver, to.is_ipv4()).unwrap();
            let sender = datagrams_to(to).unwrap();
            for tos in [0, 1, 2, 3, 0xb8, 0xff] {
                send(&sender, to.is_ipv4(), b"hello", tos).unwrap();
                let mut buffer = [0; 16];
                // Over loopback a datagram is there when it has been sent.
                let datagram = receive(&receiver, &mut buffer).unwrap();
                assert_eq!((datagram.length, datagram.tos), (5, tos), "{any}");
                assert_eq!(datagram.from.map(|from| from.ip()), Some(to.ip()));
                assert_eq!(datagram.to, None);
            }
            let empty = receive(&receiver, &mut [0; 16]).unwrap_err();
            assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        }
    }
}
