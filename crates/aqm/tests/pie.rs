//! PIE as a link sees it: limits, ECN, changes of a living queue. The controllers have their tests
//! beside the code.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Event, Ledger, TestPacket, discipline};
use quell_aqm::disciplines::Discipline;
use quell_aqm::qdisc::Gauge;
use quell_aqm::{Drop, DropReason, Ecn, MarkReason, Packet, Qdisc, QueueId, Rate, Time};

const RFC: (&str, &str) = ("form", "rfc8033");
const FORMS: [&[(&str, &str)]; 2] = [&[], &[RFC, ("on_off", "false"), ("max_burst", "0s")]];

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
            qdisc: discipline("pie", given, Rate::from_mbps(12)).unwrap(),
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
            let _ = self.qdisc.dequeue(self.now, &mut self.ledger);
        }
        self
    }
    /// Keeps 60 packets of `ecn` waiting at a link that sends one a millisecond.
    fn keep_busy(&mut self, ecn: Ecn, milliseconds: u64) -> &mut Self {
        for _ in 0..milliseconds {
            for _ in 0..5 {
                if self.qdisc.backlog().packets < 60 {
                    self.arrive(ecn, 1);
                }
            }
            self.dequeue(1).wait(Time::from_millis(1));
        }
        self
    }
    fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.qdisc
            .configure(key, value, self.now, &mut self.ledger)
            .unwrap();
        self
    }
    fn gauge(&self, wanted: &str) -> f64 {
        let mut found = None;
        self.qdisc.status(self.now, &mut |name, gauge| {
            if name == wanted {
                found = Some(match gauge {
                    Gauge::Ratio(ratio) => ratio,
                    Gauge::Delay(delay) => delay.as_nanos() as f64,
                    Gauge::Count(count) => count as f64,
                });
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {wanted}"))
    }
}

#[test]
fn the_limit_refuses_and_a_lower_one_drops_from_the_head() {
    for form in FORMS {
        let mut story = Story::new(&[form, &[("limit", "20p")]].concat());
        story.arrive(Ecn::NotEct, 25);
        assert_eq!(story.ledger.drops(DropReason::Limit), 5);
        story.set("limit", "12p");
        let reconfigured = Drop {
            queue: QueueId::SINGLE,
            reason: DropReason::Reconfigured,
            queued: true,
        };
        let heads: Vec<Event> = (0..8).map(|id| Event::Dropped(id, reconfigured)).collect();
        assert!(story.ledger.events.ends_with(&heads), "{form:?}");
        // A limit in time is one at the present rate: 6 ms at 12 Mbit/s are 9000 bytes.
        story.set("limit", "6ms");
        assert_eq!(story.qdisc.backlog().packets, 6);
        // A lower rate only refuses.
        story
            .qdisc
            .set_rate(Rate::from_mbps(6), story.now, &mut story.ledger);
        assert_eq!(story.qdisc.backlog().packets, 6);
        story.dequeue(3).arrive(Ecn::NotEct, 1);
        assert_eq!(story.ledger.drops(DropReason::Limit), 6);
    }
}

/// The kernel's timer first fires after half a second (HZ / 2); the RFC's after T_UPDATE.
#[test]
fn the_first_update_is_the_sources() {
    let due = |given| {
        let mut story = Story::new(given);
        let first = story.qdisc.next_update().unwrap();
        story.wait(first);
        (first, story.qdisc.next_update().unwrap())
    };
    let ms = Time::from_millis;
    assert_eq!(due(&[]), (ms(500), ms(515)));
    assert_eq!(due(&[("tupdate", "4ms")]), (ms(500), ms(504)));
    assert_eq!(due(&[RFC]), (ms(15), ms(30)));
}

/// RFC 8033 section 5.1, sch_pie.c: marks while the probability is low, drops from 10 % on.
#[test]
fn ecn_packets_are_marked_below_ten_percent_and_dropped_above() {
    for form in FORMS {
        let mut story = Story::new(&[form, &[("ecn", "true")]].concat());
        story.keep_busy(Ecn::Ect0, 400);
        while story.gauge("probability") < 0.099 {
            assert_eq!(story.ledger.drops(DropReason::Overload), 0, "{form:?}");
            story.keep_busy(Ecn::Ect0, 1);
        }
        let marks = story.ledger.marks(MarkReason::Aqm);
        assert!(marks > 0, "{form:?}");
        while story.gauge("probability") < 0.11 {
            story.keep_busy(Ecn::Ect0, 1);
        }
        let marks = story.ledger.marks(MarkReason::Aqm);
        story.keep_busy(Ecn::Ect0, 500);
        assert_eq!(story.ledger.marks(MarkReason::Aqm), marks, "{form:?}");
        assert!(story.ledger.drops(DropReason::Overload) > 20, "{form:?}");
        assert_eq!(story.ledger.drops(DropReason::Aqm), 0, "{form:?}");
        // Without ECN the same packets are dropped as any other.
        story.set("ecn", "false").keep_busy(Ecn::Ect0, 500);
        assert!(story.ledger.drops(DropReason::Aqm) > 20, "{form:?}");
        assert_eq!(story.ledger.marks(MarkReason::Aqm), marks, "{form:?}");
    }
}

#[test]
fn a_burst_after_a_calm_time_passes_untouched() {
    for (given, allowance) in [
        (&[][..], 150),
        (&[RFC, ("on_off", "false")], 150),
        (&[RFC, ("on_off", "false"), ("max_burst", "600ms")], 600),
    ] {
        let mut story = Story::new(given);
        // Calm until after the kernel's first update; then a standing queue with high gains.
        story.wait(Time::from_secs(1));
        story.set("alpha", "32").set("beta", "32");
        story.keep_busy(Ecn::NotEct, allowance - 10);
        assert_eq!(story.ledger.drops(DropReason::Aqm), 0, "{given:?}");
        story.keep_busy(Ecn::NotEct, 200);
        assert!(story.ledger.drops(DropReason::Aqm) > 0, "{given:?}");
    }
}

#[test]
fn a_drained_queue_forgets_its_delay_and_the_probability_decays() {
    for form in FORMS {
        let mut story = Story::new(form);
        story.wait(Time::from_secs(1));
        story.keep_busy(Ecn::NotEct, 1_000);
        let probability = story.gauge("probability");
        assert!(probability > 0.01, "{form:?}");
        assert!(story.gauge("measured_delay") > 0.0, "{form:?}");
        story.qdisc.drain(story.now, &mut story.ledger);
        // At once, not with the next update: an emptied queue says nothing about the packets to come.
        assert_eq!(story.gauge("measured_delay"), 0.0, "{form:?}");
        story.wait(Time::from_secs(10));
        assert_eq!(story.gauge("probability"), 0.0, "{form:?}");
        assert_eq!(story.gauge("measured_delay"), 0.0, "{form:?}");
    }
}

/// RFC 8033 appendix A, `enque`: a packet that the limit refuses sets accu_prob_ to 0, as one that is dropped early does.
#[test]
fn a_packet_refused_for_the_limit_starts_the_accumulated_probability_anew() {
    let given = [RFC, ("on_off", "false"), ("max_burst", "0s")];
    let mut story = Story::new(&[&given[..], &[("limit", "64p")]].concat());
    story.keep_busy(Ecn::NotEct, 300);
    let mut resets = 0;
    while resets < 10 {
        let before = (
            story.ledger.drops(DropReason::Limit),
            story.gauge("accumulated_probability"),
        );
        story.arrive(Ecn::NotEct, 1);
        let refused = story.ledger.drops(DropReason::Limit) > before.0;
        if refused && before.1 > 0.0 {
            assert_eq!(story.gauge("accumulated_probability"), 0.0);
            resets += 1;
        }
        if refused {
            // Room for a few that add to it again.
            story.dequeue(4).wait(Time::from_millis(1));
        }
    }
}

/// A clock that jumps, a link that stands still for an hour: nothing overflows, and the queue works
/// again within seconds.
#[test]
fn an_hour_without_departures_is_survived() {
    for form in FORMS {
        let mut story = Story::new(form);
        story.arrive(Ecn::NotEct, 60).dequeue(1);
        story.wait(Time::from_secs(3_600)).dequeue(1);
        story.wait(Time::from_secs(7_200));
        story.dequeue(100).wait(Time::from_secs(30));
        let before = story.ledger.dequeued(QueueId::SINGLE);
        story.keep_busy(Ecn::NotEct, 100);
        assert_eq!(
            story.ledger.dequeued(QueueId::SINGLE),
            before + 100,
            "{form:?}"
        );
    }
}
