//! Plans that a program makes instead of a sweep file, and measurements of its own in their cells.

use std::path::PathBuf;
use std::sync::Arc;

use quell_scenario::{ArgumentError, Override, Scenario, Template, World};

use super::super::identity::Identity;
use super::super::probe::{Probe, Watched};
use super::{NONE, Plan, Point, Seeds, refused};
use crate::virtual_world::Controls;
use crate::{GuestOptions, RunError};

/// One run that a program wants.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The run in words, for messages and the plan of the store.
    pub name: String,
    /// Name of the scenario file, for messages.
    pub file: String,
    /// Its text.
    pub text: Arc<str>,
    /// The folder of the files that it names.
    pub folder: PathBuf,
    /// Changes of it, each KEY=VALUE as after `--set`.
    pub sets: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// A last change of the scenario, after it was read.
    pub adapt: Option<fn(&mut Scenario)>,
    /// What is measured instead of the summary.
    pub probe: Option<Probe>,
    /// Whose queue is watched from outside, in the virtual world.
    pub watched: Option<Watched>,
}

/// What a point of such a plan has instead of values of parameters.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) sets: Vec<Override>,
    pub(crate) adapt: Option<fn(&mut Scenario)>,
    pub(crate) probe: Option<Probe>,
    pub(crate) watched: Option<Watched>,
}

impl Plan {
    /// The plan of these runs, one cell for each, in their order.
    ///
    /// # Errors
    ///
    /// One of them cannot run in this world.
    pub fn of(
        name: &str,
        wanted: &[Wanted],
        world: World,
        guest: &GuestOptions,
    ) -> Result<Self, RunError> {
        let mut plan = Self {
            name: name.to_owned(),
            world,
            identity: Identity::here(world, guest)?,
            objective: None,
            parameters: Vec::new(),
            experiments: Vec::new(),
            points: Vec::new(),
            cells: Vec::new(),
            templates: Vec::new(),
            folder: PathBuf::new(),
            set: Vec::new(),
            guest: guest.clone(),
            controls: Controls::of(world, guest)?,
        };
        let mut files: Vec<(&str, &Arc<str>)> = Vec::new();
        for (number, one) in wanted.iter().enumerate() {
            let possible = |probe: &Probe| match world {
                World::Sim => true,
                World::Virtual => probe.reading.is_some(),
                World::Live => false,
            };
            if let Some(probe) = one.probe.filter(|probe| !possible(probe)) {
                let (name, world) = (probe.name, world.name());
                let why = format!("the measurement {name} is not possible in the {world} world");
                return Err(RunError::refused(format!("{}: {why}", one.name)));
            }
            if one.watched.is_some() && world != World::Virtual {
                let why =
                    "a queue is watched from outside in the virtual world alone: --world virtual";
                return Err(RunError::refused(format!("{}: {why}", one.name)));
            }
            let known = files
                .iter()
                .position(|file| *file == (&one.file, &one.text));
            let template = match known {
                Some(place) => place,
                None => {
                    let read = Template::read(&one.file, &one.text);
                    let read = read.map_err(|problems| refused(&problems))?;
                    plan.templates.push((read, one.folder.clone()));
                    files.push((&one.file, &one.text));
                    files.len() - 1
                }
            };
            let sets = one.sets.iter().map(|set| Override::set(set));
            let sets: Result<Vec<Override>, ArgumentError> = sets.collect();
            plan.points.push(Point {
                experiment: Some(number as u32),
                template: template as u32,
                values: vec![NONE; 0],
                own: Own {
                    sets: sets.map_err(|why| RunError::refused(format!("{}: {why}", one.name)))?,
                    adapt: one.adapt,
                    probe: one.probe,
                    watched: one.watched.clone(),
                },
            });
            plan.experiments.push(one.name.clone());
        }
        let seeds: Vec<[u64; 1]> = wanted.iter().map(|one| [one.seed]).collect();
        let seeds = Seeds {
            grid: None,
            experiments: seeds.iter().map(|seed| Some(&seed[..])).collect(),
        };
        plan.cells = plan.resolve_all(name, &seeds)?;
        Ok(plan)
    }
}
