//! `docs/queues.md` and `docs/controls.md` say what the tables say. With `QUELL_BLESS=1` the tests write them anew.

use std::fmt::Write as _;
use std::path::Path;

use quell_aqm::parameter::{Default, Parameter, condition};
use quell_aqm::registry::{Entry, KINDS};
use quell_tcp::cc;

const HEAD: &str = "\
# Queue disciplines

Generated from the registry of `quell-aqm`; `quell queues NAME` prints the same. A parameter marked *live* can change during a run,
by `[[at]]`. Times, rates and amounts are written with their unit (`15ms`, `40mbit`, `64kB`, `100p`).

| kind | what it is | defined by |
| --- | --- | --- |
";

const CONTROLS_HEAD: &str = "\
# Congestion controls

Generated from the tables of `quell-tcp`; `quell cc` prints the same. These are the controls that the simulated world models. A
scenario names one, or gives a table with its options:

```toml
congestion-control = \"cubic\"
congestion-control = { name = \"cubic\", variant = \"linux_3\", beta = 0.8 }
```

The live world runs a control as the host's kernel has it: a name that the kernel knows, and no option other than the default.

| control | what it is | defined by |
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
        "\n## {}\n\n{} Defined by: {}.\n\n",
        entry.name, entry.summary, entry.source
    );
    rows(out, entry.parameters, true);
}

fn rows(out: &mut String, parameters: &[Parameter], with_live: bool) {
    let live = if with_live { " live |" } else { "" };
    let line = if with_live { " --- |" } else { "" };
    let _ = write!(
        out,
        "| parameter | default | must be |{live} source | what it does |\n| --- | --- | --- |{line} --- | --- |\n"
    );
    for parameter in parameters {
        let name = match parameter.opposite {
            Some(opposite) => format!("`{}` (opposite: `{opposite}`)", parameter.name),
            None => format!("`{}`", parameter.name),
        };
        let only = parameter
            .only
            .map(|only| format!(" Only with `{}`.", condition(only)))
            .unwrap_or_default();
        let live = match (with_live, parameter.live) {
            (false, _) => "",
            (true, true) => " yes |",
            (true, false) => " no |",
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} |{live} {} | {}{only} |",
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

fn controls() -> String {
    let mut out = String::from(CONTROLS_HEAD);
    for kind in cc::KINDS {
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} | {2} |",
            kind.name, kind.summary, kind.source
        );
    }
    for kind in cc::KINDS {
        let _ = write!(
            out,
            "\n## {}\n\n{} Defined by: {}.\n\n",
            kind.name, kind.summary, kind.source
        );
        rows(&mut out, kind.parameters, false);
    }
    out
}

fn compare(name: &str, rendered: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("QUELL_BLESS").is_some() {
        std::fs::write(&page, rendered).expect("a page of docs can be written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == rendered,
        "docs/{name} is not current: QUELL_BLESS=1 cargo test -p quell-lab --test docs"
    );
}

#[test]
fn the_page_of_queues_is_that_of_the_registry() {
    compare("queues.md", &rendered());
}

#[test]
fn the_page_of_controls_is_that_of_their_tables() {
    compare("controls.md", &controls());
}
