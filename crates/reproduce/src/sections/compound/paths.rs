//! Compound, H-TCP and CUBIC beside Reno, and a second flow of each.

use quell_measure::Summary;

use super::{BESIDE, Grid, HEAD, SECOND, SLOW, goodput, with};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::table::Table;

/// The flow beside four of Reno: Reno itself first.
const BESIDE_RENO: [&str; 4] = ["reno", "compound", "htcp", "cubic"];
const SEEDS_BESIDE_RENO: [u64; 3] = [1, 2, 3];

pub(super) fn plan_of_beside_reno() -> Vec<Cell> {
    let runs = |control: &str| {
        let cell = Cell::new("high-speed/beside-reno.toml").set(with(control, "one"));
        cell.seeds(SEEDS_BESIDE_RENO)
    };
    BESIDE_RENO.into_iter().flat_map(runs).collect()
}

/// What four Reno flows lose to one of another control.
pub(super) fn judge_beside_reno(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let of = |runs: &[Summary]| (goodput(runs, "one"), goodput(runs, "reno"));
    let found: Vec<(f64, f64)> = runs.chunks(SEEDS_BESIDE_RENO.len()).map(of).collect();
    let (one, four) = found[0];
    let fair = (one + 4.0 * four) / 5.0;
    let mut table = Table::new(&["control", "its flow", "each of Reno", "Reno loses, %"]);
    let mut figure = Figure::pairs("What each of four Reno flows loses", "%");
    let mut grid = Grid::new();
    let mut lost = Vec::new();
    for (control, (one, four)) in BESIDE_RENO.into_iter().zip(found) {
        let loses = 100.0 * (1.0 - four / fair);
        table.row(&[
            control.to_owned(),
            digits(one),
            digits(four),
            format!("{loses:.1}"),
        ]);
        let file = "beside-reno";
        grid.add(file, control, "goodput_mbps", one);
        grid.add(file, control, "reno_goodput_mbps", four);
        figure = figure.pair(&format!("to {control}"), None, loses);
        lost.push(loses);
    }
    let checks = out.on("compound");
    checks.unless(
        lost[1] < 15.0,
        format!("Reno loses {} % to Compound", lost[1]),
    );
    checks.ours(format!("{:.1} %", lost[1]));
    let checks = out.on("cubic");
    checks.unless(
        lost[3] > lost[1],
        format!("Reno loses {} % to CUBIC", lost[3]),
    );
    checks.ours(format!(
        "{:.1} % to CUBIC, {:.1} % to Compound",
        lost[3], lost[1]
    ));
    out.draw(figure);
    grid.give(out);
    out.write(HEAD);
    out.write(format!("{BESIDE}\n{table}"));
}

/// Queue on the page, the settings that make it, and how many seeds.
fn slow_paths() -> Vec<(&'static str, Vec<String>, u64)> {
    let fifo = ["link.queue.kind=fifo", "link.queue.limit=100ms"].map(str::to_owned);
    let slow = |queue: &str| {
        let mut sets = [
            "link.rate=20mbit",
            queue,
            "group.reno.count=10",
            "group.l4s.count=4",
        ]
        .map(str::to_owned)
        .to_vec();
        sets.extend(["l4s", "compound", "reno"].map(|group| format!("group.{group}.rtt=20ms")));
        sets
    };
    vec![
        ("DualQ of 2015", Vec::new(), 8),
        // Each flow halves its window about twenty times in a run, so the ratio of two of them scatters by a fifth.
        ("FIFO of 100 ms", fifo.to_vec(), 48),
        (
            "DualQ of 2015, 10 Reno",
            slow("link.queue.kind=dualq_2015"),
            8,
        ),
        ("PIE, 10 Reno", slow("link.queue.kind=pie"), 8),
        ("FQ-CoDel, 10 Reno", slow("link.queue.kind=fq_codel"), 8),
    ]
}

pub(super) fn plan_of_slow_paths() -> Vec<Cell> {
    let runs = |(_, sets, seeds): (&str, Vec<String>, u64)| {
        let cell = Cell::new("dualq2015/one-compound-one-reno.toml").sets(sets);
        cell.seeds(1..=seeds)
    };
    slow_paths().into_iter().flat_map(runs).collect()
}

/// Below 38 segments Compound is Reno.
pub(super) fn judge_slow_paths(cells: &Cells<'_>, out: &mut Findings) {
    let all = cells.summaries();
    let mut rest = all.as_slice();
    let mut table = Table::new(&["queue", "Compound", "Reno"]);
    let mut figure = Figure::pairs("Goodput of Compound over that of Reno", "ratio");
    let mut grid = Grid::new();
    for (queue, _, seeds) in &slow_paths() {
        let (runs, others) = rest.split_at(*seeds as usize);
        rest = others;
        let (compound, reno) = (goodput(runs, "compound"), goodput(runs, "reno"));
        table.row(&[(*queue).to_owned(), digits(compound), digits(reno)]);
        let file = "one-compound-one-reno";
        grid.add(file, queue, "compound_goodput_mbps", compound);
        grid.add(file, queue, "reno_goodput_mbps", reno);
        figure = figure.pair(queue, Some(1.0), compound / reno);
        let what = format!("{queue}, over Reno");
        // 0.9 to 1.1.
        out.on("equal").within(what, compound / reno, 1.0, 10.0);
    }
    out.draw(figure);
    grid.give(out);
    out.write(format!("{SLOW}\n{table}"));
}

/// The control of both flows.
const SECOND_FLOWS: [&str; 3] = ["htcp", "reno", "cubic"];
/// Of the early time, which scatters, and of the late one.
const SEEDS_OF_SECOND_FLOW: [&[u64]; 2] = [&[1, 2, 3, 4, 5, 6, 7, 8], &[1, 2, 3]];

/// The ten seconds until so many seconds after the second flow came.
fn second_flow(control: &str, after: u64) -> Cell {
    Cell::new("high-speed/second-flow.toml").sets([
        with(control, "first"),
        with(control, "second"),
        format!("run.warmup={}s", 90 + after),
        format!("run.duration={}s", 100 + after),
    ])
}

/// Of each control the early runs, then the late ones.
pub(super) fn plan_of_second_flow() -> Vec<Cell> {
    let runs = |control: &str| {
        let [early, late] = SEEDS_OF_SECOND_FLOW;
        let mut cells = second_flow(control, 30).seeds(early.iter().copied());
        cells.extend(second_flow(control, 90).seeds(late.iter().copied()));
        cells
    };
    SECOND_FLOWS.into_iter().flat_map(runs).collect()
}

/// Goodput of the second flow, in parts of half of both.
fn share(runs: &[Summary]) -> f64 {
    let (first, second) = (goodput(runs, "first"), goodput(runs, "second"));
    2.0 * second / (first + second)
}

pub(super) fn judge_second_flow(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let [early, late] = SEEDS_OF_SECOND_FLOW.map(<[u64]>::len);
    let mut table = Table::new(&["control", "20 to 30 s", "80 to 90 s"]);
    let mut figure = Figure::pairs("Goodput of the second flow", "part of its share");
    let mut grid = Grid::new();
    for (control, runs) in SECOND_FLOWS.into_iter().zip(runs.chunks(early + late)) {
        let (early, late) = runs.split_at(early);
        let (early, late) = (share(early), share(late));
        table.row(&[
            control.to_owned(),
            format!("{early:.2}"),
            format!("{late:.2}"),
        ]);
        grid.add("second-flow", control, "share_20_to_30_s", early);
        grid.add("second-flow", control, "share_80_to_90_s", late);
        figure = figure.pair(&format!("{control}, 20 to 30 s"), None, early);
        figure = figure.pair(&format!("{control}, 80 to 90 s"), None, late);
        let shown = format!("{early:.2} of its share");
        match control {
            "htcp" => {
                let checks = out.on("htcp");
                checks.unless(early >= 0.8, format!("H-TCP has {early} after 30 s"));
                checks.ours(shown);
            }
            "reno" => {
                let checks = out.on("reno");
                checks.unless(early < 0.8, format!("Reno has {early} after 30 s"));
                checks.ours(shown);
            }
            _ => (),
        }
    }
    out.draw(figure);
    grid.give(out);
    out.write(format!("{SECOND}\n{table}"));
}
