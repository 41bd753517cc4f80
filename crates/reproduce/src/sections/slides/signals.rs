//! Signals in a round trip: Reno gets one in ever more, DCTCP two in each.

use super::panel;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::{ROUNDS, rounds::Rounds};
use crate::statement::{Expected, Statement};
use crate::table::Table;
use quell_measure::Summary;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dualq2015/signals",
    title: "Round trips per drop of Reno, marks per round trip of DCTCP",
    source: "slide \"Opportunity to support a new TCP CC family\"",
    statements: &[
        Statement {
            id: "reno-40mbit-20ms",
            published: "Reno: 45 round trips per drop event with 40 Mbit/s and 20 ms",
            bound: "within 10 %: behind a buffer of a third of the bandwidth-delay product, with which the mean window is that product, two thirds of it are 44.4 round trips",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "reno-1gbit-100ms",
            published: "Reno: 5600 round trips per drop event with 1 Gbit/s and 100 ms",
            bound: "within 10 %: two thirds of the product are 5556 round trips",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "dctcp",
            published: "DCTCP: C = 2 marked packets per round trip, at any rate",
            bound: "within 20 % at 12, 40 and 120 Mbit/s and 20 ms beside CUBIC in the DualQ: windows are of 3 to 40 packets, and one packet more or less is a large part of the smallest",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "dctcp-200mbit",
            published: "the same",
            bound: "within 20 % at 200 Mbit/s; guarded below 6",
            expected: Expected::Differs(
                "not examined: of the four rates the Classic queue, from which the marks are coupled, swings most there (P99 of its delay 2.5 times the mean, 1.5 to 1.8 times at the others); DCTCP reduces once for all marks of a round trip, so bursts of marks count for less",
            ),
        },
    ],
    plan,
    judge,
    definition: None,
};

/// Rate in Mbit/s, RTT in ms, the statement and its figure; packets of a third of the bandwidth-delay product; warm-up and length of the
/// run in s.
struct Path {
    rate: u64,
    rtt: u64,
    id: &'static str,
    published: f64,
    limit: u64,
    run: [u64; 2],
}

const PATHS: [Path; 2] = [
    Path {
        rate: 40,
        rtt: 20,
        id: "reno-40mbit-20ms",
        published: 45.0,
        limit: 22,
        run: [20, 120],
    },
    Path {
        rate: 1_000,
        rtt: 100,
        id: "reno-1gbit-100ms",
        published: 5_600.0,
        limit: 2_778,
        run: [60, 1_800],
    },
];

/// In Mbit/s, with an RTT of 20 ms.
const RATES: [u64; 4] = [12, 40, 120, 200];
const RTT: u64 = 20;

fn plan() -> Vec<Cell> {
    let of_reno = |path: &Path| {
        Cell::new("dualq2015/one-flow.toml")
            .sets([
                format!("link.rate={}mbit", path.rate),
                format!("group.flow.rtt={}ms", path.rtt),
                format!(
                    "link.queue={{ kind = \"fifo\", limit = \"{}p\" }}",
                    path.limit
                ),
                format!("run.warmup={}s", path.run[0]),
                format!("run.duration={}s", path.run[1]),
            ])
            .probe(ROUNDS)
    };
    let of_dctcp = RATES.iter().flat_map(|rate| panel::cells(*rate, RTT));
    PATHS.iter().map(of_reno).chain(of_dctcp).collect()
}

/// Marks of the group `l4s` in a round trip of a flow.
fn marks(run: &Summary) -> Option<f64> {
    let group = group(run, "l4s")?;
    let rtt = group.rtt_ms?.mean / 1e3;
    let per_flow = group.marked as f64 / group.count as f64;
    Some(per_flow * rtt / (run.duration_s - run.warmup_s))
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let (reno, dctcp) = cells.split_at(PATHS.len());
    let mut table = Table::new(&["sender", "path", "published", "quell"]);
    let mut figure = Figure::pairs("Reno: round trips per drop event", "round trips");
    for (path, found) in PATHS.iter().zip(reno.figures::<Rounds>()) {
        let count = found.between.len();
        // A run of a second has none.
        let mean = found.between.iter().sum::<f64>() / count.max(1) as f64;
        let name = format!("{} Mbit/s, {} ms", path.rate, path.rtt);
        let what = format!("{name}: round trips");
        out.on(path.id).within(what, mean, path.published, 10.0);
        out.on(path.id)
            .guard(count >= 1, format!("{name}: {count} stretches"));
        figure = figure.pair(&name, Some(path.published), mean);
        table.row(&[
            "Reno, round trips per drop event".to_owned(),
            name,
            digits(path.published),
            digits(mean),
        ]);
    }
    out.draw(figure);
    let runs = dctcp.summaries();
    let mut figure = Figure::pairs("DCTCP: marks per round trip", "marks");
    for (rate, runs) in RATES.iter().zip(runs.chunks(runs.len() / RATES.len())) {
        let found: Vec<f64> = runs.iter().filter_map(marks).collect();
        let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
        let name = format!("{rate} Mbit/s, {RTT} ms");
        let checks = out.on(match rate {
            200 => "dctcp-200mbit",
            _ => "dctcp",
        });
        checks.within(format!("{name}: marks"), mean, 2.0, 20.0);
        checks.guard(mean < 6.0, format!("{name}: {mean} marks"));
        figure = figure.pair(&name, Some(2.0), mean);
        table.row(&[
            "DCTCP, marks per round trip".to_owned(),
            name,
            digits(2.0),
            digits(mean),
        ]);
    }
    out.draw(figure);
    out.write(format!("{TEXT}\n{table}\n{END}"));
}

const TEXT: &str = "\
### Signals in a round trip

**Result.** As on the slide, Reno needs ever more round trips for one signal, and DCTCP gets about two marks in each, but for 200 Mbit/s, where
it gets four.
";

const END: &str = "\
**Runs.** Reno alone, `scenarios/dualq2015/one-flow.toml` behind a drop-tail queue of a third of the bandwidth-delay product: the mean window is
then that product, and two thirds of it are the round trips from half of the window to the whole. DCTCP as in the panel, beside two CUBIC
downloads behind the DualQ: behind a step alone marks come in bursts, and their number is another.
";
