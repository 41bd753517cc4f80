//! The four runs of each experiment: behind ours and behind DualPI2, with BBRv2 as shipped and with one that responds to marks at any RTT.

use quell_measure::{GroupSummary, Phase, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::sections::vdq::tables::{counts, index, p99, rate};
use crate::table::Table;

/// A file, its groups of BBRv2 with ECN, and the queue beside DualPI2.
pub(super) struct Setup {
    /// On the page.
    pub name: &'static str,
    file: &'static str,
    bbr: &'static [&'static str],
    ours: &'static str,
}

/// In the order of the page.
pub(super) const SETUPS: [Setup; 5] = [
    setup("M", "vdq2020/m.toml", &["bbr"], "csaqm"),
    setup("B", "vdq2020/b.toml", &["l4s"], "vdq_csaqm"),
    setup("C2", "vdq2020/c2.toml", &["l4s-5", "l4s-40"], "vdq_csaqm"),
    setup("D", "vdq2020/d.toml", &["l4s-bbr"], "vdq_csaqm"),
    setup("E", "vdq2020/e.toml", &["l4s-bbr"], "vdq_csaqm"),
];

const fn setup(
    name: &'static str,
    file: &'static str,
    bbr: &'static [&'static str],
    ours: &'static str,
) -> Setup {
    Setup {
        name,
        file,
        bbr,
        ours,
    }
}

/// Whether the queue is ours, and whether BBRv2 responds to marks at any RTT.
type Case = (bool, bool);
/// Ours, then DualPI2; as shipped, then at any RTT.
const CASES: [Case; 4] = [(true, false), (true, true), (false, false), (false, true)];

impl Setup {
    /// The queue of a case.
    pub(super) fn queue(&self, (is_ours, _): Case) -> &'static str {
        if is_ours { self.ours } else { "dualpi2" }
    }

    fn cell(&self, case: Case) -> Cell {
        let cell = Cell::new(self.file).set(format!("link.queue.kind={}", self.queue(case)));
        if !case.1 {
            return cell;
        }
        let at_any_rtt = r#"{name="bbr2",ecn=true,ecn_max_rtt="0s"}"#;
        let set = |group: &&str| format!("group.{group}.congestion-control={at_any_rtt}");
        cell.sets(self.bbr.iter().map(set))
    }

    /// The runs, in the order of [`CASES`].
    pub(super) fn cells(&self) -> [Cell; 4] {
        CASES.map(|case| self.cell(case))
    }
}

/// The phases of each run; one without changes is one phase.
pub(super) fn phases(cells: Cells<'_>) -> Vec<Vec<Phase>> {
    let of = |run: Summary| {
        if !run.phases.is_empty() {
            return run.phases;
        }
        vec![Phase {
            start_s: run.warmup_s,
            end_s: run.duration_s,
            figures: run.figures,
        }]
    };
    cells.summaries().into_iter().map(of).collect()
}

/// The first phase with these flows.
pub(super) fn with<'a>(phases: &'a [Phase], flows: &str) -> Option<&'a Phase> {
    phases.iter().find(|phase| counts(phase) == flows)
}

/// Goodput of a class over that of all.
pub(super) fn share(phase: &Phase, is_in: impl Fn(&GroupSummary) -> bool) -> f64 {
    let sum = |group: &GroupSummary| group.goodput_bps.iter().sum::<f64>();
    let groups = &phase.figures.groups;
    let all: f64 = groups.iter().map(sum).sum();
    groups
        .iter()
        .filter(|group| is_in(group))
        .map(sum)
        .sum::<f64>()
        / all
}

/// Largest over smallest goodput per flow of the groups that have flows.
pub(super) fn spread(phase: &Phase) -> f64 {
    let rates: Vec<f64> = phase.figures.groups.iter().filter_map(rate).collect();
    let max = rates.iter().copied().fold(0.0, f64::max);
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    max / min.max(1e-3)
}

/// Marked or dropped, in % of what was offered.
pub(super) fn signals(group: &GroupSummary) -> f64 {
    let offered = (group.packets + group.dropped).max(1) as f64;
    100.0 * (group.marked + group.dropped) as f64 / offered
}

const HEADS: &[&str] = &[
    "experiment",
    "phase",
    "flows",
    "queue",
    "ecn_max_rtt",
    "utilisation",
    "jain",
    "l4s_delay_p99_ms",
    "classic_delay_p99_ms",
    "group",
    "mbps_per_flow",
    "marked_or_dropped_percent",
];

/// The phases of an experiment by case, in the order of [`CASES`].
pub(super) struct Cases(pub [Vec<Phase>; 4]);

impl Cases {
    /// Of an experiment's four cells.
    pub(super) fn of(cells: Cells<'_>) -> Self {
        let mut found = phases(cells).into_iter();
        Self([(); 4].map(|()| found.next().unwrap_or_default()))
    }

    /// The phase with these flows in a case.
    pub(super) fn phase(&self, case: usize, flows: &str) -> Option<&Phase> {
        with(&self.0[case], flows)
    }

    /// For the file.
    pub(super) fn csv(&self, setup: &Setup) -> Table {
        let mut table = Table::new(HEADS);
        for (case, phases) in CASES.iter().zip(&self.0) {
            for (number, phase) in phases.iter().enumerate() {
                rows(setup, *case, number + 1, phase, &mut table);
            }
        }
        table
    }

    /// Each phase, one column for each figure, ours and then DualPI2 in a cell; for BBRv2 at any RTT, and Jain's index as shipped.
    pub(super) fn table(&self) -> Table {
        let [shipped, ours, theirs_shipped, theirs] = &self.0;
        let mut table = Table::new(&[
            "flows",
            "utilisation",
            "largest over smallest rate",
            "Jain's index",
            "P99 of L, ms",
            "P99 of C, ms",
            "Jain's index as shipped",
        ]);
        for at in 0..ours.len() {
            let both =
                |of: &dyn Fn(&Phase) -> String| format!("{}, {}", of(&ours[at]), of(&theirs[at]));
            table.row(&[
                counts(&ours[at]),
                both(&|phase| format!("{:.3}", phase.figures.link.utilisation)),
                both(&|phase| digits(spread(phase))),
                both(&|phase| index(phase.figures.jain)),
                both(&|phase| digits(p99_of(phase, "l4s"))),
                both(&|phase| digits(p99_of(phase, "classic"))),
                format!(
                    "{}, {}",
                    index(shipped[at].figures.jain),
                    index(theirs_shipped[at].figures.jain)
                ),
            ]);
        }
        table
    }
}

/// Of the queue with this name, or of the only one.
pub(super) fn p99_of(phase: &Phase, queue: &str) -> f64 {
    match phase.figures.queues.len() {
        1 => p99(phase, "queue"),
        _ => p99(phase, queue),
    }
}

fn rows(setup: &Setup, case: Case, number: usize, phase: &Phase, table: &mut Table) {
    for group in phase.figures.groups.iter().filter(|group| group.count > 0) {
        table.row(&[
            setup.name.to_owned(),
            number.to_string(),
            counts(phase),
            setup.queue(case).to_owned(),
            if case.1 { "0s" } else { "5ms" }.to_owned(),
            format!("{:.4}", phase.figures.link.utilisation),
            index(phase.figures.jain),
            digits(p99_of(phase, "l4s")),
            digits(p99_of(phase, "classic")),
            group.name.clone(),
            rate(group).map_or_else(String::new, digits),
            digits(signals(group)),
        ]);
    }
}
