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
    let mut table = Table::new(&[
        "queue",
        "utilisation",
        "per L",
        "per C",
        "mark L",
        "drop C",
        "p_L",
        "2^k·√p_C / p_L",
        "delay L",
        "delay C",
    ]);
    let mut misses = Misses::default();
    for (queue, ours) in queues.iter().zip(&results) {
        let figures = &ours.figures;
        let coupling = 2_f64.powi(queue.2) * ours.p_classic().sqrt() / ours.p_l4s();
        table.row(&[
            queue.0.to_owned(),
            digits(figures.utilisation),
            digits(figures.rates[0]),
            digits(figures.rates[1]),
            digits(figures.mark_l4s),
            digits(figures.drops[1]),
            digits(100.0 * ours.p_l4s()),
            format!("{coupling:.3}"),
            delay(figures.delays[0]),
            delay(figures.delays[1]),
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
    let body = format!("{HEAD}\n{table}");
    misses.assert_none(&body);
    page::check("The DualQ of 2015 and its successors", &body);
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
    let mut table = Table::new(&[
        "queue",
        "protection",
        "UDP",
        "drop L",
        "drop C",
        "delay voice",
        "DCTCP",
        "UDP",
        "CUBIC",
    ]);
    let mut misses = Misses::default();
    for ((queue, protection), runs) in points.iter().zip(&results) {
        let figures = ours(runs).figures;
        let mut cells = vec![
            queue.0.to_owned(),
            (*protection).to_owned(),
            digits(figures.udp),
        ];
        cells.extend(figures.drops.map(digits));
        for name in ["voice", "l4s", "udp", "classic"] {
            cells.push(delays(runs, name).map_or_else(|| "starved".to_owned(), delay));
        }
        table.row(&cells);
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
    let body = format!("{PROTECTION}\n{table}");
    misses.assert_none(&body);
    page::check(
        "Queue protection: an unresponsive flow that claims to be L4S",
        &body,
    );
}

const HEAD: &str = "\
Source: slides \"Ultra Low Queuing Delay for ALL Applications\" (2015): 40 Mbit/s, base RTT 7 ms, 4 DCTCP and 2 CUBIC downloads. The
screen showed 20 % marks, 4 % drops, 100 % utilisation and a fair share of 6.6 Mbit/s; another slide latencies of 7 to 100 ms for
CUBIC and 7 to 10 ms for DCTCP, base RTT included. The slides give the slopes no value. Scenario: `scenarios/dualq2015/slides.toml`,
with ECT(1) for DCTCP, 60 s, two seeds. Rates in Mbit/s of Ethernet frames per flow, marks per delivered and drops per offered packet
in %, delays in ms as mean/P99. p_L is the marks by the coupled probability alone; the rest is by the native threshold.

Judged: utilisation ≥ 99 %; the square law 2^k·√p_C / p_L between 0.9 and 1.3 (few flows: the root of a mean is above the mean of the
root; and packets of the two queues do not leave at the same moments); no drop of L4S; its delay below 1 ms, P99 up to 2 ms (RFC 9332
section 1.4). Curvy RED with its own scheduler misses the last: the time-shifted FIFO lets a Classic packet that has waited 50 ms
longer go first, and its Classic delay comes there. With `scheduler = \"wrr\"` it does not. Rates are shown and not judged: all of
these couple windows, and the RTT of CUBIC contains the Classic queue, that of DCTCP does not. The screen's 20 % and 4 % come out at
k = 0 with slopes of 27, certain drop at 32 packets; 6.6 Mbit/s for each does not come with them.
";

const PROTECTION: &str = "\
Scenario: `scenarios/dualq2015/unresponsive.toml`: 100 Mbit/s, base RTT 7 ms, 2 DCTCP and 2 CUBIC downloads, a voice stream with ECT(1),
and UDP with ECT(1) at 150 Mbit/s, without and with queue protection (RFC 9957 with its defaults), 60 s, two seeds. UDP in Mbit/s,
drops in %, delays of each group in ms as mean/P99.

No figure of this is published; judged is what the RFC promises: the delay of a flow that builds no queue, the voice, P99 above 10 ms
without protection and up to 2 ms with it. It protects delay and not rates: the flood gets the link either way, through the Classic
queue, or as L4S as long as it stays below the critical delay. DCTCP is spared less than voice, because its bursts earn scores
as well, and what is redirected waits in the Classic queue. Two schedulers have no use for it: the time-shifted FIFO serves the flooded
Classic queue before the protected one (judged: above 10 ms with protection as well), and strict priority, whose L4S delay it does
protect, starves Classic with and without it.
";
