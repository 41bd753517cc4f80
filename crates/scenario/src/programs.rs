//! The programs that a scenario names, for a caller that can check whether they exist.

use quell_app::AppConfig;
use quell_app::kinds::program::Part;
use quell_units::CommandLine;

use crate::places::Places;
use crate::problem::Problem;
use crate::{Group, Scenario};

/// A program of a scenario.
#[derive(Debug, Clone)]
pub struct NamedProgram {
    /// Its name or path, as written.
    pub program: String,
    /// The place where the program is written, as a problem that still lacks its reason.
    place: Problem,
}

impl NamedProgram {
    /// The refusal of the program; `why` finishes the line.
    pub fn problem(&self, why: impl Into<String>) -> Problem {
        Problem {
            allowed: why.into(),
            ..self.place.clone()
        }
    }
}

/// The programs of a group, in the order of their start.
pub fn programs(group: &Group) -> impl Iterator<Item = (Part, &CommandLine)> {
    let program = match group.app.config() {
        AppConfig::Program(program) => Some(program),
        _ => None,
    };
    let parts = program.into_iter().flat_map(|program| {
        Part::BOTH
            .into_iter()
            .map(|part| (part, program.line(part)))
    });
    parts.filter_map(|(part, line)| Some((part, line?)))
}

/// The programs of all groups, with their places.
pub(crate) fn named(scenario: &Scenario, places: &Places<'_>) -> Vec<NamedProgram> {
    let all = scenario
        .groups
        .iter()
        .flat_map(|group| programs(group).map(move |(part, line)| (group, part, line)));
    let named = |(group, part, line): (&Group, Part, &CommandLine)| {
        let key = format!("group.{}.app.{}", group.name, part.name());
        NamedProgram {
            program: line.program().to_owned(),
            place: places.problem(&key, line, ""),
        }
    };
    all.map(named).collect()
}
