//! The picture that a person looks at first, on one page: delay, shares of the rate, marks and drops, what people feel. One result has
//! lines; of several each has a row.

use quell_scenario::felt::felt;

use super::Error;
use super::figure::{Axis, Mark, Panel, Series};
use super::kinds::{Counts, LEAST_DELAY, MILLISECOND, ccdf, distribution, entry};
use super::kinds::{rates, reasons, signals};
use super::multiples::MOST;
use super::palette::{CLASSIC, PALETTE, TRAFFIC, families, traffic};
use super::source::Source;

/// Names with their values, of one result.
type Values = Vec<(String, f64)>;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut panels = vec![people(sources)];
    if sources.len() > 1 {
        panels.splice(
            0..0,
            [delays(sources)?, shares(sources), signalled(sources)],
        );
    } else {
        let kinds = [signals::panels, rates::panels, |one: &_| {
            ccdf::draw(one, classes)
        }];
        for panels_of in kinds {
            match panels_of(sources) {
                Ok(some) => drop(panels.splice(0..0, some)),
                Err(Error::Nothing(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    panels.retain(|panel| panel.series.iter().any(|one| !one.points.is_empty()));
    match panels.is_empty() {
        true => Err(Error::Nothing(
            "the results have nothing to show".to_owned(),
        )),
        false => Ok(panels),
    }
}

/// The name of the class of a group's traffic.
fn class(source: &Source, group: &str) -> String {
    let class = traffic(std::slice::from_ref(source), group).unwrap_or(CLASSIC);
    PALETTE[families() + class - TRAFFIC].name.clone()
}

/// The delays of the packets of each class.
fn classes(source: &Source) -> Result<Vec<(String, Counts)>, Error> {
    let mut all: Vec<(String, Counts)> = Vec::new();
    for (group, counts) in distribution(source, "groups", "delay_ns")? {
        let own = entry(&mut all, class(source, &group));
        for (value, count) in counts {
            *own.entry(value).or_default() += count;
        }
    }
    all.sort_by_key(|one| PALETTE.iter().position(|entry| entry.name == one.0));
    Ok(all)
}

/// A mark in the row of a result for each of its values, the first row at the top.
fn in_rows(title: &str, x: Axis, sources: &[Source], all: &[Values]) -> Panel {
    let mut panel = Panel::new(title, x, Axis::new("", ""));
    panel.y.words = sources.iter().rev().map(|one| one.label.clone()).collect();
    for (row, (name, value)) in all
        .iter()
        .rev()
        .enumerate()
        .flat_map(|(row, values)| values.iter().map(move |one| (row, one)))
    {
        // A class or a group has the colour of its traffic, whatever result it is of; all else is ink.
        let part = name.split(": ").next().unwrap_or_default();
        let of = (
            traffic(sources, part).map_or(usize::MAX, |_| 0),
            part.to_owned(),
        );
        let known = panel.series.iter().position(|one| one.label == *name);
        let place = known.unwrap_or(panel.series.len());
        if known.is_none() {
            let new = Series::new(name, of, Mark::Dots, Vec::new());
            panel.series.push(new);
        }
        panel.series[place].points.push((*value, row as f64));
    }
    panel
}

/// The delay that 99 % of the packets of a class do not exceed.
fn delays(sources: &[Source]) -> Result<Panel, Error> {
    let p99 = |(name, counts): (String, Counts)| {
        let (total, mut below): (u64, u64) = (counts.values().sum(), 0);
        let mut steps = counts.iter().filter(|(_, count)| {
            below += **count;
            below as f64 >= 0.99 * total as f64
        });
        let delay = steps.next().map_or(f64::NAN, |(delay, _)| *delay as f64);
        (name, (delay / MILLISECOND).max(LEAST_DELAY))
    };
    let of = |source: &Source| Ok(classes(source)?.into_iter().map(p99).collect());
    let all: Result<Vec<Values>, Error> = sources.iter().map(of).collect();
    let x = Axis::new("P99 of the delay in the queue", "ms").logarithmic();
    Ok(in_rows("Delay by class of traffic", x, sources, &all?))
}

/// The shares of the classes in what all flows got.
fn shares(sources: &[Source]) -> Panel {
    let of = |source: &Source| {
        let mut rates = Values::new();
        for run in &source.runs {
            for group in run.summary["groups"].as_array().into_iter().flatten() {
                let name = class(source, group["name"].as_str().unwrap_or_default());
                let flows = group["goodput_bps"].as_array().into_iter().flatten();
                *entry(&mut rates, name) += flows.filter_map(|one| one.as_f64()).sum::<f64>();
            }
        }
        let total: f64 = rates.iter().map(|(_, rate)| rate).sum();
        rates
            .iter_mut()
            .for_each(|(_, rate)| *rate *= 100.0 / total);
        rates
    };
    let all: Vec<Values> = sources.iter().map(of).collect();
    let x = Axis::new("share of the goodput", "%").from_zero();
    in_rows("Rates by class of traffic", x, sources, &all)
}

fn signalled(sources: &[Source]) -> Panel {
    let of = |source: &Source| {
        let queues = reasons::queues(source);
        let offered: f64 = queues.iter().map(|(_, queue)| queue.offered).sum();
        let share = |(word, place): (&str, usize)| {
            let counts = queues
                .iter()
                .flat_map(|(_, queue)| queue.signals[place].values());
            (
                word.to_owned(),
                100.0 * counts.sum::<f64>() / offered.max(1.0),
            )
        };
        [("marked", 0), ("dropped", 1)].map(share).to_vec()
    };
    let all: Vec<Values> = sources.iter().map(of).collect();
    let x = Axis::new("packets", "%").from_zero();
    in_rows("Packets marked and dropped", x, sources, &all)
}

/// The times that people wait: of one result each in a row, of several the first of each group.
fn people(sources: &[Source]) -> Panel {
    let of = |source: &Source| {
        let runs = source.runs.iter().filter_map(|run| run.summary().ok());
        let runs: Vec<_> = runs.collect();
        let figures: Vec<_> = runs.iter().map(|run| &run.figures).collect();
        let scenario = source.runs.first().and_then(|run| run.scenario.as_ref());
        let mut felt = scenario.map_or_else(Vec::new, |scenario| felt(&figures, scenario));
        felt.retain(|one| ["ms", "s"].contains(&one.unit) && !one.values.is_empty());
        if sources.len() > 1 {
            felt.dedup_by(|next, first| next.who == first.who);
            felt.truncate(MOST);
        }
        let value = |one: &quell_scenario::felt::Felt| {
            let unit = if one.unit == "s" { 1e3 } else { 1.0 };
            let mean = one.values.iter().sum::<f64>() / one.values.len() as f64;
            (format!("{}: {}", one.who, one.what), unit * mean)
        };
        felt.iter().map(value).collect::<Values>()
    };
    let all: Vec<Values> = sources.iter().map(of).collect();
    let x = Axis::new("time", "ms").logarithmic();
    let mut panel = in_rows("What people feel", x, sources, &all);
    if let [one] = &all[..] {
        panel.y.words = one.iter().rev().map(|(name, _)| name.clone()).collect();
        for (row, series) in panel.series.iter_mut().rev().enumerate() {
            series.label.clear();
            series.points[0].1 = row as f64;
        }
    }
    panel
}
