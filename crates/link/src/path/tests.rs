//! The fate of packets does not depend on when the link's thread comes.

use super::*;
use crate::frames::Frame;
use crate::frames::frame::IpPacket;
use proptest::prelude::*;
use quell_aqm::impair::rules::{Outcome, Rule};
use quell_aqm::link_trace::{ChanceTrace, LinkTrace, RateTrace, Trace};
use quell_aqm::marker::MARKERS;
use quell_aqm::medium::Medium;
use quell_aqm::value::{CodeScale, ValueFunction};
use quell_aqm::{Drop, DropReason, Link, Packet as _, QueueId, Service, disciplines};
use quell_measure::{Direction, Hop};
use quell_units::{Bytes, Ecn, Probability, Random, Settings};

mod chain;
mod changing;
mod headers;
mod networks;

const US: fn(u64) -> Time = Time::from_micros;

/// Every drop: which frame, when, why.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Drops(Vec<(usize, Time, DropReason)>);

impl Observer<Descriptor> for Drops {
    fn dropped(&mut self, packet: Descriptor, drop: Drop, now: Time) {
        self.0.push((packet.frame().id.index(), now, drop.reason));
    }
}

/// A link that is changed, or one that moves by itself: along rates, by chances, or by access to a medium and with what happens behind
/// the queue.
fn moving(kind: u8, delays: &[Time]) -> Path<Drops> {
    let link_trace = |trace| Service {
        trace: Some(LinkTrace::new(trace)),
        medium: None,
    };
    let service = match kind {
        0 => return path(delays, changes()),
        1 => {
            let rates = [(0, 10), (9_000, 3), (14_000, 0), (17_000, 20)];
            let steps = rates.map(|(us, mbps)| (US(us), Rate::from_mbps(mbps)));
            let trace = RateTrace::new(steps.to_vec(), US(50_000)).unwrap();
            link_trace(Trace::Rates(trace))
        }
        2 => {
            let times = [300, 1_000, 1_000, 4_500, 6_000].map(US);
            link_trace(Trace::Chances(ChanceTrace::new(times.to_vec()).unwrap()))
        }
        _ => {
            let medium = Medium {
                packets: 4,
                time: US(3_000),
                delay: US(200),
                backoff: US(900),
            };
            Service {
                trace: None,
                medium: Some((medium, Random::new(1, "access"))),
            }
        }
    };
    let impairment = Impairment {
        reorder: Probability::ratio(1, 10),
        hold: US(2_000),
        jitter: US(700),
        ..Impairment::default()
    };
    of(
        delays,
        Vec::new(),
        service,
        (kind > 2).then_some(impairment),
    )
}

fn path(delays: &[Time], changes: Vec<(Time, LinkChange)>) -> Path<Drops> {
    of(delays, changes, Service::default(), None)
}

fn of(
    delays: &[Time],
    changes: Vec<(Time, LinkChange)>,
    service: Service,
    impairment: Option<Impairment>,
) -> Path<Drops> {
    let rate = Rate::from_mbps(10);
    let mut settings = Settings::new(disciplines::find("fifo").unwrap().parameters);
    settings.set("limit", "6000B").unwrap();
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    let discipline = Discipline::new("fifo", settings, link, Random::new(1, "test")).unwrap();
    let config = DirectionConfig {
        rate,
        framing: Default::default(),
        service,
        impairer: Impairer::new(impairment, 1, "path"),
        discipline,
        markers: Vec::new(),
        passage: None,
        values: Default::default(),
    };
    Path::new(config, delays, changes, Drops::default())
}

/// A rule for this share of all packets.
fn rule(to: Outcome, percent: u64) -> Rule {
    Rule {
        is_unsafe: true,
        probability: Probability::ratio(percent, 100),
        ..Rule::all(format!("{to:?}"), to)
    }
}

fn packet(id: u32, len: u16, group: Option<u16>) -> Descriptor {
    let frame = Frame {
        id: FrameId::for_test(id),
        len: len + 14,
        start: 16,
    };
    let ip = IpPacket {
        offset: 14,
        len,
        ecn: Ecn::Ect0,
        protocol: 17,
        ports: None,
        flow: 0,
    };
    Descriptor::new(frame, &ip, group)
}

/// Releases as (time, frame), in order.
type Releases = Vec<(Time, usize)>;

/// Looks at `arrivals` (time, length, group) at the times `looks` and once more at the end.
fn play(
    mut path: Path<Drops>,
    arrivals: &[(Time, u16, u16)],
    looks: impl Iterator<Item = Time>,
) -> (Releases, Drops) {
    let mut releases = Vec::new();
    let mut next = 0;
    for look in looks.chain([Time::from_secs(100)]) {
        while let Some(&(at, len, group)) = arrivals.get(next).filter(|(at, ..)| *at <= look) {
            path.arrive(packet(next as u32, len, Some(group)), at)
                .unwrap();
            next += 1;
        }
        path.decide(look).unwrap();
        while let Some((at, packet)) = path.release(look) {
            releases.push((at, packet.frame().id.index()));
        }
    }
    assert_eq!(
        (path.queued(), path.delayed(), path.late_arrivals()),
        (0, 0, 0)
    );
    let gone = path.observer().0.len() + path.impaired().lost as usize;
    assert_eq!(releases.len() + gone, arrivals.len());
    (releases, path.into_observer())
}

fn changes() -> Vec<(Time, LinkChange)> {
    let direction = Direction::Forward;
    vec![
        (
            US(9_000),
            LinkChange::SetRate {
                hop: Hop::FIRST,
                direction,
                rate: Rate::from_mbps(3),
            },
        ),
        (
            US(4_000),
            LinkChange::Configure {
                hop: Hop::FIRST,
                direction,
                key: "limit".into(),
                value: "3000B".into(),
            },
        ),
        (
            US(15_000),
            LinkChange::SetRate {
                hop: Hop::FIRST,
                direction,
                rate: Rate::ZERO,
            },
        ),
        (
            US(20_000),
            LinkChange::SetRate {
                hop: Hop::FIRST,
                direction,
                rate: Rate::from_mbps(20),
            },
        ),
    ]
}

#[test]
fn a_packet_is_released_its_delay_after_the_end_of_its_transmission() {
    // 1 250 bytes at 10 Mbit/s take 1 ms; from 2.5 ms on at 5 Mbit/s 2 ms, the third in service still 1 ms.
    let change = LinkChange::SetRate {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        rate: Rate::from_mbps(5),
    };
    let arrivals = [
        (US(0), 1_250, 0),
        (US(0), 1_250, 1),
        (US(0), 1_250, 0),
        (US(0), 1_250, 0),
    ];
    let delays = [US(5_000), US(7_000)];
    let (releases, drops) = play(
        path(&delays, vec![(US(2_500), change)]),
        &arrivals,
        [].into_iter(),
    );
    assert_eq!(
        releases,
        [
            (US(6_000), 0),
            (US(8_000), 2),
            (US(9_000), 1),
            (US(10_000), 3)
        ]
    );
    assert_eq!(drops, Drops::default());
}

#[test]
fn the_time_to_decide_by_is_the_next_event_and_the_smallest_delay() {
    let mut path = path(&[US(5_000), US(3_000)], changes());
    assert_eq!(path.decide_by(), None);
    path.arrive(packet(0, 1_250, Some(0)), US(100)).unwrap();
    // In service, nothing waits: its release is known.
    assert_eq!(
        (path.decide_by(), path.next_release()),
        (None, Some(US(6_100)))
    );
    path.arrive(packet(1, 1_250, Some(0)), US(200)).unwrap();
    assert_eq!(path.decide_by(), Some(US(1_100 + 3_000)));
}

#[test]
fn an_arrival_that_comes_to_be_known_too_late_is_counted() {
    let mut path = path(&[US(5_000)], vec![]);
    path.decide(US(50)).unwrap();
    path.arrive(packet(0, 1_250, Some(0)), US(40)).unwrap();
    assert_eq!(
        (path.late_arrivals(), path.next_release()),
        (1, Some(US(50 + 1_000 + 5_000)))
    );
}

/// The value with which each packet meets the queue.
#[derive(Debug, Default)]
struct Values(Vec<u16>);

impl Observer<Descriptor> for Values {
    fn enqueued(&mut self, _queue: QueueId, packet: &Descriptor, _now: Time) {
        self.0.push(packet.value());
    }
    fn dropped(&mut self, _packet: Descriptor, _drop: Drop, _now: Time) {}
}

#[test]
fn the_marker_of_its_group_gives_a_packet_its_value_at_the_time_of_its_arrival() {
    let marker = || {
        let function = ValueFunction::named("gold", CodeScale::default()).unwrap();
        let settings = Settings::new(MARKERS[0].parameters);
        let random = Random::new(1, "marker.first");
        Marker::new(MARKERS[0].name, &settings, &[function], random).unwrap()
    };
    let config = DirectionConfig {
        rate: Rate::from_mbps(100),
        markers: vec![Some(marker()), None],
        passage: None,
        ..DirectionConfig::unlimited(1_500)
    };
    let mut path = Path::new(config, &[US(5_000); 3], vec![], Values::default());
    let mut alone = marker();
    let mut expected = Vec::new();
    for index in 0..300 {
        // With a marker, without, missing, and of no group.
        let group = [Some(0), Some(1), Some(2), None][index as usize % 4];
        let at = US(u64::from(index) * 97);
        let mut same = packet(index, 1_000, group);
        // What came in with a value, by a header, keeps it where nobody marks.
        same.set_value(7);
        let mut arriving = packet(index, 1_000, group);
        arriving.set_value(7);
        path.arrive(arriving, at).unwrap();
        if group == Some(0) {
            alone.mark(&mut same, at);
        }
        expected.push(same.value());
    }
    let values = path.into_observer().0;
    assert_eq!(values, expected);
    let marked = values.iter().filter(|&&value| value != 7).count();
    assert!((70..=75).contains(&marked), "{marked}");
}

#[test]
fn a_change_that_the_discipline_refuses_is_an_error() {
    let wrong = LinkChange::Configure {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        key: "limt".into(),
        value: "1".into(),
    };
    let mut path = path(&[], vec![(US(10), wrong)]);
    assert!(path.decide(US(9)).is_ok());
    assert!(
        path.decide(US(10))
            .unwrap_err()
            .to_string()
            .contains("limt")
    );
}

/// What is changed while packets flow happens as if it had been planned from the start, between changes that were.
#[test]
fn a_change_that_comes_later_is_one_that_was_planned() {
    let arrivals: Vec<_> = (0..60).map(|i| (US(400) * i, 1_250, 0)).collect();
    let expected = play(
        path(&[US(5_000)], changes()),
        &arrivals,
        arrivals.iter().map(|(at, ..)| *at),
    );
    assert!(!expected.1.0.is_empty() && expected.0.len() > 10);
    let mut later = changes();
    let (at, change) = later.remove(0);
    let mut path = path(&[US(5_000)], later);
    let known = at - US(1);
    let early = arrivals.iter().take_while(|(at, ..)| *at <= known).count();
    for (id, &(at, len, group)) in arrivals[..early].iter().enumerate() {
        path.arrive(packet(id as u32, len, Some(group)), at)
            .unwrap();
    }
    path.decide(known).unwrap();
    path.plan(at, change);
    let mut releases = Vec::new();
    for (id, &(at, len, group)) in arrivals.iter().enumerate().skip(early) {
        path.arrive(packet(id as u32, len, Some(group)), at)
            .unwrap();
    }
    path.decide(Time::from_secs(100)).unwrap();
    while let Some((at, packet)) = path.release(Time::from_secs(100)) {
        releases.push((at, packet.frame().id.index()));
    }
    assert_eq!((releases, path.into_observer()), expected);
}

proptest! {
    /// Woken by each arrival and event, lazily, or only at the very end: the same fates.
    #[test]
    fn looking_rarely_changes_no_fate(
        gaps in prop::collection::vec((0..1_200_u64, 40..1_500_u16, 0..2_u16), 1..120),
        looks in prop::collection::vec(1..3_000_u64, 0..60),
        kind in 0..4_u8,
    ) {
        let delays = [US(5_000), US(9_000)];
        let mut now = Time::ZERO;
        let arrivals: Vec<_> = gaps.iter().map(|&(gap, len, group)| { now += US(gap); (now, len, group) }).collect();
        let per_packet = play(moving(kind, &delays), &arrivals, arrivals.iter().map(|(at, ..)| *at));
        let lazy = play(moving(kind, &delays), &arrivals, (1..200).map(|look| US(1_000) * look));
        let mut at = Time::ZERO;
        let random = play(moving(kind, &delays), &arrivals, looks.iter().map(|&gap| { at += US(gap); at }));
        prop_assert_eq!(&per_packet, &lazy);
        prop_assert_eq!(&per_packet, &random);
        prop_assert_eq!(per_packet.0.len() + per_packet.1.0.len(), arrivals.len());
    }

    /// Handing out ahead of time changes neither fates nor times, nor the order within a flow; and
    /// with looks no further apart than the smallest delay, and what is due until the next one handed
    /// out at each, nothing is handed out after its time, to the nanosecond.
    #[test]
    fn looking_ahead_changes_no_fate_and_is_late_for_none(
        gaps in prop::collection::vec((0..1_200_000_u64, 40..1_500_u16, 0..2_u16), 1..120),
        looks in prop::collection::vec(1..=5_000_000_u64, 200),
        ahead in 5_000_000..20_000_000_u64,
        first in 0..5_000_000_u64,
        kind in 0..4_u8,
    ) {
        let delays = [US(5_000), US(9_000)];
        let (ns, ahead) = (Time::from_nanos, Time::from_nanos(ahead));
        let mut now = Time::ZERO;
        let arrivals: Vec<_> = gaps.iter().map(|&(gap, len, group)| { now += ns(gap); (now, len, group) }).collect();
        let (mut expected, drops) = play(moving(kind, &delays), &arrivals, arrivals.iter().map(|(at, ..)| *at));
        // Flows of different groups may leave in any order at one instant.
        expected.sort_by_key(|&(at, id)| (at, arrivals[id].2));
        let mut at = Time::ZERO;
        let random: Vec<_> = looks.iter().map(|&gap| { at += ns(gap); at }).collect();
        let widest: Vec<_> = (0..100).map(|look| ns(first) + delays[0] * look).collect();
        for looks in [random, widest] {
            let end = looks.last().copied().unwrap_or_default();
            let (mut released, dropped) = play_ahead(moving(kind, &delays), &arrivals, &looks, ahead, end);
            released.sort_by_key(|&(at, id)| (at, arrivals[id].2));
            prop_assert_eq!(&released, &expected);
            prop_assert_eq!(&dropped, &drops);
        }
    }
}

/// As [`play`], but hands out whatever is released until `ahead` after each of `looks`, none of which
/// is after its time until `end`. A stable sort by time then gives the order in which `fq` sends what
/// belongs to one flow.
fn play_ahead(
    mut path: Path<Drops>,
    arrivals: &[(Time, u16, u16)],
    looks: &[Time],
    ahead: Time,
    end: Time,
) -> (Releases, Drops) {
    let mut releases = Vec::new();
    let mut next = 0;
    for &look in looks.iter().chain([&Time::from_secs(100)]) {
        while let Some(&(at, len, group)) = arrivals.get(next).filter(|(at, ..)| *at <= look) {
            path.arrive(packet(next as u32, len, Some(group)), at)
                .unwrap();
            next += 1;
        }
        path.decide(look).unwrap();
        while let Some((at, packet)) = path.release(look + ahead) {
            assert!(
                at >= look || look > end,
                "due at {at}, handed out at {look}"
            );
            releases.push((at, packet.frame().id.index()));
        }
    }
    assert_eq!((path.queued(), path.delayed()), (0, 0));
    (releases, path.into_observer())
}
