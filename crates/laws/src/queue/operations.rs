//! Operations on the queue of a running bottleneck, chosen by bytes, and the laws that must hold meanwhile.
//!
//! The property test draws the bytes at random, and shrinks them; the fuzz target `disciplines` of `fuzz/` takes them from libFuzzer. A
//! choice of zero, and every choice after the last byte, is the plainest. Beyond ordinary traffic: clocks that jump for hours, rates that
//! stop, fall to a thousandth or have no end, limits that shrink below what waits, and any parameter to any value.
use quell_aqm::departure_clock::Framing;
use quell_aqm::parameter::{Domain, Parameter, Value};
use quell_aqm::{Bottleneck, Bytes, Departure, Drop, DropReason, Ecn, Frequency, Rate, Time};
use quell_units::Rates;

use crate::choices::Choices;

use super::Subject;
use super::ledger::{Checked, Event, Ledger, TestPacket};

/// The longest jump of the clock.
const LONGEST_JUMP: u64 = 12 * 3_600_000_000_000;
/// All jumps together end after this number of events, so that short intervals of control do not take hours; `laws` has a test of long ones.
const EVENTS_IN_JUMPS: usize = 6_000;
/// No times below are tried where they are allowed, for the same reason.
const SHORTEST: u64 = 100_000;
/// The slowest link but one that stands still, for the same reason.
const SLOWEST: u64 = 10_000;

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
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
    /// The clock jumps, for up to hours.
    Jump {
        nanos: u64,
    },
    SetRate {
        bps: u64,
    },
    /// The rate falls to a thousandth.
    Thousandth,
    /// A parameter, by its number in the table, and the number of a value.
    Configure {
        parameter: u64,
        value: Candidate,
    },
    /// Every limit falls to a part of the backlog.
    Shrink {
        part: u64,
    },
    Drain,
}

/// A value of a parameter that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate {
    /// One of [`candidates`].
    Listed(u64),
    /// A place in the range, by order of magnitude and by number.
    Spread(u8, u64),
}

impl Choices<'_> {
    pub fn candidate(&mut self) -> Candidate {
        let first = self.byte();
        if first < 128 {
            Candidate::Listed(first)
        } else {
            Candidate::Spread(self.byte() as u8, self.number(4))
        }
    }
}

/// A number from `low` to `high`. Each order of magnitude is as likely as the others, and the ends more so.
fn spread(step: u8, number: u64, (low, high): (u64, u64)) -> u64 {
    match step {
        0 => low,
        255 => high,
        step => {
            let bits = |n: u64| u64::from(64 - n.leading_zeros());
            let width = bits(low) + (bits(high) - bits(low)) * u64::from(step) / 254;
            let top = 1_u64.checked_shl(width as u32).map_or(u64::MAX, |n| n - 1);
            (top / 2 + number % (top / 2 + 1) + 1).clamp(low, high)
        }
    }
}

/// The operations that the bytes encode.
pub fn of(choices: &mut Choices<'_>) -> Vec<Operation> {
    let mut operations = Vec::new();
    while !choices.is_empty() {
        operations.push(operation(choices));
    }
    operations
}

fn operation(choices: &mut Choices<'_>) -> Operation {
    let len = |choices: &mut Choices<'_>| match choices.byte() {
        0..64 => 1_500,
        64..128 => 40,
        byte => 20 + (byte - 128) * 1_480 / 127,
    };
    let kind = choices.byte() % 24;
    match kind {
        0..8 => Operation::Arrive {
            // Up to 400 µs, a third of the time that 1 500 bytes take at first.
            after: choices.number(2) * 400_000 / 0xffff,
            flow: choices.byte() % 5,
            len: len(choices),
            ecn: choices.byte() as u8 % 4,
        },
        8..11 => Operation::Burst {
            packets: 1 + choices.byte() % 60,
            len: len(choices),
            ecn: choices.byte() as u8 % 4,
        },
        11..15 => Operation::Pass {
            nanos: choices.number(3) * 20 / 16,
        },
        15..17 => Operation::Jump {
            nanos: spread(
                choices.byte() as u8,
                choices.number(4),
                (1_000_000, LONGEST_JUMP),
            ),
        },
        17 => Operation::SetRate {
            bps: choices.of(&[
                10_000_000,
                0,
                64_000,
                1_000_000_000,
                u64::MAX,
                SLOWEST,
                100_000_000_000,
            ]),
        },
        18 => Operation::Thousandth,
        19..22 => Operation::Configure {
            parameter: choices.byte(),
            value: choices.candidate(),
        },
        22 => Operation::Shrink {
            part: choices.byte(),
        },
        _ => Operation::Drain,
    }
}

/// Values worth trying, in and out of range; a discipline refuses what its table forbids.
fn candidates(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Time(..) | Domain::Period(..) | Domain::Interval(..) => {
            &["0s", "100us", "1ms", "15ms", "1s", "2h"]
        }
        Domain::Bytes(..) | Domain::Sizes(..) => &["1B", "5kB", "1MB", "0B"],
        Domain::Packets(..) => &["0", "1", "2p", "10", "10000"],
        Domain::Integer(..) => &["0", "1", "2", "10", "100", "255", "256"],
        Domain::Fraction(..) => &["0", "0.1", "0.5", "0.999", "1", "2"],
        Domain::Frequency(..) => &["0", "0.000001", "0.16", "3.2", "1000000"],
        Domain::Rates(_) => &["1mbit", "1mbit, 3mbit", "3mbit, 1mbit"],
        Domain::CommandLine => &["[\"a\"]", "[\"a\", \"b c\"]", "a"],
        Domain::Rate(..) => &["0bit", "1kbit", "10mbit", "30gbit", "unlimited"],
        Domain::Flag => &["true", "false", "yes"],
        Domain::Word(words) => words,
        Domain::TimeOrPackets(..) => &["0s", "1ms", "0p", "1p", "30p", "x"],
        Domain::Limit { .. } => &["1p", "20p", "1500B", "3001B", "30kB", "1ms", "100ms", "0p"],
    }
}

/// The value that a candidate stands for, as a value of this parameter.
pub fn value(parameter: &Parameter, candidate: Candidate) -> String {
    let (step, number) = match candidate {
        Candidate::Listed(index) => {
            let listed = candidates(parameter.domain);
            return listed[index as usize % listed.len()].to_owned();
        }
        Candidate::Spread(step, number) => (step, number),
    };
    let among = |low: u64, high: u64| spread(step, number, (low, high));
    let time = |low: Time, high: Time| {
        let low = low.as_nanos().max(SHORTEST).min(high.as_nanos());
        Value::Time(Time::from_nanos(among(low, high.as_nanos())))
    };
    match parameter.domain {
        Domain::Time(low, high) | Domain::Period(low, high) | Domain::Interval(low, high) => {
            time(low, high)
        }
        Domain::Bytes(low, high) | Domain::Sizes(low, high) => {
            Value::Bytes(Bytes::new(among(low, high)))
        }
        Domain::Packets(low, high) => Value::Packets(among(low, high)),
        Domain::Integer(low, high) => Value::Integer(among(low, high)),
        Domain::Fraction(low, high, of) => Value::Fraction(among(low, high), of),
        Domain::Frequency(low, high) => Value::Frequency(Frequency::from_nanohertz(among(
            low.as_nanohertz(),
            high.as_nanohertz(),
        ))),
        Domain::Rates(_) => Value::Rates(Rates::of_kilobits(&[among(1, 4_000_000) as u32])),
        Domain::CommandLine => return format!("[\"{number}\"]"),
        Domain::Rate(low, high) => Value::Rate(Rate::from_bps(among(low.as_bps(), high.as_bps()))),
        Domain::Flag => Value::Flag(step % 2 == 1),
        Domain::Word(words) => Value::Word(words[usize::from(step) % words.len()]),
        Domain::TimeOrPackets((low, high), (fewest, most)) => match number % 2 {
            0 => time(low, high),
            _ => Value::Packets(among(fewest, most)),
        },
        Domain::Limit { .. } => match number % 3 {
            0 => Value::Bytes(Bytes::new(among(1, u64::MAX))),
            1 => Value::Packets(among(1, u64::MAX)),
            _ => Value::Time(Time::from_nanos(among(1, LONGEST_JUMP))),
        },
    }
    .to_string()
}

/// Runs twice, and once with a link that enqueues and dequeues packets that it could pass: every packet has the same fate, to the bit.
pub fn keep_the_laws(subject: &Subject, given: &[(&str, &str)], operations: &[Operation]) {
    let Some(first) = run(subject, given, operations, true) else {
        return; // Refused.
    };
    let kind = subject.entry.name;
    let second = run(subject, given, operations, true);
    assert_eq!(
        Some(&first),
        second.as_ref(),
        "{kind} {given:?}: same seed and same calls, same fate"
    );
    let plain = run(subject, given, operations, false);
    assert_eq!(
        Some(first),
        plain,
        "{kind} {given:?}: passing is enqueueing and dequeueing"
    );
}

type Link = Bottleneck<TestPacket, Checked<quell_aqm::Discipline<TestPacket>>, Ledger>;

/// The events, and the delivered packets in their order; `None` if the discipline refuses the settings. With `passes`, a free link passes
/// packets in the discipline's own way.
fn run(
    subject: &Subject,
    given: &[(&str, &str)],
    operations: &[Operation],
    passes: bool,
) -> Option<(Vec<Event>, Vec<u64>)> {
    let rate = Rate::from_mbps(10);
    let mut qdisc = Checked::new(subject.discipline(given, rate).ok()?);
    if !passes {
        qdisc = qdisc.without_passing();
    }
    let mut run = Run {
        subject,
        link: Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default()),
        now: Time::ZERO,
        delivered: Vec::new(),
        ecn_at_offer: Vec::new(),
        patience: EVENTS_IN_JUMPS,
    };
    for operation in operations {
        run.perform(operation);
    }
    run.finish();
    let events = run.link.into_observer().events;
    Some((events, run.delivered))
}

type Sink<'a> = &'a mut dyn FnMut(TestPacket, Departure);

/// A discipline behind a link to which operations happen.
struct Run<'a> {
    subject: &'a Subject,
    link: Link,
    now: Time,
    /// Packets that left the link, by their id.
    delivered: Vec<u64>,
    /// The code point that each packet arrived with.
    ecn_at_offer: Vec<Ecn>,
    /// Events that jumps of the clock may still take.
    patience: usize,
}

impl Run<'_> {
    /// Calls the link now, with a sink that records deliveries.
    fn call<T>(&mut self, call: impl FnOnce(&mut Link, Time, &mut Sink<'_>) -> T) -> T {
        let delivered = &mut self.delivered;
        let mut sink = |packet: TestPacket, _: Departure| delivered.push(packet.id);
        call(&mut self.link, self.now, &mut (&mut sink as Sink<'_>))
    }

    fn arrive(&mut self, flow: u64, len: u64, ecn: u8) {
        let id = self.ecn_at_offer.len() as u64;
        let ecn = Ecn::from_bits(ecn);
        self.ecn_at_offer.push(ecn);
        let packet = TestPacket::new(id, flow, len, ecn);
        self.call(|link, now, sink| link.arrive(packet, now, sink));
    }

    fn set_rate(&mut self, rate: Rate) {
        self.call(|link, now, sink| link.set_rate(rate, now, sink));
    }

    fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Arrive {
                after,
                flow,
                len,
                ecn,
            } => {
                self.now += Time::from_nanos(after);
                self.arrive(flow, len, ecn);
            }
            Operation::Burst { packets, len, ecn } => {
                for _ in 0..packets {
                    self.arrive(9, len, ecn);
                }
            }
            Operation::Pass { nanos } => {
                self.now += Time::from_nanos(nanos);
                self.call(|link, now, sink| link.advance(now, sink));
            }
            Operation::Jump { nanos } => self.jump(self.now + Time::from_nanos(nanos)),
            Operation::SetRate { bps } => self.set_rate(Rate::from_bps(bps)),
            Operation::Thousandth => {
                let bps = self.link.rate().as_bps();
                if bps > 0 {
                    self.set_rate(Rate::from_bps((bps / 1_000).max(SLOWEST)));
                }
            }
            Operation::Configure {
                parameter,
                value: candidate,
            } => {
                let parameters = self.subject.entry.parameters;
                let index = parameter as usize % parameters.len().max(1);
                if let Some(parameter) = parameters.get(index) {
                    self.configure(parameter, &value(parameter, candidate));
                }
            }
            Operation::Shrink { part } => self.shrink(part),
            Operation::Drain => self.call(|link, now, sink| link.drain(now, sink)),
        }
    }

    /// Advances to `until`, or as far as the patience with events goes.
    fn jump(&mut self, until: Time) {
        while self.patience > 0 {
            let Some(due) = self.link.next_event().filter(|due| *due <= until) else {
                self.now = until;
                return self.call(|link, now, sink| link.advance(now, sink));
            };
            self.now = self.now.max(due);
            self.call(|link, _, sink| link.advance(due, sink));
            self.patience -= 1;
        }
    }

    fn configure(&mut self, parameter: &Parameter, value: &str) {
        let changed = self.call(|link, now, sink| link.configure(parameter.name, value, now, sink));
        assert!(
            changed.is_err() || parameter.live,
            "{} changed while alive",
            parameter.name
        );
    }

    /// Lowers every limit to `part` 256ths of the backlog.
    fn shrink(&mut self, part: u64) {
        let waits = self.link.backlog();
        let of = |whole: u64| (whole * part / 256).max(1);
        let bytes = || Bytes::new(of(waits.bytes.get())).to_string();
        let limits = self.subject.entry.parameters.iter();
        for parameter in limits.filter(|parameter| parameter.name.contains("limit")) {
            let value = match parameter.domain {
                Domain::Bytes(..) => bytes(),
                Domain::Limit { .. } if part % 2 == 1 => bytes(),
                _ => format!("{}p", of(waits.packets)),
            };
            self.configure(parameter, &value);
        }
    }

    /// Lets the rest leave, on a link with a rate and enough time, and checks that each packet came out exactly once.
    fn finish(&mut self) {
        let kind = self.subject.entry.name;
        self.set_rate(Rate::from_mbps(1_000));
        while self.link.backlog().packets > 0 {
            let due = self
                .link
                .next_event()
                .expect("a link with a rate and a backlog has something to do");
            assert!(due >= self.now, "{kind}: time runs backwards");
            self.now = due;
            self.call(|link, now, sink| link.advance(now, sink));
        }
        // The last packet may be in service at the slowest rate, for 1.2 s.
        self.call(|link, now, sink| link.advance(now + Time::from_secs(2), sink));
        let ledger = self.link.observer();
        assert!(ledger.inside.is_empty());
        let mut out = self.delivered.clone();
        for event in &ledger.events {
            if let Event::Dropped(id, drop) = *event {
                let ecn = self.ecn_at_offer[id as usize];
                assert!(
                    allows(self.subject, drop, ecn),
                    "{kind}: {drop:?} of {ecn:?}"
                );
                out.push(id);
            }
        }
        out.sort_unstable();
        assert!(
            out.iter().copied().eq(0..self.ecn_at_offer.len() as u64),
            "each packet comes out exactly once"
        );
    }
}

/// Whether the source of the discipline allows this drop of a packet that was offered with this code point.
fn allows(subject: &Subject, drop: Drop, ecn: Ecn) -> bool {
    match drop.reason {
        DropReason::Drained => drop.queued,
        reason => (subject.test_cases.allows)(reason, drop.queued, ecn),
    }
}
