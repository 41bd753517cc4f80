//! Looking ahead, with a kernel that has `fq`: the same packets leave at the same times as when the
//! link wakes for each, in the same order.
//!
//! What the kernel does is judged by its own receive stamps at the host, against the times that the
//! link decided on: never early, and no later than when the link woke for each.

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{Topology, Unobserved, can_run, direction, note, receive_stamped, set_option};
use quell_aqm::{Departure, Drop, Observer, Packet as _};
use quell_link::{
    ConfigError, Descriptor, Direction, DirectionConfig, Error, GroupConfig, Hop, Link, LinkChange,
    LinkConfig, Port, Wakeup,
};
use quell_testing::{Missed, Run, Turn, bound, live};
use quell_units::{Rate, Time};

const MS: fn(u64) -> Time = Time::from_millis;
/// One-way delays of the two groups.
const DELAYS: [Time; 2] = [Time::from_millis(10), Time::from_millis(35)];
/// Datagrams to each group, by turns.
const COUNT: u32 = 150;

/// The end of each transmission, by group.
#[derive(Default)]
struct Ends([Vec<Time>; 2]);

impl Observer<Descriptor> for Ends {
    fn dropped(&mut self, packet: Descriptor, _drop: Drop, _now: Time) {
        panic!("dropped {packet:?}");
    }
    fn departed(&mut self, packet: &Descriptor, departure: &Departure) {
        if let Some(group) = packet.group()
            && packet.len().get() > 100
        {
            self.0[usize::from(group)].push(departure.end);
        }
    }
}

fn config(wakeup: Wakeup) -> LinkConfig {
    let queue = || direction(Rate::from_mbps(20), "fifo", &[("limit", "1000p")]);
    let mut config = LinkConfig::new(queue(), queue());
    config.wakeup = Some(wakeup);
    config.groups = (0..).zip(DELAYS).map(group).collect();
    // The rate changes twice while the queue is full, and a parameter once.
    let of = Direction::Forward;
    config.changes = vec![
        (MS(130), rate(of, 60)),
        (MS(135), configure(of, "limit", "900p")),
        (MS(140), rate(of, 15)),
        (MS(128), rate(Direction::Reverse, 40)),
    ];
    config
}

fn group((index, delay): (u16, Time)) -> GroupConfig {
    GroupConfig {
        port: 5_001 + index,
        delay,
        ..GroupConfig::default()
    }
}

fn rate(direction: Direction, mbps: u64) -> LinkChange {
    LinkChange::SetRate {
        hop: Hop::FIRST,
        direction,
        rate: Rate::from_mbps(mbps),
    }
}

fn configure(direction: Direction, key: &str, value: &str) -> LinkChange {
    LinkChange::Configure {
        hop: Hop::FIRST,
        direction,
        key: key.to_string(),
        value: value.to_string(),
    }
}

/// Numbers in the order of their coming, with stamps since `epoch`.
fn drain(socket: &UdpSocket, epoch: Time) -> Vec<(u32, Time)> {
    socket
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    // CLOCK_REALTIME − CLOCK_MONOTONIC; neither is set while the test runs.
    let real = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let offset = real.unwrap().as_nanos() as u64 - quell_link::monotonic().as_nanos();
    let arrived = std::iter::from_fn(|| receive_stamped(socket)).map(|(bytes, stamp)| {
        let number = u32::from_be_bytes(*bytes.first_chunk().unwrap());
        (number, Time::from_nanos(stamp - offset) - epoch)
    });
    arrived.collect()
}

/// Each number once and in order, never before its time; returns by how much each was late.
fn lateness(arrived: &[(u32, Time)], ends: &[Time], delay: Time) -> Result<Vec<Time>, Missed> {
    let numbers: Vec<_> = arrived.iter().map(|(number, _)| *number).collect();
    assert_eq!(
        numbers,
        (0..COUNT).collect::<Vec<_>>(),
        "each once, in order"
    );
    assert_eq!(arrived.len(), ends.len());
    // The two clocks are read one after the other, and something else may run in between.
    let slack = Time::from_micros(50);
    let mut late = Vec::new();
    for (&(number, at), &end) in arrived.iter().zip(ends) {
        bound!(
            at + slack >= end + delay,
            "{number} at {at}, {end} + {delay}"
        );
        late.push(at - (end + delay));
    }
    late.sort_unstable();
    Ok(late)
}

#[test]
fn each_packet_leaves_at_its_time_however_the_link_is_woken() {
    let test = "each_packet_leaves_at_its_time_however_the_link_is_woken";
    live(test, |run| leaves_at_its_time(test, run));
}

fn leaves_at_its_time(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    if !topology.add_fq(test) {
        return Ok(());
    }
    // The largest median of what was late when the link woke for releases.
    let mut woken = Time::ZERO;
    for wakeup in [Wakeup::PerPacket, Wakeup::Lazy, Wakeup::Ahead] {
        let left = topology.left.udp("10.9.0.1:4000");
        let right = [5_001, 5_002].map(|port| topology.right.udp(&format!("10.9.0.2:{port}")));
        for socket in right.iter().chain([&left]) {
            set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        }
        let config = config(wakeup);
        let epoch = config.epoch;
        let mut arrived = Vec::new();
        let (report, [forward, reverse]) =
            topology.with_link(config, [Ends::default(), Ends::default()], || {
                // Who is where is found out first, and leaves nothing in the sockets.
                left.send_to(&[0; 4], right[0].local_addr().unwrap())
                    .unwrap();
                right[0].recv(&mut [0; 8]).unwrap();
                std::thread::sleep(Duration::from_millis(30));
                for number in 0..COUNT {
                    let mut datagram = number.to_be_bytes().to_vec();
                    // A full-sized one for the first group, a small one for the second.
                    datagram.resize(1_472, 0);
                    left.send_to(&datagram, right[0].local_addr().unwrap())
                        .unwrap();
                    datagram.resize(300, 0);
                    left.send_to(&datagram, right[1].local_addr().unwrap())
                        .unwrap();
                    right[1]
                        .send_to(&datagram, left.local_addr().unwrap())
                        .unwrap();
                }
                arrived = [&right[0], &right[1], &left]
                    .map(|socket| drain(socket, epoch))
                    .into();
            });
        note(run, &report, DELAYS[0] * 2);
        let sent = [
            (&forward.0[0], DELAYS[0]),
            (&forward.0[1], DELAYS[1]),
            (&reverse.0[1], DELAYS[1]),
        ];
        let mut worst = Time::ZERO;
        for (arrived, (ends, delay)) in arrived.iter().zip(sent) {
            let late = lateness(arrived, ends, delay)?;
            let (half, most) = (late[late.len() / 2], late[late.len() - 1]);
            eprintln!("{wakeup:?}, {delay}: late p50 {half}, max {most}");
            worst = worst.max(half);
        }
        if wakeup == Wakeup::Ahead {
            // How late they are is the machine's business; the kernel is no later than the link was.
            bound!(worst <= woken.max(DELAYS[0] / 4), "{worst}, woken: {woken}");
        } else {
            woken = woken.max(worst);
        }
        let judged = report.forward.lateness;
        assert!(report.forward.is_conserved() && report.reverse.is_conserved());
        bound!(report.lost_outside() == 0, "{report:#?}");
        if wakeup == Wakeup::Ahead {
            // 450 packets in 200 ms: one look per 5 ms, and a few while nothing flows.
            assert!(report.ahead, "{report:#?}");
            bound!(report.looks < 150, "{report:#?}");
            // Those that were handed over before their time are not late.
            bound!(judged.p50 <= worst, "{report:#?}");
        }
    }
    Ok(())
}

#[test]
fn what_the_kernel_still_holds_at_the_end_is_inside_the_link() {
    let test = "what_the_kernel_still_holds_at_the_end_is_inside_the_link";
    let _turn = Turn::take();
    if !can_run(test) {
        return;
    }
    let topology = Topology::new();
    if !topology.add_fq(test) {
        return;
    }
    let (left, right) = (
        topology.left.udp("10.9.0.1:4000"),
        topology.right.udp("10.9.0.2:5002"),
    );
    let ports = topology
        .link
        .run(|| ["left", "right"].map(|port| Port::open(port).unwrap()));
    assert!(ports.iter().all(Port::has_fq));
    let [a, b] = ports;
    let config = LinkConfig {
        groups: vec![group((1, MS(60)))],
        wakeup: None,
        ..LinkConfig::new(
            DirectionConfig::unlimited(1_500),
            DirectionConfig::unlimited(1_500),
        )
    };
    let mut link = Link::new(config, a, b, [Unobserved, Unobserved]).unwrap();
    let never = AtomicBool::new(false);
    // Neighbours find each other.
    left.send_to(&[0; 4], right.local_addr().unwrap()).unwrap();
    link.run(link.now() + MS(200), &never).unwrap();
    right.recv(&mut [0; 8]).unwrap();
    let before = link.report().unwrap().forward;
    for _ in 0..10 {
        left.send_to(&[0; 100], right.local_addr().unwrap())
            .unwrap();
    }
    // Told to stop at once, it looks once more.
    link.run(Time::MAX, &AtomicBool::new(true)).unwrap();
    let held = link.report().unwrap().forward;
    assert_eq!(held.transmitted, before.transmitted, "{held:#?}");
    assert_eq!((held.inside.delay_line, held.inside.egress), (10, 0));
    assert!(held.is_conserved(), "{held:#?}");
    // The kernel sends them without the link.
    for _ in 0..10 {
        right.recv(&mut [0; 200]).unwrap();
    }
    let after = link.report().unwrap().forward;
    assert_eq!(after.transmitted, before.transmitted + 10, "{after:#?}");
    assert!(
        after.inside.total() == 0 && after.is_conserved(),
        "{after:#?}"
    );
}

#[test]
fn looking_ahead_without_fq_is_refused() {
    let test = "looking_ahead_without_fq_is_refused";
    let _turn = Turn::take();
    if !can_run(test) {
        return;
    }
    let topology = Topology::new();
    let ports = topology
        .link
        .run(|| ["left", "right"].map(|port| Port::open(port).unwrap()));
    assert!(!ports.iter().any(Port::has_fq));
    let [a, b] = ports;
    let refused = Link::new(config(Wakeup::Ahead), a, b, [Unobserved, Unobserved]).unwrap_err();
    assert!(
        matches!(refused, Error::Config(ConfigError::NoFq)),
        "{refused}"
    );
}
