//! The home-gateway study (MMSys 2011): T10, T11, T13 and T14, its statements M1 to M3, M5 and M6.
//!
//! No plotted value of the study has survived: its statements are orderings. The figures beside
//! quell's come from an independent packet simulator and are guides, not data.

mod goodput;
mod rules;

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::sections::call::{Call, Control, Point, Queue, calls};
use crate::statement::{Expected, Statement};
use crate::statistics::{Mean, mean};
use crate::table::Table;
use goodput::{judge_m5, judge_m6, plan_of_goodput, plan_of_rtts, points_of_goodput};
use rules::{SIZES, judge_m3, judge_m7, losses, plan_of_rules, points_of_rules};

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "Home gateway: a call beside a download",
    experiments: &[
        Experiment {
            id: "homegateway2011/m1",
            title: "CUBIC keeps the queue fuller: delay of a call",
            source: "slides \"Downstream NewReno\", \"Downstream CUBIC\" and \"CUBIC Induces More OWD Than NewReno\"",
            statements: &[Statement {
                id: "delay",
                published: "CUBIC induces more one-way delay than NewReno (ADSL 1, 100 ms, 20 kB)",
                bound: "median delay of the call more than 1.2 times that beside NewReno; the cross-check has 85 and 61 ms",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_m1,
            judge: judge_m1,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m2",
            title: "CUBIC keeps the queue fuller: loss of a call",
            source: "summary slide",
            statements: &[
                Statement {
                    id: "loss",
                    published: "loss of the call rises with CUBIC against NewReno (20 kB)",
                    bound: "by more than the standard error of the difference, over 10 seeds",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "loss-by-size",
                    published: "loss of the call rises with CUBIC against NewReno (10 to 100 kB)",
                    bound: "by the loose rule more loss with CUBIC at each of six sizes, averaged over limits that span one packet",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_m2,
            judge: judge_m2,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m3",
            title: "The loose rule disadvantages small packets",
            source: "summary slide, abstract",
            statements: &[Statement {
                id: "order",
                published: "the three rules give distinctly different loss for the same nominal size; the loose byte rule disadvantages small packets",
                bound: "loss of the call loose > slots > strict for six sizes and both controls, byte rules averaged over limits that span one packet, slots over three seeds",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_rules,
            judge: judge_m3,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m5",
            title: "Goodput against slots",
            source: "slide \"Goodput\", whose values are lost",
            statements: &[
                Statement {
                    id: "adsl1",
                    published: "goodput against the length of a slot queue, ADSL 1, 100 ms (values lost)",
                    bound: "the link is saturated from two BDPs (25 slots) on: within 1 % of 1.376 Mbit/s, which the call leaves",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "newreno-adsl2",
                    published: "goodput against the length of a slot queue, ADSL 2, 100 ms (values lost)",
                    bound: "NewReno gains with every step, because 67 slots are a third of the BDP",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "cubic-adsl2",
                    published: "goodput against the length of a slot queue, ADSL 2, 100 ms (values lost)",
                    bound: "CUBIC above NewReno, with 1 Mbit/s up from 20 slots on: below, ACKs with SACK blocks fill the way up; from 47 slots on within 1 % of the ceiling of 23.10 Mbit/s, 1448 of 1500 bytes of what the call leaves",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "crosscheck",
                    published: "goodput in an independent packet simulator, ADSL 2 with 2 Mbit/s up: 17.7 to 21.1 Mbit/s (NewReno), 21.0 to 23.1 Mbit/s (CUBIC)",
                    bound: "within 2 %; CUBIC with 7 slots within 6 %, because a seed settles in one of two cycles, of 21.2 and of 22.2 Mbit/s",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_goodput,
            judge: judge_m5,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m6",
            title: "Delay against the base RTT",
            source: "slide \"Latency\"",
            statements: &[Statement {
                id: "delay",
                published: "induced delay of a 40 kB queue against the base RTT, both links (values lost)",
                bound: "none; the cross-check's medians stand beside ours",
                expected: Expected::CannotBeJudged("the axes and values of the figure are lost"),
            }],
            plan: plan_of_rtts,
            judge: judge_m6,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m7",
            title: "Loss of the call against the size of the queue",
            source: "slide \"Loss\"",
            statements: &[Statement {
                id: "loss",
                published: "proportion of the call's packets lost downstream, by rule and size (values lost)",
                bound: "none; the orderings are those of m2 and m3",
                expected: Expected::CannotBeJudged("the values of the figure are lost"),
            }],
            plan: plan_of_rules,
            judge: judge_m7,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/ceiling",
            title: "Delay ceilings of the three rules",
            source: "closed forms of the rules on the slide \"Not All Queues Are Created Equal\"",
            statements: &[Statement {
                id: "longest",
                published: "a packet waits at most (Q + 1500)·8/R by the loose rule, Q·8/R by the strict one and slots·12000/R by slots",
                bound: "no packet of any run exceeds it, with the packet in service counted",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_ceilings,
            judge: judge_ceilings,
            definition: None,
        },
    ],
};

/// ADSL 1 at 100 ms.
pub fn adsl1(control: Control, queue: Queue, seed: u64) -> Point {
    Point {
        adsl: 1,
        control,
        queue,
        rtt_ms: 100,
        wide_up: false,
        length_s: None,
        seed,
    }
}

const HEAD: &str = "\
**Result.** The published orderings hold: CUBIC causes more delay and more loss of the call than NewReno, the loose byte rule loses more of
the call's small packets than slots do, and slots more than the strict rule. No packet exceeded the delay that its rule allows.

**Source.** The slides of the home-gateway queue study (MMSys 2011, ACM 10.1145/1943552.1943558). Their plotted values are lost; what is
published and checked are orderings. The *cross-check*, in brackets, is an independent packet simulator; its figures are guides, not data.
It counts the whole packet in service as delay: 4 ms more on average at 1500 kbit/s.";

/// T10: M1 and M2, with 20 kB; NewReno, then CUBIC.
fn points_of_m1() -> Vec<Point> {
    let of = |control| (1..=10).map(move |seed| adsl1(control, Queue::Loose(20_000), seed));
    Control::BOTH.into_iter().flat_map(of).collect()
}

fn runs(points: &[Point]) -> Vec<Cell> {
    points.iter().map(Point::cell).collect()
}

fn plan_of_m1() -> Vec<Cell> {
    runs(&points_of_m1())
}

/// Delay and loss of both controls.
fn delays_and_losses(calls: &[Call]) -> [(Mean, Mean); 2] {
    let (reno, cubic) = calls.split_at(calls.len() / 2);
    [reno, cubic].map(|calls| {
        let figure = |figure: fn(&Call) -> f64| mean(calls.iter().map(figure));
        (figure(|call| call.delay), figure(|call| call.loss))
    })
}

fn judge_m1(cells: &Cells<'_>, out: &mut Findings) {
    let checks = out.on("delay");
    let [reno, cubic] = delays_and_losses(&calls(&points_of_m1(), *cells, checks));
    let row = |what: &str, check: &str, [reno, cubic]: [Mean; 2], digits| {
        let apart = format!("{:+.0} %", 100.0 * (cubic.value / reno.value - 1.0));
        [what, &reno.show(digits), &cubic.show(digits), &apart, check].map(str::to_owned)
    };
    let mut table = Table::new(&["", "NewReno", "CUBIC", "difference", "cross-check"]);
    table.row(&row("median delay, ms", "61, 85", [reno.0, cubic.0], 1));
    table.row(&row(
        "loss of the call, %",
        "4.6, 7.3",
        [reno.1, cubic.1],
        2,
    ));
    let apart = cubic.0.value / reno.0.value;
    checks.unless(
        apart > 1.2,
        format!("CUBIC's delay is {apart} of NewReno's"),
    );
    checks.ours(format!(
        "{} ms against {} ms",
        cubic.0.show(1),
        reno.0.show(1)
    ));
    out.write(HEAD);
    out.write(format!(
        "### CUBIC keeps the queue fuller\n\n\
         `homegateway2011/adsl1.toml`: 1500/256 kbit/s, 100 ms, 20 kB by the loose byte rule; mean and standard error of 10 seeds of 300 s. \
         Published: CUBIC causes more delay than NewReno, and more loss of the call. Both are checked.\n\n{table}"
    ));
    let figure = Figure::pairs("Median delay of the call, 20 kB", "delay, ms");
    out.draw(
        figure
            .pair("NewReno", None, reno.0.value)
            .pair("CUBIC", None, cubic.0.value),
    );
}

fn plan_of_m2() -> Vec<Cell> {
    let mut cells = plan_of_m1();
    cells.extend(plan_of_rules());
    cells
}

fn judge_m2(cells: &Cells<'_>, out: &mut Findings) {
    let points = points_of_m1();
    let (fuller, by_size) = cells.split_at(points.len());
    let checks = out.on("loss");
    let [reno, cubic] = delays_and_losses(&calls(&points, fuller, checks));
    let more = cubic.1.value - reno.1.value;
    let error = reno.1.error.hypot(cubic.1.error);
    checks.unless(more > error, format!("CUBIC loses {more} ± {error} % more"));
    checks.ours(format!(
        "{} % against {} %",
        cubic.1.show(2),
        reno.1.show(2)
    ));
    let checks = out.on("loss-by-size");
    let losses = losses(&calls(&points_of_rules(), by_size, checks));
    for (both, (bytes, ..)) in losses.chunks(2).zip(SIZES) {
        let [reno, cubic] = [&both[0], &both[1]].map(|losses| losses.loose);
        checks.unless(
            cubic.value > reno.value,
            format!("{bytes} B: CUBIC {cubic:?}, NewReno {}", reno.value),
        );
    }
    let mut figure = Figure::curves("Loss of the call, loose rule", "size, kB", "loss, %");
    for (at, control) in Control::BOTH.into_iter().enumerate() {
        let of = losses.chunks(2).zip(SIZES);
        let points = of.map(|(both, (bytes, ..))| (bytes as f64 / 1e3, both[at].loose.value));
        figure = figure.ours(control.name(), points);
    }
    out.draw(figure);
}

/// T14: how near the longest passages came to what they may be; each run has checked its own.
fn plan_of_ceilings() -> Vec<Cell> {
    let mut cells = plan_of_rules();
    cells.extend(plan_of_goodput());
    cells
}

fn judge_ceilings(cells: &Cells<'_>, out: &mut Findings) {
    let mut points = points_of_rules();
    points.extend(points_of_goodput());
    let checks = out.on("longest");
    let calls = calls(&points, *cells, checks);
    for (call, point) in calls.iter().zip(&points) {
        checks.unless(call.longest <= call.ceiling, format!("{point:?}"));
    }
    let share = |call: &Call| call.longest.as_nanos() as f64 / call.ceiling.as_nanos() as f64;
    let most = calls.iter().map(share).fold(0.0, f64::max);
    let ours = format!(
        "the nearest of {} runs reached {:.2} % of it",
        calls.len(),
        100.0 * most
    );
    checks.ours(ours);
    let figure = Figure::pairs("Longest passage of any packet", "% of the ceiling");
    out.draw(figure.pair("nearest run", Some(100.0), 100.0 * most));
    out.write(format!(
        "### Delay ceilings\n\n\
         The longest time from arrival to the end of transmission, with the packet in service counted, is (Q + 1500)·8/R by the loose rule, \
         Q·8/R by the strict one and slots·12000/R by slots. No packet of any run of this section exceeded it; the nearest of {} runs reached \
         {:.2} % of it.",
        calls.len(),
        100.0 * most
    ));
}
