//! The congestion window of each flow over time.

use super::{add_flows, flows, nothing, shades, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

const KILOBYTE: f64 = 1e3;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let axis = Axis::new("congestion window", "kB").from_zero();
    let mut panel = Panel::new("Congestion windows", time(), axis);
    for source in sources {
        let mut windows = Vec::new();
        for run in &source.runs {
            windows.extend(flows(run, "congestion_window_bytes", KILOBYTE)?);
        }
        windows.retain(|(_, points)| points.iter().any(|(_, window)| window.is_finite()));
        add_flows(&mut panel, source, Mark::Step, &windows);
    }
    if panel.series.is_empty() {
        return Err(nothing("no flow of the result has a congestion window"));
    }
    panel.shades = shades(sources);
    Ok(vec![panel])
}
