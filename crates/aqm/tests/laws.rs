//! The laws of every queue discipline, driven by random operations on a living bottleneck.
//!
//! `tests/common` checks them: conservation, backlog, order, marks and empty dequeues at every call.
//! `tests/kinds` says how each discipline starts and which drops its source allows. Here are the
//! operations and the comparison of two identical runs.
#![allow(clippy::unwrap_used)]

mod common;
mod kinds;

use common::{Checked, Event, Ledger, TestPacket, discipline};
use proptest::prelude::*;
use quell_aqm::departure_clock::Framing;
use quell_aqm::parameter::Domain;
use quell_aqm::registry::KINDS;
use quell_aqm::{Bottleneck, Bytes, DropReason, Ecn, Qdisc, Rate, Time};

#[derive(Debug, Clone)]
enum Operation {
    Arrive {
        after: u64,
        flow: u64,
        len: u64,
        ecn: u8,
    },
    Burst {
        packets: u64,
        len: u64,
        ecn: u8,
    },
    /// Time passes: some packets depart, updates happen, the queue may become idle.
    Pass {
        nanos: u64,
    },
    /// The clock jumps.
    Jump {
        millis: u64,
    },
    SetRate {
        bps: u64,
    },
    Configure {
        parameter: usize,
        value: usize,
    },
    Drain,
}

fn operation() -> impl Strategy<Value = Operation> {
    let len = prop_oneof![Just(40_u64), Just(1_500), 20..1_500_u64];
    prop_oneof![
        8 => (0..400_000_u64, 0..4_u64, len.clone(), 0..4_u8)
            .prop_map(|(after, flow, len, ecn)| Operation::Arrive { after, flow, len, ecn }),
        3 => (1..60_u64, len, 0..4_u8).prop_map(|(packets, len, ecn)| Operation::Burst { packets, len, ecn }),
        4 => (0..20_000_000_u64).prop_map(|nanos| Operation::Pass { nanos }),
        1 => (0..2_000_u64).prop_map(|millis| Operation::Jump { millis }),
        1 => prop_oneof![Just(0_u64), Just(64_000), Just(10_000_000), Just(1_000_000_000), Just(u64::MAX)]
            .prop_map(|bps| Operation::SetRate { bps }),
        2 => (0..64_usize, 0..64_usize).prop_map(|(parameter, value)| Operation::Configure { parameter, value }),
        1 => Just(Operation::Drain),
    ]
}

/// Values worth trying, in and out of range; a discipline refuses what its table forbids.
fn candidates(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Time(..) => &["0s", "100us", "1ms", "15ms", "1s", "2h"],
        Domain::Bytes(..) => &["1B", "5kB", "1MB", "0B"],
        Domain::Packets(..) => &["0", "1", "2p", "10", "10000"],
        Domain::Integer(..) => &["0", "1", "2", "10", "100", "255", "256"],
        Domain::Fraction(..) => &["0", "0.1", "0.5", "0.999", "1", "2"],
        Domain::Frequency(..) => &["0", "0.000001", "0.16", "3.2", "1000000"],
        Domain::Rate(..) => &["0bit", "1kbit", "10mbit", "30gbit", "unlimited"],
        Domain::Flag => &["true", "false", "yes"],
        Domain::Word(words) => words,
        Domain::TimeOrPackets(..) => &["0s", "1ms", "0p", "1p", "30p", "x"],
        Domain::Limit { .. } => &["1p", "20p", "1500B", "3001B", "30kB", "1ms", "100ms", "0p"],
    }
}

/// With `passes`, a free link passes packets in the discipline's own way.
fn run(
    kind: &str,
    given: &[(&str, &str)],
    operations: &[Operation],
    passes: bool,
) -> (Vec<Event>, Vec<u64>) {
    let entry = quell_aqm::registry::find(kind).unwrap();
    let rate = Rate::from_mbps(10);
    let mut qdisc = Checked::new(discipline(kind, given, rate).unwrap());
    if !passes {
        qdisc = qdisc.without_passing();
    }
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
    let (mut now, mut next_id, mut delivered) = (Time::ZERO, 0, Vec::new());
    let mut ecn_at_offer = Vec::new();
    for operation in operations {
        let mut sink = |packet: TestPacket, _| delivered.push(packet.id);
        match *operation {
            Operation::Arrive {
                after,
                flow,
                len,
                ecn,
            } => {
                now += Time::from_nanos(after);
                let ecn = Ecn::from_bits(ecn);
                ecn_at_offer.push(ecn);
                link.arrive(TestPacket::new(next_id, flow, len, ecn), now, &mut sink);
                next_id += 1;
            }
            Operation::Burst { packets, len, ecn } => {
                for _ in 0..packets {
                    let ecn = Ecn::from_bits(ecn);
                    ecn_at_offer.push(ecn);
                    link.arrive(TestPacket::new(next_id, 9, len, ecn), now, &mut sink);
                    next_id += 1;
                }
            }
            Operation::Pass { nanos } => {
                now += Time::from_nanos(nanos);
                link.advance(now, &mut sink);
            }
            Operation::Jump { millis } => {
                now += Time::from_millis(millis);
                link.advance(now, &mut sink);
            }
            Operation::SetRate { bps } => link.set_rate(Rate::from_bps(bps), now, &mut sink),
            Operation::Configure { parameter, value } => {
                let parameter = &entry.parameters[parameter % entry.parameters.len()];
                let values = candidates(parameter.domain);
                let changed =
                    link.configure(parameter.name, values[value % values.len()], now, &mut sink);
                assert!(
                    changed.is_err() || parameter.live,
                    "{} changed while alive",
                    parameter.name
                );
            }
            Operation::Drain => link.drain(now, &mut sink),
        }
    }
    // What is left leaves once the link has a rate again and enough time.
    let mut sink = |packet: TestPacket, _| delivered.push(packet.id);
    link.set_rate(Rate::from_mbps(1_000), now, &mut sink);
    link.advance(now + Time::from_secs(1_000), &mut sink);
    assert_eq!(link.backlog().packets, 0);
    assert!(link.observer().inside.is_empty());
    let events = link.observer().events.clone();
    let dropped = events.iter().filter_map(|event| match event {
        Event::Dropped(id, drop) => Some((*id, *drop)),
        _ => None,
    });
    let mut out = delivered.clone();
    for (id, drop) in dropped {
        let ecn = ecn_at_offer[id as usize];
        assert!(
            kinds::allows(kind, drop.reason, drop.queued, ecn),
            "{kind}: {drop:?} of {ecn:?}"
        );
        out.push(id);
    }
    out.sort_unstable();
    assert!(
        out.iter().copied().eq(0..next_id),
        "each packet comes out exactly once"
    );
    (events, delivered)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_discipline_keeps_the_laws(operations in prop::collection::vec(operation(), 1..120)) {
        for entry in KINDS {
            for given in kinds::of(entry.name).forms {
                let first = run(entry.name, given, &operations, true);
                let second = run(entry.name, given, &operations, true);
                prop_assert_eq!(&first, &second, "same seed and same calls, same fate");
                let plain = run(entry.name, given, &operations, false);
                prop_assert_eq!(first, plain, "passing is enqueueing and dequeueing");
            }
        }
    }
}

#[test]
fn no_discipline_allocates_after_the_first_fill() {
    for entry in KINDS {
        for given in kinds::of(entry.name).forms {
            let rate = Rate::from_mbps(100);
            let mut qdisc = discipline(entry.name, given, rate).unwrap();
            let mut counters = Silent;
            let mut now = Time::ZERO;
            let mut round = |packets: u64, now: &mut Time| {
                for id in 0..packets {
                    let ecn = Ecn::from_bits((id % 4) as u8);
                    let mut packet = TestPacket::new(id, id % 7, 1_000, ecn);
                    quell_aqm::Packet::set_arrival(&mut packet, *now);
                    qdisc.enqueue(packet, *now, &mut counters);
                    *now += Time::from_nanos(80_000);
                    while let Some(due) = qdisc.next_update().filter(|due| due <= now) {
                        qdisc.update(due);
                    }
                }
                while qdisc.dequeue(*now, &mut counters).is_some() {
                    qdisc.transmitted(*now);
                }
            };
            round(20_000, &mut now);
            let counted = allocation_counter::measure(|| round(20_000, &mut now));
            assert_eq!(counted.count_total, 0, "{} {given:?}", entry.name);
        }
    }
}

/// An observer that counts nothing, so that only the discipline could allocate.
struct Silent;

impl quell_aqm::Observer<TestPacket> for Silent {
    fn dropped(&mut self, _packet: TestPacket, _drop: quell_aqm::Drop, _now: Time) {}
}

#[test]
fn framing_changes_when_packets_leave_and_nothing_else() {
    let depart = |overhead| {
        let qdisc = discipline("fifo", &[("limit", "2p")], Rate::from_mbps(8)).unwrap();
        let framing = Framing {
            overhead,
            mpu: Bytes::ZERO,
        };
        let mut link = Bottleneck::new(qdisc, Rate::from_mbps(8), framing, Ledger::default());
        let mut ends = Vec::new();
        for id in 0..4 {
            link.arrive(
                TestPacket::new(id, 0, 1_000, Ecn::NotEct),
                Time::ZERO,
                &mut |_, d| ends.push(d.end),
            );
        }
        link.advance(Time::from_secs(1), &mut |_, d| ends.push(d.end));
        assert_eq!(link.observer().drops(DropReason::Limit), 1);
        ends
    };
    assert_eq!(depart(0), [1, 2, 3].map(Time::from_millis));
    assert_eq!(depart(14), [1_014, 2_028, 3_042].map(Time::from_micros));
}
