//! The generated pages of `docs/reference` equal what their tables give: `scenario.md`, `queues.md`, `values.md`, `controls.md`,
//! `applications.md`.
//! `make bless` rewrites them.

#[path = "pages/applications.rs"]
mod applications;
#[path = "pages/scenario.rs"]
mod scenario;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bless::compare_or_bless;
use quell_aqm::disciplines::KINDS;
use quell_aqm::kind::Entry;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::FUNCTIONS;
use quell_lab::World;
use quell_lab::scenario::Scenario;
use quell_lab::scenario::control::defaults;
use quell_tcp::cc;
use quell_units::parameter::{Parameter, Preset, condition};

const HEAD: &str = "\
# Queue disciplines

Every queue discipline, with its parameters. `quell queues NAME` prints the same on the terminal. A parameter marked *live* can change
during a run, in an `[[at]]`. Times, rates and amounts are written with their unit (`15ms`, `40mbit`, `64kB`, `100p`).
A limit in time follows the link's rate. At any rate a default holds four packets of 1500 bytes at least; one that is written must hold one
at the start, and holds one where the link becomes slower.
[speed.md](../evidence/speed.md#queue-disciplines) lists what a packet costs in each. Generated from the registry of `quell-aqm`.

| kind | what it is | defined by |
| --- | --- | --- |
";

const CONTROLS_HEAD: &str = "\
# Congestion controls

The congestion controls of the simulator, with their options. `quell cc` prints the same on the terminal. Generated from the tables of
`quell-tcp`. A scenario names a control, or gives a table with its options:

```toml
congestion-control = \"cubic\"
congestion-control = { name = \"cubic\", variant = \"linux_3\", beta = 0.8 }
```

The virtual and the live world run a control of their kernel: any name that the kernel knows, with every option at its default.

| control | what it is | defined by |
| --- | --- | --- |
";

const VALUES_HEAD: &str = "\
# Packet values

Functions and markers that give packets their values. `quell values` prints the same on the terminal. A group can have a
throughput-value function, which defines what one more bit per second is worth at the flow's rate, and a marker, which writes a value
into each data packet in front of the queue. Acknowledgements carry no value. The [guide](../guides/packet-values.md) explains the idea.
Generated from the tables of `quell-aqm`.

```toml
[link]
bins-per-octave = 64                    # scale of all values in this queue: codes for a factor of two

[value.premium]                         # a function that the scenario defines
kind = \"piecewise\"
points = [[\"1mbit\", 1000000], [\"10mbit\", 20000], [\"10mbit\", 200], [\"1gbit\", 1]]

[[group]]
value = \"premium\"                     # or one of the functions below, or \"none\"

[[group]]
value = { function = \"gold\", marker = \"token_bucket\", depth = \"5ms\" }

[[group]]
value = { function = [\"premium\", \"gold\"], marker = \"multi_timescale\", timescales = 2 }
```

Without `value`, a group is gold in front of a queue that reads values, and unmarked in front of any other queue. A queue that reads
values treats an unmarked packet as worth its `default_value`.

";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn default(parameter: &Parameter) -> String {
    match parameter.default {
        Preset::Is(text) => format!("`{text}`"),
        Preset::By(_, choices) => choices
            .iter()
            .map(|(choice, text)| format!("`{text}` ({choice})"))
            .collect::<Vec<_>>()
            .join(", "),
        Preset::Derived(how) => how.to_owned(),
        Preset::Required => "must be given".to_owned(),
    }
}

fn section(out: &mut String, entry: &Entry) {
    let _ = write!(
        out,
        "\n## {}\n\n{} Defined by: {}.\n\n",
        entry.name, entry.summary, entry.source
    );
    let (path, head) = head(entry.name);
    for label in ["Promises", "Does not"] {
        let _ = writeln!(out, "**{label}:** {}\n", sentence(&path, &head, label));
    }
    rows(out, entry.parameters, true);
    let _ = writeln!(
        out,
        "\nThe law, its deviations and the tests of its corner cases: [`{path}`](../../{path})."
    );
}

/// What the head of a discipline says after `label:`, up to the end of the sentence.
fn sentence(path: &str, head: &str, label: &str) -> String {
    let text = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = text.split_once(&format!("{label}: ")).unwrap_or_else(|| {
        panic!("the head of {path} has no sentence that begins with `{label}:`")
    });
    let end = rest.match_indices(". ").find(|(at, _)| {
        let next = rest[at + 2..].chars().next();
        next.is_some_and(char::is_uppercase)
    });
    format!(
        "{}.",
        end.map_or(rest.trim_end_matches('.'), |(at, _)| &rest[..at])
    )
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the discipline `name` is defined, and what its file says of itself.
fn head(name: &str) -> (String, String) {
    let places = [format!("{name}.rs"), format!("{name}/mod.rs")];
    let paths = places.map(|place| format!("crates/aqm/src/disciplines/{place}"));
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
            "\n## {}\n\n{} Defined by: {}. Defaults of its group: `{}`.\n\n",
            kind.name,
            kind.summary,
            kind.source,
            defaults(kind)
        );
        match kind.parameters {
            [] => out.push_str("No options.\n"),
            options => rows(&mut out, options, false),
        }
    }
    out
}

fn table(out: &mut String, what: &str, entries: &[Entry]) {
    let _ = write!(
        out,
        "| {what} | what it is | defined by |\n| --- | --- | --- |\n"
    );
    for entry in entries {
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} | {2} |",
            entry.name,
            cell(entry.summary),
            cell(entry.source)
        );
    }
    out.push('\n');
}

fn values() -> String {
    let mut out = String::from(VALUES_HEAD);
    table(&mut out, "function", FUNCTIONS);
    table(&mut out, "marker", MARKERS);
    out.truncate(out.trim_end().len());
    out.push('\n');
    for entry in FUNCTIONS.iter().chain(MARKERS) {
        let _ = write!(
            out,
            "\n## {}\n\n{} Defined by: {}.\n\n",
            entry.name,
            entry.summary,
            entry.source.trim_end_matches('.')
        );
        match entry.name {
            "piecewise" => out.push_str("`points` is a list of `[rate, value]` pairs. Rates must not fall from point to point; values must fall.\n\n"),
            _ if entry.parameters.is_empty() => out.push_str("No parameters.\n"),
            _ => {}
        }
        if !entry.parameters.is_empty() {
            rows(&mut out, entry.parameters, false);
        }
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
        assert!(
            !rows.is_empty(),
            "{path} names no tests of its corner cases"
        );
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
    let page = root().join("docs/reference").join(name);
    compare_or_bless(&page, rendered);
}

#[test]
fn the_page_of_queues_is_that_of_the_registry() {
    compare("queues.md", &rendered());
}

#[test]
fn the_page_of_controls_is_that_of_their_tables() {
    compare("controls.md", &controls());
}

#[test]
fn the_page_of_values_is_that_of_their_tables() {
    compare("values.md", &values());
}

#[test]
fn the_example_of_values_is_right() {
    let example = VALUES_HEAD.split("```toml\n").nth(1).expect("an example");
    let example = example.split("```").next().unwrap_or_default();
    let mut text = String::from("schema = 1\nname = \"values\"\n");
    for (index, line) in example.lines().enumerate() {
        let _ = writeln!(text, "{line}");
        let _ = match line {
            "[link]" => writeln!(
                text,
                "rate = \"40mbit\"\nqueue = {{ kind = \"drop_min_value\" }}"
            ),
            "[[group]]" => writeln!(
                text,
                "name = \"g{index}\"\nrtt = \"10ms\"\napp = {{ kind = \"bulk\" }}"
            ),
            _ => Ok(()),
        };
    }
    text += "[run]\nduration = \"1s\"\n";
    let loaded = Scenario::load("docs/reference/values.md", &text, &[], Some(World::Sim));
    let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}
