//! BBR v2 and v3 on the paths of v1's figures, and v3 with ECN beside CUBIC: what their evaluations state, as far as it could be read.

use quell_measure::Summary;

use super::bbr::{PAYLOAD, five_rates, jain, median_rtt, path, rtt, shown};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{group, rate_of};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::path::PathResult;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "BBR v2 and v3",
    experiments: &[Experiment {
        id: "controls/bbr-v2-v3",
        title: "BBR v2 and v3 on the paths of v1, and v3 with ECN beside CUBIC",
        source: "abstracts of Kfoury et al. (2020), Yang et al. (BBRv2+) and Zeynali et al. (2024); the draft of BBR",
        statements: &[
            Statement {
                id: "throughput",
                published: "PROBE_RTT: half of the flight for 200 ms in each five seconds, 2 % of the rate",
                bound: "0.96 to 0.995 of it, alone on 10 Mbit/s and 40 ms, v1 and v2 too",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "doubled-rate",
                published: "v2 reacts slowly when the rate rises (Yang et al.)",
                bound: "it uses a doubled rate later than v1",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "ecn-share",
                published: "with ECN one v3 flow takes more than 99 % beside five CUBIC flows (Zeynali et al.)",
                bound: "at least 0.9 behind CoDel that marks, on 100 Mbit/s and 40 ms; queue and rate of the source are not known",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "small-buffers",
                published: "five v2 flows share small buffers more equally than large ones (Kfoury et al.)",
                bound: "none",
                expected: Expected::CannotBeJudged("only one buffer was run, of 100 ms"),
            },
            Statement {
                id: "production",
                published: "fewer retransmissions and less latency than v1 on Google's servers",
                bound: "none",
                expected: Expected::CannotBeJudged("traffic of its own servers cannot be repeated"),
            },
            Statement {
                id: "draft",
                published: "the test cases of the draft",
                bound: "none here: unit tests of quell-tcp, bbr::bounded::tests::draft",
                expected: Expected::CannotBeJudged(
                    "they are steps of a sender without a link; the unit tests hold them for each variant of v3",
                ),
            },
        ],
        plan,
        judge,
        definition: None,
    }],
};

/// Name on the page and in a scenario.
const CONTROLS: [(&str, &str); 5] = [
    ("v1", "bbr1"),
    ("v2", "bbr2"),
    ("v3, 2023", "bbr3"),
    ("v3, 2026", r#"{name="bbr3",variant="google_2026"}"#),
    ("v3, draft", r#"{name="bbr3",variant="draft"}"#),
];

/// One control on the three paths.
struct Found {
    /// Highest RTT of start-up and median after 3 s, in ms.
    peak: f64,
    median: f64,
    /// Share of the link after 1 s.
    throughput: f64,
    /// Seconds until a doubled rate is used, and until twice the old flight is gone.
    doubled: f64,
    gone: f64,
    /// Five flows from 20 s on.
    jain: f64,
}

/// On each of the three paths, one control after the other.
fn plan_of_paths() -> Vec<Cell> {
    let runs = |(_, control): &(&str, &str)| {
        let of = |group: &str| format!("group.{group}.congestion-control={control}");
        let five = ["first", "second", "third", "fourth", "fifth"].map(of);
        [
            path("bbr/one-flow.toml").set(of("flow")),
            path("bbr/changing-rate.toml").set(of("flow")),
            path("bbr/five-flows.toml").sets(five),
        ]
    };
    CONTROLS.iter().flat_map(runs).collect()
}

/// One v3 flow beside five CUBIC flows behind CoDel that marks, on 100 Mbit/s.
fn with_marks(ecn: bool) -> Cell {
    Cell::new("bbr/beside-cubic.toml").sets([
        "link.rate=100mbit".to_owned(),
        "link.queue.kind=codel".to_owned(),
        "link.queue.ecn=true".to_owned(),
        format!(r#"group.bbr.congestion-control={{name="bbr3",ecn={ecn}}}"#),
        "group.cubic.count=5".to_owned(),
        "group.cubic.ecn=ect0".to_owned(),
        "run.warmup=10s".to_owned(),
        "run.duration=30s".to_owned(),
    ])
}

fn plan() -> Vec<Cell> {
    let mut cells = plan_of_paths();
    cells.extend([true, false].map(with_marks));
    cells
}

fn found([one, changing, five]: [&PathResult; 3]) -> Found {
    Found {
        peak: rtt(one.longest(0, 3)),
        median: median_rtt(one),
        throughput: one.goodput(0, 1, 60) / (10.0 * PAYLOAD),
        doubled: changing.reaches(19.0, 20).unwrap_or(f64::INFINITY),
        gone: changing.late_until(36),
        jain: jain(&five_rates(five)),
    }
}

/// Of what is delivered, the share of the BBR flow.
fn share(run: &Summary) -> f64 {
    let rate = |name| group(run, name).map_or(0.0, |group| rate_of(run, group));
    rate("bbr") / (rate("bbr") + rate("cubic"))
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let (paths, shares) = cells.split_at(3 * CONTROLS.len());
    let paths = paths.figures::<PathResult>();
    let paths = paths.chunks_exact(3);
    let found: Vec<Found> = paths
        .map(|runs| found([&runs[0], &runs[1], &runs[2]]))
        .collect();
    let shares: Vec<f64> = shares.summaries().iter().map(share).collect();
    let mut table = Table::new(&[
        "BBR",
        "RTT in start-up, highest, ms",
        "RTT after 3 s, median, ms",
        "throughput",
        "doubled rate used after, s",
        "old flight gone after, s",
        "Jain's index of five",
    ]);
    let mut throughputs = Figure::pairs("Goodput alone on 10 Mbit/s", "share of the rate");
    let mut times = Figure::pairs("Time until a doubled rate is used", "s");
    for ((name, _), of) in CONTROLS.iter().zip(&found) {
        let mut row = vec![(*name).to_owned()];
        row.extend(
            [
                of.peak,
                of.median,
                of.throughput,
                of.doubled,
                of.gone,
                of.jain,
            ]
            .map(shown),
        );
        table.row(&row);
        let within = (0.96..=0.995).contains(&of.throughput);
        out.on("throughput")
            .unless(within, format!("{name}: throughput {}", of.throughput));
        throughputs = throughputs.pair(name, Some(0.98), of.throughput);
        if of.doubled.is_finite() {
            times = times.pair(name, None, of.doubled);
        }
    }
    let [least, most] = found
        .iter()
        .fold([f64::INFINITY, 0.0], |[least, most], of| {
            [of.throughput.min(least), of.throughput.max(most)]
        });
    out.on("throughput")
        .ours(format!("{least:.3} to {most:.3}"));
    let [v1, v2] = [0, 1].map(|version| found[version].doubled);
    let checks = out.on("doubled-rate");
    checks.unless(v2 > v1, "v2 finds a doubled rate before v1".to_owned());
    checks.ours(format!(
        "v1 after {} s, v2 after {} s",
        shown(v1),
        shown(v2)
    ));
    let checks = out.on("ecn-share");
    checks.unless(shares[0] >= 0.9, format!("v3 with ECN: {shares:.3?}"));
    checks.ours(format!("{:.3}; without ECN {:.3}", shares[0], shares[1]));
    out.on("small-buffers")
        .ours(format!("Jain's index {}", shown(found[1].jain)));
    out.draw(throughputs);
    out.draw(times);
    out.write(format!(
        "{RESULT}\n{table}\n{TEXT}\n{SHARES} {:.3} with `ecn = true`, and {:.3} without.\n",
        shares[0], shares[1]
    ));
}

const RESULT: &str = "\
**Result.** What could be read of the evaluations holds, as far as the simulator can be asked: v2 and v3 use 96 to 99.5 % of a link alone, v2
takes longer than v1 to use a doubled rate, and v3 with ECN takes nearly everything beside CUBIC behind a queue that marks.

Alone on the paths of v1's figures, v1 for comparison:
";

const TEXT: &str = "\
**Sources.** PROBE_RTT costs v3 a half of 200 ms in five seconds, 2 %: so 96 to 99.5 %. \"BBRv2+\" (Yang et al., abstract): v2 reacts slowly when
the rate rises. Kfoury et al. (2020, abstract): five v2 flows share small buffers more equally than large ones; Jain's index is shown and
not judged. Zeynali et al. (2024, abstract): with ECN one v3 flow takes more than 99 % beside five CUBIC flows. Google's figures of v3 on its
own servers cannot be repeated. The draft's test cases, for each variant of v3, are unit tests of `quell-tcp` (`cargo test -p quell-tcp --lib
bbr::bounded::tests::draft`).

**Runs.** As for v1 (`scenarios/bbr/`), with `--set group.flow.congestion-control=bbr3` and the like. The old flight is gone after the last
packet with an RTT above 150 ms. v3 keeps it until the second probe after the drop, because its estimate is the maximum of two cycles and
no loss limits it in this queue of 1 MB; the draft says so too.

**Bounds.** Throughput from 0.96 to 0.995. v2 later than v1 at a doubled rate. The share of v3 with ECN at least 0.9.

With ECN, the queue is CoDel with marks, on 100 Mbit/s and 40 ms, over 20 s. The source's queue and rate are not known. v3 as shipped responds
to marks only up to an RTT of 5 ms, so here it ignores them, which CUBIC does not.
";

const SHARES: &str = "The share of one v3 flow beside five ECN-capable CUBIC flows is";
