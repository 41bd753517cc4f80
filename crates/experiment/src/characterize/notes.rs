//! The notes of a card: what a reader has to know beside its figures.

use quell_lab::World;

use crate::characterize::access;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::profile::{Profile, millis};
use crate::characterize::rates::STEADY;
use crate::characterize::request::Request;
use crate::characterize::suite::Suite;
use crate::characterize::test_case::Run;

/// The notes, in the order of the card.
pub(crate) fn notes(prepared: &Prepared) -> Vec<String> {
    let request = &prepared.request;
    let profile = &request.profile;
    let runs = prepared.cells.iter().filter_map(Cell::run);
    let (own, usual): (Vec<&Run>, Vec<&Run>) =
        runs.partition(|run| run.buffer.is_some() || run.home);
    let has_usual = !usual.is_empty();
    let has_rfc = has_usual && matches!(request.suite, Suite::Rfc7928 | Suite::All);
    let mut notes = of_buffers(request, &own, has_usual, has_rfc);
    notes.extend([
        "Delays are sojourn times in the queue; one-way delays of applications stand with their classes.".to_owned(),
        "Distributions of the delay are of all seeds together, packet by packet.".to_owned(),
        "Flow startup time (RFC 7928 section 2.2) runs from a request, with the connection that it opens, to the first byte of its answer at \
         the user; bulk flows have no request."
            .to_owned(),
    ]);
    notes.extend(of_world(request, has_rfc));
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
    notes
}

/// How much the queues hold, and how congested the link is. `own` are the runs with buffers of their own.
fn of_buffers(request: &Request, own: &[&Run], has_usual: bool, has_rfc: bool) -> Vec<String> {
    let profile = &request.profile;
    let mut notes = Vec::new();
    if has_usual {
        notes.push(format!(
            "The buffer of every queue is one bandwidth-delay product at {} ms: {} packets of 1500 bytes, also where a flow has a longer RTT.",
            millis(profile.rtt),
            profile.buffer()
        ));
    }
    if has_rfc {
        notes.push(
            "N of heavy congestion is 0.114 S as RFC 7928 prints it; its formula gives 0.1147 S."
                .to_owned(),
        );
    }
    if matches!(request.suite, Suite::Access | Suite::All) {
        let [down, up] = access::paths(profile);
        notes.push(format!(
            "The home of the suite access has the profile's rate down, a fifth of it up, and {} ms of base RTT. Its queues hold a \
             bandwidth-delay product: {} packets down, {} up.",
            millis(down.rtt),
            down.buffer(),
            up.buffer()
        ));
    }
    if own.iter().any(|run| run.marks) {
        notes.push(
            "In the suite l4s every queue holds 1000 packets, rates and RTTs are those of the scenarios, and a queue with a parameter ecn has \
             ecn=true, unless it was given otherwise."
                .to_owned(),
        );
    }
    notes
}

/// What is measured packet by packet in the world of the card, or that it is not.
fn of_world(request: &Request, has_rfc: bool) -> Vec<String> {
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
    if request.controls.is_empty() && has_rfc {
        notes.push(
            "NewReno counts ACKs (RFC 5681 equation 3), as the RFC's formula for N assumes; Linux's counts segments and loses about twice as much: --cc reno."
                .to_owned(),
        );
    }
    notes
}
