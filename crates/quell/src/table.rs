//! A summary for people: one row per queue and per group, within 80 columns, warnings last.

use quell_measure::{Dist, Figures, Summary};

use crate::page::Page;
use crate::transfers;

/// Prints a summary.
pub(crate) fn summary(summary: &Summary, page: &mut Page) {
    let partial = if summary.partial { ", ended early" } else { "" };
    page.paragraph(
        0,
        &format!(
            "{}: {} world, seed {}, {:.1} s with {:.1} s of warm-up{partial}",
            summary.scenario, summary.world, summary.seed, summary.duration_s, summary.warmup_s
        ),
    );
    // Zeros would look like figures; a warning says why there are none.
    if summary.has_measured() {
        figures(&summary.figures, page);
    }
    for phase in &summary.phases {
        page.line("");
        page.line(format_args!(
            "from {:.1} s to {:.1} s",
            phase.start_s, phase.end_s
        ));
        figures(&phase.figures, page);
    }
    warnings(&summary.warnings, page);
}

/// Prints warnings.
pub(crate) fn warnings(warnings: &[String], page: &mut Page) {
    if !warnings.is_empty() {
        page.line("");
    }
    for warning in warnings {
        page.paragraph(0, &format!("warning: {warning}"));
    }
}

fn figures(figures: &Figures, page: &mut Page) {
    let rate = figures
        .link
        .rate_bps
        .map_or("unlimited".to_owned(), |rate| bits(rate as f64));
    page.line(format_args!(
        "link {rate}, {:.1} % utilised, {} packets lost outside its queue",
        figures.link.utilisation * 100.0,
        figures.link.lost_outside
    ));
    page.line("");
    page.line(format_args!(
        "{:<20} {:>11} {:>9} {:>9} {:>9} {:>9}",
        "queue", "packets", "marked %", "dropped %", "mean ms", "P99 ms"
    ));
    for queue in &figures.queues {
        let reverse = queue.direction == quell_measure::Direction::Reverse;
        let name = if reverse {
            format!("{} (reverse)", queue.name)
        } else {
            queue.name.clone()
        };
        page.line(format_args!(
            "{:<20} {:>11} {:>9} {:>9} {:>9} {:>9}",
            short(&name, 20),
            queue.packets,
            percent(queue.mark_ratio),
            percent(queue.drop_ratio),
            milliseconds(queue.delay_ms, |dist| dist.mean),
            milliseconds(queue.delay_ms, |dist| dist.p99),
        ));
    }
    page.line("");
    page.line(format_args!(
        "{:<18} {:>5} {:<8} {:>13} {:>6} {:>7} {:>7} {:>8}",
        "group", "flows", "control", "per flow", "Jain", "mean ms", "P99 ms", "RTT ms"
    ));
    for group in &figures.groups {
        let mean = group.goodput_bps.iter().sum::<f64>() / group.goodput_bps.len().max(1) as f64;
        page.line(format_args!(
            "{:<18} {:>5} {:<8} {:>13} {:>6} {:>7} {:>7} {:>8}",
            short(&group.name, 18),
            group.count,
            short(group.congestion_control.as_deref().unwrap_or("-"), 8),
            bits(mean),
            group
                .jain
                .map_or("-".to_owned(), |jain| format!("{jain:.3}")),
            milliseconds(group.delay_ms, |dist| dist.mean),
            milliseconds(group.delay_ms, |dist| dist.p99),
            milliseconds(group.rtt_ms, |dist| dist.mean),
        ));
    }
    let groups = figures.groups.iter();
    let rows: Vec<_> = groups
        .map(|group| (group.name.clone(), vec![group]))
        .collect();
    transfers::print(&rows, page);
}

pub(crate) fn percent(ratio: f64) -> String {
    format!("{:.3}", ratio * 100.0)
}

fn milliseconds(dist: Option<Dist>, which: impl Fn(Dist) -> f64) -> String {
    dist.map_or("-".to_owned(), |dist| format!("{:.2}", which(dist)))
}

pub(crate) fn bits(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} Mbit/s", rate / 1e6),
        rate => format!("{:.1} kbit/s", rate / 1e3),
    }
}

pub(crate) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_eighty_columns_even_with_long_names_and_large_numbers() {
        let dist = serde_json::json!({ "mean": 12345.678, "p1": 0.0, "p25": 0.0, "p50": 0.0, "p75": 0.0, "p90": 0.0,
            "p99": 98765.4, "p999": 0.0, "max": 0.0 });
        let name = "a-name-that-is-as-long-as-no-table-can-hold";
        let value = serde_json::json!({
            "schema": 1, "scenario": name, "world": "live", "seed": u64::MAX, "duration_s": 86400.0, "warmup_s": 10.0,
            "partial": true, "warnings": ["words ".repeat(40)],
            "link": { "rate_bps": 1_000_000_000_000_u64, "utilisation": 0.999, "lost_outside": 12345678 },
            "queues": [{ "name": "classic", "direction": "reverse", "packets": 12345678901_u64, "bytes": 0, "marked": 0,
                "dropped": 0, "mark_ratio": 1.0, "drop_ratio": 0.5, "marks": {}, "drops": {}, "delay_ms": dist,
                "backlog_bytes": null }],
            "groups": [{ "name": name, "count": 10000, "congestion_control": "westwood-plus", "goodput_bps": [999.9e6],
                "jain": 1.0, "packets": 0, "marked": 0, "dropped": 0, "retransmitted": 0,
                "delay_ms": null, "rtt_ms": dist, "app": { "kind": "transfer", "completed": 123456789_u64,
                "unfinished": 10000, "completion_ms": dist, "goodput_bps": null } }],
            "jain": null, "phases": [],
        });
        let mut page = Page::default();
        summary(&serde_json::from_value(value).unwrap(), &mut page);
        let text = format!("{page:?}").replace("\\n", "\n");
        for line in text.lines().skip(1) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for part in [
            "classic (reverse)",
            "100.000",
            "999.90 Mbit/s",
            "ended early",
            "123456789",
            "12345.7",
            "warning: words",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
