//! DualPI2 packet by packet: what each form does that the other does not, and every option.
//!
//! The golden vectors of the controllers and accumulators stand beside the code; here the queues
//! are driven as a link drives them: `signals` has marks and drops, `queues` limits and scheduler, `protection` queue protection.
#![allow(clippy::unwrap_used)]

use crate::common;
mod protection;
mod queues;
mod signals;

use common::{Ledger, TestPacket, discipline};
use quell_aqm::disciplines::Discipline;
use quell_aqm::{Ecn, Packet, Qdisc, Rate, Time};

const RFC: (&str, &str) = ("form", "rfc9332");

/// A queue driven by hand: the test is the clock and the link.
struct Story {
    qdisc: Discipline<TestPacket>,
    ledger: Ledger,
    now: Time,
    next_id: u64,
}

impl Story {
    fn new(given: &[(&str, &str)]) -> Self {
        Self {
            qdisc: discipline("dualpi2", given, Rate::from_mbps(40)).unwrap(),
            ledger: Ledger::default(),
            now: Time::from_nanos(1),
            next_id: 0,
        }
    }
    fn arrive(&mut self, ecn: Ecn, packets: u64) -> &mut Self {
        for _ in 0..packets {
            let mut packet = TestPacket::new(self.next_id, 0, 1_500, ecn);
            packet.set_arrival(self.now);
            self.next_id += 1;
            self.qdisc.enqueue(packet, self.now, &mut self.ledger);
        }
        self
    }
    fn wait(&mut self, span: Time) -> &mut Self {
        let until = self.now + span;
        while let Some(due) = self.qdisc.next_update().filter(|due| *due <= until) {
            self.qdisc.update(due);
        }
        self.now = until;
        self
    }
    fn dequeue(&mut self, packets: u64) -> &mut Self {
        for _ in 0..packets {
            if self.qdisc.dequeue(self.now, &mut self.ledger).is_some() {
                self.qdisc.transmitted(self.now);
            }
        }
        self
    }
    fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.qdisc
            .configure(key, value, self.now, &mut self.ledger)
            .unwrap();
        self
    }
    fn empty(&mut self) -> &mut Self {
        self.qdisc.drain(self.now, &mut self.ledger);
        self.ledger = Ledger::default();
        self
    }
    /// Drives p' to exactly `1/n` and freezes it there (k = 2, gains too small to move it).
    fn freeze_at_one_in(&mut self, n: &str) -> &mut Self {
        let k = if n == "1" { "1" } else { n };
        self.set("coupling_factor", k).set("overflow", "true");
        self.set("alpha", "100000")
            .set("beta", "100000")
            .set("target", "1us");
        self.arrive(Ecn::NotEct, 10).wait(Time::from_millis(100));
        // The update that is already due moves p' by beta · 100 ms = 0.0004 at most.
        self.empty()
            .set("alpha", "0.00390625")
            .set("beta", "0.00390625");
        self.set("overflow", "false")
            .set("coupling_factor", "2")
            .set("tupdate", "4s");
        self.wait(Time::from_millis(20)).empty()
    }
    fn gauge(&self, wanted: &str) -> f64 {
        let mut found = None;
        self.qdisc.status(self.now, &mut |name, gauge| {
            if name == wanted {
                found = Some(match gauge {
                    quell_aqm::qdisc::Gauge::Ratio(ratio) => ratio,
                    quell_aqm::qdisc::Gauge::Delay(delay) => delay.as_nanos() as f64,
                    quell_aqm::qdisc::Gauge::Count(count) => count as f64,
                });
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {wanted}"))
    }
}
