//! A CUBIC flow with ECN, alone and beside a CUBIC or Reno flow without, behind FQ-CoDel (arXiv 2209.01078, `ecfqcodel_res_mr` and
//! `erfqcodel_res_mr`).
//!
//! Controls and queue of the source are those that quell follows, so everything is judged.

use std::ops::RangeInclusive;

use quell_measure::{GroupSummary, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::deviation::Deviations;
use crate::evaluation::{digits, group, rate_of};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "FQ-CoDel: flows with and without ECN",
    experiments: &[Experiment {
        id: "contrast/fq-codel",
        title: "A CUBIC flow with ECN, alone and beside a flow without, behind FQ-CoDel",
        source: "the evaluation behind arXiv 2209.01078 (github.com/olgaalb/dualpi2eval, `ecfqcodel_res_mr` and `erfqcodel_res_mr`)",
        statements: &[
            Statement {
                id: "utilisation",
                published: "90.5 to 99.97 % of the link is used",
                bound: "within 15 % in each of 14 rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "ratio",
                published: "the flow with ECN gets 0.833 to 1.55 times the rate of the other",
                bound: "within 15 % in each of twelve rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "mean-delay",
                published: "mean delay of the flow with ECN 0.863 to 6.96 ms, of the other 0.890 to 6.54 ms",
                bound: "within 15 %, 25 figures of 14 rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "mean-delay-ecn",
                published: "mean delay of the flow with ECN 1.17 ms at 100/5 beside Reno",
                bound: "within 15 %; guarded at 20 %",
                expected: Expected::Differs(
                    "Linux 7.2 in the virtual world is itself as far from the source's 5.10",
                ),
            },
            Statement {
                id: "p99-delay",
                published: "P99 of the delay of the flow with ECN 6.28 to 13.4 ms, of the other 6.16 to 12.7 ms",
                bound: "within 15 %, 25 figures of 14 rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "p99-delay-ecn",
                published: "P99 of the delay of the flow with ECN 8.91 ms at 100/20 beside Reno",
                bound: "within 15 %; guarded at 25 %",
                expected: Expected::Differs(
                    "Linux 7.2 in the virtual world is itself as far from the source's 5.10",
                ),
            },
            Statement {
                id: "marks",
                published: "0.0092 to 0.289 % of the packets with ECN are marked",
                bound: "within 15 % in each of 14 rows, or two standard deviations of what the source's one run counted, 40 to 110 with 100 ms",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "drops",
                published: "0.0112 to 0.317 % of the packets without ECN are dropped",
                bound: "within 15 % in each of eleven rows, or two standard deviations of what the source's one run counted, 40 to 110 with 100 ms",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "drops-100-100",
                published: "0.0280 % of the packets without ECN are dropped at 100/100 beside CUBIC",
                bound: "within 15 %, or two standard deviations of the count, 19 %; guarded at 30 %",
                expected: Expected::Reproduced,
            },
        ],
        plan,
        judge: judge_all,
        definition: None,
    }],
};

/// One line of the table. Delays in ms as mean and 99th percentile, ratios in %; what only a pair has is zero for a lone flow.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// Of the flow with ECN, and of the other, in Mbit/s of frames.
    rates: [f64; 2],
    /// Of the packets of each.
    delays: [[f64; 2]; 2],
    /// Marks of the first flow, drops of the second.
    signals: [f64; 2],
    utilisation: f64,
}

/// Control of the flow without ECN, RTTs in ms of the flow with ECN and of the other, figures.
type Row = (&'static str, u64, Option<u64>, Figures);

const fn figures(
    rates: [f64; 2],
    delays: [[f64; 2]; 2],
    signals: [f64; 2],
    utilisation: f64,
) -> Figures {
    Figures {
        rates,
        delays,
        signals,
        utilisation,
    }
}

/// The lone flow is the same experiment in both archives: two runs, of which this is the mean.
#[rustfmt::skip]
static ROWS: [Row; 14] = [
    ("cubic", 5, None, figures([39.63, 0.0], [[5.008, 7.356], [0.0, 0.0]], [0.0990, 0.0], 99.91)),
    ("cubic", 100, None, figures([35.90, 0.0], [[0.9119, 6.275], [0.0, 0.0]], [0.00918, 0.0], 90.50)),
    ("cubic", 5, Some(5), figures([19.86, 19.77], [[5.666, 8.388], [5.749, 8.454]], [0.2890, 0.2870], 99.88)),
    ("cubic", 5, Some(20), figures([20.16, 19.47], [[5.893, 9.306], [2.980, 6.815]], [0.2743, 0.0859], 99.92)),
    ("cubic", 5, Some(100), figures([21.71, 17.92], [[6.781, 11.86], [1.056, 6.782]], [0.2184, 0.0170], 99.97)),
    ("cubic", 100, Some(5), figures([17.99, 21.60], [[1.019, 7.012], [6.535, 10.94]], [0.0231, 0.2233], 99.93)),
    ("cubic", 100, Some(20), figures([18.12, 21.30], [[0.9978, 7.438], [4.270, 11.66]], [0.0223, 0.0685], 99.55)),
    ("cubic", 100, Some(100), figures([19.08, 19.13], [[1.068, 7.045], [1.223, 7.176]], [0.0279, 0.0280], 96.46)),
    ("reno", 5, Some(5), figures([20.09, 19.55], [[5.871, 9.633], [6.135, 10.29]], [0.2742, 0.3166], 99.91)),
    ("reno", 5, Some(20), figures([21.39, 18.20], [[5.901, 10.88], [2.911, 8.126]], [0.2531, 0.1046], 99.82)),
    ("reno", 5, Some(100), figures([24.06, 15.57], [[6.955, 13.37], [0.9005, 6.160]], [0.1835, 0.0133], 99.96)),
    ("reno", 100, Some(5), figures([18.26, 21.21], [[1.170, 7.962], [6.393, 12.65]], [0.0204, 0.2694], 99.68)),
    ("reno", 100, Some(20), figures([18.20, 20.04], [[0.9416, 8.912], [3.634, 11.73]], [0.0224, 0.0851], 96.57)),
    ("reno", 100, Some(100), figures([19.13, 16.82], [[0.8634, 9.175], [0.8901, 7.864]], [0.0218, 0.0112], 90.86)),
];

/// How far from the source, in percent.
const BAND: f64 = 15.0;
/// What is further off, its statement, and how far at most: the text on the page says what is known of each.
const FURTHER: [(&str, &str, f64); 3] = [
    ("100/100 beside cubic: drops", "drops-100-100", 30.0),
    ("100/5 beside reno: mean delay, ECN", "mean-delay-ecn", 20.0),
    (
        "100/20 beside reno: P99 of the delay, ECN",
        "p99-delay-ecn",
        25.0,
    ),
];

fn name((control, ecn, classic, _): &Row) -> String {
    match classic {
        Some(rtt) => format!("{ecn}/{rtt} beside {control}"),
        None => format!("{ecn}/–"),
    }
}

/// A sawtooth with 100 ms of RTT has about a hundred signals; without one, seeds differ by less than a hundredth. At 100/100 beside CUBIC a
/// run loses one packet in each sawtooth or two, and at 100/20 beside Reno P99 is close to its bound.
fn seeds(&(control, ecn, classic, _): &Row) -> RangeInclusive<u64> {
    match (control, ecn, classic) {
        ("cubic", 100, Some(100)) | ("reno", 100, Some(20)) => 1..=20,
        (_, 100, _) | (_, _, Some(100)) => 1..=5,
        _ => 1..=1,
    }
}

fn plan() -> Vec<Cell> {
    let runs = |row: &Row| {
        let &(control, ecn, classic, _) = row;
        let cell = match classic {
            Some(rtt) => Cell::new("rtt-pairs/ecn-cubic-pair.toml").sets([
                format!("group.classic.rtt={rtt}ms"),
                format!("group.classic.congestion-control={control}"),
            ]),
            None => Cell::new("rtt-pairs/ecn-cubic-alone.toml"),
        };
        let cell = cell.set(format!("group.ecn.rtt={ecn}ms"));
        cell.seeds(seeds(row))
    };
    ROWS.iter().flat_map(runs).collect()
}

fn mean_of(runs: &[Summary]) -> Figures {
    let mean =
        |figure: &dyn Fn(&Summary) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    let rate = |name: &str| mean(&|run| group(run, name).map_or(0.0, |group| rate_of(run, group)));
    let delays = |name: &str| {
        let of = |run: &Summary| group(run, name).and_then(|group| group.delay_ms);
        [
            mean(&|run| of(run).map_or(0.0, |dist| dist.mean)),
            mean(&|run| of(run).map_or(0.0, |dist| dist.p99)),
        ]
    };
    // Pooled over the runs: ratios of rare events.
    let sum = |name: &str, figure: &dyn Fn(&GroupSummary) -> u64| -> f64 {
        let groups = runs.iter().filter_map(|run| group(run, name));
        groups.map(figure).sum::<u64>() as f64
    };
    let marked = sum("ecn", &|group| group.marked) / sum("ecn", &|group| group.packets);
    let offered = sum("classic", &|group| group.packets + group.dropped).max(1.0);
    let dropped = sum("classic", &|group| group.dropped) / offered;
    figures(
        [rate("ecn"), rate("classic")],
        [delays("ecn"), delays("classic")],
        [100.0 * marked, 100.0 * dropped],
        mean(&|run| 100.0 * run.figures.link.utilisation),
    )
}

fn judge_all(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let mut rest = runs.as_slice();
    let (mut grid, mut deviations) = (grid(), Deviations::default());
    let mut signals = Figure::pairs("Marks, and drops of the other flow", "% of the packets");
    let mut delays = Figure::pairs("Mean delay of the flow with ECN", "ms");
    for row in &ROWS {
        let source = &row.3;
        let ours = mean_of(rest.split_off(..seeds(row).count()).unwrap_or_default());
        grid.row(&line(row, "published", source));
        grid.row(&line(row, "quell", &ours));
        compare(row, &ours, &mut deviations);
        judge(row, &ours, out);
        for (index, what) in ["marks", "drops"].into_iter().enumerate() {
            if index == 0 || row.2.is_some() {
                let label = format!("{}: {what}", name(row));
                let published = Some(source.signals[index]);
                signals = signals.pair(&label, published, ours.signals[index]);
            }
        }
        delays = delays.pair(&name(row), Some(source.delays[0][0]), ours.delays[0][0]);
    }
    out.draw(signals);
    out.draw(delays);
    out.csv("published-fq-codel.csv", grid);
    let table = deviations.table(BAND, &show);
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

/// Marks and drops have four decimals.
fn show(value: f64) -> String {
    if value < 0.5 {
        format!("{value:.4}")
    } else {
        digits(value)
    }
}

fn compare(row: &Row, ours: &Figures, deviations: &mut Deviations) {
    let published = &row.3;
    let place = name(row).replace(" beside", ",").replace("/–", ", alone");
    let mut add = |figure, of: fn(&Figures) -> f64| {
        deviations.add(figure, &place, of(published), of(ours));
    };
    add("mean delay, ECN, ms", |figures| figures.delays[0][0]);
    add("P99 of the delay, ECN, ms", |figures| figures.delays[0][1]);
    add("marks, %", |figures| figures.signals[0]);
    add("use of the link, %", |figures| figures.utilisation);
    if row.2.is_some() {
        add("mean delay, not ECN, ms", |figures| figures.delays[1][0]);
        add("P99 of the delay, not ECN, ms", |figures| {
            figures.delays[1][1]
        });
        add("drops, %", |figures| figures.signals[1]);
        add("ratio of rates", ratio);
    }
}

fn ratio(figures: &Figures) -> f64 {
    figures.rates[0] / figures.rates[1]
}

fn judge(row: &Row, ours: &Figures, out: &mut Findings) {
    let published = &row.3;
    let mut within = |statement: &str, what: &str, ours: f64, published: f64, few: bool| {
        let what = format!("{}: {what}", name(row));
        let further = FURTHER.iter().find(|further| further.0 == what);
        let checks = out.on(further.map_or(statement, |further| further.1));
        if few {
            checks.unless(true, what);
            return;
        }
        if let Some(further) = further {
            checks.guard_within(what.clone(), ours, published, further.2);
        }
        checks.within(what, ours, published, BAND);
    };
    let used = [ours.utilisation, published.utilisation];
    within("utilisation", "utilisation", used[0], used[1], false);
    if row.2.is_some() {
        let what = "ratio of rates";
        within("ratio", what, ratio(ours), ratio(published), false);
    }
    let flows = if row.2.is_some() { 2 } else { 1 };
    for (index, (flow, signal)) in [("ECN", "marks"), ("not ECN", "drops")]
        .into_iter()
        .enumerate()
        .take(flows)
    {
        let delays = [ours.delays[index], published.delays[index]];
        let what = |figure: &str| format!("{figure} delay, {flow}");
        let mean = what("mean");
        within("mean-delay", &mean, delays[0][0], delays[1][0], false);
        let p99 = what("P99 of the");
        within("p99-delay", &p99, delays[0][1], delays[1][1], false);
        // The source is one run. Where it counted few signals it is itself no more certain than two deviations of the count.
        let signals = [ours.signals[index], published.signals[index]];
        let packets = published.rates[index] * 250e6 / (8.0 * 1_514.0);
        let count = packets * signals[1] / 100.0;
        let is_near = (signals[0] / signals[1] - 1.0).abs() <= 2.0 / count.sqrt();
        within(signal, signal, signals[0], signals[1], is_near);
    }
}

fn grid() -> Table {
    Table::new(&[
        "ecn_rtt_ms",
        "other_rtt_ms",
        "other_control",
        "run",
        "ecn_mbps",
        "other_mbps",
        "rate_ratio",
        "ecn_delay_mean_ms",
        "ecn_delay_p99_ms",
        "other_delay_mean_ms",
        "other_delay_p99_ms",
        "ecn_marks_percent",
        "other_drops_percent",
        "utilisation_percent",
    ])
}

fn line(row: &Row, who: &str, figures: &Figures) -> Vec<String> {
    let &(control, ecn, classic, _) = row;
    let of_pair = |text: String| classic.map_or_else(String::new, |_| text);
    let [first, second] = figures.delays.map(|delays| delays.map(digits));
    let mut cells = vec![
        ecn.to_string(),
        classic.map_or_else(String::new, |rtt| rtt.to_string()),
        of_pair(control.to_owned()),
        who.to_owned(),
        digits(figures.rates[0]),
        of_pair(digits(figures.rates[1])),
        of_pair(digits(ratio(figures))),
    ];
    cells.extend(first);
    cells.extend(second.map(of_pair));
    cells.extend([
        format!("{:.4}", figures.signals[0]),
        of_pair(format!("{:.4}", figures.signals[1])),
        format!("{:.1}", figures.utilisation),
    ]);
    cells
}

const RESULT: &str = "\
**Result.** Every figure is within 15 % of the source, or within the counting error of its one run, except two of rows with 100 ms of RTT.
";

const TEXT: &str = "\
**Source.** The same evaluation (`ecfqcodel_res_mr`, `erfqcodel_res_mr`): 40 Mbit/s, Linux's FQ-CoDel with its defaults, one CUBIC flow with
ECN, alone or beside one CUBIC or Reno flow without, base RTTs of 5 to 100 ms, 250 s. A row is named by the RTTs of the two flows in ms and
the control of the second.

**Runs.** `scenarios/rtt-pairs/ecn-cubic-alone.toml` and `ecn-cubic-pair.toml`, 250 s after 200 s; rows with 100 ms are the mean of five
seeds, 100/100 beside CUBIC and 100/20 beside Reno of twenty. Receivers read at once, as programs do. Marks are those of the first flow,
drops those of the second. [published-fq-codel.csv](data/published-fq-codel.csv) has every row.

**Bounds.** 15 % for every figure. Marks and drops also pass within two standard deviations of what the source's one run counted (40 to
110 signals at 100 ms). Three figures were further off and have bounds of their own (`FURTHER` in `crates/reproduce/src/sections/fq_codel.rs`).

| row | figure | source | quell |
| --- | --- | --- | --- |
| 100/100, cubic | drops, % | 0.0280 | 0.0226 |
| 100/5, reno | mean delay, ECN, ms | 1.17 | 0.984 |
| 100/20, reno | P99 of the delay, ECN, ms | 8.91 | 7.53 |

* In 100/5 and 100/20, Linux 7.2 itself is as far from the source's 5.10 ([reproduce-virtual.md](reproduce-virtual.md)).
* In 100/100 beside CUBIC a run loses one packet in each sawtooth, about 80 in all, or often two, up to 120. The source's one run has about
  110; of twenty of quell's, six have 100 and more.
* To repeat a row: `quell run scenarios/rtt-pairs/ecn-cubic-pair.toml --world virtual --set group.classic.rtt=100ms`, with `--seed` 1 to 5.

**How receivers read.** In 5/100 beside Reno a single segment between pairs decides: where one keeps the queue above its target for an
interval after the first loss, a second packet is lost. A receiver that reads at once acknowledges a single segment at once. One that reads
some segments at a time, as `bulk` does unless it says otherwise, does so only where it empties its socket before a sample, which the
simulator does not model. Drops of the flow without ECN in 250 s, seeds 1 and 2:

| receiver | `run.interval` | simulator | Linux 7.2 |
| --- | --- | --- | --- |
| reads in pieces | 10 s | 27, 27 | 27, 27 |
| reads in pieces | 100 ms | 27, 27 | 34, 37 |
| reads at once | 100 ms | 37, 41 | 40, 45 |
| source, Linux 5.10 | | | 43 |

**Why rates are equal, or not.** Each flow has its own CoDel queue, served in turn, so rates are equal where both flows always have packets
queued. With 100 ms of RTT a reduced window no longer fills the link, because CoDel keeps almost nothing in the queue: a tenth of the
link stays unused with one flow, and goes to the other flow where there are two.
";
