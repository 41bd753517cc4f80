//! `quell judge`: whether a stack does what the standards of L4S and ECN ask.

pub(crate) mod arguments;
mod document;
mod record;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use quell_experiment::judge::{Judgement, Level, Record, Stack, Trial, Verdict, Wanted, clauses};
use quell_lab::results::present;
use quell_lab::sweep::{Progress, Stored};
use quell_lab::{World, printable};

use crate::expectations::{Lines, check_junit, report};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::judge::arguments::{Judge, JudgeAction};
use crate::output::files::{folder as folder_name, write};
use crate::output::page::{Page, complain, say};
use crate::sweep::Shown;

/// The file with the verdicts.
pub(crate) const RECORD: &str = "judge.json";
const PAGE: &str = "judge.html";
const BADGE: &str = "badge.svg";
/// Exit codes: a MUST is not met, or nothing could be judged; with `--strict` something is open.
const NOT_MET: u8 = 3;
const OPEN: u8 = 4;

/// Judges stacks, or says what would be judged.
pub(crate) fn judge(arguments: &Judge, page: &mut Page) -> Result<(), Failure> {
    match &arguments.action {
        Some(JudgeAction::List) => {
            document::list(&clauses(), page);
            page.line(
                "quell judge explain CLAUSE says what is measured, and where the bound comes from.",
            );
            Ok(())
        }
        Some(JudgeAction::Explain { clause }) => explain(clause, page),
        Some(JudgeAction::Matrix { folders, out }) => matrix(folders, out, page),
        None => judge_all(arguments, page),
    }
}

fn explain(name: &str, page: &mut Page) -> Result<(), Failure> {
    Wanted::named(&[name.to_owned()]).map_err(Failure::input)?;
    let own = clauses()
        .into_iter()
        .filter(|one| one.id == name || one.group == name);
    for clause in own {
        document::explain(&clause, page);
    }
    Ok(())
}

fn matrix(folders: &[PathBuf], out: &Path, page: &mut Page) -> Result<(), Failure> {
    let all = folders.iter().map(|folder| read(&folder.join(RECORD)));
    let mut all = all.collect::<Result<Vec<_>, _>>()?.into_iter();
    let Some(mut whole) = all.next() else {
        return Ok(());
    };
    all.for_each(|one| whole.stacks.extend(one.stacks));
    write(
        out,
        present::page(&document::page(&whole, &|_, _| Vec::new())).as_bytes(),
    )?;
    page.blocks(&[document::matrix(&whole)]);
    page.line(format_args!("the page is {}", out.display()));
    Ok(())
}

fn read(path: &Path) -> Result<Record, Failure> {
    let refused = |error| {
        Failure::input(format!(
            "{}: no record of quell judge: {error}",
            path.display()
        ))
    };
    Record::read(path).map_err(refused)
}

fn judge_all(arguments: &Judge, page: &mut Page) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::input)?;
    let world = World::from(arguments.world);
    let jobs = arguments.jobs.number(world).map_err(Failure::input)?;
    let guest = arguments.patience.options(arguments.kernel.clone());
    let guest = guest.map_err(Failure::input)?;
    let baseline = arguments.baseline.as_deref().map(read).transpose()?;
    check_junit(arguments.junit.as_deref())?;
    let mut record = Record::new(world, arguments.seeds());
    let mut trials: Vec<Trial> = Vec::new();
    let mut refused = Vec::new();
    for file in &arguments.stacks {
        match stack(arguments, file, world) {
            // Its runs would take the place of the other's.
            Ok(stack) if trials.iter().any(|one| one.stack.name == stack.name) => {
                refused.push(Failure::input(format!(
                    "{}: another stack of this command is called {}; give it a name of its own",
                    file.display(),
                    stack.name
                )));
            }
            Ok(stack) => {
                let trial = Trial::new(stack, &wanted, arguments.seeds(), world, &guest);
                trials.push(trial.map_err(Failure::input)?);
            }
            Err(failure) => refused.push(failure),
        }
    }
    if trials.is_empty()
        && let Some(first) = refused.pop()
    {
        return Err(first);
    }
    refused.iter().for_each(|failure| say(&failure.message));
    prepare(&arguments.out)?;
    let interrupt = Interrupt::listen()?;
    for trial in &trials {
        let folder = arguments.out.join(folder_name(&trial.stack.name));
        let tidy = |results: &[Stored], group: &str| tidy(trial, results, group, &folder);
        let results = carry_out(trial, &folder, jobs, interrupt.stop(), &tidy);
        if interrupt.stop().load(Ordering::Relaxed) {
            let _ = fs::remove_dir_all(&folder);
            let done = record.stacks.len();
            let why = format!("interrupted: {done} of {} stacks are judged", trials.len());
            if done == 0 {
                let _ = fs::remove_dir_all(&arguments.out);
                return Err(interrupt.explain(Failure::failed(why)));
            }
            let _ = finish(arguments, &record, baseline.as_ref(), refused.len(), page);
            return Err(interrupt.explain(Failure::failed(why)));
        }
        // Empty if nothing stays.
        let _ = fs::remove_dir(&folder);
        let judged = Judgement::of(trial, trial.judged(&results, &folder), arguments.quick);
        if !arguments.json {
            document::lines(&judged, page);
            page.gap();
        }
        record.stacks.push(judged);
        // Whatever ends the others, this one is judged.
        keep(&record, &arguments.out)?;
        page.show().map_err(Failure::failed)?;
    }
    finish(arguments, &record, baseline.as_ref(), refused.len(), page)
}

/// Reads a stack file, for this world.
fn stack(arguments: &Judge, file: &Path, world: World) -> Result<Stack, Failure> {
    let stack = Stack::open(file).map_err(Failure::input)?;
    let why = match (world, stack.has_programs()) {
        (World::Sim, true) => "--world sim has no programs; --world virtual runs them",
        (World::Live, true) if !arguments.allow_programs => {
            "--world live would run its programs as you; read them, and give --allow-programs"
        }
        _ => {
            return Ok(match arguments.claims() {
                Some(claims) => stack.claiming(claims),
                None => stack,
            });
        }
    };
    Err(Failure::input(format!("{}: {why}", file.display())))
}

/// Makes the folder of the results, in place of one that quell judge made.
fn prepare(out: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(out).into_iter().flatten();
    if entries.next().is_some() {
        if !out.join(RECORD).is_file() {
            let shown = out.display();
            return Err(Failure::input(format!(
                "--out {shown}: is a folder with other things in it; name a new one"
            )));
        }
        fs::remove_dir_all(out).map_err(Failure::failed)?;
    }
    fs::create_dir_all(out).map_err(Failure::failed)?;
    // Whatever ends this, the folder can be replaced.
    write(&out.join(RECORD), b"{}\n")
}

/// All runs of a trial, so many at once; a run that fails is a result too. Calls `ended` once all runs of a group of clauses have ended.
fn carry_out(
    trial: &Trial,
    folder: &Path,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    ended: &(dyn Fn(&[Stored], &str) + Sync),
) -> Vec<Stored> {
    let runs = trial.runs();
    let results = Mutex::new(vec![Stored::Missing; runs.len()]);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let shown = Mutex::new(Shown::new());
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&run) = runs.get(place) else {
                return;
            };
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let result = trial.carry_out(run, &folder.join(trial.folder(run)), stop);
            let group = trial.group(run);
            let all = {
                let mut all = results.lock().unwrap_or_else(PoisonError::into_inner);
                all[place] = result;
                let mut own = runs
                    .iter()
                    .zip(&*all)
                    .filter(|(run, _)| trial.group(**run) == group);
                let go_on = own.any(|(_, result)| matches!(result, Stored::Missing));
                (!go_on).then(|| all.clone())
            };
            if let Some(all) = all {
                ended(&all, group);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            shown
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .tell(&Progress {
                    done,
                    cells: runs.len(),
                    share: done as f64 / runs.len() as f64,
                });
        }
    };
    std::thread::scope(|scope| {
        // One of them is this one: a system that makes no thread still judges.
        for _ in 1..jobs.get() {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    shown
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .end();
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the runs of a group of clauses that are met, whose captures would fill the disk: only what somebody may argue with stays, with
/// a log of its flow.
fn tidy(trial: &Trial, results: &[Stored], group: &str, folder: &Path) {
    let judged = trial.judged(results, folder);
    let mut verdicts = judged.iter().filter(|one| one.clause.group == group);
    let stays = verdicts.any(|one| matches!(one.verdict, Verdict::Fail | Verdict::Open(_)));
    for run in trial
        .runs()
        .into_iter()
        .filter(|run| trial.group(*run) == group)
    {
        let own = folder.join(trial.folder(run));
        if stays {
            // A run that failed may have nothing to say.
            let _ = trial.write_log(&own);
        } else {
            let _ = fs::remove_dir_all(&own);
        }
    }
    let _ = fs::remove_dir(folder.join(group));
}

/// Writes the verdicts so far; returns the text.
fn keep(record: &Record, out: &Path) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(record).map_err(Failure::failed)? + "\n";
    write(&out.join(RECORD), text.as_bytes())?;
    Ok(text)
}

/// Writes the files, and says how it ends.
fn finish(
    arguments: &Judge,
    record: &Record,
    baseline: Option<&Record>,
    refused: usize,
    page: &mut Page,
) -> Result<(), Failure> {
    let out = &arguments.out;
    let text = keep(record, out)?;
    let pictures =
        |stack: &str, group: &str| document::pictures(&out.join(folder_name(stack)).join(group));
    write(
        &out.join(PAGE),
        present::page(&document::page(record, &pictures)).as_bytes(),
    )?;
    write(&out.join(BADGE), document::badge(record).as_bytes())?;
    if arguments.json {
        page.line(text.trim_end());
    } else {
        if record.stacks.len() > 1 {
            page.blocks(&[document::matrix(record)]);
        }
        let shown = out.display().to_string();
        let shown = printable(&shown);
        page.line(format_args!(
            "{PAGE}, {RECORD}, {BADGE} and the runs of what is not met are in {shown}"
        ));
    }
    let suites = record::suites(record, out);
    if let Some(junit) = &arguments.junit {
        // What is not met is said below, in other words.
        let _ = report(&suites, Some(junit), Lines::None);
    }
    let all = record
        .stacks
        .iter()
        .flat_map(|stack| stack.clauses.iter().map(move |one| (stack, one)));
    let is_worse = |stack: &Judgement, id: &str| {
        baseline.is_none_or(|baseline| !baseline.has(&stack.name, id, Verdict::Fail.name()))
    };
    let of = |name: &'static str| all.clone().filter(move |(_, one)| one.verdict == name);
    let must = of("FAIL")
        .filter(|(stack, one)| one.level == Level::Must.name() && is_worse(stack, &one.id));
    let failed: Vec<String> = must
        .map(|(stack, one)| format!("{} of {}", one.id, stack.name))
        .collect();
    let dead: Vec<&str> = record.dead().collect();
    if !failed.is_empty() {
        return Err(ended(
            NOT_MET,
            format!("a MUST is not met: {}", failed.join(", ")),
        ));
    }
    if !dead.is_empty() || refused > 0 {
        for name in &dead {
            complain(&format!("{name}: nothing could be judged"));
        }
        return Err(ended(NOT_MET, "not every stack could be judged".to_owned()));
    }
    match of("open").count() {
        count if count > 0 && arguments.strict => {
            Err(ended(OPEN, format!("{count} clauses are open")))
        }
        _ => Ok(()),
    }
}

fn ended(code: u8, message: String) -> Failure {
    Failure {
        code,
        ..Failure::failed(message)
    }
}
