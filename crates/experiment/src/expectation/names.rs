//! The figures that a run will have, known before it runs: the columns of sweep tables, from the schema of `summary.json` and the scenario.
//!
//! Short forms: `group.NAME.FIGURE` for a figure of the group's application, without `app`; for a program behind a link `down.NAME` and
//! `up.NAME` for a queue of that direction.

use std::fmt;

use std::collections::BTreeMap;

use quell_aqm::{DropReason, MarkReason};
use quell_lab::results::summary_schema;
use quell_lab::scenario::figures::{queue_names, timeline};
use quell_lab::scenario::{Direction, Scenario, Setting, closest};
use quell_measure::Use;
use serde_json::{Value as Json, json};

/// What a figure is: what its numbers count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Time, in a unit of so many seconds.
    Time(f64),
    /// Bits a second.
    Rate,
    /// Bytes.
    Bytes,
    /// A share in hundredths.
    Percent,
    /// A share, or another number.
    Share,
    /// A number of things.
    Count,
    /// A word.
    Word,
    /// Yes or no.
    Flag,
}

/// The figures of the results of a scenario.
#[derive(Debug, Default)]
pub struct Names {
    known: BTreeMap<String, Kind>,
    phases: usize,
    /// Of a program behind a link, which has directions.
    is_of_program: bool,
}

/// What a summary has in parts, or only says what ran.
const APART: &str = "queues groups links phases fairness app name hop direction schema scenario world seed partial warmup_s";
/// What packets of one kind waited, as `exec.json` has it, and shares of packets that were lost.
const FELT_MS: &str = "longer_ms_median longer_ms_p99 longer_ms_max one_way_ms_down one_way_ms_up";
const FELT_SHARES: &str = "lost_down lost_up lost_outside_down lost_outside_up";
/// What a list of numbers becomes.
const PARTS: [&str; 4] = ["mean", "min", "max", "total"];

impl Names {
    /// The figures of runs of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let schema = summary_schema();
        let mut names = Self::default();
        let of = |part: &str| &schema["$defs"][part];
        for (name, kind) in [
            ("seconds", Kind::Time(1.0)),
            ("duration_s", Kind::Time(1.0)),
            ("warnings", Kind::Count),
            ("warnings.count", Kind::Count),
            ("jain", Kind::Share),
        ] {
            names.put(name, kind);
        }
        names.walk(&schema, of("link"), "link");
        let is_one = scenario.links.len() == 1;
        for link in scenario.links() {
            if !is_one {
                names.walk(&schema, of("named_link"), &format!("links.{}", link.name()));
            }
            for (direction, way) in [(Direction::Forward, ""), (Direction::Reverse, "reverse.")] {
                let side = link.direction(direction);
                let is_open = side.rate.is_unlimited() && !changes_up(scenario);
                if direction == Direction::Reverse && is_one && is_open {
                    continue;
                }
                let hop = match (is_one, link.name()) {
                    (true, _) | (_, "link") => String::new(),
                    (_, name) => format!("{name}."),
                };
                for queue in queue_names(side) {
                    names.walk(&schema, of("queue"), &format!("{hop}{way}queue.{queue}"));
                }
            }
        }
        for group in &scenario.groups {
            let name = format!("group.{}", group.name);
            names.walk(&schema, of("group"), &name);
            let kind = json!(group.app.config().kind());
            let apps = of("app")["anyOf"].as_array().into_iter().flatten();
            let is_own = |app: &&Json| {
                let kinds = app["properties"]["kind"]["enum"].as_array();
                kinds.is_some_and(|kinds| kinds.contains(&kind))
            };
            for app in apps.filter(is_own) {
                names.walk(&schema, app, &format!("{name}.app"));
            }
            for hop in group.path.iter().filter(|_| !is_one) {
                let link = &of("group")["properties"]["links"]["items"];
                let hop = scenario.links()[hop.index()].name();
                names.walk(&schema, link, &format!("{name}.links.{hop}"));
            }
        }
        let timeline = timeline(scenario);
        let phases = timeline.segments().iter();
        let phases = phases.filter(|segment| segment.counts_for == Use::Phase);
        names.phases = phases.count();
        names
    }

    /// The figures of a program behind the link of a scenario, with those of the directions and of the program.
    pub fn of_program(scenario: &Scenario) -> Self {
        let mut names = Self {
            is_of_program: true,
            ..Self::of(scenario)
        };
        let own = "packets marked dropped lost_outside lost_percent tcp_bytes utilisation rate_bps";
        for way in ["down", "up"] {
            for name in own.split(' ') {
                // Those of a link are none where there are several.
                let (is_of_link, is_count) = match name {
                    "utilisation" | "rate_bps" => (true, false),
                    _ => (false, true),
                };
                if scenario.links.len() == 1 || !is_of_link {
                    let plain = if is_count { Kind::Count } else { Kind::Share };
                    names.put(format!("{way}.{name}"), kind(name, plain));
                }
            }
        }
        for (way, queues) in [("down.", "queue."), ("up.", "reverse.queue.")] {
            let of_queues = names.known.iter().filter_map(|(name, kind)| {
                Some((format!("{way}{}", name.strip_prefix(queues)?), *kind))
            });
            let of_queues: Vec<(String, Kind)> = of_queues.collect();
            names.known.extend(of_queues);
        }
        names.put_felt(scenario);
        names.put("program.exit", Kind::Count);
        names.put("program.seconds", Kind::Time(1.0));
        names
    }

    /// What the user felt, where a queue divides packets also of each kind.
    fn put_felt(&mut self, scenario: &Scenario) {
        let sides = scenario
            .sides()
            .map(|side| queue_names(scenario.side(side)));
        let kinds = sides.filter(|queues| queues.len() > 1).flatten();
        let kinds: Vec<String> = kinds.map(|kind| format!("{kind}.")).collect();
        for of in kinds.iter().map(String::as_str).chain([""]) {
            for name in FELT_MS.split(' ') {
                self.put(format!("felt.{of}{name}"), Kind::Time(1e-3));
            }
        }
        for name in FELT_SHARES.split(' ') {
            self.put(format!("felt.{name}"), Kind::Share);
        }
        self.put("felt.lost_outside", Kind::Count);
        self.put("felt.state", Kind::Word);
    }

    fn put(&mut self, name: impl Into<String>, kind: Kind) {
        self.known.insert(name.into(), kind);
    }

    /// The figures of a schema, below a name.
    fn walk(&mut self, root: &Json, schema: &Json, name: &str) {
        let part = schema["$ref"]
            .as_str()
            .and_then(|part| part.rsplit('/').next());
        if let Some(part) = part {
            return self.walk(root, &root["$defs"][part], name);
        }
        if let Some(any) = schema["anyOf"].as_array() {
            return any.iter().for_each(|one| self.walk(root, one, name));
        }
        let is = |kind: &str| match &schema["type"] {
            Json::Array(kinds) => kinds.iter().any(|one| one == kind),
            one => one == kind,
        };
        if let Some(fields) = schema["properties"].as_object() {
            let is_apart = |key: &str| APART.split(' ').any(|apart| apart == key);
            for (key, inner) in fields.iter().filter(|(key, _)| !is_apart(key)) {
                self.walk(root, inner, &format!("{name}.{key}"));
            }
        } else if schema["items"]["type"] == "number" {
            for part in PARTS {
                self.put(format!("{name}.{part}"), kind(name, Kind::Share));
            }
            self.put(format!("{name}.count"), Kind::Count);
        } else if is("object") {
            let marks = MarkReason::ALL
                .iter()
                .map(|reason| ("marks", reason.name()));
            let drops = DropReason::ALL
                .iter()
                .map(|reason| ("drops", reason.name()));
            for (_, reason) in marks.chain(drops).filter(|(of, _)| name.ends_with(of)) {
                self.put(format!("{name}.{reason}"), Kind::Count);
            }
        } else if is("number") || is("integer") {
            let plain = if is("number") {
                Kind::Share
            } else {
                Kind::Count
            };
            let kind = match name.ends_with(".count") {
                true => Kind::Count,
                false => kind(name, plain),
            };
            self.put(name, kind);
        } else if is("boolean") {
            self.put(name, Kind::Flag);
        } else if is("string") || schema["enum"].is_array() {
            self.put(name, Kind::Word);
        }
    }

    /// Each figure once: its shortest name, its full one, and what it is.
    pub(super) fn shortest(&self) -> impl Iterator<Item = (String, String, Kind)> {
        let twice = |name: &str| {
            let queue = name.strip_prefix("reverse.").unwrap_or(name);
            name == "warnings" || self.is_of_program && queue.starts_with("queue.")
        };
        let known = self.known.iter().filter(move |(name, _)| !twice(name));
        known.map(|(name, kind)| {
            let short = name.replacen(".app.", ".", 1);
            let is_taken = self.known.contains_key(&short);
            let full = self.known(name).map_or(name.clone(), |(full, _)| full);
            (if is_taken { name.clone() } else { short }, full, *kind)
        })
    }

    /// The full name of a figure, and what it is.
    ///
    /// # Errors
    ///
    /// There is none of that name: a sentence with the closest one.
    pub(crate) fn find(&self, name: &str) -> Result<(String, Kind), NoFigure> {
        let (phase, rest) = self.phase(name)?;
        if let Some((full, kind)) = self.known(rest) {
            return Ok((format!("{phase}{full}"), kind));
        }
        let short = self.known.keys().map(|name| name.replace(".app.", "."));
        let short: Vec<String> = short.collect();
        let all = self.known.keys().map(String::as_str);
        let meant = closest(rest, all.chain(short.iter().map(String::as_str)));
        let instead = match meant {
            Some(meant) => format!("; did you mean {phase}{meant}?"),
            None => format!(
                "; quell explain --figures FILE lists them, such as {}",
                self.examples().join(", ")
            ),
        };
        Err(NoFigure::new(name, instead))
    }

    /// What a figure is, whether it has its full name or a short one.
    pub(crate) fn kind(&self, name: &str) -> Option<Kind> {
        let (_, rest) = self.phase(name).ok()?;
        self.known(rest).map(|(_, kind)| kind)
    }

    /// The full name of one that is known, of an item of a list too.
    fn known(&self, name: &str) -> Option<(String, Kind)> {
        let with_app = || {
            let (group, figure) = name.strip_prefix("group.")?.split_once('.')?;
            Some(format!("group.{group}.app.{figure}"))
        };
        let of_way = || {
            let down = name
                .strip_prefix("down.")
                .map(|rest| format!("queue.{rest}"));
            let up = || {
                name.strip_prefix("up.")
                    .map(|rest| format!("reverse.queue.{rest}"))
            };
            down.or_else(up).filter(|_| self.is_of_program)
        };
        let names = [of_way(), Some(name.to_owned()), with_app()];
        let mut names = names.into_iter().flatten();
        if let Some(full) = names.find(|name| self.known.contains_key(name)) {
            let kind = self.known[&full];
            return Some(match full == "warnings" {
                true => ("warnings.count".to_owned(), kind),
                false => (full, kind),
            });
        }
        let (list, number) = name.rsplit_once('.')?;
        number.parse::<usize>().ok().filter(|number| *number > 0)?;
        let (full, kind) = self.known(&format!("{list}.total"))?;
        Some((format!("{}{number}", full.strip_suffix("total")?), kind))
    }

    /// Names that the results have.
    fn examples(&self) -> Vec<&str> {
        let delays = self.known.keys().map(String::as_str);
        let delays = delays.filter(|name| name.ends_with(".delay_ms.p99"));
        ["link.utilisation"]
            .into_iter()
            .chain(delays.take(2))
            .collect()
    }

    /// `phase.N.` in front of a name, and the rest.
    fn phase<'n>(&self, name: &'n str) -> Result<(&'n str, &'n str), NoFigure> {
        let Some(rest) = name.strip_prefix("phase.") else {
            return Ok(("", name));
        };
        let (number, rest) = rest.split_once('.').unwrap_or((rest, ""));
        match number.parse::<usize>() {
            Ok(number) if (1..=self.phases).contains(&number) => {
                Ok((&name[..name.len() - rest.len()], rest))
            }
            _ => {
                let instead = match self.phases {
                    0 => ": without an [[at]] there are no phases".to_owned(),
                    most => format!(": phases are 1 to {most}"),
                };
                Err(NoFigure::new(name, instead))
            }
        }
    }
}

/// There is no figure of this name.
#[derive(Debug)]
pub(crate) struct NoFigure {
    name: String,
    /// What there is instead, as the end of the sentence.
    instead: String,
}

impl NoFigure {
    fn new(name: &str, instead: String) -> Self {
        let name = name.to_owned();
        Self { name, instead }
    }
}

impl fmt::Display for NoFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no figure {}{}", self.name, self.instead)
    }
}

/// Whether a rate of the reverse direction changes.
fn changes_up(scenario: &Scenario) -> bool {
    let mut set = scenario.changes.iter().flat_map(|change| &change.set);
    set.any(|one| matches!(one, Setting::Rate(side, _) if side.direction == Direction::Reverse))
}

/// What a name says of the unit of its figure.
fn kind(name: &str, plain: Kind) -> Kind {
    for part in name.rsplit('.') {
        let unit = part.rsplit('_').next().unwrap_or_default();
        return match unit {
            "ns" => Kind::Time(1e-9),
            "ms" => Kind::Time(1e-3),
            "s" => Kind::Time(1.0),
            "bps" => Kind::Rate,
            "bytes" => Kind::Bytes,
            "percent" => Kind::Percent,
            _ => continue,
        };
    }
    plain
}
