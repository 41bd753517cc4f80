//! What puts a live result in doubt.

use quell_hosts::traffic::{TrafficReport, Warning};
use quell_measure::Direction;
use quell_measure::Summary;
use quell_scenario::figures::{warn_if_idle, warn_if_unmeasured};

use super::link::Linked;
use super::plan::Plan;

/// The share of the smallest base RTT that the link's lateness may reach.
const TOLERABLE_LATENESS_PERCENT: u64 = 5;

/// Every warning, most serious first.
pub(super) fn warnings(
    plan: &Plan<'_>,
    summary: &Summary,
    linked: &Linked,
    report: &TrafficReport,
) -> Vec<String> {
    let mut warnings = Vec::new();
    warn_if_unmeasured(summary, &mut warnings);
    lost(linked, &mut warnings);
    late(plan, linked, &mut warnings);
    warn_if_idle(plan.scenario(), summary, &mut warnings);
    for warning in report.warnings() {
        warnings.push(with_names(plan, warning));
    }
    for direction in Direction::BOTH {
        let name = direction.name();
        let missing = linked.report.direction(direction).checksum_missing;
        if missing > 0 {
            warnings.push(format!(
                "{missing} packets of the {name} direction arrived without a checksum: a host has offloads on"
            ));
        }
    }
    warnings
}

fn lost(linked: &Linked, warnings: &mut Vec<String>) {
    for direction in Direction::BOTH {
        let name = direction.name();
        let lost = linked.report.direction(direction).lost;
        if lost.total() > 0 {
            warnings.push(format!(
                "{} packets of the {name} direction were lost outside the queue ({} by a full socket, {} too long, {} refused by the interface)",
                lost.total(), lost.socket, lost.truncated, lost.refused
            ));
        }
    }
}

fn late(plan: &Plan<'_>, linked: &Linked, warnings: &mut Vec<String>) {
    let Some(smallest) = plan.scenario().groups.iter().map(|group| group.rtt).min() else {
        return;
    };
    let tolerable = smallest * TOLERABLE_LATENESS_PERCENT / 100;
    for direction in Direction::BOTH {
        let name = direction.name();
        let late = linked.report.direction(direction).lateness.p99;
        if late > tolerable {
            warnings.push(format!(
                "the link was late in the {name} direction: p99 {late}, above {TOLERABLE_LATENESS_PERCENT} % of the smallest base RTT of {smallest}; this machine is too slow or too busy"
            ));
        }
    }
}

/// Hosts know groups by number, people by name.
fn with_names(plan: &Plan<'_>, warning: Warning) -> String {
    let groups = &plan.scenario().groups;
    let flow = warning.flow.map(|(group, flow)| (groups.get(group), flow));
    match flow {
        Some((Some(group), flow)) => format!("group {} flow {flow}: {}", group.name, warning.text),
        Some((None, _)) | None => warning.text,
    }
}
