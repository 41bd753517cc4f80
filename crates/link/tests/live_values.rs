//! Packet values in real headers, through one real link and through two in a row.

#![allow(clippy::unwrap_used)]

mod support;

use quell_aqm::{Drop, Observer, Packet as _, QueueId, Rate, Time};
use quell_link::{Descriptor, DirectionConfig, LinkConfig, OnWire, WireValues, value_field};
use support::raw::RawSocket;
use support::{Topology, direction, turn};

/// The values that the queue sees of our packets, told from others' by their size.
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
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
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
    let Some(_turn) = turn("fields_are_values_only_where_the_link_is_told_so") else {
        return;
    };
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
