//! Items of the web: flow completion times that heistp/ccafct publishes.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::ITEMS;
use crate::probe::items::{Item, Items};
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Web items: flow completion times beside a download",
    experiments: &[Experiment {
        id: "applications/web-items",
        title: "Flow completion times of web items, alone and beside a CUBIC download",
        source: "README of heistp/ccafct (2020), `fq_codel flows 1` at 50 Mbit/s",
        statements: &[
            Statement {
                id: "geometric-mean",
                published: "geometric mean of 176 to 977 ms alone and 339 to 1128 ms beside a download, with 10 to 160 ms of RTT",
                bound: "within 30 % in each of ten rows: the source has single runs on real hosts",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "median",
                published: "median of 154 to 976 ms alone and 315 to 1043 ms beside a download",
                bound: "within 30 % in each of ten rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "p95",
                published: "P95 of 1.06 to 3.47 s alone and 1.99 to 4.21 s beside a download",
                bound: "none",
                expected: Expected::CannotBeJudged(
                    "of 900 items of a single run the slowest 45 decide it, and their sizes are not published",
                ),
            },
            Statement {
                id: "harm",
                published: "harm, 1 − geometric mean alone / beside: 0.48, 0.36, 0.22, 0.34 and 0.13 from 10 to 160 ms",
                bound: "it falls from the shortest to the longest RTT",
                expected: Expected::Reproduced,
            },
        ],
        plan,
        judge,
        definition: None,
    }],
};

/// README of heistp/ccafct, `fq_codel flows 1` at 50 Mbit/s, one run each on real hosts of 2020: RTT, then geometric mean, median and
/// 95th percentile alone and beside a CUBIC download, all in ms.
const PUBLISHED: [(u64, [f64; 3], [f64; 3]); 5] = [
    (10, [176.2, 154.3, 1_061.0], [339.3, 314.9, 2_003.0]),
    (20, [243.0, 211.5, 1_155.0], [376.6, 351.7, 1_986.0]),
    (40, [369.2, 317.8, 1_635.0], [475.7, 423.9, 2_180.0]),
    (80, [599.9, 554.5, 2_136.0], [906.7, 846.9, 3_709.0]),
    (160, [976.6, 976.4, 3_465.0], [1_127.7, 1_043.2, 4_208.0]),
];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const SEED_COUNT: usize = 5;

fn plan() -> Vec<Cell> {
    let of_rtt = |(rtt, ..): &(u64, _, _)| {
        let items = format!("group.items.rtt={rtt}ms");
        let download = format!("group.download.rtt={rtt}ms");
        let alone = Cell::new("web/ccafct-alone.toml").set(&items);
        let beside = Cell::new("web/ccafct.toml").set(&items).set(download);
        [alone, beside].map(|cell| cell.probe(ITEMS).slow().seeds(SEEDS))
    };
    PUBLISHED.iter().flat_map(of_rtt).flatten().collect()
}

/// Geometric mean, median and 95th percentile of all runs together; not numbers without items.
fn figures(runs: &[Items]) -> [f64; 3] {
    let items = runs.iter().filter_map(|run| run.groups.first()).flatten();
    let mut spans: Vec<f64> = items.map(|item: &Item| item.completion_ms()).collect();
    spans.sort_by(f64::total_cmp);
    let logarithms: f64 = spans.iter().map(|span| span.ln()).sum();
    let count = spans.len();
    let at = |place: usize| spans.get(place).copied().unwrap_or(f64::NAN);
    [
        (logarithms / count as f64).exp(),
        at(count / 2),
        at(count * 95 / 100),
    ]
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.figures::<Items>();
    let found: Vec<[f64; 3]> = runs.chunks(SEED_COUNT).map(figures).collect();
    let heads = [
        "RTT, ms",
        "beside",
        "geometric mean",
        "quell",
        "median",
        "quell",
        "P95",
        "quell",
    ];
    let mut table = Table::new(&heads);
    let mut harms = Vec::new();
    let published = |at: usize| move |row: &(u64, [f64; 3], [f64; 3])| (row.0 as f64, row.2[at]);
    let mut figure = Figure::curves("Geometric mean beside a download", "RTT, ms", "ms")
        .published("ccafct", PUBLISHED.iter().map(published(0)));
    let mut curve = Vec::new();
    for ((rtt, alone, beside), found) in PUBLISHED.iter().zip(found.chunks(2)) {
        for (name, published, ours) in [("–", alone, found[0]), ("CUBIC", beside, found[1])] {
            let mut cells = vec![rtt.to_string(), name.to_owned()];
            for (published, ours) in published.iter().zip(ours) {
                cells.extend([digits(*published), digits(ours)]);
            }
            table.row(&cells);
            for (id, figure, at) in [
                ("geometric-mean", "geometric mean", 0),
                ("median", "median", 1),
            ] {
                let what = format!("{figure} at {rtt} ms beside {name}");
                out.on(id).within(what, ours[at], published[at], 30.0);
            }
        }
        curve.push((*rtt as f64, found[1][0]));
        harms.push(1.0 - found[0][0] / found[1][0]);
    }
    figure = figure.ours("quell", curve);
    out.draw(figure);
    let shown: Vec<String> = harms.iter().map(|harm| format!("{harm:.2}")).collect();
    let shown = shown.join(", ");
    let checks = out.on("harm");
    checks.unless(
        harms[0] > harms[4],
        format!("harm does not fall with the RTT: {harms:.3?}"),
    );
    checks.ours(&shown);
    let ends: Vec<String> = found.iter().map(|figures| digits(figures[2])).collect();
    out.on("p95").ours(format!(
        "{} to {} ms alone, {} to {} ms beside a download",
        ends[0], ends[8], ends[1], ends[9]
    ));
    out.write(format!(
        "{HEAD}\n\n{table}\n\nHarm, 1 − geometric mean alone / beside, by RTT: published 0.48, 0.36, 0.22, 0.34, 0.13; quell {shown}."
    ));
}

const HEAD: &str = "\
Source: README of heistp/ccafct (2020), one run each on real hosts. Items of log-normal size (64 KiB at the 5th percentile, 2 MiB at the
95th) arrive at 5 per second, at 50 Mbit/s with CoDel in one queue. `scenarios/web/ccafct.toml`, five seeds together; times in ms.
**Bounds:** geometric mean and median within 30 %, as the source has single runs; harm falls from the shortest to the longest RTT.";
