//! Completion time of web items against their size, with what they would take alone.

use super::{MILLISECOND, entry, nothing, series};
use crate::plot::Error;
use crate::plot::figure::{Axis, Level, Mark, Panel};
use crate::plot::source::{Run, Source};

const KILOBYTE: f64 = 1e3;

pub(super) fn panels(sources: &[Source]) -> Result<Vec<Panel>, Error> {
    let mut all = Vec::new();
    let mut ideals = Vec::new();
    let mut unfinished = 0;
    for source in sources {
        for run in &source.runs {
            let columns = [
                "group",
                "kind",
                "started_ns",
                "ended_ns",
                "size_bytes",
                "outcome",
            ];
            let rows = run.rows("events.parquet", columns)?;
            let mut groups: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
            for [group, kind, start, end, size, outcome] in &rows {
                if kind.text() != "item" {
                    continue;
                }
                if outcome.text() != "complete" {
                    unfinished += 1;
                    continue;
                }
                let took = (end.number() - start.number()) / MILLISECOND;
                let at = (size.number() / KILOBYTE, took);
                entry(&mut groups, group.text()).push(at);
            }
            for (group, points) in groups {
                ideals.extend(ideal(source, run, group, &points));
                let mut one = series(source, group, Mark::Dots, points);
                one.is_one_of_many = one.points.len() > 500;
                all.push(one);
            }
        }
    }
    if all.is_empty() {
        return Err(nothing(
            "no web item ended: this shows groups with app = { kind = \"web\", model = \"items\" }",
        ));
    }
    let title = match unfinished {
        0 => "Completion of web items".to_owned(),
        many => format!("Completion of web items ({many} did not end)"),
    };
    let x = Axis::new("size", "kB").logarithmic();
    let y = Axis::new("completion time", "ms").logarithmic();
    let mut panel = Panel::new(&title, x, y);
    ideals.dedup_by(|a, b| a == b);
    all.extend(ideals.into_iter().take(1));
    panel.series = all;
    let level = |at: f64, label: &str| Level {
        at,
        label: label.to_owned(),
    };
    panel.levels = vec![
        level(200.0, "0.2 s: a lost end waits for a timer"),
        level(1000.0, "1 s: a lost SYN"),
    ];
    Ok(vec![panel])
}

/// On an idle link: two round trips and the time on the link, the ideal that normalised completion times assume.
fn ideal(source: &Source, run: &Run, group: &str, points: &[(f64, f64)]) -> Option<super::Series> {
    let scenario = run.scenario.as_ref()?;
    let group = scenario.groups.iter().find(|one| one.name == group)?;
    let side = scenario.side(scenario.bottleneck(group));
    if side.rate.is_unlimited() {
        return None;
    }
    let rtt = group.rtt.as_nanos() as f64 / MILLISECOND;
    let rate = side.rate.as_bps() as f64;
    let mut sizes: Vec<f64> = points.iter().map(|(size, _)| *size).collect();
    sizes.sort_by(f64::total_cmp);
    let (first, last) = (sizes.first()?.max(1e-3), *sizes.last()?);
    let steps = 60;
    let at = |step: i32| first * (last / first).powf(f64::from(step) / f64::from(steps));
    let time = |size: f64| 2.0 * rtt + size * KILOBYTE * 8.0 / rate * 1e3;
    let points = (0..=steps).map(|step| (at(step), time(at(step))));
    let mut one = series(source, "idle", Mark::Line, points.collect());
    one.label = "idle link: 2 RTT + size / rate".to_owned();
    one.of.0 = usize::MAX;
    Some(one)
}
