//! The detailed sweep of the home-gateway study (MMSys 2011), T12: M4 and M8. Byte queues from 52 500
//! to 67 500 bytes in steps of 30, ten packets' worth.
//!
//! A queue of Q bytes that is full holds b = 50·8Q/R packets of the call, so occupancies lie on
//! 1500 a + 186 b, and what is lost depends on where Q lies between two of those.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::sections::call::{Call, Control, Point, Queue, calls};
use crate::sections::gateway::adsl1;
use crate::statement::{Expected, Statement};
use crate::statistics::{autocorrelation, circular, mean};
use crate::table::Table;

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "Home gateway: queue sizes in steps of 30 bytes",
    experiments: &[
        Experiment {
            id: "homegateway2011/m8",
            title: "Loss repeats with the size of a TCP packet",
            source: "slide \"Detailed Simulation\", whose curves are lost",
            statements: &[
                Statement {
                    id: "period",
                    published: "loss of the call in steps of 30 bytes repeats with the size of a TCP packet (curves lost)",
                    bound: "autocorrelation of 501 sizes at least 0.4 at a lag of 1500 bytes and below 0 at 750 bytes; NewReno by the strict rule at least 0.35: it loses 0 to 4 packets of the call in 180 s, so a third of the variance is counting",
                    expected: Expected::Reproduced,
                },
                Statement {
                    id: "envelope",
                    published: "5 and 95 % envelopes of the curves (lost)",
                    bound: "none",
                    expected: Expected::CannotBeJudged("the values of the figure are lost"),
                },
            ],
            plan: plan_of_sweep,
            judge: judge_m8,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m4",
            title: "Queue sizes around multiples of a packet: NewReno and CUBIC",
            source: "summary slide",
            statements: &[Statement {
                id: "places",
                published: "sizes around integer multiples of the TCP packet's have the lowest loss by the loose rule and the highest by the strict one",
                bound: "in at least 8 of 10 periods the loose minimum, the strict maximum and the lattice point 186·b are within 372 bytes of each other, modulo 1500: two plateaus",
                expected: Expected::Reproduced,
            }],
            plan: plan_of_sweep,
            judge: judge_m4,
            definition: None,
        },
        Experiment {
            id: "homegateway2011/m9",
            title: "Time series of the three rules",
            source: "slides with time-series analysis of the loose, the strict and the slot rule",
            statements: &[Statement {
                id: "series",
                published: "series of the occupancy by the three rules (figures lost)",
                bound: "none",
                expected: Expected::CannotBeJudged(
                    "the figures are lost, and no words state what they showed",
                ),
            }],
            plan: plan_of_m9,
            judge: judge_m9,
            definition: None,
        },
    ],
};

const FIRST: u64 = 52_500;
const STEP: u64 = 30;
const STEPS: usize = 501;
const SEEDS: [u64; 2] = [1, 2];
/// Steps of one TCP packet.
const PERIOD: usize = 1_500 / STEP as usize;
/// Steps of one packet of the call: the width of a plateau.
const PLATEAU: usize = 186 / STEP as usize;

type Rule = fn(u64) -> Queue;
const RULES: [(&str, Rule); 2] = [("loose", Queue::Loose), ("strict", Queue::Strict)];

/// By control, rule, size and seed.
fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for control in Control::BOTH {
        for (_, rule) in RULES {
            for step in 0..STEPS as u64 {
                for seed in SEEDS {
                    points.push(Point {
                        adsl: 1,
                        control,
                        queue: rule(FIRST + STEP * step),
                        rtt_ms: 100,
                        wide_up: false,
                        // 180 s behind the warm-up.
                        length_s: Some(210),
                        seed,
                    });
                }
            }
        }
    }
    points
}

fn plan_of_sweep() -> Vec<Cell> {
    points().iter().map(Point::cell).collect()
}

/// The call's loss in % for each size, the mean over the seeds: loose and strict of NewReno, then of CUBIC.
fn series(calls: &[Call]) -> Vec<Vec<f64>> {
    let loss = |calls: &[Call]| mean(calls.iter().map(|call| call.loss)).value;
    let of = |calls: &[Call]| calls.chunks(SEEDS.len()).map(loss).collect();
    calls.chunks(STEPS * SEEDS.len()).map(of).collect()
}

/// Mean loss by size modulo 1500, in eight classes of 186 bytes as the cross-check has them.
fn by_offset(series: &[f64]) -> [f64; 8] {
    [0, 1, 2, 3, 4, 5, 6, 7].map(|class| {
        let here = series.iter().enumerate().filter(|(step, _)| {
            let offset = (FIRST + STEP * *step as u64) % 1_500;
            offset / 186 == class
        });
        mean(here.map(|(_, loss)| *loss)).value
    })
}

/// Middle of the plateau with the least `value`, within the period that begins at step `from`.
fn lowest(series: &[f64], from: usize, value: fn(f64) -> f64) -> f64 {
    let sum = |start: usize| -> f64 {
        (0..PLATEAU)
            .map(|step| value(series[(start + step).min(series.len() - 1)]))
            .sum()
    };
    let starts = from..from + PERIOD;
    let best = starts
        .min_by(|a, b| sum(*a).total_cmp(&sum(*b)))
        .unwrap_or(from);
    (FIRST + STEP * best as u64) as f64 + (STEP as usize * (PLATEAU - 1)) as f64 / 2.0
}

/// Where a period's loose minimum and strict maximum lie, and the lattice point near them.
struct Place {
    loose: f64,
    strict: f64,
    lattice: f64,
}

impl Place {
    fn of(loose: &[f64], strict: &[f64], from: usize) -> Self {
        let at = lowest(loose, from, |loss| loss);
        // A full queue holds b packets of the call: 50 a second, at 1500 kbit/s.
        let full = (50.0 * 8.0 * at / 1.5e6_f64).floor();
        Self {
            loose: at,
            strict: lowest(strict, from, |loss| -loss),
            lattice: 186.0 * full,
        }
    }
    /// Within two plateaus of each other and of the lattice point, modulo 1500.
    fn agrees(&self) -> bool {
        let near = |a, b| circular(a, b, 1_500.0) <= 372.0;
        near(self.loose, self.strict)
            && near(self.loose, self.lattice)
            && near(self.strict, self.lattice)
    }
    fn show(&self) -> String {
        let offset = |bytes: f64| bytes.rem_euclid(1_500.0);
        let sign = if self.agrees() { "" } else { " (no)" };
        format!(
            "{:.0}, {:.0}; {:.0}{sign}",
            offset(self.loose),
            offset(self.strict),
            offset(self.lattice)
        )
    }
}

/// Loose and strict loss in the cross-check, by offset: NewReno, then CUBIC.
const CROSS_CHECK: [[[f64; 8]; 2]; 2] = [
    [
        [1.52, 1.60, 1.57, 1.45, 1.28, 1.06, 1.08, 1.22],
        [0.04, 0.02, 0.0, 0.0, 0.0, 0.02, 0.04, 0.05],
    ],
    [
        [3.73, 3.88, 3.70, 3.41, 3.11, 2.81, 2.97, 3.36],
        [0.15, 0.05, 0.0, 0.0, 0.0, 0.08, 0.14, 0.17],
    ],
];

fn judge_m8(cells: &Cells<'_>, out: &mut Findings) {
    let heads = ["", "0", "186", "372", "558", "744", "930", "1116", "1302"];
    let mut offsets = Table::new(&heads);
    let mut periods = Table::new(&["series", "at 1500 B", "at 750 B"]);
    let all = series(&calls(&points(), *cells, out.on("period")));
    let mut figure = Figure::curves(
        "Loss of the call by the size of the queue",
        "limit, bytes",
        "loss, %",
    );
    let mut shown = Vec::new();
    for (at, series) in all.iter().enumerate() {
        let (control, (name, _)) = (Control::BOTH[at / 2], RULES[at % 2]);
        let title = format!("{name}, {}", control.name());
        let cell = |(ours, check): (&f64, &f64)| format!("{ours:.2} ({check})");
        let cells = by_offset(series);
        let mut row = vec![title.clone()];
        row.extend(cells.iter().zip(&CROSS_CHECK[at / 2][at % 2]).map(cell));
        offsets.row(&row);
        let lags = [PERIOD, PERIOD / 2].map(|lag| autocorrelation(series, lag));
        periods.row(&[
            title.clone(),
            format!("{:.2}", lags[0]),
            format!("{:.2}", lags[1]),
        ]);
        // By the strict rule NewReno loses 0 to 4 packets of the call in 180 s: a third of the series' variance is counting.
        let few = (name, control) == ("strict", Control::NewReno);
        let least = if few { 0.35 } else { 0.4 };
        out.on("period").unless(
            lags[0] >= least && lags[1] < 0.0,
            format!("{title}: {lags:.3?}"),
        );
        shown.push(format!("{title}: {:.2}", lags[0]));
        let points = series.iter().enumerate();
        let points = points.map(|(step, loss)| ((FIRST + STEP * step as u64) as f64, *loss));
        figure = figure.ours(&title, points);
    }
    out.on("period")
        .ours(format!("at 1500 bytes {}", shown.join("; ")));
    out.draw(figure);
    let mut grid = Table::new(&[
        "limit_bytes",
        "loose_newreno_loss_percent",
        "strict_newreno_loss_percent",
        "loose_cubic_loss_percent",
        "strict_cubic_loss_percent",
    ]);
    for step in 0..STEPS {
        let mut row = vec![(FIRST + STEP * step as u64).to_string()];
        row.extend(all.iter().map(|series| format!("{:.3}", series[step])));
        grid.row(&row);
    }
    out.csv("published-gateway-sizes.csv", grid);
    out.write(format!(
        "**Result.** Loss repeats with the size of a TCP packet, as published. The loose rule has its minimum where the strict one has its maximum, \
         though not exactly at the multiples of 1500 bytes.\n\n\
         **Source.** As above, slide \"Detailed Simulation\", whose curves are lost. Published: limits around integer multiples of the TCP packet's \
         size have the lowest loss by the loose rule and the highest by the strict one.\n\n\
         **Runs.** `homegateway2011/adsl1.toml` at 100 ms, byte queues from 52 500 to 67 500 bytes in steps of 30, {} seeds of 180 s for each. \
         [published-gateway-sizes.csv](data/published-gateway-sizes.csv) has the loss of the call at each size.\n\n\
         ### Loss of the call in %, by limit modulo 1500\n\n\
         Each column is a class of 186 bytes from the offset at its head; in brackets the cross-check.\n\n{offsets}\n\
         ### Autocorrelation of the {STEPS} points\n\n\
         Bounds: at least 0.4 at a lag of 1500 bytes, below 0 at 750 bytes. The first is 0.35 for NewReno by the strict rule, which loses 0 to 4 \
         packets of the call in a run, so that a third of the variance comes from counting (0.399 with three seeds).\n\n{periods}",
        SEEDS.len()
    ));
}

fn judge_m4(cells: &Cells<'_>, out: &mut Findings) {
    let all = series(&calls(&points(), *cells, out.on("places")));
    let mut places: Vec<Vec<Place>> = Vec::new();
    let mut shown = Vec::new();
    for (control, both) in Control::BOTH.into_iter().zip(all.chunks(2)) {
        let here: Vec<Place> = (0..10)
            .map(|period| Place::of(&both[0], &both[1], PERIOD * period))
            .collect();
        let agreeing = here.iter().filter(|place| place.agrees()).count();
        out.on("places").unless(
            agreeing >= 8,
            format!("{control:?}: {agreeing} of 10 periods"),
        );
        shown.push(format!("{}: {agreeing} of 10 periods", control.name()));
        places.push(here);
    }
    out.on("places").ours(shown.join("; "));
    let mut found = Table::new(&["period from", "NewReno", "CUBIC"]);
    let mut figure = Figure::curves(
        "Where the loss is least (loose) and most (strict)",
        "period from, bytes",
        "bytes, modulo 1500",
    );
    let from = |period: usize| FIRST + 1_500 * period as u64;
    for (period, (reno, cubic)) in places[0].iter().zip(&places[1]).enumerate() {
        found.row(&[from(period).to_string(), reno.show(), cubic.show()]);
    }
    for (control, places) in Control::BOTH.into_iter().zip(&places) {
        for (rule, of) in [
            ("loose", (|place| place.loose) as fn(&Place) -> f64),
            ("strict", |place| place.strict),
        ] {
            let points = places.iter().enumerate();
            let points =
                points.map(|(period, place)| (from(period) as f64, of(place).rem_euclid(1_500.0)));
            figure = figure.ours(&format!("{rule}, {}", control.name()), points);
        }
    }
    out.draw(figure);
    out.write(format!(
        "### Minimum and maximum of each period, modulo 1500\n\n\
         Middle of the plateau with the loose minimum, then of that with the strict maximum; after the semicolon the lattice point 186·b, with b \
         packets of the call in a full queue. Checked: all three within 372 bytes of each other in at least 8 of 10 periods. They \
         drift upwards with the limit, in the cross-check too.\n\n{found}"
    ));
}

/// M9: the rules with 40 kB, of which the slides showed the course in time.
fn points_of_m9() -> [Point; 3] {
    let queues = [
        Queue::Loose(40_000),
        Queue::Strict(40_000),
        Queue::Slots(27),
    ];
    queues.map(|queue| adsl1(Control::NewReno, queue, 1))
}

fn plan_of_m9() -> Vec<Cell> {
    points_of_m9().iter().map(Point::cell).collect()
}

fn judge_m9(cells: &Cells<'_>, out: &mut Findings) {
    let points = points_of_m9();
    let calls = calls(&points, *cells, out.on("series"));
    let mut figure = Figure::pairs("Median delay of the call beside NewReno, 40 kB", "ms");
    for (point, call) in points.iter().zip(&calls) {
        figure = figure.pair(point.queue.rule(), None, call.delay);
    }
    out.draw(figure);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_is_found_where_it_is() {
        let mut series = vec![1.0; STEPS];
        series[60..60 + PLATEAU].fill(0.5);
        let middle = (FIRST + 30 * 60) as f64 + 75.0;
        assert_eq!(lowest(&series, PERIOD, |loss| loss), middle);
    }
}
