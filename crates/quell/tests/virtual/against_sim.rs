//! The simulator beside real TCP in virtual time, at twelve points of the grid of `docs/evidence/validation.md`.
//!
//! Figures, bounds and points are those of `experiments/validation/grid.toml`; only the runs are fewer. Both worlds repeat to the digit, so on
//! one kernel this never fails by chance. Two seeds tell little of the scatter of rare events, though: a ratio of drops or marks
//! is taken to be known no better than their number allows ([`counting_error`]).

use std::fs;
use std::sync::Mutex;
use std::thread;

use quell_experiment::reference::{Compared, Difference};
use quell_experiment::{Cell, Experiment, registry, shipped};
use quell_lab::sweep::Stored;
use quell_measure::Summary;

use crate::stage::Stage;

/// With the others, four points of each control, six of each number of flows, every queue, rates that a busy machine has time for.
const FEW: [&str; 4] = [
    "dualpi2-dctcp-10mbit-5ms-1",
    "fifo1bdp-cubic-10mbit-20ms-1",
    "pie-reno-10mbit-5ms-4",
    "fq_codel-cubic-10mbit-20ms-4",
];
const OTHERS: [&str; 8] = [
    "fifo2bdp-reno-10mbit-5ms-1",
    "dualpi2-cubic-10mbit-5ms-1",
    "gsp-dctcp-10mbit-20ms-4",
    "fifo0.5bdp-dctcp-10mbit-80ms-4",
    "dualpi2-reno-10mbit-80ms-4",
    "fq_codel-dctcp-40mbit-5ms-1",
    "pie-cubic-40mbit-5ms-1",
    "gsp-reno-40mbit-5ms-4",
];

const SEEDS: [u64; 2] = [1, 2];
/// Runs at once.
const THREADS: usize = 2;

#[test]
fn the_simulator_agrees_with_the_real_tcp_at_four_points() {
    agrees(
        "the_simulator_agrees_with_the_real_tcp_at_four_points",
        &FEW,
    );
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_simulator_agrees_with_the_real_tcp_at_eight_more_points() {
    agrees(
        "the_simulator_agrees_with_the_real_tcp_at_eight_more_points",
        &OTHERS,
    );
}

fn agrees(test: &str, points: &[&str]) {
    let Some(stage) = Stage::new(test) else {
        return;
    };
    let mut waiting: Vec<(Experiment, &str)> =
        points.iter().map(|&point| (only(point), point)).collect();
    waiting.reverse();
    let waiting = Mutex::new(waiting);
    let found = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap().pop();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((grid, point)) = next() {
                    let cell = &grid.cells()[0];
                    let [sim, guest] =
                        ["sim", "virtual"].map(|world| run(point, cell, world, &stage));
                    let [of_sim, of_guest] = [&sim, &guest].map(|runs| stored(runs));
                    let compared = grid.compare(&of_sim, &of_guest, "virtual").unwrap();
                    let differences = compared.into_iter().flat_map(|one: Compared| one.now);
                    let differences: Vec<Difference> = differences.collect();
                    // Nothing was compared where a world gave nothing.
                    assert!(differences.len() >= 4, "{point}: {differences:?}");
                    let judged = differences.into_iter().map(|difference| {
                        let counted = counting_error(&difference, &sim, &guest);
                        (point.to_owned(), difference, counted)
                    });
                    found.lock().unwrap().extend(judged);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let missed: Vec<String> = found
        .iter()
        .filter(|(_, difference, counted)| {
            let error = difference.standard_error().max(*counted);
            difference.distance() > difference.bound + error
        })
        .map(|(id, difference, _)| format!("{id}: {difference:?}"))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// How well a ratio of counts is known at all, by the counts in each world: the root of the number of drops or marks, as of
/// independent events. Other figures are not counts.
fn counting_error(difference: &Difference, sim: &[Summary], guest: &[Summary]) -> f64 {
    let of_world = |runs: &[Summary]| {
        let groups = || runs.iter().flat_map(|run| &run.figures.groups);
        let events: u64 = match difference.figure.as_str() {
            "drops, %" => groups().map(|group| group.dropped).sum(),
            "marks, %" => groups().map(|group| group.marked).sum(),
            _ => return 0.0,
        };
        let packets: u64 = groups().map(|group| group.packets).sum();
        100.0 * (events as f64).sqrt() / packets.max(1) as f64
    };
    of_world(sim).hypot(of_world(guest))
}

/// The grid with this point alone, and the seeds.
fn only(point: &str) -> Experiment {
    let grid = registry::find("validation/grid").unwrap()[0];
    let seeds = [(point.to_owned(), SEEDS.len() as u64)];
    let only = grid.with_seeds(Some(seeds.into())).unwrap();
    assert_eq!(
        only.cells().len(),
        SEEDS.len(),
        "{point} is not of the grid"
    );
    only
}

fn stored(runs: &[Summary]) -> Vec<Stored> {
    let one = |summary: &Summary| Stored::Summary(Box::new(summary.clone()));
    runs.iter().map(one).collect()
}

/// Every seed of a point in one world.
fn run(point: &str, cell: &Cell, world: &str, stage: &Stage) -> Vec<Summary> {
    let out = format!("{point}-{world}");
    let text = shipped::scenario(cell.file()).unwrap();
    let name = format!("{out}.toml");
    fs::write(stage.path().join(&name), text).unwrap();
    let seeds = format!("run.seeds={SEEDS:?}");
    let mut command = stage.quell(&["run", &name, "--world", world, "--jobs", "1"]);
    command.args(["--out", &out, "--set", &seeds]);
    for setting in cell.settings() {
        command.args(["--set", setting]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}: {said}");
    SEEDS
        .iter()
        .map(|seed| {
            let file = format!("{out}/seed{seed}/summary.json");
            let summary = fs::read_to_string(stage.path().join(file)).unwrap();
            serde_json::from_str(&summary).unwrap()
        })
        .collect()
}
