//! The other queues of the AQM server, RED, PIE and FQ-CoDel, and CoDel, beside the DualQ; and what small queues cost.

use super::DUALQ;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group, rate_of};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::statistics::mean;
use crate::table::Table;
use quell_measure::Summary;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dualq2015/other-queues",
    title: "RED, PIE, CoDel and FQ-CoDel beside the DualQ",
    source: "slides \"Demo on a Real BB Residential Testbed\" (RED, PIE, FQ_Codel, DualQ), \"Better TCP Exists\", \"Comparison of Classic TCP and Scalable TCP\", \"What can be done in the Network?\"",
    statements: &[
        Statement {
            id: "delay",
            published: "every packet of every application of L4S has ultra-low delay: 7 to 10 ms with a base RTT of 7 ms",
            bound: "P99 of DCTCP and of the voice up to 3 ms behind the DualQ; P99 of DCTCP longer behind each other queue",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "isolation",
            published: "only two queues, no queue per flow",
            bound: "P99 of the voice behind the DualQ up to 3 ms, as behind FQ-CoDel, and longer behind RED, PIE and CoDel, which keep one queue for all",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "incompatible",
            published: "the better TCP is not compatible with the current Internet",
            bound: "a DCTCP download gets more of a CUBIC download's rate behind RED, PIE and CoDel with ECN than behind the DualQ, FQ-CoDel or DualPI2",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "equal-rate",
            published: "coupled AQM for equal rate",
            bound: "rates of DCTCP and CUBIC within a factor of 2 behind the DualQ of 2015",
            expected: Expected::Differs(
                "windows are coupled, not rates: the RTT of CUBIC contains the Classic queue, 52 ms in the mean, and that of DCTCP does not; the slides do not give the slopes, which decide that queue; DualPI2 with its 15 ms comes nearer",
            ),
        },
        Statement {
            id: "utilisation",
            published: "100 % utilisation",
            bound: "at least 99 % behind each of six queues",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "small-queues",
            published: "small queues, AQM: low utilisation, high drop",
            bound: "two CUBIC downloads behind PIE: less of the link and more drops with a target of 1 ms than with 5 ms, and with 5 ms more drops than with 15 ms",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "deep-queues",
            published: "lots of memory in queues: very low drop",
            bound: "fewer drops behind a drop-tail queue of 200 ms than behind PIE with any of the three targets",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "bursts",
            published: "small queues: no burst resilience; deep queues: high fairness variations, very slow up to speed",
            bound: "none",
            expected: Expected::CannotBeJudged(
                "the slide says neither what a burst is nor how variations and the speed are measured",
            ),
        },
        Statement {
            id: "results",
            published: "results with RED, PIE and FQ-CoDel",
            bound: "none",
            expected: Expected::CannotBeJudged(
                "the slides name these queues of their AQM server and show no result of them; CoDel alone is not named",
            ),
        },
    ],
    plan,
    judge,
    definition: None,
};

/// Name and setting. RED is that of the demonstration's program.
const QUEUES: [(&str, &str); 6] = [
    (
        "RED",
        "link.queue={ kind = \"red\", ecn = true, limit = \"1600kB\", min = \"120kB\", max = \"360kB\", avpkt = \"1000B\", burst = 220 }",
    ),
    ("PIE", "link.queue={ kind = \"pie\", ecn = true }"),
    ("CoDel", "link.queue={ kind = \"codel\", ecn = true }"),
    ("FQ-CoDel", "link.queue=fq_codel"),
    ("DualQ of 2015", DUALQ),
    ("DualPI2", "link.queue=dualpi2"),
];
const ONE_QUEUE: std::ops::Range<usize> = 0..3;
const FQ_CODEL: usize = 3;
const DUALQ_2015: usize = 4;

/// Queues of Classic traffic alone: name and setting.
const DEPTHS: [(&str, &str); 4] = [
    (
        "PIE, 1 ms",
        "link.queue={ kind = \"pie\", target = \"1ms\" }",
    ),
    (
        "PIE, 5 ms",
        "link.queue={ kind = \"pie\", target = \"5ms\" }",
    ),
    ("PIE, 15 ms", "link.queue=pie"),
    (
        "drop-tail, 200 ms",
        "link.queue={ kind = \"fifo\", limit = \"200ms\" }",
    ),
];
const SEEDS: [u64; 3] = [1, 2, 3];

fn plan() -> Vec<Cell> {
    let of_queue = |(_, queue): &(&str, &'static str)| {
        let cell = Cell::new("dualq2015/coexistence-voice.toml");
        cell.set(*queue).set("group.voice.ecn=ect1").seeds(SEEDS)
    };
    let of_depth = |(_, queue): &(&str, &'static str)| {
        let cell = Cell::new("dualq2015/unlike-rtts.toml").set(*queue);
        cell.sets(["group.short.rtt=20ms", "group.long.rtt=20ms"])
            .seeds(SEEDS)
    };
    let queues = QUEUES.iter().flat_map(of_queue);
    queues.chain(DEPTHS.iter().flat_map(of_depth)).collect()
}

/// Means over the seeds: rates in Mbit/s of a flow of DCTCP and of CUBIC, P99 of the delays of these and of the voice in ms, marks of
/// DCTCP and drops of CUBIC in %, use of the link in %.
struct Seen {
    rates: [f64; 2],
    delays: [f64; 3],
    marks: f64,
    drops: f64,
    used: f64,
}

impl Seen {
    fn of(runs: &[Summary]) -> Self {
        let of = |figure: &dyn Fn(&Summary) -> Option<f64>| {
            mean(runs.iter().map(|run| figure(run).unwrap_or_default())).value
        };
        let rate = |name: &str| {
            of(&|run| {
                let group = group(run, name)?;
                Some(rate_of(run, group) / group.count as f64)
            })
        };
        let p99 = |name: &str| of(&|run| Some(group(run, name)?.delay_ms?.p99));
        Self {
            rates: ["l4s", "classic"].map(rate),
            delays: ["l4s", "classic", "voice"].map(p99),
            marks: of(&|run| {
                let group = group(run, "l4s")?;
                Some(100.0 * group.marked as f64 / group.packets.max(1) as f64)
            }),
            drops: of(&|run| {
                let group = group(run, "classic")?;
                let all = group.dropped + group.packets;
                Some(100.0 * group.dropped as f64 / all.max(1) as f64)
            }),
            used: of(&|run| Some(100.0 * run.figures.link.utilisation)),
        }
    }
    fn ratio(&self) -> f64 {
        // In a second CUBIC may have delivered nothing.
        self.rates[0] / self.rates[1].max(1e-3)
    }
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let (queues, depths) = cells.split_at(QUEUES.len() * SEEDS.len());
    let queues = queues.summaries();
    let seen: Vec<Seen> = queues.chunks(SEEDS.len()).map(Seen::of).collect();
    let mut table = Table::new(&[
        "queue",
        "P99 of the delay, ms: DCTCP",
        "CUBIC",
        "voice",
        "a DCTCP flow, Mbit/s",
        "a CUBIC flow, Mbit/s",
        "marks of DCTCP, %",
        "drops of CUBIC, %",
        "utilisation, %",
    ]);
    let mut figure = Figure::pairs("P99 of the delay of DCTCP", "ms");
    for ((name, _), seen) in QUEUES.iter().zip(&seen) {
        let mut cells = vec![(*name).to_owned()];
        cells.extend(seen.delays.iter().chain(&seen.rates).copied().map(digits));
        cells.extend([seen.marks, seen.drops, seen.used].map(digits));
        table.row(&cells);
        figure = figure.pair(name, None, seen.delays[0]);
        let what = format!("{name}: {} % of the link", digits(seen.used));
        out.on("utilisation").unless(seen.used >= 99.0, what);
    }
    out.draw(figure);
    judge_queues(&seen, out);
    let shown = judge_depths(depths, out);
    out.write(format!("{TEXT}\n{table}\n{SMALL}\n{shown}\n{END}"));
}

fn judge_queues(seen: &[Seen], out: &mut Findings) {
    let name = |queue: usize| QUEUES[queue].0;
    let dual = &seen[DUALQ_2015];
    for (queue, other) in seen.iter().enumerate().take(FQ_CODEL + 1) {
        let what = format!(
            "DCTCP behind {}: {} ms",
            name(queue),
            digits(other.delays[0])
        );
        out.on("delay")
            .unless(other.delays[0] > dual.delays[0], what);
    }
    let [l4s, voice] = [dual.delays[0], dual.delays[2]];
    let what = format!("DCTCP {} ms, voice {} ms", digits(l4s), digits(voice));
    out.on("delay")
        .unless(l4s <= 3.0 && voice <= 3.0, what.clone());
    out.on("delay")
        .ours(format!("P99 behind the DualQ: {what}"));
    for queue in ONE_QUEUE {
        let other = &seen[queue];
        let delay = other.delays[2];
        let what = format!("voice behind {}: {} ms", name(queue), digits(delay));
        out.on("isolation").unless(delay > voice, what);
        let what = format!("{}: {:.1} to 1", name(queue), other.ratio());
        for (fair, isolating) in seen.iter().enumerate().skip(FQ_CODEL) {
            let holds = other.ratio() > isolating.ratio();
            let what = format!("{what}, {}: {:.1} to 1", name(fair), isolating.ratio());
            out.on("incompatible").unless(holds, what);
        }
    }
    let isolated = [FQ_CODEL, DUALQ_2015].map(|queue| seen[queue].delays[2]);
    let what = format!(
        "P99 of the voice: FQ-CoDel {} ms, DualQ {} ms",
        digits(isolated[0]),
        digits(isolated[1])
    );
    let holds = isolated.iter().all(|delay| *delay <= 3.0);
    out.on("isolation").unless(holds, what.clone());
    out.on("isolation").ours(what);
    let ratios = QUEUES.iter().zip(seen);
    let ratios = ratios.map(|((name, _), seen)| format!("{name} {:.1}", seen.ratio()));
    let ratios: Vec<String> = ratios.collect();
    out.on("incompatible")
        .ours(format!("DCTCP over CUBIC: {}", ratios.join(", ")));
    let ratio = dual.ratio();
    let what = format!("DCTCP over CUBIC: {ratio:.1}");
    let checks = out.on("equal-rate");
    checks.unless((0.5..=2.0).contains(&ratio), what.clone());
    checks.guard((0.5..=6.0).contains(&ratio), what.clone());
    checks.ours(what);
}

fn judge_depths(cells: Cells<'_>, out: &mut Findings) -> Table {
    let runs = cells.summaries();
    let mut table = Table::new(&["queue", "utilisation, %", "drops, %", "mean delay, ms"]);
    let mut found = Vec::new();
    for ((name, _), runs) in DEPTHS.iter().zip(runs.chunks(SEEDS.len())) {
        let of = |figure: &dyn Fn(&Summary) -> Option<f64>| {
            mean(runs.iter().map(|run| figure(run).unwrap_or_default())).value
        };
        let used = of(&|run| Some(100.0 * run.figures.link.utilisation));
        let drops = of(&|run| Some(100.0 * run.figures.queues.first()?.drop_ratio));
        let delay = of(&|run| Some(run.figures.queues.first()?.delay_ms?.mean));
        table.row(&[
            (*name).to_owned(),
            digits(used),
            format!("{drops:.4}"),
            digits(delay),
        ]);
        found.push((used, drops));
    }
    let [tight, short, usual, deep] = [found[0], found[1], found[2], found[3]];
    let checks = out.on("small-queues");
    let what = |what: &str, a: f64, b: f64| format!("{what}: {a:.4} and {b:.4} %");
    checks.unless(
        tight.0 < short.0,
        what("use with 1 and 5 ms", tight.0, short.0),
    );
    checks.unless(
        tight.1 > short.1,
        what("drops with 1 and 5 ms", tight.1, short.1),
    );
    checks.unless(
        short.1 > usual.1,
        what("drops with 5 and 15 ms", short.1, usual.1),
    );
    checks.ours(format!(
        "use of the link {} and {} %, drops {:.3}, {:.3} and {:.3} %",
        digits(tight.0),
        digits(short.0),
        tight.1,
        short.1,
        usual.1
    ));
    let least = tight.1.min(short.1).min(usual.1);
    let checks = out.on("deep-queues");
    checks.unless(deep.1 < least, what("drops", deep.1, least));
    checks.ours(format!("drops {:.3} and at least {least:.3} %", deep.1));
    table
}

const TEXT: &str = "\
### Other queues

**Result.** Only behind a DualQ does DCTCP have a short queue beside CUBIC. Behind RED, PIE and CoDel, which mark DCTCP and drop CUBIC with one
probability, DCTCP takes five to eleven times the rate of CUBIC. FQ-CoDel gives equal rates and the voice a delay of its own, but DCTCP a queue of 16 ms.
The DualQ does not give equal rates: it couples windows.

4 DCTCP and 2 CUBIC downloads and a voice of ECT(1) beside them on 40 Mbit/s with 7 ms:
";

const SMALL: &str = "\
Two CUBIC downloads on 40 Mbit/s with 20 ms, behind queues of four lengths:
";

const END: &str = "\
**Source.** The slides name RED, PIE, FQ_Codel and DualQ as the choices of their AQM server, and print no result of the first three.

**Runs.** `scenarios/dualq2015/coexistence-voice.toml`, with RED as in the demonstration's program and the other queues with their defaults, RED, PIE and
CoDel with ECN; 50 s after 10 s. `scenarios/dualq2015/unlike-rtts.toml` with equal RTTs; 200 s after 20 s. Three seeds each.
";
