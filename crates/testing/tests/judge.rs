//! The judge of live tests, with made-up reports: it excuses nothing without evidence, and does not pass what is never judged.

use std::cell::Cell;

use quell_testing::judge::{ATTEMPTS, Attempt, Verdict, verdict};
use quell_testing::load::{Late, Load, Ticks};
use quell_testing::{Missed, bound};

fn load(others: f64, late: &[(f64, f64)]) -> Load {
    let late = late.iter().map(|&(p99_ms, tolerable_ms)| Late {
        p99_ms,
        tolerable_ms,
    });
    Load {
        others: Some(others),
        late: late.collect(),
        percentile: false,
    }
}

fn share_is(ratio: f64) -> Result<(), Missed> {
    bound!(ratio < 2.5, "{ratio}");
    Ok(())
}

/// The verdict over these attempts, each a ratio and a load, and how many were made. More than these is an error of the judge.
fn judge(attempts: &[(f64, Load)]) -> (Verdict, usize) {
    let made = Cell::new(0);
    let verdict = verdict(|| {
        let (ratio, load) = attempts[made.get()].clone();
        made.set(made.get() + 1);
        Attempt {
            outcome: share_is(ratio),
            load,
        }
    });
    (verdict, made.get())
}

fn failed(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Failed(what) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_within_its_bounds_passes_at_once_on_any_machine() {
    for load in [load(0.0, &[]), load(0.9, &[(30.0, 0.35)])] {
        assert_eq!(judge(&[(1.2, load)]), (Verdict::Passed, 1));
    }
}

#[test]
fn a_miss_on_a_quiet_machine_fails_at_once() {
    let quiet = [
        load(0.0, &[]),
        // At the limits.
        load(Load::OTHERS, &[(0.35, 0.35)]),
        // Nothing is known of the machine: that is no excuse.
        Load::default(),
    ];
    for load in quiet {
        let (verdict, made) = judge(&[(3.3, load)]);
        let what = failed(&verdict);
        assert!(
            what.contains("ratio < 2.5") && what.contains(": 3.3 (others had "),
            "{what}"
        );
        assert_eq!(made, 1);
    }
}

#[test]
fn a_miss_on_a_busy_machine_is_repeated_and_the_repetition_counts() {
    let busy = || load(0.7, &[(0.1, 0.35)]);
    assert_eq!(
        judge(&[(3.3, busy()), (1.2, busy())]),
        (Verdict::Passed, 2),
        "kept"
    );
    let (verdict, made) = judge(&[(3.3, busy()), (3.4, load(0.02, &[(0.1, 0.35)]))]);
    assert!(
        failed(&verdict).contains(": 3.4 (others had 2.0 %"),
        "{verdict:?}"
    );
    assert_eq!(made, 2, "missed again, on a quiet machine");
}

#[test]
fn less_excuses_a_percentile_than_a_mean() {
    let little = load(0.05, &[]);
    let percentile = Load {
        percentile: true,
        ..little.clone()
    };
    assert_eq!(little.busy(), None);
    let figures = percentile.busy().expect("a busy machine");
    assert_eq!(figures, "others had 5 % of the processors");
    let idle = Load {
        percentile: true,
        ..load(Load::OTHERS_OF_PERCENTILES, &[])
    };
    assert_eq!(idle.busy(), None);
}

#[test]
fn what_was_never_judged_is_said_with_its_figures() {
    for (load, figures) in [
        (load(0.4249, &[]), "others had 42 % of the processors"),
        (
            load(0.0, &[(0.2, 0.5), (4.0, 0.35), (0.5, 2.25)]),
            "the link was 4.00 ms late at P99, above 0.35 ms",
        ),
        (
            load(1.0, &[(1.0, 0.35)]),
            "others had 100 % of the processors; the link was 1.00 ms late at P99, above 0.35 ms",
        ),
    ] {
        let attempts = vec![(9.0, load); ATTEMPTS];
        assert_eq!(
            judge(&attempts),
            (Verdict::NotJudged(figures.to_owned()), ATTEMPTS)
        );
    }
}

const STAT: &str = "cpu  1000 200 300 8000 50 7 60 40 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";

#[test]
fn the_processor_time_of_others_is_what_is_neither_ours_nor_an_interrupts() {
    // A program whose name looks like fields.
    let own = "77 (a (b) 9 9 9) S 1 77 77 0 -1 4194304 100 0 0 0 12 8 30 10 20 0 9 0 5 1 2";
    let before = Ticks::parse(STAT, own).expect("ticks");
    assert_eq!(
        before,
        Ticks {
            all: 9_657,
            busy: 1_540,
            own: 60
        }
    );
    // A second of two processors: 90 ticks of programs, of which ours 60, 30 of interrupts, 10 stolen.
    let later = Ticks {
        all: before.all + 200,
        busy: before.busy + 100,
        own: before.own + 60,
    };
    assert!((later.others_since(before) - 0.2).abs() < 1e-9);
    // Ours counted to the tick and the machine's not: never below nothing.
    let mine = Ticks {
        own: before.own + 130,
        ..later
    };
    assert!(mine.others_since(before).abs() < 1e-9);
    assert!(before.others_since(before).abs() < 1e-9);
}

#[test]
fn what_the_kernel_does_not_say_is_not_made_up() {
    for (machine, own) in [
        ("", "1 (a) S 1"),
        (STAT, "1 (a) S 1"),
        ("cpu  1 2 3\n", ""),
        ("cpu  1 2 3 x 5 6 7 8 9\n", "1 (a) S"),
    ] {
        assert_eq!(Ticks::parse(machine, own), None);
    }
    let now = Ticks::now();
    assert!(
        cfg!(not(target_os = "linux")) || now.is_some(),
        "this kernel says it"
    );
}

/// The work of this test is its own, not others'.
#[test]
fn own_work_is_not_the_work_of_others() {
    let Some(before) = Ticks::now() else { return };
    loop {
        let sum = (0..1_000_000_u64).fold(0, |sum, number| sum ^ std::hint::black_box(number));
        std::hint::black_box(sum);
        let now = Ticks::now().expect("as before");
        let own = now.own - before.own;
        if own >= 20 {
            let busy = now.busy - before.busy;
            // The kernel counts one by the clock and the other by looks at it.
            assert!(busy + 10 >= own, "{busy} {own}");
            return;
        }
    }
}
