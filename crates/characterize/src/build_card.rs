//! Makes a card from the store of its cells alone: it has the same bytes whoever ran which of them, and when.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use quell_aqm::disciplines;
use quell_lab::at_once::each;
use quell_lab::sweep::{Key, PointRecord, Record, Store};
use quell_lab::{RunError, World, sim};
use quell_units::Time;

use crate::access;
use crate::card::{
    Card, Class, Distribution, LinkRecord, NotRun, Outcome, PathRecord, PhaseRecord, QueueRecord,
    SCHEMA, ScenarioRecord, Sensitivity,
};
use crate::figures::{Named, SHARES, over, pooled, quantiles};
use crate::judge::{not_judged, verdicts};
use crate::measured::Measured;
use crate::packet_log::{self, Means, Nobody, Seen, Wanted, look};
use crate::profile::{Congestion, Profile};
use crate::rates::STEADY;
use crate::request::{Cell, Prepared, Queue};
use crate::suite::Suite;
use crate::test_case::{Content, Item, Run};

/// Makes the card from the cells in `store`, which are all there. Losses are looked at on so many threads.
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

/// The same without a store: every cell runs now, in the simulator, on so many threads.
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
    let run = |&(cell, seed): &(usize, u64)| -> Result<Measured, String> {
        let cell = &prepared.cells[cell];
        let scenario = prepared.resolved(cell)?;
        let measured = sim::run(&scenario, seed, stop, &mut Nobody);
        let measured = measured.map_err(|error| error.to_string())?;
        if measured.summary.partial {
            return Err(INTERRUPTED.to_owned());
        }
        let back = prepared.back(cell)?;
        Ok(Measured::new(
            &measured.summary,
            &measured.histograms,
            &back,
        ))
    };
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); prepared.cells.len()];
    for ((cell, _), measured) in cells.iter().zip(each(&cells, jobs.get(), run)) {
        runs[*cell].push(measured.map_err(RunError::Failed)?);
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
    let seen = all_seen(prepared, &mut runs, jobs, stop)?;
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
        notes: notes(prepared),
    };
    for (number, cell) in prepared.cells.iter().enumerate() {
        let runs = &runs[number];
        if matches!(cell.item.content, Content::Parameters(_)) {
            let (parameter, value) = cell.variant.clone().unzip();
            let whole: Vec<&Named> = runs.iter().map(|run| &run.whole).collect();
            card.parameters.push(Sensitivity {
                parameter,
                value,
                figures: over(&whole),
            });
            continue;
        }
        let outcome = Outcome::new(prepared, cell, runs, seen[number].as_ref());
        let same =
            |last: &&mut ScenarioRecord| last.id == cell.item.id && last.control == cell.control;
        match card.scenarios.last_mut().filter(same) {
            Some(scenario) => scenario.results.push(outcome),
            None => card.scenarios.push(ScenarioRecord {
                id: cell.item.id.to_owned(),
                control: cell.control.clone(),
                source: cell.item.source.to_owned(),
                weight: cell.item.weight.to_owned(),
                title: cell.item.title.to_owned(),
                results: vec![outcome],
            }),
        }
    }
    for (item, why) in &prepared.not_run {
        card.not_run.push(NotRun::new(item, why));
    }
    card.compare();
    card.verdicts = verdicts(&card, prepared);
    card.not_run.extend(not_judged(&card));
    Ok(card)
}

impl PathRecord {
    fn new(prepared: &Prepared) -> Self {
        let mut profile = prepared.request.profile.clone();
        if prepared.request.suite == Suite::Access {
            [profile, _] = access::paths(&profile);
        }
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

fn millis(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
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
    fn new(item: &Item, why: &str) -> Self {
        Self {
            id: item.id.to_owned(),
            title: item.title.to_owned(),
            source: item.source.to_owned(),
            why: why.to_owned(),
        }
    }
}

impl Outcome {
    fn new(prepared: &Prepared, cell: &Cell, runs: &[Measured], seen: Option<&Seen>) -> Self {
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
            distribution: Distribution::new(runs, seen),
            losses: seen.and_then(|seen| seen.losses),
            warnings,
        }
    }
}

/// Parts of a run, each with a name.
type Records = fn(&Measured) -> &[(String, Named)];

/// Parts that every run has, over the runs.
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

/// What every cell measured, in the order of the cells, each with its seeds.
fn runs(prepared: &Prepared, store: &Store) -> Result<Vec<Vec<Measured>>, RunError> {
    let record = Record::read(store.root())?;
    let of = |(point, cell): (&PointRecord, &Cell)| {
        let back = prepared.back(cell).map_err(RunError::Failed)?;
        let keys = point.cells.iter().filter_map(|(_, key)| Key::parse(key));
        let one = |key: Key| {
            let summary = store.json(key, "summary.json")?;
            let histograms = store.json(key, "histograms.json")?;
            Ok(Measured::new(&summary, &histograms, &back))
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

/// What is seen of the first seed of every cell that is looked at. The times to the steady rate become figures of the runs of all seeds.
fn all_seen(
    prepared: &Prepared,
    runs: &mut [Vec<Measured>],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Vec<Option<Seen>>, RunError> {
    let mut all: Vec<Option<Seen>> = vec![None; prepared.cells.len()];
    if !packet_log::is_possible(prepared.request.world) {
        return Ok(all);
    }
    let mut wanted = Vec::new();
    for (number, cell) in prepared.cells.iter().enumerate() {
        let Content::Runs(run) = &cell.item.content else {
            continue;
        };
        for seed in 1..=prepared.request.seeds {
            if (run.losses && seed == 1) || run.directions {
                wanted.push((number, seed, Wanted::Whole));
            } else if run.start {
                wanted.push((number, seed, Wanted::Start));
            }
        }
    }
    let of = |number: usize, seed: u64| &runs[number][seed as usize - 1];
    let found = each(&wanted, jobs.get(), |&(number, seed, what)| {
        let scenario = prepared.resolved(&prepared.cells[number])?;
        look(&scenario, seed, what, &means(of(number, seed)), stop)
    });
    for ((number, seed, _), seen) in wanted.into_iter().zip(found) {
        let Some(mut seen) = seen.map_err(RunError::Failed)? else {
            return Err(RunError::Failed(INTERRUPTED.to_owned()));
        };
        let asked = |of: fn(&Run) -> bool| prepared.cells[number].run().is_some_and(of);
        let measured = &mut runs[number][seed as usize - 1];
        if asked(|run| run.start) {
            measured.started(&seen);
        }
        if asked(|run| run.directions) {
            measured.lost_syns(&seen);
        }
        if !asked(|run| run.losses) {
            (seen.losses, seen.goodput) = (None, Vec::new());
        }
        if seed == 1 {
            all[number] = Some(seen);
        }
    }
    Ok(all)
}

/// What the steady rates of a run are, in bit/s.
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
    /// With the times to the steady rate.
    fn started(&mut self, seen: &Seen) {
        let add = |named: &mut Named, time: Option<f64>| {
            named.extend(time.map(|time| ("steady_after_s".to_owned(), time)));
        };
        add(&mut self.whole, seen.steady_s);
        for ((_, named), time) in self.classes.iter_mut().zip(&seen.classes_steady_s) {
            add(named, *time);
        }
    }
}

impl Measured {
    /// With the losses of SYNs in each direction.
    fn lost_syns(&mut self, seen: &Seen) {
        for ((_, named), ratio) in self.directions.iter_mut().zip(&seen.syn_loss_ratios) {
            named.extend(ratio.map(|ratio| ("syn_loss_ratio".to_owned(), ratio)));
        }
    }
}

impl Distribution {
    fn new(runs: &[Measured], seen: Option<&Seen>) -> Self {
        let delays = pooled(runs.iter().map(|run| &run.delays[..]));
        let delays = quantiles(&delays).into_iter();
        let samples = seen.map_or(&[][..], |seen| &seen.goodput);
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

/// Why there is no card.
const INTERRUPTED: &str = "interrupted";

/// What a reader has to know of every card.
fn notes(prepared: &Prepared) -> Vec<String> {
    let request = &prepared.request;
    let profile = &request.profile;
    let runs = prepared.cells.iter().filter_map(Cell::run);
    let (own, usual): (Vec<&Run>, Vec<&Run>) =
        runs.partition(|run| run.buffer.is_some() || run.home);
    let mut notes = Vec::new();
    if !usual.is_empty() {
        notes.push(format!(
            "The buffer of every queue is one bandwidth-delay product at {} ms: {} packets of 1500 bytes, also where a flow has a longer RTT.",
            millis(profile.rtt),
            profile.buffer()
        ));
    }
    let has_rfc = matches!(request.suite, Suite::Rfc7928 | Suite::All);
    if has_rfc && !usual.is_empty() {
        notes.push(
            "N of heavy congestion is 0.114 S as RFC 7928 prints it; its formula gives 0.1147 S."
                .to_owned(),
        );
    }
    if matches!(request.suite, Suite::Access | Suite::All) {
        let [down, up] = access::paths(profile);
        notes.push(format!(
            "The home of the suite access has the profile's rate down, a fifth of it up, and {} ms of base RTT. Its queues hold a \
             bandwidth-delay product: {} packets down, {} up.",
            millis(down.rtt),
            down.buffer(),
            up.buffer()
        ));
    }
    if own.iter().any(|run| run.marks) {
        notes.push(
            "In the suite l4s every queue holds 1000 packets, rates and RTTs are those of the scenarios, and a queue with a parameter ecn has \
             ecn=true, unless it was given otherwise."
                .to_owned(),
        );
    }
    notes.extend([
        "Delays are sojourn times in the queue; one-way delays of applications stand with their classes.".to_owned(),
        "Distributions of the delay are of all seeds together, packet by packet.".to_owned(),
        "Flow startup time (RFC 7928 section 2.2) runs from a request, with the connection that it opens, to the first byte of its answer at \
         the user; bulk flows have no request."
            .to_owned(),
    ]);
    if request.world == World::Sim {
        notes.push(
            "Losses are looked at one by one in a run of the first seed: gaps between them, and the share of flows that lose at once. \
             Distributions of the goodput are of the same run, in windows of ten base RTTs, the longest of the scenario."
                .to_owned(),
        );
        notes.push(format!(
            "A flow or a class is steady from the start of the first ten base RTTs in which it has {} % of its mean goodput; the time counts \
             from its start, in the warm-up. The RFC has no definition.",
            100.0 * STEADY
        ));
        if request.controls.is_empty() && has_rfc && !usual.is_empty() {
            notes.push(
                "NewReno counts ACKs (RFC 5681 equation 3), as the RFC's formula for N assumes; Linux's counts segments and loses about twice as much: --cc reno."
                    .to_owned(),
            );
        }
    } else {
        notes.push(
            "Not measured in this world: gaps between losses, loss synchronisation, distributions of the goodput, and times to the \
             steady rate."
                .to_owned(),
        );
    }
    if profile.duration != Profile::DURATION {
        notes.push(format!(
            "{} s are measured of each run, not the 60 s of a whole card; times inside the scenarios change in proportion.",
            millis(profile.duration) / 1e3
        ));
    }
    for queue in &prepared.queues {
        if let Some(note) = &queue.note {
            notes.push(format!("{} has {note}.", queue.name));
        }
    }
    notes
}
