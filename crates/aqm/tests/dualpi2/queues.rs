//! Limits, the scheduler, and what holds for both queues together.

use quell_aqm::departure_clock::Framing;
use quell_aqm::{Bottleneck, DropReason, Ecn, Packet as _, Qdisc as _, QueueId, Rate, Time};

use super::{RFC, Story};
use crate::common::{Event, Ledger, TestPacket, discipline};

#[test]
fn limits_count_packets_memory_or_bytes() {
    for (given, reason, accepted) in [
        (&[("limit", "3")][..], DropReason::Limit, 3),
        // Test packets occupy 500 bytes beyond their length.
        (&[("memlimit", "5kB")], DropReason::Memory, 2),
        // Exactly full is not too much: "q->memory_used + skb->truesize > q->memory_limit".
        (&[("memlimit", "4kB")], DropReason::Memory, 2),
        (&[("memlimit", "3999B")], DropReason::Memory, 1),
        // limit × 2 × MTU = 6 000 bytes hold three packets of 2 000.
        (&[("limit", "2")], DropReason::Limit, 2),
        // RFC: backlog + MTU > limit, tested before the packet is added.
        (&[RFC, ("limit", "4500B")], DropReason::Limit, 3),
        (&[RFC, ("limit", "4499B")], DropReason::Limit, 2),
        // 250 ms at 40 Mbit/s are 1.25 MB, 833 packets.
        (&[RFC], DropReason::Limit, 833),
    ] {
        let mut story = Story::new(given);
        story.arrive(Ecn::NotEct, 500).arrive(Ecn::Ect1, 500);
        assert_eq!(story.qdisc.backlog().packets, accepted, "{given:?}");
        assert_eq!(
            story.ledger.drops(reason) as u64,
            1_000 - accepted,
            "{given:?}"
        );
    }
}

#[test]
fn a_lowered_limit_drops_from_the_classic_head_first() {
    let mut story = Story::new(&[]);
    story
        .arrive(Ecn::NotEct, 2)
        .arrive(Ecn::Ect1, 3)
        .set("limit", "2");
    let drops: Vec<u64> = story
        .ledger
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Dropped(id, drop) if drop.reason == DropReason::Reconfigured => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!(drops, [0, 1, 2]);
}

#[test]
fn a_lowered_memory_limit_keeps_what_fills_it_exactly() {
    for (limit, kept) in [("6kB", 3), ("5999B", 2)] {
        let mut story = Story::new(&[]);
        story.arrive(Ecn::NotEct, 4).set("memlimit", limit);
        assert_eq!(story.qdisc.backlog().packets, kept, "{limit}");
    }
}

#[test]
fn backlogged_queues_share_the_link_by_the_schedulers_weights() {
    // AQM off by an unreachable target. Acceptance test A7: 10 % and 1/16 of the bytes.
    for (given, classic) in [
        (&[("target", "4s")][..], 1_000),
        (&[("target", "4s"), ("classic_protection", "25")], 2_500),
        (&[("target", "4s"), ("classic_protection", "0")], 0),
        (&[RFC, ("target", "4s")], 625),
        (&[RFC, ("target", "4s"), ("wrr_ratio", "3")], 2_500),
    ] {
        let mut story = Story::new(given);
        story.set(
            "limit",
            if given.contains(&RFC) {
                "60MB"
            } else {
                "30000"
            },
        );
        story
            .arrive(Ecn::Ect1, 11_000)
            .arrive(Ecn::NotEct, 11_000)
            .dequeue(10_000);
        let served = story.ledger.dequeued(QueueId::CLASSIC) as u64;
        assert!(served.abs_diff(classic) <= 1, "{given:?}: {served}");
    }
}

#[test]
fn a_time_shifted_fifo_lets_classic_wait_so_much_longer() {
    let mut story = Story::new(&[
        RFC,
        ("scheduler", "ts_fifo"),
        ("tshift", "10ms"),
        ("target", "4s"),
    ]);
    story
        .arrive(Ecn::NotEct, 2)
        .wait(Time::from_millis(10))
        .arrive(Ecn::Ect1, 2);
    story.dequeue(1).wait(Time::from_nanos(1)).dequeue(1);
    // At exactly 10 ms L4S still goes first; 1 ns later L4S waits too, so the difference stands.
    assert_eq!(story.ledger.dequeued(QueueId::L4S), 2);
    let mut story = Story::new(&[
        RFC,
        ("scheduler", "ts_fifo"),
        ("tshift", "10ms"),
        ("target", "4s"),
    ]);
    story
        .arrive(Ecn::NotEct, 2)
        .wait(Time::from_nanos(10_000_001))
        .arrive(Ecn::Ect1, 2)
        .dequeue(3);
    assert_eq!(story.ledger.dequeued(QueueId::CLASSIC), 2);
}

#[test]
fn the_buffer_of_the_rfc_follows_the_highest_rate() {
    let mut story = Story::new(&[RFC]);
    for (mbps, packets) in [(40, 833), (80, 1_666), (10, 1_666)] {
        story
            .qdisc
            .set_rate(Rate::from_mbps(mbps), story.now, &mut story.ledger);
        story.arrive(Ecn::NotEct, 2_000);
        assert_eq!(story.qdisc.backlog().packets, packets, "{mbps} Mbit/s");
        story.empty();
    }
}

#[test]
fn what_has_no_effect_or_no_sense_is_refused() {
    for (given, message) in [
        (
            &[("min_th", "1ms")][..],
            "min_th = 1ms: has an effect only with form = \"rfc9332\"",
        ),
        (
            &[RFC, ("step_thresh", "1ms")],
            "step_thresh = 1ms: has an effect only with form = \"linux\"",
        ),
        (
            &[("wrr_ratio", "15")],
            "wrr_ratio = 15: has an effect only with scheduler = \"wrr\"",
        ),
        (
            &[RFC, ("tshift", "50ms")],
            "tshift = 50ms: has an effect only with scheduler = \"ts_fifo\"",
        ),
        (
            &[("limit", "1MB")],
            "limit = 1MB: must be in packets with form = \"linux\"",
        ),
        (
            &[RFC, ("limit", "100")],
            "limit = 100p: must be in bytes or time with form = \"rfc9332\"",
        ),
        (
            &[RFC, ("limit", "1kB")],
            "limit = 1kB: never accepts a packet of 1500B; it must be 1500B or more",
        ),
        (
            &[("alpha", "0.001")],
            "alpha = 0.001Hz: must be at least 1/256 Hz with form = \"linux\"",
        ),
        (
            &[("coupling_factor", "0")],
            "coupling_factor = 0: must be a whole number from 1 to 255",
        ),
        (
            &[("max_rtt", "50ms"), ("beta", "1")],
            "beta = 1Hz: is determined by typical_rtt and max_rtt; give one or the other",
        ),
    ] {
        let error = discipline("dualpi2", given, Rate::from_mbps(40)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_controller_holds_its_target_against_a_proportional_source() {
    // A source that sends at 80 Mbit/s less what drops take, over 40 Mbit/s: PI2 must settle where
    // p'² drops half, with the Classic queue near its target of 15 ms.
    for given in [&[][..], &[RFC]] {
        let rate = Rate::from_mbps(40);
        let qdisc = discipline("dualpi2", given, rate).unwrap();
        let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
        let (mut total, mut delay) = (0_u64, 0_u64);
        for id in 0..200_000 {
            let now = Time::from_micros(150 * id);
            link.arrive(
                TestPacket::new(id, 0, 1_500, Ecn::NotEct),
                now,
                &mut |packet: TestPacket, d: quell_aqm::Departure| {
                    if id > 100_000 {
                        total += 1;
                        delay += packet.sojourn(d.start).as_nanos();
                    }
                },
            );
            if id == 100_000 {
                link.observer_mut().events.clear();
            }
        }
        let drops = link.observer().drops(DropReason::Aqm) as f64 / 100_000.0;
        let mean_ms = delay as f64 / total as f64 / 1e6;
        // Half must drop. The delay target is met within 1 ms: the PI controller has no offset.
        assert!((drops - 0.5).abs() < 0.01, "{given:?}: {drops}");
        assert!((mean_ms - 15.0).abs() < 1.0, "{given:?}: {mean_ms}");
    }
}
