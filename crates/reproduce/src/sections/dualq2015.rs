//! The demonstration of 2015 behind the DualQ of its slides and both of its successors, and each of them beside an unresponsive
//! flow that claims to be L4S, without and with queue protection.

use quell_measure::{Dist, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{Ours, delay, digits, group, ours};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "The DualQ of 2015 and its successors",
    experiments: &[Experiment {
        id: "dualq2015/demonstration",
        title: "4 DCTCP and 2 CUBIC downloads behind the DualQ of 2015 and its successors",
        source: "slides of the demonstration: the screen, and \"Interaction NW latencies\"",
        statements: &[
            Statement {
                id: "utilisation",
                published: "100 % utilisation",
                bound: "at least 99 % with each of seven queues",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "square-law",
                published: "the drop probability is the square of the marking probability: 2^k·√p_C / p_L is 1",
                bound: "0.9 to 1.3: with few flows the root of a mean is larger than the mean of the root, and packets of the two queues do not leave at the same moments",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "l4s-mean",
                published: "ultra-low queuing delay of L4S; RFC 9332 section 1.4: below 1 ms on average",
                bound: "mean below 1 ms with each of seven queues",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "l4s-p99",
                published: "network latency of 7 to 10 ms for DCTCP, of which 7 ms are the base RTT; RFC 9332 section 1.4: about 2 ms at the 99th percentile",
                bound: "P99 up to 2 ms with six queues",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "l4s-p99-curvy-red",
                published: "the same behind Curvy RED with its own scheduler",
                bound: "P99 up to 2 ms; guarded at 4 ms",
                expected: Expected::Differs(
                    "its time-shifted FIFO serves a Classic packet first once it has waited 50 ms longer than the L4S packet, and here the Classic delay gets that long; with scheduler = \"wrr\" the bound is met",
                ),
            },
            Statement {
                id: "l4s-drops",
                published: "no loss in L4S",
                bound: "no L4S drop with each of seven queues",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "screen",
                published: "20 % marks, 4 % drops, a fair share of 6.6 Mbit/s for each flow",
                bound: "none",
                expected: Expected::CannotBeJudged(
                    "the slides do not give the slopes S_L and S_C, which decide marks, drops and rates",
                ),
            },
        ],
        plan: plan_of_demonstration,
        judge: judge_demonstration,
        definition: None,
    }],
};

/// `docs/evidence/published.md` has this text.
pub static PROTECTION_SECTION: Section = Section {
    title: "Queue protection: an unresponsive flow that claims to be L4S",
    experiments: &[Experiment {
        id: "rfc9332/queue-protection",
        title: "Queue protection: an unresponsive flow that claims to be L4S",
        source: "RFC 9957, which gives no figures",
        statements: &[
            Statement {
                id: "without",
                published: "without protection an unresponsive flow delays the whole L4S queue",
                bound: "P99 of the voice above 10 ms with each of five queues",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "with",
                published: "with protection a flow that builds no queue keeps its low delay",
                bound: "P99 of the voice below 2 ms with four queues; RFC 9332 section 1.4 has about 2 ms",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "with-curvy-red",
                published: "the same behind Curvy RED with its own scheduler",
                bound: "P99 of the voice below 2 ms; guarded: above 10 ms",
                expected: Expected::Differs(
                    "the time-shifted FIFO serves the flooded Classic queue before the protected one",
                ),
            },
        ],
        plan: plan_of_protection,
        judge: judge_protection,
        definition: None,
    }],
};

/// A queue of the tables: its name there, settings of the scenario, and k as a power of two.
#[derive(Clone, Copy)]
struct Queue(&'static str, &'static [&'static str], i32);

const SLIDES: Queue = Queue("2015", &["link.queue.kind=dualq_2015"], 1);
/// The slopes at which the screen's figures come out.
const SCREEN: Queue = Queue(
    "2015, S_L = S_C = 27",
    &[
        "link.queue.kind=dualq_2015",
        "link.queue.s_l=27",
        "link.queue.s_c=27",
        "link.queue.threshold=1ms",
    ],
    0,
);
const TIME: Queue = Queue(
    "2015, time",
    &["link.queue.kind=dualq_2015", "link.queue.unit=time"],
    1,
);
const CURVY: Queue = Queue("Curvy RED", &["link.queue.kind=dualq_curvy_red"], 1);
const CURVY_WRR: Queue = Queue(
    "Curvy RED, wrr",
    &[
        "link.queue.kind=dualq_curvy_red",
        "link.queue.scheduler=wrr",
    ],
    1,
);
const LINUX: Queue = Queue("DualPI2, Linux", &["link.queue.kind=dualpi2"], 1);
const RFC: Queue = Queue(
    "DualPI2, RFC",
    &["link.queue.kind=dualpi2", "link.queue.form=rfc9332"],
    1,
);

const SEEDS: [u64; 2] = [1, 2];

/// Of few flows the root of the mean is above the mean of the root. It may be below 1 too, because packets of the two queues do not
/// leave at the same moments: with strict priority Classic leaves where L4S is empty.
const COUPLING: [f64; 2] = [0.9, 1.3];

const QUEUES: [Queue; 7] = [SLIDES, SCREEN, TIME, CURVY, CURVY_WRR, LINUX, RFC];

fn plan_of_demonstration() -> Vec<Cell> {
    let runs = |queue: &Queue| {
        let cell = Cell::new("dualq2015/slides.toml").sets(queue.1.iter().copied());
        cell.set("group.l4s.ecn=ect1").seeds(SEEDS)
    };
    QUEUES.iter().flat_map(runs).collect()
}

fn judge_demonstration(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let results: Vec<Ours> = runs.chunks(SEEDS.len()).map(ours).collect();
    let mut grid = Table::new(&[
        "queue",
        "utilisation_percent",
        "l4s_mbps_per_flow",
        "classic_mbps_per_flow",
        "l4s_marks_percent",
        "classic_drops_percent",
        "p_l_percent",
        "coupling",
        "l4s_delay_mean_ms",
        "l4s_delay_p99_ms",
        "classic_delay_mean_ms",
        "classic_delay_p99_ms",
    ]);
    let mut table = Table::new(&[
        "queue",
        "L4S delay, ms: mean/P99",
        "Classic delay, ms",
        "marks L, %",
        "p_L, %",
        "drops C, %",
        "2^k·√p_C / p_L",
    ]);
    for (queue, ours) in QUEUES.iter().zip(&results) {
        let figures = &ours.figures;
        let coupling = 2_f64.powi(queue.2) * ours.p_classic().sqrt() / ours.p_l4s();
        let mut cells = vec![queue.0.to_owned(), digits(figures.utilisation)];
        cells.extend(figures.rates.map(digits));
        cells.extend([figures.mark_l4s, figures.drops[1], 100.0 * ours.p_l4s()].map(digits));
        cells.push(format!("{coupling:.3}"));
        cells.extend(figures.delays.as_flattened().iter().copied().map(digits));
        grid.row(&cells);
        table.row(&[
            queue.0.to_owned(),
            delay(figures.delays[0]),
            delay(figures.delays[1]),
            digits(figures.mark_l4s),
            digits(100.0 * ours.p_l4s()),
            digits(figures.drops[1]),
            format!("{coupling:.3}"),
        ]);
        let name = |what: &str| format!("{}: {what}", queue.0);
        let [mean, p99] = figures.delays[0];
        let full = figures.utilisation >= 99.0;
        out.on("utilisation").unless(full, name("utilisation"));
        let square = (COUPLING[0]..=COUPLING[1]).contains(&coupling);
        out.on("square-law").unless(square, name("square law"));
        out.on("l4s-mean")
            .unless(mean < 1.0, name("mean delay of L4S"));
        if queue.0 == CURVY.0 {
            let checks = out.on("l4s-p99-curvy-red");
            checks.unless(p99 <= 2.0, name("P99 of L4S"));
            checks.ours(format!("{} ms", digits(p99)));
            // The time-shifted FIFO lets Classic go first where it has waited 50 ms.
            checks.guard(p99 <= 4.0, name("P99 of L4S"));
        } else {
            out.on("l4s-p99").unless(p99 <= 2.0, name("P99 of L4S"));
        }
        out.on("l4s-drops")
            .unless(figures.drops[0] == 0.0, name("drops of L4S"));
    }
    summarise(&results, out);
    out.csv("published-dualq-2015.csv", grid);
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

/// What came out, for the verdicts and the figures of the book.
fn summarise(results: &[Ours], out: &mut Findings) {
    let range = |figure: &dyn Fn(&Ours) -> f64| {
        let all = results.iter().map(figure);
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), one| {
            (low.min(one), high.max(one))
        });
        format!("{} to {}", digits(low), digits(high))
    };
    let utilisation = range(&|ours| ours.figures.utilisation);
    out.on("utilisation").ours(format!("{utilisation} %"));
    let mean = range(&|ours| ours.figures.delays[0][0]);
    out.on("l4s-mean").ours(format!("{mean} ms"));
    let slides = &results[0].figures;
    out.on("screen").ours(format!(
        "with k = 1: {} % marks, {} % drops, {} and {} Mbit/s",
        digits(slides.mark_l4s),
        digits(slides.drops[1]),
        digits(slides.rates[0]),
        digits(slides.rates[1])
    ));
    let mut signals = Figure::pairs("Marks of L4S and drops of Classic", "%");
    let mut delays = Figure::pairs("Delay of L4S, P99", "ms");
    for (queue, ours) in QUEUES.iter().zip(results) {
        let figures = &ours.figures;
        let label = |what: &str| format!("{}: {what}", queue.0);
        signals = signals.pair(&label("marks"), Some(20.0), figures.mark_l4s);
        signals = signals.pair(&label("drops"), Some(4.0), figures.drops[1]);
        delays = delays.pair(queue.0, Some(2.0), figures.delays[0][1]);
    }
    out.draw(signals);
    out.draw(delays);
}

/// Mean and P99 of the delays of a group, over all runs; `None` if it delivered nothing.
fn delays(runs: &[Summary], name: &str) -> Option<[f64; 2]> {
    let of = |run| group(run, name)?.delay_ms;
    let of: Vec<Dist> = runs.iter().map(of).collect::<Option<_>>()?;
    let mean = |figure: fn(&Dist) -> f64| of.iter().map(figure).sum::<f64>() / of.len() as f64;
    Some([mean(|dist| dist.mean), mean(|dist| dist.p99)])
}

/// Queues and their protection.
fn protected() -> Vec<(Queue, &'static str)> {
    let queues = [LINUX, RFC, CURVY_WRR, CURVY, SLIDES];
    let both = |queue| ["none", "docsis"].map(|protection| (queue, protection));
    queues.into_iter().flat_map(both).collect()
}

fn plan_of_protection() -> Vec<Cell> {
    let runs = |(queue, protection): &(Queue, &str)| {
        let cell = Cell::new("dualq2015/unresponsive.toml").sets(queue.1.iter().copied());
        let protection = format!("link.queue.protection={protection}");
        cell.set(protection).seeds(SEEDS)
    };
    protected().iter().flat_map(runs).collect()
}

fn judge_protection(cells: &Cells<'_>, out: &mut Findings) {
    let points = protected();
    let runs = cells.summaries();
    let mut grid = Table::new(&[
        "queue",
        "protection",
        "udp_mbps",
        "l4s_drops_percent",
        "classic_drops_percent",
        "voice_delay_mean_ms",
        "voice_delay_p99_ms",
        "dctcp_delay_mean_ms",
        "dctcp_delay_p99_ms",
        "udp_delay_mean_ms",
        "udp_delay_p99_ms",
        "cubic_delay_mean_ms",
        "cubic_delay_p99_ms",
    ]);
    let mut table = Table::new(&[
        "queue",
        "protection",
        "voice",
        "DCTCP",
        "UDP",
        "CUBIC",
        "UDP, Mbit/s",
    ]);
    let mut figure = Figure::pairs("P99 of the voice", "ms");
    for ((queue, protection), runs) in points.iter().zip(runs.chunks(SEEDS.len())) {
        let figures = ours(runs).figures;
        let mut cells = vec![queue.0.to_owned(), (*protection).to_owned()];
        let mut row = cells.clone();
        cells.extend([figures.udp, figures.drops[0], figures.drops[1]].map(digits));
        for name in ["voice", "l4s", "udp", "classic"] {
            let delays = delays(runs, name);
            cells.extend([0, 1].map(|at| delays.map_or_else(String::new, |both| digits(both[at]))));
            row.push(delays.map_or_else(|| "starved".to_owned(), delay));
        }
        row.push(digits(figures.udp));
        grid.row(&cells);
        table.row(&row);
        let name = |what: &str| format!("{}, {protection}: {what}", queue.0);
        let voice = delays(runs, "voice").map_or(f64::INFINITY, |[_, p99]| p99);
        figure = figure.pair(&format!("{}, {protection}", queue.0), None, voice);
        let statement = match (*protection, queue.0 == CURVY.0) {
            ("none", _) => "without",
            (_, false) => "with",
            (_, true) => "with-curvy-red",
        };
        let checks = out.on(statement);
        match statement {
            "without" => checks.unless(voice > 10.0, name("the flood spoils nothing")),
            _ => checks.unless(voice < 2.0, name("the flood spoils the voice")),
        }
        if statement == "with-curvy-red" {
            checks.guard(voice > 10.0, name("the flood spoils nothing"));
            checks.ours(format!("{} ms", digits(voice)));
        }
        checks.guard(figures.utilisation >= 99.0, name("utilisation"));
        checks.guard(figures.udp > 95.0, name("the flood is stopped"));
    }
    out.draw(figure);
    out.csv("published-queue-protection.csv", grid);
    out.write(format!("{PROTECTION}\n{table}\n{PROTECTION_TEXT}"));
}

const RESULT: &str = "\
**Result.** All of these queues keep the link full, follow the square law and keep the mean L4S delay below 1 ms. Curvy RED with its own
scheduler misses the bound of 2 ms for the P99: its time-shifted FIFO serves a Classic packet first once it has waited 50 ms longer than
the L4S packet, and here the Classic delay gets that long. With `scheduler = \"wrr\"` it meets the bound.
";

const TEXT: &str = "\
**Source.** Slides \"Ultra Low Queuing Delay for ALL Applications\" (2015): 40 Mbit/s, base RTT 7 ms, 4 DCTCP and 2 CUBIC downloads. The
screen showed 20 % marks, 4 % drops, 100 % utilisation and a fair share of 6.6 Mbit/s. Another slide gives latencies of 7 to 100 ms for
CUBIC and 7 to 10 ms for DCTCP, base RTT included. The slides do not give the slopes S_L and S_C.

**Runs.** `scenarios/dualq2015/slides.toml` with ECT(1) for DCTCP, 60 s, mean of two seeds. p_L counts the marks of the coupled
probability alone; the native threshold adds the others. [published-dualq-2015.csv](data/published-dualq-2015.csv) has the rates too.

**Bounds.** Utilisation of at least 99 %. No L4S drops. L4S delay: mean below 1 ms, P99 up to 2 ms (RFC 9332 section 1.4; 4 ms for
Curvy RED with its own scheduler). 2^k·√p_C / p_L from 0.9 to 1.3: with few flows the root of a mean is larger than the mean of the
root, and packets of the two queues do not leave at the same moments.

**Not checked.** The rates: all of these queues couple windows, and only the RTT of CUBIC contains the Classic queue. With k = 0 and slopes
of 27, which drop every packet from 32 packets on, coupled marks and drops come close to the 20 % and 4 % of the screen, but the flows
do not get the equal rates that it showed.
";

const PROTECTION: &str = "\
**Result.** Without protection the flood delays the voice by more than 10 ms; with protection the P99 of the voice stays below 2 ms.
Protection helps delay, not rates: the flood takes the link either way, through the Classic queue, or as L4S while it stays below the
critical delay. DCTCP gains less than the voice: its bursts score too, and its redirected packets wait in the Classic queue. Two
schedulers do not benefit. The time-shifted FIFO serves the flooded Classic queue before the protected one. Strict priority (the queue of
2015) keeps its L4S delay, but starves Classic with and without protection.

Delays in ms, mean/P99:
";

const PROTECTION_TEXT: &str = "\
**Source.** None; RFC 9957 promises that a flow that builds no queue keeps its low delay.

**Runs.** `scenarios/dualq2015/unresponsive.toml`: 100 Mbit/s, base RTT 7 ms, 2 DCTCP and 2 CUBIC downloads, a voice stream with ECT(1), and
UDP with ECT(1) at 150 Mbit/s; no protection, or that of RFC 9957 (`docsis`) with its defaults; 60 s, mean of two seeds.
[published-queue-protection.csv](data/published-queue-protection.csv) has the drops too.

**Bounds.** P99 of the voice above 10 ms without protection, and below 2 ms with it; above 10 ms even with it behind the time-shifted
FIFO. Utilisation of at least 99 %. More than 95 Mbit/s of UDP.
";
