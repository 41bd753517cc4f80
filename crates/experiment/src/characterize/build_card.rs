//! Makes a card of its runs: it has the same bytes whoever ran which of them, and when.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use quell_aqm::disciplines;
use quell_lab::sweep::{Plan, Store};
use quell_lab::{GuestOptions, RunError};

use crate::characterize::card::{
    Card, Class, Distribution, LinkRecord, NotRun, Outcome, PathRecord, PhaseRecord, QueueRecord,
    SCHEMA, ScenarioRecord, Sensitivity,
};
use crate::characterize::figures::{Named, SHARES, over, pooled, quantiles};
use crate::characterize::judge::{not_judged, verdicts};
use crate::characterize::measured::Measured;
use crate::characterize::notes::notes;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::{Congestion, millis};
use crate::characterize::request::Queue;
use crate::characterize::runs::{self, Numbered};
use crate::characterize::seeds;
use crate::characterize::test_case::{Content, Run, TestCase};

/// Makes the card from the runs in `store`: `fill` runs what it lacks of a plan, such as by [`quell_lab::sweep::run`]. Cards that share a store
/// share the runs that they have in common.
///
/// # Errors
///
/// A run failed or cannot be read, or an error of `fill`.
pub fn card(
    prepared: &Prepared,
    store: &Store,
    guest: &GuestOptions,
    fill: &mut dyn FnMut(&Plan) -> Result<(), RunError>,
) -> Result<Card, RunError> {
    of_seeds(prepared, |numbered| {
        runs::of_store(prepared, numbered, store, guest, fill)
    })
}

/// Makes the card without a store: every run is simulated now, on `jobs` threads.
///
/// # Errors
///
/// A run fails, or `stop` was set.
pub fn simulated(
    prepared: &Prepared,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Card, RunError> {
    of_seeds(prepared, |numbered| {
        runs::simulated(prepared, numbered, jobs, stop)
    })
}

/// Runs as many seeds of each cell as it needs.
fn of_seeds(
    prepared: &Prepared,
    mut run: impl FnMut(&[Numbered]) -> Result<Vec<Measured>, RunError>,
) -> Result<Card, RunError> {
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); prepared.cells.len()];
    loop {
        let wanted = seeds::wanted(prepared, &runs)?;
        if wanted.is_empty() {
            return of_runs(prepared, &runs);
        }
        for ((cell, _), measured) in wanted.iter().zip(run(&wanted)?) {
            runs[*cell].push(measured);
        }
    }
}

fn of_runs(prepared: &Prepared, runs: &[Vec<Measured>]) -> Result<Card, RunError> {
    let request = &prepared.request;
    let mut card = Card {
        schema: SCHEMA,
        suite: request.suite.name().to_owned(),
        world: request.world.name().to_owned(),
        profile: PathRecord::new(prepared),
        seeds: runs.iter().map(Vec::len).max().unwrap_or(0) as u64,
        queues: prepared.queues.iter().map(QueueRecord::new).collect(),
        shares: SHARES.map(|share| share as f64 / 1e3).into(),
        scenarios: Vec::new(),
        parameters: Vec::new(),
        not_run: Vec::new(),
        verdicts: Vec::new(),
        notes: notes(prepared, runs)?,
    };
    for (number, cell) in prepared.cells.iter().enumerate() {
        let runs = &runs[number];
        if matches!(cell.test_case.content, Content::Parameters(_)) {
            let (parameter, value) = cell.variant.clone().unzip();
            let whole: Vec<&Named> = runs.iter().map(|run| &run.whole).collect();
            card.parameters.push(Sensitivity {
                parameter,
                value,
                figures: over(&whole),
            });
            continue;
        }
        let outcome = Outcome::new(prepared, cell, runs);
        let same = |last: &&mut ScenarioRecord| {
            last.id == cell.test_case.id && last.control == cell.control
        };
        match card.scenarios.last_mut().filter(same) {
            Some(scenario) => scenario.results.push(outcome),
            None => card.scenarios.push(ScenarioRecord {
                id: cell.test_case.id.clone(),
                control: cell.control.clone(),
                source: cell.test_case.source.clone(),
                weight: cell.test_case.weight.clone(),
                title: cell.test_case.title.clone(),
                results: vec![outcome],
            }),
        }
    }
    for (test_case, why) in &prepared.not_run {
        card.not_run.push(NotRun::new(test_case, why));
    }
    card.compare();
    card.verdicts = verdicts(&card, prepared)?;
    card.not_run.extend(not_judged(&card, prepared));
    Ok(card)
}

impl PathRecord {
    fn new(prepared: &Prepared) -> Self {
        let test_cases = prepared.request.suite.only().map(|part| &part.test_cases);
        let first = test_cases.and_then(|all| all.first());
        let profile = &prepared.request.profile;
        let profile = first.map_or(profile.clone(), |first| first.path(profile));
        let levels = [Congestion::Mild, Congestion::Medium, Congestion::Heavy];
        Self {
            name: profile.name.clone(),
            rate_bps: profile.rate.as_bps(),
            rtt_ms: millis(profile.rtt),
            measured_s: millis(profile.duration) / 1e3,
            warmup_s: millis(profile.warmup()) / 1e3,
            buffer_packets: profile.buffer(),
            held_packets: profile.held(),
            flows: levels.map(|level| profile.flows(level)),
        }
    }
}

impl QueueRecord {
    fn new(queue: &Queue) -> Self {
        let kind = queue.name.split(':').next().unwrap_or_default();
        let entry = disciplines::find(kind).ok();
        let of = |text: fn(&quell_aqm::kind::Entry) -> &'static str| {
            entry.map_or(String::new(), |entry| text(entry).to_owned())
        };
        Self {
            name: queue.name.clone(),
            spec: queue.spec.clone(),
            summary: of(|entry| entry.summary),
            source: of(|entry| entry.source),
            note: queue.note.clone(),
        }
    }
}

impl NotRun {
    pub(crate) fn new(test_case: &TestCase, why: &str) -> Self {
        Self {
            id: test_case.id.clone(),
            title: test_case.title.clone(),
            source: test_case.source.clone(),
            why: why.to_owned(),
        }
    }
}

impl Outcome {
    fn new(prepared: &Prepared, cell: &Cell, runs: &[Measured]) -> Self {
        let whole: Vec<&Named> = runs.iter().map(|run| &run.whole).collect();
        let first = runs.first();
        let classes = first.map_or(0, |run| run.classes.len());
        let class = |number: usize| {
            let figures: Vec<&Named> = runs.iter().map(|run| &run.classes[number].1).collect();
            Class {
                name: runs[0].classes[number].0.clone(),
                points: points(&figures, "goodput_per_flow_bps"),
                figures: over(&figures),
            }
        };
        let reported = |of: fn(&Run) -> bool| cell.run().is_some_and(of);
        let directions: Records = match reported(|run| run.directions) {
            true => |run| &run.directions,
            false => |_| &[],
        };
        let phases = first
            .filter(|_| reported(|run| run.phases))
            .map_or(0, |run| run.phases.len());
        let phase = |number: usize| {
            let figures: Vec<&Named> = runs.iter().map(|run| &run.phases[number].2).collect();
            let (start_s, end_s, _) = runs[0].phases[number];
            PhaseRecord {
                start_s,
                end_s,
                figures: over(&figures),
            }
        };
        let mut warnings: Vec<String> = Vec::new();
        for warning in runs.iter().flat_map(|run| &run.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        Self {
            queue: prepared.queues[cell.queue].name.clone(),
            points: points(&whole, "goodput_bps"),
            whole: over(&whole),
            classes: (0..classes).map(class).collect(),
            links: records(runs, |run| &run.links),
            directions: records(runs, directions),
            phases: (0..phases).map(phase).collect(),
            distribution: Distribution::new(runs),
            losses: first.and_then(|run| run.losses),
            warnings,
        }
    }
}

/// A function that gives the named parts of a run, such as its links.
type Records = fn(&Measured) -> &[(String, Named)];

/// Figures of the named parts over the runs.
fn records(runs: &[Measured], of: Records) -> Vec<LinkRecord> {
    let parts = runs.first().map_or(&[][..], of).iter().enumerate();
    let record = |(number, (name, _)): (usize, &(String, Named))| {
        let figures: Vec<&Named> = runs.iter().map(|run| &of(run)[number].1).collect();
        LinkRecord {
            name: name.clone(),
            figures: over(&figures),
        }
    };
    parts.map(record).collect()
}

/// Delay and goodput of each run that has both.
fn points(runs: &[&Named], goodput: &str) -> Vec<(f64, f64)> {
    let point = |run: &&Named| Some((*run.get("delay_ms.mean")?, *run.get(goodput)?));
    runs.iter().filter_map(point).collect()
}

impl Distribution {
    fn new(runs: &[Measured]) -> Self {
        let delays = pooled(runs.iter().map(|run| &run.delays[..]));
        let delays = quantiles(&delays).into_iter();
        let samples = runs.first().map_or(&[][..], |run| &run.goodput);
        // Bits per second are whole.
        let mut counts: Vec<(u64, u64)> = samples.iter().map(|&rate| (rate as u64, 1)).collect();
        counts.sort_unstable();
        let goodput = quantiles(&counts).into_iter();
        Self {
            delay_ms: delays.map(|delay| delay as f64 / 1e6).collect(),
            goodput_bps: goodput.map(|rate| rate as f64).collect(),
        }
    }
}
