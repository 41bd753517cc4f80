//! Links that send by opportunities, against an independent computation of mahimahi's published rules (`rationalize()` of
//! `link_queue.cc`): every packet leaves at the same time.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::*;
use proptest::prelude::*;
use quell_aqm::departure_clock::Framing;
use quell_aqm::link_trace::{ChanceFraming, ChanceTrace, LinkTrace, Trace};
use quell_aqm::{Bottleneck, Discipline, Link, Service, disciplines};
use quell_units::{Bytes, Random, Rate, Settings, Time};

/// The rules, step by step in whole milliseconds: packets of (arrival, TUN bytes) of an unlimited queue, in order. Returns when each
/// has left, up to `until`.
fn reference(schedule: &[u64], repeat: bool, packets: &[(u64, u64)], until: u64) -> Vec<u64> {
    const CHANCE: i64 = 1_504;
    let (mut next, mut base, mut finished) = (0, 0, false);
    let mut waiting = std::collections::VecDeque::new();
    let mut transit: Option<i64> = None;
    let mut left = Vec::new();
    let mut rationalize = |now: u64, waiting: &mut std::collections::VecDeque<u64>| {
        while !finished && base + schedule[next] <= now {
            let at = base + schedule[next];
            let mut chance = CHANCE;
            next = (next + 1) % schedule.len();
            if next == 0 {
                finished = !repeat;
                base += schedule[schedule.len() - 1];
            }
            while chance > 0 {
                let Some(need) = transit
                    .take()
                    .or_else(|| waiting.pop_front().map(|size| size as i64))
                else {
                    break;
                };
                if need > chance {
                    transit = Some(need - chance);
                    chance = 0;
                } else {
                    chance -= need;
                    left.push(at);
                }
            }
        }
    };
    for (at, size) in packets {
        rationalize(*at, &mut waiting);
        waiting.push_back(*size);
    }
    rationalize(until, &mut waiting);
    left
}

/// The departures of a bottleneck. `ask` says how often somebody looks in between.
fn played(link_trace: LinkTrace, packets: &[(u64, u64)], until: u64, ask: u64) -> Vec<u64> {
    let rate = link_trace.first_rate();
    let mut settings = Settings::new(disciplines::find("fifo").unwrap().parameters);
    settings.set("limit", "100000p").unwrap();
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    let qdisc = Discipline::new("fifo", settings, link, Random::new(1, "queue")).unwrap();
    let service = Service {
        trace: Some(link_trace),
        medium: None,
    };
    let mut link =
        Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default()).with_service(service);
    let mut left = Vec::new();
    let mut sink =
        |_: TestPacket, departure: quell_aqm::Departure| left.push(departure.end.as_nanos());
    for (id, (at, size)) in packets.iter().enumerate() {
        if ask > 0 {
            link.advance(
                Time::from_millis(at.saturating_sub(id as u64 % ask)),
                &mut sink,
            );
        }
        let packet = TestPacket::new(id as u64, 1, size - 4, quell_units::Ecn::NotEct);
        link.arrive(packet, Time::from_millis(*at), &mut sink);
    }
    link.advance(Time::from_millis(until), &mut sink);
    left.retain(|end| *end <= until * 1_000_000);
    left.iter().map(|end| end / 1_000_000).collect()
}

fn schedules() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..6_u64, 1..40).prop_map(|gaps| {
        let mut times: Vec<u64> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        let last = times.len() - 1;
        times[last] = times[last].max(1);
        times
    })
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..4_u64, 32..1_504_u64), 0..120).prop_map(|gaps| {
        let mut at = 0;
        let mut packets = Vec::new();
        for (gap, size) in gaps {
            at += gap;
            packets.push((at, size));
        }
        packets
    })
}

fn link_trace(schedule: &[u64], repeat: bool) -> LinkTrace {
    let times = schedule.iter().copied().map(Time::from_millis).collect();
    LinkTrace {
        repeat,
        framing: ChanceFraming::Mahimahi,
        ..LinkTrace::new(Trace::Chances(ChanceTrace::new(times).unwrap()))
    }
}

proptest! {
    #[test]
    fn every_packet_leaves_when_mahimahi_would_send_it(schedule in schedules(), packets in arrivals(), repeat: bool, ask in 0..5_u64) {
        let until = packets.last().map_or(0, |(at, _)| at + 200);
        let expected = reference(&schedule, repeat, &packets, until);
        prop_assert_eq!(played(link_trace(&schedule, repeat), &packets, until, ask), expected);
    }
}

#[test]
fn a_line_for_each_millisecond_is_twelve_megabit_within_a_packet() {
    let packets: Vec<(u64, u64)> = (0..2_000).map(|_| (0, 1_504)).collect();
    let traced = link_trace(&[1], true);
    let left = played(traced, &packets, 3_000, 0);
    // A link of 12 Mbit/s sends a packet of 1 500 bytes in a millisecond.
    let constant: Vec<u64> = (1..=2_000).collect();
    assert_eq!(left, constant);
    assert_eq!(
        link_trace(&[1], true).mean_rate(),
        Rate::from_bps(12_032_000)
    );
}
