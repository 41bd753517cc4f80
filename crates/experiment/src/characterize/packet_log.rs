//! The packet log: a run is simulated once more, and each packet is seen, because a result does not hold single losses.
//!
//! Losses and samples of the goodput are those of the first seed. The time to the steady rate is that of every seed, from runs that end
//! when it is known. Losses of SYNs in each direction are also those of every seed, from whole runs.

use std::sync::atomic::AtomicBool;

use quell_aqm::observer::{Drop, MarkReason, Observer, QueueId};
use quell_aqm::{Departure, Packet as _};
use quell_lab::scenario::contract::{Listener, Row, Unwritten};
use quell_lab::sim::{Recording, Running, SimError};
use quell_lab::{Scenario, World};
use quell_measure::{Labelled as _, Recorder};
use quell_sim::Packet;
use quell_units::{Rate, Time};

use crate::characterize::directions::Syns;
use crate::characterize::losses::{Gaps, Losses};
use crate::characterize::rates::Rates;

/// How much of a run is simulated again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The whole run.
    Whole,
    /// The run until every class has its steady rate.
    Start,
}

/// Mean goodputs of a run after its warm-up, in bit/s.
#[derive(Debug, Clone)]
pub(crate) struct Means {
    /// Goodput of all classes of the forward direction together.
    pub(crate) all: f64,
    /// Goodput of each class.
    pub(crate) classes: Vec<f64>,
}

/// The figures that single packets give.
#[derive(Debug, Clone)]
pub(crate) struct PacketLog {
    /// Losses of the whole run; `None` where only its start was simulated.
    pub(crate) losses: Option<Losses>,
    /// Samples of the goodput of the whole run, in bit/s.
    pub(crate) goodput: Vec<f64>,
    /// Time at which all classes together had their steady rate, in s.
    pub(crate) steady_s: Option<f64>,
    /// Time at which each class had its steady rate, in s.
    pub(crate) classes_steady_s: Vec<Option<f64>>,
    /// Share of the SYNs that were lost after the warm-up, forward and then in the reverse direction, if that has a queue; `None` without any.
    pub(crate) syn_loss_ratios: Vec<Option<f64>>,
}

/// Whether the packets of a world can be logged.
pub(crate) fn is_possible(world: World) -> bool {
    world == World::Sim
}

/// Simulates `scenario` with `seed`, and logs its packets. `None` if it was stopped.
///
/// # Errors
///
/// The simulation failed.
pub(crate) fn log_packets(
    scenario: &Scenario,
    seed: u64,
    wanted: Extent,
    means: &Means,
    stop: &AtomicBool,
) -> Result<Option<PacketLog>, SimError> {
    let rtt = scenario.groups.iter().map(|group| group.rtt).max();
    let (rtt, warmup) = (rtt.unwrap_or(Time::ZERO), scenario.run.warmup);
    let rate = scenario.links[0].forward.rate;
    let running = Running::new(scenario, seed, |recorder| Logger {
        recorder,
        gaps: Gaps::new(rtt, rate, warmup),
        rates: Rates::new(scenario.groups.len(), rtt),
        syns: Syns::new(warmup),
    });
    let mut running = running?;
    while running.advance(stop, &mut Nobody)? {
        let now = running.now();
        let mut observers = running.simulator_mut().observers_mut();
        // The forward direction is the first.
        let is_known = observers.next().is_some_and(|one| one.knows(means, now));
        if wanted == Extent::Start && is_known {
            break;
        }
    }
    let end = running.end();
    if end < scenario.run.duration {
        return Ok(None);
    }
    let now = running.now();
    let mut observers: Vec<&mut Logger> = running.simulator_mut().observers_mut().collect();
    let syn_loss_ratios = observers.iter().map(|one| one.syns.loss_ratio()).collect();
    let Some(watch) = observers.first_mut() else {
        return Ok(None);
    };
    let steady = |class, mean| {
        let at: Option<Time> = watch.rates.steady(class, mean, now);
        at.map(|at| at.as_nanos() as f64 / 1e9)
    };
    let classes = means.classes.iter().enumerate();
    let classes_steady_s = classes
        .map(|(class, &mean)| steady(Some(class), mean))
        .collect();
    let steady_s = steady(None, means.all);
    let flows = scenario.groups.iter().map(|group| u64::from(group.count));
    let is_whole = wanted == Extent::Whole;
    Ok(Some(PacketLog {
        steady_s,
        classes_steady_s,
        syn_loss_ratios,
        goodput: match is_whole {
            true => watch.rates.samples(warmup, end),
            false => Vec::new(),
        },
        losses: is_whole.then(|| watch.gaps.losses(flows.sum())),
    }))
}

/// A listener that ignores everything.
pub(crate) struct Nobody;

impl Listener for Nobody {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

/// An observer that records a run as usual, and logs its packets beside.
#[derive(Debug)]
struct Logger {
    recorder: Recorder,
    gaps: Gaps,
    rates: Rates,
    syns: Syns,
}

impl Logger {
    /// Whether every class had its steady rate before `now`.
    fn knows(&self, means: &Means, now: Time) -> bool {
        let is_known = |class, mean: f64| {
            let at = self.rates.steady(class, mean, now);
            mean <= 0.0 || at.is_some()
        };
        let mut classes = means.classes.iter().enumerate();
        is_known(None, means.all) && classes.all(|(class, &mean)| is_known(Some(class), mean))
    }
}

impl Recording for Logger {
    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

impl Observer<Packet> for Logger {
    fn enqueued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.recorder.enqueued(queue, packet, now);
        self.gaps.entered(packet.len());
        self.syns.entered(packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.recorder.dequeued(queue, packet, now);
        self.gaps.left(packet.len());
    }
    fn marked(&mut self, queue: QueueId, packet: &Packet, reason: MarkReason, now: Time) {
        self.recorder.marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: Packet, drop: Drop, now: Time) {
        if drop.queued {
            self.gaps.left(packet.len());
        }
        self.gaps.lost(packet.flow(), now);
        self.syns.dropped(&packet, &drop, now);
        self.recorder.dropped(packet, drop, now);
    }
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        Observer::<Packet>::departed(&mut self.recorder, packet, departure);
        if let Some(group) = packet.group() {
            let class = usize::try_from(group.0).unwrap_or(usize::MAX);
            self.rates.sent(class, packet.payload(), departure.end);
        }
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        Observer::<Packet>::rate_changed(&mut self.recorder, rate, now);
    }
}
