//! A few of the applications in the live world, beside the simulator and the virtual world: they show whether the figures that a user
//! notices are of the same size with real packets. Two runs of a point show no more than that.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use quell_lab::World;
use quell_measure::{Estimate, Summary};

use crate::validate::document::estimate;
use crate::validate::error::Error;
use crate::validate::sheet::digits;
use crate::validate::worlds::case::Case;
use crate::validate::worlds::figures::{APP_FIGURES, Difference, Figure, Reference, values};
use crate::validate::worlds::live;
use crate::validate::worlds::sim_and_virtual::PointRuns;
use crate::validate::worlds::store::{Place, Store};
use crate::validate::worlds::{Arguments, applications};

/// The applications and queues that are compared.
const APPLICATIONS: [&str; 3] = ["items", "has", "voice"];
const QUEUES: [&str; 2] = ["fifo", "dualpi2"];
/// Most live runs of a point.
const SEEDS: u64 = 2;

/// The live runs of a point.
#[derive(Debug, Default)]
pub(crate) struct LiveRuns {
    runs: Vec<Summary>,
    /// Runs that were thrown away because the machine was late.
    late_runs: u32,
    not_run: Option<String>,
}

/// Whether a point has live runs.
pub(crate) fn is_compared(point: &applications::Point) -> bool {
    let [application, queue] = point.names();
    APPLICATIONS.contains(&application) && QUEUES.contains(&queue)
}

/// Makes the runs that are not kept, and collects all; `unprepared` is why this machine makes none.
pub(crate) fn measure(
    cases: &[Case],
    arguments: &Arguments,
    store: &Store,
    unprepared: Option<&dyn std::fmt::Display>,
    stop: &AtomicBool,
) -> Result<Vec<LiveRuns>, Error> {
    let few = Arguments {
        seeds: arguments.seeds.min(SEEDS),
        no_live: arguments.no_live || unprepared.is_some(),
        ..arguments.clone()
    };
    let refused = live::run(cases, &few, store, stop)?;
    let mut all = Vec::new();
    for case in cases {
        let why = refused.iter().find(|(other, _)| other == case);
        let mut of_point = LiveRuns {
            not_run: why
                .map(|(_, why)| why.clone())
                .or_else(|| unprepared.map(ToString::to_string)),
            ..LiveRuns::default()
        };
        for seed in 1..=few.seeds {
            let text = case.scenario(World::Live, seed)?.to_toml();
            if let Some(record) = store.get(case, &Place::Live, seed, &text) {
                of_point.late_runs += record.late_runs;
                of_point.runs.push(record.summary);
            }
        }
        all.push(of_point);
    }
    Ok(all)
}

/// Heading of the live part.
const HEAD: &str = "### Beside the live world\n\n";

/// The live part as a document has it, at the end of the part that `name` wrote.
pub(crate) fn written(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<!-- begin: written by {name} -->"))?;
    let (old, _) = rest.split_once(&format!("\n<!-- end: written by {name} -->"))?;
    Some(old[old.find(HEAD)?..].to_owned())
}

/// The live part of the document: a row for each figure of an application.
pub(crate) fn part(all: &[(Case, &PointRuns, LiveRuns)], kernel: &str) -> String {
    let made = || all.iter().flat_map(|(.., live)| &live.runs);
    let mut text = String::from(HEAD);
    if made().count() == 0 {
        let why = all.iter().find_map(|(.., live)| live.not_run.as_deref());
        let _ = writeln!(text, "Not run: {}.\n", why.unwrap_or("not asked for"));
        return text;
    }
    let worst = made().filter_map(live::lateness_ms).fold(0.0, f64::max);
    let again: u32 = all.iter().map(|(.., live)| live.late_runs).sum();
    let (mut rows, mut held, mut judged) = (String::new(), 0, 0);
    for (case, runs, live) in all {
        for figure in APP_FIGURES.iter().map(Figure::App) {
            let Some(row) = row(case, figure, [&runs.sim, &runs.guest, &live.runs]) else {
                continue;
            };
            let one = Difference::new(figure, Reference::Live, &runs.sim, &live.runs);
            judged += usize::from(one.is_some());
            held += usize::from(one.is_some_and(|one| one.holds()));
            rows += &row;
        }
    }
    let _ = write!(
        text,
        "{} live runs with Linux {kernel} on {} processors, at most {SEEDS} of a point, beside the means of the runs above. The live link was \
         at most {worst:.2} ms late at the 99th percentile of a run; {again} runs that were later than {} ms were discarded and repeated. \
         {held} of {judged} bounds hold between the means of simulator and live world, standard errors apart, which are wide with \
         {SEEDS} runs.\n\n\
         | point | figure | sim | virtual | live, each run |\n| --- | --- | --- | --- | --- |\n{rows}\n",
        made().count(),
        std::thread::available_parallelism().map_or(1, usize::from),
        live::TOLERABLE_MS,
    );
    text
}

/// The row of a figure; `None` where a world does not have it, or it is zero in all.
fn row(case: &Case, figure: Figure, worlds: [&[Summary]; 3]) -> Option<String> {
    let [sim, guest, live] = worlds.map(|runs| values(figure, runs));
    if live.is_empty() || sim.iter().chain(&guest).chain(&live).all(|v| *v == 0.0) {
        return None;
    }
    let [sim, guest] = [sim, guest].map(|values| Estimate::new(&values));
    let live: Vec<String> = live
        .iter()
        .map(|value| format!("{value:.*}", digits(*value)))
        .collect();
    Some(format!(
        "| {} | {} | {} | {} | {} |\n",
        case.id,
        figure.title(),
        estimate(&sim?),
        estimate(&guest?),
        live.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_application_meets_each_queue_and_what_was_not_run_is_said() {
        let points: Vec<_> = applications::points()
            .into_iter()
            .filter(is_compared)
            .collect();
        assert_eq!(points.len(), APPLICATIONS.len() * QUEUES.len());
        let runs = PointRuns::default();
        let live = LiveRuns {
            not_run: Some("no user namespace".to_owned()),
            ..LiveRuns::default()
        };
        let text = part(&[(points[0].case(), &runs, live)], "6.18");
        assert!(text.contains("Not run: no user namespace."), "{text}");
    }
}
