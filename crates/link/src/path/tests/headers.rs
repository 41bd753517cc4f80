//! Packet values in the headers of packets, at the ends of one link and between several.

use super::*;
use crate::WireValues;
use crate::frames::frame::{self, Contents};
use crate::frames::{OnWire, Pool, value_field};
use crate::path::chain::{Chain, Member, Spans};
use quell_measure::Hops;

/// The value with which each packet comes to a queue, by its slot in the pool.
#[derive(Debug, Default)]
struct Values(Vec<(usize, u16)>);

impl Observer<Descriptor> for Values {
    fn enqueued(&mut self, _queue: QueueId, packet: &Descriptor, _now: Time) {
        self.0.push((packet.frame().id.index(), packet.value()));
    }
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
}

/// What may carry a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// IPv4 with DF set, and no fragment: RFC 6864 calls it atomic.
    Atomic,
    /// IPv4 whose DF is clear.
    Fragmentable,
    /// The first fragment of one.
    Fragment,
    Ipv6,
}

impl Over {
    fn carries(self) -> bool {
        matches!(self, Self::Atomic | Self::Ipv6)
    }
}

const ALL: [Over; 4] = [Over::Atomic, Over::Fragmentable, Over::Fragment, Over::Ipv6];

/// A frame whose field holds `field`, as its host sends it.
fn bytes(over: Over, field: u16) -> Vec<u8> {
    let network = match over {
        Over::Ipv6 => {
            let header = etherparse::Ipv6Header {
                flow_label: (0xc_0000 | u32::from(field)).try_into().unwrap(),
                hop_limit: 64,
                ..Default::default()
            };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        }
        over => {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, 0.into(), [10, 9, 0, 1], [10, 9, 0, 2]).unwrap();
            header.identification = field;
            header.dont_fragment = over == Over::Atomic;
            header.more_fragments = over == Over::Fragment;
            etherparse::IpHeaders::Ipv4(header, Default::default())
        }
    };
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ip(network)
        .udp(4_000, 5_001)
        .write(&mut frame, &[7; 400])
        .unwrap();
    frame
}

/// A packet of `group` with these bytes, in a slot of the pool.
fn in_pool(bytes: &[u8], group: u16, pool: &mut Pool) -> Descriptor {
    let frame = Frame {
        id: pool.take().unwrap(),
        len: bytes.len() as u16,
        start: 16,
    };
    pool.bytes_mut(frame).copy_from_slice(bytes);
    let Contents::Ip(ip) = frame::parse(pool.bytes(frame)) else {
        panic!("{bytes:?}");
    };
    Descriptor::new(frame, &ip, Some(group))
}

/// The checksums that a receiver looks at: of IPv4, and of UDP, whose pseudo-header has neither field.
fn assert_intact(frame: &[u8], what: Over) {
    let sliced = etherparse::SlicedPacket::from_ethernet(frame).unwrap();
    if let Some(etherparse::NetSlice::Ipv4(ip)) = &sliced.net {
        let header = ip.header();
        let stored = header.header_checksum();
        assert_eq!(
            stored,
            header.to_header().calc_header_checksum(),
            "{what:?}"
        );
    }
}

/// A link that is fast, with what it does with headers and the value of each group's packets where it has a marker for them.
fn member(read: bool, write: bool, marked: bool) -> Member<Values> {
    let marker = || {
        let function = ValueFunction::named("gold", CodeScale::default()).unwrap();
        let settings = Settings::new(MARKERS[0].parameters);
        let random = Random::new(1, "marker");
        Marker::new(MARKERS[0].name, &settings, &[function], random).ok()
    };
    Member {
        config: DirectionConfig {
            rate: Rate::from_mbps(100),
            markers: vec![marked.then(marker).flatten(), None, None],
            values: OnWire { read, write },
            ..DirectionConfig::unlimited(1_500)
        },
        delay: US(500),
        changes: Vec::new(),
        observer: Values::default(),
    }
}

/// Group 0 and 1 cross all links and group 2 the last one.
fn chain(direction: Direction, members: Vec<Member<Values>>) -> Chain<Values> {
    let links = members.len();
    let last = Hops {
        first: Hop(links as u16 - 1),
        last: Hop(links as u16 - 1),
    };
    let all = Hops::all(links);
    let groups = [all, all, last].map(|path| (US(5_000), path));
    let quiet = Spans {
        spans: &[],
        seed: 1,
    };
    Chain::new(direction, members, &groups, &quiet)
}

/// What the queues saw, and what came out of the chain: bytes with what they were before, by slot.
struct Played {
    seen: Vec<Vec<(usize, u16)>>,
    out: Vec<(usize, Over, u16, Vec<u8>)>,
    counts: Vec<WireValues>,
}

/// One packet of each kind and group, every 100 µs, whose host has written a number into the field.
fn play(mut chain: Chain<Values>, links: u16) -> Played {
    let mut pool = Pool::new(64, 1_500).unwrap();
    let mut sent = Vec::new();
    for (index, (over, group)) in ALL
        .iter()
        .flat_map(|over| [0, 1, 2].map(|group| (*over, group)))
        .enumerate()
    {
        let field = 0x1111 * (index as u16 + 1);
        let packet = in_pool(&bytes(over, field), group, &mut pool);
        sent.push((packet.frame().id.index(), over, group, field));
        chain
            .arrive(packet, US(100 * index as u64), &mut pool)
            .unwrap();
    }
    let end = Time::from_secs(1);
    chain.decide(end, &mut pool).unwrap();
    let mut out = Vec::new();
    while let Some((_, packet)) = chain.release(end, &mut pool) {
        let slot = packet.frame().id.index();
        let &(_, over, group, field) = sent.iter().find(|one| one.0 == slot).unwrap();
        let left = pool.bytes(packet.frame()).to_vec();
        assert_intact(&left, over);
        // Nothing but the field and the header's checksum differs from what the host sent.
        let mut expected = bytes(over, field);
        if let Some(value) = value_field::get(&left[14..]) {
            value_field::set(&mut expected[14..], value);
        }
        assert_eq!(left, expected, "{over:?}");
        out.push((slot, over, group, left));
    }
    assert_eq!(out.len(), sent.len());
    let counts = (0..links).map(|hop| chain.header_values_at(Hop(hop)));
    let counts = counts.collect();
    let seen = chain.into_observers().into_iter().map(|one| one.0);
    Played {
        seen: seen.collect(),
        out,
        counts,
    }
}

fn value_in(frame: &[u8]) -> Option<u16> {
    value_field::get(&frame[14..])
}

#[test]
fn what_goes_on_in_a_header_is_all_that_the_next_link_knows() {
    for direction in Direction::BOTH {
        // The link that packets cross first marks and writes; forward order, whatever the direction.
        let mut members = vec![member(false, true, true), member(false, false, false)];
        if direction == Direction::Reverse {
            members.reverse();
        }
        let chain = {
            let all = Hops::all(2);
            let second = match direction {
                Direction::Forward => Hop(1),
                Direction::Reverse => Hop(0),
            };
            let alone = Hops {
                first: second,
                last: second,
            };
            let groups = [all, all, alone].map(|path| (US(5_000), path));
            let quiet = Spans {
                spans: &[],
                seed: 1,
            };
            Chain::new(direction, members, &groups, &quiet)
        };
        let mut played = play(chain, 2);
        if direction == Direction::Reverse {
            played.seen.reverse();
            played.counts.reverse();
        }
        let at = |link: usize, slot: usize| {
            let mut seen = played.seen[link].iter();
            seen.find(|one| one.0 == slot).map(|one| one.1)
        };
        for (slot, over, group, left) in &played.out {
            let (first, second) = (at(0, *slot), at(1, *slot).unwrap());
            match group {
                0 if over.carries() => {
                    assert!(first.is_some_and(|value| value > 0));
                    assert_eq!((first, first), (Some(second), value_in(left)));
                }
                // Its value is lost; its own number is not touched.
                0 => assert_eq!((first.map(|value| value > 0), second), (Some(true), 0)),
                // Nobody marks it, and a written 0 says so: its host's number is no value.
                1 if over.carries() => {
                    assert_eq!((first, second, value_in(left)), (Some(0), 0, Some(0)));
                }
                1 => assert_eq!((first, second), (Some(0), 0)),
                // It comes from a port, where nobody has written a value.
                _ => {
                    assert_eq!((first, second), (None, 0));
                    assert_ne!(value_in(left), Some(0));
                }
            }
        }
        let [first, second] = played.counts[..] else {
            panic!("two links");
        };
        let written = WireValues {
            read: 0,
            written: 4,
            not_carried: 2,
        };
        let read = WireValues {
            read: 2,
            ..WireValues::default()
        };
        assert_eq!((first, second), (written, read));
    }
}

#[test]
fn beside_the_packet_every_value_goes_on_and_no_frame_is_touched() {
    let members = vec![member(false, false, true), member(false, false, false)];
    let played = play(chain(Direction::Forward, members), 2);
    for (slot, over, group, left) in &played.out {
        let field = 0x1111 * (*slot as u16 + 1);
        assert_eq!(left, &bytes(*over, field));
        let at = |link: usize| played.seen[link].iter().find(|one| one.0 == *slot);
        if *group == 0 {
            assert_eq!(at(0), at(1));
            assert!(at(1).is_some_and(|one| one.1 > 0));
        }
    }
    assert_eq!(played.counts, [WireValues::default(); 2]);
}

#[test]
fn the_last_link_writes_for_whoever_receives_and_only_links_that_read_trust_a_port() {
    for (read, write) in [(false, true), (true, false), (true, true)] {
        let members = vec![member(false, false, false), member(read, write, false)];
        let played = play(chain(Direction::Forward, members), 2);
        for (slot, over, group, left) in &played.out {
            let field = 0x1111 * (*slot as u16 + 1);
            let seen = played.seen[1].iter().find(|one| one.0 == *slot).unwrap();
            // Others come from the link before, beside which they have none.
            let known = read && *group == 2 && over.carries();
            let value = if known { field } else { 0 };
            assert_eq!(seen.1, value, "{read} {over:?} {group}");
            let expected = match over.carries() {
                true if write => Some(value),
                true => Some(field),
                false => None,
            };
            assert_eq!(value_in(left), expected, "{write} {over:?} {group}");
        }
    }
}

proptest! {
    /// Every code comes through, whatever the host wrote before it, and every other bit of the frame stays.
    #[test]
    fn every_value_crosses_a_hand_over(values in prop::collection::vec((any::<u16>(), any::<u16>(), 0..4_usize), 1..60)) {
        let mut members = vec![member(true, true, false), member(false, false, false)];
        members[0].config.rate = Rate::UNLIMITED;
        let mut chain = chain(Direction::Forward, members);
        let mut pool = Pool::new(64, 1_500).unwrap();
        let mut carried = Vec::new();
        for (index, &(field, value, over)) in values.iter().enumerate() {
            let over = ALL[over];
            // As if a marker had written it.
            let mut frame = bytes(over, field);
            value_field::set(&mut frame[14..], value);
            carried.push((index, if over.carries() { value } else { 0 }, over, frame.clone()));
            let packet = in_pool(&frame, 0, &mut pool);
            prop_assert_eq!(packet.frame().id.index(), index);
            chain.arrive(packet, US(10 * index as u64), &mut pool).unwrap();
        }
        let end = Time::from_secs(1);
        chain.decide(end, &mut pool).unwrap();
        while let Some((_, packet)) = chain.release(end, &mut pool) {
            let (_, value, over, frame) = &carried[packet.frame().id.index()];
            prop_assert_eq!(packet.value(), *value);
            prop_assert_eq!(pool.bytes(packet.frame()), &frame[..]);
            assert_intact(pool.bytes(packet.frame()), *over);
        }
        let seen = chain.into_observers();
        let expected: Vec<_> = carried.iter().map(|one| (one.0, one.1)).collect();
        prop_assert_eq!(&seen[1].0, &expected);
    }
}

#[test]
fn what_a_rule_changes_is_in_the_frame_and_what_the_next_one_sees() {
    let with = |rules: Vec<Rule>| {
        let impairment = Impairment {
            rules,
            ..Impairment::default()
        };
        let mut member = member(false, false, false);
        member.config.impairer = Impairer::new(Some(impairment), 1, "link");
        member
    };
    let relabel = Rule {
        to_dscp: Some(45),
        ..rule(Outcome::Code(Ecn::Ect1), 100)
    };
    let mark = Rule {
        dscp: Some(45),
        from: 1 << Ecn::Ect1.bits(),
        ..rule(Outcome::Code(Ecn::Ce), 100)
    };
    let members = vec![
        with(vec![relabel]),
        with(vec![rule(Outcome::Copy, 100), mark]),
    ];
    let (mut chain, mut pool) = (
        chain(Direction::Forward, members),
        Pool::new(64, 1_500).unwrap(),
    );
    for (second, over) in (0..).zip(ALL) {
        let packet = in_pool(&bytes(over, 7), 0, &mut pool);
        let (at, end) = (Time::from_secs(second), Time::from_secs(second + 1));
        chain.arrive(packet, at, &mut pool).unwrap();
        chain.decide(end, &mut pool).unwrap();
        for copy in 0..2 {
            let (_, packet) = chain.release(end, &mut pool).unwrap();
            assert!(packet.is_marked() && packet.ecn() == Ecn::Ce);
            packet.write(&mut pool);
            let left = pool.bytes(packet.frame());
            assert_intact(left, over);
            let mut expected = bytes(over, 7);
            for (place, byte) in match over {
                Over::Ipv6 => vec![(14, 0x6b), (15, 0x7c)],
                _ => vec![(15, 45 << 2 | 3), (24, left[24]), (25, left[25])],
            } {
                expected[place] = byte;
            }
            assert_eq!(left, expected, "{over:?}, {copy}");
        }
        assert!(chain.release(end, &mut pool).is_none());
    }
    let [first, second] = [0, 1].map(|hop| chain.impaired_at(Hop(hop)).rules);
    assert_eq!((first[0].matched, first[0].codes[0][1]), (4, 4));
    assert_eq!((second[0].matched, second[1].codes[1][3]), (4, 4));
}

/// One bit of the payload differs, and the receiver finds nothing wrong with it.
#[test]
fn a_flipped_bit_of_a_datagram_has_a_checksum_that_hides_it() {
    let mut places = std::collections::BTreeSet::new();
    for (over, n) in [Over::Atomic, Over::Ipv6]
        .into_iter()
        .flat_map(|over| (0..200).map(move |n| (over, n)))
    {
        let mut pool = Pool::new(1, 1_500).unwrap();
        let before = bytes(over, 9);
        let packet = in_pool(&before, 0, &mut pool);
        packet.damage(&mut pool, u64::MAX / 200 * n, true);
        let after = pool.bytes(packet.frame());
        let sliced = etherparse::SlicedPacket::from_ethernet(after).unwrap();
        let Some(etherparse::TransportSlice::Udp(udp)) = &sliced.transport else {
            panic!("{after:?}")
        };
        let (header, payload) = (udp.to_header(), udp.payload());
        let right = match sliced.net.as_ref().unwrap() {
            etherparse::NetSlice::Ipv4(ip) => {
                header.calc_checksum_ipv4(&ip.header().to_header(), payload)
            }
            etherparse::NetSlice::Ipv6(ip) => {
                header.calc_checksum_ipv6(&ip.header().to_header(), payload)
            }
            _ => panic!("{over:?}"),
        };
        assert_eq!(header.checksum, right.unwrap(), "{over:?} {n}");
        let wrong: u32 = payload.iter().map(|byte| (byte ^ 7).count_ones()).sum();
        assert_eq!(wrong, 1, "{over:?} {n}");
        places.insert(payload.iter().position(|byte| *byte != 7));
    }
    assert!(places.len() > 190);
    // Of other packets nothing changes.
    let mut pool = Pool::new(1, 1_500).unwrap();
    let mut tcp = bytes(Over::Atomic, 9);
    tcp[14 + 9] = 6;
    let packet = in_pool(&tcp, 0, &mut pool);
    packet.damage(&mut pool, 1 << 40, true);
    assert_eq!(pool.bytes(packet.frame()), tcp);
}
