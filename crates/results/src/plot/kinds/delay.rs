//! Delay in each queue over time.

use super::{MILLISECOND, Points, SECOND, entry, nothing, part, series, shades, spread, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::over_time;
use crate::plot::source::Source;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let axis = Axis::new("mean delay", "ms");
    let mut panel = Panel::new("Delay in the queue", time(), axis);
    for source in sources {
        let mut queues: Vec<(String, Vec<Points>)> = Vec::new();
        for run in &source.runs {
            let columns = ["time_ns", "direction", run.hop(), "queue", "delay_mean_ns"];
            let mut own: Vec<(String, Points)> = Vec::new();
            for [time, direction, hop, queue, delay] in &run.rows("queues.parquet", columns)? {
                if direction.text() != "forward" {
                    continue;
                }
                let at = (time.number() / SECOND, delay.number() / MILLISECOND);
                entry(&mut own, run.queue_name(hop.text(), queue.text())).push(at);
            }
            own.retain(|(_, points)| points.iter().any(|(_, delay)| delay.is_finite()));
            for (name, points) in own {
                entry(&mut queues, name).push(points);
            }
        }
        let is_only = queues.len() == 1 && !source.label.is_empty();
        for (name, lines) in queues {
            let one = series(source, part(&name, is_only), Mark::Line, Vec::new());
            over_time::add(&mut panel, one, &lines);
        }
    }
    if panel.series.is_empty() {
        return Err(nothing(
            "no packet waited in a queue, or the result has no queues.parquet",
        ));
    }
    spread(&mut panel);
    panel.shades = shades(sources);
    Ok(vec![panel])
}
