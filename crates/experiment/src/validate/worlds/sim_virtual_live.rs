//! Three worlds: the simulator, a user-mode kernel in virtual time and this kernel in real time, at the points of [`Point`].

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use quell_lab::World;
use quell_measure::{Estimate, Summary};

use crate::validate::document::Explanations;
use crate::validate::error::Error;
use crate::validate::sheet::{self, Sheet};
use crate::validate::worlds::case::Case;
use crate::validate::worlds::figures::{Difference, Figure, Reference, values};
use crate::validate::worlds::point::{CONTROLS, Point, QUEUES};
use crate::validate::worlds::store::{Place, Store};
use crate::validate::worlds::{Arguments, guests, live, misses, simulated};

/// The live world is judged by its medians up to this rate: beyond it the machine shows.
const QUIET_MBPS: u32 = 40;

/// Delays that differ by less are counted by themselves, in ms. The value was set after the first runs: behind a full drop-tail queue packets wait
/// 0.065 to 0.13 ms less in the live world, whatever the control, presumably because real hosts take time to answer. Not measured at the hosts.
const HOSTS_MS: f64 = 0.15;

/// The runs of a point in the three worlds.
#[derive(Debug, Default)]
pub(crate) struct PointRuns {
    /// Simulations over a link that is never late.
    pub(crate) sim: Vec<Summary>,
    /// Simulations over a link that is as late as the live one.
    sim_late: Vec<Summary>,
    pub(crate) guest: Vec<Summary>,
    live: Vec<Summary>,
    /// Number of live runs that were thrown away because the machine was late.
    late_runs: u32,
    /// Worlds that have no runs, with the reason.
    not_run: Vec<(World, String)>,
}

impl PointRuns {
    /// Differences to both other worlds; those to the live world are of simulations over a link that is as late.
    pub(crate) fn differences(&self) -> Vec<Difference> {
        let mut all = Difference::all(Reference::Virtual, &self.sim, &self.guest);
        all.extend(Difference::all(Reference::Live, &self.sim_late, &self.live));
        all
    }
}

/// Makes the runs that are not kept, and collects all.
pub(crate) fn measure(
    points: Vec<Point>,
    arguments: &Arguments,
    store: &Store,
    mut not_run: Vec<(World, Case, String)>,
    stop: &AtomicBool,
) -> Result<Vec<(Point, PointRuns)>, Error> {
    let cases: Vec<Case> = points.iter().map(Point::case).collect();
    let is_refused = |world| not_run.iter().any(|(other, _, _)| *other == world);
    let mut refused = Vec::new();
    if !is_refused(World::Virtual) {
        let runs = (1..=arguments.seeds)
            .flat_map(|seed| cases.iter().map(move |case| (case.clone(), seed)));
        for (case, why) in guests::run(runs, arguments, store, stop)? {
            refused.push((World::Virtual, case, why));
        }
    }
    if !is_refused(World::Live) {
        for (case, why) in live::run(&cases, arguments, store, stop)? {
            refused.push((World::Live, case, why));
        }
    }
    not_run.extend(refused);
    let mut measured = Vec::new();
    for (point, case) in points.into_iter().zip(cases) {
        let reasons = not_run.iter().filter(|(_, refused, _)| *refused == case);
        let mut of_point = PointRuns {
            not_run: reasons
                .map(|(world, _, why)| (*world, why.clone()))
                .collect(),
            ..PointRuns::default()
        };
        for seed in 1..=arguments.seeds {
            collect(&case, seed, store, stop, &mut of_point)?;
        }
        measured.push((point, of_point));
    }
    Ok(measured)
}

/// Collects the runs of one seed: those of real TCP that are kept, a simulation over a link that is as late as the live one was, and one
/// over a link that is never late.
fn collect(
    case: &Case,
    seed: u64,
    store: &Store,
    stop: &AtomicBool,
    of_point: &mut PointRuns,
) -> Result<(), Error> {
    let text = case.scenario(World::Live, seed)?.to_toml();
    if let Some(record) = store.get(case, &Place::Live, seed, &text) {
        of_point.late_runs += record.late_runs;
        if let Some(lateness) = live::lateness(&record.summary) {
            let late = simulated::run(case, seed, Place::Late(lateness), store, stop)?;
            of_point.sim_late.extend(late);
        }
        of_point.live.push(record.summary);
    }
    let text = case.scenario(World::Virtual, seed)?.to_toml();
    if let Some(record) = store.get(case, &Place::Virtual, seed, &text) {
        of_point.guest.push(record.summary);
    }
    let punctual = simulated::run(case, seed, Place::Punctual, store, stop)?;
    of_point.sim.extend(punctual);
    Ok(())
}

/// Every difference, with the name of its point.
pub(crate) fn differences(measured: &[(Point, PointRuns)]) -> Vec<(String, Difference)> {
    let of_point = |(point, measured): &(Point, PointRuns)| {
        let id = point.id();
        let all = measured.differences().into_iter();
        all.map(move |difference| (id.clone(), difference))
            .collect::<Vec<_>>()
    };
    measured.iter().flat_map(of_point).collect()
}

/// The generated part of the document.
pub(crate) fn part(
    measured: &[(Point, PointRuns)],
    arguments: &Arguments,
    store: &Store,
    explanations: &Explanations,
) -> String {
    let mut text = facts(measured, arguments, store);
    table(&mut text, measured);
    text.push_str(&misses::misses(&differences(measured), explanations));
    text
}

/// A summary: the runs that there are, and how many bounds hold.
pub(crate) fn facts(
    measured: &[(Point, PointRuns)],
    arguments: &Arguments,
    store: &Store,
) -> String {
    let all = || measured.iter().map(|(_, measured)| measured);
    let live: Vec<&Summary> = all().flat_map(|measured| &measured.live).collect();
    let guests = all().flat_map(|measured| &measured.guest).count();
    let worst = live
        .iter()
        .filter_map(|run| live::lateness_ms(run))
        .fold(0.0, f64::max);
    let again: u32 = all().map(|measured| measured.late_runs).sum();
    let held = |of: fn(&PointRuns) -> Vec<Difference>| {
        let all: Vec<Difference> = all().flat_map(of).collect();
        let held = all.iter().filter(|one| one.holds()).count();
        format!("{held} of {}", all.len())
    };
    let agreement = Agreement::of(measured);
    format!(
        "{guests} runs in the virtual world with Linux {}, {} live runs with Linux {} on {} processors, and simulations with the \
         same seeds. [three-worlds.csv](data/three-worlds.csv) has each figure of each point: the mean of the runs in each world and its \
         standard error, and beside which world the simulator misses a bound.\n\n\
         * sim against virtual: {} bounds hold.\n\
         * sim against live: {} bounds hold where the simulated link is as late as the live one was, {} where it is never late. \
         The live link was at most {worst:.2} ms late at the 99th percentile of a run; {again} runs that were later than {} ms were \
         discarded and repeated.\n\
         * virtual against live, up to {QUIET_MBPS} Mbit/s: {agreement}\n\n",
        arguments.guest_version,
        live.len(),
        store.kernel(),
        std::thread::available_parallelism().map_or(1, usize::from),
        held(|measured| Difference::all(Reference::Virtual, &measured.sim, &measured.guest)),
        held(|measured| Difference::all(Reference::Live, &measured.sim_late, &measured.live)),
        held(|measured| Difference::all(Reference::Live, &measured.sim, &measured.live)),
        live::TOLERABLE_MS,
    )
}

/// Writes a table of how many bounds hold, by queue and control, and the worlds that did not run.
fn table(text: &mut String, measured: &[(Point, PointRuns)]) {
    text.push_str(
        "| queue | control | bounds that hold beside the virtual world | beside the live world |\n",
    );
    text.push_str("| --- | --- | --- | --- |\n");
    for queue in QUEUES {
        for control in CONTROLS {
            let of_row =
                |(point, _): &&(Point, PointRuns)| point.queue == queue && point.control == control;
            let differences: Vec<Difference> = measured
                .iter()
                .filter(of_row)
                .flat_map(|(_, of_point)| of_point.differences())
                .collect();
            let held = |reference| {
                let of_world = differences.iter().filter(|one| one.reference == reference);
                let (held, all) = of_world.fold((0, 0), |(held, all), one| {
                    (held + usize::from(one.holds()), all + 1)
                });
                match all {
                    0 => "not run".to_owned(),
                    _ => format!("{held} of {all}"),
                }
            };
            let [beside_virtual, beside_live] = [Reference::Virtual, Reference::Live].map(held);
            let _ = writeln!(
                text,
                "| {queue} | {control} | {beside_virtual} | {beside_live} |"
            );
        }
    }
    text.push('\n');
    for world in [World::Virtual, World::Live] {
        let of_world = measured
            .iter()
            .flat_map(|(_, of_point)| &of_point.not_run)
            .filter(|(other, _)| *other == world);
        let reasons: Vec<&str> = of_world.map(|(_, reason)| reason.as_str()).collect();
        if let Some(last) = reasons.last() {
            let _ = writeln!(
                text,
                "Not run in the {} world: {} points: {last}\n",
                world.name(),
                reasons.len()
            );
        }
    }
}

/// The sheet with each figure of each point, in every world.
pub(crate) fn sheet(measured: &[(Point, PointRuns)]) -> Sheet {
    let mut sheet = Sheet::new(
        "three-worlds.csv",
        &[
            "queue",
            "control",
            "rate_mbps",
            "rtt_ms",
            "figure",
            "sim",
            "sim_error",
            "virtual",
            "virtual_error",
            "live",
            "live_error",
            "missed",
        ],
    );
    for (point, of_point) in measured {
        let differences = of_point.differences();
        for figure in Figure::ALL {
            let estimates = [&of_point.sim, &of_point.guest, &of_point.live]
                .map(|runs| Estimate::new(&values(figure, runs)));
            if estimates.iter().flatten().all(|mean| mean.mean == 0.0) {
                continue;
            }
            let missed: Vec<&str> = differences
                .iter()
                .filter(|one| one.figure == figure && !one.holds())
                .map(misses::world)
                .collect();
            let mut row = vec![
                point.queue.to_owned(),
                point.control.to_owned(),
                point.rate_mbps.to_string(),
                point.rtt_ms.to_string(),
                figure.title().to_owned(),
            ];
            row.extend(
                estimates
                    .iter()
                    .flat_map(|mean| sheet::cells(mean.as_ref())),
            );
            row.push(missed.join(" "));
            sheet.row(&row);
        }
    }
    sheet
}

/// Agreement between the two worlds of real TCP.
#[derive(Debug, Default)]
struct Agreement {
    /// Number of figures that both worlds have.
    all: usize,
    /// Number of figures whose medians are no further apart than the live runs among themselves.
    agree: usize,
    /// Number of delays whose medians are further apart, by no more than [`HOSTS_MS`].
    hosts: usize,
    /// A line for each figure whose medians are further apart than that.
    apart: Vec<String>,
}

impl Agreement {
    fn of(measured: &[(Point, PointRuns)]) -> Self {
        let mut sum = Self::default();
        for (point, measured) in measured.iter().filter(|(p, _)| p.rate_mbps <= QUIET_MBPS) {
            for figure in Figure::ALL {
                let [mut guests, mut live] =
                    [&measured.guest, &measured.live].map(|runs| values(figure, runs));
                let is_nothing = guests.iter().chain(&live).all(|v| *v == 0.0);
                if guests.len() < 3 || live.len() < 3 || is_nothing {
                    continue;
                }
                let [guest, median] = [&mut guests, &mut live].map(|values| median(values));
                // `median` has sorted them.
                let spread = live[live.len() - 1] - live[0];
                let apart = (guest - median).abs();
                sum.all += 1;
                if apart <= spread {
                    sum.agree += 1;
                } else if is_delay(figure) && apart <= HOSTS_MS {
                    sum.hosts += 1;
                } else {
                    sum.apart.push(format!(
                        "{}, {}: virtual {guest:.3} ({:.3} to {:.3}), live {median:.3} ({:.3} to {:.3})",
                        point.id(),
                        figure.title(),
                        guests[0],
                        guests[guests.len() - 1],
                        live[0],
                        live[live.len() - 1],
                    ));
                }
            }
        }
        sum
    }
}

fn is_delay(figure: Figure) -> bool {
    matches!(
        figure,
        Figure::TestDelay | Figure::CubicDelay | Figure::TestDelayP99 | Figure::CubicDelayP99
    )
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "of {} figures the medians of {} are no further apart than the smallest and the largest live run; {} are delays \
             that differ by no more than {HOSTS_MS} ms, presumably what real hosts take. The other {}, with the smallest and the largest run:",
            self.all,
            self.agree,
            self.hosts,
            self.apart.len()
        )?;
        for one in &self.apart {
            write!(f, "\n  * {one}")?;
        }
        Ok(())
    }
}

/// Sorts `values`, of which there is at least one, and returns the median.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}
