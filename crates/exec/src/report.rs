//! What is reported of a run: the summary, its warnings, and `exec.json`.

use quell_link::{CodePoints, LinkReport};
use quell_measure::{Direction, FlowResults, Histograms, LinkResults, RunInfo, Summary};
use quell_scenario::{Side, World};
use quell_units::Time;
use serde_json::{Value, json};

use crate::Plan;
use crate::experience::{UserImpact, lost_outside};
use crate::link::Linked;
use crate::program::{Ended, Found};
use crate::relay::{Connection, Counts};
use crate::remote::Made;
use crate::run::Config;
use crate::subnet::Subnet;
use crate::verdict::Limits;

/// The share of the base RTT that the link's lateness may reach, as in `quell run`.
const TOLERABLE_LATENESS_PERCENT: u64 = 5;
/// The same without a base RTT.
const TOLERABLE_LATENESS: Time = Time::from_millis(1);

/// Of fewer packets a percentile of lateness says nothing.
const FEW_PACKETS: u64 = 100;

/// The figures of a link, with `partial` those so far.
pub(crate) fn summarise(
    plan: &Plan,
    world: World,
    linked: &Linked,
    partial: bool,
) -> (Summary, Histograms) {
    let scenario = plan.scenario();
    // Forward, and back what had a rate at any time.
    let is_shown = |link: &&LinkResults| {
        let (hop, direction) = (link.whole.hop, link.whole.direction);
        direction == Direction::Forward || plan.is_ever_limited(Side { hop, direction })
    };
    let links: Vec<&LinkResults> = linked.results.iter().filter(is_shown).collect();
    let info = RunInfo {
        scenario: scenario.name.clone(),
        world: world.name().to_owned(),
        seed: scenario.run.seeds.first().copied().unwrap_or_default(),
        duration: linked.ended,
        warmup: Time::ZERO,
        partial,
        warnings: Vec::new(),
        groups: Vec::new(),
    };
    let flows = FlowResults {
        whole: Vec::new(),
        phases: linked.results[0]
            .phases
            .iter()
            .map(|_| Vec::new())
            .collect(),
    };
    let histograms = Histograms::new(&[], &links);
    let mut summary = Summary::new(info, &links, &flows);
    let extra = &mut summary.figures.link.extra;
    for (name, direction) in [
        ("lateness_ms", Direction::Forward),
        ("reverse_lateness_ms", Direction::Reverse),
    ] {
        let late = linked.report.direction(direction).lateness;
        let dist = json!({ "p50": ms(late.p50), "p99": ms(late.p99), "max": ms(late.max) });
        extra.insert(name.to_owned(), dist);
    }
    extra.insert("cpu_share".to_owned(), json!(linked.report.cpu_share()));
    (summary, histograms)
}

fn code_points(of: &CodePoints) -> Value {
    json!({ "not_ect": of.not_ect, "ect0": of.ect0, "ect1": of.ect1, "ce": of.ce })
}

fn ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// What puts a result in doubt, in the words of `quell run` where it has them.
pub(crate) fn warnings(
    plan: &Plan,
    report: &LinkReport,
    counts: &Counts,
    missing: u64,
) -> Vec<String> {
    let mut warnings = plan.warnings().to_vec();
    let tolerable = match plan.rtt() {
        rtt if rtt.is_zero() => TOLERABLE_LATENESS,
        rtt => rtt * TOLERABLE_LATENESS_PERCENT / 100,
    };
    for direction in Direction::BOTH {
        let name = way(direction);
        let of = report.direction(direction);
        if of.lost.total() > 0 {
            warnings.push(format!(
                "{} packets {name} were lost outside the queue ({} by a full socket, {} too long, {} refused by the interface)",
                of.lost.total(), of.lost.socket, of.lost.truncated, of.lost.refused
            ));
        }
        if of.lateness.p99 > tolerable && of.received >= FEW_PACKETS {
            warnings.push(format!(
                "the link was late {name}: p99 {:.3}, above {tolerable:.3}; this machine is too slow or too busy",
                of.lateness.p99
            ));
        }
        if of.checksum_missing > 0 {
            warnings.push(format!(
                "{} packets {name} arrived without a checksum: offloads are on",
                of.checksum_missing
            ));
        }
    }
    let refused = Counts::get(&counts.refused);
    if refused > 0 {
        warnings.push(format!(
            "{refused} connections were refused: the relay had no room for more"
        ));
    }
    if missing > 0 {
        warnings.push(format!(
            "{missing} packets are missing in packets.pcapng: the disk was too slow"
        ));
    }
    warnings
}

/// A direction, for people.
fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "down",
        Direction::Reverse => "up",
    }
}

/// What a report is made of.
pub(crate) struct Ran<'a> {
    pub(crate) config: &'a Config,
    pub(crate) subnet: Subnet,
    pub(crate) ipv6: bool,
    pub(crate) ecn: u8,
    pub(crate) controls: [String; 2],
    pub(crate) ended: Ended,
    pub(crate) descendants: usize,
    pub(crate) connections: &'a [Connection],
    pub(crate) counts: &'a Counts,
    pub(crate) limits: &'a Limits,
    pub(crate) impact: &'a UserImpact,
    pub(crate) linked: &'a Linked,
    pub(crate) changes: Vec<Made>,
}

/// `exec.json`.
pub(crate) fn report(ran: &Ran<'_>) -> Value {
    let Ran { config, counts, .. } = ran;
    let count = |counter| Counts::get(counter);
    let direction = |direction: Direction| {
        let report_of = &ran.linked.report;
        let report = report_of.direction(direction);
        json!({
            "packets": report.received,
            "marked": report.marked,
            "dropped": report.dropped,
            "lost_outside": lost_outside(report_of, direction),
            "lost_outside_share": match direction {
                Direction::Forward => ran.impact.lost_outside_down,
                Direction::Reverse => ran.impact.lost_outside_up,
            },
            "ect1_rewritten": report.ect1_rewritten,
            "ecn": { "sent": code_points(&report.came), "received": code_points(&report.left) },
            "tcp_bytes": count(&counts.bytes[direction.index()]),
        })
    };
    let (code, signal) = match ran.ended {
        Ended::Code(code) => (Some(code), None),
        Ended::Signal(signal) => (None, Some(signal)),
    };
    json!({
        "schema": 1,
        "program": config.program.words(),
        "far": config.far.as_ref().map(Found::words),
        "net": config.net.name(),
        "link": config.plan.describe(),
        "rtt_ms": ms(config.plan.rtt()),
        "subnet": ran.subnet.number(),
        "ipv6": ran.ipv6,
        "mtu": config.mtu,
        "tcp_ecn": ran.ecn,
        "congestion_control": ran.controls[0],
        // With the host's routing the other end is the remote server, whose control nobody knows here; pasta has none.
        "far_congestion_control": config.net.has_far_tcp().then_some(&ran.controls[1]),
        "guest_day": config.guest_day,
        "exit_code": code,
        "signal": signal,
        "descendants_left": ran.descendants,
        "felt": ran.impact,
        "limited_by": ran.limits,
        "changes": ran.changes,
        "down": direction(Direction::Forward),
        "up": direction(Direction::Reverse),
        "relay": {
            "connections": count(&counts.connections),
            "refused": count(&counts.refused),
            "forbidden": count(&counts.forbidden),
            "unreachable": count(&counts.unreachable),
            "reset": count(&counts.reset),
            "exchanges": count(&counts.exchanges),
            "lost_datagrams": count(&counts.lost_datagrams),
            "retransmitted": count(&counts.retransmitted),
            "busy_s": count(&counts.busy) as f64 / 1e6,
            "window_limited_s": count(&counts.window_limited) as f64 / 1e6,
        },
        "connections": ran.connections,
    })
}
