//! Thresholds of queuing delay that are shorter than the link's own grain: than what a packet waits although no queue stands.
//!
//! The grain is the time of a packet of the MTU: who arrives behind another one waits that long. Over a medium it is an access: the
//! aggregate that is being sent, and the longest wait for the next. The table of a discipline says which parameters are thresholds, and
//! what they are compared with ([`Threshold`]).
//!
//! Where the warning begins was measured (`quell run`, Prague beside CUBIC, RTT 20 ms, DualPI2 with its step of 1 ms, 60 s). Of a grain as
//! long as the threshold (12 Mbit/s) Prague has 0.71 of CUBIC's rate, of 1.2 times the threshold (10 Mbit/s) 0.40, of 1.5 times
//! (8 Mbit/s) 0.28, and of twice the threshold (6 Mbit/s) 0.08; with a step of the grain both have the same from 5 Mbit/s on. Alone,
//! Prague keeps the link at all these rates, but not over a medium: with grains of 4.2, 6.0 and 8.0 ms it gets half of the link from a step
//! of that length on, and 0.2 % with 1 ms. Over a trace (scenarios/traces/lte.toml) the shares are even although a quarter of the time
//! is too slow, so the rate that the link has for half of its time counts.
//!
//! A delay that must stay is not reached by a single wait: CoDel with its target of 5 ms fills a link of 500 kbit/s. There the rule is that
//! of RFC 8290 section 5.2 (the target is at least the time of a packet) and of CAKE, which raises the target to 1.5 packets; over a medium
//! the mean wait counts.

use quell_aqm::medium::Medium;
use quell_units::parameter::{Threshold, Value};
use quell_units::{Bytes, Rate, Settings, Time};

use super::keys::MTU;
use super::places::Places;
use super::problem::Problem;
use super::{DirectionSpec, EcnSetting, Group, Scenario, Setting, Side};

/// A threshold may be shorter than the grain by a fifth.
const TOLERATED: (u64, u64) = (5, 4);

pub(super) fn warn(scenario: &Scenario, places: &Places<'_>, warnings: &mut Vec<Problem>) {
    for side in scenario.sides() {
        let spec = scenario.side(side);
        let settings = &spec.queue.settings;
        for (row, value) in settings.applicable() {
            let (Some(kind), Some(Value::Time(threshold))) = (row.threshold, value) else {
                continue;
            };
            let Some(why) = doubt(scenario, side, row.name, kind, threshold) else {
                continue;
            };
            let key = format!("{}.queue.{}", scenario.side_key(side), row.name);
            warnings.push(places.problem(&key, threshold, why));
        }
    }
}

/// The warning about a threshold that is shorter than the grain of its link.
fn doubt(
    scenario: &Scenario,
    side: Side,
    name: &str,
    kind: Threshold,
    threshold: Time,
) -> Option<String> {
    let spec = scenario.side(side);
    let (rate, is_constant) = usual_rate(scenario, side)?;
    let packet = rate.time_for(MTU);
    let (limit, of) = (threshold * TOLERATED.0, TOLERATED.1);
    if let Some(medium) = &spec.medium {
        let wait = wait(medium, kind, packet);
        if wait * of > limit {
            let how = match kind {
                Threshold::EachPacket { .. } => "up to",
                Threshold::Standing => "on average",
            };
            return Some(format!(
                "is shorter than what a packet waits for its medium, {how} {}, so the queue signals where none stands; {} avoids that",
                wait.rounded_up(),
                advice(name, advised(kind, wait), &spec.queue.settings, packet)
            ));
        }
    }
    let spared = |(other, packets): (&'static str, u64)| {
        let least = match spec.queue.settings.applicable_value(other) {
            Some(Value::Packets(least) | Value::Integer(least)) => least,
            _ => 0,
        };
        (least < packets).then(|| format!(" or {other} = {packets}p"))
    };
    let also = match kind {
        Threshold::EachPacket {
            spares: Some(other),
        } => spared(other)?,
        _ => String::new(),
    };
    let is_alone = matches!(kind, Threshold::EachPacket { .. }) && !shared(scenario, side);
    if packet * of <= limit || is_alone {
        return None;
    }
    let sometimes = match is_constant {
        true => "",
        false => ", and the link is no faster for half of its time",
    };
    Some(format!(
        "is shorter than a packet of {MTU} takes at {rate}, {}{sometimes}: the queue signals where no more than a packet or two wait; \
         {}{also} avoids that",
        packet.rounded_up(),
        advice(name, advised(kind, packet), &spec.queue.settings, packet)
    ))
}

/// The threshold that would do, with a limit above it: a queue that drops before it signals never reaches its threshold.
fn advice(name: &str, advised: Time, settings: &Settings, packet: Time) -> String {
    let packets = (advised * 2).as_nanos().div_ceil(packet.as_nanos().max(1));
    let (limit, enough) = match settings.applicable_value("limit") {
        Some(Value::Time(limit)) => (limit, (advised * 2).to_string()),
        Some(Value::Packets(limit) | Value::Integer(limit)) => {
            (packet * limit, format!("{packets}p"))
        }
        Some(Value::Bytes(limit)) => {
            let enough = Bytes::new(MTU.get().saturating_mul(packets));
            (packet * (limit.get() / MTU.get()), enough.to_string())
        }
        _ => (Time::MAX, String::new()),
    };
    if limit > advised {
        return format!("{name} = {advised}");
    }
    format!("{name} = {advised} with limit = {enough}")
}

/// The threshold that a warning recommends.
fn advised(kind: Threshold, grain: Time) -> Time {
    match kind {
        Threshold::EachPacket { .. } => grain.rounded_up(),
        Threshold::Standing => (grain * 3 / 2).rounded_up(),
    }
}

/// The wait of a packet for the medium: at most, or on average.
fn wait(medium: &Medium, kind: Threshold, packet: Time) -> Time {
    let aggregate = packet * u64::from(medium.packets);
    let aggregate = aggregate.min(medium.time).max(packet);
    match kind {
        Threshold::EachPacket { .. } => aggregate + medium.delay + medium.backoff,
        Threshold::Standing => medium.delay + (aggregate + medium.backoff) / 2,
    }
}

/// The rate that a side has or is below for half of the time in which it has any, and whether it has no other; `None` without a limit.
fn usual_rate(scenario: &Scenario, side: Side) -> Option<(Rate, bool)> {
    let mut spans = spans(scenario, side);
    spans.retain(|(_, rate)| !rate.is_zero() && !rate.is_unlimited());
    spans.sort_by_key(|(_, rate)| *rate);
    let all = spans.iter().fold(Time::ZERO, |sum, (span, _)| sum + *span);
    let mut sum = Time::ZERO;
    let median = spans.iter().find(|(span, _)| {
        sum += *span;
        sum * 2 >= all
    });
    let (_, median) = median?;
    let is_constant = spans.iter().all(|(_, rate)| rate == median);
    Some((*median, is_constant))
}

/// The time for which a side has each rate.
fn spans(scenario: &Scenario, side: Side) -> Vec<(Time, Rate)> {
    let spec = scenario.side(side);
    if let Some(course) = &spec.course {
        return course.spans();
    }
    let mut spans = Vec::new();
    let (mut since, mut rate) = (Time::ZERO, spec.rate);
    for change in &scenario.changes {
        for setting in &change.set {
            if let Setting::Rate(which, new) = setting
                && *which == side
            {
                spans.push((change.time - since, rate));
                (since, rate) = (change.time, *new);
            }
        }
    }
    spans.push((scenario.run.duration - since, rate));
    spans
}

/// Whether packets that a threshold judges share a side with packets that it does not. They wait behind these; among themselves, senders
/// that see each mark keep the queue short enough.
fn shared(scenario: &Scenario, side: Side) -> bool {
    let spec: &DirectionSpec = scenario.side(side);
    let here = |group: &&Group| {
        group.path.contain(side.hop)
            && (group.direction == side.direction || group.app.session().is_some())
    };
    let judged = |group: &Group| is_judged(&spec.queue.settings, group);
    let groups = || scenario.groups.iter().filter(here);
    groups().any(judged) && !groups().all(judged)
}

/// Whether a threshold judges the packets of a group: of a dual queue what goes to the L4S queue, else what can be marked.
fn is_judged(settings: &Settings, group: &Group) -> bool {
    let any_ect = settings.applicable_value("any_ect");
    match (any_ect, group.ecn) {
        (_, EcnSetting::Off) => false,
        (None, _) | (_, EcnSetting::Ect1) => true,
        (Some(any_ect), EcnSetting::Ect0) => any_ect == Value::Flag(true),
    }
}
