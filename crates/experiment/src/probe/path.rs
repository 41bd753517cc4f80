//! One run of a path with few flows: what each packet of the forward queue took, and what the senders had, every 10 ms.
//!
//! Receivers are those of the studies' time, as for [`super::experiment`].

use std::sync::atomic::AtomicBool;

use quell_aqm::{Departure, Drop, Observer, Packet as _};
use quell_lab::sim::Watching;
use quell_lab::{RunError, Scenario};
use quell_measure::FlowId;
use quell_sim::Packet;
use quell_units::Time;
use serde::{Deserialize, Serialize};

use super::{experiment, forward, run, simulator};

/// How often senders are sampled and packets counted.
const STEP: Time = Time::from_millis(10);
/// A packet is late that takes longer: with a base RTT of 40 ms, an RTT of 150 ms.
const LATE: Time = Time::from_millis(110);
/// The window of `PROBE_RTT`, in packets.
const SMALLEST: u32 = 4;

/// What one run gave. Times of packets are from arrival at the queue to the end of transmission.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PathResult {
    /// Of the packets that came in each second, the longest time in ms; 0 without any.
    pub longest_ms: Vec<f64>,
    /// Median of all that came from 3 s on, in ms.
    pub median_from_3_s_ms: Option<f64>,
    /// Median of all that came from 20 s on, in ms.
    pub median_from_20_s_ms: Option<f64>,
    /// Packets that came in each 10 ms.
    pub arrivals: Vec<u32>,
    /// When the last packet came that took more than 110 ms, in seconds.
    pub last_late_s: Option<f64>,
    /// The senders, in the order of the scenario.
    pub flows: Vec<FlowResult>,
}

/// What a sender had.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowResult {
    /// Bytes acknowledged at the end of each second.
    pub acknowledged: Vec<u64>,
    /// When its window was four packets, in seconds, every 10 ms.
    pub smallest_s: Vec<f64>,
}

impl PathResult {
    /// The longest time of packets that came between two whole seconds, in ms.
    pub fn longest(&self, from: usize, to: usize) -> f64 {
        let seconds = self.longest_ms.iter().take(to).skip(from);
        seconds.copied().fold(0.0, f64::max)
    }

    /// Goodput of a flow between two whole seconds, in Mbit/s of payload; a run that ends before counts until its end.
    pub fn goodput(&self, flow: usize, from: usize, to: usize) -> f64 {
        let Some(flow) = self.flows.get(flow) else {
            return 0.0;
        };
        let at = |second: usize| {
            let found = flow.acknowledged.get(second.saturating_sub(1));
            found.or(flow.acknowledged.last()).copied().unwrap_or(0)
        };
        (at(to) - at(from)) as f64 * 8.0 / (to - from) as f64 / 1e6
    }

    /// Seconds after a whole second until as many Mbit/s of packets of 1500 bytes come in 100 ms.
    pub fn reaches(&self, mbps: f64, from: usize) -> Option<f64> {
        let later = self.arrivals.get(100 * from..)?;
        let rate = |window: &[u32]| f64::from(window.iter().sum::<u32>()) * 12e-3 / 0.1;
        let place = later.windows(10).position(|window| rate(window) >= mbps)?;
        Some((place + 10) as f64 / 100.0)
    }

    /// Seconds after a whole second until the last packet comes that takes more than 110 ms; 0 if none does.
    pub fn late_until(&self, from: usize) -> f64 {
        (self.last_late_s.unwrap_or(0.0) - from as f64).max(0.0)
    }

    /// The moments after `from` seconds at which a flow's window is that of `PROBE_RTT`, each run of them once.
    pub fn probe_rtts(&self, flow: usize, from: f64) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::new();
        let all = self
            .flows
            .get(flow)
            .map_or(&[][..], |flow| &flow.smallest_s);
        for &at in all.iter().filter(|at| **at > from) {
            if found.last().is_none_or(|last| at - last > 1.0) {
                found.push(at);
            }
        }
        found
    }
}

/// When each packet came, and how long it took.
#[derive(Debug, Default)]
struct Passages(Vec<(Time, Time)>);

impl Watching for Passages {}

impl Observer<Packet> for Passages {
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        let came = packet.arrival();
        self.0.push((came, departure.end - came));
    }
}

fn ms(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn seconds(time: Time) -> f64 {
    ms(time) / 1e3
}

impl Passages {
    fn median(&self, from: Time) -> Option<f64> {
        let later = self.0.iter().filter(|(came, _)| *came >= from);
        let mut took: Vec<Time> = later.map(|(_, took)| *took).collect();
        took.sort_unstable();
        took.get(took.len() / 2).copied().map(ms)
    }

    fn result(&self, end: Time, flows: Vec<FlowResult>) -> PathResult {
        let parts = |length: Time| end.as_nanos().div_ceil(length.as_nanos()) as usize;
        let mut result = PathResult {
            longest_ms: vec![0.0; parts(Time::from_secs(1))],
            arrivals: vec![0; parts(STEP)],
            median_from_3_s_ms: self.median(Time::from_secs(3)),
            median_from_20_s_ms: self.median(Time::from_secs(20)),
            flows,
            ..PathResult::default()
        };
        let mut last: Option<Time> = None;
        for &(came, took) in &self.0 {
            let at = |length: Time| (came.as_nanos() / length.as_nanos()) as usize;
            if let Some(longest) = result.longest_ms.get_mut(at(Time::from_secs(1))) {
                *longest = longest.max(ms(took));
            }
            if let Some(count) = result.arrivals.get_mut(at(STEP)) {
                *count += 1;
            }
            if took > LATE {
                last = last.max(Some(came));
            }
        }
        result.last_late_s = last.map(seconds);
        result
    }
}

/// Runs `scenario` with `seed` until its end, or until `stop` is set.
///
/// # Errors
///
/// It was stopped, or cannot run.
pub fn measure(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<PathResult, RunError> {
    let config = experiment::simulation(scenario, seed)?;
    let mut flows = vec![FlowResult::default(); config.flows.len()];
    let mut simulator = simulator(config, &|_, _| Box::new(Passages::default()))?;
    let end = scenario.run.duration;
    while simulator.now() < end {
        let next = simulator.now() + STEP;
        run(&mut simulator, next, stop)?;
        for (id, flow) in flows.iter_mut().enumerate() {
            let tcp = simulator.tcp(FlowId(id as u32));
            if next.as_nanos().is_multiple_of(1_000_000_000) {
                let acknowledged = tcp.as_ref().map_or(0, |tcp| tcp.acknowledged);
                flow.acknowledged.push(acknowledged);
            }
            if tcp.is_some_and(|tcp| tcp.cwnd == SMALLEST) {
                flow.smallest_s.push(seconds(next));
            }
        }
    }
    Ok(forward::<Passages>(&mut simulator)?.result(end, flows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_when_they_came_and_how_long_they_took() {
        let passage = |came, took| (Time::from_millis(came), Time::from_millis(took));
        let mut passages = Passages::default();
        // 1 Mbit/s for 4 s, then 12 Mbit/s.
        passages.0.extend((0..333).map(|at| passage(12 * at, 5)));
        passages.0.extend((4_000..5_000).map(|at| passage(at, 7)));
        passages.0.push(passage(4_250, 120));
        let found = passages.result(Time::from_secs(5), Vec::new());
        assert_eq!(found.longest_ms, [5.0, 5.0, 5.0, 5.0, 120.0]);
        assert_eq!((found.longest(0, 4), found.longest(3, 9)), (5.0, 120.0));
        assert_eq!(found.median_from_3_s_ms, Some(7.0));
        assert_eq!(found.median_from_20_s_ms, None);
        assert_eq!(found.arrivals.iter().sum::<u32>(), 1_334);
        assert_eq!(found.reaches(11.5, 3), Some(1.1));
        assert_eq!(found.reaches(30.0, 3), None);
        assert_eq!((found.late_until(4), found.late_until(5)), (0.25, 0.0));
    }

    #[test]
    fn a_goodput_is_between_whole_seconds_and_probes_are_apart() {
        let flow = FlowResult {
            acknowledged: vec![0, 125_000, 375_000],
            smallest_s: vec![1.0, 10.0, 10.01, 10.02, 20.0],
        };
        let found = PathResult {
            flows: vec![flow],
            ..PathResult::default()
        };
        assert_eq!(found.goodput(0, 1, 3), 1.5);
        assert_eq!(found.goodput(0, 2, 4), 1.0);
        assert_eq!(found.goodput(1, 2, 4), 0.0);
        assert_eq!(found.probe_rtts(0, 5.0), [10.0, 20.0]);
    }
}
