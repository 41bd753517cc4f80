//! Figures that are recorded of another world, and how far those of the simulator are from them: `reference = { file = "grid.csv", … }`.
//!
//! The record is a CSV file with a row for each figure of each point: means with their standard errors, to three digits. A rounded mean
//! stands for every value that rounds to it; the nearest to what it is compared with counts.

pub(crate) mod covering;

pub mod record;
pub mod report;
mod rounded;

use std::collections::BTreeMap;
use std::fmt;

use quell_measure::Estimate;

use crate::expression::Template;

/// The column of the simulator.
pub(crate) const SIM: &str = "sim";

/// What an experiment file says of its record.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    pub(crate) file: String,
    /// The recorded worlds: columns of the file.
    pub(crate) worlds: Vec<String>,
    /// What a point is called in the file.
    pub(crate) point: Template,
    /// The row to which a point belongs where points are counted.
    pub(crate) row: Template,
    pub(crate) recorded: Recorded,
    /// Seeds of each point, those that are recorded, and no other points; without it all points, with the seeds of the file.
    pub(crate) seeds: Option<BTreeMap<String, u64>>,
}

/// The figures of a file, by point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorded(pub(crate) BTreeMap<String, RecordedPoint>);

/// The recorded figures of a point.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedPoint {
    /// Number of its seeds, which count from 1.
    pub(crate) seeds: u64,
    /// By figure and world.
    pub(crate) figures: BTreeMap<String, BTreeMap<String, Rounded>>,
}

/// A mean as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rounded {
    pub(crate) written: Estimate,
    /// Half a unit of its last digit.
    half: f64,
}

impl Rounded {
    /// As it was measured.
    pub(crate) fn exact(written: Estimate) -> Self {
        Self { written, half: 0.0 }
    }

    /// The value nearest to `value` that rounds to the written mean.
    fn nearest_to(self, value: f64) -> Estimate {
        let mean = self.written.mean;
        Estimate {
            mean: value.clamp(mean - self.half, mean + self.half),
            ..self.written
        }
    }
}

impl Recorded {
    /// Reads the rows of a file; `Err` has the line that is none.
    pub(crate) fn parse(rows: &[Vec<String>]) -> Result<Self, usize> {
        let Some((head, rows)) = rows.split_first() else {
            return Ok(Self::default());
        };
        let mut points: BTreeMap<String, RecordedPoint> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            if row.len() != head.len() {
                return Err(number + 2);
            }
            let cell = |name: &str| {
                let place = head.iter().position(|column| column == name);
                place.map(|place| row[place].as_str())
            };
            let number_of = |name: &str| cell(name).and_then(|text| text.parse::<f64>().ok());
            let named = cell("point").zip(cell("figure")).zip(number_of("seeds"));
            let Some(((name, figure), seeds)) = named else {
                return Err(number + 2);
            };
            let point = points.entry(name.to_owned()).or_default();
            point.seeds = seeds as u64;
            let worlds = point.figures.entry(figure.to_owned()).or_default();
            for world in head.iter().filter(|one| head.contains(&error_of(one))) {
                let Some(mean) = number_of(world) else {
                    continue;
                };
                let decimals = cell(world).and_then(|cell| cell.split_once('.'));
                let decimals = decimals.map_or(0, |(_, part)| part.len());
                let written = Estimate {
                    mean,
                    standard_error: number_of(&error_of(world)),
                    n: seeds as usize,
                };
                let half = 0.5 / 10_f64.powi(decimals as i32);
                worlds.insert(world.clone(), Rounded { written, half });
            }
        }
        Ok(Self(points))
    }

    /// The seeds of each point.
    pub(crate) fn seeds(&self) -> BTreeMap<String, u64> {
        let points = self.0.iter();
        points
            .map(|(name, point)| (name.clone(), point.seeds))
            .collect()
    }
}

/// The column with the standard errors of a world.
fn error_of(world: &str) -> String {
    format!("{world}_error")
}

/// How far a figure may be from the recorded one, beyond the standard error of the difference: what differs by less cannot be told from
/// chance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Beside {
    pub(crate) world: String,
    /// Percent of the recorded mean, or so many of its units where that is more.
    pub(crate) percent: f64,
    pub(crate) or: f64,
    /// What a figure was that has no row: one that counts what never happened.
    pub(crate) absent: Option<f64>,
}

impl Beside {
    /// What the simulator has beside what is recorded; `None` where there is nothing to compare, or nothing happened in both.
    pub(crate) fn compare(
        &self,
        figure: &str,
        sim: Estimate,
        point: &RecordedPoint,
    ) -> Option<Difference> {
        let recorded = match point.figures.get(figure) {
            Some(worlds) => *worlds.get(&self.world)?,
            None => Rounded::exact(Estimate {
                mean: self.absent?,
                standard_error: Some(0.0),
                n: point.seeds as usize,
            }),
        };
        let other = recorded.nearest_to(sim.mean);
        let bound = (self.percent / 100.0 * other.mean.abs()).max(self.or);
        (sim.mean != 0.0 || other.mean != 0.0).then(|| Difference {
            figure: figure.to_owned(),
            world: self.world.clone(),
            sim,
            other,
            bound,
        })
    }
}

/// One figure in the simulator and in another world.
#[derive(Debug, Clone)]
pub struct Difference {
    /// What is compared.
    pub figure: String,
    /// The world that the simulator is compared with.
    pub world: String,
    /// In the simulator.
    pub sim: Estimate,
    /// In the other world.
    pub other: Estimate,
    /// How far they may be apart, standard errors apart.
    pub bound: f64,
}

impl Difference {
    /// The standard error of the difference of the means.
    pub fn standard_error(&self) -> f64 {
        let [sim, other] = [self.sim, self.other].map(|mean| mean.standard_error.unwrap_or(0.0));
        sim.hypot(other)
    }

    /// How far the two means lie apart.
    pub fn distance(&self) -> f64 {
        (self.sim.mean - self.other.mean).abs()
    }

    /// Whether the means differ by no more than the bound and the standard error.
    pub fn holds(&self) -> bool {
        self.distance() <= self.bound + self.standard_error()
    }

    /// How far beyond the standard error the means differ, in bounds: above 1 it is a miss.
    pub fn bounds_off(&self) -> f64 {
        (self.distance() - self.standard_error()).max(0.0) / self.bound
    }

    /// Whether the runs differ so much among themselves that chance decides.
    pub fn scatters(&self) -> bool {
        self.standard_error() > self.bound
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sim, other] = [&self.sim, &self.other].map(rounded::estimate);
        write!(f, "{sim} beside {other} {}", self.world)
    }
}

/// One point, compared.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Its name.
    pub point: String,
    /// The row to which it belongs where points are counted.
    pub row: String,
    /// Number of its seeds.
    pub seeds: u64,
    /// Every figure, world by world.
    pub now: Vec<Difference>,
    /// What the simulations of the record had beside its first world.
    pub then: Vec<Difference>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let lines = text.lines();
        lines
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect()
    }

    fn beside(percent: f64, or: f64) -> Beside {
        Beside {
            world: "virtual".to_owned(),
            percent,
            or,
            absent: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = "point,seeds,figure,sim,sim_error,virtual,virtual_error,missed\n\
                    pie-reno,7,goodput,9.65,0.01,9.60,0.02,\n\
                    pie-reno,7,ratio,1.0,,,,virtual\n";
        let recorded = Recorded::parse(&rows(text)).expect("a record");
        let point = &recorded.0["pie-reno"];
        assert_eq!(point.seeds, 7);
        let goodput = point.figures["goodput"]["virtual"];
        assert_eq!(
            (goodput.written.mean, goodput.written.standard_error),
            (9.6, Some(0.02))
        );
        assert!(!point.figures["ratio"].contains_key("virtual"));
        // 9.60 may have been 9.595 to 9.605.
        let nearest = [9.0, 9.601, 10.0].map(|value| goodput.nearest_to(value).mean);
        assert!((nearest[0] - 9.595).abs() < 1e-9 && (nearest[2] - 9.605).abs() < 1e-9);
        assert_eq!(nearest[1], 9.601);
        assert_eq!(
            Recorded::parse(&rows("point,figure\na,b,c\n")).err(),
            Some(2)
        );
        assert_eq!(Recorded::parse(&rows("point,figure\na,b\n")).err(), Some(2));
    }

    #[test]
    fn a_bound_applies_beyond_the_standard_errors() {
        // (percent, or, sim, other, holds); two values that differ by one have an error of a half.
        for (percent, or, sim, other, holds) in [
            (3.0, 0.0, [102.9; 2], [100.0; 2], true),
            (3.0, 0.0, [103.1; 2], [100.0; 2], false),
            (3.0, 0.0, [103.2, 104.2], [99.5, 100.5], true),
            (20.0, 0.0, [0.81; 2], [1.0; 2], true),
            (20.0, 0.0, [0.79; 2], [1.0; 2], false),
            (10.0, 0.3, [0.49; 2], [0.2; 2], true),
            (10.0, 0.3, [16.6; 2], [15.0; 2], false),
            (8.0, 0.2, [0.39; 2], [0.2; 2], true),
            (15.0, 0.5, [17.4; 2], [15.0; 2], false),
            (15.0, 0.5, [1.49; 2], [1.0; 2], true),
        ] {
            let [sim, other] = [sim, other].map(|values| Estimate::new(&values).expect("values"));
            let worlds = BTreeMap::from([("virtual".to_owned(), Rounded::exact(other))]);
            let point = RecordedPoint {
                seeds: 2,
                figures: BTreeMap::from([("figure".to_owned(), worlds)]),
            };
            let found = beside(percent, or).compare("figure", sim, &point);
            let found = found.expect("a difference");
            assert_eq!(found.holds(), holds, "{found}");
            assert_eq!(found.bounds_off() <= 1.0, holds);
        }
    }

    #[test]
    fn what_never_happened_is_compared_with_none() {
        let sim = |value| Estimate::new(&[value; 2]).expect("values");
        let counted = Beside {
            absent: Some(0.0),
            ..beside(20.0, 0.0)
        };
        let point = RecordedPoint::default();
        let found = counted.compare("drops", sim(1.0), &point);
        assert!(!found.expect("a difference").holds());
        assert!(counted.compare("drops", sim(0.0), &point).is_none());
        assert!(
            beside(20.0, 0.0)
                .compare("delay", sim(1.0), &point)
                .is_none()
        );
    }
}
