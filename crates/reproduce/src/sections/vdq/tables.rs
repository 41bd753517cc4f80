//! Phases of the runs with VDQ-CSAQM, as rows of tables.

use quell_measure::{Dist, GroupSummary, Phase};

use crate::evaluation::digits;
use crate::table::Table;

/// Goodput of a flow of the group, in Mbit/s; `None` if it has none.
pub fn rate(group: &GroupSummary) -> Option<f64> {
    let flows = group.goodput_bps.len();
    (flows > 0).then(|| group.goodput_bps.iter().sum::<f64>() / flows as f64 / 1e6)
}

/// Mean goodput of the groups at these places, each with as many flows as the others.
fn mean_rate(phase: &Phase, groups: &[usize]) -> Option<f64> {
    let rates: Option<Vec<f64>> = groups
        .iter()
        .map(|&at| rate(&phase.figures.groups[at]))
        .collect();
    rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Mean goodput of a flow of the first groups over that of the second; `None` if one of them has no flow.
pub(super) fn ratio(phase: &Phase, over: &[usize], under: &[usize]) -> Option<f64> {
    Some(mean_rate(phase, over)? / mean_rate(phase, under)?)
}

/// The numbers of flows of the groups, as `50-10`.
pub fn counts(phase: &Phase) -> String {
    let groups = phase.figures.groups.iter();
    let counts: Vec<String> = groups.map(|group| group.count.to_string()).collect();
    counts.join("-")
}

/// The delays of the queue with this name, if it delivered anything.
pub fn queue_delay(phase: &Phase, name: &str) -> Option<Dist> {
    let queue = phase.figures.queues.iter().find(|queue| queue.name == name);
    queue.and_then(|queue| queue.delay_ms)
}

/// Their P99 in ms; 0 if it delivered nothing.
pub fn p99(phase: &Phase, name: &str) -> f64 {
    queue_delay(phase, name).map_or(0.0, |dist| dist.p99)
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(String::new, digits)
}

/// Mean and P99.
fn shown_delays(phase: &Phase, name: &str) -> [String; 2] {
    let delay = queue_delay(phase, name);
    [delay.map(|dist| dist.mean), delay.map(|dist| dist.p99)].map(shown)
}

/// With three decimals.
pub fn index(jain: Option<f64>) -> String {
    jain.map_or_else(String::new, |jain| format!("{jain:.3}"))
}

fn signals(phase: &Phase, name: &str) -> String {
    let queue = phase.figures.queues.iter().find(|queue| queue.name == name);
    queue.map_or_else(String::new, |queue| {
        digits(100.0 * (queue.mark_ratio + queue.drop_ratio))
    })
}

/// A phase of experiment A in the file.
pub(super) fn row_of_a(name: &str, phase: &Phase) -> Vec<String> {
    let [l4s, classic] = [0, 1].map(|at| &phase.figures.groups[at]);
    let mut cells = vec![
        l4s.count.to_string(),
        classic.count.to_string(),
        name.to_owned(),
        format!("{:.4}", phase.figures.link.utilisation),
        shown(rate(l4s)),
        shown(rate(classic)),
        shown(ratio(phase, &[0], &[1])),
        index(phase.figures.jain),
        index(l4s.jain),
        index(classic.jain),
    ];
    cells.extend(shown_delays(phase, "l4s"));
    cells.extend(shown_delays(phase, "classic"));
    cells.extend([signals(phase, "l4s"), signals(phase, "classic")]);
    cells
}

/// Heads of the file of experiment A.
pub(super) const HEADS_OF_A: &[&str] = &[
    "l4s_flows",
    "classic_flows",
    "queue",
    "utilisation",
    "l4s_mbps_per_flow",
    "classic_mbps_per_flow",
    "l4s_over_classic",
    "jain",
    "l4s_jain",
    "classic_jain",
    "l4s_delay_mean_ms",
    "l4s_delay_p99_ms",
    "classic_delay_mean_ms",
    "classic_delay_p99_ms",
    "l4s_marks_percent",
    "classic_drops_percent",
];

/// The default variant beside DualPI2, on the page.
pub(super) fn compare_a(ours: &[Phase], dualpi2: &[Phase]) -> Table {
    let mut table = Table::new(&[
        "L4S-Classic flows",
        "utilisation",
        "L/C",
        "Jain's index",
        "P99 of L, ms",
        "P99 of C, ms",
    ]);
    for (ours, theirs) in ours.iter().zip(dualpi2) {
        let both = |of: &dyn Fn(&Phase) -> String| {
            let [ours, theirs] = [ours, theirs].map(of);
            let none = ours.is_empty() && theirs.is_empty();
            if none {
                "–".to_owned()
            } else {
                format!("{ours}, {theirs}")
            }
        };
        table.row(&[
            counts(ours),
            both(&|phase| format!("{:.3}", phase.figures.link.utilisation)),
            both(&|phase| shown(ratio(phase, &[0], &[1]))),
            both(&|phase| index(phase.figures.jain)),
            both(&|phase| shown_delays(phase, "l4s")[1].clone()),
            both(&|phase| shown_delays(phase, "classic")[1].clone()),
        ]);
    }
    table
}

/// Heads of the file of experiment C1.
pub(super) const HEADS_OF_C1: &[&str] = &[
    "phase",
    "flows_of_each",
    "queue",
    "utilisation",
    "l4s_5ms_mbps_per_flow",
    "l4s_40ms_mbps_per_flow",
    "classic_5ms_mbps_per_flow",
    "classic_40ms_mbps_per_flow",
    "l4s_5ms_over_40ms",
    "classic_5ms_over_40ms",
    "l4s_over_classic",
    "jain",
    "l4s_delay_mean_ms",
    "l4s_delay_p99_ms",
    "classic_delay_mean_ms",
    "classic_delay_p99_ms",
];

/// A phase of experiment C1 in the file.
pub(super) fn row_of_c1(number: usize, name: &str, phase: &Phase) -> Vec<String> {
    let groups = &phase.figures.groups;
    let mut cells = vec![
        number.to_string(),
        groups[0].count.to_string(),
        name.to_owned(),
        format!("{:.4}", phase.figures.link.utilisation),
    ];
    cells.extend(groups.iter().map(|group| shown(rate(group))));
    cells.extend([
        shown(ratio(phase, &[0], &[1])),
        shown(ratio(phase, &[2], &[3])),
        shown(ratio(phase, &[0, 1], &[2, 3])),
        index(phase.figures.jain),
    ]);
    cells.extend(shown_delays(phase, "l4s"));
    cells.extend(shown_delays(phase, "classic"));
    cells
}

/// The default variant beside DualPI2, on the page.
pub(super) fn compare_c1(ours: &[Phase], dualpi2: &[Phase]) -> Table {
    let mut table = Table::new(&[
        "flows of each",
        "L, 5 ms over 40 ms",
        "C, 5 ms over 40 ms",
        "L/C",
        "Jain's index",
    ]);
    for (ours, theirs) in ours.iter().zip(dualpi2) {
        let both = |of: &dyn Fn(&Phase) -> String| {
            let [ours, theirs] = [ours, theirs].map(of);
            format!("{ours}, {theirs}")
        };
        table.row(&[
            ours.figures.groups[0].count.to_string(),
            both(&|phase| shown(ratio(phase, &[0], &[1]))),
            both(&|phase| shown(ratio(phase, &[2], &[3]))),
            both(&|phase| shown(ratio(phase, &[0, 1], &[2, 3]))),
            both(&|phase| index(phase.figures.jain)),
        ]);
    }
    table
}
