//! The home-gateway study (MMSys 2011) with all four controls of its recap: H-TCP and Compound beside NewReno and CUBIC.
//!
//! No figure of the two has survived; the same group had compared H-TCP before.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::sections::call::{Call, Control, Point, Queue, calls};
use crate::sections::gateway::adsl1;
use crate::statement::{Expected, Statement};
use crate::statistics::{circular, mean};
use crate::table::Table;

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "Home gateway: four controls",
    experiments: &[
        Experiment {
            id: "homegateway2011/controls",
            title: "A call beside NewReno, CUBIC, H-TCP and Compound",
            source: "recap of the slides, which has no figures; Armitage and others 2008, abstract",
            statements: &[
                Statement {
                    id: "htcp",
                    published: "H-TCP oscillates faster and has a lower median delay than NewReno; CUBIC has a higher one",
                    bound: "median delay of the call H-TCP < NewReno < CUBIC with 20 and with 40 kB, mean of 4 seeds",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "compound",
                    published: "the recap names Compound (no figure)",
                    bound: "none; guarded: the delay within 5 % of NewReno's, which it is with a window below 38 segments",
                    expected: Expected::CannotBeJudged("no figure of it has survived"),
                },
            ],
            plan: plan_of_controls,
            judge: judge_controls,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m4-other-controls",
            title: "Queue sizes around multiples of a packet: H-TCP and Compound",
            source: "summary slide, which has NewReno and CUBIC in mind; the recap names the other two",
            statements: &[
                Statement {
                    id: "places",
                    published: "sizes around integer multiples of the TCP packet's have the lowest loss by the loose rule and the highest by the strict one",
                    bound: "the least loss by the loose rule and the most by the strict one at most two classes (372 bytes) apart, modulo 1500",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "order",
                    published: "the loose rule loses more of the call than the strict one",
                    bound: "loose above strict in each of eight classes of sizes",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_sizes,
            judge: judge_sizes,
            definition: None,
        },
    ],
};

const KILOBYTES: [u64; 2] = [20, 40];
const SEEDS: u64 = 4;

/// By size, control and seed.
fn points_of_controls() -> Vec<Point> {
    let mut points = Vec::new();
    for kilobytes in KILOBYTES {
        for control in Control::ALL {
            let queue = Queue::Loose(1_000 * kilobytes);
            points.extend((1..=SEEDS).map(|seed| adsl1(control, queue, seed)));
        }
    }
    points
}

fn plan_of_controls() -> Vec<Cell> {
    points_of_controls().iter().map(Point::cell).collect()
}

fn judge_controls(cells: &Cells<'_>, out: &mut Findings) {
    let heads = [
        "limit",
        "control",
        "median delay, ms",
        "loss of the call, %",
        "goodput, Mbit/s",
    ];
    let mut table = Table::new(&heads);
    let mut figure = Figure::pairs("Median delay of the call", "ms");
    let all = calls(&points_of_controls(), *cells, out.on("htcp"));
    let of_size = all.chunks(SEEDS as usize * Control::ALL.len());
    let mut shown = Vec::new();
    for (kilobytes, calls) in KILOBYTES.into_iter().zip(of_size) {
        let mut delays = Vec::new();
        for (control, calls) in Control::ALL.into_iter().zip(calls.chunks(SEEDS as usize)) {
            let figure_of = |of: fn(&Call) -> f64| mean(calls.iter().map(of));
            let delay = figure_of(|call| call.delay);
            let cells = [
                format!("{kilobytes} kB"),
                control.name().to_owned(),
                delay.show(1),
                figure_of(|call| call.loss).show(2),
                figure_of(|call| call.goodput).show(3),
            ];
            table.row(&cells);
            let label = format!("{kilobytes} kB, {}", control.name());
            figure = figure.pair(&label, None, delay.value);
            delays.push(delay.value);
        }
        let [reno, cubic, htcp, compound] = delays[..] else {
            unreachable!("four controls")
        };
        let order = htcp < reno && reno < cubic;
        let checks = out.on("htcp");
        checks.unless(order, format!("{kilobytes} kB: {delays:.3?}"));
        shown.push(format!("{htcp:.1} < {reno:.1} < {cubic:.1} ms"));
        let alike = (compound / reno - 1.0).abs() < 0.05;
        let checks = out.on("compound");
        checks.guard(
            alike,
            format!("{kilobytes} kB: Compound {compound}, NewReno {reno}"),
        );
        checks.ours(format!(
            "{compound:.1} ms, NewReno {reno:.1} ms ({kilobytes} kB)"
        ));
    }
    out.on("htcp").ours(shown.join("; "));
    out.draw(figure);
    out.write(format!("{HEAD}\n{table}\n{TEXT}"));
    out.csv("published-gateway-controls.csv", table);
}

type Rule = fn(u64) -> Queue;
const RULES: [(&str, Rule); 2] = [("loose", Queue::Loose), ("strict", Queue::Strict)];
const OTHERS: [Control; 2] = [Control::Htcp, Control::Compound];
const CLASSES: usize = 8;
/// Runs of a class: limits in four packets' worth, and two seeds.
const RUNS: usize = 4 * 2;

/// By control, rule and class of limits modulo 1500, 186 bytes apart.
fn points_of_sizes() -> Vec<Point> {
    let mut points = Vec::new();
    for control in OTHERS {
        for (_, rule) in RULES {
            for class in 0..CLASSES as u64 {
                let limits = (0..4).map(|period| 58_500 + 1_500 * period + 93 + 186 * class);
                let of =
                    limits.flat_map(|limit| [1, 2].map(|seed| adsl1(control, rule(limit), seed)));
                points.extend(of.map(|point| Point {
                    length_s: Some(210),
                    ..point
                }));
            }
        }
    }
    points
}

fn plan_of_sizes() -> Vec<Cell> {
    points_of_sizes().iter().map(Point::cell).collect()
}

/// M4 for the controls that the detailed sweep leaves out.
fn judge_sizes(cells: &Cells<'_>, out: &mut Findings) {
    let heads = ["", "0", "186", "372", "558", "744", "930", "1116", "1302"];
    let mut table = Table::new(&heads);
    let mut figure = Figure::curves(
        "Loss of the call by limit modulo 1500",
        "limit modulo 1500, bytes",
        "loss, %",
    );
    let all = calls(&points_of_sizes(), *cells, out.on("places"));
    let classes: Vec<f64> = all
        .chunks(RUNS)
        .map(|calls| mean(calls.iter().map(|call| call.loss)).value)
        .collect();
    let mut shown = Vec::new();
    for (control, classes) in OTHERS.into_iter().zip(classes.chunks(2 * CLASSES)) {
        let (loose, strict) = classes.split_at(CLASSES);
        for ((rule, _), losses) in RULES.into_iter().zip([loose, strict]) {
            let name = format!("{rule}, {}", control.name());
            let points = losses.iter().enumerate();
            let points = points.map(|(class, loss)| (186.0 * class as f64, *loss));
            figure = figure.ours(&name, points);
            let mut row = vec![name];
            row.extend(losses.iter().map(|loss| format!("{loss:.2}")));
            table.row(&row);
        }
        let of = |losses: &[f64], sign: f64| {
            let classes = 0..losses.len();
            let least = classes.min_by(|a, b| (sign * losses[*a]).total_cmp(&(sign * losses[*b])));
            least.unwrap_or(0) as f64
        };
        let apart = circular(of(loose, 1.0), of(strict, -1.0), CLASSES as f64);
        out.on("places").unless(
            apart <= 2.0,
            format!("{control:?}: {apart} classes apart, {loose:.3?}, {strict:.3?}"),
        );
        shown.push(format!("{}: {apart:.0} classes apart", control.name()));
        let mut both = loose.iter().zip(strict);
        let ordered = both.all(|(loose, strict)| loose > strict);
        out.on("order")
            .unless(ordered, format!("{control:?}: {loose:.3?}, {strict:.3?}"));
    }
    out.on("places").ours(shown.join("; "));
    out.draw(figure);
    out.write(format!("{SIZES}\n{table}"));
}

const HEAD: &str = "\
**Result.** H-TCP has the lowest delay and CUBIC the highest; Compound is NewReno here. Loss depends on the size of the queue with either as
published for NewReno and CUBIC.
";

const TEXT: &str = "\
**Source.** The recap of the same slides names NewReno, CUBIC, H-TCP and Compound; no figure of the latter two has survived. Of H-TCP the
same group had said that it oscillates faster and has a lower median delay than NewReno (Armitage and others 2008, abstract). The
cross-check had 116 and 147 ms for them with 40 kB.

**Runs.** `homegateway2011/adsl1.toml` at 100 ms, the loose rule, mean and standard error of 4 seeds of 300 s. H-TCP is FreeBSD's, without
adaptive backoff and RTT scaling. [published-gateway-controls.csv](data/published-gateway-controls.csv) has the same.

**Bounds.** The order of H-TCP, NewReno and CUBIC in delay; Compound within 5 % of NewReno: with a window below 38 segments it is
Reno, and with a larger one more than gamma segments wait, which stops its delay-based part.
";

const SIZES: &str = "\
### Loss of the call in %, by limit modulo 1500

As in the next section, where NewReno and CUBIC have every size in steps of 30 bytes; here eight sizes in each of four packets' worth from
58 500 bytes on, two seeds of 180 s. Bounds: the least loss by the loose rule and the most by the strict one at most two classes (372 bytes)
apart; loose above strict in each class.
";
