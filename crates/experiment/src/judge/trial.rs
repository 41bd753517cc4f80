//! A stack with the clauses that are judged: its runs, and the verdicts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::results::packets::add_secrets;
use quell_lab::results::read::captured;
use quell_lab::scenario::{Override, Problems};
use quell_lab::sweep::Stored;
use quell_lab::{GuestOptions, LiveOptions, Options, RunError, Scenario, World, run};
use quell_units::Time;
use serde_json::Value as Json;

use super::clause::{self, Clause, Wanted};
use super::echo::Echo;
use super::flow_log;
use super::keys;
use super::qlog::{self, Sample};
use super::stack::{Claims, Stack};
use super::traffic::{self, PACKETS};
use crate::cell::Cell;
use crate::experiment::Experiment;
use crate::ruling::Verdict;

/// Packets that a stack sends at least, or it sends nothing.
const LEAST: u64 = 20;
/// The group in which a stack may end early: what breaks its path is what it is judged by.
const MAY_END: &str = "broken-paths";

/// The group of clauses for tunnels, which no other applies to.
const TUNNELS: &str = "tunnel";

/// The clause that is judged by what a stack logs.
const LOGGED: &str = "fb-quic-count";

/// A stack with the clauses that are judged.
#[derive(Debug)]
pub struct Trial {
    /// The stack.
    pub stack: Stack,
    world: World,
    guest: GuestOptions,
    seeds: u64,
    clauses: Vec<Clause>,
    experiments: Vec<Experiment>,
}

/// A run of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The place of its experiment, and its own in that.
    experiment: usize,
    cell: usize,
}

/// A verdict on a clause.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The clause.
    pub clause: Clause,
    /// What became of it.
    pub verdict: Verdict,
    /// The figure that decides, in words.
    pub figure: String,
}

impl Trial {
    /// What there is to run.
    ///
    /// # Errors
    ///
    /// What the stack says is too long for a scenario.
    pub fn new(
        mut stack: Stack,
        wanted: &Wanted,
        seeds: u64,
        world: World,
        guest: &GuestOptions,
    ) -> Result<Self, Problems> {
        let all = clause::clauses().into_iter();
        let clauses: Vec<Clause> = all.filter(|one| wanted.has(one)).collect();
        // A log costs time.
        if clauses.iter().all(|one| one.id != LOGGED) {
            stack.forget_log();
        }
        let groups = clause::groups();
        let groups = groups.filter(|group| clauses.iter().any(|one| one.group == *group));
        let experiments = groups.map(|group| clause::experiment(group, Some(&stack), seeds));
        Ok(Self {
            experiments: experiments.collect::<Result<_, _>>()?,
            world,
            guest: guest.clone(),
            seeds,
            stack,
            clauses,
        })
    }

    /// All runs but those of clauses that do not apply, or are open, whatever comes out.
    pub fn runs(&self) -> Vec<Run> {
        let all = self.experiments.iter().enumerate();
        let all = all.filter(|(_, one)| self.is_needed(one));
        all.flat_map(|(experiment, one)| {
            (0..one.cells().len()).map(move |cell| Run { experiment, cell })
        })
        .collect()
    }

    fn is_needed(&self, experiment: &Experiment) -> bool {
        let mut own = self.clauses.iter().filter(|one| one.group == experiment.id);
        !self.is_of_no_tunnel(experiment) && own.any(|one| !experiment.is_decided(&one.id))
    }

    /// The stack is a tunnel, and these are no clauses for one.
    fn is_of_no_tunnel(&self, experiment: &Experiment) -> bool {
        self.stack.claims == Claims::Tunnel && experiment.id != TUNNELS
    }

    fn cell(&self, run: Run) -> (&Experiment, &Cell) {
        let experiment = &self.experiments[run.experiment];
        (experiment, &experiment.cells()[run.cell])
    }

    /// The folder of a run below that of the stack.
    pub fn folder(&self, run: Run) -> PathBuf {
        let (experiment, cell) = self.cell(run);
        let point = run.cell as u64 / self.seeds + 1;
        Path::new(&experiment.id).join(format!("{point}-seed{}", cell.own_seed()))
    }

    /// The clauses that a run is for.
    pub fn group(&self, run: Run) -> &str {
        &self.experiments[run.experiment].id
    }

    /// The scenario of a run.
    ///
    /// # Errors
    ///
    /// The stack cannot run in this world.
    pub fn scenario(&self, run: Run) -> Result<Scenario, RunError> {
        let (experiment, cell) = self.cell(run);
        let sets = cell.sets_in(self.world);
        let sets = sets.iter().map(|set| Override::set(set));
        let sets: Vec<Override> = sets
            .collect::<Result<_, _>>()
            .map_err(|why| RunError::refused(why.to_string()))?;
        let text = experiment.scenario(cell.file()).unwrap_or_default();
        let loaded = Scenario::load(cell.file(), text, &sets, Some(self.world));
        let mut scenario = loaded
            .map_err(|why| RunError::refused(why.to_string()))?
            .scenario;
        scenario.run.seeds = vec![cell.own_seed()];
        Ok(scenario)
    }

    /// Carries a run out, into a folder that must not exist; what came out, or why nothing did.
    pub fn carry_out(&self, run: Run, folder: &Path, stop: &AtomicBool) -> Stored {
        let done = || -> Result<String, RunError> {
            let scenario = self.scenario(run)?;
            let options = Options {
                out: Some(folder.to_owned()),
                packets: true,
                guest: self.guest.clone(),
                live: LiveOptions {
                    allow_programs: true,
                    directory: Some(self.stack.folder.clone()),
                    ..LiveOptions::default()
                },
                ..Options::new(self.world, stop)
            };
            self::run(&scenario, options, &mut |_| {})?;
            let logs = folder.join(traffic::PROGRAMS).join(traffic::GROUP);
            let log = keys::read(&logs);
            if !log.is_empty() {
                let added = add_secrets(&folder.join(PACKETS), log.as_bytes());
                added.map_err(|error| RunError::Failed(error.to_string()))?;
            }
            traffic::figures(&scenario, folder, Echo::read(&logs, &log, &self.stack))
        };
        // A guest that got no processor for a minute is another one's fault.
        let again = |error| match error {
            RunError::Failed(_) if !stop.load(Ordering::Relaxed) => {
                let _ = fs::remove_dir_all(folder);
                done()
            }
            error => Err(error),
        };
        match done().or_else(again) {
            Ok(figures) => Stored::Figures(figures),
            Err(error) => Stored::Failed(error.to_string()),
        }
    }

    /// Writes what the hosts and the link of the run in `folder` say of the flow, as qlog.
    ///
    /// # Errors
    ///
    /// The run has no packets, or the disk is full.
    pub fn write_log(&self, folder: &Path) -> Result<(), RunError> {
        flow_log::write(folder, self.world)
    }

    /// The verdicts, from the results of [`Trial::runs`].
    pub fn judged(&self, results: &[Stored], folder: &Path) -> Vec<Judged> {
        let mut rest = results;
        let mut all = Vec::new();
        let dead = results.iter().all(|one| packets(one) < LEAST);
        let dead = dead.then(|| self.silence(results, folder));
        for (place, experiment) in self.experiments.iter().enumerate() {
            if !self.is_needed(experiment) {
                let nothing = vec![Stored::Missing; experiment.cells().len()];
                all.extend(self.of(experiment, &nothing, None));
                continue;
            }
            let (own, others) = rest.split_at(experiment.cells().len());
            rest = others;
            let why = dead.clone().or_else(|| self.unusable(place, own));
            all.extend(self.of(experiment, own, why));
        }
        all
    }

    /// Why nothing can be said of these results.
    fn unusable(&self, place: usize, results: &[Stored]) -> Option<String> {
        results.iter().enumerate().find_map(|(cell, one)| {
            let run = Run { experiment: place, cell };
            let figures = match one {
                Stored::Failed(why) => return Some(format!("a run failed: {why}")),
                Stored::Figures(text) => serde_json::from_str::<Json>(text).ok()?,
                _ => return Some("it did not run".to_owned()),
            };
            let ran = group(&figures)?["app"]["client_ran_s"].as_f64()?;
            let scenario = self.scenario(run).ok()?;
            let until = scenario.run.duration.as_nanos() as f64 / 1e9;
            let is_early = ran < 0.9 * until && self.group(run) != MAY_END;
            is_early.then(|| {
                format!("its client ended after {ran:.1} s of {until:.0}; it has to go on until it is ended")
            })
        })
    }

    /// Why a stack sent nothing at all.
    fn silence(&self, results: &[Stored], folder: &Path) -> String {
        let failed = results.iter().find_map(|one| match one {
            Stored::Failed(why) => Some(format!("no run was possible: {why}")),
            _ => None,
        });
        let said = || {
            let runs = self.runs();
            let programs = folder
                .join(self.folder(*runs.first()?))
                .join(traffic::PROGRAMS);
            let mut ends = ["client.err", "server.err", "client.out", "server.out"].into_iter();
            ends.find_map(|end| {
                let file = programs.join(format!("{}-{end}", traffic::GROUP));
                let text = fs::read_to_string(file).ok()?;
                let line = text.lines().rfind(|line| !line.trim().is_empty())?;
                let (program, _) = end.split_once('.')?;
                Some(format!("; its {program} said: {line}"))
            })
        };
        failed.unwrap_or_else(|| format!("it sent nothing{}", said().unwrap_or_default()))
    }

    fn of(&self, experiment: &Experiment, results: &[Stored], why: Option<String>) -> Vec<Judged> {
        let seeds: Vec<_> = (1..=self.seeds)
            .map(|seed| experiment.ruled(results, seed))
            .collect();
        let clauses = clause::of(experiment, &experiment.id);
        let judged = clauses
            .into_iter()
            .enumerate()
            .filter_map(|(place, clause)| {
                let of_seeds = seeds.iter().filter_map(|all| all.get(place));
                let (verdicts, figures): (Vec<Verdict>, Vec<String>) = of_seeds.cloned().unzip();
                let (verdict, figure) = match (&why, Verdict::of_seeds(&verdicts)) {
                    _ if self.is_of_no_tunnel(experiment) => {
                        let why = "it is a tunnel".to_owned();
                        (Verdict::NotApplicable(why), String::new())
                    }
                    (Some(why), _) => (Verdict::Open(why.clone()), String::new()),
                    (None, verdict) => (verdict, figures.into_iter().next().unwrap_or_default()),
                };
                let is_wanted = self.clauses.iter().any(|one| one.id == clause.id);
                is_wanted.then_some(Judged {
                    clause,
                    verdict,
                    figure,
                })
            });
        judged.collect()
    }
}

/// The judged group of a result.
fn group(figures: &Json) -> Option<&Json> {
    let groups = figures["groups"].as_array()?;
    groups.iter().find(|one| one["name"] == traffic::GROUP)
}

fn packets(result: &Stored) -> u64 {
    match result {
        Stored::Figures(text) => serde_json::from_str::<Json>(text)
            .ok()
            .and_then(|figures| group(&figures)?["packets"].as_u64())
            .unwrap_or(0),
        _ => 0,
    }
}

/// What the sender of the run in `folder` said of itself, in seconds of the run: that of the log with the most packets. Nothing without logs.
pub fn samples(folder: &Path) -> Vec<Sample> {
    let logs = qlog::logs(&folder.join(traffic::PROGRAMS).join(traffic::GROUP));
    let Some(log) = logs.into_iter().max_by_key(|log| log.packets) else {
        return Vec::new();
    };
    let mut first = Time::MAX;
    let read = captured::packets(&folder.join(PACKETS), |packet| {
        if packet.group == Some(traffic::GROUP) {
            first = first.min(packet.arrival);
        }
    });
    let began = match read {
        Ok(()) if first < Time::MAX => first.as_nanos() as f64 / 1e9,
        _ => return Vec::new(),
    };
    let samples = log.samples.into_iter().map(|mut sample| {
        sample.at += began;
        sample
    });
    samples.collect()
}
