//! Impairments and delays that change while packets flow, and what happens to the frames of packets that are copied or damaged.

use super::*;
use crate::frames::HEADROOM;
use quell_aqm::impair::Loss;
use quell_aqm::impair::shape::Shape;

const GROUP: u16 = 1;

fn impair(impairment: Impairment) -> LinkChange {
    LinkChange::Impair {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        impairment,
    }
}

fn delay(group: u16, delay: Time) -> LinkChange {
    LinkChange::SetDelay {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        group: Some(group),
        delay,
    }
}

fn losing(share: Probability) -> Impairment {
    Impairment {
        loss: Loss {
            good: share,
            ..Loss::default()
        },
        ..Impairment::default()
    }
}

/// Changes of the delay of both groups, of jitter and of losses, in the order of their times.
fn any_changes() -> impl Strategy<Value = Vec<(Time, LinkChange)>> {
    let change = prop_oneof![
        (0..2_u16, 1..40_u64).prop_map(|(group, ms)| delay(group, US(1_000 * ms))),
        (0..3_u64, 0..3_000_u64).prop_map(|(lost, us)| impair(Impairment {
            jitter: US(us),
            rules: rules(25 * lost),
            ..losing(Probability::ratio(lost, 4))
        })),
    ];
    let at = (1..60_000_u64).prop_map(US);
    prop::collection::vec((at, change), 0..8).prop_map(|mut changes| {
        changes.sort_by_key(|(at, _)| *at);
        changes
    })
}

fn rules(percent: u64) -> Vec<Rule> {
    vec![
        rule(Outcome::Drop, percent),
        rule(Outcome::Code(Ecn::Ce), 50),
    ]
}

/// A path with rules, whose probabilities change too, and with delays that scatter at most so much, and not always alike.
fn ruled(mut changes: Vec<(Time, LinkChange)>, spread: Time) -> Path<Drops> {
    let impairment = Impairment {
        rules: rules(5),
        spread: spread / 3,
        shape: Shape::Normal,
        ..Impairment::default()
    };
    for (place, (_, change)) in changes.iter_mut().enumerate() {
        if let LinkChange::Impair { impairment, .. } = change {
            (impairment.spread, impairment.shape) = match place % 2 {
                0 => (spread, Shape::Normal),
                _ => (spread / 2, Shape::Uniform),
            };
        }
    }
    of(&DELAYS, changes, Service::default(), Some(impairment))
}

fn any_spread() -> impl Strategy<Value = Time> {
    prop_oneof![Just(Time::ZERO), Just(US(2_000))]
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, u16, u16)>> {
    prop::collection::vec((0..900_u64, 60..1_500_u16, 0..2_u16), 1..120).prop_map(|packets| {
        let mut at = Time::ZERO;
        let packets = packets.into_iter();
        packets
            .map(|(gap, len, group)| {
                let now = at;
                at += US(gap);
                (now, len, group)
            })
            .collect()
    })
}

const DELAYS: [Time; 2] = [Time::from_millis(9); 2];

proptest! {
    #[test]
    fn the_order_of_a_group_is_kept_and_no_packet_leaves_before_the_least_delay(changes in any_changes(), spread in any_spread(), arrivals in arrivals()) {
        let delays = changes.iter().filter_map(|(_, change)| change.delay());
        let least = delays.chain(DELAYS).min().unwrap_or(Time::ZERO);
        let (releases, _) = play(ruled(changes, spread), &arrivals, [].into_iter());
        prop_assert!(releases.is_sorted_by_key(|(at, _)| *at));
        for group in 0..2 {
            let of_group = releases.iter().filter(|(_, id)| arrivals[*id].2 == group);
            prop_assert!(of_group.is_sorted_by_key(|(_, id)| *id));
        }
        for (at, id) in releases {
            prop_assert!(at >= arrivals[id].0 + (least - spread * 38 / 10));
        }
    }

    #[test]
    fn when_the_thread_comes_changes_nothing(changes in any_changes(), spread in any_spread(), arrivals in arrivals(), step in 1..5_000_u64) {
        let seldom = play(ruled(changes.clone(), spread), &arrivals, [].into_iter());
        let looks = (0..100_000 / step).map(|n| US(n * step));
        prop_assert_eq!(play(ruled(changes, spread), &arrivals, looks), seldom);
    }

    #[test]
    fn what_has_left_the_queue_before_a_change_is_not_touched_by_it(changes in any_changes(), spread in any_spread(), arrivals in arrivals(), from in 1..60_000_u64) {
        let before: Vec<_> = changes.iter().filter(|(at, _)| *at < US(from)).cloned().collect();
        let [with, without] = [changes, before].map(|changes| play(ruled(changes, spread), &arrivals, [].into_iter()).0);
        // Who was released so much earlier has started before it, whatever the delay and jitter.
        let early = |releases: &Releases| releases.iter().filter(|(at, _)| *at < US(from)).copied().collect::<Releases>();
        prop_assert_eq!(early(&with), early(&without));
    }
}

#[test]
fn a_shorter_delay_bunches_what_follows_behind_what_is_in_flight() {
    // Each 1 250 bytes take 1 ms. The delay falls from 20 to 5 ms when two are in flight, and rises again.
    let changes = vec![
        (US(2_500), delay(0, US(5_000))),
        (US(30_500), delay(0, US(20_000))),
    ];
    let arrivals: Vec<_> = [0, 1, 3, 4, 20, 31]
        .map(|ms| (US(1_000 * ms), 1_250, 0))
        .into();
    let (releases, _) = play(path(&[US(20_000)], changes), &arrivals, [].into_iter());
    let times: Vec<u64> = releases
        .iter()
        .map(|(at, _)| at.as_nanos() / 1_000)
        .collect();
    assert_eq!(times, [21_000, 22_000, 22_000, 22_000, 26_000, 52_000]);
}

#[test]
fn what_is_on_hold_stays_so_and_holds_nobody_back_when_the_delay_changes() {
    let held = Impairment {
        reorder: Probability::ONE,
        hold: US(50_000),
        ..Impairment::default()
    };
    let changes = vec![
        (US(500), impair(held)),
        (US(2_500), impair(Impairment::default())),
        (US(2_600), delay(0, US(4_000))),
    ];
    let arrivals: Vec<_> = [0, 2, 3].map(|ms| (US(1_000 * ms), 1_250, 0)).into();
    let (releases, _) = play(path(&[US(9_000)], changes), &arrivals, [].into_iter());
    // The first is 1 ms on the link and 9 ms behind it, the second 50 ms more, and the third waits for the first.
    assert_eq!(
        releases,
        [(US(10_000), 0), (US(10_000), 2), (US(62_000), 1)]
    );
}

/// A UDP packet in a slot of the pool, whose checksum is left to the interface.
fn filled(pool: &mut Pool) -> Descriptor {
    let frame = Frame {
        id: pool.take().unwrap(),
        len: 14 + 100,
        start: HEADROOM as u8,
    };
    let bytes = pool.bytes_mut(frame);
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = place as u8;
    }
    (bytes[14], bytes[14 + 9]) = (0x45, 17);
    let ip = IpPacket {
        offset: 14,
        len: 100,
        ecn: Ecn::Ect0,
        protocol: 17,
        ports: None,
        flow: 0,
    };
    Descriptor::new(frame, &ip, Some(GROUP))
}

/// Frames in the order of their release, each with its time.
fn frames(path: &mut Path<Drops>, pool: &mut Pool) -> Vec<(Time, Vec<u8>)> {
    let mut frames = Vec::new();
    path.decide(US(200_000)).unwrap();
    path.touch_frames(pool);
    while let Some((at, packet)) = path.release(US(200_000)) {
        frames.push((at, pool.bytes(packet.frame()).to_vec()));
        pool.give_back(packet.frame().id);
    }
    frames
}

/// A path that copies all packets, and damages this share, and a pool of `slots`; `count` packets have arrived.
fn touched(corrupt: Probability, slots: u32, count: u64) -> (Path<Drops>, Pool) {
    let impairment = Impairment {
        duplicate: Probability::ONE,
        corrupt,
        ..Impairment::default()
    };
    let mut path = of(&DELAYS, Vec::new(), Service::default(), Some(impairment));
    let mut pool = Pool::new(slots, 1_500).unwrap();
    for ms in 0..count {
        let packet = filled(&mut pool);
        path.arrive(packet, US(1_000 * ms)).unwrap();
        path.touch_frames(&mut pool);
    }
    (path, pool)
}

#[test]
fn a_copy_is_the_same_packet_at_the_same_instant_as_long_as_there_is_a_slot() {
    let (mut path, mut pool) = touched(Probability::ZERO, 5, 3);
    // Three originals and two copies fill the pool.
    assert_eq!((path.impaired().duplicated, pool.exhausted()), (2, 1));
    let frames = frames(&mut path, &mut pool);
    let times: Vec<u64> = frames.iter().map(|(at, _)| at.as_nanos() / 1_000).collect();
    assert_eq!(times, [9_080, 9_080, 10_080, 10_080, 11_080]);
    assert!(frames.iter().all(|(_, bytes)| *bytes == frames[0].1));
    assert_eq!(pool.free(), 5);
}

#[test]
fn damage_is_one_bit_behind_the_ip_header_and_never_in_a_copy() {
    let (mut path, mut pool) = touched(Probability::ONE, 200, 100);
    let mut places = std::collections::BTreeSet::new();
    assert_eq!(path.impaired().corrupted, 100);
    let mut other = Pool::new(1, 1_500).unwrap();
    let whole = filled(&mut other);
    let whole = other.bytes(whole.frame()).to_vec();
    for pair in frames(&mut path, &mut pool).chunks(2) {
        let [(_, damaged), (_, copy)] = pair else {
            panic!("{pair:?}")
        };
        assert_eq!(*copy, whole);
        let bits = damaged.iter().zip(&whole).map(|(one, other)| one ^ other);
        let wrong: Vec<_> = bits.enumerate().filter(|(_, bits)| *bits > 0).collect();
        let [(place, bits)] = wrong[..] else {
            panic!("{wrong:?}")
        };
        assert!((14 + 20..14 + 100).contains(&place) && bits.count_ones() == 1);
        places.insert(place);
    }
    assert!(places.len() > 40, "anywhere: {places:?}");
}
