//! Some experiments with all their runs.

use std::ops::Range;

use quell_lab::sweep::{Plan, Store, Stored, Wanted, stored};
use quell_lab::{GuestOptions, RunError, World};

use crate::cell::{self, Length};
use crate::experiment::Experiment;
use crate::findings::Findings;
use crate::statement::Judge;

/// Some experiments with all their runs.
#[derive(Debug)]
pub struct Reproduction<'a> {
    /// The runs of all of them: `quell_lab::sweep::run` carries them out.
    pub plan: Plan,
    /// Experiments that cannot run in this world.
    pub unable: Vec<Unable<'a>>,
    length: Length,
    experiments: Vec<(&'a Experiment, Range<usize>)>,
}

/// An experiment that cannot run in the world.
#[derive(Debug)]
pub struct Unable<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Why.
    pub why: String,
}

/// What became of an experiment.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// All of its runs are there.
    Found(Box<Findings<'a>>),
    /// Some are not.
    Incomplete {
        /// The experiment.
        experiment: &'a Experiment,
        /// Its runs, each counted once for every place that it has in the plan.
        cells: usize,
        /// Those that have not run.
        missing: usize,
        /// Why the others failed, each reason once.
        failed: Vec<String>,
    },
}

impl<'a> Outcome<'a> {
    /// The experiment.
    pub fn experiment(&self) -> &'a Experiment {
        match self {
            Self::Found(findings) => findings.experiment(),
            Self::Incomplete { experiment, .. } => experiment,
        }
    }

    /// What it found, if all of its runs are there.
    pub fn findings(&self) -> Option<&Findings<'a>> {
        match self {
            Self::Found(findings) => Some(findings),
            Self::Incomplete { .. } => None,
        }
    }
}

impl<'a> Reproduction<'a> {
    /// All runs of `experiments`.
    ///
    /// # Errors
    ///
    /// The world is not possible here, or a definition is wrong.
    pub fn new(
        experiments: &[&'a Experiment],
        length: Length,
        world: World,
        guest: &GuestOptions,
    ) -> Result<Self, RunError> {
        let name = match length {
            Length::Quick => "reproduce --quick",
            Length::Full => "reproduce",
        };
        let mut wanted: Vec<Wanted> = Vec::new();
        let (mut able, mut unable) = (Vec::new(), Vec::new());
        for &experiment in experiments {
            let own = runs_of(experiment, length, world);
            // The definitions are about the simulated world, but for those that watch a queue; for another one each has to be asked.
            let is_watched = own.iter().any(|one| one.watched.is_some());
            if (world != World::Sim || is_watched)
                && let Err(why) = Plan::of(name, &own, world, guest)
            {
                // Where nothing at all can run the reason is the same for all.
                Plan::of(name, &[], world, guest)?;
                let why = why.to_string();
                unable.push(Unable { experiment, why });
                continue;
            }
            able.push((experiment, wanted.len()..wanted.len() + own.len()));
            wanted.extend(own);
        }
        Ok(Self {
            plan: Plan::of(name, &wanted, world, guest)?,
            unable,
            length,
            experiments: able,
        })
    }

    /// What the results in `store` say, for each experiment that can run.
    ///
    /// # Errors
    ///
    /// A result cannot be read.
    pub fn outcomes(&self, store: &Store) -> Result<Vec<Outcome<'a>>, RunError> {
        let results = stored(&self.plan, store)?;
        let judge = match (self.length, self.plan.world) {
            (Length::Quick, _) => Judge::Quick,
            (Length::Full, World::Sim) => Judge::Simulated,
            (Length::Full, _) => Judge::Elsewhere,
        };
        let outcome = |(experiment, range): &(&'a Experiment, Range<usize>)| {
            outcome(experiment, &results[range.clone()], judge)
        };
        Ok(self.experiments.iter().map(outcome).collect())
    }
}

fn outcome<'a>(experiment: &'a Experiment, results: &[Stored], judge: Judge) -> Outcome<'a> {
    let missing = results.iter().filter(|one| matches!(one, Stored::Missing));
    let missing = missing.count();
    let failed = results.iter().filter_map(|one| match one {
        Stored::Failed(why) => Some(why.clone()),
        _ => None,
    });
    let mut failed: Vec<String> = failed.collect();
    failed.sort();
    failed.dedup();
    if missing > 0 || !failed.is_empty() {
        return Outcome::Incomplete {
            experiment,
            cells: results.len(),
            missing,
            failed,
        };
    }
    let findings = Findings::judged_as(experiment, results, judge);
    Outcome::Found(Box::new(findings))
}

/// The runs of an experiment's cells, in their order.
pub(crate) fn runs_of(experiment: &Experiment, length: Length, world: World) -> Vec<Wanted> {
    let cells = experiment.cells();
    let texts = |file: &str| experiment.scenario(file).unwrap_or_default().to_owned();
    cell::wanted_of(
        &experiment.id,
        cells,
        &texts,
        experiment.folder(),
        length,
        world,
    )
}
