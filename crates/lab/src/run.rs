//! Runs a scenario in a world, once per seed, and puts the results on disk.
//!
//! A world is a function from a [`Job`] to [`Measurements`]; everything else is the same for all. With several seeds the
//! result is a folder of one result per seed, each there as soon as it is whole, and `aggregate.json`.

use std::num::NonZeroUsize;

use quell_scenario::contract::Measurements;

use crate::batch;
use crate::job::{Job, Order, Outcome, Progress, Task};
use crate::live::{live, privilege_separation};
use crate::options::Options;
use crate::program_env::of_live;
use crate::simulated::simulated;
use crate::virtual_world::Guest;
use crate::write_result::write_result;
use crate::{RunError, Scenario, World};

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
        return Err(RunError::refused(why));
    }
    // Before a world gives up the right to read files.
    let program = quell_results::program::sha256();
    program.map_err(|error| RunError::Failed(format!("cannot read this program: {error}")))?;
    if options.live.kernel_queue.is_some() && options.packets {
        let why = "--packets shows what quell's queue did to each packet, and with --kernel-queue there is no such queue";
        return Err(RunError::refused(why.to_owned()));
    }
    for task in tasks {
        let live = &task.options.live;
        if !live.commands.is_empty() && options.world != World::Virtual {
            let why = "--guest-exec runs commands inside a guest: it needs --world virtual";
            return Err(RunError::refused(why.to_owned()));
        }
        for command in &live.commands {
            let checked = command.times(task.scenario.run.duration);
            checked.map_err(|why| RunError::refused(format!("--guest-exec {why}")))?;
        }
    }
    match options.world {
        World::Sim if options.live.kernel_queue.is_some() || options.live.watch => {
            Err(RunError::refused(
                "the simulator has no kernel: --kernel-queue and --watch need --world live or virtual"
                    .to_owned(),
            ))
        }
        World::Sim => match batch::at_once(tasks, jobs) {
            1 => batch::in_turn(&mut |order| write_result(order, &mut simulated), tasks, progress),
            jobs => {
                let worker = |order: Order<'_>| write_result(order, &mut simulated);
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
            let mut world = |job: Job<'_>| {
                let mut options = options.clone();
                options.programs = of_live(
                    job.scenario,
                    options.allow_programs,
                    options.directory.as_deref(),
                    job.folder,
                )?;
                live(job, World::Live, &options)
            };
            let mut one = |mut order: Order<'_>| match privilege_separation::order(&mut order) {
                Some(filled) => filled,
                None => write_result(order, &mut world),
            };
            batch::in_turn(&mut one, tasks, progress)
        }
    }
}

/// Runs `scenario` in the world that `world` is, one seed after the other.
pub fn run_in(
    world: &mut dyn FnMut(Job<'_>) -> Result<Measurements, RunError>,
    scenario: &Scenario,
    options: Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let tasks = [Task { scenario, options }];
    let outcomes = batch::in_turn(&mut |order| write_result(order, world), &tasks, progress)?;
    only(outcomes)
}

fn only(outcomes: Vec<Outcome>) -> Result<Outcome, RunError> {
    let only = outcomes.into_iter().next();
    only.ok_or_else(|| RunError::Failed("a task without an outcome".to_owned()))
}
