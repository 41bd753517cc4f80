//! Which figures of a card are judged, and by whose threshold.

use quell_lab::scenario::{Direction, Setting};
use quell_units::Bytes;
use quell_units::parameter::Value;

use crate::characterize::card::{Card, NotRun, ScenarioRecord};
use crate::characterize::l4s::thresholds;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::PACKET;
use crate::characterize::queue::target;
use crate::characterize::verdict::{Ending, Verdict};

/// Smallest utilisation of a link that bulk flows share.
const UTILISATION: f64 = 0.95;
/// The 99th percentile of the delay is at most so many targets.
const TARGETS: f64 = 5.0;
/// Smallest fairness index of flows with one RTT.
const JAIN: f64 = 0.9;

/// The verdicts on the queue of a card.
pub(crate) fn verdicts(card: &Card, prepared: &Prepared) -> Vec<Verdict> {
    let mut all = Vec::new();
    let target = match target(&prepared.queues[0].spec) {
        Some(Value::Time(time)) => Some(time.as_nanos() as f64 / 1e6),
        _ => None,
    };
    for scenario in &card.scenarios {
        let cell = prepared.cells.iter().find(|cell| {
            cell.test_case.id == scenario.id && cell.queue == 0 && cell.control == scenario.control
        });
        let longest = cell.and_then(|cell| longest_ms(prepared, cell));
        let mut add = |figure: &str, what: String, threshold: f64, unit: &str, at_most: bool| {
            let found = scenario
                .results
                .first()
                .and_then(|first| first.whole.get(figure));
            all.extend(found.map(|&found| Verdict {
                scenario: scenario.id.clone(),
                control: scenario.control.clone(),
                queue: card.queue().to_owned(),
                what,
                source: "quell".to_owned(),
                found,
                threshold,
                unit: unit.to_owned(),
                at_most,
                ending: Ending::of_bounded(&found, threshold, at_most, bounded(figure, longest)),
            }));
        };
        if is_bulk(scenario) {
            let what = "utilisation at least 95 %".to_owned();
            add("utilisation", what, UTILISATION, "", false);
            if let Some(target) = target {
                let most = target * TARGETS;
                let what = format!("P99 of the delay at most 5 × target = {most} ms");
                add("delay_ms.p99", what, most, "ms", true);
            }
        }
        if ["rtt-100", "ecn-100"].contains(&scenario.id.as_str()) {
            let what = "Jain's index of two flows of one RTT at least 0.9".to_owned();
            add("jain", what, JAIN, "", false);
        }
        all.extend(of_l4s(scenario, prepared));
    }
    all
}

/// What the tests of 2020 and RFC 9331 say of every queue of a scenario.
fn of_l4s(scenario: &ScenarioRecord, prepared: &Prepared) -> Vec<Verdict> {
    let mut all = Vec::new();
    for threshold in thresholds::ALL.iter().filter(|one| one.id == scenario.id) {
        for outcome in &scenario.results {
            let cell = prepared.cells.iter().find(|cell| {
                cell.test_case.id == scenario.id
                    && prepared.queues[cell.queue].name == outcome.queue
            });
            let longest = cell.and_then(|cell| longest_ms(prepared, cell));
            let longest = bounded(threshold.figure, longest);
            let holds = cell.is_some_and(|cell| (threshold.holds)(cell.queue_spec()));
            let found = outcome.whole.get(threshold.figure).filter(|_| holds);
            all.extend(found.map(|&found| Verdict {
                scenario: scenario.id.clone(),
                control: None,
                queue: outcome.queue.clone(),
                what: threshold.what.to_owned(),
                source: threshold.source.to_owned(),
                found,
                threshold: threshold.bound,
                unit: threshold.unit.to_owned(),
                at_most: threshold.at_most,
                ending: Ending::of_bounded(&found, threshold.bound, threshold.at_most, longest),
            }));
        }
    }
    all
}

/// What `longest`, a sojourn time, says of a figure: of those of the delay in the queue that it cannot be more.
fn bounded(figure: &str, longest: Option<f64>) -> Option<f64> {
    longest.filter(|_| figure.starts_with("delay_ms."))
}

/// How long a packet waits at most in a queue that is full to its limit, in ms, at the lowest rate of its link; `None` where the queue has
/// no such limit, or others stand beside it.
fn longest_ms(prepared: &Prepared, cell: &Cell) -> Option<f64> {
    let scenario = prepared.resolved(cell).ok()?;
    let [link] = &scenario.links[..] else {
        return None;
    };
    let changes = scenario.changes.iter().flat_map(|change| &change.set);
    let rates = changes.filter_map(|setting| match setting {
        Setting::Rate(side, rate) if side.direction == Direction::Forward => Some(*rate),
        _ => None,
    });
    let rate = rates.chain([link.forward.rate]).min()?;
    let time = match link.forward.queue.settings.applicable_value("limit")? {
        Value::Time(time) => time,
        Value::Bytes(bytes) => rate.time_for(bytes),
        Value::Packets(packets) => rate.time_for(Bytes::new(packets.checked_mul(PACKET)?)),
        _ => return None,
    };
    Some(time.as_nanos() as f64 / 1e6)
}

/// Requirements that ran and have no verdict with these queues.
pub(crate) fn not_judged(card: &Card) -> Vec<NotRun> {
    let of = |scenario: &ScenarioRecord| {
        let is_judged = card.verdicts.iter().any(|one| one.scenario == scenario.id);
        let why = thresholds::why_not(&scenario.id).filter(|_| !is_judged)?;
        Some(NotRun {
            id: scenario.id.clone(),
            title: scenario.title.clone(),
            source: scenario.source.clone(),
            why: why.to_owned(),
        })
    };
    card.scenarios.iter().filter_map(of).collect()
}

/// Whether bulk flows alone use the link, and are enough to fill it.
fn is_bulk(scenario: &ScenarioRecord) -> bool {
    let ids = ["friendly", "aggressive", "mild", "medium", "heavy"];
    ids.contains(&scenario.id.as_str())
}
