//! Several links in a row: what is impossible together.

use crate::places::Places;
use crate::problem::Problem;
use crate::{Group, Scenario};

/// Modelled hosts set no DSCP.
pub(super) fn rules(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let impair = scenario.side(side).impair.iter();
        for rule in impair.flat_map(|impair| &impair.rules) {
            for (key, dscp) in [("dscp", rule.dscp), ("to-dscp", rule.to_dscp)] {
                let key = format!(
                    "{}.impair.rules.{}.{key}",
                    scenario.side_key(side),
                    rule.name
                );
                let why = "the sim world has no DSCP; leave it out, or use --world virtual";
                problems.extend(dscp.map(|dscp| places.problem(&key, dscp, why)));
            }
        }
    }
}

/// Links that no group crosses, and different scales of packet values on one path.
pub(super) fn check(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    if scenario.links.len() == 1 {
        return;
    }
    for hop in scenario.hops().iter() {
        let mut groups = scenario.groups.iter();
        if !groups.any(|group| group.path.contain(hop)) {
            let key = format!("{}.name", scenario.link_key(hop));
            let name = &scenario.links[hop.index()].name;
            let allowed = "no group crosses this link; leave it out, or put it into a path";
            problems.push(places.problem(&key, name, allowed));
        }
    }
    for group in scenario.groups.iter().filter(|group| group.value.is_some()) {
        scale(group, scenario, places, problems);
    }
}

/// A packet gets its value in front of its first queue, and the others on its way must read it on the same scale.
fn scale(group: &Group, scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let mut sides = scenario.sides_of(group, group.direction);
    let Some(first) = sides.next() else {
        return;
    };
    let codes = scenario.side(first).codes;
    if let Some(other) = sides.find(|side| scenario.side(*side).codes != codes) {
        let key = format!("{}.bins-per-octave", scenario.side_key(other));
        let allowed = format!(
            "must be {} as {}.bins-per-octave: packets of group {} carry one value over both",
            codes.bins_per_octave(),
            scenario.side_key(first),
            group.name
        );
        let found = scenario.side(other).codes.bins_per_octave();
        problems.push(places.problem(&key, found, allowed));
    }
}

/// The links of a path delay a part of the base RTT.
pub(super) fn delays(
    group: &Group,
    scenario: &Scenario,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    let there_and_back = scenario.delay_of(group.path) * 2;
    if group.rtt < there_and_back {
        let allowed = format!(
            "must be at least {there_and_back}, what the links of its path delay, there and back"
        );
        let key = format!("group.{}.rtt", group.name);
        problems.push(places.problem(&key, group.rtt, allowed));
    }
}
