//! Links that move: rates that follow a trace, and aggregates over a medium.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::*;
use proptest::prelude::*;
use quell_aqm::departure_clock::Framing;
use quell_aqm::link_trace::{ChanceTrace, LinkTrace, RateTrace, Trace};
use quell_aqm::medium::Medium;
use quell_aqm::{Bottleneck, Discipline, Link, Service, disciplines};
use quell_units::{Bytes, Ecn, Random, Rate, Settings, Time};

const MS: fn(u64) -> Time = Time::from_millis;
const US: fn(u64) -> Time = Time::from_micros;
/// A packet of 1 500 bytes takes a millisecond.
const RATE: Rate = Rate::from_mbps(12);

type TestLink = Bottleneck<TestPacket, Discipline<TestPacket>, Ledger>;

fn link(kind: &str, rate: Rate, service: Service) -> TestLink {
    let settings = Settings::new(disciplines::find(kind).unwrap().parameters);
    let mtu = Bytes::new(1_500);
    let qdisc = Discipline::new(kind, settings, Link { rate, mtu }, Random::new(1, "queue"));
    Bottleneck::new(qdisc.unwrap(), rate, Framing::default(), Ledger::default())
        .with_service(service)
}

fn medium(packets: u32, time: Time, backoff: Time) -> Service {
    let medium = Medium {
        packets,
        time,
        delay: MS(1),
        backoff,
    };
    Service {
        trace: None,
        medium: Some((medium, Random::new(1, "access"))),
    }
}

fn rates(steps: &[(u64, u64)], length: u64) -> LinkTrace {
    let steps = steps
        .iter()
        .map(|&(ms, mbps)| (MS(ms), Rate::from_mbps(mbps)));
    LinkTrace::new(Trace::Rates(
        RateTrace::new(steps.collect(), MS(length)).unwrap(),
    ))
}

/// When packets of 1 500 bytes start and end that arrive at these times.
fn carried(
    link: &mut TestLink,
    arrivals: impl IntoIterator<Item = Time>,
    until: Time,
) -> Vec<(Time, Time)> {
    let mut all = Vec::new();
    for (id, at) in (0..).zip(arrivals) {
        let packet = TestPacket::new(id, id, 1_500, Ecn::NotEct);
        link.arrive(packet, at, &mut |_, departure| {
            all.push((departure.start, departure.end))
        });
    }
    link.advance(until, &mut |_, departure| {
        all.push((departure.start, departure.end))
    });
    all
}

#[test]
fn a_packet_in_service_finishes_at_the_old_rate_and_an_outage_keeps_the_rest() {
    let link_trace = rates(&[(0, 12), (2, 0), (5, 24)], 10);
    let service = Service {
        trace: Some(link_trace),
        medium: None,
    };
    let mut link = link("fifo", RATE, service);
    // The second packet starts at 1.5 ms and crosses the outage.
    let out = carried(&mut link, [US(500); 4], MS(20));
    let expected = [(500, 1_500), (1_500, 2_500), (5_000, 5_500), (5_500, 6_000)];
    assert_eq!(out, expected.map(|(start, end)| (US(start), US(end))));
    assert_eq!(link.rate(), RATE, "20 ms are the start of the third time");
}

#[test]
fn a_trace_that_starts_in_an_outage_holds_the_first_packet() {
    let link_trace = rates(&[(0, 0), (3, 12)], 10);
    assert_eq!(link_trace.first_rate(), RATE);
    let service = Service {
        trace: Some(link_trace),
        medium: None,
    };
    let mut link = link("fifo", RATE, service);
    assert_eq!(carried(&mut link, [Time::ZERO], MS(9)), [(MS(3), MS(4))]);
}

#[test]
fn an_aggregate_leaves_the_queue_at_once_and_arrives_together() {
    let mut link = link("fifo", RATE, medium(4, MS(10), Time::ZERO));
    let out = carried(&mut link, [Time::ZERO; 10], MS(50));
    // A millisecond of waiting, four of sending; again; and the last two.
    let mut expected = vec![(MS(1), MS(5)); 4];
    expected.extend([(MS(6), MS(10)); 4]);
    expected.extend([(MS(11), MS(13)); 2]);
    assert_eq!(out, expected);
}

#[test]
fn an_aggregate_ends_where_no_full_packet_fits_any_more() {
    // 2.5 ms hold two packets; the first goes even where none fits.
    for (limit, expected) in [(US(2_500), 2), (MS(3), 3), (US(10), 1)] {
        let mut link = link("fifo", RATE, medium(64, limit, Time::ZERO));
        let out = carried(&mut link, [Time::ZERO; 10], MS(2));
        assert_eq!(out.len(), expected, "{limit}");
    }
}

#[test]
fn the_backoff_is_uniform_from_zero() {
    let mut link = link("fifo", RATE, medium(1, MS(10), MS(2)));
    let arrivals = (0..2_000).map(|n| MS(10 * n));
    let out = carried(&mut link, arrivals, MS(30_000));
    let waits = out
        .iter()
        .zip(0..)
        .map(|((start, _), n)| (*start - MS(10 * n)).as_nanos());
    let waits: Vec<u64> = waits.collect();
    assert!(
        waits
            .iter()
            .all(|wait| (1_000_000..=3_000_000).contains(wait))
    );
    // 1 ms and half of 2 ms; the standard error of the mean is 0.013 ms.
    let mean = waits.iter().sum::<u64>() / waits.len() as u64;
    assert!((1_940_000..2_060_000).contains(&mean), "{mean}");
}

#[test]
fn a_medium_waits_out_an_outage() {
    let mut both = medium(4, MS(10), Time::ZERO);
    both.trace = Some(rates(&[(0, 0), (7, 12)], 20));
    let mut link = link("fifo", RATE, both);
    let out = carried(&mut link, [Time::ZERO; 2], MS(19));
    assert_eq!(out, [(MS(7), MS(9)); 2]);
}

#[test]
fn a_discipline_hears_the_mean_of_the_last_100_ms() {
    // 50 chances in each 100 ms are 6 Mbit/s; a FIFO of 10 ms then holds 5 packets, and at the mean of the whole trace 3.
    let busy = (1..=50).map(|n| MS(2 * n - 1));
    let quiet = (1..=10).map(|n| MS(100 + 10 * n));
    let trace = ChanceTrace::new(busy.chain(quiet).collect()).unwrap();
    let link_trace = LinkTrace::new(Trace::Chances(trace));
    let rate = link_trace.first_rate();
    assert_eq!(rate, Rate::from_bps(60 * 12_000 * 5));
    let table = disciplines::find("fifo").unwrap().parameters;
    let mut settings = Settings::new(table);
    settings.set("limit", "10ms").unwrap();
    let mtu = Bytes::new(1_500);
    let fifo = Discipline::new(
        "fifo",
        settings,
        Link { rate, mtu },
        Random::new(1, "queue"),
    );
    let service = Service {
        trace: Some(link_trace),
        medium: None,
    };
    let mut link = Bottleneck::new(fifo.unwrap(), rate, Framing::default(), Ledger::default())
        .with_service(service);
    let mut held = |at: Time| {
        link.advance(at - US(1), &mut |_, _| ());
        for id in 0..100 {
            let packet = TestPacket::new(at.as_nanos() + id, id, 1_500, Ecn::NotEct);
            link.arrive(packet, at - US(1), &mut |_, _| ());
        }
        let held = link.backlog().packets;
        link.drain(at - US(1), &mut |_, _| ());
        held
    };
    assert_eq!([held(MS(99)), held(MS(102)), held(MS(199))], [3, 5, 1]);
}

fn services() -> impl Strategy<Value = (Rate, Service)> {
    let steps = prop::collection::vec((1..30_u64, 0..40_u64), 1..12).prop_map(|gaps| {
        let mut at = 0;
        let mut steps = vec![(Time::ZERO, RATE)];
        for (gap, mbps) in gaps {
            at += gap;
            steps.push((MS(at), Rate::from_mbps(mbps)));
        }
        LinkTrace::new(Trace::Rates(RateTrace::new(steps, MS(at + 3)).unwrap()))
    });
    let chances = prop::collection::vec(0..5_000_u64, 1..60).prop_map(|gaps| {
        let mut at = 0;
        let mut times = Vec::new();
        for gap in gaps {
            at += gap;
            times.push(US(at));
        }
        times.push(US(at + 1_000));
        LinkTrace::new(Trace::Chances(ChanceTrace::new(times).unwrap()))
    });
    let link_trace = prop_oneof![Just(None), steps.prop_map(Some), chances.prop_map(Some)];
    let medium = prop::option::of((1..20_u32, 1..8_000_u64, 0..2_000_u64));
    (link_trace, medium, 0..1_000_u64).prop_map(|(link_trace, medium, seed)| {
        let by_chance = matches!(
            &link_trace,
            Some(LinkTrace {
                trace: Trace::Chances(_),
                ..
            })
        );
        let medium = medium
            .filter(|_| !by_chance)
            .map(|(packets, time, backoff)| {
                let medium = Medium {
                    packets,
                    time: US(time),
                    delay: US(100),
                    backoff: US(backoff),
                };
                (medium, Random::new(seed, "access"))
            });
        let rate = link_trace.as_ref().map_or(RATE, LinkTrace::first_rate);
        (
            rate,
            Service {
                trace: link_trace,
                medium,
            },
        )
    })
}

proptest! {
    /// However a link moves: the fate of every packet depends on the arrivals alone and not on when somebody looks; each comes out
    /// once; packets leave in the order of their ends; and every discipline bears it.
    #[test]
    fn a_late_caller_gets_the_same_departures((rate, service) in services(), arrivals in prop::collection::vec((0..3_000_u64, 40..1_501_u64), 1..150), looks in 1..4_000_u64, kind in prop::sample::select(vec!["fifo", "codel", "dualpi2", "fq_codel", "pie"])) {
        let run = |looks: Option<u64>| {
            let mut link = link(kind, rate, service.clone());
            let (mut out, mut at) = (Vec::new(), Time::ZERO);
            for (id, (gap, len)) in (0..).zip(&arrivals) {
                let next = at + US(*gap);
                while let Some(step) = looks.filter(|_| at < next) {
                    at = (at + US(step)).min(next);
                    link.advance(at, &mut |p: TestPacket, d| out.push((p.id, d)));
                }
                at = next;
                let packet = TestPacket::new(id, id % 3, *len, Ecn::Ect1);
                link.arrive(packet, at, &mut |p, d| out.push((p.id, d)));
            }
            link.advance(at + Time::from_secs(3), &mut |p, d| out.push((p.id, d)));
            let waiting = link.backlog().packets;
            (out, waiting, link.into_observer())
        };
        let (out, waiting, ledger) = run(None);
        let (again, ..) = run(Some(looks));
        prop_assert_eq!(&out, &again);
        let dropped = arrivals.len() as u64 - out.len() as u64 - waiting;
        let drops = ledger.events.iter().filter(|event| matches!(event, Event::Dropped(..)));
        prop_assert_eq!(dropped, drops.count() as u64);
        prop_assert!(out.is_sorted_by_key(|(_, departure)| departure.end));
        prop_assert!(out.iter().all(|(_, departure)| departure.start <= departure.end));
    }
}
