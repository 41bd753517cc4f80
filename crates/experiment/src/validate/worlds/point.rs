//! The points at which three worlds are compared: a control beside CUBIC.

use crate::validate::worlds::case::{Base, Case};

/// The scenario that every point changes.
const FILE: Base = (
    "scenarios/validation/against-linux.toml",
    include_str!("../../../../../scenarios/validation/against-linux.toml"),
);

/// Controls under test.
pub(crate) const CONTROLS: [&str; 3] = ["reno", "cubic", "dctcp"];
/// Queue disciplines.
pub(crate) const QUEUES: [&str; 2] = ["fifo", "dualpi2"];
/// Rates in Mbit/s.
const RATES: [u32; 3] = [10, 40, 100];
/// Base RTTs in ms.
const RTTS: [u32; 3] = [5, 20, 80];
/// The least drop-tail queue, in ms at the link's rate; one base RTT where that is more.
const LEAST_LIMIT: u32 = 20;

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) control: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) rate_mbps: u32,
    pub(crate) rtt_ms: u32,
}

impl Point {
    /// Every point, in the order of the tables.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for queue in QUEUES {
            for control in CONTROLS {
                for rate_mbps in RATES {
                    for rtt_ms in RTTS {
                        all.push(Self {
                            control,
                            queue,
                            rate_mbps,
                            rtt_ms,
                        });
                    }
                }
            }
        }
        all
    }
    /// Whether it belongs to the quick subset: the corners of rate and RTT.
    pub(crate) fn is_quick(&self) -> bool {
        self.rate_mbps != 40 && self.rtt_ms != 20
    }
    /// Its name, in the table and as a file.
    pub(crate) fn id(&self) -> String {
        format!(
            "{}-{}-{}mbit-{}ms",
            self.queue, self.control, self.rate_mbps, self.rtt_ms
        )
    }
    /// What it sets, as after `--set`.
    fn settings(&self) -> Vec<String> {
        let mut all = vec![
            format!("link.rate={}mbit", self.rate_mbps),
            format!("link.queue.kind={}", self.queue),
            format!("group.test.congestion-control={}", self.control),
            format!("group.test.rtt={}ms", self.rtt_ms),
            format!("group.cubic.rtt={}ms", self.rtt_ms),
        ];
        if self.queue == "fifo" {
            let limit = self.rtt_ms.max(LEAST_LIMIT);
            all.push(format!("link.queue.limit={limit}ms"));
        }
        if self.control != "dctcp" {
            all.push("group.test.ecn=off".to_owned());
        }
        all
    }
    /// What is compared.
    pub(crate) fn case(&self) -> Case {
        Case {
            id: self.id(),
            base: FILE,
            settings: self.settings(),
            rate_mbps: self.rate_mbps,
        }
    }
}

#[cfg(test)]
mod tests {
    use quell_lab::World;

    use super::*;

    #[test]
    fn every_point_is_a_scenario_of_its_own() {
        let mut texts: Vec<String> = Point::all()
            .iter()
            .map(|point| {
                point
                    .case()
                    .scenario(World::Live, 1)
                    .expect("a scenario")
                    .to_toml()
            })
            .collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 54);
    }

    #[test]
    fn drop_tail_holds_a_base_rtt_and_at_least_20_ms() {
        let point = |rtt_ms| Point {
            control: "reno",
            queue: "fifo",
            rate_mbps: 10,
            rtt_ms,
        };
        assert!(
            point(5)
                .settings()
                .contains(&"link.queue.limit=20ms".to_owned())
        );
        assert!(
            point(80)
                .settings()
                .contains(&"link.queue.limit=80ms".to_owned())
        );
    }
}
