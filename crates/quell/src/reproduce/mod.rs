//! `quell reproduce`: published experiments, and which of their statements come out.

pub(crate) mod arguments;
mod changed;
mod record;

use std::fs;
use std::path::Path;

use quell_experiment::book;
use quell_experiment::registry::{self, VALIDATION, chapters, comparisons};
use quell_experiment::{Experiment, Findings, Length, Outcome, Reproduction, Unable};
use quell_lab::results::present::Table;
use quell_lab::sweep::{self, Identity, Options, Report, Store, Survey};
use quell_lab::{GuestOptions, World};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::files::write;
use crate::output::page::{Page, complain};
use crate::report;
use crate::reproduce::arguments::Reproduce;
use crate::reproduce::changed::{Counts, Unchanged};
use crate::sweep::{Shown, judge, rough, write_into};

/// Store of full runs.
pub(crate) const STORE: &str = "results/reproduce";
/// Names that an error suggests.
const SUGGESTED: usize = 5;

/// Lists or runs experiments.
pub(crate) fn reproduce(arguments: &Reproduce, page: &mut Page) -> Result<(), Failure> {
    let (list, names) = arguments.wanted();
    if let Some(out) = &arguments.report {
        report::check(out)?;
    }
    let own = own_files(names)?;
    let mut experiments = chosen(names, &own)?;
    if list {
        return match arguments.json {
            true => print(&list_json(&experiments), page),
            false => {
                list_all(&experiments, page);
                Ok(())
            }
        };
    }
    let more: Vec<Experiment>;
    if let Some(seeds) = arguments.seeds {
        let all = experiments.iter().map(|one| with_seeds(one, seeds));
        more = all.collect::<Result<_, _>>()?;
        experiments = more.iter().collect();
    }
    let world = arguments.world.map_or(World::Sim, World::from);
    let guest = arguments.patience.options(arguments.kernel.clone());
    let guest = guest.map_err(Failure::input)?;
    if let Some(document) = arguments.record.as_ref().filter(|_| world != World::Sim) {
        return record_all(arguments, &experiments, world, &guest, document, page);
    }
    let folder = arguments.store();
    let mut unchanged = Vec::new();
    if arguments.changed {
        let identity = Identity::here(world, &guest).map_err(Failure::run)?;
        (unchanged, experiments) = changed::divide(experiments, world, &identity, &folder);
        if experiments.is_empty() {
            return show(arguments, &[], &unchanged, None, page);
        }
    }
    let all = plan(arguments, &experiments, world, &guest)?;
    if !arguments.dry_run {
        write_into(&folder, world)?;
    }
    let interrupt = Interrupt::listen()?;
    // What a quick run loses with the power is made again in a moment.
    let store = match arguments.length() {
        Length::Quick => Store::for_a_while(&folder),
        Length::Full => Store::at(&folder),
    };
    let options = options(arguments, world, &interrupt)?;
    if arguments.dry_run {
        let survey = sweep::survey(&all.plan, &store, &options).map_err(Failure::run)?;
        dry(&all, &survey, &options, &folder, page);
        return Ok(());
    }
    let mut shown = Shown::new();
    let ran = sweep::run(&all.plan, &store, &options, &mut |progress| {
        shown.tell(&progress)
    });
    shown.end();
    let ran = ran.map_err(|error| interrupt.explain(Failure::run(error)))?;
    let outcomes = all.outcomes(&store).map_err(Failure::run)?;
    show(arguments, &outcomes, &unchanged, Some(&ran), page)?;
    write_all(arguments, &outcomes, world, page)?;
    if arguments.length() == Length::Full && arguments.shard.is_none() {
        // The verdicts are there all the same.
        if let Err(why) = changed::keep(&outcomes, &ran, &all.plan, &folder) {
            let why = why.message;
            complain(&format!("note: --changed will run this again: {why}"));
        }
    }
    match judge(&ran) {
        Some(why) => Err(interrupt.explain(Failure::failed(why))),
        None => Ok(()),
    }
}

/// Prints what came out.
fn show(
    arguments: &Reproduce,
    outcomes: &[Outcome<'_>],
    unchanged: &[Unchanged<'_>],
    ran: Option<&Report>,
    page: &mut Page,
) -> Result<(), Failure> {
    if arguments.json {
        return print(&outcomes_json(outcomes, unchanged), page);
    }
    tell(outcomes, unchanged, page);
    if let Some(ran) = ran {
        page.line(format_args!(
            "{} runs were there, {} ran: results in {}",
            ran.survey.done,
            ran.made,
            arguments.store().display()
        ));
    }
    Ok(())
}

/// Writes the files that the arguments name.
fn write_all(
    arguments: &Reproduce,
    outcomes: &[Outcome<'_>],
    world: World,
    page: &mut Page,
) -> Result<(), Failure> {
    if let Some(document) = &arguments.record {
        record::simulated(outcomes, document, page)?;
    }
    if let Some(folder) = &arguments.tables {
        write_tables(outcomes, folder)?;
        if !arguments.json {
            page.line(format_args!("tables in {}", folder.display()));
        }
    }
    if let Some(out) = &arguments.report {
        let words: Vec<String> = arguments.words(world);
        write(out, book::html(outcomes, &words.join(" ")).as_bytes())?;
        if !arguments.json {
            page.line(format_args!("book in {}", out.display()));
        }
    }
    Ok(())
}

fn options<'a>(
    arguments: &Reproduce,
    world: World,
    interrupt: &'a Interrupt,
) -> Result<Options<'a>, Failure> {
    Ok(Options {
        shard: arguments.shard,
        jobs: arguments.jobs.number(world).map_err(Failure::input)?,
        retry_failed: arguments.retry_failed,
        series: false,
        time_limit: None,
        reuse_live: world == World::Live,
        stop: interrupt.stop(),
    })
}

/// Records each experiment in another world.
fn record_all(
    arguments: &Reproduce,
    experiments: &[&Experiment],
    world: World,
    guest: &GuestOptions,
    document: &Path,
    page: &mut Page,
) -> Result<(), Failure> {
    let folder = arguments.store();
    write_into(&folder, world)?;
    let interrupt = Interrupt::listen()?;
    let recording = record::Recording {
        world,
        guest,
        store: &Store::at(&folder),
        options: &options(arguments, world, &interrupt)?,
        document,
    };
    let mut all = experiments.iter();
    let made = all.try_for_each(|one| recording.make(one, page));
    made.map_err(|error| interrupt.explain(error))
}

/// What is to run of the experiments in this world; prints which of them cannot.
fn plan<'a>(
    arguments: &Reproduce,
    experiments: &[&'a Experiment],
    world: World,
    guest: &GuestOptions,
) -> Result<Reproduction<'a>, Failure> {
    if world == World::Live {
        let why = "a run of the live world does not repeat; run its scenario with quell run";
        return Err(Failure::input(format!("--world live: {why}")));
    }
    if world == World::Sim && arguments.kernel.is_some() {
        return Err(Failure::input(
            "--kernel has an effect only in the virtual world",
        ));
    }
    let all = Reproduction::new(experiments, arguments.length(), world, guest);
    let all = all.map_err(Failure::run)?;
    if all.unable.len() == experiments.len() {
        return Err(Failure::input(unable(&all.unable)));
    }
    if !all.unable.is_empty() {
        complain(&format!("note: {}", unable(&all.unable)));
    }
    Ok(all)
}

/// A comparison with so many seeds of each point.
fn with_seeds(experiment: &Experiment, seeds: u64) -> Result<Experiment, Failure> {
    if experiment.record().is_none() {
        let id = &experiment.id;
        let why = format!("--seeds: {id} is compared with no record of Linux");
        return Err(Failure::input(why));
    }
    let points = experiment.points().map_err(Failure::failed)?;
    let points = points.into_iter().filter(|(_, cells)| !cells.is_empty());
    let seeds = points.map(|(name, _)| (name, seeds)).collect();
    experiment.with_seeds(Some(seeds)).map_err(Failure::failed)
}

/// Whether a name is that of a file: IDs have no end.
fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// The experiments of one's own among these names.
fn own_files(names: &[String]) -> Result<Vec<Experiment>, Failure> {
    let files = names.iter().filter(|name| is_file(name));
    let read = files.map(|name| Experiment::open(Path::new(name)).map_err(Failure::input));
    read.collect()
}

/// The experiments that these names mean, each once, in the order of the book, then those of one's own; all of the book without a name.
fn chosen<'a>(names: &[String], own: &'a [Experiment]) -> Result<Vec<&'a Experiment>, Failure> {
    if names.is_empty() {
        return Ok(registry::all());
    }
    let mut wanted: Vec<&str> = Vec::new();
    for name in names.iter().filter(|name| !is_file(name)) {
        let found = registry::find(name).map_err(|near| {
            let near: Vec<&str> = near.into_iter().take(SUGGESTED).collect();
            let meant = match near[..] {
                [] => "quell reproduce lists them".to_owned(),
                _ => format!("did you mean {}?", near.join(" or ")),
            };
            Failure::input(format!("there is no experiment {name}; {meant}"))
        })?;
        wanted.extend(found.iter().map(|one| one.id.as_str()));
    }
    let is_wanted = |one: &&Experiment| wanted.contains(&one.id.as_str());
    let all = registry::all().into_iter().chain(comparisons());
    Ok(all.filter(is_wanted).chain(own).collect())
}

fn list_all(experiments: &[&Experiment], page: &mut Page) {
    let width = experiments.iter().map(|one| one.id.chars().count()).max();
    let width = width.unwrap_or(0);
    let known = chapters()
        .iter()
        .map(|one| (one.name.as_str(), one.title.as_str(), one.source.as_str()));
    let with_linux = (
        VALIDATION,
        "Comparisons with Linux",
        "docs/evidence/validation.md",
    );
    for (name, title, source) in known.chain([with_linux]) {
        let own = experiments.iter().filter(|one| one.chapter() == name);
        let own: Vec<_> = own.collect();
        if own.is_empty() {
            continue;
        }
        page.paragraph(0, &format!("{title}: {source}"));
        for one in own {
            let statements = match one.statements.len() {
                1 => "1 statement".to_owned(),
                many => format!("{many} statements"),
            };
            let text = format!("{} ({statements}; {})", one.title, one.source);
            page.hanging(&format!("  {:width$}  ", one.id), &text);
        }
        page.line("");
    }
    page.line("quell reproduce ID runs an experiment; docs/reproduce.md has the verdicts.");
}

fn list_json(experiments: &[&Experiment]) -> Json {
    let one = |one: &&Experiment| {
        let statements = one.statements.iter().map(|statement| {
            json!({
                "id": statement.id,
                "published": statement.published,
                "bound": statement.bound,
            })
        });
        json!({
            "id": one.id,
            "title": one.title,
            "source": one.source,
            "scenarios": one.scenarios(),
            "runs": one.cells().len(),
            "statements": statements.collect::<Vec<_>>(),
        })
    };
    experiments.iter().map(one).collect()
}

fn print(json: &Json, page: &mut Page) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(json).map_err(Failure::failed)?;
    page.line(text);
    Ok(())
}

/// Each experiment that cannot run, and why.
fn unable(all: &[Unable<'_>]) -> String {
    let mut text = "cannot run in this world:".to_owned();
    for one in all {
        let id = &one.experiment.id;
        // What is wrong with a plan begins with how much it is.
        let why = match one.why.split_once('\n') {
            Some((first, rest)) if first.starts_with("the sweep has ") => rest,
            _ => &one.why,
        };
        text += &format!("\n  {id}");
        for line in why.lines() {
            text += &format!("\n    {line}");
        }
    }
    text
}

fn dry(
    all: &Reproduction<'_>,
    survey: &Survey,
    options: &Options<'_>,
    store: &Path,
    page: &mut Page,
) {
    let of = match options.shard {
        Some(_) => format!(" of {}", all.plan.len()),
        None => String::new(),
    };
    page.line(format_args!(
        "{:8} different runs{of} in the {} world",
        survey.cells,
        all.plan.world.name()
    ));
    page.line(format_args!("{:8} are in {}", survey.done, store.display()));
    if survey.failed > 0 {
        page.line(format_args!(
            "{:8} failed; --retry-failed runs them again",
            survey.failed
        ));
    }
    page.line(format_args!(
        "{:8} to run, about {} with --jobs {}",
        survey.to_run,
        rough(survey.estimate),
        options.jobs
    ));
}

/// The verdicts, and how many there are of each.
fn tell(outcomes: &[Outcome<'_>], unchanged: &[Unchanged<'_>], page: &mut Page) {
    let mut counts = Counts::default();
    let mut add = |more: Counts| {
        counts
            .iter_mut()
            .zip(more)
            .for_each(|(all, more)| *all += more)
    };
    let (mut found, mut waiting) = (unchanged.len(), 0);
    for one in unchanged {
        add(one.counts);
        let text = format!(
            "unchanged since it was last judged: {}",
            in_words(one.counts)
        );
        page.hanging(&format!("{}: ", one.experiment.id), &text);
    }
    for outcome in outcomes {
        match outcome {
            Outcome::Found(findings) => {
                found += 1;
                add(changed::counts(findings).unwrap_or_default());
                tell_one(findings, page);
            }
            Outcome::Incomplete {
                experiment,
                cells,
                missing,
                failed,
            } => {
                waiting += 1;
                page.line(format_args!("{}: {}", experiment.id, experiment.title));
                if *missing > 0 {
                    page.paragraph(2, &format!("{missing} of {cells} runs are missing"));
                }
                for why in failed {
                    page.paragraph(2, &format!("failed: {why}"));
                }
            }
        }
        page.line("");
    }
    let experiments = |count: usize| match count {
        1 => "1 experiment".to_owned(),
        many => format!("{many} experiments"),
    };
    let mut line = experiments(found);
    if counts != Counts::default() {
        line += &format!(": {}", in_words(counts));
    } else if found > 0 {
        line += " ran; too short to judge";
    }
    if waiting > 0 {
        line += &format!("; {} not complete", experiments(waiting));
    }
    page.line(line);
}

fn in_words([reproduced, differ, open]: Counts) -> String {
    let statements = if reproduced == 1 {
        "statement"
    } else {
        "statements"
    };
    format!("{reproduced} {statements} reproduced, {differ} differ, {open} cannot be judged")
}

fn tell_one(findings: &Findings<'_>, page: &mut Page) {
    let experiment = findings.experiment();
    page.paragraph(0, &format!("{}: {}", experiment.id, experiment.title));
    // The figures of so short a run say nothing.
    if changed::counts(findings).is_none() {
        page.line("  ran; too short to judge");
        return;
    }
    for judged in findings.judged() {
        let (_, name) = judged.id.split_once('#').unwrap_or_default();
        page.hanging(&format!("  {name}: "), judged.verdict.name());
        page.hanging("    published  ", &judged.published);
        if !judged.ours.is_empty() {
            page.hanging("    quell      ", &judged.ours);
        }
        page.hanging("    checked    ", &judged.bound);
        if let Some(why) = judged.verdict.why() {
            page.hanging("    why        ", why);
        }
    }
    for note in findings.notes() {
        page.hanging("  note: ", &note);
    }
    // --tables writes those of the book.
    if experiment.chapter().is_empty() && !findings.text.is_empty() {
        page.line("");
        for line in findings.text.lines() {
            page.line(line);
        }
    }
}

/// Writes the text of each experiment with its tables, as Markdown, and its CSV files.
fn write_tables(outcomes: &[Outcome<'_>], folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::failed)?;
    // What several write into one file.
    let mut files: Vec<(&str, Table)> = Vec::new();
    for findings in outcomes.iter().filter_map(Outcome::findings) {
        let experiment = findings.experiment();
        let name = experiment.id.replace('/', "-");
        // The files lie beside the text.
        let text = findings.text.replace("](data/", "](");
        let text = format!("# {}\n\n{text}\n", experiment.title);
        write(&folder.join(format!("{name}.md")), text.as_bytes())?;
        for (name, table) in &findings.tables {
            match files.iter_mut().find(|(known, _)| known == name) {
                Some((_, whole)) if whole.is_like(table) => whole.append(table),
                _ => files.push((name, table.clone())),
            }
        }
    }
    for (name, table) in &files {
        let name = Path::new(name).file_name().unwrap_or_default();
        write(&folder.join(name), table.to_csv().as_bytes())?;
    }
    Ok(())
}

fn outcomes_json(outcomes: &[Outcome<'_>], unchanged: &[Unchanged<'_>]) -> Json {
    let one = |outcome: &Outcome<'_>| match outcome {
        Outcome::Found(findings) => {
            let statements = findings.judged().into_iter().map(|judged| {
                json!({
                    "id": judged.id,
                    "published": judged.published,
                    "ours": judged.ours,
                    "bound": judged.bound,
                    "verdict": judged.verdict.name(),
                    "why": judged.verdict.why(),
                })
            });
            let experiment = findings.experiment();
            json!({
                "id": experiment.id,
                "title": experiment.title,
                "source": experiment.source,
                "statements": statements.collect::<Vec<_>>(),
            })
        }
        Outcome::Incomplete {
            experiment,
            missing,
            failed,
            ..
        } => json!({ "id": experiment.id, "missing": missing, "failed": failed }),
    };
    let kept = unchanged.iter().map(|Unchanged { experiment, counts }| {
        let [reproduced, differ, open] = counts;
        json!({
            "id": experiment.id, "unchanged": true,
            "reproduced": reproduced, "differ": differ, "cannot_be_judged": open,
        })
    });
    kept.chain(outcomes.iter().map(one)).collect()
}
