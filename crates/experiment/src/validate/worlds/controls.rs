//! The newer controls in the simulator and in a user-mode kernel: H-TCP and BBR v1 of Linux, and what quell compiles into the kernel.
//!
//! Every control meets every queue, alone and as two flows beside one of CUBIC; rates and base RTTs rotate, so that each control has each of
//! them. A second set of points, with other rates and RTTs, is held back: whoever changes a model or a control looks at the first set.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::validate::document::Explanations;
use crate::validate::sheet::Sheet;
use crate::validate::worlds::case::{Base, Case};
use crate::validate::worlds::figures::Difference;
use crate::validate::worlds::sim_and_virtual::{self, PointRuns};
use crate::validate::worlds::{Arguments, misses};

const ALONE: Base = (
    "scenarios/validation/against-virtual.toml",
    include_str!("../../../../../scenarios/validation/against-virtual.toml"),
);
const BESIDE: Base = (
    "scenarios/validation/against-linux.toml",
    include_str!("../../../../../scenarios/validation/against-linux.toml"),
);

const CONTROLS: [&str; 6] = ["htcp", "bbr1", "prague", "compound", "bbr2", "bbr3"];
/// Kind, and the size of a drop-tail queue in hundredths of the product of rate and base RTT.
const QUEUES: [(&str, u32); 7] = [
    ("fifo", 50),
    ("fifo", 100),
    ("fifo", 200),
    ("pie", 0),
    ("fq_codel", 0),
    ("gsp", 0),
    ("dualpi2", 0),
];
const RATES: [u32; 3] = [10, 20, 40];
const RTTS: [u32; 3] = [5, 20, 80];
/// A drop-tail queue holds at least as much, as at the other points.
const LEAST_LIMIT_MS: u32 = 10;
/// Warm-up and duration: four cycles of BBR v2 and v3 for the lowest RTT, two of BBR v1.
const SECONDS: [u32; 2] = [5, 25];

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    control: &'static str,
    queue: (&'static str, u32),
    rate_mbps: u32,
    rtt_ms: u32,
    is_beside: bool,
    /// Of the second set.
    pub(crate) is_held_back: bool,
}

/// A control whose model has hosts as those of the guest: without `fq`.
fn as_at_the_guest(control: &str) -> &str {
    match control {
        "prague" => "{ name = \"prague\", fq = false }",
        plain => plain,
    }
}

/// Every point, those that are held back last.
pub(crate) fn points() -> Vec<Point> {
    let mut all = Vec::new();
    for is_held_back in [false, true] {
        for (c, control) in CONTROLS.into_iter().enumerate() {
            for (q, queue) in QUEUES.into_iter().enumerate() {
                for company in 0..2 {
                    // Of the second set one in two.
                    if is_held_back && (c + q) % 2 != company {
                        continue;
                    }
                    let shift = usize::from(is_held_back);
                    all.push(Point {
                        control,
                        queue,
                        rate_mbps: RATES[(c + q + company + shift) % 3],
                        rtt_ms: RTTS[(c / 3 + 2 * q + company + 2 * shift) % 3],
                        is_beside: company == 1,
                        is_held_back,
                    });
                }
            }
        }
    }
    all
}

impl Point {
    /// What is compared.
    pub(crate) fn case(&self) -> Case {
        let Self {
            control,
            queue: (kind, hundredths),
            rate_mbps,
            rtt_ms,
            ..
        } = *self;
        let company = if self.is_beside { "beside" } else { "alone" };
        let mut name = kind.to_owned();
        let [warmup, duration] = SECONDS;
        let mut settings = vec![
            format!("link.rate={rate_mbps}mbit"),
            format!("link.queue.kind={kind}"),
            format!("group.test.congestion-control={}", as_at_the_guest(control)),
            format!("group.test.rtt={rtt_ms}ms"),
            format!("run.warmup={warmup}s"),
            format!("run.duration={duration}s"),
        ];
        if kind == "fifo" {
            let limit = (rtt_ms * 1_000 * hundredths / 100).max(LEAST_LIMIT_MS * 1_000);
            settings.push(format!("link.queue.limit={limit}us"));
            let _ = write!(name, "{}bdp", f64::from(hundredths) / 100.0);
        }
        if kind == "pie" {
            settings.push("link.queue.ecn=true".to_owned());
        }
        if control != "prague" {
            settings.push("group.test.ecn=off".to_owned());
        }
        settings.push(if self.is_beside {
            format!("group.cubic.rtt={rtt_ms}ms")
        } else {
            "group.test.count=1".to_owned()
        });
        Case {
            id: format!("{name}-{control}-{rate_mbps}mbit-{rtt_ms}ms-{company}"),
            base: if self.is_beside { BESIDE } else { ALONE },
            settings,
            rate_mbps,
        }
    }

    /// Its control, and its set.
    pub(crate) fn kind(&self) -> String {
        let set = ["alone", "beside CUBIC", "held back"][self.set()];
        format!("{}, {set}", self.control)
    }

    fn set(&self) -> usize {
        match (self.is_held_back, self.is_beside) {
            (false, false) => 0,
            (false, true) => 1,
            (true, _) => 2,
        }
    }
}

/// Points and bounds of one set: those that hold, and all.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    points: [usize; 2],
    bounds: [usize; 2],
}

impl Share {
    fn add(&mut self, differences: &[Difference]) {
        let held = differences.iter().filter(|one| one.holds()).count();
        self.bounds = [self.bounds[0] + held, self.bounds[1] + differences.len()];
        let is_inside = usize::from(held == differences.len());
        self.points = [self.points[0] + is_inside, self.points[1] + 1];
    }
}

/// What the points say together: a row for each control.
pub(crate) fn summary(measured: &[(Point, PointRuns)], arguments: &Arguments) -> String {
    let mut shares: BTreeMap<usize, [Share; 4]> = BTreeMap::new();
    let mut runs = 0;
    let mut left_out = String::new();
    for (point, of_point) in measured {
        let index = CONTROLS.iter().position(|name| *name == point.control);
        let of_control = shares.entry(index.unwrap_or_default()).or_default();
        let differences = of_point.differences();
        if differences.is_empty() {
            let _ = write!(left_out, " Not run: {}.", point.case().id);
            continue;
        }
        runs += of_point.runs();
        of_control[point.set()].add(&differences);
        of_control[3].add(&differences);
    }
    let mut text = format!(
        "With Linux {}, {runs} runs at {} points, {} of each, of {} s with {} s of warm-up, and as many simulations with the same \
         seeds.{left_out}\n\n\
         | control | points alone | beside CUBIC | held back | bounds |\n| --- | --- | --- | --- | --- |\n",
        arguments.guest_version,
        measured.len(),
        arguments.seeds,
        SECONDS[1],
        SECONDS[0],
    );
    let of = |[inside, all]: [usize; 2]| format!("{inside} of {all}");
    for (index, [alone, beside, held_back, whole]) in shares {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            CONTROLS[index],
            of(alone.points),
            of(beside.points),
            of(held_back.points),
            of(whole.bounds),
        );
    }
    text.push('\n');
    text
}

/// The generated part of the document.
pub(crate) fn part(
    measured: &[(Point, PointRuns)],
    arguments: &Arguments,
    explanations: &Explanations,
) -> String {
    let mut text = summary(measured, arguments);
    text.push_str("[controls.csv](data/controls.csv) has each figure of each point.\n\n");
    let all: Vec<_> = measured
        .iter()
        .flat_map(|(point, of_point)| sim_and_virtual::named(&point.case(), of_point))
        .collect();
    text.push_str(&misses::misses(&all, explanations));
    text
}

/// Each figure of each point.
pub(crate) fn sheet(measured: &[(Point, PointRuns)]) -> Sheet {
    let mut sheet = sim_and_virtual::sheet_of("controls.csv", &["point", "held_back", "seeds"]);
    for (point, of_point) in measured {
        for (id, one) in sim_and_virtual::named(&point.case(), of_point) {
            let held_back = if point.is_held_back { "yes" } else { "no" };
            let point = vec![id, held_back.to_owned(), of_point.runs().to_string()];
            sheet.row(&[point, sim_and_virtual::cells(&one)].concat());
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quell_lab::World;

    use super::*;

    #[test]
    fn every_control_meets_every_queue_alone_and_beside_cubic_and_each_point_is_another() {
        let points = points();
        let ids: BTreeSet<String> = points.iter().map(|point| point.case().id).collect();
        assert_eq!(ids.len(), points.len());
        let of = |held_back| {
            let those = points
                .iter()
                .filter(|point| point.is_held_back == held_back);
            those.copied().collect::<Vec<_>>()
        };
        assert_eq!((of(false).len(), of(true).len()), (6 * 7 * 2, 6 * 7));
        for set in [of(false), of(true)] {
            for control in CONTROLS {
                let own = || set.iter().filter(|point| point.control == control);
                let rates: BTreeSet<_> = own().map(|point| point.rate_mbps).collect();
                let rtts: BTreeSet<_> = own().map(|point| point.rtt_ms).collect();
                assert_eq!((rates.len(), rtts.len()), (3, 3), "{control}");
            }
        }
        for point in points {
            point
                .case()
                .scenario(World::Virtual, 1)
                .expect("a scenario");
        }
    }
}
