//! A knob that does nothing is a bug: every parameter of every discipline changes what happens to
//! some packet of one busy workload.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{Event, Ledger, TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::{KINDS, trials};
use quell_aqm::kind::{Entry, Given};
use quell_aqm::{Bottleneck, Ecn, Random, Rate, Time};

/// Kind, context, parameter and the two values, of all kinds.
fn knobs() -> impl Iterator<
    Item = (
        &'static Entry,
        Given,
        &'static str,
        &'static str,
        &'static str,
    ),
> {
    KINDS.iter().flat_map(|entry| {
        let knobs = trials(entry.name).unwrap().knobs.iter();
        knobs.map(move |&(context, key, one, other)| (entry, context, key, one, other))
    })
}

/// What happens to an overloaded 10 Mbit/s link: bursts, pauses, five flows, all ECN code points, two sizes.
fn outcome(kind: &str, given: &[(&str, &str)]) -> Vec<Event> {
    let rate = Rate::from_mbps(10);
    let qdisc = discipline(kind, given, rate).unwrap_or_else(|e| panic!("{kind} {given:?}: {e}"));
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
    let mut random = Random::new(3, "workload");
    let (mut now, mut id) = (Time::ZERO, 0);
    for _ in 0..2_500 {
        now += Time::from_nanos(random.below(4_000_000));
        for _ in 0..=random.below(3) {
            let len = if random.below(4) == 0 { 186 } else { 1_500 };
            let ecn = Ecn::from_bits(random.below(4) as u8);
            link.arrive(TestPacket::new(id, id % 5, len, ecn), now, &mut |_, _| ());
            id += 1;
        }
        // Now and then the queue runs empty.
        if random.below(500) == 0 {
            now += Time::from_secs(2);
        }
    }
    link.observer().events.clone()
}

#[test]
fn every_parameter_changes_the_fate_of_some_packet() {
    let mut covered = BTreeSet::new();
    for (entry, context, key, one, other) in knobs() {
        let kind = entry.name;
        let with = |value| {
            let given: Vec<_> = context.iter().copied().chain([(key, value)]).collect();
            outcome(kind, &given)
        };
        assert!(
            with(one) != with(other),
            "{kind} {context:?}: {key} = {one} or {other}"
        );
        covered.insert((kind, key));
    }
    for entry in KINDS {
        for parameter in entry.parameters {
            assert!(
                covered.contains(&(entry.name, parameter.name)),
                "no test that {} of {} does anything",
                parameter.name,
                entry.name
            );
        }
    }
}

#[test]
fn every_living_parameter_changes_a_living_queue() {
    for (entry, context, key, one, other) in knobs() {
        let kind = entry.name;
        let parameter = entry.parameters.iter().find(|p| p.name == key).unwrap();
        let fates = |value: Option<&str>| {
            let rate = Rate::from_mbps(10);
            let given: Vec<_> = context.iter().copied().chain([(key, one)]).collect();
            let qdisc = discipline(kind, &given, rate).unwrap();
            let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
            let mut random = Random::new(4, "workload");
            let mut now = Time::ZERO;
            for id in 0..6_000 {
                now += Time::from_nanos(random.below(1_600_000));
                let len = if random.below(4) == 0 { 186 } else { 1_500 };
                let packet =
                    TestPacket::new(id, id % 5, len, Ecn::from_bits(random.below(4) as u8));
                link.arrive(packet, now, &mut |_, _| ());
                if let Some(value) = value.filter(|_| id == 100) {
                    link.configure(key, value, now, &mut |_, _| ()).unwrap();
                }
            }
            link.observer().events.clone()
        };
        if parameter.live {
            assert!(
                fates(None) != fates(Some(other)),
                "{kind} {context:?}: {key} = {other} while alive"
            );
        }
    }
}
