//! Goodput of each flow over time, beside an equal share.

use super::{Points, add_flows, flows, nothing, series, shades, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::over_time;
use crate::plot::placed::ends;
use crate::plot::source::{Run, Source};

const MEGABIT: f64 = 1e6;

pub(in crate::plot) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut panels = Vec::new();
    for source in sources {
        let mut all = Vec::new();
        for run in &source.runs {
            all.extend(flows(run, "goodput_bps", MEGABIT)?);
        }
        if all.is_empty() {
            continue;
        }
        let title = match &*source.label {
            "" => "Goodput of the flows",
            label => label,
        };
        let axis = Axis::new("goodput", "Mbit/s").from_zero();
        let mut panel = Panel::new(title, time(), axis);
        // A panel shows one result, so its groups have the same colours in all of them.
        let alone = Source {
            label: String::new(),
            index: 0,
            ..source.clone()
        };
        add_flows(&mut panel, &alone, Mark::Line, &all);
        let lines: Vec<Points> = all.into_iter().map(|(_, points)| points).collect();
        if source.runs.iter().all(is_shared) && lines.len() > source.runs.len() {
            let mut share = series(&alone, "equal share", Mark::Line, Vec::new());
            share.of.0 = usize::MAX;
            over_time::add(&mut panel, share, &lines);
            // The range is that of the groups.
            panel
                .series
                .retain(|one| one.mark != Mark::Band || one.of.0 != usize::MAX);
        }
        panel.shades = shades(std::slice::from_ref(source));
        panels.push(panel);
    }
    if panels.is_empty() {
        return Err(nothing("the result has no flows.parquet"));
    }
    let high = panels
        .iter()
        .map(|panel| ends(panel)[1].1)
        .fold(0.0, f64::max);
    for panel in &mut panels {
        panel.y.ends.1 = Some(high);
    }
    Ok(panels)
}

/// Whether every flow takes what it gets, so that there is something to share.
fn is_shared(run: &Run) -> bool {
    let mut groups = run.summary["groups"].as_array().into_iter().flatten();
    groups.all(|group| group["app"]["kind"] == "bulk")
}
