//! `--record`: comparisons with Linux, written into `docs/evidence/validation.md` and the files beside it.
//!
//! In the simulated world the runs of Linux that are recorded stay, and the simulations beside them are new. In the virtual and in the live
//! world the runs are new as well, and become the record. A point whose runs differ so much among themselves that chance decides gets
//! further seeds, in both worlds: the scatter alone decides which points those are, never whether they agree.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use quell_experiment::live;
use quell_experiment::reference::{Compared, record, report};
use quell_experiment::{Experiment, Findings, Length, Outcome, Reproduction};
use quell_lab::results::facts::Utc;
use quell_lab::results::present::Table;
use quell_lab::sweep::{self, Options, Store, Stored, forget, stored};
use quell_lab::{GuestOptions, World};

use crate::failure::Failure;
use crate::output::files::write;
use crate::output::page::Page;
use crate::sweep::{Shown, judge};

/// The name of the part with what is simulated anew.
const ANEW: &str = "quell reproduce validation";

/// Writes what was simulated anew: a part of the document, and the file of all figures.
pub(crate) fn simulated(
    outcomes: &[Outcome<'_>],
    document: &Path,
    page: &mut Page,
) -> Result<(), Failure> {
    let found: Vec<&Findings<'_>> = outcomes.iter().filter_map(Outcome::findings).collect();
    let found: Vec<_> = found
        .into_iter()
        .filter(|one| !one.compared.is_empty())
        .collect();
    if found.is_empty() {
        return Err(Failure::input(
            "--record: none of these is compared with a record",
        ));
    }
    let all: Vec<&Compared> = found.iter().flat_map(|one| &one.compared).collect();
    let runs: u64 = all.iter().map(|one| one.seeds).sum();
    let records = found.iter().filter_map(|one| one.experiment().record());
    let records = records.map(|name| format!("[{name}](data/{name})"));
    let mut text = format!(
        "Simulated anew on {}: {runs} runs at {} points, with the seeds that Linux had. The figures of Linux are those that the comparisons \
         recorded in {}, to three digits; no kernel ran for this part. *Then* is what their own simulations had.\n\n{}",
        day(),
        all.len(),
        records.collect::<Vec<_>>().join(", "),
        report::shares(&all, "virtual", true),
    );
    let [held, of] = report::held(&all, "live");
    if of > 0 {
        text += &format!(
            "\nBeside the live world {held} of {of} bounds hold over a simulated link that is never late.\n"
        );
    }
    text += &format!(
        "\n[{0}](data/{0}) has each figure of each point.\n\n### Misses of the simulations made anew\n\n",
        report::ANEW
    );
    part(document, ANEW, page, |explanations| {
        text + &report::misses(&all, "virtual", explanations)
    })?;
    write_file(document, report::ANEW, &report::anew(all), page)
}

/// A live run whose link was late is made again so often; the last is kept whatever it is.
const ATTEMPTS: u32 = 4;

/// What a recording needs to run.
pub(crate) struct Recording<'a> {
    pub(crate) world: World,
    pub(crate) guest: &'a GuestOptions,
    pub(crate) store: &'a Store,
    pub(crate) options: &'a Options<'a>,
    pub(crate) document: &'a Path,
}

impl Recording<'_> {
    /// Runs an experiment in another world and in the simulator, and writes its record and its part of the document.
    pub(crate) fn make(&self, experiment: &Experiment, page: &mut Page) -> Result<(), Failure> {
        let name = experiment.id.rsplit('/').next().unwrap_or_default();
        let world = self.world.name();
        let part_name = format!("quell reproduce {} --world {world}", experiment.id);
        let is_recorded = |one: &String| one == world;
        if experiment.record().is_none() {
            return self.both_sides(experiment, &part_name, page);
        }
        if !experiment.recorded_worlds().iter().any(is_recorded) {
            let id = &experiment.id;
            let why = format!("{id} has no record of the {world} world");
            return Err(Failure::input(why));
        }
        let compared = self.run(experiment)?;
        let Some(file) = experiment.record() else {
            return Ok(());
        };
        let path = self.document.with_file_name("data").join(file);
        let old = fs::read_to_string(&path).unwrap_or_default();
        write_file(
            self.document,
            file,
            &record::updated(&old, &compared, world),
            page,
        )?;
        let all: Vec<&Compared> = compared.iter().collect();
        let seeds = || all.iter().map(|one| one.seeds);
        let text = format!(
            "Recorded on {}: {} runs in the {world} world at {} points, {} to {} of each, and as many simulations with the same seeds.\n\n\
             {}\n[{file}](data/{file}) has each figure of each point.\n\n### Misses of {name}\n\n",
            day(),
            seeds().sum::<u64>(),
            all.len(),
            seeds().min().unwrap_or(0),
            seeds().max().unwrap_or(0),
            report::shares(&all, world, false),
        );
        part(self.document, &part_name, page, |explanations| {
            text + &report::misses(&all, world, explanations)
        })
    }

    /// An experiment that has both sides itself: its own text and files.
    fn both_sides(
        &self,
        experiment: &Experiment,
        part_name: &str,
        page: &mut Page,
    ) -> Result<(), Failure> {
        let results = self.results(experiment, self.world)?;
        let found = Findings::elsewhere(experiment, &results);
        for (name, table) in &found.tables {
            write_file(self.document, name, table, page)?;
        }
        part(self.document, part_name, page, |_| {
            format!("Recorded on {}. {}\n", day(), found.text)
        })
    }

    /// Every point, with further seeds where its runs scatter.
    fn run(&self, experiment: &Experiment) -> Result<Vec<Compared>, Failure> {
        let mut one = experiment.with_seeds(None).map_err(Failure::failed)?;
        let world = self.world.name();
        loop {
            let other = self.results(&one, self.world)?;
            let sim = match self.world {
                World::Live => {
                    live::as_late(&one, &other, self.options.jobs.get(), self.options.stop)
                        .map_err(Failure::run)?
                }
                World::Sim | World::Virtual => self.results(&one, World::Sim)?,
            };
            let compared = one.compare(&sim, &other, world).map_err(Failure::failed)?;
            let points = one.points().map_err(Failure::failed)?;
            let mut seeds: BTreeMap<String, u64> = points
                .into_iter()
                .map(|(name, cells)| (name, cells.len() as u64))
                .collect();
            let most = match self.world {
                World::Virtual => one.most_seeds().unwrap_or(0),
                World::Sim | World::Live => 0,
            };
            let mut has_more = false;
            for point in &compared {
                let scatters = point.now.iter().any(|one| one.scatters());
                if let Some(count) = seeds.get_mut(&point.point)
                    && scatters
                    && *count < most
                {
                    *count += 1;
                    has_more = true;
                }
            }
            if !has_more {
                return Ok(compared);
            }
            one = one.with_seeds(Some(seeds)).map_err(Failure::failed)?;
        }
    }

    /// The results of an experiment's cells in a world; those that the store has do not run again.
    fn results(&self, experiment: &Experiment, world: World) -> Result<Vec<Stored>, Failure> {
        let all = Reproduction::new(&[experiment], Length::Full, world, self.guest);
        let all = all.map_err(Failure::run)?;
        if let Some(unable) = all.unable.first() {
            return Err(Failure::input(&unable.why));
        }
        let mut attempts = if world == World::Live { ATTEMPTS } else { 1 };
        loop {
            let mut shown = Shown::new();
            let ran = sweep::run(&all.plan, self.store, self.options, &mut |progress| {
                shown.tell(&progress);
            });
            shown.end();
            if let Some(why) = judge(&ran.map_err(Failure::run)?) {
                return Err(Failure::failed(why));
            }
            let results = stored(&all.plan, self.store).map_err(Failure::run)?;
            attempts -= 1;
            let spoilt = |(_, result): &(usize, &Stored)| live::is_spoilt(result);
            let spoilt = results.iter().enumerate().filter(spoilt);
            let spoilt: Vec<usize> = spoilt.map(|(place, _)| place).collect();
            if attempts == 0 || spoilt.is_empty() {
                return Ok(results);
            }
            forget(&all.plan, self.store, &spoilt).map_err(Failure::run)?;
        }
    }
}

fn day() -> String {
    let now = Utc::from(SystemTime::now()).extended();
    now.split('T').next().unwrap_or_default().to_owned()
}

fn write_file(document: &Path, name: &str, table: &Table, page: &mut Page) -> Result<(), Failure> {
    let folder = document.with_file_name("data");
    fs::create_dir_all(&folder).map_err(Failure::failed)?;
    let path = folder.join(name);
    write(&path, table.to_csv().as_bytes())?;
    page.line(format_args!("written: {}", path.display()));
    Ok(())
}

/// Writes a part of the document between its markers.
fn part(
    document: &Path,
    name: &str,
    page: &mut Page,
    text: impl FnOnce(&report::Explanations) -> String,
) -> Result<(), Failure> {
    let shown = document.display();
    let old =
        fs::read_to_string(document).map_err(|why| Failure::input(format!("{shown}: {why}")))?;
    let new = report::replace(&old, name, text);
    let why = || Failure::input(format!("{shown} lacks the markers of the part {name}"));
    write(document, new.ok_or_else(why)?.as_bytes())?;
    page.line(format_args!("written: {name} in {shown}"));
    Ok(())
}
