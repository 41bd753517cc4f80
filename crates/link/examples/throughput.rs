//! How fast and how exact the link is on this machine: as root,
//!
//! ```text
//! cargo run --release -p quell-link --example throughput -- [RATE_MBPS] [SECONDS] [tcp|udp] [FLOWS] [ONE_WAY_DELAY_MS] [lazy|packet]
//! ```
//!
//! Both hosts run on the same processors as the link. `udp` sends 1 500-byte packets faster than
//! the link and judges the rate by the receiver's kernel stamps; `tcp` sends bulk flows.

#![allow(clippy::unwrap_used)]

#[path = "../tests/live/support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quell_link::{GroupConfig, LinkConfig, Wakeup};
use quell_units::{Rate, Time};
use support::{Topology, Unobserved, direction, set_option};

const PORT: u16 = 5_001;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &str| {
        arguments
            .get(index)
            .cloned()
            .unwrap_or_else(|| default.to_string())
    };
    let number = |index, default| argument(index, default).parse::<u64>().expect("a number");
    let (mbps, seconds, flows) = (number(0, "100"), number(1, "5"), number(3, "1"));
    let rate = Rate::from_mbps(mbps);
    // A stall of the sender must not empty the queue.
    let udp = argument(2, "tcp") == "udp";
    let mut config = LinkConfig::new(
        direction(
            rate,
            "fifo",
            &[("limit", if udp { "200ms" } else { "20ms" })],
        ),
        quell_link::DirectionConfig::unlimited(1_500),
    );
    config.groups.push(GroupConfig {
        port: PORT,
        delay: Time::from_millis(number(4, "5")),
        ..GroupConfig::default()
    });
    config.wakeup = match argument(5, "").as_str() {
        "lazy" => Some(Wakeup::Lazy),
        "packet" => Some(Wakeup::PerPacket),
        _ => None,
    };
    let topology = Topology::new();
    let duration = Duration::from_secs(seconds);
    let (report, _) = if udp {
        let (from, to) = (
            topology.left.udp("10.9.0.1:4000"),
            topology.right.udp(&format!("10.9.0.2:{PORT}")),
        );
        topology.with_link(config, [Unobserved, Unobserved], || {
            flood(&from, &to, rate, duration)
        })
    } else {
        topology.with_link(config, [Unobserved, Unobserved], || {
            bulk(&topology, flows, rate, duration)
        })
    };
    let (forward, reverse) = (&report.forward, &report.reverse);
    println!(
        "forward: {} received, {} transmitted, {} dropped, {} late arrivals, {} retried",
        forward.received,
        forward.transmitted,
        forward.dropped,
        forward.late_arrivals,
        forward.retried
    );
    println!(
        "lateness: p50 {} p99 {} max {}; reverse p50 {} p99 {}",
        forward.lateness.p50,
        forward.lateness.p99,
        forward.lateness.max,
        reverse.lateness.p50,
        reverse.lateness.p99
    );
    println!(
        "thread: {:.1} % of a processor, {} wake-ups, {} looks; lost outside: {}, conserved: {}, pool exhausted: {}",
        100.0 * report.cpu_share(),
        report.wakeups,
        report.looks,
        report.lost_outside(),
        forward.is_conserved() && reverse.is_conserved(),
        report.pool_exhausted,
    );
}

/// Keeps the queue full with UDP and compares the rate at the receiver with the link's.
fn flood(from: &std::net::UdpSocket, to: &std::net::UdpSocket, rate: Rate, duration: Duration) {
    let done = AtomicBool::new(false);
    let destination = to.local_addr().unwrap();
    set_option(to, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A fifth faster than the link, in bursts of a millisecond.
            let start = Instant::now();
            let mut sent = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let due = start.elapsed().as_secs_f64() * rate.as_bps() as f64 * 1.2 / 12_000.0;
                while (sent as f64) < due {
                    let _ = from.send_to(&[0; 1_472], destination);
                    sent += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut first = None;
        let mut last = 0;
        let mut packets = 0_u64;
        let end = Instant::now() + duration;
        while Instant::now() < end {
            let Some(stamp) = receive_stamp(to) else {
                break;
            };
            // The queue fills before the measurement starts.
            packets += 1;
            if packets == 200 {
                first = Some(stamp);
            }
            last = stamp;
        }
        done.store(true, Ordering::Relaxed);
        if let Some(first) = first {
            let measured = (packets - 200) as f64 * 12_000.0 / ((last - first) as f64 / 1e9);
            let ppm = (measured / rate.as_bps() as f64 - 1.0) * 1e6;
            println!(
                "udp: {:.4} Mbit/s of IP, rate error {ppm:.1} ppm over {packets} packets",
                measured / 1e6
            );
        }
    });
}

/// The kernel's stamp of the next datagram, in nanoseconds.
fn receive_stamp(socket: &impl AsRawFd) -> Option<i64> {
    let mut byte = 0_u8;
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: all zeroes is a valid header; what it points to lives through the call; the walk over
    // the control messages stays inside the length that the kernel wrote.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        if libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) < 0 {
            return None;
        }
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(found) = message.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let stamp = libc::CMSG_DATA(message)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return Some(stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec);
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    None
}

/// Bulk TCP flows from left to right.
fn bulk(topology: &Topology, flows: u64, rate: Rate, duration: Duration) {
    let listener = topology
        .right
        .run(|| TcpListener::bind(("10.9.0.2", PORT)))
        .unwrap();
    let (done, received) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..flows {
            let mut sender = topology
                .left
                .run(|| TcpStream::connect(("10.9.0.2", PORT)))
                .unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            let (done, received) = (&done, &received);
            scope.spawn(move || {
                let chunk = vec![0; 256 << 10];
                while !done.load(Ordering::Relaxed) && sender.write_all(&chunk).is_ok() {}
            });
            scope.spawn(move || {
                let mut chunk = vec![0; 256 << 10];
                while let Ok(len @ 1..) = receiver.read(&mut chunk) {
                    received.fetch_add(len as u64, Ordering::Relaxed);
                }
            });
        }
        // Slow start is not judged.
        std::thread::sleep(Duration::from_secs(1));
        let (start, before) = (Instant::now(), received.load(Ordering::Relaxed));
        std::thread::sleep(duration);
        let bytes = received.load(Ordering::Relaxed) - before;
        let goodput = bytes as f64 * 8.0 / start.elapsed().as_secs_f64();
        // 1 448 bytes of payload in each 1 500-byte packet.
        let used = goodput * 1_500.0 / 1_448.0 / rate.as_bps() as f64;
        println!(
            "tcp: goodput {:.2} Mbit/s, utilisation {:.2} %",
            goodput / 1e6,
            used * 100.0
        );
        done.store(true, Ordering::Relaxed);
    });
}
