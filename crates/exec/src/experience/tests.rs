//! What a summary comes to, in one sentence.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;

use quell_measure::{FlowResults, RunInfo};
use quell_units::Time;

use super::*;

/// Nearly all packets wait `median`, one in a hundred `p99`.
fn dist(median: f64, p99: f64) -> Dist {
    Dist {
        mean: median,
        p1: median,
        p25: median,
        p50: median,
        p75: median,
        p90: median,
        p99,
        p999: p99,
        max: p99 * 2.0,
    }
}

struct Queue(&'static str, &'static str, Direction, u64, u64, Dist);

const DOWN: Direction = Direction::Forward;
const UP: Direction = Direction::Reverse;

fn summary(queues: Vec<Queue>) -> Summary {
    let info = RunInfo {
        scenario: "exec".to_owned(),
        world: "live".to_owned(),
        seed: 1,
        duration: Time::from_secs(5),
        warmup: Time::ZERO,
        partial: false,
        warnings: Vec::new(),
        groups: Vec::new(),
    };
    let flows = FlowResults {
        whole: Vec::new(),
        phases: Vec::new(),
    };
    let mut summary = Summary::new(info, &[], &flows);
    let queues = queues.into_iter().map(|queue| {
        let Queue(hop, name, direction, packets, dropped, delay) = queue;
        QueueSummary {
            name: name.to_owned(),
            hop: hop.to_owned(),
            direction,
            packets,
            bytes: packets * 1_500,
            marked: 0,
            dropped,
            mark_ratio: 0.0,
            drop_ratio: 0.0,
            marks: BTreeMap::new(),
            drops: BTreeMap::new(),
            delay_ms: (packets > 0).then_some(delay),
            backlog_bytes: None,
        }
    });
    summary.figures.queues = queues.collect();
    summary
}

const KNOWN: Known = Known {
    rtt_ms: 40.0,
    is_limited: true,
    apart: Vec::new(),
    has_data: true,
    lost_outside: [0; 2],
    came: [0; 2],
};

fn said(queues: Vec<Queue>, known: &Known) -> String {
    impact(&summary(queues), known).sentence
}

#[test]
fn a_loaded_link_makes_a_click_wait_in_the_queues_of_both_directions() {
    let down = || Queue("link", "queue", DOWN, 9_960, 40, dist(62.0, 98.0));
    let idle = Queue("link", "queue", UP, 5_000, 0, dist(0.0, 0.0));
    let one = said(vec![down(), idle], &KNOWN);
    assert_eq!(
        one,
        "while data flowed a click or a key took 62 ms longer than on an idle link (1 in 100: 98 ms or more); \
         a call takes 118 ms of the 150 ms one way of ITU-T G.114; lost: 0.40 % down"
    );
    // A direction without a rate is not in the summary.
    assert_eq!(said(vec![down()], &KNOWN), one);
    // Loaded both ways, the medians add up; what is rare does not meet as often.
    let up = Queue("link", "queue", UP, 9_000, 1_000, dist(150.0, 170.0));
    let both = impact(&summary(vec![down(), up]), &KNOWN);
    let [traffic] = &both.traffic[..] else {
        panic!("{both:?}");
    };
    assert!(
        (traffic.longer_ms_median - 212.0).abs() < 1.0,
        "{traffic:?}"
    );
    assert!(
        (212.0..268.0).contains(&traffic.longer_ms_p99),
        "{traffic:?}"
    );
    assert_eq!(
        (traffic.one_way_ms_down, traffic.one_way_ms_up),
        (118.0, 190.0)
    );
    assert_eq!((both.lost_down, both.lost_up), (0.004, 0.1));
    for part in [
        "more than the 0.2 s of a slow page",
        "a call takes 190 ms one way here alone, more than the 150 ms of ITU-T G.114",
        "lost: 0.40 % down, 10.00 % up",
    ] {
        assert!(both.sentence.contains(part), "{part}: {}", both.sentence);
    }
}

#[test]
fn each_kind_of_a_dual_queue_is_felt_apart() {
    let queues = || {
        vec![
            Queue("link", "l4s", DOWN, 5_000, 0, dist(0.5, 1.2)),
            Queue("link", "classic", DOWN, 5_000, 0, dist(15.0, 30.0)),
            Queue("link", "queue", UP, 900, 0, dist(0.25, 0.25)),
        ]
    };
    let both = impact(&summary(queues()), &KNOWN);
    let of = |name: &str| {
        let mut all = both.traffic.iter();
        all.find(|traffic| traffic.name.as_deref() == Some(name))
            .unwrap()
    };
    // Both cross the only queue upwards.
    assert!((of("l4s").longer_ms_median - 0.75).abs() < 0.05, "{both:?}");
    assert!(
        (of("classic").longer_ms_median - 15.25).abs() < 0.05,
        "{both:?}"
    );
    let sentence = &both.sentence;
    assert!(
        sentence.contains("15 ms longer than on an idle link as Classic"),
        "{sentence}"
    );
    assert!(
        sentence.contains("ms longer than on an idle link as L4S"),
        "{sentence}"
    );
    // Where one kind had no packets, there is nothing to tell apart.
    let mut one = queues();
    one[0].3 = 0;
    let one = impact(&summary(one), &KNOWN);
    assert_eq!(one.traffic.len(), 1);
    assert_eq!(one.traffic[0].name, None);
    assert!(
        (one.traffic[0].longer_ms_median - 15.25).abs() < 0.05,
        "{one:?}"
    );
}

#[test]
fn several_links_add_up() {
    let queues = vec![
        Queue("line", "l4s", DOWN, 1_000, 0, dist(1.0, 2.0)),
        Queue("line", "classic", DOWN, 1_000, 0, dist(10.0, 20.0)),
        Queue("wifi", "queue", DOWN, 1_900, 100, dist(5.0, 5.0)),
    ];
    let impact = impact(&summary(queues), &KNOWN);
    let medians = impact
        .traffic
        .iter()
        .map(|traffic| traffic.longer_ms_median);
    let medians: Vec<f64> = medians.map(f64::round).collect();
    // Classic, then l4s.
    assert_eq!(medians, [15.0, 6.0]);
    assert_eq!(impact.lost_down, 0.05);
}

#[test]
fn what_nobody_felt_is_said_as_plainly() {
    let quiet = |packets| Queue("link", "queue", DOWN, packets, 0, dist(0.01, 0.1));
    let idle = Known {
        has_data: false,
        ..KNOWN
    };
    let free = Known {
        is_limited: false,
        ..KNOWN
    };
    let apart = Known {
        apart: vec![("link".to_owned(), DOWN)],
        ..KNOWN
    };
    let elsewhere = Known {
        apart: vec![("link".to_owned(), UP)],
        ..KNOWN
    };
    let slow = |packets| Queue("link", "queue", DOWN, packets, 0, dist(20.0, 40.0));
    for (queues, known, expected) in [
        (vec![], &KNOWN, "nothing: no packet crossed the link"),
        (
            vec![quiet(0)],
            &KNOWN,
            "nothing: no packet crossed the link",
        ),
        (
            vec![quiet(500)],
            &free,
            "this link has no rate: nothing waited, and every round trip took its 40 ms longer; nothing was lost",
        ),
        (
            vec![quiet(500)],
            &idle,
            "hardly any data flowed: a click or a key took less than 1 ms longer than on an idle link; nothing was lost",
        ),
        // A short program: few packets have no percentiles.
        (
            vec![slow(30)],
            &idle,
            "hardly any data flowed: a click or a key took 20 ms longer than on an idle link (once 80 ms); nothing was lost",
        ),
        (
            vec![slow(500)],
            &apart,
            "while data flowed a click or a key took at most 20 ms longer than on an idle link (1 in 100: 40 ms or more); \
             a call takes 60 ms of the 150 ms one way of ITU-T G.114; nothing was lost",
        ),
        // Of queues for each flow that nothing waited in, nothing has to be said.
        (
            vec![slow(500)],
            &elsewhere,
            "while data flowed a click or a key took 20 ms longer than on an idle link (1 in 100: 40 ms or more); \
             a call takes 60 ms of the 150 ms one way of ITU-T G.114; nothing was lost",
        ),
    ] {
        assert_eq!(said(queues, known), expected);
    }
}

#[test]
fn a_part_of_a_run_says_so_and_losses_elsewhere_are_named() {
    let mut part = summary(vec![Queue(
        "link",
        "queue",
        DOWN,
        500,
        1,
        dist(1_500.0, 1_500.0),
    )]);
    part.partial = true;
    let known = Known {
        lost_outside: [4, 3],
        // Nobody limits what the program sends: it has no queue in the summary.
        came: [501, 300],
        ..KNOWN
    };
    let impact = impact(&part, &known);
    assert!(impact.partial && impact.sentence.starts_with("so far: while data flowed"));
    let sentence = &impact.sentence;
    assert!(
        sentence.contains("more than the 1 s of a page that is waited for"),
        "{sentence}"
    );
    assert!(
        sentence.ends_with(
            "lost: 1.00 % down, of which 0.80 % outside of the queue, 1.00 % up, outside of the queue"
        ),
        "{sentence}"
    );
    assert_eq!((impact.lost_outside, impact.lost_outside_up), (7, 0.01));
}
