//! The simulated world: modelled hosts around quell's bottleneck, in virtual time.
//!
//! [`simulation`] turns a scenario into a simulator's configuration; [`run()`] simulates it with the recorders that every world
//! has; [`Running`] does the same in slices, with other observers beside the recorders. Nothing depends on the wall clock: the
//! same scenario and seed give the same result, to the byte.

mod amend;
mod plan;

use std::sync::atomic::AtomicBool;

use quell_app::{Recorded, Report};
use quell_aqm::impair::Counts;
use quell_measure::{
    FlowId, FlowRecorder, GroupId, Histograms, LinkResults, Recorder, Recording, RunInfo, Summary,
    Timeline,
};
use quell_sim::Simulator;
pub use quell_sim::{Lateness, Simulated, Watching};
use quell_units::{Random, Time};

use crate::Scenario;
use crate::amended::with_spare;
use crate::causes::SlowEvents;
use crate::contract::{EventRow, Listener, Measurements, Row, Unwritten, Work};
use crate::figures::{self, Stretch};
use crate::lifetimes::{Lifetime, lifetimes};
pub use amend::Room;
pub use plan::receive_buffer;

/// The number of reports of progress in a run.
const REPORTS: u64 = 200;
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
    /// The listener could not take a row.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
}

/// The simulation of [`run()`], for callers with their own observers.
pub fn simulation(scenario: &Scenario, seed: u64) -> Result<quell_sim::Config, SimError> {
    plan::config(scenario, seed, &lifetimes(scenario, seed), 0)
}

/// Runs `scenario` once with `seed`, until its end or soon after `stop` is set.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<Measurements, SimError> {
    run_late(scenario, seed, None, stop, listener)
}

/// Simulates over a link that is as late as a live one was, to compare with that one: the simulator's own is never late.
pub fn run_late(
    scenario: &Scenario,
    seed: u64,
    lateness: Option<Lateness>,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<Measurements, SimError> {
    let mut running = Running::new(scenario, seed, |recorder| recorder)?;
    if let Some(lateness) = lateness {
        running
            .simulator
            .set_lateness(lateness, Random::new(seed, "lateness"));
    }
    while running.advance(stop, listener)? {}
    running.finish(listener)
}

/// A run that goes on, in slices: [`Running::advance`] until it returns false, then [`Running::finish`].
#[derive(Debug)]
pub struct Running<O> {
    scenario: Scenario,
    seed: u64,
    lifetimes: Vec<Lifetime>,
    timeline: Timeline,
    simulator: Simulator<O>,
    flows: FlowRecorder,
    /// The group, its start and its end.
    reports: Vec<(usize, Time, Time, Report)>,
    slow: SlowEvents,
    /// Packets lost, copied and damaged behind each queue that are counted.
    lost: Vec<Counts>,
    /// When progress is reported next.
    next_report: Time,
    /// The last end of a segment.
    cut: Time,
    /// The run ended early, then.
    ended: Option<Time>,
}

impl<O: Simulated> Running<O> {
    /// A run of `scenario` with `seed`. `observer` combines the recorder of each queue with what else observes that queue.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        observer: impl Fn(Recorder) -> O,
    ) -> Result<Self, SimError> {
        Self::with_room(scenario, seed, &Room::default(), observer)
    }

    /// Starts a run that is prepared for changes by [`Running::amend`].
    pub fn with_room(
        scenario: &Scenario,
        seed: u64,
        room: &Room,
        observer: impl Fn(Recorder) -> O,
    ) -> Result<Self, SimError> {
        let timeline = figures::timeline(scenario);
        let lifetimes = with_spare(scenario, seed, &room.flows);
        let config = plan::config(scenario, seed, &lifetimes, room.window)?;
        let slow = SlowEvents::new(&timeline);
        let flows = figures::flow_recorder(scenario, &timeline, &lifetimes);
        let simulator = Simulator::new(config, |hop, direction| {
            observer(figures::recorder(scenario, &timeline, hop, direction))
        });
        let simulator = simulator.map_err(|error| match error {
            quell_sim::Error::Change(error) => SimError::Failed(error.to_string()),
            error => SimError::Scenario(error.to_string()),
        })?;
        Ok(Self {
            scenario: scenario.clone(),
            seed,
            lifetimes,
            timeline,
            simulator,
            flows,
            reports: Vec::new(),
            slow,
            lost: vec![Counts::default(); 2 * scenario.links.len()],
            next_report: slice(scenario),
            cut: Time::ZERO,
            ended: None,
        })
    }

    /// The simulator, to set it up before the first slice.
    pub fn simulator_mut(&mut self) -> &mut Simulator<O> {
        &mut self.simulator
    }

    /// Simulates one slice: until the next interval's end or the next report of progress. Returns whether there is more to
    /// simulate. Once `stop` is set the run ends early.
    pub fn advance(
        &mut self,
        stop: &AtomicBool,
        listener: &mut dyn Listener,
    ) -> Result<bool, SimError> {
        self.advance_to(Time::MAX, stop, listener)
    }

    /// [`Running::advance`], but no further than `most`. Where slices end changes no result.
    pub fn advance_to(
        &mut self,
        most: Time,
        stop: &AtomicBool,
        listener: &mut dyn Listener,
    ) -> Result<bool, SimError> {
        let Some(due) = self.flows.next_round().filter(|_| self.ended.is_none()) else {
            return Ok(false);
        };
        let until = due.min(self.next_report).min(most);
        let reached = O::simulate(&mut self.simulator, until, stop)
            .map_err(|error| SimError::Failed(error.to_string()))?;
        if reached < until {
            self.ended = Some(reached);
            return Ok(false);
        }
        if until == self.next_report {
            listener.progress(until);
            self.next_report = until + slice(&self.scenario);
        }
        if until == due {
            self.end_round(due);
            self.hand_out(listener)?;
        }
        Ok(true)
    }

    /// The time that the simulation has reached.
    pub fn now(&self) -> Time {
        self.simulator.now()
    }

    /// Events of the simulation so far.
    pub fn events(&self) -> u64 {
        self.simulator.events()
    }

    /// Ends the run at the time that it has reached: [`Running::finish`] measures that much.
    pub fn end_here(&mut self) {
        if self.flows.next_round().is_some() {
            self.ended.get_or_insert(self.simulator.now());
        }
    }

    /// The end of the run: the scenario's, or where it was stopped.
    pub fn end(&self) -> Time {
        self.ended.unwrap_or(self.scenario.run.duration)
    }

    /// What records, queue by queue.
    fn recordings(&mut self) -> impl Iterator<Item = &mut dyn Recording> {
        self.simulator
            .observers_mut()
            .filter_map(Watching::recording)
    }

    /// Samples every flow; at the end of a segment, also takes what applications report.
    fn end_round(&mut self, due: Time) {
        self.sample();
        self.flows.close_round(due);
        let segments = self.timeline.segments();
        if segments
            .binary_search_by_key(&due, |segment| segment.span.end)
            .is_ok()
        {
            self.take_reports(self.cut, due);
            self.cut = due;
        }
        self.count_lost();
        for recording in self.recordings() {
            recording.decided(due);
        }
    }

    /// Losses behind the queues count in the stretch that ends here, as in the live world.
    fn count_lost(&mut self) {
        for ((counts, observer), counted) in self.simulator.impaired().zip(&mut self.lost) {
            let new = counts.clone().since(&std::mem::replace(counted, counts));
            if let Some(recording) = observer.recording() {
                recording.recorder().add_outside(&new);
            }
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
        let reports = groups.into_iter().enumerate();
        let reports = reports.filter_map(|(group, report)| Some((group, from, to, report?)));
        self.reports.extend(reports);
    }

    fn hand_out(&mut self, listener: &mut dyn Listener) -> Result<(), Unwritten> {
        for recording in self.recordings() {
            for row in recording.recorder().drain_rows() {
                listener.row(Row::Queue(row))?;
            }
        }
        for row in self.flows.drain_rows() {
            listener.row(Row::Flow(row))?;
        }
        for (flow, event) in self.simulator.drain_events() {
            let row = event_row(&self.lifetimes, flow, event);
            self.slow.note(&row);
            listener.row(Row::Event(row))?;
        }
        Ok(())
    }

    /// Ends the run, and returns what it measured.
    pub fn finish(mut self, listener: &mut dyn Listener) -> Result<Measurements, SimError> {
        let ended = self.end();
        let partial = ended < self.scenario.run.duration;
        if partial {
            self.sample();
            self.take_reports(self.cut, ended);
        }
        let mut delivered = None;
        let mut links: Vec<LinkResults> = Vec::new();
        self.count_lost();
        for recording in self.recordings() {
            let recorder = recording.recorder();
            links.push(recorder.finish(ended));
            delivered.get_or_insert(recorder.delivered());
        }
        let flows = self.flows.finish(ended);
        let work = Work {
            packets: delivered.unwrap_or(0),
            events: self.simulator.events(),
        };
        self.hand_out(listener)?;
        for (flow, event) in self.simulator.unfinished_events() {
            listener.row(Row::Event(event_row(&self.lifetimes, flow, event)))?;
        }
        listener.progress(ended);

        let scenario = &self.scenario;
        let links = figures::shown(scenario, &links);
        let infos = figures::group_infos(scenario);
        let histograms = Histograms::new(&infos, &links);
        let info = RunInfo {
            scenario: scenario.name.clone(),
            world: crate::World::Sim.name().to_owned(),
            seed: self.seed,
            duration: ended,
            warmup: scenario.run.warmup,
            partial,
            warnings: Vec::new(),
            groups: infos,
        };
        let mut summary = Summary::new(info, &links, &flows);
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
        figures::add_app_reports(scenario, &mut summary, &stretches, &self.slow);
        let mut warnings = Vec::new();
        figures::warn_if_unmeasured(&summary, &mut warnings);
        figures::warn_if_idle(scenario, &summary, &mut warnings);
        self.warn_of_windows(&mut warnings);
        summary.warnings = warnings;
        Ok(Measurements {
            summary,
            histograms,
            controls: scenario.groups.iter().filter_map(plan::control).collect(),
            work: Some(work),
        })
    }

    /// A flow that its receive window holds back shows that window, not the queue. Not the connections that a session opens one after
    /// the other: most are over while their window still grows, as in Linux.
    fn warn_of_windows(&self, warnings: &mut Vec<String>) {
        for (id, lifetime) in ids(&self.lifetimes).zip(&self.lifetimes) {
            let app = &self.scenario.groups[lifetime.group].app;
            if app.session().is_some() && app.renews() {
                continue;
            }
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

/// Time between two reports of progress.
fn slice(scenario: &Scenario) -> Time {
    (scenario.run.duration / REPORTS).max(Time::from_nanos(1))
}

fn event_row(lifetimes: &[Lifetime], flow: FlowId, recorded: Recorded) -> EventRow {
    EventRow {
        group: GroupId(lifetimes[flow.index()].group as u32),
        flow,
        event: recorded.event,
        repairs: recorded.repairs,
    }
}

/// Every flow.
fn ids(lifetimes: &[Lifetime]) -> impl Iterator<Item = FlowId> + use<> {
    (0..lifetimes.len() as u32).map(FlowId)
}

#[cfg(test)]
mod tests;
