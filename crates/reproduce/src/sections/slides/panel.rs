//! The panel of the demonstration's screen, utilisation, marks and drops, over rates and RTTs.

use super::DUALQ;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{Ours, delay, digits, ours};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dualq2015/panel",
    title: "Utilisation, marks and drops over rates and RTTs",
    source: "slides of the demonstration: the screen, \"Detailed Implementation\", \"What can be done in the End-Systems?\"; rates and RTTs from the menus of its program (github.com/L4STeam/l4sdemo)",
    statements: &[
        Statement {
            id: "utilisation",
            published: "100 % utilisation at 40 Mbit/s and 7 ms",
            bound: "at least 99 % at this rate and RTT",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "utilisation-grid",
            published: "DCTCP: high utilisation, without a figure, rate or RTT",
            bound: "none",
            expected: Expected::CannotBeJudged(
                "the screen shows one rate and one RTT; elsewhere the slopes S_L and S_C decide how full the link is, and the slides do not give them",
            ),
        },
        Statement {
            id: "square-law",
            published: "p_C = (p_L / 2^k)²: 2^k·√p_C / p_L is 1",
            bound: "0.9 to 1.3, as in the demonstration, with 7 and 20 ms wherever 100 packets of Classic or more were dropped",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "square-law-100ms",
            published: "the same",
            bound: "the same with 100 ms; guarded at 0.5",
            expected: Expected::Differs(
                "0.65 at 200 Mbit/s: six flows with 100 ms leave the Classic queue nearly empty half of the time, and its packets and those of L4S do not leave at the same moments; the law is one of a standing queue",
            ),
        },
        Statement {
            id: "l4s-drops",
            published: "DCTCP: no drop",
            bound: "no L4S drop at any rate and RTT",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "l4s-delay",
            published: "ultra-low queuing delay of L4S; RFC 9332 section 1.4: mean below 1 ms, or two packets on slow links, and P99 about 2 ms",
            bound: "mean below 1 ms or the time of two packets, P99 up to 2 ms or the time of four, at every rate and RTT",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "marks-drops",
            published: "panels at other rates and RTTs than 40 Mbit/s and 7 ms",
            bound: "none",
            expected: Expected::CannotBeJudged(
                "the slides print one panel; its 20 % and 4 % are in dualq2015/demonstration",
            ),
        },
    ],
    plan,
    judge,
    definition: None,
};

/// In Mbit/s.
const RATES: [u64; 4] = [12, 40, 120, 200];
/// In ms.
const RTTS: [u64; 3] = [7, 20, 100];
const SEEDS: [u64; 2] = [1, 2];
/// Drops of Classic from which on their probability is known to a tenth.
const COUNTED: u64 = 100;

/// Every rate with every RTT.
fn points() -> Vec<(u64, u64)> {
    let of_rate = |rate| RTTS.map(|rtt| (rate, rtt));
    RATES.into_iter().flat_map(of_rate).collect()
}

/// The demonstration at this rate and RTT.
pub(super) fn cells(rate: u64, rtt: u64) -> Vec<Cell> {
    let cell = Cell::new("dualq2015/slides.toml").set(DUALQ).sets([
        format!("link.rate={rate}mbit"),
        format!("group.l4s.rtt={rtt}ms"),
        format!("group.classic.rtt={rtt}ms"),
        "run.warmup=20s".to_owned(),
        "run.duration=220s".to_owned(),
    ]);
    cell.seeds(SEEDS)
}

fn plan() -> Vec<Cell> {
    let of_point = |(rate, rtt)| cells(rate, rtt);
    points().into_iter().flat_map(of_point).collect()
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let results: Vec<Ours> = runs.chunks(SEEDS.len()).map(ours).collect();
    let mut table = Table::new(&[
        "Mbit/s",
        "RTT, ms",
        "utilisation, %",
        "marks L, %",
        "drops C, %",
        "2^k·√p_C / p_L",
        "L4S delay, ms: mean/P99",
        "Classic delay, ms",
        "a DCTCP flow, Mbit/s",
        "a CUBIC flow, Mbit/s",
    ]);
    for ((rate, rtt), ours) in points().into_iter().zip(&results) {
        let figures = &ours.figures;
        let coupling = ours.coupling();
        let is_counted = ours.aqm >= COUNTED;
        let name = |what: &str| format!("{rate} Mbit/s, {rtt} ms: {what}");
        table.row(&[
            rate.to_string(),
            rtt.to_string(),
            digits(figures.utilisation),
            digits(figures.mark_l4s),
            digits(figures.drops[1]),
            match is_counted {
                true => format!("{coupling:.3}"),
                false => "–".to_owned(),
            },
            delay(figures.delays[0]),
            delay(figures.delays[1]),
            digits(figures.rates[0]),
            digits(figures.rates[1]),
        ]);
        if (rate, rtt) == (40, 7) {
            let what = format!("{} %", digits(figures.utilisation));
            let checks = out.on("utilisation");
            checks.unless(figures.utilisation >= 99.0, name(&what));
            checks.ours(what);
        }
        if is_counted {
            let holds = (0.9..=1.3).contains(&coupling);
            let what = name(&format!("{coupling:.3}"));
            let checks = out.on(match rtt {
                100 => "square-law-100ms",
                _ => "square-law",
            });
            checks.unless(holds, what.clone());
            checks.guard(coupling >= 0.5, what);
        }
        let drops = figures.drops[0];
        let what = name(&format!("{} % dropped", digits(drops)));
        out.on("l4s-drops").unless(drops == 0.0, what);
        // 1 500 bytes.
        let packet = 12.0 / rate as f64;
        let [mean, p99] = figures.delays[0];
        let is_short = mean < f64::max(1.0, 2.0 * packet) && p99 <= f64::max(2.0, 4.0 * packet);
        let what = name(&format!("{} ms", delay([mean, p99])));
        out.on("l4s-delay").unless(is_short, what);
    }
    summarise(&results, out);
    out.write(format!("{TEXT}\n{table}\n{END}"));
}

fn summarise(results: &[Ours], out: &mut Findings) {
    let range = |of: &dyn Fn(&Ours) -> f64| {
        let all = results.iter().map(of);
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), one| {
            (low.min(one), high.max(one))
        });
        format!("{} to {} %", digits(low), digits(high))
    };
    let used = range(&|ours| ours.figures.utilisation);
    out.on("utilisation-grid").ours(used);
    let (marks, drops) = (
        range(&|ours| ours.figures.mark_l4s),
        range(&|ours| ours.figures.drops[1]),
    );
    let what = format!("marks of L4S {marks}, drops of Classic {drops}");
    out.on("marks-drops").ours(what);
    let mut figure = Figure::curves("Marks of L4S over the rate", "Mbit/s", "%");
    for (place, rtt) in RTTS.iter().enumerate() {
        let of_rtt = results.iter().skip(place).step_by(RTTS.len());
        let marks = of_rtt.map(|ours| ours.figures.mark_l4s);
        let points = RATES.iter().map(|rate| *rate as f64).zip(marks);
        figure = figure.ours(&format!("{rtt} ms"), points);
    }
    out.draw(figure);
}

const TEXT: &str = "\
### The panel over rates and RTTs

**Result.** Nothing of L4S is dropped and its delay stays short at every rate and RTT of the grid. The square law holds, and the link is full,
with 7 and 20 ms; with 100 ms Curvy RED drops before there is a queue that outlasts a drop, so 99 % of the link is used, and at 200
Mbit/s the law of a standing queue does not hold.

The screen of the demonstration shows utilisation, marks and drops at 40 Mbit/s and 7 ms. Here are the same with its 4 DCTCP and 2 CUBIC
downloads at other rates and RTTs of its program's menus:
";

const END: &str = "\
**Runs.** `scenarios/dualq2015/slides.toml` with sizes in time (`unit = \"time\"`), because slopes in packets would mean another delay at each
rate; 200 s after 20 s, two seeds. The ratio is shown where 100 packets of Classic or more were dropped.
";
