use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::super::connections::Connections;
use super::*;
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use quell_aqm::{Drop, Observer};
use quell_measure::{FlowId, Labelled as _};
use quell_sim::{Simulator, TransportConfig};
use quell_tcp::{Codepoint, EcnMode, ReceiverConfig};
use quell_units::{Ecn, Time};

/// Every packet that hosts sent, with its header.
struct Sent {
    packets: Vec<(Packet, Option<Segment>, Header)>,
    connections: Arc<Mutex<Connections>>,
}

impl Observer<Packet> for Sent {
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
}

/// What both directions carried in a second: a flow that is marked, one that loses packets, and
/// datagrams.
fn sent() -> Vec<Vec<(Packet, Option<Segment>, Header)>> {
    let scenario = quell_scenario::Scenario::parse(
        "schema = 1\nname = \"a\"\n[link]\nrate = \"10mbit\"\nqueue = { kind = \"dualpi2\", limit = \"20p\" }\n\
         [[group]]\nname = \"tcp\"\ncongestion-control = \"dctcp\"\necn = \"ect1\"\nrtt = \"10ms\"\napp = { kind = \"bulk\" }\n\
         [[group]]\nname = \"cubic\"\ncongestion-control = \"cubic\"\nrtt = \"10ms\"\napp = { kind = \"bulk\" }\n\
         [[group]]\nname = \"voice\"\nrtt = \"10ms\"\napp = { kind = \"cbr\", size = \"187B\", interval = \"20ms\" }\n\
         [run]\nduration = \"1s\"\n",
    )
    .unwrap();
    let mut config = quell_scenario::sim::simulation(&scenario, 1).unwrap();
    if let TransportConfig::Stream(ends) = &mut config.flows[0].transport {
        ends.0.ecn = EcnMode::Accurate(Codepoint::Ect1);
        ends.1 = ReceiverConfig {
            buffer: ends.1.buffer,
            ..ReceiverConfig::new(ends.0.ecn)
        };
    }
    let connections = Arc::new(Mutex::new(Connections::new(&scenario, 1)));
    let observer = |_, _| Sent {
        packets: Vec::new(),
        connections: connections.clone(),
    };
    let mut simulator = Simulator::new(config, observer).unwrap();
    simulator.announce(|sent: &mut Sent, packet, segment| {
        let connection = sent.connections.lock().unwrap().of(packet);
        let header = Header::modelled(packet, segment, &connection);
        sent.packets.push((*packet, segment.copied(), header));
    });
    simulator
        .run(scenario.run.duration, &AtomicBool::new(false))
        .unwrap();
    let sent = simulator.observers_mut();
    sent.map(|sent| std::mem::take(&mut sent.packets)).collect()
}

/// The packet as it would be on a wire, with a payload of zeros.
fn whole(packet: &Packet, header: &Header) -> Vec<u8> {
    let mut bytes = header.bytes().to_vec();
    assert!(bytes.len() <= packet.len().get() as usize);
    bytes.resize(packet.len().get() as usize, 0);
    bytes
}

#[test]
fn headers_are_what_another_parser_expects() {
    let (mut seen_sacks, mut seen_counters) = (0, 0);
    let sent = sent();
    // Its SYN says where an end begins to count: by flow, and by direction.
    let mut initial = BTreeMap::new();
    let end = |flow: FlowId, direction| (flow.0, direction == Direction::Forward);
    for (packet, _, header) in sent.iter().flatten() {
        if packet.flags().has(Flags::SYN) {
            let number = u32::from_be_bytes(header.bytes()[24..28].try_into().unwrap());
            initial.insert(end(packet.flow_id(), packet.direction()), number);
        }
    }
    assert_eq!(initial.len(), 4, "two flows of TCP");
    for (packet, segment, header) in sent.iter().flatten() {
        let opposite = match packet.direction() {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        let [here, there] = [packet.direction(), opposite]
            .map(|direction| initial.get(&end(packet.flow_id(), direction)).copied());
        let bytes = whole(packet, header);
        let sliced = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(NetSlice::Ipv4(ip)) = sliced.net else {
            panic!("{packet:?}");
        };
        let ip = ip.header().to_header();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!(u64::from(ip.total_len), packet.len().get());
        assert_eq!(ip.ecn.value(), packet.ecn().bits());
        let to_right = packet.direction() == Direction::Forward;
        let port = 5_001 + packet.group().unwrap().0 as u16;
        match sliced.transport {
            Some(TransportSlice::Udp(udp)) => {
                let (udp, payload) = (udp.to_header(), udp.payload());
                assert!(packet.is_datagram() && udp.destination_port == port);
                assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, payload).unwrap());
                assert_eq!(u64::from(ip.identification), packet.sequence());
            }
            Some(TransportSlice::Tcp(slice)) => {
                let (tcp, payload) = (slice.to_header(), slice.payload());
                assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap());
                assert_eq!(payload.len() as u64, packet.payload().get());
                let ports = (tcp.source_port, tcp.destination_port);
                assert_eq!(if to_right { ports.1 } else { ports.0 }, port);
                assert_eq!(
                    (tcp.syn, tcp.ack),
                    (
                        packet.flags().has(Flags::SYN),
                        packet.flags().has(Flags::ACK)
                    )
                );
                assert_eq!(
                    (tcp.ece, tcp.fin),
                    (
                        packet.flags().has(Flags::ECE),
                        packet.flags().has(Flags::FIN)
                    )
                );
                let (here, there) = (here.unwrap(), there.unwrap());
                let first = u32::from(!tcp.syn).wrapping_add(here);
                let sequence = (packet.sequence() as u32).wrapping_add(first);
                assert_eq!(tcp.sequence_number, sequence);
                if tcp.ack {
                    let acknowledgement = packet.acknowledgement() as u32;
                    let on_wire = acknowledgement.wrapping_add(1).wrapping_add(there);
                    assert_eq!(tcp.acknowledgment_number, on_wire);
                }
                check_window(packet, &slice);
                seen_counters += segment.unwrap().accecn.len();
                let sacked = check_options(packet, &segment.unwrap(), &slice, there);
                seen_sacks += usize::from(sacked);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(seen_sacks > 0, "the scenario loses packets");
    assert!(seen_counters > 0, "a flow of it speaks AccECN");
}

/// Windows are what the model's receiver offers, shifted as both SYNs say; the end that only sends offers what a Linux host does.
fn check_window(packet: &Packet, tcp: &etherparse::TcpSlice<'_>) {
    let is_syn = packet.flags().has(Flags::SYN);
    let window = u64::from(tcp.window_size()) << if is_syn { 0 } else { SCALE };
    // All data goes forward here.
    match packet.direction() {
        Direction::Forward if is_syn => assert_eq!(window, 64_240),
        Direction::Forward => assert!((64_240..64_240 + (1 << SCALE)).contains(&window)),
        Direction::Reverse => assert_eq!(window, packet.window().get()),
    }
}

/// Little is in flight here, so the receive buffer is the least that hosts are given, 16 MiB; 16 bits with a shift of 9 tell of more.
const SCALE: u8 = 9;

/// Whether there were selective acknowledgements. `initial` is where the peer began to count.
fn check_options(
    packet: &Packet,
    segment: &Segment,
    tcp: &etherparse::TcpSlice<'_>,
    initial: u32,
) -> bool {
    // The parser does not know AccECN and stops there; it comes last.
    let options: Vec<_> = tcp.options_iterator().map_while(Result::ok).collect();
    let raw = tcp.options();
    let length = segment.accecn.length() as usize;
    if let Some(order) = segment.accecn.order() {
        let option = &raw[raw.len() - length..];
        assert_eq!(option[..2], [order.kind(), length as u8]);
        let (fields, []) = option[2..].as_chunks::<3>() else {
            panic!("{option:?}");
        };
        let read = fields
            .iter()
            .map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]));
        assert!(read.eq(segment.accecn.counters().map(|(_, counter)| counter)));
    }
    if packet.flags().has(Flags::SYN) {
        assert!(options.contains(&TcpOptionElement::WindowScale(SCALE)));
        assert!(options.contains(&TcpOptionElement::MaximumSegmentSize(1_460)));
        return false;
    }
    let value = (packet.timestamp().as_nanos() / 1_000_000) as u32;
    let echo = (packet.echo().as_nanos() / 1_000_000) as u32;
    assert!(options.contains(&TcpOptionElement::Timestamp(value, echo)));
    let found = options.iter().find_map(|option| match option {
        TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((*first, *rest)),
        _ => None,
    });
    let on_wire = |offset: u64| (offset as u32).wrapping_add(1).wrapping_add(initial);
    let mut expected = segment
        .sack_blocks()
        .map(|block| (on_wire(block.start), on_wire(block.end)));
    let Some((first, rest)) = found else {
        assert!(segment.sacks.is_empty());
        return false;
    };
    assert_eq!(Some(first), expected.next());
    let rest: Vec<(u32, u32)> = rest.into_iter().flatten().collect();
    assert_eq!(rest, expected.collect::<Vec<_>>());
    true
}

#[test]
fn a_mark_shows_and_leaves_the_checksum_right() {
    let forward = sent().swap_remove(0);
    let (packet, _, mut header) = forward
        .into_iter()
        .find(|(p, ..)| p.ecn() == quell_units::Ecn::Ect1)
        .unwrap();
    header.set_ecn(Ecn::Ce);
    let bytes = whole(&packet, &header);
    let sliced = SlicedPacket::from_ip(&bytes).unwrap();
    let Some(NetSlice::Ipv4(ip)) = sliced.net else {
        panic!("{packet:?}");
    };
    let ip = ip.header().to_header();
    assert_eq!(
        (ip.ecn.value(), ip.header_checksum),
        (3, ip.calc_header_checksum())
    );
}

#[test]
fn what_is_long_is_cut_unless_quic_begins_with_it_or_it_is_rtcp() {
    let kept = |first: &[u8], payload: u8, length: usize| {
        let mut bytes = vec![payload; length];
        bytes[..first.len()].copy_from_slice(first);
        Header::captured(&bytes).bytes().len()
    };
    let udp = [0x45, 0, 0, 0, 0, 0, 0, 0, 0, 17];
    let tcp = [0x45, 0, 0, 0, 0, 0, 0, 0, 0, 6];
    let ipv6 = [0x60, 0, 0, 0, 0, 0, 17];
    // IPv4 without options, UDP, and the first bytes of what it carries: feedback in RTCP, RTP, QUIC with its fixed bit cleared.
    let begun = |payload: &[u8]| [&udp[..], &[0; 18], payload].concat();
    for (first, payload, length, expected) in [
        (&udp[..], 0xc3, 1_228, 1_228),
        (&begun(&[0x8b, 205]), 0, 1_228, 1_228),
        (&begun(&[0x8b, 96]), 0, 1_228, KEPT),
        (&begun(&[0x83, 0, 0, 0, 1]), 0, 1_228, 1_228),
        (&begun(&[0x03, 0, 0, 0, 1]), 0, 1_228, KEPT),
        (&ipv6, 0xc3, 1_248, 1_248),
        // A short header; RTP; TCP; no packet at all.
        (&udp, 0x43, 1_228, KEPT),
        (&ipv6, 0x80, 1_248, KEPT),
        (&tcp, 0xc3, 1_500, KEPT),
        (&[], 0xc3, 1_500, KEPT),
        (&udp, 0x43, 257, KEPT),
        (&udp, 0x43, 256, 256),
        (&tcp, 0, 28, 28),
    ] {
        assert_eq!(
            kept(first, payload, length),
            expected,
            "{first:?} {payload:#x} {length}"
        );
    }
    assert!(Header::captured(&[]).bytes().is_empty());
    assert_eq!(Header::captured(&[0x45; 300]).bytes().len(), KEPT);
}
