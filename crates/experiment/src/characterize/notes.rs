//! The notes of a card: what a reader has to know beside its figures.

use quell_lab::World;

use crate::characterize::error::Error;
use crate::characterize::measured::Measured;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::{Profile, millis};
use crate::characterize::rates::STEADY;
use crate::characterize::request::Request;
use crate::characterize::suite::{Part, Values, of_path};
use crate::expression::Template;

/// The notes, in the order of the card. `runs` are those of each cell.
pub(crate) fn notes(prepared: &Prepared, runs: &[Vec<Measured>]) -> Result<Vec<String>, Error> {
    let request = &prepared.request;
    let profile = &request.profile;
    let mut notes = Vec::new();
    if request.seeds.is_none() {
        notes.push(of_seeds(prepared, runs));
    }
    let has_usual = |cell: &Cell| {
        let own = cell.run().is_none_or(|run| run.buffer.is_some());
        !own && cell.test_case.rtt.is_none()
    };
    if prepared.cells.iter().any(has_usual) {
        notes.push(format!(
            "The buffer of every queue is one bandwidth-delay product at {} ms: {} packets of 1500 bytes, also where a flow has a longer RTT.",
            millis(profile.rtt),
            profile.buffer()
        ));
    }
    let runs = |part: &&Part| prepared.cells.iter().any(|cell| part.has(&cell.test_case));
    let parts: Vec<&Part> = request.suite.parts().filter(runs).collect();
    let of_paths = parts
        .iter()
        .flat_map(|part| part.path_note.iter().map(move |note| (part, note)));
    let of_items = parts
        .iter()
        .flat_map(|part| part.notes.iter().map(move |note| (part, note)));
    for (part, note) in of_paths.chain(of_items) {
        notes.push(text(part, note, request)?);
    }
    notes.extend([
        "Delays are sojourn times in the queue; one-way delays of applications stand with their classes.".to_owned(),
        "Distributions of the delay are of all seeds together, packet by packet.".to_owned(),
        "Flow startup time (RFC 7928 section 2.2) runs from a request, with the connection that it opens, to the first byte of its answer at \
         the user; bulk flows have no request."
            .to_owned(),
    ]);
    notes.extend(of_world(request, parts.iter().any(|part| part.has_newreno)));
    if profile.duration != Profile::DURATION {
        notes.push(format!(
            "{} s are measured of each run, not the 60 s of a whole card; times inside the scenarios change in proportion.",
            millis(profile.duration) / 1e3
        ));
    }
    let queues = prepared.queues.iter();
    notes.extend(queues.filter_map(|queue| {
        let note = queue.note.as_ref()?;
        Some(format!("{} has {note}.", queue.name))
    }));
    Ok(notes)
}

/// How many seeds each test case took, in the order of the queues.
fn of_seeds(prepared: &Prepared, runs: &[Vec<Measured>]) -> String {
    let queues: Vec<&str> = prepared.queues.iter().map(|one| &*one.name).collect();
    let mut taken: Vec<(String, Vec<String>)> = Vec::new();
    for (cell, runs) in prepared.cells.iter().zip(runs) {
        let name = cell.test_case.id.clone();
        let name = cell
            .control
            .iter()
            .fold(name, |all, one| format!("{all} {one}"));
        let seeds = runs.len().to_string();
        match taken.last_mut().filter(|(last, _)| *last == name) {
            Some((_, all)) => all.push(seeds),
            None => taken.push((name, vec![seeds])),
        }
    }
    let taken = taken
        .into_iter()
        .map(|(name, all)| format!("{name} {}", all.join("/")));
    format!(
        "Seeds, of {}: {}. A scenario has 3 or 4 with a queue where mean delay, P99 and utilisation are then known within 10 %, 10 where a \
         verdict is still open after 5, else 5. A verdict may be looked at after each, so its interval is that of 99.9 % with 3 and 4, 99.5 % \
         with 5, 95.7 % with 10.",
        queues.join("/"),
        taken.collect::<Vec<_>>().join(", "),
    )
}

/// A note of a suite.
fn text(part: &Part, note: &Template, request: &Request) -> Result<String, Error> {
    let path = part
        .test_cases
        .first()
        .map(|one| one.path(&request.profile));
    let path = path.unwrap_or_else(|| request.profile.clone());
    let newreno = request.newreno();
    let values = Values::new(&part.definition, of_path(&path, &newreno, &newreno));
    Ok(values.text(note)?)
}

/// What is measured packet by packet in the world of the card, or that it is not.
fn of_world(request: &Request, has_newreno: bool) -> Vec<String> {
    if request.world != World::Sim {
        return vec![
            "Not measured in this world: gaps between losses, loss synchronisation, distributions of the goodput, and times to the \
             steady rate."
                .to_owned(),
        ];
    }
    let mut notes = vec![
        "Losses are looked at one by one in a run of the first seed: gaps between them, and the share of flows that lose at once. \
         Distributions of the goodput are of the same run, in windows of ten base RTTs, the longest of the scenario."
            .to_owned(),
        format!(
            "A flow or a class is steady from the start of the first ten base RTTs in which it has {} % of its mean goodput; the time counts \
             from its start, in the warm-up. The RFC has no definition.",
            100.0 * STEADY
        ),
    ];
    if request.controls.is_empty() && has_newreno {
        notes.push(
            "NewReno counts ACKs (RFC 5681 equation 3), as the RFC's formula for N assumes; Linux's counts segments and loses about twice as much: --cc reno."
                .to_owned(),
        );
    }
    notes
}
