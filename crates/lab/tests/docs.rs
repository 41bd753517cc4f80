//! `docs/queues.md` and `docs/controls.md` say what the tables and the sources say. With `QUELL_BLESS=1` the tests write them anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use quell_aqm::parameter::{Default, Parameter, condition};
use quell_aqm::registry::{Entry, KINDS};
use quell_tcp::cc;

const HEAD: &str = "\
# Queue disciplines

Generated from the registry of `quell-aqm` and the heads of its files. `quell queues NAME` prints the parameters too. One marked *live*
can change during a run, by `[[at]]`. Times, rates and amounts are written with their unit (`15ms`, `40mbit`, `64kB`, `100p`). What a
packet costs in each is in [speed.md](speed.md#queue-disciplines); tests without a path are beside the discipline.

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
    let (path, head) = head(entry.name);
    let _ = write!(out, "\nFrom the head of [`{path}`](../{path}):\n\n{head}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the discipline `name` is defined, and what its file says of itself.
fn head(name: &str) -> (String, String) {
    let places = [format!("{name}.rs"), format!("{name}/mod.rs")];
    let paths = places.map(|place| format!("crates/aqm/src/{place}"));
    let path = paths.iter().find(|path| root().join(path).exists());
    let path = path.unwrap_or_else(|| panic!("{name} has no file of its name"));
    let text = fs::read_to_string(root().join(path)).expect("a source file can be read");
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let head: String = lines.fold(String::new(), |head, line| {
        head + unlinked(line.strip_prefix(' ').unwrap_or(line)).as_str() + "\n"
    });
    (path.clone(), head)
}

/// A line without the links that only rustdoc follows: [`name`](path::to::it) and [`name`].
fn unlinked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else {
            break;
        };
        let after = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or(after, |(_, after)| after),
            None => after,
        };
        let _ = write!(out, "{before}`{name}`");
        rest = after;
    }
    out + rest
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

/// All text of the files below `folder`.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources can be read") {
        let path = entry.expect("an entry of it, too").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            *out += &fs::read_to_string(path).expect("a source file can be read");
        }
    }
}

#[test]
fn every_discipline_names_tests_of_its_corner_cases_that_exist() {
    let mut all = String::new();
    for folder in ["src", "tests"] {
        sources(&root().join("crates/aqm").join(folder), &mut all);
    }
    for entry in KINDS {
        let (path, head) = head(entry.name);
        let table = head
            .lines()
            .skip_while(|line| !line.starts_with("| corner"));
        let rows: Vec<&str> = table
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert!(rows.len() > 2, "{path} names no tests of its corner cases");
        let names = rows.iter().flat_map(|row| {
            let cell = row
                .trim_end_matches('|')
                .rsplit('|')
                .next()
                .unwrap_or_default();
            cell.split('`').skip(1).step_by(2)
        });
        for name in names {
            // A module, a file, or the beginning of several names.
            if name.contains("::")
                || name.contains('/')
                || name.ends_with(".rs")
                || name.ends_with(".md")
            {
                continue;
            }
            let name = name.trim_end_matches(['*', '…']);
            assert!(
                all.contains(&format!("fn {name}")) || all.contains(&format!("mod {name}")),
                "{path}: there is no test {name}"
            );
        }
    }
}

fn compare(name: &str, rendered: &str) {
    let page = root().join("docs").join(name);
    if std::env::var_os("QUELL_BLESS").is_some() {
        fs::write(&page, rendered).expect("a page of docs can be written");
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
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
