//! Many lines over time as one with a band, and long lines as means that say over what.

use std::collections::BTreeMap;

use super::axis::{nice, number};
use super::figure::{Mark, Panel, Series};

/// Points that a line may have before it is a mean over windows, and windows that it then has at most.
const MOST: usize = 400;
const WINDOWS: f64 = 200.0;

/// The mean of lines over time, that of two and more before a band from the lowest to the highest.
pub(super) fn together(mut mean: Series, lines: &[Vec<(f64, f64)>]) -> Vec<Series> {
    // Times are not negative, so that their bits have their order.
    let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (time, value) in lines.iter().flatten() {
        times.entry(time.to_bits()).or_default().push(*value);
    }
    let mut band = Series {
        mark: Mark::Band,
        ..mean.clone()
    };
    for (time, values) in &times {
        let time = f64::from_bits(*time);
        let known = values.iter().copied().filter(|value| value.is_finite());
        mean.points.push((time, average(known.clone())));
        let (low, high) = (known.clone().reduce(f64::min), known.reduce(f64::max));
        let ends = [low, high].map(|end| (time, end.unwrap_or(f64::NAN)));
        band.points.extend(ends);
    }
    let band = (lines.len() > 1).then_some(band);
    band.into_iter().chain([mean]).collect()
}

fn average(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

/// Lines with more points than can be told apart become means over windows of one round time, which the heading then names.
pub(super) fn smooth(panel: &mut Panel) {
    let each = |series: &Series| match series.mark {
        Mark::Band => 2,
        _ => 1,
    };
    let mut all = panel.series.iter();
    if all.all(|series| series.points.len() <= MOST * each(series)) {
        return;
    }
    let points = panel.series.iter().flat_map(|series| &series.points);
    let window = nice(points.map(|(time, _)| *time).fold(0.0, f64::max) / WINDOWS);
    for series in &mut panel.series {
        let lines = each(series);
        // A row of a result is of the time before it.
        let of = |time: f64| (time / window - 1e-6).floor().max(0.0) as u64;
        let mut means: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
        for (index, (time, value)) in series.points.iter().enumerate() {
            let values = means.entry(of(*time)).or_insert(vec![Vec::new(); lines]);
            values[index % lines].extend(value.is_finite().then_some(*value));
        }
        let points = means.iter().flat_map(|(place, values)| {
            let middle = (*place as f64 + 0.5) * window;
            values
                .iter()
                .map(move |values| (middle, average(values.iter().copied())))
        });
        series.points = points.collect();
    }
    panel.title += &over(window);
}

/// What a heading says of means over windows of so many seconds.
pub(super) fn over(window: f64) -> String {
    format!(", mean over {} s", number(window, 3))
}

#[cfg(test)]
mod tests {
    use super::super::figure::Axis;
    use super::*;

    fn line(points: Vec<(f64, f64)>) -> Series {
        Series::new("a", (0, String::new()), Mark::Line, points)
    }

    #[test]
    fn seeds_are_one_line_with_a_band() {
        let seeds = [
            vec![(1.0, 2.0), (2.0, f64::NAN)],
            vec![(1.0, 6.0), (2.0, 3.0)],
        ];
        let all = together(line(Vec::new()), &seeds);
        assert_eq!(all[0].mark, Mark::Band);
        assert_eq!(
            all[0].points,
            [(1.0, 2.0), (1.0, 6.0), (2.0, 3.0), (2.0, 3.0)]
        );
        assert_eq!(all[1].points, [(1.0, 4.0), (2.0, 3.0)]);
        assert_eq!(together(line(Vec::new()), &seeds[..1]).len(), 1);
    }

    #[test]
    fn a_long_line_is_a_mean_that_says_over_what() {
        let axis = || Axis::new("", "");
        let mut panel = Panel::new("Delay", axis(), axis());
        // Rows of 0.1 s, of two values in turn.
        let rows = (1..=1000).map(|row| (f64::from(row) / 10.0, f64::from(row % 2)));
        panel.series = vec![line(rows.take(400).collect())];
        smooth(&mut panel);
        assert_eq!(
            (panel.series[0].points.len(), &*panel.title),
            (400, "Delay")
        );
        let rows = (1..=1000).map(|row| (f64::from(row) / 10.0, f64::from(row % 2)));
        panel.series = vec![line(rows.collect())];
        smooth(&mut panel);
        assert_eq!(panel.title, "Delay, mean over 0.5 s");
        let points = &panel.series[0].points;
        assert_eq!(points.len(), 200);
        assert_eq!(points[..2], [(0.25, 0.6), (0.75, 0.4)]);
    }
}
