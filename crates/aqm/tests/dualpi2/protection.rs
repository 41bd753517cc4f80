//! Queue protection (RFC 9957) in front of the queues.

use quell_aqm::{DropReason, Ecn, MarkReason, QueueId, Time};

use super::{RFC, Story};

#[test]
fn what_queue_protection_redirects_is_marked_with_the_coupled_probability() {
    // RFC 9332 section 2.5.1.1, ECT(1) in the Classic queue. p' = 1/10, so p_CL = 0.2 and p_C = 0.01.
    let protected = ("protection", "docsis");
    for given in [&[protected][..], &[RFC, protected]] {
        let mut story = Story::new(given);
        story.freeze_at_one_in("10");
        // At 40 Mbit/s a packet is 0.3 ms: a burst is above 1 ms (RFC form: 1.2 ms) soon, where
        // each packet earns its flow 3.072 ms, and is redirected from a score of 4 ms on.
        story.arrive(Ecn::Ect1, 800);
        let redirected = story.gauge("redirected");
        assert!(
            (790.0..=796.0).contains(&redirected),
            "{given:?} {redirected}"
        );
        story.dequeue(800);
        assert_eq!(story.ledger.dequeued(QueueId::CLASSIC), redirected as usize);
        // 160 of 800: five standard deviations are 57.
        let coupled = story.ledger.marks(MarkReason::Coupled);
        assert!((103..=217).contains(&coupled), "{given:?} {coupled}");
        assert_eq!(story.ledger.marks(MarkReason::Aqm), 0, "{given:?}");
        // In overload it is dropped with p_C, here 1, as it would be in its own queue.
        let mut story = Story::new(given);
        story.freeze_at_one_in("1");
        story.arrive(Ecn::Ect1, 100).dequeue(100);
        assert!(story.ledger.drops(DropReason::Overload) >= 95, "{given:?}");
    }
}

#[test]
fn queue_protection_leaves_alone_who_builds_no_queue() {
    for given in [
        &[("protection", "docsis")][..],
        &[RFC, ("protection", "docsis")],
    ] {
        let mut story = Story::new(given);
        for _ in 0..1_000 {
            story
                .arrive(Ecn::Ect1, 2)
                .wait(Time::from_micros(600))
                .dequeue(2);
        }
        assert_eq!(story.ledger.dequeued(QueueId::L4S), 2_000, "{given:?}");
        assert!(story.gauge("redirected") == 0.0);
    }
}
