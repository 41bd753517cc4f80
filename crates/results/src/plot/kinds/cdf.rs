//! The share of the packets of each group that waited no longer.

use super::{LEAST_DELAY, nothing, of_groups, series, shares};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        for (name, points) in shares(of_groups(source)?) {
            let points = points
                .iter()
                .map(|(delay, share, _)| (delay.max(LEAST_DELAY), share * 100.0));
            all.push(series(source, &name, Mark::Step, points.collect()));
        }
    }
    if all.is_empty() {
        return Err(nothing("no packet was delivered after the warm-up"));
    }
    let x = Axis::new("delay in the queue", "ms").logarithmic();
    let y = Axis::new("packets that waited no longer", "%").between(0.0, 100.0);
    let mut panel = Panel::new("Distribution of the delay", x, y);
    panel.series = all;
    Ok(vec![panel])
}
