//! Losses, delays, copies and damage, by what they are in many packets.

use super::*;
use std::vec::Vec;

const US: fn(u64) -> Time = Time::from_micros;
const PACKETS: u64 = 200_000;

/// What becomes of packets 10 µs apart.
fn fates(impairment: Impairment) -> Vec<Option<Time>> {
    let mut path = Impairer::new(Some(impairment), 3, "path");
    let fates = (0..PACKETS).map(|n| path.judge(US(10 * n), &mut Header::default()));
    fates.map(|fate| fate.map(|fate| fate.at)).collect()
}

fn part(parts: u64) -> Probability {
    Probability::ratio(parts, 1_000)
}

#[test]
fn losses_are_as_many_and_as_long_as_the_model_says() {
    // Independent; then Gilbert: bad for 1/leave packets, for enter / (enter + leave) of all; then losses in both states.
    for (enter, leave, bad, good, share, burst) in [
        (0, 0, 0, 20, 0.02, 1.0 / 0.98),
        (10, 250, 1_000, 0, 10.0 / 260.0, 4.0),
        (100, 100, 500, 100, 0.3, 0.0),
    ] {
        let loss = Loss {
            enter: part(enter),
            leave: part(leave),
            bad: part(bad),
            good: part(good),
        };
        let fates = fates(Impairment {
            loss,
            ..Impairment::default()
        });
        let lost = fates.iter().filter(|fate| fate.is_none()).count() as f64;
        // Bursts make the count vary: its standard error is 2.9 % with Gilbert's, and 12 % are four of them.
        assert!((lost / PACKETS as f64 / share - 1.0).abs() < 0.12, "{lost}");
        let starts = fates
            .windows(2)
            .filter(|two| two[0].is_some() && two[1].is_none());
        let mean = lost / starts.count() as f64;
        assert!(burst == 0.0 || (mean / burst - 1.0).abs() < 0.12, "{mean}");
    }
}

#[test]
fn jitter_keeps_the_order_and_what_is_held_back_is_overtaken() {
    let fates = fates(Impairment {
        reorder: Probability::ratio(1, 100),
        hold: US(500),
        jitter: US(100),
        ..Impairment::default()
    });
    let times: Vec<Time> = fates.into_iter().flatten().collect();
    let held = |(n, at): &(u64, &Time)| **at - US(10 * n) >= US(500);
    let all = || (0..).zip(&times);
    let count = all().filter(held).count();
    assert!((1_800..2_200).contains(&count), "{count}");
    let rest: Vec<&Time> = all().filter(|one| !held(one)).map(|(_, at)| at).collect();
    assert!(rest.is_sorted());
    assert!(all().all(|(n, at)| *at >= US(10 * n) && *at <= US(10 * n) + US(600)));
}

/// Mean and deviation are what is asked for, over a base delay, and no packet is there before the one in front of it or before it left.
#[test]
fn delays_scatter_around_their_mean_in_order() {
    let (base, spread) = (Time::from_millis(20), Time::from_millis(2));
    for shape in Shape::ALL {
        let impairment = Impairment {
            spread,
            shape: shape.clone(),
            ..Impairment::default()
        };
        let mut path = Impairer::new(Some(impairment), 3, "path");
        let (mut sum, mut squares, mut last) = (0.0, 0.0, Time::ZERO);
        // Far enough apart that none waits for another.
        for n in 0..50_000 {
            let end = Time::from_millis(100 * n);
            let fate = path.judge(end, &mut Header::default()).unwrap();
            let there = fate.at + base - fate.early;
            assert!(there >= end && there >= last && path.most_early() >= fate.early);
            last = there;
            let delay = (there - end).as_nanos() as f64 / 1e6;
            sum += delay;
            squares += delay * delay;
        }
        let mean = sum / 50_000.0;
        let deviation = (squares / 50_000.0 - mean * mean).sqrt();
        let expected = if shape == Shape::Uniform {
            2.0 / 3_f64.sqrt()
        } else {
            2.0
        };
        assert!((mean - 20.0).abs() < 0.04, "{shape:?}: {mean}");
        assert!(
            (deviation / expected - 1.0).abs() < 0.06,
            "{shape:?}: {deviation}"
        );
        // And close together they keep their order.
        let mut last = Time::ZERO;
        for n in 0..50_000 {
            let end = Time::from_secs(6_000) + US(n);
            let fate = path.judge(end, &mut Header::default()).unwrap();
            let there = fate.at + base - fate.early;
            assert!(there >= last.max(end), "{shape:?}");
            last = there;
        }
    }
}

/// The fates of packets 10 µs apart, before each of which something may change.
fn with_changes(changes: &[(u64, Impairment)]) -> (Vec<Option<Fate>>, Counts) {
    let mut path = Impairer::new(None, 3, "path");
    let fates = (0..PACKETS / 10).map(|n| {
        for (_, impairment) in changes.iter().filter(|(before, _)| *before == n) {
            path.set(impairment.clone());
        }
        path.judge(US(10 * n), &mut Header::default())
    });
    (fates.collect(), path.counts())
}

fn losing(parts: u64) -> Impairment {
    let good = part(parts);
    let loss = Loss {
        good,
        ..Loss::default()
    };
    Impairment {
        loss,
        ..Impairment::default()
    }
}

#[test]
fn a_change_moves_nothing_before_it_and_nothing_after_it_if_it_is_undone() {
    let all = Impairment {
        duplicate: part(100),
        corrupt: part(50),
        jitter: US(50),
        reorder: part(10),
        hold: US(500),
        ..losing(20)
    };
    let all = || all.clone();
    let (constant, _) = with_changes(&[(0, all())]);
    let (changed, _) = with_changes(&[(0, all()), (5_000, losing(1_000))]);
    assert_eq!(constant[..5_000], changed[..5_000]);
    assert!(
        changed[5_000..].iter().all(Option::is_none),
        "loss 1 delivers nothing"
    );
    let (undone, _) = with_changes(&[(0, all()), (5_000, losing(500)), (5_000, all())]);
    assert_eq!(undone, constant);
    // Ten packets on, none waits for those of before any more.
    let (later, _) = with_changes(&[(0, all()), (5_000, losing(0)), (5_100, all())]);
    assert!(
        later[5_110..] == constant[5_110..],
        "draws are a fixed number"
    );
}

#[test]
fn a_path_that_cannot_become_bad_is_good_and_one_that_can_stays_bad() {
    let bad = |enter, leave| Impairment {
        loss: Loss {
            enter: part(enter),
            leave: part(leave),
            bad: Probability::ONE,
            good: Probability::ZERO,
        },
        ..losing(0)
    };
    let lost = |changes: &[(u64, Impairment)]| with_changes(changes).1.lost;
    // Bad from the first packet on, and for ever.
    assert_eq!(lost(&[(0, bad(1_000, 0))]), PACKETS / 10);
    assert_eq!(lost(&[(0, bad(1_000, 0)), (100, bad(0, 0))]), 100);
    assert_eq!(lost(&[(0, bad(1_000, 0)), (100, bad(1, 0))]), PACKETS / 10);
}

#[test]
fn copies_and_damage_are_as_many_as_asked_and_move_no_other_draw() {
    let more = Impairment {
        duplicate: part(100),
        corrupt: part(50),
        ..losing(20)
    };
    let ((plain, before), (touched, counts)) =
        (with_changes(&[(0, losing(20))]), with_changes(&[(0, more)]));
    let times = |fates: Vec<Option<Fate>>| -> Vec<Option<Time>> {
        fates
            .into_iter()
            .map(|fate| fate.map(|fate| fate.at))
            .collect()
    };
    assert_eq!(counts.lost, before.lost);
    let delivered = (PACKETS / 10 - counts.lost) as f64;
    // Four standard errors of 20 000 draws: 0.85 and 0.62 points.
    assert!(
        (counts.duplicated as f64 / delivered - 0.1).abs() < 0.0085,
        "{counts:?}"
    );
    assert!(
        (counts.corrupted as f64 / delivered - 0.05).abs() < 0.0062,
        "{counts:?}"
    );
    assert_eq!(times(plain), times(touched));
}

/// A trace is the changes that say the same; where its delay shrinks nothing is overtaken, and an outage loses all. What it does not say
/// can be changed.
#[test]
fn a_trace_is_the_changes_that_say_the_same_and_keeps_the_order() {
    let ms = Time::from_millis;
    let step = |delay, good, enter| PathStep {
        delay: Some(ms(delay)),
        good: Some(good),
        enter: Some(enter),
        ..PathStep::default()
    };
    let (none, all) = (Probability::ZERO, Probability::ONE);
    let steps = std::vec![
        (ms(0), step(20, none, none)),
        (ms(100), step(2, none, all)),
        (ms(101), step(1, none, none)),
        (ms(200), step(30, all, none)),
        (ms(210), step(5, none, none)),
    ];
    let mut rest = losing(0);
    rest.loss.bad = all;
    let mut traced = Impairer::new(Some(rest.clone()), 3, "path");
    traced.follow(PathTrace::new(steps.clone(), ms(300), false, Time::ZERO).unwrap());
    let mut changed = Impairer::new(Some(steps[0].1.over(&rest)), 3, "path");
    let (mut last, mut next) = (Time::ZERO, 1);
    for n in 0..4_000 {
        let end = US(100 * n);
        if n == 3_000 {
            rest.jitter = ms(1);
            rest.reorder = part(10);
            traced.set(rest.clone());
            changed.set(steps[4].1.over(&rest));
        }
        while let Some((_, step)) = steps.get(next).filter(|(at, _)| *at <= end) {
            changed.set(step.over(&rest));
            next += 1;
        }
        traced.start(end);
        let fate = traced.judge(end, &mut Header::default());
        assert_eq!(fate, changed.judge(end, &mut Header::default()), "{end}");
        let is_lost = (1_000..1_010).contains(&n) || (2_000..2_100).contains(&n);
        assert_eq!(fate.is_none(), is_lost, "{end}");
        if let Some(fate) = fate.filter(|fate| !fate.is_held) {
            let delay = steps[next - 1].1.delay.unwrap();
            assert!(fate.at >= last.max(end + delay));
            last = fate.at;
        }
    }
    assert_eq!(next, steps.len());
}
