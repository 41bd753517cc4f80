//! The cells of a sweep: every point of the grid and every experiment, resolved and checked, with each seed.
//!
//! Each point's scenario is resolved once to know the names of its cells, and again when it runs: a plan of many cells stays small.
//! The order is that of the file: the grid, the last axis fastest, then the experiments, with the seeds innermost.

mod judged;
mod wanted;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quell_scenario::tree::{Node, Tree};
use quell_scenario::{Loaded, Origin, Override, Problems, Scenario, Template, World};

use super::cell::Cell;
use super::cost::cost;
use super::draw::{Column, combinations};
use super::file::{self, Axis, Entries, MOST_CELLS, Method, Objective, Reader, Values, text};
use super::files;
use super::identity::Identity;
use super::probe::{Probe, Watched};
use super::quantity::Quantity;
use crate::at_once::{each, processors};
use crate::virtual_world::Controls;
use crate::{GuestOptions, OneLine, RunError};
use wanted::Own;

pub use judged::PointOfPlan;
pub use wanted::Wanted;

/// Different errors that are shown.
const MOST_ERRORS: usize = 20;
/// Where a point has no value of a parameter.
const NONE: u32 = u32::MAX;

/// Everything that a sweep runs.
#[derive(Debug)]
pub struct Plan {
    /// Name of the sweep.
    pub name: String,
    /// The world in which all cells run.
    pub world: World,
    /// The program and the kernel.
    pub identity: Identity,
    /// Which cells are better than others.
    pub objective: Option<Objective>,
    /// Keys of axes and experiments.
    pub(crate) parameters: Vec<Parameter>,
    /// Names of the experiments.
    pub(crate) experiments: Vec<String>,
    pub(crate) points: Vec<Point>,
    /// In the order of points, and for each in the order of its seeds.
    pub(crate) cells: Vec<Cell>,
    /// Each with the folder of its file.
    templates: Vec<(Template, PathBuf)>,
    /// The folder of the sweep file.
    folder: PathBuf,
    /// What every point has.
    set: Entries,
    guest: GuestOptions,
    /// The congestion controls of the virtual world's kernel, where they are known.
    controls: Option<Controls>,
}

/// A key of the scenario with its values.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) key: String,
    pub(crate) values: Vec<Node>,
}

/// A scenario with values.
#[derive(Debug)]
pub(crate) struct Point {
    /// Place in the experiments; `None` in the grid.
    pub(crate) experiment: Option<u32>,
    template: u32,
    /// For each parameter the place of its value, or [`NONE`].
    values: Vec<u32>,
    /// What a program wants besides.
    own: Own,
}

/// A sweep file, and the folder that the paths in it start from.
struct Source {
    /// As the user named it.
    name: String,
    folder: PathBuf,
    file: file::File,
}

impl Plan {
    /// Reads the sweep file at `path`, and resolves and checks every cell of it. `world` is instead of the file's.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the file, or with the cells.
    pub fn read(path: &Path, world: Option<World>, guest: &GuestOptions) -> Result<Self, RunError> {
        let name = path.display().to_string();
        let text = files::text(path)?;
        let file = file::read(&name, &text).map_err(|problems| refused(&problems))?;
        let world = world.or(file.world).unwrap_or_default();
        let source = Source {
            name,
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            file,
        };
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let mut plan = Self {
            name: source.file.name.clone().or(stem).unwrap_or_default(),
            world,
            identity: Identity::here(world, guest)?,
            objective: source.file.objective.clone(),
            parameters: Vec::new(),
            experiments: Vec::new(),
            points: Vec::new(),
            cells: Vec::new(),
            templates: Vec::new(),
            folder: source.folder.clone(),
            set: source.file.set.clone(),
            guest: guest.clone(),
            controls: Controls::of(world, guest)?,
        };
        let mut reader = Reader::new(&source.name);
        plan.add_grid(&source, &mut reader)?;
        plan.add_experiments(&source)?;
        if !reader.problems.is_empty() {
            return Err(refused(&Problems::new(reader.problems)));
        }
        let seeds = Seeds {
            grid: source.file.seeds.as_deref(),
            experiments: source
                .file
                .experiments
                .iter()
                .map(|one| one.seeds.as_deref())
                .collect(),
        };
        plan.cells = plan.resolve_all(&source.name, &seeds)?;
        Ok(plan)
    }

    /// Options of the virtual world.
    pub(crate) fn guest(&self) -> &GuestOptions {
        &self.guest
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn add_grid(&mut self, source: &Source, reader: &mut Reader) -> Result<(), RunError> {
        let (Some(axes), Some(scenario)) = (&source.file.axes, &source.file.scenario) else {
            return Ok(());
        };
        let template = self.template(source, scenario)?;
        let method = source.file.method;
        if method == Method::Grid {
            let count = |axis: &Axis| match &axis.values {
                Values::List(nodes) => nodes.len() as u128,
                Values::Steps(_, steps) => u128::from(*steps),
                Values::Any(_) => 1,
            };
            let all = axes.iter().map(count).fold(1, u128::saturating_mul);
            if all > u128::from(MOST_CELLS) {
                return Err(too_many(&source.name, all));
            }
        }
        let columns: Vec<Column> = axes.iter().map(|axis| Column::new(axis, method)).collect();
        let skips = skips(&source.file.skips, axes, &columns, reader);
        let points: Box<dyn Iterator<Item = Vec<u32>>> = match method {
            Method::Grid => {
                let counts: Vec<usize> = columns.iter().map(|one| one.values.len()).collect();
                Box::new(combinations(&counts).collect::<Vec<_>>().into_iter())
            }
            Method::Random { cells, .. } | Method::Lhs { cells, .. } => {
                let columns = &columns;
                Box::new(
                    (0..cells as usize)
                        .map(|point| columns.iter().map(|column| column.points[point]).collect()),
                )
            }
        };
        let kept = points.filter(|values| !skips.iter().any(|skip| skip.is_met(values)));
        let points = kept.map(|values| Point {
            experiment: None,
            template,
            values,
            own: Own::default(),
        });
        self.points = points.collect();
        if self.points.is_empty() && reader.problems.is_empty() {
            let why = format!(
                "{}: the constraints skip every point",
                OneLine(&source.name)
            );
            return Err(RunError::refused(why));
        }
        let parameters = axes.iter().zip(columns);
        self.parameters = parameters
            .map(|(axis, column)| Parameter {
                key: axis.key.clone(),
                values: column.values,
            })
            .collect();
        Ok(())
    }

    fn add_experiments(&mut self, source: &Source) -> Result<(), RunError> {
        for experiment in &source.file.experiments {
            let scenario = experiment
                .scenario
                .as_ref()
                .or(source.file.scenario.as_ref());
            let Some(scenario) = scenario else { continue };
            let template = self.template(source, scenario)?;
            let mut values = vec![NONE; self.parameters.len()];
            for (key, node) in &experiment.set {
                let known = self.parameters.iter().position(|one| one.key == *key);
                let index = known.unwrap_or_else(|| {
                    self.parameters.push(Parameter {
                        key: key.clone(),
                        values: Vec::new(),
                    });
                    values.push(NONE);
                    self.parameters.len() - 1
                });
                let all = &mut self.parameters[index].values;
                values[index] = all.len() as u32;
                all.push(node.clone());
            }
            self.points.push(Point {
                experiment: Some(self.experiments.len() as u32),
                template,
                values,
                own: Own::default(),
            });
            self.experiments.push(experiment.name.clone());
        }
        let many = self.parameters.len();
        for point in &mut self.points {
            point.values.resize(many, NONE);
        }
        Ok(())
    }

    /// The place of a scenario file among the templates.
    fn template(&mut self, source: &Source, node: &Node) -> Result<u32, RunError> {
        let path = source.folder.join(text(node));
        let shown = path.display().to_string();
        let content = files::text(&path).map_err(|error| {
            let line = place(&source.name, node);
            RunError::refused(format!("{line}: scenario: {error}"))
        })?;
        let template = Template::read(&shown, &content).map_err(|problems| refused(&problems))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.templates.push((template, folder));
        Ok(self.templates.len() as u32 - 1)
    }

    /// The values of a point, as the scenario takes them. `name` is the sweep file's.
    fn overrides(&self, name: &str, point: &Point) -> Result<Vec<Override>, String> {
        let mut all = Vec::new();
        let base = self.set.iter().map(|(key, node)| (key.as_str(), node));
        let keys = self
            .parameters
            .iter()
            .map(|parameter| parameter.key.as_str());
        let own = keys.zip(self.values(point));
        let own = own.filter_map(|(key, node)| Some((key, node?)));
        for (key, node) in base.chain(own) {
            let place = place(name, node);
            let mut add = |key: &str| {
                let given = Override::placed(&place, key, node);
                let wrong = |why| {
                    format!(
                        "{place}: {} = {}: {why}",
                        OneLine(key),
                        OneLine(&node.found())
                    )
                };
                all.extend(given.map_err(wrong)?);
                Ok::<(), String>(())
            };
            match key.strip_prefix("group.*.") {
                None => add(key)?,
                Some(rest) => {
                    let groups = self.templates[point.template as usize].0.groups();
                    groups
                        .iter()
                        .try_for_each(|group| add(&format!("group.{group}.{rest}")))?;
                }
            }
        }
        all.extend(point.own.sets.iter().cloned());
        Ok(all)
    }

    fn resolve_all(&self, name: &str, seeds: &Seeds<'_>) -> Result<Vec<Cell>, RunError> {
        let length = self.points.len().div_ceil(processors()).max(1);
        let chunks: Vec<_> = self.points.chunks(length).enumerate().collect();
        let parts: Vec<Part> = each(&chunks, chunks.len(), |&(number, points)| {
            self.resolve_some(name, number * length, points, seeds)
        });
        let mut all = Part::default();
        for part in parts {
            all.cells.extend(part.cells);
            for (line, Seen { first, count }) in part.errors {
                let seen = all.errors.entry(line).or_insert(Seen { first, count: 0 });
                seen.count += count;
            }
        }
        if all.cells.len() as u64 > MOST_CELLS {
            return Err(too_many(name, all.cells.len() as u128));
        }
        if all.errors.is_empty() {
            return Ok(all.cells);
        }
        Err(RunError::refused(self.explain(all.errors)))
    }

    fn resolve_some(&self, name: &str, first: usize, points: &[Point], seeds: &Seeds<'_>) -> Part {
        let mut part = Part::default();
        for (number, point) in points.iter().enumerate() {
            match self.resolve(name, point) {
                Ok(scenario) => {
                    let family = self.identity.cells(
                        &scenario.canonical(),
                        self.probe(point),
                        self.watched(point),
                    );
                    let cost = cost(&scenario);
                    let cells = seeds.of(point, &scenario).iter().map(|&seed| Cell {
                        point: (first + number) as u32,
                        seed,
                        key: family.key(seed),
                        cost,
                        duration: scenario.run.duration,
                    });
                    part.cells.extend(cells);
                }
                Err(lines) => {
                    for line in lines {
                        let new = Seen {
                            first: first + number,
                            count: 0,
                        };
                        part.errors.entry(line).or_insert(new).count += 1;
                    }
                }
            }
        }
        part
    }

    fn resolve(&self, name: &str, point: &Point) -> Result<Scenario, Vec<String>> {
        crate::program_env::without_programs(self.resolve_whole(name, point)?)
    }

    /// With what is expected of its results.
    fn resolve_whole(&self, name: &str, point: &Point) -> Result<Scenario, Vec<String>> {
        let overrides = self.overrides(name, point).map_err(|line| vec![line])?;
        let (template, folder) = &self.templates[point.template as usize];
        let files = files::named(folder, &self.folder);
        let scenario = template.scenario(&overrides, Some(self.world), files);
        let mut scenario = scenario.map_err(|problems| {
            let lines = problems.all().iter().map(ToString::to_string);
            lines.collect::<Vec<_>>()
        })?;
        if let Some(adapt) = point.own.adapt {
            adapt(&mut scenario);
        }
        let lacking = self
            .controls
            .as_ref()
            .map(|there| there.missing_for(&scenario));
        if let Some(lacks) = lacking.filter(|lacks| !lacks.is_empty()) {
            return Err(lacks.iter().map(ToString::to_string).collect());
        }
        Ok(scenario)
    }

    /// The scenario of a cell with its seed, as its own file says it, and what is doubtful about that.
    pub(crate) fn scenario(&self, cell: &Cell) -> Result<(Loaded, String), RunError> {
        let point = &self.points[cell.point as usize];
        let scenario = self.resolve("the sweep", point);
        let mut scenario = scenario.map_err(|lines| RunError::refused(lines.join("\n")))?;
        scenario.run.seeds = vec![cell.seed];
        let text = scenario.to_toml();
        // Warnings name lines: those of the file that lies in the cell, wherever the sweep was read from.
        let loaded = Scenario::load("scenario.toml", &text, &[], Some(self.world));
        let loaded = loaded.map_err(|problems| refused(&problems))?;
        Ok((loaded, text))
    }

    /// Everything that a cell depends on, as canonical JSON.
    pub(crate) fn canonical(&self, cell: &Cell, scenario: &Scenario) -> String {
        let point = &self.points[cell.point as usize];
        let canonical = scenario.canonical();
        let family = self
            .identity
            .cells(&canonical, self.probe(point), self.watched(point));
        family.text(cell.seed)
    }

    /// Whose queue is watched at a point from outside.
    pub(crate) fn watched<'a>(&self, point: &'a Point) -> Option<&'a Watched> {
        point.own.watched.as_ref()
    }

    /// The measurement of a point that is none of the summary.
    pub(crate) fn probe<'a>(&self, point: &'a Point) -> Option<&'a Probe> {
        point.own.probe.as_ref()
    }

    /// The values of a point, for each parameter that it has.
    pub(crate) fn values(&self, point: &Point) -> impl Iterator<Item = Option<&Node>> {
        let pairs = self.parameters.iter().zip(&point.values);
        pairs.map(|(parameter, &value)| parameter.values.get(value as usize))
    }

    /// A cell in words: its experiment and its values.
    pub(crate) fn describe(&self, point: &Point) -> String {
        let experiment = point
            .experiment
            .map(|at| self.experiments[at as usize].clone());
        let keys = self.parameters.iter().map(|parameter| &parameter.key);
        let set = keys.zip(self.values(point));
        let set = set.filter_map(|(key, value)| Some(format!("{key}={}", text(value?))));
        experiment
            .into_iter()
            .chain(set)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Each error once, with the first point that has it where not all have.
    fn explain(&self, errors: BTreeMap<String, Seen>) -> String {
        let mut errors: Vec<(String, Seen)> = errors.into_iter().collect();
        errors.sort_by_key(|(_, seen)| seen.first);
        let count = errors.len();
        let mut text = match count {
            1 => "the sweep has 1 error".to_owned(),
            many => format!("the sweep has {many} errors"),
        };
        for (line, seen) in errors.iter().take(MOST_ERRORS) {
            text.push_str(&format!("\n{line}"));
            if seen.count < self.points.len() {
                let example = self.describe(&self.points[seen.first]);
                let points = self.points.len();
                text.push_str(&format!(
                    "\n  in {} of {points} points, such as {}",
                    seen.count,
                    OneLine(&example)
                ));
            }
        }
        if count > MOST_ERRORS {
            text.push_str(&format!("\nand {} more", count - MOST_ERRORS));
        }
        text
    }
}

/// Some cells, or the errors of theirs.
#[derive(Default)]
struct Part {
    cells: Vec<Cell>,
    errors: BTreeMap<String, Seen>,
}

struct Seen {
    /// The first point that has the error.
    first: usize,
    /// Points that have it.
    count: usize,
}

/// The seeds that the sweep file gives.
struct Seeds<'a> {
    grid: Option<&'a [u64]>,
    experiments: Vec<Option<&'a [u64]>>,
}

impl Seeds<'_> {
    /// Those of a point; without any, its scenario's.
    fn of<'b>(&'b self, point: &Point, scenario: &'b Scenario) -> &'b [u64] {
        let own = point
            .experiment
            .and_then(|at| self.experiments[at as usize]);
        own.or(self.grid).unwrap_or(&scenario.run.seeds)
    }
}

/// A constraint: for some parameters, which of their values it is about.
struct Skip(Vec<(usize, Vec<bool>)>);

impl Skip {
    fn is_met(&self, values: &[u32]) -> bool {
        self.0
            .iter()
            .all(|(axis, which)| which[values[*axis] as usize])
    }
}

fn skips(
    written: &[(Node, Entries)],
    axes: &[Axis],
    columns: &[Column],
    reader: &mut Reader,
) -> Vec<Skip> {
    let one = |(_, entries): &(Node, Entries)| {
        let mut met = Vec::new();
        for (key, node) in entries {
            let Some(index) = axes.iter().position(|axis| axis.key == *key) else {
                continue;
            };
            let wanted = match &node.value {
                Tree::Array(nodes) => nodes.iter().collect(),
                _ => vec![node],
            };
            for &value in &wanted {
                let known = columns[index].values.iter().any(|one| same(one, value));
                if !known && !matches!(axes[index].values, Values::Any(_)) {
                    let allowed = format!(
                        "is no value of the axis {key}; a constraint skips some of its values"
                    );
                    reader.wrong(&format!("constraint.skip.{key}"), value, allowed);
                }
            }
            let is_meant = |value: &Node| wanted.iter().any(|&one| same(one, value));
            met.push((index, columns[index].values.iter().map(is_meant).collect()));
        }
        Skip(met)
    };
    written
        .iter()
        .map(one)
        .filter(|skip| !skip.0.is_empty())
        .collect()
}

/// Whether two values are one: `"4mbit"` and `"4000kbit"` are.
fn same(a: &Node, b: &Node) -> bool {
    match (Quantity::of(a), Quantity::of(b)) {
        (Some(a), Some(b)) => a == b,
        _ => text(a) == text(b),
    }
}

/// `FILE:LINE` of a value of the sweep file.
fn place(name: &str, node: &Node) -> String {
    match &node.origin {
        Origin::Line(line) => format!("{name}:{line}"),
        Origin::Named(named) => format!("{}:{}", named.file, named.line),
        Origin::Argument(argument) => argument.clone(),
    }
}

fn too_many(name: &str, cells: u128) -> RunError {
    let name = OneLine(name);
    RunError::refused(format!(
        "{name}: {cells} cells are more than {MOST_CELLS}; divide the sweep, or draw some of them with method = \"lhs\""
    ))
}

fn refused(problems: &Problems) -> RunError {
    let count = problems.all().len();
    let errors = if count == 1 {
        "1 error".to_owned()
    } else {
        format!("{count} errors")
    };
    RunError::refused(format!("the sweep has {errors}\n{problems}"))
}

#[cfg(test)]
mod tests;
