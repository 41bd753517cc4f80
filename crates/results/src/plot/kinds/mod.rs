//! What can be drawn: a file and a line of the table for each kind.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Error;
use super::axis::Scale;
use super::figure::{Axis, Mark, Panel, Series, Shade};
use super::multiples::MOST;
use super::over_time;
use super::source::{Run, Source};

/// A kind of picture.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its word on the command line.
    pub name: &'static str,
    /// What it shows.
    pub help: &'static str,
    /// Its panels; an error where the results have nothing of it.
    pub(super) panels: fn(&[Source]) -> Result<Vec<Panel>, Error>,
}

macro_rules! kinds {
    ($($name:literal: $module:ident, $help:literal;)*) => {
        $(pub(super) mod $module;)*
        /// Every kind, in the order in which they are listed.
        pub const KINDS: &[Kind] = &[$(Kind { name: $name, help: $help, panels: $module::panels },)*];
    };
}

kinds! {
    "delay": delay, "delay in each queue over time";
    "cdf": cdf, "share of the packets of each group that waited no longer";
    "ccdf": ccdf, "share of the packets of each group that waited longer, on logarithmic axes";
    "rates": rates, "goodput of each flow over time, beside an equal share";
    "windows": windows, "congestion window of each flow over time";
    "signals": signals, "share of packets marked and dropped in each queue over time";
    "reasons": reasons, "share of packets marked and dropped in each queue, by reason";
    "backlog": backlog, "distribution of the backlog that a packet leaves behind in its queue";
    "completion": completion, "completion time of web items against their size";
    "levels": levels, "level of each segment of adaptive streaming over time";
}

const SECOND: f64 = 1e9;
pub(super) const MILLISECOND: f64 = 1e6;

fn nothing(what: &str) -> Error {
    Error::Nothing(what.to_owned())
}

/// A label of a part of a result: `fifo l4s`.
pub(crate) fn join(source: &Source, part: &str) -> String {
    match (source.label.as_str(), part) {
        ("", part) => part.to_owned(),
        (label, "") => label.to_owned(),
        (label, part) => format!("{label} {part}"),
    }
}

fn series(source: &Source, part: &str, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    let of = (source.index, part.to_owned());
    Series::new(&join(source, part), of, mark, points)
}

/// The same of something of a part, such as its marks.
fn variant(mut series: Series, variant: &'static str) -> Series {
    series.label = format!("{} {variant}", series.label)
        .trim_start()
        .to_owned();
    series.variant = variant;
    series
}

/// An axis of time.
fn time() -> Axis {
    Axis::new("time", "s").from_zero()
}

/// The warm-up, and every second phase.
fn shades(sources: &[Source]) -> Vec<Shade> {
    let Some(run) = sources.iter().find_map(|source| source.runs.first()) else {
        return Vec::new();
    };
    let mut shades = Vec::new();
    let warmup = run.summary["warmup_s"].as_f64().unwrap_or(0.0);
    if warmup > 0.0 {
        shades.push(Shade {
            from: 0.0,
            to: warmup,
            label: "warm-up".to_owned(),
        });
    }
    let phases = run.summary["phases"].as_array().into_iter().flatten();
    let ends = phases.filter_map(|phase| phase["end_s"].as_f64());
    let mut starts = vec![warmup];
    starts.extend(ends);
    for (index, pair) in starts.windows(2).enumerate() {
        if index % 2 == 1 {
            shades.push(Shade {
                from: pair[0],
                to: pair[1],
                label: format!("phase {}", index + 1),
            });
        }
    }
    shades
}

/// Makes y logarithmic where values differ so much that the small ones would lie on the axis, else from 0.
pub(super) fn spread(panel: &mut Panel) {
    const FAR: f64 = 30.0;
    let positive = |series: &Series| {
        let ys = series.points.iter().map(|(_, y)| *y);
        let mut ys: Vec<f64> = ys.filter(|y| y.is_finite() && *y > 0.0).collect();
        ys.sort_by(f64::total_cmp);
        ys
    };
    let all: Vec<Vec<f64>> = panel.series.iter().map(positive).collect();
    let middles = all.iter().filter_map(|ys| ys.get(ys.len() / 2));
    let (low, high) = middles.fold((f64::INFINITY, 0.0_f64), |(low, high), middle| {
        (low.min(*middle), high.max(*middle))
    });
    panel.y.ends.0 = Some(0.0);
    if high > FAR * low {
        let least = all.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        panel.y.scale = Scale::Logarithmic;
        panel.y.ends.0 = Some(least.max(low / 100.0));
    }
}

/// Whether a series of names has one that is not the name of the only queue of a discipline.
fn part(name: &str, is_only: bool) -> &str {
    if is_only && name == "queue" { "" } else { name }
}

/// The name of a queue or group of a summary: a queue's with its link where there are several.
fn named(run: &Run, part: &Value) -> String {
    let text = |key: &str| part[key].as_str().unwrap_or_default();
    match part["hop"].as_str() {
        Some(hop) => run.queue_name(hop, text("name")),
        None => text("name").to_owned(),
    }
}

/// The value of `key` in a list that keeps the order in which its keys came.
pub(super) fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let place = list.iter().position(|(other, _)| *other == key);
    let place = place.unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[place].1
}

/// Points of a line.
type Points = Vec<(f64, f64)>;
/// A distribution: packets by value.
pub(super) type Counts = BTreeMap<u64, u64>;
/// Distribution functions at a delay in ms: the share of packets that waited no longer, and of those that waited longer.
type Shares = Vec<(f64, f64, f64)>;

/// A distribution of one kind from the histograms of all runs of a source, by the name of its queue or group: values with counts.
pub(super) fn distribution(
    source: &Source,
    of: &str,
    key: &str,
) -> Result<Vec<(String, Counts)>, Error> {
    let mut all: Vec<(String, Counts)> = Vec::new();
    for run in &source.runs {
        let histograms = run.histograms()?;
        for one in histograms[of].as_array().into_iter().flatten() {
            if one["direction"] == "reverse" {
                continue;
            }
            let counts: &mut Counts = entry(&mut all, named(run, one));
            for pair in one[key].as_array().into_iter().flatten() {
                if let (Some(value), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) {
                    *counts.entry(value).or_default() += count;
                }
            }
        }
    }
    all.retain(|(_, counts)| !counts.is_empty());
    Ok(all)
}

/// Distributions of the delay, by name.
type Delays = Vec<(String, Counts)>;

/// The delays of groups.
fn of_groups(source: &Source) -> Result<Delays, Error> {
    distribution(source, "groups", "delay_ns")
}

/// Distribution functions of delays: for each value in ms the share of packets that waited no longer, and of those that waited longer.
fn shares(delays: Delays) -> Vec<(String, Shares)> {
    let mut all = Vec::new();
    for (name, counts) in delays {
        let total: u64 = counts.values().sum();
        let mut below = 0;
        let points = counts.iter().map(|(value, count)| {
            below += count;
            let share = below as f64 / total as f64;
            (
                *value as f64 / MILLISECOND,
                share,
                (total - below) as f64 / total as f64,
            )
        });
        all.push((name, points.collect()));
    }
    all
}

/// The least of positive delays, below which a logarithmic axis need not go: a thousandth of a millisecond.
pub(super) const LEAST_DELAY: f64 = 1e-3;

/// What a run calls its flows' rows by: group and flow.
type Flow = (String, u64);

/// Points of each flow of a run, in the order of the file.
fn flows(run: &Run, column: &str, unit: f64) -> Result<Vec<(Flow, Points)>, Error> {
    let rows = run.rows("flows.parquet", ["time_ns", "group", "flow", column])?;
    let mut all: Vec<(Flow, Points)> = Vec::new();
    let mut places = BTreeMap::new();
    for [time, group, flow, value] in &rows {
        let key = (group.text().to_owned(), flow.number() as u64);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            all.push((key, Vec::new()));
            all.len() - 1
        });
        all[place]
            .1
            .push((time.number() / SECOND, value.number() / unit));
    }
    Ok(all)
}

/// Adds a line for each flow, or where they are many or of several seeds the mean of each group.
fn add_flows(panel: &mut Panel, source: &Source, mark: Mark, flows: &[(Flow, Points)]) {
    let are_many = source.runs.len() > 1 || flows.len() > MOST;
    let mut lines: Vec<((&str, u64), Vec<Points>)> = Vec::new();
    for ((group, flow), points) in flows {
        let flow = if are_many { 0 } else { *flow };
        entry(&mut lines, (group, flow)).push(points.clone());
    }
    for ((group, _), points) in lines {
        let mut line = series(source, group, mark, Vec::new());
        line.is_one_of_many = !are_many;
        over_time::add(panel, line, &points);
    }
}
