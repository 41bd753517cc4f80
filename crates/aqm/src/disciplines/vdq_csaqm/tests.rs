use super::*;
use crate::observer::Drop;
use crate::packet::testing::TestPacket;
use crate::qdisc::Backlog;
use crate::random::Random;
use crate::units::Bytes;
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

/// What happened to packets, by id.
#[derive(Debug, Default)]
struct Log {
    marked: Vec<u64>,
    dropped: Vec<(u64, QueueId, DropReason)>,
}

impl Observer<TestPacket> for Log {
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, reason: MarkReason, _now: Time) {
        assert_eq!(reason, MarkReason::Value);
        self.marked.push(packet.id);
    }
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        self.dropped.push((packet.id, drop.queue, drop.reason));
    }
}

/// 8 Mbit/s: a thousand bytes are a millisecond. C_v = C.
const RATE: Rate = Rate::from_mbps(8);

fn made(given: &[(&str, &str)]) -> Result<VdqCsaqm<TestPacket>, ParameterError> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value)?;
    }
    settings.check()?;
    let mtu = Bytes::new(1_500);
    let link = Link { rate: RATE, mtu };
    VdqCsaqm::new(settings, link, Random::new(1, "queue"))
}

/// A queue with its clock and its observer.
struct Story {
    queue: VdqCsaqm<TestPacket>,
    log: Log,
    now: Time,
    offered: u64,
}

impl Story {
    fn of(given: &[(&str, &str)]) -> Self {
        Self {
            queue: made(given).unwrap(),
            log: Log::default(),
            now: Time::ZERO,
            offered: 0,
        }
    }
    /// Variant b, C_v = C: the threshold follows from what waits by hand.
    fn literal(given: &[(&str, &str)]) -> Self {
        let literal = [
            ("variant", "b"),
            ("serving_rate_0", "1"),
            ("serving_rate_1", "1"),
        ];
        Self::of(&[&literal, given].concat())
    }
    /// A thousand bytes; returns the id.
    fn arrive(&mut self, value: u16, ecn: Ecn) -> u64 {
        let id = self.offered;
        self.offered += 1;
        let mut packet = TestPacket::new(id, 1_000, ecn);
        packet.value = value;
        packet.set_arrival(self.now);
        self.queue.enqueue(packet, self.now, &mut self.log);
        id
    }
    fn leave(&mut self) -> Option<TestPacket> {
        self.queue.dequeue(self.now, &mut self.log)
    }
    /// Updates now, whenever it is due.
    fn update(&mut self) {
        self.queue.update(self.now);
    }
    fn configure(&mut self, key: &str, value: &str) {
        let changed = self.queue.configure(key, value, self.now, &mut self.log);
        changed.unwrap();
    }
    fn virtual_bytes(&self) -> [u64; 2] {
        [0, 1].map(|queue: usize| self.queue.virtuals[queue].bytes())
    }
    fn thresholds(&self) -> [u16; 2] {
        [0, 1].map(|queue: usize| self.queue.virtuals[queue].threshold())
    }
    fn assert_consistent(&self) {
        for queue in &self.queue.virtuals {
            queue.assert_consistent();
        }
    }
}

#[test]
fn l4s_goes_first_and_is_in_both_virtual_queues() {
    let mut story = Story::literal(&[]);
    let classic = story.arrive(9, Ecn::NotEct);
    let l4s = [story.arrive(9, Ecn::Ect1), story.arrive(9, Ecn::Ce)];
    assert_eq!(story.virtual_bytes(), [2_000, 3_000]);
    let order = [l4s[0], l4s[1], classic];
    assert_eq!(order.map(|_| story.leave().unwrap().id), order);
    assert!(story.leave().is_none());
    // What is sent waits in the virtual queues for its turn there: VQ0 has served two at 2 ms, VQ1 the third at 3 ms.
    assert_eq!(story.virtual_bytes(), [2_000, 3_000]);
    story.now = Time::from_millis(2);
    story.update();
    assert_eq!(story.virtual_bytes(), [0, 1_000]);
}

#[test]
fn the_classifier_follows_any_ect() {
    for (any_ect, ect0) in [("true", QueueId::L4S), ("false", QueueId::CLASSIC)] {
        for (ecn, queue) in [
            (Ecn::NotEct, QueueId::CLASSIC),
            (Ecn::Ect0, ect0),
            (Ecn::Ect1, QueueId::L4S),
            (Ecn::Ce, QueueId::L4S),
        ] {
            let mut story = Story::literal(&[("any_ect", any_ect)]);
            story.arrive(1, ecn);
            let backlog = story.queue.queues[queue.index()].backlog();
            assert_eq!(backlog.packets, 1, "{any_ect} {ecn:?}");
        }
    }
}

/// D is 5 packets. Eight wait in VQ1, so the three of the lowest value are signalled; the strict inequality spares what is worth more.
#[test]
fn what_is_not_above_the_threshold_is_marked_or_dropped() {
    for (given, ecn, marked, dropped) in [
        (&[][..], Ecn::NotEct, 0, 3),
        (&[], Ecn::Ect1, 3, 0),
        (&[], Ecn::Ect0, 3, 0),
        (&[("any_ect", "false")], Ecn::Ect0, 3, 0),
        (&[("any_ect", "false"), ("ecn", "false")], Ecn::Ect0, 0, 3),
        // It carries a mark already.
        (&[], Ecn::Ce, 0, 0),
    ] {
        let mut story = Story::literal(given);
        for value in [10, 20, 30, 40, 50, 60, 70, 80] {
            story.arrive(value, ecn);
        }
        story.update();
        assert_eq!(story.thresholds()[1], 30);
        while let Some(packet) = story.leave() {
            assert_eq!(
                packet.ecn == Ecn::Ce,
                packet.value <= 30 && ecn != Ecn::NotEct || ecn == Ecn::Ce
            );
        }
        assert_eq!(
            (story.log.marked.len(), story.log.dropped.len()),
            (marked, dropped),
            "{ecn:?}"
        );
        assert!(
            story
                .log
                .dropped
                .iter()
                .all(|drop| drop.2 == DropReason::Value)
        );
        // What was marked will be served, what was dropped will not.
        assert_eq!(story.virtual_bytes()[1], 8_000 - 1_000 * dropped as u64);
        story.assert_consistent();
    }
}

/// VQ0 alone is above its target: L4S is marked by the larger of the two thresholds, Classic feels that of VQ1.
#[test]
fn l4s_obeys_the_larger_threshold_and_classic_that_of_all_traffic() {
    let mut story = Story::literal(&[("target_0", "2ms")]);
    for value in [30, 40, 50, 60] {
        story.arrive(value, Ecn::Ect1);
    }
    let classic = story.arrive(1, Ecn::NotEct);
    story.update();
    assert_eq!(story.thresholds(), [40, 0]);
    assert!(core::iter::from_fn(|| story.leave()).any(|packet| packet.id == classic));
    assert_eq!(story.log.marked, [0, 1]);
    // Now VQ1 alone.
    let mut story = Story::literal(&[]);
    story.arrive(20, Ecn::Ect1);
    for value in [10, 20, 30, 40, 50, 60] {
        story.arrive(value, Ecn::NotEct);
    }
    story.update();
    assert_eq!(story.thresholds(), [0, 20]);
    while story.leave().is_some() {}
    assert_eq!(story.log.marked, [0]);
    let dropped: Vec<_> = story.log.dropped.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [1, 2]);
}

#[test]
fn with_the_ablation_marked_packets_leave_the_virtual_queues() {
    for (removed, left) in [("false", [8_000, 8_000]), ("true", [5_000, 5_000])] {
        let mut story = Story::literal(&[("remove_marked", removed)]);
        for value in [10, 20, 30, 40, 50, 60, 70, 80] {
            story.arrive(value, Ecn::Ect1);
        }
        story.update();
        while story.leave().is_some() {}
        assert_eq!(story.log.marked, [0, 1, 2]);
        assert_eq!(story.virtual_bytes(), left);
        story.assert_consistent();
    }
}

#[test]
fn a_packet_without_a_value_counts_as_the_default() {
    for (default_value, marked) in [("1", &[1][..]), ("65535", &[0, 2, 3, 4, 5])] {
        let mut story = Story::literal(&[("default_value", default_value)]);
        for value in [40, 0, 40, 40, 40, 40] {
            story.arrive(value, Ecn::Ect1);
        }
        story.update();
        while story.leave().is_some() {}
        assert_eq!(story.log.marked, marked, "{default_value}");
    }
    // 1 and all above 100 are one.
    let mut story = Story::literal(&[("highest_value", "100")]);
    for value in [101, 65_535, 99, 98, 97, 96] {
        story.arrive(value, Ecn::Ect1);
    }
    story.update();
    assert_eq!(story.thresholds(), [96, 96]);
    story.configure("target_1", "1ms");
    story.update();
    assert_eq!(story.thresholds(), [96, 100]);
}

#[test]
fn a_full_physical_queue_refuses_without_a_record() {
    let mut story = Story::literal(&[("limit_l4s", "2p"), ("limit_classic", "3000B")]);
    for _ in 0..4 {
        story.arrive(9, Ecn::Ect1);
        story.arrive(9, Ecn::NotEct);
    }
    let limit = DropReason::Limit;
    assert_eq!(
        story.log.dropped,
        [
            (4, QueueId::L4S, limit),
            (6, QueueId::L4S, limit),
            (7, QueueId::CLASSIC, limit)
        ]
    );
    assert_eq!(story.virtual_bytes(), [2_000, 5_000]);
    // A lower limit drops nothing that waits.
    story.configure("limit_classic", "1500B");
    assert_eq!(story.queue.backlog().packets, 5);
    story.arrive(9, Ecn::NotEct);
    assert_eq!(story.log.dropped.len(), 4);
}

/// Without the extension L4S is marked whatever happens; with it, it is dropped while it waits too long or VQ0 is full.
#[test]
fn l4s_is_dropped_only_on_overload_and_only_if_told_to() {
    for (given, wait_ms, dropped) in [
        (&[][..], 1_000, false),
        (&[("drop_on_overload", "true")], 20, false),
        (&[("drop_on_overload", "true")], 21, true),
        (
            &[("drop_on_overload", "true"), ("overload_delay", "2ms")],
            3,
            true,
        ),
        // VQ0 takes 7 of the 8 packets.
        (
            &[("drop_on_overload", "true"), ("vq_limit", "7ms")],
            0,
            true,
        ),
        (&[("vq_limit", "7ms")], 0, false),
    ] {
        let mut story = Story::literal(given);
        for value in [10, 20, 30, 40, 50, 60, 70, 80] {
            story.arrive(value, Ecn::Ect1);
        }
        story.update();
        let threshold = story.thresholds()[1];
        let signalled = usize::from(threshold / 10);
        assert!(signalled > 0);
        story.now = Time::from_millis(wait_ms);
        let before = story.virtual_bytes();
        while story.leave().is_some() {}
        let (marks, drops) = if dropped {
            (0, signalled)
        } else {
            (signalled, 0)
        };
        assert_eq!(story.log.marked.len(), marks, "{given:?}");
        assert_eq!(story.log.dropped.len(), drops, "{given:?}");
        let mut log = story.log.dropped.iter();
        assert!(log.all(|drop| (drop.1, drop.2) == (QueueId::L4S, DropReason::Overload)));
        if wait_ms == 0 {
            let gone = 1_000 * drops as u64;
            assert_eq!(story.virtual_bytes(), before.map(|bytes| bytes - gone));
        }
        story.assert_consistent();
    }
}

/// An overload ends after 16 intervals in which it dropped nothing; a packet that is worth enough passes meanwhile.
#[test]
fn an_overload_lasts_until_nothing_had_to_be_dropped_for_sixteen_intervals() {
    let mut story = Story::literal(&[("drop_on_overload", "true")]);
    let late = Time::from_millis(21);
    assert!(!story.queue.is_overloaded(Time::from_millis(20)));
    for idle in [15, 15, 16] {
        let overloaded = story
            .queue
            .is_overloaded(if idle == 16 { Time::ZERO } else { late });
        assert!(overloaded);
        for _ in 0..idle {
            assert!(story.queue.overload > 0);
            story.update();
        }
    }
    assert!(!story.queue.is_overloaded(Time::ZERO));
    // VQ0 takes 7 of 8 packets; that counts for this interval and the next.
    let mut story = Story::literal(&[("drop_on_overload", "true"), ("vq_limit", "7ms")]);
    for _ in 0..8 {
        story.arrive(9, Ecn::Ect1);
    }
    for overflows in [true, true, false] {
        assert_eq!(story.queue.virtuals[0].overflows(), overflows);
        story.update();
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    for (given, message) in [
        (
            &[("serving_rate_1", "1.01")][..],
            "serving_rate_1 = 1.01: must be a fraction from 0.00002 to 1",
        ),
        (
            &[("serving_rate_0", "0")],
            "serving_rate_0 = 0: must be a fraction from 0.00002 to 1",
        ),
        (
            &[("target_0", "200ms")],
            "target_0 = 200ms: must be below vq_limit, which is 200ms: a virtual queue that never holds more than its target gives no signal",
        ),
        (
            &[("vq_limit", "5ms"), ("target_0", "4ms")],
            "target_1 = 10ms: must be below vq_limit, which is 5ms: a virtual queue that never holds more than its target gives no signal",
        ),
        (
            &[("variant", "b"), ("alpha", "1")],
            "alpha = 1Hz: has an effect only with variant = \"q\"",
        ),
        (
            &[("ecn", "false")],
            "ecn = false: has an effect only with any_ect = false",
        ),
        (
            &[("limit_classic", "1000B")],
            "limit_classic = 1kB: never accepts a packet of 1500B; it must be 1500B or more",
        ),
    ] {
        assert_eq!(made(given).unwrap_err().to_string(), message);
    }
    let mut story = Story::of(&[]);
    for (key, value) in [("vq_limit", "4ms"), ("target_1", "1s"), ("variant", "b")] {
        let refused = story
            .queue
            .configure(key, value, Time::ZERO, &mut story.log);
        assert!(refused.is_err(), "{key}");
    }
}

/// Where the link has become too slow for a limit in time, other parameters still change.
#[test]
fn a_slow_link_takes_changes() {
    let mut story = Story::of(&[]);
    let slow = Rate::from_bps(8_000);
    story.queue.set_rate(slow, Time::ZERO, &mut story.log);
    story.configure("target_1", "6ms");
    let refused = story
        .queue
        .configure("limit_l4s", "1ms", Time::ZERO, &mut story.log);
    assert!(refused.is_err());
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u16, u8, u64),
    Leave,
    Pass(u64),
    Update,
    SetRate(u64),
    Configure(usize),
    Drain,
}

const CHANGES: [(&str, &str); 12] = [
    ("target_0", "1ms"),
    ("target_1", "30ms"),
    ("serving_rate_0", "0.25"),
    ("serving_rate_1", "1"),
    ("vq_limit", "40ms"),
    ("limit_classic", "20p"),
    ("any_ect", "false"),
    ("default_value", "500"),
    ("drop_on_overload", "true"),
    ("remove_marked", "true"),
    ("remove_marked", "false"),
    ("interval", "1ms"),
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = prop_oneof![8 => 0..3_000_000_u64, 1 => 0..50_000_000_000_000_u64];
    let rate = prop_oneof![Just(0_u64), Just(u64::MAX), 1_000..1_000_000_000_u64];
    prop::collection::vec(
        prop_oneof![
            12 => (0..2_000_u16, 0..4_u8, 40..1_500_u64).prop_map(|(v, e, n)| Step::Arrive(v, e, n)),
            6 => Just(Step::Leave),
            3 => span.prop_map(Step::Pass),
            3 => Just(Step::Update),
            1 => rate.prop_map(Step::SetRate),
            1 => (0..CHANGES.len()).prop_map(Step::Configure),
            1 => Just(Step::Drain),
        ],
        1..200,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Invariants 1, 6 and 7 of the specification after every step, whatever the steps.
    #[test]
    fn the_invariants_hold_whatever_happens(steps in steps(), variant in 0..5_usize) {
        let variant = ["r", "q", "b", "b_smooth", "v"][variant];
        let mut story = Story::of(&[("variant", variant), ("highest_value", "2000")]);
        for step in steps {
            let now = story.now;
            match step {
                Step::Arrive(value, ecn, len) => {
                    let mut packet = TestPacket::new(story.offered, len, Ecn::from_bits(ecn));
                    packet.value = value;
                    packet.set_arrival(now);
                    story.offered += 1;
                    story.queue.enqueue(packet, now, &mut story.log);
                }
                Step::Leave => leave_and_check(&mut story)?,
                Step::Pass(nanos) => story.now += Time::from_nanos(nanos),
                Step::Update => story.update(),
                Step::SetRate(bps) => story.queue.set_rate(Rate::from_bps(bps), now, &mut story.log),
                Step::Configure(which) => {
                    let (key, value) = CHANGES[which];
                    // A target above the virtual queues' maximum is refused.
                    let _ = story.queue.configure(key, value, now, &mut story.log);
                }
                Step::Drain => {
                    story.queue.drain(now, &mut story.log);
                    prop_assert_eq!(story.queue.backlog(), Backlog::default());
                }
            }
            story.assert_consistent();
        }
        story.queue.drain(story.now, &mut story.log);
        story.assert_consistent();
        // Once everything sent is served, nothing is left.
        story.queue.set_rate(RATE, story.now, &mut story.log);
        story.now += Time::from_secs(1_000);
        story.update();
        prop_assert_eq!(story.virtual_bytes(), [0, 0]);
    }
}

/// Lets a packet leave and checks what became of it, and of those that were dropped instead.
fn leave_and_check(story: &mut Story) -> Result<(), TestCaseError> {
    let [l4s, _] = [0, 1].map(|queue: usize| story.queue.queues[queue].backlog().packets);
    let [_, ctv_1] = story.thresholds();
    let ctv_l4s = story.queue.threshold_l4s;
    let (marks, drops) = (story.log.marked.len(), story.log.dropped.len());
    let may_drop_l4s = story.queue.configuration.overload_delay.is_some();
    let before = story.queue.backlog().packets;
    let packet = story.leave();
    let gone = before - story.queue.backlog().packets;
    for &(_, queue, reason) in &story.log.dropped[drops..] {
        match queue {
            QueueId::L4S => prop_assert!(may_drop_l4s && reason == DropReason::Overload),
            _ => prop_assert!(reason == DropReason::Value && ctv_1 > 0),
        }
    }
    prop_assert_eq!(
        gone as usize,
        story.log.dropped.len() - drops + usize::from(packet.is_some())
    );
    let Some(packet) = packet else {
        return Ok(());
    };
    let value = story.queue.values.count(packet.value);
    let marked = story.log.marked.len() > marks;
    if packet.ecn == Ecn::NotEct {
        // The value of a packet without one may have been another when it came.
        prop_assert!(value > ctv_1 || packet.value == 0);
        prop_assert!(l4s <= gone, "Classic before L4S");
    }
    if marked {
        prop_assert!(packet.ecn == Ecn::Ce && (value <= ctv_l4s || packet.value == 0));
    }
    Ok(())
}

/// Ten hours at once, with packets inside and a link that stands still for half of them.
#[test]
fn a_clock_that_jumps_for_hours_serves_what_is_due_and_no_more() {
    for variant in ["r", "q", "b", "b_smooth", "v"] {
        let mut story = Story::of(&[("variant", variant)]);
        let mut random = Random::new(1, "values");
        for _ in 0..150 {
            let (value, ecn) = (random.below(2_000) as u16, random.below(4) as u8);
            story.arrive(value, Ecn::from_bits(ecn));
        }
        let before = story.virtual_bytes();
        story.queue.set_rate(Rate::ZERO, story.now, &mut story.log);
        story.now += Time::from_secs(18_000);
        story.update();
        assert_eq!(story.virtual_bytes(), before, "{variant}");
        story.queue.set_rate(RATE, story.now, &mut story.log);
        story.now += Time::from_secs(18_000);
        story.update();
        assert_eq!(story.virtual_bytes(), [0, 0], "{variant}");
        story.assert_consistent();
    }
}
