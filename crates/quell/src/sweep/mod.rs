//! `quell sweep`: many cells into a store, and what a store has.

pub(crate) mod arguments;
pub(crate) mod table;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quell_experiment::expectation::Fitted;
use quell_lab::World;
use quell_lab::sweep::{self, Options, Plan, PointOfPlan, Progress, Report, Store, Stored, Survey};

use crate::expectations::{Lines, Suite, report};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::outcomes::write_as_owner;
use crate::output::page::{Page, complain};
use crate::sweep::arguments::{Keep, Sweep, SweepAction};

/// Cells that are named in a message.
const NAMED: usize = 10;

/// Runs a sweep file, or another command on a store.
pub(crate) fn sweep(arguments: &Sweep, page: &mut Page) -> Result<(), Failure> {
    match (&arguments.action, &arguments.file) {
        (Some(SweepAction::Table(arguments)), _) => table::table(arguments, page),
        (Some(SweepAction::Merge { dest, sources }), _) => merge(dest, sources, page),
        (Some(SweepAction::Check { store, set_aside }), _) => check(store, *set_aside, page),
        (None, Some(file)) => run(file, arguments, page),
        (None, None) => Err(Failure::input(
            "quell sweep needs a file; see quell help sweep",
        )),
    }
}

fn run(file: &Path, arguments: &Sweep, page: &mut Page) -> Result<(), Failure> {
    let world = arguments.world.map(World::from);
    let guest = arguments.patience.options(arguments.kernel.clone());
    let guest = guest.map_err(Failure::input)?;
    let plan = Plan::read(file, world, &guest).map_err(Failure::run)?;
    if plan.world != World::Virtual && arguments.kernel.is_some() {
        return Err(Failure::input(
            "--kernel has an effect only in the virtual world",
        ));
    }
    if plan.world != World::Live && arguments.reuse_live {
        return Err(Failure::input(
            "--reuse-live has an effect only in the live world",
        ));
    }
    let store = arguments.store.clone().unwrap_or_else(|| usual_store(file));
    let expected = fit(&plan, file, arguments)?;
    if !arguments.dry_run {
        write_into(&store, plan.world)?;
    }
    let interrupt = Interrupt::listen()?;
    let store = Store::at(&store).trusted(arguments.trust);
    let options = Options {
        shard: arguments.shard,
        jobs: arguments.jobs(plan.world).map_err(Failure::input)?,
        retry_failed: arguments.retry_failed,
        series: arguments.keep == Keep::Series,
        time_limit: arguments.time_limit,
        reuse_live: arguments.reuse_live,
        stop: interrupt.stop(),
    };
    if arguments.dry_run {
        let survey = sweep::survey(&plan, &store, &options).map_err(Failure::run)?;
        dry(&plan, &survey, &options, &store, page);
        return Ok(());
    }
    let mut shown = Shown::new();
    let report = sweep::run(&plan, &store, &options, &mut |progress| {
        shown.tell(&progress)
    });
    shown.end();
    let report = report.map_err(|error| interrupt.explain(Failure::run(error)))?;
    done(&report, &store, page);
    let failure = judge(&report);
    match failure {
        Some(why) => Err(interrupt.explain(Failure::failed(why))),
        // Of a part of the cells nothing is known about the others.
        None if expected.is_empty() || arguments.shard.is_some() => Ok(()),
        None => judge_points(&plan, &store, &expected, arguments, page),
    }
}

/// Points, each with what is expected of it; none where nothing is.
fn fit(
    plan: &Plan,
    file: &Path,
    arguments: &Sweep,
) -> Result<Vec<(PointOfPlan, Vec<Fitted>)>, Failure> {
    if !plan.expects() && !arguments.expected.has_any() {
        return arguments.expected.check_file(false).map(|()| Vec::new());
    }
    let points = plan.judged().map_err(Failure::run)?;
    let places: Vec<_> = points.iter().map(|point| ("", &point.scenario)).collect();
    arguments.expected.check_places(&places)?;
    let fitted = points.into_iter().map(|point| {
        let all = arguments.expected.fit(file, &point.scenario, "", &[])?;
        Ok((point, all))
    });
    fitted.collect()
}

/// Judges each point by the results of its seeds.
fn judge_points(
    plan: &Plan,
    store: &Store,
    expected: &[(PointOfPlan, Vec<Fitted>)],
    arguments: &Sweep,
    page: &mut Page,
) -> Result<(), Failure> {
    let stored = sweep::stored(plan, store).map_err(Failure::run)?;
    let about = expected.iter().filter(|(_, all)| !all.is_empty());
    let suites = about.map(|(point, all)| {
        let summaries = point.cells.iter().filter_map(|(place, seed)| {
            let Some(Stored::Summary(summary)) = stored.get(*place) else {
                return None;
            };
            Some(serde_json::to_value(summary).map(|json| (*seed, json)))
        });
        let runs: Vec<_> = summaries
            .collect::<Result<_, _>>()
            .map_err(Failure::failed)?;
        Ok(Suite {
            name: format!("{} {}", plan.name, point.label),
            label: point.label.clone(),
            seconds: 0.0,
            folder: None,
            judged: all.iter().map(|one| one.judge(&runs)).collect(),
        })
    });
    let suites: Vec<Suite> = suites.collect::<Result<_, Failure>>()?;
    let is_met = |suite: &&Suite| suite.judged.iter().all(|one| one.is_met);
    let met = suites.iter().filter(is_met).count();
    page.line(format_args!(
        "{met} of {} points are as expected",
        suites.len()
    ));
    report(&suites, arguments.expected.junit.as_deref(), Lines::Unmet)
}

/// Writes as the owner of a store from now on, if root is to do it.
pub(crate) fn write_into(store: &Path, world: World) -> Result<(), Failure> {
    write_as_owner(&store.join("cells"), world)
}

fn merge(dest: &Path, sources: &[PathBuf], page: &mut Page) -> Result<(), Failure> {
    write_into(dest, World::Sim)?;
    let merged = sweep::merge(&Store::at(dest), sources).map_err(Failure::run)?;
    page.line(format_args!(
        "{} cells added to {}, {} were there",
        merged.copied,
        dest.display(),
        merged.same
    ));
    if merged.other_plans > 0 {
        let plans = merged.other_plans;
        complain(&format!(
            "note: {plans} of the sources have another plan; the store's own decides the table"
        ));
    }
    let mut lines = Vec::new();
    for path in &merged.conflicts {
        lines.push(format!(
            "not deterministic: two stores have different results of a cell; the second is in {}",
            path.display()
        ));
    }
    for (path, why) in &merged.damaged {
        lines.push(format!("{}: {why}; it was left out", path.display()));
    }
    ends(lines)
}

fn check(store: &Path, set_aside: bool, page: &mut Page) -> Result<(), Failure> {
    if set_aside {
        write_into(store, World::Sim)?;
    }
    let checked = sweep::check(&Store::at(store), set_aside).map_err(Failure::run)?;
    page.line(format_args!(
        "{:8} cells are as they were made",
        checked.whole
    ));
    for (count, what) in [
        (
            checked.failed,
            "failed; quell sweep FILE --retry-failed runs them again",
        ),
        (checked.missing, "of the plan are not there"),
        (checked.besides, "belong to another plan"),
        (
            checked.conflicts,
            "results in conflicts were not repeated to the bit",
        ),
        (checked.damaged.len(), "are damaged"),
    ] {
        if count > 0 {
            page.line(format_args!("{count:8} {what}"));
        }
    }
    let damaged = checked.damaged.iter();
    ends(
        damaged
            .map(|(path, why)| format!("{}: {why}", path.display()))
            .collect(),
    )
}

/// Fails if there is something to say.
fn ends(lines: Vec<String>) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(lines.join("\n")))
}

/// `results/sweep-NAME` for `NAME.toml`.
fn usual_store(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    Path::new("results").join(format!("sweep-{stem}"))
}

fn dry(plan: &Plan, survey: &Survey, options: &Options<'_>, store: &Store, page: &mut Page) {
    let of = match options.shard {
        Some(_) => format!(" of {}", plan.len()),
        None => String::new(),
    };
    page.line(format_args!(
        "{:8} cells{of} in the {} world",
        survey.cells,
        plan.world.name()
    ));
    page.line(format_args!(
        "{:8} are in {}",
        survey.done,
        store.root().display()
    ));
    if survey.failed > 0 {
        page.line(format_args!(
            "{:8} failed; --retry-failed runs them again",
            survey.failed
        ));
    }
    if !survey.broken.is_empty() {
        page.line(format_args!(
            "{:8} lack files or were changed, and would run again",
            survey.broken.len()
        ));
    }
    page.line(format_args!(
        "{:8} to run, about {} with --jobs {}",
        survey.to_run,
        rough(survey.estimate),
        options.jobs
    ));
}

fn done(report: &Report, store: &Store, page: &mut Page) {
    let survey = &report.survey;
    let there = match survey.done {
        0 => String::new(),
        done => format!(", {done} were there"),
    };
    page.line(format_args!(
        "{} cells{there}, {} ran: results in {}",
        survey.cells,
        report.made,
        store.root().display()
    ));
    for (cell, why) in &survey.broken {
        complain(&format!(
            "warning: {}: {why}; it is in damaged now, and was run again",
            cell.display()
        ));
    }
    if report.replaced_plan {
        complain(
            "note: the store had the plan of another sweep or version; its cells are still there",
        );
    }
}

/// What is wrong with the result.
pub(crate) fn judge(report: &Report) -> Option<String> {
    let mut lines = Vec::new();
    if !report.failed.is_empty() {
        lines.push(format!(
            "{} of {} cells failed (--retry-failed runs them again)",
            report.failed.len(),
            report.survey.cells
        ));
        for (cell, why) in report.failed.iter().take(NAMED) {
            lines.push(format!("  {cell}: {why}"));
        }
        if report.failed.len() > NAMED {
            lines.push(format!("  and {} more", report.failed.len() - NAMED));
        }
    }
    for path in &report.conflicts {
        lines.push(format!(
            "not deterministic: the store has another result; the new one is in {}",
            path.display()
        ));
    }
    if report.left > 0 {
        let why = if report.late {
            "the time is over"
        } else {
            "interrupted"
        };
        lines.push(format!(
            "{why}; {} cells are left, and the same command goes on",
            report.left
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `45 s`, `12 min`, `3.5 h`
pub(crate) fn rough(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds < 1.0 => "1 s".to_owned(),
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

/// A bar on a terminal; nothing elsewhere.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    began: Instant,
}

/// Steps of the bar.
const STEPS: u64 = 10_000;

impl Shown {
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(STEPS), target);
            let style = ProgressStyle::with_template("{prefix}{wide_bar} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let began = Instant::now();
        Self { bar, began }
    }

    pub(crate) fn tell(&mut self, progress: &Progress) {
        let Some(bar) = &self.bar else { return };
        bar.set_position((progress.share * STEPS as f64) as u64);
        bar.set_prefix(format!("{} of {} cells ", progress.done, progress.cells));
        let passed = self.began.elapsed().as_secs_f64();
        if progress.share > 0.0 {
            let left = passed / progress.share - passed;
            let left = Duration::try_from_secs_f64(left.max(0.0)).unwrap_or_default();
            bar.set_message(format!("about {} left", rough(left)));
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
