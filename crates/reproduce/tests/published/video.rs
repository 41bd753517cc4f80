//! Rendered video in datagrams that Prague controls, on the links on which the authors of SCReAM publish their control: another
//! control, so their figures stand beside and are no bounds, but for the delay.

use quell_measure::Summary;

use super::evaluation::{Misses, digits, group, summaries};
use super::page;
use super::sweep::sweep;
use super::table::Table;

const TITLE: &str = "Rendered video under Prague, beside SCReAM";

const SEEDS: &[u64] = &[1, 2];

/// Mean of `figure` over the runs.
fn mean(runs: &[Summary], figure: impl Fn(&Summary) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}

/// Rate of the group's packets, in Mbit/s of payload.
pub(crate) fn rate(runs: &[Summary], name: &str) -> f64 {
    mean(runs, |run| {
        let group = group(run, name).unwrap();
        group.goodput_bps.iter().sum::<f64>() / group.count as f64 / 1e6
    })
}

/// Mean, P90, P99 and maximum of the delay of the video's packets in ms.
pub(crate) fn delays(runs: &[Summary]) -> [f64; 4] {
    let of = |figure: fn(&quell_measure::Dist) -> f64| {
        mean(runs, |run| {
            figure(group(run, "video").unwrap().delay_ms.as_ref().unwrap())
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
pub(crate) fn report(runs: &[Summary], figure: &str) -> f64 {
    mean(runs, |run| {
        let app = group(run, "video").unwrap().app.as_ref().unwrap();
        app.number(figure).unwrap()
    })
}

/// ECN field of the video, and a log of SCReAM's authors: Mbit/s, and the queue delay as [`delays`].
pub(crate) type Log = (&'static str, f64, [f64; 4]);
pub(crate) const LOGS: [Log; 2] = [
    ("ect1", 38.5, [1.0, 1.4, 2.2, 4.0]),
    ("off", 44.0, [6.2, 14.9, 18.6, 19.9]),
];

/// RTT in ms, and the rate of SCReAM in Mbit/s beside 0 to 4 Prague flows, with frames of one length.
pub(crate) const RECORD: [(u64, [f64; 5]); 3] = [
    (5, [79.0, 52.0, 40.0, 29.0, 20.0]),
    (25, [78.0, 60.0, 48.0, 38.0, 29.0]),
    (100, [71.0, 54.0, 32.0, 25.0, 18.0]),
];

/// A figure of the source and ours.
pub(crate) fn beside(source: f64, ours: f64) -> String {
    format!("{} / {}", digits(source), digits(ours))
}

/// The table of the video alone, beside [`LOGS`].
pub(crate) fn alone(runs: &[Vec<Summary>]) -> Table {
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

#[test]
#[ignore = "takes long: make test-all"]
fn video_under_prague_keeps_queues_short_and_takes_its_share() {
    let mut misses = Misses::default();
    let runs = sweep(&LOGS, |(ecn, ..)| {
        let ecn = format!("group.video.ecn={ecn}");
        summaries("panorama/controlled-video.toml", &[ecn], SEEDS)
    });
    let alone = alone(&runs);
    for ((ecn, ..), runs) in LOGS.iter().zip(&runs) {
        if *ecn == "ect1" {
            let p99 = delays(runs)[2];
            misses.unless(p99 < 4.0, format!("P99 of {p99} ms"));
            let rate = rate(runs, "video");
            misses.unless((34.0..45.0).contains(&rate), format!("{rate} Mbit/s alone"));
        }
    }
    let points: Vec<(u64, usize)> = RECORD
        .iter()
        .flat_map(|(rtt, _)| (1..=4).map(move |count| (*rtt, count)))
        .collect();
    let runs = sweep(&points, |(rtt, count)| {
        let sets = [
            format!("group.downloads.count={count}"),
            format!("group.video.rtt={rtt}ms"),
            format!("group.downloads.rtt={rtt}ms"),
        ];
        summaries("panorama/controlled-video-beside.toml", &sets, SEEDS)
    });
    let mut table = Table::new(&[
        "RTT, ms",
        "Prague flows",
        "video, Mbit/s",
        "a Prague flow, Mbit/s",
        "P99 of the delay, ms",
    ]);
    for ((rtt, count), runs) in points.iter().zip(&runs) {
        let (_, published) = RECORD.iter().find(|(of, _)| of == rtt).unwrap();
        let source = published[*count];
        let (video, tcp) = (rate(runs, "video"), rate(runs, "downloads"));
        let p99 = delays(runs)[2];
        let other = (100.0 - source) / *count as f64;
        table.row(&[
            rtt.to_string(),
            count.to_string(),
            beside(source, video),
            beside(other, tcp),
            digits(p99),
        ]);
        let ratio = video / tcp;
        let name = format!("{count} flows at {rtt} ms");
        misses.unless(p99 < 4.0, format!("{name}: P99 of {p99} ms"));
        misses.unless(
            (RATIO[0]..RATIO[1]).contains(&ratio),
            format!("{name}: {video} beside {tcp} Mbit/s"),
        );
    }
    let body = format!("{RESULT}\n{alone}\n{TEXT}\n{table}\n{END}");
    misses.assert_none(&body);
    page::check(TITLE, &body, &[]);
}

/// Rate of the video in parts of a Prague flow's.
const RATIO: [f64; 2] = [0.25, 1.1];

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
