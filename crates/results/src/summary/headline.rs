//! What several runs came out with, in a line or two above their tables; and what one run alone cannot say.

use std::path::Path;

use quell_measure::{Figures, GroupSummary, Summary, differ};
use quell_scenario::Scenario;

use super::group_figures::{each, per_flow};
use super::spread::{Form, Spread};
use crate::steady;

/// Seeds part where one has so many times the figure of another.
const PARTS: f64 = 2.0;
/// Delays part by no less than this.
const LEAST_MS: f64 = 1.0;
/// The most groups and doubts that are named.
const NAMED: usize = 4;
const MS: Form = Form::Plain(2);

/// The runs of one case, under its name.
pub(super) type Case<'a> = (&'a str, Vec<&'a Figures>);

/// One figure of a group that a reader looks for first.
struct Figure {
    name: &'static str,
    form: Form,
    unit: &'static str,
    of: fn(&GroupSummary) -> Option<f64>,
}

const FIGURES: [Figure; 2] = [
    Figure {
        name: "mean delay",
        form: MS,
        unit: " ms",
        of: |group| group.delay_ms.map(|dist| dist.mean),
    },
    Figure {
        name: "per flow",
        form: Form::Rate,
        unit: "",
        of: per_flow,
    },
];

/// A line for each figure of several runs of each case, and which figures the seeds do not agree on. Nothing for single runs.
pub(super) fn lines(cases: &[Case<'_>]) -> Vec<String> {
    if cases.iter().all(|(_, runs)| runs.len() < 2) {
        return Vec::new();
    }
    let of_figure = |figure: &Figure| {
        let groups = names(cases).into_iter().filter_map(|group| {
            let values = figure.of_cases(cases, group);
            Some(format!("{group} {}", figure.words(&values)?))
        });
        let groups: Vec<String> = groups.collect();
        (!groups.is_empty()).then(|| format!("{}: {}.", figure.name, groups.join("; ")))
    };
    let parted = parted(cases);
    let parted = (!parted.is_empty()).then(|| {
        format!(
            "The seeds part, so these means say little (--range shows more): {}.",
            listed(&parted)
        )
    });
    FIGURES.iter().filter_map(of_figure).chain(parted).collect()
}

/// The first few groups of the scenario.
fn names<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let first = cases.iter().find_map(|(_, runs)| runs.first().copied());
    let groups = first.map_or(&[][..], |figures| &figures.groups);
    groups
        .iter()
        .take(NAMED)
        .map(|group| group.name.as_str())
        .collect()
}

impl Figure {
    /// Of a group, in each run of each case that has it.
    fn of_cases<'a>(&self, cases: &[Case<'a>], group: &str) -> Vec<(&'a str, Vec<f64>)> {
        let of_case = |(case, runs): &Case<'a>| {
            let groups = runs.iter().filter_map(|figures| {
                let mut groups = figures.groups.iter();
                groups.find(|one| one.name == group)
            });
            let groups: Vec<&GroupSummary> = groups.collect();
            (*case, each(&groups, self.of))
        };
        let all = cases.iter().map(of_case);
        all.filter(|(_, values)| !values.is_empty()).collect()
    }

    /// `0.61 ms behind dualpi2 to 86.98 ms behind fifo`, or the figure alone where there is one case.
    fn words(&self, cases: &[(&str, Vec<f64>)]) -> Option<String> {
        let text = |values: &[f64]| format!("{}{}", self.form.text(mean(values)), self.unit);
        let by_mean =
            |a: &&(&str, Vec<f64>), b: &&(&str, Vec<f64>)| mean(&a.1).total_cmp(&mean(&b.1));
        let (least, most) = (cases.iter().min_by(by_mean)?, cases.iter().max_by(by_mean)?);
        Some(match cases.len() {
            1 => text(&least.1),
            _ if differ(&least.1, &most.1) == Some(false) => {
                format!("{}, no clear difference", text(&least.1))
            }
            _ => format!(
                "{} with {} to {} with {}",
                text(&least.1),
                least.0,
                text(&most.1),
                most.0
            ),
        })
    }
}

/// Figures of which one seed has a multiple of another.
fn parted(cases: &[Case<'_>]) -> Vec<String> {
    let mut parted = Vec::new();
    for group in names(cases) {
        for figure in &FIGURES {
            for (case, values) in figure.of_cases(cases, group) {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(0.0, f64::max);
                let is_small = figure.name == FIGURES[0].name && most - least < LEAST_MS;
                if most > PARTS * least && !is_small {
                    let of = if cases.len() > 1 {
                        format!("{case} ")
                    } else {
                        String::new()
                    };
                    let range = Spread::range(figure.form, &values);
                    parted.push(format!(
                        "{of}{group}, {} {range}{}",
                        figure.name, figure.unit
                    ));
                }
            }
        }
    }
    parted
}

/// Why one run alone may mislead; `None` where nothing says so.
pub fn doubts(folder: &Path, summary: &Summary, scenario: &Scenario) -> Option<String> {
    // What cannot be read was not asked for.
    let doubts = steady::doubts(folder, summary, scenario).unwrap_or_default();
    (!doubts.is_empty()).then(|| {
        format!(
            "one seed: {}. Another seed may give other figures; --set run.seeds=[1,2,3] shows how far they are apart.",
            listed(&doubts)
        )
    })
}

fn listed(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED);
    let named = all[..all.len() - more].join("; ");
    match more {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
