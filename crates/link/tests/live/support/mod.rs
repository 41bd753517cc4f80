//! Two hosts and a link between them, each in a network namespace that lives as long as its
//! descriptor.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod raw;

use std::fs::File;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quell_aqm::impair::Impairer;
use quell_aqm::{Discipline, Drop, Link as LinkOf, Observer, disciplines};
use quell_link::{Descriptor, DirectionConfig, Link, LinkConfig, LinkReport, Port};
use quell_testing::{Run, not_run};
use quell_units::{Random, Rate, Settings, Time};

/// Whether the live test of this name can run; a line about it where it cannot.
pub fn can_run(test: &str) -> bool {
    // SAFETY: no arguments, no memory.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        not_run(
            test,
            "needs root, for network namespaces and packet sockets",
        );
    }
    is_root
}

/// Takes down how late a link was, in a test whose shortest base RTT is `rtt`: a twentieth of it leaves no doubt.
pub fn note(run: &mut Run, report: &LinkReport, rtt: Time) {
    let ms = |time: Time| time.as_nanos() as f64 / 1e6;
    for direction in [&report.forward, &report.reverse] {
        run.was_late(ms(direction.lateness.p99), ms(rtt) / 20.0);
    }
}

/// A network namespace.
pub struct Namespace(File);

impl Namespace {
    pub fn new() -> Self {
        let file = std::thread::spawn(|| {
            assert_eq!(
                // SAFETY: changes only which network this new thread sees.
                unsafe { libc::unshare(libc::CLONE_NEWNET) },
                0,
                "{}",
                io::Error::last_os_error()
            );
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        Self(file.join().unwrap())
    }
    /// Runs `work` on a thread inside.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                assert_eq!(
                    // SAFETY: changes only which network this new thread sees.
                    unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) },
                    0
                );
                work()
            });
            thread.join().unwrap()
        })
    }
    /// Runs `ip` inside, once for each line of `script`.
    pub fn ip(&self, script: &str) {
        self.run(|| {
            for line in script
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
            {
                let output = Command::new("ip")
                    .args(line.split_whitespace())
                    .output()
                    .unwrap();
                assert!(
                    output.status.success(),
                    "ip {line}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        });
    }
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
    /// A UDP socket inside, on `address`.
    pub fn udp(&self, address: &str) -> UdpSocket {
        let socket = self.run(|| UdpSocket::bind(address)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 8 << 20);
        let _ = try_option(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
        let _ = try_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1);
        socket
    }
}

/// left host — link — right host: 10.9.0.1, 10.9.0.2; fd09::1, fd09::2.
pub struct Topology {
    pub left: Namespace,
    pub link: Namespace,
    pub right: Namespace,
}

impl Topology {
    pub fn new() -> Self {
        let made = Self {
            left: Namespace::new(),
            link: Namespace::new(),
            right: Namespace::new(),
        };
        let ipv6 = std::fs::exists("/proc/sys/net/ipv6").unwrap();
        made.link
            .run(|| write_if_there("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"));
        made.link.ip(&format!(
            "link add left type veth peer name eth0 netns {}
             link add right type veth peer name eth0 netns {}
             link set left up
             link set right up",
            made.left.path(),
            made.right.path(),
        ));
        for (host, number) in [(&made.left, 1), (&made.right, 2)] {
            host.run(|| {
                // What hosts say of their own accord is said before a link listens: reports of multicast groups come at once,
                // not within a random second, and nobody looks for routers or for another with its address.
                for (key, value) in [
                    ("mldv1_unsolicited_report_interval", "1"),
                    ("mldv2_unsolicited_report_interval", "1"),
                    ("router_solicitations", "0"),
                    ("accept_dad", "0"),
                ] {
                    write_if_there(&format!("/proc/sys/net/ipv6/conf/eth0/{key}"), value);
                }
                // A burst before the first answer of ARP waits; Linux's default drops most of it.
                for family in ["ipv4", "ipv6"] {
                    let limit = format!("/proc/sys/net/{family}/neigh/eth0/unres_qlen_bytes");
                    write_if_there(&limit, "8000000");
                }
            });
            host.ip(&format!(
                "link set lo up
                 link set eth0 up
                 addr add 10.9.0.{number}/24 dev eth0"
            ));
            if ipv6 {
                host.ip(&format!("addr add fd09::{number}/64 dev eth0 nodad"));
            }
        }
        made
    }

    /// Gives both ports of the link an `fq` that does nothing but keep frames until their times.
    /// Whether this kernel has one; says that `test` did not run if not.
    pub fn add_fq(&self, test: &str) -> bool {
        let mut done = true;
        for port in ["left", "right"] {
            let words = format!(
                "qdisc replace dev {port} root fq nopacing limit 1000000 flow_limit 1000000 quantum 1048576 \
                 initial_quantum 1048576 orphan_mask 4294967295 timer_slack 0"
            );
            done &= self.link.run(|| {
                let tc = Command::new("tc").args(words.split_whitespace()).output();
                tc.is_ok_and(|output| output.status.success())
            });
        }
        if !done {
            not_run(test, "this kernel has no fq, or this machine no tc");
        }
        done
    }

    /// A link with `config` between the hosts, while `work` is done; and a while longer, so that
    /// what is on its way arrives.
    pub fn with_link<O: Observer<Descriptor> + Send>(
        &self,
        config: LinkConfig,
        observers: [O; 2],
        work: impl FnOnce(),
    ) -> (LinkReport, [O; 2]) {
        let link = self.open(config, ["left", "right"], observers);
        let [result] = run([link], work);
        result
    }

    /// Two links in a row, left host — first — second — right host, while `work` is done.
    pub fn with_two_links<O: Observer<Descriptor> + Send>(
        &self,
        configs: [LinkConfig; 2],
        observers: [[O; 2]; 2],
        work: impl FnOnce(),
    ) -> [(LinkReport, [O; 2]); 2] {
        self.link.ip("link add between1 type veth peer name between2
             link set between1 up
             link set between2 up");
        let [first, second] = configs;
        let [observe_first, observe_second] = observers;
        let links = [
            self.open(first, ["left", "between1"], observe_first),
            self.open(second, ["between2", "right"], observe_second),
        ];
        let results = run(links, work);
        self.link.ip("link del between1");
        results
    }

    fn open<O: Observer<Descriptor> + Send>(
        &self,
        config: LinkConfig,
        ports: [&str; 2],
        observers: [O; 2],
    ) -> Link<O> {
        let [a, b] = self
            .link
            .run(|| ports.map(|interface| Port::open(interface).unwrap()));
        Link::new(config, a, b, observers).unwrap()
    }
}

/// Each of `links` on a thread of its own, until `work` is done.
fn run<O: Observer<Descriptor> + Send, const LINKS: usize>(
    links: [Link<O>; LINKS],
    work: impl FnOnce(),
) -> [(LinkReport, [O; 2]); LINKS] {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        let threads = links.map(|mut link| {
            scope.spawn(move || {
                link.run(Time::MAX, stop).unwrap();
                link
            })
        });
        {
            let _stops_also_after_a_panic = Stops(stop);
            work();
        }
        threads.map(|thread| {
            let (report, observers) = thread.join().unwrap().finish().unwrap();
            let observers = observers.try_into().ok();
            (report, observers.expect("one for each direction"))
        })
    })
}

struct Stops<'a>(&'a AtomicBool);

impl std::ops::Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sets what this kernel has: one without IPv6 lacks its settings.
fn write_if_there(path: &str, value: &str) {
    match std::fs::write(path, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        outcome => outcome.unwrap(),
    }
}

fn try_option(socket: &impl AsRawFd, level: i32, option: i32, value: i32) -> bool {
    // SAFETY: the pointer is to a value of the length given.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            4,
        ) == 0
    }
}

pub fn set_option(socket: &impl AsRawFd, level: i32, option: i32, value: i32) {
    assert!(
        try_option(socket, level, option, value),
        "{}",
        io::Error::last_os_error()
    );
}

/// Sets the ECN field of what `socket` sends.
pub fn send_with_ecn(socket: &UdpSocket, ecn: i32) {
    if !try_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, ecn) {
        set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, ecn);
    }
}

/// One datagram and its traffic class; `None` if none comes in time.
pub fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, u8)> {
    let mut bytes = vec![0; 65_536];
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeroes is a valid header.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: everything that the header points to lives through the call.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    bytes.truncate(usize::try_from(len).ok()?);
    // SAFETY: the kernel filled the control buffer; the walk stays inside its length.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(found) = message.as_ref() {
            if matches!(
                (found.cmsg_level, found.cmsg_type),
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
            ) {
                return Some((bytes, *libc::CMSG_DATA(message)));
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Some((bytes, 0))
}

/// One datagram and the kernel's receive stamp of it in nanoseconds (SO_TIMESTAMPNS); `None` if none
/// comes in time.
pub fn receive_stamped(socket: &UdpSocket) -> Option<(Vec<u8>, u64)> {
    let mut bytes = vec![0; 65_536];
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeroes is a valid header.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: everything that the header points to lives through the call.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    bytes.truncate(usize::try_from(len).ok()?);
    // SAFETY: the kernel filled the control buffer; the walk stays inside its length.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(found) = message.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let stamp = libc::CMSG_DATA(message)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return Some((bytes, (stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec) as u64));
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    panic!("a datagram without a stamp");
}

/// A direction with the discipline `kind`.
pub fn direction(rate: Rate, kind: &str, settings: &[(&str, &str)]) -> DirectionConfig {
    let mut table = Settings::new(disciplines::find(kind).unwrap().parameters);
    for (key, value) in settings {
        table.set(key, value).unwrap();
    }
    let link = LinkOf {
        rate,
        mtu: quell_units::Bytes::new(1_500),
    };
    let discipline = Discipline::new(kind, table, link, Random::new(1, kind)).unwrap();
    DirectionConfig {
        rate,
        framing: Default::default(),
        service: Default::default(),
        impairer: Impairer::new(None, 0, "none"),
        discipline,
        markers: Vec::new(),
        passage: None,
        values: Default::default(),
    }
}

/// Sees nothing.
#[derive(Debug)]
pub struct Unobserved;

impl Observer<Descriptor> for Unobserved {
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
}

/// Sends `count` datagrams of `len` bytes, numbered, and returns the numbers that arrive, with
/// their traffic classes.
pub fn burst(from: &UdpSocket, to: &UdpSocket, count: u32, len: usize) -> Vec<(u32, u8)> {
    let destination = to.local_addr().unwrap();
    for number in 0..count {
        let mut datagram = number.to_be_bytes().to_vec();
        datagram.resize(len, 0);
        from.send_to(&datagram, destination).unwrap();
    }
    let mut arrived = Vec::new();
    while (arrived.len() as u32) < count {
        // A stopped link or a busy machine may keep the first one waiting; the rest follow soon.
        let patience = if arrived.is_empty() { 5_000 } else { 1_000 };
        to.set_read_timeout(Some(Duration::from_millis(patience)))
            .unwrap();
        let Some((datagram, class)) = receive(to) else {
            break;
        };
        arrived.push((u32::from_be_bytes(*datagram.first_chunk().unwrap()), class));
    }
    arrived
}
