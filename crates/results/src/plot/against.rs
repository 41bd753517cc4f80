//! A figure against an axis: a line for each other value, with the intervals of its means, beside what was published.

use super::figure::{Axis, Figure, Mark, Panel, Series};
use super::kinds::{entry, spread};
use super::multiples::{self, MOST};
use super::palette::INK;

/// A mean at a value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What its line is of: the first part has a frame of its own where lines are many.
    pub line: (String, String),
    /// The value of the axis; the place of its word where that has words.
    pub x: f64,
    /// The mean.
    pub y: f64,
    /// The ends of its interval.
    pub ends: Option<(f64, f64)>,
}

/// The picture of these points, with those of others laid over it.
pub fn against(title: &str, x: Axis, y: Axis, points: &[Point], beside: &[Point]) -> Figure {
    let (mut frames, mut names): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut lines: Vec<(&(String, String), Vec<&Point>)> = Vec::new();
    for point in points {
        let (frame, name) = &point.line;
        for (all, one) in [(&mut frames, frame), (&mut names, name)] {
            if !all.contains(&&**one) {
                all.push(one);
            }
        }
        entry(&mut lines, &point.line).push(point);
    }
    let place = |all: &[&str], one: &str| all.iter().position(|other| *other == one);
    let are_many = lines.len() > MOST;
    let has_numbers = x.words.is_empty();
    let mut panel = Panel::new("", x, y);
    for (number, (line, mut own)) in lines.into_iter().enumerate() {
        own.sort_by(|a, b| a.x.total_cmp(&b.x));
        let (frame, name) = line;
        let color = if are_many {
            place(&names, name)
        } else {
            Some(number)
        };
        let one = |mark, points| {
            let of = (place(&frames, frame).unwrap_or(0), name.clone());
            let mut one = Series::new(&text(line), of, mark, points);
            (one.color, one.dashes) = (color.unwrap_or(0), color.unwrap_or(0));
            one
        };
        let means = || own.iter().map(|point| (point.x, point.y)).collect();
        let ends = own.iter().filter_map(|point| Some((point.x, point.ends?)));
        let ends = ends.flat_map(|(x, (low, high))| [(x, low), (x, high)]);
        panel.series.push(one(Mark::Whiskers, ends.collect()));
        if has_numbers {
            panel.series.push(one(Mark::Line, means()));
        }
        panel.series.push(one(Mark::Dots, means()));
    }
    let mut published: Vec<(&(String, String), Vec<(f64, f64)>)> = Vec::new();
    for point in beside {
        entry(&mut published, &point.line).push((point.x, point.y));
    }
    for (number, (line, points)) in published.into_iter().enumerate() {
        let label = format!("published {}", text(line));
        // In every frame.
        let of = (usize::MAX, text(line));
        panel.series.push(Series {
            color: INK,
            dashes: number,
            ..Series::new(label.trim_end(), of, Mark::Dots, points)
        });
    }
    panel.y = spread(panel.y, &panel.series);
    let panels = multiples::split(vec![panel], &frames, "");
    Figure {
        title: title.to_owned(),
        columns: super::columns(panels.len()),
        panels,
    }
}

fn text((frame, name): &(String, String)) -> String {
    format!("{frame} {name}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two values of one axis, four of another, at two values of the axis below.
    #[test]
    fn many_lines_are_frames_with_the_same_colours_and_what_is_published_is_in_each() {
        let of = |rates: usize| {
            let lines = ["fifo", "pie"]
                .into_iter()
                .flat_map(|queue| (0..rates).map(move |rate| (queue, rate)));
            let point = |(queue, rate): (&str, usize), x: f64| Point {
                line: (queue.to_owned(), format!("{rate}mbit")),
                x,
                y: x + rate as f64,
                ends: Some((x, x + 9.0)),
            };
            let points: Vec<Point> = lines
                .flat_map(|line| [2.0, 1.0].map(|x| point(line, x)))
                .collect();
            let published = Point {
                ends: None,
                line: Default::default(),
                ..points[0].clone()
            };
            let axis = || Axis::new("x", "ms");
            against("t", axis(), axis(), &points, &[published])
        };
        let few = of(3);
        assert_eq!(few.panels.len(), 1);
        let labels: Vec<&str> = few.panels[0].series.iter().map(|one| &*one.label).collect();
        assert_eq!(
            labels[15..],
            ["pie 2mbit", "pie 2mbit", "pie 2mbit", "published"]
        );
        assert_eq!(
            few.panels[0].series[0].points,
            [(1.0, 1.0), (1.0, 10.0), (2.0, 2.0), (2.0, 11.0)]
        );
        assert_eq!(few.panels[0].series[1].points, [(1.0, 1.0), (2.0, 2.0)]);
        let many = of(4);
        assert_eq!(
            [&*many.panels[0].title, &*many.panels[1].title],
            ["fifo", "pie"]
        );
        for panel in &many.panels {
            let last = &panel.series[12];
            assert_eq!((panel.series.len(), &*last.label), (13, "published"));
            assert_eq!(
                (panel.series[9].color, &*panel.series[9].label),
                (3, "3mbit")
            );
        }
    }
}
