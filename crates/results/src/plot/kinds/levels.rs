//! The level of each segment of adaptive streaming over time: a staircase for each player.

use std::collections::BTreeMap;

use super::{SECOND, nothing, series, shades, time};
use crate::plot::Error;
use crate::plot::figure::{Axis, Mark, Panel};
use crate::plot::source::Source;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    for source in sources {
        for run in &source.runs {
            let rows = run.rows(
                "events.parquet",
                ["group", "flow", "kind", "started_ns", "value"],
            )?;
            let mut players: BTreeMap<(String, u64), Vec<(f64, f64)>> = BTreeMap::new();
            for [group, flow, kind, start, level] in &rows {
                if kind.text() == "segment" {
                    let player = (group.text().to_owned(), flow.number() as u64);
                    let at = (start.number() / SECOND, level.number());
                    players.entry(player).or_default().push(at);
                }
            }
            for ((group, _), mut points) in players {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut one = series(source, &group, Mark::Step, points);
                one.is_one_of_many = true;
                all.push(one);
            }
        }
    }
    if all.is_empty() {
        return Err(nothing(
            "nobody asked for a segment: this shows groups with app = { kind = \"has\" }",
        ));
    }
    let mut panel = Panel::new(
        "Levels of adaptive streaming",
        time(),
        Axis::new("level of the segment, from 0", "").from_zero(),
    );
    panel.series = all;
    panel.shades = shades(sources);
    Ok(vec![panel])
}
