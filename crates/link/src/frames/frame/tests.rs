use super::*;
use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;

fn ip(frame: &[u8]) -> IpPacket {
    match parse(frame) {
        Contents::Ip(packet) => packet,
        Contents::Bypass(why) => panic!("{why:?}: {frame:02x?}"),
    }
}

fn ethernet(tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0x60, 0x05]);
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv6_with(next: u8, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0x20, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, hop_limit]);
    packet.extend([0xfd; 32]);
    packet.extend(payload);
    packet
}

fn udp_over_ipv4(flags_and_offset: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0x01, 0, 28, 0, 1];
    packet.extend(flags_and_offset.to_be_bytes());
    packet.extend([
        64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x10, 0x00, 0x20, 0x00, 0, 8, 0, 0,
    ]);
    packet
}

#[test]
fn tags_of_both_kinds_stack_up_to_the_limit() {
    let packet = udp_over_ipv4(0);
    for tags in [&[][..], &[0x8100], &[0x88a8, 0x8100], &[0x8100; 4]] {
        let read = ip(&ethernet(tags, 0x0800, &packet));
        assert_eq!(
            (usize::from(read.offset), read.len),
            (14 + 4 * tags.len(), 28)
        );
        assert_eq!(read.ports, Some((0x1000, 0x2000)));
    }
    assert_eq!(
        parse(&ethernet(&[0x8100; 5], 0x0800, &packet)),
        Contents::Bypass(Bypass::Other)
    );
}

#[test]
fn padding_does_not_count_and_a_short_frame_bounds_the_length() {
    let mut frame = ethernet(&[], 0x0800, &udp_over_ipv4(0));
    frame.resize(60, 0);
    assert_eq!(ip(&frame).len, 28);
    frame.truncate(14 + 24);
    let read = ip(&frame);
    assert_eq!((read.len, read.ports), (24, Some((0x1000, 0x2000))));
    frame.truncate(14 + 22);
    assert_eq!(ip(&frame).ports, None);
}

#[test]
fn fragments_of_a_packet_share_a_key_without_ports() {
    let first = ip(&ethernet(&[], 0x0800, &udp_over_ipv4(0x2000)));
    let last = ip(&ethernet(&[], 0x0800, &udp_over_ipv4(0x0001)));
    let whole = ip(&ethernet(&[], 0x0800, &udp_over_ipv4(0x4000)));
    assert_eq!(
        (first.ports, last.ports, whole.ports),
        (None, None, Some((0x1000, 0x2000)))
    );
    assert_eq!(first.flow, last.flow);
    assert_ne!(first.flow, whole.flow);
}

#[test]
fn extension_headers_are_followed_to_the_ports() {
    let udp = [0x10, 0x00, 0x20, 0x00, 0, 8, 0, 0];
    let plain = ip(&ethernet(&[], 0x86dd, &ipv6_with(17, 64, &udp)));
    // Hop-by-hop (8 bytes), routing (16), authentication (16), atomic fragment (8), destination options (8).
    let mut payload = vec![43, 0, 1, 4, 0, 0, 0, 0, 51, 1];
    payload.extend([0; 14]);
    payload.extend([44, 2]);
    payload.extend([0; 14]);
    payload.extend([60, 0, 0, 0, 0, 0, 0, 1, 17, 0, 1, 4, 0, 0, 0, 0]);
    payload.extend(udp);
    let read = ip(&ethernet(&[], 0x86dd, &ipv6_with(0, 64, &payload)));
    assert_eq!(
        (read.protocol, read.ports, read.flow),
        (17, Some((0x1000, 0x2000)), plain.flow)
    );
    assert_eq!(
        (read.ecn, usize::from(read.len)),
        (Ecn::Ect0, 40 + payload.len())
    );
}

#[test]
fn ipv6_fragments_share_a_key_without_ports() {
    let udp = [0x10, 0x00, 0x20, 0x00, 0, 8, 0, 0];
    let fragment = |offset_and_more: [u8; 2]| {
        let payload = [&[17, 0][..], &offset_and_more, &[0, 0, 0, 1], &udp].concat();
        ip(&ethernet(&[], 0x86dd, &ipv6_with(44, 64, &payload)))
    };
    let (first, last) = (fragment([0, 1]), fragment([0, 8]));
    assert_eq!((first.protocol, first.ports, last.ports), (17, None, None));
    assert_eq!(first.flow, last.flow);
    assert_eq!(fragment([0, 0]).ports, Some((0x1000, 0x2000)));
}

#[test]
fn what_others_need_to_be_reached_goes_past_the_queue() {
    assert_eq!(
        parse(&ethernet(&[], 0x0806, &[0; 28])),
        Contents::Bypass(Bypass::Arp)
    );
    assert_eq!(
        parse(&ethernet(&[0x8100], 0x0806, &[0; 28])),
        Contents::Bypass(Bypass::Arp)
    );
    for icmp_type in 0..=255_u8 {
        let is_discovery = (133..=137).contains(&icmp_type);
        for (hop_limit, bypasses) in [(255, is_discovery), (64, false)] {
            let frame = ethernet(
                &[],
                0x86dd,
                &ipv6_with(58, hop_limit, &[icmp_type, 0, 0, 0]),
            );
            assert_eq!(
                parse(&frame) == Contents::Bypass(Bypass::NeighbourDiscovery),
                bypasses,
                "{icmp_type}"
            );
        }
    }
    // LLDP, and headers that are no IP: wrong version, header shorter than 20 bytes, total length below the header.
    let broken = |index: usize, value: u8| {
        let mut packet = udp_over_ipv4(0);
        packet[index] = value;
        ethernet(&[], 0x0800, &packet)
    };
    for frame in [
        ethernet(&[], 0x88cc, &[0; 46]),
        broken(0, 0x65),
        broken(0, 0x44),
        broken(3, 19),
    ] {
        assert_eq!(parse(&frame), Contents::Bypass(Bypass::Other));
    }
}

#[test]
fn a_length_of_zero_means_the_rest_of_the_frame() {
    let mut packet = udp_over_ipv4(0);
    packet[2..4].fill(0);
    assert_eq!(ip(&ethernet(&[], 0x0800, &packet)).len, 28);
    let mut packet = ipv6_with(17, 64, &[0; 100]);
    packet[4..6].fill(0);
    assert_eq!(ip(&ethernet(&[], 0x86dd, &packet)).len, 140);
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x88a8]), version in prop::sample::select(vec![4_u8, 6])) {
        parse(&bytes);
        let mut frame = ethernet(&[], ether_type, &bytes);
        if let Some(first) = frame.get_mut(14) {
            *first = version << 4 | 5;
        }
        if let Contents::Ip(packet) = parse(&frame) {
            prop_assert!(usize::from(packet.offset) + usize::from(packet.len) <= frame.len());
            seen(&frame[usize::from(packet.offset)..][..usize::from(packet.len)]);
        }
    }

    /// etherparse builds the packet and reads it; both must see the same.
    #[test]
    fn reads_valid_packets_as_etherparse_does(
        v6 in any::<bool>(), tcp in any::<bool>(), tags in 0..3_u8, class in any::<u8>(),
        addresses in any::<[u8; 32]>(), ports in any::<(u16, u16)>(), payload in prop::collection::vec(any::<u8>(), 0..300), cut in 0..40_usize,
    ) {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let builder = match tags {
            0 => builder.ip(network(v6, class, &addresses)),
            1 => builder.single_vlan(5.try_into().unwrap()).ip(network(v6, class, &addresses)),
            _ => builder.double_vlan(5.try_into().unwrap(), 6.try_into().unwrap()).ip(network(v6, class, &addresses)),
        };
        let mut frame = Vec::new();
        if tcp {
            builder.tcp(ports.0, ports.1, 1, 1_000).write(&mut frame, &payload).unwrap();
        } else {
            builder.udp(ports.0, ports.1).write(&mut frame, &payload).unwrap();
        }
        let transport = SlicedPacket::from_ethernet(&frame).unwrap().transport.unwrap();
        let expected_ports = match transport {
            TransportSlice::Tcp(tcp) => (tcp.source_port(), tcp.destination_port()),
            TransportSlice::Udp(udp) => (udp.source_port(), udp.destination_port()),
            other => panic!("{other:?}"),
        };
        let read = ip(&frame);
        prop_assert_eq!(usize::from(read.offset), 14 + 4 * usize::from(tags));
        prop_assert_eq!(usize::from(read.len), frame.len() - usize::from(read.offset));
        prop_assert_eq!(read.ecn, Ecn::from_bits(class));
        prop_assert_eq!(read.ports, Some(expected_ports));
        prop_assert_eq!(read.protocol, if tcp { 6 } else { 17 });
        let at = usize::from(read.offset);
        for (flags, kind) in [(2, Kind::Syn), (18, Kind::SynAck), (16, Kind::Ack), (4, Kind::Ack), (17, Kind::Ack)] {
            let kind = if !tcp || kind == Kind::Ack && !payload.is_empty() { Kind::Data } else { kind };
            let mut changed = frame.clone();
            if tcp {
                changed[at + if v6 { 40 } else { 20 } + 13] = flags;
            }
            prop_assert_eq!(seen(&changed[at..]), (class >> 2, kind), "{}", flags);
        }
        // Any beginning of a valid frame is read without a panic.
        parse(&frame[..cut.min(frame.len())]);
        // A field changed in place is what etherparse then reads, with the checksum it computes.
        crate::frames::ecn_field::set(&mut frame[usize::from(read.offset)..], Ecn::Ce);
        match SlicedPacket::from_ethernet(&frame).unwrap().net.unwrap() {
            etherparse::NetSlice::Ipv4(slice) => {
                let header = slice.header().to_header();
                prop_assert_eq!(header.ecn.value(), 3);
                prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            }
            etherparse::NetSlice::Ipv6(slice) => prop_assert_eq!(slice.header().traffic_class(), class | 3),
            other => panic!("{other:?}"),
        }
    }
}

fn network(v6: bool, class: u8, addresses: &[u8; 32]) -> etherparse::IpHeaders {
    if v6 {
        let header = etherparse::Ipv6Header {
            traffic_class: class,
            hop_limit: 64,
            source: addresses[..16].try_into().unwrap(),
            destination: addresses[16..].try_into().unwrap(),
            ..Default::default()
        };
        etherparse::IpHeaders::Ipv6(header, Default::default())
    } else {
        let mut header = etherparse::Ipv4Header::new(0, 64, 0.into(), [0; 4], [0; 4]).unwrap();
        header.source.copy_from_slice(&addresses[..4]);
        header.destination.copy_from_slice(&addresses[4..8]);
        header.dscp = (class >> 2).try_into().unwrap();
        header.ecn = (class & 3).try_into().unwrap();
        etherparse::IpHeaders::Ipv4(header, Default::default())
    }
}
