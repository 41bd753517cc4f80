//! Draws delay distributions as text: a row each, on one logarithmic axis.

use quell_measure::Dist;

use quell_lab::results::present::terminal::labels::{self, length};

use crate::output::page::Page;

/// Largest width of the axis: a wider one shows nothing more.
const WIDEST: usize = 120;
/// Smallest width of the axis where a row has its label in front.
const NARROWEST: usize = 36;
/// Smallest width of a group's name beside that of its queue.
const GROUP: usize = 12;

/// A distribution to draw.
pub(crate) struct Row {
    pub(crate) queue: String,
    pub(crate) group: String,
    /// The distribution, in ms.
    pub(crate) delay: Dist,
}

/// Draws from P1 to P99 (`·`), P25 to P75 (`━`) and the median (`┃`) of each row.
pub(crate) fn delays(rows: &[Row], page: &mut Page) {
    const TITLE: &str = "delay, ms (log)";
    let Some(largest) = rows.iter().map(|row| row.delay.p99).reduce(f64::max) else {
        return;
    };
    let room = page.columns().saturating_sub(NARROWEST + 1);
    let beside = beside(rows, room);
    // On a narrow page each queue has a line of its own above its groups.
    let headed = beside.is_none();
    let labels = beside.unwrap_or_else(|| {
        let groups: Vec<String> = rows.iter().map(|row| row.group.clone()).collect();
        let short = labels::forced(&groups, GROUP);
        short.iter().map(|group| format!("  {group}")).collect()
    });
    let left = labels.iter().map(|label| length(label)).max().unwrap_or(0);
    let left = if headed {
        left
    } else {
        left.max(length(TITLE))
    } + 1;
    let axis = Axis::up_to(largest, (page.columns() - left).min(WIDEST));
    if headed {
        page.line(TITLE);
    }
    let title = if headed { "" } else { TITLE };
    page.line(format_args!("{title:<left$}{}", axis.labels()));
    let mut above = None;
    for (row, label) in rows.iter().zip(&labels) {
        if headed && above.replace(&row.queue) != Some(&row.queue) {
            let queue = std::slice::from_ref(&row.queue);
            page.line(&labels::forced(queue, page.columns())[0]);
        }
        let drawn = axis.draw(&row.delay);
        page.line(format!("{label:<left$}{drawn}").trim_end());
    }
    page.paragraph(
        if headed { 0 } else { left },
        "· P1 to P99 ━ P25 to P75 ┃ median",
    );
}

/// Labels in front of the rows, as short as there is room; `None` if they do not fit.
fn beside(rows: &[Row], room: usize) -> Option<Vec<String>> {
    let full = |(queue, group): (&String, &String)| format!("{queue} {group}").trim().to_owned();
    let names = |of: fn(&Row) -> &String| {
        let mut names: Vec<String> = Vec::new();
        for name in rows.iter().map(of) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    };
    let (queues, groups) = (names(|row| &row.queue), names(|row| &row.group));
    let longest = |names: &[String]| names.iter().map(|name| length(name)).max().unwrap_or(0);
    let (short_queues, short_groups) = if longest(&queues) + 1 + longest(&groups) <= room {
        (queues.clone(), groups.clone())
    } else {
        let short = labels::forced(&groups, GROUP);
        let left = room.saturating_sub(longest(&short) + 1);
        (labels::distinct(&queues, left)?, short)
    };
    let short = |row: &Row| {
        let queue = queues.iter().position(|name| *name == row.queue)?;
        let group = groups.iter().position(|name| *name == row.group)?;
        Some(full((&short_queues[queue], &short_groups[group])))
    };
    rows.iter().map(short).collect()
}

/// From 0.01 ms up by whole decades.
struct Axis {
    decades: i32,
    columns: usize,
}

impl Axis {
    const LEAST: f64 = 0.01;

    /// An axis that is `room` columns wide with all its labels.
    fn up_to(largest: f64, room: usize) -> Self {
        let decades = (largest / Self::LEAST).max(10.0).log10().ceil() as i32;
        let last = length(&label(decades));
        Self {
            decades,
            columns: (room + 1).saturating_sub(last).max(2),
        }
    }

    fn column(&self, ms: f64) -> usize {
        let part = (ms / Self::LEAST).max(1.0).log10() / f64::from(self.decades);
        // In range by construction; a float that is not ends at the edge.
        ((part * (self.columns - 1) as f64).round() as usize).min(self.columns - 1)
    }

    fn draw(&self, delay: &Dist) -> String {
        let mut cells = vec![' '; self.columns];
        let [p1, p25, p50, p75, p99] =
            [delay.p1, delay.p25, delay.p50, delay.p75, delay.p99].map(|ms| self.column(ms));
        cells[p1..=p99].fill('·');
        cells[p25..=p75].fill('━');
        cells[p50] = '┃';
        cells.into_iter().collect()
    }

    /// The delay of each decade above its column; the last one always, others where they do not touch it or each other.
    fn labels(&self) -> String {
        let mut text = String::new();
        let last = self.columns - 1;
        for decade in 0..=self.decades {
            let at = self.column(Self::LEAST * 10_f64.powi(decade));
            let label = label(decade);
            let touches = decade < self.decades && at + length(&label) >= last;
            if (at == 0 || at > length(&text)) && !touches {
                text += &" ".repeat(at - length(&text));
                text += &label;
            }
        }
        text
    }
}

/// `0.01`, `0.1`, `1`, `10`, …
fn label(decade: i32) -> String {
    let digits = usize::try_from(2 - decade).unwrap_or(0);
    format!("{:.digits$}", Axis::LEAST * 10_f64.powi(decade))
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

    fn picture(columns: usize, rows: &[(&str, Dist)]) -> String {
        let mut page = Page::new(columns);
        let row = |&(queue, delay): &(&str, Dist)| Row {
            queue: queue.to_owned(),
            group: "classic".to_owned(),
            delay,
        };
        delays(&rows.iter().map(row).collect::<Vec<_>>(), &mut page);
        page.text().to_owned()
    }

    #[test]
    fn every_row_fits_and_a_longer_delay_lies_further_right() {
        let rows = [
            ("dualpi2:step_thresh=1ms", dist(0.0, 0.5, 2.0)),
            ("dualpi2:step_thresh=5ms", dist(10.0, 86.0, 100_000.0)),
        ];
        let median = |line: &&str| line.chars().position(|c| c == '┃');
        for columns in 40..=200 {
            let text = picture(columns, &rows);
            assert!(
                text.lines().all(|line| length(line) <= columns),
                "{columns}\n{text}"
            );
            for row in ["1ms", "5ms"] {
                assert!(text.contains(row), "{columns}\n{text}");
            }
            let drawn: Vec<usize> = text.lines().filter_map(|line| median(&line)).collect();
            assert!(drawn[0] < drawn[1], "{columns}\n{text}");
        }
    }

    #[test]
    fn the_last_tick_is_whole() {
        for (largest, last) in [(90.0, "100"), (101.0, "1000"), (99_000.0, "100000")] {
            for columns in 40..=200 {
                let text = picture(columns, &[("fifo", dist(0.1, 1.0, largest))]);
                let ticks = text.lines().find(|line| line.contains("0.01")).unwrap();
                let ticks: Vec<&str> = ticks.split_whitespace().collect();
                assert_eq!(ticks.last(), Some(&last), "{columns}\n{text}");
                // Each is another one.
                assert!(
                    ticks.windows(2).all(|pair| pair[0] != pair[1]),
                    "{columns}\n{text}"
                );
            }
        }
    }

    #[test]
    fn nothing_to_draw_draws_nothing() {
        assert_eq!(picture(80, &[]), "");
    }
}
