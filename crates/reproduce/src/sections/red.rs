//! RED, Adaptive RED and Curvy RED under more and more CUBIC flows: where the queue settles, and how
//! that and the drops obey each law.

use quell_measure::{Figures, QueueSummary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{delay, digits};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "RED, Adaptive RED and Curvy RED: more and more flows",
    experiments: &[
        Experiment {
            id: "contrast/red",
            title: "RED and Adaptive RED behind 2 to 80 flows",
            source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001; tc-red(8)",
            statements: &[
                Statement {
                    id: "average",
                    published: "RED keeps the average queue between min and max while its probability suits the load",
                    bound: "mean between min and max; with two flows a tenth of the range below min, because a drop takes the queue below it for long",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "middle",
                    published: "Adaptive RED keeps the average queue near the middle under any load",
                    bound: "from 0.4 to 0.6 between min and max, the aim of the adaptation, from 20 flows on; with fewer the load needs less than its lowest probability",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "law",
                    published: "drops follow the probability at the average queue: 2p/(1 + p) with the spacing of Linux, 2p with that of the paper",
                    bound: "within 5 % where the mean is not within a tenth of the range from an end, where the average leaves the straight part of the law",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_fixed,
            judge: judge_fixed,
            definition: None,
        },
        Experiment {
            id: "contrast/adaptive-red",
            title: "Adaptive RED while the number of flows changes",
            source: "Floyd, Gummadi and Shenker 2001",
            statements: &[Statement {
                id: "middle",
                published: "the average queue returns to the middle when the load changes",
                bound: "from 0.4 to 0.6 between min and max in each phase, the 20 s after a change left out",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_varying,
            judge: judge_varying,
            definition: None,
        },
        Experiment {
            id: "contrast/curvy-red",
            title: "Curvy RED: delay and drops share the load",
            source: "RFC 9332 appendix B.1; arXiv 1904.07339",
            statements: &[
                Statement {
                    id: "law",
                    published: "delay is the range times the root of the drop probability",
                    bound: "mean delay within 2 %; 7 % with two flows, whose delay varies by half of itself: the mean of a square is above the square of the mean",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "growth",
                    published: "delay grows with the root of the drop probability, as the load does",
                    bound: "from 2 to 80 flows within 10 %",
                    expected: Expected::Reproduced,
                },
            ],
            plan: plan_of_curvy,
            judge: judge_curvy,
            definition: None,
        },
    ],
};

/// What one run gave, or a stretch of it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Mean backlog, over time, in bytes.
    backlog: f64,
    /// Mean and P99 of the delay in ms.
    delay: [f64; 2],
    /// Dropped of what was offered, by the AQM and by the limit.
    aqm: f64,
    limit: f64,
    /// In %.
    utilisation: f64,
}

impl Stretch {
    fn of(figures: &Figures) -> Self {
        let queue: &QueueSummary = &figures.queues[0];
        let [mean, p99] = queue
            .delay_ms
            .map_or([f64::NAN; 2], |delay| [delay.mean, delay.p99]);
        let offered = (queue.dropped + queue.packets) as f64;
        Self {
            backlog: queue.backlog_bytes.map_or(f64::NAN, |bytes| bytes.mean),
            delay: [mean, p99],
            aqm: queue.drops["aqm"] as f64 / offered,
            limit: queue.drops["limit"] as f64 / offered,
            utilisation: 100.0 * figures.link.utilisation,
        }
    }
    /// Where the mean queue is between `min`, 0, and `max`, 1.
    fn position(&self) -> f64 {
        (self.backlog - MIN) / (MAX - MIN)
    }
    fn show(&self) -> [String; 3] {
        [
            format!("{:.0}", self.backlog / 1e3),
            format!("{:.2}", self.position()),
            delay(self.delay),
        ]
    }
}

/// Numbers of flows.
const FLOWS: [u64; 6] = [2, 5, 10, 20, 40, 80];
/// Of RED, in bytes.
const MIN: f64 = 120_000.0;
const MAX: f64 = 360_000.0;
/// What adaptation aims at, between `min` and `max`, and its lowest probability: it shrinks by a tenth
/// while it is 1 % or more.
const MIDDLE: std::ops::RangeInclusive<f64> = 0.4..=0.6;
const LOWEST: [f64; 2] = [0.009, 0.01];

/// A form: its name, what sets it, and the drop ratio that a probability makes.
#[derive(Clone, Copy)]
struct Form {
    name: &'static str,
    settings: &'static [&'static str],
    /// Intervals that are uniform on 1..=1/p have a mean of (1 + 1/p)/2, on 1..=1/p − 1 (the paper) one of 1/(2p).
    drops: fn(f64) -> f64,
}

/// The weight of `floyd` is that which tc derives from the burst.
const FORMS: [Form; 2] = [
    Form {
        name: "linux",
        settings: &["burst=220"],
        drops: |p| 2.0 * p / (1.0 + p),
    },
    Form {
        name: "floyd",
        settings: &["form=floyd", "weight=0.0078125", "probability=0.02"],
        drops: |p| 2.0 * p,
    },
];

fn sets(settings: &[&str], adaptive: bool, flows: Option<u64>) -> Vec<String> {
    let settings = settings
        .iter()
        .map(|setting| format!("link.queue.{setting}"));
    let adaptive = [format!("link.queue.adaptive={adaptive}")];
    let flows = flows.map(|flows| format!("group.flows.count={flows}"));
    settings.chain(adaptive).chain(flows).collect()
}

/// Forms, whether they adapt, and flows.
fn points_of_fixed() -> Vec<(Form, bool, u64)> {
    FORMS
        .iter()
        .flat_map(|form| [false, true].map(|adaptive| (*form, adaptive)))
        .flat_map(|(form, adaptive)| FLOWS.map(|flows| (form, adaptive, flows)))
        .collect()
}

fn plan_of_fixed() -> Vec<Cell> {
    let cell = |(form, adaptive, flows): (Form, bool, u64)| {
        let sets = sets(form.settings, adaptive, Some(flows));
        Cell::new("red/flows.toml").sets(sets)
    };
    points_of_fixed().into_iter().map(cell).collect()
}

fn judge_fixed(cells: &Cells<'_>, out: &mut Findings) {
    let points = points_of_fixed();
    let runs = cells.summaries();
    let results: Vec<Stretch> = runs.iter().map(|run| Stretch::of(&run.figures)).collect();
    let mut figure = Figure::curves("Position of the mean queue", "flows", "0 is min, 1 is max");
    for (points, results) in points.chunks(FLOWS.len()).zip(results.chunks(FLOWS.len())) {
        let (form, adaptive, _) = points[0];
        let name = format!("{}{}", form.name, if adaptive { ", adaptive" } else { "" });
        let both = FLOWS.iter().zip(results);
        let curve = both.map(|(flows, stretch)| (*flows as f64, stretch.position()));
        figure = figure.ours(&name, curve);
    }
    out.draw(figure);
    let mut grid = Table::new(&[
        "form",
        "adaptive",
        "flows",
        "queue_kb",
        "position",
        "delay_mean_ms",
        "delay_p99_ms",
        "drops_percent",
        "law_from_percent",
        "law_to_percent",
        "utilisation_percent",
    ]);
    let mut table = Table::new(&[
        "flows",
        "linux",
        "linux, adaptive",
        "floyd",
        "floyd, adaptive",
        "drops of linux, %",
        "by the law, %",
    ]);
    // Drops of the first form, and what its law gives.
    let mut first: Vec<[String; 2]> = Vec::new();
    let mut by_flows = FLOWS.map(|flows| vec![flows.to_string()]);
    for ((form, adaptive, flows), stretch) in points.iter().zip(&results) {
        let name = format!("{}{}", form.name, if *adaptive { ", adaptive" } else { "" });
        let what = |what: &str| format!("{name}, {flows} flows: {what}");
        let position = stretch.position();
        // Of the probability that was set, or of the two that adaptation goes to and fro between at its lower end.
        let law = |probability: f64| 100.0 * (form.drops)(probability * position.max(0.0));
        let at_the_end = *adaptive && position < *MIDDLE.start();
        let laws: &[f64] = match (*adaptive, at_the_end) {
            (false, _) => &[0.02],
            (true, true) => &LOWEST,
            (true, false) => &[],
        };
        let by_law: Vec<f64> = laws.iter().map(|&probability| law(probability)).collect();
        judge(*adaptive, *flows, stretch, &by_law, &what, out);
        let drops = digits(100.0 * stretch.aqm);
        let law = |at: Option<&f64>| at.map_or_else(String::new, |&percent| digits(percent));
        let mut cells = vec![
            form.name.to_owned(),
            adaptive.to_string(),
            flows.to_string(),
            format!("{:.0}", stretch.backlog / 1e3),
            format!("{position:.2}"),
        ];
        cells.extend(stretch.delay.map(digits));
        cells.push(drops.clone());
        cells.extend([by_law.first(), by_law.last()].map(law));
        cells.push(format!("{:.1}", stretch.utilisation));
        grid.row(&cells);
        let known = FLOWS.iter().position(|known| known == flows);
        let row = &mut by_flows[known.expect("one of FLOWS")];
        row.push(format!("{position:.2}"));
        if row.len() == 2 {
            first.push([drops, law(by_law.first())]);
        }
    }
    for (mut row, drops) in by_flows.into_iter().zip(first) {
        row.extend(drops);
        table.row(&row);
    }
    out.csv("published-red.csv", grid);
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

fn judge(
    adaptive: bool,
    flows: u64,
    stretch: &Stretch,
    by_law: &[f64],
    what: &dyn Fn(&str) -> String,
    out: &mut Findings,
) {
    let position = stretch.position();
    let average = out.on("average");
    average.guard(stretch.limit == 0.0, what("the limit drops"));
    average.guard(stretch.utilisation > 99.5, what("the link is not full"));
    // With two flows a drop takes the queue below min for long.
    let least = if flows < 5 { -0.1 } else { 0.0 };
    average.unless(
        (least..=1.0).contains(&position),
        what(&format!("position {position:.3}")),
    );
    if adaptive && flows >= 20 {
        out.on("middle").unless(
            MIDDLE.contains(&position),
            what(&format!("position {position:.3}")),
        );
    }
    // Nearer to an end the average leaves the straight part of the law.
    if (0.1..0.9).contains(&position)
        && let [first, .., last] | [first @ last] = by_law
    {
        let drops = 100.0 * stretch.aqm;
        out.on("law").unless(
            (first * 0.95..=last * 1.05).contains(&drops),
            what(&format!(
                "drops {drops:.3} %, by the law {first:.3} to {last:.3}"
            )),
        );
    }
}

fn plan_of_varying() -> Vec<Cell> {
    let cell = |form: Form| Cell::new("red/varying.toml").sets(sets(form.settings, true, None));
    FORMS.map(cell).to_vec()
}

fn judge_varying(cells: &Cells<'_>, out: &mut Findings) {
    let mut table = Table::new(&[
        "form", "flows", "queue kB", "position", "delay ms", "drops %",
    ]);
    let runs = cells.summaries();
    let mut figure = Figure::pairs("Position while the load changes", "0 is min, 1 is max");
    for (form, summary) in FORMS.iter().zip(&runs) {
        for (phase, flows) in summary.phases.iter().zip([20, 80, 20]) {
            let stretch = Stretch::of(&phase.figures);
            let position = stretch.position();
            let label = format!("{}, {flows} flows", form.name);
            figure = figure.pair(&label, Some(0.5), position);
            out.on("middle").unless(
                MIDDLE.contains(&position),
                format!(
                    "{}, varying, {flows} flows: position {position:.3}",
                    form.name
                ),
            );
            let mut cells = vec![format!("{}, adaptive", form.name), flows.to_string()];
            cells.extend(stretch.show());
            cells.push(digits(100.0 * stretch.aqm));
            table.row(&cells);
        }
    }
    out.draw(figure);
    out.write(format!("{VARYING}\n{table}"));
}

fn plan_of_curvy() -> Vec<Cell> {
    let cell = |flows| Cell::new("red/curvy.toml").set(format!("group.flows.count={flows}"));
    FLOWS.map(cell).to_vec()
}

fn judge_curvy(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let results: Vec<Stretch> = runs.iter().map(|run| Stretch::of(&run.figures)).collect();
    let mut table = Table::new(&[
        "flows",
        "delay ms",
        "drops %",
        "500 ms · √p",
        "ratio",
        "link %",
    ]);
    for (flows, stretch) in FLOWS.iter().zip(&results) {
        let root = 500.0 * stretch.aqm.sqrt();
        let ratio = stretch.delay[0] / root;
        let what = |what: &str| format!("Curvy RED, {flows} flows: {what}");
        // The delay of two flows varies by half of itself, and the mean of a square is above the square of the mean.
        let band = if *flows < 5 { 0.07 } else { 0.02 };
        let law = out.on("law");
        law.unless(
            (ratio - 1.0).abs() < band,
            what(&format!("delay / (range · √p) is {ratio:.3}")),
        );
        law.guard(stretch.limit == 0.0, what("the limit drops"));
        law.guard(stretch.utilisation > 99.5, what("the link is not full"));
        table.row(&[
            flows.to_string(),
            delay(stretch.delay),
            digits(100.0 * stretch.aqm),
            digits(root),
            format!("{ratio:.3}"),
            format!("{:.1}", stretch.utilisation),
        ]);
    }
    // "Soft": from 2 to 80 flows drops grow far more than delay does, where a fixed target would leave all to the drops.
    let growth = |of: &dyn Fn(&Stretch) -> f64| of(&results[results.len() - 1]) / of(&results[0]);
    let (delays, drops) = (
        growth(&|stretch| stretch.delay[0]),
        growth(&|stretch| stretch.aqm),
    );
    out.on("growth").within(
        "Curvy RED: growth of delay".to_owned(),
        delays,
        drops.sqrt(),
        10.0,
    );
    let points = |of: fn(&Stretch) -> f64| {
        let both = FLOWS.iter().zip(&results);
        both.map(move |(flows, stretch)| (*flows as f64, of(stretch)))
    };
    let figure = Figure::curves("Delay behind Curvy RED", "flows", "ms");
    let law = points(|stretch| 500.0 * stretch.aqm.sqrt());
    let figure = figure.published("500 ms · √p", law);
    out.draw(figure.ours("mean", points(|stretch| stretch.delay[0])));
    out.write(format!("{CURVY}\n{table}"));
}

const RESULT: &str = "\
**Result.** The average queue and the drops follow the laws of each form, and the link is always full. RED's queue grows from `min` to `max`
with the number of flows; Adaptive RED keeps it near the middle from 20 flows on.

Position of the mean queue between `min` (0) and `max` (1):
";

const TEXT: &str = "\
**Sources.** Floyd and Jacobson 1993, Floyd, Gummadi and Shenker 2001, tc-red(8): RED keeps the average queue between `min` and `max` while
its probability suits the load; Adaptive RED keeps it near the middle under any load. Neither gives figures that apply to today's TCP; the
laws themselves do.

**Runs.** `scenarios/red/flows.toml`: CUBIC downloads with 20 ms of RTT over 40 Mbit/s, behind the RED of the demonstration of 2020 (min 120 kB,
max 360 kB, avpkt 1000, burst 220, probability 0.02), 80 s after 40 s. *By the law* is the drop ratio that the probability at this position
gives with the form's spacing of drops: 2p/(1 + p) in Linux, 2p in the paper. [published-red.csv](data/published-red.csv) has every form,
with the delays.

**Bounds.** A mean between `min` and `max`; with two flows it may be below by a tenth of the range. A full link. No drop by the limit. Drops
within 5 % of the law where the mean is not within a tenth of the range from an end. With `adaptive`, a position from 0.4 to 0.6 from 20 flows
on. With fewer flows the load needs less than the lowest probability of Adaptive RED, 0.9 to 1 % at `max`, so the queue is shorter, by
the law of that probability. At 80 flows the fixed probability is too low: the average stays at `max`, above which Linux drops every
packet and the gentle form more and more, so the law gives too few drops.
";

const VARYING: &str = "\
### While the number of flows changes

`scenarios/red/varying.toml`: 20 flows, 80 from 60 s on, 20 again from 120 s on; the 20 s after each change are left out. Bound: a position
from 0.4 to 0.6 in each phase.
";

const CURVY: &str = "\
### Curvy RED

RFC 9332 appendix B.1 and arXiv 1904.07339: delay grows with the root of the drop probability, as the load does, instead of staying
constant while drops multiply. `scenarios/red/curvy.toml`: the same downloads behind the defaults, with a range of 500 ms. Bounds: a mean
delay within 2 % of 500 ms · \u{221a}p (7 % with two flows, whose queue varies most); from 2 to 80 flows a delay that grows with the root of
the drops (± 10 %); a full link and no drop by the limit.
";
