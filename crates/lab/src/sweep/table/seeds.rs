//! The table over seeds: a row per point, and for each figure its mean with its standard error and interval.
//!
//! The mean counts each seed once, whatever its number of packets. Percentiles of delays are given a second time (`….pooled`) from the
//! histograms of all seeds together, whose counts are added: that is the percentile over all packets, and exact up to the width of a bucket.

use std::collections::BTreeMap;

use quell_measure::Estimate;
use quell_results::confidence::half_width;

use super::pooled::Pooled;
use super::{Builder, Parameters, Record, Table, Value, add_figures, objective, rows};
use crate::RunError;
use crate::sweep::store::Store;

/// Reads a store into a table with a row per point. `level` is that of the intervals, such as 0.95 (Student's t).
///
/// # Errors
///
/// There is no plan, or a result cannot be read.
pub fn over_seeds(store: &Store, level: f64) -> Result<Table, RunError> {
    let record = Record::read(store.root())?;
    let (rows, mut all) = rows(store, &record);
    add_figures(store, &rows, &mut all)?;
    let mut points: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        points.entry(row.point).or_default().push(number);
    }
    let mut table = Table {
        rows: points.len(),
        missing: all.missing,
        failed: all.failed,
        ..Table::default()
    };
    let mut builder = Builder::new(&mut table);
    let parameters = Parameters::of(&record);
    for (number, (&point, seeds)) in points.iter().enumerate() {
        builder.set(number, "point", Value::Integer(point as i64 + 1));
        parameters.add(&mut builder, number, &record, point);
        builder.set(number, "seeds", Value::Integer(seeds.len() as i64));
    }
    let of_point = builder.table.columns.len();
    builder.table.parameters = of_point;
    for column in &all.columns {
        let numeric = (0..all.rows).all(|row| {
            let value = column.get(row);
            value == Value::Null || value.number().is_some()
        });
        for (number, seeds) in points.values().enumerate() {
            if numeric {
                let numbers = seeds.iter().filter_map(|&row| column.get(row).number());
                let estimate = Estimate::new(&numbers.collect::<Vec<_>>());
                for (part, value) in parts(estimate, level) {
                    builder.set(number, &format!("{}{part}", column.name), value);
                }
            } else {
                // A word that all seeds share.
                let first = column.get(seeds[0]);
                let same = seeds.iter().all(|&row| column.get(row) == first);
                let value = if same { first } else { Value::Null };
                builder.set(number, &column.name, value);
            }
        }
    }
    for (number, seeds) in points.values().enumerate() {
        let mut pooled = Pooled::default();
        for &row in seeds {
            let key = super::parsed(rows[row].key)?;
            pooled.add(&store.json(key, "histograms.json")?);
        }
        pooled.visit(&mut |name, value| builder.set(number, name, Value::Real(value)));
    }
    objective::mark(&mut table, record.objective.as_ref(), &[]);
    Ok(table)
}

/// What is given of a figure, with the ends of the columns' names: the mean has that of the figure.
fn parts(estimate: Option<Estimate>, level: f64) -> [(&'static str, Value); 4] {
    let of = |value: Option<f64>| value.map_or(Value::Null, Value::Real);
    let half = estimate.and_then(|one| half_width(&one, level));
    let mean = estimate.map(|one| one.mean);
    let ends = mean.zip(half);
    [
        ("", of(mean)),
        (
            ".standard_error",
            of(estimate.and_then(|one| one.standard_error)),
        ),
        (".low", of(ends.map(|(mean, half)| mean - half))),
        (".high", of(ends.map(|(mean, half)| mean + half))),
    ]
}
