//! The runs of an experiment file, and their results.

use quell_lab::sweep::{Probe, Stored, Watched};

use super::case::{Case, Fault, Frame};
use super::{Engine, RunResult};
use crate::cell::Cell;
use crate::expression::{Piece, Template, Value};
use crate::file::RunKeys;
use crate::function;
use crate::measure::Measure;
use crate::probe::{CUBIC, EXPERIMENT, ITEMS, PATH, ROUNDS, SIZES};

/// Runs at most, with all seeds.
const MOST_RUNS: usize = 200_000;
/// What a change takes besides its text, in bytes.
const OF_A_SETTING: usize = 32;
/// Bytes of the changes of all runs at most.
const MOST_SETTINGS: usize = 256 << 20;

impl Measure {
    fn probe(self) -> Option<Probe> {
        match self {
            Self::Summary => None,
            Self::Bursts => Some(EXPERIMENT),
            Self::Items => Some(ITEMS),
            Self::Path => Some(PATH),
            Self::Rounds => Some(ROUNDS),
            Self::Sizes => Some(SIZES),
            Self::Cubic => Some(CUBIC),
        }
    }
}

impl Engine<'_> {
    /// The cases of the runs, in order.
    pub(super) fn run_cases(&self) -> Result<Vec<Case>, Fault> {
        let axes = self.definition.names.places(self.definition.names.runs());
        self.cases(&axes, &Frame::at(Case::free(self.axes.len())), false)
    }

    pub(super) fn keys_of(&self, case: &Case) -> Result<RunKeys, Fault> {
        let mut keys = self.definition.runs.clone();
        for axis in self.definition.names.places(self.definition.names.runs()) {
            if let Some(value) = case.at(axis) {
                keys = keys.then(self.axes[axis].values[value].runs.clone());
            }
        }
        for (filter, more) in &self.definition.whens {
            if self.value(filter, &Frame::at(case.clone()))?.holds() {
                keys = keys.then(more.clone());
            }
        }
        Ok(keys)
    }

    /// The runs, seeds innermost.
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Fault> {
        let (mut cells, mut written) = (Vec::new(), 0);
        for case in self.run_cases()? {
            let keys = self.keys_of(&case)?;
            let frame = Frame::at(case);
            let file = keys
                .scenario
                .as_ref()
                .map_or(Ok(String::new()), |name| self.render(name, &frame))?;
            let mut cell = Cell::new(file);
            for (key, value) in &keys.set {
                if let Some(value) = self.setting(value, &frame)? {
                    cell = cell.set(format!("{key}={value}"));
                }
            }
            for (key, value) in &keys.over_linux {
                if let Some(value) = self.setting(value, &frame)? {
                    cell = cell.over_linux(format!("{key}={value}"));
                }
            }
            if let Some(probe) = keys.measure.and_then(Measure::probe) {
                cell = cell.probe(probe);
            }
            if let Some(words) = &keys.watched {
                cell = cell.watched(match &self.setting(words, &frame)? {
                    Some(words) if words != "quell" => Watched::Kernel(words.clone()),
                    _ => Watched::Quell,
                });
            }
            if keys.is_slow == Some(true) {
                cell = cell.slow();
            }
            let seeds = self.seeds_for(&frame.case, keys.seeds)?;
            let settings = cell.settings().iter().chain(cell.settings_over_linux());
            let length: usize = settings.map(|one| one.len() + OF_A_SETTING).sum();
            written += length * seeds.len();
            if cells.len() + seeds.len() > MOST_RUNS || written > MOST_SETTINGS {
                let why =
                    format!("this makes more than {MOST_RUNS} runs, or their changes are too long");
                return Err(Fault::new(0, why));
            }
            cells.extend(cell.seeds(seeds.iter()));
        }
        Ok(cells)
    }

    /// A value of the scenario, numbers as they are; `None` where a part of it is none.
    pub(super) fn setting(
        &self,
        template: &Template,
        frame: &Frame<'_>,
    ) -> Result<Option<String>, Fault> {
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(plain) => self.append(&mut text, plain)?,
                Piece::Table(_) => {}
                Piece::Value { of, form, .. } => {
                    let value = self.value(of, frame)?;
                    if value == Value::None {
                        return Ok(None);
                    }
                    self.may_show(&value, of.at)?;
                    let formed = if form.is_empty() {
                        None
                    } else {
                        value.formed(form)
                    };
                    self.append(&mut text, &formed.unwrap_or_else(|| value.plain()))?;
                }
            }
        }
        self.wrote(text.len())?;
        Ok(Some(text))
    }

    /// Takes the results of [`Engine::cells`], in their order.
    pub(crate) fn take(&mut self, stored: &[Stored]) -> Result<(), Fault> {
        let runs = self.definition.names.runs();
        let mut rest = stored.iter();
        for case in self.run_cases()? {
            let keys = self.keys_of(&case)?;
            let seeds = self.seeds_for(&case, keys.seeds)?;
            let measure = keys.measure.unwrap_or(Measure::Summary);
            let mut results = Vec::new();
            for (seed, stored) in seeds.iter().zip(rest.by_ref()) {
                let (json, measured) = match stored {
                    Stored::Summary(summary) => (serde_json::to_value(summary), Ok(None)),
                    Stored::Figures(text) => {
                        (serde_json::from_str(text), function::read(measure, text))
                    }
                    Stored::Failed(_) | Stored::Missing => continue,
                };
                let broken = |error: serde_json::Error| Fault::new(0, error.to_string());
                results.push(RunResult {
                    seed,
                    json: json.map_err(broken)?,
                    measured: measured.map_err(broken)?,
                });
            }
            self.results.insert(case.key(runs), results);
        }
        self.divide();
        self.forget();
        Ok(())
    }

    /// The seeds of the runs at a case.
    pub(super) fn seeds_of(&self, case: &Case) -> Vec<u64> {
        let results = self.results.get(&case.key(self.definition.names.runs()));
        results
            .into_iter()
            .flatten()
            .map(|result| result.seed)
            .collect()
    }
}
