//! The share of packets marked and dropped in each queue over time.

use super::{Points, SECOND, entry, nothing, part, series, shades, spread, time, variant};
use crate::plot::Error;
use crate::plot::axis::nice;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::over_time;
use crate::plot::source::{Run, Source};

/// Points of a line at most: rows are put together until there are no more.
const STRETCHES: f64 = 120.0;

/// Stretches of time of each queue.
type Queues = Vec<(String, Vec<Stretch>)>;

/// What happened in a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    /// In seconds.
    middle: f64,
    packets: f64,
    marked: f64,
    dropped: f64,
}

pub(in crate::plot) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let axis = Axis::new("packets", "%");
    let mut panel = Panel::new("Packets marked and dropped", time(), axis);
    let mut window = None;
    for source in sources {
        let mut lines: Vec<((String, &str), Vec<Points>)> = Vec::new();
        let mut names = Vec::new();
        for run in &source.runs {
            let (queues, step) = sums(run)?;
            window = step.or(window);
            for (name, sums) in queues {
                let marked = points(&sums, |sum| sum.marked, |sum| sum.packets.max(1.0));
                let dropped = points(&sums, |sum| sum.dropped, |sum| sum.packets + sum.dropped);
                for (word, points) in [("marked", marked), ("dropped", dropped)] {
                    entry(&mut lines, (name.clone(), word)).push(points);
                }
                names.push(name);
            }
        }
        names.dedup();
        let is_only = names.iter().all(|name| *name == names[0]) && !source.label.is_empty();
        for ((name, word), lines) in lines {
            if lines.iter().flatten().any(|(_, share)| *share > 0.0) {
                let one = series(source, part(&name, is_only), Mark::Line, Vec::new());
                over_time::add(&mut panel, variant(one, word), &lines);
            }
        }
    }
    if panel.series.is_empty() {
        return Err(nothing("no packet was marked or dropped"));
    }
    panel.title += &window.map_or_else(String::new, over_time::over);
    spread(&mut panel);
    panel.shades = shades(sources);
    Ok(vec![panel])
}

/// What happened in each stretch, of each forward queue of a run; how many seconds a stretch is, if it has several rows.
fn sums(run: &Run) -> Result<(Queues, Option<f64>), Error> {
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
    let times = || rows.iter().map(|[time, ..]| time.number() / SECOND);
    let end = times().fold(0.0, f64::max);
    let step = nice((end / STRETCHES).max(1e-9));
    let mut queues = Queues::new();
    for [time, direction, hop, queue, packets, marked, dropped] in &rows {
        if direction.text() != "forward" {
            continue;
        }
        let place = (time.number() / SECOND / step - 1e-6).max(0.0) as usize;
        let sums = entry(&mut queues, run.queue_name(hop.text(), queue.text()));
        sums.resize(sums.len().max(place + 1), Stretch::default());
        let sum = &mut sums[place];
        sum.middle = (place as f64 + 0.5) * step;
        sum.packets += packets.number();
        sum.marked += marked.number();
        sum.dropped += dropped.number();
    }
    let interval = times().fold(f64::INFINITY, f64::min);
    Ok((queues, (interval < 0.9 * step).then_some(step)))
}

/// The share of one thing in another, of each stretch that has packets.
fn points(sums: &[Stretch], what: fn(&Stretch) -> f64, of: fn(&Stretch) -> f64) -> Points {
    let seen = sums.iter().filter(|sum| sum.packets + sum.dropped > 0.0);
    let share = |sum: &Stretch| (sum.middle, 100.0 * what(sum) / of(sum));
    seen.map(share).collect()
}
