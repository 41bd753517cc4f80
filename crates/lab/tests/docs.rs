//! `docs/queues.md` says what the registry says. With `QUELL_BLESS=1` the test writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use quell_aqm::parameter::{Default, Parameter};
use quell_aqm::registry::{Entry, KINDS};

const HEAD: &str = "\
# Queue disciplines

Generated from the registry of `quell-aqm`; `quell queues NAME` prints the same. A parameter marked *live* can change during a run,
by `[[at]]`. Times, rates and amounts are written with their unit (`15ms`, `40mbit`, `64kB`, `100p`).

| kind | what it is | defined by |
| --- | --- | --- |
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn default(parameter: &Parameter) -> String {
    match parameter.default {
        Default::Is(text) => format!("`{text}`"),
        Default::By(_, choices) => choices
            .iter()
            .map(|(choice, text)| format!("`{text}` ({choice})"))
            .collect::<Vec<_>>()
            .join(", "),
        Default::Derived(how) => how.to_owned(),
    }
}

fn section(out: &mut String, entry: &Entry) {
    let _ = write!(
        out,
        "\n## {}\n\n{} Defined by: {}.\n\n| parameter | default | must be | live | source | what it does |\n| --- | --- | --- | --- | --- | --- |\n",
        entry.name, entry.summary, entry.source
    );
    for parameter in entry.parameters {
        let name = match parameter.opposite {
            Some(opposite) => format!("`{}` (opposite: `{opposite}`)", parameter.name),
            None => format!("`{}`", parameter.name),
        };
        let only = parameter
            .only
            .map(|(other, word)| format!(" Only with `{other} = \"{word}\"`."))
            .unwrap_or_default();
        let live = if parameter.live { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {live} | {} | {}{only} |",
            cell(&default(parameter)),
            cell(&parameter.domain.to_string()),
            cell(parameter.source),
            cell(parameter.help)
        );
    }
}

fn rendered() -> String {
    let mut out = String::from(HEAD);
    for entry in KINDS {
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} | {2} |",
            entry.name, entry.summary, entry.source
        );
    }
    for entry in KINDS {
        section(&mut out, entry);
    }
    out
}

#[test]
fn the_page_of_queues_is_that_of_the_registry() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queues.md");
    if std::env::var_os("QUELL_BLESS").is_some() {
        std::fs::write(&page, rendered()).expect("docs/queues.md can be written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == rendered(),
        "docs/queues.md is not current: QUELL_BLESS=1 cargo test -p quell-lab --test docs"
    );
}
