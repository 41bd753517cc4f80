//! "Independent of the congestion control": Jain's index of every pair of six controls behind four queues.

use quell_measure::Summary;

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Which queue makes the shares independent of the control",
    experiments: &[Experiment {
        id: "vdq2020/independence",
        title: "Every pair of six controls behind four queues",
        source: "title and conclusion of the slides; the runs are ours",
        statements: &[
            Statement {
                id: "independent",
                published: "an L4S scheduler independent of the congestion control",
                bound: "Jain's index of at least 0.95 with each of 21 pairs of CUBIC, DCTCP, Prague and BBR v1 to v3; the slides print no number",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "other-queues",
                published: "compatibility even within the same family of controls cannot be expected; VDQ-CSAQM supports the coexistence of even incompatible ones",
                bound: "its lowest index of all pairs and its mean are above those of DualPI2 and of drop-tail",
                expected: Expected::Reproduced,
            },
        ],
        plan,
        judge,
        definition: None,
    }],
};

/// Name on the page and in a scenario, and the codepoint of its packets.
const CONTROLS: [(&str, &str, &str); 6] = [
    ("CUBIC", "cubic", "off"),
    ("DCTCP", "dctcp", "ect1"),
    ("Prague", "prague", "ect1"),
    ("BBR v1", "bbr1", "off"),
    ("BBR v2", "bbr2", "off"),
    ("BBR v3", "bbr3", "off"),
];
/// Name, and the settings that make it. Drop-tail holds one bandwidth-delay product.
const QUEUES: [(&str, &[&str]); 4] = [
    ("VDQ-CSAQM", &["link.queue.kind=vdq_csaqm"]),
    ("DualPI2", &["link.queue.kind=dualpi2"]),
    ("FQ-CoDel", &["link.queue.kind=fq_codel"]),
    (
        "drop-tail",
        &["link.queue.kind=fifo", "link.queue.limit=250kB"],
    ),
];

/// Two controls and a queue, each by its place in the lists above.
type Point = (usize, usize, usize);

fn cell(&(first, second, queue): &Point) -> Cell {
    let mut cell = Cell::new("vdq2020/pair.toml").sets(QUEUES[queue].1.iter().copied());
    for (group, control) in [("first", CONTROLS[first]), ("second", CONTROLS[second])] {
        cell = cell
            .set(format!("group.{group}.congestion-control={}", control.1))
            .set(format!("group.{group}.ecn={}", control.2));
    }
    cell
}

fn pairs() -> Vec<(usize, usize)> {
    let with = |first| (first..CONTROLS.len()).map(move |second| (first, second));
    (0..CONTROLS.len()).flat_map(with).collect()
}

/// Each pair behind each queue.
fn points() -> Vec<Point> {
    let behind = |(first, second)| [0, 1, 2, 3].map(|queue| (first, second, queue));
    pairs().into_iter().flat_map(behind).collect()
}

fn plan() -> Vec<Cell> {
    points().iter().map(cell).collect()
}

fn jain(run: &Summary) -> f64 {
    run.figures.jain.unwrap_or(f64::NAN)
}

fn grid(points: &[Point], runs: &[Summary]) -> Table {
    let mut table = Table::new(&[
        "first",
        "second",
        "queue",
        "jain",
        "utilisation",
        "first_mbps_per_flow",
        "second_mbps_per_flow",
    ]);
    for (&(first, second, queue), run) in points.iter().zip(runs) {
        let mut row = [CONTROLS[first].0, CONTROLS[second].0, QUEUES[queue].0]
            .map(str::to_owned)
            .to_vec();
        row.push(format!("{:.3}", jain(run)));
        row.push(format!("{:.4}", run.figures.link.utilisation));
        for group in &run.figures.groups {
            let sum: f64 = group.goodput_bps.iter().sum();
            row.push(format!("{:.2}", sum / group.goodput_bps.len() as f64 / 1e6));
        }
        table.row(&row);
    }
    table
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let names = QUEUES.map(|queue| queue.0);
    let mut table = Table::new(&["pair", names[0], names[1], names[2], names[3]]);
    let mut columns = [const { Vec::new() }; 4];
    for (&(first, second), row) in pairs().iter().zip(runs.chunks_exact(4)) {
        let mut cells = vec![format!("{}, {}", CONTROLS[first].0, CONTROLS[second].0)];
        for (column, run) in columns.iter_mut().zip(row) {
            column.push(jain(run));
            cells.push(format!("{:.3}", jain(run)));
        }
        table.row(&cells);
    }
    let lowest = columns
        .each_ref()
        .map(|column| column.iter().copied().fold(1.0, f64::min));
    let mean = columns
        .each_ref()
        .map(|column| column.iter().sum::<f64>() / column.len() as f64);
    let mut drawn = Figure::pairs("Jain's index of all pairs of six controls", "index");
    for (name, figures) in [("lowest", lowest), ("mean", mean)] {
        let mut cells = vec![format!("**{name}**")];
        cells.extend(figures.map(|figure| format!("{figure:.3}")));
        table.row(&cells);
        for (queue, figure) in names.iter().zip(figures) {
            drawn = drawn.pair(&format!("{queue}: {name}"), None, figure);
        }
    }
    out.draw(drawn);
    let checks = out.on("independent");
    checks.unless(lowest[0] >= 0.95, format!("lowest {lowest:.3?}"));
    checks.ours(format!("at least {:.3}", lowest[0]));
    let checks = out.on("other-queues");
    for figures in [lowest, mean] {
        let is_best = figures[0] > figures[1].max(figures[3]);
        checks.unless(is_best, format!("{figures:.3?}"));
    }
    let both = |queue: usize| {
        let [lowest, mean] = [lowest, mean].map(|figures| figures[queue]);
        format!("{} {lowest:.3}, mean {mean:.3}", names[queue])
    };
    checks.ours(format!("lowest: {}; {}; {}", both(0), both(1), both(3)));
    out.csv("published-independence.csv", grid(&points(), &runs));
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

const RESULT: &str = "\
**Result.** Behind VDQ-CSAQM no pair of controls shares less equally than 0.97, nearly as behind FQ-CoDel, which keeps a queue for each flow.
Behind DualPI2 and drop-tail BBR v1 leaves nothing to the others. A control that takes L4S packets for itself and ignores marks is not among
these: [BBRv2 as shipped](#vdq-csaqm-experiments-with-bbr) starves Classic behind VDQ-CSAQM.

Jain's index of two flows of each control:
";

const TEXT: &str = "\
**Source.** The title and the conclusion of \"A Congestion Control Independent L4S Scheduler\" (ANRW 2020); the table is quell's own.

**Runs.** `scenarios/vdq2020/pair.toml`: two flows of each control, 100 Mbit/s, base RTT 20 ms, 10 s after 5 s. DCTCP and Prague send ECT(1), the others
neither ECT nor an answer to marks. Queues have their defaults; drop-tail holds one bandwidth-delay product, 250 kB. With 60 s instead of
15 s the lowest index behind VDQ-CSAQM is 0.984, and behind DualPI2 0.516. [published-independence.csv](data/published-independence.csv) has the
goodput of each.

**Bounds.** The lowest index behind VDQ-CSAQM is at least 0.95 and above that of DualPI2 and drop-tail; so is the mean.
";
