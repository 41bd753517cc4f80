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
//! The comparison is strict, as in both sources. Packets that are not ECN-capable are dropped above the threshold, as RED with
//! both thresholds at K and Linux's step do, or pass with `not_ect = "pass"`; then nothing but the limit holds them.
//!
//! Where the sources leave a choice:
//!
//! 1. RFC 8257 measures the queue on arrival; Linux's step acts at dequeue. Both can be had; marks at dequeue reach the sender one
//!    queue earlier.
//! 2. A time at enqueue is a number of bytes at the link's present rate; while the link stands still the last rate counts.
//! 3. No signal is withheld from a short queue: a threshold of zero marks whatever found or left a queue.
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
//! | what DCTCP makes of it | `docs/evidence/published.md` |

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Bytes, Rate, Time};

const LONGEST: Time = Time::from_micros(u32::MAX as u64);

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "quell",
    help: "",
};

const TABLE: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("1000p"),
        source: "quell; as pie",
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "threshold",
        domain: Domain::TimeOrPackets((Time::ZERO, LONGEST), (0, u32::MAX as u64)),
        default: Preset::Is("1ms"),
        source: "tc-dualpi2(8) (step_thresh); RFC 8257 section 3.1 (K)",
        help: "Above this delay, or number of packets, every packet is marked.",
        ..ROW
    },
    Parameter {
        name: "at",
        domain: Domain::Word(&["dequeue", "enqueue"]),
        default: Preset::Is("dequeue"),
        source: "sch_dualpi2.c; RFC 8257 section 3.1: enqueue",
        help: "Whether a packet is judged when it leaves or when it arrives.",
        ..ROW
    },
    Parameter {
        name: "not_ect",
        domain: Domain::Word(&["drop", "pass"]),
        default: Preset::Is("drop"),
        source: "sch_dualpi2.c (step); Alizadeh et al. 2010 (RED)",
        help: "What becomes of packets above the threshold that cannot be marked.",
        ..ROW
    },
];

/// A queue with step marking.
#[derive(Debug)]
pub struct Step<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    rule: Rule,
    queue: SingleQueue<P>,
}

/// When and how packets are judged.
#[derive(Debug, Clone, Copy)]
struct Rule {
    threshold: Threshold,
    at_enqueue: bool,
    drops_not_ect: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threshold {
    Sojourn(Time),
    /// A time at enqueue.
    Bytes(Bytes),
    Packets(u64),
}

impl Rule {
    fn of(settings: &Settings, link: Link) -> Self {
        let at_enqueue = settings.word("at") == "enqueue";
        let threshold = match settings.value("threshold") {
            Some(Value::Packets(packets)) => Threshold::Packets(packets),
            _ if at_enqueue => Threshold::Bytes(link.rate.bytes_in(settings.time("threshold"))),
            _ => Threshold::Sojourn(settings.time("threshold")),
        };
        Self {
            threshold,
            at_enqueue,
            drops_not_ect: settings.word("not_ect") == "drop",
        }
    }

    /// Marks `packet`, which is not in the queue, if it is above the threshold beside `others`; says
    /// whether to drop it.
    #[inline]
    fn must_drop<P: Packet>(
        self,
        packet: &mut P,
        others: Backlog,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> bool {
        let above = match self.threshold {
            Threshold::Sojourn(threshold) => packet.sojourn(now) > threshold,
            Threshold::Bytes(threshold) => others.bytes > threshold,
            Threshold::Packets(threshold) => others.packets > threshold,
        };
        if above && packet.ecn() == Ecn::NotEct {
            return self.drops_not_ect;
        }
        if above {
            mark(packet, QueueId::SINGLE, MarkReason::Step, now, obs);
        }
        false
    }
}

impl<P> Kind for Step<P> {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str =
        "Step marking: CE on every packet above one threshold, for DCTCP.";
    const SOURCE: &'static str = "RFC 8257 section 3.1; Linux sch_dualpi2.c (step)";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> Step<P> {
    /// An empty queue.
    pub fn new(settings: Settings, link: Link) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            rule: Rule::of(&settings, link),
            settings,
            link,
            queue: SingleQueue::new(),
        })
    }
}

impl<P: Packet> Qdisc<P> for Step<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let backlog = self.queue.backlog();
        if !self.limit.admits(backlog, packet.len()) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        if self.rule.at_enqueue && self.rule.must_drop(&mut packet, backlog, now, obs) {
            return single_queue::refuse(packet, DropReason::Aqm, now, obs);
        }
        self.queue.accept(packet, now, obs);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let mut packet = self.queue.pop()?;
            let left = self.queue.backlog();
            if !self.rule.at_enqueue && self.rule.must_drop(&mut packet, left, now, obs) {
                single_queue::drop_queued(packet, DropReason::Aqm, now, obs);
                continue;
            }
            obs.dequeued(QueueId::SINGLE, &packet, now);
            return Some(packet);
        }
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if !rate.is_zero() {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
            self.rule = Rule::of(&self.settings, self.link);
        }
    }

    /// A lowered limit drops nothing that waits: the queue only refuses until it fits, as a
    /// drop-tail queue does.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        self.limit = Limit::of(&settings, self.link)?;
        self.rule = Rule::of(&settings, self.link);
        self.settings = settings;
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.limit.tell(tell);
        let count = |n| Gauge::Count(i64::try_from(n).unwrap_or(i64::MAX));
        match self.rule.threshold {
            Threshold::Sojourn(time) => tell("threshold", Gauge::Delay(time)),
            Threshold::Bytes(bytes) => tell("threshold_bytes", count(bytes.get())),
            Threshold::Packets(packets) => tell("threshold_packets", count(packets)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drop;
    use crate::packet::testing::TestPacket;
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
        let mut settings = Settings::new(Step::<()>::PARAMETERS);
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        let mut step = Step::new(settings, link).unwrap();
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
        let mut settings = Settings::new(Step::<()>::PARAMETERS);
        settings.set("at", "enqueue").unwrap();
        let link = Link {
            rate: Rate::from_mbps(8),
            mtu: Bytes::new(1_500),
        };
        let mut step = Step::<TestPacket>::new(settings, link).unwrap();
        assert_eq!(step.rule.threshold, Threshold::Bytes(Bytes::new(1_000)));
        let mut log = Log::default();
        for (rate, bytes) in [
            (Rate::from_mbps(80), 10_000),
            (Rate::ZERO, 10_000),
            (Rate::UNLIMITED, u64::MAX),
        ] {
            step.set_rate(rate, Time::ZERO, &mut log);
            assert_eq!(step.rule.threshold, Threshold::Bytes(Bytes::new(bytes)));
        }
    }
}
