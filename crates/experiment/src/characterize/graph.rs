//! The graph of RFC 7928 section 2.7: queueing delay against goodput, a point for each run, with the contour of one standard
//! deviation of the two-dimensional normal distribution that explains the points best (its "1-ε ellipse").

use quell_lab::results::plot::{Axis, Figure, Mark, Panel, Series};

use crate::characterize::card::{Card, Outcome, ScenarioRecord};

/// Scenarios of the graph: those whose table of the RFC asks for it.
const SCENARIOS: [&str; 12] = [
    "friendly",
    "iw-3",
    "iw-10",
    "aggressive",
    "udp-mix",
    "lbe",
    "mild",
    "medium",
    "heavy",
    "small",
    "both-ways-1",
    "both-ways-2",
];
/// Points of a quarter of an ellipse.
const QUARTER: usize = 8;

/// The graph of a card; `None` where it has none of the scenarios.
pub fn figure(card: &Card) -> Option<Figure> {
    let wanted = |scenario: &&ScenarioRecord| SCENARIOS.contains(&scenario.id.as_str());
    let panels: Vec<Panel> = card.scenarios.iter().filter(wanted).map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        title: "Queueing delay against goodput of a flow: a point for each seed, an ellipse of one standard deviation".to_owned(),
        panels,
        columns: 2,
    })
}

fn panel(scenario: &ScenarioRecord) -> Panel {
    let delay = Axis::new("mean sojourn time", "ms").from_zero();
    let goodput = Axis::new("goodput of a flow", "Mbit/s").from_zero();
    let mut panel = Panel::new(&scenario.label(), delay, goodput);
    for (queue, outcome) in scenario.results.iter().enumerate() {
        let labels = labels(outcome);
        for (number, (class, label)) in outcome.classes.iter().zip(labels).enumerate() {
            let points = class.points.iter();
            let points: Vec<(f64, f64)> = points.map(|(delay, bps)| (*delay, bps / 1e6)).collect();
            let series = |mark, points| Series {
                dashes: number,
                ..Series::new(&label, (queue, class.name.clone()), mark, points)
            };
            let ellipse = ellipse(&points);
            panel.series.push(series(Mark::Dots, points));
            if !ellipse.is_empty() {
                panel.series.push(series(Mark::Line, ellipse));
            }
        }
    }
    panel
}

/// The queue, and the class where there are several.
fn labels(outcome: &Outcome) -> Vec<String> {
    let several = outcome.classes.len() > 1;
    let classes = outcome.classes.iter();
    classes
        .map(|class| match several {
            true => format!("{} {}", outcome.queue, class.name),
            false => outcome.queue.clone(),
        })
        .collect()
}

/// The closed contour; empty for fewer than three points, and where they do not vary.
fn ellipse(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() < 3 {
        return Vec::new();
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        let deviations = points.iter().map(|point| of(point.0 - x, point.1 - y));
        deviations.sum::<f64>() / n
    };
    let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    if xx <= 0.0 {
        return Vec::new();
    }
    // The circle of radius 1 through the Cholesky factor of the covariance: only operations that every machine rounds alike.
    let a = xx.sqrt();
    let b = xy / a;
    let c = (yy - b * b).max(0.0).sqrt();
    circle()
        .map(|(u, v)| (x + a * u, y + b * u + c * v))
        .collect()
}

/// Points around a circle of radius 1, the first again at the end: (1 - t²)/(1 + t²), 2t/(1 + t²), turned by quarters.
fn circle() -> impl Iterator<Item = (f64, f64)> {
    let quarter = |step: usize| {
        // The tangent of half of the angle, in equal steps up to that of 90°.
        let t = step as f64 / QUARTER as f64;
        let below = 1.0 + t * t;
        ((1.0 - t * t) / below, 2.0 * t / below)
    };
    let all = (0..4).flat_map(move |turn| {
        (0..QUARTER).map(move |step| {
            let (u, v) = quarter(step);
            match turn {
                0 => (u, v),
                1 => (-v, u),
                2 => (-u, -v),
                _ => (v, -u),
            }
        })
    });
    all.chain([(1.0, 0.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ellipse_has_the_moments_of_its_points() {
        // Means 3 and 10, variances 2 and 8, correlation 0.
        let points = [(1.0, 10.0), (5.0, 10.0), (3.0, 6.0), (3.0, 14.0)];
        let contour = ellipse(&points);
        assert_eq!(contour.first(), contour.last());
        assert_eq!(contour.len(), 4 * QUARTER + 1);
        for (x, y) in contour {
            // (x - μ)ᵀ Σ⁻¹ (x - μ) = 1.
            let distance = (x - 3.0) * (x - 3.0) / 2.0 + (y - 10.0) * (y - 10.0) / 8.0;
            assert!((distance - 1.0).abs() < 1e-12, "{distance}");
        }
    }

    #[test]
    fn points_that_lean_give_an_ellipse_that_leans() {
        let points = [(0.0, 0.0), (1.0, 1.1), (2.0, 1.9), (3.0, 3.0)];
        let contour = ellipse(&points);
        let highest = contour.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(highest.0 > 2.0, "{highest:?}");
        assert!(ellipse(&[(1.0, 1.0); 5]).is_empty());
        assert!(ellipse(&[(1.0, 1.0), (2.0, 2.0)]).is_empty());
    }
}
