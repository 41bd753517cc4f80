//! The results that a picture shows, each with a label that tells it from the others.

use std::fs;
use std::path::{Path, PathBuf};

use quell_measure::Summary;
use quell_scenario::{DirectionSpec, QueueSpec, Scenario};
use quell_units::Settings;
use serde_json::Value;

use super::Error;
use crate::read::columns::{self, Cell};
use crate::read::{self, LONGEST};

/// A result: one run, or one for each of its seeds.
#[derive(Debug, Clone)]
pub struct Source {
    /// What it is called in the legend; empty where there is only one result.
    pub label: String,
    /// Its place among the results.
    pub(super) index: usize,
    pub(crate) runs: Vec<Run>,
}

impl Source {
    /// The folders of its runs, in the order of their seeds.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.runs.iter().map(|run| run.folder.as_path())
    }
}

/// A folder with a summary.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) folder: PathBuf,
    pub(crate) summary: Value,
    pub(crate) scenario: Option<Scenario>,
}

impl Run {
    fn read(folder: &Path) -> Result<Self, Error> {
        let scenario = read::text(&folder.join("scenario.toml"), LONGEST).ok();
        let scenario =
            scenario.and_then(|text| Scenario::load("scenario.toml", &text, &[], None).ok());
        Ok(Self {
            folder: folder.to_owned(),
            summary: json(&folder.join("summary.json"))?,
            scenario: scenario.map(|loaded| loaded.scenario),
        })
    }

    /// Rows of one of its series.
    pub(super) fn rows<const N: usize>(
        &self,
        file: &str,
        wanted: [&str; N],
    ) -> Result<Vec<[Cell; N]>, Error> {
        Ok(columns::read(&self.folder.join(file), wanted)?)
    }

    /// Whether it has several links.
    fn has_several_links(&self) -> bool {
        self.summary["links"].is_array()
    }

    /// The column of a queue's row that names its link, if that says anything; earlier results have none.
    pub(super) fn hop(&self) -> &'static str {
        if self.has_several_links() {
            "hop"
        } else {
            "queue"
        }
    }

    /// What a queue is called in a picture or table: with its link where there are several.
    pub(crate) fn queue_name(&self, hop: &str, queue: &str) -> String {
        match self.has_several_links() {
            true => format!("{hop} {queue}"),
            false => queue.to_owned(),
        }
    }

    pub(super) fn histograms(&self) -> Result<Value, Error> {
        json(&self.folder.join("histograms.json"))
    }

    /// The circumstances of the run; null where the result does not have them.
    pub(crate) fn facts(&self) -> Value {
        json(&self.folder.join("run.json")).unwrap_or_default()
    }

    /// Its figures.
    pub(crate) fn summary(&self) -> Result<Summary, Error> {
        serde_json::from_value(self.summary.clone()).map_err(|error| Error::Read {
            path: self.folder.join("summary.json"),
            why: error.to_string(),
        })
    }

    /// A text of the summary.
    fn text(&self, key: &str) -> String {
        match &self.summary[key] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}

fn json(path: &Path) -> Result<Value, Error> {
    let fail = |why: String| Error::Read {
        path: path.to_owned(),
        why,
    };
    let text = read::text(path, LONGEST).map_err(|error| fail(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| fail(format!("it is no JSON: {error}")))
}

/// The results at `paths`: folders of a run, of a run with several seeds, or folders of such folders, as `quell compare` writes them.
///
/// # Errors
///
/// A path holds no result, or a result cannot be read.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for path in paths {
        match source(path)? {
            Some(source) => sources.push(source),
            None => {
                let before = sources.len();
                for inner in folders(path)? {
                    sources.extend(source(&inner)?);
                }
                if sources.len() == before {
                    return Err(Error::NoResult(path.clone()));
                }
            }
        }
    }
    for (index, source) in sources.iter_mut().enumerate() {
        source.index = index;
    }
    label(&mut sources);
    Ok(sources)
}

/// The result in a folder, if it is one.
fn source(folder: &Path) -> Result<Option<Source>, Error> {
    let is_run = |folder: &Path| folder.join("summary.json").is_file();
    let runs: Vec<PathBuf> = if is_run(folder) {
        vec![folder.to_owned()]
    } else {
        let inner = folders(folder)?.into_iter();
        let name = |path: &Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let is_seed = |path: &Path| {
            let name = name(path).unwrap_or_default();
            name.strip_prefix("seed")
                .is_some_and(|seed| seed.parse::<u64>().is_ok())
        };
        inner.filter(|path| is_seed(path) && is_run(path)).collect()
    };
    if runs.is_empty() {
        return Ok(None);
    }
    let runs: Result<Vec<Run>, Error> = runs.iter().map(|folder| Run::read(folder)).collect();
    let mut runs = runs?;
    runs.sort_by_key(|run| run.summary["seed"].as_u64());
    Ok(Some(Source {
        label: name(folder),
        index: 0,
        runs,
    }))
}

/// The folders in a folder, by name.
fn folders(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let fail = |error: std::io::Error| Error::Read {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn name(folder: &Path) -> String {
    let full = folder.canonicalize();
    let full = full.as_deref().unwrap_or(folder);
    let name = full.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(
        || folder.display().to_string(),
        std::borrow::Cow::into_owned,
    )
}

/// What differs names a result: scenario, queue, rate, controls, world, seed, and where that is not enough its folder.
fn label(sources: &mut [Source]) {
    if let [one] = sources {
        one.label.clear();
        return;
    }
    let facts: Vec<Vec<String>> = sources.iter().map(facts).collect();
    let count = facts.first().map_or(0, Vec::len);
    let differs: Vec<bool> = (0..count)
        .map(|fact| facts.iter().any(|one| one[fact] != facts[0][fact]))
        .collect();
    let labels: Vec<String> = facts
        .iter()
        .map(|facts| {
            let told = facts
                .iter()
                .zip(&differs)
                .filter(|(fact, differs)| **differs && !fact.is_empty());
            told.map(|(fact, _)| fact.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    for (index, source) in sources.iter_mut().enumerate() {
        let label = &labels[index];
        let is_alone = labels.iter().filter(|other| *other == label).count() == 1;
        source.label = match (is_alone && !label.is_empty(), label.is_empty()) {
            (true, _) => label.clone(),
            (false, true) => source.label.clone(),
            (false, false) => format!("{label} {}", source.label),
        };
    }
}

/// What a reader would call a result by.
fn facts(source: &Source) -> Vec<String> {
    let Some(run) = source.runs.first() else {
        return Vec::new();
    };
    let scenario = run.scenario.as_ref();
    let each = |of: fn(&DirectionSpec) -> String| {
        let links = scenario?.links().iter();
        let all: Vec<String> = links.map(|link| of(&link.forward)).collect();
        Some(all.join(" → "))
    };
    let queue = each(|forward| queue_text(&forward.queue));
    let rate = each(|forward| forward.rate.to_string());
    let controls = scenario.map(|scenario| {
        let controls = scenario
            .groups
            .iter()
            .filter_map(|group| group.congestion_control.as_ref());
        let names: Vec<&str> = controls.map(quell_scenario::ControlSpec::name).collect();
        names.join("+")
    });
    let seed = match source.runs.len() {
        1 => format!("seed {}", run.text("seed")),
        many => format!("{many} seeds"),
    };
    let or_empty = Option::unwrap_or_default;
    vec![
        run.text("scenario"),
        or_empty(queue),
        or_empty(rate),
        or_empty(controls),
        run.text("world"),
        seed,
    ]
}

/// A queue as it is written on a command line: its kind, and what differs from its defaults.
pub(crate) fn queue_text(spec: &QueueSpec) -> String {
    let defaults = Settings::new(spec.settings.table());
    let other = spec.settings.applicable().filter_map(|(row, value)| {
        let value = value?;
        let is_default = defaults.value(row.name) == Some(value);
        (!is_default).then(|| format!("{}={value}", row.name))
    });
    let other: Vec<String> = other.collect();
    match other.is_empty() {
        true => spec.kind.to_owned(),
        false => format!("{}:{}", spec.kind, other.join(",")),
    }
}

/// The scenario of a run, with every default, as it lies in the result.
pub(crate) fn scenario_text(run: &Run) -> Option<String> {
    read::text(&run.folder.join("scenario.toml"), LONGEST).ok()
}
