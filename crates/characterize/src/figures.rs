//! The figures of a run, and of several with different seeds: means with 95 % intervals.

use std::collections::BTreeMap;

use quell_lab::confidence::half_width;
use quell_measure::{
    AppFigure, AppSummary, Direction, Estimate, Figures, GroupSummary, Histograms, NamedLink,
    QueueSummary, Summary,
};
use serde::{Deserialize, Serialize};

use crate::directions::of_directions;

/// The level of intervals.
const LEVEL: f64 = 0.95;

/// Figures of one stretch of one run, by name.
pub type Named = BTreeMap<String, f64>;

/// A figure over the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Mean over the runs that have the figure.
    pub mean: f64,
    /// Half of the 95 % interval (Student's t); `null` of a single run.
    pub half: Option<f64>,
    /// Runs that have the figure.
    pub n: usize,
    /// Whether the interval lies wholly above or below that of drop-tail in the same scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// Where an interval lies beside that of drop-tail, if they do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beside {
    /// Above.
    Higher,
    /// Below.
    Lower,
}

impl Figure {
    fn of(values: &[f64]) -> Option<Self> {
        let estimate = Estimate::new(values)?;
        Some(Self {
            mean: estimate.mean,
            half: half_width(&estimate, LEVEL),
            n: estimate.n,
            beside: None,
        })
    }

    /// The ends of the interval; those of a single run are unknown.
    pub fn ends(&self) -> Option<(f64, f64)> {
        let half = self.half?;
        Some((self.mean - half, self.mean + half))
    }

    /// Where this lies beside `other`.
    pub fn beside(&self, other: &Self) -> Option<Beside> {
        let ((low, high), (other_low, other_high)) = (self.ends()?, other.ends()?);
        if low > other_high {
            Some(Beside::Higher)
        } else if high < other_low {
            Some(Beside::Lower)
        } else {
            None
        }
    }
}

/// What one run measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Of the whole.
    pub whole: Named,
    /// Of each group.
    pub classes: Vec<(String, Named)>,
    /// Of each link in the direction of the data, where there are several.
    pub links: Vec<(String, Named)>,
    /// Of each direction, where both have a rate.
    pub directions: Vec<(String, Named)>,
    /// Start and end in s, and the figures of the whole.
    pub phases: Vec<(f64, f64, Named)>,
    /// Sojourn times of the forward direction in ns, over several links of all queues on the way together, with their counts, ascending.
    pub delays: Vec<(u64, u64)>,
    /// What puts it in doubt.
    pub warnings: Vec<String>,
}

impl Measured {
    /// The figures of a run. `back` names the groups whose data goes in the reverse direction.
    pub fn new(summary: &Summary, histograms: &Histograms, back: &[String]) -> Self {
        let measured = summary.duration_s - summary.warmup_s;
        let mut whole = of_whole(&summary.figures, measured, back);
        let delays = match summary.figures.links.is_empty() {
            true => delays(histograms),
            false => delays_of_ways(histograms, back),
        };
        if let (Some(&(low, _)), Some(p99)) = (delays.first(), quantile(&delays, 990)) {
            whole.insert("delay_ms.p99".to_owned(), p99 as f64 / 1e6);
            // RFC 5481 section 4.2: the variation from the packet of least delay.
            whole.insert("pdv_ms.p99".to_owned(), (p99 - low) as f64 / 1e6);
        }
        let groups = &summary.figures.groups;
        let is_bulk =
            |group: &GroupSummary| group.app.as_ref().is_some_and(|app| app.kind == "bulk");
        if let [first, second] = &groups[..]
            && groups.iter().all(is_bulk)
        {
            let rate = |group: &GroupSummary| group.goodput_bps.iter().sum::<f64>();
            let pair = match first.name.as_str() {
                // RFC 7928 section 6.3.
                "I" => Some((rate(second), rate(first))),
                "prague" | "near" | "A" => Some((rate(first), rate(second))),
                _ => None,
            };
            if let Some((part, of)) = pair.filter(|(_, of)| *of > 0.0) {
                whole.insert("ratio".to_owned(), part / of);
            }
        }
        Self {
            whole,
            classes: groups
                .iter()
                .map(|group| (group.name.clone(), of_group(group, measured)))
                .collect(),
            links: of_links(&summary.figures),
            directions: of_directions(&summary.figures, histograms, measured, back),
            phases: summary
                .phases
                .iter()
                .map(|phase| {
                    let (start, end) = (phase.start_s, phase.end_s);
                    (start, end, of_whole(&phase.figures, end - start, back))
                })
                .collect(),
            delays,
            warnings: summary.warnings.clone(),
        }
    }
}

/// Of the forward direction.
fn of_whole(figures: &Figures, measured: f64, back: &[String]) -> Named {
    let mut named = match figures.links.is_empty() {
        true => {
            let queues = figures.queues.iter();
            let mut named = of_queues(queues.filter(|one| one.direction == Direction::Forward));
            named.insert("utilisation".to_owned(), figures.link.utilisation);
            named
        }
        false => of_ways(figures, back),
    };
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let forward = figures
        .groups
        .iter()
        .filter(|group| !back.contains(&group.name));
    let delivered = forward.map(|group| delivered(group, measured));
    let elastic = |group: &&GroupSummary| group.app.as_ref().is_some_and(|app| app.kind == "bulk");
    if figures.groups.iter().filter(elastic).count() > 0
        && let Some(jain) = figures.jain
    {
        add("jain", jain);
    }
    add("goodput_bps", delivered.sum());
    named
}

/// Of packets in these queues.
pub(crate) fn of_queues<'a>(queues: impl Iterator<Item = &'a QueueSummary>) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let queues: Vec<_> = queues.collect();
    let sum =
        |of: &dyn Fn(&QueueSummary) -> f64| queues.iter().map(|&queue| of(queue)).sum::<f64>();
    let packets = sum(&|queue| queue.packets as f64);
    let dropped = sum(&|queue| queue.dropped as f64);
    let marked = sum(&|queue| queue.marked as f64);
    if packets > 0.0 {
        let weighted = sum(&|queue| {
            queue
                .delay_ms
                .map_or(0.0, |delay| delay.mean * queue.packets as f64)
        });
        add("delay_ms.mean", weighted / packets);
        add("mark_ratio", marked / packets);
        add("loss_ratio", dropped / (packets + dropped));
    }
    named
}

/// Over several links: what packets met on their way, and the use of the busiest link.
fn of_ways(figures: &Figures, back: &[String]) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let links = figures.links.iter().map(|link| link.utilisation);
    add("utilisation", links.fold(0.0, f64::max));
    let groups = figures.groups.iter();
    let groups: Vec<_> = groups.filter(|group| !back.contains(&group.name)).collect();
    let sum =
        |of: &dyn Fn(&GroupSummary) -> f64| groups.iter().map(|&group| of(group)).sum::<f64>();
    let packets = sum(&|group| group.packets as f64);
    let dropped = sum(&|group| group.dropped as f64);
    if packets > 0.0 {
        let mean = |group: &GroupSummary| group.delay_ms.map_or(0.0, |delay| delay.mean);
        let waited = sum(&|group| mean(group) * group.packets as f64);
        add("delay_ms.mean", waited / packets);
        add("mark_ratio", sum(&|group| group.marked as f64) / packets);
        add("loss_ratio", dropped / (packets + dropped));
    }
    named
}

/// Of each of several links in the forward direction.
fn of_links(figures: &Figures) -> Vec<(String, Named)> {
    let of = |link: &NamedLink| {
        let queues = figures.queues.iter();
        let here =
            |one: &&QueueSummary| one.direction == Direction::Forward && one.hop == link.name;
        let mut named = of_queues(queues.filter(here));
        named.insert("utilisation".to_owned(), link.utilisation);
        named.insert("bottleneck_share".to_owned(), link.bottleneck_share);
        (link.name.clone(), named)
    };
    figures.links.iter().map(of).collect()
}

/// Goodput of a group over `measured` seconds: a flow may have been alive for less.
pub(crate) fn delivered(group: &GroupSummary, measured: f64) -> f64 {
    let flows = group.goodput_bps.iter().zip(&group.alive_s);
    let bits: f64 = flows.map(|(rate, alive)| rate * alive).sum();
    if measured > 0.0 { bits / measured } else { 0.0 }
}

/// Figures of applications that a card has, with those of the distribution: `true` where both mean and P99 are wanted.
const OF_APPLICATIONS: [(&str, bool); 17] = [
    ("one_way_delay_ms", true),
    ("jitter_ms", false),
    ("loss_ratio", false),
    ("completion_ms", true),
    ("flow_startup_ms", true),
    ("completed", false),
    ("page_load_ms", true),
    ("pages_completed", false),
    ("mos", false),
    ("back_mos", false),
    ("mouth_to_ear_ms", true),
    ("startup_ms", false),
    ("bitrate_bps", false),
    ("stalls", false),
    ("stall_ratio", false),
    ("command_to_state_ms", true),
    ("late_ratio", false),
];

fn of_group(group: &GroupSummary, measured: f64) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let all: f64 = group.goodput_bps.iter().sum();
    add("goodput_bps", delivered(group, measured));
    if !group.goodput_bps.is_empty() {
        add("goodput_per_flow_bps", all / group.goodput_bps.len() as f64);
    }
    if let Some(jain) = group.jain.filter(|_| group.goodput_bps.len() > 1) {
        add("jain", jain);
    }
    if let Some(delay) = group.delay_ms {
        add("delay_ms.mean", delay.mean);
        add("delay_ms.p99", delay.p99);
        add(
            "mark_ratio",
            group.marked as f64 / group.packets.max(1) as f64,
        );
    }
    let offered = group.packets + group.dropped;
    if offered > 0 {
        add("loss_ratio", group.dropped as f64 / offered as f64);
    }
    let Some(app) = &group.app else { return named };
    of_application(app, &mut |name, value| {
        named.insert(format!("app.{name}"), value);
    });
    named
}

fn of_application(app: &AppSummary, add: &mut dyn FnMut(&str, f64)) {
    for (name, with_p99) in OF_APPLICATIONS {
        match app.figures.get(name) {
            Some(AppFigure::Times(times)) => {
                add(&format!("{name}.mean"), times.mean);
                if let Some(p99) = times.p99.filter(|_| with_p99) {
                    add(&format!("{name}.p99"), p99);
                }
            }
            Some(AppFigure::Count(count)) => add(name, *count as f64),
            Some(AppFigure::Number(number)) => add(name, *number),
            Some(AppFigure::Nothing) | None => {}
        }
    }
}

/// Sojourn times of the forward direction in ns, with their counts, ascending.
fn delays(histograms: &Histograms) -> Vec<(u64, u64)> {
    let queues = histograms.queues.iter();
    let forward = queues.filter(|queue| queue.direction == Direction::Forward);
    pooled(forward.map(|queue| &queue.delay_ns[..]))
}

/// The same of all queues on the way of each packet together.
fn delays_of_ways(histograms: &Histograms, back: &[String]) -> Vec<(u64, u64)> {
    let groups = histograms.groups.iter();
    let forward = groups.filter(|group| !back.contains(&group.name));
    pooled(forward.map(|group| &group.delay_ns[..]))
}

/// The shares of a distribution, in thousandths: enough to draw it with both tails.
pub const SHARES: [u64; 25] = [
    0, 1, 5, 10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 750, 800, 850, 900, 950, 980,
    990, 995, 999, 1_000,
];

/// Values with their counts from several runs, ascending.
pub fn pooled<'a>(runs: impl Iterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for &(value, count) in runs.flatten() {
        *all.entry(value).or_default() += count;
    }
    all.into_iter().collect()
}

/// The value at each of [`SHARES`]; nothing of nothing.
pub fn quantiles(counts: &[(u64, u64)]) -> Vec<u64> {
    let values = SHARES.iter();
    values
        .filter_map(|&share| quantile(counts, share))
        .collect()
}

/// The smallest value with at least so many thousandths of all at or below it; the smallest of all for 0.
pub(crate) fn quantile(counts: &[(u64, u64)], thousandths: u64) -> Option<u64> {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let rank = (total * thousandths).div_ceil(1_000).max(1);
    let mut below = 0;
    let reached = |&&(_, count): &&(u64, u64)| {
        below += count;
        below >= rank
    };
    counts.iter().find(reached).map(|&(value, _)| value)
}

/// Figures over the seeds: every name that a run has.
pub fn over(runs: &[&Named]) -> BTreeMap<String, Figure> {
    let names = runs.iter().flat_map(|run| run.keys());
    let mut all = BTreeMap::new();
    for name in names {
        if !all.contains_key(name) {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.get(name).copied())
                .collect();
            if let Some(figure) = Figure::of(&values) {
                all.insert(name.clone(), figure);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_do_not_overlap_lie_above_or_below() {
        let of = |values: &[f64]| Figure::of(values).unwrap();
        // Half of the interval of 1, 2, 3 is 4.303 · 0.577.
        let low = of(&[1.0, 2.0, 3.0]);
        assert!((low.half.unwrap() - 2.484).abs() < 0.001);
        assert_eq!(of(&[9.0, 9.1, 9.2]).beside(&low), Some(Beside::Higher));
        assert_eq!(low.beside(&of(&[9.0, 9.1, 9.2])), Some(Beside::Lower));
        assert_eq!(of(&[4.0, 4.1, 4.2]).beside(&low), None);
        // A single run has none.
        assert_eq!(of(&[9.0]).beside(&low), None);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        assert_eq!(quantile(&[(1, 98), (50, 2)], 990), Some(50));
        assert_eq!(quantile(&[(1, 99), (50, 1)], 990), Some(1));
        assert_eq!(quantile(&[], 990), None);
    }

    #[test]
    fn a_distribution_goes_from_the_smallest_to_the_largest_value_of_all_runs() {
        let all = pooled([&[(3, 1), (9, 1)][..], &[(1, 1), (3, 1)]].into_iter());
        assert_eq!(all, [(1, 1), (3, 2), (9, 1)]);
        let values = quantiles(&all);
        assert_eq!(values.len(), SHARES.len());
        let at = |share: u64| values[SHARES.iter().position(|one| *one == share).unwrap()];
        assert_eq!((at(0), at(250), at(300), at(500)), (1, 1, 3, 3));
        assert_eq!((at(750), at(800), at(1_000)), (3, 9, 9));
        assert!(quantiles(&[]).is_empty());
    }

    #[test]
    fn a_figure_that_some_runs_lack_is_the_mean_of_the_others() {
        let run = |pairs: &[(&str, f64)]| -> Named {
            pairs
                .iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect()
        };
        let all = over(&[&run(&[("a", 1.0)]), &run(&[("a", 3.0), ("b", 5.0)])]);
        assert_eq!((all["a"].mean, all["a"].n), (2.0, 2));
        assert_eq!((all["b"].mean, all["b"].half, all["b"].n), (5.0, None, 1));
    }
}
