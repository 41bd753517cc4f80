//! `exec.json`: what is reported of a run beside its summary.

use quell_link::CodePoints;
use quell_measure::Direction;
use serde_json::{Value, json};

use crate::attach::Attachment;
use crate::changes::Made;
use crate::config::Config;
use crate::experience::{UserImpact, lost_outside};
use crate::link::Linked;
use crate::program::{Ended, Found};
use crate::relay::{Connection, Counts};
use crate::subnet::Subnet;
use crate::summary::ms;
use crate::verdict::Limits;

/// What a report is made of.
pub(crate) struct Ran<'a> {
    pub(crate) config: &'a Config,
    /// Of hosts that the link has made; not where it was in front of what ran already.
    pub(crate) subnet: Option<Subnet>,
    pub(crate) ipv6: bool,
    pub(crate) ecn: Option<u8>,
    pub(crate) controls: Option<&'a [String; 2]>,
    pub(crate) ended: Ended,
    pub(crate) descendants: usize,
    pub(crate) connections: &'a [Connection],
    pub(crate) counts: &'a Counts,
    pub(crate) limits: &'a Limits,
    pub(crate) impact: &'a UserImpact,
    pub(crate) linked: &'a Linked,
    pub(crate) changes: &'a [Made],
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
            "passed_by": report.bypassed.others,
            "ect1_rewritten": report.ect1_rewritten,
            "ecn": { "sent": code_points(&report.came), "received": code_points(&report.left) },
            "tcp_bytes": count(&counts.bytes[direction.index()]),
        })
    };
    let attachment = config.attachment.as_ref();
    let (code, signal) = match ran.ended {
        Ended::Code(code) => (Some(code), None),
        Ended::Signal(signal) => (None, Some(signal)),
    };
    json!({
        "schema": 1,
        "program": config.program.as_ref().map_or(Vec::new(), Found::words),
        "attached": attachment.map(Attachment::describe),
        "far": config.far.as_ref().map(Found::words),
        "net": attachment.map_or(config.net.name(), |_| "attached"),
        "link": config.plan.describe(),
        "rtt_ms": ms(config.plan.rtt()),
        "subnet": ran.subnet.map(Subnet::number),
        "ipv6": ran.ipv6,
        "mtu": attachment.map_or(config.mtu, |attachment| attachment.mtu),
        "tcp_ecn": ran.ecn,
        "congestion_control": ran.controls.map(|[inside, _]| inside),
        // With the host's routing the other end is the remote server, whose control nobody knows here.
        "far_congestion_control": ran.controls.filter(|_| config.net.has_far_tcp()).map(|[_, far]| far),
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
            "cut": count(&counts.cut),
            "turned_away": count(&counts.treated[0]),
            "unanswered": count(&counts.treated[1]),
            "delayed": count(&counts.treated[2]),
            "limited": count(&counts.treated[3]),
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

fn code_points(of: &CodePoints) -> Value {
    json!({ "not_ect": of.not_ect, "ect0": of.ect0, "ect1": of.ect1, "ce": of.ce })
}
