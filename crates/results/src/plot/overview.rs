//! The picture that a person looks at first, on one page: delay, shares of the rate, marks and drops, what people feel. One result has
//! lines over time; of several each has a row.

use quell_scenario::felt::felt;

use super::Error;
use super::figure::{Axis, Mark, Panel, Series};
use super::kinds::{
    Counts, LEAST_DELAY, MILLISECOND, ccdf, distribution, entry, rates, reasons, signals,
};
use super::multiples::{MOST, labels};
use super::palette::{CLASSIC, PALETTE, TRAFFIC, families, traffic};
use super::source::Source;

/// A name, and its value for each row that has one.
type Column = (String, Vec<Option<f64>>);

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut panels = Vec::new();
    let mut add = |found: Result<Vec<Panel>, Error>| match found {
        Ok(some) => Ok(panels.extend(some)),
        Err(Error::Nothing(_)) => Ok(()),
        Err(error) => Err(error),
    };
    let tails = ccdf::draw(sources, classes);
    let is_readable = |panels: &Vec<Panel>| panels.iter().all(|one| labels(one).len() <= MOST);
    add(match tails.as_ref().map(is_readable) {
        Ok(false) => delays(sources),
        _ => tails,
    })?;
    if sources.len() == 1 {
        add(rates::panels(sources))?;
        add(signals::panels(sources))?;
    } else {
        add(Ok(vec![shares(sources), signalled(sources)]))?;
    }
    add(Ok(vec![people(sources)]))?;
    panels.retain(|panel| panel.series.iter().any(|one| !one.points.is_empty()));
    match panels.is_empty() {
        true => Err(Error::Nothing(
            "the results have nothing to show".to_owned(),
        )),
        false => Ok(panels),
    }
}

/// The class of a group's traffic.
fn class(source: &Source, group: &str) -> usize {
    traffic(std::slice::from_ref(source), group).unwrap_or(CLASSIC)
}

fn name(class: usize) -> String {
    PALETTE[families() + class - TRAFFIC].name.clone()
}

/// The delays of the packets of each class.
fn classes(source: &Source) -> Result<Vec<(String, Counts)>, Error> {
    let mut all: Vec<(usize, Counts)> = Vec::new();
    for (group, counts) in distribution(source, "groups", "delay_ns")? {
        let own = entry(&mut all, class(source, &group));
        for (value, count) in counts {
            *own.entry(value).or_default() += count;
        }
    }
    all.sort_by_key(|(class, _)| *class);
    Ok(all
        .into_iter()
        .map(|(class, counts)| (name(class), counts))
        .collect())
}

/// Marks in a row for each result, or these rows, the first at the top.
fn in_rows(
    title: &str,
    x: Axis,
    sources: &[Source],
    rows: Option<Vec<String>>,
    columns: Vec<Column>,
) -> Panel {
    let labels = || sources.iter().map(|source| source.label.clone()).collect();
    let rows: Vec<String> = rows.unwrap_or_else(labels);
    let mut panel = Panel::new(title, x, Axis::new("", ""));
    let last = rows.len().saturating_sub(1);
    for (name, values) in columns {
        let places = values.iter().enumerate();
        let points = places.filter_map(|(row, value)| Some(((*value)?, (last - row) as f64)));
        // A class or a group has the colour of its traffic, whatever result it is of; all else is ink.
        let part = name.split(": ").next().unwrap_or_default();
        let of = traffic(sources, part).map_or(usize::MAX, |_| 0);
        let of = (of, part.to_owned());
        panel
            .series
            .push(Series::new(&name, of, Mark::Dots, points.collect()));
    }
    panel.y.words = rows.into_iter().rev().collect();
    panel
}

/// For each result the values of some names, in the order in which they come.
fn in_columns(sources: &[Source], of: impl Fn(&Source) -> Vec<(String, f64)>) -> Vec<Column> {
    let mut all: Vec<Column> = Vec::new();
    for (row, source) in sources.iter().enumerate() {
        for (name, value) in of(source) {
            let column = entry(&mut all, name);
            column.resize(sources.len(), None);
            column[row] = Some(value);
        }
    }
    all
}

/// The delay that 99 % of the packets of a class do not exceed.
fn delays(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let all: Result<Vec<_>, Error> = sources.iter().map(classes).collect();
    let all = all?;
    let columns = in_columns(sources, |source| {
        let each = all[source.index].iter().map(|(name, counts)| {
            let (total, mut below): (u64, u64) = (counts.values().sum(), 0);
            let mut steps = counts.iter().filter(|(_, count)| {
                below += **count;
                below as f64 >= 0.99 * total as f64
            });
            let delay = steps.next().map_or(f64::NAN, |(delay, _)| *delay as f64);
            (name.clone(), (delay / MILLISECOND).max(LEAST_DELAY))
        });
        each.collect()
    });
    let x = Axis::new("P99 of the delay in the queue", "ms").logarithmic();
    Ok(vec![in_rows(
        "Delay by class of traffic",
        x,
        sources,
        None,
        columns,
    )])
}

/// The shares of the classes in what all flows got.
fn shares(sources: &[Source]) -> Panel {
    let columns = in_columns(sources, |source| {
        let mut rates: Vec<(String, f64)> = Vec::new();
        let groups = source
            .runs
            .iter()
            .map(|run| run.summary["groups"].as_array());
        for group in groups.flatten().flatten() {
            let group_name = group["name"].as_str().unwrap_or_default();
            let flows = group["goodput_bps"].as_array().into_iter().flatten();
            let own = entry(&mut rates, name(class(source, group_name)));
            *own += flows.filter_map(serde_json::Value::as_f64).sum::<f64>();
        }
        let total: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let each = rates.into_iter().filter(|_| total > 0.0);
        each.map(|(name, rate)| (name, 100.0 * rate / total))
            .collect()
    });
    let x = Axis::new("share of the goodput", "%").from_zero();
    in_rows("Rates by class of traffic", x, sources, None, columns)
}

fn signalled(sources: &[Source]) -> Panel {
    let columns = in_columns(sources, |source| {
        let queues = reasons::queues(source);
        let offered: f64 = queues.iter().map(|(_, queue)| queue.offered).sum();
        let each = ["marked", "dropped"].into_iter().enumerate();
        let share = |(place, word): (usize, &str)| {
            let counts = queues
                .iter()
                .flat_map(|(_, queue)| queue.signals[place].values());
            (
                word.to_owned(),
                100.0 * counts.sum::<f64>() / offered.max(1.0),
            )
        };
        each.map(share).collect()
    });
    let x = Axis::new("packets", "%").from_zero();
    in_rows("Packets marked and dropped", x, sources, None, columns)
}

/// The times that people wait: of one result each in a row, of several the first of each group.
fn people(sources: &[Source]) -> Panel {
    let mut all = Vec::new();
    for source in sources {
        let runs: Vec<_> = source
            .runs
            .iter()
            .filter_map(|run| run.summary().ok())
            .collect();
        let figures: Vec<_> = runs.iter().map(|run| &run.figures).collect();
        let scenario = source.runs.first().and_then(|run| run.scenario.as_ref());
        let mut felt = scenario.map_or_else(Vec::new, |scenario| felt(&figures, scenario));
        felt.retain(|one| ["ms", "s"].contains(&one.unit) && !one.values.is_empty());
        if sources.len() > 1 {
            felt.dedup_by(|next, first| next.who == first.who);
            felt.truncate(MOST);
        }
        let each = felt.into_iter().map(|one| {
            let mean = one.values.iter().sum::<f64>() / one.values.len() as f64;
            let ms = if one.unit == "s" { mean * 1e3 } else { mean };
            (format!("{}: {}", one.who, one.what), ms)
        });
        all.push(each.collect::<Vec<_>>());
    }
    let x = Axis::new("time", "ms").logarithmic();
    let title = "What people feel";
    match &all[..] {
        [one] => {
            let (rows, values) = one
                .iter()
                .map(|(name, ms)| (name.clone(), Some(*ms)))
                .unzip();
            in_rows(title, x, sources, Some(rows), vec![(String::new(), values)])
        }
        _ => {
            let columns = in_columns(sources, |source| all[source.index].clone());
            in_rows(title, x, sources, None, columns)
        }
    }
}
