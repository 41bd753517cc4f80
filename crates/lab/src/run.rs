//! Runs a scenario in a world, once per seed, and puts the results on disk.
//!
//! What a world does is a function from a [`Job`] to what was [`Measured`]; everything else is here and the same for all.
//! With several seeds the result is a folder of one result per seed, each there as soon as it is whole, and `aggregate.json`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use quell_measure::{Aggregate, Summary};
use quell_units::Time;

use crate::batch;
pub use crate::batch::Task;
pub use crate::live::Measured;
use crate::live::{self, Listener, LiveError, LiveOptions, Row, Work, apart};
use crate::packets::PacketFile;
use crate::results::facts::{Facts, Started};
use crate::results::series::Series;
use crate::results::{write_json, write_text};
use crate::sim::{self, SimError};
use crate::virtual_world::Guest;
pub use crate::virtual_world::GuestOptions;
use crate::{RunError, Scenario, World};

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
    /// What only the virtual world knows.
    pub guest: GuestOptions,
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
    /// The folder of the result.
    pub folder: &'a Path,
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
    /// One per seed, in the order of the seeds; fewer if the run was ended early.
    pub runs: Vec<Finished>,
    /// With several seeds: the folder of all, and their mean.
    pub aggregate: Option<(PathBuf, Aggregate)>,
}

/// Runs `scenario`, one seed after the other. `progress` is called now and then.
pub fn run(
    scenario: &Scenario,
    options: Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    only(run_all(
        &[Task { scenario, options }],
        NonZeroUsize::MIN,
        progress,
    )?)
}

/// Runs every task. In the simulated world as many runs go on at once as `jobs` says and the memory budget allows; results
/// do not depend on it. `progress` is called now and then. An outcome without runs is one of a task that had not begun when
/// the stop was asked for.
pub fn run_all(
    tasks: &[Task<'_>],
    jobs: NonZeroUsize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Outcome>, RunError> {
    let Some(options) = tasks.first().map(|task| &task.options) else {
        return Ok(Vec::new());
    };
    if tasks.iter().any(|task| task.options.world != options.world) {
        let why = "tasks that run together share one world".to_owned();
        return Err(RunError::Refused(why));
    }
    if options.live.kernel_queue.is_some() && options.packets {
        let why = "--packets tells what quell's queue did to each packet, and with --kernel-queue there is none";
        return Err(RunError::Refused(why.to_owned()));
    }
    for task in tasks {
        let live = &task.options.live;
        if !live.commands.is_empty() && options.world != World::Virtual {
            let why = "--guest-exec runs commands inside a guest: it needs --world virtual";
            return Err(RunError::Refused(why.to_owned()));
        }
        for command in &live.commands {
            let checked = command.times(task.scenario.run.duration);
            checked.map_err(|why| RunError::Refused(format!("--guest-exec {why}")))?;
        }
    }
    match options.world {
        World::Sim if options.live.kernel_queue.is_some() || options.live.watch => {
            Err(RunError::Refused(
                "the simulator has no kernel: --kernel-queue and --watch need --world live or virtual"
                    .to_owned(),
            ))
        }
        World::Sim => match batch::at_once(tasks, jobs) {
            1 => batch::in_turn(&mut |order| fill(order, &mut simulated), tasks, progress),
            jobs => {
                let worker = |order: Order<'_>| fill(order, &mut simulated);
                batch::side_by_side(&worker, tasks, jobs, progress)
            }
        },
        World::Virtual => {
            let guest = Guest::new(&options.guest)?;
            match batch::at_once(tasks, jobs) {
                1 => batch::in_turn(&mut |order| guest.fill(order), tasks, progress),
                jobs => batch::side_by_side(&|order| guest.fill(order), tasks, jobs, progress),
            }
        }
        World::Live => {
            let options = options.live.clone();
            let mut world = |job: Job<'_>| live(job, World::Live, &options);
            let mut one = |mut order: Order<'_>| match apart::order(&mut order) {
                Some(filled) => filled,
                None => fill(order, &mut world),
            };
            batch::in_turn(&mut one, tasks, progress)
        }
    }
}

pub(crate) fn simulated(job: Job<'_>) -> Result<Measured, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    sim::run(scenario, seed, stop, &mut ToDisk(job)).map_err(|error| match error {
        SimError::Scenario(why) => RunError::Refused(why),
        SimError::Results(error) => unwritten(error),
        error => RunError::Failed(error.to_string()),
    })
}

/// Real packets, in whichever time this machine has.
pub(crate) fn live(
    job: Job<'_>,
    world: World,
    options: &LiveOptions,
) -> Result<Measured, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    let measured = live::run(scenario, seed, world, options, stop, &mut ToDisk(job));
    let of_world = |error: LiveError| match world {
        World::Virtual => error.in_guest(),
        World::Sim | World::Live => error,
    };
    told(measured.map_err(of_world))
}

/// An error of the live world as one of a run.
pub(crate) fn told<T>(measured: Result<T, LiveError>) -> Result<T, RunError> {
    measured.map_err(|error| match error {
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
pub(crate) struct ToDisk<'a>(pub(crate) Job<'a>);

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
    fn commands(&mut self) -> Option<PathBuf> {
        Some(self.0.folder.join(live::COMMANDS_FOLDER))
    }
}

/// Runs `scenario` in the world that `world` is, one seed after the other.
pub fn run_in(
    world: &mut dyn FnMut(Job<'_>) -> Result<Measured, RunError>,
    scenario: &Scenario,
    options: Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let tasks = [Task { scenario, options }];
    let outcomes = batch::in_turn(&mut |order| fill(order, world), &tasks, progress)?;
    only(outcomes)
}

fn only(outcomes: Vec<Outcome>) -> Result<Outcome, RunError> {
    let only = outcomes.into_iter().next();
    only.ok_or_else(|| RunError::Failed("a task without an outcome".to_owned()))
}

/// A result's folder to be filled: one seed of a scenario.
pub(crate) struct Order<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seed: u64,
    pub(crate) options: &'a Options<'a>,
    pub(crate) folder: &'a Path,
    pub(crate) progress: &'a mut dyn FnMut(Time),
}

impl Order<'_> {
    /// The scenario as it is written down: of this seed only.
    pub(crate) fn resolved(&self) -> Scenario {
        let mut resolved = self.scenario.clone();
        resolved.run.seeds = vec![self.seed];
        resolved
    }
}

/// Fills a folder with what `world` measures.
pub(crate) fn fill(
    order: Order<'_>,
    world: &mut dyn FnMut(Job<'_>) -> Result<Measured, RunError>,
) -> Result<Summary, RunError> {
    let (path, seed) = (order.folder.join("run.json"), order.seed);
    let (world_name, started) = (order.options.world, Started::now(order.options.world));
    let (summary, work) = measure(order, world)?;
    let mut facts = Facts::new(world_name, seed, started);
    facts.add_work(work);
    write_json(&path, &facts)?;
    Ok(summary)
}

/// The same without `run.json`, which tells of the machine.
pub(crate) fn measure(
    order: Order<'_>,
    world: &mut dyn FnMut(Job<'_>) -> Result<Measured, RunError>,
) -> Result<(Summary, Option<Work>), RunError> {
    let (options, folder) = (order.options, order.folder);
    let resolved = order.resolved();
    let mut series = Series::create(
        folder,
        resolved.groups.iter().map(|group| group.name.as_str()),
    )?;
    let packets = options
        .packets
        .then(|| PacketFile::create(&folder.join("packets.pcapng")));
    let job = Job {
        scenario: &resolved,
        seed: order.seed,
        stop: options.stop,
        progress: order.progress,
        series: &mut series,
        packets: packets.transpose()?,
        folder,
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
    let file = |name: &str| folder.join(name);
    write_text(&file("scenario.toml"), &resolved.to_toml())?;
    write_json(&file("summary.json"), &summary)?;
    write_json(&file("histograms.json"), &histograms)?;
    Ok((summary, work))
}
