//! The grid on which the simulator is compared with a user-mode kernel: one or four flows of one control.
//!
//! Of its points a part is run in which every combination of the values of any three factors occurs ([`cover`]). What is left
//! out of the grid has a reason ([`Point::excluded`]).

use super::case::{Base, Case};
use super::cover::cover;

/// The scenario that every point changes.
const FILE: Base = (
    "scenarios/validation/against-virtual.toml",
    include_str!("../../../../../scenarios/validation/against-virtual.toml"),
);

/// Factors of which every combination of values is run.
pub const STRENGTH: usize = 3;

const CONTROLS: [&str; 3] = ["reno", "cubic", "dctcp"];
const QUEUES: [Queue; 7] = [
    Queue::DropTail(50),
    Queue::DropTail(100),
    Queue::DropTail(200),
    Queue::Managed("pie"),
    Queue::Managed("fq_codel"),
    Queue::Managed("gsp"),
    Queue::Managed("dualpi2"),
];
const RATES: [u32; 3] = [10, 40, 100];
const RTTS: [u32; 3] = [5, 20, 80];
const FLOWS: [u32; 2] = [1, 4];

/// A drop-tail queue of fewer packets is none: a burst of a window's super-segments fills it.
const LEAST_PACKETS: f64 = 6.0;
/// Milliseconds of a packet at 1 Mbit/s.
const PACKET_MS: f64 = 12.0;
/// What is measured at least and at most, in seconds; between them five sawteeth.
const MEASURED: (f64, f64) = (20.0, 100.0);
const SAWTEETH: f64 = 5.0;
/// The warm-up, in seconds: a slow start and a sawtooth.
const WARMUP: (f64, f64) = (5.0, 20.0);

/// A queue discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Drop-tail of so many hundredths of the product of rate and base RTT.
    DropTail(u32),
    /// One that says itself how long it is.
    Managed(&'static str),
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Congestion control of all flows.
    pub control: &'static str,
    /// The queue, with the size of a drop-tail one.
    pub queue: Queue,
    /// Rate of the link.
    pub rate_mbps: u32,
    /// Base RTT.
    pub rtt_ms: u32,
    /// Number of flows.
    pub flows: u32,
}

/// Every point, those of low rates first.
fn all() -> impl Iterator<Item = ([usize; 5], Point)> {
    let indices = |length: usize| 0..length;
    indices(RATES.len()).flat_map(move |rate| {
        indices(RTTS.len()).flat_map(move |rtt| {
            indices(FLOWS.len()).flat_map(move |flows| {
                indices(QUEUES.len()).flat_map(move |queue| {
                    indices(CONTROLS.len()).map(move |control| {
                        let point = Point {
                            control: CONTROLS[control],
                            queue: QUEUES[queue],
                            rate_mbps: RATES[rate],
                            rtt_ms: RTTS[rtt],
                            flows: FLOWS[flows],
                        };
                        ([control, queue, rate, rtt, flows], point)
                    })
                })
            })
        })
    })
}

/// The points that are run, those of low rates first.
pub fn points() -> Vec<Point> {
    let (levels, possible): (Vec<_>, Vec<_>) = all()
        .filter(|(_, point)| point.excluded().is_none())
        .unzip();
    let mut chosen = cover(&levels, STRENGTH);
    chosen.sort_unstable();
    chosen.into_iter().map(|index| possible[index]).collect()
}

/// The points that no comparison can use, with the reason.
pub fn excluded() -> Vec<(Point, &'static str)> {
    all()
        .filter_map(|(_, point)| Some((point, point.excluded()?)))
        .collect()
}

impl Point {
    /// Why it cannot be used.
    fn excluded(&self) -> Option<&'static str> {
        let packets = f64::from(self.rate_mbps) * self.queue_ms() / PACKET_MS;
        (matches!(self.queue, Queue::DropTail(_)) && packets < LEAST_PACKETS)
            .then_some("drop-tail of fewer than six packets")
    }

    /// What waits before the queue signals, in ms at the link's rate: the limit, the target or the threshold by default. DCTCP in
    /// DualPI2 has a step at 1 ms.
    fn queue_ms(&self) -> f64 {
        match (self.queue, self.control) {
            (Queue::DropTail(hundredths), _) => {
                f64::from(self.rtt_ms) * f64::from(hundredths) / 100.0
            }
            (Queue::Managed("dualpi2"), "dctcp") => 1.0,
            (Queue::Managed("fq_codel"), _) => 5.0,
            (Queue::Managed("gsp"), _) => 10.0,
            (Queue::Managed(_), _) => 15.0,
        }
    }

    /// How long a flow takes from one signal to the next, in seconds, by the controls' own laws: Reno, and DCTCP where it is
    /// not marked, gain a packet in each RTT and lose half; CUBIC takes the cube root of what it lost over C = 0.4, and where that
    /// is less is about as fast as Reno.
    fn sawtooth(&self) -> f64 {
        let rtt_ms = f64::from(self.rtt_ms) + self.queue_ms();
        let window = f64::from(self.rate_mbps) * rtt_ms / PACKET_MS / f64::from(self.flows);
        let reno = window / 2.0 * rtt_ms / 1e3;
        match self.control {
            "cubic" => (window * 0.3 / 0.4).cbrt().min(reno),
            _ => reno,
        }
    }

    /// Warm-up and duration in seconds.
    fn seconds(&self) -> (u32, u32) {
        let sawtooth = self.sawtooth();
        let warmup = sawtooth.clamp(WARMUP.0, WARMUP.1).ceil();
        let measured = (SAWTEETH * sawtooth).clamp(MEASURED.0, MEASURED.1).ceil();
        (warmup as u32, (warmup + measured) as u32)
    }

    /// What is compared.
    pub fn case(&self) -> Case {
        let Self {
            control,
            queue,
            rate_mbps,
            rtt_ms,
            flows,
        } = *self;
        let (kind, name) = match queue {
            Queue::DropTail(hundredths) => {
                let bdp = f64::from(hundredths) / 100.0;
                ("fifo", format!("fifo{bdp}bdp"))
            }
            Queue::Managed(kind) => (kind, kind.to_owned()),
        };
        let (warmup, duration) = self.seconds();
        let mut settings = vec![
            format!("link.rate={rate_mbps}mbit"),
            format!("link.queue.kind={kind}"),
            format!("group.test.congestion-control={control}"),
            format!("group.test.rtt={rtt_ms}ms"),
            format!("group.test.count={flows}"),
            format!("run.warmup={warmup}s"),
            format!("run.duration={duration}s"),
        ];
        if let Queue::DropTail(_) = queue {
            settings.push(format!("link.queue.limit={}us", self.queue_ms() * 1e3));
        }
        if kind == "pie" {
            // Off by default, but what PIE in Linux is given where DCTCP shall be marked.
            settings.push("link.queue.ecn=true".to_owned());
        }
        if control != "dctcp" {
            settings.push("group.test.ecn=off".to_owned());
        }
        Case {
            id: format!("{name}-{control}-{rate_mbps}mbit-{rtt_ms}ms-{flows}"),
            base: FILE,
            settings,
            rate_mbps,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quell_lab::World;

    use super::*;

    #[test]
    fn every_point_is_a_scenario_of_its_own() {
        let mut texts = BTreeSet::new();
        let mut names = BTreeSet::new();
        for point in points() {
            let case = point.case();
            for world in [World::Sim, World::Virtual] {
                texts.insert(case.scenario(world, 1).expect("a scenario").to_toml());
            }
            names.insert(case.id);
        }
        // Two worlds have one scenario.
        assert_eq!(texts.len(), points().len());
        assert_eq!(names.len(), points().len());
        // Queues, and two of the factors with three values; greedily a quarter more.
        assert!((63..80).contains(&names.len()), "{}", names.len());
    }

    #[test]
    fn drop_tail_without_room_for_a_burst_is_left_out() {
        let mut ids: Vec<String> = excluded()
            .into_iter()
            .filter(|(point, _)| point.control == "reno" && point.flows == 1)
            .map(|(point, _)| point.case().id)
            .collect();
        ids.sort();
        // 2 and 4 packets.
        assert_eq!(
            ids,
            ["fifo0.5bdp-reno-10mbit-5ms-1", "fifo1bdp-reno-10mbit-5ms-1"]
        );
    }

    #[test]
    fn a_run_is_as_long_as_its_sawteeth_ask_for() {
        let seconds = |control, queue, rate_mbps, rtt_ms, flows| {
            let point = Point {
                control,
                queue,
                rate_mbps,
                rtt_ms,
                flows,
            };
            point.seconds()
        };
        // 2 000 packets in flight: the cube root of 1 500 is 11.4 s.
        let double = Queue::DropTail(200);
        assert_eq!(seconds("cubic", double, 100, 80, 1), (12, 70));
        // 1 000 round trips of 240 ms are more than a night has room for.
        assert_eq!(seconds("reno", double, 100, 80, 1), (20, 120));
        // 8 packets in flight, and 4 round trips: the least.
        assert_eq!(seconds("reno", Queue::DropTail(100), 10, 5, 1), (5, 25));
    }
}
