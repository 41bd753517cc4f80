//! Packet values in real headers, through one real link and through two in a row.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::support::raw::RawSocket;
use crate::support::{Topology, can_run, direction, note};
use quell_aqm::marker::{MARKERS, Marker};
use quell_aqm::value::{CodeScale, ValueFunction};
use quell_aqm::{Drop, Observer, Packet as _, QueueId};
use quell_link::{
    Descriptor, DirectionConfig, GroupConfig, LinkConfig, OnWire, WireValues, value_field,
};
use quell_testing::{Missed, Run, Turn, bound, live};
use quell_units::{Random, Rate, Settings, Time};

/// The values that the queue sees of our packets, which their size distinguishes from others'.
#[derive(Default)]
struct Values(Vec<u16>);

/// Payload of our datagrams.
const PAYLOAD: usize = 1_000;

impl Observer<Descriptor> for Values {
    fn enqueued(&mut self, _queue: QueueId, packet: &Descriptor, _now: Time) {
        if packet.len().get() > PAYLOAD as u64 {
            self.0.push(packet.value());
        }
    }
    fn dropped(&mut self, packet: Descriptor, drop: Drop, now: Time) {
        // Others were seen as they came in.
        if !drop.queued {
            self.enqueued(drop.queue, &packet, now);
        }
    }
}

/// What carries a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// IPv4 with DF set.
    Atomic,
    /// IPv4 without.
    Fragmentable,
    /// IPv6, whose flow label has this above its 16 low bits.
    Ipv6(u32),
}

const ALL: [Over; 3] = [Over::Atomic, Over::Fragmentable, Over::Ipv6(0xb0000)];

/// A frame whose field holds `field`.
fn frame(over: Over, field: u16, number: u8) -> Vec<u8> {
    let network = match over {
        Over::Ipv6(upper) => {
            let header = etherparse::Ipv6Header {
                flow_label: (upper | u32::from(field)).try_into().unwrap(),
                hop_limit: 64,
                source: [0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                destination: [0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
                ..Default::default()
            };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        }
        over => {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, 0.into(), [10, 9, 0, 1], [10, 9, 0, 2]).unwrap();
            header.identification = field;
            header.dont_fragment = over == Over::Atomic;
            etherparse::IpHeaders::Ipv4(header, Default::default())
        }
    };
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ip(network)
        .udp(4_000, 5_001)
        .write(&mut frame, &[number; PAYLOAD])
        .unwrap();
    frame
}

/// Sends `sent` and returns what arrives of it, one by one and in order.
fn exchange(from: &RawSocket, to: &RawSocket, sent: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let arrives = |sent: &Vec<u8>| {
        from.send(sent);
        // The hosts' own start-up is not ours.
        std::iter::from_fn(|| to.receive())
            .find(|frame| frame[..6] == sent[..6])
            .expect("a frame was lost")
    };
    sent.iter().map(arrives).collect()
}

fn config(values: OnWire) -> LinkConfig {
    let forward = DirectionConfig {
        values,
        ..direction(Rate::from_mbps(50), "fifo", &[])
    };
    LinkConfig::new(forward, DirectionConfig::unlimited(1_500))
}

#[test]
fn fields_are_values_only_where_the_link_is_told_so() {
    let test = "fields_are_values_only_where_the_link_is_told_so";
    let _turn = Turn::take();
    if !can_run(test) {
        return;
    }
    let topology = Topology::new();
    let (left, right) = (
        RawSocket::open(&topology.left, "eth0"),
        RawSocket::open(&topology.right, "eth0"),
    );
    let fields = [0, 1, 700, 0xffff];
    let sent: Vec<_> = ALL
        .iter()
        .flat_map(|&over| fields.map(|field| (over, field)))
        .collect();
    let frames: Vec<_> = (0..)
        .zip(&sent)
        .map(|(number, &(over, field))| frame(over, field, number))
        .collect();
    for (read, write) in [(false, false), (true, false), (false, true), (true, true)] {
        let on_wire = OnWire { read, write };
        let mut received = Vec::new();
        let (report, [values, _]) = topology.with_link(
            config(on_wire),
            [Values::default(), Values::default()],
            || {
                received = exchange(&left, &right, &frames);
            },
        );
        let carried = |over: Over| over != Over::Fragmentable;
        let value = |&(over, field): &(Over, u16)| if read && carried(over) { field } else { 0 };
        let expected: Vec<_> = sent.iter().map(value).collect();
        assert_eq!(values.0, expected, "{on_wire:?}");
        // With nobody who marks, what was read is what is written; what was not read is unmarked, a written 0.
        for ((sent, frame), received) in sent.iter().zip(&frames).zip(&received) {
            let mut expected = frame.clone();
            if write {
                value_field::set(&mut expected[14..], value(sent));
            }
            assert_eq!(received, &expected, "{on_wire:?} {sent:?}");
        }
        let counts = report.forward.values;
        assert_eq!(counts.not_carried, 0, "{on_wire:?}");
        // Others' packets are of either kind.
        assert!(counts.written >= u64::from(write) * 8, "{counts:?}");
        assert_eq!(counts.written > 0, write, "{counts:?}");
        assert!(counts.read >= u64::from(read) * 6, "{counts:?}");
        assert_eq!(counts.read > 0, read, "{counts:?}");
        assert!(report.forward.is_conserved(), "{report:#?}");
        assert_eq!(report.reverse.values, WireValues::default());
    }
}

/// A marker for each group, of the functions `functions`.
fn markers(functions: &[&str]) -> Vec<Option<Marker>> {
    let marker = |(group, name): (usize, &&str)| {
        let function = ValueFunction::named(name, CodeScale::default()).unwrap();
        let settings = Settings::new(MARKERS[0].parameters);
        let random = Random::new(1, &format!("marker.{group}"));
        Marker::new(MARKERS[0].name, &settings, &[function], random).ok()
    };
    functions.iter().enumerate().map(marker).collect()
}

/// The first bottleneck knows flows and has room, the second knows only values and has not.
#[test]
fn the_first_bottleneck_marks_and_writes_and_the_second_reads_and_decides() {
    let test = "the_first_bottleneck_marks_and_writes_and_the_second_reads_and_decides";
    live(test, |run| two_bottlenecks(test, run));
}

fn two_bottlenecks(test: &str, run: &mut Run) -> Result<(), Missed> {
    if !can_run(test) {
        return Ok(());
    }
    let topology = Topology::new();
    for (left, right, read) in [
        ("10.9.0.1", "10.9.0.2", true),
        ("[fd09::1]", "[fd09::2]", true),
        ("10.9.0.1", "10.9.0.2", false),
    ] {
        let groups: Vec<GroupConfig> = [5_001, 5_002]
            .map(|port| GroupConfig {
                port,
                delay: Time::from_millis(2),
                ..GroupConfig::default()
            })
            .to_vec();
        let mut first = LinkConfig {
            groups: groups.clone(),
            ..config(OnWire {
                read: false,
                write: true,
            })
        };
        first.forward.markers = markers(&["gold", "silver"]);
        let second = LinkConfig {
            groups,
            forward: DirectionConfig {
                values: OnWire { read, write: false },
                ..direction(Rate::from_mbps(10), "drop_min_value", &[("limit", "40p")])
            },
            ..config(OnWire::default())
        };
        let senders = [4_001, 4_002].map(|port| topology.left.udp(&format!("{left}:{port}")));
        let receivers = [5_001, 5_002].map(|port| topology.right.udp(&format!("{right}:{port}")));
        let mut arrived = [0_u32; 2];
        let observers = || [Values::default(), Values::default()];
        let [(one, [marked, _]), (two, [seen, _])] =
            topology.with_two_links([first, second], [observers(), observers()], || {
                arrived = flood(&senders, &receivers);
            });
        note(run, &one, Time::from_millis(4));
        note(run, &two, Time::from_millis(4));
        let carried = one.forward.values;
        assert_eq!(carried.not_carried, 0, "{carried:?}");
        assert!(one.forward.is_conserved() && two.forward.is_conserved());
        bound!(
            (one.lost_outside(), two.lost_outside(), one.forward.dropped) == (0, 0, 0),
            "{one:#?} {two:#?}"
        );
        assert!(marked.0.iter().all(|&value| value > 0));
        let ratio = f64::from(arrived[0]) / f64::from(arrived[1]);
        if read {
            // What the second queue sees is what the first wrote, in order.
            assert!(marked.0 == seen.0, "{} {}", marked.0.len(), seen.0.len());
            bound!((1.7..2.4).contains(&ratio), "{arrived:?}");
        } else {
            assert!(seen.0.iter().all(|&value| value == 0));
            bound!((0.7..1.4).contains(&ratio), "{arrived:?}");
        }
    }
    Ok(())
}

/// Both send 25 Mbit/s for 1.5 s. How much of the last second arrives of each.
fn flood(senders: &[UdpSocket; 2], receivers: &[UdpSocket; 2]) -> [u32; 2] {
    let datagram = [0; PAYLOAD];
    let interval = Duration::from_nanos(PAYLOAD as u64 * 8 * 1_000_000_000 / 25_000_000);
    let counted = Duration::from_millis(500);
    std::thread::scope(|scope| {
        let start = Instant::now();
        let counts = receivers.each_ref().map(|receiver| {
            scope.spawn(move || {
                receiver
                    .set_read_timeout(Some(Duration::from_millis(300)))
                    .unwrap();
                let mut buffer = [0; 2_048];
                let mut count = 0;
                while receiver.recv(&mut buffer).is_ok() {
                    count += u32::from(start.elapsed() > counted);
                }
                count
            })
        });
        let end = Duration::from_millis(1_500);
        let mut sent = 0;
        while start.elapsed() < end {
            // As many as are due: a late thread catches up.
            while interval * sent < start.elapsed() {
                for (sender, receiver) in senders.iter().zip(receivers) {
                    sender
                        .send_to(&datagram, receiver.local_addr().unwrap())
                        .unwrap();
                }
                sent += 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        counts.map(|count| count.join().unwrap())
    })
}
