//! Little stories with figures computed by hand.

use super::*;
use proptest::prelude::*;
use quell_aqm::DropReason;
use quell_units::Ecn;

#[cfg(target_pointer_width = "64")]
#[test]
fn the_memory_of_queues_and_groups_is_what_they_take_and_not_much_more() {
    for (estimated, taken) in [
        (TALLY_MEMORY, size_of::<Option<Tally>>() as u64),
        (QUEUE_MEMORY, size_of::<Queue>() as u64),
    ] {
        assert!((taken..=taken + taken / 8).contains(&estimated), "{taken}");
    }
}

#[derive(Debug, Clone)]
struct TestPacket {
    bytes: u64,
    group: u32,
    arrival: Time,
}

impl Packet for TestPacket {
    fn len(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn memory(&self) -> Bytes {
        self.len()
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect1
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

impl Labelled for TestPacket {
    fn group(&self) -> Option<GroupId> {
        Some(GroupId(self.group))
    }
}

const QUEUE: QueueId = QueueId::SINGLE;

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn packet(arrival_ms: u64) -> TestPacket {
    TestPacket {
        bytes: 1_500,
        group: 0,
        arrival: ms(arrival_ms),
    }
}

/// The forward direction of a second link. Groups 0 and 2 send that way, group 1 sends elsewhere.
fn recorder(warmup: u64, changes: &[u64], end: u64, interval: Option<u64>) -> Recorder {
    let changes: Vec<Time> = changes.iter().map(|&at| ms(at)).collect();
    Recorder::new(RecorderConfig {
        hop: Hop(1),
        hop_name: "access".to_owned(),
        direction: Direction::Forward,
        queues: &["l4s", "classic"],
        groups: vec![true, false, true],
        ends: None,
        rate: Rate::from_mbps(12),
        timeline: Timeline::new(ms(warmup), &changes, Time::ZERO, ms(end)),
        interval: interval.map(ms),
    })
}

/// A packet passes the queue without transmission.
fn pass(recorder: &mut Recorder, arrival_ms: u64, start_ms: u64) {
    let packet = packet(arrival_ms);
    recorder.on_enqueued(QUEUE, &packet, packet.arrival);
    recorder.on_dequeued(QUEUE, &packet, ms(start_ms));
}

fn drop_of(reason: DropReason, queued: bool) -> Drop {
    Drop {
        queue: QUEUE,
        reason,
        queued,
    }
}

fn depart(recorder: &mut Recorder, start_ms: u64, end_ms: u64) {
    recorder.on_departed(&Departure {
        start: ms(start_ms),
        end: ms(end_ms),
        link_bytes: Bytes::new(1_500),
    });
}

#[test]
fn delay_is_from_arrival_to_the_start_of_transmission() {
    let mut recorder = recorder(0, &[], 100, None);
    for (arrival, start) in [(0, 1), (10, 13), (20, 28)] {
        pass(&mut recorder, arrival, start);
    }
    let results = recorder.finish(ms(100));
    let queue = &results.whole.queues[0];
    let place = (&queue.name[..], &queue.hop[..], queue.direction);
    assert_eq!(place, ("l4s", "access", Direction::Forward));
    assert_eq!(results.whole.hop, Hop(1));
    assert_eq!((queue.packets, queue.bytes), (3, 4_500));
    let delay = queue.delay_ms.unwrap();
    assert_eq!((delay.mean, delay.p1, delay.max), (4.0, 1.0, 8.0));
    assert!((delay.p50 - 3.0).abs() < 0.001_5);
    assert_eq!(results.whole.queues[1].delay_ms, None);
    assert_eq!(results.queue_delays[0].count(), 3);
}

#[test]
fn backlog_is_weighted_by_time() {
    let mut recorder = recorder(0, &[], 4, None);
    pass(&mut recorder, 0, 1);
    let backlog = recorder.finish(ms(4)).whole.queues[0]
        .backlog_bytes
        .unwrap();
    assert_eq!((backlog.mean, backlog.max), (375.0, 1_500.0));
}

#[test]
fn a_backlog_that_stands_over_a_boundary_counts_on_both_sides() {
    let mut recorder = recorder(10, &[20], 30, None);
    pass(&mut recorder, 5, 25);
    let results = recorder.finish(ms(30));
    let mean = |figures: &LinkFigures| figures.queues[0].backlog_bytes.unwrap().mean;
    assert_eq!(mean(&results.phases[0]), 1_500.0);
    assert_eq!(mean(&results.phases[1]), 750.0);
    assert_eq!(mean(&results.whole), 1_125.0);
}

#[test]
fn backlog_at_dequeue_is_what_the_packet_leaves_behind_after_the_warm_up() {
    let mut recorder = recorder(10, &[], 30, None);
    pass(&mut recorder, 1, 2);
    for _ in 0..2 {
        recorder.on_enqueued(QUEUE, &packet(11), ms(11));
    }
    for start in [12, 13] {
        recorder.on_dequeued(QUEUE, &packet(11), ms(start));
    }
    let results = recorder.finish(ms(30));
    assert_eq!(
        results.backlogs_at_dequeue[0].counts(),
        [(0, 1), (1_500, 1)]
    );
}

#[test]
fn a_transmission_over_a_boundary_is_busy_time_on_both_sides() {
    let mut recorder = recorder(10, &[20], 40, None);
    depart(&mut recorder, 8, 13);
    depart(&mut recorder, 18, 35);
    let results = recorder.finish(ms(40));
    assert_eq!(results.phases[0].busy, ms(3 + 2));
    assert_eq!(results.phases[1].busy, ms(15));
    assert_eq!(results.whole.busy, ms(20));
    assert_eq!(results.whole.utilisation(), 20.0 / 30.0);
}

#[test]
fn a_transmission_longer_than_a_phase_fills_it() {
    let mut recorder = recorder(0, &[10, 20], 30, None);
    depart(&mut recorder, 5, 29);
    let results = recorder.finish(ms(30));
    let busy: Vec<f64> = results
        .phases
        .iter()
        .map(LinkFigures::utilisation)
        .collect();
    assert_eq!(busy, [0.5, 1.0, 0.9]);
}

#[test]
fn rate_is_the_mean_over_time() {
    let mut recorder = recorder(10, &[20], 30, None);
    recorder.on_rate(Rate::from_mbps(6), ms(20));
    let results = recorder.finish(ms(30));
    let rates = results.phases.iter().map(|phase| phase.rate.as_bps());
    assert_eq!(rates.collect::<Vec<_>>(), [12_000_000, 6_000_000]);
    assert_eq!(results.whole.rate, Rate::from_mbps(9));
}

#[test]
fn marks_and_drops_count_by_reason_in_the_segment_in_which_they_happen() {
    let mut recorder = recorder(10, &[20], 30, None);
    let packet = packet(0);
    for (reason, at) in [
        (MarkReason::Step, 9),
        (MarkReason::Step, 10), // exactly at the boundary: the later one
        (MarkReason::Coupled, 19),
        (MarkReason::Step, 20),
    ] {
        recorder.on_marked(QUEUE, &packet, reason, ms(at));
    }
    recorder.on_dropped(&packet, &drop_of(DropReason::Limit, false), ms(25));
    let lost = impair::Counts {
        lost: 3,
        ..impair::Counts::default()
    };
    recorder.on_outside(&lost, ms(26));
    let results = recorder.finish(ms(30));
    let queue = &results.phases[0].queues[0];
    assert_eq!(
        (queue.marked, queue.marks["step"], queue.marks["coupled"]),
        (2, 1, 1)
    );
    let queue = &results.phases[1].queues[0];
    assert_eq!(
        (queue.marked, queue.dropped, queue.drops["limit"]),
        (1, 1, 1)
    );
    let whole = &results.whole;
    assert_eq!((whole.queues[0].marked, &whole.outside), (3, &lost));
    assert_eq!(
        whole.groups[0].map(|group| (group.marked, group.dropped)),
        Some((3, 1))
    );
}

#[test]
fn only_a_drop_of_a_queued_packet_shortens_the_backlog() {
    let mut recorder = recorder(0, &[], 10, None);
    recorder.on_enqueued(QUEUE, &packet(0), ms(0));
    recorder.on_enqueued(QUEUE, &packet(0), ms(0));
    recorder.on_dropped(&packet(0), &drop_of(DropReason::Limit, false), ms(2));
    recorder.on_dropped(&packet(0), &drop_of(DropReason::Aqm, true), ms(5));
    let queue = &recorder.finish(ms(10)).whole.queues[0];
    assert_eq!((queue.dropped, queue.drop_ratio), (2, 1.0));
    assert_eq!(queue.backlog_bytes.unwrap().mean, 2_250.0);
}

#[test]
fn a_group_counts_only_where_its_data_goes() {
    let mut recorder = recorder(0, &[], 10, None);
    for group in [0, 1, 2, 2, 7] {
        let packet = TestPacket { group, ..packet(0) };
        recorder.on_enqueued(QUEUE, &packet, ms(0));
        recorder.on_dequeued(QUEUE, &packet, ms(1));
    }
    let whole = recorder.finish(ms(10)).whole;
    let packets: Vec<_> = whole
        .groups
        .iter()
        .map(|group| group.map(|g| g.packets))
        .collect();
    assert_eq!(packets, [Some(1), None, Some(2)]);
    assert_eq!(whole.queues[0].packets, 5);
}

#[test]
fn rows_report_each_interval_and_do_not_pile_up() {
    let mut recorder = recorder(15, &[], 25, Some(10));
    pass(&mut recorder, 1, 3);
    pass(&mut recorder, 4, 8);
    recorder.on_enqueued(QUEUE, &packet(9), ms(9));
    recorder.advance(ms(20));
    let rows: Vec<QueueRow> = recorder.drain_rows().collect();
    let l4s: Vec<&QueueRow> = rows.iter().filter(|row| row.queue == "l4s").collect();
    let place = (l4s[0].hop, l4s[0].direction);
    assert_eq!(place, (Hop(1), Direction::Forward));
    assert_eq!((rows.len(), l4s.len()), (4, 2));
    assert_eq!(
        (l4s[0].time, l4s[0].packets, l4s[0].backlog.get()),
        (ms(10), 2, 1_500)
    );
    assert_eq!(
        (l4s[0].delay_mean, l4s[0].delay_max),
        (Some(ms(3)), Some(ms(4)))
    );
    assert_eq!((l4s[1].packets, l4s[1].delay_mean), (0, None));
    recorder.finish(ms(25));
    let rows: Vec<QueueRow> = recorder.drain_rows().collect();
    assert_eq!(
        (rows.len(), rows[0].time, rows[0].length),
        (2, ms(25), ms(5))
    );
}

#[test]
fn a_run_that_stops_early_is_measured_up_to_there() {
    let mut recorder = recorder(10, &[20], 100, None);
    depart(&mut recorder, 25, 45);
    pass(&mut recorder, 25, 29);
    let results = recorder.finish(ms(30));
    assert_eq!(
        results.whole.span,
        Span {
            start: ms(10),
            end: ms(30)
        }
    );
    assert_eq!(results.phases[1].utilisation(), 0.5);
    assert_eq!(results.whole.utilisation(), 0.25);
    assert_eq!(results.whole.queues[0].packets, 1);
    // Afterwards, and during the warm-up, nothing counts.
    pass(&mut recorder, 31, 32);
    assert_eq!(recorder.finish(ms(200)).whole.queues[0].packets, 1);
    let mut early = super::tests::recorder(10, &[], 100, None);
    pass(&mut early, 1, 2);
    let whole = early.finish(ms(5)).whole;
    assert_eq!((whole.queues[0].packets, whole.utilisation()), (0, 0.0));
}

proptest! {
    /// Cuts change nothing of the whole.
    #[test]
    fn segments_merged_equal_one_recorder_over_the_whole(
        steps in prop::collection::vec((0_u64..400, 40_u64..1_500, 0_u8..8), 1..200),
        cuts in prop::collection::vec(1_u64..20_000, 0..6),
    ) {
        let timeline = |cuts: &[u64]| {
            let cuts: Vec<Time> = cuts.iter().map(|&at| Time::from_nanos(at)).collect();
            Timeline::new(Time::ZERO, &cuts, Time::from_nanos(300), Time::from_nanos(50_000))
        };
        let config = |cuts: &[u64]| RecorderConfig {
            hop: Hop::FIRST,
            hop_name: Hop::ONLY_NAME.to_owned(),
            direction: Direction::Forward,
            queues: &["queue"],
            groups: vec![true],
            ends: None,
            rate: Rate::from_mbps(1),
            timeline: timeline(cuts),
            interval: Some(Time::from_nanos(700)),
        };
        let mut recorders = [Recorder::new(config(&[])), Recorder::new(config(&cuts))];
        let mut now = Time::ZERO;
        let mut waiting = std::collections::VecDeque::new();
        for (pause, bytes, act) in steps {
            now += Time::from_nanos(pause);
            let packet = TestPacket { bytes, group: 0, arrival: now };
            let leaves = if act < 4 { None } else { waiting.pop_front() };
            for recorder in &mut recorders {
                match &leaves {
                    None => recorder.on_enqueued(QUEUE, &packet, now),
                    Some(packet) if act == 4 => {
                        recorder.on_dropped(packet, &drop_of(DropReason::Aqm, true), now);
                    }
                    Some(packet) => {
                        recorder.on_marked(QUEUE, packet, MarkReason::Aqm, now);
                        recorder.on_dequeued(QUEUE, packet, now);
                        let end = now + Time::from_nanos(bytes);
                        recorder.on_departed(&Departure { start: now, end, link_bytes: Bytes::new(bytes) });
                    }
                }
            }
            if leaves.is_none() {
                waiting.push_back(packet);
            }
        }
        let [one, cut] = recorders.map(|mut recorder| recorder.finish(Time::from_nanos(50_000)));
        prop_assert_eq!(one.whole, cut.whole);
        prop_assert_eq!(one.queue_delays[0].counts(), cut.queue_delays[0].counts());
        prop_assert_eq!(one.backlogs_at_dequeue[0].counts(), cut.backlogs_at_dequeue[0].counts());
    }
}
