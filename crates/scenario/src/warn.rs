//! Warnings: what is possible, but probably an error.

use quell_app::Transport;
use quell_aqm::value::CodeScale;
use quell_units::parameter::Value;
use quell_units::{Rate, Time};

use super::capacity::most_flows;
use super::carried;
use super::control::names;
use super::places::Places;
use super::problem::{Origin, Problem};
use super::thresholds;
use super::trace::LONG_OUTAGE;
use super::trial_queue::try_out;
use super::{
    ControlSpec, Direction, DirectionSpec, EcnSetting, Group, Link, Scenario, uses_values,
};

/// The control that [`least_rate`] is about.
const PRAGUE: &str = "prague";
/// A group that sends less than one part in so many of its link sends little.
const LITTLE: u128 = 20;
/// Two full packets with their Ethernet headers: 0.97 Mbit/s where they take 25 ms.
const TWO_PACKETS_BITS: u64 = 2 * 1_514 * 8;

/// Finds what to check before a result is trusted.
pub(super) fn warnings(scenario: &Scenario, places: &Places<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for group in &scenario.groups {
        let mut warn = |name: &str, found: &str, why: String| {
            warnings.push(places.problem(&format!("group.{}.{name}", group.name), found, why));
        };
        control(scenario, group, &mut warn);
        least_rate(scenario, group, &mut warn);
        queues(scenario, group, &mut warn);
        values(scenario, group, &mut warn);
    }
    networks(scenario, places, &mut warnings);
    carried::warn(scenario, places, &mut warnings);
    functions(scenario, places, &mut warnings);
    codes(scenario, places, &mut warnings);
    access(scenario, places, &mut warnings);
    phases(scenario, places, &mut warnings);
    traces(scenario, places, &mut warnings);
    thresholds::warn(scenario, places, &mut warnings);
    empty(scenario, places, &mut warnings);
    warnings
}

/// Groups that never have a flow, unless the command line has emptied them.
fn empty(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for (index, group) in scenario.groups.iter().enumerate() {
        let why = "the group never has a flow; give it one, or raise its count in an [[at]]";
        let problem = places.problem(
            &format!("group.{}.count", group.name),
            group.count,
            why.to_owned(),
        );
        let is_asked = matches!(problem.origin, Origin::Argument(_));
        if most_flows(scenario, index) == 0 && !is_asked {
            warnings.push(problem);
        }
    }
}

/// Traces with times in which flows give up, or in which what was written for the queue holds less than a packet.
fn traces(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let key = format!("{}.rate", scenario.side_key(side));
        let side = scenario.side(side);
        let Some(course) = &side.course else {
            continue;
        };
        let outage = course.longest_outage();
        if outage > LONG_OUTAGE {
            let why = format!("the trace has no capacity for {outage:.3}: flows will time out");
            warnings.push(places.problem(&key, "", why));
        }
        let slowest = course.slowest();
        if let Err(error) = try_out(&side.queue, slowest) {
            let then = match error.key.contains("limit") {
                true => "the queue holds one packet",
                false => "the queue keeps what it had at the rate before",
            };
            let why = format!(
                "where the trace has only {slowest:.3}, {then}: {} = {} {}",
                error.key, error.found, error.allowed
            );
            warnings.push(places.problem(&key, "", why));
        }
    }
}

/// Senders whose own links carry less than the link: its queue stays empty.
fn access(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    // Of several links each may be the bottleneck of some groups.
    let [Link { forward, .. }] = &scenario.links[..] else {
        return;
    };
    let link = match &forward.course {
        Some(course) => course.mean_rate(),
        None => forward.rate,
    };
    let mut sum = 0_u64;
    let forward = |group: &&Group| group.direction == Direction::Forward;
    for (index, group) in scenario
        .groups
        .iter()
        .enumerate()
        .filter(|(_, group)| forward(group))
    {
        let rate = group.access_rate;
        let flows = u64::from(most_flows(scenario, index));
        sum = sum.saturating_add(rate.as_bps().saturating_mul(flows));
    }
    let last = scenario.groups.iter().rfind(|group| {
        forward(group)
            && group.app.transport() == Transport::Stream
            && !group.access_rate.is_unlimited()
    });
    if let (Some(group), true) = (last, sum < link.as_bps()) {
        let why = format!(
            "the senders' own links carry {:.3} together, less than link.rate = {link}: the link is not the bottleneck",
            Rate::from_bps(sum)
        );
        let key = format!("group.{}.access-rate", group.name);
        warnings.push(places.problem(&key, group.access_rate, why));
    }
}

/// Whether the datagrams of the group cannot be more than a twentieth of what its slowest link carries: they build no queue, whoever
/// shares it with them.
fn is_little(scenario: &Scenario, group: &Group) -> bool {
    let (Some(datagrams), Some(index)) = (
        group.app.datagrams(),
        scenario
            .groups
            .iter()
            .position(|other| other.name == group.name),
    ) else {
        return false;
    };
    let flows = u64::from(most_flows(scenario, index));
    let bits = u128::from(datagrams.size.get()) * 8 * u128::from(flows);
    let gap = u128::from(datagrams.interval.mean.as_nanos()).max(1);
    bits * 1_000_000_000 / gap * LITTLE <= u128::from(scenario.slowest(group).as_bps())
}

fn control(scenario: &Scenario, group: &Group, warn: &mut dyn FnMut(&str, &str, String)) {
    let Some(control) = &group.congestion_control else {
        let is_deaf = group.ecn == EcnSetting::Ect1 && !group.app.responds();
        if is_deaf && !is_little(scenario, group) {
            let why = "datagrams do not respond to marks, which RFC 9331 asks of ECT(1)";
            warn("ecn", group.ecn.name(), why.to_owned());
        }
        return;
    };
    let name = control.name();
    let Some(known) = control.known() else {
        let why = format!(
            "is not one of quell's own ({}); only a host whose kernel has it can run it",
            names().join(", ")
        );
        warn("congestion-control", name, why);
        return;
    };
    if let Some(taken) = control.taken_for() {
        let why = format!(
            "the simulator takes {name} for {}; a kernel's {name} may be another, so write which one you mean",
            taken.name
        );
        warn("congestion-control", name, why);
    }
    let responds = control
        .config()
        .and_then(Result::ok)
        .is_none_or(|config| config.responds_to_marks());
    if group.ecn != EcnSetting::Off && !responds {
        let why = format!(
            "{name} does not respond to marks as it is set: queues that mark never slow it down"
        );
        warn("ecn", group.ecn.name(), why);
    } else if group.ecn == EcnSetting::Ect1 && !known.scalable {
        let why = format!(
            "{name} is not scalable: in an L4S queue it starves, or takes more than its share"
        );
        warn("ecn", group.ecn.name(), why);
    }
}

/// Prague's window is two packets at least, per `rtt_target` where the RTT is shorter. Below that pacing alone holds the rate, with packets
/// of full length; the original shortens them.
fn least_rate(scenario: &Scenario, group: &Group, warn: &mut dyn FnMut(&str, &str, String)) {
    let Some(control) = group.congestion_control.as_ref() else {
        return;
    };
    let target = control
        .options()
        .find(|(option, _)| option.name == "rtt_target");
    let (PRAGUE, Some((_, Value::Time(target)))) = (control.name(), target) else {
        return;
    };
    let narrowest = scenario.bottleneck(group).hop;
    let flows = scenario.groups.iter().enumerate().filter(|(_, other)| {
        other.direction == group.direction
            && other.path.contain(narrowest)
            && other.app.transport() == Transport::Stream
    });
    let flows: u64 = flows
        .map(|(index, _)| u64::from(most_flows(scenario, index)))
        .sum();
    let share = scenario.slowest(group).as_bps() / flows.max(1);
    let rtt = target.max(group.rtt);
    let least = TWO_PACKETS_BITS * 1_000_000_000 / rtt.as_nanos().max(1);
    if share < least {
        let why = format!(
            "the fair share of {flows} flows is {:.3} each, below two packets per {rtt}, which is the least window; the original shrinks its packets \
             there, quell's does not",
            Rate::from_bps(share)
        );
        warn("congestion-control", PRAGUE, why);
    }
}

/// What is wrong with every queue of a group that a rate can fill; one that suits the group is enough.
fn queues(scenario: &Scenario, group: &Group, warn: &mut dyn FnMut(&str, &str, String)) {
    let sides = scenario
        .sides_of(group, group.direction)
        .map(|side| scenario.side(side));
    let mut found = Vec::new();
    for side in sides.clone().filter(|side| !side.rate.is_unlimited()) {
        let before = found.len();
        queue(group, side, &mut |name, value, why| {
            found.push((name.to_owned(), value.to_owned(), why));
        });
        if found.len() == before {
            return;
        }
    }
    if found.is_empty() {
        sides.take(1).for_each(|side| queue(group, side, warn));
    } else {
        let (name, value, why) = found.swap_remove(0);
        warn(&name, &value, why);
    }
}

/// Marking without a queue that looks, and none where one does.
fn values(scenario: &Scenario, group: &Group, warn: &mut dyn FnMut(&str, &str, String)) {
    let mut sides = scenario
        .sides_of(group, group.direction)
        .map(|side| scenario.side(side));
    let first = sides.clone().next();
    let looks = sides.find(|side| uses_values(&side.queue));
    if let Some(side) = looks.or(first) {
        value(group, side, warn);
    }
}

fn queue(group: &Group, side: &DirectionSpec, warn: &mut dyn FnMut(&str, &str, String)) {
    // BBR with `ecn = true` counts marks as DCTCP does, and so asks for a code point.
    let config = group
        .congestion_control
        .as_ref()
        .and_then(ControlSpec::config);
    let counts_marks =
        config.is_some_and(|config| config.is_ok_and(|config| config.codepoint().is_some()));
    let who = match (group.ecn, group.is_scalable(), counts_marks) {
        (EcnSetting::Off, ..) | (_, false, false) => return,
        (_, true, _) => "scalable group",
        (_, false, true) => "group, which counts marks as DCTCP does,",
    };
    let settings = &side.queue.settings;
    let has = |name: &str| settings.table().iter().any(|row| row.name == name);
    if has("any_ect") {
        if group.ecn == EcnSetting::Ect0 && settings.value("any_ect") == Some(Value::Flag(false)) {
            let why = format!(
                "this {who} uses the Classic queue of {}; give it ecn = \"ect1\", or the queue any_ect = true",
                side.queue.kind
            );
            warn("ecn", group.ecn.name(), why);
        }
    } else if side.queue.kind == "fifo" {
        warn(
            "ecn",
            group.ecn.name(),
            format!("a fifo never marks, so this {who} sees only drops"),
        );
    } else if has("ecn") && settings.value("ecn") == Some(Value::Flag(false)) {
        let kind = side.queue.kind;
        let why = format!("{kind} marks only with ecn = true; without, this {who} sees only drops");
        warn("ecn", group.ecn.name(), why);
    }
}

/// Marking in front of a queue that does not look, and none in front of one that does.
fn value(group: &Group, side: &DirectionSpec, warn: &mut dyn FnMut(&str, &str, String)) {
    let kind = side.queue.kind;
    match &group.value {
        None if uses_values(&side.queue) => {
            let why = format!(
                "the packets of this group carry no value, so {kind} gives all of them its default_value; name a function"
            );
            warn("value", "none", why);
        }
        Some(value) if !uses_values(&side.queue) => {
            let names: Vec<&str> = value
                .functions
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            let why = format!("{kind} does not look at packet values, so this has no effect");
            warn("value", &names.join(", "), why);
        }
        _ => {}
    }
}

/// A scale of values on a side where no packet has a value.
fn codes(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let codes = scenario.side(side).codes;
        let mut groups = scenario.groups.iter();
        let used = groups.any(|group| {
            group.direction == side.direction
                && group.path.contain(side.hop)
                && group.value.is_some()
        });
        if !used && codes != CodeScale::default() {
            let key = format!("{}.bins-per-octave", scenario.side_key(side));
            let why = "no group whose data goes this way has a value, so this has no effect";
            warnings.push(places.problem(&key, codes.bins_per_octave(), why));
        }
    }
}

/// New values that no queue behind looks at.
fn networks(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for hop in scenario.hops().iter() {
        let networks = &scenario.links[hop.index()].remark;
        let groups = networks.iter().flat_map(|network| &network.groups);
        let mut groups = groups.map(|group| &scenario.groups[*group]);
        let looks = |group: &Group| {
            let sides = scenario.sides_of(group, group.direction);
            let mut rest = sides.filter(|side| match group.direction {
                Direction::Forward => side.hop >= hop,
                Direction::Reverse => side.hop <= hop,
            });
            rest.any(|side| uses_values(&scenario.side(side).queue))
        };
        if !networks.is_empty() && !groups.any(looks) {
            let key = format!("{}.remark", scenario.link_key(hop));
            let why = "no queue here or behind looks at packet values, so this has no effect";
            warnings.push(places.problem(&key, "", why));
        }
    }
}

/// Functions of the scenario's own that no group has.
fn functions(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for function in &scenario.functions {
        let used = scenario
            .groups
            .iter()
            .filter_map(|group| group.value.as_ref());
        let used = used.flat_map(|value| &value.functions);
        let networks = scenario.links.iter().flat_map(|link| &link.remark);
        let mut used = used.chain(networks.map(|network| &network.function));
        if used.all(|other| other.name != function.name) {
            let why = "no group and no network uses this function".to_owned();
            warnings.push(places.problem(&format!("value.{}", function.name), "", why));
        }
    }
}

fn phases(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    let run = &scenario.run;
    let all: Vec<Time> = scenario.phases().collect();
    // What repeats stands once in the file, and comes many times.
    let repeats = all.len() < scenario.changes.len();
    for (index, &time) in all.iter().enumerate() {
        let end = all.get(index + 1).copied().unwrap_or(run.duration);
        let start = time.max(run.warmup);
        if end <= start + run.settle {
            let why = format!(
                "the phase that starts here has no figures: warm-up and settling last until {end} or longer"
            );
            let key = match repeats {
                true => "at".to_owned(),
                false => format!("at.{}.time", index + 1),
            };
            warnings.push(places.problem(&key, time, why));
        }
    }
    let shortest = run.duration - run.warmup;
    if run.interval > shortest {
        let why = format!("no whole interval fits between the warm-up and the end, {shortest}");
        warnings.push(places.problem("run.interval", run.interval, why));
    }
}
