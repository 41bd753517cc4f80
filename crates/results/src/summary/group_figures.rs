//! Figures of a group of flows, as several tables show them.

use quell_measure::GroupSummary;

/// A figure of a group in each run that has it.
pub(super) fn each(runs: &[&GroupSummary], figure: fn(&GroupSummary) -> Option<f64>) -> Vec<f64> {
    runs.iter().filter_map(|group| figure(group)).collect()
}

/// Mean goodput of the flows; `None` without any.
pub(super) fn per_flow(group: &GroupSummary) -> Option<f64> {
    let flows = group.goodput_bps.len();
    (flows > 0).then(|| group.goodput_bps.iter().sum::<f64>() / flows as f64)
}

/// Newly marked / delivered.
pub(super) fn mark_ratio(group: &GroupSummary) -> f64 {
    group.marked as f64 / group.packets.max(1) as f64
}

/// Dropped / (delivered + dropped).
pub(super) fn drop_ratio(group: &GroupSummary) -> f64 {
    group.dropped as f64 / (group.packets + group.dropped).max(1) as f64
}
