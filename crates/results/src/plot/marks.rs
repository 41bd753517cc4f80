//! Dots and bars of series that share a colour: every second one has crosses and outlines, so that they differ without colours too.

use super::drawing::{BAND, Frame, Ink, Item, Shape};
use super::figure::{Mark, Series};
use super::palette::Style;

/// Half the width of a cross.
const CROSS: f64 = 2.2;
/// Width of the strokes of crosses and outlines.
const STROKE: f64 = 1.2;

/// Dots at these places.
pub(super) fn dots(series: &Series, style: Style, at: Vec<(f64, f64)>) -> Shape {
    match style.is_hollow {
        true => strokes(at.into_iter().flat_map(|at| cross(at, CROSS)).collect()),
        false => Shape::Dots {
            at,
            radius: if series.is_one_of_many { 1.2 } else { 2.0 },
        },
    }
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
        (Mark::Dots | Mark::Bars, false) => vec![Item::Box {
            corner: (center - 4.0, middle - 4.0),
            size: (8.0, 8.0),
            ink,
        }],
        (Mark::Dots, true) => cross((center, middle), 3.0)
            .into_iter()
            .flat_map(lines)
            .collect(),
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
        let series = Series {
            label: "label".to_owned(),
            of: (0, String::new()),
            variant: "",
            color: 0,
            dashes: place,
            mark,
            is_right: false,
            is_one_of_many: false,
            points: vec![(0.0, 1.0)],
        };
        let style = Style::new(0, (0, 1), place);
        (series, style)
    }

    #[test]
    fn every_second_series_of_a_colour_has_crosses_and_outlines() {
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
        let (one, style) = series(Mark::Dots, 1);
        let Shape::Lines { lines, .. } = dots(&one, style, vec![(5.0, 6.0)]) else {
            panic!("a filled dot");
        };
        assert_eq!(lines.len(), 2);
        for line in lines {
            assert_eq!(
                ((line[0].0 + line[1].0) / 2.0, (line[0].1 + line[1].1) / 2.0),
                (5.0, 6.0)
            );
        }
    }

    #[test]
    fn a_legend_shows_the_mark_of_the_series() {
        let of = |mark, place| {
            let (series, style) = series(mark, place);
            sample(&series, style, (0.0, 20.0), 5.0)
        };
        assert!(matches!(of(Mark::Bars, 0)[..], [Item::Box { .. }]));
        assert_eq!(of(Mark::Bars, 1).len(), 4);
        assert_eq!(of(Mark::Dots, 1).len(), 2);
        assert_eq!(of(Mark::Line, 1).len(), 1);
    }
}
