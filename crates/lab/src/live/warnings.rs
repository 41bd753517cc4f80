//! What puts a live result in doubt.

use quell_hosts::traffic::{TrafficReport, Warning};
use quell_link::WireValues;
use quell_measure::Direction;
use quell_measure::Summary;
use quell_scenario::figures::{warn_if_idle, warn_if_unmeasured};
use quell_scenario::{Scenario, Side};

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
    not_carried(plan.scenario(), &linked.header_values, &mut warnings);
    warn_if_idle(plan.scenario(), summary, &mut warnings);
    for warning in report.warnings() {
        warnings.push(with_names(plan, warning));
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

/// Values that were to go on in headers and could not.
fn not_carried(scenario: &Scenario, values: &[(Side, WireValues)], warnings: &mut Vec<String>) {
    for (side, values) in values.iter().filter(|(_, values)| values.not_carried > 0) {
        let link = scenario.links[side.hop.index()].name();
        warnings.push(format!(
            "{} of {} packets left {link} ({}) without their value, because their headers cannot carry one (IPv4 that may be fragmented or is); a queue behind gives them its default_value",
            values.not_carried, values.not_carried + values.written, side.direction.name()
        ));
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
                "the link was late in the {name} direction: p99 {late:.3}, above {TOLERABLE_LATENESS_PERCENT} % of the smallest base RTT of {smallest}; this machine is too slow or too busy"
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

#[cfg(test)]
mod tests {
    use quell_measure::Hop;

    use super::*;

    #[test]
    fn values_that_headers_could_not_carry_are_told_by_link_and_direction() {
        let text = include_str!("../../../../scenarios/networks/transit.toml");
        let scenario = Scenario::parse(text).unwrap();
        let side = |hop, direction| Side {
            hop: Hop(hop),
            direction,
        };
        let of = |written, not_carried| WireValues {
            read: 0,
            written,
            not_carried,
        };
        let mut warnings = Vec::new();
        let values = [
            (side(0, Direction::Forward), of(90, 10)),
            (side(1, Direction::Forward), of(90, 0)),
            (side(1, Direction::Reverse), of(0, 3)),
        ];
        not_carried(&scenario, &values, &mut warnings);
        let begins: Vec<&str> = warnings.iter().map(|one| &one[..40]).collect();
        assert_eq!(
            begins,
            [
                "10 of 100 packets left city (forward) wi",
                "3 of 3 packets left transit (reverse) wi"
            ]
        );
    }
}
