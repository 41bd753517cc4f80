//! The size of the forward queue when packets leave it, and how many of the packets that find it at a size are marked or dropped.
//!
//! For a discipline that judges packets as they arrive. Sizes are packets without the one in service.

use std::sync::atomic::AtomicBool;

use quell_aqm::{Drop, MarkReason, Observer, QueueId};
use quell_lab::sim::Watching;
use quell_lab::{RunError, Scenario, sim};
use quell_sim::Packet;
use quell_units::Time;
use serde::{Deserialize, Serialize};

use super::{failed, forward, run, simulator};

/// Weight of a new sample in the average: `w_q` of Floyd and Jacobson 1993.
const WEIGHT: f64 = 0.002;
/// Largest size with a place of its own, in packets.
const LARGEST: usize = 999;

/// What one run gave after its warm-up. Every list is by size in packets and ends with the largest that occurred.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct QueueSizes {
    /// Packets that left so many others behind.
    pub left: Vec<u64>,
    /// Packets that found so many others.
    pub found: Vec<u64>,
    /// Of these, marked or dropped.
    pub signalled: Vec<u64>,
    /// Packets that came at this average, rounded down.
    pub found_average: Vec<u64>,
    /// Of these, marked or dropped.
    pub signalled_average: Vec<u64>,
}

impl QueueSizes {
    /// The size that this share of the leaving packets does not exceed; `None` if none left.
    pub fn quantile(&self, share: f64) -> Option<usize> {
        let total: u64 = self.left.iter().sum();
        let mut sum = 0;
        self.left.iter().position(|count| {
            sum += count;
            sum > 0 && sum as f64 >= share * total as f64
        })
    }

    /// Packets that left, by size, in percent of all.
    pub fn shares(&self) -> Vec<f64> {
        let total: u64 = self.left.iter().sum();
        let share = |count: &u64| 100.0 * *count as f64 / total.max(1) as f64;
        self.left.iter().map(share).collect()
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.left, &other.left),
            (&mut self.found, &other.found),
            (&mut self.signalled, &other.signalled),
            (&mut self.found_average, &other.found_average),
            (&mut self.signalled_average, &other.signalled_average),
        ] {
            own.resize(own.len().max(other.len()), 0);
            own.iter_mut()
                .zip(other)
                .for_each(|(own, other)| *own += other);
        }
    }
}

/// One more at `size`.
fn count(list: &mut Vec<u64>, size: usize) {
    let size = size.min(LARGEST);
    if list.len() <= size {
        list.resize(size + 1, 0);
    }
    list[size] += 1;
}

/// Counts while it watches the queue.
#[derive(Debug, Default)]
struct Sizes {
    from: Time,
    waiting: usize,
    average: f64,
    result: QueueSizes,
}

impl Sizes {
    /// A packet came.
    fn came(&mut self, now: Time) {
        self.average += WEIGHT * (self.waiting as f64 - self.average);
        if now >= self.from {
            count(&mut self.result.found, self.waiting);
            count(&mut self.result.found_average, self.average as usize);
        }
    }

    /// A packet is signalled, which has come or is about to be counted.
    fn signalled(&mut self, average: f64, now: Time) {
        if now >= self.from {
            count(&mut self.result.signalled, self.waiting);
            count(&mut self.result.signalled_average, average as usize);
        }
    }
}

impl Watching for Sizes {}

impl Observer<Packet> for Sizes {
    fn enqueued(&mut self, _queue: QueueId, _packet: &Packet, now: Time) {
        self.came(now);
        self.waiting += 1;
    }
    fn dequeued(&mut self, _queue: QueueId, _packet: &Packet, now: Time) {
        self.waiting -= 1;
        if now >= self.from {
            count(&mut self.result.left, self.waiting);
        }
    }
    fn marked(&mut self, _queue: QueueId, _packet: &Packet, _reason: MarkReason, now: Time) {
        // The packet is enqueued next, and then the average moves to this.
        let average = self.average + WEIGHT * (self.waiting as f64 - self.average);
        self.signalled(average, now);
    }
    fn dropped(&mut self, _packet: Packet, drop: Drop, now: Time) {
        if drop.queued {
            self.waiting -= 1;
            return;
        }
        self.came(now);
        self.signalled(self.average, now);
    }
}

/// Runs `scenario` with `seed` until its end, or until `stop` is set.
///
/// # Errors
///
/// It was stopped, or cannot run.
pub fn measure(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<QueueSizes, RunError> {
    let config = sim::simulation(scenario, seed).map_err(failed)?;
    let (from, end) = (scenario.run.warmup, scenario.run.duration);
    let sizes = move || Sizes {
        from,
        ..Sizes::default()
    };
    let mut simulator = simulator(config, &|_, _| Box::new(sizes()))?;
    run(&mut simulator, end, stop)?;
    let sizes = forward::<Sizes>(&mut simulator)?;
    Ok(std::mem::take(&mut sizes.result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_shares_are_of_the_packets_that_left() {
        let mut sizes = QueueSizes {
            left: vec![0, 1, 2, 1],
            ..QueueSizes::default()
        };
        assert_eq!(sizes.quantile(0.01), Some(1));
        assert_eq!(sizes.quantile(0.5), Some(2));
        assert_eq!(sizes.quantile(1.0), Some(3));
        assert_eq!(sizes.shares(), [0.0, 25.0, 50.0, 25.0]);
        let other = QueueSizes {
            left: vec![4, 0, 0, 0, 4],
            ..QueueSizes::default()
        };
        sizes.add(&other);
        assert_eq!(sizes.left, [4, 1, 2, 1, 4]);
        assert_eq!(QueueSizes::default().quantile(0.5), None);
    }

    #[test]
    fn a_step_signals_above_its_threshold_and_nowhere_below() {
        let text = crate::shipped::scenario("dualq2015/one-flow.toml").unwrap();
        let sets = [
            "group.flow.congestion-control=dctcp",
            "link.queue={ kind = \"step\", threshold = \"5p\", at = \"enqueue\" }",
            "run.duration=4s",
            "run.warmup=1s",
        ];
        let sets = sets.map(|set| quell_lab::scenario::Override::set(set).unwrap());
        let scenario = Scenario::load("one-flow", text, &sets, None).unwrap();
        let found = measure(&scenario.scenario, 1, &AtomicBool::new(false)).unwrap();
        assert_eq!(found.signalled[..6], [0; 6]);
        assert!(found.found.len() > 6 && found.signalled[6..] == found.found[6..]);
        // A full link of 40 Mbit/s for three seconds.
        assert!(found.left.iter().sum::<u64>() > 9_900);
    }
}
