//! `docs/reference/scenario.md`: every key of a scenario file, from the table of keys.

use std::fmt::Write as _;

use quell_lab::World;
use quell_lab::scenario::keys::{KEYS, Key, Section};
use quell_lab::scenario::start::STARTS;
use quell_lab::scenario::{Override, Scenario};

use super::{compare, sentence};

const HEAD: &str = "\
# The scenario file

Generated from the table of keys by which scenarios are checked. `quell keys NAME` explains a key with all allowed values and an example,
`quell schema` prints the same for editors, as JSON Schema. `quell check FILE` says what is wrong with a file, and in which worlds it runs.
`quell new NAME` writes one to start from:

";

const EXAMPLE: &str = r#"schema = 1
name = "evening"

[link]
rate = "100mbit"
queue = { kind = "dualpi2", target = "15ms" }   # or its name alone: queue = "dualpi2"

[link.reverse]
rate = "20mbit"
queue = "fq_codel"

[[group]]
name = "downloads"
count = 2
congestion-control = "cubic"
rtt = "20ms"
app = "bulk"

[[group]]
name = "call"
rtt = "20ms"
app = { kind = "cbr", size = "200B", interval = "20ms" }

[[at]]
time = "30s"
set = { "link.rate" = "50mbit", "group.downloads.count" = 8 }

[run]
duration = "60s"
warmup = "10s"
seeds = [1, 2, 3]
"#;

const UNITS: &str = "\
## How quantities are written

A number and its unit in quotes. A number without a unit is refused where it would be one thing in one tool and another in the next.

| quantity | units | example | in other tools |
| --- | --- | --- | --- |
| time | `ns`, `us` or `µs`, `ms`, `s`, `min`, `h` | `\"15ms\"` | tc: `5msec` or, without a unit, microseconds |
| rate | `bit`, `kbit`, `mbit`, `gbit`, `tbit` a second, in steps of 1000; upper or lower case | `\"40mbit\"` | tc: `40mbit`, but `40mbps` is megabytes a second there; iperf3: `40M` |
| amount of data | `B`, `kB`, `MB`, `GB` in steps of 1000; `KiB`, `MiB`, `GiB` in steps of 1024 | `\"64kB\"` | tc: `64k` and `64kb` are in steps of 1024 |
| packets | `p`, or the number alone | `\"100p\"` | tc: the number alone |
| a queue's limit | any of amount, packets, or time at the link's rate | `\"100ms\"` | |
";

/// What a section is, for its heading; `None` where its keys stand with those of another.
fn title(section: Section) -> &'static str {
    match section {
        Section::Root => "The file",
        Section::Link => "The link: `[link]`",
        Section::Reverse => "The other direction: `[link.reverse]`",
        Section::Trace => "A link that follows a trace: `rate = { … }`",
        Section::Medium => "A shared medium: `access = { … }`",
        Section::Impair => "Losses and delays behind the queue: `impair = { … }`",
        Section::Rule => "Rules for packets: `rules = [{ … }]` of `impair`",
        Section::Remark => "Networks with packet values of their own: `remark = [{ … }]`",
        Section::Group => "Flows: `[[group]]`",
        Section::CongestionControl => "A congestion control with options",
        Section::Receiver => "The receiving host: `receiver = { … }`",
        Section::Value => "A packet value with a marker",
        Section::App => "Applications",
        Section::Interval => "The interval of datagrams",
        Section::Period => "Periods: `on`, `off`, `repeat`",
        Section::At => "Changes: `[[at]]`",
        Section::Expect => "Expectations: `[[expect]]`",
        Section::Run => "The run: `[run]`",
    }
}

fn introduction(section: Section) -> &'static str {
    match section {
        Section::Root => "A scenario is TOML. Keys of tables are in the sections below.",
        Section::Link => "Parameters of queues are in [queues.md](queues.md).",
        Section::Trace => {
            "Instead of a rate, `rate` may be a table with a trace, in both directions; [links.md](../guides/links.md#links-that-follow-a-trace) \
             has the formats. Results keep the trace itself, as `data`."
        }
        Section::Medium => {
            "The same keys in both directions. What the model leaves out is in [limitations.md](../limitations.md)."
        }
        Section::Impair => {
            "The same keys in both directions. Losses count as `lost_outside`, not as drops of the queue."
        }
        Section::Rule | Section::Receiver => "",
        Section::Remark => {
            "One table for each network; [packet-values.md](../guides/packet-values.md#across-networks) has an example."
        }
        Section::Group => {
            "A table `[[group]]` for each kind of flow; all flows of a group are alike."
        }
        Section::CongestionControl => {
            "Instead of a name, `congestion-control` may be a table with the name and the control's [options](controls.md). The live world runs a control as the kernel has it, with its default options. The virtual world gives its kernel the options that [virtual.md](../guides/virtual.md#quells-own-congestion-controls) lists."
        }
        Section::Value => {
            "Instead of a name, `value` may be a table with a function, a marker and the marker's [parameters](values.md)."
        }
        Section::App => {
            "`app = \"bulk\"` is short for `app = { kind = \"bulk\" }`. Parameters of each kind are in [applications.md](applications.md), its figures in [results.md](results.md#what-the-applications-report)."
        }
        Section::Interval => "A time alone is the mean, without deviation.",
        Section::Period => "A time alone is a fixed length.",
        Section::At => {
            "A table `[[at]]` for each instant, in the order of time. What can change: `link.rate`, `link.reverse.rate` (`0bit` is an outage), \
             the keys of `impair`, `group.NAME.count` and `rtt`, the parameters of queues that [queues.md](queues.md) calls live, and as `group.NAME.app.PARAMETER` those of \
             applications that can change: what a group does next follows the new value at once."
        }
        Section::Expect => "A table `[[expect]]` for each [condition](results.md#expectations).",
        Section::Reverse | Section::Run => "",
    }
}

fn page() -> String {
    let mut out = String::from(HEAD);
    for start in STARTS {
        let _ = writeln!(out, "* `quell new {}`: {}", start.name, start.summary);
    }
    let _ = write!(out, "\nA whole file:\n\n```toml\n{EXAMPLE}```\n\n{UNITS}");
    let mut known: Vec<String> = Vec::new();
    for section in Section::ALL {
        let _ = write!(out, "\n## {}\n", title(*section));
        if !introduction(*section).is_empty() {
            let _ = write!(out, "\n{}\n", introduction(*section));
        }
        // The parameters of applications have a page of their own.
        if *section == Section::App {
            continue;
        }
        out.push('\n');
        let mut shared = Vec::new();
        for key in section.keys() {
            let line = line(key);
            if known.contains(&line) {
                shared.push(format!("`{}`", key.name));
            } else {
                let _ = writeln!(out, "{line}");
                known.push(line);
            }
        }
        if !shared.is_empty() {
            let _ = writeln!(out, "* as above: {}.", shared.join(", "));
        }
    }
    out
}

/// What a key is, in a line.
fn line(key: &Key) -> String {
    let only = key.only.map_or(String::new(), |kind| format!(" ({kind})"));
    let default = match key.default.words() {
        Some(words) => format!(" = {words}"),
        None => ", required".to_owned(),
    };
    let domain = key.domain.to_string();
    let words = domain
        .strip_prefix("one of ")
        .map(|words| words.replace('"', "`"));
    let words = words.map_or(String::new(), |words| format!(", one of {words}"));
    let live = if key.live { ", live" } else { "" };
    let worlds = match key.worlds.len() == World::ALL.len() {
        true => String::new(),
        false => {
            let names: Vec<&str> = key.worlds.iter().map(|world| world.name()).collect();
            format!("; only in the {} world", names.join(" and "))
        }
    };
    format!(
        "* `{}`{only}{default}{words}{live}: {}{worlds}.",
        key.name,
        sentence(key.help)
    )
}

/// The example under its heading.
fn example(key: &Key) -> String {
    match key.heading() {
        "" => format!("{}\n", key.example),
        heading => format!("{heading}\n{}\n", key.example),
    }
}

#[test]
fn the_page_of_the_scenario_file_is_that_of_the_table_of_keys() {
    compare("scenario.md", &page());
}

/// A plain scenario, into which examples are put.
const PLAIN: &str = r#"schema = 1
name = "plain"
[link]
rate = "40mbit"
queue = "drop_min_value"
[link.reverse]
rate = "40mbit"
queue = "drop_min_value"
[[group]]
name = "downloads"
rtt = "40ms"
app = "bulk"
[[at]]
time = "20s"
set = { "group.downloads.count" = 2 }
[[expect]]
that = "jain > 0"
[run]
duration = "60s"
"#;

/// `PLAIN` with what `example` says instead.
fn with(example: &str) -> String {
    let mut whole: toml::Table = PLAIN.parse().expect("TOML");
    let mut part: toml::Table = example
        .parse()
        .unwrap_or_else(|error| panic!("{example}: {error}"));
    // The application of datagrams has no control that `value` or `gso` would need; nothing else depends on another.
    if example.contains("accecn") {
        // Which nobody else asks for.
        let mut prague = with_control("prague");
        merge(&mut whole, &mut prague);
    }
    merge(&mut whole, &mut part);
    if example.contains("kind = \"program\"") {
        // Of which there is always one.
        whole.remove("at");
    }
    whole.to_string()
}

fn with_control(name: &str) -> toml::Table {
    let text = format!("group = [{{ congestion-control = \"{name}\" }}]");
    text.parse().expect("TOML")
}

fn merge(whole: &mut toml::Table, part: &mut toml::Table) {
    for (key, value) in std::mem::take(part) {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(there)), toml::Value::Table(mut new))
                if key == "link" || key == "reverse" =>
            {
                merge(there, &mut new);
            }
            (Some(toml::Value::Table(there)), toml::Value::Table(mut new)) if key == "run" => {
                merge(there, &mut new);
            }
            (Some(toml::Value::Array(there)), toml::Value::Array(new))
                if ["group", "at", "expect"].contains(&key.as_str()) =>
            {
                for (one, other) in there.iter_mut().zip(new) {
                    if let (toml::Value::Table(one), toml::Value::Table(mut other)) = (one, other) {
                        merge(one, &mut other);
                    }
                }
            }
            // A second link behind it; the change of the plain one would have to name one of both.
            (Some(toml::Value::Table(there)), toml::Value::Array(new)) if key == "link" => {
                let second = there.clone();
                for one in new {
                    if let toml::Value::Table(mut one) = one {
                        merge(there, &mut one);
                    }
                }
                let links = vec![there.clone().into(), second.into()];
                whole.insert(key, toml::Value::Array(links));
                whole.remove("at");
            }
            (_, value) => drop(whole.insert(key, value)),
        }
    }
}

/// Each is read in every world that the table names, and refused in every other; and it gives the key that it is for.
#[test]
fn every_example_is_right_in_the_worlds_that_its_key_works_in() {
    for key in KEYS.iter() {
        let example = example(key);
        let text = with(&example);
        for world in World::ALL {
            // The only files that examples name are traces.
            let files = Box::new(|_: &str, _: &_| {
                Ok("time_s,rate_mbps,delay_ms\n0,12,5\n5,6,9\n".to_owned())
            });
            let loaded = Scenario::load_with_files("example", &text, &[], Some(*world), files);
            let works = key.worlds.contains(world);
            match loaded {
                Ok(_) => assert!(works, "{} works in {world:?}", key.path()),
                Err(problems) => assert!(!works, "{}: {problems}\n{text}", key.path()),
            }
        }
        assert!(
            key.example.contains(&format!("{} = ", key.name))
                || key.example.starts_with(&format!("{}.", key.name)),
            "{} is not in its example {}",
            key.path(),
            key.example
        );
    }
}

#[test]
fn the_example_of_a_whole_file_is_right_in_every_world() {
    for world in World::ALL {
        let loaded = Scenario::load("docs/reference/scenario.md", EXAMPLE, &[], Some(*world));
        let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    }
}

/// What the table of units says of other tools' notations is what a check answers.
#[test]
fn notations_of_other_tools_are_refused_with_what_would_be_right() {
    for (argument, proposed) in [
        ("link.rate=40mbps", "\"40mbit\", or \"320mbit\" for bytes"),
        ("link.rate=40M", "write \"40mbit\""),
        ("group.downloads.rtt=5msec", "write \"5ms\""),
        (
            "link.queue.limit=64kb",
            "write \"64kB\" (1000) or \"64KiB\" (1024)",
        ),
    ] {
        let change = Override::set(argument).expect("KEY=VALUE");
        let text = EXAMPLE.replace("{ kind = \"dualpi2\", target = \"15ms\" }", "\"fifo\"");
        let refused =
            Scenario::load("f", &text, &[change], None).expect_err("another tool's notation");
        assert!(refused.to_string().contains(proposed), "{refused}");
    }
}
