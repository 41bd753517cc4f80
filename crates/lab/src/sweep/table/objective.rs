//! Which rows are better than others: the columns of the objective, and whether another row is better in all of them.
//!
//! A pattern with `*` takes the worst of the columns that it names, so that the queues of different disciplines can be compared. A row
//! is dominated if another one is at least as good in every column of the objective and better in one (Pareto). Rows that lack a
//! figure are not judged.

use std::collections::BTreeMap;

use super::{Column, Table, Value, fits};
use crate::sweep::file::Objective;

/// The name of the column that says whether no other row is better.
const MARK: &str = "not_dominated";

/// Adds the columns of `objective`. Only rows are compared that have the same values `within`, and of what the objective says.
pub(super) fn mark(table: &mut Table, objective: Option<&Objective>, within: &[&str]) {
    let Some(objective) = objective else { return };
    let small = objective.minimise.iter().map(|pattern| (pattern, 1.0));
    let large = objective.maximise.iter().map(|pattern| (pattern, -1.0));
    let goals: Vec<(&String, f64)> = small.chain(large).collect();
    let columns: Vec<Vec<Option<f64>>> = goals
        .iter()
        .map(|(pattern, sign)| worst(table, pattern, *sign))
        .collect();
    let within = objective
        .within
        .iter()
        .map(String::as_str)
        .chain(within.iter().copied());
    let within: Vec<usize> = within
        .filter_map(|name| table.columns.iter().position(|column| column.name == name))
        .collect();
    let mut classes: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for row in 0..table.rows {
        let class = within
            .iter()
            .map(|&column| table.columns[column].get(row).text());
        classes.entry(class.collect()).or_default().push(row);
    }
    let mut marks = vec![Value::Null; table.rows];
    for rows in classes.values() {
        let judged = |row: usize| {
            columns
                .iter()
                .map(|column| column[row])
                .collect::<Option<Vec<f64>>>()
        };
        let rows: Vec<(usize, Vec<f64>)> = rows
            .iter()
            .filter_map(|&row| Some((row, judged(row)?)))
            .collect();
        for (row, is_best) in front(&rows) {
            marks[row] = Value::Flag(is_best);
        }
    }
    for ((pattern, sign), values) in goals.into_iter().zip(columns) {
        if pattern.contains('*') {
            let values = values.into_iter();
            let values =
                values.map(|value| value.map_or(Value::Null, |value| Value::Real(value * sign)));
            table.columns.push(Column::of(pattern.clone(), values));
        }
    }
    let marks = marks.into_iter();
    table.columns.push(Column::of(MARK.to_owned(), marks));
}

/// For each row the worst of the columns that fit, as a number that should be small.
fn worst(table: &Table, pattern: &str, sign: f64) -> Vec<Option<f64>> {
    let fit = table
        .columns
        .iter()
        .filter(|column| fits(pattern, &column.name));
    let fit: Vec<&Column> = fit.collect();
    let of = |row: usize| {
        let values = fit.iter().filter_map(|column| column.get(row).number());
        values.map(|value| value * sign).reduce(f64::max)
    };
    (0..table.rows).map(of).collect()
}

/// Whether each of the rows is dominated by none. Those that are best come to the front, so that most comparisons find one soon.
fn front(rows: &[(usize, Vec<f64>)]) -> Vec<(usize, bool)> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| {
        let pairs = rows[a].1.iter().zip(&rows[b].1);
        let by = pairs
            .map(|(a, b)| a.total_cmp(b))
            .find(|order| order.is_ne());
        by.unwrap_or_else(|| a.cmp(&b))
    });
    // In this order a row can only be dominated by one before it, and then also by one of the best.
    let mut best: Vec<usize> = Vec::new();
    let mut marks = Vec::with_capacity(rows.len());
    for index in order {
        let dominated = best
            .iter()
            .any(|&other| dominates(&rows[other].1, &rows[index].1));
        if !dominated {
            best.push(index);
        }
        marks.push((rows[index].0, !dominated));
    }
    marks
}

fn dominates(a: &[f64], b: &[f64]) -> bool {
    let better = a.iter().zip(b).any(|(a, b)| a < b);
    better && a.iter().zip(b).all(|(a, b)| a <= b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(columns: &[(&str, Vec<Value>)]) -> Table {
        Table {
            rows: columns[0].1.len(),
            columns: columns
                .iter()
                .map(|(name, values)| Column::of((*name).to_owned(), values.clone().into_iter()))
                .collect(),
            ..Table::default()
        }
    }

    fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
        table
            .columns
            .iter()
            .find(|column| column.name == name)
            .unwrap()
    }

    #[test]
    fn the_worst_queue_counts_and_rows_are_compared_within_their_class() {
        let reals = |values: &[f64]| {
            values
                .iter()
                .map(|&value| Value::Real(value))
                .collect::<Vec<_>>()
        };
        let mut table = table(&[
            (
                "rate",
                ["a", "a", "b", "a"]
                    .map(|text| Value::Text(text.into()))
                    .to_vec(),
            ),
            (
                "queue.l4s.p99",
                vec![Value::Real(1.0), Value::Null, Value::Real(9.0), Value::Null],
            ),
            (
                "queue.classic.p99",
                vec![
                    Value::Real(8.0),
                    Value::Real(5.0),
                    Value::Real(2.0),
                    Value::Null,
                ],
            ),
            ("use", reals(&[0.9, 0.9, 0.5, 1.0])),
        ]);
        let objective = Objective {
            minimise: vec!["queue.*.p99".to_owned()],
            maximise: vec!["use".to_owned()],
            within: vec!["rate".to_owned()],
        };
        mark(&mut table, Some(&objective), &[]);
        let worst = column(&table, "queue.*.p99");
        assert_eq!(
            (worst.get(0), worst.get(2)),
            (Value::Real(8.0), Value::Real(9.0))
        );
        let marks: Vec<Value> = (0..4).map(|row| column(&table, MARK).get(row)).collect();
        let flag = Value::Flag;
        assert_eq!(marks, [flag(false), flag(true), flag(true), Value::Null]);
    }

    proptest! {
        #[test]
        fn the_front_is_that_of_all_pairs(rows in prop::collection::vec(prop::collection::vec(0_u8..6, 3), 0..40)) {
            let rows: Vec<(usize, Vec<f64>)> = rows
                .into_iter()
                .map(|row| row.into_iter().map(f64::from).collect())
                .enumerate()
                .collect();
            for (row, is_best) in front(&rows) {
                let dominated = rows.iter().any(|(_, other)| dominates(other, &rows[row].1));
                prop_assert_eq!(is_best, !dominated);
            }
        }
    }
}
