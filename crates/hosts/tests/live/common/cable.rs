//! A cable for tests: carries frames between the link's two ports, with a delay, and lets a test see and change each one.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quell_hosts::topology::{Port, Topology};
use quell_hosts::traffic::Host;

/// What a test sees of a frame on its way to a host, and may change: returning false drops it.
type Inspect = Box<dyn FnMut(Host, &mut Frame<'_>) -> bool + Send>;

pub(crate) struct Cable {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Cable {
    /// Joins the ports of a topology; every frame takes `delay`.
    pub(crate) fn join(
        topology: &Topology,
        delay: Duration,
        inspect: impl FnMut(Host, &mut Frame<'_>) -> bool + Send + 'static,
    ) -> Self {
        let open = |port: &Port| topology.link.run(|| packet_socket(port.index)).unwrap();
        let ports = [open(&topology.to_sender), open(&topology.to_receiver)];
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || carry(&ports, delay, Box::new(inspect), &stopped));
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// A cable that only carries.
    pub(crate) fn plain(topology: &Topology) -> Self {
        Self::join(topology, Duration::ZERO, |_, _| true)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.thread.take().unwrap().join();
        assert!(outcome.is_ok() || thread::panicking(), "the cable broke");
    }
}

fn carry(ports: &[OwnedFd; 2], delay: Duration, mut inspect: Inspect, stop: &AtomicBool) {
    let mut queue: VecDeque<(Instant, usize, Vec<u8>)> = VecDeque::new();
    let mut buffer = vec![0; 1 << 17];
    while !stop.load(Ordering::Relaxed) {
        let patience = queue
            .front()
            .map_or(Duration::from_millis(20), |(due, ..)| {
                due.saturating_duration_since(Instant::now())
            });
        wait(ports, patience);
        for (from, port) in ports.iter().enumerate() {
            let to = [Host::Receiver, Host::Sender][from];
            while let Some(length) = receive(port, &mut buffer) {
                if inspect(
                    to,
                    &mut Frame {
                        bytes: &mut buffer[..length],
                    },
                ) {
                    queue.push_back((Instant::now() + delay, 1 - from, buffer[..length].to_vec()));
                }
            }
        }
        while queue
            .front()
            .is_some_and(|(due, ..)| *due <= Instant::now())
        {
            let (_, to, frame) = queue.pop_front().unwrap();
            // SAFETY: the buffer outlives the call and is as long as said.
            let sent =
                unsafe { libc::send(ports[to].as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
            assert_eq!(
                sent,
                frame.len() as isize,
                "{}",
                std::io::Error::last_os_error()
            );
        }
    }
}

fn packet_socket(interface: u32) -> OwnedFd {
    let every_protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: a plain system call; the descriptor is checked and then owned here alone.
    let socket = unsafe {
        let fd = libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            0,
        );
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    };
    // Not the frames that this very cable sends.
    set(
        &socket,
        libc::SOL_PACKET,
        23, /* PACKET_IGNORE_OUTGOING */
        1,
    );
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
    set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 64 << 20);
    // SAFETY: all members are integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = every_protocol;
    address.sll_ifindex = interface as i32;
    // SAFETY: the address lives through the call and is as long as said.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        )
    };
    assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
    socket
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) {
    // SAFETY: the value lives through the call and is as long as said. A refusal (no SO_RCVBUFFORCE in a user namespace) only
    // makes the cable shorter of memory.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
}

fn wait(ports: &[OwnedFd; 2], patience: Duration) {
    let mut polled = ports.each_ref().map(|port| libc::pollfd {
        fd: port.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = libc::timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    // SAFETY: both structures live through the call; no signal mask is given.
    unsafe { libc::ppoll(polled.as_mut_ptr(), 2, &timeout, std::ptr::null()) };
}

fn receive(port: &OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the buffer lives through the call and is as long as said.
    let length = unsafe {
        libc::recv(
            port.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
    usize::try_from(length).ok()
}

/// An Ethernet frame on the cable. TCP over IPv4 and IPv6 without extensions is understood; the rest is only carried.
pub(crate) struct Frame<'a> {
    pub(crate) bytes: &'a mut [u8],
}

impl Frame<'_> {
    const IP: usize = 14;

    pub(crate) fn is_arp(&self) -> bool {
        self.bytes[12..14] == [0x08, 0x06]
    }

    fn is_v4(&self) -> bool {
        self.bytes[12..14] == [0x08, 0x00]
    }

    /// Offset of the TCP header.
    fn tcp(&self) -> Option<usize> {
        let ip = &self.bytes[Self::IP..];
        match (&self.bytes[12..14], ip) {
            ([0x08, 0x00], ip) if ip[9] == 6 => Some(Self::IP + usize::from(ip[0] & 15) * 4),
            ([0x86, 0xdd], ip) if ip[6] == 6 => Some(Self::IP + 40),
            _ => None,
        }
    }

    fn end(&self) -> usize {
        let ip = &self.bytes[Self::IP..];
        let word = |at: usize| usize::from(u16::from_be_bytes([ip[at], ip[at + 1]]));
        Self::IP + if self.is_v4() { word(2) } else { 40 + word(4) }
    }

    /// Bytes of TCP payload; none when it is no TCP.
    pub(crate) fn payload(&self) -> usize {
        self.tcp().map_or(0, |tcp| {
            self.end() - tcp - usize::from(self.bytes[tcp + 12] >> 4) * 4
        })
    }

    /// TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.
    pub(crate) fn flags(&self) -> u8 {
        self.tcp().map_or(0, |tcp| self.bytes[tcp + 13])
    }

    /// ECN field of an IPv4 packet: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub(crate) fn ecn(&self) -> u8 {
        if self.is_v4() {
            self.bytes[Self::IP + 1] & 3
        } else {
            0
        }
    }

    /// Sets CE on an IPv4 packet; the header checksum is updated (RFC 1624).
    pub(crate) fn mark_ce(&mut self) {
        assert!(self.is_v4());
        let header = &mut self.bytes[Self::IP..Self::IP + 20];
        header[1] |= 3;
        header[10..12].fill(0);
        let sum = !ones_complement(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Whether the TCP checksum is right; true when it is no TCP.
    pub(crate) fn checksum_is_right(&self) -> bool {
        let Some(tcp) = self.tcp() else { return true };
        let ip = &self.bytes[Self::IP..];
        let segment = &self.bytes[tcp..self.end()];
        let addresses = if self.is_v4() {
            &ip[12..20]
        } else {
            &ip[8..40]
        };
        let pseudo = [
            addresses,
            &(segment.len() as u32).to_be_bytes(),
            &[0, 0, 0, 6],
        ]
        .concat();
        let mut all = pseudo;
        all.extend_from_slice(segment);
        ones_complement(&all) == 0xffff
    }
}

/// RFC 1071.
fn ones_complement(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
