//! Step marking: CE on every packet above one fixed threshold, as data-centre switches do for DCTCP.
//!
//! Sources: RFC 8257 section 3.1 ("The switch sets CE when the queue is longer than K"; K > RTT·C/7 packets for full
//! use of the link); Alizadeh et al., "Data Center TCP" (SIGCOMM 2010) section 3.1; the step of Linux's `sch_dualpi2.c`
//! (6.17) for thresholds in time and for packets that cannot be marked.
//!
//! | threshold | at dequeue (default)                       | at enqueue                                        |
//! | --------- | ------------------------------------------ | ------------------------------------------------- |
//! | time      | sojourn of the packet > threshold          | bytes ahead of it > what the link sends meanwhile |
//! | packets   | packets left behind in the queue > threshold | packets ahead of it > threshold                 |
//!
//! The comparison is strict, as in both sources. Packets that are not ECN-capable are dropped above the threshold, as in RED with
//! both thresholds at K and in Linux's step, or pass with `not_ect = "pass"`; then only the limit bounds them.
//!
//! Choices that the sources leave open:
//!
//! 1. RFC 8257 measures the queue on arrival; Linux's step acts at dequeue. Both are available; marks at dequeue reach the sender one
//!    queue earlier.
//! 2. A time at enqueue is a number of bytes at the link's present rate; while the link stands still the last rate counts.
//! 3. No signal is withheld from a short queue: a threshold of zero marks every packet that found or left a queue.
//! 4. A lowered limit drops nothing that waits: the queue only refuses packets until it fits, as a drop-tail queue does.
//!
//! Needs: arrival times; the link's rate for a time at enqueue or a limit in time; no randomness, no timer. Promises: nothing below the
//! threshold is marked, and everything above it that can be. Does not: hold a delay; the queue follows the senders, and Classic senders
//! lose packets in bursts. An idle queue holds 144 bytes and its settings (24 per parameter).
//!
//! | corner case | test |
//! | --- | --- |
//! | strictly above, to the packet and the nanosecond | `marks_are_strictly_above_the_threshold_and_nowhere_below` |
//! | packets that cannot be marked | `what_cannot_be_marked_drops_or_passes` |
//! | a time at enqueue, changes of rate | `a_time_at_enqueue_follows_the_rate` |
//! | what DCTCP makes of it | `docs/reproduce.md` |

use crate::kind::{Entry, QueueKind};
use crate::limit::LIMIT_ROW;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::SingleQueue;
use crate::test_cases::{TestCases, Tested};
use crate::threshold::Threshold;
use crate::units::{Bytes, Time, parameters, words};

const LONGEST: Time = Time::from_micros(u32::MAX as u64);
const ROW: Parameter = Parameter::LIVE.source("quell");

words! {
    /// The point at which packets are judged.
    pub(crate) enum Place {
        Dequeue = "dequeue",
        Enqueue = "enqueue",
    }
}
words! {
    /// The fate of packets above the threshold that cannot be marked.
    pub(crate) enum NotEct {
        Drop = "drop",
        Pass = "pass",
    }
}
parameters! {
    /// The parameters of step marking.
    pub struct Parameters {
        limit: Amount = LIMIT_ROW.default("1000p").source("quell; as pie"),
        /// Above this delay, or number of packets, every packet is marked.
        threshold: Threshold = ROW.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::TimeOrPackets((Time::ZERO, LONGEST), (0, u32::MAX as u64))).default("1ms")
            .source("tc-dualpi2(8) (step_thresh); RFC 8257 section 3.1 (K)"),
        /// Whether a packet is judged when it leaves or when it arrives.
        at: Place = ROW.default("dequeue").source("sch_dualpi2.c; RFC 8257 section 3.1: enqueue"),
        /// What becomes of packets above the threshold that cannot be marked.
        not_ect: NotEct = ROW.default("drop").source("sch_dualpi2.c (step); Alizadeh et al. 2010 (RED)"),
    }
}

/// A queue with step marking.
pub type Step<P> = SingleBuffer<P, StepController>;

impl QueueKind for StepController {
    const ENTRY: Entry = Entry {
        name: "step",
        summary: "Step marking: CE on every packet above one threshold, for DCTCP.",
        source: "RFC 8257 section 3.1; Linux sch_dualpi2.c (step)",
        parameters: Parameters::ROWS,
    };
}

impl Tested for StepController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("limit", "30kB"), ("threshold", "3p"), ("at", "enqueue")],
            &[
                ("limit", "50ms"),
                ("threshold", "5ms"),
                ("at", "enqueue"),
                ("not_ect", "pass"),
            ],
            &[("threshold", "0p"), ("limit", "20p")],
        ],
        allows: |reason, queued, ecn| match reason {
            DropReason::Limit => !queued,
            // Only what cannot be marked.
            DropReason::Aqm => ecn == Ecn::NotEct,
            _ => false,
        },
        sensitivity: &[
            (&[("threshold", "20ms")], "limit", "5", "1000"),
            (&[], "threshold", "1ms", "5p"),
            (&[], "at", "dequeue", "enqueue"),
            (&[], "not_ect", "drop", "pass"),
        ],
    };
}

/// The control law; it has no state.
#[derive(Debug, Clone, Copy)]
pub struct StepController {
    level: Level,
    place: Place,
    not_ect: NotEct,
}

/// The threshold on a link of the present rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Sojourn(Time),
    /// A time at enqueue.
    Bytes(Bytes),
    Packets(u64),
}

impl StepController {
    fn of(parameters: &Parameters, link: Link) -> Self {
        let level = match (parameters.threshold, parameters.at) {
            (Threshold::Packets(packets), _) => Level::Packets(packets),
            (Threshold::Sojourn(time), Place::Enqueue) => Level::Bytes(link.rate.bytes_in(time)),
            (Threshold::Sojourn(time), Place::Dequeue) => Level::Sojourn(time),
        };
        Self {
            level,
            place: parameters.at,
            not_ect: parameters.not_ect,
        }
    }

    /// Marks a packet above the threshold, which is not in the queue, or returns why to drop it.
    #[inline]
    fn judge<P: Packet>(
        self,
        packet: &mut P,
        others: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        let above = match self.level {
            Level::Sojourn(threshold) => packet.sojourn(now) > threshold,
            Level::Bytes(threshold) => others.bytes > threshold,
            Level::Packets(threshold) => others.packets > threshold,
        };
        if above && packet.ecn() == Ecn::NotEct {
            return (self.not_ect == NotEct::Drop).then_some(DropReason::Aqm);
        }
        if above {
            mark(packet, QueueId::SINGLE, MarkReason::Step, now, obs);
        }
        None
    }
}

impl ControlLaw for StepController {
    type Parameters = Parameters;

    fn new(parameters: &Parameters, link: Link, _random: Random) -> Result<Self, ParameterError> {
        Ok(Self::of(parameters, link))
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        packet: &mut P,
        ahead: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        match self.place {
            Place::Enqueue => self.judge(packet, ahead, now, obs),
            Place::Dequeue => None,
        }
    }
    #[inline]
    fn leaving<P: Packet>(
        &mut self,
        packet: &mut P,
        left: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        match self.place {
            Place::Enqueue => None,
            Place::Dequeue => self.judge(packet, left, now, obs),
        }
    }

    fn adopt(&mut self, parameters: &Parameters, link: Link) {
        *self = Self::of(parameters, link);
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        match self.level {
            Level::Sojourn(time) => report("threshold", Gauge::Delay(time)),
            Level::Bytes(bytes) => report("threshold_bytes", Gauge::count(bytes.get())),
            Level::Packets(packets) => report("threshold_packets", Gauge::count(packets)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::TestPacket;
    use crate::parameter::Settings;
    use crate::units::Rate;
    use crate::{Drop, Qdisc as _};
    use std::vec::Vec;

    #[derive(Default)]
    struct Log {
        marked: Vec<u64>,
        dropped: Vec<(u64, bool)>,
    }

    impl Observer<TestPacket> for Log {
        fn marked(&mut self, _: QueueId, packet: &TestPacket, reason: MarkReason, _: Time) {
            assert_eq!(reason, MarkReason::Step);
            self.marked.push(packet.id);
        }
        fn dropped(&mut self, packet: TestPacket, drop: Drop, _: Time) {
            self.dropped.push((packet.id, drop.queued));
        }
    }

    /// Six packets of 1000 bytes at 8 Mbit/s (1 ms each), one every `gap`, from which on they leave
    /// 1 ms apart; the code point of each.
    fn run(given: &[(&str, &str)], ecn: [Ecn; 6], gap_us: u64) -> Log {
        let mut settings = Settings::new(Parameters::ROWS);
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        let mut step = Step::new(settings, link, Random::new(1, "queue")).unwrap();
        let mut log = Log::default();
        let mut now = Time::ZERO;
        for (id, ecn) in ecn.into_iter().enumerate() {
            let mut packet = TestPacket::new(id as u64, 1_000, ecn);
            packet.set_arrival(now);
            step.enqueue(packet, now, &mut log);
            now += Time::from_micros(gap_us);
        }
        while step.dequeue(now, &mut log).is_some() {
            now += Time::from_millis(1);
        }
        log
    }

    #[test]
    fn marks_are_strictly_above_the_threshold_and_nowhere_below() {
        use Ecn::{Ect0, Ect1};
        let ect = [Ect0, Ect1, Ect0, Ect1, Ect0, Ect1];
        for (given, marked) in [
            // All arrive at once and leave after 0, 1, 2, 3, 4 and 5 ms.
            (&[("threshold", "2ms")][..], &[3, 4, 5][..]),
            (&[("threshold", "1999us")], &[2, 3, 4, 5]),
            (&[("threshold", "5ms")], &[]),
            (&[("threshold", "0s")], &[1, 2, 3, 4, 5]),
            // 5, 4, 3, 2, 1 and 0 are left behind.
            (&[("threshold", "3p")], &[0, 1]),
            (&[("threshold", "0p")], &[0, 1, 2, 3, 4]),
            // 0, 1, 2, 3, 4 and 5 are ahead; 2 ms are 2000 bytes.
            (&[("threshold", "3p"), ("at", "enqueue")], &[4, 5]),
            (&[("threshold", "2ms"), ("at", "enqueue")], &[3, 4, 5]),
            (&[("threshold", "1999us"), ("at", "enqueue")], &[2, 3, 4, 5]),
        ] {
            let log = run(given, ect, 0);
            assert_eq!(log.marked, marked, "{given:?}");
            assert!(log.dropped.is_empty());
        }
    }

    #[test]
    fn what_cannot_be_marked_drops_or_passes() {
        use Ecn::{Ce, Ect0, NotEct};
        let mixed = [NotEct, Ect0, NotEct, Ect0, Ce, NotEct];
        // A drop at the head sends the next at once: 0 leaves after 0 ms, 1 after 1 ms, 2 after 2 ms
        // drops, 3 leaves after 2 ms, 4 and 5 after 3 ms.
        let log = run(&[("threshold", "1500us")], mixed, 0);
        assert_eq!(
            (log.marked, log.dropped),
            (std::vec![3], std::vec![(2, true), (5, true)])
        );
        let log = run(&[("threshold", "1500us"), ("not_ect", "pass")], mixed, 0);
        assert_eq!((log.marked, log.dropped), (std::vec![3], std::vec![]));
        // At enqueue a dropped packet is ahead of nobody.
        let log = run(&[("threshold", "1p"), ("at", "enqueue")], mixed, 0);
        assert_eq!(
            (log.marked, log.dropped),
            (std::vec![3], std::vec![(2, false), (5, false)])
        );
    }

    #[test]
    fn a_time_at_enqueue_follows_the_rate() {
        let mut settings = Settings::new(Parameters::ROWS);
        settings.set("at", "enqueue").unwrap();
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        let mut step = Step::<TestPacket>::new(settings, link, Random::new(1, "queue")).unwrap();
        assert_eq!(step.law.level, Level::Bytes(Bytes::new(1_000)));
        let mut log = Log::default();
        for (rate, bytes) in [
            (Rate::from_mbps(80), 10_000),
            (Rate::ZERO, 10_000),
            (Rate::UNLIMITED, u64::MAX),
        ] {
            step.set_rate(rate, Time::ZERO, &mut log);
            assert_eq!(step.law.level, Level::Bytes(Bytes::new(bytes)));
        }
    }
}
