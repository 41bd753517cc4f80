//! A sweep file as written: the axes, constraints, experiments and objective, before any scenario is resolved.
//!
//! ```toml
//! schema = 1
//! scenario = "coexistence.toml"
//! seeds = { from = 1, count = 5 }
//! [axis]
//! "link.rate" = ["4mbit", "12mbit", "40mbit"]
//! "group.classic.rtt" = { log = ["5ms", "100ms"], steps = 5 }
//! ```
//!
//! Reading goes on after a problem, so that one look reports everything that is wrong.

mod parts;
mod schema;

use quell_scenario::tree::{self, Node, Table, TomlType, Tree};
use quell_scenario::{Problem, Problems, World, closest};
use quell_units::notation;

use super::quantity::{Quantity, Range, Scale};

pub use schema::schema;

/// The version of the format.
const SCHEMA: &str = "1";
/// Values of an axis, and seeds, at most.
const MOST_VALUES: usize = 100_000;
/// Points of a random sweep, at most.
pub(crate) const MOST_CELLS: u64 = 1_000_000;

const KEYS: &[&str] = &[
    "schema",
    "name",
    "description",
    "scenario",
    "world",
    "seeds",
    "set",
    "method",
    "cells",
    "seed",
    "axis",
    "constraint",
    "experiment",
    "objective",
];

/// How the points of a sweep are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Every combination.
    Grid,
    /// This many, each value drawn by itself.
    Random { cells: u64, seed: u64 },
    /// This many, each axis divided into as many strata of which each is drawn from once (Latin hypercube).
    Lhs { cells: u64, seed: u64 },
}

/// The values of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Values {
    /// These.
    List(Vec<Node>),
    /// So many steps of a range, ends included.
    Steps(Range, u64),
    /// Any value of a range.
    Any(Range),
}

/// A key of the scenario, and what it is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) key: String,
    /// Where it stands.
    pub(crate) node: Node,
    pub(crate) values: Values,
}

/// Keys with values, each from a place in the file.
pub(crate) type Entries = Vec<(String, Node)>;

/// A run with a name beside the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) node: Node,
    /// Its scenario file, instead of that of the sweep.
    pub(crate) scenario: Option<Node>,
    pub(crate) set: Entries,
    pub(crate) seeds: Option<Vec<u64>>,
}

/// Which cells are better than others.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Objective {
    /// Columns of the table that should be small.
    pub minimise: Vec<String>,
    /// Columns of the table that should be large.
    pub maximise: Vec<String>,
    /// Keys that two cells must share to be compared.
    pub within: Vec<String>,
}

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: Option<String>,
    /// Of the grid, and of experiments that name none.
    pub(crate) scenario: Option<Node>,
    pub(crate) world: Option<World>,
    pub(crate) seeds: Option<Vec<u64>>,
    /// What every point has.
    pub(crate) set: Entries,
    pub(crate) method: Method,
    /// `None` without a grid.
    pub(crate) axes: Option<Vec<Axis>>,
    /// What is left out, each with its place.
    pub(crate) skips: Vec<(Node, Entries)>,
    pub(crate) experiments: Vec<Experiment>,
    pub(crate) objective: Option<Objective>,
}

/// Reads the text of `file`, which errors name.
pub(crate) fn read(file: &str, text: &str) -> Result<File, Problems> {
    let root = tree::read(file, text).map_err(|problem| Problems::new(vec![problem]))?;
    let mut reader = Reader::new(file);
    let read = reader.file(&root);
    if reader.problems.is_empty() {
        Ok(read)
    } else {
        Err(Problems::new(reader.problems))
    }
}

/// Collects problems.
pub(crate) struct Reader {
    file: String,
    pub(crate) problems: Vec<Problem>,
}

impl Reader {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            problems: Vec::new(),
        }
    }

    /// The value of `key` is wrong.
    pub(crate) fn wrong(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, Some(node.found()), allowed.into());
    }

    /// Something about the table or list at `node` is wrong.
    pub(crate) fn about(&mut self, key: &str, node: &Node, allowed: impl Into<String>) {
        self.push(key, node, None, allowed.into());
    }

    fn push(&mut self, key: &str, node: &Node, found: Option<String>, allowed: String) {
        self.problems.push(Problem {
            file: self.file.clone(),
            origin: node.origin.clone(),
            key: key.to_owned(),
            found,
            allowed,
        });
    }

    /// The table at `node`, whose keys are all `known`.
    fn table<'a>(&mut self, key: &str, node: &'a Node, known: &[&str]) -> Option<&'a Table> {
        let Tree::Table(table) = &node.value else {
            let known = known.join(", ");
            self.wrong(key, node, format!("must be a table with the keys {known}"));
            return None;
        };
        for (name, value) in table.iter().filter(|(name, _)| !known.contains(name)) {
            let meant = closest(name, known.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
            let whole = if key.is_empty() {
                name.to_owned()
            } else {
                format!("{key}.{name}")
            };
            let known = known.join(", ");
            self.wrong(
                &whole,
                value,
                format!("unknown key{meant}; known are {known}"),
            );
        }
        Some(table)
    }

    fn file(&mut self, root: &Node) -> File {
        let empty = Table::default();
        let table = self.table("", root, KEYS).unwrap_or(&empty);
        match table.get("schema") {
            None => self.about("schema", root, "is missing; must be 1"),
            Some(node) if node.found() != SCHEMA => self.wrong("schema", node, "must be 1"),
            Some(_) => {}
        }
        let name = table.get("name").and_then(|node| self.text("name", node));
        let description = table.get("description");
        description.and_then(|node| self.text("description", node));
        let scenario = table.get("scenario").cloned();
        if let Some(node) = &scenario {
            self.text("scenario", node);
        }
        let world = table.get("world").and_then(|node| self.world(node));
        let seeds = table
            .get("seeds")
            .and_then(|node| self.seeds("seeds", node));
        let set = table
            .get("set")
            .map_or_else(Vec::new, |node| self.set("set", node));
        let method = self.method(table, root);
        let axes = table.get("axis").map(|node| self.axes(node, method));
        if axes.is_none() && table.get("experiment").is_none() {
            self.about(
                "axis",
                root,
                "is missing; give a table of keys with their values, or experiments",
            );
        }
        if axes.is_some() && scenario.is_none() {
            self.about(
                "scenario",
                root,
                "is missing; must be the path of a scenario file",
            );
        }
        let known: Vec<&str> = axes
            .iter()
            .flatten()
            .map(|axis| axis.key.as_str())
            .collect();
        let constraints = table.get("constraint");
        let skips = constraints.map_or_else(Vec::new, |node| self.constraints(node, &known));
        let experiments = table.get("experiment");
        let experiments =
            experiments.map_or_else(Vec::new, |node| self.experiments(node, scenario.is_some()));
        let sets = experiments.iter().flat_map(|one| &one.set);
        let known: Vec<&str> = known
            .into_iter()
            .chain(sets.map(|(key, _)| key.as_str()))
            .collect();
        let objective = table.get("objective");
        let objective = objective.map(|node| self.objective(node, &known));
        File {
            name,
            scenario,
            world,
            seeds,
            set,
            method,
            axes,
            skips,
            experiments,
            objective,
        }
    }

    fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        match &node.value {
            Tree::Scalar(TomlType::String, text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.wrong(key, node, "must be a text");
                None
            }
        }
    }

    fn number(&mut self, key: &str, node: &Node, most: u64) -> Option<u64> {
        let number = match &node.value {
            Tree::Scalar(TomlType::Integer, text) => notation::integer(text).ok(),
            _ => None,
        };
        let number = number.filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.wrong(
                key,
                node,
                format!("must be a whole number from 1 to {most}"),
            );
        }
        number
    }

    fn world(&mut self, node: &Node) -> Option<World> {
        let found = node.found();
        let name = found.trim_matches('"');
        let world = World::ALL.iter().find(|world| world.name() == name);
        if world.is_none() {
            self.wrong("world", node, "must be \"sim\", \"virtual\" or \"live\"");
        }
        world.copied()
    }

    /// `[1, 2, 3]` or `{ from = 1, count = 3 }`.
    fn seeds(&mut self, key: &str, node: &Node) -> Option<Vec<u64>> {
        let form = "must be a list of different whole numbers such as [1, 2, 3], or { from = 1, count = 3 }";
        let seed = |node: &Node| match &node.value {
            Tree::Scalar(TomlType::Integer, text) => notation::integer(text).ok(),
            _ => None,
        };
        match &node.value {
            Tree::Array(nodes) => {
                let seeds: Option<Vec<u64>> = nodes.iter().map(seed).collect();
                let mut sorted = seeds.clone().unwrap_or_default();
                sorted.sort_unstable();
                sorted.dedup();
                let fits = !nodes.is_empty() && nodes.len() <= MOST_VALUES;
                if !fits || sorted.len() < nodes.len() {
                    self.wrong(key, node, form);
                    return None;
                }
                seeds
            }
            Tree::Table(table) => {
                self.table(key, node, &["from", "count"])?;
                let from = table.get("from").map_or(Some(1), seed);
                let count = table.get("count");
                let count = count.and_then(|node| {
                    self.number(&format!("{key}.count"), node, MOST_VALUES as u64)
                });
                let range = from.zip(count);
                let range = range.and_then(|(from, count)| Some(from..from.checked_add(count)?));
                if range.is_none() {
                    self.about(key, node, form);
                }
                Some(range?.collect())
            }
            Tree::Scalar(..) => {
                self.wrong(key, node, form);
                None
            }
        }
    }

    fn method(&mut self, table: &Table, root: &Node) -> Method {
        let given = table.get("method");
        let found = given.map(Node::found);
        let method = found
            .as_deref()
            .map_or("grid", |found| found.trim_matches('"'));
        let draws = match method {
            "grid" => {
                for key in ["cells", "seed"] {
                    if let Some(node) = table.get(key) {
                        let allowed = "has an effect only with method = \"random\" or \"lhs\"";
                        self.wrong(key, node, allowed);
                    }
                }
                return Method::Grid;
            }
            "random" | "lhs" => method,
            _ => {
                if let Some(node) = given {
                    self.wrong("method", node, "must be \"grid\", \"random\" or \"lhs\"");
                }
                return Method::Grid;
            }
        };
        let cells = table.get("cells");
        if cells.is_none() {
            let allowed = format!("is missing; method = \"{draws}\" needs a number of points");
            self.about("cells", root, allowed);
        }
        let cells = cells.and_then(|node| self.number("cells", node, MOST_CELLS));
        let seed = table.get("seed");
        let seed = seed.and_then(|node| self.number("seed", node, u64::MAX));
        let (cells, seed) = (cells.unwrap_or(1), seed.unwrap_or(1));
        match draws {
            "random" => Method::Random { cells, seed },
            _ => Method::Lhs { cells, seed },
        }
    }

    fn axes(&mut self, node: &Node, method: Method) -> Vec<Axis> {
        let Tree::Table(table) = &node.value else {
            let allowed = "must be a table of keys with their values, such as \"link.rate\" = [\"4mbit\", \"40mbit\"]";
            self.wrong("axis", node, allowed);
            return Vec::new();
        };
        let mut axes = Vec::new();
        for (key, node) in flat(table) {
            if let Some(axis) = self.axis(key, node, method) {
                axes.push(axis);
            }
        }
        if table.iter().next().is_none() {
            self.about("axis", node, "has no keys; give at least one");
        }
        axes
    }

    fn axis(&mut self, key: String, node: &Node, method: Method) -> Option<Axis> {
        if key == "run.seeds" {
            self.wrong(&key, node, "seeds are no axis; give them as seeds = …");
            return None;
        }
        let values = match &node.value {
            Tree::Array(nodes) => {
                if nodes.is_empty() || nodes.len() > MOST_VALUES {
                    let allowed = format!("must have from 1 to {MOST_VALUES} values");
                    self.wrong(&key, node, allowed);
                    return None;
                }
                let texts: Vec<String> = nodes.iter().map(text).collect();
                let mut seen = std::collections::BTreeSet::new();
                if let Some(twice) = texts.iter().find(|text| !seen.insert(text.as_str())) {
                    self.about(&key, node, format!("{twice} is there twice"));
                    return None;
                }
                Values::List(nodes.clone())
            }
            Tree::Table(_) => self.range(&key, node, method)?,
            Tree::Scalar(..) => {
                let allowed = "must be a list, { from = …, to = …, steps = … } or { log = […, …], steps = … }";
                self.wrong(&key, node, allowed);
                return None;
            }
        };
        let node = node.clone();
        Some(Axis { key, node, values })
    }

    fn range(&mut self, key: &str, node: &Node, method: Method) -> Option<Values> {
        let table = self.table(key, node, &["from", "to", "log", "steps"])?;
        let ends = (table.get("from"), table.get("to"), table.get("log"));
        let (scale, from, to) = match ends {
            (Some(from), Some(to), None) => (Scale::Linear, from, to),
            (None, None, Some(log)) => match &log.value {
                Tree::Array(nodes) if nodes.len() == 2 => {
                    (Scale::Logarithmic, &nodes[0], &nodes[1])
                }
                _ => {
                    self.wrong(&format!("{key}.log"), log, "must be [FIRST, LAST]");
                    return None;
                }
            },
            _ => {
                let allowed = "needs from and to, or log = [FIRST, LAST]";
                self.about(key, node, allowed);
                return None;
            }
        };
        let range = Quantity::of(from)
            .zip(Quantity::of(to))
            .and_then(|(from, to)| Range::new(scale, from, to));
        let Some(range) = range.filter(|range| range.from != range.to) else {
            let above = match scale {
                Scale::Linear => "",
                Scale::Logarithmic => ", both above 0",
            };
            let allowed = format!(
                "must go from one number to another of the same unit{above}, such as 5ms and 100ms; found {} and {}",
                from.found(),
                to.found()
            );
            self.about(key, node, allowed);
            return None;
        };
        let Some(steps) = table.get("steps") else {
            if method == Method::Grid {
                let allowed = "is missing; a grid needs the number of values, ends included";
                self.about(&format!("{key}.steps"), node, allowed);
                return None;
            }
            return Some(Values::Any(range));
        };
        let name = format!("{key}.steps");
        let count = self.number(&name, steps, MOST_VALUES as u64)?;
        if count < 2 {
            self.wrong(&name, steps, "must be at least 2: both ends are values");
            return None;
        }
        Some(Values::Steps(range, count))
    }
}

/// The entries of a table whose keys may be written `"link.rate"` or `link.rate`: what is a table is part of a key unless it says
/// how values are chosen.
fn flat(table: &Table) -> Vec<(String, &Node)> {
    let is_range = |table: &Table| {
        let mut keys = table.iter().map(|(key, _)| key);
        keys.any(|key| ["from", "to", "log", "steps"].contains(&key))
    };
    walk(table, "", &|node| match &node.value {
        Tree::Table(inner) if !is_range(inner) => Some(inner),
        _ => None,
    })
}

/// The same where a table may be a value: of a queue, a control or an application.
fn flat_values(table: &Table) -> Entries {
    let is_value = |table: &Table| table.get("kind").is_some() || table.get("name").is_some();
    let all = walk(table, "", &|node| match &node.value {
        Tree::Table(inner) if !is_value(inner) => Some(inner),
        _ => None,
    });
    all.into_iter()
        .map(|(key, node)| (key, node.clone()))
        .collect()
}

fn walk<'a>(
    table: &'a Table,
    path: &str,
    inner: &dyn Fn(&'a Node) -> Option<&'a Table>,
) -> Vec<(String, &'a Node)> {
    let mut all = Vec::new();
    for (key, node) in table.iter() {
        let key = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        match inner(node) {
            Some(table) => all.extend(walk(table, &key, inner)),
            None => all.push((key, node)),
        }
    }
    all
}

/// A value as tables show it: as written; a queue or a control with parameters as `pie:target=5ms`.
pub(crate) fn text(node: &Node) -> String {
    match &node.value {
        Tree::Scalar(_, text) => text.clone(),
        Tree::Array(nodes) => {
            let all: Vec<String> = nodes.iter().map(text).collect();
            format!("[{}]", all.join(","))
        }
        Tree::Table(table) => {
            let named = ["kind", "name"]
                .into_iter()
                .find(|key| table.get(key).is_some());
            let name = named
                .and_then(|key| table.get(key))
                .map_or(String::new(), text);
            let rest = table.iter().filter(|(key, _)| Some(*key) != named);
            let rest: Vec<String> = rest
                .map(|(key, node)| format!("{key}={}", text(node)))
                .collect();
            if rest.is_empty() {
                name
            } else {
                format!("{name}:{}", rest.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests;
