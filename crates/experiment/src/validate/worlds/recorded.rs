//! The figures that earlier comparisons left in `docs/evidence/data`: means of real TCP and their standard errors, to three digits.
//!
//! A rounded mean stands for every value that rounds to it; the nearest to what it is compared with counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quell_measure::Estimate;

use crate::validate::error::{Error, SheetFault};
use crate::validate::worlds::figures::{APP_FIGURES, Figure, Reference};

/// Runs of each point where the file does not say it: `three-worlds.csv`, whose points all have as many.
const RUNS: u64 = 5;

/// A file of earlier figures, by point.
#[derive(Debug, Default)]
pub(crate) struct Recorded(BTreeMap<String, Point>);

/// The earlier figures of a point.
#[derive(Debug, Default)]
pub(crate) struct Point {
    /// Number of its seeds, which count from 1.
    pub(crate) runs: u64,
    figures: Vec<(Figure, Row)>,
}

/// One figure in each world that had it.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    sim: Option<Rounded>,
    guest: Option<Rounded>,
    live: Option<Rounded>,
}

/// A mean as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rounded {
    pub(crate) written: Estimate,
    /// Half a unit of its last digit.
    half: f64,
}

impl Rounded {
    /// The value nearest to `value` that rounds to the written mean.
    pub(crate) fn nearest_to(self, value: f64) -> Estimate {
        let mean = self.written.mean;
        Estimate {
            mean: value.clamp(mean - self.half, mean + self.half),
            ..self.written
        }
    }
}

impl Recorded {
    /// Reads a sheet of a comparison.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(SheetFault::Unreadable);
        let parsed = text.and_then(|text| Self::parse(&text));
        parsed.map_err(|fault| Error::Sheet {
            path: path.to_owned(),
            fault,
        })
    }

    fn parse(text: &str) -> Result<Self, SheetFault> {
        let mut lines = text.lines();
        let head = cells(lines.next().unwrap_or_default());
        let mut points: BTreeMap<String, Point> = BTreeMap::new();
        for line in lines {
            let row = cells(line);
            if row.len() != head.len() {
                return Err(SheetFault::Columns(line.to_owned()));
            }
            let cell = |name: &str| {
                let place = head.iter().position(|column| column == name);
                place.map(|place| row[place].as_str())
            };
            let name = match cell("point") {
                Some(point) => point.to_owned(),
                None => {
                    let [queue, control, rate, rtt] = ["queue", "control", "rate_mbps", "rtt_ms"]
                        .map(|name| cell(name).unwrap_or_default());
                    format!("{queue}-{control}-{rate}mbit-{rtt}ms")
                }
            };
            let number = |name: &str| cell(name).and_then(|text| text.parse::<f64>().ok());
            let runs = number("seeds").map_or(RUNS, |runs| runs as u64);
            let rounded = |name: &str| {
                let decimals = cell(name)?
                    .split_once('.')
                    .map_or(0, |(_, part)| part.len());
                let written = Estimate {
                    mean: number(name)?,
                    standard_error: number(&format!("{name}_error")),
                    n: runs as usize,
                };
                let half = 0.5 / 10_f64.powi(decimals as i32);
                Some(Rounded { written, half })
            };
            let title = cell("figure").unwrap_or_default();
            let figure = figure(title).ok_or_else(|| SheetFault::NoFigure(title.to_owned()))?;
            let of_point = points.entry(name).or_default();
            of_point.runs = runs;
            let row = Row {
                sim: rounded("sim"),
                guest: rounded("virtual"),
                live: rounded("live"),
            };
            of_point.figures.push((figure, row));
        }
        Ok(Self(points))
    }

    /// The earlier figures of a point; `None` where it was not run.
    pub(crate) fn of(&self, point: &str) -> Option<&Point> {
        self.0.get(point)
    }
}

impl Point {
    /// Mean of a figure with real TCP. A figure that counts events and has no row was zero in every world.
    pub(crate) fn real(&self, figure: Figure, reference: Reference) -> Option<Rounded> {
        let Some(row) = self.row(figure) else {
            let written = Estimate {
                mean: 0.0,
                standard_error: Some(0.0),
                n: self.runs as usize,
            };
            return figure
                .counts_events()
                .then_some(Rounded { written, half: 0.0 });
        };
        match reference {
            Reference::Virtual => row.guest,
            Reference::Live => row.live,
        }
    }

    /// Mean of a figure in the simulations of that comparison.
    pub(crate) fn simulated(&self, figure: Figure) -> Option<Estimate> {
        Some(self.row(figure)?.sim?.written)
    }

    fn row(&self, figure: Figure) -> Option<&Row> {
        let found = self.figures.iter().find(|(other, _)| *other == figure);
        found.map(|(_, row)| row)
    }
}

fn figure(title: &str) -> Option<Figure> {
    let of_apps = APP_FIGURES.iter().map(Figure::App);
    let mut all = Figure::ALL.into_iter().chain(of_apps);
    all.find(|figure| figure.title() == title)
}

/// The cells of a line that [`Sheet`](crate::validate::sheet::Sheet) wrote.
fn cells(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut cell, mut is_quoted) = (String::new(), false);
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    all.push(cell);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_read_as_it_was_written() {
        let sheet = "point,seeds,figure,sim,sim_error,virtual,virtual_error,missed\n\
                     pie-reno,7,\"test, Mbit/s\",9.65,0.01,9.60,0.02,\n\
                     pie-reno,7,rate ratio,1.0,,,,virtual\n";
        let recorded = Recorded::parse(sheet).expect("a sheet");
        let point = recorded.of("pie-reno").expect("a point");
        assert_eq!(point.runs, 7);
        let real = |figure| Some(point.real(figure, Reference::Virtual)?.written);
        let goodput = real(Figure::TestGoodput).expect("a figure");
        assert_eq!((goodput.mean, goodput.standard_error), (9.6, Some(0.02)));
        let simulated = point.simulated(Figure::TestGoodput);
        assert_eq!(simulated.map(|mean| mean.mean), Some(9.65));
        assert_eq!(real(Figure::RateRatio), None);
        assert_eq!(real(Figure::Marks).map(|mean| mean.mean), Some(0.0));
        assert_eq!(real(Figure::TestDelay), None);
        assert!(recorded.of("pie-cubic").is_none());

        let three = "queue,control,rate_mbps,rtt_ms,figure,sim,sim_error,virtual,virtual_error,live,live_error,missed\n\
                     fifo,reno,10,5,\"drops, %\",1.0,0.1,1.1,0.1,1.2,0.1,live\n";
        let recorded = Recorded::parse(three).expect("a sheet");
        let point = recorded.of("fifo-reno-10mbit-5ms").expect("a point");
        let live = point.real(Figure::Drops, Reference::Live);
        let live = live.expect("a figure");
        assert_eq!((live.written.mean, live.written.n), (1.2, 5));
        // 1.2 may have been 1.15 to 1.25.
        let nearest = [1.0, 1.21, 2.0].map(|value| live.nearest_to(value).mean);
        assert!((nearest[0] - 1.15).abs() < 1e-9 && (nearest[2] - 1.25).abs() < 1e-9);
        assert_eq!(nearest[1], 1.21);

        assert!(Recorded::parse("point,figure\na,b,c\n").is_err());
        assert!(Recorded::parse("point,figure\na,b\n").is_err());
    }
}
