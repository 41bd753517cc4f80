//! Marks at points and bars: families of queues have shapes of their own, as have series that share a colour, so that they differ without
//! colours too.

use super::drawing::{BAND, Frame, Ink, Item, Shape};
use super::figure::{Mark, Series};
use super::palette::Style;

/// From the middle of a mark outwards, among few and among many.
pub(super) const LARGE: f64 = 4.0;
const SMALL: f64 = 2.2;
/// Points of a series that are many.
const MANY: usize = 30;
/// Width of the strokes of marks and outlines.
const STROKE: f64 = 1.2;

/// Marks at these places.
pub(super) fn dots(series: &Series, style: Style, at: Vec<(f64, f64)>) -> Shape {
    let radius = if at.len() > MANY { SMALL } else { LARGE };
    match style.mark {
        "disc" => Shape::Dots {
            at,
            radius: if series.is_one_of_many { 1.2 } else { radius },
        },
        _ => strokes(
            at.into_iter()
                .flat_map(|at| mark(at, radius, style.mark))
                .collect(),
        ),
    }
}

/// The outlines of a mark: one, or of a filled one several.
fn mark(at: (f64, f64), radius: f64, name: &str) -> Vec<Vec<(f64, f64)>> {
    let (corners, first, inner) = match name {
        "cross" => return cross(at, radius * 0.8).to_vec(),
        "triangle" => (3, 0.0, 1),
        "square" => (4, 0.5, 1),
        "diamond" => (4, 0.0, 4),
        "circle" => (12, 0.0, 1),
        _ => (12, 0.0, 4),
    };
    let corner = |inner: i32, number: i32| {
        let turn = (f64::from(number) + first) / f64::from(corners) * std::f64::consts::TAU;
        let out = radius * (1.0 - f64::from(inner) / 4.0);
        (at.0 + out * turn.sin(), at.1 - out * turn.cos())
    };
    let around = |inner| (0..=corners).map(|number| corner(inner, number)).collect();
    (0..inner).map(around).collect()
}

/// An area for each part.
pub(super) fn band(parts: Vec<Vec<[(f64, f64); 2]>>) -> Shape {
    let areas = parts.iter().map(|part| {
        let (low, high) = (
            part.iter().map(|pair| pair[0]),
            part.iter().map(|pair| pair[1]),
        );
        low.chain(high.rev()).collect()
    });
    Shape::Areas {
        areas: areas.collect(),
        opacity: BAND,
    }
}

/// A stroke between each two places.
pub(super) fn whiskers(parts: Vec<Vec<[(f64, f64); 2]>>) -> Shape {
    strokes(parts.into_iter().flatten().map(Vec::from).collect())
}

/// These bars.
pub(super) fn bars(style: Style, bars: Vec<Frame>) -> Shape {
    match style.is_hollow {
        true => {
            let seen = bars.iter().filter(|bar| bar.height > 0.0);
            strokes(seen.map(outline).collect())
        }
        false => Shape::Bars(bars),
    }
}

/// What stands for a series in a legend, in a row with this middle.
pub(super) fn sample(
    series: &Series,
    style: Style,
    (left, right): (f64, f64),
    middle: f64,
) -> Vec<Item> {
    let ink = Ink::Series(style.color);
    let center = (left + right) / 2.0;
    let line = |(from, to), width, dashes| Item::Line {
        from,
        to,
        ink,
        width,
        dashes,
    };
    let lines = |points: Vec<(f64, f64)>| {
        let pairs = points.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.map(|ends| line(ends, STROKE, &[])).collect()
    };
    match (series.mark, style.is_hollow) {
        (Mark::Line | Mark::Step, _) => {
            let width = 2.0 * style.width;
            vec![line(((left, middle), (right, middle)), width, style.dashes)]
        }
        // The range of something that has a sample.
        (Mark::Band | Mark::Whiskers, _) => Vec::new(),
        (Mark::Dots, _) => {
            let all = mark((center, middle), LARGE, style.mark).into_iter();
            all.flat_map(lines).collect()
        }
        (Mark::Bars, false) => vec![Item::Box {
            corner: (center - 4.0, middle - 4.0),
            size: (8.0, 8.0),
            ink,
        }],
        (Mark::Bars, true) => lines(outline(&Frame {
            left: center - 4.0,
            top: middle - 4.0,
            width: 8.0,
            height: 8.0,
        })),
    }
}

fn strokes(lines: Vec<Vec<(f64, f64)>>) -> Shape {
    Shape::Lines {
        lines,
        width: STROKE,
        dashes: &[],
    }
}

/// The two strokes of a cross.
fn cross((x, y): (f64, f64), half: f64) -> [Vec<(f64, f64)>; 2] {
    [half, -half].map(|up| vec![(x - half, y + up), (x + half, y - up)])
}

/// Around a frame, within it.
fn outline(frame: &Frame) -> Vec<(f64, f64)> {
    let half = STROKE / 2.0;
    let (left, right) = (frame.left + half, frame.left + frame.width - half);
    let bottom = frame.top + frame.height;
    let top = (frame.top + half).min(bottom);
    vec![
        (left, bottom),
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(mark: Mark, place: usize) -> (Series, Style) {
        let points = vec![(0.0, 1.0)];
        let series = Series::new("label", (0, String::new()), mark, points);
        let style = Style::new(0, (0, 1), place);
        (series, style)
    }

    #[test]
    fn every_second_series_of_a_colour_has_outlines() {
        let bar = Frame {
            left: 10.0,
            top: 20.0,
            width: 4.0,
            height: 30.0,
        };
        assert_eq!(
            bars(series(Mark::Bars, 0).1, vec![bar]),
            Shape::Bars(vec![bar])
        );
        let none = Frame { height: 0.0, ..bar };
        let Shape::Lines { lines, .. } = bars(series(Mark::Bars, 1).1, vec![none, bar]) else {
            panic!("a filled bar");
        };
        let inside =
            |&(x, y): &(f64, f64)| (10.0..=14.0).contains(&x) && (20.0..=50.0).contains(&y);
        assert!(lines.len() == 1 && lines[0].iter().all(inside), "{lines:?}");
    }

    #[test]
    fn marks_have_the_shape_of_the_family() {
        let corners = |color| {
            let lines = mark((0.0, 0.0), LARGE, Style::new(color, (0, 1), 0).mark);
            (lines.len(), lines[0].len())
        };
        // Diamond, triangle, square, cross, circle; a class of traffic.
        let expected = [(4, 5), (1, 4), (1, 5), (2, 2), (1, 13), (4, 13)];
        assert_eq!([0, 1, 2, 3, 4, 5].map(corners), expected);
    }

    #[test]
    fn a_legend_shows_the_mark_of_the_series() {
        let of = |mark, place| {
            let (series, style) = series(mark, place);
            sample(&series, style, (0.0, 20.0), 5.0)
        };
        assert!(matches!(of(Mark::Bars, 0)[..], [Item::Box { .. }]));
        assert_eq!(of(Mark::Bars, 1).len(), 4);
        assert_eq!(of(Mark::Dots, 1).len(), 16);
        assert_eq!(of(Mark::Line, 1).len(), 1);
    }
}
