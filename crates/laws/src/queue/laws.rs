//! The laws, each a function that panics where it is broken.

use quell_aqm::departure_clock::Framing;
use quell_aqm::parameter::Domain;
use quell_aqm::test_cases::Given;
use quell_aqm::{Bottleneck, Discipline, Ecn, Qdisc, Random, Rate, Settings, Time};

use crate::choices::Choices;

use super::Subject;
use super::ledger::{Checked, Event, Ledger, TestPacket};
use super::operations::{self, keep_the_laws};

/// Whatever happens, and however it starts: each packet comes out exactly once, the backlog is what is inside, CE is on ECT only, order is
/// kept, and the same calls give the same fate. Tries `cases` random lists of operations.
pub fn keeps_the_laws_whatever_happens(subject: &Subject, cases: u32) {
    crate::choices::random_bytes(cases, 700, |bytes| replay(subject, bytes));
}

/// Repeats one case of [`keeps_the_laws_whatever_happens`] from the bytes that it prints.
pub fn replay(subject: &Subject, bytes: &[u8]) {
    let operations = operations::of(&mut Choices(bytes));
    for given in subject.test_cases.forms {
        keep_the_laws(subject, given, &operations);
    }
}

/// A time beyond 32 bits of microseconds, and of CoDel's ticks of 1 024 ns.
const HOUR_AND_MORE: Time = Time::from_secs(80 * 60);

/// Random operations end their jumps early where control is frequent; here are more than five hours, with a backlog that stands and without.
pub fn loses_nothing_when_the_clock_jumps(subject: &Subject) {
    for form in subject.test_cases.forms {
        jumps_for_hours(subject, form);
    }
}

fn jumps_for_hours(subject: &Subject, form: Given) {
    let entry = subject.entry;
    // Walking each of a thousand flows 300 000 times takes long.
    let flows = entry
        .parameters
        .iter()
        .any(|parameter| parameter.name == "flows")
        .then_some(("flows", "16"));
    let given: Vec<_> = form.iter().copied().chain(flows).collect();
    let rate = Rate::from_mbps(10);
    let qdisc = Checked::new(subject.discipline(&given, rate).unwrap());
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

/// Nothing is allocated for a packet once the queue has been as full as it gets.
pub fn allocates_nothing_after_the_first_fill(subject: &Subject) {
    let entry = subject.entry;
    for given in subject.test_cases.forms {
        let rate = Rate::from_mbps(100);
        let mut qdisc = subject.discipline(given, rate).unwrap();
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

/// An observer that counts nothing, so that only the discipline could allocate.
pub(super) struct Silent;

impl quell_aqm::Observer<TestPacket> for Silent {
    fn dropped(&mut self, _packet: TestPacket, _drop: quell_aqm::Drop, _now: Time) {}
}

/// The events of a queue with bursts of two flows and all code points around `meanwhile`, and in the second after it.
fn story(
    qdisc: Discipline<TestPacket>,
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

type Living = Bottleneck<TestPacket, Checked<Discipline<TestPacket>>, Ledger>;

/// Rates at which many a limit in bytes holds no packet, or a limit in time has no end.
const RATES: [Rate; 4] = [
    Rate::ZERO,
    Rate::from_bps(8),
    Rate::from_bps(64_000),
    Rate::UNLIMITED,
];

/// A change that is refused leaves everything as it was, and the refusal names the parameter that was to change.
pub fn refusals_change_nothing(subject: &Subject) {
    let entry = subject.entry;
    for given in subject.test_cases.forms {
        let qdisc = || subject.discipline(given, Rate::from_mbps(10)).unwrap();
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

/// If a limit or a threshold no longer suits the rate of the link, changes of other parameters are not refused for it.
pub fn rates_make_no_parameter_unchangeable(subject: &Subject) {
    let entry = subject.entry;
    for given in subject.test_cases.forms {
        let mut settings = Settings::new(entry.parameters);
        for (key, value) in *given {
            settings.set(key, value).unwrap();
        }
        for (parameter, value) in settings.applicable() {
            let is_of_rate = matches!(parameter.domain, Domain::Limit { .. });
            let Some(value) = value.filter(|_| parameter.live && !is_of_rate) else {
                continue;
            };
            let change = |rates: &[Rate]| {
                let mut qdisc = subject.discipline(given, Rate::from_mbps(10)).unwrap();
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

/// The events of an overloaded 10 Mbit/s link: bursts, pauses, five flows, all ECN code points, two sizes.
fn outcome(subject: &Subject, given: &[(&str, &str)]) -> Vec<Event> {
    let rate = Rate::from_mbps(10);
    let kind = subject.entry.name;
    let qdisc = subject
        .discipline(given, rate)
        .unwrap_or_else(|e| panic!("{kind} {given:?}: {e}"));
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

/// Every parameter changes the fate of some packet of one busy workload.
pub fn every_parameter_changes_the_fate_of_some_packet(subject: &Subject) {
    let kind = subject.entry.name;
    for &(context, key, one, other) in subject.test_cases.sensitivity {
        let with = |value| {
            let given: Vec<_> = context.iter().copied().chain([(key, value)]).collect();
            outcome(subject, &given)
        };
        assert!(
            with(one) != with(other),
            "{kind} {context:?}: {key} = {one} or {other}"
        );
    }
    for parameter in subject.entry.parameters {
        let mut tested = subject.test_cases.sensitivity.iter();
        assert!(
            tested.any(|(_, key, ..)| *key == parameter.name),
            "no test that {} of {kind} does anything",
            parameter.name,
        );
    }
}

/// A parameter that can change during a run changes the fate of some packet from then on.
pub fn every_living_parameter_changes_a_living_queue(subject: &Subject) {
    let entry = subject.entry;
    for &(context, key, one, other) in subject.test_cases.sensitivity {
        let kind = entry.name;
        let parameter = entry.parameters.iter().find(|p| p.name == key).unwrap();
        let fates = |value: Option<&str>| {
            let rate = Rate::from_mbps(10);
            let given: Vec<_> = context.iter().copied().chain([(key, one)]).collect();
            let qdisc = subject.discipline(&given, rate).unwrap();
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
