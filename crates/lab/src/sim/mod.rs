//! The simulated world: modelled hosts around quell's bottleneck, in virtual time.
//!
//! The same scenario, lifetimes, recorders and results as in the live world. Nothing depends on
//! the wall clock: same scenario and seed, same result, to the byte.

mod plan;

use std::sync::atomic::AtomicBool;

use quell_app::Report;
use quell_aqm::Observer;
use quell_measure::{Direction, FlowId, FlowRecorder, Histograms, RunInfo, Summary, Timeline};
pub use quell_sim::Lateness;
use quell_sim::Simulator;
use quell_units::{Random, Time};

use crate::figures::{self, Stretch};
use crate::lifetimes::{Lifetime, lifetimes};
use crate::live::{Listener, Measured, Row, Work};
use crate::packets::{self, Recording, SimPackets};
use crate::scenario::Scenario;
pub(crate) use plan::receive_buffer;

/// How often a run tells how far it is.
const TOLD: u64 = 200;
/// The share of a flow's rounds from which on a limit by its receive window is worth a warning.
const NOTEWORTHY_PERCENT: u64 = 5;

/// Why a simulation gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The scenario asks for what the simulator does not have.
    #[error("{0}")]
    Scenario(String),
    /// The run broke off.
    #[error("the simulation failed: {0}")]
    Failed(String),
    /// A result could not be written.
    #[error("{0}")]
    Results(#[source] std::io::Error),
}

/// What [`run`] simulates, for those who bring their own observers.
pub fn simulation(scenario: &Scenario, seed: u64) -> Result<quell_sim::Config, SimError> {
    plan::config(scenario, seed, &lifetimes(scenario, seed))
}

/// Runs `scenario` once with `seed`, until its end or soon after `stop` is set.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<Measured, SimError> {
    run_late(scenario, seed, None, stop, listener)
}

/// The same over a link that is as late as a live one was, to compare with that: the simulator's own
/// is never late.
pub fn run_late(
    scenario: &Scenario,
    seed: u64,
    lateness: Option<Lateness>,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<Measured, SimError> {
    let timeline = figures::timeline(scenario);
    let lifetimes = lifetimes(scenario, seed);
    let recorders = figures::recorders::<quell_sim::Packet>(scenario, &timeline);
    let config = plan::config(scenario, seed, &lifetimes)?;
    let flows = figures::flow_recorder(scenario, &timeline, &lifetimes);
    let late = |seed| lateness.map(|lateness| (lateness, Random::new(seed, "lateness")));
    let Some(file) = listener.packets() else {
        let run = Run {
            scenario,
            flows,
            lifetimes,
            timeline,
            simulator: simulator(config, recorders, late(seed))?,
            packets: None,
            reports: Vec::new(),
        };
        return run.go(seed, stop, listener);
    };
    let packets = SimPackets::of_sim::<quell_sim::Packet>(scenario, seed, file);
    let mut simulator = simulator(config, packets.beside(recorders), late(seed))?;
    simulator.announce(packets::announce_modelled);
    let run = Run {
        scenario,
        flows,
        lifetimes,
        timeline,
        simulator,
        packets: Some(packets),
        reports: Vec::new(),
    };
    run.go(seed, stop, listener)
}

fn simulator<O: Observer<quell_sim::Packet>>(
    config: quell_sim::Config,
    observers: [O; 2],
    late: Option<(Lateness, Random)>,
) -> Result<Simulator<O>, SimError> {
    let simulator = Simulator::new(config, observers);
    let mut simulator = simulator.map_err(|error| match error {
        quell_sim::Error::Change(error) => SimError::Failed(error.to_string()),
        error => SimError::Scenario(error.to_string()),
    })?;
    if let Some((lateness, random)) = late {
        simulator.set_lateness(lateness, random);
    }
    Ok(simulator)
}

/// A run under way.
struct Run<'a, O> {
    scenario: &'a Scenario,
    lifetimes: Vec<Lifetime>,
    timeline: Timeline,
    simulator: Simulator<O>,
    packets: Option<SimPackets>,
    flows: FlowRecorder,
    /// By group, from, to.
    reports: Vec<(usize, Time, Time, Report)>,
}

impl<O: Observer<quell_sim::Packet> + Recording> Run<'_, O> {
    fn go(
        mut self,
        seed: u64,
        stop: &AtomicBool,
        listener: &mut dyn Listener,
    ) -> Result<Measured, SimError> {
        let duration = self.scenario.run.duration;
        let slice = (duration / TOLD).max(Time::from_nanos(1));
        let mut tell = slice;
        let mut cut = Time::ZERO;
        let mut ended = duration;
        while let Some(due) = self.flows.next_round() {
            let until = due.min(tell);
            let reached = self
                .simulator
                .run(until, stop)
                .map_err(|error| SimError::Failed(error.to_string()))?;
            if let Some(error) = self.packets.as_ref().and_then(SimPackets::failure) {
                return Err(SimError::Results(error));
            }
            if reached < until {
                ended = reached;
                break;
            }
            if until == tell {
                listener.progress(until);
                tell = until + slice;
            }
            if until == due {
                self.end_round(due, &mut cut);
                self.hand_out(listener)?;
            }
        }
        self.finish(seed, ended, cut, listener)
    }

    /// Samples every flow; at the end of a segment, also takes what applications report.
    fn end_round(&mut self, due: Time, cut: &mut Time) {
        self.sample();
        self.flows.close_round(due);
        let segments = self.timeline.segments();
        if segments
            .binary_search_by_key(&due, |segment| segment.span.end)
            .is_ok()
        {
            self.take_reports(*cut, due);
            *cut = due;
        }
        for direction in [Direction::Forward, Direction::Reverse] {
            self.simulator.observer_mut(direction).decided(due);
        }
    }

    fn sample(&mut self) {
        for id in ids(&self.lifetimes) {
            if let Some(sample) = self.simulator.sample(id) {
                self.flows.sample(id, sample);
            }
        }
    }

    /// One report per group, as if of one flow: there may be very many flows, and stretches. Each flow that has started
    /// reports at every cut from then on.
    fn take_reports(&mut self, from: Time, to: Time) {
        let mut groups: Vec<Option<Report>> = vec![None; self.scenario.groups.len()];
        for id in ids(&self.lifetimes) {
            let Some(report) = self.simulator.take_report(id) else {
                continue;
            };
            match &mut groups[self.lifetimes[id.index()].group] {
                Some(all) => all.merge(&report),
                none => *none = Some(report),
            }
        }
        let told = groups.into_iter().enumerate();
        let told = told.filter_map(|(group, report)| Some((group, from, to, report?)));
        self.reports.extend(told);
    }

    fn hand_out(&mut self, listener: &mut dyn Listener) -> Result<(), SimError> {
        for direction in [Direction::Forward, Direction::Reverse] {
            for row in self
                .simulator
                .observer_mut(direction)
                .recorder()
                .drain_rows()
            {
                listener.row(Row::Queue(row)).map_err(SimError::Results)?;
            }
        }
        for row in self.flows.drain_rows() {
            listener.row(Row::Flow(row)).map_err(SimError::Results)?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        seed: u64,
        ended: Time,
        cut: Time,
        listener: &mut dyn Listener,
    ) -> Result<Measured, SimError> {
        let partial = ended < self.scenario.run.duration;
        if partial {
            self.sample();
            self.take_reports(cut, ended);
        }
        let forward = self
            .simulator
            .observer_mut(Direction::Forward)
            .recorder()
            .finish(ended);
        let reverse = self
            .simulator
            .observer_mut(Direction::Reverse)
            .recorder()
            .finish(ended);
        let flows = self.flows.finish(ended);
        let work = Work {
            packets: self
                .simulator
                .observer_mut(Direction::Forward)
                .recorder()
                .delivered(),
            events: self.simulator.events(),
        };
        self.hand_out(listener)?;
        if let Some(packets) = &self.packets {
            packets.finish(ended).map_err(SimError::Results)?;
        }
        listener.progress(ended);

        let scenario = self.scenario;
        let limited = !scenario.link.reverse.rate.is_unlimited();
        let reverse = limited.then_some(&reverse);
        let infos = figures::group_infos(scenario);
        let histograms = Histograms::new(&infos, &forward, reverse);
        let info = RunInfo {
            scenario: scenario.name.clone(),
            world: crate::World::Sim.name().to_owned(),
            seed,
            duration: ended,
            warmup: scenario.run.warmup,
            partial,
            warnings: Vec::new(),
            groups: infos,
        };
        let mut summary = Summary::new(info, &forward, reverse, &flows);
        let reports = self.reports.iter();
        let stretches: Vec<Stretch<'_>> = reports
            .map(|(group, from, to, report)| Stretch {
                group: *group,
                flow: 0,
                from: *from,
                to: *to,
                report,
            })
            .collect();
        figures::add_app_reports(scenario, &mut summary, &stretches);
        let mut warnings = Vec::new();
        figures::warn_if_unmeasured(&summary, &mut warnings);
        figures::warn_if_idle(scenario, &summary, &mut warnings);
        self.warn_of_windows(&mut warnings);
        summary.warnings = warnings;
        Ok(Measured {
            summary,
            histograms,
            work: Some(work),
        })
    }

    /// A flow that its receive window holds back shows that window, not the queue.
    fn warn_of_windows(&self, warnings: &mut Vec<String>) {
        for (id, lifetime) in ids(&self.lifetimes).zip(&self.lifetimes) {
            let Some(tcp) = self.simulator.tcp(id) else {
                continue;
            };
            let rounds = tcp.cwnd_limited + tcp.rwnd_limited + tcp.app_limited;
            let percent = tcp.rwnd_limited.saturating_mul(100) / rounds.max(1);
            if percent >= NOTEWORTHY_PERCENT {
                let group = &self.scenario.groups[lifetime.group].name;
                warnings.push(format!(
                    "group {group} flow {}: limited by its receive window for {percent} % of its rounds",
                    lifetime.flow
                ));
            }
        }
    }
}

/// Every flow.
fn ids(lifetimes: &[Lifetime]) -> impl Iterator<Item = FlowId> + use<> {
    (0..lifetimes.len() as u32).map(FlowId)
}

#[cfg(test)]
mod tests;
