//! BBR v1 beside the figures of Cardwell et al., "BBR: Congestion-Based Congestion Control" (ACM Queue 2016), and beside `bbr` of Linux 7.2.
//! Random loss is a test of `quell-tcp`, because no queue loses at random.

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::PATH;
use crate::probe::path::PathResult;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "BBR v1: start-up, a changing rate, five flows",
    experiments: &[Experiment {
        id: "controls/bbr-v1",
        title: "BBR v1: start-up, a changing rate, five flows",
        source: "Cardwell et al., \"BBR: Congestion-Based Congestion Control\" (ACM Queue 2016), values read off plots",
        statements: &[
            Statement {
                id: "start-up",
                published: "10 Mbit/s, 40 ms: RTT in start-up near 120 ms",
                bound: "100 to 125 ms: buffers, delayed ACKs and super-segments of the source are not known; guarded: within 2.5 % of Linux 7.2",
                expected: Expected::Differs(
                    "start-up keeps 2.89 bandwidth-delay products and three super-segments in flight, 105 packets with the serialisation of a packet in the lowest RTT; Linux 7.2 has 126 ms too",
                ),
            },
            Statement {
                id: "steady-rtt",
                published: "10 Mbit/s, 40 ms: RTT then near 40 ms",
                bound: "median after 3 s up to 46 ms; guarded: within 2.5 % of Linux 7.2, and up to 46 ms with segments of half the size",
                expected: Expected::Differs(
                    "a phase of draining ends with one bandwidth-delay product and three super-segments in flight, 40 packets, which take 48 ms; Linux 7.2 has 48.2 ms too",
                ),
            },
            Statement {
                id: "throughput",
                published: "four packets for 200 ms in each ten seconds: 0.98 of the rate",
                bound: "0.96 to 0.99; guarded: at least 0.95 after 3 s, within 2.5 % of Linux 7.2",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "doubled-rate",
                published: "10 to 20 Mbit/s: the new rate is found after about 1 s",
                bound: "95 % of it arrive in 100 ms after 0.8 to 1.6 s; guarded: within 0.1 s of Linux 7.2",
                expected: Expected::Differs(
                    "a probe ends only with 1.25 bandwidth-delay products and three super-segments in flight; on a link with room the flight stays below that, so one probe lasts several round trips, each 1.25 times as fast; Linux 7.2 has 0.38 s too",
                ),
            },
            Statement {
                id: "halved-rate",
                published: "20 to 10 Mbit/s: RTT of 160 to 170 ms",
                bound: "highest 150 to 180 ms; guarded: within 2.5 % of Linux 7.2",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "old-maximum",
                published: "20 to 10 Mbit/s: the old maximum is gone after 1.7 to 1.8 s",
                bound: "the last packet with an RTT above 150 ms after 1.4 to 2.3 s; guarded: within 0.1 s of Linux 7.2",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "five-fair",
                published: "five flows share 100 Mbit/s equally",
                bound: "Jain's index of at least 0.95 from 20 s to 60 s; guarded: within 0.1 of Linux 7.2",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "five-queue",
                published: "several flows in a deep buffer: a queue of 1 to 1.5 base RTTs (Hock et al., ICNP 2017)",
                bound: "none",
                expected: Expected::CannotBeJudged("the published value is from memory"),
            },
            Statement {
                id: "five-aligned",
                published: "the flows are in PROBE_RTT at the same time",
                bound: "a PROBE_RTT of the first flow and the nearest of each other one up to 0.5 s apart",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "random-loss",
                published: "100 Mbit/s, 100 ms: the whole rate up to 5 % of random loss, close to it at 15 %; CUBIC a tenth at 0.1 %",
                bound: "none here: the test random_loss of quell-tcp",
                expected: Expected::CannotBeJudged(
                    "no queue of a scenario loses at random; the test of quell-tcp bounds and holds it",
                ),
            },
        ],
        plan,
        judge,
        definition: None,
    }],
};

/// One figure: its source's, the bound, quell's and that of Linux 7.2 in the virtual world.
struct Row {
    what: &'static str,
    published: &'static str,
    bound: (f64, f64),
    ours: f64,
    /// Measured once: no figure means that it is not seen from outside.
    linux: Option<f64>,
    /// Its statement, and whether it decides it.
    statement: (&'static str, bool),
}

const ANY: f64 = f64::INFINITY;
/// Payload in a packet of 1 500 bytes.
pub const PAYLOAD: f64 = 1_448.0 / 1_500.0;
/// The statements that differ, with the number of the reason on the page.
const REASONS: [(&str, u8); 3] = [("start-up", 1), ("steady-rtt", 2), ("doubled-rate", 3)];

/// A run on one of the paths.
pub fn path(file: &'static str) -> Cell {
    Cell::new(file).probe(PATH)
}

fn plan() -> Vec<Cell> {
    vec![
        path("bbr/one-flow.toml"),
        path("bbr/one-flow.toml").set("group.flow.mss=724B"),
        path("bbr/changing-rate.toml"),
        path("bbr/five-flows.toml"),
    ]
}

/// The RTT on 40 ms, of a packet that took so many ms.
pub fn rtt(delay: f64) -> f64 {
    40.0 + delay
}

/// The median RTT after 3 s on 40 ms, in ms.
pub fn median_rtt(run: &PathResult) -> f64 {
    rtt(run.median_from_3_s_ms.unwrap_or(f64::NAN))
}

/// Goodput of five flows from 20 s on, in Mbit/s.
pub fn five_rates(run: &PathResult) -> Vec<f64> {
    (0..5).map(|flow| run.goodput(flow, 20, 60)).collect()
}

fn rows(runs: &[PathResult]) -> Vec<Row> {
    let [one, half, changing, five] = runs else {
        return Vec::new();
    };
    let share = |from| one.goodput(0, from, 60) / (10.0 * PAYLOAD);
    let probes: Vec<Vec<f64>> = (0..5).map(|flow| five.probe_rtts(flow, 25.0)).collect();
    let row = |what, published, bound, ours, linux, statement| Row {
        what,
        published,
        bound,
        ours,
        linux,
        statement,
    };
    vec![
        row(
            "RTT in start-up, highest, ms",
            "near 120",
            (100.0, 125.0),
            rtt(one.longest(0, 3)),
            Some(126.0),
            ("start-up", true),
        ),
        row(
            "RTT after 3 s, median, ms",
            "near 40",
            (-ANY, 46.0),
            median_rtt(one),
            Some(48.2),
            ("steady-rtt", true),
        ),
        row(
            "the same with segments of half the size",
            "",
            (-ANY, 46.0),
            median_rtt(half),
            None,
            ("steady-rtt", false),
        ),
        row(
            "utilisation after 3 s",
            "",
            (0.95, ANY),
            share(3),
            Some(0.980),
            ("throughput", false),
        ),
        row(
            "throughput with PROBE_RTT",
            "0.98",
            (0.96, 0.99),
            share(1),
            Some(0.981),
            ("throughput", true),
        ),
        row(
            "doubled rate found after, s",
            "about 1",
            (0.8, 1.6),
            changing.reaches(19.0, 20).unwrap_or(f64::INFINITY),
            Some(0.38),
            ("doubled-rate", true),
        ),
        row(
            "RTT after the drop, highest, ms",
            "160 to 170",
            (150.0, 180.0),
            rtt(changing.longest(36, 39)),
            Some(180.0),
            ("halved-rate", true),
        ),
        row(
            "old maximum gone after, s",
            "1.7 to 1.8",
            (1.4, 2.3),
            changing.late_until(36),
            Some(1.76),
            ("old-maximum", true),
        ),
        row(
            "five flows: Jain's index, 20 to 60 s",
            "fair",
            (0.95, ANY),
            jain(&five_rates(five)),
            Some(0.997),
            ("five-fair", true),
        ),
        row(
            "five flows: queue, median, in base RTTs",
            "1 to 1.5",
            (-ANY, ANY),
            five.median_from_20_s_ms.unwrap_or(f64::NAN) / 10.0,
            None,
            ("five-queue", false),
        ),
        row(
            "five flows: PROBE_RTT apart by, s",
            "aligned",
            (-ANY, 0.5),
            apart(&probes),
            None,
            ("five-aligned", true),
        ),
    ]
}

/// Jain's index of these rates.
pub fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (rates.len() as f64 * squares)
}

/// The longest time between a PROBE_RTT of the first flow and the nearest of another.
fn apart(probes: &[Vec<f64>]) -> f64 {
    let nearest = |at: f64, other: &Vec<f64>| {
        other
            .iter()
            .map(|x| (x - at).abs())
            .fold(f64::INFINITY, f64::min)
    };
    let furthest = |&at: &f64| {
        probes[1..]
            .iter()
            .map(|other| nearest(at, other))
            .fold(0.0, f64::max)
    };
    probes[0].iter().map(furthest).fold(0.0, f64::max)
}

/// With as many digits as the page shows.
pub fn shown(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.3}"),
        v => format!("{v:.2}"),
    }
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.figures::<PathResult>();
    let mut table = Table::new(&["", "published", "bound", "quell", "Linux 7.2", "holds"]);
    let mut rtts = Figure::pairs("RTTs on 10 Mbit/s and 40 ms", "ms");
    let mut times = Figure::pairs("Times after a change of the rate", "s");
    for row in rows(&runs) {
        let Row { what, ours, .. } = row;
        let (least, most) = row.bound;
        let bound = match (least.is_finite(), most.is_finite()) {
            (true, true) => format!("{least} to {most}"),
            (true, false) => format!("≥ {least}"),
            (false, true) => format!("≤ {most}"),
            (false, false) => "–".to_owned(),
        };
        let holds = (least..=most).contains(&ours);
        let (statement, decides) = row.statement;
        let reason = REASONS.iter().find(|(differs, _)| *differs == statement);
        let verdict = match (holds, bound.as_str(), reason) {
            (true, "–", _) => "shown".to_owned(),
            (true, ..) => "yes".to_owned(),
            (false, _, Some((_, number))) => format!("**no** ({number})"),
            (false, ..) => "**no**".to_owned(),
        };
        table.row(&[
            what.to_owned(),
            row.published.to_owned(),
            bound,
            shown(ours),
            row.linux.map_or("–".to_owned(), shown),
            verdict,
        ]);
        let checks = out.on(statement);
        if decides {
            checks.unless(holds, format!("{what}: {ours}"));
        } else {
            checks.guard(holds, format!("{what}: {ours}"));
        }
        if decides || statement == "five-queue" {
            checks.ours(format!("{what}: {}", shown(ours)));
        }
        if let Some(linux) = row.linux {
            let near = (ours - linux).abs() <= (0.025 * linux).max(0.1);
            checks.guard(near, format!("{what}: {ours}, Linux {linux}"));
        }
        // The middle of what the source prints.
        match statement {
            "start-up" => rtts = rtts.pair(what, Some(120.0), ours),
            "steady-rtt" if decides => rtts = rtts.pair(what, Some(40.0), ours),
            "halved-rate" => rtts = rtts.pair(what, Some(165.0), ours),
            "doubled-rate" => times = times.pair(what, Some(1.0), ours),
            "old-maximum" => times = times.pair(what, Some(1.75), ours),
            _ => (),
        }
    }
    let five = runs.last().map(|five| {
        let probes = (0..5).map(|flow| five.probe_rtts(flow, 25.0));
        probes.map(|probes| probes.len()).min().unwrap_or(0)
    });
    out.on("five-aligned").guard(
        five.is_some_and(|fewest| fewest >= 2),
        "each flow is in PROBE_RTT at least twice".to_owned(),
    );
    out.draw(rtts);
    out.draw(times);
    out.write(format!("{RESULT}\n{table}\n{TEXT}"));
}

const RESULT: &str = "\
**Result.** Three figures are outside of their bounds. In each the simulator does what `bbr` of Linux 7.2 does: every figure is within 2.5 %
of Linux's, or within 0.1 s. Under random loss the limit is kept up to 15 %.
";

const TEXT: &str = "\
**Source.** Cardwell et al., \"BBR: Congestion-Based Congestion Control\" (ACM Queue 2016): start-up and its queue, a rate that doubles and
halves, five flows; and the arithmetic of 200 ms with four packets in ten seconds. Values are read off plots. The queue of several flows in a
deep buffer is that of Hock et al. (ICNP 2017), from memory, so it judges nothing.

**Runs.** `scenarios/bbr/one-flow.toml`, `changing-rate.toml` and `five-flows.toml`. The RTT is the base RTT and the time from the arrival
at the queue to the end of transmission. A rate is found when 95 % of it arrive in 100 ms; the old maximum is gone after the last packet
with an RTT above 150 ms. The link slows down at 36 s, not at 40 s as in the source, where a PROBE_RTT would begin half a second later.
Linux 7.2 is its `bbr` in the virtual world: `quell run FILE --world virtual --packets`, counted likewise.

**Bounds** are wide, because the buffers, delayed ACKs and super-segments of the publication are not known to the packet. Besides, each
figure is to be within 2.5 % or 0.1 of Linux 7.2's.

**The misses**, in which Linux 7.2 agrees with quell:

1. Start-up keeps 2.89 bandwidth-delay products and three super-segments in flight. With the serialisation of a packet in the lowest RTT
   that is 105 packets or 126 ms, 1 ms above the bound.
2. A phase of draining ends as soon as no more than one bandwidth-delay product and three super-segments are in flight: 40 packets, which
   take 48 ms. With segments of half the size the reserve is half as long, and the median is within the bound.
3. A probe ends only when 1.25 bandwidth-delay products and three super-segments are in flight. On a link with room no queue forms and the
   flight stays below that, so that one probe lasts several round trips, each 1.25 times as fast. The source has one such step in a cycle.

**Random loss** on 100 Mbit/s and 100 ms for 60 s, the share of the limit (1 − p)C, the mean of three seeds. No queue loses at random, so
this is a test of `quell-tcp` (`cargo test -p quell-tcp --test all random_loss -- --include-ignored --nocapture`), which checks the bounds and
these digits:

| loss p | published | bound | share of the limit |
| ------ | --------- | ----- | ------------------ |
| 0.1 %  | the limit | ≥ 0.9 | 0.975 |
| 1 %    | the limit | ≥ 0.9 | 0.972 |
| 5 %    | the limit | ≥ 0.9 | 0.976 |
| 15 %   | close to the limit | ≥ 0.75 | 0.977 |
| 0.1 %, CUBIC | a tenth | ≤ 0.2 | 0.061 |

The receiver is that of 2016, which acknowledges every segment behind a gap. Today's gathers such ACKs for a millisecond, and sends one before
a range is left out: at 15 % its share is 0.976.
";
