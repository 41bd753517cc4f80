//! The share of the packets of each group that waited longer.

use super::{Delays, LEAST_DELAY, nothing, of_groups, series, shares};
use crate::plot::Error;
use crate::plot::figure::{Axis, Level, Mark, Panel};
use crate::plot::source::Source;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    draw(sources, of_groups)
}

/// With a line for each of these distributions of a source.
pub(in crate::plot) fn draw(
    sources: &[Source],
    of: fn(&Source) -> Result<Delays, Error>,
) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    let mut least = 1.0_f64;
    for source in sources {
        for (name, points) in shares(of(source)?) {
            // Of those that waited longer than the longest there is none, which has no place on a logarithmic axis.
            let longer = points.iter().filter(|(.., share)| *share > 0.0);
            let points: Vec<(f64, f64)> = longer
                .map(|(delay, _, share)| (delay.max(LEAST_DELAY), share * 100.0))
                .collect();
            least = points
                .iter()
                .map(|(_, share)| share / 100.0)
                .fold(least, f64::min);
            all.push(series(source, &name, Mark::Step, points));
        }
    }
    if all.is_empty() {
        return Err(nothing("no packet was delivered after the warm-up"));
    }
    let x = Axis::new("delay in the queue", "ms").logarithmic();
    let floor = least.max(1e-6) * 100.0;
    let y = Axis::new("packets that waited longer", "%")
        .logarithmic()
        .between(floor, 100.0);
    let mut panel = Panel::new("Tail of the delay", x, y);
    panel.series = all;
    panel.levels = vec![Level {
        at: 1.0,
        label: "P99".to_owned(),
    }];
    Ok(vec![panel])
}
