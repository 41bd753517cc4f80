use super::*;
use crate::disciplines::fifo::Fifo;
use crate::kind::QueueKind as _;
use crate::observer::Drop;
use crate::packet::{Ecn, testing::TestPacket};
use crate::parameter::Settings;
use crate::qdisc::Link;
use crate::random::Random;

struct Silent;

impl Observer<TestPacket> for Silent {
    fn dropped(&mut self, _packet: TestPacket, _drop: Drop, _now: Time) {}
}

type TestLink = Bottleneck<TestPacket, Fifo<TestPacket>, Silent>;

/// 8 Mbit/s: a packet of 1 000 bytes takes 1 ms.
fn link() -> TestLink {
    let mtu = Bytes::new(1_500);
    let rate = Rate::from_mbps(8);
    let settings = Settings::new(Fifo::<TestPacket>::ENTRY.parameters);
    let random = Random::new(1, "queue");
    let fifo = Fifo::new(settings, Link { rate, mtu }, random).unwrap();
    Bottleneck::new(fifo, rate, Framing::default(), Silent)
}

fn packet(id: u64) -> TestPacket {
    TestPacket::new(id, 1_000, Ecn::NotEct)
}

#[test]
fn an_idle_link_serves_at_once_and_a_busy_one_back_to_back() {
    let mut link = link();
    let mut starts = Vec::new();
    for id in 0..3 {
        link.arrive(packet(id), Time::from_micros(100), &mut |p, d| {
            starts.push((p.id, d.start))
        });
    }
    assert_eq!(link.next_event(), Some(Time::from_micros(1_100)));
    link.advance(Time::from_secs(1), &mut |p, d| starts.push((p.id, d.start)));
    let at = Time::from_micros;
    assert_eq!(starts, [(0, at(100)), (1, at(1_100)), (2, at(2_100))]);
    assert_eq!(link.next_event(), None);
}

#[test]
fn the_packet_in_service_finishes_at_the_old_rate() {
    let mut link = link();
    let mut ends = Vec::new();
    let mut sink = |_: TestPacket, d: Departure| ends.push(d.end);
    link.arrive(packet(0), Time::ZERO, &mut sink);
    link.arrive(packet(1), Time::ZERO, &mut sink);
    link.set_rate(Rate::from_mbps(80), Time::from_micros(500), &mut sink);
    link.advance(Time::from_secs(1), &mut sink);
    assert_eq!(ends, [Time::from_micros(1_000), Time::from_micros(1_100)]);
}

#[test]
fn an_outage_keeps_packets_until_the_link_is_back() {
    let mut link = link();
    let mut starts = Vec::new();
    let mut sink = |p: TestPacket, d: Departure| starts.push((p.id, d.start));
    link.set_rate(Rate::ZERO, Time::ZERO, &mut sink);
    link.arrive(packet(0), Time::from_millis(1), &mut sink);
    link.advance(Time::from_secs(5), &mut sink);
    assert_eq!(link.backlog().packets, 1);
    let mut sink = |p: TestPacket, d: Departure| starts.push((p.id, d.start));
    link.set_rate(Rate::from_mbps(8), Time::from_secs(6), &mut sink);
    assert_eq!(starts, [(0, Time::from_secs(6))]);
}

#[test]
fn a_late_caller_gets_the_same_departures() {
    // Arrivals every 700 µs, reported one by one or all after the fact.
    let run = |advance_between: bool| {
        let mut link = link();
        let mut out = Vec::new();
        for id in 1..50 {
            let at = Time::from_micros(700 * id);
            if advance_between {
                for step in 0..7 {
                    link.advance(
                        (at - Time::from_micros(700)) + Time::from_micros(100 * step),
                        &mut |p, d| out.push((p.id, d)),
                    );
                }
            }
            link.arrive(packet(id), at, &mut |p, d| out.push((p.id, d)));
        }
        link.advance(Time::from_secs(1), &mut |p, d| out.push((p.id, d)));
        out
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn an_arrival_from_the_past_happens_now() {
    let mut link = link();
    link.advance(Time::from_millis(10), &mut |_, _| ());
    let mut starts = Vec::new();
    link.arrive(packet(0), Time::from_millis(9), &mut |p: TestPacket, d| {
        starts.push((p.arrival(), d.start))
    });
    assert_eq!(starts, [(Time::from_millis(10), Time::from_millis(10))]);
}

/// Writes down the order in which it is called.
#[derive(Default)]
struct Diary {
    calls: Vec<(&'static str, Time)>,
    waiting: Vec<TestPacket>,
    updates: u64,
}

impl Qdisc<TestPacket> for Diary {
    fn queues(&self) -> &'static [&'static str] {
        &["queue"]
    }
    fn enqueue(&mut self, packet: TestPacket, now: Time, _obs: &mut impl Observer<TestPacket>) {
        self.calls.push(("arrival", now));
        self.waiting.push(packet);
    }
    fn dequeue(&mut self, now: Time, _obs: &mut impl Observer<TestPacket>) -> Option<TestPacket> {
        let packet = self.waiting.pop();
        if packet.is_some() {
            self.calls.push(("departure", now));
        }
        packet
    }
    fn transmitted(&mut self, now: Time) {
        self.calls.push(("end of transmission", now));
    }
    fn next_update(&self) -> Option<Time> {
        Some(Time::from_millis(self.updates + 1))
    }
    fn update(&mut self, now: Time) {
        self.updates += 1;
        self.calls.push(("update", now));
    }
    fn configure(
        &mut self,
        _: &str,
        _: &str,
        _: Time,
        _: &mut dyn Observer<TestPacket>,
    ) -> Result<(), ParameterError> {
        Ok(())
    }
    fn drain(&mut self, _: Time, _: &mut dyn Observer<TestPacket>) {}
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
    fn status(&self, _: Time, _: &mut dyn FnMut(&'static str, crate::qdisc::Gauge)) {}
}

#[test]
fn ties_go_end_of_transmission_departure_update_arrival() {
    let mut link = Bottleneck::new(
        Diary::default(),
        Rate::from_mbps(8),
        Framing::default(),
        Silent,
    );
    for id in 0..2 {
        link.arrive(packet(id), Time::ZERO, &mut |_, _| ());
    }
    let ms = Time::from_millis(1);
    link.arrive(packet(2), ms, &mut |_, _| ());
    let at_one: Vec<_> = link
        .qdisc()
        .calls
        .iter()
        .filter(|c| c.1 == ms)
        .map(|c| c.0)
        .collect();
    assert_eq!(
        at_one,
        ["end of transmission", "departure", "update", "arrival"]
    );
}

#[test]
fn an_unlimited_link_empties_the_queue_at_once() {
    let mut link = link();
    let mut out = 0;
    link.set_rate(Rate::UNLIMITED, Time::ZERO, &mut |_, _| ());
    for id in 0..5 {
        link.arrive(packet(id), Time::from_millis(id), &mut |_, d| {
            assert_eq!(d.start, d.end);
            out += 1;
        });
    }
    assert_eq!((out, link.next_event()), (5, None));
}
