//! Runs the cells of a plan that a store does not have.

mod gather;
mod moving;

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quell_kernel::held::Own;
use quell_results::read::{self, LONGEST};
use quell_scenario::sim::{self, SimError};
use quell_scenario::{MEMORY_BUDGET, Memory, Scenario, World};

use super::cell::Cell;
use super::cell_folder::{CELL, FAILED, FIGURES, RESULT, SERIES, State};
use super::cost::estimate;
use super::identity::Key;
use super::plan::Plan;
use super::probe::{Reading, Watched};
use super::shard::{Shard, choose};
use super::store::{Making, Put, Store};
use crate::job::{Job, Order};
use crate::live::{live, privilege_separation};
use crate::options::Options as RunOptions;
use crate::simulated::simulated;
use crate::virtual_world::{Guest, guest_memory};
use crate::write_result::write_result;
use crate::{LiveOptions, RunError};
use moving::Moving;

/// How to run a sweep.
#[derive(Debug)]
pub struct Options<'a> {
    /// Only this part of the cells.
    pub shard: Option<Shard>,
    /// Cells in parallel, fewer if memory is short; one in the live world.
    pub jobs: NonZeroUsize,
    /// Whether cells that failed run again.
    pub retry_failed: bool,
    /// Whether cells have series.
    pub series: bool,
    /// No cell goes on after this time.
    pub time_limit: Option<Duration>,
    /// Whether cells of the live world that are there count as done.
    pub reuse_live: bool,
    /// Set to end early. Cells that have not ended are forgotten.
    pub stop: &'a AtomicBool,
}

/// How far a sweep is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Cells that have run.
    pub done: usize,
    /// Cells to run.
    pub cells: usize,
    /// Share of the work that is done, as estimated.
    pub share: f64,
}

/// What there is to do.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Cells of the plan, or of the shard.
    pub cells: usize,
    /// Those that are there.
    pub done: usize,
    /// Those that failed and do not run again.
    pub failed: usize,
    /// Those to run.
    pub to_run: usize,
    /// Folders of cells that lack files or were changed, each with the reason; the cells are among those to run.
    pub broken: Vec<(PathBuf, String)>,
    /// About how long it takes.
    pub estimate: Duration,
}

/// What a sweep did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What there was to do.
    pub survey: Survey,
    /// Cells that ran and are in the store now.
    pub made: usize,
    /// Cells without a result, each in words with its error.
    pub failed: Vec<(String, String)>,
    /// Results that differ from what the store has of the cell.
    pub conflicts: Vec<PathBuf>,
    /// Cells that did not run, or did not end.
    pub left: usize,
    /// Whether the time was over.
    pub late: bool,
    /// Whether the store had the plan of another sweep.
    pub replaced_plan: bool,
}

/// What is to run, and why.
struct Todo {
    survey: Survey,
    /// Places of the cells, the most expensive first.
    cells: Vec<usize>,
    broken: Vec<(Key, String)>,
    failed: Vec<usize>,
}

/// What running `plan` into `store` would do.
///
/// # Errors
///
/// Cells of the live world are there, and nobody asked for them.
pub fn survey(plan: &Plan, store: &Store, options: &Options<'_>) -> Result<Survey, RunError> {
    Ok(todo(plan, store, options)?.survey)
}

fn todo(plan: &Plan, store: &Store, options: &Options<'_>) -> Result<Todo, RunError> {
    let chosen = choose(&plan.cells, options.shard);
    let mut todo = Todo {
        survey: Survey {
            cells: chosen.len(),
            ..Survey::default()
        },
        cells: Vec::new(),
        broken: Vec::new(),
        failed: Vec::new(),
    };
    let keys: Vec<Key> = chosen.iter().map(|&index| plan.cells[index].key).collect();
    let states = store.states_and_reasons(&keys);
    for ((index, &key), (state, why)) in chosen.into_iter().zip(&keys).zip(states) {
        let run = match state {
            State::Missing => true,
            State::Done { series } => options.series && !series,
            State::Measured => false,
            State::Failed if options.retry_failed => true,
            State::Failed => {
                todo.failed.push(index);
                continue;
            }
            State::Broken => {
                todo.broken.push((key, why));
                true
            }
        };
        if run {
            todo.cells.push(index);
        } else {
            todo.survey.done += 1;
        }
    }
    if plan.world == World::Live && todo.survey.done > 0 && !options.reuse_live {
        let why = format!(
            "{} has {} of the cells, and a cell of the live world does not repeat; --reuse-live keeps them, another store measures them again",
            store.root().display(),
            todo.survey.done
        );
        return Err(RunError::refused(why));
    }
    todo.survey.failed = todo.failed.len();
    todo.survey.to_run = todo.cells.len();
    let broken = todo.broken.iter();
    let broken = broken.map(|(key, why)| (store.cell(*key), why.clone()));
    todo.survey.broken = broken.collect();
    let cells = todo.cells.iter().map(|&index| &plan.cells[index]);
    todo.survey.estimate = estimate(plan.world, cells, options.jobs);
    Ok(todo)
}

/// Runs what `store` does not have of `plan`. `progress` is called now and then.
///
/// # Errors
///
/// Nothing can run here, or the store cannot be written. A cell that fails is no error.
pub fn run(
    plan: &Plan,
    store: &Store,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, RunError> {
    let todo = todo(plan, store, options)?;
    let guest = match plan.world {
        World::Virtual => Some(Guest::new(plan.guest())?),
        World::Sim | World::Live => None,
    };
    let making = store.making()?;
    let replaced_plan = store.begin(plan, &making)?;
    for (key, _) in &todo.broken {
        store.set_aside(*key)?;
    }
    let costs = todo.cells.iter().map(|&index| plan.cells[index].cost);
    let total: u64 = costs.sum::<u64>().max(1);
    let sweep = Sweep {
        plan,
        store,
        making: &making,
        options,
        guest,
        deadline: options.time_limit.map(|limit| Instant::now() + limit),
        halt: AtomicBool::new(false),
        done: AtomicU64::new(0),
        memory: Mutex::new(MEMORY_BUDGET.get()),
        freed: Condvar::new(),
    };
    let mut show = |taken: usize| {
        let share = sweep.done.load(Ordering::Relaxed) as f64 / total as f64;
        progress(Progress {
            done: taken,
            cells: todo.cells.len(),
            share: share.min(1.0),
        });
    };
    let mut gathered = sweep.gather(&todo.cells, &mut show);
    if let Some(error) = gathered.error {
        return Err(error);
    }
    for &index in &todo.failed {
        let why = why_failed(&store.cell(plan.cells[index].key));
        gathered.failed.push((index, why));
    }
    gathered.failed.sort();
    let describe = |(index, why): (usize, String)| {
        let cell = &plan.cells[index];
        let point = plan.describe(&plan.points[cell.point as usize]);
        (format!("{point} seed {}", cell.seed).trim().to_owned(), why)
    };
    let left = todo.cells.len() - gathered.taken;
    Ok(Report {
        survey: todo.survey,
        made: gathered.made,
        failed: gathered.failed.into_iter().map(describe).collect(),
        conflicts: gathered.conflicts,
        left,
        late: gathered.late && left > 0,
        replaced_plan,
    })
}

/// The error of a cell that failed.
pub(crate) fn why_failed(cell: &Path) -> String {
    let read = || -> Option<String> {
        let text = read::text(&cell.join(FAILED), LONGEST).ok()?;
        let json: HashMap<String, String> = serde_json::from_str(&text).ok()?;
        json.get("error").cloned()
    };
    read().unwrap_or_else(|| "it failed".to_owned())
}

/// How the run of a cell ended.
enum Ended {
    Made(Put),
    /// Place of the cell, and why.
    Failed(usize, String),
    /// Somebody asked for an end.
    Stopped,
    /// Nothing can go on.
    Broken(RunError),
}

/// What the threads share.
struct Sweep<'a> {
    plan: &'a Plan,
    store: &'a Store,
    making: &'a Making,
    options: &'a Options<'a>,
    guest: Option<Guest>,
    /// When no cell goes on.
    deadline: Option<Instant>,
    /// Set when no cell should go on.
    halt: AtomicBool,
    /// Cost of what has run.
    done: AtomicU64,
    /// Bytes that are free.
    memory: Mutex<u64>,
    freed: Condvar,
}

impl Sweep<'_> {
    fn carry_out(&self, index: usize, stop: &AtomicBool) -> Ended {
        let cell = &self.plan.cells[index];
        let made = match self.making.folder(cell.key) {
            Ok(made) => made,
            Err(error) => return Ended::Broken(error),
        };
        let folder = made.folder().path();
        let moving = Moving::new(&self.done, cell);
        let filled = catch_unwind(AssertUnwindSafe(|| self.fill(cell, &folder, stop, &moving)));
        let filled = filled.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(RunError::Failed(format!(
                "panicked: {}",
                said.unwrap_or("?")
            )))
        });
        let ended = match filled {
            Ok(false) => Ended::Stopped,
            Ok(true) => match self.store.put(cell.key, made) {
                Ok(put) => Ended::Made(put),
                Err(error) => Ended::Broken(error),
            },
            Err(_) if stop.load(Ordering::Relaxed) => Ended::Stopped,
            Err(RunError::Failed(why)) => match self.fail(cell, made, &why) {
                Ok(()) => Ended::Failed(index, why),
                Err(error) => Ended::Broken(error),
            },
            Err(error) => Ended::Broken(error),
        };
        moving.end();
        ended
    }

    /// Fills the folder of a cell. False if the run was stopped.
    fn fill(
        &self,
        cell: &Cell,
        folder: &Path,
        stop: &AtomicBool,
        moving: &Moving<'_>,
    ) -> Result<bool, RunError> {
        let (loaded, text) = self.plan.scenario(cell)?;
        let (scenario, seed) = (&loaded.scenario, cell.seed);
        let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        let canonical = self.plan.canonical(cell, scenario);
        if Key::of(&canonical) != cell.key {
            return Err(RunError::Failed(
                "its resolved scenario reads back as another".to_owned(),
            ));
        }
        let _held = self.hold(scenario);
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        write(&folder.join(CELL), canonical + "\n")?;
        if let Some(probe) = self.plan.probe(&self.plan.points[cell.point as usize]) {
            let figures = match probe.reading.filter(|_| self.plan.world != World::Sim) {
                None => Some((probe.measure)(scenario, seed, stop)?),
                Some(reading) => {
                    self.read(&reading, scenario, seed, &folder.join("run"), stop, moving)?
                }
            };
            let Some(figures) = figures else {
                return Ok(false);
            };
            write(&folder.join("scenario.toml"), text)?;
            write(&folder.join(FIGURES), figures + "\n")?;
            return Ok(!stop.load(Ordering::Relaxed));
        }
        if self.plan.world == World::Sim && !self.options.series {
            let measured = sim::run(scenario, seed, stop, &mut { moving });
            let mut measured = measured.map_err(|error| match error {
                SimError::Scenario(why) => RunError::Failed(why),
                other => RunError::Failed(other.to_string()),
            })?;
            measured.add_warnings_of_check(&warnings);
            if measured.summary.partial {
                return Ok(false);
            }
            write(&folder.join("scenario.toml"), text)?;
            for (name, json) in [
                ("summary.json", serde_json::to_vec_pretty(&measured.summary)),
                (
                    "histograms.json",
                    serde_json::to_vec_pretty(&measured.histograms),
                ),
            ] {
                let path = folder.join(name);
                let mut json = json.map_err(RunError::writing(&path))?;
                json.push(b'\n');
                write(&path, json)?;
            }
            return Ok(true);
        }
        let inner = folder.join("run");
        fs::create_dir(&inner).map_err(RunError::writing(&inner))?;
        let watched = self.plan.watched(&self.plan.points[cell.point as usize]);
        let options = RunOptions {
            warnings,
            live: watched.map_or_else(LiveOptions::default, Watched::options),
            ..RunOptions::new(self.plan.world, stop)
        };
        let summary = self.in_world(scenario, seed, &options, &inner, moving)?;
        let wanted = RESULT
            .iter()
            .chain(SERIES.iter().filter(|_| self.options.series));
        for name in wanted {
            let (from, to) = (inner.join(name), folder.join(name));
            if from.exists() {
                fs::rename(&from, &to).map_err(RunError::writing(&to))?;
            }
        }
        fs::remove_dir_all(&inner).map_err(RunError::writing(&inner))?;
        Ok(!summary.partial)
    }

    /// The figures that follow from a run with series and packets, which then goes; `None` if it was stopped.
    fn read(
        &self,
        reading: &Reading,
        scenario: &Scenario,
        seed: u64,
        folder: &Path,
        stop: &AtomicBool,
        moving: &Moving<'_>,
    ) -> Result<Option<String>, RunError> {
        fs::create_dir(folder).map_err(RunError::writing(folder))?;
        let mut scenario = scenario.clone();
        scenario.run.interval = (reading.interval)(&scenario);
        let options = RunOptions {
            packets: true,
            ..RunOptions::new(self.plan.world, stop)
        };
        let summary = self.in_world(&scenario, seed, &options, folder, moving)?;
        if summary.partial {
            return Ok(None);
        }
        let figures = (reading.figures)(&scenario, folder)?;
        fs::remove_dir_all(folder).map_err(RunError::writing(folder))?;
        Ok(Some(figures))
    }

    /// Runs a cell as `quell run` does, into a folder of a whole result.
    fn in_world(
        &self,
        scenario: &Scenario,
        seed: u64,
        options: &RunOptions<'_>,
        folder: &Path,
        moving: &Moving<'_>,
    ) -> Result<quell_measure::Summary, RunError> {
        let mut order = Order {
            scenario,
            seed,
            options,
            folder,
            progress: &mut |now| moving.reach(now),
        };
        match &self.guest {
            Some(guest) => guest.fill(order),
            None if self.plan.world == World::Live => match privilege_separation::order(&mut order)
            {
                Some(filled) => filled,
                None => {
                    let options = LiveOptions::default();
                    write_result(order, &mut |job: Job<'_>| live(job, World::Live, &options))
                }
            },
            None => write_result(order, &mut simulated),
        }
    }

    /// Leaves the error in the cell.
    fn fail(&self, cell: &Cell, made: Own, why: &str) -> Result<(), RunError> {
        let folder = made.folder().path();
        let emptied = made.folder().empty(None);
        emptied.map_err(RunError::writing(&folder))?;
        let (loaded, text) = self.plan.scenario(cell)?;
        let canonical = self.plan.canonical(cell, &loaded.scenario);
        write(&folder.join(CELL), canonical + "\n")?;
        write(&folder.join("scenario.toml"), text)?;
        let json = serde_json::json!({ "error": why });
        write(&folder.join(FAILED), format!("{json:#}\n"))?;
        self.store.put(cell.key, made).map(drop)
    }

    /// Waits until there is memory for a cell, and holds it.
    fn hold(&self, scenario: &Scenario) -> Held<'_> {
        let bytes = match self.plan.world {
            World::Virtual => guest_memory(scenario).get(),
            World::Sim | World::Live => Memory::of(scenario).run().get(),
        };
        // One that needs all runs alone.
        let bytes = bytes.min(MEMORY_BUDGET.get());
        let free = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.freed.wait_while(free, |free| *free < bytes);
        *free.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Held {
            memory: &self.memory,
            freed: &self.freed,
            bytes,
        }
    }
}

/// Memory of a cell.
struct Held<'a> {
    memory: &'a Mutex<u64>,
    freed: &'a Condvar,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.freed.notify_all();
    }
}
fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), RunError> {
    fs::write(path, content).map_err(RunError::writing(path))
}
