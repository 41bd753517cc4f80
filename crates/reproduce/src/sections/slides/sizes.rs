//! Queue sizes at dequeue of one Reno, CUBIC or DCTCP flow, and the probability over the average and the instant queue.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::{SIZES, sizes::QueueSizes};
use crate::statement::{Expected, Statement};
use crate::table::Table;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dualq2015/queue-sizes",
    title: "Queue sizes at dequeue of one Reno, CUBIC or DCTCP flow",
    source: "slides \"Queue size at dequeue\", 1 TCP Reno flow and 1 DCTCP flow; \"DCTCP = Low Loss, Low Latency, and Throughput Scalability\"",
    statements: &[
        Statement {
            id: "large",
            published: "Reno and CUBIC have large queues, for high throughput and low drop",
            bound: "from P1 to P99 at least four times as many packets as DCTCP: what a reduction takes from a window is half with Reno and 0.3 with CUBIC of some 60 packets, and √(2(C·RTT + K))/2 = 3.8 packets with DCTCP (SIGCOMM 2010)",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "small",
            published: "DCTCP has small queues, low latency and high throughput",
            bound: "a queue that one packet in a hundred exceeds, of at most K + 3 packets: K + 1 by SIGCOMM 2010, and one for each of two ACKs that release two packets; a full link, to 0.1 %",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "average",
            published: "for Reno p is a function of the average queue size",
            bound: "no packet is dropped at an average below min, and of those at each higher average with 20 drops or more a larger share than at min, where the probability begins; CUBIC too",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "instant",
            published: "for DCTCP p is a function of the instant queue size",
            bound: "no packet is marked that finds K packets or fewer, and every one that finds more",
            expected: Expected::Reproduced,
        },
        Statement {
            id: "curves",
            published: "distributions of one second on axes of 0 to 100 packets, up to 36 % (Reno) and 42 % (DCTCP)",
            bound: "none",
            expected: Expected::CannotBeJudged(
                "only the axes can be read; the curves are lost, and rate, RTT and the queue's parameters are not given",
            ),
        },
    ],
    plan,
    judge,
    definition: None,
};

/// Thresholds of RED, in packets.
const MIN: usize = 50;
const MAX: usize = 90;
/// K of the step: above C·RTT/7 = 3.3 packets, and the 5 packets of RFC 9332 appendix B.
const K: usize = 5;
const SEEDS: [u64; 3] = [1, 2, 3];
const FLOWS: [&str; 3] = ["reno", "cubic", "dctcp"];

fn plan() -> Vec<Cell> {
    let of_flow = |control: &str| {
        let queue = match control {
            "dctcp" => format!("{{ kind = \"step\", threshold = \"{K}p\", at = \"enqueue\" }}"),
            _ => format!(
                "{{ kind = \"red\", form = \"floyd\", limit = \"1000p\", min = \"{MIN}p\", max = \"{MAX}p\" }}"
            ),
        };
        Cell::new("dualq2015/one-flow.toml")
            .set(format!("group.flow.congestion-control={control}"))
            .set(format!("link.queue={queue}"))
            .probe(SIZES)
            .seeds(SEEDS)
    };
    FLOWS.iter().flat_map(|control| of_flow(control)).collect()
}

/// Seconds that a run measures, of `one-flow.toml`, and packets of a full link in them.
const SPAN: f64 = 300.0;
const FULL: f64 = SPAN * 40e6 / 12_000.0;

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.figures::<QueueSizes>();
    let pooled = runs.chunks(SEEDS.len()).map(|runs| {
        let mut whole = QueueSizes::default();
        runs.iter().for_each(|run| whole.add(run));
        whole
    });
    let results: Vec<QueueSizes> = pooled.collect();
    let mut table = Table::new(&[
        "flow",
        "P1, packets",
        "P50",
        "P99",
        "highest bin, %",
        "marked or dropped, %",
        "utilisation, %",
    ]);
    let mut shapes = Vec::new();
    for (control, sizes) in FLOWS.iter().zip(&results) {
        let [low, middle, high] = [0.01, 0.5, 0.99].map(|share| sizes.quantile(share));
        let [low, middle, high] = [low, middle, high].map(Option::unwrap_or_default);
        let peak = sizes.shares().into_iter().fold(0.0, f64::max);
        let found: u64 = sizes.found.iter().sum();
        let signalled: u64 = sizes.signalled.iter().sum();
        let left: u64 = sizes.left.iter().sum();
        let used = 100.0 * left as f64 / FULL / SEEDS.len() as f64;
        table.row(&[
            (*control).to_owned(),
            low.to_string(),
            middle.to_string(),
            high.to_string(),
            digits(peak),
            digits(100.0 * signalled as f64 / found.max(1) as f64),
            digits(used),
        ]);
        shapes.push((high - low, high, peak, used));
    }
    let [reno, cubic, dctcp] = [shapes[0], shapes[1], shapes[2]];
    for (name, shape) in [("Reno", reno), ("CUBIC", cubic)] {
        let what = format!("{name}: {} packets, DCTCP {}", shape.0, dctcp.0);
        out.on("large").unless(shape.0 >= 4 * dctcp.0.max(1), what);
    }
    out.on("large").ours(format!(
        "P1 to P99: Reno {}, CUBIC {}, DCTCP {} packets",
        reno.0, cubic.0, dctcp.0
    ));
    let small = out.on("small");
    small.unless(dctcp.1 <= K + 3, format!("P99 of {} packets", dctcp.1));
    small.unless(
        (dctcp.3 - 100.0).abs() < 0.1,
        format!("{} % of the link", dctcp.3),
    );
    small.ours(format!(
        "P99 of {} packets with K = {K}, {} % of the link",
        dctcp.1,
        digits(dctcp.3)
    ));
    out.on("curves").ours(format!(
        "highest bins {}, {} and {} % of Reno, CUBIC and DCTCP; P99 {}, {} and {} packets",
        digits(reno.2),
        digits(cubic.2),
        digits(dctcp.2),
        reno.1,
        cubic.1,
        dctcp.1
    ));
    average(&results[..2], out);
    instant(&results[2], out);
    draw(&results, out);
    out.write(format!("{TEXT}\n{table}\n{END}"));
}

fn average(results: &[QueueSizes], out: &mut Findings) {
    for (control, sizes) in FLOWS.iter().zip(results) {
        let bins = sizes.signalled_average.iter().zip(&sizes.found_average);
        let mut at_min = None;
        for (bin, (signalled, found)) in bins.enumerate() {
            let what = format!("{control}, average of {bin}: {signalled} of {found} dropped");
            // The queue's own average may differ in the last digits.
            let is_below = bin + 1 < MIN;
            let checks = out.on("average");
            checks.unless(!is_below || *signalled == 0, what.clone());
            if *signalled >= 20 {
                let share = *signalled as f64 / *found as f64;
                let first = *at_min.get_or_insert(share);
                checks.unless(bin <= MIN || share > first, what);
            }
        }
    }
}

fn instant(sizes: &QueueSizes, out: &mut Findings) {
    let bins = sizes.signalled.iter().zip(&sizes.found);
    for (size, (signalled, found)) in bins.enumerate() {
        let expected = if size > K { *found } else { 0 };
        let what = format!("{signalled} of {found} marked that find {size} packets");
        out.on("instant").unless(*signalled == expected, what);
    }
    // Sizes that are missing in the list of signals are below K.
    let above: u64 = sizes.found.iter().skip(K + 1).sum();
    let marked: u64 = sizes.signalled.iter().sum();
    out.on("instant")
        .unless(above == marked, format!("{marked} of {above} marked"));
}

fn draw(results: &[QueueSizes], out: &mut Findings) {
    let mut shapes = Figure::curves("Queue size at dequeue", "packets", "packets in a bin, %");
    let mut signals = Figure::curves("Probability of a signal", "packets", "%");
    for (control, sizes) in FLOWS.iter().zip(results) {
        let points = sizes.shares().into_iter().enumerate();
        shapes = shapes.ours(control, points.map(|(size, share)| (size as f64, share)));
        let is_instant = *control == "dctcp";
        let (name, signalled, found) = match is_instant {
            true => ("instant queue", &sizes.signalled, &sizes.found),
            false => (
                "average queue",
                &sizes.signalled_average,
                &sizes.found_average,
            ),
        };
        let bins = signalled.iter().zip(found).enumerate();
        let bins = bins.filter(|(_, (_, found))| **found >= 100);
        let share = |(size, (signalled, found)): (usize, (&u64, &u64))| {
            (size as f64, 100.0 * *signalled as f64 / *found as f64)
        };
        if !is_instant {
            // Above a few percent nothing of Reno is seen beside the step.
            signals = signals.ours(&format!("{control}, {name}"), bins.map(share));
        }
    }
    out.draw(shapes);
    out.draw(signals);
}

const TEXT: &str = "\
### Queue sizes at dequeue

**Result.** The shapes of the slides are there: one Reno or CUBIC flow moves over tens of packets and is signalled by the average, one DCTCP flow
stays within a few packets and is marked by the queue that its packet finds. The curves of the slides are lost.
";

const END: &str = "\
**Source.** The two slides have axes of 0 to 100 packets and *Pdf in 1s interval*, and *p* over the *average* size for Reno and over the *instant*
size for DCTCP. CUBIC is not plotted; another slide names it with Reno as what needs large queues.

**Runs.** `scenarios/dualq2015/one-flow.toml`, 40 Mbit/s and 7 ms; Reno and CUBIC behind RED (min 50, max 90 packets, the link then never idle for
long), DCTCP behind a step of K = 5 packets; 300 s after 20 s, three seeds together. A size is what a packet leaves behind.
";
