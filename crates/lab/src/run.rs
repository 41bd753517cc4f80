//! Runs a scenario in a world, once per seed, and puts the results on disk.
//!
//! What a world does is a function from a [`Job`] to what was [`Measured`]; everything else is here and the same for all.
//! With several seeds the result is a folder of one result per seed, each there as soon as it is whole, and `aggregate.json`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use quell_aqm::Time;
use quell_measure::{Aggregate, Summary, aggregate};

pub use crate::live::Measured;
use crate::live::{self, Listener, LiveError, LiveOptions, Row};
use crate::packets::PacketFile;
use crate::results::facts::{Facts, Started, Utc};
use crate::results::folder::Folder;
use crate::results::series::Series;
use crate::results::{write_json, write_text};
use crate::sim::{self, SimError};
use crate::{RunError, Scenario, World};

/// The folder of results that nobody named.
const RESULTS: &str = "results";

/// How to run.
#[derive(Debug)]
pub struct Options<'a> {
    /// Where.
    pub world: World,
    /// Exactly this folder, which must not exist; without it a new one in `results`.
    pub out: Option<PathBuf>,
    /// Set to end the run early, with what was measured until then.
    pub stop: &'a AtomicBool,
    /// Warnings of the scenario, for the summary.
    pub warnings: Vec<String>,
    /// Whether to write `packets.pcapng`: every packet with what became of it.
    pub packets: bool,
    /// What only the live world knows.
    pub live: LiveOptions,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Which run, from 0.
    pub run: usize,
    /// Of how many.
    pub runs: usize,
    /// Time of the run that has passed.
    pub elapsed: Time,
    /// Of how much.
    pub duration: Time,
}

/// One run for a world to do.
pub struct Job<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// Of all randomness.
    pub seed: u64,
    /// Once set, the run ends and its summary is marked partial.
    pub stop: &'a AtomicBool,
    /// To be told how much time of the run has passed, several times a second at most.
    pub progress: &'a mut dyn FnMut(Time),
    /// Takes the rows of each interval.
    pub series: &'a mut Series,
    /// Takes every packet, where that was asked for.
    pub packets: Option<PacketFile>,
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("scenario", &self.scenario.name)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// One run that is on disk.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its seed.
    pub seed: u64,
    /// Its folder.
    pub folder: PathBuf,
    /// Its summary.
    pub summary: Summary,
}

/// What a scenario gave.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// One per seed; fewer if the run was ended early.
    pub runs: Vec<Finished>,
    /// With several seeds: the folder of all, and their mean.
    pub aggregate: Option<(PathBuf, Aggregate)>,
}

/// Runs `scenario`. `progress` is called now and then.
pub fn run(
    scenario: &Scenario,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let mut world = |job: Job<'_>| match options.world {
        World::Sim => simulated(job),
        World::Virtual => Err(RunError::Refused(
            "the virtual world is not part of this version; use --world sim or live".to_owned(),
        )),
        World::Live => live(job, options.live),
    };
    run_in(&mut world, scenario, options, progress)
}

fn simulated(job: Job<'_>) -> Result<Measured, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    sim::run(scenario, seed, stop, &mut ToDisk(job)).map_err(|error| match error {
        SimError::Scenario(why) => RunError::Refused(why),
        SimError::Results(error) => unwritten(error),
        error => RunError::Failed(error.to_string()),
    })
}

fn live(job: Job<'_>, options: LiveOptions) -> Result<Measured, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    live::run(scenario, seed, options, stop, &mut ToDisk(job)).map_err(|error| match error {
        LiveError::Scenario(why) => RunError::Refused(why),
        LiveError::Environment { .. } => RunError::Refused(error.to_string()),
        LiveError::Results(error) => unwritten(error),
        error => RunError::Failed(error.to_string()),
    })
}

/// What [`ToDisk`] could not write, as it was told to it.
fn unwritten(error: std::io::Error) -> RunError {
    match error.downcast::<RunError>() {
        Ok(error) => error,
        Err(error) => RunError::Failed(error.to_string()),
    }
}

/// Takes what a world tells on the way.
struct ToDisk<'a>(Job<'a>);

impl Listener for ToDisk<'_> {
    fn progress(&mut self, now: Time) {
        (self.0.progress)(now);
    }
    fn row(&mut self, row: Row) -> std::io::Result<()> {
        let written = match row {
            Row::Queue(row) => self.0.series.queues([row]),
            Row::Flow(row) => self.0.series.flows([row]),
        };
        written.map_err(std::io::Error::other)
    }
    fn packets(&mut self) -> Option<PacketFile> {
        self.0.packets.take()
    }
}

/// Runs `scenario` in the world that `world` is.
pub fn run_in(
    world: &mut dyn FnMut(Job<'_>) -> Result<Measured, RunError>,
    scenario: &Scenario,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let seeds = &scenario.run.seeds;
    let name = |end: String| {
        let started = Utc::from(SystemTime::now()).basic();
        format!("{started}-{}-{}-{end}", scenario.name, options.world.name())
    };
    let folder = |end: String| match &options.out {
        Some(path) => Folder::exactly(path),
        None => Folder::named(Path::new(RESULTS), &name(end)),
    };
    let mut one = |index: usize, folder: Folder| {
        let mut tell = |elapsed| {
            progress(Progress {
                run: index,
                runs: seeds.len(),
                elapsed,
                duration: scenario.run.duration,
            });
        };
        one_run(world, scenario, seeds[index], options, folder, &mut tell)
    };
    if let [seed] = seeds[..] {
        let run = one(0, folder(format!("seed{seed}"))?)?;
        return Ok(Outcome {
            runs: vec![run],
            aggregate: None,
        });
    }
    let mut runs: Vec<Finished> = Vec::new();
    let mut parent: Option<PathBuf> = None;
    for (index, seed) in seeds.iter().enumerate() {
        if index > 0 && options.stop.load(Ordering::Relaxed) {
            break;
        }
        let seed_name = format!("seed{seed}");
        let run = match &parent {
            Some(parent) => one(index, Folder::named(parent, &seed_name)?)?,
            None => {
                // The folder of all appears with the first result in it.
                let all = folder(format!("{}seeds", seeds.len()))?;
                let mut run = one(index, Folder::named(all.path(), &seed_name)?)?;
                let all = all.finish()?;
                run.folder = all.join(&seed_name);
                parent = Some(all);
                run
            }
        };
        runs.push(run);
    }
    let parent =
        parent.ok_or_else(|| RunError::Refused("a scenario needs at least one seed".to_owned()))?;
    let summaries: Vec<Summary> = runs.iter().map(|run| run.summary.clone()).collect();
    let path = parent.join("aggregate.json");
    let mean = aggregate(&summaries).map_err(RunError::writing(&path))?;
    let mean = mean.map(|mut mean| {
        mean.partial |= runs.len() < seeds.len();
        mean
    });
    if let Some(mean) = &mean {
        let unfinished = parent.join(".aggregate.json.unfinished");
        let whole = write_json(&unfinished, mean)
            .and_then(|()| std::fs::rename(&unfinished, &path).map_err(RunError::writing(&path)));
        if whole.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        whole?;
    }
    Ok(Outcome {
        runs,
        aggregate: mean.map(|mean| (parent, mean)),
    })
}

/// One seed: its folder is there and whole, or not at all.
fn one_run(
    world: &mut dyn FnMut(Job<'_>) -> Result<Measured, RunError>,
    scenario: &Scenario,
    seed: u64,
    options: &Options<'_>,
    folder: Folder,
    progress: &mut dyn FnMut(Time),
) -> Result<Finished, RunError> {
    let started = Started::now();
    let mut resolved = scenario.clone();
    resolved.run.seeds = vec![seed];
    let mut series = Series::create(
        folder.path(),
        scenario.groups.iter().map(|group| group.name.as_str()),
    )?;
    let packets = options
        .packets
        .then(|| PacketFile::create(&folder.path().join("packets.pcapng")));
    let job = Job {
        scenario: &resolved,
        seed,
        stop: options.stop,
        progress,
        series: &mut series,
        packets: packets.transpose()?,
    };
    let Measured {
        mut summary,
        histograms,
        work,
    } = world(job)?;
    summary
        .warnings
        .splice(0..0, options.warnings.iter().cloned());
    series.finish()?;
    let file = |name: &str| folder.path().join(name);
    write_text(&file("scenario.toml"), &resolved.to_toml())?;
    write_json(&file("summary.json"), &summary)?;
    write_json(&file("histograms.json"), &histograms)?;
    write_json(
        &file("run.json"),
        &Facts::new(options.world, seed, started, work),
    )?;
    Ok(Finished {
        seed,
        folder: folder.finish()?,
        summary,
    })
}
