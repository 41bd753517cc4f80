//! What the script of a page knows of a picture: where its panels are, and their points.

use serde_json::{Value, json};

use super::axis::{Scale, Span};
use super::drawing::{Drawing, Frame};
use super::figure::{Figure, Mark, Panel, Series};

/// A list with an entry for each panel, with at most about `most` points of a series.
pub(super) fn of(figure: &Figure, drawing: &Drawing, most: usize) -> Value {
    let panels = figure.panels.iter().zip(&drawing.panels);
    panels
        .map(|(panel, (frame, x))| entry(panel, frame, x, most))
        .collect()
}

fn entry(panel: &Panel, frame: &Frame, x: &Span, most: usize) -> Value {
    let all = panel.series.iter().enumerate();
    let series: Vec<Value> = all
        .filter(|(number, series)| !is_outline(series, &panel.series[..*number]))
        .map(|(_, series)| series)
        .map(|series| json!({ "label": series.label, "points": points(series, most) }))
        .collect();
    json!({
        "left": short(frame.left), "top": short(frame.top), "width": short(frame.width), "height": short(frame.height),
        "spanX": { "low": x.low(), "high": x.high(), "log": panel.x.scale == Scale::Logarithmic },
        "x": panel.x.text(), "y": panel.y.text(), "words": panel.x.words, "series": series,
    })
}

/// Whether it is a line around the dots of its label, or a range of others, which has no values of its own.
fn is_outline(series: &Series, before: &[Series]) -> bool {
    if matches!(series.mark, Mark::Band | Mark::Whiskers) {
        return true;
    }
    let mut dots = before.iter().filter(|one| one.mark == Mark::Dots);
    series.mark == Mark::Line && dots.any(|one| one.label == series.label)
}

/// Where there are too many, every second, third … of them: a value that is shown is one of the result.
fn points(series: &Series, most: usize) -> Vec<Value> {
    let every = match series.mark {
        Mark::Dots => 1,
        _ => series.points.len().div_ceil(most).max(1),
    };
    let kept = series.points.iter().step_by(every);
    kept.map(|&(x, y)| json!([digits(x), digits(y)])).collect()
}

/// Six digits are enough for a reader; nothing for what is no number.
fn digits(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    format!("{value:.5e}")
        .parse::<f64>()
        .map_or(Value::Null, |value| json!(value))
}

fn short(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
