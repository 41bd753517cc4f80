//! Several links in a row are as many paths, of which each hands to the next.

use super::*;
use crate::frames::Pool;
use crate::path::chain::{Chain, Member, Spans};
use quell_aqm::impair::{Impairer, Loss};
use quell_measure::Hops;

const QUIET: Spans<'static> = Spans {
    spans: &[],
    seed: 1,
};

/// Drops, and what packets have waited in all queues: which frame, and how long.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Seen {
    drops: Drops,
    crossed: Vec<(usize, Time)>,
}

impl Observer<Descriptor> for Seen {
    fn dropped(&mut self, packet: Descriptor, drop: Drop, now: Time) {
        self.drops.dropped(packet, drop, now);
    }
    fn crossed(&mut self, packet: &Descriptor, waited: Time, _now: Time) {
        self.crossed.push((packet.frame().id.index(), waited));
    }
}

/// Where values are beside the packets no frame is looked at.
fn no_frames() -> Pool {
    Pool::new(0, 1_500).unwrap()
}

fn config(mbps: u64, limit: &str) -> DirectionConfig {
    let rate = Rate::from_mbps(mbps);
    let mut settings = Settings::new(disciplines::find("fifo").unwrap().parameters);
    settings.set("limit", limit).unwrap();
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    DirectionConfig {
        rate,
        framing: Default::default(),
        discipline: Discipline::new("fifo", settings, link, Random::new(1, "test")).unwrap(),
        markers: Vec::new(),
        passage: None,
        values: Default::default(),
        service: Default::default(),
        impairer: Impairer::new(None, 0, "none"),
    }
}

const RATES: [u64; 3] = [10, 7, 12];
const LIMIT: &str = "9000B";
/// Behind each link.
const DELAYS: [Time; 3] = [Time::from_micros(300), Time::ZERO, Time::from_micros(700)];

fn hops(first: u16, last: u16) -> Hops {
    Hops {
        first: Hop(first),
        last: Hop(last),
    }
}

/// One-way delays and paths: through all, the first two, the last two, and the middle one alone.
fn groups() -> [(Time, Hops); 4] {
    [
        (US(5_000), hops(0, 2)),
        (US(2_000), hops(0, 1)),
        (US(1_000), hops(1, 2)),
        (US(3_000), hops(1, 1)),
    ]
}

fn chain(direction: Direction) -> Chain<Seen> {
    let members = RATES.iter().zip(DELAYS).map(|(&mbps, delay)| Member {
        config: config(mbps, LIMIT),
        delay,
        changes: Vec::new(),
        observer: Seen::default(),
    });
    Chain::new(direction, members.collect(), &groups(), &QUIET)
}

type Arrival = (Time, u16, u16);

/// Releases, and what the observers of all links have seen, in forward order.
fn play_chain(
    mut chain: Chain<Seen>,
    arrivals: &[Arrival],
    looks: impl Iterator<Item = Time>,
) -> (Releases, Vec<Seen>) {
    let mut releases = Vec::new();
    let mut pool = no_frames();
    let mut next = 0;
    for look in looks.chain([Time::from_secs(100)]) {
        while let Some(&(at, len, group)) = arrivals.get(next).filter(|(at, ..)| *at <= look) {
            let packet = packet(next as u32, len, Some(group));
            chain.arrive(packet, at, &mut pool).unwrap();
            next += 1;
        }
        chain.decide(look, &mut pool).unwrap();
        while let Some((at, packet)) = chain.release(look, &mut pool) {
            releases.push((at, packet.frame().id.index()));
        }
    }
    assert!(chain.is_quiet());
    assert_eq!((chain.delayed(), chain.late_arrivals()), (0, 0));
    (releases, chain.into_observers())
}

/// The releases of one path after the other, each with everything that ever arrives there.
fn play_apart(direction: Direction, arrivals: &[Arrival]) -> (Releases, Vec<Drops>) {
    let mut order: Vec<u16> = (0..3).collect();
    if direction == Direction::Reverse {
        order.reverse();
    }
    let mut on_way: Vec<(Time, usize)> = Vec::new();
    let (mut releases, mut drops) = (Vec::new(), vec![Drops::default(); 3]);
    for hop in order.into_iter().map(Hop) {
        let group_of = |id: usize| groups()[usize::from(arrivals[id].2)];
        // What comes from the link before arrives first.
        let mut all: Vec<(Time, bool, usize)> =
            on_way.drain(..).map(|(at, id)| (at, false, id)).collect();
        for (id, (at, ..)) in arrivals.iter().enumerate() {
            if group_of(id).1.entry(direction) == hop {
                all.push((*at, true, id));
            }
        }
        all.sort_by_key(|(at, outside, id)| (*at, *outside, if *outside { *id } else { 0 }));
        let mbps = RATES[hop.index()];
        let mut path = Path::new(
            config(mbps, LIMIT),
            &[Time::ZERO],
            Vec::new(),
            Drops::default(),
        );
        for (at, _, id) in all {
            let packet = packet(id as u32, arrivals[id].1, Some(0));
            path.arrive(packet, at).unwrap();
        }
        path.decide(Time::from_secs(100)).unwrap();
        while let Some((end, packet)) = path.release(Time::from_secs(100)) {
            let id = packet.frame().id.index();
            let (delay, hops) = group_of(id);
            if hops.exit(direction) == hop {
                let before = hops.iter().filter(|other| *other != hop);
                let links = before.map(|hop| DELAYS[hop.index()]);
                let rest = links.fold(delay, |rest, link| rest - link);
                releases.push((end + rest, id));
            } else {
                on_way.push((end + DELAYS[hop.index()], id));
            }
        }
        drops[hop.index()] = path.into_observer();
    }
    releases.sort_unstable();
    (releases, drops)
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (0_u64..900, 40_u16..1_500, 0_u16..4);
    prop::collection::vec(one, 1..150).prop_map(|gaps| {
        let mut at = 0;
        let arrival = |(gap, len, group)| {
            at += gap;
            (US(at), len, group)
        };
        gaps.into_iter().map(arrival).collect()
    })
}

proptest! {
    #[test]
    fn a_chain_is_one_path_after_the_other(arrivals in arrivals(), back in any::<bool>()) {
        let direction = if back { Direction::Reverse } else { Direction::Forward };
        let (mut releases, seen) = play_chain(chain(direction), &arrivals, [].into_iter());
        let (expected, drops) = play_apart(direction, &arrivals);
        releases.sort_unstable();
        prop_assert_eq!(releases, expected);
        let dropped: Vec<Drops> = seen.into_iter().map(|seen| seen.drops).collect();
        prop_assert_eq!(dropped, drops);
    }

    #[test]
    fn when_the_thread_comes_does_not_matter_to_a_chain(arrivals in arrivals(), gaps in prop::collection::vec(1_u64..4_000, 1..80)) {
        let mut at = 0;
        let looks = gaps.iter().map(|gap| { at += gap; US(at) });
        let looks: Vec<Time> = looks.collect();
        let often = play_chain(chain(Direction::Forward), &arrivals, looks.into_iter());
        let once = play_chain(chain(Direction::Forward), &arrivals, [].into_iter());
        let sorted = |mut releases: Releases| { releases.sort_unstable(); releases };
        prop_assert_eq!(sorted(often.0), sorted(once.0));
        prop_assert_eq!(often.1, once.1);
    }

    /// The thread that comes at the latest time that it is asked for misses no release.
    #[test]
    fn no_release_is_decided_on_after_its_time(arrivals in arrivals()) {
        let mut chain = chain(Direction::Forward);
        let mut pool = no_frames();
        let mut next = 0;
        let mut now = Time::ZERO;
        while next < arrivals.len() || !chain.is_quiet() {
            // A look at least every smallest one-way delay, as the thread's pace has it.
            let look = chain.decide_by().unwrap_or(Time::MAX).min(now + US(1_000)).max(now);
            let before = chain.next_release();
            while let Some(&(at, len, group)) = arrivals.get(next).filter(|(at, ..)| *at <= look) {
                chain.arrive(packet(next as u32, len, Some(group)), at, &mut pool).unwrap();
                next += 1;
            }
            chain.decide(look, &mut pool).unwrap();
            if let Some(release) = chain.next_release() {
                prop_assert!(release >= look || before.is_some_and(|before| before <= release), "{release} {look}");
            }
            while chain.release(look, &mut pool).is_some() {}
            now = look + Time::from_nanos(1);
        }
    }
}

/// Links of one rate each, `None` for no limit, with their delays, which a group of 5 ms crosses.
fn row(links: &[(Option<u64>, Time)]) -> Chain<Seen> {
    let members = links.iter().map(|&(mbps, delay)| Member {
        config: DirectionConfig {
            rate: mbps.map_or(Rate::UNLIMITED, Rate::from_mbps),
            ..config(10, LIMIT)
        },
        delay,
        changes: Vec::new(),
        observer: Seen::default(),
    });
    let all = [(US(5_000), hops(0, links.len() as u16 - 1))];
    Chain::new(Direction::Forward, members.collect(), &all, &QUIET)
}

fn of_one_group(arrivals: &[Arrival]) -> Vec<Arrival> {
    let same = |&(at, len, _): &Arrival| (at, len, 0);
    arrivals.iter().map(same).collect()
}

proptest! {
    #[test]
    fn links_without_a_limit_are_plain_delays_wherever_they_stand(arrivals in arrivals(), looks in prop::collection::vec(1_u64..4_000, 0..40)) {
        let arrivals = of_one_group(&arrivals);
        let mut at = 0;
        let looks: Vec<Time> = looks.iter().map(|gap| { at += gap; US(at) }).collect();
        let play = |links: &[(Option<u64>, Time)]| {
            let (releases, seen) = play_chain(row(links), &arrivals, looks.iter().copied());
            // The times of drops count from the arrival at the queue that drops.
            let drops: Vec<usize> = seen.iter().map(|seen| seen.drops.0.len()).collect();
            (releases, drops)
        };
        let limit = (Some(10), US(0));
        let (alone, dropped) = play(&[limit]);
        let (short, long) = ((None, US(300)), (None, US(700)));
        for (links, dropping) in [
            (vec![limit, (None, US(0))], 0),
            (vec![(None, US(0)), limit], 1),
            (vec![limit, short, long], 0),
            (vec![limit, long, short], 0),
            (vec![short, limit, long], 1),
            (vec![long, limit, short], 1),
            (vec![short, long, limit], 2),
            (vec![long, short, limit], 2),
        ] {
            let (releases, drops) = play(&links);
            prop_assert_eq!(&releases, &alone, "{:?}", links);
            for (place, drops) in drops.into_iter().enumerate() {
                prop_assert_eq!(drops, if place == dropping { dropped[0] } else { 0 });
            }
        }
    }

    #[test]
    fn every_packet_leaves_or_is_dropped_or_lost_or_is_still_inside(arrivals in arrivals(), until in 0_u64..60_000) {
        let impairment = Impairment {
            loss: Loss {
                enter: Probability::ratio(1, 10),
                leave: Probability::ratio(1, 2),
                bad: Probability::ONE,
                good: Probability::ZERO,
            },
            reorder: Probability::ratio(1, 10),
            hold: US(2_000),
            jitter: US(700),
            ..Impairment::default()
        };
        let members = RATES.iter().zip(DELAYS).enumerate().map(|(place, (&mbps, delay))| Member {
            config: DirectionConfig {
                impairer: Impairer::new((place != 1).then(|| impairment.clone()), 7, &format!("{place}")),
                ..config(mbps, LIMIT)
            },
            delay,
            changes: Vec::new(),
            observer: Seen::default(),
        });
        let mut chain = Chain::new(Direction::Forward, members.collect(), &groups(), &QUIET);
        let mut pool = no_frames();
        let mut left = std::collections::BTreeSet::new();
        let mut arrived = 0;
        for &(at, len, group) in arrivals.iter().take_while(|(at, ..)| *at <= US(until)) {
            chain.arrive(packet(arrived, len, Some(group)), at, &mut pool).unwrap();
            arrived += 1;
        }
        for end in [US(until), Time::from_secs(100)] {
            chain.decide(end, &mut pool).unwrap();
            while let Some((_, packet)) = chain.release(end, &mut pool) {
                prop_assert!(left.insert(packet.frame().id.index()));
            }
            for id in chain.dropped().map(|id| id.index()).collect::<Vec<_>>() {
                prop_assert!(left.insert(id));
            }
            let lost: Vec<usize> = chain.lost().map(|id| id.index()).collect();
            for id in lost {
                prop_assert!(left.insert(id));
            }
            let inside = chain.queued() + chain.delayed();
            prop_assert_eq!(left.len() as u64 + inside, u64::from(arrived));
        }
        prop_assert!(chain.is_quiet());
        let of_links: u64 = (0..3).map(|hop| chain.impaired_at(Hop(hop)).lost).sum();
        prop_assert_eq!((left.len() as u32, of_links), (arrived, chain.impaired().lost));
    }
}

#[test]
fn in_a_parking_lot_who_crosses_all_loses_most() {
    // 8 Mbit/s of each of four groups, of which one crosses three links of 10 Mbit/s and the others one each.
    let members = [10; 3].map(|mbps| Member {
        config: config(mbps, LIMIT),
        delay: US(500),
        changes: Vec::new(),
        observer: Seen::default(),
    });
    let groups = [hops(0, 2), hops(0, 0), hops(1, 1), hops(2, 2)].map(|hops| (US(5_000), hops));
    let mut random = Random::new(3, "arrivals");
    let mut arrivals: Vec<Arrival> = (0..4)
        .flat_map(|group| [group; 4_000])
        .map(|group| {
            let within = 4 * random.below(1_000_000_000);
            (Time::from_nanos(within), 1_000, group)
        })
        .collect();
    arrivals.sort_unstable();
    let chain = Chain::new(Direction::Forward, members.into(), &groups, &QUIET);
    let (releases, seen) = play_chain(chain, &arrivals, [].into_iter());
    let mut left = [0; 4];
    for (_, id) in &releases {
        left[usize::from(arrivals[*id].2)] += 1;
    }
    let dropped = seen.iter().map(|seen| seen.drops.0.len()).sum::<usize>();
    assert_eq!(releases.len() + dropped, arrivals.len());
    let [through, cross @ ..] = left;
    assert!(cross.iter().all(|one| through * 5 < one * 4), "{left:?}");
    // What the first link drops of it, the third one has for its own group.
    assert!(cross[0] < cross[1] && cross[1] < cross[2], "{left:?}");
}

#[test]
fn the_sum_of_what_a_packet_waits_is_told_where_its_way_ends() {
    // Two packets of 1 250 bytes at once: 1 ms each at 10 Mbit/s. The second waits 1 ms there; at 5 Mbit/s, 2 ms each, 1 ms more.
    let members = [10, 5].map(|mbps| Member {
        config: config(mbps, "100kB"),
        delay: US(250),
        changes: Vec::new(),
        observer: Seen::default(),
    });
    let groups = [(US(1_000), hops(0, 1)), (US(1_000), hops(1, 1))];
    let chain = Chain::new(Direction::Forward, members.into(), &groups, &QUIET);
    let arrivals = [(US(0), 1_250, 0), (US(0), 1_250, 0), (US(50_000), 1_250, 1)];
    let (releases, seen) = play_chain(chain, &arrivals, [].into_iter());
    // 1 ms, 0.25 ms to the next link, 2 ms, and the 0.75 ms that are left.
    assert_eq!(releases, [(US(4_000), 0), (US(6_000), 1), (US(53_000), 2)]);
    assert_eq!(seen[0].crossed, []);
    assert_eq!(seen[1].crossed, [(0, US(0)), (1, US(2_000))]);
}

#[test]
fn packets_of_no_group_cross_every_link_and_wait_for_no_delay_at_the_end() {
    let mut chain = chain(Direction::Reverse);
    let mut pool = no_frames();
    chain
        .arrive(packet(0, 1_500, None), US(0), &mut pool)
        .unwrap();
    chain.decide(Time::from_secs(1), &mut pool).unwrap();
    // 1 ms at 12 Mbit/s, 0.7 ms, 1 714 285 ns at 7, nothing, 1.2 ms at 10.
    let released = chain
        .release(Time::from_secs(1), &mut pool)
        .map(|(at, _)| at);
    assert_eq!(
        released,
        Some(Time::from_nanos(
            1_000_000 + 700_000 + 1_714_285 + 1_200_000
        ))
    );
}
