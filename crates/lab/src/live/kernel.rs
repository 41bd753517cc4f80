//! A run over a queue of the kernel instead of quell's own: everything else stays as it is.
//!
//! quell's link carries the packets without a rate, for the base RTT; the bottleneck is `htb` with one of the kernel's
//! disciplines, on a hop of its own behind the link ([`quell_hosts::kernel_queue`]). The scenario's rate is `htb`'s, its
//! queue is not used. So that the same scenario gives the same path in both cases:
//!
//! * `link.overhead` must be 14, because `htb` counts the Ethernet header;
//! * `htb` lets a packet go when its transmission would begin, quell's link when it ends: the base RTT is longer by the
//!   transmission of a full-sized packet.
//!
//! What the kernel's queue did is measured from outside ([`super::watch`]) and stands in the summary in the place of quell's.

use std::collections::BTreeMap;

use quell_aqm::departure_clock::Framing;
use quell_hosts::kernel_queue::{self, KernelQueue, Statistics};
use quell_link::Crossed;
use quell_measure::{Direction, Distribution, Histograms, Hop, QueueSummary, Summary};
use quell_scenario::keys::MTU;
use quell_scenario::{QueueSpec, Scenario};
use quell_units::{Bytes, Time};
use serde_json::{Value, json};

use super::error::LiveError;
use crate::World;
use crate::options::LiveOptions;

/// The depth of the bucket in bytes, where time is real: a frame, so that a kernel that wakes late keeps the rate.
const BURST: u64 = 1_500 + kernel_queue::OVERHEAD;
/// Where time is virtual no wake-up is late, and nothing needs to go early.
const PUNCTUAL_BURST: u64 = 1;

/// The kernel's queue that `options` ask for; `None` if they do not.
pub(super) fn queue(
    scenario: &Scenario,
    world: World,
    options: &LiveOptions,
) -> Result<Option<KernelQueue>, LiveError> {
    let Some(discipline) = &options.kernel_queue else {
        return Ok(None);
    };
    let refused = |why: &str| Err(LiveError::Scenario(format!("with --kernel-queue {why}")));
    if scenario.links.len() > 1 {
        return refused("there is one link: the kernel's queue is in the place of the only one");
    }
    let forward = &scenario.links[0].forward;
    let framing = Framing {
        overhead: kernel_queue::OVERHEAD as i32,
        ..Framing::default()
    };
    if forward.framing() != framing {
        return refused(
            "link.overhead must be 14 and link.mpu 0: the kernel's htb counts the Ethernet header of every packet",
        );
    }
    if forward.course.is_some() || forward.medium.is_some() || forward.impair.is_some() {
        return refused(
            "the link cannot have a trace, access or impair: the kernel's htb has one rate",
        );
    }
    if !scenario.changes.is_empty() {
        return refused("nothing can change during a run: [[at]] must be absent");
    }
    if scenario.groups.iter().any(|group| group.value.is_some()) {
        return refused("groups cannot have a value: the kernel's queues know none");
    }
    let queue = KernelQueue {
        discipline: discipline.clone(),
        rate_bps: forward.rate.as_bps(),
        burst: match world {
            World::Virtual => PUNCTUAL_BURST,
            World::Sim | World::Live => BURST,
        },
    };
    queue
        .check()
        .map_err(|error| LiveError::Scenario(error.to_string()))?;
    Ok(Some(queue))
}

/// `scenario` as quell's link carries it: without a rate, and a base RTT longer by a transmission.
pub(super) fn carried(scenario: &Scenario, queue: &KernelQueue) -> Result<Scenario, LiveError> {
    let mut carried = scenario.clone();
    let unlimited = QueueSpec::new("fifo").map_err(|error| LiveError::Failed(error.to_string()))?;
    let forward = &mut carried.links[0].forward;
    let transmission = queue.rate().time_for(forward.framing().link_bytes(MTU));
    forward.rate = quell_units::Rate::UNLIMITED;
    forward.overhead = 0;
    forward.mpu = Bytes::ZERO;
    forward.queue = unlimited;
    for group in &mut carried.groups {
        group.rtt += transmission;
    }
    Ok(carried)
}

/// What the kernel's discipline counted between two readings.
pub(super) fn counted(queue: &KernelQueue, before: &Statistics, after: &Statistics) -> Value {
    let marked = after.marked.zip(before.marked);
    json!({
        "discipline": queue.discipline,
        "rate_bps": queue.rate_bps,
        "burst": queue.burst,
        "packets": after.packets - before.packets,
        "dropped": after.dropped - before.dropped,
        "marked": marked.map(|(after, before)| after - before),
    })
}

/// Puts what was measured from outside in the place of what quell's link without a rate says of the forward direction.
pub(super) fn replace(
    summary: &mut Summary,
    histograms: &mut Histograms,
    scenario: &Scenario,
    queue: &KernelQueue,
    crossed: &[Crossed],
    measured: Time,
) {
    let Some((first, rest)) = crossed.split_first() else {
        return;
    };
    let mut all = first.clone();
    rest.iter().for_each(|group| all.merge(group));
    let figures = &mut summary.figures;
    figures.link.rate_bps = Some(queue.rate_bps);
    let on_link = (all.bytes + kernel_queue::OVERHEAD * all.delivered) * 8;
    // A run that is interrupted may have measured nothing.
    let seconds = measured.max(Time::from_nanos(1)).as_nanos() as f64 / 1e9;
    // Packets count where they enter, so a queue that shrinks meanwhile seems to send more than the rate.
    figures.link.utilisation = (on_link as f64 / queue.rate_bps as f64 / seconds).min(1.0);
    let is_reverse = |direction: Direction| direction == Direction::Reverse;
    figures.queues.retain(|one| is_reverse(one.direction));
    figures.queues.insert(0, summary_of(queue, &all));
    for (index, group) in scenario.groups.iter().enumerate() {
        if is_reverse(group.direction) {
            continue;
        }
        if let (Some(told), Some(crossed)) = (figures.groups.get_mut(index), crossed.get(index)) {
            told.packets = crossed.delivered;
            told.marked = crossed.marked;
            told.dropped = crossed.lost;
            told.delay_ms = crossed.delay.dist(1e6);
        }
        if let (Some(told), Some(crossed)) = (histograms.groups.get_mut(index), crossed.get(index))
        {
            told.delay_ns = crossed.delay.counts();
        }
    }
    histograms.queues.retain(|one| is_reverse(one.direction));
}

fn summary_of(queue: &KernelQueue, all: &Crossed) -> QueueSummary {
    // Why a packet was dropped or marked cannot be seen from outside.
    let by_reason = |count: u64| BTreeMap::from([("kernel".to_owned(), count)]);
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    QueueSummary {
        name: queue.kind().to_owned(),
        hop: Hop::ONLY_NAME.to_owned(),
        direction: Direction::Forward,
        packets: all.delivered,
        bytes: all.bytes,
        marked: all.marked,
        dropped: all.lost,
        mark_ratio: ratio(all.marked, all.delivered),
        drop_ratio: ratio(all.lost, all.delivered + all.lost),
        marks: by_reason(all.marked),
        drops: by_reason(all.lost),
        delay_ms: Distribution::dist(&all.delay, 1e6),
        backlog_bytes: None,
    }
}
