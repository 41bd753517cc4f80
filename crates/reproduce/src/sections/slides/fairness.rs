//! Fairness of unlike RTTs: Reno and CUBIC behind small and deep queues, and DCTCP.

use super::DUALQ;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group, rate_of};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::statistics::{Mean, mean};
use crate::table::Table;
use quell_measure::Summary;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dualq2015/rtt-fairness",
    title: "Two flows of one control with unlike RTTs",
    source: "slides \"What can be done in the Network?\" and \"What can be done in the End-Systems?\"; the RTTs are the base RTT of 7 ms and what the demonstration's program can add to it",
    statements: &[
        Statement {
            id: "small-queues",
            published: "small queues, AQM: low RTT fairness",
            bound: "the ratio of the two rates with 7 and 77 ms, and with 7 and 37 ms, is larger behind PIE with a target of 1 ms than behind drop-tail of 200 ms, by more than two standard errors; Reno and CUBIC",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "dctcp",
            published: "DCTCP: high RTT fairness",
            bound: "the ratio with DCTCP behind the DualQ is smaller than with Reno and with CUBIC behind PIE with a target of 1 ms, at both RTTs",
            expected: DCTCP_DIFFERS,
        },
        Statement {
            id: "figures",
            published: "figures of RTT fairness",
            bound: "none",
            expected: Expected::CannotBeJudged("the slides print the words alone"),
        },
    ],
    plan,
    judge,
    definition: None,
};

const DCTCP_DIFFERS: Expected = Expected::Differs(
    "a queue of 1 ms does not even out the RTTs as a deep one does, and DCTCP here is worse than Reno: the packets of the longer flow are marked three times as often, probably because they come in bursts while the shorter flow holds the queue at the threshold; later work named this a flaw, and Prague scales its growth with the RTT for it",
);

/// Name, control and queue.
const CASES: [(&str, &str, &str); 6] = [
    (
        "Reno, PIE of 1 ms",
        "reno",
        "link.queue={ kind = \"pie\", target = \"1ms\" }",
    ),
    ("Reno, PIE", "reno", "link.queue=pie"),
    (
        "Reno, drop-tail of 200 ms",
        "reno",
        "link.queue={ kind = \"fifo\", limit = \"200ms\" }",
    ),
    (
        "CUBIC, PIE of 1 ms",
        "cubic",
        "link.queue={ kind = \"pie\", target = \"1ms\" }",
    ),
    ("CUBIC, PIE", "cubic", "link.queue=pie"),
    (
        "CUBIC, drop-tail of 200 ms",
        "cubic",
        "link.queue={ kind = \"fifo\", limit = \"200ms\" }",
    ),
];
const DCTCP: (&str, &str, &str) = ("DCTCP, DualQ of 2015", "dctcp", DUALQ);
/// Of the longer flow, in ms; 30 and 70 ms more than the shorter.
const RTTS: [u64; 2] = [37, 77];
const SEEDS: [u64; 4] = [1, 2, 3, 4];

fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    CASES.into_iter().chain([DCTCP])
}

fn plan() -> Vec<Cell> {
    let of_case = |(_, control, queue): (&str, &'static str, &'static str)| {
        let of_rtt = move |rtt: u64| {
            Cell::new("dualq2015/unlike-rtts.toml")
                .set(queue)
                .sets([
                    format!("group.short.congestion-control={control}"),
                    format!("group.long.congestion-control={control}"),
                    format!("group.long.rtt={rtt}ms"),
                ])
                .seeds(SEEDS)
        };
        RTTS.into_iter().flat_map(of_rtt)
    };
    cases().flat_map(of_case).collect()
}

/// What a case gave with an RTT: rates in Mbit/s of the shorter and the longer flow, and their ratio; marked packets of each in %.
struct Seen {
    rates: [f64; 2],
    ratio: Mean,
    marks: [f64; 2],
    used: f64,
}

impl Seen {
    fn of(runs: &[Summary]) -> Self {
        let rate =
            |run: &Summary, name: &str| group(run, name).map_or(0.0, |group| rate_of(run, group));
        let marks = |run: &Summary, name: &str| {
            group(run, name).map_or(0.0, |group| {
                100.0 * group.marked as f64 / group.packets.max(1) as f64
            })
        };
        let of = |figure: &dyn Fn(&Summary) -> f64| mean(runs.iter().map(figure));
        // In a run of two seconds the longer flow may not have begun.
        let ratio = |run: &Summary| rate(run, "short") / rate(run, "long").max(1e-3);
        Self {
            rates: ["short", "long"].map(|name| of(&|run| rate(run, name)).value),
            ratio: of(&ratio),
            marks: ["short", "long"].map(|name| of(&|run| marks(run, name)).value),
            used: of(&|run| 100.0 * run.figures.link.utilisation).value,
        }
    }
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let seen: Vec<Seen> = runs.chunks(SEEDS.len()).map(Seen::of).collect();
    let by_case: Vec<&[Seen]> = seen.chunks(RTTS.len()).collect();
    let mut table = Table::new(&[
        "control and queue",
        "7 and 37 ms: Mbit/s",
        "ratio",
        "7 and 77 ms: Mbit/s",
        "ratio",
        "utilisation, %",
    ]);
    let mut figure = Figure::pairs("Rate with 7 ms over rate with 77 ms", "ratio");
    for ((name, ..), seen) in cases().zip(&by_case) {
        let mut cells = vec![name.to_owned()];
        for one in *seen {
            cells.push(format!(
                "{} / {}",
                digits(one.rates[0]),
                digits(one.rates[1])
            ));
            cells.push(one.ratio.show(1));
        }
        cells.push(digits(seen[1].used));
        table.row(&cells);
        figure = figure.pair(name, None, seen[1].ratio.value);
    }
    out.draw(figure);
    let [small, deep] = [[0, 3], [2, 5]];
    let dctcp = by_case[CASES.len()];
    let mut shown = Vec::new();
    for (place, rtt) in RTTS.iter().enumerate() {
        for (small, deep) in small.into_iter().zip(deep) {
            let [a, b] = [small, deep].map(|case| by_case[case][place].ratio);
            let margin = 2.0 * (a.error.powi(2) + b.error.powi(2)).sqrt();
            let name = format!("{}, {rtt} ms", CASES[small].0);
            let what = format!("{name}: {} and {}", a.show(1), b.show(1));
            out.on("small-queues")
                .unless(a.value > b.value + margin, what);
            let ratio = dctcp[place].ratio;
            let what = format!("{name}: {} and DCTCP {}", a.show(1), ratio.show(1));
            out.on("dctcp").unless(ratio.value < a.value, what);
            if *rtt == 77 {
                shown.push(format!("{:.1} and {:.1}", a.value, b.value));
            }
        }
    }
    out.on("small-queues").ours(format!(
        "ratio with 7 and 77 ms behind PIE of 1 ms and drop-tail: Reno {}, CUBIC {}",
        shown[0], shown[1]
    ));
    let [near, far] = [&dctcp[0], &dctcp[1]];
    out.on("dctcp").ours(format!(
        "ratio {} with 37 ms and {} with 77 ms",
        digits(near.ratio.value),
        digits(far.ratio.value)
    ));
    out.on("dctcp").guard(
        far.ratio.value < 150.0,
        format!("DCTCP with 77 ms: {}", far.ratio.show(1)),
    );
    let marks = format!(
        "With 77 ms {} % of the longer DCTCP flow's packets are marked, and {} % of the shorter one's.",
        digits(far.marks[1]),
        digits(far.marks[0])
    );
    out.write(format!("{TEXT}\n{table}\n{marks}\n\n{END}"));
}

const TEXT: &str = "\
### Unlike RTTs

**Result.** Small queues make unlike RTTs unfair, as the slide says: behind PIE with a target of 1 ms the ratio of the rates is
three to four times that behind drop-tail of 200 ms, which evens the RTTs out. **Not held: DCTCP does not have a high RTT fairness.** Behind the DualQ the longer
flow gets almost nothing.

Two flows of one control on 40 Mbit/s, one with 7 ms:
";

const END: &str = "\
**Runs.** `scenarios/dualq2015/unlike-rtts.toml`, 200 s after 20 s, mean of four seeds with its standard error.
";
