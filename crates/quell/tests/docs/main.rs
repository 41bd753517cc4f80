//! README and docs say what the program does: each number in them has an origin, and what a command prints is what it prints today.
//!
//! Comments in the Markdown, which nobody sees on the page, name the origins ([`markdown`] reads them):
//!
//! ```text
//! <!-- output: quell compare FILE --queue fifo | from queue | until delay, ms -->   the code block below is printed by this
//! <!-- output, Linux 7.2: quell run FILE --world virtual -->                        the same, where such a kernel is at hand
//! <!-- figures: quell demo --json
//! "0.6 ms" = dualpi2/summaries/0/groups/l4s/delay_ms/mean                           the text below says this, rounded as far
//! "70 ms" < fifo:limit=100ms/summaries/0/groups/l4s/delay_ms/p1                     … and this is larger than what it says
//! -->
//! <!-- numbers: measured 2026-11-21 on a two-core EPYC virtual machine: COMMAND -->
//! <!-- numbers: defined by RFC 9332 and crates/aqm/src/disciplines/dualpi2 -->                  from here to the end of the section
//! <!-- numbers: tested by crates/experiment/tests/published -->
//! ```
//!
//! Scenarios on a page are checked, and the options of its commands ([`examples`]); the commands of the tutorial and the guides are
//! run ([`session`]); links lead somewhere ([`links`]); wordings that were hard to read do not come back ([`words`]).
//!
//! A measurement's date also stands where people read it. `make docs-check` compares everything; `cargo test` what the simulator
//! prints. `make bless` writes blocks and rounded figures as they are today; what is said with `<` and `>` is not.

mod command;
mod examples;
mod figures;
mod links;
mod markdown;
mod origin;
mod session;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use command::Runner;
use markdown::{Marker, Page};

use quell_testing::not_run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The names from the root of the pages in `folder` and below it.
fn below(root: &Path, folder: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            below(root, &name, names);
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
}

/// README.md, CONTRIBUTING.md and every page below docs, by their names from the root.
fn pages() -> Vec<Page> {
    let root = root();
    let mut names = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    below(&root, "docs", &mut names);
    names.sort();
    let page = |name: String| {
        let text = fs::read_to_string(root.join(&name)).unwrap();
        Page::new(name, text)
    };
    names.into_iter().map(page).collect()
}

#[test]
fn every_number_has_an_origin() {
    let without: Vec<String> = pages()
        .iter()
        .flat_map(|page| origin::missing(page, &root()))
        .collect();
    assert!(
        without.is_empty(),
        "numbers without an origin (crates/quell/tests/docs/main.rs says how to name one):\n{}",
        without.join("\n")
    );
}

#[test]
fn what_commands_print_is_what_the_pages_show() {
    let everything = std::env::var_os("QUELL_DOCS_CHECK").is_some();
    let bless = quell_testing::bless::blesses();
    let mut runner = Runner::new(&root());
    let mut differences = Vec::new();
    for mut page in pages() {
        let before = page.clone();
        // From the end, so that what is rewritten moves nothing that is still to come.
        for marker in page.markers.clone().into_iter().rev() {
            let (source, line) = match &marker {
                Marker::Output(output) => (&output.source, output.line),
                Marker::Figures(figures) => (&figures.source, figures.line),
                Marker::Numbers(_) | Marker::File(_) => continue,
            };
            let place = format!("{}:{line}", page.name);
            if let Some(kernel) = &source.kernel {
                if !everything {
                    continue;
                }
                if let Err(why) = runner.has_kernel(&before, kernel) {
                    not_run(&format!("docs-check of {place}"), &why);
                    continue;
                }
            }
            let found = match &marker {
                Marker::Output(output) => runner
                    .print(&before, source)
                    .and_then(|printed| output.compare(&mut page.text, &printed, bless)),
                Marker::Figures(wanted) => runner
                    .print(&before, source)
                    .and_then(|printed| figures::compare(wanted, &mut page.text, &printed, bless)),
                Marker::Numbers(_) | Marker::File(_) => Ok(()),
            };
            if let Err(why) = found {
                differences.push(format!("{place}: {}: {why}", source.command));
            }
        }
        if page.text != before.text {
            fs::write(root().join(&page.name), &page.text).unwrap();
        }
    }
    assert!(
        differences.is_empty(),
        "{}\n`make bless` writes the pages anew",
        differences.join("\n")
    );
}
