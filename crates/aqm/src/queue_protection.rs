//! Queue protection: L4S packets of flows that build the queue go to the Classic queue, in any dual queue.
//!
//! Source: RFC 9957 (DOCSIS MULPI annex P), beside CableLabs' model `docsis-ns3`, `queue-protection.cc`, where they leave a
//! choice. Every packet that the classifier puts into L4S adds its congestion, size × native marking probability, to the
//! score of its flow, which ages at a constant rate. A score is kept as the time when it will have aged away. Above a critical
//! delay, packets of flows with a critical score are redirected; the higher the delay, the lower the critical score.
//!
//! Choices and deviations:
//!
//! 1. The delay is `qdelayCoupledL` of the downstream form: L4S backlog with the new packet, at the rate of the link, in IP
//!    bytes. At rate zero the last rate that was not zero counts.
//! 2. The native probability is that of the discipline, for this delay and length on arrival: a ramp where it has a ramp, else 0
//!    or 1 of its step. The coupled probability does not count: a flow is not to blame for other flows' Classic queue.
//! 3. `critical_ql` is by default the delay at which native marking is certain (MAXTH of DOCSIS, 1 ms there).
//! 4. The aging rate 2^lg_aging byte/s is taken per 2³⁰ ns, as the source's constant is: 7.4 % less than per second.
//! 5. A packet is scored before the limit is looked at, so what a flood loses there counts against it too.
//! 6. A flow's identity is a salted 64-bit hash of its key (the source: 32 bits), whose low bits choose the buckets.
//! 7. In the Classic queue a redirected packet is marked with p_CL and in overload dropped with p_C (RFC 9332 section
//!    2.5.1.1: ECT(1) in the Classic queue). DOCSIS, whose Classic AQM has no marks, drops it with p_C.
//!
//! Needs the link's rate and the arrival order; one salt. 16 bytes a bucket, (2⁵ + 1) by default, none while it is off.

use alloc::boxed::Box;
use alloc::vec;

use crate::dual_queue::DualQueue;
use crate::observer::QueueId;
use crate::packet::Packet;
use crate::parameter::{self, Domain, Parameter, Table as _};
use crate::qdisc::{Gauge, Link};
use crate::random::{Random, split_mix};
use crate::units::{Bytes, Probability, Rate, Time, parameters, words};

const DOCSIS: (&str, &str) = ("protection", "docsis");

words! {
    /// The word of `protection`.
    pub(crate) enum Protection {
        None = "none",
        Docsis = "docsis",
    }
}

parameters! {
    /// The parameters of queue protection.
    pub struct Parameters {
        /// Queue protection: L4S packets of flows that build the queue go to the Classic queue.
        protection: Protection = Parameter::LIVE.default("none").source("RFC 9957; RFC 9332 section 4.2.3 (optional)"),
        /// No packet is redirected while the L4S queue's delay is at most this.
        critical_ql: Option<Time> = Parameter::LIVE.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::Time(Time::from_nanos(1), Time::from_secs(10)))
            .derived("the delay at which native L4S marking is certain").only(DOCSIS)
            .source("RFC 9957 CRITICALqL_us (DOCSIS: MAXTH, 1 ms)"),
        /// Packets of flows with a higher score are redirected at a delay of critical_ql.
        critical_ql_score: Time = Parameter::LIVE.domain(Domain::Time(Time::from_nanos(1), Time::from_secs(10)))
            .default("4ms").only(DOCSIS).source("RFC 9957 CRITICALqLSCORE_us"),
        /// Scores age at 2 to this power byte/s of congestion.
        lg_aging: u32 = Parameter::LIVE.domain(Domain::Integer(1, 30)).default("19").only(DOCSIS)
            .source("RFC 9957 LG_AGING"),
        /// The highest score, and so the time in which any flow is forgiven.
        max_ql_score: Time = Parameter::LIVE.domain(Domain::Time(Time::from_nanos(1), Time::from_secs(3_600)))
            .default("5s").only(DOCSIS).source("RFC 9957 MAX_QLSCORE"),
        /// There are 2 to this power buckets for scores, and one for flows that find none.
        bucket_bits: u32 = Parameter::LIVE.domain(Domain::Integer(0, 14)).default("5").only(DOCSIS)
            .source("RFC 9957 BI_SIZE"),
        /// Buckets that a flow may try before it shares the last one.
        attempts: u32 = Parameter::LIVE.domain(Domain::Integer(1, 4)).default("2").only(DOCSIS)
            .source("RFC 9957 ATTEMPTS"),
    }
}

/// The rows, as an array.
pub(crate) const ROWS: [Parameter; 7] = {
    let Some(rows) = Parameters::ROWS.first_chunk() else {
        panic!("there are seven rows");
    };
    *rows
};

/// Queue protection, or none.
#[derive(Debug)]
pub(crate) struct QueueProtection {
    scores: Option<Scores>,
    /// The link with its last rate that was not zero.
    link: Link,
    salt: u64,
    redirected: i64,
}

impl QueueProtection {
    /// Queue protection with these parameters. `certain` is the delay at which native marking is certain on a link.
    pub(crate) fn new(
        parameters: &Parameters,
        link: Link,
        certain: impl FnOnce(Link) -> Time,
        random: &Random,
    ) -> Self {
        // A copy of the stream, so that whether there is protection shifts no draw of the discipline.
        let salt = random.clone().u64();
        let mut protection = Self {
            scores: None,
            link,
            salt,
            redirected: 0,
        };
        protection.configure(parameters, certain);
        protection
    }

    /// Adopts changed parameters; scores are kept unless the buckets change.
    pub(crate) fn configure(
        &mut self,
        parameters: &Parameters,
        certain: impl FnOnce(Link) -> Time,
    ) {
        match parameters.protection {
            Protection::None => {
                self.scores = None;
                return;
            }
            Protection::Docsis => {}
        }
        let critical = parameters.critical_ql.unwrap_or_else(|| certain(self.link));
        let bits = parameters.bucket_bits;
        let old = self.scores.take().filter(|old| old.bits == bits);
        let buckets = old.map_or_else(|| buckets(bits), |old| old.buckets);
        self.scores = Some(Scores {
            critical,
            critical_product: product(critical, parameters.critical_ql_score),
            aging_shift: 30 - parameters.lg_aging,
            max: parameters.max_ql_score,
            attempts: parameters.attempts,
            bits,
            buckets,
        });
    }

    /// Adopts the link's rate, and the values that are derived from it.
    pub(crate) fn set_rate(
        &mut self,
        rate: Rate,
        parameters: &Parameters,
        certain: impl FnOnce(Link) -> Time,
    ) {
        if !rate.is_zero() {
            self.link.rate = rate;
            self.configure(parameters, certain);
        }
    }

    /// The queue for `packet`, which the classifier puts into L4S: the Classic one if it is redirected. `native` is the
    /// native marking probability at a delay and a number of packets, this one included.
    #[inline]
    pub(crate) fn place<P: Packet>(
        &mut self,
        packet: &P,
        queues: &DualQueue<P>,
        now: Time,
        native: impl FnOnce(Time, u64) -> Probability,
    ) -> QueueId {
        let Some(scores) = &mut self.scores else {
            return QueueId::L4S;
        };
        let delay = match self.link.rate {
            Rate::ZERO => Time::ZERO,
            rate => rate.time_for(queues.bytes(QueueId::L4S) + packet.len()),
        };
        let probability = native(delay, queues.packets(QueueId::L4S) + 1);
        let flow = split_mix(packet.flow() ^ self.salt);
        let score = scores.add(flow, packet.len(), probability, now);
        if scores.redirects(delay, score) {
            self.redirected += 1;
            QueueId::CLASSIC
        } else {
            QueueId::L4S
        }
    }

    /// Reports the gauges to `status`.
    pub(crate) fn report(&self, report: &mut dyn FnMut(&'static str, Gauge)) {
        if self.scores.is_some() {
            report("redirected", Gauge::Count(self.redirected));
        }
    }
}

/// The score of one flow.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    flow: u64,
    /// `t_exp`: when the score will have aged away.
    expiry: Time,
}

#[derive(Debug)]
struct Scores {
    critical: Time,
    /// CRITICALqLPRODUCT in ns²
    critical_product: u128,
    /// A byte of congestion is worth 2^this ns.
    aging_shift: u32,
    max: Time,
    attempts: u32,
    bits: u32,
    /// 2^`bits`, and the last one for flows that find none free.
    buckets: Box<[Bucket]>,
}

impl Scores {
    /// `fill_bucket`: adds the congestion of a packet to its flow's score, and gives the score.
    fn add(&mut self, flow: u64, len: Bytes, probability: Probability, now: Time) -> Time {
        let index = self.pick(flow, now);
        let bucket = &mut self.buckets[index];
        // Packets are far below 2³⁶ bytes, shifted by at most 29 bits; times 2⁶² fits 128 bits.
        let worth = (u128::from(len.get()) << self.aging_shift).min(1 << 65);
        let congestion = (worth * u128::from(probability.raw())) >> 62;
        let congestion = Time::from_nanos(u64::try_from(congestion).unwrap_or(u64::MAX));
        bucket.expiry = (bucket.expiry + congestion).min(now + self.max);
        bucket.expiry - now
    }

    /// `pick_bucket`: the flow's own bucket, else the first tried whose score has aged away, else the last.
    fn pick(&mut self, flow: u64, now: Time) -> usize {
        let last = self.buckets.len() - 1;
        let (mut bits, mut free) = (flow, last);
        for _ in 0..self.attempts {
            let index = bits as usize & (last - 1);
            let bucket = &mut self.buckets[index];
            if bucket.flow == flow {
                bucket.expiry = bucket.expiry.max(now);
                return index;
            }
            // Not recycled before every attempt has looked for the flow's own.
            if free == last && bucket.expiry <= now {
                free = index;
            }
            bits >>= self.bits;
        }
        let bucket = &mut self.buckets[free];
        bucket.flow = flow;
        bucket.expiry = bucket.expiry.max(now);
        free
    }

    /// Whether a packet of a flow with this score goes to the Classic queue.
    fn redirects(&self, delay: Time, score: Time) -> bool {
        delay > self.critical && product(delay, score) > self.critical_product
    }
}

fn buckets(bits: u32) -> Box<[Bucket]> {
    let empty = Bucket {
        flow: 0,
        expiry: Time::ZERO,
    };
    vec![empty; (1 << bits) + 1].into_boxed_slice()
}

fn product(one: Time, other: Time) -> u128 {
    u128::from(one.as_nanos()) * u128::from(other.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Settings;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use std::vec::Vec;

    const MTU: Bytes = Bytes::new(1_500);

    fn parameters(given: &[(&str, &str)]) -> Parameters {
        let mut settings = Settings::new(Parameters::ROWS);
        settings.set("protection", "docsis").unwrap();
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        Parameters::of(&settings)
    }

    fn protection(given: &[(&str, &str)]) -> QueueProtection {
        let link = Link {
            rate: Rate::from_mbps(12),
            mtu: MTU,
        };
        let random = Random::new(1, "queue");
        QueueProtection::new(&parameters(given), link, |_| Time::from_millis(1), &random)
    }

    fn scores(given: &[(&str, &str)]) -> Scores {
        protection(given).scores.unwrap()
    }

    #[test]
    fn a_marked_mtu_is_worth_three_milliseconds() {
        // 1500 B at 2¹⁹ B per 2³⁰ ns: 1500 · 2¹¹ ns = 3.072 ms.
        let mut scores = scores(&[]);
        let now = Time::from_secs(1);
        let score = scores.add(7, MTU, Probability::ONE, now);
        assert_eq!(score, Time::from_micros(3_072));
        let score = scores.add(7, MTU, Probability::ratio(1, 4), now);
        assert_eq!(score, Time::from_micros(3_840));
        assert_eq!(scores.add(7, MTU, Probability::ZERO, now), score);
        // Aging: a score of 3.84 ms is gone after as long, and not below zero later.
        let later = now + Time::from_micros(3_000);
        let left = scores.add(7, MTU, Probability::ZERO, later);
        assert_eq!(left, Time::from_micros(840));
        let gone = scores.add(7, MTU, Probability::ZERO, now + Time::from_secs(9));
        assert_eq!(gone, Time::ZERO);
    }

    #[test]
    fn both_thresholds_must_be_passed() {
        let scores = scores(&[]);
        let us = Time::from_micros;
        for (delay, score, redirected) in [
            // At most the critical delay: never, whatever the score.
            (us(1_000), Time::from_secs(5), false),
            (us(1_001), us(4_000), true),
            (us(1_001), us(3_996), false),
            // A product of exactly 4 ms² is not above it.
            (us(2_000), us(2_000), false),
            (us(2_000), us(2_001), true),
            (us(1_302), us(3_072), false),
            (us(1_303), us(3_072), true),
            (Time::MAX, Time::from_nanos(1), true),
            (Time::MAX, Time::ZERO, false),
        ] {
            assert_eq!(
                scores.redirects(delay, score),
                redirected,
                "{delay} {score}"
            );
        }
    }

    #[test]
    fn the_score_equals_an_exact_leaky_bucket_up_to_its_rounding() {
        let mut scores = scores(&[]);
        let mut random = Random::new(5, "test");
        let integer = |n: u64| BigRational::from_integer(BigInt::from(n));
        let (mut now, mut exact) = (0_u64, integer(0));
        let mut additions = 0;
        for _ in 0..5_000 {
            let wait = random.below(4_000_000);
            now += wait;
            exact = (exact - integer(wait)).max(integer(0));
            let len = 40 + random.below(1_461);
            let of = 1 + random.below(1_000);
            let parts = random.below(of + 1);
            exact += integer(len) * integer(2_048) * integer(parts) / integer(of);
            exact = exact.min(integer(5_000_000_000));
            additions += 1;
            let probability = Probability::ratio(parts, of);
            let score = scores.add(3, Bytes::new(len), probability, Time::from_nanos(now));
            // Each addition rounds down by less than a nanosecond, and the probability by less than 2⁻⁶².
            let error = exact.clone() - integer(score.as_nanos());
            assert!(
                error >= integer(0) && error <= integer(2 * additions),
                "{error}"
            );
            if score.is_zero() {
                (exact, additions) = (integer(0), 0);
            }
        }
    }

    #[test]
    fn the_score_is_capped_and_forgiven_in_that_time() {
        let mut scores = scores(&[("max_ql_score", "10ms")]);
        let now = Time::from_secs(1);
        for _ in 0..100 {
            assert!(scores.add(7, MTU, Probability::ONE, now) <= Time::from_millis(10));
        }
        let later = now + Time::from_millis(10);
        assert_eq!(scores.add(7, MTU, Probability::ZERO, later), Time::ZERO);
    }

    #[test]
    fn a_flow_below_the_aging_rate_is_never_redirected_and_one_above_always_is() {
        // 2¹⁹ B per 2³⁰ ns are 3.906 Mbit/s of congestion: an MTU every 3.072 ms.
        for (every, grows) in [(3_073, false), (3_071, true)] {
            let mut scores = scores(&[]);
            let score = (0..20_000).map(|n| {
                let now = Time::from_micros(1_000 + n * every);
                scores.add(7, MTU, Probability::ONE, now)
            });
            let highest = score.max().unwrap();
            assert_eq!(highest > Time::from_millis(4), grows, "{highest}");
        }
    }

    #[test]
    fn a_flow_finds_its_bucket_or_a_free_one_or_the_last() {
        let mut scores = scores(&[("bucket_bits", "1")]);
        let full = |scores: &mut Scores, flow, now| {
            let index = scores.pick(flow, now);
            scores.buckets[index].expiry = now + Time::from_secs(1);
            index
        };
        let now = Time::from_secs(1);
        // Bits 0 and 1 of a flow are its two attempts.
        assert_eq!(full(&mut scores, 0b1100, now), 0);
        assert_eq!(full(&mut scores, 0b1110, now), 1, "the second attempt");
        assert_eq!(full(&mut scores, 0b1010, now), 2, "none is left");
        assert_eq!(full(&mut scores, 0b0110, now), 2, "the last is shared");
        assert_eq!(full(&mut scores, 0b1110, now), 1, "its own again");
        let later = now + Time::from_secs(1);
        assert_eq!(scores.pick(0b1110, later), 1, "its own before a free one");
        assert_eq!(scores.pick(0b0110, later), 0, "an expired one is recycled");
    }

    #[test]
    fn the_delay_is_that_of_the_backlog_with_the_packet() {
        use crate::dual_queue::Queued;
        use crate::packet::{Ecn, testing::TestPacket};
        let mut protection = protection(&[]);
        let mut queues = DualQueue::new();
        let mut seen = Vec::new();
        for id in 0..3 {
            let packet = TestPacket::new(id, 1_500, Ecn::Ect1);
            protection.place(&packet, &queues, Time::ZERO, |delay, packets| {
                seen.push((delay, packets));
                Probability::ZERO
            });
            let entry = Queued {
                packet,
                apply_step: true,
                redirected: false,
            };
            queues.push(QueueId::L4S, entry);
        }
        // 1500 B at 12 Mbit/s take 1 ms.
        let ms = Time::from_millis;
        assert_eq!(seen, [(ms(1), 1), (ms(2), 2), (ms(3), 3)]);
        // A link that stands still is no reason to blame a flow more than before.
        protection.set_rate(Rate::ZERO, &parameters(&[]), |_| Time::MAX);
        assert_eq!(protection.link.rate, Rate::from_mbps(12));
    }

    #[test]
    fn scores_survive_a_change_that_leaves_the_buckets() {
        let mut protection = protection(&[]);
        let score = |protection: &mut QueueProtection, probability| {
            let scores = protection.scores.as_mut().unwrap();
            scores.add(7, MTU, probability, Time::from_secs(1))
        };
        let before = score(&mut protection, Probability::ONE);
        protection.configure(&parameters(&[("attempts", "3")]), |_| Time::from_millis(1));
        assert_eq!(score(&mut protection, Probability::ZERO), before);
        protection.configure(&parameters(&[("bucket_bits", "6")]), |_| {
            Time::from_millis(1)
        });
        assert_eq!(score(&mut protection, Probability::ZERO), Time::ZERO);
    }
}
