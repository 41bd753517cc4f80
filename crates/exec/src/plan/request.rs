//! The link that is asked for, and the scenario that is made of it.
//!
//! A scenario file, or one of a link without any limit, is changed by each option: rates, then queues, then single values, then what changes
//! over time. So everything passes the checks of scenario files, and what is wrong is reported with the option that says it.

use std::path::Path;

use quell_scenario::tree::{Node, Tree};
use quell_scenario::{Origin, Override, Problem, Problems, Scenario, Template};
use quell_units::{Rate, Time, notation};

use super::connections::{self, PlannedCut};
use super::files::Files;
use super::keys;
use super::repeats::{self, Cycle};
use crate::error::Result;
use crate::option_error::OptionError;

/// Figures cover at most this time of the program.
const LONGEST: &str = "24h";
pub(super) const LONGEST_TIME: Time = Time::from_secs(24 * 3_600);
/// The longest base RTT of a link.
pub(super) const LONGEST_RTT: Time = Time::from_secs(10);
/// Of all queues: a day's packets decide, not the seed.
pub(super) const SEED: u64 = 1;
/// A link without any limit.
const BARE: &str = "schema = 1\nname = \"exec\"\n[link]\nqueue = { kind = \"fifo\", limit = \"100ms\" }\n\
    [link.reverse]\nqueue = { kind = \"fifo\", limit = \"100ms\" }\n[run]\nduration = \"1h\"\n";

/// The scenario of a file, or of a link without any limit, before the options.
#[derive(Debug, Clone)]
pub(super) struct Base {
    /// What it is called in messages.
    file: String,
    template: Template,
    /// Whether the groups are those of the file.
    has_groups: bool,
    /// The base RTT that the file says, where it is the result of a program behind a link.
    rtt: Option<Time>,
    /// Those that it gets, with their times.
    rtts: Vec<(Time, Time)>,
    /// What happens to connections, likewise.
    pub(super) cuts: Vec<PlannedCut>,
}

impl Base {
    /// Reads the file with this name and content, or the link without a limit.
    pub(super) fn read(scenario: Option<&(String, String)>) -> Result<Self> {
        let (file, text) = match scenario {
            Some((file, text)) => (file.as_str(), text.as_str()),
            None => ("options", BARE),
        };
        let mut template = Template::read(file, text)?;
        let has_groups = template.has("group");
        if !has_groups {
            // A scenario needs one. What the links of its way delay is a part of its RTT.
            let rtt = if template.links().len() > 1 {
                "10s"
            } else {
                "0ms"
            };
            // A program may send both Classic and L4S packets.
            let group = |name: &str, ecn: &str| {
                format!(
                    "\n[[group]]\nname = \"{name}\"\nrtt = \"{rtt}\"\napp = \"bulk\"\necn = \"{ecn}\"\n"
                )
            };
            let groups = group("program", "off") + &group("program-l4s", "ect1");
            template = Template::read(file, &format!("{text}{groups}"))?;
        }
        let exec = template.take("exec");
        Ok(Self {
            rtt: exec.as_ref().and_then(rtt_of),
            rtts: exec.as_ref().map(rtts_of).unwrap_or_default(),
            cuts: connections::of_result(exec.as_ref()),
            file: file.to_owned(),
            template,
            has_groups,
        })
    }

    /// The names of its links.
    pub(super) fn links(&self) -> Vec<String> {
        let links = self.template.links().into_iter();
        links.map(|(name, _)| name).collect()
    }

    /// Whether the groups are those of the file.
    pub(super) fn has_groups(&self) -> bool {
        self.has_groups
    }

    /// The names of its links, and which of their directions have a rate, after these options.
    pub(super) fn limits(
        &self,
        rates: &[Override],
        sets: &[Override],
    ) -> Result<Vec<(String, [bool; 2])>> {
        Ok(self.template.with(&[rates, sets].concat())?.links())
    }
}

/// A change at a time.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) at: Time,
    pub(super) key: String,
    pub(super) value: String,
    /// The option and its value.
    pub(super) argument: String,
}

impl Planned {
    /// The full keys and the values of a change of the link.
    pub(super) fn wish(
        key: &str,
        value: &str,
        links: &[String],
    ) -> Result<Vec<(String, String)>, OptionError> {
        let all = keys::of_wish(key, value, links)?;
        match all.iter().all(|(key, _)| key.starts_with("link.")) {
            true => Ok(all),
            false => Err(OptionError::OnlyLinkChanges),
        }
    }
}

/// The link that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) base: Base,
    /// Neither the file nor an option gives the only link a rate towards the program.
    pub(super) is_unlimited: bool,
    pub(super) rates: Vec<Override>,
    pub(super) impairments: Vec<Override>,
    pub(super) queues: Vec<Override>,
    pub(super) sets: Vec<Override>,
    /// What changes while the program runs, in the order of the times.
    pub(super) planned: Vec<Planned>,
    /// The base RTTs that the link gets while the program runs, in the order of the times.
    pub(super) rtts: Vec<(Time, Time)>,
    /// What happens to connections.
    pub(super) cuts: Vec<PlannedCut>,
    /// The base RTT that the options name.
    pub(super) rtt: Option<Time>,
    /// What was read of the files that any of these names.
    pub(super) files: Files,
}

/// What was asked for, as a scenario.
pub(super) struct Asked {
    /// With the groups of the file, which do not count.
    pub(super) scenario: Scenario,
    /// What is probably wrong with the link.
    pub(super) warnings: Vec<String>,
    /// What was understood of each trace.
    pub(super) traces: Vec<String>,
    /// The base RTT that the file says, where it is the result of a program behind a link.
    pub(super) rtt: Option<Time>,
    /// The base RTTs that it gets by the file, with their times.
    pub(super) rtts: Vec<(Time, Time)>,
    /// Whether the groups are those of the file.
    pub(super) has_groups: bool,
    /// What comes again after the changes of the scenario.
    pub(super) cycle: Option<Cycle>,
}

impl Request {
    /// The same with one more change, which somebody wants while the program runs.
    pub(super) fn plan(&mut self, at: Time, key: &str, value: &str) -> Result<(), OptionError> {
        let argument = format!("--at {}ns {key}={value}", at.as_nanos());
        if let Some(cut) = PlannedCut::wish(at, key, value) {
            self.cuts.push(cut.map_err(|why| why.of(&argument))?);
            return Ok(());
        }
        if let Some(rtt) = keys::wished_rtt(key, value) {
            let rtt = rtt.map_err(|why| why.of(&argument))?;
            let later = self.rtts.partition_point(|(other, _)| *other < at);
            if self.rtts.get(later).is_some_and(|(other, _)| *other == at) {
                return Err(OptionError::SetTwice("rtt".to_owned()).of(argument));
            }
            self.rtts.insert(later, (at, rtt));
            return Ok(());
        }
        let wishes = Planned::wish(key, value, &self.base.links());
        for (key, value) in wishes.map_err(|why| why.of(&argument))? {
            let mut planned = self.planned.iter();
            if planned.any(|one| one.at == at && one.key == key) {
                return Err(OptionError::SetTwice(key).of(argument));
            }
            let later = self.planned.partition_point(|one| one.at <= at);
            let one = Planned {
                at,
                key,
                value,
                argument: argument.clone(),
            };
            self.planned.insert(later, one);
        }
        Ok(())
    }

    /// The scenario.
    pub(super) fn scenario(&self) -> Result<Asked> {
        let mut template = self.base.template.clone();
        for one in &self.planned {
            template.change(one.at, &one.key, &one.value);
        }
        let folder = Path::new(&self.base.file).parent();
        let folder = folder.unwrap_or(Path::new(""));
        let read =
            |overrides: &[Override]| template.loaded(overrides, None, self.files.reader(folder));
        let mut overrides = self.overrides()?;
        let mut cycle = None;
        let mut loaded = read(&overrides);
        if loaded.as_ref().is_err_and(repeats::are_too_many) {
            let once = self.planned.iter().map(|one| one.at);
            let once = once.chain(self.rtts.iter().map(|(at, _)| *at));
            let at = template.clone().take("at");
            cycle = at.and_then(|at| Cycle::of(&at, once));
            if let Some(cycle) = cycle {
                let end = cycle.end() + Time::from_nanos(1);
                overrides[0] = Override::duration(&format!("{}ns", end.as_nanos()));
                // Where a cycle is too long, the first answer is the right one.
                loaded = read(&overrides).or(loaded);
            }
        }
        let loaded = loaded.map_err(|problems| named(&problems, &self.planned))?;
        let mut scenario = loaded.scenario;
        if let Some(cycle) = cycle {
            scenario.run.duration = LONGEST_TIME;
            scenario.changes.retain(|change| change.time < cycle.end());
        }
        // What is said of groups is not about the program.
        let of_links = loaded.warnings.iter();
        let of_links = of_links.filter(|warning| warning.key.starts_with("link."));
        if self.is_unlimited {
            scenario.links[0].forward.rate = Rate::UNLIMITED;
        }
        Ok(Asked {
            scenario,
            warnings: of_links.map(ToString::to_string).collect(),
            traces: loaded.traces,
            rtt: self.base.rtt,
            rtts: self.base.rtts.clone(),
            has_groups: self.base.has_groups,
            cycle,
        })
    }

    /// Everything that the options say, after the duration.
    fn overrides(&self) -> Result<Vec<Override>, OptionError> {
        let mut overrides = vec![
            Override::duration(LONGEST),
            Override::set("run.warmup=0s")?,
            Override::set("run.settle=0s")?,
            Override::seed(SEED),
        ];
        // A scenario of one link wants a rate forward; a program does not, and it is taken away again.
        let limit = || Override::option("--down", "link.rate", "1gbit");
        overrides.extend(self.is_unlimited.then(limit));
        // Delays that scatter need the mean.
        let rtt = self
            .rtt
            .or(self.base.rtt)
            .map(|rtt| rtt.min(LONGEST_RTT).to_string());
        let is_placed = !self.base.has_groups && self.base.links().len() == 1;
        if let (Some(rtt), true) = (rtt, is_placed) {
            let groups = ["program", "program-l4s"].map(|name| format!("group.{name}.rtt"));
            overrides.extend(groups.map(|key| Override::option("--rtt", &key, &rtt)));
        }
        let given = [&self.rates, &self.impairments, &self.queues, &self.sets];
        overrides.extend(given.into_iter().flatten().cloned());
        Ok(overrides)
    }
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

/// The changes of the base RTT that `[exec]` of a result lists, as texts such as `5s 80ms`.
fn rtts_of(exec: &Node) -> Vec<(Time, Time)> {
    let Tree::Table(table) = &exec.value else {
        return Vec::new();
    };
    let Some(Tree::Array(changes)) = table.get("rtts").map(|node| &node.value) else {
        return Vec::new();
    };
    let times = changes.iter().filter_map(|change| {
        let Tree::Scalar(_, text) = &change.value else {
            return None;
        };
        let (at, rtt) = text.split_once(' ')?;
        Some((notation::time(at).ok()?, notation::time(rtt).ok()?))
    });
    times.collect()
}

/// The problems, with the words of the option where one is at fault.
fn named(problems: &Problems, planned: &[Planned]) -> Problems {
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
            problem.origin = Origin::Argument(one.argument.clone());
        }
        problem
    });
    Problems::new(named.collect())
}
