//! VDQ-CSAQM beside DualPI2 with BBRv2: experiments B, C2, D, the motivation and D at 10 Gbit/s of the slides of 2020, each with BBRv2 as
//! shipped, which mostly ignores marks on this path, and with one that responds to them.

use quell_measure::{GroupSummary, Phase};

use super::evaluation::{Misses, digits, summaries};
use super::page;
use super::sweep::sweep;
use super::table::Table;
use super::vdq::{counts, index, p99, rate};

/// A file, its groups of BBRv2 with ECN, and the queue beside DualPI2.
struct Experiment {
    name: &'static str,
    file: &'static str,
    bbr: &'static [&'static str],
    ours: &'static str,
}

const EXPERIMENTS: [Experiment; 5] = [
    experiment("M", "vdq2020/m.toml", &["bbr"], "csaqm"),
    experiment("B", "vdq2020/b.toml", &["l4s"], "vdq_csaqm"),
    experiment("C2", "vdq2020/c2.toml", &["l4s-5", "l4s-40"], "vdq_csaqm"),
    experiment("D", "vdq2020/d.toml", &["l4s-bbr"], "vdq_csaqm"),
    experiment("E", "vdq2020/e.toml", &["l4s-bbr"], "vdq_csaqm"),
];

const fn experiment(
    name: &'static str,
    file: &'static str,
    bbr: &'static [&'static str],
    ours: &'static str,
) -> Experiment {
    Experiment {
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

impl Experiment {
    fn queue(&self, (is_ours, _): Case) -> &'static str {
        if is_ours { self.ours } else { "dualpi2" }
    }
    fn run(&self, case: Case) -> Vec<Phase> {
        let mut sets = vec![format!("link.queue.kind={}", self.queue(case))];
        let at_any_rtt = r#"{name="bbr2",ecn=true,ecn_max_rtt="0s"}"#;
        if case.1 {
            let set = |group: &&str| format!("group.{group}.congestion-control={at_any_rtt}");
            sets.extend(self.bbr.iter().map(set));
        }
        let run = summaries(self.file, &sets, &[1]).remove(0);
        if run.phases.is_empty() {
            return vec![Phase {
                start_s: run.warmup_s,
                end_s: run.duration_s,
                figures: run.figures,
            }];
        }
        run.phases
    }
}

/// Goodput of a class over that of all.
fn share(phase: &Phase, is_in: impl Fn(&GroupSummary) -> bool) -> f64 {
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
fn spread(phase: &Phase) -> f64 {
    let rates: Vec<f64> = phase.figures.groups.iter().filter_map(rate).collect();
    let max = rates.iter().copied().fold(0.0, f64::max);
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    max / min.max(1e-3)
}

fn signals(group: &GroupSummary) -> f64 {
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

/// The runs of all experiments, by experiment and case.
struct Runs(Vec<[Vec<Phase>; 4]>);

impl Runs {
    fn measure() -> Self {
        let points: Vec<(&Experiment, Case)> = EXPERIMENTS
            .iter()
            .flat_map(|experiment| CASES.map(|case| (experiment, case)))
            .collect();
        let mut found = sweep(&points, |(experiment, case)| experiment.run(*case)).into_iter();
        let mut next = || found.next().unwrap();
        let of_one = |_: &Experiment| [next(), next(), next(), next()];
        Self(EXPERIMENTS.iter().map(of_one).collect())
    }
    fn of(&self, name: &str) -> &[Vec<Phase>; 4] {
        let at = EXPERIMENTS
            .iter()
            .position(|experiment| experiment.name == name);
        &self.0[at.unwrap()]
    }
    /// The phase with these flows in a case.
    fn phase(&self, name: &str, case: usize, flows: &str) -> &Phase {
        let mut phases = self.of(name)[case].iter();
        phases.find(|phase| counts(phase) == flows).unwrap()
    }
    fn csv(&self) -> Table {
        let mut table = Table::new(HEADS);
        for (experiment, runs) in EXPERIMENTS.iter().zip(&self.0) {
            for (case, phases) in CASES.iter().zip(runs) {
                for (number, phase) in phases.iter().enumerate() {
                    rows(experiment, *case, number + 1, phase, &mut table);
                }
            }
        }
        table
    }
    /// Each phase, one column for each figure, ours and then DualPI2 in a cell; for BBRv2 at any RTT, and Jain's index as shipped.
    fn table(&self, name: &str) -> Table {
        let [shipped, ours, theirs_shipped, theirs] = self.of(name);
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
fn p99_of(phase: &Phase, queue: &str) -> f64 {
    match phase.figures.queues.len() {
        1 => p99(phase, "queue"),
        _ => p99(phase, queue),
    }
}

fn rows(experiment: &Experiment, case: Case, number: usize, phase: &Phase, table: &mut Table) {
    for group in phase.figures.groups.iter().filter(|group| group.count > 0) {
        table.row(&[
            experiment.name.to_owned(),
            number.to_string(),
            counts(phase),
            experiment.queue(case).to_owned(),
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

/// A statement of the slides, what supports or refutes it, and whether it holds.
struct Statement(&'static str, String, bool);

fn statements(runs: &Runs) -> Vec<Statement> {
    let [step, csaqm] = [3, 1].map(|case| runs.phase("M", case, "5-5"));
    let marks = |phase: &Phase| {
        let [dctcp, bbr] = [0, 1].map(|at| signals(&phase.figures.groups[at]));
        bbr / dctcp
    };
    let is_l4s = |group: &GroupSummary| group.name.starts_with("l4s");
    let l4s = |case: usize, flows: &str| share(runs.phase("B", case, flows), is_l4s);
    let single = p99_of(csaqm, "queue");
    let dual = p99(runs.phase("B", 1, "10-10"), "l4s");
    let fairer = |name: &str, ours: usize, theirs: usize| {
        let [ours, theirs] = [ours, theirs].map(|case| &runs.of(name)[case]);
        let pairs = || {
            ours.iter().zip(theirs).filter(|(phase, _)| {
                phase
                    .figures
                    .groups
                    .iter()
                    .filter(|group| group.count > 0)
                    .count()
                    > 1
            })
        };
        let better = pairs()
            .filter(|(ours, theirs)| spread(ours) < spread(theirs))
            .count();
        (better, pairs().count())
    };
    let all = |name| fairer(name, 1, 3);
    let (c2, d, e) = (all("C2"), all("D"), all("E"));
    let shipped = ["B", "C2", "D", "E"].map(|name| fairer(name, 0, 2));
    let won: usize = shipped.iter().map(|(better, _)| better).sum();
    let of: usize = shipped.iter().map(|(_, of)| of).sum();
    let many = ["10-10", "50-10", "50-50", "10-50", "1-10"];
    let worst = many
        .map(|flows| p99(runs.phase("B", 1, flows), "l4s"))
        .into_iter()
        .fold(0.0, f64::max);
    let used = many.map(|flows| runs.phase("B", 1, flows).figures.link.utilisation);
    let (least, most) = (
        used.into_iter().fold(1.0, f64::min),
        used.into_iter().fold(0.0, f64::max),
    );
    vec![
        Statement(
            "M: one marking probability for all is unfair to DCTCP and BBRv2",
            format!(
                "5-5, DualPI2: marks of BBRv2 over DCTCP {:.2}, rates {:.2} to 1",
                marks(step),
                spread(step)
            ),
            marks(step) < 1.1 && spread(step) > 1.5,
        ),
        Statement(
            "M: CSAQM gives each its marking ratio and is fair",
            format!(
                "5-5, CSAQM: marks of BBRv2 over DCTCP {:.2}, rates {:.2} to 1",
                marks(csaqm),
                spread(csaqm)
            ),
            marks(csaqm) > 1.5 && spread(csaqm) < spread(step),
        ),
        Statement(
            "M: CSAQM in one queue cannot serve L4S and Classic at once",
            format!(
                "P99 of L4S: {} ms in one queue with L4S alone, {} ms in two with Classic beside it",
                digits(single),
                digits(dual)
            ),
            single > 1.0 && dual < 1.0,
        ),
        Statement(
            "B: BBRv2 dominates behind DualPI2",
            format!(
                "share of L4S with 10-10 and 50-50: {:.2} and {:.2}; as shipped {:.2} and {:.2}",
                l4s(3, "10-10"),
                l4s(3, "50-50"),
                l4s(2, "10-10"),
                l4s(2, "50-50")
            ),
            [2, 3].iter().all(|&case| {
                ["10-10", "50-50"]
                    .iter()
                    .all(|flows| l4s(case, flows) > 0.6)
            }),
        ),
        Statement(
            "B: VDQ-CSAQM shares it better",
            format!(
                "the same: {:.2} and {:.2}",
                l4s(1, "10-10"),
                l4s(1, "50-50")
            ),
            ["10-10", "50-50"]
                .iter()
                .all(|flows| (l4s(1, flows) - 0.5).abs() < (l4s(3, flows) - 0.5).abs()),
        ),
        Statement(
            "B: the same with BBRv2 as shipped",
            format!(
                "the same: {:.2} and {:.2}",
                l4s(0, "10-10"),
                l4s(0, "50-50")
            ),
            ["10-10", "50-50"]
                .iter()
                .all(|flows| (l4s(0, flows) - 0.5).abs() < (l4s(2, flows) - 0.5).abs()),
        ),
        Statement(
            "C2: works well with unlike RTTs",
            format!(
                "rates more equal than behind DualPI2 in {} of {} phases",
                c2.0, c2.1
            ),
            c2.0 == c2.1,
        ),
        Statement(
            "D: lets incompatible controls coexist",
            format!(
                "rates more equal than behind DualPI2 in {} of {} phases",
                d.0, d.1
            ),
            d.0 == d.1,
        ),
        Statement(
            "E: and at 10 Gbit/s",
            format!(
                "rates more equal than behind DualPI2 in {} of {} phases",
                e.0, e.1
            ),
            e.0 == e.1,
        ),
        Statement(
            "B to E: the same with BBRv2 as shipped",
            format!("rates more equal than behind DualPI2 in {won} of {of} phases"),
            won == of,
        ),
        Statement(
            "ultra-low latency for L4S",
            format!(
                "B with ten or more flows of a kind: P99 at most {} ms",
                digits(worst)
            ),
            worst <= 1.0,
        ),
        Statement(
            "utilisation 98.4 %, caused by the virtual queues",
            format!("the same phases: {least:.3} to {most:.3}"),
            least > 0.982 && most < 0.988,
        ),
    ]
}

/// The statements that BBRv2 as shipped refutes.
const REFUTED: [&str; 2] = [
    "B: the same with BBRv2 as shipped",
    "B to E: the same with BBRv2 as shipped",
];

#[test]
#[ignore = "takes long: make test-all"]
fn experiments_with_bbr() {
    let runs = Runs::measure();
    let mut misses = Misses::default();
    let mut said = Table::new(&["statement of the slides", "quell", "holds"]);
    for Statement(statement, found, holds) in statements(&runs) {
        let verdict = if holds { "yes" } else { "**no**" };
        misses.unless(
            holds != REFUTED.contains(&statement),
            format!("{statement}: {found}"),
        );
        said.row(&[statement.to_owned(), found, verdict.to_owned()]);
    }
    let mut body = format!("{RESULT}\n{said}\n{TEXT}\n");
    for experiment in &EXPERIMENTS {
        let table = runs.table(experiment.name);
        body += &format!("### Experiment {}\n\n{table}\n", experiment.name);
    }
    misses.assert_none(&body);
    page::check(TITLE, &body, &[("published-vdq-bbr.csv", &runs.csv())]);
}

const TITLE: &str = "VDQ-CSAQM: experiments with BBR";

const RESULT: &str = "\
**Result.** With a BBRv2 that responds to marks, every statement of the slides holds: VDQ-CSAQM gives unlike controls nearly equal rates where
DualPI2 gives some ten times what it gives others. BBRv2 as shipped does not respond on this path, and then VDQ-CSAQM is worse than DualPI2:
it only marks L4S packets and serves them first, so Classic starves. DualPI2 drops in overload and leaves Classic a tenth.
";

const TEXT: &str = "\
**Source.** Slides \"A Congestion Control Independent L4S Scheduler\" (ANRW 2020), with BBRv2's alpha of Linux 5.4-rc6. They print no number of
these experiments but the utilisation, neither the lengths of phases nor, for M and D, the numbers of flows. Their remark on B, that BBRv2
models a network that works by another model, names no figure.

**BBRv2 and marks.** As shipped it responds only if the lowest RTT is at most 5 ms. The base RTT is 5 ms and a data packet takes 12 µs more;
only a handshake alone on the link can be as short, to the microsecond in which it starts. Both are run: as shipped, and with
`ecn_max_rtt = \"0s\"`, for any RTT. With 6 ms B and D are the same as with 0 s to the last digit. Whether the source's BBRv2 responded is not
known; that Classic was not starved in its plots of VDQ-CSAQM says that it did.

**Runs.** `scenarios/vdq2020/m.toml`, `b.toml`, `c2.toml`, `d.toml` and `e.toml` (D at 10 Gbit/s), one seed, phases of 6 s in B, 3 s in E and 5 s
in the others, without the first 1 or 2 s. All were also run once at full length, phases of 20 s without the first 5 s, and E over 10 s: every statement
has the same answer, except that in M the marks of BBRv2 over those of DCTCP are 1.12 behind DualPI2. With `ecn_max_rtt = \"6ms\"` the flows
of C2 with 40 ms still do not respond, and starve Classic in both queues.
[published-vdq-bbr.csv](data/published-vdq-bbr.csv) has each class with its goodput and its marks or drops.

**Bounds.** M with five flows of each: marks of BBRv2 over those of DCTCP below 1.1 behind DualPI2 and above 1.5 behind CSAQM, and rates more
equal there. B: share of L4S above 0.6 behind DualPI2 with 10-10 and 50-50, and nearer to 0.5 behind VDQ-CSAQM; P99 of L4S up to 1 ms and
utilisation from 0.982 to 0.988 with ten or more flows of a kind, one to ten of the other included. C2, D and E: rates more equal than behind DualPI2 in
every phase. The two refutations are checked too.

In the tables, *largest over smallest rate* is of the means of the classes. Each cell has VDQ-CSAQM (in M, CSAQM in one queue) and then
DualPI2; all but the last column are with BBRv2 that responds at any RTT.
";
