//! How much a packet leaves behind in its queue when it leaves, and how many packets the queue signals congestion to at such a backlog.

use std::collections::BTreeMap;

use super::{SECOND, distribution, named, nothing, part, series, variant};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

const KILOBYTE: f64 = 1e3;
/// Bins of the widest distribution.
const BINS: f64 = 60.0;
/// Packets of a bin with a probability: of fewer, one mark more or less would be a line of its own.
const LEAST: f64 = 100.0;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut found = Vec::new();
    for source in sources {
        let queues = distribution(source, "queues", "backlog_at_dequeue_bytes")?;
        let is_only = queues.len() == 1 && !source.label.is_empty();
        for (name, counts) in queues {
            found.push((source, name, is_only, counts));
        }
    }
    let largest = found
        .iter()
        .filter_map(|(.., counts)| counts.keys().next_back());
    let Some(&largest) = largest.max() else {
        return Err(nothing("no packet was delivered after the warm-up"));
    };
    // Whole packets of full size, so that one packet is not in two bins.
    let width = ((largest as f64 / BINS / 1_500.0).ceil().max(1.0) * 1_500.0) as u64;
    let mut panel = Panel::new(
        "Backlog that a packet leaves behind",
        Axis::new("backlog of the queue", "kB").from_zero(),
        Axis::new("packets in a bin", "%").from_zero(),
    );
    for (source, name, is_only, counts) in found {
        let total: u64 = counts.values().sum();
        let bins = largest / width + 2;
        let mut shares = vec![0.0; bins as usize];
        for (value, count) in counts {
            // A packet of 1501 bytes or of 1499 is one packet too.
            let bin = (value + width / 2) / width;
            shares[bin.min(bins - 1) as usize] += 100.0 * count as f64 / total as f64;
        }
        let middle = |bin: usize| (bin as u64 * width) as f64 / KILOBYTE;
        let points = shares.iter().enumerate();
        let points = points.map(|(bin, share)| (middle(bin), *share));
        let mut one = series(source, part(&name, is_only), Mark::Line, points.collect());
        one.label = format!("{} (p = {})", one.label, signals(source, &name))
            .trim_start()
            .to_owned();
        panel.series.push(one);
        let points = probability(source, &name, width)?;
        if !points.is_empty() {
            let one = series(source, part(&name, is_only), Mark::Dots, points);
            let mut one = variant(one, "p at this backlog");
            one.is_right = true;
            panel.series.push(one);
        }
    }
    if panel.series.iter().any(|series| series.is_right) {
        panel.right = Some(Axis::new("marked or dropped (p)", "%").from_zero());
    }
    Ok(vec![panel])
}

/// The share of packets that the queue marked or dropped, of all runs.
fn signals(source: &Source, name: &str) -> String {
    let (mut signalled, mut offered) = (0.0, 0.0);
    for run in &source.runs {
        let queues = run.summary["queues"].as_array().into_iter().flatten();
        for queue in
            queues.filter(|queue| named(run, queue) == name && queue["direction"] == "forward")
        {
            let number = |key: &str| queue[key].as_f64().unwrap_or(0.0);
            signalled += number("marked") + number("dropped");
            offered += number("packets") + number("dropped");
        }
    }
    let share = crate::plot::axis::number(100.0 * signalled / f64::max(offered, 1.0), 2);
    format!("{share} %")
}

/// For bins of the backlog, the share of packets that were marked or dropped in the intervals of the measured time in which the mean of
/// the backlogs at both ends was in the bin; of all runs together.
fn probability(source: &Source, name: &str, width: u64) -> Result<Vec<(f64, f64)>, Error> {
    let mut bins: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for run in &source.runs {
        let warmup = run.summary["warmup_s"].as_f64().unwrap_or(0.0);
        let columns = [
            "time_ns",
            "length_ns",
            "direction",
            run.hop(),
            "queue",
            "packets",
            "marked",
            "dropped",
            "backlog_bytes",
        ];
        let mut before = 0.0;
        for [
            time,
            length,
            direction,
            hop,
            queue,
            packets,
            marked,
            dropped,
            backlog,
        ] in &run.rows("queues.parquet", columns)?
        {
            let is_it = || run.queue_name(hop.text(), queue.text()) == name;
            if direction.text() != "forward" || !is_it() {
                continue;
            }
            let ends = (before, backlog.number());
            before = ends.1;
            if (time.number() - length.number()) / SECOND < warmup {
                continue;
            }
            let bin = ((ends.0 + ends.1) / 2.0) as u64;
            let (signalled, offered) = bins.entry((bin + width / 2) / width).or_default();
            *signalled += marked.number() + dropped.number();
            *offered += packets.number() + dropped.number();
        }
    }
    let enough = bins.iter().filter(|(_, (_, offered))| *offered >= LEAST);
    let points = enough.map(|(bin, (signalled, offered))| {
        let middle = (bin * width) as f64 / KILOBYTE;
        (middle, 100.0 * signalled / offered)
    });
    Ok(points.collect())
}
