//! Its tables.

use super::found::{
    Causes, EDGES, Item, Row, SETUP_MS, SIZES, TAILS_OF, TIMEOUT_MS, Tails, name, of_range, users,
};
use crate::evaluation::{digits, group, rate_of};
use crate::table::Table;

/// Of sorted values; `None` of fewer than `least`.
fn quantile(sorted: &[f64], share: f64, least: usize) -> Option<f64> {
    let index = (sorted.len() as f64 * share) as usize;
    (sorted.len() >= least).then(|| sorted[index.min(sorted.len() - 1)])
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), digits)
}

/// Why items took so long.
pub(super) fn cause_table(all: &[Row]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "user",
        "tail",
        "items",
        "SYN or SYN-ACK, %",
        "time-out, %",
        "tail loss probe, %",
        "fast recovery, %",
        "no repair, %",
    ]);
    for (queue, rate, user, _, items) in users(all) {
        for (tail, took) in &TAILS_OF {
            let causes = Causes::of(items, took);
            if causes.count == 0 {
                continue;
            }
            let mut cells = vec![
                queue.to_owned(),
                rate.to_string(),
                name(queue, user).to_owned(),
                (*tail).to_owned(),
                causes.count.to_string(),
            ];
            cells.extend(causes.shares.map(digits));
            table.row(&cells);
        }
    }
    table
}

/// Of the link and the downloads.
pub(super) fn link_table(all: &[Row]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "utilisation, %",
        "a DCTCP download, Mbit/s",
        "a CUBIC download, Mbit/s",
        "marks of DCTCP, %",
        "its drops, %",
        "drops of CUBIC, %",
    ]);
    for (queue, rate, found) in all {
        let download = |name: &str| {
            found.mean(|run| {
                group(run, name).map_or(f64::NAN, |group| rate_of(run, group) / group.count as f64)
            })
        };
        table.row(&[
            (*queue).to_owned(),
            rate.to_string(),
            digits(found.mean(|run| 100.0 * run.figures.link.utilisation)),
            digits(download("l4s")),
            digits(download("classic")),
            digits(found.marks("l4s")),
            digits(found.drops("l4s")),
            digits(found.drops("classic")),
        ]);
    }
    table
}

/// The tails of each user.
pub(super) fn tail_table(all: &[Row]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "user",
        "items",
        "≥ 1 s, %",
        "set-up ≥ 1 s, %",
        "0.2 to 1 s, %",
        "of them after set-up, %",
        "P50, ms",
        "P99, ms",
        "P99.9, ms",
        "unfinished",
    ]);
    for (queue, rate, user, found, items) in users(all) {
        let tails = Tails::of(items);
        let small = items.iter().filter(|item| item.is_small());
        let mut times: Vec<f64> = small.map(|item| item.completion).collect();
        times.sort_by(f64::total_cmp);
        let mut cells = vec![
            queue.to_owned(),
            rate.to_string(),
            name(queue, user).to_owned(),
            tails.count.to_string(),
        ];
        cells.extend([tails.second, tails.setup, tails.fifth, tails.timeout].map(digits));
        cells.push(shown(quantile(&times, 0.5, 1)));
        cells.push(shown(quantile(&times, 0.99, 100)));
        cells.push(shown(quantile(&times, 0.999, 1_000)));
        cells.push(format!("{:.0}", found.unfinished(user)));
        table.row(&cells);
    }
    table
}

/// P50 and P99 of the ranges of sizes that the page shows, at 100 items per second.
pub(super) fn size_table(all: &[Row]) -> Table {
    let shown_ranges = [0, 2, 3, 5];
    let mut heads = vec!["queue".to_owned(), "user".to_owned()];
    heads.extend(shown_ranges.map(|range| format!("{}: P50/P99", SIZES[range])));
    heads.push("normalised, 1 to 3 kB".to_owned());
    heads.push("27 to 81 kB".to_owned());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads);
    for (queue, rate, user, _, items) in users(all) {
        if rate != 100 {
            continue;
        }
        let mut cells = vec![queue.to_owned(), name(queue, user).to_owned()];
        for range in shown_ranges {
            let (times, _) = of_range(items, range);
            let [p50, p99] = [0.5, 0.99].map(|share| shown(quantile(&times, share, 100)));
            cells.push(format!("{p50}/{p99}"));
        }
        cells.extend([0, 3].map(|range| digits(of_range(items, range).1)));
        table.row(&cells);
    }
    table
}

/// Every range of sizes.
pub(super) fn csv(all: &[Row]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items_per_s",
        "user",
        "from_bytes",
        "to_bytes",
        "items",
        "p50_ms",
        "p99_ms",
        "normalised_mean",
        "normalised_p1",
        "at_least_1s_percent",
        "from_200ms_to_1s_percent",
    ]);
    for (queue, rate, user, _, items) in users(all) {
        for range in 0..SIZES.len() {
            let (times, normalised) = of_range(items, range);
            let sizes = EDGES[range]..EDGES[range + 1];
            let inside = items.iter().filter(|item| sizes.contains(&item.size));
            let mut worst: Vec<f64> = inside.map(Item::normalised).collect();
            worst.sort_by(f64::total_cmp);
            let share = |from: f64, to: f64| {
                let count = times.iter().filter(|time| (from..to).contains(*time));
                100.0 * count.count() as f64 / times.len().max(1) as f64
            };
            let number = |value: Option<f64>| value.map_or(String::new(), digits);
            table.row(&[
                queue.to_owned(),
                rate.to_string(),
                name(queue, user).to_owned(),
                EDGES[range].to_string(),
                EDGES[range + 1].to_string(),
                times.len().to_string(),
                number(quantile(&times, 0.5, 1)),
                number(quantile(&times, 0.99, 100)),
                digits(normalised),
                number(quantile(&worst, 0.01, 100)),
                digits(share(SETUP_MS, f64::INFINITY)),
                digits(share(TIMEOUT_MS, SETUP_MS)),
            ]);
        }
    }
    table
}
