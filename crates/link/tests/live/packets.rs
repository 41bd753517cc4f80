//! Real packets between two namespaces, through a real link: ratios and orders. Rates and delays are `bound!`s, which a busy machine
//! excuses (`quell_testing::live`); everything else holds on any machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{
    Topology, Unobserved, burst, can_run, direction, note, receive, send_with_ecn,
};
use quell_aqm::impair::rules::{Outcome, Rule};
use quell_aqm::impair::{Impairer, Impairment};
use quell_aqm::{Departure, Drop, Observer};
use quell_link::{
    CodePoints, Descriptor, Direction, DirectionConfig, Ect1, Error, GroupConfig, Hop, Link,
    LinkChange, LinkConfig, Port, Wakeup,
};
use quell_testing::{Missed, Run, bound, live};
use quell_units::{Bytes, Rate, Time};

const MS: fn(u64) -> Time = Time::from_millis;

fn config(forward: DirectionConfig) -> LinkConfig {
    LinkConfig::new(forward, DirectionConfig::unlimited(1_500))
}

fn group(port: u16, delay: Time) -> GroupConfig {
    GroupConfig {
        port,
        delay,
        ..GroupConfig::default()
    }
}

/// Every transmission.
#[derive(Default)]
struct Log(Vec<Departure>);

impl Observer<Descriptor> for Log {
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
    fn departed(&mut self, _packet: &Descriptor, departure: &Departure) {
        self.0.push(*departure);
    }
}

#[test]
fn shapes_to_its_rate_in_order_and_without_loss_however_it_is_woken() {
    let test = "shapes_to_its_rate_in_order_and_without_loss_however_it_is_woken";
    live(test, |run| shapes(test, run));
}

fn shapes(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    for wakeup in [Wakeup::PerPacket, Wakeup::Lazy] {
        let config = LinkConfig {
            groups: vec![group(5_001, MS(10))],
            wakeup: Some(wakeup),
            ..config(direction(
                Rate::from_mbps(10),
                "fifo",
                &[("limit", "1000p")],
            ))
        };
        let (sender, receiver) = (
            topology.left.udp("10.9.0.1:4000"),
            topology.right.udp("10.9.0.2:5001"),
        );
        let (report, [log, _]) =
            topology.with_link(config, [Log::default(), Log::default()], || {
                // What waits for the first answer of ARP may be overtaken by what comes after it.
                assert_eq!(burst(&sender, &receiver, 1, 4).len(), 1);
                // 200 packets of 1 250 bytes take 200 ms.
                let start = Instant::now();
                let arrived: Vec<_> = burst(&sender, &receiver, 200, 1_222)
                    .iter()
                    .map(|arrival| arrival.0)
                    .collect();
                let elapsed = start.elapsed().as_secs_f64();
                assert_eq!(arrived, (0..200).collect::<Vec<_>>());
                // Never sooner; how much later is the machine's business.
                assert!(elapsed >= 0.21, "{wakeup:?}: {elapsed} s for 200 + 10 ms");
            });
        note(run, &report, MS(20));
        let forward = report.forward.clone();
        assert!(
            forward.is_conserved() && report.reverse.is_conserved(),
            "{report:#?}"
        );
        assert_eq!(
            (forward.dropped, report.lost_outside()),
            (0, 0),
            "{report:#?}"
        );
        // All of ours are through; a host may have said something else of its own accord, even at the end.
        let bypassed = forward.bypassed;
        let strays =
            bypassed.arp + bypassed.neighbour_discovery + bypassed.other + forward.unclassified;
        assert_eq!(forward.received, 201 + strays, "{report:#?}");
        assert!(forward.inside.total() <= strays, "{report:#?}");
        assert!(
            (201..=201 + strays).contains(&forward.lateness.count),
            "{report:#?}"
        );
        // The burst is one busy period, if the sender was not kept from sending it: its decisions are exact.
        let packets: Vec<_> = log
            .0
            .iter()
            .filter(|departure| departure.link_bytes.get() == 1_250)
            .collect();
        let (first, last) = (packets.first().unwrap(), packets.last().unwrap());
        let busy = (last.end - first.start).as_nanos() as f64;
        bound!((0.999..1.005).contains(&(busy / 200e6)), "{busy}");
        // It sleeps in between.
        assert!(report.cpu_share() < 0.5, "{report:#?}");
    }
    Ok(())
}

#[test]
fn each_direction_delays_by_half_of_the_groups_base_rtt() {
    let test = "each_direction_delays_by_half_of_the_groups_base_rtt";
    live(test, |run| delays(test, run));
}

fn delays(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let groups = vec![group(5_001, MS(15)), group(5_002, MS(45))];
    let config = LinkConfig {
        groups,
        ..config(direction(Rate::from_mbps(100), "fifo", &[]))
    };
    let sender = topology.left.udp("10.9.0.1:4000");
    let receivers = [
        topology.right.udp("10.9.0.2:5001"),
        topology.right.udp("10.9.0.2:5002"),
    ];
    let mut found = Vec::new();
    let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
        for (receiver, base_rtt) in receivers.iter().zip([0.030, 0.090]) {
            let mut round_trips = Vec::new();
            for _ in 0..8 {
                let start = Instant::now();
                sender
                    .send_to(b"there", receiver.local_addr().unwrap())
                    .unwrap();
                receive(receiver).unwrap();
                receiver
                    .send_to(b"back", sender.local_addr().unwrap())
                    .unwrap();
                receive(&sender).unwrap();
                round_trips.push(start.elapsed().as_secs_f64());
            }
            // The first round needs ARP, which is not delayed.
            let least = round_trips.into_iter().fold(f64::MAX, f64::min);
            found.push(least / base_rtt);
        }
    });
    note(run, &report, MS(30));
    assert!(found.iter().all(|ratio| *ratio >= 1.0), "{found:?}");
    bound!(found.iter().all(|ratio| *ratio < 1.1), "{found:?}");
    Ok(())
}

#[test]
fn marks_and_the_rewritten_codepoint_reach_the_wire_with_valid_checksums() {
    let test = "marks_and_the_rewritten_codepoint_reach_the_wire_with_valid_checksums";
    live(test, |run| marks(test, run));
}

fn marks(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    for (from, to) in [
        ("10.9.0.1:4000", "10.9.0.2:5001"),
        ("[fd09::1]:4000", "[fd09::2]:5001"),
    ] {
        let groups = vec![GroupConfig {
            ect1: Ect1::All,
            ..group(5_001, MS(5))
        }];
        let config = LinkConfig {
            groups,
            ..config(direction(Rate::from_mbps(10), "dualpi2", &[]))
        };
        let (sender, receiver) = (topology.left.udp(from), topology.right.udp(to));
        let mut classes = [0_u64; 4];
        let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
            send_with_ecn(&sender, 2);
            // The receiver's kernel drops what has a wrong header checksum.
            for (_, class) in burst(&sender, &receiver, 100, 1_000) {
                assert_eq!(class & 0xfc, 0);
                classes[usize::from(class & 3)] += 1;
            }
        });
        note(run, &report, MS(10));
        let [not_ect, ect1, ect0, ce] = classes;
        assert_eq!(
            (not_ect, ect0, ect1 + ce),
            (0, 0, 100),
            "{from}: {report:#?}"
        );
        // 100 packets at 10 Mbit/s queue for far more than the step threshold of 1 ms.
        bound!(ce > 50 && ect1 > 0, "{classes:?}");
        assert_eq!(
            (report.forward.marked, report.forward.ect1_rewritten),
            (ce, 100)
        );
        // Arrivals and departures are distinguished.
        let came = CodePoints {
            ect0: 100,
            ..CodePoints::default()
        };
        let left = CodePoints {
            ect1,
            ce,
            ..CodePoints::default()
        };
        // The kernel of a side may send something of its own over IPv6.
        let ours = |of: CodePoints| CodePoints { not_ect: 0, ..of };
        assert_eq!(
            (ours(report.forward.came), ours(report.forward.left)),
            (came, left)
        );
        assert!(
            report.forward.is_conserved() && report.lost_outside() == 0,
            "{report:#?}"
        );
        if from.starts_with('[') {
            assert!(
                report.forward.bypassed.neighbour_discovery > 0,
                "{report:#?}"
            );
        } else {
            assert!(
                report.forward.bypassed.arp > 0 && report.reverse.bypassed.arp > 0,
                "{report:#?}"
            );
        }
    }
    Ok(())
}

#[test]
fn super_packets_of_tcp_cross_the_queue_as_wire_packets_and_arrive_whole() {
    let test = "super_packets_of_tcp_cross_the_queue_as_wire_packets_and_arrive_whole";
    live(test, |run| super_packets(test, run));
}

fn super_packets(test: &str, run: &mut Run) -> Result<(), Missed> {
    const BYTES: usize = 12_000_000;
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let has_v6 = std::fs::exists("/proc/sys/net/ipv6").unwrap();
    let other = if has_v6 { "fd09::2" } else { "10.9.0.2" };
    // The last one keeps more than its pool holds.
    for (host, zeros, delay, frames) in [
        ("10.9.0.2", false, MS(3), 1 << 16),
        (other, true, MS(3), 1 << 16),
        (other, false, MS(60), LinkConfig::FEWEST_FRAMES),
    ] {
        let is_short = delay == MS(3);
        let limit = if is_short { "60p" } else { "4000p" };
        let config = LinkConfig {
            groups: vec![group(5_001, delay)],
            frames,
            zeros,
            ..config(direction(Rate::from_mbps(200), "fifo", &[("limit", limit)]))
        };
        let byte = |at: usize| if zeros { 0 } else { (at * at / 7) as u8 };
        let sent: Vec<u8> = (0..BYTES).map(byte).collect();
        let mut arrived = vec![9; BYTES];
        let at = (host, 5_001);
        let listener = topology.right.run(|| TcpListener::bind(at).unwrap());
        let (report, [log, _]) =
            topology.with_link(config, [Log::default(), Log::default()], || {
                let mut to = topology.left.run(|| TcpStream::connect(at).unwrap());
                let (mut from, _) = listener.accept().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| to.write_all(&sent).unwrap());
                    from.read_exact(&mut arrived).unwrap();
                });
            });
        note(run, &report, delay * 2);
        assert!(arrived == sent && report.lost_outside() == 0, "{report:#?}");
        let (dropped, exhausted) = (report.forward.dropped, report.pool_exhausted);
        assert_eq!((dropped > 0, exhausted > 0), (is_short, !is_short));
        let sizes = log.0.iter().map(|departure| departure.link_bytes.get());
        assert_eq!(sizes.max(), Some(1_500), "the queue sees wire packets");
        assert!(log.0.len() >= BYTES / 1_460, "{} packets", log.0.len());
    }
    Ok(())
}

#[test]
fn a_full_queue_drops_and_nothing_else_does() {
    let test = "a_full_queue_drops_and_nothing_else_does";
    live(test, |run| drops(test, run));
}

fn drops(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let config = LinkConfig {
        groups: vec![group(5_001, MS(2))],
        ..config(direction(Rate::from_mbps(20), "fifo", &[("limit", "20p")]))
    };
    let (sender, receiver) = (
        topology.left.udp("10.9.0.1:4000"),
        topology.right.udp("10.9.0.2:5001"),
    );
    let mut arrived = Vec::new();
    let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
        arrived = burst(&sender, &receiver, 300, 1_000);
    });
    note(run, &report, MS(4));
    let arrived = arrived.len() as u64;
    assert!(arrived >= 21, "{arrived}");
    // At 20 Mbit/s a packet takes 0.4 ms, and the burst comes within a few of them.
    bound!(arrived < 60, "{arrived}");
    // What the hosts send of their own accord (IPv6) may find the queue full as well.
    let own = report.forward.unclassified;
    let dropped = report.forward.dropped.checked_sub(300 - arrived);
    assert!(dropped.is_some_and(|others| others <= own), "{report:#?}");
    assert!(
        report.forward.is_conserved() && report.lost_outside() == 0,
        "{report:#?}"
    );
    Ok(())
}

#[test]
fn an_empty_pool_makes_packets_wait_and_loses_none() {
    let test = "an_empty_pool_makes_packets_wait_and_loses_none";
    live(test, |run| waits(test, run));
}

fn waits(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    for delay in [MS(0), MS(5)] {
        let config = LinkConfig {
            groups: vec![group(5_001, delay)],
            frames: LinkConfig::FEWEST_FRAMES,
            ..config(direction(
                Rate::from_mbps(50),
                "fifo",
                &[("limit", "2000p")],
            ))
        };
        // So many more than slots that the link cannot make room for the last ones while they are sent.
        let packets = LinkConfig::FEWEST_FRAMES + 476;
        let (sender, receiver) = (
            topology.left.udp("10.9.0.1:4000"),
            topology.right.udp("10.9.0.2:5001"),
        );
        let mut arrived = Vec::new();
        let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
            // What waits for the first answer of ARP comes at once, more than Linux takes from a veth.
            assert_eq!(burst(&sender, &receiver, 1, 4).len(), 1);
            arrived = burst(&sender, &receiver, packets, 1_000);
        });
        note(run, &report, MS(10));
        assert_eq!(arrived.len() as u32, packets, "{report:#?}");
        bound!(report.pool_exhausted > 0, "{report:#?}");
        assert!(
            report.forward.is_conserved() && report.lost_outside() == 0,
            "{report:#?}"
        );
        assert!(
            report.cpu_share() < 0.5,
            "waits without spinning: {report:#?}"
        );
    }
    Ok(())
}

#[test]
fn planned_changes_happen_at_their_logical_times() {
    let test = "planned_changes_happen_at_their_logical_times";
    live(test, |run| changes(test, run));
}

fn changes(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let mut config = LinkConfig {
        groups: vec![group(5_001, MS(5))],
        ..config(direction(Rate::ZERO, "fifo", &[("limit", "1000p")]))
    };
    // Stopped for the first half second, then 20 Mbit/s.
    let rate = Rate::from_mbps(20);
    config.changes.push((
        MS(500),
        LinkChange::SetRate {
            hop: Hop::FIRST,
            direction: Direction::Forward,
            rate,
        },
    ));
    let (sender, receiver) = (
        topology.left.udp("10.9.0.1:4000"),
        topology.right.udp("10.9.0.2:5001"),
    );
    let (report, [log, _]) = topology.with_link(config, [Log::default(), Log::default()], || {
        assert_eq!(burst(&sender, &receiver, 50, 1_222).len(), 50);
    });
    note(run, &report, MS(10));
    // The burst was there before.
    bound!(log.0[0].start == MS(500), "{:?}", log.0[0]);
    assert_eq!(
        log.0
            .iter()
            .filter(|departure| departure.link_bytes.get() == 1_250)
            .count(),
        50
    );
    bound!(
        log.0
            .windows(2)
            .take(40)
            .all(|pair| pair[0].end == pair[1].start),
        "{:?}",
        log.0
    );
    Ok(())
}

#[test]
fn an_idle_link_sleeps_and_an_interface_that_goes_away_ends_it() {
    let test = "an_idle_link_sleeps_and_an_interface_that_goes_away_ends_it";
    live(test, |run| sleeps(test, run));
}

fn sleeps(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    let (left, right) = topology
        .link
        .run(|| (Port::open("left").unwrap(), Port::open("right").unwrap()));
    let groups = vec![group(5_001, MS(5))];
    let config = LinkConfig {
        groups,
        ..config(direction(Rate::from_mbps(10), "dualpi2", &[]))
    };
    let mut link = Link::new(config, left, right, [Unobserved, Unobserved]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    link.run(MS(600), &stop).unwrap();
    let report = link.report().unwrap();
    note(run, &report, MS(10));
    // At most ten a second on its own account, and what the hosts' start-up sends.
    bound!(
        report.wakeups < 60 && report.cpu_share() < 0.05,
        "{report:#?}"
    );
    topology.link.ip("link set left down");
    let error = link.run(MS(60_000), &stop).unwrap_err();
    let Error::System(error) = error else {
        panic!("{error}")
    };
    assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN), "{error}");
    assert!(topology.link.run(|| Port::open("nowhere")).is_err());
    Ok(())
}

/// A transfer of packets that are longer than the way takes, over one of both protocols; what of it arrives, and what the sender then
/// knows of its way.
fn through_a_tunnel(topology: &Topology, server: &str, signal: bool) -> (usize, String) {
    let mut tunnel = Rule::all("tunnel", Outcome::Drop);
    (tunnel.longer, tunnel.signal) = (Some(Bytes::new(1_400)), signal);
    let impairment = Impairment {
        rules: vec![tunnel],
        ..Impairment::default()
    };
    let mut forward = DirectionConfig::unlimited(1_500);
    forward.impairer = Impairer::new(Some(impairment), 1, "tunnel");
    let config = LinkConfig {
        groups: vec![group(5_001, MS(5))],
        ..config(forward)
    };
    let address = format!("{server}:5001");
    let listener = topology.right.run(|| TcpListener::bind(&address)).unwrap();
    let (mut arrived, mut route) = (0, String::new());
    let (report, _) = topology.with_link(config, [Unobserved, Unobserved], || {
        let sender = topology.left.run(|| TcpStream::connect(&address));
        let (mut sender, mut receiver) = (sender.unwrap(), listener.accept().unwrap().0);
        let patience = Some(Duration::from_secs(2));
        sender.set_write_timeout(patience).unwrap();
        receiver.set_read_timeout(patience).unwrap();
        let writer = std::thread::spawn(move || {
            let _ = sender.write_all(&[7; 1_000_000]);
        });
        let mut bytes = Vec::new();
        let _ = receiver.read_to_end(&mut bytes);
        arrived = bytes.len();
        writer.join().unwrap();
        let mut ip = Command::new("ip");
        ip.args(["route", "get", server.trim_matches(['[', ']'])]);
        let said = topology.left.run(|| ip.output().unwrap()).stdout;
        route = String::from_utf8(said).unwrap();
    });
    let both = [&report.forward, &report.reverse];
    assert!(both.iter().all(|way| way.is_conserved()), "{report:#?}");
    (arrived, route)
}

#[test]
fn a_sender_that_hears_what_fits_sends_that_and_one_that_does_not_is_stuck() {
    if !can_run("a_sender_that_hears_what_fits_sends_that_and_one_that_does_not_is_stuck") {
        return;
    }
    let (arrived, route) = through_a_tunnel(&Topology::new(), "10.9.0.2", false);
    assert!(arrived == 0 && !route.contains("mtu"), "{arrived} {route}");
    let ipv6 = std::fs::exists("/proc/sys/net/ipv6").unwrap();
    for server in ["10.9.0.2", "[fd09::2]"].iter().take(1 + usize::from(ipv6)) {
        let (arrived, route) = through_a_tunnel(&Topology::new(), server, true);
        assert!(
            arrived == 1_000_000 && route.contains("mtu 1400"),
            "{arrived} {route}"
        );
    }
}
