//! Sockets as the flows need them; nothing here blocks.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::time::Duration;

use quell_units::Ecn;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, getsockname, listen, socket_with,
};

use super::datagram::Layout;

/// Buffer requested on each side of a datagram socket: 20 ms of 600 Mbit/s would suffice, the rest is for bursts.
const DATAGRAM_BUFFER: usize = 4 << 20;

/// linux/sockios.h; libc does not have it.
const SIOCOUTQNSD: libc::Ioctl = 0x894B;

fn open(address: IpAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket_with(
        family,
        kind,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

/// A stream socket at `address`, to connect from. It gets a port only when it connects: a port can then be used whose earlier
/// connection is in TIME_WAIT, and a flow that opens one connection after another does not run out of ports.
pub(super) fn client(address: IpAddr) -> io::Result<OwnedFd> {
    let socket = open(address, SocketType::STREAM)?;
    set_integer(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    bind(&socket, &SocketAddr::new(address, 0))?;
    prepare_stream(&socket)?;
    Ok(socket)
}

/// Options of both ends of a stream: small writes leave immediately. [`set_endless`] ends that for bulk data.
pub(super) fn prepare_stream(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, true)?)
}

/// Makes closing a stream drop unsent data; otherwise the kernel would keep sending it after the run.
pub(super) fn set_abort_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// A stream socket at `address`, for [`start_listening`].
pub(super) fn listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(address.ip(), SocketType::STREAM)?;
    // Connections of an earlier run in TIME_WAIT do not hold the port; a listener still does.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}

/// Begins to listen, with as long a queue of connections as the host allows (`net.core.somaxconn`).
pub(super) fn start_listening(socket: impl AsFd) -> io::Result<()> {
    Ok(listen(socket, 65_535)?)
}

/// The next waiting connection and its source address; `None` if there is none.
pub(super) fn accept(listener: impl AsFd) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
    match acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok((socket, peer)) => {
            let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
            Ok(peer.map(|peer| (socket, peer)))
        }
        // A connection that was gone before it was accepted is nobody's.
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// A datagram socket at `address` (port 0: a free one), its packets carrying `ecn`, never in fragments. It says the ECN field of
/// what arrives, if its datagrams have content.
pub(super) fn datagram(address: SocketAddr, ecn: Ecn, layout: Layout) -> io::Result<OwnedFd> {
    let socket = open(address.ip(), SocketType::DGRAM)?;
    if address.is_ipv4() {
        sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?;
        sockopt::set_ip_tos(&socket, ecn as u8)?;
    } else {
        sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)?;
        sockopt::set_ipv6_tclass(&socket, ecn as u32)?;
    }
    if layout.has_content() {
        let (level, option) = if address.is_ipv4() {
            (libc::IPPROTO_IP, libc::IP_RECVTOS)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
        };
        set_integer(&socket, level, option, 1)?;
    }
    // Beyond the host's limits with CAP_NET_ADMIN; otherwise up to them, silently.
    if sockopt::set_socket_recv_buffer_size_force(&socket, DATAGRAM_BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, DATAGRAM_BUFFER)?;
    }
    if sockopt::set_socket_send_buffer_size_force(&socket, DATAGRAM_BUFFER).is_err() {
        sockopt::set_socket_send_buffer_size(&socket, DATAGRAM_BUFFER)?;
    }
    bind(&socket, &address)?;
    Ok(socket)
}

/// Chooses the congestion control of a socket, or of the connections that a listener will accept.
pub(super) fn set_control(socket: impl AsFd, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, name)?)
}

/// Paces a stream at the rate that the kernel works out for it: 200 % of a window per RTT in slow start and 120 %
/// afterwards, or what the control says. Setting a limit turns the socket's own pacing on; this one is out of reach.
pub(super) fn set_paced(socket: impl AsFd) -> io::Result<()> {
    // The largest value of a signed int is 17 Gbit/s, which a fast host reaches; u64 is taken since Linux 4.20.
    let rate: u64 = 1 << 62;
    // SAFETY: the kernel reads eight bytes from `rate`, which outlives the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The address that a socket is bound to.
pub(super) fn local_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(getsockname(socket)?)?)
}

/// Declares a stream bulk data: a partial segment waits for more (Nagle, RFC 896) instead of leaving alone.
pub(super) fn set_endless(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, false)?)
}

/// Keeps at most about `bytes` written and not yet sent; more would only use memory and be sent after the flow's stop.
pub(super) fn set_unsent_limit(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    set_integer(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Wakes the receiver only when this many bytes can be read, or the stream has ended.
pub(super) fn set_wake_threshold(socket: impl AsFd, bytes: usize) -> io::Result<()> {
    set_integer(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Bytes written and not yet sent.
pub(super) fn unsent(socket: impl AsFd) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int to `bytes`, which outlives the call.
    let answer = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCOUTQNSD, &mut bytes) };
    if answer == 0 {
        Ok(usize::try_from(bytes).unwrap_or(0))
    } else {
        Err(io::Error::last_os_error())
    }
}

fn set_integer(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: usize,
) -> io::Result<()> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
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

/// Packets that the kernel has dropped because this socket's receive buffer was full.
pub(super) fn receive_drops(socket: impl AsFd) -> io::Result<u64> {
    let mut counters = [0_u32; libc::SK_MEMINFO_DROPS as usize + 1];
    let mut length = size_of_val(&counters) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `counters`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            counters.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from(counters[libc::SK_MEMINFO_DROPS as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_app::{Datagrams, Interval};
    use quell_units::{Bytes, Time};

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_second_listener_at_one_port_is_refused() {
        let first = listener(SocketAddr::new(HERE, 0)).unwrap();
        start_listening(&first).unwrap();
        let second = listener(local_address(&first).unwrap()).and_then(start_listening);
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn datagram_sockets_carry_the_ecn_field_of_their_group() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let interval = Interval {
                mean: Time::from_millis(20),
                stddev: Time::ZERO,
            };
            let datagrams = Datagrams::plain(Bytes::new(200), interval);
            let layout = Layout::of(datagrams, true);
            let socket = datagram(SocketAddr::new(HERE, 0), ecn, layout).unwrap();
            assert_eq!(sockopt::ip_tos(&socket).unwrap(), ecn as u8);
            assert_eq!(receive_drops(&socket).unwrap(), 0);
        }
    }

    #[test]
    fn a_paced_socket_has_a_limit_that_nothing_reaches() {
        let limit = |socket: &OwnedFd| {
            let mut rate = 0_u64;
            let mut length = size_of_val(&rate) as libc::socklen_t;
            // SAFETY: the kernel writes at most `length` bytes into `rate`.
            let answer = unsafe {
                libc::getsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_MAX_PACING_RATE,
                    (&raw mut rate).cast(),
                    &mut length,
                )
            };
            assert_eq!((answer, length), (0, 8));
            rate
        };
        let socket = client(HERE).unwrap();
        assert_eq!(limit(&socket), u64::MAX, "none, and no pacing");
        set_paced(&socket).unwrap();
        assert_eq!(limit(&socket), 1 << 62);
    }

    #[test]
    fn an_unknown_control_is_not_found() {
        let error = set_control(client(HERE).unwrap(), "nosuchcontrol").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
