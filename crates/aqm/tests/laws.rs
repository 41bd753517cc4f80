//! The laws of every queue discipline, driven by random operations on a living bottleneck.
//!
//! `tests/common` checks them: conservation, backlog, order, marks and empty dequeues at every call.
//! `tests/kinds` says how each discipline starts and which drops its source allows; `tests/operations`
//! what happens to it. Here are the comparison of two identical runs, and the laws of memory.
#![allow(clippy::unwrap_used)]

mod common;
mod operations;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{Checked, Event, Ledger, TestPacket, discipline};
use operations::Choices;
use proptest::prelude::*;
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::{KINDS, trials};
use quell_aqm::kind::{Entry, Given};
use quell_aqm::parameter::Domain;
use quell_aqm::{Bottleneck, Bytes, DropReason, Ecn, Qdisc, Rate, Time};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_discipline_keeps_the_laws(bytes in prop::collection::vec(any::<u8>(), 1..700)) {
        let operations = operations::of(&mut Choices(&bytes));
        for entry in KINDS {
            for given in trials(entry.name).unwrap().forms {
                operations::keep_the_laws(entry, given, &operations);
            }
        }
    }
}

/// Beyond what 32 bits hold in microseconds, and in CoDel's ticks of 1 024 ns.
const HOUR_AND_MORE: Time = Time::from_secs(80 * 60);

/// Random operations end their jumps early where control is frequent; here are more than five hours, with a backlog that stands and without.
#[test]
fn a_clock_that_jumps_for_hours_loses_nothing() {
    let all: Vec<(&Entry, Given)> = KINDS
        .iter()
        .flat_map(|entry| {
            let forms = trials(entry.name).unwrap().forms;
            forms.iter().map(move |&form| (entry, form))
        })
        .collect();
    // Most of the time goes into a few forms whose control runs each millisecond.
    let (next, all) = (AtomicUsize::new(0), &all);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((entry, form)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    jumps_for_hours(entry, form);
                }
            });
        }
    });
}

fn jumps_for_hours(entry: &Entry, form: Given) {
    // Walking each of a thousand flows 300 000 times takes long.
    let flows = entry
        .parameters
        .iter()
        .any(|parameter| parameter.name == "flows");
    let flows = flows.then_some(("flows", "16"));
    let given: Vec<_> = form.iter().copied().chain(flows).collect();
    let rate = Rate::from_mbps(10);
    let qdisc = Checked::new(discipline(entry.name, &given, rate).unwrap());
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
    let (mut now, mut offered, mut delivered) = (Time::from_millis(1), 0, 0);
    for _ in 0..2 {
        for ecn in 0..60 {
            let packet = TestPacket::new(offered, offered % 3, 1_500, Ecn::from_bits(ecn % 4));
            link.arrive(packet, now, &mut |_, _| delivered += 1);
            offered += 1;
        }
        link.set_rate(Rate::ZERO, now, &mut |_, _| delivered += 1);
        now += HOUR_AND_MORE;
        link.advance(now, &mut |_, _| delivered += 1);
        link.set_rate(rate, now, &mut |_, _| delivered += 1);
        now += HOUR_AND_MORE;
        link.advance(now, &mut |_, _| delivered += 1);
        assert_eq!(link.backlog().packets, 0, "{} {given:?}", entry.name);
    }
    let events = &link.observer().events;
    let dropped = events
        .iter()
        .filter(|event| matches!(event, Event::Dropped(..)));
    assert_eq!(
        offered,
        delivered + dropped.count() as u64,
        "{} {given:?}",
        entry.name
    );
}

#[test]
fn no_discipline_allocates_after_the_first_fill() {
    for entry in KINDS {
        for given in trials(entry.name).unwrap().forms {
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

/// What a queue does to bursts of two flows and all code points around `meanwhile`, and in the second after it.
fn story(
    qdisc: quell_aqm::Discipline<TestPacket>,
    rate: Rate,
    meanwhile: impl FnOnce(&mut Living, Time),
) -> Vec<Event> {
    let mut link = Bottleneck::new(
        Checked::new(qdisc),
        Rate::from_mbps(10),
        Framing::default(),
        Ledger::default(),
    );
    let (mut id, mut now) = (0, Time::from_millis(1));
    let mut burst = |link: &mut Living, now| {
        for _ in 0..40 {
            let packet = TestPacket::new(id, id % 2, 1_500, Ecn::from_bits((id % 4) as u8));
            link.arrive(packet, now, &mut |_, _| ());
            id += 1;
        }
    };
    burst(&mut link, now);
    link.set_rate(rate, now, &mut |_, _| ());
    meanwhile(&mut link, now);
    link.set_rate(Rate::from_mbps(10), now, &mut |_, _| ());
    for _ in 0..10 {
        now += Time::from_millis(20);
        burst(&mut link, now);
    }
    link.advance(now + Time::from_millis(800), &mut |_, _| ());
    link.into_observer().events
}

type Living = Bottleneck<TestPacket, Checked<quell_aqm::Discipline<TestPacket>>, Ledger>;

/// At which many a limit holds no packet, and none that is a time has an end.
const RATES: [Rate; 4] = [
    Rate::ZERO,
    Rate::from_bps(8),
    Rate::from_bps(64_000),
    Rate::UNLIMITED,
];

#[test]
fn a_refused_change_changes_nothing_and_names_the_parameter_that_was_to_change() {
    for entry in KINDS {
        for given in trials(entry.name).unwrap().forms {
            let qdisc = || discipline(entry.name, given, Rate::from_mbps(10)).unwrap();
            for rate in RATES {
                let untouched = story(qdisc(), rate, |_, _| ());
                let mut refusals = Vec::new();
                // `Checked` compares the gauges before and after each refusal.
                let after_refusals = story(qdisc(), rate, |link, now| {
                    let twin = || {
                        let mut twin = qdisc();
                        twin.set_rate(rate, now, &mut Silent);
                        twin
                    };
                    let mut asked = twin();
                    for (key, value) in impossible(entry) {
                        // What is accepted would change the story: ask a twin first.
                        if asked.configure(&key, &value, now, &mut Silent).is_ok() {
                            asked = twin();
                            continue;
                        }
                        let error = link.configure(&key, &value, now, &mut |_, _| ());
                        refusals.push((key, value, error.unwrap_err()));
                    }
                });
                assert!(refusals.len() > entry.parameters.len(), "{}", entry.name);
                for (key, value, error) in refusals {
                    assert_eq!(
                        (&error.key, &error.found),
                        (&key, &value),
                        "{} {given:?} at {rate}: {error}",
                        entry.name
                    );
                }
                assert!(
                    after_refusals == untouched,
                    "{} {given:?} at {rate}",
                    entry.name
                );
            }
        }
    }
}

/// Values of each parameter, of which some are refused: out of range, fixed, without effect, or against another parameter.
fn impossible(entry: &quell_aqm::kind::Entry) -> Vec<(String, String)> {
    let mut values = vec![("no_such_parameter".to_owned(), "1".to_owned())];
    for parameter in entry.parameters {
        for listed in 0..8 {
            let value = operations::value(parameter, operations::Candidate::Listed(listed));
            values.push((parameter.name.to_owned(), value));
        }
        values.push((parameter.name.to_owned(), "nonsense".to_owned()));
        if let Some(opposite) = parameter.opposite {
            values.push((opposite.to_owned(), "true".to_owned()));
            values.push((opposite.to_owned(), "perhaps".to_owned()));
        }
    }
    values
}

/// The rate of a link is what it is: where a limit or a threshold no longer suits it, no other parameter is to blame.
#[test]
fn a_rate_makes_no_parameter_unchangeable() {
    for entry in KINDS {
        for given in trials(entry.name).unwrap().forms {
            let mut settings = quell_aqm::Settings::new(entry.parameters);
            for (key, value) in *given {
                settings.set(key, value).unwrap();
            }
            for (parameter, value) in settings.applicable() {
                let is_of_rate = matches!(parameter.domain, Domain::Limit { .. });
                let Some(value) = value.filter(|_| parameter.live && !is_of_rate) else {
                    continue;
                };
                let change = |rates: &[Rate]| {
                    let mut qdisc = discipline(entry.name, given, Rate::from_mbps(10)).unwrap();
                    for &rate in rates {
                        qdisc.set_rate(rate, Time::ZERO, &mut Silent);
                    }
                    qdisc.configure(parameter.name, &value.to_string(), Time::ZERO, &mut Silent)
                };
                // Where a parameter is given, another that is derived from it may have no effect.
                if change(&[]).is_err() {
                    continue;
                }
                for rate in RATES {
                    for rates in [&[rate][..], &[rate, Rate::ZERO]] {
                        let changed = change(rates);
                        assert!(
                            changed.is_ok(),
                            "{} {given:?} at {rates:?}: {}",
                            entry.name,
                            changed.unwrap_err()
                        );
                    }
                }
            }
        }
    }
}
