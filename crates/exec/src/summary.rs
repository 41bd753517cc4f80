//! The summary of a run, and the warnings that put it in doubt.

use quell_link::LinkReport;
use quell_measure::{Direction, FlowResults, Histograms, LinkResults, RunInfo, Summary};
use quell_scenario::{Side, World};
use quell_units::Time;
use serde_json::json;

use crate::link::Linked;
use crate::plan::Plan;
use crate::relay::Counts;

/// The share of the base RTT that the link's lateness may reach, as in `quell run`.
const TOLERABLE_LATENESS_PERCENT: u64 = 5;
/// The same without a base RTT.
const TOLERABLE_LATENESS: Time = Time::from_millis(1);

/// Of fewer packets a percentile of lateness says nothing.
const FEW_PACKETS: u64 = 100;

/// The figures of a link, with `partial` those so far.
pub(crate) fn summarise(
    plan: &Plan,
    world: World,
    linked: &Linked,
    partial: bool,
) -> (Summary, Histograms) {
    let scenario = plan.scenario();
    // Forward, and back what had a rate at any time.
    let is_shown = |link: &&LinkResults| {
        let (hop, direction) = (link.whole.hop, link.whole.direction);
        let has_rules = !link.whole.outside.rules.is_empty();
        direction == Direction::Forward
            || has_rules
            || plan.is_ever_limited(Side { hop, direction })
    };
    let links: Vec<&LinkResults> = linked.results.iter().filter(is_shown).collect();
    let info = RunInfo {
        scenario: scenario.name.clone(),
        world: world.name().to_owned(),
        seed: scenario.run.seeds.first().copied().unwrap_or_default(),
        duration: linked.ended,
        warmup: Time::ZERO,
        partial,
        warnings: Vec::new(),
        groups: Vec::new(),
    };
    let flows = FlowResults {
        whole: Vec::new(),
        phases: linked.results[0]
            .phases
            .iter()
            .map(|_| Vec::new())
            .collect(),
    };
    let histograms = Histograms::new(&[], &links);
    let mut summary = Summary::new(info, &links, &flows);
    let extra = &mut summary.figures.link.extra;
    for (name, direction) in [
        ("lateness_ms", Direction::Forward),
        ("reverse_lateness_ms", Direction::Reverse),
    ] {
        let late = linked.report.direction(direction).lateness;
        let dist = json!({ "p50": ms(late.p50), "p99": ms(late.p99), "max": ms(late.max) });
        extra.insert(name.to_owned(), dist);
    }
    extra.insert("cpu_share".to_owned(), json!(linked.report.cpu_share()));
    (summary, histograms)
}

pub(crate) fn ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// What puts a result in doubt, in the words of `quell run` where it has them.
pub(crate) fn warnings(
    plan: &Plan,
    report: &LinkReport,
    counts: &Counts,
    missing: u64,
) -> Vec<String> {
    let mut warnings = plan.warnings().to_vec();
    let tolerable = match plan.rtt() {
        rtt if rtt.is_zero() => TOLERABLE_LATENESS,
        rtt => rtt * TOLERABLE_LATENESS_PERCENT / 100,
    };
    for direction in Direction::BOTH {
        let name = way(direction);
        let of = report.direction(direction);
        if of.lost.total() > 0 {
            warnings.push(format!(
                "{} packets {name} were lost outside the queue ({} by a full socket, {} too long, {} refused by the interface)",
                of.lost.total(), of.lost.socket, of.lost.truncated, of.lost.refused
            ));
        }
        if of.lateness.p99 > tolerable && of.received >= FEW_PACKETS {
            warnings.push(format!(
                "the link was late {name}: p99 {:.3}, above {tolerable:.3}; this machine is too slow or too busy",
                of.lateness.p99
            ));
        }
    }
    let refused = Counts::get(&counts.refused);
    if refused > 0 {
        warnings.push(format!(
            "{refused} connections were refused: the relay had no room for more"
        ));
    }
    if missing > 0 {
        warnings.push(format!(
            "{missing} packets are missing in packets.pcapng: the disk was too slow"
        ));
    }
    warnings
}

/// A direction, for people.
fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "down",
        Direction::Reverse => "up",
    }
}
