//! BLUE: a probability that rises where the queue overflows and falls where the link runs idle.
//!
//! Source: Feng, Shin, Kandlur and Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM Transactions on Networking 10(4), 2002,
//! figure 4. No queue length enters the law, only its two extreme events:
//!
//! * a packet is lost because the queue is full: p rises by `increment` (δ1 of the paper);
//! * the link is idle: p falls by `decrement` (δ2);
//! * between two changes of p at least `freeze_time` passes.
//!
//! Each packet that arrives is marked with probability p, or dropped if it is not ECN-capable.
//!
//! Choices that the paper leaves open:
//!
//! 1. The link begins to be idle when it asks for a packet and finds none. While it stays idle p falls once per `freeze_time`; that is counted
//!    when the next packet arrives, so no timer runs.
//! 2. p counts whole millionths, so every machine computes the same.
//!
//! Needs: a limit that overflows, and randomness. Promises: p comes to where losses by overflow and idle times are rare. Does not: hold a delay.

use quell_aqm::kind::{Entry, QueueKind};
use quell_aqm::own::Handle;
use quell_aqm::parameter::{Amount, Domain, Parameter, ParameterError};
use quell_aqm::parts::{ControlLaw, SingleBuffer, SingleQueue, mark, refuse};
use quell_aqm::qdisc::{Gauge, Link};
use quell_aqm::test_cases::{TestCases, Tested};
use quell_aqm::units::parameters;
use quell_aqm::{DropReason, Ecn, MarkReason, Observer, Packet, QueueId, Random, Time};

/// A queue with BLUE.
pub type Blue<P = Handle> = SingleBuffer<P, BlueController>;

/// p = 1.
const ONE: u64 = 1_000_000;

const ROW: Parameter = Parameter::LIVE.source("Feng et al. 2002");

parameters! {
    /// The parameters of BLUE.
    pub struct Parameters {
        /// What may wait: packets, bytes, or a time at the link's rate.
        limit: Amount = ROW.domain(Domain::Limit { plain_is_packets: true }).default("100p").source("an example"),
        /// What the probability rises by where the queue overflows (δ1).
        increment: u64 = ROW.domain(Domain::Fraction(0, ONE, ONE)).default("0.02"),
        /// What the probability falls by where the link is idle (δ2).
        decrement: u64 = ROW.domain(Domain::Fraction(0, ONE, ONE)).default("0.002"),
        /// Least time between two changes of the probability.
        freeze_time: Time = ROW.domain(Domain::Time(Time::from_micros(1), Time::from_secs(60))).default("100ms"),
        /// Mark what is ECN-capable; without it every packet is dropped.
        ecn: bool = ROW.opposite("noecn").default("true").source("an example"),
    }
}

impl QueueKind for BlueController {
    const ENTRY: Entry = Entry {
        name: "blue",
        summary: "BLUE: drops more often where the queue overflows, less often where the link is idle.",
        source: "Feng et al., IEEE/ACM ToN 10(4), 2002",
        parameters: <Parameters as quell_aqm::parameter::Table>::ROWS,
    };
}

impl Tested for BlueController {
    const TEST_CASES: TestCases = TestCases {
        forms: &[
            &[],
            &[("limit", "20p"), ("freeze_time", "1ms")],
            &[("limit", "30ms"), ("increment", "0.5"), ("ecn", "false")],
        ],
        allows: |reason, queued, _| {
            matches!(reason, DropReason::Limit | DropReason::Aqm) && !queued
        },
        sensitivity: &[
            (&[], "limit", "5p", "50p"),
            (&[("limit", "5p")], "increment", "0.02", "0.3"),
            (
                &[("limit", "5p"), ("freeze_time", "10ms")],
                "decrement",
                "0.002",
                "0.02",
            ),
            (&[("limit", "5p")], "freeze_time", "100ms", "1ms"),
            (&[("limit", "5p")], "ecn", "true", "false"),
        ],
    };
}

/// The control law.
#[derive(Debug)]
pub struct BlueController {
    increment: u64,
    decrement: u64,
    freeze_time: Time,
    ecn: bool,
    /// In millionths.
    p: u64,
    /// When p last changed; nothing freezes it before.
    changed: Option<Time>,
    /// Whether the link has nothing to send.
    idle: bool,
    random: Random,
}

impl BlueController {
    /// How often the freeze time has passed since p changed.
    fn thaws(&self, now: Time) -> u64 {
        let Some(changed) = self.changed else {
            return 1;
        };
        (now - changed).as_nanos() / self.freeze_time.as_nanos()
    }
    /// The queue overflows.
    fn rise(&mut self, now: Time) {
        if self.thaws(now) > 0 {
            self.p = (self.p + self.increment).min(ONE);
            self.changed = Some(now);
        }
    }
    /// The link is idle, or has been until now.
    fn fall(&mut self, now: Time) {
        let thaws = self.thaws(now);
        if thaws > 0 && self.p > 0 {
            self.p = self.p.saturating_sub(self.decrement.saturating_mul(thaws));
            self.changed = Some(now);
        }
    }
}

impl ControlLaw for BlueController {
    type Parameters = Parameters;

    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        let mut law = Self {
            increment: 0,
            decrement: 0,
            freeze_time: Time::from_secs(1),
            ecn: false,
            p: 0,
            changed: None,
            idle: true,
            random,
        };
        law.adopt(parameters, link);
        Ok(law)
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        if std::mem::take(&mut self.idle) {
            self.fall(now);
        }
        if !queue.has_room_for(packet.len()) {
            self.rise(now);
            return refuse(packet, DropReason::Limit, now, obs);
        }
        if self.random.below(ONE) < self.p {
            if !self.ecn || packet.ecn() == Ecn::NotEct {
                return refuse(packet, DropReason::Aqm, now, obs);
            }
            mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
        }
        queue.accept(packet, now, obs);
    }
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = queue.pop();
        match &packet {
            Some(packet) => obs.dequeued(QueueId::SINGLE, packet, now),
            None if !self.idle => {
                self.idle = true;
                self.fall(now);
            }
            None => {}
        }
        packet
    }

    fn adopt(&mut self, parameters: &Parameters, _link: Link) {
        self.increment = parameters.increment;
        self.decrement = parameters.decrement;
        self.freeze_time = parameters.freeze_time;
        self.ecn = parameters.ecn;
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        report("p", Gauge::Ratio(self.p as f64 / ONE as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::{Bytes, Rate};

    fn law(given: Parameters) -> BlueController {
        let link = Link {
            rate: Rate::from_mbps(10),
            mtu: Bytes::new(1_500),
        };
        BlueController::new(&given, link, Random::new(1, "queue")).expect("it refuses nothing")
    }

    /// Figure 4 of the paper, line by line.
    #[test]
    fn p_rises_on_overflow_and_falls_when_idle_once_per_freeze_time() {
        let mut law = law(Parameters {
            limit: Amount::Packets(10),
            increment: 20_000,
            decrement: 2_000,
            freeze_time: Time::from_millis(100),
            ecn: true,
        });
        let at = Time::from_millis;
        for (now, rises, p) in [
            (0, true, 20_000),
            (99, true, 20_000),
            (100, true, 40_000),
            (199, false, 40_000),
            (200, false, 38_000),
            // Idle for 350 ms more.
            (550, false, 32_000),
            (650, true, 52_000),
        ] {
            if rises {
                law.rise(at(now));
            } else {
                law.fall(at(now));
            }
            assert_eq!(law.p, p, "{now} ms");
        }
        law.fall(Time::from_secs(3_600));
        assert_eq!(law.p, 0);
    }
}
