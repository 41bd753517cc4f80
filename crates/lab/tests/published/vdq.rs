//! VDQ-CSAQM beside DualPI2: experiments A and C1 of the slides of 2020, every variant, and what happens when marked packets leave
//! the virtual queues.

use quell_measure::{Dist, GroupSummary, Phase, Summary};

use super::evaluation::{Misses, digits, summaries};
use super::page;
use super::statistics::{Mean, mean};
use super::sweep::sweep;
use super::table::Table;

/// A queue of the tables, and the settings that make it.
struct Queue(&'static str, &'static [&'static str]);

const DEFAULT: Queue = Queue("r (default)", &[]);
const DUALPI2: Queue = Queue("DualPI2", &["link.queue.kind=dualpi2"]);
const QUEUES: [Queue; 6] = [
    DEFAULT,
    Queue("q", &["link.queue.variant=q"]),
    Queue("b", &["link.queue.variant=b"]),
    Queue("b_smooth", &["link.queue.variant=b_smooth"]),
    Queue("v", &["link.queue.variant=v"]),
    DUALPI2,
];
/// With one flow of each, shares depend on few losses of CUBIC: the default variant runs with each of these seeds.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];
/// Marked packets leave the virtual queues.
const ABLATED: Queue = Queue("r, marked removed", &["link.queue.remove_marked=true"]);

/// The phases of one run of `file` behind `queue` with `seed`.
fn phases(file: &str, queue: &Queue, seed: u64) -> Vec<Phase> {
    let sets: Vec<String> = queue.1.iter().map(|set| (*set).to_owned()).collect();
    let runs: Vec<Summary> = summaries(file, &sets, &[seed]);
    runs.into_iter().flat_map(|run| run.phases).collect()
}

/// Goodput of a flow of the group, in Mbit/s; `None` if it has none.
pub(super) fn rate(group: &GroupSummary) -> Option<f64> {
    let flows = group.goodput_bps.len();
    (flows > 0).then(|| group.goodput_bps.iter().sum::<f64>() / flows as f64 / 1e6)
}

/// Mean goodput of the groups at these places, each with as many flows as the others.
fn mean_rate(phase: &Phase, groups: &[usize]) -> Option<f64> {
    let rates: Option<Vec<f64>> = groups
        .iter()
        .map(|&at| rate(&phase.figures.groups[at]))
        .collect();
    rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64)
}

fn ratio(phase: &Phase, over: &[usize], under: &[usize]) -> Option<f64> {
    Some(mean_rate(phase, over)? / mean_rate(phase, under)?)
}

/// `50-10`
pub(super) fn counts(phase: &Phase) -> String {
    let groups = phase.figures.groups.iter();
    let counts: Vec<String> = groups.map(|group| group.count.to_string()).collect();
    counts.join("-")
}

pub(super) fn queue_delay(phase: &Phase, name: &str) -> Option<Dist> {
    let queue = phase.figures.queues.iter().find(|queue| queue.name == name);
    queue.and_then(|queue| queue.delay_ms)
}

pub(super) fn p99(phase: &Phase, name: &str) -> f64 {
    queue_delay(phase, name).map_or(0.0, |dist| dist.p99)
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(String::new, digits)
}

/// Mean and P99.
fn shown_delays(phase: &Phase, name: &str) -> [String; 2] {
    let delay = queue_delay(phase, name);
    [delay.map(|dist| dist.mean), delay.map(|dist| dist.p99)].map(shown)
}

pub(super) fn index(jain: Option<f64>) -> String {
    jain.map_or_else(String::new, |jain| format!("{jain:.3}"))
}

fn signals(phase: &Phase, name: &str) -> String {
    let queue = phase.figures.queues.iter().find(|queue| queue.name == name);
    queue.map_or_else(String::new, |queue| {
        digits(100.0 * (queue.mark_ratio + queue.drop_ratio))
    })
}

fn row_of_a(name: &str, phase: &Phase) -> Vec<String> {
    let [l4s, classic] = [0, 1].map(|at| &phase.figures.groups[at]);
    let mut cells = vec![
        l4s.count.to_string(),
        classic.count.to_string(),
        name.to_owned(),
        format!("{:.4}", phase.figures.link.utilisation),
        shown(rate(l4s)),
        shown(rate(classic)),
        shown(ratio(phase, &[0], &[1])),
        index(phase.figures.jain),
        index(l4s.jain),
        index(classic.jain),
    ];
    cells.extend(shown_delays(phase, "l4s"));
    cells.extend(shown_delays(phase, "classic"));
    cells.extend([signals(phase, "l4s"), signals(phase, "classic")]);
    cells
}

const HEADS_OF_A: &[&str] = &[
    "l4s_flows",
    "classic_flows",
    "queue",
    "utilisation",
    "l4s_mbps_per_flow",
    "classic_mbps_per_flow",
    "l4s_over_classic",
    "jain",
    "l4s_jain",
    "classic_jain",
    "l4s_delay_mean_ms",
    "l4s_delay_p99_ms",
    "classic_delay_mean_ms",
    "classic_delay_p99_ms",
    "l4s_marks_percent",
    "classic_drops_percent",
];

/// The default variant beside DualPI2, on the page.
fn compare_a(ours: &[Phase], dualpi2: &[Phase]) -> Table {
    let mut table = Table::new(&[
        "L4S-Classic flows",
        "utilisation",
        "L/C",
        "Jain's index",
        "P99 of L, ms",
        "P99 of C, ms",
    ]);
    for (ours, theirs) in ours.iter().zip(dualpi2) {
        let both = |of: &dyn Fn(&Phase) -> String| {
            let [ours, theirs] = [ours, theirs].map(of);
            let none = ours.is_empty() && theirs.is_empty();
            if none {
                "–".to_owned()
            } else {
                format!("{ours}, {theirs}")
            }
        };
        table.row(&[
            counts(ours),
            both(&|phase| format!("{:.3}", phase.figures.link.utilisation)),
            both(&|phase| shown(ratio(phase, &[0], &[1]))),
            both(&|phase| index(phase.figures.jain)),
            both(&|phase| shown_delays(phase, "l4s")[1].clone()),
            both(&|phase| shown_delays(phase, "classic")[1].clone()),
        ]);
    }
    table
}

/// The acceptance tests of the default variant; all bounds are quell's own, because the slides print no numbers.
fn judge_a(ours: &[Phase], pair: &Mean, dualpi2: &[Phase], misses: &mut Misses) {
    for (phase, other) in ours.iter().zip(dualpi2) {
        let counts = counts(phase);
        let name = |what: &str| format!("{counts}: {what}");
        let utilisation = phase.figures.link.utilisation;
        let few = ["1-0", "1-1", "0-1"].contains(&counts.as_str());
        if !few {
            let enough = (0.982..=0.986).contains(&utilisation);
            misses.unless(enough, name("utilisation 0.982 to 0.986"));
            let fair = phase.figures.jain.is_some_and(|jain| jain >= 0.93);
            misses.unless(fair, name("Jain 0.93"));
            let ratio = ratio(phase, &[0], &[1]);
            misses.unless(ratio.is_some_and(|ratio| ratio <= 1.8), name("L/C 1.8"));
        }
        misses.unless(p99(phase, "l4s") <= 1.0, name("P99 of L4S 1 ms"));
        match counts.as_str() {
            // C_v/C is 0.984375.
            "1-0" => misses.unless((0.95..=0.985).contains(&utilisation), name("utilisation")),
            "1-1" => {
                let theirs = ratio(other, &[0], &[1]).unwrap_or(f64::INFINITY);
                // 1.5 was meant, but Linux 7.2's TCP itself has 1.54 ± 0.05 here.
                misses.unless(pair.value <= 1.6, name(&format!("L/C {pair:?}")));
                misses.unless(2.0 * pair.value < theirs, name("half as unfair as DualPI2"));
            }
            _ => (),
        }
    }
}

/// Without marked packets in the virtual queues the link fills, and strict priority starves Classic.
fn judge_ablation(phases: &[Phase], misses: &mut Misses) {
    for phase in phases
        .iter()
        .filter(|phase| ["10-10", "50-50"].contains(&counts(phase).as_str()))
    {
        let starved = ratio(phase, &[0], &[1]).is_none_or(|ratio| ratio > 10.0);
        let name = |what: &str| format!("{}, marked removed: {what}", counts(phase));
        misses.unless(starved, name("Classic is not starved"));
        misses.unless(
            phase.figures.link.utilisation > 0.99,
            name("the link is not full"),
        );
    }
}

const HEADS_OF_C1: &[&str] = &[
    "phase",
    "flows_of_each",
    "queue",
    "utilisation",
    "l4s_5ms_mbps_per_flow",
    "l4s_40ms_mbps_per_flow",
    "classic_5ms_mbps_per_flow",
    "classic_40ms_mbps_per_flow",
    "l4s_5ms_over_40ms",
    "classic_5ms_over_40ms",
    "l4s_over_classic",
    "jain",
    "l4s_delay_mean_ms",
    "l4s_delay_p99_ms",
    "classic_delay_mean_ms",
    "classic_delay_p99_ms",
];

fn row_of_c1(number: usize, name: &str, phase: &Phase) -> Vec<String> {
    let groups = &phase.figures.groups;
    let mut cells = vec![
        number.to_string(),
        groups[0].count.to_string(),
        name.to_owned(),
        format!("{:.4}", phase.figures.link.utilisation),
    ];
    cells.extend(groups.iter().map(|group| shown(rate(group))));
    cells.extend([
        shown(ratio(phase, &[0], &[1])),
        shown(ratio(phase, &[2], &[3])),
        shown(ratio(phase, &[0, 1], &[2, 3])),
        index(phase.figures.jain),
    ]);
    cells.extend(shown_delays(phase, "l4s"));
    cells.extend(shown_delays(phase, "classic"));
    cells
}

/// The default variant beside DualPI2, on the page.
fn compare_c1(ours: &[Phase], dualpi2: &[Phase]) -> Table {
    let mut table = Table::new(&[
        "flows of each",
        "L, 5 ms over 40 ms",
        "C, 5 ms over 40 ms",
        "L/C",
        "Jain's index",
    ]);
    for (ours, theirs) in ours.iter().zip(dualpi2) {
        let both = |of: &dyn Fn(&Phase) -> String| {
            let [ours, theirs] = [ours, theirs].map(of);
            format!("{ours}, {theirs}")
        };
        table.row(&[
            ours.figures.groups[0].count.to_string(),
            both(&|phase| shown(ratio(phase, &[0], &[1]))),
            both(&|phase| shown(ratio(phase, &[2], &[3]))),
            both(&|phase| shown(ratio(phase, &[0, 1], &[2, 3]))),
            both(&|phase| index(phase.figures.jain)),
        ]);
    }
    table
}

/// DCTCP with the short RTT gets a higher share behind DualPI2 (slides), and a smaller advantage here.
fn judge_c1(ours: &[Phase], dualpi2: &[Phase], misses: &mut Misses) {
    for (index, (ours, theirs)) in ours.iter().zip(dualpi2).enumerate() {
        let name = |what: &str| format!("C1, phase {index}: {what}");
        let [ours, theirs] =
            [ours, theirs].map(|phase| ratio(phase, &[0], &[1]).unwrap_or(f64::NAN));
        misses.unless(theirs > 1.5, name("short RTT over long RTT behind DualPI2"));
        misses.unless(ours < theirs, name("no fairer than DualPI2"));
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn experiments_a_and_c1() {
    let mut points: Vec<(&str, &Queue, u64)> = QUEUES
        .iter()
        .map(|queue| ("vdq2020/a.toml", queue, SEEDS[0]))
        .collect();
    points.push(("vdq2020/a.toml", &ABLATED, SEEDS[0]));
    let c1 = [&QUEUES[0], &QUEUES[1], &QUEUES[2], &QUEUES[5]];
    points.extend(c1.map(|queue| ("vdq2020/c1.toml", queue, SEEDS[0])));
    let others = SEEDS[1..].iter();
    points.extend(others.map(|&seed| ("vdq2020/a.toml", &QUEUES[0], seed)));
    let results = sweep(&points, |(file, queue, seed)| phases(file, queue, *seed));
    let (a, rest) = results.split_at(QUEUES.len());
    let (ablated, rest) = rest.split_at(1);
    let (of_c1, others) = rest.split_at(c1.len());
    // The second phase.
    let pair = mean(
        std::iter::once(&a[0])
            .chain(others)
            .map(|run| ratio(&run[1], &[0], &[1]).unwrap()),
    );

    let mut grid_a = Table::new(HEADS_OF_A);
    let named = QUEUES.iter().zip(a).chain([(&ABLATED, &ablated[0])]);
    for at in 0..a[0].len() {
        for (queue, phases) in named.clone() {
            grid_a.row(&row_of_a(queue.0, &phases[at]));
        }
    }
    let mut grid_c1 = Table::new(HEADS_OF_C1);
    for at in 0..of_c1[0].len() {
        for (queue, phases) in c1.iter().zip(of_c1) {
            grid_c1.row(&row_of_c1(at + 1, queue.0, &phases[at]));
        }
    }
    let (table_a, table_c1) = (compare_a(&a[0], &a[5]), compare_c1(&of_c1[0], &of_c1[3]));
    let body = format!(
        "{RESULT}\n{table_a}\n{TEXT}\n{PAIR_OF_BOTH} {} here.\n\n{ABLATION}\n{C1}\n{table_c1}\n{REASON}",
        pair.show(2)
    );

    let mut misses = Misses::default();
    judge_a(&a[0], &pair, &a[5], &mut misses);
    judge_ablation(&ablated[0], &mut misses);
    judge_c1(&of_c1[0], &of_c1[3], &mut misses);
    misses.assert_none(&body);
    page::check(
        "VDQ-CSAQM: experiments A and C1",
        &body,
        &[
            ("published-vdq-a.csv", &grid_a),
            ("published-vdq-c1.csv", &grid_c1),
        ],
    );
}

const RESULT: &str = "\
**Result.** With several flows of each kind the default variant uses 98.4 % of the link. It shares the link more equally than DualPI2 in
almost every phase, and keeps the P99 of L4S below 1 ms. A DCTCP flow with a short RTT has a smaller advantage than behind DualPI2. These
are the statements of the slides; the bounds are quell's own, because the slides print no other number.

Experiment A, VDQ-CSAQM and then DualPI2 in each cell:
";

const TEXT: &str = "\
**Source.** Slides \"A Congestion Control Independent L4S Scheduler\" (ANRW 2020): DCTCP as L4S beside CUBIC as Classic. They print one
number, a utilisation of 98.4 % \"caused by VQs\", and state that DualPI2 is unfair with one flow of each and favours the DCTCP flow with
the shorter RTT.

**Runs.** `scenarios/vdq2020/a.toml`: 1 Gbit/s, base RTT 5 ms, nine phases of 20 s, the first 5 s of each left out.
[published-vdq-a.csv](data/published-vdq-a.csv) has every variant, with goodput per flow. `quell compare scenarios/vdq2020/a.toml --queue
vdq_csaqm,vdq_csaqm:variant=b,dualpi2` prints the same by phase.

**Bounds, for the default variant.** P99 of L4S up to 1 ms. With more than one flow of each: utilisation from 0.982 to 0.986, Jain's index
of at least 0.93, L/C up to 1.8. With one of each: L/C up to 1.6 and at most half of DualPI2's, by the mean of six seeds. The goal was 1.5,
but the TCP of Linux 7.2 is above that too. With one L4S flow alone: utilisation of at least 0.95. A single CUBIC flow is shown and
not checked: its utilisation follows from its own window, because the queue never stands.
";

const PAIR_OF_BOTH: &str = "\
With one flow of each, L/C depends on few losses of CUBIC. Six seeds give 1.35 to 1.67 in the simulator. The TCP of Linux 7.2 in the virtual
world gives 1.42 to 1.66, with a mean of 1.54 ± 0.05 (four seeds, the first two phases, `--world virtual`). The mean of the six is";

const ABLATION: &str = "\
**With `remove_marked`**, marked packets leave the virtual queues as dropped ones do (`r, marked removed` in the file). Then the link fills,
and L4S starves Classic. The bounds, for ten and for fifty flows of each: utilisation above 0.99, and L/C above 10.
";

const C1: &str = "\
### Experiment C1

`scenarios/vdq2020/c1.toml`: 1 Gbit/s, equal numbers of DCTCP and CUBIC flows with base RTTs of 5 and 40 ms. Behind DualPI2, DCTCP at 5 ms gets
more than 1.5 times what it gets at 40 ms; behind VDQ-CSAQM the ratio is smaller in every phase. Both are checked.
[published-vdq-c1.csv](data/published-vdq-c1.csv) has the variants `q` and `b` too. VDQ-CSAQM and then DualPI2 in each cell, phase by phase:
";

const REASON: &str = "\
### Why `r` is the default

It uses what C_v allows in every phase with several flows. In every phase of A with both kinds and more than one flow of either, its shares
are the most equal of the five variants; with one of each, those of `q` and `v` are slightly more equal. Where many L4S flows start beside
few Classic ones, its P99 of Classic is the shortest (10-1) or second to `q` (50-10). The literal reading of the slides, `b`, comes second:
its shares swing, because what it drops leaves its histogram. The integral of `q`, as exact as `r` without congestion control, stays
wound up when the load falls.
";
