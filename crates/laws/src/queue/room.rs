//! The law that the limit of a queue lets packets through at any rate of the link.

use quell_aqm::parameter::Domain;
use quell_aqm::parts::QueueLimit;
use quell_aqm::{Discipline, Drop, DropReason, Ecn, Observer, Qdisc, Rate, Time};

use super::Subject;
use super::laws::Silent;
use super::ledger::TestPacket;

/// Rates from a link that needs 25 minutes for a packet to the fastest that a scenario may have, in bit/s.
const SLOW_TO_FAST: [u64; 9] = [
    8,
    1_000,
    20_000,
    100_000,
    400_000,
    2_000_000,
    10_000_000,
    1_000_000_000,
    1_000_000_000_000,
];

/// However slow a link is or becomes, no limit in time shuts its queue: defaults start at every rate and hold a few packets, and what
/// somebody wrote for a faster link still holds one.
pub fn no_rate_shuts_the_queue(subject: &Subject) {
    let usual = Rate::from_mbps(10);
    let by_default = defaults(subject);
    for given in by_default
        .iter()
        .filter(|given| starts(subject, given, usual))
    {
        for bps in SLOW_TO_FAST {
            let rate = Rate::from_bps(bps);
            let made = subject.discipline(given, rate);
            let name = subject.entry.name;
            let mut qdisc =
                made.unwrap_or_else(|error| panic!("{name} {given:?} at {rate}: {error}"));
            find_room(
                &mut qdisc,
                QueueLimit::LEAST_OF_DEFAULT,
                &format!("{name} {given:?} at {rate}"),
            );
        }
    }
    let in_time = subject
        .entry
        .parameters
        .iter()
        .filter(|row| matches!(row.domain, Domain::Limit { .. }))
        .map(|row| vec![(row.name, "20ms")]);
    let given: Vec<_> = by_default.iter().cloned().chain(in_time).collect();
    for given in given.iter().filter(|given| starts(subject, given, usual)) {
        let mut qdisc = subject.discipline(given, usual).unwrap();
        for bps in SLOW_TO_FAST {
            let rate = Rate::from_bps(bps);
            qdisc.set_rate(rate, Time::ZERO, &mut Silent);
            let what = format!("{} {given:?} from {usual} to {rate}", subject.entry.name);
            find_room(&mut qdisc, 1, &what);
        }
    }
}

/// Settings without any value, and with each word of each parameter alone.
fn defaults(subject: &Subject) -> Vec<Vec<(&'static str, &'static str)>> {
    let mut all = vec![Vec::new()];
    for parameter in subject.entry.parameters {
        if let Domain::Word(words) = parameter.domain {
            all.extend(words.iter().map(|word| vec![(parameter.name, *word)]));
        }
    }
    all
}

fn starts(subject: &Subject, given: &[(&str, &str)], rate: Rate) -> bool {
    subject.discipline(given, rate).is_ok()
}

/// Checks that an empty queue loses none of `packets` packets to its limit.
fn find_room(qdisc: &mut Discipline<TestPacket>, packets: u64, what: &str) {
    let mut reasons = Reasons::default();
    for id in 0..packets {
        let packet = TestPacket::new(id, 1, 1_500, Ecn::NotEct);
        qdisc.enqueue(packet, Time::ZERO, &mut reasons);
    }
    let lost = reasons.0.contains(&DropReason::Limit);
    assert!(!lost, "{what}: of {packets} packets");
    while qdisc.dequeue(Time::ZERO, &mut Silent).is_some() {
        qdisc.transmitted(Time::ZERO);
    }
}

/// Why packets were dropped.
#[derive(Default)]
struct Reasons(Vec<DropReason>);

impl Observer<TestPacket> for Reasons {
    fn dropped(&mut self, _packet: TestPacket, drop: Drop, _now: Time) {
        self.0.push(drop.reason);
    }
}
