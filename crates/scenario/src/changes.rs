//! `[[at]]`: what changes during a run, tried out on the disciplines themselves before anything starts.

use quell_units::parameter::Value;
use quell_units::{Rate, Time, notation};

use super::app::AppSpec;
use super::domain::Parsed;
use super::hint;
use super::keys::{KEYS, Section, rows};
use super::refusal::Refusal;
use super::rules;
use super::tree::{Node, Table, Tree};
use super::trial_queue::TrialQueue;
use super::view::{Reader, View, tables};
use super::{Direction, Group, Hop, ImpairSpec, Link, Setting, Side, TimedChange};

/// Reads the list `at`, of a run that ends at `end`.
pub(super) fn read(
    reader: &mut Reader,
    node: &Node,
    links: &[Link],
    groups: &[Group],
    end: Option<Time>,
) -> Option<Vec<TimedChange>> {
    let nodes = tables::list(reader, "at", node, "a list of tables [[at]]");
    let entries = entries(reader, nodes, links, end)?;
    let mut happens: Vec<(Option<Time>, usize)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        // What has no time is tried all the same, for what else is wrong with it.
        let times = entry.times(end).map(Some);
        let untimed = entry.time.is_none().then_some(None);
        happens.extend(
            times
                .chain(untimed)
                .map(|time| (time, index))
                .take(MOST + 1),
        );
        if happens.len() > MOST {
            let allowed = format!("gives more than {MOST} changes; that is the most");
            reader.wrong(&entry.view.key("repeat"), entry.repeats?, &allowed);
            return None;
        }
    }
    happens.sort_by_key(|(time, _)| *time);
    let all = play(reader, links, groups, &entries, &happens, |_, _| true)?;
    let happens_last = |nth: usize, key: &str| !is_replaced(&entries, &happens, nth, key);
    let is_last = |nth: usize| {
        let keys = entries[happens[nth].1].set.iter().flatten();
        keys.into_iter().all(|(_, key, _)| happens_last(nth, key))
    };
    match (0..happens.len()).all(is_last) {
        true => Some(all),
        // The changes that are left must be possible without the others.
        false => play(reader, links, groups, &entries, &happens, happens_last),
    }
}

/// Whether the change `nth` of `key` has no effect, because a later one at the same time sets the key too.
fn is_replaced(
    entries: &[Entry],
    happens: &[(Option<Time>, usize)],
    nth: usize,
    key: &str,
) -> bool {
    let time = happens[nth].0;
    let mut later = happens[nth + 1..].iter().take_while(|(at, _)| *at == time);
    later.any(|(_, index)| {
        let mut keys = entries[*index].set.iter().flatten();
        keys.any(|(_, other, _)| other == key)
    })
}

/// Tries out the changes of those that happen for which `counts` is true.
fn play(
    reader: &mut Reader,
    links: &[Link],
    groups: &[Group],
    entries: &[Entry],
    happens: &[(Option<Time>, usize)],
    counts: impl Fn(usize, &str) -> bool,
) -> Option<Vec<TimedChange>> {
    let set = entries.iter().filter_map(|entry| entry.set.as_ref());
    let keys = set.flatten().map(|(_, key, _)| key.clone());
    let mut trial = Trial {
        keys: keys.collect(),
        groups,
        apps: groups.iter().map(|group| group.app.clone()).collect(),
        links: links.iter().map(TrialLink::new).collect(),
    };
    let mut changes: Vec<TimedChange> = Vec::new();
    let mut wrong = vec![false; entries.len()];
    for (nth, (time, index)) in happens.iter().enumerate() {
        let entry = &entries[*index];
        // What is wrong each time is reported once.
        let (false, Some(set)) = (wrong[*index], &entry.set) else {
            wrong[*index] = true;
            continue;
        };
        let counting = set.iter().filter(|(_, key, _)| counts(nth, key));
        let set = trial.settings(reader, &entry.view.key("set"), counting, *time);
        let (Some(set), Some(time)) = (set, *time) else {
            wrong[*index] = true;
            continue;
        };
        match changes.last_mut().filter(|last| last.time == time) {
            Some(last) => {
                last.phase |= entry.phase;
                last.set.extend(set);
            }
            None => changes.push(TimedChange {
                time,
                phase: entry.phase,
                set,
            }),
        }
    }
    (!wrong.contains(&true)).then_some(changes)
}

/// The most changes, with every time that one repeats.
const MOST: usize = 10_000;

/// One `[[at]]` of the file.
struct Entry<'a> {
    view: View<'a>,
    time: Option<Time>,
    repeat: Option<Time>,
    repeats: Option<&'a Node>,
    phase: bool,
    set: Option<Vec<NewValue<'a>>>,
}

/// A key as it is written, without the name of the only link, and its new value.
type NewValue<'a> = (String, String, &'a Node);

impl Entry<'_> {
    /// Each time that it happens. A time after the end is another check's to report.
    fn times(&self, end: Option<Time>) -> impl Iterator<Item = Time> + use<> {
        let (first, step) = (self.time, self.repeat);
        let later = first.zip(step).zip(end).map(|((first, step), end)| {
            let count = (end - first).as_nanos().saturating_sub(1) / step.as_nanos();
            (1..=count).map(move |n| first + step * n)
        });
        first.into_iter().chain(later.into_iter().flatten())
    }
}

fn entries<'a>(
    reader: &mut Reader,
    nodes: &'a [Node],
    links: &[Link],
    end: Option<Time>,
) -> Option<Vec<Entry<'a>>> {
    let mut all = Vec::new();
    // When the one before happens first, and whether it repeats.
    let mut previous: Option<(Time, bool)> = None;
    for (index, node) in nodes.iter().enumerate() {
        let path = format!("at.{}", index + 1);
        let view = View::new(reader, rows(Section::At), &path, node)?;
        let time = view.get::<Time>(reader, "time");
        let repeats = view.node(reader, "repeat");
        if let (Some((before, repeated)), Some(time), Some(at)) =
            (previous, time, view.node(reader, "time"))
            // What happens once cannot stand in the same table as what repeats.
            && (time < before || time == before && repeated == repeats.is_some())
        {
            reader.wrong(
                &view.key("time"),
                at,
                format!("must be after {before}, the time of the [[at]] before it"),
            );
        }
        previous = time.map(|time| (time, repeats.is_some())).or(previous);
        let repeat = view.get::<Time>(reader, "repeat");
        if let (Some(node), Some(time), Some(step), Some(end)) = (repeats, time, repeat, end)
            && time < end
            && time + step >= end
        {
            let allowed =
                format!("has no effect: the run ends at {end}, before the change happens again");
            reader.wrong(&view.key("repeat"), node, &allowed);
        }
        let phase = view.get::<bool>(reader, "phase");
        all.push(Entry {
            phase: phase.unwrap_or(repeats.is_none()),
            set: view
                .node(reader, "set")
                .and_then(|node| new_values(reader, &view.key("set"), node, links)),
            view,
            time,
            repeat,
            repeats,
        });
    }
    Some(all)
}

/// Reads the table `set`.
fn new_values<'a>(
    reader: &mut Reader,
    path: &str,
    node: &'a Node,
    links: &[Link],
) -> Option<Vec<NewValue<'a>>> {
    let table = tables::table(
        reader,
        path,
        node,
        "a table such as { \"link.rate\" = \"20mbit\" }",
    )?;
    let mut pairs = Vec::new();
    flatten("", table, &mut pairs);
    if pairs.is_empty() {
        reader.wrong(path, node, "changes nothing; give at least one key");
    }
    let mut set: Vec<NewValue> = Vec::new();
    let mut is_right = true;
    for (written, value) in pairs {
        let key = without_only_link(&written, links);
        if set.iter().any(|(_, other, _)| *other == key) {
            reader.wrong(&format!("{path}.{written}"), value, Refusal::SetTwice);
            is_right = false;
        }
        set.push((written, key, value));
    }
    is_right.then_some(set)
}

/// The key without the name of the only link: `link.rate` for `link.wifi.rate`.
fn without_only_link(key: &str, links: &[Link]) -> String {
    let rest = match links {
        [only] => key.strip_prefix(&format!("link.{}.", only.name)),
        _ => None,
    };
    rest.map_or_else(|| key.to_owned(), |rest| format!("link.{rest}"))
}

/// A rate of zero, in any unit or in none: it means the same in all of them.
fn is_nothing(text: &str) -> bool {
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let is_unit = unit.is_empty() || notation::rate(&format!("1{unit}")).is_ok();
    is_unit && number.trim().parse() == Ok(0.0)
}

/// The run's parameters, as the changes so far have left them.
struct Trial<'a> {
    /// Every key that changes at any time.
    keys: Vec<String>,
    groups: &'a [Group],
    apps: Vec<AppSpec>,
    links: Vec<TrialLink>,
}

/// The queues of a link, forward and reverse, and what happens behind them.
struct TrialLink {
    name: String,
    delay: Time,
    queues: [TrialQueue; 2],
    impairs: [ImpairSpec; 2],
    is_traced: [bool; 2],
}

impl TrialLink {
    fn new(link: &Link) -> Self {
        let sides = [&link.forward, &link.reverse];
        Self {
            name: link.name.clone(),
            delay: link.delay,
            queues: sides.map(TrialQueue::new),
            impairs: sides.map(|side| side.impair.clone().unwrap_or_default()),
            is_traced: sides.map(|side| side.course.is_some()),
        }
    }
}

impl Trial<'_> {
    fn settings<'a>(
        &mut self,
        reader: &mut Reader,
        path: &str,
        set: impl Iterator<Item = &'a NewValue<'a>>,
        time: Option<Time>,
    ) -> Option<Vec<Setting>> {
        let settings = set.map(|(written, key, node)| {
            let read = self.setting(key, node, time);
            read.map_err(|refusal| reader.wrong(&format!("{path}.{written}"), node, refusal))
        });
        let settings: Vec<_> = settings.collect();
        settings.into_iter().collect::<Result<_, _>>().ok()
    }

    /// One new value, or what is wrong with it.
    fn setting(&mut self, key: &str, node: &Node, time: Option<Time>) -> Result<Setting, Refusal> {
        let now = time.unwrap_or(Time::ZERO);
        let parts: Vec<&str> = key.split('.').collect();
        match parts.as_slice() {
            ["link", rest @ ..] => {
                let (hop, rest) = self.link(rest)?;
                let (direction, rest) = match rest {
                    ["reverse", rest @ ..] => (Direction::Reverse, rest),
                    rest => (Direction::Forward, rest),
                };
                let side = Side { hop, direction };
                match rest {
                    ["rate"] => self.rate(side, node, now),
                    ["queue", parameter] => self.queue(side).setting(side, parameter, node, now),
                    ["impair", name @ ..] => self.impair(side, key, &name.join("."), node),
                    _ => Err(self.refusal()),
                }
            }
            ["group", name, "count"] => self.count(self.group(name)?, node),
            ["group", name, "rtt"] => self.rtt(self.group(name)?, node),
            ["group", name, "app", parameter] => self.app(self.group(name)?, parameter, node),
            _ => Err(self.refusal()),
        }
    }

    /// The link that a key names, and the rest of the key. The only one needs no name.
    fn link<'k>(&self, key: &'k [&'k str]) -> Result<(Hop, &'k [&'k str]), Refusal> {
        let named = key.split_first().and_then(|(name, rest)| {
            let mut links = self.links.iter();
            let position = links.position(|link| link.name == *name)?;
            Some((Hop(position as u16), rest))
        });
        match (named, &self.links[..]) {
            (Some(named), _) => Ok(named),
            (None, [_]) => Ok((Hop::FIRST, key)),
            (None, links) => {
                let names = links.iter().map(|link| link.name.clone());
                Err(Refusal::SeveralLinks(names.collect()))
            }
        }
    }

    fn queue(&mut self, side: Side) -> &mut TrialQueue {
        &mut self.links[side.hop.index()].queues[side.direction.index()]
    }

    fn rate(&mut self, side: Side, node: &Node, now: Time) -> Result<Setting, Refusal> {
        let section = match side.direction {
            Direction::Forward => Section::Link,
            Direction::Reverse => Section::Reverse,
        };
        let row = section.keys().find(|row| row.name == "rate");
        let domain = row.map(|row| row.domain.of_links(self.links.len()));
        let parsed = domain.map(|domain| (domain.read(node), domain));
        let rate = match parsed {
            Some((Ok(Parsed::Value(Value::Rate(rate))), _)) => rate,
            // An outage is a rate too, but only for a while.
            _ if is_nothing(node.found().trim_matches('"')) => Rate::ZERO,
            Some((_, domain)) => {
                let (allowed, hint) = (domain.to_string(), hint::of(&domain, node));
                return Err(Refusal::NoRate { allowed, hint });
            }
            None => return Err(self.refusal()),
        };
        let link = &self.links[side.hop.index()];
        if link.is_traced[side.direction.index()] {
            return Err(Refusal::Traced);
        }
        self.queue(side).set_rate(rate, now)?;
        Ok(Setting::Rate(side, rate))
    }

    fn group(&self, name: &str) -> Result<usize, Refusal> {
        let mut groups = self.groups.iter();
        let position = groups.position(|group| group.name == name);
        position.ok_or_else(|| Refusal::NoGroup {
            name: name.to_owned(),
            meant: String::new(),
            known: self.names().join(", "),
        })
    }

    fn names(&self) -> Vec<&str> {
        let groups = self.groups.iter();
        groups.map(|group| group.name.as_str()).collect()
    }

    fn app(&mut self, group: usize, key: &str, node: &Node) -> Result<Setting, Refusal> {
        let row = self.apps[group].live().find(|row| row.name == key);
        let row = row.ok_or_else(|| self.refusal())?;
        let app = self.apps[group].changed(row, node)?;
        self.apps[group] = app.clone();
        Ok(Setting::App {
            group,
            key: row.name,
            app: Box::new(app),
        })
    }

    fn count(&self, group: usize, node: &Node) -> Result<Setting, Refusal> {
        let row = Section::Group.keys().find(|row| row.name == "count");
        match row.map(|row| row.domain.read(node)) {
            Some(Ok(Parsed::Value(Value::Integer(count)))) => Ok(Setting::Count {
                group,
                count: u32::try_from(count).unwrap_or(u32::MAX),
            }),
            Some(Err(refusal)) => Err(refusal),
            _ => Err(self.refusal()),
        }
    }

    fn impair(
        &mut self,
        side: Side,
        key: &str,
        name: &str,
        node: &Node,
    ) -> Result<Setting, Refusal> {
        let spec = &mut self.links[side.hop.index()].impairs[side.direction.index()];
        let Some(changed) = spec.clone().changed(name, node) else {
            return Err(self.refusal());
        };
        let changed = changed?;
        if changed.scatters_twice() {
            return Err(Refusal::ScattersTwice);
        }
        if let Some((needs, true)) = changed.needs(name) {
            let needed = format!("{}{needs}", key.trim_end_matches(name));
            if !self.keys.contains(&needed) {
                return Err(Refusal::Beside(needs));
            }
        }
        spec.clone_from(&changed);
        Ok(Setting::Impair {
            side,
            key: name.to_owned(),
            spec: changed,
        })
    }

    fn rtt(&self, group: usize, node: &Node) -> Result<Setting, Refusal> {
        let row = Section::Group.keys().find(|row| row.name == "rtt");
        let Some(Parsed::Value(Value::Time(rtt))) =
            row.map(|row| row.domain.read(node)).transpose()?
        else {
            return Err(self.refusal());
        };
        let path = self.groups[group].path;
        let last = path.last;
        // Behind the last link its rest follows.
        let between = path.iter().filter(|hop| *hop != last);
        let delays = between.map(|hop| self.links[hop.index()].delay);
        let least = delays.fold(Time::ZERO, |sum, delay| sum + delay) * 2;
        match rtt < least {
            true => Err(Refusal::ShortRtt(least)),
            false => Ok(Setting::Rtt { group, rtt }),
        }
    }

    /// The refusal of a key that cannot change, with those that can.
    fn refusal(&self) -> Refusal {
        let live = KEYS.iter().filter(|key| key.live);
        let of_link = |prefix: &str| -> Vec<String> {
            let live = live.clone();
            live.filter_map(|key| match key.section {
                Section::Link => Some(format!("{prefix}.{}", key.name)),
                Section::Reverse => Some(format!("{prefix}.reverse.{}", key.name)),
                _ => None,
            })
            .collect()
        };
        let mut keys: Vec<String> = Vec::new();
        for link in &self.links {
            let prefix = match &self.links[..] {
                [_] => "link".to_owned(),
                _ => format!("link.{}", link.name),
            };
            keys.extend(of_link(&prefix));
            for (path, impair) in ["", ".reverse"].iter().zip(&link.impairs) {
                let live = rows(Section::Impair).iter().filter(|row| row.live);
                let rules = impair.rules.iter().map(rules::live_key);
                let all: Vec<String> = live.map(|row| row.name.to_owned()).chain(rules).collect();
                keys.push(format!("{prefix}{path}.impair.{{{}}}", all.join(", ")));
            }
            for (path, queue) in ["queue", "reverse.queue"].iter().zip(&link.queues) {
                let table = queue.settings.table().iter();
                let names: Vec<&str> = table.filter(|p| p.live).map(|p| p.name).collect();
                keys.push(format!("{prefix}.{path}.{{{}}}", names.join(", ")));
            }
        }
        keys.push(format!(
            "group.{{{}}}.{{count, rtt}}",
            self.names().join(", ")
        ));
        for (name, app) in self.names().iter().zip(&self.apps) {
            let live: Vec<&str> = app.live().map(|row| row.name).collect();
            if !live.is_empty() {
                keys.push(format!("group.{name}.app.{{{}}}", live.join(", ")));
            }
        }
        Refusal::Fixed(keys.join(", "))
    }
}

fn flatten<'a>(path: &str, table: &'a Table, pairs: &mut Vec<(String, &'a Node)>) {
    for (key, node) in table.iter() {
        let key = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        match &node.value {
            Tree::Table(table) if !is_of_application(&key) => flatten(&key, table, pairs),
            _ => pairs.push((key, node)),
        }
    }
}

/// Whether it is a parameter of an application, which may be a table itself.
fn is_of_application(key: &str) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    matches!(parts.as_slice(), ["group", _, "app", _])
}
