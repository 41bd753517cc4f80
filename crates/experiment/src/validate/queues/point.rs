//! The points: a discipline with the same parameters in quell's words and in tc's.
//!
//! Where the two count differently, the parameters are chosen so that both do the same to packets of 1 500 bytes:
//!
//! * The kernel's disciplines count an Ethernet header of 14 bytes, quell's the IP length: limits, thresholds, average
//!   packets and quanta in bytes are so many packets of 1 514 there, and of 1 500 here.
//! * PIE's update timer is a whole number of ticks, rounded up, and rings at the tick after (timer_list, `calc_index`): with
//!   HZ = 250, as the guest has, `tupdate 15ms` is an update every 20 ms. quell has no ticks and is told 20 ms.

use std::fmt::Display;

use quell_lab::scenario::{Override, Scenario};
use quell_lab::{RunError, World};

/// The scenarios that every point changes.
const PLAIN: (&str, &str) = (
    "scenarios/validation/parity.toml",
    include_str!("../../../../../scenarios/validation/parity.toml"),
);
const L4S: (&str, &str) = (
    "scenarios/validation/parity-l4s.toml",
    include_str!("../../../../../scenarios/validation/parity-l4s.toml"),
);

/// Full-sized packets, as each side counts them.
const QUELL_PACKET: u32 = 1_500;
const KERNEL_PACKET: u32 = 1_514;
/// Rates in Mbit/s.
const RATES: [u32; 2] = [10, 40];
/// Numbers of flows.
const FLOWS: [u32; 2] = [1, 4];

/// A discipline of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Bfifo,
    Red,
    Codel,
    Pie,
    FqCodel,
    DualPi2,
}

impl Queue {
    pub(crate) const ALL: [Self; 6] = [
        Self::Bfifo,
        Self::Red,
        Self::Codel,
        Self::Pie,
        Self::FqCodel,
        Self::DualPi2,
    ];

    /// The kernel's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfifo => "bfifo",
            Self::Red => "red",
            Self::Codel => "codel",
            Self::Pie => "pie",
            Self::FqCodel => "fq_codel",
            Self::DualPi2 => "dualpi2",
        }
    }

    fn quell_name(self) -> &'static str {
        match self {
            Self::Bfifo => "fifo",
            other => other.name(),
        }
    }
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) queue: Queue,
    pub(crate) rate_mbps: u32,
    pub(crate) flows: u32,
    pub(crate) ecn: bool,
}

impl Point {
    /// Every point, in the order of the tables.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for queue in Queue::ALL {
            for rate_mbps in RATES {
                for flows in FLOWS {
                    for ecn in [false, true] {
                        let point = Self {
                            queue,
                            rate_mbps,
                            flows,
                            ecn,
                        };
                        if point.makes_sense() {
                            all.push(point);
                        }
                    }
                }
            }
        }
        all
    }

    /// Drop-tail marks nothing; DualPI2 has one Classic flow without ECN, or four flows of which two are L4S.
    fn makes_sense(&self) -> bool {
        match self.queue {
            Queue::Bfifo => !self.ecn,
            Queue::DualPi2 => self.ecn == (self.flows > 1),
            _ => true,
        }
    }

    /// Its name, in the table and as a file.
    pub(crate) fn id(&self) -> String {
        let ecn = if self.ecn { "-ecn" } else { "" };
        format!(
            "{}-{}mbit-{}{ecn}",
            self.queue.name(),
            self.rate_mbps,
            self.flows
        )
    }

    fn has_l4s(&self) -> bool {
        self.queue == Queue::DualPi2 && self.flows > 1
    }

    /// Packets of the drop-tail queue, and at which RED's average begins and ends to signal: two to three base RTTs of
    /// 20 ms, and from a half to almost two.
    fn packets(&self) -> (u32, u32, u32) {
        if self.rate_mbps < 20 {
            (50, 10, 30)
        } else {
            (130, 30, 90)
        }
    }

    /// Packets that RED lets in at once: (2 min + max) / 3, as tc-red(8) advises, and one more.
    fn burst(&self) -> u32 {
        let (_, min, max) = self.packets();
        (2 * min + max) / 3 + 1
    }

    /// The discipline in tc's words.
    pub(crate) fn kernel(&self) -> String {
        let ecn = |yes: &'static str, no: &'static str| if self.ecn { yes } else { no };
        let (limit, min, max) = self.packets();
        let bytes = |packets: u32| packets * KERNEL_PACKET;
        match self.queue {
            Queue::Bfifo => format!("bfifo limit {}", bytes(limit)),
            Queue::Red => format!(
                "red limit {} min {} max {} avpkt {KERNEL_PACKET} burst {} probability 0.1 bandwidth {}mbit{}",
                bytes(4 * limit),
                bytes(min),
                bytes(max),
                self.burst(),
                self.rate_mbps,
                ecn(" ecn", "")
            ),
            Queue::Codel => format!(
                "codel limit 1000 target 5ms interval 100ms {}",
                ecn("ecn", "noecn")
            ),
            Queue::Pie => format!(
                "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 {}",
                ecn("ecn", "noecn")
            ),
            Queue::FqCodel => format!(
                "fq_codel limit 10240 flows 1024 quantum {KERNEL_PACKET} target 5ms interval 100ms {}",
                ecn("ecn", "noecn")
            ),
            // tc may not know it, and then it has its defaults; quell's are the same.
            Queue::DualPi2 => "dualpi2".to_owned(),
        }
    }

    /// The discipline in quell's words.
    fn quell(&self) -> Vec<String> {
        let (limit, min, max) = self.packets();
        let bytes = |packets: u32| format!("{}B", packets * QUELL_PACKET);
        let ecn = ("ecn", self.ecn.to_string());
        let parameters: Vec<(&str, String)> = match self.queue {
            Queue::Bfifo => vec![("limit", bytes(limit))],
            Queue::Red => vec![
                ("limit", bytes(4 * limit)),
                ("min", bytes(min)),
                ("max", bytes(max)),
                ("avpkt", bytes(1)),
                ("burst", format!("{}p", self.burst())),
                ("probability", "0.1".to_owned()),
                ("bandwidth", format!("{}mbit", self.rate_mbps)),
                ecn,
            ],
            Queue::Codel => vec![
                ("limit", "1000p".to_owned()),
                ("target", "5ms".to_owned()),
                ("interval", "100ms".to_owned()),
                ecn,
            ],
            Queue::Pie => vec![
                ("limit", "1000p".to_owned()),
                ("target", "15ms".to_owned()),
                ("tupdate", "20ms".to_owned()),
                ("alpha", "2".to_owned()),
                ("beta", "20".to_owned()),
                ecn,
            ],
            Queue::FqCodel => vec![
                ("limit", "10240p".to_owned()),
                ("flows", "1024".to_owned()),
                ("quantum", bytes(1)),
                ("target", "5ms".to_owned()),
                ("interval", "100ms".to_owned()),
                ecn,
            ],
            Queue::DualPi2 => Vec::new(),
        };
        let set = |(key, value)| format!("link.queue.{key}={value}");
        parameters.into_iter().map(set).collect()
    }

    /// What it sets, as after `--set`.
    fn settings(&self) -> Vec<String> {
        let mut all = vec![
            format!("link.rate={}mbit", self.rate_mbps),
            format!("link.queue.kind={}", self.queue.quell_name()),
        ];
        all.extend(self.quell());
        if !self.has_l4s() {
            all.push(format!("group.test.count={}", self.flows));
            let ecn = if self.ecn { "ect0" } else { "off" };
            all.push(format!("group.test.ecn={ecn}"));
        }
        all
    }

    /// The scenario of one run, the same for both sides.
    pub(crate) fn scenario(&self, world: World, seed: u64) -> Result<Scenario, RunError> {
        let refused = |why: &dyn Display| RunError::refused(format!("{}: {why}", self.id()));
        let mut overrides = vec![Override::seed(seed)];
        for setting in self.settings() {
            overrides.push(Override::set(&setting).map_err(|why| refused(&why))?);
        }
        let (name, text) = if self.has_l4s() { L4S } else { PLAIN };
        Scenario::load(name, text, &overrides, Some(world))
            .map(|loaded| loaded.scenario)
            .map_err(|problems| refused(&problems))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_a_scenario_of_its_own() {
        let text = |point: &Point| {
            point
                .scenario(World::Virtual, 1)
                .expect("a scenario")
                .to_toml()
        };
        let mut texts: Vec<String> = Point::all().iter().map(text).collect();
        texts.sort();
        texts.dedup();
        // Four disciplines with and without ECN, drop-tail without, DualPI2 with or without, at two rates with one and four
        // flows.
        assert_eq!(texts.len(), 4 * 8 + 4 + 4);
    }

    #[test]
    fn both_sides_hold_as_many_packets() {
        let point = Point {
            queue: Queue::Bfifo,
            rate_mbps: 10,
            flows: 1,
            ecn: false,
        };
        assert_eq!(point.kernel(), "bfifo limit 75700");
        assert_eq!(point.quell(), ["link.queue.limit=75000B"]);
        let of_both = |point: &Point, key: &str| {
            let kernel = point.kernel();
            let words: Vec<&str> = kernel.split(' ').collect();
            let at = words.iter().position(|word| *word == key).expect("a word");
            let kernel: u32 = words[at + 1].parse().expect("a number");
            let quell = point.quell();
            let quell = quell
                .iter()
                .find_map(|set| set.strip_prefix(&format!("link.queue.{key}=")));
            let quell: u32 = quell
                .expect("a setting")
                .trim_end_matches('B')
                .parse()
                .expect("bytes");
            (kernel / KERNEL_PACKET, quell / QUELL_PACKET)
        };
        let red = Point {
            queue: Queue::Red,
            ..point
        };
        for key in ["limit", "min", "max", "avpkt"] {
            let (kernel, quell) = of_both(&red, key);
            assert_eq!(kernel, quell, "{key}");
        }
        let (kernel, quell) = of_both(
            &Point {
                queue: Queue::FqCodel,
                ..point
            },
            "quantum",
        );
        assert_eq!((kernel, quell), (1, 1));
    }
}
