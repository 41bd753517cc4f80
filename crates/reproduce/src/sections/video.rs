//! Rendered video in datagrams that Prague controls, on the links on which the authors of SCReAM publish their control: another
//! control, so their figures stand beside and are no bounds, but for the delay.

use quell_measure::{Dist, Summary};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Rendered video under Prague, beside SCReAM",
    experiments: &[Experiment {
        id: "applications/video-prague",
        title: "Rendered video under Prague, alone and beside TCP Prague",
        source: "github.com/EricssonResearch/scream at c8f84c3, logs and `test-record.md`, which are of SCReAM",
        statements: &[
            Statement {
                id: "delay",
                published: "SCReAM with ECT(1): P99 of the queue delay 2.2 ms, at most 4.0 ms",
                bound: "P99 below 4 ms, alone and in each of twelve rows beside TCP Prague",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "rate",
                published: "SCReAM alone with ECT(1): 38.5 Mbit/s of 50",
                bound: "34 to 45 Mbit/s: another control, so no nearer",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "share",
                published: "nothing of Prague; expected: it takes less than a TCP Prague flow, because it counts what it sends while it sends",
                bound: "0.25 to 1.1 of a TCP Prague flow's rate in each of twelve rows",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "scream",
                published: "SCReAM beside one to four TCP Prague flows: 60 to 18 Mbit/s of 100",
                bound: "none",
                expected: Expected::CannotBeJudged(
                    "another control; applications/video-scream has SCReAM itself",
                ),
            },
        ],
        plan,
        judge,
        definition: None,
    }],
};

pub(super) const SEEDS: [u64; 2] = [1, 2];

/// Mean of `figure` over the runs; not a number where one has none.
fn mean(runs: &[Summary], figure: impl Fn(&Summary) -> Option<f64>) -> f64 {
    let of = |run| figure(run).unwrap_or(f64::NAN);
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// Rate of the group's packets, in Mbit/s of payload.
pub(super) fn rate(runs: &[Summary], name: &str) -> f64 {
    mean(runs, |run| {
        let group = group(run, name)?;
        Some(group.goodput_bps.iter().sum::<f64>() / group.count as f64 / 1e6)
    })
}

/// Mean, P90, P99 and maximum of the delay of the video's packets in ms.
pub(super) fn delays(runs: &[Summary]) -> [f64; 4] {
    let of = |figure: fn(&Dist) -> f64| {
        mean(runs, |run| {
            group(run, "video")?.delay_ms.as_ref().map(figure)
        })
    };
    [
        of(|dist| dist.mean),
        of(|dist| dist.p90),
        of(|dist| dist.p99),
        of(|dist| dist.max),
    ]
}

/// Of `figure` of the video's report.
fn report(runs: &[Summary], figure: &str) -> f64 {
    mean(runs, |run| {
        group(run, "video")?.app.as_ref()?.number(figure)
    })
}

/// ECN field of the video, and a log of SCReAM's authors: Mbit/s, and the queue delay as [`delays`].
pub(super) type Log = (&'static str, f64, [f64; 4]);
pub(super) const LOGS: [Log; 2] = [
    ("ect1", 38.5, [1.0, 1.4, 2.2, 4.0]),
    ("off", 44.0, [6.2, 14.9, 18.6, 19.9]),
];

/// RTT in ms, and the rate of SCReAM in Mbit/s beside 0 to 4 Prague flows, with frames of one length.
pub(super) const RECORD: [(u64, [f64; 5]); 3] = [
    (5, [79.0, 52.0, 40.0, 29.0, 20.0]),
    (25, [78.0, 60.0, 48.0, 38.0, 29.0]),
    (100, [71.0, 54.0, 32.0, 25.0, 18.0]),
];

/// A figure of the source and ours.
fn beside(source: f64, ours: f64) -> String {
    format!("{} / {}", digits(source), digits(ours))
}

/// The table of the video alone, beside [`LOGS`].
pub(super) fn alone(runs: &[&[Summary]]) -> Table {
    let mut table = Table::new(&[
        "packets",
        "rate, Mbit/s",
        "mean delay, ms",
        "P90",
        "P99",
        "max",
        "frames skipped or lost, %",
    ]);
    for ((ecn, published_rate, published), runs) in LOGS.iter().zip(runs) {
        let missing = report(runs, "skipped") + report(runs, "lost");
        let packets = match *ecn {
            "ect1" => "ECT(1)",
            _ => "Not-ECT",
        };
        let mut cells = vec![
            packets.to_owned(),
            beside(*published_rate, rate(runs, "video")),
        ];
        let delays = published.iter().zip(delays(runs));
        cells.extend(delays.map(|(source, ours)| beside(*source, ours)));
        let missing = digits(100.0 * missing / report(runs, "frames"));
        cells.push(format!("– / {missing}"));
        table.row(&cells);
    }
    table
}

/// RTT in ms and Prague flows of each row.
fn points() -> Vec<(u64, usize)> {
    let of_rtt = |(rtt, _): &(u64, _)| [1, 2, 3, 4].map(|count| (*rtt, count));
    RECORD.iter().flat_map(of_rtt).collect()
}

fn plan() -> Vec<Cell> {
    let of_log = |(ecn, ..): &Log| {
        let cell = Cell::new("panorama/controlled-video.toml");
        cell.set(format!("group.video.ecn={ecn}"))
    };
    let of_row = |(rtt, count): (u64, usize)| {
        Cell::new("panorama/controlled-video-beside.toml").sets([
            format!("group.downloads.count={count}"),
            format!("group.video.rtt={rtt}ms"),
            format!("group.downloads.rtt={rtt}ms"),
        ])
    };
    let rows = points().into_iter().map(of_row);
    let all = LOGS.iter().map(of_log).chain(rows);
    all.flat_map(|cell| cell.seeds(SEEDS)).collect()
}

/// Rate of the video in parts of a Prague flow's.
const RATIO: [f64; 2] = [0.25, 1.1];

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let mut by_cell = runs.chunks(SEEDS.len());
    let of_logs: Vec<&[Summary]> = by_cell.by_ref().take(LOGS.len()).collect();
    let mut figure = Figure::pairs("Rate of the video; SCReAM and Prague", "Mbit/s");
    for ((ecn, published, _), runs) in LOGS.iter().zip(&of_logs) {
        let rate = rate(runs, "video");
        if *ecn == "ect1" {
            let p99 = delays(runs)[2];
            out.on("delay")
                .unless(p99 < 4.0, format!("P99 of {p99} ms"));
            let checks = out.on("rate");
            let what = format!("{rate} Mbit/s alone");
            checks.unless((34.0..45.0).contains(&rate), what);
            checks.ours(format!("{} Mbit/s", digits(rate)));
        }
        let label = format!("50 Mbit/s, {ecn}");
        figure = figure.pair(&label, Some(*published), rate.max(0.0));
    }
    let mut table = Table::new(&[
        "RTT, ms",
        "Prague flows",
        "video, Mbit/s",
        "a Prague flow, Mbit/s",
        "P99 of the delay, ms",
    ]);
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    let mut rates = Vec::new();
    for ((rtt, count), runs) in points().into_iter().zip(by_cell) {
        let published = RECORD.iter().find(|(of, _)| *of == rtt);
        let source = published.map_or(f64::NAN, |(_, rates)| rates[count]);
        let (video, tcp) = (rate(runs, "video"), rate(runs, "downloads"));
        let p99 = delays(runs)[2];
        let other = (100.0 - source) / count as f64;
        table.row(&[
            rtt.to_string(),
            count.to_string(),
            beside(source, video),
            beside(other, tcp),
            digits(p99),
        ]);
        let ratio = video / tcp;
        let name = format!("{count} flows at {rtt} ms");
        let what = format!("{name}: P99 of {p99} ms");
        out.on("delay").unless(p99 < 4.0, what);
        let what = format!("{name}: {video} beside {tcp} Mbit/s");
        let holds = (RATIO[0]..RATIO[1]).contains(&ratio);
        out.on("share").unless(holds, what);
        (least, most) = (least.min(ratio), most.max(ratio));
        rates.push(video);
        figure = figure.pair(&name, Some(source), video.max(0.0));
    }
    let shares = format!("{least:.2} to {most:.2} of a TCP Prague flow's rate");
    out.on("share").ours(shares);
    let [low, high] = [f64::min, f64::max].map(|end| rates.iter().copied().reduce(end));
    out.on("scream").ours(format!(
        "Prague: {} to {} Mbit/s",
        digits(high.unwrap_or_default()),
        digits(low.unwrap_or_default())
    ));
    out.draw(figure);
    out.write(format!(
        "{RESULT}\n{}\n{TEXT}\n{table}\n{END}",
        alone(&of_logs)
    ));
}

const RESULT: &str = "\
**Result.** Alone, video under Prague has the rate and the short queue that SCReAM's authors log for theirs. Beside TCP Prague flows it takes a
third to nine tenths of a flow's rate, where SCReAM takes more than one: Prague counts what it sends while it sends, and a frame is sent in
80 % of its interval only. Without ECN, its delay is longer at the peak and shorter in the mean.

Source (SCReAM) / quell (Prague with a window in frames):
";

const TEXT: &str = "\
Beside TCP Prague flows on 100 Mbit/s; what the source's rate leaves to each Prague flow is derived:
";

const END: &str = "\
**Source.** github.com/EricssonResearch/scream at c8f84c3 (July 2026): the logs in `examples/`, 50 Mbit/s, 25 ms, DualPI2, after 10 s; and
`test-record.md`, SCReAM beside Prague flows on 100 Mbit/s with frames of one length, whose own spread is 5 %. The queue's parameters are not
stated; here they are Linux's.

**Runs.** `scenarios/panorama/controlled-video.toml` and `controlled-video-beside.toml`: `rtc` with `control = \"prague-rt\"`, 50 frames/s,
lengths with a deviation of 10.5 %, paced over 80 % of the frame interval; 60 s after 10 s, mean of two seeds. Rates are payload, delays those of
the video's packets in the queue.

**Beside SCReAM.** Another control, so its figures are a measure of what such a control can do, and no bounds. The
[next section](#rendered-video-under-scream) has SCReAM itself.

**Bounds.** P99 of the delay with ECT(1) below 4 ms, the longest of the source; 34 to 45 Mbit/s alone; beside others 0.25 to 1.1 of a Prague
flow's rate.
";
