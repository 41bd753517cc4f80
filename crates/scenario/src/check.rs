//! Checks of several keys together: values that are impossible together, and what a world cannot do.

use quell_app::Transport;

use super::capacity::{all_flows, most_flows, rtts};
use super::control::names;
use super::kernel_options::{is_given, module};
use super::keys::MOST_GROUPS;
use super::memory;
use super::places::Places;
use super::problem::{Problem, Problems};
use super::trial_queue::try_out_at_start;
use super::{Datagrams, Direction, EcnSetting, Group, Scenario};
use crate::world::{MOST_FLOWS, World};

mod links;
mod programs;

/// The most flows of real hosts, at one time and later: two sockets each stay well below what a process may open at all
/// (fs.nr_open, 1 048 576).
const MOST_SOCKET_PAIRS: u64 = 100_000;

/// Everything that is wrong with a scenario whose single values are right.
pub(super) fn check(
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
) -> Result<(), Problems> {
    let mut problems = Vec::new();
    run(scenario, places, &mut problems);
    queues(scenario, places, &mut problems);
    links::check(scenario, places, &mut problems);
    links::spreads(scenario, places, &mut problems);
    groups(scenario, world, places, &mut problems);
    programs::check(scenario, world, places, &mut problems);
    if let Some(world @ (World::Virtual | World::Live)) = world {
        offload(scenario, world, places, &mut problems);
    }
    if world == Some(World::Sim) {
        links::rules(scenario, places, &mut problems);
    }
    if world == Some(World::Virtual) {
        shared_options(scenario, places, &mut problems);
    }
    for group in &scenario.groups {
        flows(group, scenario, world, places, &mut problems);
    }
    // The memory would say nothing about what is wrong otherwise.
    if let (Some(world), true) = (world, problems.is_empty()) {
        memory::check(scenario, world, places, &mut problems);
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Problems::new(problems))
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
    // What repeats is there only as long as the run lasts, and the last ones in the file are the last ones here.
    let late = scenario.changes.iter().rev();
    let late = late.take_while(|change| change.time >= run.duration);
    let files = places.length("at");
    for (back, change) in late.enumerate() {
        let allowed = format!("must be before the end of the run at {}", run.duration);
        let key = format!("at.{}.time", files.saturating_sub(back));
        problems.push(places.problem(&key, change.time, allowed));
    }
}

fn queues(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let (path, side) = (scenario.side_key(side), scenario.side(side));
        let Err(error) = try_out_at_start(side) else {
            continue;
        };
        let key = format!("{path}.queue.{}", error.key);
        problems.push(places.problem(&key, error.found, error.allowed));
    }
}

fn groups(
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
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
    how_many(scenario, world, places, problems);
}

/// Flows at one time, and one after the other.
fn how_many(
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    let all = 0..scenario.groups.len();
    let most: u64 = all
        .clone()
        .map(|index| u64::from(most_flows(scenario, index)))
        .sum();
    let allowed = world.map_or(MOST_FLOWS, World::most_flows);
    let place = world.map_or(String::new(), |world| {
        format!(" in the {} world", world.name())
    });
    let is_real = matches!(world, Some(World::Virtual | World::Live));
    let why = if is_real {
        ": each is a pair of the kernel's sockets; --world sim has room for more"
    } else {
        ""
    };
    if most > allowed {
        problems.push(places.problem(
            "group",
            format!("{most} flows"),
            format!("at most {allowed} flows are allowed{place}{why}"),
        ));
        return;
    }
    // A real host opens the sockets of all of them before the first one starts.
    let ever = all
        .map(|index| all_flows(scenario, index))
        .fold(0, u64::saturating_add);
    if is_real && ever > MOST_SOCKET_PAIRS {
        problems.push(places.problem(
            "group",
            format!("{ever} flows"),
            format!(
                "at most {MOST_SOCKET_PAIRS} flows are allowed{place}, one after the other{why}"
            ),
        ));
    }
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
    // One group without flows is a choice; a warning says so where the file makes it.
    let has_flows = (0..scenario.groups.len()).any(|index| most_flows(scenario, index) > 0);
    if !has_flows && index.is_some() {
        let allowed =
            "no group ever has a flow; give one of them one, or raise its count in an [[at]]";
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
    links::delays(group, scenario, places, problems);
    access(group, scenario, world, places, problems);
    if let Some(world) = world {
        control(group, world, places, problems);
        receiver(group, world, places, problems);
    }
    if world == Some(World::Sim)
        && group.app.transport() == Transport::Stream
        && group.access_rate.is_unlimited()
        && !scenario.is_always_limited(group)
    {
        let allowed = format!(
            "must be a rate: data of TCP flows (group {}) goes this way, and modelled hosts have no speed limit",
            group.name
        );
        let side = scenario.bottleneck(group);
        let rate = scenario.side(side).rate;
        let key = format!("{}.rate", scenario.side_key(side));
        problems.push(places.problem(&key, rate, allowed));
    }
    if let (Some(world), Some(datagrams)) = (world, group.app.datagrams())
        && datagrams.least < world.smallest_datagram(datagrams.content)
    {
        let allowed = format!(
            "must be at least {}, the smallest datagram of the {} world: it carries a sequence number and a time",
            world.smallest_datagram(datagrams.content),
            world.name()
        );
        problems.push(places.problem(&key("app.size"), datagrams.least, allowed));
    }
    let index = scenario
        .groups
        .iter()
        .position(|one| one.name == group.name);
    let shortest = index.and_then(|index| rtts(scenario, index).min());
    if let (Some(world), Some(rtt)) = (world, shortest)
        && rtt < world.smallest_rtt()
    {
        let allowed = format!(
            "must be at least {}, the smallest RTT of the {} world",
            world.smallest_rtt(),
            world.name()
        );
        problems.push(places.problem(&key("rtt"), rtt, allowed));
    }
}

/// Datagrams come whether their own link can carry them or not. A real host stands directly at quell's link, so that its
/// kernel would not notice a slower one in between.
fn access(
    group: &Group,
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    if group.access_rate.is_unlimited() {
        return;
    }
    let mut refuse = |allowed: String| {
        let key = format!("group.{}.access-rate", group.name);
        problems.push(places.problem(&key, group.access_rate, allowed));
    };
    let datagrams = scenario.apps(group).filter_map(|app| app.datagrams());
    if let Some(Datagrams { size, interval, .. }) = datagrams.min_by_key(|all| all.interval.mean)
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

/// Groups of one control have the same options in a kernel.
fn shared_options(scenario: &Scenario, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let with_control = |group: &'_ Group| group.congestion_control.clone();
    for (index, group) in scenario.groups.iter().enumerate() {
        let Some(control) = with_control(group) else {
            continue;
        };
        let other = scenario.groups[..index].iter().find(|earlier| {
            with_control(earlier)
                .is_some_and(|other| other.name() == control.name() && other != control)
        });
        if let Some(other) = other {
            let allowed = format!(
                "has other options than in group {}, and the virtual world has one setting of a control for all groups; give both the \
                 same, or use --world sim",
                other.name
            );
            let key = format!("group.{}.congestion-control", group.name);
            problems.push(places.problem(&key, control.name(), allowed));
        }
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
        World::Sim => {
            // A control that sets its own rate cannot do without: Linux's stack then paces for it.
            let sets_rate = control.known().is_some_and(|kind| kind.paced);
            if group.pacing == Some(false) && sets_rate {
                let allowed = format!(
                    "{} sends at a rate that it sets itself; leave pacing out",
                    control.name()
                );
                let key = format!("group.{}.pacing", group.name);
                problems.push(places.problem(&key, false, allowed));
            }
        }
        World::Virtual | World::Live if let Some(own) = control.model_alone() => {
            let allowed = format!(
                "is a model of {} that no kernel has, and the {} world runs the controls of a kernel; use --world sim",
                own.origin,
                world.name()
            );
            problems.push(places.problem(&key, control.name(), allowed));
        }
        World::Virtual | World::Live => {
            let is_settable =
                |option| world == World::Virtual && module(control.name(), option).is_some();
            for (parameter, value, usual) in control.changed() {
                if is_settable(parameter.name) || is_given(control.name(), parameter.name, value) {
                    continue;
                }
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

/// The control of a receiver, which has no options in a kernel.
fn receiver(group: &Group, world: World, places: &Places<'_>, problems: &mut Vec<Problem>) {
    let own = group.receiver.as_ref();
    let Some(control) = own.and_then(|receiver| receiver.congestion_control.as_ref()) else {
        return;
    };
    let allowed = match world {
        World::Sim if control.known().is_none() => {
            format!(
                "the sim world has no such control; it has {}",
                names().join(", ")
            )
        }
        World::Virtual | World::Live
            if control.model_alone().is_some() || control.changed().next().is_some() =>
        {
            format!(
                "a receiver in the {} world has a control of its kernel, without options; use --world sim",
                world.name()
            )
        }
        _ => return,
    };
    let key = format!("group.{}.receiver.congestion-control", group.name);
    problems.push(places.problem(&key, control.name(), allowed));
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
