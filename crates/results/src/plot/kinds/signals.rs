//! The share of packets marked and dropped in each queue over time.

use super::{SECOND, entry, nothing, part, series, shades, spread, time, variant};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

/// Points of a line: rows are put together until there are no more.
const POINTS: f64 = 120.0;

/// What happened in a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    packets: f64,
    marked: f64,
    dropped: f64,
}

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        for run in &source.runs {
            let columns = [
                "time_ns",
                "direction",
                run.hop(),
                "queue",
                "packets",
                "marked",
                "dropped",
            ];
            let rows = run.rows("queues.parquet", columns)?;
            let end = rows
                .iter()
                .map(|[time, ..]| time.number())
                .fold(0.0, f64::max);
            let step = (end / POINTS).max(1.0);
            let mut queues: Vec<(String, Vec<Sum>)> = Vec::new();
            for [time, direction, hop, queue, packets, marked, dropped] in &rows {
                if direction.text() != "forward" {
                    continue;
                }
                let name = run.queue_name(hop.text(), queue.text());
                let sums = entry(&mut queues, name);
                sums.resize(POINTS as usize + 1, Sum::default());
                let sum = &mut sums[((time.number() - 1.0).max(0.0) / step) as usize];
                sum.packets += packets.number();
                sum.marked += marked.number();
                sum.dropped += dropped.number();
            }
            let is_only = queues.len() == 1 && !source.label.is_empty();
            for (name, sums) in queues {
                let of = |what: fn(&Sum) -> f64, of: fn(&Sum) -> f64| -> Vec<(f64, f64)> {
                    let places = sums.iter().enumerate();
                    places
                        .filter(|(_, sum)| sum.packets + sum.dropped > 0.0)
                        .map(|(index, sum)| {
                            let time = (index as f64 + 0.5) * step / SECOND;
                            (time, 100.0 * what(sum) / of(sum))
                        })
                        .collect()
                };
                let marked = of(|sum| sum.marked, |sum| sum.packets.max(1.0));
                let dropped = of(|sum| sum.dropped, |sum| sum.packets + sum.dropped);
                for (word, points) in [("marked", marked), ("dropped", dropped)] {
                    if points.iter().any(|(_, share)| *share > 0.0) {
                        let one = series(source, part(&name, is_only), Mark::Line, points);
                        let mut one = variant(one, word);
                        one.is_one_of_many = source.runs.len() > 1;
                        all.push(one);
                    }
                }
            }
        }
    }
    if all.is_empty() {
        return Err(nothing("no packet was marked or dropped"));
    }
    let axis = spread(Axis::new("packets", "%"), &all);
    let mut panel = Panel::new("Packets marked and dropped", time(), axis);
    panel.series = all;
    panel.shades = shades(sources);
    Ok(vec![panel])
}
