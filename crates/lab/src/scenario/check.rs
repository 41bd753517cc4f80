//! What no single key can tell: values that are impossible together, and what a world cannot do.

use quell_app::Transport;
use quell_aqm::parameter::{Value, limit_bytes};
use quell_aqm::{Bytes, Rate, Settings, Time};

use super::changes::try_out;
use super::control::names;
use super::keys::{MOST_FLOWS, MOST_GROUPS, MTU};
use super::problem::{Problem, Problems};
use super::tree::{Node, Tree};
use super::{Datagrams, Direction, EcnSetting, Group, Scenario, Setting};
use crate::World;

/// The most bytes that may be in flight: what the queues hold and what is on the way. A world keeps each of these packets in
/// memory.
pub const MEMORY_BUDGET: Bytes = Bytes::new(1 << 30);

/// Finds where a key was given.
pub(super) struct Places<'a> {
    file: &'a str,
    root: &'a Node,
}

impl<'a> Places<'a> {
    pub(super) fn new(file: &'a str, root: &'a Node) -> Self {
        Self { file, root }
    }

    /// A problem with `key`, at its own place or at the nearest table that should hold it. `found` stands for a value that
    /// nobody wrote.
    pub(super) fn problem(
        &self,
        key: &str,
        found: impl ToString,
        allowed: impl Into<String>,
    ) -> Problem {
        let mut at = self.root;
        let mut whole = true;
        for part in key.split('.') {
            match step(at, part) {
                Some(next) => at = next,
                None => {
                    whole = false;
                    break;
                }
            }
        }
        let found = found.to_string();
        let written = whole && matches!(at.value, Tree::Scalar(..));
        Problem {
            file: self.file.to_owned(),
            origin: at.origin.clone(),
            key: key.to_owned(),
            found: if written {
                Some(at.found())
            } else {
                Some(found).filter(|found| !found.is_empty())
            },
            allowed: allowed.into(),
        }
    }
}

/// One part of a dotted key down the tree; members of a list have a name, or a position from 1.
fn step<'a>(node: &'a Node, part: &str) -> Option<&'a Node> {
    match &node.value {
        Tree::Table(table) => table.get(part),
        Tree::Array(nodes) => {
            let named = |node: &&Node| match &node.value {
                Tree::Table(table) => table
                    .get("name")
                    .is_some_and(|name| name.found().trim_matches('"') == part),
                _ => false,
            };
            let by_position = || {
                part.parse::<usize>()
                    .ok()
                    .and_then(|position| nodes.get(position.checked_sub(1)?))
            };
            nodes.iter().find(named).or_else(by_position)
        }
        Tree::Scalar(..) => None,
    }
}

/// Everything that is wrong with a scenario whose single values are right.
pub(super) fn check(
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
) -> Result<(), Problems> {
    let mut problems = Vec::new();
    run(scenario, places, &mut problems);
    queues(scenario, places, &mut problems);
    groups(scenario, places, &mut problems);
    if let Some(world @ (World::Virtual | World::Live)) = world {
        offload(scenario, world, places, &mut problems);
    }
    for group in &scenario.groups {
        flows(group, scenario, world, places, &mut problems);
    }
    memory(scenario, places, &mut problems);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Problems(problems))
    }
}

fn run(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let run = &scenario.run;
    if run.warmup + run.settle >= run.duration {
        let settle = if run.settle.is_zero() {
            String::new()
        } else {
            format!(" and the settling of {}", run.settle)
        };
        let allowed = format!(
            "leaves nothing to measure after the warm-up of {}{settle}",
            run.warmup
        );
        problems.push(places.problem("run.duration", run.duration, allowed));
    }
    if run.interval > run.duration {
        problems.push(places.problem(
            "run.interval",
            run.interval,
            format!("must be at most run.duration = {}", run.duration),
        ));
    }
    for (index, change) in scenario.changes.iter().enumerate() {
        if change.time >= run.duration {
            let allowed = format!("must be before the end of the run at {}", run.duration);
            problems.push(places.problem(&format!("at.{}.time", index + 1), change.time, allowed));
        }
    }
}

fn queues(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for (path, side) in [
        ("link", &scenario.link.forward),
        ("link.reverse", &scenario.link.reverse),
    ] {
        let Err(error) = try_out(&side.queue, side.rate) else {
            continue;
        };
        let key = format!("{path}.queue.{}", error.key);
        problems.push(places.problem(&key, error.found, error.allowed));
    }
}

fn groups(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let groups = &scenario.groups;
    if groups.is_empty() {
        problems.push(places.problem(
            "group",
            "",
            "there is no group; a scenario needs at least one [[group]]",
        ));
    }
    if groups.len() > MOST_GROUPS {
        problems.push(places.problem(
            "group",
            groups.len(),
            format!("at most {MOST_GROUPS} groups are allowed"),
        ));
    }
    for (index, group) in groups.iter().enumerate() {
        if let Some(twin) = groups[..index]
            .iter()
            .position(|other| other.name == group.name)
        {
            let allowed = format!("group {} has this name already", twin + 1);
            problems.push(places.problem(
                &format!("group.{}.name", index + 1),
                &group.name,
                allowed,
            ));
        }
    }
    let most: u64 = (0..groups.len())
        .map(|index| u64::from(most_flows(scenario, index)))
        .sum();
    if most > MOST_FLOWS {
        problems.push(places.problem(
            "group",
            format!("{most} flows"),
            format!("at most {MOST_FLOWS} flows are allowed"),
        ));
    }
}

/// The most flows that a group ever has.
pub(super) fn most_flows(scenario: &Scenario, index: usize) -> u32 {
    let later = scenario
        .changes
        .iter()
        .flat_map(|change| &change.set)
        .filter_map(|setting| match setting {
            Setting::Count { group, count } if *group == index => Some(*count),
            _ => None,
        });
    later.fold(scenario.groups[index].count, u32::max)
}

fn flows(
    group: &Group,
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    let key = |name: &str| format!("group.{}.{name}", group.name);
    let index = scenario
        .groups
        .iter()
        .position(|other| other.name == group.name);
    if index.is_some_and(|index| most_flows(scenario, index) == 0) {
        let allowed = "the group never has a flow; give it one, or raise its count in an [[at]]";
        problems.push(places.problem(&key("count"), group.count, allowed));
    }
    if group.start >= scenario.run.duration {
        let allowed = format!(
            "must be before the end of the run at {}",
            scenario.run.duration
        );
        problems.push(places.problem(&key("start"), group.start, allowed));
    }
    if let Some(stop) = group.stop.filter(|stop| *stop <= group.start) {
        problems.push(places.problem(
            &key("stop"),
            stop,
            format!("must be after start = {}", group.start),
        ));
    }
    if group.is_scalable() && group.ecn == EcnSetting::Off {
        let allowed = format!(
            "must be ect0 or ect1: {} needs ECN",
            group.control_name().unwrap_or_default()
        );
        problems.push(places.problem(&key("ecn"), group.ecn.name(), allowed));
    }
    access(group, world, places, problems);
    if let Some(world) = world {
        control(group, world, places, problems);
    }
    if let Some(world) = world
        && group.rtt < world.smallest_rtt()
    {
        let allowed = format!(
            "must be at least {}, the smallest RTT of the {} world",
            world.smallest_rtt(),
            world.name()
        );
        problems.push(places.problem(&key("rtt"), group.rtt, allowed));
    }
}

/// Datagrams come whether their own link can carry them or not. A real host stands directly at quell's link, so that its
/// kernel would not notice a slower one in between.
fn access(group: &Group, world: Option<World>, places: &Places<'_>, problems: &mut Vec<Problem>) {
    if group.access_rate.is_unlimited() {
        return;
    }
    let mut refuse = |allowed: String| {
        let key = format!("group.{}.access-rate", group.name);
        problems.push(places.problem(&key, group.access_rate, allowed));
    };
    if let Some(Datagrams { size, interval }) = group.app.datagrams()
        && group.access_rate.time_for(size) > interval.mean
    {
        refuse(format!(
            "is too slow for datagrams of {size} every {}: they would wait longer and longer",
            interval.mean
        ));
    }
    if let Some(world @ (World::Virtual | World::Live)) = world {
        refuse(format!(
            "the {} world has no access-rate; leave it out, or use --world sim",
            world.name()
        ));
    }
}

/// The simulator has its own controls, with every option; a real stack has those of its kernel, whose options are one
/// setting for the whole host, or none.
fn control(group: &Group, world: World, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let Some(control) = &group.congestion_control else {
        return;
    };
    let key = format!("group.{}.congestion-control", group.name);
    match world {
        World::Sim if control.known().is_none() => {
            let allowed = format!(
                "the sim world has no such control; it has {}",
                names().join(", ")
            );
            problems.push(places.problem(&key, control.name(), allowed));
        }
        World::Sim => {}
        World::Virtual | World::Live => {
            for (parameter, value, usual) in control.changed() {
                let usual = usual.map_or(String::new(), |usual| format!(" of {usual}"));
                let allowed = format!(
                    "the {} world runs {} as the kernel has it and cannot set {}; leave it at its default{usual}, or use --world sim",
                    world.name(),
                    control.name(),
                    parameter.name
                );
                let key = format!("{key}.{}", parameter.name);
                problems.push(places.problem(&key, value, allowed));
            }
            if group.pacing == Some(false) && !control.leaves_pacing_to_others() {
                let allowed = format!(
                    "{} may pace by itself in the {} world, which nothing can turn off; leave pacing out",
                    control.name(),
                    world.name()
                );
                let key = format!("group.{}.pacing", group.name);
                problems.push(places.problem(&key, false, allowed));
            }
        }
    }
}

/// A real host offloads for all of its connections or for none: it is a setting of its interface.
fn offload(scenario: &Scenario, world: World, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut senders = scenario.groups.iter().filter(|group| {
            group.direction == direction && group.app.transport() == Transport::Stream
        });
        let Some(first) = senders.next() else {
            continue;
        };
        for other in senders.filter(|other| other.gso != first.gso) {
            let allowed = format!(
                "must be {} as for group {}: in the {} world all senders of a direction share one interface",
                first.gso,
                first.name,
                world.name()
            );
            let key = format!("group.{}.gso", other.name);
            problems.push(places.problem(&key, other.gso, allowed));
        }
    }
}

fn memory(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for (path, direction) in [
        ("link", Direction::Forward),
        ("link.reverse", Direction::Reverse),
    ] {
        let bytes = bytes_in_flight(scenario, direction);
        if bytes > MEMORY_BUDGET {
            let allowed = format!(
                "rate × (RTT + queue){} is {} MB in flight and the memory budget {} MB; lower the rate, the RTT or the queue's limit",
                match bytes_in_hosts(scenario, direction) {
                    Bytes::ZERO => "",
                    _ => " and what waits for access links",
                },
                bytes.get() / 1_000_000,
                MEMORY_BUDGET.get() / 1_000_000,
            );
            let side = scenario.link.side(direction);
            // The queue's limit is to blame if the path alone would fit.
            let limit = side
                .queue
                .settings
                .table()
                .iter()
                .any(|parameter| parameter.name == "limit");
            let queue = limit
                && queue_bytes(scenario, direction, fastest(scenario, direction)) > MEMORY_BUDGET;
            let (key, found) = if queue {
                let limit = side
                    .queue
                    .settings
                    .value("limit")
                    .map_or(String::new(), |limit| limit.to_string());
                (format!("{path}.queue.limit"), limit)
            } else {
                (format!("{path}.rate"), side.rate.to_string())
            };
            problems.push(places.problem(&key, found, allowed));
        }
    }
}

/// The most IP bytes that can be in flight in one direction: a full queue, the path's bandwidth-delay product, and what
/// waits in the hosts for access links. A link without a rate limit holds no queue, and what flows through it is bounded
/// by the other direction, or by access links.
pub fn bytes_in_flight(scenario: &Scenario, direction: Direction) -> Bytes {
    let hosts = bytes_in_hosts(scenario, direction);
    let rate = fastest(scenario, direction);
    if rate.is_unlimited() {
        return limited(scenario, direction).fold(hosts, |sum, (group, flows)| {
            sum + times(group.access_rate.bytes_in(group.rtt), flows)
        });
    }
    let longest = scenario
        .groups
        .iter()
        .map(|group| group.rtt)
        .max()
        .unwrap_or(Time::ZERO);
    rate.bytes_in(longest) + queue_bytes(scenario, direction, rate) + hosts
}

fn times(bytes: Bytes, number: u64) -> Bytes {
    Bytes::new(bytes.get().saturating_mul(number))
}

/// The groups of a direction whose senders have links of their own, and the most flows of each.
fn limited(scenario: &Scenario, direction: Direction) -> impl Iterator<Item = (&Group, u64)> {
    let groups = scenario.groups.iter().enumerate();
    groups
        .filter(move |(_, group)| group.direction == direction && !group.access_rate.is_unlimited())
        .map(|(index, group)| (group, u64::from(most_flows(scenario, index))))
}

/// What TCP lets wait for access links: two bursts and the one that is leaving, each of a millisecond at twice the rate,
/// longer for close peers, and of 64 KiB at most (`quell_tcp`, `sender/bursts.rs`). Datagrams wait one by one.
fn bytes_in_hosts(scenario: &Scenario, direction: Direction) -> Bytes {
    const LARGEST: u64 = 1 << 16;
    let of_a_flow = |group: &Group| {
        if group.app.transport() == Transport::Datagram {
            return MTU;
        }
        let burst = group.access_rate.bytes_in(Time::from_millis(2)).get();
        let close = LARGEST >> (group.rtt.as_nanos() / 512_000).min(63);
        Bytes::new(3 * burst.saturating_add(close).clamp(2 * MTU.get(), LARGEST))
    };
    limited(scenario, direction).fold(Bytes::ZERO, |sum, (group, flows)| {
        sum + times(of_a_flow(group), flows)
    })
}

fn fastest(scenario: &Scenario, direction: Direction) -> Rate {
    let later = scenario
        .changes
        .iter()
        .flat_map(|change| &change.set)
        .filter_map(|setting| match setting {
            Setting::Rate(which, rate) if *which == direction => Some(*rate),
            _ => None,
        });
    later.fold(scenario.link.side(direction).rate, Ord::max)
}

/// The most that the queue of a side can hold, with any limit that it has during the run.
fn queue_bytes(scenario: &Scenario, direction: Direction, rate: Rate) -> Bytes {
    let mut settings = scenario.link.side(direction).queue.settings.clone();
    let mut most = limit_of(&settings, rate);
    for setting in scenario.changes.iter().flat_map(|change| &change.set) {
        if let Setting::Queue {
            direction: which,
            key,
            value,
        } = setting
            && *which == direction
            && settings.set(key, value).is_ok()
        {
            most = most.max(limit_of(&settings, rate));
        }
    }
    most
}

fn limit_of(settings: &Settings, rate: Rate) -> Bytes {
    let has_limit = settings
        .table()
        .iter()
        .any(|parameter| parameter.name == "limit");
    let limit = if has_limit {
        settings.value("limit")
    } else {
        None
    };
    match limit {
        Some(Value::Packets(packets)) => Bytes::new(packets.saturating_mul(MTU.get())),
        Some(limit) => limit_bytes(limit, rate).unwrap_or(Bytes::ZERO),
        None => Bytes::ZERO,
    }
}
