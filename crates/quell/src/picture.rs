//! Delay distributions as a picture of text: a row each, on one logarithmic axis.

use quell_measure::Dist;

use crate::page::Page;

/// Columns of the axis.
const COLUMNS: usize = 52;
const LEFT: usize = 26;

/// Draws from P1 to P99 (`·`), P25 to P75 (`━`) and the median (`┃`) of each row.
pub(crate) fn delays(rows: &[(String, Dist)], page: &mut Page) {
    if rows.is_empty() {
        return;
    }
    let largest = rows.iter().map(|row| row.1.p99).fold(0.0, f64::max);
    let axis = Axis::up_to(largest);
    page.line(format_args!(
        "{:<LEFT$}{}",
        "delay, ms (log)",
        axis.labels()
    ));
    for (label, dist) in rows {
        let mut cells = vec![' '; COLUMNS];
        let [p1, p25, p50, p75, p99] =
            [dist.p1, dist.p25, dist.p50, dist.p75, dist.p99].map(|ms| axis.column(ms));
        cells[p1..=p99].fill('·');
        cells[p25..=p75].fill('━');
        cells[p50] = '┃';
        let drawn: String = cells.into_iter().collect();
        page.line(format!("{label:<LEFT$}{drawn}").trim_end());
    }
    page.line(format_args!(
        "{:<LEFT$}·  P1 to P99   ━  P25 to P75   ┃  median",
        ""
    ));
}

/// From 0.01 ms up by whole decades.
struct Axis {
    decades: f64,
}

impl Axis {
    const LEAST: f64 = 0.01;

    fn up_to(largest: f64) -> Self {
        let decades = (largest / Self::LEAST).max(10.0).log10().ceil();
        Self { decades }
    }

    fn column(&self, ms: f64) -> usize {
        let part = (ms / Self::LEAST).max(1.0).log10() / self.decades;
        // In range by construction; a float that is not ends at the edge.
        ((part * (COLUMNS - 1) as f64).round() as usize).min(COLUMNS - 1)
    }

    fn labels(&self) -> String {
        let mut cells = vec![' '; COLUMNS + 4];
        for decade in 0..=self.decades as i32 {
            let ms = Self::LEAST * 10_f64.powi(decade);
            let text = if ms < 1.0 {
                format!("{ms:.*}", if ms < 0.1 { 2 } else { 1 })
            } else {
                format!("{ms:.0}")
            };
            let at = self.column(ms);
            for (index, c) in text
                .chars()
                .enumerate()
                .filter(|(index, _)| at + index < COLUMNS + 4)
            {
                cells[at + index] = c;
            }
        }
        let text: String = cells.into_iter().collect();
        text.trim_end().chars().take(COLUMNS + 2).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dist(p1: f64, p50: f64, p99: f64) -> Dist {
        Dist {
            mean: p50,
            p1,
            p25: p50,
            p50,
            p75: p50,
            p90: p99,
            p99,
            p999: p99,
            max: p99,
        }
    }

    #[test]
    fn every_row_fits_and_a_longer_delay_lies_further_right() {
        let mut page = Page::default();
        let rows = [
            ("a".repeat(25), dist(0.0, 0.5, 2.0)),
            ("b".to_owned(), dist(10.0, 86.0, 100_000.0)),
        ];
        delays(&rows, &mut page);
        let text = format!("{page:?}").replace("\\n", "\n");
        let median = |line: &str| line.chars().position(|c| c == '┃').unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().skip(1).all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(median(lines[1]) < median(lines[2]), "{text}");
    }

    #[test]
    fn nothing_to_draw_draws_nothing() {
        let mut page = Page::default();
        delays(&[], &mut page);
        assert_eq!(format!("{page:?}"), format!("{:?}", Page::default()));
    }
}
