//! Figures beside those that are recorded of another world; coverings.

use quell_measure::Estimate;

use super::Engine;
use super::case::{Case, Fault, Frame, Key};
use crate::expression::{Expression, Node, Piece};
use crate::file::{Check, Figure, Form, Seeds};
use crate::reference::covering::cover;
use crate::reference::{
    Beside, Compared, Difference, Recorded, RecordedPoint, Reference, Rounded, SIM,
};

/// Points among which a covering chooses at most, times the combinations of axes.
const MOST_COMBINATIONS: usize = 20_000;

/// Names of axes, and their values at points, each with a mean.
pub(crate) type Estimates = (Vec<String>, Vec<(Vec<String>, Estimate)>);

impl Engine<'_> {
    /// The points of the covering, if the file asks for one.
    pub(super) fn covering(&self) -> Result<Option<Vec<Key>>, Fault> {
        let Some(strength) = self.definition.strength else {
            return Ok(None);
        };
        let axes = self.definition.names.places(self.definition.names.runs());
        let cases = self.run_cases()?;
        let combinations = (0..strength).fold(1, |all, one| {
            all * axes.len().saturating_sub(one) / (one + 1)
        });
        if cases.len() * combinations > MOST_COMBINATIONS {
            return Err(Fault::new(0, "a covering of so many points takes too long"));
        }
        let levels = |case: &Case| {
            let places = axes.iter().filter_map(|axis| case.at(*axis));
            places.collect::<Vec<usize>>()
        };
        let levels: Vec<Vec<usize>> = cases.iter().map(levels).collect();
        let mut chosen = cover(&levels, strength);
        chosen.sort_unstable();
        let runs = self.definition.names.runs();
        Ok(Some(
            chosen
                .into_iter()
                .map(|place| cases[place].key(runs))
                .collect(),
        ))
    }

    /// The seeds of a point: as many as are recorded of it, or those of the file.
    pub(super) fn seeds_for(&self, case: &Case, of_file: Option<Seeds>) -> Result<Seeds, Fault> {
        let counted = self.definition.reference.as_ref();
        let counted = counted.and_then(|reference| Some((reference, reference.seeds.as_ref()?)));
        let Some((reference, seeds)) = counted else {
            return Ok(of_file.unwrap_or_default());
        };
        let point = self.point(reference, case)?;
        Ok(Seeds::Range(1, seeds.get(&point).copied().unwrap_or(0)))
    }

    fn point(&self, reference: &Reference, case: &Case) -> Result<String, Fault> {
        self.render(&reference.point, &Frame::at(case.clone()))
    }

    /// The names of the points that make runs, and how many runs each has.
    pub(crate) fn points(&self) -> Result<Vec<(String, u64)>, Fault> {
        let Some(reference) = &self.definition.reference else {
            return Ok(Vec::new());
        };
        let mut points = Vec::new();
        for case in self.run_cases()? {
            let seeds = self.seeds_for(&case, self.keys_of(&case)?.seeds)?;
            points.push((self.point(reference, &case)?, seeds.len() as u64));
        }
        Ok(points)
    }

    /// The mean of a figure at a point, with its error.
    fn estimate(&self, check: &Check, case: &Case) -> Result<Option<Estimate>, Fault> {
        let figure = self.figure_of(check);
        figure.map_or(Ok(None), |figure| self.estimate_of(figure, case))
    }

    fn estimate_of(&self, figure: &Figure, case: &Case) -> Result<Option<Estimate>, Fault> {
        let frame = Frame::at(case.clone());
        if !self.exists(figure.filter.as_ref(), &frame)? {
            return Ok(None);
        }
        let name = Expression {
            at: 0,
            node: Node::Name(figure.name.clone()),
        };
        Ok(Estimate::new(&self.spread(&name, &frame)?))
    }

    /// The axes that make runs, and at each of their points that has a figure of this name its values and the mean.
    pub(crate) fn estimates(&self, name: &str) -> Result<Estimates, Fault> {
        let axes = self.definition.names.places(self.definition.names.runs());
        let mut points = Vec::new();
        for case in self.run_cases()? {
            let mut figures = self.definition.figures.iter();
            let figure = figures.find(|figure| figure.name == name);
            let mean = figure.map_or(Ok(None), |figure| self.estimate_of(figure, &case))?;
            let value = |&axis: &usize| {
                let label = case.at(axis).map(|value| self.labels[axis][value].plain());
                label.unwrap_or_default()
            };
            points.extend(mean.map(|mean| (axes.iter().map(value).collect(), mean)));
        }
        let names = axes.iter().map(|&axis| self.axes[axis].name.clone());
        Ok((names.collect(), points))
    }

    fn figure_of(&self, check: &Check) -> Option<&Figure> {
        check.figure.map(|place| &self.definition.figures[place])
    }

    /// What a figure is called in a record.
    fn title(&self, check: &Check) -> &str {
        match self.figure_of(check) {
            Some(figure) => match figure.label.0.first() {
                Some(Piece::Text(title)) => title,
                _ => &figure.name,
            },
            None => "",
        }
    }

    /// A figure beside what is recorded of it.
    pub(super) fn difference(
        &self,
        check: &Check,
        beside: &Beside,
        case: &Case,
    ) -> Result<Option<Difference>, Fault> {
        let Some(reference) = &self.definition.reference else {
            return Ok(None);
        };
        let name = self.point(reference, case)?;
        let point = reference.recorded.0.get(&name);
        let sim = self.estimate(check, case)?;
        let both = sim.zip(point);
        Ok(both.and_then(|(sim, point)| beside.compare(self.title(check), sim, point)))
    }

    /// The checks beside a world at a point, in the order of the figures.
    fn besides(&self, case: &Case) -> Result<Vec<(&Check, &Beside)>, Fault> {
        let mut all = Vec::new();
        for statement in &self.definition.statements {
            let frame = Frame::at(case.clone());
            for check in &statement.checks {
                if let Form::Beside(beside) = &check.form
                    && self.exists(statement.filter.as_ref(), &frame)?
                    && self.exists(check.filter.as_ref(), &frame)?
                {
                    all.push((check, beside));
                }
            }
        }
        all.sort_by_key(|(check, _)| check.figure);
        Ok(all)
    }

    /// Every point beside what is recorded of it.
    pub(super) fn compared(&self) -> Result<Vec<Compared>, Fault> {
        match &self.definition.reference {
            Some(reference) => self.compared_with(&reference.recorded),
            None => Ok(Vec::new()),
        }
    }

    /// Every point beside what `recorded` has of it.
    pub(crate) fn compared_with(&self, recorded: &Recorded) -> Result<Vec<Compared>, Fault> {
        let Some(reference) = &self.definition.reference else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for case in self.run_cases()? {
            let name = self.point(reference, &case)?;
            let Some(point) = recorded.0.get(&name) else {
                continue;
            };
            let besides = self.besides(&case)?;
            let (mut now, mut then) = (Vec::new(), Vec::new());
            for world in &reference.worlds {
                for (check, beside) in besides.iter().filter(|(_, one)| one.world == *world) {
                    let title = self.title(check);
                    let sim = self.estimate(check, &case)?;
                    now.extend(sim.and_then(|sim| beside.compare(title, sim, point)));
                    let worlds = point.figures.get(title);
                    let known = worlds.and_then(|worlds| worlds.get(SIM));
                    if let Some(known) = known.filter(|_| reference.worlds.first() == Some(world)) {
                        then.extend(beside.compare(title, known.written, point));
                    }
                }
            }
            all.push(Compared {
                row: self.render(&reference.row, &Frame::at(case))?,
                point: name,
                seeds: point.seeds,
                now,
                then,
            });
        }
        Ok(all)
    }

    /// What the results are for those to which they are a record of `world`: every figure that is compared beside it.
    pub(crate) fn record(&self, world: &str) -> Result<Recorded, Fault> {
        let Some(reference) = &self.definition.reference else {
            return Ok(Recorded::default());
        };
        let mut recorded = Recorded::default();
        for case in self.run_cases()? {
            let mut point = RecordedPoint::default();
            for (check, _) in self.besides(&case)? {
                if let Some(mean) = self.estimate(check, &case)? {
                    let worlds = point.figures.entry(self.title(check).to_owned());
                    let worlds = worlds.or_default();
                    worlds.insert(world.to_owned(), Rounded::exact(mean));
                }
            }
            point.seeds = self.seeds_of(&case).len() as u64;
            if point.seeds > 0 {
                recorded.0.insert(self.point(reference, &case)?, point);
            }
        }
        Ok(recorded)
    }
}
