//! Delay in each queue over time.

use super::{MILLISECOND, SECOND, entry, nothing, part, series, shades, spread, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        for run in &source.runs {
            let columns = ["time_ns", "direction", run.hop(), "queue", "delay_mean_ns"];
            let rows = run.rows("queues.parquet", columns)?;
            let mut queues: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
            for [time, direction, hop, queue, delay] in &rows {
                if direction.text() != "forward" {
                    continue;
                }
                let at = (time.number() / SECOND, delay.number() / MILLISECOND);
                entry(&mut queues, run.queue_name(hop.text(), queue.text())).push(at);
            }
            queues.retain(|(_, points)| points.iter().any(|(_, delay)| delay.is_finite()));
            let is_only = queues.len() == 1 && !source.label.is_empty();
            for (name, points) in queues {
                let mut one = series(source, part(&name, is_only), Mark::Line, points);
                one.is_one_of_many = source.runs.len() > 1;
                all.push(one);
            }
        }
    }
    if all.is_empty() {
        return Err(nothing(
            "no packet waited in a queue, or the result has no queues.parquet",
        ));
    }
    let axis = spread(Axis::new("mean delay", "ms"), &all);
    let mut panel = Panel::new("Delay in the queue", time(), axis);
    panel.series = all;
    panel.shades = shades(sources);
    Ok(vec![panel])
}
