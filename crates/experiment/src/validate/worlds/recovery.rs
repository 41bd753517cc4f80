//! Loss recovery on paths that reorder, in the simulator and in a user-mode kernel: what is sent again although the link lost nothing.
//!
//! One flow has the link to itself, whose path holds back a share of the packets. Every control meets every share, time and base RTT in
//! pairs ([`cover`]). A second set of points, with other values, is held back: whoever changes the model looks at the first set.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_measure::{Estimate, Summary};

use crate::validate::document::{Explanations, estimate};
use crate::validate::sheet::Sheet;
use crate::validate::worlds::case::{Base, Case};
use crate::validate::worlds::cover::cover;
use crate::validate::worlds::figures::{Difference, Figure, Reference};
use crate::validate::worlds::sim_and_virtual::{self, PointRuns};
use crate::validate::worlds::{Arguments, misses};

const FILE: Base = (
    "scenarios/validation/against-virtual.toml",
    include_str!("../../../../../scenarios/validation/against-virtual.toml"),
);

const CONTROLS: [&str; 4] = ["reno", "cubic", "dctcp", "bbr1"];
/// Packets held back of a thousand, for how many ms, and base RTTs in ms: of the first set, and of the one that is held back.
const HELD: [&[u32]; 2] = [&[1, 20, 200], &[5, 60]];
const HOLDS: [&[u32]; 2] = [&[1, 6, 25], &[3, 12]];
const RTTS: [&[u32]; 2] = [&[10, 40, 80], &[20, 60]];
const RATE_MBPS: u32 = 30;
/// Factors of which every combination of values is run, of each set.
const STRENGTHS: [usize; 2] = [2, 2];
/// Warm-up and duration: the slow start belongs to it.
const SECONDS: [u32; 2] = [0, 12];

/// One point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    control: &'static str,
    held: u32,
    hold_ms: u32,
    rtt_ms: u32,
    /// Of the second set.
    pub(crate) is_held_back: bool,
}

/// Every point, those that are held back last.
pub(crate) fn points() -> Vec<Point> {
    [false, true].into_iter().flat_map(set).collect()
}

fn set(is_held_back: bool) -> Vec<Point> {
    let of = usize::from(is_held_back);
    let (mut levels, mut all) = (Vec::new(), Vec::new());
    for (h, &held) in HELD[of].iter().enumerate() {
        for (t, &hold_ms) in HOLDS[of].iter().enumerate() {
            for (r, &rtt_ms) in RTTS[of].iter().enumerate() {
                for (c, control) in CONTROLS.into_iter().enumerate() {
                    levels.push([h, t, r, c]);
                    all.push(Point {
                        control,
                        held,
                        hold_ms,
                        rtt_ms,
                        is_held_back,
                    });
                }
            }
        }
    }
    let mut chosen = cover(&levels, STRENGTHS[of]);
    chosen.sort_unstable();
    chosen.into_iter().map(|index| all[index]).collect()
}

impl Point {
    /// What is compared.
    pub(crate) fn case(&self) -> Case {
        let Self {
            control,
            held,
            hold_ms,
            rtt_ms,
            ..
        } = *self;
        let share = f64::from(held) / 1_000.0;
        let [warmup, duration] = SECONDS;
        // A queue of two products of rate and base RTT, and of 20 ms at least.
        let limit = (2 * rtt_ms).max(20);
        let mut settings = vec![
            format!("link.rate={RATE_MBPS}mbit"),
            "link.queue.kind=fifo".to_owned(),
            format!("link.queue.limit={limit}ms"),
            format!("link.impair={{ reorder = {share}, hold = \"{hold_ms}ms\" }}"),
            "group.test.count=1".to_owned(),
            format!("group.test.congestion-control={control}"),
            format!("group.test.rtt={rtt_ms}ms"),
            format!("run.warmup={warmup}s"),
            format!("run.duration={duration}s"),
        ];
        if control != "dctcp" {
            settings.push("group.test.ecn=off".to_owned());
        }
        Case {
            id: format!("reorder{share}-{hold_ms}ms-{control}-rtt{rtt_ms}ms"),
            base: FILE,
            settings,
            rate_mbps: RATE_MBPS,
        }
    }

    /// What is compared at this point: what was sent again for each packet held back, and what the flow got.
    fn differences(&self, runs: &PointRuns) -> Vec<Difference> {
        let per_event = |runs: &[Summary]| {
            let of_run = |run| Some(Figure::Needless.of(run)? / f64::from(self.held));
            Estimate::new(&runs.iter().filter_map(of_run).collect::<Vec<_>>())
        };
        let repeats = per_event(&runs.sim).zip(per_event(&runs.guest));
        let repeats = repeats.map(|(sim, other)| Difference {
            figure: Figure::Needless,
            reference: Reference::Virtual,
            sim,
            other,
        });
        repeats.into_iter().chain(runs.differences()).collect()
    }
}

/// The differences of a point, each with its name.
fn named(point: &Point, runs: &PointRuns) -> Vec<(String, Difference)> {
    let id = point.case().id;
    let all = point.differences(runs).into_iter();
    all.map(|one| (id.clone(), one)).collect()
}

/// Every difference, with the name of its point.
pub(crate) fn differences(measured: &[(Point, PointRuns)]) -> Vec<(String, Difference)> {
    let of_point = |(point, runs): &(Point, PointRuns)| named(point, runs);
    measured.iter().flat_map(of_point).collect()
}

/// What the points say together: a row for each control, and one for each share of packets held back.
pub(crate) fn summary(measured: &[(Point, PointRuns)], arguments: &Arguments) -> String {
    let runs: usize = measured.iter().map(|(_, runs)| runs.runs()).sum();
    let mut text = format!(
        "With Linux {}, {runs} runs at {} points, {} of each, of {} s, and as many simulations with the same seeds. Every combination \
         of the values of {} factors is among the points, and of {} among those that are held back.\n\n\
         | control | points | held back | bounds |\n| --- | --- | --- | --- |\n",
        arguments.guest_version,
        measured.len(),
        arguments.seeds,
        SECONDS[1],
        STRENGTHS[0],
        STRENGTHS[1],
    );
    for control in CONTROLS {
        let mut shares = [[0; 2]; 3];
        for (point, runs) in measured
            .iter()
            .filter(|(point, _)| point.control == control)
        {
            let all = point.differences(runs);
            let held = all.iter().filter(|one| one.holds()).count();
            let set = &mut shares[usize::from(point.is_held_back)];
            *set = [set[0] + usize::from(held == all.len()), set[1] + 1];
            shares[2] = [shares[2][0] + held, shares[2][1] + all.len()];
        }
        let [first, second, bounds] = shares.map(|[held, all]| format!("{held} of {all}"));
        let _ = writeln!(text, "| {control} | {first} | {second} | {bounds} |");
    }
    text.push_str("\n| held back | sent again for each packet held back: sim | virtual |\n| --- | --- | --- |\n");
    let mut by_share: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for (point, runs) in measured {
        let all = point.differences(runs);
        if let Some(one) = all.iter().find(|one| one.figure == Figure::Needless) {
            let [sim, guest] = by_share.entry(point.held).or_default();
            sim.push(one.sim.mean);
            guest.push(one.other.mean);
        }
    }
    for (held, worlds) in by_share {
        let [sim, guest] = worlds.map(|means| Estimate::new(&means));
        let cell = |mean: Option<Estimate>| mean.as_ref().map_or(String::new(), estimate);
        let share = f64::from(held) / 10.0;
        let _ = writeln!(text, "| {share} % | {} | {} |", cell(sim), cell(guest));
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
    text.push_str("[recovery.csv](data/recovery.csv) has each figure of each point.\n\n");
    text.push_str(&misses::misses(&differences(measured), explanations));
    text
}

/// Each figure of each point.
pub(crate) fn sheet(measured: &[(Point, PointRuns)]) -> Sheet {
    let mut sheet = sim_and_virtual::sheet_of("recovery.csv", &["point", "held_back", "seeds"]);
    for (point, runs) in measured {
        for (id, one) in named(point, runs) {
            let held_back = if point.is_held_back { "yes" } else { "no" };
            let point = vec![id, held_back.to_owned(), runs.runs().to_string()];
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
    fn every_control_meets_every_share_time_and_rtt_and_each_point_is_another() {
        let points = points();
        let ids: BTreeSet<String> = points.iter().map(|point| point.case().id).collect();
        assert_eq!(ids.len(), points.len());
        for is_held_back in [false, true] {
            let set = || {
                points
                    .iter()
                    .filter(|point| point.is_held_back == is_held_back)
            };
            let of = usize::from(is_held_back);
            for control in CONTROLS {
                for held in HELD[of] {
                    let met = |point: &&Point| point.control == control && point.held == *held;
                    assert!(set().any(|point| met(&point)), "{control} {held}");
                }
            }
        }
        // Every pair of values of two factors.
        let pairs: BTreeSet<[u32; 2]> = points
            .iter()
            .filter(|point| !point.is_held_back)
            .map(|point| [point.held, point.hold_ms])
            .collect();
        assert_eq!(pairs.len(), HELD[0].len() * HOLDS[0].len());
        for point in points {
            point
                .case()
                .scenario(World::Virtual, 1)
                .expect("a scenario");
        }
    }
}
