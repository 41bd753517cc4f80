//! Drop-tail: first in, first out, with a limit on what waits.
//!
//! Sources: the three rules of "The home-gateway queue study" (MMSys 2011) as its slides state
//! them, ns-2's `DropTail`, FreeBSD's dummynet, and Linux's `pfifo` and `bfifo`. With occupancy
//! `o`, limit `q` and an arriving packet of `n` bytes, the packet is dropped if and only if
//!
//! | rule           | limit   | condition      | largest occupancy |
//! | -------------- | ------- | -------------- | ----------------- |
//! | `linux`        | bytes   | `o + n > q`    | q                 |
//! | `linux`        | packets | `o ≥ q`        | q                 |
//! | `slots`        | packets | `o ≥ q`        | q                 |
//! | `bytes_strict` | bytes   | `o + n ≥ q`    | q − 1             |
//! | `bytes_loose`  | bytes   | `o > q`        | q + MTU           |
//!
//! A limit in time is a limit in bytes at the link's present rate, recomputed when the rate changes, but never less than
//! a packet, or four where it is the default; while the link stands still the last rate counts. Lowering a limit drops nothing that waits, as
//! in Linux: the queue only refuses until it fits.
//!
//! Whether the packet in service occupies the queue is `count_in_service`: dummynet before 2010
//! counts it, ns-2, newer dummynet and Linux do not.
//!
//! Needs nothing but the packets; the link's rate for a limit in time. Promises: never to hold more than its rule allows, and to
//! keep the order of arrival. Does not: signal before it is full. An idle queue is the struct and its settings: no allocation.
//!
//! | corner case | test |
//! | --- | --- |
//! | the edges of every rule | `each_rule_meets_its_edge_cases` |
//! | the packet in service | `the_packet_in_service_counts_only_where_asked`, `a_packet_that_has_left_occupies_nothing` |
//! | a limit in time | `a_limit_in_time_follows_the_rate_but_not_an_outage`, `a_limit_in_time_holds_a_packet_at_any_rate_and_the_default_four` |
//! | a lower limit | `a_lower_limit_drops_nothing_that_waits` |
//! | limits that never accept a packet | `impossible_limits_are_refused_with_the_reason` |

use alloc::format;

use crate::kind::{Entry, QueueKind};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, Domain, Parameter, ParameterError, Table as _};
use crate::qdisc::{Backlog, Link};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, refuse};
use crate::test_cases::{TestCases, Tested};
use crate::units::{Bytes, Rate, Time, parameters, words};

words! {
    /// The rule by which packets are refused.
    pub(crate) enum Rule {
        Linux = "linux",
        Slots = "slots",
        BytesStrict = "bytes_strict",
        BytesLoose = "bytes_loose",
    }
}

parameters! {
    /// The parameters of drop-tail.
    pub struct Parameters {
        /// What may wait: bytes, packets, or a time at the link's rate.
        limit: Amount = Parameter::LIVE.domain(Domain::Limit { plain_is_packets: false }).default("100ms")
            .source("quell; a typical access buffer. tc: 1000p (pfifo)"),
        /// Which arriving packet is dropped near the limit.
        rule: Rule = Parameter::FIXED.default("linux").source("MMSys 2011; Linux sch_fifo.c"),
        /// Whether the packet being transmitted occupies the queue.
        count_in_service: bool = Parameter::FIXED.source("dummynet before 2010: true; ns-2, Linux: false"),
    }
}

/// A drop-tail queue.
pub type Fifo<P> = SingleBuffer<P, DropTail>;

impl QueueKind for DropTail {
    const ENTRY: Entry = Entry {
        name: "fifo",
        summary: "Drop-tail: first in, first out, with a limit in bytes, packets or time.",
        source: "MMSys 2011 (three rules), Linux sch_fifo.c, ns-2, dummynet",
        parameters: Parameters::ROWS,
    };
}

impl Tested for DropTail {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[("limit", "20p")],
            &[
                ("limit", "20p"),
                ("rule", "slots"),
                ("count_in_service", "true"),
            ],
            &[("limit", "30kB"), ("rule", "bytes_strict")],
            &[
                ("limit", "30kB"),
                ("rule", "bytes_loose"),
                ("count_in_service", "true"),
            ],
        ],
        allows: |reason, queued, _| reason == DropReason::Limit && !queued,
        sensitivity: &[
            (&[], "limit", "10p", "20kB"),
            (&[("limit", "15kB")], "rule", "bytes_strict", "bytes_loose"),
            (&[("limit", "15000B")], "rule", "linux", "bytes_loose"),
            (&[("limit", "10p")], "count_in_service", "false", "true"),
        ],
    };
}

/// The rule.
#[derive(Debug)]
pub struct DropTail {
    rule: Rule,
    /// The rule and the limit as the numbers that are compared for each packet.
    room: Room,
    count_in_service: bool,
    /// The packet in service; empty if there is none, or if it does not count.
    in_service: Backlog,
}

impl Rule {
    /// The least limit in bytes with which a packet of `mtu` finds room in an empty queue.
    fn least(self, mtu: Bytes) -> Bytes {
        match self {
            Self::BytesStrict => mtu + Bytes::new(1),
            Self::Linux | Self::Slots => mtu,
            Self::BytesLoose => Bytes::ZERO,
        }
    }
}

/// The rules of the table at the head, without a branch: a packet is accepted if there are fewer packets than `packets`, and if
/// the bytes, with the part of the packet that counts, are not above `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    packets: u64,
    bytes: Bytes,
    /// A mask: all ones if the bytes of the arriving packet count, else zero.
    counts: u64,
}

impl Room {
    fn of(rule: Rule, limit: QueueLimit) -> Self {
        let bytes = |bytes: u64, counts: u64| Self {
            packets: u64::MAX,
            bytes: Bytes::new(bytes),
            counts,
        };
        match (rule, limit) {
            (_, QueueLimit::Packets(packets)) => Self {
                packets,
                ..bytes(u64::MAX, 0)
            },
            // Below the limit; with a limit of zero there is no such packet.
            (Rule::BytesStrict, QueueLimit::Bytes(limit)) => {
                bytes(limit.get().saturating_sub(1), u64::MAX)
            }
            (Rule::BytesLoose, QueueLimit::Bytes(limit)) => bytes(limit.get(), 0),
            (Rule::Linux | Rule::Slots, QueueLimit::Bytes(limit)) => bytes(limit.get(), u64::MAX),
        }
    }

    #[inline]
    fn admits(self, packets: u64, bytes: Bytes, len: Bytes) -> bool {
        (packets < self.packets) & (bytes + Bytes::new(len.get() & self.counts) <= self.bytes)
    }
}

impl DropTail {
    #[inline]
    fn has_room_for<P: Packet>(&self, queue: &SingleQueue<P>, packet: &P) -> bool {
        let waiting = queue.backlog();
        self.room.admits(
            waiting.packets + self.in_service.packets,
            waiting.bytes + self.in_service.bytes,
            packet.len(),
        )
    }

    /// `packet` leaves the queue, or passes an empty one.
    #[inline]
    fn serve(&mut self, packet: &impl Packet) {
        if self.count_in_service {
            self.in_service = Backlog {
                packets: 1,
                bytes: packet.len(),
            };
        }
    }
}

impl ControlLaw for DropTail {
    type Parameters = Parameters;

    fn new(parameters: &Parameters, link: Link, _random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            rule: parameters.rule,
            room: Room::of(parameters.rule, Self::limit_at_rate(parameters, link)),
            count_in_service: parameters.count_in_service,
            in_service: Backlog::default(),
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }
    /// Refuses a limit that the rule cannot count.
    fn check_limit(parameters: &Parameters, link: Link) -> Result<QueueLimit, ParameterError> {
        let Parameters { limit, rule, .. } = *parameters;
        let refuse = |allowed| Err(ParameterError::new(LIMIT, limit, allowed));
        match (rule, limit) {
            (Rule::Slots, Amount::Packets(_)) => {}
            (Rule::Slots, _) => {
                return refuse(format!("must be in packets with rule = \"{rule}\""));
            }
            (Rule::BytesStrict | Rule::BytesLoose, Amount::Packets(_)) => {
                return refuse(format!("must be in bytes or time with rule = \"{rule}\""));
            }
            _ => {}
        }
        QueueLimit::of_at_least(LIMIT, limit, link, rule.least(link.mtu))?;
        Ok(Self::limit_at_rate(parameters, link))
    }
    fn limit_at_rate(parameters: &Parameters, link: Link) -> QueueLimit {
        let Parameters { limit, rule, .. } = *parameters;
        match (rule, limit) {
            (Rule::BytesLoose, Amount::Time(time)) => QueueLimit::Bytes(link.rate.bytes_in(time)),
            (Rule::BytesStrict, Amount::Time(_) | Amount::DefaultTime(_)) => {
                // The byte that this rule never uses.
                let slowest = QueueLimit::at_rate(
                    limit,
                    Link {
                        rate: Rate::ZERO,
                        ..link
                    },
                );
                QueueLimit::at_rate(limit, link).at_least(slowest.bytes() + Bytes::new(1))
            }
            _ => QueueLimit::at_rate(limit, link),
        }
    }
    fn set_limit(&mut self, limit: QueueLimit) {
        self.room = Room::of(self.rule, limit);
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        if !self.has_room_for(queue, &packet) {
            return refuse(packet, DropReason::Limit, now, obs);
        }
        queue.accept(packet, now, obs);
    }
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = queue.pop()?;
        self.serve(&packet);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }
    #[inline]
    fn pass<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        if !queue.is_empty() || !self.has_room_for(queue, &packet) {
            self.enqueue(queue, packet, now, obs);
            return self.dequeue(queue, now, obs);
        }
        self.serve(&packet);
        obs.passed(QueueId::SINGLE, &packet, now);
        Some(packet)
    }
    #[inline]
    fn transmitted<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        self.in_service = Backlog::default();
    }

    /// The limit is all that can change.
    fn adopt(&mut self, _parameters: &Parameters, _link: Link) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::Bottleneck;
    use crate::departure_clock::Framing;
    use crate::packet::Ecn;
    use crate::packet::testing::TestPacket;
    use crate::parameter::Settings;
    use crate::{Drop, Qdisc as _};
    use std::string::ToString as _;
    use std::vec::Vec;

    /// Remembers who was dropped.
    #[derive(Default)]
    struct Drops(Vec<(u64, DropReason)>);

    impl Observer<TestPacket> for Drops {
        fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
            self.0.push((packet.id, drop.reason));
        }
    }

    fn fifo(given: &[(&str, &str)]) -> Result<Fifo<TestPacket>, ParameterError> {
        let mut settings = Settings::new(Parameters::ROWS);
        for (key, value) in given {
            settings.set(key, value)?;
        }
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        Fifo::new(settings, link, Random::new(1, "queue"))
    }

    /// Fills the queue with packets of the given sizes; returns which were accepted.
    fn accepted(rule: &str, limit: &str, sizes: &[u64]) -> Vec<bool> {
        let mut fifo = fifo(&[("rule", rule), ("limit", limit)]).unwrap();
        let mut drops = Drops::default();
        for (id, &len) in sizes.iter().enumerate() {
            fifo.enqueue(
                TestPacket::new(id as u64, len, Ecn::NotEct),
                Time::ZERO,
                &mut drops,
            );
        }
        let dropped: Vec<u64> = drops.0.iter().map(|d| d.0).collect();
        (0..sizes.len() as u64)
            .map(|id| !dropped.contains(&id))
            .collect()
    }

    #[test]
    fn each_rule_meets_its_edge_cases() {
        // The table and its edge cases: spec of the home-gateway study, section 2.1.
        for (rule, limit, sizes, expected) in [
            // PS ignores size; at most `limit` packets.
            (
                "slots",
                "2p",
                &[1_500, 40, 40][..],
                &[true, true, false][..],
            ),
            // FB-strict drops the packet that would fill the queue exactly …
            ("bytes_strict", "3000B", &[1_500, 1_500], &[true, false]),
            // … and reaches limit − 1.
            (
                "bytes_strict",
                "3000B",
                &[1_500, 1_499, 1],
                &[true, true, false],
            ),
            // FB-loose accepts any size at occupancy == limit …
            (
                "bytes_loose",
                "3000B",
                &[1_500, 1_500, 1_500, 1],
                &[true, true, true, false],
            ),
            // … and reaches limit + MTU; a small packet above the limit is dropped.
            (
                "bytes_loose",
                "3000B",
                &[1_500, 1_500, 1, 186],
                &[true, true, true, false],
            ),
            // Linux bfifo accepts equality.
            ("linux", "3000B", &[1_500, 1_500, 1], &[true, true, false]),
            // … and a small packet after a large one was refused.
            (
                "linux",
                "3000B",
                &[1_500, 1_400, 186, 100],
                &[true, true, false, true],
            ),
            // Linux pfifo.
            ("linux", "2p", &[1_500, 40, 40], &[true, true, false]),
            // 3 ms at 8 Mbit/s are 3 000 bytes.
            ("linux", "3ms", &[1_500, 1_500, 1], &[true, true, false]),
        ] {
            assert_eq!(
                accepted(rule, limit, sizes),
                expected,
                "{rule} {limit} {sizes:?}"
            );
        }
    }

    #[test]
    fn the_packet_in_service_counts_only_where_asked() {
        // Two slots, three back-to-back arrivals, the first goes into service at once.
        for (count, dropped) in [("false", &[][..]), ("true", &[(2, DropReason::Limit)][..])] {
            let fifo = fifo(&[
                ("rule", "slots"),
                ("limit", "2p"),
                ("count_in_service", count),
            ])
            .unwrap();
            let mut link = Bottleneck::new(
                fifo,
                Rate::from_mbps(8),
                Framing::default(),
                Drops::default(),
            );
            let mut sink = |_: TestPacket, _| {};
            for id in 0..3 {
                link.arrive(
                    TestPacket::new(id, 1_000, Ecn::NotEct),
                    Time::ZERO,
                    &mut sink,
                );
            }
            assert_eq!(link.observer().0, dropped);
            // It has left after 1 ms; the end of transmission comes before an arrival then.
            link.arrive(
                TestPacket::new(3, 1_000, Ecn::NotEct),
                Time::from_millis(1),
                &mut sink,
            );
            assert_eq!(link.observer().0.len(), dropped.len());
        }
    }

    #[test]
    fn a_packet_that_has_left_occupies_nothing() {
        // One slot: the second packet comes when the first has left the idle link.
        let given = [
            ("rule", "slots"),
            ("limit", "1p"),
            ("count_in_service", "true"),
        ];
        let fifo = fifo(&given).unwrap();
        let rate = Rate::from_mbps(8);
        let mut link = Bottleneck::new(fifo, rate, Framing::default(), Drops::default());
        let mut sink = |_: TestPacket, _| {};
        for id in 0..2 {
            let at = Time::from_millis(2 * id);
            link.arrive(TestPacket::new(id, 1_000, Ecn::NotEct), at, &mut sink);
        }
        assert_eq!(link.observer().0, []);
    }

    #[test]
    fn a_limit_in_time_follows_the_rate_but_not_an_outage() {
        let mut fifo = fifo(&[("limit", "3ms")]).unwrap();
        let mut drops = Drops::default();
        assert_eq!(fifo.queue.limit, QueueLimit::Bytes(Bytes::new(3_000)));
        fifo.set_rate(Rate::from_mbps(16), Time::ZERO, &mut drops);
        assert_eq!(fifo.queue.limit, QueueLimit::Bytes(Bytes::new(6_000)));
        fifo.set_rate(Rate::ZERO, Time::ZERO, &mut drops);
        assert_eq!(fifo.queue.limit, QueueLimit::Bytes(Bytes::new(6_000)));
    }

    #[test]
    fn a_limit_in_time_holds_a_packet_at_any_rate_and_the_default_four() {
        let slow = Rate::from_bps(8);
        let mut drops = Drops::default();
        for (given, limit) in [
            (&[("limit", "3ms")][..], 1_500),
            (&[("limit", "3ms"), ("rule", "bytes_strict")], 1_501),
            (&[], 6_000),
            (&[("limit", "100ms")], 6_000),
        ] {
            let mut fifo = fifo(given).unwrap();
            fifo.set_rate(slow, Time::ZERO, &mut drops);
            let limit = QueueLimit::Bytes(Bytes::new(limit));
            assert_eq!(fifo.queue.limit, limit, "{given:?}");
        }
    }

    #[test]
    fn a_lower_limit_drops_nothing_that_waits() {
        let mut fifo = fifo(&[("limit", "3p")]).unwrap();
        let mut drops = Drops::default();
        for id in 0..3 {
            fifo.enqueue(
                TestPacket::new(id, 100, Ecn::NotEct),
                Time::ZERO,
                &mut drops,
            );
        }
        fifo.configure("limit", "1p", Time::ZERO, &mut drops)
            .unwrap();
        assert_eq!(fifo.backlog().packets, 3);
        assert!(drops.0.is_empty());
        for wrong in ["1", "1kB"] {
            assert!(
                fifo.configure("limit", wrong, Time::ZERO, &mut drops)
                    .is_err()
            );
        }
        assert!(
            fifo.configure("rule", "slots", Time::ZERO, &mut drops)
                .is_err()
        );
    }

    #[test]
    fn impossible_limits_are_refused_with_the_reason() {
        for (given, message) in [
            (
                &[("limit", "1000B")][..],
                "limit = 1kB: never accepts a packet of 1500B; it must be 1500B or more",
            ),
            (
                &[("limit", "1ms")],
                "limit = 1ms: is 1kB at 8mbit and never accepts a packet of 1500B; at 8mbit it must be 1.5ms or more, or an amount such as 3kB",
            ),
            (
                &[("limit", "1500B"), ("rule", "bytes_strict")],
                "limit = 1500B: never accepts a packet of 1500B; it must be 1501B or more",
            ),
            (
                &[("limit", "10kB"), ("rule", "slots")],
                "limit = 10kB: must be in packets with rule = \"slots\"",
            ),
            (
                &[("limit", "10p"), ("rule", "bytes_loose")],
                "limit = 10p: must be in bytes or time with rule = \"bytes_loose\"",
            ),
        ] {
            assert_eq!(fifo(given).unwrap_err().to_string(), message);
        }
    }
}
