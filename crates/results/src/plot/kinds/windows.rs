//! The congestion window of each flow over time.

use super::{each_or_groups, flows, nothing, shades, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::over_time::smooth;
use crate::plot::source::Source;

const KILOBYTE: f64 = 1e3;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        let mut windows = Vec::new();
        for run in &source.runs {
            windows.extend(flows(run, "congestion_window_bytes", KILOBYTE)?);
        }
        windows.retain(|(_, points)| points.iter().any(|(_, window)| window.is_finite()));
        all.extend(each_or_groups(source, Mark::Step, &windows));
    }
    if all.is_empty() {
        return Err(nothing("no flow of the result has a congestion window"));
    }
    let axis = Axis::new("congestion window", "kB").from_zero();
    let mut panel = Panel::new("Congestion windows", time(), axis);
    panel.series = all;
    panel.shades = shades(sources);
    smooth(&mut panel);
    Ok(vec![panel])
}
