//! A figure against an axis: a line for each other value, with the intervals of its means, beside what was published.

use super::figure::{Axis, Figure, Mark, Panel, Series};
use super::kinds::spread;
use super::multiples::{self, MOST};
use super::palette::INK;

/// A mean at a value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What its line is of: the first part has a frame of its own where lines are many.
    pub line: [String; 2],
    /// The value of the axis; the place of its word where that has words.
    pub x: f64,
    /// The mean.
    pub y: f64,
    /// The ends of its interval.
    pub ends: Option<(f64, f64)>,
}

/// The picture of these points, with those of others laid over it.
pub fn against(title: &str, x: Axis, y: Axis, points: &[Point], beside: &[Point]) -> Figure {
    let lines = distinct(points.iter().map(|point| &point.line));
    let [frames, names] = [0, 1].map(|part| distinct(points.iter().map(|one| &*one.line[part])));
    let place = |all: &[&str], one: &str| all.iter().position(|other| *other == one).unwrap_or(0);
    let mut panel = Panel::new("", x, y);
    for (number, line) in lines.iter().enumerate() {
        let mut own: Vec<&Point> = points.iter().filter(|one| one.line == **line).collect();
        own.sort_by(|a, b| a.x.total_cmp(&b.x));
        let color = match lines.len() > MOST {
            true => place(&names, &line[1]),
            false => number,
        };
        let of = (place(&frames, &line[0]), line[1].clone());
        let mut add = |mark, points| {
            let mut one = Series::new(line.join(" ").trim(), of.clone(), mark, points);
            (one.color, one.dashes) = (color, color);
            panel.series.push(one);
        };
        let ends = own.iter().filter_map(|one| Some((one.x, one.ends?)));
        let ends = ends.flat_map(|(x, (low, high))| [(x, low), (x, high)]);
        add(Mark::Whiskers, ends.collect());
        let means: Vec<(f64, f64)> = own.iter().map(|one| (one.x, one.y)).collect();
        if panel.x.words.is_empty() {
            add(Mark::Line, means.clone());
        }
        add(Mark::Dots, means);
    }
    for line in distinct(beside.iter().map(|point| &point.line)) {
        let own = beside.iter().filter(|one| one.line == *line);
        let points = own.map(|one| (one.x, one.y)).collect();
        let label = format!("published {}", line.join(" "));
        // In every frame.
        let mut one = Series::new(
            label.trim(),
            (usize::MAX, label.clone()),
            Mark::Dots,
            points,
        );
        one.color = INK;
        panel.series.push(one);
    }
    spread(&mut panel);
    let panels = multiples::split(vec![panel], &frames, "");
    Figure {
        title: title.to_owned(),
        columns: super::columns(panels.len()),
        panels,
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut some = Vec::new();
    for one in all {
        if !some.contains(&one) {
            some.push(one);
        }
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_are_frames_and_what_is_published_is_in_each() {
        let of = |rates: usize| {
            let point = |number: usize| Point {
                line: [
                    ["fifo", "pie"][number % 2].to_owned(),
                    format!("{}mbit", number / 2),
                ],
                x: 5.0,
                y: 1.0,
                ends: Some((0.5, 1.5)),
            };
            let points: Vec<Point> = (0..2 * rates).map(point).collect();
            let axis = || Axis::new("x", "ms");
            against(
                "t",
                axis(),
                axis(),
                &points,
                &[Point {
                    line: Default::default(),
                    ..point(0)
                }],
            )
            .panels
        };
        let few = of(3).remove(0).series;
        let labels: Vec<&str> = few.iter().map(|one| &*one.label).collect();
        assert_eq!(labels[16..], ["pie 2mbit", "pie 2mbit", "published"]);
        assert_eq!(few[0].points, [(5.0, 0.5), (5.0, 1.5)]);
        for (panel, title) in of(4).iter().zip(["fifo", "pie"]) {
            let shown = [9, 12].map(|place| &*panel.series[place].label);
            assert_eq!((&*panel.title, shown), (title, ["3mbit", "published"]));
        }
    }
}
