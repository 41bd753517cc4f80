//! What the tests of the live world share: whether they can run, a cable between the link's ports, a TCP transfer.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test helper fails the test")]

mod cable;

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

use quell_hosts::cc;
use quell_hosts::confine::capabilities;
use quell_hosts::namespace::Namespace;
use rustix::thread::CapabilitySet;

#[allow(unused_imports, reason = "each test binary uses its own part")]
pub(crate) use cable::Cable;

/// Whether networks can be made here. If not, says so on standard error, past the harness's capture, and the test returns.
pub(crate) fn can_make_networks(test: &str) -> bool {
    let may = capabilities::effective()
        .unwrap()
        .contains(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN);
    if !may {
        not_run(test, "needs CAP_SYS_ADMIN and CAP_NET_ADMIN (run as root)");
    }
    may
}

/// Whether congestion controls can be loaded here.
pub(crate) fn can_load_bpf(test: &str) -> bool {
    if cc::loadable().is_empty() {
        not_run(test, "built without the feature bpf-cc");
        return false;
    }
    let may = capabilities::effective()
        .unwrap()
        .contains(CapabilitySet::BPF | CapabilitySet::NET_ADMIN);
    let in_host = std::fs::read_to_string("/proc/self/uid_map")
        .unwrap()
        .trim_end()
        .ends_with(" 4294967295");
    if !may || !in_host {
        not_run(
            test,
            "needs CAP_BPF and CAP_NET_ADMIN of the host (run as root)",
        );
    }
    may && in_host
}

pub(crate) use quell_testing::not_run;

/// A connection: the end that sends, and what `TCP_INFO` says of both ends once it is established.
pub(crate) struct Connection {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

/// Connects from one namespace to an address in another; `prepare` is given both the connecting and the listening socket.
pub(crate) fn connect(
    from: &Namespace,
    to: &Namespace,
    address: impl Into<IpAddr>,
    prepare: impl Fn(std::os::fd::BorrowedFd<'_>) + Sync,
) -> Connection {
    let address = address.into();
    let listener = to.run(|| TcpListener::bind((address, 0)).unwrap()).unwrap();
    prepare(listener.as_fd());
    let target = listener.local_addr().unwrap();
    let accepted = thread::spawn(move || listener.accept().unwrap().0);
    let client = from
        .run(|| {
            let family = match target {
                SocketAddr::V4(_) => rustix::net::AddressFamily::INET,
                SocketAddr::V6(_) => rustix::net::AddressFamily::INET6,
            };
            let socket =
                rustix::net::socket(family, rustix::net::SocketType::STREAM, None).unwrap();
            prepare(socket.as_fd());
            rustix::net::connect(&socket, &target).unwrap();
            TcpStream::from(socket)
        })
        .unwrap();
    Connection {
        client,
        server: accepted.join().unwrap(),
    }
}

impl Connection {
    /// Sends `bytes` from client to server and counts what comes out.
    pub(crate) fn transfer(self, bytes: usize) -> usize {
        let Self {
            mut client,
            mut server,
        } = self;
        let reader = thread::spawn(move || {
            let (mut buffer, mut received) = (vec![0; 1 << 16], 0);
            loop {
                match server.read(&mut buffer).unwrap() {
                    0 => return received,
                    more => received += more,
                }
            }
        });
        let chunk = vec![0x55; 1 << 16];
        let mut left = bytes;
        while left > 0 {
            left -= client.write(&chunk[..left.min(chunk.len())]).unwrap();
        }
        drop(client);
        reader.join().unwrap()
    }
}

/// `TCP_INFO` of a socket.
pub(crate) fn tcp_info(socket: impl AsFd) -> libc::tcp_info {
    // SAFETY: all members are integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut info).cast(),
            &mut length,
        )
    };
    assert_eq!(answer, 0, "{}", io::Error::last_os_error());
    info
}

/// Whether a socket negotiated ECN: TCPI_OPT_ECN of include/uapi/linux/tcp.h.
pub(crate) fn has_ecn(socket: impl AsFd) -> bool {
    tcp_info(socket).tcpi_options & 8 != 0
}

/// An IPv4 address outside the groups' own.
pub(crate) const SPARE: [Ipv4Addr; 2] = [
    Ipv4Addr::new(10, 77, 100, 251),
    Ipv4Addr::new(10, 77, 200, 251),
];
