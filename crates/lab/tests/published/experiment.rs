//! One run of a shipped scenario with every figure that the studies of drop-tail state: those of the
//! recorder, bursts of drops, windows every 10 ms, and the longest passage through the queue.
//!
//! Receivers are those of the studies' time: they do not gather SACKs (Linux 4.18), which no
//! scenario can say.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use quell_aqm::{Departure, Discipline, Drop, Observer, Packet as _, Qdisc as _};
use quell_lab::scenario::Override;
use quell_lab::{Scenario, sim};
use quell_measure::{
    BurstRecorder, Bursts, Direction, FlowId, Hop, LinkFigures, Recorder, RecorderConfig, Timeline,
    WindowSamples,
};
use quell_sim::{Both, Config, Packet, Simulator, TransportConfig};
use quell_units::{Random, Time};

/// How often windows are sampled.
const SAMPLE: Time = Time::from_millis(10);

/// The scenario `file` of `scenarios/`, with `sets` as by `--set`.
pub(crate) fn scenario(file: &str, sets: &[String]) -> Scenario {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let overrides: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let loaded = Scenario::load(file, &text, &overrides, None);
    let loaded = loaded.unwrap_or_else(|problems| panic!("{file} {sets:?}: {problems}"));
    loaded.scenario
}

/// What `scenario` simulates with `seed`, with receivers of the studies' time.
pub(crate) fn simulation(scenario: &Scenario, seed: u64) -> Config {
    let mut config = sim::simulation(scenario, seed).unwrap();
    for flow in &mut config.flows {
        if let TransportConfig::Stream(ends) = &mut flow.transport {
            ends.1.compress_sacks = false;
        }
    }
    config
}

/// What one run gave after its warm-up.
#[derive(Debug)]
pub(crate) struct ExperimentResult {
    /// The forward link.
    pub(crate) link: LinkFigures,
    pub(crate) bursts: Bursts,
    /// Of the TCP flows.
    pub(crate) windows: WindowSamples,
    /// Reductions of their windows for loss.
    pub(crate) cuts: u64,
    /// Their payload in order, bit/s.
    pub(crate) goodput: f64,
    /// From arrival to the end of transmission, the longest of any packet of the whole run.
    pub(crate) longest: Time,
}

impl ExperimentResult {
    /// What is measured, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.link.span.length().as_nanos() as f64 / 1e9
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

type Observers = Both<Recorder, Both<BurstRecorder, Longest>>;

fn observers(scenario: &Scenario, hop: Hop, direction: Direction) -> Observers {
    let (run, side) = (&scenario.run, scenario.link.direction(direction));
    let queue: Discipline<Packet> = side
        .queue
        .build(side.rate, Random::new(0, "names"))
        .unwrap();
    let groups = scenario
        .groups
        .iter()
        .map(|group| group.direction == direction);
    let recorder = Recorder::new(RecorderConfig {
        hop,
        hop_name: Hop::ONLY_NAME.to_owned(),
        direction,
        queues: queue.queues(),
        groups: groups.collect(),
        rate: side.rate,
        timeline: Timeline::new(run.warmup, &[], run.settle, run.duration),
        interval: None,
    });
    let bursts = BurstRecorder::new(scenario.groups[0].rtt, side.rate, run.warmup);
    Both(recorder, Both(bursts, Longest::default()))
}

/// A run under way.
struct Run {
    simulator: Simulator<Observers>,
    streams: Vec<FlowId>,
}

impl Run {
    fn until(&mut self, at: Time) {
        let reached = self.simulator.run(at, &AtomicBool::new(false)).unwrap();
        assert_eq!(reached, at);
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

/// Runs `scenario` with `seed`.
pub(crate) fn measure(scenario: &Scenario, seed: u64) -> ExperimentResult {
    let config = simulation(scenario, seed);
    let is_stream = |&id: &FlowId| {
        let flow = &config.flows[id.index()];
        matches!(flow.transport, TransportConfig::Stream(_))
    };
    let ids = (0..config.flows.len() as u32).map(FlowId);
    let streams: Vec<FlowId> = ids.filter(is_stream).collect();
    let observer = |hop, direction| observers(scenario, hop, direction);
    let mut windows = WindowSamples::new(streams.len());
    let mut run = Run {
        simulator: Simulator::new(config, observer).unwrap(),
        streams,
    };
    let (mut at, end) = (scenario.run.warmup, scenario.run.duration);
    run.until(at);
    let before = (run.delivered(), run.cuts());
    while at < end {
        windows.sample(run.windows());
        at = (at + SAMPLE).min(end);
        run.until(at);
    }
    let (delivered, cuts) = (run.delivered() - before.0, run.cuts() - before.1);
    let forward = run.simulator.observers_mut().next().unwrap();
    let Both(recorder, Both(bursts, longest)) = forward;
    let link = recorder.finish(end).whole;
    ExperimentResult {
        goodput: delivered as f64 * 8e9 / link.span.length().as_nanos() as f64,
        link,
        bursts: bursts.finish(end),
        windows,
        cuts,
        longest: longest.0,
    }
}
