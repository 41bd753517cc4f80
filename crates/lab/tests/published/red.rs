//! RED, Adaptive RED and Curvy RED under more and more CUBIC flows: where the queue settles, and how
//! that and the drops obey each law.

use std::sync::atomic::AtomicBool;

use quell_lab::sim;
use quell_measure::{Figures, QueueSummary, Summary};

use super::evaluation::{Misses, delay, digits};
use super::experiment::scenario;
use super::page;
use super::sweep::sweep;
use super::table::Table;

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
        let delay = queue.delay_ms.unwrap();
        let offered = (queue.dropped + queue.packets) as f64;
        Self {
            backlog: queue.backlog_bytes.unwrap().mean,
            delay: [delay.mean, delay.p99],
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

fn run(file: &str, sets: &[String]) -> Summary {
    let measured = sim::run(&scenario(file, sets), 1, &AtomicBool::new(false), &mut ());
    measured.unwrap().summary
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

#[test]
fn queues_settle_where_their_laws_say() {
    let mut misses = Misses::default();
    let (table, grid) = fixed_loads(&mut misses);
    let body = format!(
        "{RESULT}\n{table}\n{TEXT}\n{VARYING}\n{}\n{CURVY}\n{}",
        varying_load(&mut misses),
        curvy_red(&mut misses)
    );
    misses.assert_none(&body);
    page::check(
        "RED, Adaptive RED and Curvy RED: more and more flows",
        &body,
        &[("published-red.csv", &grid)],
    );
}

/// The table of the page, and the grid.
fn fixed_loads(misses: &mut Misses) -> (Table, Table) {
    let points: Vec<(Form, bool, u64)> = FORMS
        .iter()
        .flat_map(|form| [false, true].map(|adaptive| (*form, adaptive)))
        .flat_map(|(form, adaptive)| FLOWS.map(|flows| (form, adaptive, flows)))
        .collect();
    let results = sweep(&points, |(form, adaptive, flows)| {
        let sets = sets(form.settings, *adaptive, Some(*flows));
        Stretch::of(&run("red/flows.toml", &sets).figures)
    });
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
        judge(*adaptive, *flows, stretch, &by_law, &what, misses);
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
        let row = &mut by_flows[FLOWS.iter().position(|known| known == flows).unwrap()];
        row.push(format!("{position:.2}"));
        if row.len() == 2 {
            first.push([drops, law(by_law.first())]);
        }
    }
    for (mut row, drops) in by_flows.into_iter().zip(first) {
        row.extend(drops);
        table.row(&row);
    }
    (table, grid)
}

fn judge(
    adaptive: bool,
    flows: u64,
    stretch: &Stretch,
    by_law: &[f64],
    what: &dyn Fn(&str) -> String,
    misses: &mut Misses,
) {
    let position = stretch.position();
    misses.unless(stretch.limit == 0.0, what("the limit drops"));
    misses.unless(stretch.utilisation > 99.5, what("the link is not full"));
    // With two flows a drop takes the queue below min for long.
    let least = if flows < 5 { -0.1 } else { 0.0 };
    misses.unless(
        (least..=1.0).contains(&position),
        what(&format!("position {position:.3}")),
    );
    if adaptive && flows >= 20 {
        misses.unless(
            MIDDLE.contains(&position),
            what(&format!("position {position:.3}")),
        );
    }
    // Nearer to an end the average leaves the straight part of the law.
    if (0.1..0.9).contains(&position)
        && let [first, .., last] | [first @ last] = by_law
    {
        let drops = 100.0 * stretch.aqm;
        misses.unless(
            (first * 0.95..=last * 1.05).contains(&drops),
            what(&format!(
                "drops {drops:.3} %, by the law {first:.3} to {last:.3}"
            )),
        );
    }
}

fn varying_load(misses: &mut Misses) -> Table {
    let mut table = Table::new(&[
        "form", "flows", "queue kB", "position", "delay ms", "drops %",
    ]);
    let runs = sweep(&FORMS, |form| {
        run("red/varying.toml", &sets(form.settings, true, None))
    });
    for (form, summary) in FORMS.iter().zip(&runs) {
        assert_eq!(summary.phases.len(), 3);
        for (phase, flows) in summary.phases.iter().zip([20, 80, 20]) {
            let stretch = Stretch::of(&phase.figures);
            let position = stretch.position();
            misses.unless(
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
    table
}

fn curvy_red(misses: &mut Misses) -> Table {
    let results = sweep(&FLOWS, |flows| {
        let sets = [format!("group.flows.count={flows}")];
        Stretch::of(&run("red/curvy.toml", &sets).figures)
    });
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
        misses.unless(
            (ratio - 1.0).abs() < band,
            what(&format!("delay / (range · √p) is {ratio:.3}")),
        );
        misses.unless(stretch.limit == 0.0, what("the limit drops"));
        misses.unless(stretch.utilisation > 99.5, what("the link is not full"));
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
    misses.within(
        "Curvy RED: growth of delay".to_owned(),
        delays,
        drops.sqrt(),
        10.0,
    );
    table
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
