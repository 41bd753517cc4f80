//! The runs of a card: each is simulated once, with its packets logged where the card looks at single ones.
//!
//! In the simulator a run is named by its content: its scenario without name and description, its seed, the simulator, and the sources of the
//! log. So cards that share a store share what they have in common: drop-tail's column, and test cases that say the same of a queue.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use quell_lab::at_once::each;
use quell_lab::sweep::{self, Key, Plan, Probe, Record, Store, Stored, Wanted};
use quell_lab::{GuestOptions, RunError, Scenario, World};

use crate::characterize::error::Error;
use crate::characterize::measured::Measured;
use crate::characterize::packet_log::{Kept, simulate};
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::test_case::Run;

/// The cell, by its number, and the seed of a run.
pub(crate) type Numbered = (usize, u64);

const PLAIN: Probe = Probe {
    name: "card",
    code: env!("QUELL_CARD_SOURCES"),
    measure: |scenario, seed, stop| json(&simulate(scenario, seed, false, stop)?),
    reading: None,
};
const LOGGED: Probe = Probe {
    name: "card with packets",
    measure: |scenario, seed, stop| json(&simulate(scenario, seed, true, stop)?),
    ..PLAIN
};

fn json(kept: &Kept) -> Result<String, RunError> {
    serde_json::to_string(kept).map_err(|error| RunError::Failed(error.to_string()))
}

/// Whether the card looks at single packets of a run.
fn is_logged(cell: &Cell) -> bool {
    let looks = |run: &Run| run.losses || run.start || run.directions;
    cell.run().is_some_and(looks)
}

impl Prepared {
    /// The scenario of a cell as it runs. In the simulator it has the name of no test case, because two may say the same of a queue.
    fn content(&self, cell: &Cell) -> Result<Scenario, Error> {
        let mut scenario = self.resolved(cell)?;
        if self.request.world == World::Sim {
            "card".clone_into(&mut scenario.name);
            scenario.description.clear();
        }
        Ok(scenario)
    }

    /// A run as a plan has it.
    fn wanted(&self, &(cell, seed): &Numbered) -> Result<Wanted, Error> {
        let cell = &self.cells[cell];
        let probe = if is_logged(cell) { LOGGED } else { PLAIN };
        Ok(Wanted {
            name: self.label(cell),
            file: cell.file.clone(),
            text: self.content(cell)?.to_toml().into(),
            folder: PathBuf::new(),
            sets: Vec::new(),
            seed,
            adapt: None,
            probe: (self.request.world == World::Sim).then_some(probe),
            watched: None,
        })
    }

    /// The figures of a run.
    fn measured(&self, cell: &Cell, kept: Kept) -> Result<Measured, Error> {
        let ratio = cell.run().is_some_and(|run| run.ratio);
        let back = self.back(cell)?;
        let mut measured = Measured::new(&kept.summary, &kept.histograms, &back, ratio);
        if let (Some(run), Some(log)) = (cell.run(), kept.log) {
            measured.add(log, run);
        }
        Ok(measured)
    }
}

/// What `store` has of these runs, once `fill` has run what it lacks of their plan.
pub(crate) fn of_store(
    prepared: &Prepared,
    numbered: &[Numbered],
    store: &Store,
    guest: &GuestOptions,
    fill: &mut dyn FnMut(&Plan) -> Result<(), RunError>,
) -> Result<Vec<Measured>, RunError> {
    let world = prepared.request.world;
    let wanted = numbered.iter().map(|run| prepared.wanted(run));
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::of("characterize", &wanted, world, guest)?;
    fill(&plan)?;
    let mut found = Vec::with_capacity(numbered.len());
    if world == World::Sim {
        for (stored, wanted) in sweep::stored(&plan, store)?.into_iter().zip(&wanted) {
            let kept = match stored {
                Stored::Figures(text) => serde_json::from_str(&text).map_err(|why| why.to_string()),
                Stored::Failed(why) => Err(why),
                Stored::Summary(_) | Stored::Missing => Err("it did not run".to_owned()),
            };
            let (name, seed) = (&wanted.name, wanted.seed);
            let failed = |why| RunError::Failed(format!("{name} seed {seed}: {why}"));
            found.push(kept.map_err(failed)?);
        }
    } else {
        let points = Record::read(store.root())?.points;
        let keys = points.iter().flat_map(|point| &point.cells);
        for key in keys.filter_map(|(_, key)| Key::parse(key)) {
            found.push(Kept {
                summary: store.json(key, "summary.json")?,
                histograms: store.json(key, "histograms.json")?,
                log: None,
            });
        }
    }
    if found.len() != numbered.len() {
        let why = format!("{} was written meanwhile", store.root().display());
        return Err(RunError::Failed(why));
    }
    let of = |(&(cell, _), kept)| Ok(prepared.measured(&prepared.cells[cell], kept)?);
    numbered.iter().zip(found).map(of).collect()
}

/// The same without a store: every run is simulated now, on `jobs` threads, and those of equal content once.
pub(crate) fn simulated(
    prepared: &Prepared,
    numbered: &[Numbered],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Vec<Measured>, RunError> {
    let mut places = BTreeMap::new();
    let (mut different, mut place_of) = (Vec::new(), Vec::new());
    for &(cell, seed) in numbered {
        let cell = &prepared.cells[cell];
        let scenario = prepared.content(cell)?;
        let content = (scenario.canonical(), seed, is_logged(cell));
        let place = *places.entry(content).or_insert(different.len());
        if place == different.len() {
            different.push((scenario, seed, is_logged(cell)));
        }
        place_of.push(place);
    }
    let kept = each(&different, jobs.get(), |(scenario, seed, is_logged)| {
        simulate(scenario, *seed, *is_logged, stop)
    });
    let kept = kept.into_iter().collect::<Result<Vec<_>, _>>()?;
    let of = |(&(cell, _), place): (&Numbered, usize)| {
        Ok(prepared.measured(&prepared.cells[cell], kept[place].clone())?)
    };
    numbered.iter().zip(place_of).map(of).collect()
}
