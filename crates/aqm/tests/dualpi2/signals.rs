//! Which packets are marked and dropped, where, and why.

use quell_aqm::{DropReason, Ecn, MarkReason, QueueId, Time};

use super::{RFC, Story};
use crate::common::Event;

#[test]
fn the_classifier_follows_the_ecn_field_and_any_ect() {
    for (given, l4s) in [
        (&[("any_ect", "false")][..], 2),
        (&[("l4s_ect", "true")], 2),
        (&[("any_ect", "true")], 3),
        (&[RFC], 2),
        (&[RFC, ("any_ect", "true")], 3),
    ] {
        let mut story = Story::new(given);
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            story.arrive(ecn, 1);
        }
        story.dequeue(4);
        assert_eq!(story.ledger.dequeued(QueueId::L4S), l4s, "{given:?}");
        assert_eq!(
            story.ledger.dequeued(QueueId::CLASSIC),
            4 - l4s,
            "{given:?}"
        );
    }
}

#[test]
fn frozen_probabilities_couple_by_the_square_law() {
    // p' = 0.1, k = 2: p_CL = 0.2 and p_C = 0.01 in both forms.
    for given in [&[][..], &[RFC]] {
        let mut story = Story::new(given);
        story.freeze_at_one_in("10");
        assert!(
            (story.gauge("probability") - 0.1).abs() < 1e-3,
            "{}",
            story.gauge("probability")
        );
        let packets = 40_000;
        for _ in 0..packets / 4 {
            story.arrive(Ecn::Ect1, 4).arrive(Ecn::NotEct, 4).dequeue(8);
        }
        let p_l = story.ledger.marks(MarkReason::Coupled) as f64 / packets as f64;
        let p_c = story.ledger.drops(DropReason::Aqm) as f64 / packets as f64;
        if given.is_empty() {
            // Random draws, five standard deviations: 8 000 marks ± 400. The last two of the four
            // Classic packets of a round find less than 2 × MTU behind them and are exempt, so
            // 20 000 packets are at stake: 200 drops ± 71.
            assert!((p_l - 0.2).abs() < 0.01, "{p_l}");
            assert!((p_c - 0.005).abs() < 0.001_8, "{p_c}");
        } else {
            assert!((p_l - 0.2).abs() < 2e-3, "{p_l}");
            assert!((p_c - 0.01).abs() < 2e-4, "{p_c}");
        }
    }
}

#[test]
fn linux_gives_no_signal_below_two_mtu() {
    // One in one: every roll fires; still the last packets of the backlog pass untouched.
    let mut story = Story::new(&[]);
    story.freeze_at_one_in("1");
    story.arrive(Ecn::NotEct, 10).dequeue(10);
    // After a pop 2 × 1500 bytes must remain: of ten packets the first eight drop.
    assert_eq!(story.ledger.drops(DropReason::Aqm), 8);
    assert_eq!(story.ledger.dequeued(QueueId::CLASSIC), 2);
    // The RFC form has no such exemption: with p_C = 1 the accumulator exceeds one from the
    // second packet on.
    let mut story = Story::new(&[RFC]);
    story.freeze_at_one_in("1");
    story.arrive(Ecn::NotEct, 10).dequeue(10);
    assert!(story.ledger.drops(DropReason::Aqm) >= 9);
}

#[test]
fn overload_drops_ecn_packets_too_and_marks_the_rest_of_l4s() {
    for given in [&[][..], &[RFC]] {
        let mut story = Story::new(given);
        // p' = 1: twice the saturation point.
        story.freeze_at_one_in("1");
        story
            .arrive(Ecn::Ect1, 50)
            .arrive(Ecn::Ect0, 50)
            .dequeue(100);
        assert_eq!(story.ledger.drops(DropReason::Aqm), 0, "{given:?}");
        assert!(story.ledger.drops(DropReason::Overload) >= 96, "{given:?}");
        assert_eq!(story.ledger.marks(MarkReason::Coupled), 0);
        // p' between 1/k and 1: some L4S packets drop, all others are marked.
        let mut story = Story::new(given);
        story.set("coupling_factor", "1");
        story.freeze_at_one_in("1").set("coupling_factor", "255");
        story.arrive(Ecn::Ect1, 500).dequeue(500);
        let drops = story.ledger.drops(DropReason::Overload);
        let marks = story.ledger.marks(MarkReason::Overload);
        assert!(
            drops + marks >= 497,
            "{given:?}: {drops} drops, {marks} marks"
        );
    }
}

#[test]
fn overflow_marks_instead_of_dropping_ecn() {
    for given in [
        &[("overflow", "true")][..],
        &[RFC, ("overflow", "true")],
        &[RFC, ("drop_on_overload", "false")],
    ] {
        let mut story = Story::new(given);
        story.set("alpha", "100000").set("target", "1us");
        story
            .arrive(Ecn::NotEct, 10)
            .wait(Time::from_millis(100))
            .empty();
        assert!(
            (story.gauge("probability") - 0.5).abs() < 1e-6,
            "capped at 1/k"
        );
        story
            .arrive(Ecn::Ect1, 200)
            .arrive(Ecn::Ect0, 200)
            .dequeue(400);
        assert_eq!(story.ledger.drops(DropReason::Overload), 0, "{given:?}");
        let l4s = story.ledger.marks(MarkReason::Coupled) + story.ledger.marks(MarkReason::Ramp);
        assert!(l4s >= 197, "{given:?}: {l4s}");
        // p'² = 1/4 of 200, within five standard deviations.
        let classic = story.ledger.marks(MarkReason::Aqm);
        assert!((20..=80).contains(&classic), "{given:?}: {classic}");
    }
}

#[test]
fn linux_marks_by_a_step_strictly_above_its_threshold() {
    for (waited, marks) in [(Time::from_millis(1), 0), (Time::from_nanos(1_000_001), 1)] {
        let mut story = Story::new(&[]);
        story.arrive(Ecn::Ect1, 1).wait(waited).dequeue(1);
        assert_eq!(story.ledger.marks(MarkReason::Step), marks, "{waited}");
    }
    // In packets: those left in the L4S queue behind the packet.
    let mut story = Story::new(&[("step_thresh", "2p")]);
    story.arrive(Ecn::Ect1, 5).dequeue(5);
    assert_eq!(story.ledger.marks(MarkReason::Step), 2);
    // A Classic packet is never marked by the step.
    let mut story = Story::new(&[]);
    story
        .arrive(Ecn::Ect0, 1)
        .wait(Time::from_millis(5))
        .dequeue(1);
    assert_eq!(story.ledger.marks(MarkReason::Step), 0);
}

#[test]
fn linux_decides_on_arrival_whether_the_step_applies() {
    // The first two find fewer than two packets; the last is marked although it is alone at the end.
    let mut story = Story::new(&[("min_qlen_step", "2")]);
    story
        .arrive(Ecn::Ect1, 3)
        .wait(Time::from_millis(2))
        .dequeue(3);
    assert_eq!(
        story.ledger.events.last(),
        Some(&Event::Dequeued(2, QueueId::L4S, story.now))
    );
    let marked: Vec<_> = story
        .ledger
        .events
        .iter()
        .filter(|e| matches!(e, Event::Marked(..)))
        .collect();
    assert_eq!(marked, [&Event::Marked(2, MarkReason::Step)]);
}

#[test]
fn the_rfc_exempts_the_last_packet_of_a_burst() {
    let mut story = Story::new(&[RFC]);
    story
        .arrive(Ecn::Ect1, 4)
        .wait(Time::from_millis(2))
        .dequeue(4);
    // Probability one: the accumulator passes one from the second packet on; the fourth is alone.
    let marked: Vec<_> = story
        .ledger
        .events
        .iter()
        .filter(|e| matches!(e, Event::Marked(..)))
        .collect();
    assert_eq!(
        marked,
        [
            &Event::Marked(1, MarkReason::Ramp),
            &Event::Marked(2, MarkReason::Ramp)
        ]
    );
    // Th_len 0 exempts nobody.
    let mut story = Story::new(&[RFC, ("th_len", "0p")]);
    story
        .arrive(Ecn::Ect1, 4)
        .wait(Time::from_millis(2))
        .dequeue(4);
    assert_eq!(story.ledger.marks(MarkReason::Ramp), 3);
}

#[test]
fn the_rfc_ramp_marks_its_share() {
    // Halfway up the ramp, 1 ms: every second packet; a range of 0 makes a step of it.
    for (given, marks) in [
        (&[RFC][..], 499..=501),
        (&[RFC, ("range", "0s")], 999..=1_000),
        (&[RFC, ("min_th", "1ms")], 0..=0),
    ] {
        let mut story = Story::new(given);
        story.set("limit", "60MB");
        story
            .arrive(Ecn::Ect1, 1_001)
            .wait(Time::from_millis(1))
            .dequeue(1_001);
        let found = story.ledger.marks(MarkReason::Ramp);
        assert!(marks.contains(&found), "{given:?}: {found}");
    }
}

#[test]
fn a_packet_that_carries_ce_is_not_counted_as_marked_again() {
    for given in [&[][..], &[RFC]] {
        let mut story = Story::new(given);
        story
            .arrive(Ecn::Ce, 10)
            .wait(Time::from_millis(5))
            .dequeue(10);
        assert_eq!(story.ledger.dequeued(QueueId::L4S), 10);
        assert!(
            !story
                .ledger
                .events
                .iter()
                .any(|e| matches!(e, Event::Marked(..))),
            "{given:?}"
        );
    }
}

#[test]
fn the_aqm_acts_at_dequeue_or_at_enqueue() {
    for (given, queued) in [
        (&[][..], true),
        (&[("drop_enqueue", "true")], false),
        (&[("drop_dequeue", "true")], true),
    ] {
        let mut story = Story::new(given);
        story.freeze_at_one_in("1");
        story.arrive(Ecn::NotEct, 10).dequeue(10);
        let drops: Vec<bool> = story
            .ledger
            .events
            .iter()
            .filter_map(|e| match e {
                Event::Dropped(_, drop) => Some(drop.queued),
                _ => None,
            })
            .collect();
        assert_eq!(drops, [queued; 8], "{given:?}");
    }
}
