//! What a picture shows, for those who do not see it.

use super::axis::number;
use super::figure::{Figure, Panel};

/// The picture in sentences: for each panel its axes, and where its series begin, lie and end.
pub(super) fn describe(figure: &Figure) -> String {
    let mut all = Vec::new();
    for panel in &figure.panels {
        let title = if panel.title.is_empty() {
            &figure.title
        } else {
            &panel.title
        };
        all.push(format!(
            "{title}: {} over {}.",
            panel.y.text(),
            panel.x.text()
        ));
        for label in entries_of(panel) {
            let series = panel.series.iter().filter(|series| series.label == label);
            let points = series.flat_map(|series| &series.points);
            let ys = points.map(|(_, y)| *y).filter(|y| y.is_finite());
            let (low, high) = ys.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| {
                (low.min(y), high.max(y))
            });
            all.push(match low <= high {
                true => format!("{label}: from {} to {}.", number(low, 3), number(high, 3)),
                false => format!("{label}: nothing."),
            });
        }
    }
    all.join(" ")
}

fn entries_of(panel: &Panel) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for series in &panel.series {
        if !labels.contains(&series.label.as_str()) {
            labels.push(&series.label);
        }
    }
    labels
}
