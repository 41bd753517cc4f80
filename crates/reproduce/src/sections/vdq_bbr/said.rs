//! What came out of the statements of the slides, as the page has it.

use quell_measure::{GroupSummary, Phase};

use super::cases::{Cases, p99_of, share, signals, spread, with};
use crate::evaluation::digits;
use crate::findings::Findings;
use crate::sections::vdq::tables::p99;

/// What came out of a statement of the slides.
pub(super) struct Said {
    /// On the page.
    pub statement: &'static str,
    /// In numbers.
    pub found: String,
    /// By the bounds of the page.
    pub holds: bool,
}

impl Said {
    /// Checks the statement with this name.
    pub(super) fn judge(&self, id: &str, out: &mut Findings) {
        let checks = out.on(id);
        checks.unless(self.holds, format!("{}: {}", self.statement, self.found));
        checks.ours(&self.found);
    }
}

/// Of the motivation: the step, CSAQM, and its one queue; `of_b` is experiment B behind VDQ-CSAQM.
pub(super) fn said_of_m(m: &Cases, of_b: &[Phase]) -> [Said; 3] {
    let [step, csaqm] = [3, 1].map(|case| m.phase(case, "5-5"));
    let marks = |phase: Option<&Phase>| {
        phase.map_or(f64::NAN, |phase| {
            let [dctcp, bbr] = [0, 1].map(|at| signals(&phase.figures.groups[at]));
            bbr / dctcp
        })
    };
    let spread = |phase: Option<&Phase>| phase.map_or(f64::NAN, spread);
    let single = csaqm.map_or(f64::NAN, |phase| p99_of(phase, "queue"));
    let dual = with(of_b, "10-10").map_or(f64::NAN, |phase| p99(phase, "l4s"));
    [
        Said {
            statement: "M: one marking probability for all is unfair to DCTCP and BBRv2",
            found: format!(
                "5-5, DualPI2: marks of BBRv2 over DCTCP {:.2}, rates {:.2} to 1",
                marks(step),
                spread(step)
            ),
            holds: marks(step) < 1.1 && spread(step) > 1.5,
        },
        Said {
            statement: "M: CSAQM gives each its marking ratio and is fair",
            found: format!(
                "5-5, CSAQM: marks of BBRv2 over DCTCP {:.2}, rates {:.2} to 1",
                marks(csaqm),
                spread(csaqm)
            ),
            holds: marks(csaqm) > 1.5 && spread(csaqm) < spread(step),
        },
        Said {
            statement: "M: CSAQM in one queue cannot serve L4S and Classic at once",
            found: format!(
                "P99 of L4S: {} ms in one queue with L4S alone, {} ms in two with Classic beside it",
                digits(single),
                digits(dual)
            ),
            holds: single > 1.0 && dual < 1.0,
        },
    ]
}

/// Whether a group is L4S.
pub(super) fn is_l4s(group: &GroupSummary) -> bool {
    group.name.starts_with("l4s")
}

/// Dominance, shares, shares as shipped, delay and utilisation.
pub(super) fn said_of_b(b: &Cases) -> [Said; 5] {
    let share = |case: usize, flows: &str| {
        b.phase(case, flows)
            .map_or(f64::NAN, |phase| share(phase, is_l4s))
    };
    let both = ["10-10", "50-50"];
    let is_nearer = |ours: usize, theirs: usize| {
        both.iter()
            .all(|flows| (share(ours, flows) - 0.5).abs() < (share(theirs, flows) - 0.5).abs())
    };
    let many = ["10-10", "50-10", "50-50", "10-50", "1-10"];
    let many = || many.into_iter().filter_map(|flows| b.phase(1, flows));
    let worst = many().map(|phase| p99(phase, "l4s")).fold(0.0, f64::max);
    let used = || many().map(|phase| phase.figures.link.utilisation);
    let (least, most) = (used().fold(1.0, f64::min), used().fold(0.0, f64::max));
    [
        Said {
            statement: "B: BBRv2 dominates behind DualPI2",
            found: format!(
                "share of L4S with 10-10 and 50-50: {:.2} and {:.2}; as shipped {:.2} and {:.2}",
                share(3, "10-10"),
                share(3, "50-50"),
                share(2, "10-10"),
                share(2, "50-50")
            ),
            holds: [2, 3]
                .iter()
                .all(|&case| both.iter().all(|flows| share(case, flows) > 0.6)),
        },
        Said {
            statement: "B: VDQ-CSAQM shares it better",
            found: format!(
                "the same: {:.2} and {:.2}",
                share(1, "10-10"),
                share(1, "50-50")
            ),
            holds: is_nearer(1, 3),
        },
        Said {
            statement: "B: the same with BBRv2 as shipped",
            found: format!(
                "the same: {:.2} and {:.2}",
                share(0, "10-10"),
                share(0, "50-50")
            ),
            holds: is_nearer(0, 2),
        },
        Said {
            statement: "ultra-low latency for L4S",
            found: format!(
                "B with ten or more flows of a kind: P99 at most {} ms",
                digits(worst)
            ),
            holds: worst <= 1.0,
        },
        Said {
            statement: "utilisation 98.4 %, caused by the virtual queues",
            found: format!("the same phases: {least:.3} to {most:.3}"),
            holds: least > 0.982 && most < 0.988,
        },
    ]
}

/// In how many phases the rates are more equal behind ours than behind DualPI2, and in how many there are several classes; with BBRv2 at
/// any RTT or as shipped.
pub(super) fn fairer(cases: &Cases, at_any_rtt: bool) -> (usize, usize) {
    let [ours, theirs] = if at_any_rtt { [1, 3] } else { [0, 2] }.map(|case| &cases.0[case]);
    let has_several = |phase: &Phase| {
        let groups = phase.figures.groups.iter();
        groups.filter(|group| group.count > 0).count() > 1
    };
    let pairs = || {
        ours.iter()
            .zip(theirs)
            .filter(|(ours, _)| has_several(ours))
    };
    let better = pairs().filter(|(ours, theirs)| spread(ours) < spread(theirs));
    (better.count(), pairs().count())
}

/// That all are.
pub(super) fn said_of_rates(statement: &'static str, (better, all): (usize, usize)) -> Said {
    Said {
        statement,
        found: format!("rates more equal than behind DualPI2 in {better} of {all} phases"),
        holds: better == all,
    }
}

pub(super) const OF_C2: &str = "C2: works well with unlike RTTs";
pub(super) const OF_D: &str = "D: lets incompatible controls coexist";
pub(super) const OF_E: &str = "E: and at 10 Gbit/s";
pub(super) const OF_SHIPPED: &str = "B to E: the same with BBRv2 as shipped";
