//! Several links in a row: what is impossible together.

use quell_units::Time;

use crate::capacity::rtts;
use crate::places::Places;
use crate::problem::Problem;
use crate::{Group, Scenario};

/// Modelled hosts set no DSCP, and do not look for the MTU of their path.
pub(super) fn rules(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let impair = scenario.side(side).impair.iter();
        for rule in impair.flat_map(|impair| &impair.rules) {
            let [dscp, to_dscp] = [rule.dscp, rule.to_dscp].map(|dscp| Some(dscp?.to_string()));
            let signal = rule.signal.then(|| "true".to_owned());
            for (key, value, lacks) in [
                ("dscp", dscp, "DSCP"),
                ("to-dscp", to_dscp, "DSCP"),
                ("signal", signal, "path MTU discovery"),
            ] {
                let key = format!(
                    "{}.impair.rules.{}.{key}",
                    scenario.side_key(side),
                    rule.name
                );
                let why =
                    format!("the sim world has no {lacks}; leave it out, or use --world virtual");
                problems.extend(value.map(|value| places.problem(&key, value, why)));
            }
        }
    }
}

/// Packets cannot be there before they have left: delays that scatter need a mean, of the base RTT and of the side itself.
pub(super) fn spreads(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for side in scenario.sides() {
        // The widest of those during the run, and the least delay.
        let (mut spread, mut tenths, mut own) = (Time::ZERO, 0, None);
        for impair in scenario.impairs(side) {
            let least = impair.shape.least_delay();
            if impair.spread * least >= spread * tenths && !impair.spread.is_zero() {
                (spread, tenths) = (impair.spread, least);
            }
            let delay = match impair.trace {
                Some(_) => Time::ZERO,
                None => impair.delay,
            };
            own = Some(own.map_or(delay, |least: Time| least.min(delay)));
        }
        if spread.is_zero() {
            continue;
        }
        let groups = 0..scenario.groups.len();
        let rtt = groups.flat_map(|group| rtts(scenario, group)).min();
        let mean = rtt.unwrap_or(Time::MAX) / 2 + own.unwrap_or(Time::ZERO);
        let allowed = if scenario.links.len() > 1 {
            "works where there is one link; use jitter".to_owned()
        } else if mean < spread * tenths / 10 {
            format!(
                "must be at most {}: more than one packet in 100 would be there before it left; the least delay one way is {mean}",
                mean * 10 / tenths
            )
        } else {
            continue;
        };
        let key = format!("{}.impair.spread", scenario.side_key(side));
        problems.push(places.problem(&key, spread, allowed));
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
