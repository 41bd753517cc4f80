//! The congestion window of each flow over time.

use super::{flows, nothing, series, shades, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

const KILOBYTE: f64 = 1e3;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        for run in &source.runs {
            for ((group, _), points) in flows(run, "congestion_window_bytes", KILOBYTE)? {
                if points.iter().any(|(_, window)| window.is_finite()) {
                    let mut one = series(source, &group, Mark::Step, points);
                    one.is_one_of_many = true;
                    all.push(one);
                }
            }
        }
    }
    if all.is_empty() {
        return Err(nothing("no flow of the result has a congestion window"));
    }
    let axis = Axis::new("congestion window", "kB").from_zero();
    let mut panel = Panel::new("Congestion windows", time(), axis);
    panel.series = all;
    panel.shades = shades(sources);
    Ok(vec![panel])
}
