//! T15: one CUBIC flow is back at the window of its last loss after K = cbrt(Wmax (1 − β)/C).
//!
//! Where the cubic is one segment below and one above Wmax, it is as far before K as behind it, so
//! the middle of the two is K, without the plateau's width in it. Linux rounds the distance to Wmax
//! down to segments: its target is Wmax already where the cubic is one segment below.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::CUBIC;
use crate::probe::cubic::CubicReturn;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "CUBIC: back to the last maximum",
    experiments: &[Experiment {
        id: "controls/cubic",
        title: "CUBIC: back to the last maximum",
        source: "RFC 9438, equation 2",
        statements: &[Statement {
            id: "time-to-maximum",
            published: "K = cbrt(Wmax (1 − β)/C) with C = 0.4: 4.22 s from 100 segments with β = 0.7",
            bound: "within 6 % with each of five variants, one flow with an RTT of 100 ms and more",
            expected: Expected::Reproduced,
        }],
        plan,
        judge,
        definition: None,
    }],
};

/// Name, β, and whether the distance to Wmax is rounded down to segments.
const VARIANTS: [(&str, f64, bool); 5] = [
    ("linux", 0.7, true),
    ("linux_3", 0.7, true),
    ("linux_2_0", 0.8, true),
    ("rfc_9438", 0.7, false),
    ("freebsd_2010", 0.8, false),
];

fn plan() -> Vec<Cell> {
    let cell = |(variant, ..): (&str, f64, bool)| {
        let control = format!(
            "group.flows.congestion-control={{ name = \"cubic\", variant = \"{variant}\", fast_convergence = false }}"
        );
        let sets = [
            "group.flows.count=1",
            // 83 segments, and 16 in the queue.
            "link.rate=10mbit",
            "link.queue.limit=24kB",
        ];
        let cell = Cell::new("gsp2014/e1-taildrop.toml").sets(sets);
        cell.set(control).probe(CUBIC)
    };
    VARIANTS.map(cell).into()
}

impl CubicReturn {
    /// From the end of recovery to the middle of the plateau, in seconds.
    fn took(&self, rounds: bool) -> f64 {
        let below = match rounds {
            true => self.at_maximum_s,
            false => self.one_below_s,
        };
        (below + self.above_s) / 2.0 - self.recovered_s
    }
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let mut table = Table::new(&["variant", "β", "Wmax", "K, s", "quell, s", "off"]);
    let mut figure = Figure::pairs("Time back to the last maximum", "s");
    let found = cells.figures::<CubicReturn>();
    for ((variant, beta, rounds), found) in VARIANTS.into_iter().zip(&found) {
        let took = found.took(rounds);
        let k = f64::from(found.maximum) * (1.0 - beta) / 0.4;
        let k = k.cbrt();
        table.row(&[
            variant.to_owned(),
            beta.to_string(),
            found.maximum.to_string(),
            format!("{k:.2}"),
            format!("{took:.2}"),
            format!("{:+.1} %", 100.0 * (took / k - 1.0)),
        ]);
        let what = format!("{variant}: K, s");
        out.on("time-to-maximum").within(what, took, k, 6.0);
        figure = figure.pair(variant, Some(k), took);
    }
    out.draw(figure);
    out.write(format!(
        "**Result.** Each variant is back at its last maximum after the time that the equation gives, within 1.4 % (bound: 6 %).\n\n{table}\n\
         **Source.** RFC 9438 equation 2: K = cbrt(Wmax (1 − β)/C) with C = 0.4, which is 4.22 s from 100 segments with β = 0.7.\n\n\
         **Runs.** One flow, an RTT of 100 ms and more. Measured is the time from the end of recovery to the middle of the cubic's plateau, \
         between one segment below Wmax and one above."
    ));
}
