//! Mean and standard error of each figure over several runs of one scenario with different seeds.
//!
//! The result has the shape of a summary, with each measured number replaced by an [`Estimate`].
//! A value that is not a number is kept if all runs agree and `null` otherwise; a list whose length
//! differs between runs is `null` too. Flows are matched by the order of their start.
//!
//! Runs are sorted by seed first, because a sum of floating-point numbers depends on its order. A run
//! that ended in its warm-up has measured nothing and is left out of every mean.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::summary::Summary;

/// One figure over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the runs that have the figure.
    pub mean: f64,
    /// Standard error of the mean: sample standard deviation / √n; `null` for a single run.
    pub standard_error: Option<f64>,
    /// Number of runs that have the figure.
    pub n: usize,
}

/// The summaries of several runs as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// The version of the format, that of the summary.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// `sim`, `virtual` or `live`.
    pub world: String,
    /// Seeds of the runs in the mean, ascending.
    pub seeds: Vec<u64>,
    /// Length of the longest run including its warm-up, in seconds.
    pub duration_s: f64,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// At least one run ended early.
    pub partial: bool,
    /// Warnings of all runs, each once.
    pub warnings: Vec<String>,
    /// `link`, `queues`, `groups`, `jain` and `phases` as in a summary, with an [`Estimate`] for each number.
    #[serde(flatten)]
    pub figures: Map<String, Value>,
}

impl Estimate {
    /// The estimate from the values of a figure; `None` without values.
    pub fn new(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (!values.is_empty()).then(|| Self {
            mean,
            standard_error: (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt()),
            n: values.len(),
        })
    }
}

/// Whether two figures differ by more than two standard errors of their difference; `None` where a single run says nothing about
/// chance.
pub fn differ(one: &[f64], other: &[f64]) -> Option<bool> {
    let (one, other) = (Estimate::new(one)?, Estimate::new(other)?);
    let error = one.standard_error?.hypot(other.standard_error?);
    Some((one.mean - other.mean).abs() > 2.0 * error)
}

/// Aggregates the runs of one scenario, in any order; `None` without runs.
///
/// # Errors
///
/// A summary holds a value that JSON cannot represent.
pub fn aggregate(summaries: &[Summary]) -> Result<Option<Aggregate>, serde_json::Error> {
    let mut all: Vec<&Summary> = summaries.iter().collect();
    all.sort_by_key(|summary| summary.seed);
    let mut warnings: Vec<String> = Vec::new();
    for warning in all.iter().flat_map(|summary| &summary.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let partial = all.iter().any(|summary| summary.partial);
    let measured: Vec<&Summary> = all
        .iter()
        .copied()
        .filter(|one| one.has_measured())
        .collect();
    let summaries = if measured.is_empty() { all } else { measured };
    let Some(first) = summaries.first() else {
        return Ok(None);
    };
    let whole: Vec<Value> = values(summaries.iter().map(|summary| &summary.figures))?;
    let mut figures = match combine(&whole.iter().collect::<Vec<_>>()) {
        Value::Object(figures) => figures,
        _ => Map::new(),
    };
    let phases = values(summaries.iter().map(|summary| &summary.phases))?;
    figures.insert(
        "phases".to_owned(),
        combine(&phases.iter().collect::<Vec<_>>()),
    );
    Ok(Some(Aggregate {
        schema: first.schema,
        scenario: first.scenario.clone(),
        world: first.world.clone(),
        seeds: summaries.iter().map(|summary| summary.seed).collect(),
        duration_s: summaries
            .iter()
            .map(|summary| summary.duration_s)
            .fold(0.0, f64::max),
        warmup_s: first.warmup_s,
        partial,
        warnings,
        figures,
    }))
}

fn values<'a, T: Serialize + 'a>(
    parts: impl Iterator<Item = &'a T>,
) -> Result<Vec<Value>, serde_json::Error> {
    parts.map(serde_json::to_value).collect()
}

/// Combines the values at one place of all runs. A run in which the value is `null` does not have the
/// figure.
fn combine(values: &[&Value]) -> Value {
    let present: Vec<&Value> = values
        .iter()
        .copied()
        .filter(|value| !value.is_null())
        .collect();
    let Some(first) = present.first() else {
        return Value::Null;
    };
    match first {
        Value::Number(_) => {
            let numbers: Vec<f64> = present.iter().filter_map(|value| value.as_f64()).collect();
            json!(Estimate::new(&numbers))
        }
        Value::Object(fields) => fields
            .keys()
            .map(|key| {
                let inner: Vec<&Value> =
                    present.iter().filter_map(|value| value.get(key)).collect();
                (key.clone(), combine(&inner))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => {
            let length = |value: &&Value| value.as_array().map(Vec::len);
            if present
                .iter()
                .any(|value| length(value) != Some(items.len()))
            {
                return Value::Null;
            }
            let at = |i: usize| present.iter().map(|value| &value[i]).collect::<Vec<_>>();
            (0..items.len())
                .map(|i| combine(&at(i)))
                .collect::<Vec<_>>()
                .into()
        }
        other if present.iter().all(|value| value == other) => (*other).clone(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::times;
    use crate::app::{AppFigure, AppSummary};
    use crate::summary::tests::summary;

    #[test]
    fn a_difference_within_two_standard_errors_is_none() {
        // Standard errors of 1 each: two of their difference are 2√2 = 2.83.
        let around = |mean: f64| [mean - 1.0, mean + 1.0];
        assert_eq!(differ(&around(5.0), &around(7.8)), Some(false));
        assert_eq!(differ(&around(5.0), &around(7.9)), Some(true));
        assert_eq!(differ(&around(7.9), &around(5.0)), Some(true));
        // What no seed changes differs as soon as it is not the same.
        assert_eq!(differ(&[3.0; 2], &[3.0; 2]), Some(false));
        assert_eq!(differ(&[3.0; 2], &[3.1; 2]), Some(true));
        assert_eq!(differ(&[3.0], &around(9.0)), None);
        assert_eq!(differ(&[], &around(9.0)), None);
    }

    #[test]
    fn an_estimate_is_the_mean_with_its_standard_error() {
        // Of 1, 2, 3, 4: standard deviation √(5/3), divided by √4.
        let estimate = Estimate::new(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((estimate.mean, estimate.n), (2.5, 4));
        let error = (5.0_f64 / 3.0).sqrt() / 2.0;
        assert!((estimate.standard_error.unwrap() - error).abs() < 1e-12);
        assert_eq!(Estimate::new(&[7.0]).unwrap().standard_error, None);
        assert_eq!(Estimate::new(&[]), None);
    }

    #[test]
    fn runs_become_one_summary_of_estimates() {
        let mut second = summary(2, [5e6, 1e6]);
        second.partial = true;
        second.figures.groups[0].rtt_ms = None;
        second.figures.groups[1].goodput_bps.clear();
        let all = aggregate(&[summary(1, [3e6, 1e6]), second])
            .unwrap()
            .unwrap();
        assert_eq!((all.seeds, all.partial), (vec![1, 2], true));
        let groups = &all.figures["groups"];
        assert_eq!(
            groups[0]["goodput_bps"][0],
            json!({ "mean": 4e6, "standard_error": 1e6, "n": 2 })
        );
        assert_eq!(groups[0]["goodput_bps"][1]["standard_error"], 0.0);
        assert_eq!(groups[0]["name"], "l4s");
        assert_eq!(
            groups[0]["rtt_ms"]["p50"],
            json!({ "mean": 3.0, "standard_error": null, "n": 1 })
        );
        assert_eq!(groups[1]["goodput_bps"], Value::Null);
        assert_eq!(all.figures["phases"][0]["link"]["utilisation"]["mean"], 0.5);
        assert_eq!(aggregate(&[]).unwrap(), None);
    }

    #[test]
    fn the_order_of_the_runs_changes_nothing_to_the_byte() {
        // Sums of these differ in their last digit with the order.
        let rates = [0.1e6, 0.7e6, 0.3e6, 1.1e6 / 3.0];
        let run = |seed: u64| {
            let mut summary = summary(seed, [rates[seed as usize - 1], 1e6]);
            summary.warnings = vec![format!("warning of {seed}")];
            summary
        };
        let of = |seeds: [u64; 4]| {
            let all = aggregate(&seeds.map(run)).unwrap().unwrap();
            serde_json::to_string(&all).unwrap()
        };
        let up = of([1, 2, 3, 4]);
        assert_eq!(up, of([4, 3, 2, 1]));
        assert_eq!(up, of([3, 1, 4, 2]));
        assert!(up.contains("\"seeds\":[1,2,3,4]"), "{up}");
    }

    #[test]
    fn a_run_that_measured_nothing_is_no_part_of_the_mean() {
        let mut early = summary(1, [0.0, 0.0]);
        early.duration_s = early.warmup_s / 2.0;
        early.partial = true;
        let all = aggregate(&[early.clone(), summary(2, [3e6, 1e6])]);
        let all = all.unwrap().unwrap();
        assert_eq!((all.seeds, all.partial), (vec![2], true));
        let goodput = &all.figures["groups"][0]["goodput_bps"][0];
        assert_eq!(
            goodput,
            &json!({ "mean": 3e6, "standard_error": null, "n": 1 })
        );
        assert_eq!(aggregate(&[early]).unwrap().unwrap().seeds, [1]);
    }

    #[test]
    fn what_applications_report_is_averaged_over_the_runs_that_have_it() {
        let with = |seed, completed: u64, p99: Option<f64>| {
            let mut summary = summary(seed, [1e6, 1e6]);
            let mut app = AppSummary::new("transfer");
            app.insert("completed", AppFigure::Count(completed));
            let completion = p99.map_or(AppFigure::Nothing, |ms| AppFigure::Times(times(ms)));
            app.insert("completion_ms", completion);
            summary.figures.groups[0].app = Some(app);
            summary
        };
        let runs = [
            with(1, 10, Some(40.0)),
            with(2, 14, Some(60.0)),
            with(3, 0, None),
        ];
        let all = aggregate(&runs).unwrap().unwrap();
        let app = &all.figures["groups"][0]["app"];
        assert_eq!(app["kind"], "transfer");
        assert_eq!(
            (&app["completed"]["mean"], &app["completed"]["n"]),
            (&json!(8.0), &json!(3))
        );
        // The mean of each run's percentile, over the two that completed anything: ± 20/√2/√2.
        let expected = json!({ "mean": 50.0, "standard_error": 10.0, "n": 2 });
        assert_eq!(app["completion_ms"]["p99"], expected);
    }
}
