//! The share of packets marked and dropped in each queue, by reason.

use std::collections::{BTreeMap, BTreeSet};

use super::{entry, named, nothing, part, series};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

/// For each kind of signal its key in a summary, and what its panel is called.
const SIGNALS: [(&str, &str); 2] = [
    ("marks", "Packets marked, by reason"),
    ("drops", "Packets dropped, by reason"),
];

/// A queue of a result, over all its runs.
#[derive(Debug, Default)]
pub(in crate::plot) struct Queue {
    pub(in crate::plot) offered: f64,
    /// Of each kind of signal, packets by reason.
    pub(in crate::plot) signals: [BTreeMap<String, f64>; 2],
}

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let queues: Vec<Vec<(String, Queue)>> = sources.iter().map(queues).collect();
    let mut panels = Vec::new();
    for (index, (_, title)) in SIGNALS.into_iter().enumerate() {
        let signals = queues
            .iter()
            .flatten()
            .map(|(_, queue)| &queue.signals[index]);
        let words: BTreeSet<&String> = signals.flat_map(BTreeMap::keys).collect();
        if words.is_empty() {
            continue;
        }
        let x = Axis {
            words: words.iter().map(|word| (*word).clone()).collect(),
            ..Axis::new("", "")
        };
        let mut panel = Panel::new(title, x, Axis::new("packets", "%").from_zero());
        for (source, queues) in sources.iter().zip(&queues) {
            let is_only = queues.len() == 1 && !source.label.is_empty();
            for (name, queue) in queues {
                let share = |word: &String| {
                    let count = queue.signals[index].get(word).copied();
                    100.0 * count.unwrap_or(0.0) / queue.offered.max(1.0)
                };
                let points = words.iter().enumerate();
                let points = points.map(|(place, word)| (place as f64, share(word)));
                let name = part(name, is_only);
                panel
                    .series
                    .push(series(source, name, Mark::Bars, points.collect()));
            }
        }
        panels.push(panel);
    }
    if panels.is_empty() {
        return Err(nothing("no packet was marked or dropped"));
    }
    Ok(panels)
}

/// The forward queues of a result.
pub(in crate::plot) fn queues(source: &Source) -> Vec<(String, Queue)> {
    let mut all = Vec::new();
    for run in &source.runs {
        let queues = run.summary["queues"].as_array().into_iter().flatten();
        for one in queues.filter(|one| one["direction"] == "forward") {
            let queue: &mut Queue = entry(&mut all, named(run, one));
            let number = |key: &str| one[key].as_f64().unwrap_or(0.0);
            queue.offered += number("packets") + number("dropped");
            for (signals, (key, _)) in queue.signals.iter_mut().zip(SIGNALS) {
                for (reason, count) in one[key].as_object().into_iter().flatten() {
                    let count = count.as_f64().unwrap_or(0.0);
                    if count > 0.0 {
                        *signals.entry(reason.clone()).or_default() += count;
                    }
                }
            }
        }
    }
    all
}
