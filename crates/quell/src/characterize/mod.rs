//! `quell characterize`: the report cards of queues.

pub(crate) mod arguments;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use quell_experiment::characterize::verdict::Ending;
use quell_experiment::characterize::{Card, Prepared, card, document, json, simulated};
use quell_lab::results::present::{Block, Role, Table};
use quell_lab::results::{present, replace, write_text};
use quell_lab::sweep::{self, Options, Plan, Store};
use quell_lab::{GuestOptions, RunError, World, printable};

use crate::characterize::arguments::Characterize;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::page::{Page, complain};
use crate::sweep::{Shown, judge, write_into};

/// Runs what is missing, writes the cards, and prints the only one, or a line of each.
pub(crate) fn characterize(arguments: &Characterize, page: &mut Page) -> Result<(), Failure> {
    let requests = arguments.requests().map_err(Failure::input)?;
    let world = requests[0].world;
    let jobs = arguments.jobs.number(world).map_err(Failure::input)?;
    let guest = arguments.patience.options(arguments.kernel.clone());
    let guest = guest.map_err(Failure::input)?;
    let several = requests.len() > 1;
    let mut all: Vec<(Prepared, PathBuf)> = Vec::new();
    for request in &requests {
        let folder = match &arguments.out {
            Some(out) if !several => out.clone(),
            Some(out) => out.join(usual(&request.queue)),
            None => Path::new("results").join(usual(&request.queue)),
        };
        all.push((request.prepare().map_err(Failure::input)?, folder));
    }
    let shared = arguments.store.clone();
    let shared = shared.unwrap_or_else(|| Path::new("results").join("characterize"));
    for (prepared, folder) in &all {
        write_into(folder, world)?;
        prepared.write(folder).map_err(Failure::run)?;
    }
    if world == World::Sim {
        write_into(&shared, world)?;
    }
    let interrupt = Interrupt::listen()?;
    let mut table = Table::new([
        ("queue", Role::Label),
        ("met", Role::Figure),
        ("missed", Role::Figure),
        ("open", Role::Figure),
        ("card", Role::Word),
    ]);
    for (prepared, folder) in &all {
        let store = match world {
            // What a power failure takes is soon simulated again; waiting for the disk takes longer.
            World::Sim => Store::for_a_while(&shared),
            // Another plan there would be another card.
            World::Virtual | World::Live => Store::at(&folder.join("store")),
        };
        let card = made(prepared, &store, jobs, &guest, &interrupt);
        let card = card.map_err(|error| interrupt.explain(Failure::run(error)))?;
        let text = json(&card).map_err(Failure::failed)?;
        write(&card, &text, folder).map_err(Failure::run)?;
        let shown = folder.display().to_string();
        if arguments.json {
            page.line(text);
        } else if several {
            table.row(row(&card, shown));
        } else {
            let document = document::document(&card);
            page.paragraph(0, &document.title);
            page.blocks(&document.blocks);
            page.gap();
            let shown = printable(&shown);
            page.paragraph(0, &format!("card.html and card.json are in {shown}"));
        }
    }
    if several && !arguments.json {
        page.blocks(&[Block::Table(table)]);
    }
    Ok(())
}

/// A card among several: its queue, how its verdicts ended, and where it is.
fn row(card: &Card, folder: String) -> [String; 5] {
    let ended = |ending| {
        let own = card.verdicts.iter().filter(|one| one.queue == card.queue());
        own.filter(|one| one.ending == ending).count().to_string()
    };
    let [met, missed, open] = [Ending::Met, Ending::Missed, Ending::Open].map(ended);
    [card.queue().to_owned(), met, missed, open, folder]
}

/// The card of the runs in a store, or in the simulator of runs that are not kept if the store cannot be written.
fn made(
    prepared: &Prepared,
    store: &Store,
    jobs: NonZeroUsize,
    guest: &GuestOptions,
    interrupt: &Interrupt,
) -> Result<Card, RunError> {
    let options = Options {
        shard: None,
        jobs,
        retry_failed: true,
        series: false,
        time_limit: None,
        reuse_live: false,
        stop: interrupt.stop(),
    };
    let mut fill = |plan: &Plan| {
        let mut shown = Shown::new();
        let report = sweep::run(plan, store, &options, &mut |progress| {
            shown.tell(&progress);
        });
        shown.end();
        match judge(&report?) {
            Some(why) => Err(RunError::Failed(why)),
            None => Ok(()),
        }
    };
    match card(prepared, store, guest, &mut fill) {
        Err(RunError::Results(error)) if prepared.request.world == World::Sim => {
            complain(&format!("note: the runs are not kept: {error}"));
            simulated(prepared, jobs, interrupt.stop())
        }
        other => other,
    }
}

/// Both files, each whole or not at all.
fn write(card: &Card, json: &str, folder: &Path) -> Result<(), RunError> {
    let json = format!("{json}\n");
    replace(&folder.join("card.json"), |new| write_text(new, &json))?;
    let html = present::page(&document::document(card));
    replace(&folder.join("card.html"), |new| write_text(new, &html))?;
    Ok(())
}

/// `characterize-QUEUE`, with what is no part of a plain name as `-`.
fn usual(queue: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = queue.replace(|c: char| !is_plain(c), "-");
    format!("characterize-{name}")
}
