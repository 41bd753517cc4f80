//! One run of a shipped scenario with every figure that the studies of drop-tail state: those of the
//! recorder, bursts of drops, windows every 10 ms, and the longest passage through the queue.
//!
//! Receivers are those of the studies' time: they do not gather SACKs (Linux 4.18), which no
//! scenario can say. Over real TCP they do: [`super::captured`].

use std::sync::atomic::AtomicBool;

use quell_aqm::{Departure, Discipline, Drop, Observer, Packet as _, Qdisc as _};
use quell_lab::{RunError, Scenario, sim};
use quell_measure::{
    BurstRecorder, Bursts, Direction, FlowId, GroupPackets, Hop, QueueSummary, Recorder,
    RecorderConfig, Timeline, WindowSamples,
};
use quell_sim::{Config, Packet, Tee, TransportConfig};
use quell_units::{Random, Time};
use serde::{Deserialize, Serialize};

use super::{Probed, failed, forward, run, simulator};

/// How often windows are sampled.
pub(super) const SAMPLE: Time = Time::from_millis(10);

/// What `scenario` simulates with `seed`, with receivers of the studies' time.
///
/// # Errors
///
/// It cannot be simulated.
pub fn simulation(scenario: &Scenario, seed: u64) -> Result<Config, RunError> {
    let config = sim::simulation(scenario, seed);
    let mut config = config.map_err(failed)?;
    for flow in &mut config.flows {
        if let TransportConfig::Stream(ends) = &mut flow.transport {
            ends.1.compress_sacks = false;
        }
    }
    Ok(config)
}

/// What one run gave after its warm-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// What is measured, in nanoseconds.
    pub length_ns: u64,
    /// Share of that time in which the forward link transmitted.
    pub utilisation: f64,
    /// The queues of the forward link.
    pub queues: Vec<QueueSummary>,
    /// Packets of each group that has its data there, in the order of the scenario.
    pub groups: Vec<Packets>,
    /// Bursts of drops.
    pub bursts: Bursts,
    /// Var(ΣW)/ΣVar(W) of the windows of the TCP flows, if any changed.
    pub variance_ratio: Option<f64>,
    /// Reductions of these windows for loss.
    pub cuts: u64,
    /// The payload of these flows in order, bit/s.
    pub goodput: f64,
    /// From arrival to the end of transmission, the longest of any packet of the whole run, in nanoseconds.
    pub longest_ns: u64,
}

/// Packets of a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Packets {
    /// Name of the group.
    pub name: String,
    /// Delivered.
    pub packets: u64,
    /// Dropped.
    pub dropped: u64,
    /// Median of the sojourn times, in ms, if any was delivered.
    pub median_ms: Option<f64>,
}

impl ExperimentResult {
    /// What is measured, in seconds.
    pub fn seconds(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// Packets of the group with this name.
    pub fn group(&self, name: &str) -> Option<&Packets> {
        self.groups.iter().find(|group| group.name == name)
    }
}

/// The longest time from arrival to the end of transmission.
#[derive(Debug, Clone, Copy, Default)]
struct Longest(Time);

impl Observer<Packet> for Longest {
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        self.0 = self.0.max(departure.end - packet.arrival());
    }
}

type Observers = Tee<Recorder, Tee<BurstRecorder, Longest>>;

fn observers(scenario: &Scenario, hop: Hop, direction: Direction) -> Observers {
    let (run, side) = (
        &scenario.run,
        scenario.links[hop.index()].direction(direction),
    );
    let queue: Option<Discipline<Packet>> =
        side.queue.build(side.rate, Random::new(0, "names")).ok();
    let groups = scenario
        .groups
        .iter()
        .map(|group| group.direction == direction);
    let recorder = Recorder::new(RecorderConfig {
        hop,
        hop_name: Hop::ONLY_NAME.to_owned(),
        direction,
        queues: queue.map_or(&[][..], |queue| queue.queues()),
        groups: groups.collect(),
        ends: None,
        rate: side.rate,
        timeline: Timeline::new(run.warmup, &[], run.settle, run.duration),
        interval: None,
    });
    let bursts = BurstRecorder::new(scenario.groups[0].rtt, side.rate, run.warmup);
    Tee(recorder, Tee(bursts, Longest::default()))
}

/// A run that has not ended.
struct Run {
    simulator: Probed,
    streams: Vec<FlowId>,
}

impl Run {
    fn until(&mut self, at: Time, stop: &AtomicBool) -> Result<(), RunError> {
        run(&mut self.simulator, at, stop)
    }
    fn delivered(&self) -> u64 {
        let sample = |id: &FlowId| Some(self.simulator.sample(*id)?.delivered.get());
        self.streams.iter().filter_map(sample).sum()
    }
    fn cuts(&self) -> u64 {
        let cuts = |id: &FlowId| Some(self.simulator.tcp(*id)?.recoveries);
        self.streams.iter().filter_map(cuts).sum()
    }
    fn windows(&self) -> impl Iterator<Item = f64> {
        let window = |id: &FlowId| self.simulator.tcp(*id).map_or(0, |tcp| tcp.cwnd);
        self.streams.iter().map(window).map(f64::from)
    }
}

/// Runs `scenario` with `seed` until its end, or until `stop` is set.
///
/// # Errors
///
/// It was stopped, or cannot run.
pub fn measure(
    scenario: &Scenario,
    seed: u64,
    stop: &AtomicBool,
) -> Result<ExperimentResult, RunError> {
    measured(simulation(scenario, seed)?, scenario, stop)
}

/// What `config` gives, which is of `scenario`.
pub(super) fn measured(
    config: Config,
    scenario: &Scenario,
    stop: &AtomicBool,
) -> Result<ExperimentResult, RunError> {
    let is_stream = |&id: &FlowId| {
        let flow = &config.flows[id.index()];
        matches!(flow.transport, TransportConfig::Stream(_))
    };
    let ids = (0..config.flows.len() as u32).map(FlowId);
    let streams: Vec<FlowId> = ids.filter(is_stream).collect();
    let mut windows = WindowSamples::new(streams.len());
    let mut run = Run {
        simulator: simulator(config, &|hop, direction| {
            Box::new(observers(scenario, hop, direction))
        })?,
        streams,
    };
    let (mut at, end) = (scenario.run.warmup, scenario.run.duration);
    run.until(at, stop)?;
    let before = (run.delivered(), run.cuts());
    while at < end {
        windows.sample(run.windows());
        at = (at + SAMPLE).min(end);
        run.until(at, stop)?;
    }
    let (delivered, cuts) = (run.delivered() - before.0, run.cuts() - before.1);
    let Tee(recorder, Tee(bursts, longest)) = forward::<Observers>(&mut run.simulator)?;
    let link = recorder.finish(end).whole;
    let packets = |name: &str, group: &GroupPackets| Packets {
        name: name.to_owned(),
        packets: group.packets,
        dropped: group.dropped,
        median_ms: group.delay_ms.map(|delay| delay.p50),
    };
    let groups = scenario.groups.iter().zip(&link.groups);
    let groups = groups.filter_map(|(spec, group)| Some(packets(&spec.name, group.as_ref()?)));
    Ok(ExperimentResult {
        goodput: delivered as f64 * 8e9 / link.span.length().as_nanos() as f64,
        length_ns: link.span.length().as_nanos(),
        utilisation: link.utilisation(),
        groups: groups.collect(),
        bursts: bursts.finish(end),
        variance_ratio: windows.variance_ratio(),
        cuts,
        longest_ns: longest.0.as_nanos(),
        queues: link.queues,
    })
}
