//! What every world that simulates or carries packets has in common: which figures are taken, and
//! how they are put together.

use std::collections::BTreeMap;

use quell_app::{AppConfig, Report, Transport, Value};
use quell_aqm::impair::Impairer;
use quell_aqm::{Packet, Qdisc as _, Service};
use quell_measure::{
    AppFigure, AppSummary, AppTimes, Carrier, Direction, FlowRecorder, GroupControl, GroupId,
    GroupInfo, Hop, Hops, LinkResults, NamedLink, Recorder, RecorderConfig, Summary, Timeline,
};
use quell_units::{Random, Time};

use crate::causes::SlowEvents;
use crate::keys::MTU;
use crate::lifetimes::Lifetime;
use crate::trial_queue::at_start;
use crate::{DirectionSpec, Group, Scenario, Side};

/// Below this utilisation a link that never signalled was not the bottleneck.
pub(crate) const BOTTLENECK: f64 = 0.9;

/// The report of an application between two neighbouring cuts of the timeline, or of several such stretches.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// Index of the group.
    pub group: usize,
    /// Index within the group.
    pub flow: usize,
    /// The start of the report's stretch.
    pub from: Time,
    /// The end of the report's stretch.
    pub to: Time,
    /// The report of the application.
    pub report: &'a Report,
}

/// The warm-up, the phases and their settling, by which figures are counted.
pub fn timeline(scenario: &Scenario) -> Timeline {
    let run = &scenario.run;
    let changes: Vec<Time> = scenario.phases().collect();
    Timeline::new(run.warmup, &changes, run.settle, run.duration)
}

/// Ends of segments, the last of which is the end of the run.
pub fn cuts(timeline: &Timeline) -> Vec<Time> {
    let segments = timeline.segments().iter();
    segments.map(|segment| segment.span.end).collect()
}

/// The longest time that a host takes before it looks at a packet: that of a quiet machine, and enough for seeds to differ. More
/// is not harmless, because self-clocked flows add it up round by round: with a packet time (0.3 ms at 40 Mbit/s) a lone DCTCP
/// 25 ms away, marked by a step of 1 ms, fills 96.4 % of the link; with 20 µs 98.9 %, as without.
const NOISE: Time = Time::from_micros(20);

/// Hosts with TCP senders take a random time before they look at what comes back: not longer than a full packet on the
/// link, which is enough to get out of step (Floyd and Jacobson 1992), nor than 5 % of the base RTT. By direction and group, in the
/// worlds where nothing else makes hosts late.
pub fn noise(scenario: &Scenario) -> [Vec<Time>; 2] {
    let span = |group: &Group, direction| {
        if group.direction == direction || group.app.transport() == Transport::Datagram {
            return Time::ZERO;
        }
        let rate = scenario.slowest(group);
        NOISE.min(rate.time_for(MTU)).min(group.rtt / 20)
    };
    Direction::BOTH.map(|direction| {
        let groups = scenario.groups.iter();
        groups.map(|group| span(group, direction)).collect()
    })
}

/// The groups as the summary describes them.
pub fn group_infos(scenario: &Scenario) -> Vec<GroupInfo> {
    let info = |group: &Group| GroupInfo {
        name: group.name.clone(),
        congestion_control: group.control_name().map(str::to_owned),
        elastic: group.app.is_greedy(),
    };
    scenario.groups.iter().map(info).collect()
}

/// The control of a group as it is known before the run; `None` for datagrams.
pub fn group_control(group: &Group, carrier: Carrier) -> Option<GroupControl> {
    let control = group.congestion_control.as_ref()?;
    let mut named = control
        .options()
        .filter(|(option, _)| VARIANT.contains(&option.name));
    Some(GroupControl {
        group: group.name.clone(),
        control: control.name().to_owned(),
        variant: named.next().map(|(_, value)| value.to_string()),
        carrier,
        feedback: Vec::new(),
        reported_ce: None,
        approximations: Vec::new(),
    })
}

/// Options that choose between published forms of a control.
const VARIANT: [&str; 2] = ["variant", "revision"];

/// The recorder of one direction of one link.
pub fn recorder(
    scenario: &Scenario,
    timeline: &Timeline,
    hop: Hop,
    direction: Direction,
) -> Recorder {
    let link = &scenario.links()[hop.index()];
    let side = link.direction(direction);
    let groups = scenario.groups.iter();
    let recorder = Recorder::new(RecorderConfig {
        hop,
        hop_name: link.name().to_owned(),
        direction,
        queues: queue_names(side),
        groups: groups
            .map(|group| group.direction == direction && group.path.contain(hop))
            .collect(),
        ends: (scenario.links.len() > 1).then(|| {
            let groups = scenario.groups.iter();
            groups.map(|group| ends_at(group, hop, direction)).collect()
        }),
        rate: side.rate,
        timeline: timeline.clone(),
        interval: Some(scenario.run.interval),
    });
    match side.course {
        Some(_) => recorder.judged_by_offer(),
        None => recorder,
    }
}

/// The service of a link, in every world; `component` names its random stream.
pub fn service(side: &DirectionSpec, seed: u64, component: &str) -> Service {
    let random = || Random::new(seed, &format!("{component}.access"));
    Service {
        trace: side.course.clone(),
        medium: side.medium.map(|medium| (medium, random())),
    }
}

/// What happens behind a queue, in every world; `component` names its random streams.
pub fn impairer(side: &DirectionSpec, seed: u64, component: &str) -> Impairer {
    let impair = side.impair.as_ref();
    let impairment = impair.map(|impair| impair.impairment());
    let mut impairer = Impairer::new(impairment, seed, component);
    if let Some(course) = impair.and_then(|impair| impair.course()) {
        impairer.follow(course);
    }
    impairer
}

/// The last link of `path` in each direction, and the delay behind it where the base RTT is `rtt`: what the links before leave.
pub fn last_delays(scenario: &Scenario, path: Hops, rtt: Time) -> [(Hop, Direction, Time); 2] {
    Direction::BOTH.map(|direction| {
        let last = path.exit(direction);
        let between = path.iter().filter(|hop| *hop != last);
        let rest = between.fold(rtt / 2, |rest, hop| {
            rest - scenario.links[hop.index()].delay
        });
        (last, direction, rest)
    })
}

/// Whether the data of `group` leaves the last of several queues here.
fn ends_at(group: &Group, hop: Hop, direction: Direction) -> bool {
    let way = group.direction == direction && group.path.count() > 1;
    way && group.path.exit(direction) == hop
}

/// Names of the queues of the discipline of `side`.
pub fn queue_names(side: &DirectionSpec) -> &'static [&'static str] {
    discipline::<quell_sim::Packet>(side, Random::new(0, "names")).queues()
}

/// What the summary shows: of each link the forward direction, and the reverse one where its rate is limited, where several
/// links have data in it, or where there are rules.
pub fn shown<'a>(scenario: &Scenario, results: &'a [LinkResults]) -> Vec<&'a LinkResults> {
    let is_shown = |link: &&LinkResults| {
        let hop = link.whole.hop;
        let side = &scenario.links()[hop.index()].reverse;
        // Of several links also those that data crosses.
        let mut groups = scenario.groups.iter();
        let crossed = scenario.links.len() > 1
            && groups.any(|group| group.direction == Direction::Reverse && group.path.contain(hop));
        let has_rules = !link.whole.outside.rules.is_empty();
        let is_forward = link.whole.direction == Direction::Forward;
        is_forward || !side.rate.is_unlimited() || crossed || has_rules
    };
    results.iter().filter(is_shown).collect()
}

/// A recorder that knows every flow; ids count up from 0 in the order of `lifetimes`.
pub fn flow_recorder(
    scenario: &Scenario,
    timeline: &Timeline,
    lifetimes: &[Lifetime],
) -> FlowRecorder {
    let interval = Some(scenario.run.interval);
    let mut recorder = FlowRecorder::new(timeline.clone(), interval, scenario.groups.len());
    for lifetime in lifetimes {
        let id = recorder.start(GroupId(lifetime.group as u32), lifetime.start);
        if let Some(stop) = lifetime.stop {
            recorder.stop(id, stop);
        }
    }
    recorder
}

/// The queue of a side.
pub fn discipline<P: Packet>(side: &DirectionSpec, random: Random) -> quell_aqm::Discipline<P> {
    at_start(side, random).expect("the scenario's check has tried this queue")
}

/// Fills in what the applications report, for the whole and for each phase: the stretches that lie
/// inside count. `slow` adds why.
pub fn add_app_reports(
    scenario: &Scenario,
    summary: &mut Summary,
    stretches: &[Stretch<'_>],
    slow: &SlowEvents,
) {
    let seconds = |seconds: f64| Time::from_nanos((seconds * 1e9).round() as u64);
    let whole = (seconds(summary.warmup_s), seconds(summary.duration_s));
    for (index, group) in scenario.groups.iter().enumerate() {
        let of_group = stretches.iter().filter(|stretch| stretch.group == index);
        let mut of_group: Vec<&Stretch<'_>> = of_group.collect();
        of_group.sort_by_key(|stretch| stretch.from);
        let app = |(from, to)| {
            let mut report = merged(&of_group, from, to);
            if let Some(report) = &mut report {
                report.explain(&slow.between(index, from, to));
            }
            Some(app_summary(&group.app, report.as_ref()))
        };
        summary.figures.groups[index].app = app(whole);
        for phase in &mut summary.phases {
            phase.figures.groups[index].app = app((seconds(phase.start_s), seconds(phase.end_s)));
        }
    }
}

/// The reports of a group's flows between `from` and `to`, added up. Stretches are in the order of their starts.
fn merged(stretches: &[&Stretch<'_>], from: Time, to: Time) -> Option<Report> {
    let first = stretches.partition_point(|stretch| stretch.from < from);
    let begun = stretches[first..]
        .iter()
        .take_while(|stretch| stretch.from < to);
    let mut flows: BTreeMap<usize, Report> = BTreeMap::new();
    for Stretch { flow, report, .. } in begun.filter(|stretch| stretch.to <= to) {
        flows
            .entry(*flow)
            .and_modify(|sum| sum.append(report))
            .or_insert_with(|| (*report).clone());
    }
    flows.into_values().reduce(|mut sum, next| {
        sum.merge(&next);
        sum
    })
}

/// The figures of an application in a summary, from its report.
fn app_summary(app: &AppConfig, report: Option<&Report>) -> AppSummary {
    let mut summary = AppSummary::new(app.kind());
    for (figure, value) in report.map(Report::figures).unwrap_or_default() {
        summary.insert(figure.name, app_figure(value));
    }
    summary
}

fn app_figure(value: Value) -> AppFigure {
    match value {
        Value::Count(count) => AppFigure::Count(count),
        Value::Number(Some(number)) => AppFigure::Number(number),
        Value::Times(Some(times)) => AppFigure::Times(AppTimes {
            max: times.max,
            mean: times.mean,
            min: times.min,
            p1: times.p1,
            p25: times.p25,
            p50: times.p50,
            p75: times.p75,
            p90: times.p90,
            p99: times.p99,
            p999: times.p999,
        }),
        Value::Number(None) | Value::Times(None) => AppFigure::Nothing,
    }
}

/// A run that ended in its warm-up has no figures.
pub fn warn_if_unmeasured(summary: &Summary, warnings: &mut Vec<String>) {
    if summary.has_measured() {
        return;
    }
    warnings.push(match summary.warmup_s > 0.0 {
        true => format!(
            "nothing was measured: the run ended at {:.1} s, in its warm-up of {:.1} s",
            summary.duration_s, summary.warmup_s
        ),
        false => "nothing was measured: the run ended at its start".to_owned(),
    });
}

/// A link that neither filled nor signalled was not what limited the flows that take all they can get.
pub fn warn_if_idle(scenario: &Scenario, summary: &Summary, warnings: &mut Vec<String>) {
    if !summary.has_measured() {
        return;
    }
    let figures = &summary.figures;
    // Rate and utilisation, forward and reverse.
    let links: Vec<_> = match &figures.links[..] {
        [] => {
            let back = figures.link.reverse;
            let back = back.map_or((None, 0.0), |link| (link.rate_bps, link.utilisation));
            vec![[(figures.link.rate_bps, figures.link.utilisation), back]]
        }
        links => {
            let of = |link: &NamedLink| {
                let back = link.reverse;
                let back = back.map_or((None, 0.0), |link| (link.rate_bps, link.utilisation));
                [(link.rate_bps, link.utilisation), back]
            };
            links.iter().map(of).collect()
        }
    };
    for (hop, [forward, reverse]) in scenario.hops().iter().zip(links) {
        let name = match &scenario.links[..] {
            [_] => "link".to_owned(),
            links => format!("link {}", links[hop.index()].name),
        };
        let back = match scenario.links.len() {
            1 => "reverse link".to_owned(),
            _ => format!("reverse direction of {name}"),
        };
        for (direction, name, (rate, utilisation)) in [
            (Direction::Forward, name, forward),
            (Direction::Reverse, back, reverse),
        ] {
            let queues = figures.queues.iter();
            let queues = queues.filter(|queue| queue.hop == scenario.links[hop.index()].name);
            let queues = queues.filter(|queue| queue.direction == direction);
            let signals: u64 = queues.map(|queue| queue.marked + queue.dropped).sum();
            let side = Side { hop, direction };
            let mut groups = scenario.groups.iter();
            // Of several links the slowest that a group meets should be its bottleneck.
            let greedy = groups.any(|group| {
                group.direction == direction
                    && group.app.is_greedy()
                    && scenario.bottleneck(group) == side
            });
            // A link that waits for its medium is never in use all the time.
            let waits = scenario.side(side).medium.is_some();
            if greedy && signals == 0 && utilisation < BOTTLENECK && rate.is_some() && !waits {
                warnings.push(format!(
                    "the {name} was not the bottleneck: it was used for {:.1} % of the time, and its queue never signalled",
                    utilisation * 100.0
                ));
            }
        }
    }
}
