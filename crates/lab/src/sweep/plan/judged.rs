//! What a sweep is expected to give.

use quell_scenario::Scenario;

use super::Plan;
use crate::RunError;

/// A scenario with values, as its results are judged.
#[derive(Debug)]
pub struct PointOfPlan {
    /// Its values, in words.
    pub label: String,
    /// The scenario, with what is expected.
    pub scenario: Scenario,
    /// The places of its cells, and their seeds.
    pub cells: Vec<(usize, u64)>,
}

impl Plan {
    /// Whether a scenario says what is expected of its results.
    pub fn expects(&self) -> bool {
        let mut templates = self.templates.iter();
        templates.any(|(template, _)| template.has("expect"))
    }

    /// Every point with what is expected of its results, and its cells.
    ///
    /// # Errors
    ///
    /// A file that a scenario names has changed meanwhile.
    pub fn judged(&self) -> Result<Vec<PointOfPlan>, RunError> {
        let points = self.points.iter().map(|point| {
            let scenario = self.resolve_whole("the sweep", point);
            Ok(PointOfPlan {
                label: self.describe(point),
                scenario: scenario.map_err(|lines| RunError::refused(lines.join("\n")))?,
                cells: Vec::new(),
            })
        });
        let mut points = points.collect::<Result<Vec<_>, RunError>>()?;
        for (place, cell) in self.cells.iter().enumerate() {
            points[cell.point as usize].cells.push((place, cell.seed));
        }
        Ok(points)
    }
}
