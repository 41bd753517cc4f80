//! A run of a card in the simulator, and its packet log: what single packets say, which a result does not hold.
//!
//! A card shows losses and samples of the goodput of the first seed, and of every seed the time to the steady rate and the losses of SYNs in
//! each direction.

use std::mem::replace;
use std::sync::atomic::AtomicBool;

use quell_aqm::observer::{Drop, MarkReason, Observer, QueueId};
use quell_aqm::{Departure, Packet as _};
use quell_lab::scenario::Direction;
use quell_lab::scenario::contract::{Listener, Row, Unwritten};
use quell_lab::sim::{self, Running, SimError, Watching};
use quell_lab::{RunError, Scenario, World};
use quell_measure::{GroupSummary, Histograms, Labelled as _, Recorder, Recording, Summary};
use quell_sim::Packet;
use quell_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::characterize::directions::Syns;
use crate::characterize::losses::{Gaps, Losses};
use crate::characterize::rates::Rates;
use crate::characterize::run_figures::delivered;

/// A run as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) summary: Summary,
    pub(crate) histograms: Histograms,
    /// The packet log, where packets were logged.
    pub(crate) log: Option<PacketLog>,
}

/// The figures that single packets give.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PacketLog {
    pub(crate) losses: Losses,
    /// Samples of the goodput, in bit/s.
    pub(crate) goodput: Vec<f64>,
    /// Time at which all classes together had their steady rate, in s.
    pub(crate) steady_s: Option<f64>,
    /// Time at which each class had its steady rate, in s.
    pub(crate) classes_steady_s: Vec<Option<f64>>,
    /// Share of the SYNs that were lost after the warm-up, forward and then in the reverse direction, if that has a queue; `None` without any.
    pub(crate) syn_loss_ratios: Vec<Option<f64>>,
}

/// Simulates `scenario` with `seed`, and logs its packets if that is wanted.
///
/// # Errors
///
/// The simulation failed, or was stopped.
pub(crate) fn simulate(
    scenario: &Scenario,
    seed: u64,
    is_logged: bool,
    stop: &AtomicBool,
) -> Result<Kept, RunError> {
    let failed = |error: SimError| RunError::Failed(error.to_string());
    let mut kept = match is_logged {
        true => logged(scenario, seed, stop).map_err(failed)?,
        false => {
            let run = sim::run(scenario, seed, stop, &mut Nobody).map_err(failed)?;
            Kept {
                summary: run.summary,
                histograms: run.histograms,
                log: None,
            }
        }
    };
    if kept.summary.partial {
        return Err(RunError::Failed("interrupted".to_owned()));
    }
    // Warnings of the check name lines of the scenario as it runs.
    let text = scenario.to_toml();
    let loaded = Scenario::load("scenario.toml", &text, &[], Some(World::Sim));
    let loaded = loaded.map_err(|problems| RunError::Failed(problems.to_string()))?;
    let warnings = loaded.warnings.iter().map(ToString::to_string);
    kept.summary.warnings.splice(0..0, warnings);
    Ok(kept)
}

fn logged(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<Kept, SimError> {
    let rtt = scenario.groups.iter().map(|group| group.rtt).max();
    let (rtt, warmup) = (rtt.unwrap_or(Time::ZERO), scenario.run.warmup);
    let rate = scenario.links[0].forward.rate;
    let rates = || Rates::new(scenario.groups.len(), rtt);
    let mut running = Running::new(scenario, seed, |recorder| -> Box<dyn Watching> {
        Box::new(Logger {
            recorder,
            gaps: Gaps::new(rtt, rate, warmup),
            rates: rates(),
            syns: Syns::new(warmup),
        })
    })?;
    while running.advance(stop, &mut Nobody)? {}
    let (now, end) = (running.now(), running.end());
    let observers = running.simulator_mut().observers_mut();
    let logs = observers.filter_map(|one| one.known::<Logger>());
    let logs = logs.map(|one| {
        let gaps = replace(&mut one.gaps, Gaps::new(rtt, rate, warmup));
        (
            gaps,
            replace(&mut one.rates, rates()),
            one.syns.loss_ratio(),
        )
    });
    let mut logs: Vec<_> = logs.collect();
    let run = running.finish(&mut Nobody)?;
    let (groups, summary) = (&scenario.groups, &run.summary);
    let measured = summary.duration_s - summary.warmup_s;
    let goodput = |group: &GroupSummary| delivered(group, measured);
    let classes = summary.figures.groups.iter();
    let all = classes.clone().zip(groups);
    let forward = all.filter(|(_, group)| group.direction == Direction::Forward);
    let mean = forward.map(|(class, _)| goodput(class)).sum();
    let syn_loss_ratios = logs.iter().map(|(_, _, lost)| *lost).collect();
    // The forward direction is the first.
    let log = logs.first_mut().map(|(gaps, rates, _)| {
        let steady = |class, mean| {
            let at: Option<Time> = rates.steady(class, mean, now);
            at.map(|at| at.as_nanos() as f64 / 1e9)
        };
        PacketLog {
            losses: gaps.losses(groups.iter().map(|group| u64::from(group.count)).sum()),
            goodput: rates.samples(warmup, end),
            steady_s: steady(None, mean),
            classes_steady_s: classes
                .enumerate()
                .map(|(number, class)| steady(Some(number), goodput(class)))
                .collect(),
            syn_loss_ratios,
        }
    });
    Ok(Kept {
        summary: run.summary,
        histograms: run.histograms,
        log,
    })
}

/// A listener that ignores everything.
struct Nobody;

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
