//! What one run measured, from its summary and its histograms.

use quell_measure::{Direction, GroupSummary, Histograms, Summary};

use crate::characterize::directions::of_directions;
use crate::characterize::figures::{Named, pooled, quantile};
use crate::characterize::losses::Losses;
use crate::characterize::packet_log::PacketLog;
use crate::characterize::run_figures::{of_group, of_links, of_whole};
use crate::characterize::test_case::Run;

/// The figures of one run.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Figures of the forward direction over the whole run.
    pub whole: Named,
    /// Figures of each group, by its name.
    pub classes: Vec<(String, Named)>,
    /// Figures of each link in the direction of the data, where there are several.
    pub links: Vec<(String, Named)>,
    /// Figures of each direction, where both have a rate.
    pub directions: Vec<(String, Named)>,
    /// Start and end of each phase in s, with its figures.
    pub phases: Vec<(f64, f64, Named)>,
    /// Sojourn times of the forward direction in ns, over several links of all queues on the way together, with their counts, ascending.
    pub delays: Vec<(u64, u64)>,
    /// Losses one by one, where the card has them.
    pub(crate) losses: Option<Losses>,
    /// Samples of the goodput in bit/s, where the card has them.
    pub(crate) goodput: Vec<f64>,
    /// Reasons to doubt the run.
    pub warnings: Vec<String>,
}

impl Measured {
    /// Takes the figures from the summary and the histograms of a run. `back` names the groups whose data goes in the reverse direction.
    /// With `ratio` two groups of bulk flows have the ratio of their goodputs.
    pub fn new(summary: &Summary, histograms: &Histograms, back: &[String], ratio: bool) -> Self {
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
            && ratio
            && groups.iter().all(is_bulk)
        {
            let rate = |group: &GroupSummary| group.goodput_bps.iter().sum::<f64>();
            let (part, of) = match first.name.as_str() {
                // RFC 7928 section 6.3.
                "I" => (rate(second), rate(first)),
                _ => (rate(first), rate(second)),
            };
            if of > 0.0 {
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
            losses: None,
            goodput: Vec::new(),
            warnings: summary.warnings.clone(),
        }
    }

    /// Adds what the packet log says of a run of these figures.
    pub(crate) fn add(&mut self, log: PacketLog, run: &Run) {
        let add = |named: &mut Named, figure: &str, value: Option<f64>| {
            named.extend(value.map(|value| (figure.to_owned(), value)));
        };
        if run.start {
            add(&mut self.whole, "steady_after_s", log.steady_s);
            for ((_, named), time) in self.classes.iter_mut().zip(log.classes_steady_s) {
                add(named, "steady_after_s", time);
            }
        }
        if run.directions {
            for ((_, named), ratio) in self.directions.iter_mut().zip(log.syn_loss_ratios) {
                add(named, "syn_loss_ratio", ratio);
            }
        }
        if run.losses {
            (self.losses, self.goodput) = (Some(log.losses), log.goodput);
        }
    }
}

/// Sojourn times of the forward direction in ns, with their counts, ascending.
fn delays(histograms: &Histograms) -> Vec<(u64, u64)> {
    let queues = histograms.queues.iter();
    let forward = queues.filter(|queue| queue.direction == Direction::Forward);
    pooled(forward.map(|queue| &queue.delay_ns[..]))
}

/// Times that packets of the forward direction waited in all queues on their way, in ns, with their counts, ascending.
fn delays_of_ways(histograms: &Histograms, back: &[String]) -> Vec<(u64, u64)> {
    let groups = histograms.groups.iter();
    let forward = groups.filter(|group| !back.contains(&group.name));
    pooled(forward.map(|group| &group.delay_ns[..]))
}
