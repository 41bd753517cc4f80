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

Generated from the registry of `quell-aqm`: every queue discipline, with its parameters and their defaults. `quell queues NAME` prints the allowed
values and the sources too. A *live* parameter can change during a run, in an `[[at]]`; one with a condition in brackets exists only under it.
Times, rates and amounts are written with their unit (`15ms`, `40mbit`, `64kB`, `100p`). A limit in time follows the link's rate. At any rate a
default holds four packets of 1500 bytes at least; one that is written must hold one at the start, and holds one where the link becomes slower.
[speed.md](../evidence/speed.md#queue-disciplines) lists what a packet costs in each.
";

const CONTROLS_HEAD: &str = "\
# Congestion controls

Generated from the tables of `quell-tcp`: the congestion controls of the simulator, with their options and defaults. `quell cc` prints the allowed
values and the sources too. A scenario names a control, or gives a table with its options:

```toml
congestion-control = \"cubic\"
congestion-control = { name = \"cubic\", variant = \"linux_3\", beta = 0.8 }
```

The virtual and the live world run a control of their kernel: any name that the kernel knows, with every option at its default.
";

const VALUES_HEAD: &str = "\
# Packet values

Functions and markers that give packets their values. `quell values NAME` prints the allowed values and the sources too. A group can have a
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

/// What stands behind the name: the default, and whether it can change.
fn default(parameter: &Parameter) -> String {
    let default = match parameter.default {
        Preset::Is(text) => format!(" = `{text}`"),
        Preset::By(_, choices) => {
            let choices = choices.iter();
            let choices: Vec<String> = choices
                .map(|(choice, text)| format!("`{text}` ({choice})"))
                .collect();
            format!(" = {}", choices.join(", "))
        }
        Preset::Derived(how) => format!(" = {how}"),
        Preset::Required => ", required".to_owned(),
    };
    match parameter.live {
        true => format!("{default}, live"),
        false => default,
    }
}

/// Lines that a page has already, each with its entry.
pub(crate) type Known = Vec<(String, &'static str)>;

/// The head of an entry, and a line for each parameter.
fn section(out: &mut String, entry: &'static Entry, known: &mut Known) {
    let summary = entry.summary.trim_end_matches('.');
    let _ = write!(out, "\n## {}\n\n{summary}.\n", entry.name);
    if !entry.parameters.is_empty() {
        out.push('\n');
        parameters(out, entry.name, entry.parameters, known);
    }
}

/// A line for each parameter that no other entry has in the same words, and the names of the others.
pub(crate) fn parameters(
    out: &mut String,
    entry: &'static str,
    parameters: &[Parameter],
    known: &mut Known,
) {
    let mut shared: Vec<(&str, Vec<String>)> = Vec::new();
    for parameter in parameters {
        let line = line(parameter);
        let Some((_, of)) = known.iter().find(|(other, _)| *other == line) else {
            let _ = writeln!(out, "{line}");
            known.push((line, entry));
            continue;
        };
        let name = format!("`{}`", parameter.name);
        match shared.iter_mut().find(|(other, _)| other == of) {
            Some((_, names)) => names.push(name),
            None => shared.push((of, vec![name])),
        }
    }
    for (of, names) in shared {
        let _ = writeln!(out, "* as for [`{of}`](#{of}): {}.", names.join(", "));
    }
}

/// Name, default, words to choose from, what it does.
fn line(parameter: &Parameter) -> String {
    let only = parameter
        .only
        .map(|only| format!(" (`{}`)", condition(only)));
    let domain = parameter.domain.to_string();
    let words = domain
        .strip_prefix("one of ")
        .map(|words| words.replace('"', "`"));
    let words = words.map_or(String::new(), |words| format!(", one of {words}"));
    let opposite = parameter
        .opposite
        .map(|name| format!(", opposite `{name}`"));
    format!(
        "* `{}`{}{}{words}{}: {}.",
        parameter.name,
        only.unwrap_or_default(),
        default(parameter),
        opposite.unwrap_or_default(),
        sentence(parameter.help)
    )
}

/// The first sentence of a help, or what a long one says before a colon.
pub(crate) fn sentence(help: &str) -> &str {
    let before = |end: &str| help.find(end).map_or(help, |end| &help[..end]);
    let first = [". ", "; "]
        .map(before)
        .into_iter()
        .min_by_key(|text| text.len());
    let first = first.unwrap_or(help).trim_end_matches('.');
    let words = |text: &str| text.split_whitespace().count();
    match first.split_once(": ") {
        Some((short, rest)) if words(short) > 3 && words(rest) > 24 => short,
        _ => first,
    }
}

/// What the head of a discipline says after `label:`, up to the end of the sentence.
fn promise(path: &str, head: &str, label: &str) -> String {
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

fn rendered() -> String {
    let mut out = String::from(HEAD);
    let mut known = Known::new();
    for entry in KINDS {
        let (path, head) = head(entry.name);
        let promises = ["Promises", "Does not"].map(|label| {
            let what = promise(&path, &head, label);
            format!(" *{label}:* {what}")
        });
        let mut text = String::new();
        section(&mut text, entry, &mut known);
        let (title, rest) = text.split_once(".\n").expect("a summary");
        let _ = write!(
            out,
            "{title}.{} [Source](../../{path}).\n{rest}",
            promises.concat()
        );
    }
    out
}

fn controls() -> String {
    let mut out = String::from(CONTROLS_HEAD);
    let mut known = Known::new();
    for kind in cc::KINDS {
        let _ = write!(
            out,
            "\n## {}\n\n{} Defaults of its group: `{}`.\n",
            kind.name,
            kind.summary,
            defaults(kind)
        );
        if !kind.parameters.is_empty() {
            out.push('\n');
            parameters(&mut out, kind.name, kind.parameters, &mut known);
        }
    }
    out
}

fn values() -> String {
    let mut out = String::from(VALUES_HEAD);
    let mut known = Known::new();
    for entry in FUNCTIONS.iter().chain(MARKERS) {
        section(&mut out, entry, &mut known);
        if entry.name == "piecewise" {
            out.push_str("\n`points` is a list of `[rate, value]` pairs. Rates must not fall from point to point; values must fall.\n");
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
