//! The reports of applications: figures, each declared once with its name, meaning and place in tables.
//!
//! The report of a kind is a struct of its own. A [`Form`] lists its figures, each with the function
//! that reads it; results, their schema, the documentation and the tables of the terminal come from
//! that list. The layer above writes the values out.

use std::fmt;

use quell_units::Time;

use crate::{Causes, Durations};

/// The report of a kind of application: of one flow, or of several taken together.
pub trait KindReport: Clone + fmt::Debug + PartialEq {
    /// The forms that it can have.
    fn forms() -> Vec<FormInfo>;
    /// Its figures, in the order of its form.
    fn figures(&self) -> Vec<(FigureInfo, Value)>;
    /// Adds the report of another flow.
    fn merge(&mut self, other: &Self);
    /// Adds what the same flow reported next.
    fn append(&mut self, next: &Self) {
        self.merge(next);
    }
    /// Adds why events were slow, which only their host knows.
    fn explain(&mut self, _causes: &Causes) {}
}

/// The figures of a report.
#[derive(Debug)]
pub struct Form<R: 'static> {
    /// Heading of the table that shows it in the terminal, which forms of several kinds may share;
    /// `None` without a table.
    pub table: Option<&'static str>,
    /// Every figure, in the order of the table's columns.
    pub figures: &'static [Figure<R>],
}

/// A figure, and how it is read from a report.
#[derive(Debug)]
pub struct Figure<R> {
    /// Its name, meaning and place in tables.
    pub info: FigureInfo,
    /// Reads it.
    pub value: fn(&R) -> Value,
}

/// A [`Form`] without the functions that read a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormInfo {
    /// As [`Form::table`].
    pub table: Option<&'static str>,
    /// As [`Form::figures`].
    pub figures: Vec<FigureInfo>,
}

/// Name, meaning and place in tables of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureInfo {
    /// Key in results. It ends in the unit, if there is one.
    pub name: &'static str,
    /// Its meaning, for the documentation of results.
    pub meaning: &'static str,
    /// Its values.
    pub quantity: Quantity,
    /// Its columns in tables; empty if they do not show it.
    pub columns: &'static [Column],
}

/// The values of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A whole number.
    Count,
    /// A number of at least 0.
    Ratio,
    /// A number.
    Number,
    /// A number, or nothing.
    MaybeNumber,
    /// A distribution of times in ms, or nothing.
    Times,
    /// A distribution of numbers without a unit, or nothing.
    Ratios,
}

/// The value of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A number; `None` where there is nothing to measure.
    Number(Option<f64>),
    /// A distribution of times, or of numbers; `None` where nothing was recorded.
    Times(Option<Times>),
}

/// A distribution of times in ms, or of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// 1st percentile.
    pub p1: f64,
    /// 25th percentile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile; `None` where too few values are behind it ([`Times::backed`]).
    pub p99: Option<f64>,
    /// 99.9th percentile; `None` under the same condition.
    pub p999: Option<f64>,
    /// Maximum.
    pub max: f64,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub heading: &'static str,
    /// The part of a distribution that it shows; `None` of other figures.
    pub part: Option<Part>,
    /// The notation of its values.
    pub notation: Notation,
    /// Rank among the columns that are shown only where there is room, the lowest first; `None` if
    /// it is always shown.
    pub rank: Option<u8>,
}

/// A part of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Mean.
    Mean,
    /// Minimum.
    Min,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Maximum.
    Max,
}

/// The notation of a column's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// A number with this many digits behind the point.
    Plain(u8),
    /// A ratio in percent, with this number of digits behind the point.
    Percent(u8),
    /// Bits per second, in kbit/s, Mbit/s or Gbit/s.
    Rate,
}

impl<R> Form<R> {
    /// Without a report.
    pub fn info(&self) -> FormInfo {
        FormInfo {
            table: self.table,
            figures: self.figures.iter().map(|figure| figure.info).collect(),
        }
    }
    /// The figures of `report`.
    pub fn of(&self, report: &R) -> Vec<(FigureInfo, Value)> {
        self.figures
            .iter()
            .map(|figure| (figure.info, (figure.value)(report)))
            .collect()
    }
}

impl<R> Clone for Figure<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Figure<R> {}

impl<R> Figure<R> {
    /// A figure that no table shows.
    pub const fn new(
        name: &'static str,
        quantity: Quantity,
        meaning: &'static str,
        value: fn(&R) -> Value,
    ) -> Self {
        let info = FigureInfo {
            name,
            meaning,
            quantity,
            columns: &[],
        };
        Self { info, value }
    }
    /// This figure, shown in these columns.
    pub const fn shown(mut self, columns: &'static [Column]) -> Self {
        self.info.columns = columns;
        self
    }
}

impl Column {
    /// A column that is always shown.
    pub const fn new(heading: &'static str, notation: Notation) -> Self {
        Self {
            heading,
            part: None,
            notation,
            rank: None,
        }
    }
    /// This column for a part of a distribution.
    pub const fn of(heading: &'static str, part: Part, notation: Notation) -> Self {
        Self {
            part: Some(part),
            ..Self::new(heading, notation)
        }
    }
    /// Shown only where there is room.
    pub const fn rank(mut self, rank: u8) -> Self {
        self.rank = Some(rank);
        self
    }
}

impl Times {
    /// The distribution of `spans`; `None` if there are none. Its mean is `mean_ms`, where the caller
    /// has one of its own.
    pub fn of<const BITS: u32>(spans: &Durations<BITS>, mean_ms: Option<f64>) -> Option<Self> {
        let mean = mean_ms.or_else(|| spans.mean_ns().map(|mean| mean / 1e6))?;
        let quantile = |thousandths| spans.quantile(thousandths).map(in_ms);
        Some(Self {
            mean,
            min: in_ms(spans.min()?),
            p1: quantile(10)?,
            p25: quantile(250)?,
            p50: quantile(500)?,
            p75: quantile(750)?,
            p90: quantile(900)?,
            p99: quantile(990),
            p999: quantile(999),
            max: in_ms(spans.max()?),
        })
    }
}

/// Values that a 99th percentile needs behind it, and a 99.9th.
const BEHIND: (u64, u64) = (100, 1_000);

impl Times {
    /// The distribution of `spans`, without a 99th percentile of fewer than 100 values and a 99.9th of
    /// fewer than 1 000: such a number would be made of one or two of them.
    pub fn backed<const BITS: u32>(spans: &Durations<BITS>) -> Option<Self> {
        let mut times = Self::of(spans, None)?;
        times.p99 = times.p99.filter(|_| spans.count() >= BEHIND.0);
        times.p999 = times.p999.filter(|_| spans.count() >= BEHIND.1);
        Some(times)
    }
}

/// A time in ms.
pub fn in_ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_values_behind_it() {
        let of = |count: u64| {
            let mut spans: Durations = Durations::default();
            (1..=count).for_each(|ms| spans.record(Time::from_millis(ms)));
            let times = Times::backed(&spans);
            times.map(|times| (times.p50 > 0.0, times.p99.is_some(), times.p999.is_some()))
        };
        assert_eq!(of(0), None);
        assert_eq!(of(99), Some((true, false, false)));
        assert_eq!(of(100), Some((true, true, false)));
        assert_eq!(of(1_000), Some((true, true, true)));
    }
}
