//! The page of cards: what each queue does to each kind of traffic in one picture, a card for every discipline and every modelled
//! control. The page and the pictures are compared with what the simulator gives; `QUELL_BLESS=1` writes them anew.
#![allow(clippy::unwrap_used)]

mod controls;
mod matrix;
mod queues;
pub(crate) mod run;

use std::fs;
use std::path::Path;

const HEAD: &str = "\
# Cards

What each queue does to each kind of traffic, and each congestion control to each queue: the answer of the simulator, in two pictures and two
tables. `quell characterize QUEUE` makes a whole card, with more scenarios, seeds and figures ([guide](../guides/characterize.md)).
Generated from the scenarios of `quell-experiment`, and checked.

";

/// Compares a file of `docs` with what it should be, or writes it.
fn check(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("QUELL_BLESS").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept
        .lines()
        .zip(wanted.lines())
        .find(|(kept, wanted)| kept != wanted);
    assert!(
        kept == wanted,
        "docs/{name} has changed, QUELL_BLESS=1 writes it anew: {differs:?}"
    );
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_page_of_cards_is_what_the_simulator_gives() {
    let (svg, caption) = matrix::picture();
    check("images/cards.svg", &svg);
    let (controls, of_controls, figures) = controls::cards();
    check("images/controls.svg", &controls);
    check("reference/cards-controls.csv", &figures);
    let (of_queues, figures) = queues::cards();
    check("reference/cards-queues.csv", &figures);
    check(
        "reference/cards.md",
        &format!("{HEAD}{caption}{of_queues}{of_controls}"),
    );
}
