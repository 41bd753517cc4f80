//! What the statements of a suite say of a card's figures.

use std::sync::Arc;

use quell_lab::scenario::{Direction, Setting};
use quell_units::Bytes;
use quell_units::parameter::Value as Parameter;

use crate::characterize::card::{Card, NotRun, Outcome, ScenarioRecord};
use crate::characterize::error::Error;
use crate::characterize::figures::Figure;
use crate::characterize::measured::Measured;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::PACKET;
use crate::characterize::queue::{marks, number, target};
use crate::characterize::suite::{Part, Statement, Values, of_path};
use crate::characterize::verdict::{Ending, Verdict};
use crate::expression::Value;

/// The verdicts on the queues of a card.
pub(crate) fn verdicts(card: &Card, prepared: &Prepared) -> Result<Vec<Verdict>, Error> {
    let mut all = Vec::new();
    for scenario in &card.scenarios {
        let cells: Vec<(&Outcome, &Cell)> = cells(scenario, prepared).collect();
        for part in prepared.request.suite.parts() {
            for statement in &part.statements {
                for (outcome, cell) in &cells {
                    if let Some(found) = found(statement, outcome) {
                        all.extend(verdict(part, statement, found, cell, prepared)?);
                    }
                }
            }
        }
    }
    Ok(all)
}

/// Whether a verdict on a cell with these runs is open.
pub(crate) fn is_open(prepared: &Prepared, cell: &Cell, runs: &[Measured]) -> Result<bool, Error> {
    for part in prepared.request.suite.parts() {
        for statement in &part.statements {
            let named = |run: &Measured| match &statement.group {
                None => run.whole.get(&statement.figure).copied(),
                Some(group) => {
                    let class = run.classes.iter().find(|(name, _)| name == group)?;
                    class.1.get(&statement.figure).copied()
                }
            };
            let values: Vec<f64> = runs.iter().filter_map(named).collect();
            let Some(found) = Figure::of(&values) else {
                continue;
            };
            let verdict = verdict(part, statement, found, cell, prepared)?;
            if verdict.is_some_and(|verdict| verdict.ending == Ending::Open) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The outcomes of a scenario with their cells.
fn cells<'a>(
    scenario: &'a ScenarioRecord,
    prepared: &'a Prepared,
) -> impl Iterator<Item = (&'a Outcome, &'a Cell)> {
    let of_outcome = |outcome: &'a Outcome| {
        let cell = prepared.cells.iter().find(|cell| {
            cell.test_case.id == scenario.id
                && cell.control == scenario.control
                && prepared.queues[cell.queue].name == outcome.queue
        });
        Some((outcome, cell?))
    };
    scenario.results.iter().filter_map(of_outcome)
}

fn verdict(
    part: &Part,
    statement: &Statement,
    found: Figure,
    cell: &Cell,
    prepared: &Prepared,
) -> Result<Option<Verdict>, Error> {
    if !part.has(&cell.test_case) {
        return Ok(None);
    }
    let values = Values::new(&part.definition, of_cell(cell, prepared));
    let holds = match &statement.filter {
        Some(filter) => values.value(filter)?.holds(),
        None => true,
    };
    // A queue without a target has no bound that follows from it.
    let bound = values.value(&statement.bound)?.number().filter(|_| holds);
    let Some(threshold) = bound else {
        return Ok(None);
    };
    let longest = match statement.figure.starts_with("delay_ms.") {
        true => longest_ms(prepared, cell),
        false => None,
    };
    let interval = found.at(prepared.request.level_of_verdict(found.n));
    Ok(Some(Verdict {
        scenario: cell.test_case.id.clone(),
        control: cell.control.clone(),
        queue: prepared.queues[cell.queue].name.clone(),
        what: values.text(&statement.what)?,
        source: statement.source.clone(),
        found,
        threshold,
        unit: unit(&statement.figure).to_owned(),
        at_most: statement.at_most,
        ending: Ending::of_bounded(&interval, threshold, statement.at_most, longest),
    }))
}

/// The figure that a statement is about.
fn found(statement: &Statement, outcome: &Outcome) -> Option<Figure> {
    let figures = match &statement.group {
        None => &outcome.whole,
        Some(name) => {
            &outcome
                .classes
                .iter()
                .find(|one| one.name == *name)?
                .figures
        }
    };
    figures.get(&statement.figure).copied()
}

/// The unit that the name of a figure says.
fn unit(figure: &str) -> &'static str {
    let name = figure.trim_end_matches(".mean").trim_end_matches(".p99");
    let units = [("_ms", "ms"), ("_bps", "bit/s"), ("_s", "s")];
    let unit = units.iter().find(|(end, _)| name.ends_with(end));
    unit.map_or("", |(_, unit)| unit)
}

/// The values of names for a cell.
fn of_cell(cell: &Cell, prepared: &Prepared) -> Vec<(&'static str, Value)> {
    let (request, spec) = (&prepared.request, cell.queue_spec());
    let newreno = request.newreno();
    let control = cell.control.clone().unwrap_or_else(|| newreno.clone());
    let path = cell.test_case.path(&request.profile);
    let text = |text: &str| Value::Text(text.to_owned());
    let target = match target(spec) {
        Some(Parameter::Time(time)) => Some(time.as_nanos() as f64 / 1e6),
        _ => None,
    };
    let mut values = of_path(&path, &newreno, &control);
    values.extend([
        ("item", text(&cell.test_case.id)),
        ("kind", text(spec.split(':').next().unwrap_or(spec))),
        ("marks", Value::Flag(marks(spec) == Some(true))),
        (
            "flows",
            number(spec, "flows").map(|flows| flows as f64).into(),
        ),
        ("target", target.into()),
        ("is_card", Value::Flag(cell.queue == 0)),
    ]);
    values
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
        Parameter::Time(time) => time,
        Parameter::Bytes(bytes) => rate.time_for(bytes),
        Parameter::Packets(packets) => rate.time_for(Bytes::new(packets.checked_mul(PACKET)?)),
        _ => return None,
    };
    Some(time.as_nanos() as f64 / 1e6)
}

/// Test cases that ran and have no verdict with these queues, though they are there for one.
pub(crate) fn not_judged(card: &Card, prepared: &Prepared) -> Vec<NotRun> {
    let mut all: Vec<NotRun> = Vec::new();
    for scenario in &card.scenarios {
        let is_judged = card.verdicts.iter().any(|one| one.scenario == scenario.id);
        let mut cells = cells(scenario, prepared);
        let test_case = cells.next().map(|(_, cell)| Arc::clone(&cell.test_case));
        if let Some(test_case) = test_case.filter(|_| !is_judged)
            && let Some(why) = &test_case.unjudged
        {
            all.push(NotRun::new(&test_case, why));
        }
    }
    all
}
