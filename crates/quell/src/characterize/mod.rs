//! `quell characterize`: the report card of a queue.

pub(crate) mod arguments;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use quell_experiment::characterize::{Card, Prepared, document};
use quell_lab::printable;
use quell_lab::results::{present, replace, write_text};
use quell_lab::sweep::{self, Options, Store};

use crate::characterize::arguments::Characterize;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::page::Page;
use crate::sweep::{Shown, judge, write_into};

/// Runs what is missing, writes the card, and prints it.
pub(crate) fn characterize(arguments: &Characterize, page: &mut Page) -> Result<(), Failure> {
    let request = arguments.request().map_err(Failure::input)?;
    let jobs = arguments
        .jobs
        .number(request.world)
        .map_err(Failure::input)?;
    let guest = arguments.patience.options(arguments.kernel.clone());
    let guest = guest.map_err(Failure::input)?;
    let prepared = request.prepare().map_err(Failure::input)?;
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| usual(&request.queue));
    write_into(&folder, request.world)?;
    prepared.write(&folder).map_err(Failure::run)?;
    let plan = prepared.plan(&folder, &guest).map_err(Failure::run)?;
    let interrupt = Interrupt::listen()?;
    let store = Store::at(&folder.join("store"));
    let options = Options {
        shard: None,
        jobs,
        retry_failed: true,
        series: false,
        time_limit: None,
        reuse_live: false,
        stop: interrupt.stop(),
    };
    let mut shown = Shown::new();
    let report = sweep::run(&plan, &store, &options, &mut |progress| {
        shown.tell(&progress)
    });
    shown.end();
    let report = report.map_err(|error| interrupt.explain(Failure::run(error)))?;
    if let Some(why) = judge(&report) {
        return Err(interrupt.explain(Failure::failed(why)));
    }
    let card = card(&prepared, &store, jobs, &interrupt)?;
    let json = quell_experiment::characterize::json(&card).map_err(Failure::failed)?;
    write(&card, &json, &folder).map_err(Failure::run)?;
    if arguments.json {
        page.line(json);
        return Ok(());
    }
    let document = document::document(&card);
    page.paragraph(0, &document.title);
    page.blocks(&document.blocks);
    page.gap();
    let shown = folder.display().to_string();
    page.paragraph(
        0,
        &format!(
            "card.html, card.json and every cell are in {}",
            printable(&shown)
        ),
    );
    Ok(())
}

fn card(
    prepared: &Prepared,
    store: &Store,
    jobs: NonZeroUsize,
    interrupt: &Interrupt,
) -> Result<Card, Failure> {
    let card = quell_experiment::characterize::card(prepared, store, jobs, interrupt.stop());
    card.map_err(|error| interrupt.explain(Failure::run(error)))
}

/// Both files, each whole or not at all.
fn write(card: &Card, json: &str, folder: &Path) -> Result<(), quell_lab::RunError> {
    let json = format!("{json}\n");
    replace(&folder.join("card.json"), |new| write_text(new, &json))?;
    let html = present::page(&document::document(card));
    replace(&folder.join("card.html"), |new| write_text(new, &html))?;
    Ok(())
}

/// `results/characterize-QUEUE`, with what is no part of a plain name as `-`.
fn usual(queue: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = queue.replace(|c: char| !is_plain(c), "-");
    Path::new("results").join(format!("characterize-{name}"))
}
