//! The recorder as the observer of a real bottleneck, against closed forms.

use quell_aqm::departure_clock::Framing;
use quell_aqm::{Bottleneck, Discipline, Link, Packet, disciplines};
use quell_measure::{
    Direction, GroupId, Hop, Labelled, LinkResults, Recorder, RecorderConfig, Timeline,
};
use quell_units::{Bytes, Ecn, Random, Rate, Settings, Time};

#[derive(Debug)]
struct Datagram {
    arrival: Time,
}

impl Packet for Datagram {
    fn len(&self) -> Bytes {
        Bytes::new(1_500)
    }
    fn memory(&self) -> Bytes {
        self.len()
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn flow(&self) -> u64 {
        0
    }
    fn value(&self) -> u16 {
        0
    }
    fn set_value(&mut self, _value: u16) {}
    fn arrival(&self) -> Time {
        self.arrival
    }
    fn set_arrival(&mut self, at: Time) {
        self.arrival = at;
    }
}

impl Labelled for Datagram {
    fn group(&self) -> Option<GroupId> {
        Some(GroupId(0))
    }
}

/// Ten seconds, the first a warm-up, of a packet each `spacing` into a drop-tail queue of ten
/// packets before 12 Mbit/s: 1 ms for each packet.
fn run(spacing: Time) -> LinkResults {
    let rate = Rate::from_mbps(12);
    let end = Time::from_secs(10);
    let mut settings = Settings::new(disciplines::find("fifo").expect("it exists").parameters);
    settings.set("limit", "10p").expect("it is a limit");
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    let queue =
        Discipline::new("fifo", settings, link, Random::new(1, "queue")).expect("it can be made");
    let recorder = Recorder::new(RecorderConfig {
        hop: Hop::FIRST,
        hop_name: Hop::ONLY_NAME.to_owned(),
        direction: Direction::Forward,
        queues: &["queue"],
        groups: vec![true],
        ends: None,
        rate,
        timeline: Timeline::new(Time::from_secs(1), &[], Time::ZERO, end),
        interval: Some(Time::from_millis(100)),
    });
    let mut bottleneck = Bottleneck::new(queue, rate, Framing::default(), recorder);
    let mut at = Time::ZERO;
    while at < end {
        let packet = Datagram {
            arrival: Time::ZERO,
        };
        bottleneck.arrive(packet, at, &mut |_, _| {});
        at += spacing;
    }
    bottleneck.advance(end, &mut |_, _| {});
    bottleneck.observer_mut().finish(end)
}

#[test]
fn an_overloaded_link_is_busy_all_the_time_and_its_queue_is_full() {
    // Two packets arrive in the time of one: one at the departure, when there is room, and one
    // half a millisecond later, when there is none.
    let results = run(Time::from_micros(500));
    let queue = &results.whole.queues[0];
    assert_eq!(results.whole.utilisation(), 1.0);
    assert_eq!(
        (queue.packets, queue.drops["limit"], queue.drop_ratio),
        (9_000, 9_000, 0.5)
    );
    // Ten packets wait; a packet that finds nine waits until they have left.
    assert_eq!(queue.backlog_bytes.unwrap().mean, 15_000.0);
    assert_eq!(queue.delay_ms.unwrap().p1, queue.delay_ms.unwrap().p999);
    assert_eq!(queue.delay_ms.unwrap().mean, 10.0);
    // Little's law: backlog = throughput × sojourn time.
    assert_eq!(
        queue.bytes as f64 / 9.0 * queue.delay_ms.unwrap().mean / 1e3,
        15_000.0
    );
    assert_eq!(results.whole.groups[0].unwrap().packets, 9_000);
}

#[test]
fn a_half_loaded_link_has_no_queue() {
    let results = run(Time::from_millis(2));
    let queue = &results.whole.queues[0];
    assert_eq!(
        (results.whole.utilisation(), queue.packets, queue.dropped),
        (0.5, 4_500, 0)
    );
    assert_eq!(queue.delay_ms.unwrap().max, 0.0);
    assert_eq!(queue.backlog_bytes.unwrap().max, 0.0);
}
