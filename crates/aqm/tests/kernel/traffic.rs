//! What happens to a queue, drawn at random: bursts, standing queues, idle times, changes; and what ours makes of it, in the words
//! in which the compiled kernel answers.

use std::fmt::Write as _;

use quell_aqm::kind::QueueKind;
use quell_aqm::parameter::Settings;
use quell_aqm::qdisc::Link;
use quell_aqm::{
    Bytes, Drop, Ecn, MarkReason, Observer, Packet, Qdisc, QueueId, Random, Rate, Time,
};

use crate::common::TestPacket;

/// Bytes of the largest packet, without link header on either side.
pub(crate) const MTU: u64 = 1_500;

/// The parameters as quell and as the kernel takes them: key, value, and the same as a number. Where the kernel's shim has another name for
/// the key, it follows after a bar.
pub(crate) type Given<'a> = &'a [(&'static str, &'static str, u64)];

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Enqueue {
        flow: u64,
        len: u64,
        ecn: u8,
    },
    Dequeue,
    /// Packets leave until none is left.
    Empty,
    /// Index of a change.
    Change(usize),
    Reset,
}

/// How wild the traffic is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wildness {
    /// The longest a phase may pause between two packets, as a power of two in ns.
    pub(crate) pause_bits: u64,
    /// The longest transmission of a packet, as a power of two in ns; from 10 on.
    pub(crate) service_bits: u64,
    /// How many flows there are.
    pub(crate) flows: u64,
    /// Whether resets happen.
    pub(crate) resets: bool,
    /// The latest start, as a power of two in ns.
    pub(crate) start_bits: u64,
}

/// `count` steps with the time of each. Phases differ in load, lengths and code points by orders of magnitude.
pub(crate) fn steps(
    seed: u64,
    count: usize,
    changes: usize,
    wildness: Wildness,
) -> Vec<(Time, Step)> {
    let mut random = Random::new(seed, "traffic");
    let mut now = 1_000_000_000 + random.below(1 << wildness.start_bits);
    let mut steps = Vec::with_capacity(count);
    while steps.len() < count {
        // Transmission takes 2¹⁰ ns a packet or more, and arrivals come at 1/4 to 4 times that.
        let service = 1_u64 << (10 + random.below(wildness.service_bits - 9));
        let heaviest = [5, 16][random.below(2) as usize];
        let load = 1 + random.below(heaviest);
        let lengths = random.below(4);
        let flows = 1 + random.below(wildness.flows);
        let mask = [0, 3, 1, 2][random.below(4) as usize];
        for _ in 0..1 + random.below(2_000) {
            now += random.below(service / 2 + 1);
            let is_arrival = random.below(load + 4) < load;
            let len = match lengths {
                0 => MTU,
                1 => 40,
                2 => 1 + random.below(MTU),
                _ => 1 + random.below(4 * MTU),
            };
            let flow = random.below(flows);
            let ecn = random.below(4) as u8;
            let step = match random.below(4_096) {
                0 if changes > 0 => Step::Change(random.below(changes as u64) as usize),
                1 if wildness.resets => Step::Reset,
                2 => Step::Empty,
                _ if is_arrival => Step::Enqueue {
                    flow,
                    len,
                    ecn: if ecn & mask == 0 { 0 } else { ecn },
                },
                _ => Step::Dequeue,
            };
            steps.push((Time::from_nanos(now), step));
        }
        let pause_bits = random.below(wildness.pause_bits + 1);
        now += random.below(1 << pause_bits);
    }
    steps.truncate(count);
    steps
}

/// The names of a parameter in quell and in the shim.
fn names(key: &'static str) -> (&'static str, &'static str) {
    key.split_once('|').unwrap_or((key, key))
}

/// Tells in the words of `shim/driver.h`.
#[derive(Default)]
struct Words(String);

impl Observer<TestPacket> for Words {
    fn dequeued(&mut self, _: QueueId, packet: &TestPacket, _: Time) {
        let _ = write!(self.0, ">{} ", packet.id);
    }
    fn marked(&mut self, _: QueueId, packet: &TestPacket, _: MarkReason, _: Time) {
        let _ = write!(self.0, "!{} ", packet.id);
    }
    fn dropped(&mut self, packet: TestPacket, _: Drop, _: Time) {
        let _ = write!(self.0, "-{} ", packet.id);
    }
}

/// What the traffic led to, so that a test that compares nothing but idle queues fails.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    drops: usize,
    marks: usize,
}

impl Reached {
    pub(crate) fn count(&mut self, answers: &[(String, String)]) {
        for (_, ours) in answers {
            self.drops += ours.matches('-').count();
            self.marks += ours.matches('!').count();
        }
    }
    pub(crate) fn assert(&self, drops: usize, marks: usize) {
        assert!(self.drops >= drops && self.marks >= marks, "{self:?}");
    }
}

/// Runs ours through `steps`; answers each command for the kernel with what ours did and `state`.
///
/// `changes` are the changes that steps name, `hash` is the kernel's of a flow. Updates come when ours asks for them.
pub(crate) fn run<Q: Qdisc<TestPacket> + QueueKind>(
    make: impl FnOnce(Settings, Link) -> Q,
    given: Given<'_>,
    changes: Given<'_>,
    steps: &[(Time, Step)],
    hash: impl Fn(u64) -> u32,
    state: impl Fn(&Q) -> String,
) -> Vec<(String, String)> {
    let mut settings = Settings::new(Q::ENTRY.parameters);
    for (key, value, _) in given {
        settings.set(names(key).0, value).unwrap();
    }
    let link = Link {
        rate: Rate::from_mbps(100),
        mtu: Bytes::new(MTU),
    };
    let mut qdisc = make(settings, link);
    let mut answers = Vec::with_capacity(steps.len() + 1);
    let answer = |command: String, words: Words, qdisc: &Q, answers: &mut Vec<(String, String)>| {
        let waits = qdisc.backlog();
        let said = format!(
            "{}{} {} {}",
            words.0,
            waits.packets,
            waits.bytes.get(),
            state(qdisc)
        );
        answers.push((command, said));
    };
    let sets = |given: Given<'_>| {
        given.iter().fold(String::new(), |all, (key, _, number)| {
            all + &format!("set {} {number}\n", names(key).1)
        })
    };
    answer(sets(given) + "init", Words::default(), &qdisc, &mut answers);
    let mut next_id = 0;
    for &(now, step) in steps {
        let nanos = now.as_nanos();
        while let Some(due) = qdisc.next_update().filter(|due| *due <= now) {
            qdisc.update(due);
            answer(
                format!("update {}", due.as_nanos()),
                Words::default(),
                &qdisc,
                &mut answers,
            );
        }
        let mut words = Words::default();
        match step {
            Step::Enqueue { flow, len, ecn } => {
                let command = format!("enqueue {nanos} {next_id} {len} {ecn} {}", hash(flow));
                let mut packet = TestPacket::new(next_id, flow, len, Ecn::from_bits(ecn));
                packet.set_arrival(now);
                next_id += 1;
                qdisc.enqueue(packet, now, &mut words);
                answer(command, words, &qdisc, &mut answers);
            }
            Step::Dequeue => {
                qdisc.dequeue(now, &mut words);
                answer(format!("dequeue {nanos}"), words, &qdisc, &mut answers);
            }
            Step::Empty => loop {
                let mut words = Words::default();
                let sent = qdisc.dequeue(now, &mut words);
                answer(format!("dequeue {nanos}"), words, &qdisc, &mut answers);
                if sent.is_none() {
                    break;
                }
            },
            Step::Change(index) => {
                let change = &changes[index..=index];
                qdisc
                    .configure(names(change[0].0).0, change[0].1, now, &mut words)
                    .unwrap();
                answer(
                    sets(change) + &format!("change {nanos}"),
                    words,
                    &qdisc,
                    &mut answers,
                );
            }
            Step::Reset => {
                qdisc.drain(now, &mut words);
                answer(format!("reset {nanos}"), words, &qdisc, &mut answers);
            }
        }
    }
    answers
}

/// Edges, and draws spread over the orders of magnitude.
pub(crate) fn number(random: &mut Random, bits: u32) -> u64 {
    let top = u64::MAX >> (64 - bits);
    match random.below(8) {
        0 => top - random.below(4).min(top),
        1 => random.below(4),
        _ => random.u64() & (top >> random.below(bits.into())),
    }
}

/// The hash of a flow in the kernel's place: what ours makes of the key and the salt that it draws first.
pub(crate) fn hash(key: u64, salt: u64) -> u32 {
    // SplitMix64, of the sum that the generator starts with.
    let mut z = (key ^ salt).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

/// The next `count` of `numbers`, for the kernel to draw.
pub(crate) fn draws(mut number: impl FnMut() -> u64, count: usize) -> String {
    let mut draws = format!("random {count}\n");
    for _ in 0..count {
        let _ = writeln!(draws, "{}", number());
    }
    draws
}
