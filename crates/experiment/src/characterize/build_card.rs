//! Makes a card from the store of its cells alone: it has the same bytes whoever ran which of them, and when.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use quell_aqm::disciplines;
use quell_lab::RunError;
use quell_lab::at_once::each;
use quell_lab::sim::{self, SimError};
use quell_lab::sweep::{Key, PointRecord, Record, Store};

use crate::characterize::card::{
    Card, Class, Distribution, LinkRecord, NotRun, Outcome, PathRecord, PhaseRecord, QueueRecord,
    SCHEMA, ScenarioRecord, Sensitivity,
};
use crate::characterize::figures::{Named, SHARES, over, pooled, quantiles};
use crate::characterize::judge::{not_judged, verdicts};
use crate::characterize::measured::Measured;
use crate::characterize::notes::notes;
use crate::characterize::packet_log::{self, Extent, Means, Nobody, PacketLog, log_packets};
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::{Congestion, millis};
use crate::characterize::request::Queue;
use crate::characterize::test_case::{Content, Run, TestCase};

/// Makes the card from the cells in `store`, which are all there. Packets are logged on `jobs` threads.
///
/// # Errors
///
/// A cell cannot be read, or `stop` was set.
pub fn card(
    prepared: &Prepared,
    store: &Store,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Card, RunError> {
    let runs = runs(prepared, store)?;
    of_runs(prepared, runs, jobs, stop)
}

/// Makes the card without a store: every cell runs now, in the simulator, on `jobs` threads.
///
/// # Errors
///
/// A run fails, or `stop` was set.
pub fn simulated(
    prepared: &Prepared,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Card, RunError> {
    let cells: Vec<(usize, u64)> = (0..prepared.cells.len())
        .flat_map(|cell| (1..=prepared.request.seeds).map(move |seed| (cell, seed)))
        .collect();
    let run = |&(cell, seed): &(usize, u64)| -> Result<Measured, RunError> {
        let cell = &prepared.cells[cell];
        let scenario = prepared.resolved(cell)?;
        let measured = sim::run(&scenario, seed, stop, &mut Nobody);
        let measured = measured.map_err(failed)?;
        if measured.summary.partial {
            return Err(interrupted());
        }
        let back = prepared.back(cell)?;
        Ok(Measured::new(
            &measured.summary,
            &measured.histograms,
            &back,
            cell.run().is_some_and(|run| run.ratio),
        ))
    };
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); prepared.cells.len()];
    for ((cell, _), measured) in cells.iter().zip(each(&cells, jobs.get(), run)) {
        runs[*cell].push(measured?);
    }
    of_runs(prepared, runs, jobs, stop)
}

fn of_runs(
    prepared: &Prepared,
    mut runs: Vec<Vec<Measured>>,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Card, RunError> {
    let request = &prepared.request;
    let logs = packet_logs(prepared, &mut runs, jobs, stop)?;
    let mut card = Card {
        schema: SCHEMA,
        suite: request.suite.name().to_owned(),
        world: request.world.name().to_owned(),
        profile: PathRecord::new(prepared),
        seeds: request.seeds,
        queues: prepared.queues.iter().map(QueueRecord::new).collect(),
        shares: SHARES.map(|share| share as f64 / 1e3).into(),
        scenarios: Vec::new(),
        parameters: Vec::new(),
        not_run: Vec::new(),
        verdicts: Vec::new(),
        notes: notes(prepared)?,
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
        let outcome = Outcome::new(prepared, cell, runs, logs[number].as_ref());
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
    fn new(prepared: &Prepared, cell: &Cell, runs: &[Measured], log: Option<&PacketLog>) -> Self {
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
            distribution: Distribution::new(runs, log),
            losses: log.and_then(|log| log.losses),
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

/// The measured runs of every cell, one for each seed, in the order of the cells.
fn runs(prepared: &Prepared, store: &Store) -> Result<Vec<Vec<Measured>>, RunError> {
    let record = Record::read(store.root())?;
    let of = |(point, cell): (&PointRecord, &Cell)| {
        let back = prepared.back(cell)?;
        let ratio = cell.run().is_some_and(|run| run.ratio);
        let keys = point.cells.iter().filter_map(|(_, key)| Key::parse(key));
        let one = |key: Key| {
            let summary = store.json(key, "summary.json")?;
            let histograms = store.json(key, "histograms.json")?;
            Ok(Measured::new(&summary, &histograms, &back, ratio))
        };
        keys.map(one).collect::<Result<Vec<_>, RunError>>()
    };
    if record.points.len() != prepared.cells.len() {
        return Err(RunError::Failed(format!(
            "{} has another plan; was it written meanwhile?",
            store.root().display()
        )));
    }
    record.points.iter().zip(&prepared.cells).map(of).collect()
}

/// The packet log of the first seed of every cell that needs one. Times to the steady rate, and losses of SYNs, become figures of the runs of
/// all seeds.
fn packet_logs(
    prepared: &Prepared,
    runs: &mut [Vec<Measured>],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Vec<Option<PacketLog>>, RunError> {
    let mut all: Vec<Option<PacketLog>> = vec![None; prepared.cells.len()];
    if !packet_log::is_possible(prepared.request.world) {
        return Ok(all);
    }
    let mut wanted = Vec::new();
    for (number, cell) in prepared.cells.iter().enumerate() {
        let Content::Runs(run) = &cell.test_case.content else {
            continue;
        };
        for seed in 1..=prepared.request.seeds {
            if (run.losses && seed == 1) || run.directions {
                wanted.push((number, seed, Extent::Whole));
            } else if run.start {
                wanted.push((number, seed, Extent::Start));
            }
        }
    }
    let of = |number: usize, seed: u64| &runs[number][seed as usize - 1];
    let found = each(&wanted, jobs.get(), |&(number, seed, what)| {
        let scenario = prepared.resolved(&prepared.cells[number])?;
        let log = log_packets(&scenario, seed, what, &means(of(number, seed)), stop);
        log.map_err(failed)
    });
    for ((number, seed, _), log) in wanted.into_iter().zip(found) {
        let Some(mut log) = log? else {
            return Err(interrupted());
        };
        let asked = |of: fn(&Run) -> bool| prepared.cells[number].run().is_some_and(of);
        let measured = &mut runs[number][seed as usize - 1];
        if asked(|run| run.start) {
            measured.started(&log);
        }
        if asked(|run| run.directions) {
            measured.lost_syns(&log);
        }
        if !asked(|run| run.losses) {
            (log.losses, log.goodput) = (None, Vec::new());
        }
        if seed == 1 {
            all[number] = Some(log);
        }
    }
    Ok(all)
}

/// The steady rates of a run, in bit/s.
fn means(run: &Measured) -> Means {
    let goodput = |named: &Named| named.get("goodput_bps").copied().unwrap_or(0.0);
    Means {
        all: goodput(&run.whole),
        classes: run
            .classes
            .iter()
            .map(|(_, named)| goodput(named))
            .collect(),
    }
}

impl Measured {
    /// Adds the times to the steady rate.
    fn started(&mut self, log: &PacketLog) {
        let add = |named: &mut Named, time: Option<f64>| {
            named.extend(time.map(|time| ("steady_after_s".to_owned(), time)));
        };
        add(&mut self.whole, log.steady_s);
        for ((_, named), time) in self.classes.iter_mut().zip(&log.classes_steady_s) {
            add(named, *time);
        }
    }
}

impl Measured {
    /// Adds the losses of SYNs in each direction.
    fn lost_syns(&mut self, log: &PacketLog) {
        for ((_, named), ratio) in self.directions.iter_mut().zip(&log.syn_loss_ratios) {
            named.extend(ratio.map(|ratio| ("syn_loss_ratio".to_owned(), ratio)));
        }
    }
}

impl Distribution {
    fn new(runs: &[Measured], log: Option<&PacketLog>) -> Self {
        let delays = pooled(runs.iter().map(|run| &run.delays[..]));
        let delays = quantiles(&delays).into_iter();
        let samples = log.map_or(&[][..], |log| &log.goodput);
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

/// The error of a card that was stopped.
fn interrupted() -> RunError {
    RunError::Failed("interrupted".to_owned())
}

fn failed(error: SimError) -> RunError {
    RunError::Failed(error.to_string())
}
