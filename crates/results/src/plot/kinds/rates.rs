//! Goodput of each flow over time, beside an equal share.

use std::collections::BTreeMap;

use super::{entry, flows, join, nothing, shades, time, variant};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel, Series};
use crate::plot::source::{Run, Source};

/// Of more flows than this, the mean of each group is drawn.
const MOST: usize = 100;
const MEGABIT: f64 = 1e6;

/// Of rows at one time, by the bits of that: the sum of their rates, and how many they are.
type Sums = BTreeMap<u64, (f64, f64)>;

/// A panel shows one result, so its groups have the same colours in all of them.
fn plain(label: &str, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    Series {
        label: label.to_owned(),
        of: (0, label.to_owned()),
        variant: "",
        color: 0,
        dashes: 0,
        mark,
        is_right: false,
        is_one_of_many: false,
        points,
    }
}

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut panels = Vec::new();
    for source in sources {
        for run in &source.runs {
            let flows = flows(run, "goodput_bps", MEGABIT)?;
            if flows.is_empty() {
                continue;
            }
            let seed = match source.runs.len() {
                1 => String::new(),
                _ => format!("seed {}", run.summary["seed"]),
            };
            let title = match join(source, &seed) {
                title if title.is_empty() => "Goodput of the flows".to_owned(),
                title => format!("Goodput of the flows: {title}"),
            };
            let axis = Axis::new("goodput", "Mbit/s").from_zero();
            let mut panel = Panel::new(&title, time(), axis);
            let mut together: Sums = BTreeMap::new();
            let mut groups: Vec<(String, Sums)> = Vec::new();
            for ((group, _), points) in &flows {
                let group = entry(&mut groups, group.clone());
                for &(time, rate) in points {
                    for sums in [&mut together, &mut *group] {
                        let (sum, count) = sums.entry(time.to_bits()).or_default();
                        (*sum, *count) = (*sum + rate, *count + 1.0);
                    }
                }
            }
            let mean = |sums: &Sums| -> Vec<(f64, f64)> {
                let each = sums.iter();
                each.map(|(time, (sum, count))| (f64::from_bits(*time), sum / count))
                    .collect()
            };
            if flows.len() > MOST {
                for (group, sums) in &groups {
                    let one = plain(group, Mark::Line, mean(sums));
                    panel.series.push(variant(one, "on average"));
                }
            } else {
                for ((group, _), points) in flows {
                    let mut one = plain(&group, Mark::Line, points);
                    one.is_one_of_many = true;
                    panel.series.push(one);
                }
            }
            if is_shared(run) && together.values().any(|(_, count)| *count > 1.0) {
                let mut share = plain("equal share", Mark::Line, mean(&together));
                share.of.0 = usize::MAX;
                panel.series.push(share);
            }
            panel.shades = shades(std::slice::from_ref(source));
            panels.push(panel);
        }
    }
    if panels.is_empty() {
        return Err(nothing("the result has no flows.parquet"));
    }
    Ok(panels)
}

/// Whether every flow takes what it gets, so that there is something to share.
fn is_shared(run: &Run) -> bool {
    let mut groups = run.summary["groups"].as_array().into_iter().flatten();
    groups.all(|group| group["app"]["kind"] == "bulk")
}
