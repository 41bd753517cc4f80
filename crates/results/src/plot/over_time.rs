//! Many lines over time as one with a band, and long lines as means that say over what.

use std::collections::BTreeMap;

use super::axis::{nice, number};
use super::figure::{Mark, Panel, Series};

/// Points that a line may have before it is a mean over windows, and windows that it then has at most.
const MOST: usize = 400;
const WINDOWS: f64 = 200.0;

/// Adds the mean of lines over time, that of several before a band from the lowest to the highest. Lines with more points than can be told
/// apart are means over windows of a round time, which the heading then names.
pub(super) fn add(panel: &mut Panel, mut mean: Series, lines: &[Vec<(f64, f64)>]) {
    let all = lines.iter().flatten();
    let end = all.map(|(time, _)| *time).fold(0.0, f64::max);
    let is_long = lines.iter().any(|line| line.len() > MOST);
    let window = is_long.then(|| nice(end / WINDOWS));
    // Times are not negative, so that their bits have their order.
    let mut times: BTreeMap<u64, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        for &(time, value) in line {
            // A row of a result is of the time before it.
            let middle = |window: f64| ((time / window - 1e-6).floor().max(0.0) + 0.5) * window;
            let own = times.entry(window.map_or(time, middle).to_bits());
            let own = own.or_default().entry(number).or_default();
            own.extend(value.is_finite().then_some(value));
        }
    }
    let average = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let mut band = Series {
        mark: Mark::Band,
        ..mean.clone()
    };
    for (time, lines) in times {
        let time = f64::from_bits(time);
        let values = lines.values().map(average).filter(|value| !value.is_nan());
        let values: Vec<f64> = values.collect();
        mean.points.push((time, average(&values)));
        let end = |of: fn(f64, f64) -> f64| values.iter().copied().fold(f64::NAN, of);
        let ends = [end(f64::min), end(f64::max)];
        band.points.extend(ends.map(|end| (time, end)));
    }
    panel.series.extend((lines.len() > 1).then_some(band));
    panel.series.push(mean);
    let note = window.map_or_else(String::new, over);
    if !panel.title.ends_with(&note) {
        panel.title += &note;
    }
}

/// What a heading says of means over windows of so many seconds.
pub(super) fn over(window: f64) -> String {
    format!(", mean over {} s", number(window, 3))
}

#[cfg(test)]
mod tests {
    use super::super::figure::Axis;
    use super::*;

    fn drawn(lines: &[Vec<(f64, f64)>]) -> Panel {
        let mut panel = Panel::new("Delay", Axis::new("", ""), Axis::new("", ""));
        let line = Series::new("a", (0, String::new()), Mark::Line, Vec::new());
        add(&mut panel, line, lines);
        panel
    }

    #[test]
    fn seeds_are_one_line_with_a_band_and_a_long_line_says_over_what_it_is_a_mean() {
        let gap = vec![(1.0, 2.0), (2.0, f64::NAN)];
        let all = drawn(&[gap, vec![(1.0, 6.0), (2.0, 3.0)]]).series;
        let ends = [(1.0, 2.0), (1.0, 6.0), (2.0, 3.0), (2.0, 3.0)];
        assert_eq!((all[0].mark, &all[0].points[..]), (Mark::Band, &ends[..]));
        assert_eq!(all[1].points, [(1.0, 4.0), (2.0, 3.0)]);
        // Rows of 0.1 s, of two values in turn.
        let rows = (1..=1000).map(|row| (f64::from(row) / 10.0, f64::from(row % 2)));
        let long = drawn(&[rows.clone().collect()]);
        assert_eq!(
            (&*long.title, long.series.len()),
            ("Delay, mean over 0.5 s", 1)
        );
        assert_eq!(long.series[0].points[..2], [(0.25, 0.6), (0.75, 0.4)]);
        let short = drawn(&[rows.take(400).collect()]);
        assert_eq!(
            (&*short.title, short.series[0].points.len()),
            ("Delay", 400)
        );
    }
}
