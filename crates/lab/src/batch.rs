//! Several runs, in sequence or in parallel: the seeds of one scenario or of several.
//!
//! One thread does a run from its scenario to its folder, so its files do not depend on the number of runs. A result appears when it is
//! complete: the folder of several seeds after the last of them, with their mean. After a failed run no further run starts, and the
//! runs in progress finish. The complete seeds are then kept in a folder whose name says that it is incomplete.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::SystemTime;

use quell_kernel::held::{Made, parent};
use quell_measure::{Aggregate, Summary, aggregate};
use quell_results::facts::Utc;
use quell_results::folder::{Folder, Inner};
use quell_results::write_json;
use quell_scenario::{MEMORY_BUDGET, Memory};
use quell_units::Time;

use crate::at_once::start;
use crate::job::{Finished, Order, Outcome, Progress, SharedWorker, Task, Worker};
use crate::virtual_world::guest_memory;
use crate::{KeptSeeds, RunError, World};

/// Folder of results without a name of their own.
const RESULTS: &str = "results";
/// The mean of several seeds.
const AGGREGATE: &str = "aggregate.json";

/// Number of runs of `tasks` in parallel: `jobs`, as far as memory allows; one in the live world.
pub(crate) fn at_once(tasks: &[Task<'_>], jobs: NonZeroUsize) -> usize {
    let world = tasks.first().map_or(World::Sim, |task| task.options.world);
    if world == World::Live {
        return 1;
    }
    let needs = tasks.iter().map(|task| (task, Memory::of(task.scenario)));
    let (largest, results) = needs.fold((1, 0_u64), |(largest, results), (task, memory)| {
        let run = match world {
            World::Virtual => guest_memory(task.scenario).get(),
            World::Sim | World::Live => memory.run().get(),
        };
        (
            run.max(largest),
            results.saturating_add(memory.results.get()),
        )
    });
    let fit = MEMORY_BUDGET.get().saturating_sub(results) / largest;
    usize::try_from(fit)
        .unwrap_or(usize::MAX)
        .clamp(1, jobs.get())
}

/// Does all runs of `tasks` in sequence.
pub(crate) fn in_turn(
    world: &mut Worker<'_>,
    tasks: &[Task<'_>],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Outcome>, RunError> {
    let plan = Plan::new(tasks)?;
    while let Some(number) = plan.next() {
        plan.carry_out(world, number, &mut |told| progress(told));
    }
    plan.outcomes()
}

/// Does all runs of `tasks`, `jobs` in parallel; calls `progress` on the caller's thread.
pub(crate) fn side_by_side(
    world: &SharedWorker<'_>,
    tasks: &[Task<'_>],
    jobs: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Outcome>, RunError> {
    let plan = Plan::new(tasks)?;
    let run_all = |progress: &mut dyn FnMut(Progress)| {
        while let Some(number) = plan.next() {
            plan.carry_out(&mut |order| world(order), number, progress);
        }
    };
    std::thread::scope(|scope| {
        let (told, tell) = mpsc::channel();
        // The caller listens until all have ended.
        let work = {
            let run_all = &run_all;
            move || {
                run_all(&mut |progress| {
                    let _ = told.send(progress);
                });
            }
        };
        match start(scope, jobs.min(plan.runs.len()), work) {
            0 => run_all(progress),
            _ => tell.into_iter().for_each(progress),
        }
    });
    plan.outcomes()
}

/// All runs of some tasks, and their state.
struct Plan<'a> {
    batches: Vec<Batch<'a>>,
    /// Batch and seed of each run.
    runs: Vec<(usize, usize)>,
    next: AtomicUsize,
    failed: AtomicBool,
    /// Errors, each with the number of its run.
    errors: Mutex<Vec<(usize, RunError)>>,
    /// Folders that were not there before. They go if nothing came into them.
    made: Made,
}

/// The seeds of one task.
struct Batch<'a> {
    task: &'a Task<'a>,
    place: Mutex<Place>,
    finished: Mutex<Vec<Option<Finished>>>,
}

/// The folder for a task's results.
enum Place {
    /// The folder of the only seed, until its run takes it.
    Single(Option<Folder>),
    /// The folder of several seeds, invisible until it is complete.
    Several(Folder),
    /// The complete folder of several seeds, and their mean.
    Whole(PathBuf, Aggregate),
    /// There is no result, or its path was reported.
    Nothing,
}

/// A folder for one seed.
enum ForOne {
    Single(Folder),
    OfSeveral(Inner),
}

impl ForOne {
    fn path(&self) -> PathBuf {
        match self {
            Self::Single(folder) => folder.path(),
            Self::OfSeveral(folder) => folder.path(),
        }
    }
    fn finish(self) -> Result<PathBuf, quell_results::Error> {
        match self {
            Self::Single(folder) => folder.finish(),
            Self::OfSeveral(folder) => folder.finish(),
        }
    }
}

/// A lock whose holder panicked ends the process anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the folders that will hold results.
fn make_parents(tasks: &[Task<'_>]) -> Result<Made, RunError> {
    let mut made = Made::default();
    for out in tasks.iter().filter_map(|task| task.options.out.as_deref()) {
        let parent = parent(out);
        let more = Made::on_the_way_to(parent).map_err(RunError::writing(parent))?;
        made.add(more.0);
    }
    Ok(made)
}

impl<'a> Plan<'a> {
    /// Creates the folder of every result before anything runs.
    fn new(tasks: &'a [Task<'a>]) -> Result<Self, RunError> {
        let made = make_parents(tasks)?;
        let batches: Vec<Batch<'_>> = tasks.iter().map(Batch::new).collect::<Result<_, _>>()?;
        let seeds = |(index, task): (usize, &Task<'_>)| {
            (0..task.scenario.run.seeds.len()).map(move |seed| (index, seed))
        };
        Ok(Self {
            batches,
            runs: tasks.iter().enumerate().flat_map(seeds).collect(),
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            errors: Mutex::default(),
            made,
        })
    }

    /// The number of the next run, if another one may start. The first always starts: a result of a run of zero length is
    /// better than none.
    fn next(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (batch, _) = *self.runs.get(number)?;
        let stopped = self.batches[batch]
            .task
            .options
            .stop
            .load(Ordering::Relaxed);
        let go = !self.failed.load(Ordering::Relaxed) && (number == 0 || !stopped);
        go.then_some(number)
    }

    fn carry_out(&self, world: &mut Worker<'_>, number: usize, tell: &mut dyn FnMut(Progress)) {
        let (batch, seed) = self.runs[number];
        let batch = &self.batches[batch];
        let mut told = |elapsed: Time| {
            tell(Progress {
                run: number,
                runs: self.runs.len(),
                elapsed,
                duration: batch.task.scenario.run.duration,
            });
        };
        if let Err(error) = batch.carry_out(world, seed, &mut told) {
            // A result that is kept under another name is no reason not to run the next one.
            if !matches!(error, RunError::Results(quell_results::Error::Taken { .. })) {
                self.failed.store(true, Ordering::Relaxed);
            }
            lock(&self.errors).push((number, error));
        }
    }

    /// The outcome of all runs, or the error of the first that failed.
    fn outcomes(mut self) -> Result<Vec<Outcome>, RunError> {
        let errors = self
            .errors
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut error = errors.into_iter().min_by_key(|(number, _)| *number);
        if error.is_none() {
            // Those that the user ended early.
            let concluded = self.batches.iter().find_map(|batch| batch.conclude().err());
            error = concluded.map(|error| (0, error));
        }
        let Some((_, error)) = error else {
            self.made.keep();
            return Ok(self.batches.into_iter().map(Batch::outcome).collect());
        };
        let kept: Vec<KeptSeeds> = self.batches.iter().filter_map(Batch::give_up).collect();
        // What was made around them goes once they are gone.
        drop(self.batches);
        if kept.is_empty() {
            return Err(error);
        }
        let error = Box::new(error);
        Err(RunError::Incomplete { error, kept })
    }
}

impl<'a> Batch<'a> {
    fn new(task: &'a Task<'a>) -> Result<Self, RunError> {
        let seeds = &task.scenario.run.seeds;
        let folder = |end: String| match &task.options.out {
            Some(path) => Folder::exactly(path),
            None => {
                let started = Utc::from(SystemTime::now()).basic();
                let world = task.options.world.name();
                let name = format!("{started}-{}-{world}-{end}", task.scenario.name);
                Folder::named(Path::new(RESULTS), &name)
            }
        };
        let place = match seeds[..] {
            [] => {
                let why = "a scenario needs at least one seed".to_owned();
                return Err(RunError::refused(why));
            }
            [seed] => Place::Single(Some(folder(name(seed))?)),
            _ => Place::Several(folder(format!("{}seeds", seeds.len()))?),
        };
        Ok(Self {
            task,
            place: Mutex::new(place),
            finished: Mutex::new(vec![None; seeds.len()]),
        })
    }

    fn carry_out(
        &self,
        world: &mut Worker<'_>,
        index: usize,
        progress: &mut dyn FnMut(Time),
    ) -> Result<(), RunError> {
        let Task { scenario, options } = self.task;
        let seed = scenario.run.seeds[index];
        let folder = self.folder(seed)?;
        let summary = world(Order {
            scenario,
            seed,
            options,
            folder: &folder.path(),
            progress,
        })?;
        let finished = Finished {
            seed,
            folder: folder.finish()?,
            summary,
        };
        let all = {
            let mut all = lock(&self.finished);
            all[index] = Some(finished);
            all.iter().all(Option::is_some)
        };
        if all { self.conclude() } else { Ok(()) }
    }

    /// A new folder for one seed.
    fn folder(&self, seed: u64) -> Result<ForOne, RunError> {
        let used = || RunError::Failed("the folder of the results has been used".to_owned());
        match &mut *lock(&self.place) {
            Place::Single(folder) => folder.take().map(ForOne::Single).ok_or_else(used),
            Place::Several(all) => Ok(ForOne::OfSeveral(all.inner(&name(seed))?)),
            Place::Whole(..) | Place::Nothing => Err(used()),
        }
    }

    /// With several seeds: writes the mean of the existing ones, and gives the folder its name.
    fn conclude(&self) -> Result<(), RunError> {
        let mut place = lock(&self.place);
        let Place::Several(folder) = &*place else {
            return Ok(());
        };
        let mut finished = lock(&self.finished);
        let summaries: Vec<Summary> = finished
            .iter()
            .flatten()
            .map(|run| run.summary.clone())
            .collect();
        let path = folder.path().join(AGGREGATE);
        let mean = aggregate(&summaries).map_err(RunError::writing(&path))?;
        let Some(mut mean) = mean else {
            // Nothing had begun when the user had seen enough.
            *place = Place::Nothing;
            return Ok(());
        };
        mean.partial |= summaries.len() < finished.len();
        write_json(&folder.beside(AGGREGATE), &mean)?;
        folder.take(AGGREGATE)?;
        let Place::Several(folder) = std::mem::replace(&mut *place, Place::Nothing) else {
            return Ok(());
        };
        let shown = folder.finish()?;
        for run in finished.iter_mut().flatten() {
            run.folder = shown.join(run.folder.file_name().unwrap_or_default());
        }
        *place = Place::Whole(shown, mean);
        Ok(())
    }

    /// Keeps the complete seeds if some are missing.
    fn give_up(&self) -> Option<KeptSeeds> {
        match std::mem::replace(&mut *lock(&self.place), Place::Nothing) {
            Place::Several(folder) => {
                let (folder, whole) = folder.give_up()?;
                let asked = self.task.scenario.run.seeds.len();
                Some(KeptSeeds {
                    folder,
                    whole,
                    asked,
                })
            }
            Place::Single(_) | Place::Whole(..) | Place::Nothing => None,
        }
    }

    /// The finished runs; with several seeds, also their mean.
    fn outcome(self) -> Outcome {
        let finished = self.finished.into_inner();
        let finished = finished.unwrap_or_else(PoisonError::into_inner);
        let mut runs: Vec<Finished> = finished.into_iter().flatten().collect();
        runs.sort_by_key(|run| run.seed);
        let place = self.place.into_inner();
        let aggregate = match place.unwrap_or_else(PoisonError::into_inner) {
            Place::Whole(folder, mean) => Some((folder, mean)),
            Place::Single(_) | Place::Several(_) | Place::Nothing => None,
        };
        Outcome { runs, aggregate }
    }
}

/// The folder of one seed.
fn name(seed: u64) -> String {
    format!("seed{seed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::simulated::simulated;
    use crate::write_result::write_result;
    use quell_scenario::Scenario;

    fn scenario(rate: &str, seeds: &str) -> Scenario {
        let text = format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"{rate}\"\nqueue = {{ kind = \"fifo\" }}\n[[group]]\nname = \"a\"\n\
             rtt = \"7ms\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"1s\"\nseeds = {seeds}\n"
        );
        Scenario::parse(&text).unwrap()
    }

    fn options(world: World, out: Option<PathBuf>, stop: &AtomicBool) -> Options<'_> {
        Options {
            out,
            ..Options::new(world, stop)
        }
    }

    #[test]
    fn a_run_that_fails_lets_those_beside_it_end_and_starts_no_other() {
        let root = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let out = root.path().join("new/out");
        let scenario = scenario("1mbit", &format!("{:?}", (1..=20).collect::<Vec<_>>()));
        let task = || Task {
            scenario: &scenario,
            options: options(World::Sim, Some(root.path().join("new/out")), &never),
        };
        let broken = || RunError::Failed("broken".to_owned());
        let fourth_fails = |order: Order<'_>| match order.seed {
            4 => Err(broken()),
            _ => write_result(order, &mut simulated),
        };
        let error = side_by_side(&fourth_fails, &[task()], 2, &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("broken\n") && text.ends_with("out.incomplete"),
            "{text}"
        );
        assert!(!out.exists());
        let out = root.path().join("new/out.incomplete");
        let mut there: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort();
        assert!((3..=5).contains(&there.len()), "{there:?}");
        assert_eq!(there[..3], ["seed1", "seed2", "seed3"]);
        assert!(
            there
                .iter()
                .all(|seed| out.join(seed).join("run.json").exists())
        );

        // Nothing is left where every run fails.
        std::fs::remove_dir_all(root.path().join("new")).unwrap();
        let all_fail = |_: Order<'_>| Err(broken());
        side_by_side(&all_fail, &[task()], 2, &mut |_| {}).unwrap_err();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    fn runs(scenarios: &[Scenario], world: World, jobs: usize) -> usize {
        let never = AtomicBool::new(false);
        let task = |scenario| Task {
            scenario,
            options: options(world, None, &never),
        };
        let tasks: Vec<Task<'_>> = scenarios.iter().map(task).collect();
        at_once(&tasks, NonZeroUsize::new(jobs).unwrap())
    }

    #[test]
    fn as_many_runs_go_on_at_once_as_fit_the_memory() {
        let small = scenario("10mbit", "[1, 2]");
        let large = scenario("100gbit", "[1, 2]");
        assert_eq!(runs(std::slice::from_ref(&small), World::Sim, 3), 3);
        assert_eq!(runs(std::slice::from_ref(&small), World::Live, 3), 1);
        let all = runs(&[small, large.clone()], World::Sim, 1_000);
        let memory = Memory::of(&large);
        assert!((2..20).contains(&all), "{all}");
        assert!(memory.total(all as u64) <= MEMORY_BUDGET);
        assert!(memory.total(all as u64 + 2) > MEMORY_BUDGET);
    }
}
