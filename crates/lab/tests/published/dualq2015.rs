//! The demonstration of 2015 behind the DualQ of its slides and both of its successors, and each of them beside an unresponsive
//! flow that claims to be L4S, without and with queue protection.

use quell_measure::{Dist, Summary};

use super::evaluation::{Misses, delay, digits, group, ours, run, summaries};
use super::page;
use super::sweep::sweep;
use super::table::Table;

/// A queue of the tables: its name there, settings of the scenario, and k as a power of two.
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

const SEEDS: &[u64] = &[1, 2];

fn sets(queue: &Queue, more: &[&str]) -> Vec<String> {
    let sets = queue.1.iter().chain(more);
    sets.map(|set| (*set).to_owned()).collect()
}

/// Of few flows the root of the mean is above the mean of the root. It may be below 1 too, because packets of the two queues do not
/// leave at the same moments: with strict priority Classic leaves where L4S is empty.
const COUPLING: [f64; 2] = [0.9, 1.3];

#[test]
fn the_demonstration_of_2015() {
    let queues = [SLIDES, SCREEN, TIME, CURVY, CURVY_WRR, LINUX, RFC];
    let results = sweep(&queues, |queue| {
        let sets = sets(queue, &["group.l4s.ecn=ect1"]);
        run("dualq2015/slides.toml", &sets, SEEDS)
    });
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
    let mut misses = Misses::default();
    for (queue, ours) in queues.iter().zip(&results) {
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
        misses.unless(figures.utilisation >= 99.0, name("utilisation"));
        let square = (COUPLING[0]..=COUPLING[1]).contains(&coupling);
        misses.unless(square, name("square law"));
        misses.unless(mean < 1.0, name("mean delay of L4S"));
        // The time-shifted FIFO lets Classic go first where it has waited 50 ms.
        let most = if queue.0 == CURVY.0 { 4.0 } else { 2.0 };
        misses.unless(p99 <= most, name("P99 of L4S"));
        misses.unless(figures.drops[0] == 0.0, name("drops of L4S"));
    }
    let body = format!("{RESULT}\n{table}\n{TEXT}");
    misses.assert_none(&body);
    page::check(
        "The DualQ of 2015 and its successors",
        &body,
        &[("published-dualq-2015.csv", &grid)],
    );
}

/// Mean and P99 of the delays of a group, over all runs; `None` if it delivered nothing.
fn delays(runs: &[Summary], name: &str) -> Option<[f64; 2]> {
    let of = |run| group(run, name)?.delay_ms;
    let of: Vec<Dist> = runs.iter().map(of).collect::<Option<_>>()?;
    let mean = |figure: fn(&Dist) -> f64| of.iter().map(figure).sum::<f64>() / of.len() as f64;
    Some([mean(|dist| dist.mean), mean(|dist| dist.p99)])
}

#[test]
fn queue_protection_keeps_the_delay_of_others() {
    let queues = [LINUX, RFC, CURVY_WRR, CURVY, SLIDES];
    let points: Vec<(&Queue, &str)> = queues
        .iter()
        .flat_map(|queue| ["none", "docsis"].map(|protection| (queue, protection)))
        .collect();
    let results = sweep(&points, |(queue, protection)| {
        let protection = format!("link.queue.protection={protection}");
        let file = "dualq2015/unresponsive.toml";
        summaries(file, &sets(queue, &[&protection]), SEEDS)
    });
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
    let mut misses = Misses::default();
    for ((queue, protection), runs) in points.iter().zip(&results) {
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
        if *protection == "none" || queue.0 == CURVY.0 {
            misses.unless(voice > 10.0, name("the flood spoils nothing"));
        } else {
            misses.unless(voice < 2.0, name("the flood spoils the voice"));
        }
        misses.unless(figures.utilisation >= 99.0, name("utilisation"));
        misses.unless(figures.udp > 95.0, name("the flood is stopped"));
    }
    let body = format!("{PROTECTION}\n{table}\n{PROTECTION_TEXT}");
    misses.assert_none(&body);
    page::check(
        "Queue protection: an unresponsive flow that claims to be L4S",
        &body,
        &[("published-queue-protection.csv", &grid)],
    );
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
