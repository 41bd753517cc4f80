//! What the command line says about the link, and the scenario that is made of it.
//!
//! A scenario file, or one of a link without any limit, is changed by each option: rates, then queues, then single values, then what changes
//! over time. So everything passes the checks of scenario files, and what is wrong is reported with the option that says it.

use std::collections::BTreeSet;
use std::path::Path;

use quell_measure::Direction;
use quell_scenario::tree::{Node, Tree};
use quell_scenario::{Origin, Override, Problem, Problems, Scenario, Template};
use quell_units::{Rate, Time, notation};

use super::files::Files;
use super::repeats::{self, Cycle};
use super::{keys, trace};
use crate::{Error, Result};

/// Figures cover at most this time of the program.
const LONGEST: &str = "24h";
pub(super) const LONGEST_TIME: Time = Time::from_secs(24 * 3_600);
/// Of all queues: a day's packets decide, not the seed.
pub(super) const SEED: u64 = 1;
/// A link without any limit.
const BARE: &str = "schema = 1\nname = \"exec\"\n[link]\nqueue = { kind = \"fifo\", limit = \"100ms\" }\n\
    [link.reverse]\nqueue = { kind = \"fifo\", limit = \"100ms\" }\n[run]\nduration = \"1h\"\n";

/// What the command line says about the link; texts as in scenarios.
#[derive(Debug, Clone, Default)]
pub struct LinkOptions {
    /// Name and content of a scenario file, whose link and changes count.
    pub scenario: Option<(String, String)>,
    /// Rate towards the program.
    pub down: Option<String>,
    /// Rate of the program.
    pub up: Option<String>,
    /// The trace that the rate towards the program follows, `FILE[:KEY=VALUE,…]`.
    pub down_trace: Option<String>,
    /// The trace that the rate of the program follows.
    pub up_trace: Option<String>,
    /// Base RTT that the link adds.
    pub rtt: Option<String>,
    /// The same as a delay one way.
    pub delay: Option<String>,
    /// The share of packets that each direction loses behind its queue, as a number or in percent.
    pub loss: Option<String>,
    /// The longest random delay of a packet behind its queue, in each direction.
    pub jitter: Option<String>,
    /// Queues of each direction that has a rate, `[LINK=]KIND[:PARAMETER=VALUE,…]`: one for each link at most.
    pub queues: Vec<String>,
    /// Queues towards the program.
    pub down_queues: Vec<String>,
    /// Queues of the program's packets.
    pub up_queues: Vec<String>,
    /// `KEY=VALUE` as of `quell run --set`.
    pub sets: Vec<String>,
    /// Times and `KEY=VALUE`: what changes while the program runs.
    pub at: Vec<(String, String)>,
    /// What was read of the files that any of these names.
    pub files: Files,
}

/// What was asked for.
pub(super) struct Asked {
    /// With the groups of the file, which do not count.
    pub(super) scenario: Scenario,
    /// What is probably wrong with the link.
    pub(super) warnings: Vec<String>,
    /// What was understood of each trace.
    pub(super) traces: Vec<String>,
    /// The base RTT that the file says, where it is the result of a program behind a link.
    pub(super) rtt: Option<Time>,
    /// Whether the groups are those of the file.
    pub(super) has_groups: bool,
    /// What comes again after the changes of the scenario.
    pub(super) cycle: Option<Cycle>,
}

/// A change at a time.
struct Planned {
    at: Time,
    key: String,
    value: String,
    /// The option.
    words: String,
}

/// The scenario of these options.
pub(super) fn scenario(options: &LinkOptions) -> Result<Asked> {
    let (file, text) = match &options.scenario {
        Some((file, text)) => (file.as_str(), text.as_str()),
        None => ("options", BARE),
    };
    let mut template = Template::read(file, text)?;
    let names: Vec<String> = template.links().into_iter().map(|(name, _)| name).collect();
    let has_groups = template.has("group");
    if !has_groups {
        // A scenario needs one. What the links of its way delay is a part of its RTT.
        let rtt = if names.len() > 1 { "10s" } else { "0ms" };
        // A program may send both Classic and L4S packets.
        let group = |name: &str, ecn: &str| {
            format!(
                "\n[[group]]\nname = \"{name}\"\nrtt = \"{rtt}\"\napp = \"bulk\"\necn = \"{ecn}\"\n"
            )
        };
        let groups = group("program", "off") + &group("program-l4s", "ect1");
        template = Template::read(file, &format!("{text}{groups}"))?;
    }
    let rtt = template.take("exec").as_ref().and_then(rtt_of);
    keys::refuse_of_one(options, &names).map_err(Error::Options)?;

    let (rates, sets) = (rates(options)?, sets(options, &names, has_groups)?);
    let limits = template.with(&[rates.clone(), sets.clone()].concat())?;
    let limits = limits.links();
    // A scenario of one link wants a rate forward; a program does not, and it is taken away again.
    let is_unlimited = options.scenario.is_none() && matches!(limits[..], [(_, [false, _])]);
    let mut overrides = vec![
        Override::duration(LONGEST),
        Override::set("run.warmup=0s").map_err(Error::Options)?,
        Override::set("run.settle=0s").map_err(Error::Options)?,
        Override::seed(SEED),
    ];
    overrides.extend(is_unlimited.then(|| Override::option("--down", "link.rate", "1gbit")));
    overrides.extend(rates);
    overrides.extend(impairments(options)?);
    overrides.extend(queues(options, &limits).map_err(Error::Options)?);
    overrides.extend(sets);

    let planned = planned(options, &names)?;
    for one in &planned {
        template.change(one.at, &one.key, &one.value);
    }
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let read =
        |overrides: &[Override]| template.loaded(overrides, None, options.files.reader(folder));
    let mut cycle = None;
    let mut loaded = read(&overrides);
    if loaded.as_ref().is_err_and(repeats::are_too_many) {
        let once = planned.iter().map(|one| one.at);
        cycle = template
            .clone()
            .take("at")
            .and_then(|at| Cycle::of(&at, once));
        if let Some(cycle) = cycle {
            let end = cycle.end() + Time::from_nanos(1);
            overrides[0] = Override::duration(&format!("{}ns", end.as_nanos()));
            // Where a cycle is too long, the first answer is the right one.
            loaded = read(&overrides).or(loaded);
        }
    }
    let loaded = loaded.map_err(|problems| named(&problems, &planned))?;
    let mut scenario = loaded.scenario;
    if let Some(cycle) = cycle {
        scenario.run.duration = LONGEST_TIME;
        scenario.changes.retain(|change| change.time < cycle.end());
    }
    // What is said of groups is not about the program.
    let of_links = loaded.warnings.iter();
    let of_links = of_links.filter(|warning| warning.key.starts_with("link."));
    if is_unlimited {
        scenario.links[0].forward.rate = Rate::UNLIMITED;
    }
    Ok(Asked {
        scenario,
        warnings: of_links.map(ToString::to_string).collect(),
        traces: loaded.traces,
        rtt,
        has_groups,
        cycle,
    })
}

/// What `[exec]` of a result says.
fn rtt_of(exec: &Node) -> Option<Time> {
    let Tree::Table(table) = &exec.value else {
        return None;
    };
    match &table.get("rtt")?.value {
        Tree::Scalar(_, text) => notation::time(text).ok(),
        _ => None,
    }
}

/// Of the only link.
fn rates(options: &LinkOptions) -> Result<Vec<Override>> {
    let mut rates = Vec::new();
    for (key, rate, name) in [
        ("link.rate", &options.down, "--down"),
        ("link.reverse.rate", &options.up, "--up"),
    ] {
        let rate = rate.as_ref();
        rates.extend(rate.map(|rate| Override::option(&format!("{name} {rate}"), key, rate)));
    }
    for (key, trace, name) in [
        ("link.rate", &options.down_trace, "--down-trace"),
        ("link.reverse.rate", &options.up_trace, "--up-trace"),
    ] {
        if let Some(text) = trace {
            let is_there = |name: &str| options.files.is_there(name);
            let table = trace::rate(name, text, is_there).map_err(Error::Options)?;
            rates.push(Override::option(&format!("{name} {text}"), key, &table));
        }
    }
    Ok(rates)
}

/// What happens behind both queues of the only link.
fn impairments(options: &LinkOptions) -> Result<Vec<Override>> {
    let mut all = Vec::new();
    for (name, key, given) in [
        ("--loss", "impair.loss", &options.loss),
        ("--jitter", "impair.jitter", &options.jitter),
    ] {
        let Some(text) = given else { continue };
        let argument = format!("{name} {text}");
        let value = match name {
            "--loss" => share(text).map_err(|why| Error::Options(format!("{argument}: {why}")))?,
            _ => text.trim().to_owned(),
        };
        let both = ["link", "link.reverse"];
        all.extend(both.map(|side| Override::option(&argument, &format!("{side}.{key}"), &value)));
    }
    Ok(all)
}

/// A share as a scenario has it. A whole number without a unit is a percentage elsewhere (tc-netem), and all or nothing here.
fn share(text: &str) -> std::result::Result<String, &'static str> {
    let wanted = "must be a share of the packets, such as 1% or 0.01";
    let (number, is_percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text.trim(), false),
    };
    let number: f64 = number.parse().map_err(|_| wanted)?;
    let share = if is_percent { number / 100.0 } else { number };
    let is_clear = is_percent || share < 1.0;
    // Millionths, as in a scenario.
    match is_clear && (0.0..=1.0).contains(&share) {
        true => Ok(format!("{share:.6}")),
        false => Err(wanted),
    }
}

fn sets(options: &LinkOptions, links: &[String], has_groups: bool) -> Result<Vec<Override>> {
    let set = |text: &String| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let wrong = |why: String| format!("--set {text}: {why}");
        let key = keys::full(key.trim(), links).map_err(wrong)?;
        // It checks the form, too.
        Override::set(text)?;
        keys::refuse_to_set(&key, has_groups).map_err(wrong)?;
        let argument = format!("--set {text}");
        Ok(Override::option(&argument, &key, value.trim()))
    };
    let sets = options.sets.iter().map(set);
    sets.collect::<std::result::Result<_, String>>()
        .map_err(Error::Options)
}

/// The queues that were asked for, of the links that have these names and limits.
fn queues(
    options: &LinkOptions,
    links: &[(String, [bool; 2])],
) -> std::result::Result<Vec<Override>, String> {
    let mut overrides = Vec::new();
    let lists = [
        ("--queue", &options.queues, &Direction::BOTH[..]),
        (
            "--down-queue",
            &options.down_queues,
            &[Direction::Forward][..],
        ),
        ("--up-queue", &options.up_queues, &[Direction::Reverse][..]),
    ];
    for (option, list, directions) in lists {
        let mut given: Vec<usize> = Vec::new();
        for text in list {
            let wrong = |why: String| format!("{option} {text}: {why}");
            let position = position(text, links).map_err(wrong)?;
            let (name, limited) = &links[position];
            if given.contains(&position) {
                return Err(wrong(match links.len() {
                    1 => "the link has a queue already".to_owned(),
                    _ => format!("link {name} has a queue already"),
                }));
            }
            given.push(position);
            let all = directions.iter();
            let mut limited = all
                .filter(|direction| limited[direction.index()])
                .peekable();
            if limited.peek().is_none() {
                return Err(wrong(without_rate(option, name, links.len())));
            }
            for direction in limited {
                overrides.extend(match direction {
                    Direction::Forward => Override::queue(text)?,
                    Direction::Reverse => Override::reverse_queue(text)?,
                });
            }
        }
    }
    Ok(overrides)
}

/// The link that the text after `--queue` is about.
fn position(text: &str, links: &[(String, [bool; 2])]) -> std::result::Result<usize, String> {
    let named = text.split_once('=');
    let named = named.map(|(name, _)| name.trim());
    let named = named.filter(|name| !name.contains(':'));
    match (named, links) {
        (None, [_]) => Ok(0),
        (Some(name), _) if links.iter().any(|(other, _)| other == name) => Ok(links
            .iter()
            .position(|(other, _)| other == name)
            .unwrap_or(0)),
        (None, _) => {
            let all: Vec<String> = links
                .iter()
                .map(|(name, _)| format!("{name}={text}"))
                .collect();
            Err(format!(
                "there are {} links, so name one: {}",
                links.len(),
                all.join(" or ")
            ))
        }
        (Some(name), _) => {
            let all: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
            Err(format!(
                "there is no link {name}; links are: {}",
                all.join(", ")
            ))
        }
    }
}

/// A queue in front of what has no limit never fills.
fn without_rate(option: &str, link: &str, links: usize) -> String {
    let needs = match (option, links) {
        ("--queue", 1) => "a rate, such as --rate, --down or --up",
        ("--down-queue", 1) => "a rate towards the program, such as --down or --rate",
        ("--up-queue", 1) => "a rate of the program, such as --up or --rate",
        _ => return format!("link {link} has no rate there, so its queue would never fill"),
    };
    format!("needs {needs}")
}

/// The changes of `--at`, in the order of their times.
fn planned(options: &LinkOptions, links: &[String]) -> Result<Vec<Planned>> {
    let mut all: Vec<Planned> = Vec::new();
    let mut known = BTreeSet::new();
    for (time, change) in &options.at {
        let words = format!("--at {time} {change}");
        let wrong = |why: String| Error::Options(format!("{words}: {why}"));
        let (key, value) = change.split_once('=').ok_or_else(|| {
            wrong("must be a time and KEY=VALUE, such as --at 10s down=5mbit".to_owned())
        })?;
        let (key, value) = keys::of_wish(key, value, links).map_err(wrong)?;
        if !key.starts_with("link.") {
            return Err(wrong("only the link can change".to_owned()));
        }
        let at = notation::time(time.trim()).map_err(|error| wrong(error.to_string()))?;
        if !known.insert((at, key.clone())) {
            return Err(wrong(format!("{key} is set twice at this time")));
        }
        all.push(Planned {
            at,
            key,
            value,
            words,
        });
    }
    all.sort_by_key(|one| one.at);
    Ok(all)
}

/// The problems, with the words of the option where one is at fault.
fn named(problems: &Problems, planned: &[Planned]) -> Error {
    let named = problems.all().iter().map(|problem| {
        let mut problem: Problem = problem.clone();
        if let Origin::Argument(argument) = &problem.origin
            && let Some(one) = planned.iter().find(|one| {
                let (key, value) = (&one.key, &one.value);
                *argument == format!("{key}={value}")
            })
        {
            // The number of the change in the scenario says nothing to who wrote an option.
            let last = problem.key.rsplit('.').next().unwrap_or_default();
            problem.key = match problem.key.ends_with(&one.key) {
                true => one.key.clone(),
                false => last.to_owned(),
            };
            problem.origin = Origin::Argument(one.words.clone());
        }
        problem
    });
    Problems::new(named.collect()).into()
}
