//! Distributions of the delay and of the goodput (RFC 7928 section 2.7), as pictures and as a table.

use quell_lab::results::plot::{Axis, Figure, Mark, Panel, Series};

use crate::characterize::card::{Card, Outcome, ScenarioRecord};

/// Shorter delays in ms are drawn at the end of the logarithmic axis.
const LEAST: f64 = 0.01;
/// The shares of the table, with their words.
pub const COLUMNS: [(f64, &str); 9] = [
    (0.0, "least"),
    (0.01, "P1"),
    (0.1, "P10"),
    (0.25, "P25"),
    (0.5, "median"),
    (0.75, "P75"),
    (0.9, "P90"),
    (0.99, "P99"),
    (1.0, "most"),
];

/// Which distribution: of an outcome, a value for each share of the card.
pub type Of = fn(&Outcome) -> &[f64];

/// The distributions of the delay; `None` where no packet was delivered.
pub fn delay(card: &Card) -> Option<Figure> {
    let x = Axis::new("delay in the queue", "ms").logarithmic();
    let of = |value: f64| value.max(LEAST);
    figure(
        card,
        "Delay of packets in the queue: the share that waited no longer",
        (x, "packets"),
        (|outcome| &outcome.distribution.delay_ms, of),
    )
}

/// The distributions of the goodput; `None` where no run is looked at.
pub fn goodput(card: &Card) -> Option<Figure> {
    figure(
        card,
        "Goodput of all flows in windows of ten base RTTs: the share of windows with no more",
        (Axis::new("goodput", "Mbit/s").from_zero(), "windows"),
        (|outcome| &outcome.distribution.goodput_bps, |bps| bps / 1e6),
    )
}

/// A panel for each scenario, a line for each queue.
fn figure(
    card: &Card,
    title: &str,
    (x, things): (Axis, &str),
    (of, scaled): (Of, fn(f64) -> f64),
) -> Option<Figure> {
    let panel = |scenario: &ScenarioRecord| {
        let y = Axis::new(things, "%").between(0.0, 100.0);
        let mut panel = Panel::new(&scenario.label(), x.clone(), y);
        for (queue, outcome) in scenario.results.iter().enumerate() {
            let points = points(of(outcome), &card.shares, scaled);
            if points.is_empty() {
                continue;
            }
            let of = (queue, String::new());
            let one = Series::new(&outcome.queue, of, Mark::Line, points);
            panel.series.push(one);
        }
        (!panel.series.is_empty()).then_some(panel)
    };
    let panels: Vec<Panel> = card.scenarios.iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: title.to_owned(),
        panels,
        columns: 2,
    })
}

/// Each value once, with the largest share in per cent that it has: one step of the keyboard goes to another value.
fn points(values: &[f64], shares: &[f64], scaled: fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (value, share) in values.iter().zip(shares) {
        let (x, y) = (scaled(*value), share * 100.0);
        match points.last_mut().filter(|last| last.0 == x) {
            Some(last) => last.1 = y,
            None => points.push((x, y)),
        }
    }
    points
}

/// The values of [`COLUMNS`]; nothing of a distribution that is not there.
pub fn columns(card: &Card, values: &[f64]) -> Vec<f64> {
    let of = |wanted: f64| {
        let place = card.shares.iter().position(|share| *share == wanted)?;
        values.get(place).copied()
    };
    COLUMNS.iter().filter_map(|(share, _)| of(*share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_many_samples_have_is_one_point() {
        let found = points(
            &[0.001, 0.004, 2.0, 2.0, 3.0],
            &[0.0, 0.25, 0.5, 0.75, 1.0],
            |ms| ms.max(LEAST),
        );
        assert_eq!(found, [(0.01, 25.0), (2.0, 75.0), (3.0, 100.0)]);
    }
}
