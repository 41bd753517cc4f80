//! What the command line says about the link, and what is asked for by it.
//!
//! Texts are read here, once. What they ask for keeps the words of its option, so that whatever the checks of scenario files find wrong later
//! is reported with it.

use std::collections::BTreeSet;

use quell_measure::Direction;
use quell_scenario::Override;
use quell_units::{Time, notation};

use super::connections::PlannedCut;
use super::files::Files;
use super::request::{Base, LONGEST_TIME, Planned, Request};
use super::{keys, rules, trace};
use crate::error::Result;
use crate::option_error::OptionError;

/// What the command line says about the link; texts as in scenarios.
#[derive(Debug, Clone, Default)]
pub struct LinkOptions {
    /// Name and content of a scenario file, whose link and changes count.
    pub scenario: Option<(String, String)>,
    /// Rate towards the program.
    pub down: Option<String>,
    /// Rate of the program.
    pub up: Option<String>,
    /// The trace that the way towards the program follows, `FILE[:KEY=VALUE,…]`: its rate, delay and losses, as far as they are in it.
    pub down_trace: Option<String>,
    /// The trace that the way from the program follows.
    pub up_trace: Option<String>,
    /// Base RTT that the link adds.
    pub rtt: Option<String>,
    /// The same as a delay one way.
    pub delay: Option<String>,
    /// What happens to packets behind the queues: keys of `impair`, with `down-` or `up-` in front for one direction, and values. Shares are
    /// numbers or in percent. A `rule` may stand there several times.
    pub impairments: Vec<(String, String)>,
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

impl LinkOptions {
    /// What these options ask for.
    pub(super) fn read(&self) -> Result<Request> {
        let base = Base::read(self.scenario.as_ref())?;
        let (links, has_groups) = (base.links(), base.has_groups());
        refuse_of_one(self, &links)?;
        let (rates, sets) = (rates(self)?, sets(self, &links, has_groups)?);
        let limits = base.limits(&rates, &sets)?;
        let is_unlimited = self.scenario.is_none() && matches!(limits[..], [(_, [false, _])]);
        let (planned, rtts, mut cuts) = planned(self, &links)?;
        cuts.extend(base.cuts.iter().cloned());
        for rule in self.sets.iter().filter_map(rule) {
            cuts.push(rule?);
        }
        Ok(Request {
            is_unlimited,
            impairments: impairments(self)?,
            queues: queues(self, &limits)?,
            planned,
            rtts,
            cuts,
            rtt: rtt(self)?,
            files: self.files.clone(),
            base,
            rates,
            sets,
        })
    }
}

/// Rates and traces of the only link.
fn rates(options: &LinkOptions) -> Result<Vec<Override>, OptionError> {
    let mut rates = Vec::new();
    for (key, rate, name) in [
        ("link.rate", &options.down, "--down"),
        ("link.reverse.rate", &options.up, "--up"),
    ] {
        let rate = rate.as_ref();
        rates.extend(rate.map(|rate| Override::option(&format!("{name} {rate}"), key, rate)));
    }
    for (key, trace, name, rate) in [
        ("link", &options.down_trace, "--down-trace", &options.down),
        ("link.reverse", &options.up_trace, "--up-trace", &options.up),
    ] {
        let Some(text) = trace else {
            continue;
        };
        let argument = format!("{name} {text}");
        let read = trace::read(text, |name| options.files.is_there(name));
        let (file, keys) = read.map_err(|why| OptionError::from(why).of(&argument))?;
        let content = options.files.text(file).unwrap_or_default();
        let are_delays = keys.contains(&("format", "delays"));
        let (has_rates, has_path) = match are_delays {
            true => (false, true),
            false => quell_scenario::trace::content(&content),
        };
        if has_rates && rate.is_some() {
            return Err(OptionError::Paced.of(&argument));
        }
        if has_rates {
            let table = trace::table(file, &keys, |_| true);
            rates.push(Override::option(&argument, &format!("{key}.rate"), &table));
        }
        if has_path {
            let table = trace::table(file, &keys, |key| {
                !has_rates || matches!(key, "format" | "interval" | "repeat" | "offset")
            });
            rates.push(Override::option(
                &argument,
                &format!("{key}.impair.trace"),
                &table,
            ));
        }
    }
    Ok(rates)
}

/// What happens behind both queues of the only link.
fn impairments(options: &LinkOptions) -> Result<Vec<Override>, OptionError> {
    let mut all = Vec::new();
    let mut rules = BTreeSet::new();
    for (option, text) in &options.impairments {
        let argument = format!("--{option} {text}");
        let (sides, key) = match option.split_once('-') {
            Some(("down", key)) => (&["link"][..], key),
            Some(("up", key)) => (&["link.reverse"][..], key),
            _ => (&["link", "link.reverse"][..], option.as_str()),
        };
        if key == "rule" {
            let values = rules::read(text).map_err(|why| why.of(&argument))?;
            let named = values.iter().find(|(key, _)| *key == "name");
            let name = named.map_or_else(
                || format!("rule{}", rules.len() + 1),
                |(_, name)| name.clone(),
            );
            for (key, value) in &values {
                all.extend(sides.iter().map(|side| {
                    let key = format!("{side}.impair.rules.{name}.{key}");
                    Override::option(&argument, &key, value)
                }));
            }
            if values.is_empty() || name.contains('.') {
                return Err(OptionError::Rule.of(&argument));
            }
            if !rules.insert(name.clone()) {
                return Err(OptionError::SetTwice(name).of(&argument));
            }
            continue;
        }
        // `5%:hold=20ms`: more keys may follow the value. `around:20ms:normal` scatters around the delay.
        let mut parts = text.split([':', ',']);
        let mut values = vec![(key, parts.next().unwrap_or_default())];
        if let [("jitter", "around")] = values[..] {
            values = vec![("spread", parts.next().unwrap_or_default())];
            values.extend(parts.next().map(|shape| ("shape", shape)));
        }
        for part in parts {
            let more = part
                .split_once('=')
                .filter(|(key, _)| keys::is_impairment(key));
            values.push(more.ok_or_else(|| OptionError::Impairment.of(&argument))?);
        }
        for (key, value) in values {
            let value = keys::impairment(key, value).map_err(|why| why.of(&argument))?;
            let key = |side: &&str| format!("{side}.impair.{key}");
            let of_sides = sides.iter();
            all.extend(of_sides.map(|side| Override::option(&argument, &key(side), &value)));
        }
    }
    Ok(all)
}

fn sets(
    options: &LinkOptions,
    links: &[String],
    has_groups: bool,
) -> Result<Vec<Override>, OptionError> {
    let set = |text: &String| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let argument = format!("--set {text}");
        let key = keys::full(key.trim(), links).map_err(|why| why.of(&argument))?;
        // It checks the form, too.
        Override::set(text)?;
        keys::refuse_to_set(&key, has_groups).map_err(|why| why.of(&argument))?;
        Ok(Override::option(&argument, &key, value.trim()))
    };
    let of_link = options.sets.iter().filter(|text| rule(text).is_none());
    of_link.map(set).collect()
}

/// What a text of `--set` says of new connections, if it is about them.
fn rule(text: &String) -> Option<Result<PlannedCut, OptionError>> {
    let new = text.split_once('=');
    let (key, value) = new.filter(|(key, _)| key.trim() == "new")?;
    let rule = PlannedCut::wish(Time::ZERO, key, value)?;
    Some(rule.map_err(|why| why.of(format!("--set {text}"))))
}

/// The queues that were asked for, of the links that have these names and limits.
fn queues(
    options: &LinkOptions,
    links: &[(String, [bool; 2])],
) -> Result<Vec<Override>, OptionError> {
    let (down, up) = ([Direction::Forward], [Direction::Reverse]);
    let lists = [
        ("--queue", &options.queues, &Direction::BOTH[..]),
        ("--down-queue", &options.down_queues, &down[..]),
        ("--up-queue", &options.up_queues, &up[..]),
    ];
    let mut overrides = Vec::new();
    for (option, list, directions) in lists {
        let mut given: Vec<usize> = Vec::new();
        for text in list {
            let wrong = |why: OptionError| why.of(format!("{option} {text}"));
            let position = position(text, links).map_err(wrong)?;
            let (name, limited) = &links[position];
            if given.contains(&position) {
                let name = (links.len() > 1).then(|| name.clone());
                return Err(wrong(OptionError::SecondQueue(name)));
            }
            given.push(position);
            let is_limited = |direction: &&Direction| limited[direction.index()];
            let mut limited = directions.iter().filter(is_limited).peekable();
            if limited.peek().is_none() {
                return Err(wrong(without_rate(option, name, links.len())));
            }
            for direction in limited {
                let queue = match direction {
                    Direction::Forward => Override::queue(text),
                    Direction::Reverse => Override::reverse_queue(text),
                };
                overrides.extend(queue?);
            }
        }
    }
    Ok(overrides)
}

/// The link that the text after `--queue` is about.
fn position(text: &str, links: &[(String, [bool; 2])]) -> Result<usize, OptionError> {
    let name = text.split_once('=').map(|(name, _)| name.trim());
    let names = links.iter().map(|(name, _)| name.clone());
    match (name.filter(|name| !name.contains(':')), links) {
        (None, [_]) => Ok(0),
        (None, _) => Err(OptionError::WhichLink {
            count: links.len(),
            choices: names.map(|name| format!("{name}={text}")).collect(),
        }),
        (Some(name), _) => {
            let position = links.iter().position(|(other, _)| other == name);
            position.ok_or_else(|| OptionError::NoLink {
                name: name.to_owned(),
                links: names.collect(),
            })
        }
    }
}

/// A queue in front of what has no limit never fills.
fn without_rate(option: &str, link: &str, links: usize) -> OptionError {
    OptionError::NeedsRate(match (option, links) {
        ("--queue", 1) => "a rate, such as --rate, --down or --up",
        ("--down-queue", 1) => "a rate towards the program, such as --down or --rate",
        ("--up-queue", 1) => "a rate of the program, such as --up or --rate",
        _ => return OptionError::NoRateThere(link.to_owned()),
    })
}

/// The changes of `--at`, those of the base RTT, each in the order of their times, and what happens to connections.
type Changes = (Vec<Planned>, Vec<(Time, Time)>, Vec<PlannedCut>);

fn planned(options: &LinkOptions, links: &[String]) -> Result<Changes, OptionError> {
    let (mut all, mut rtts, mut cuts): Changes = Default::default();
    let mut known = BTreeSet::new();
    for (time, change) in &options.at {
        let argument = format!("--at {time} {change}");
        let wrong = |why: OptionError| why.of(&argument);
        let mut once = |at, key: &str| match known.insert((at, key.to_owned())) {
            true => Ok(()),
            false => Err(wrong(OptionError::SetTwice(key.to_owned()))),
        };
        let (key, value) = change
            .split_once('=')
            .ok_or_else(|| wrong(OptionError::NoAssignment))?;
        let at = notation::time(time.trim()).map_err(|why| wrong(why.into()))?;
        let cut = PlannedCut::wish(at, key, value);
        let rtt = keys::wished_rtt(key, value);
        if (cut.is_some() || rtt.is_some()) && (at.is_zero() || at >= LONGEST_TIME) {
            return Err(wrong(OptionError::NoTime));
        }
        if let Some(cut) = cut {
            cuts.push(cut.map_err(wrong)?);
            continue;
        }
        if let Some(rtt) = rtt {
            once(at, "rtt")?;
            rtts.push((at, rtt.map_err(wrong)?));
            continue;
        }
        for (key, value) in Planned::wish(key, value, links).map_err(wrong)? {
            once(at, &key)?;
            all.push(Planned {
                at,
                key,
                value,
                argument: argument.clone(),
            });
        }
    }
    all.sort_by_key(|one| one.at);
    rtts.sort_unstable();
    Ok((all, rtts, cuts))
}

/// Refuses the options that say something about the only link, where there are several.
fn refuse_of_one(options: &LinkOptions, links: &[String]) -> Result<(), OptionError> {
    let [first, _, ..] = links else {
        return Ok(());
    };
    let given = [
        ("--down", &options.down, "rate=20mbit"),
        ("--up", &options.up, "reverse.rate=20mbit"),
        (
            "--down-trace",
            &options.down_trace,
            "rate={ trace = \"lte.csv\" }",
        ),
        (
            "--up-trace",
            &options.up_trace,
            "reverse.rate={ trace = \"lte.csv\" }",
        ),
    ];
    let mut given = given.into_iter().filter(|(_, given, _)| given.is_some());
    let (option, key) = match (given.next(), options.impairments.first()) {
        (Some((option, _, key)), _) => (option.to_owned(), key.to_owned()),
        (None, Some((option, _))) => {
            let (reverse, key) = match option.split_once('-') {
                Some(("up", key)) => ("reverse.", key),
                Some((_, key)) => ("", key),
                None => ("", option.as_str()),
            };
            let value = if key == "jitter" { "1ms" } else { "0.01" };
            (
                format!("--{option}"),
                format!("{reverse}impair.{key}={value}"),
            )
        }
        (None, None) => return Ok(()),
    };
    Err(OptionError::OfOneLink {
        option,
        count: links.len(),
        instead: format!("link.{first}.{key}"),
    })
}

/// The base RTT that the options name, with what a delay one way makes of it.
fn rtt(options: &LinkOptions) -> Result<Option<Time>, OptionError> {
    let given = |name: &str, text: &Option<String>| {
        let time = text.as_ref().map(|text| {
            let wrong = |error| OptionError::Notation(error).of(format!("{name} {text}"));
            notation::time(text).map_err(wrong)
        });
        time.transpose()
    };
    let both_ways = given("--delay", &options.delay)?.map(|delay| delay * 2);
    Ok(given("--rtt", &options.rtt)?.or(both_ways))
}
