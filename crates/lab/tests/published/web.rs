//! Items of the web: flow completion times that heistp/ccafct publishes, and the browsing of the demonstration of 2015.

use std::sync::atomic::AtomicBool;

use quell_app::Outcome;
use quell_lab::{Listener, Row, Unwritten, sim};
use quell_measure::Summary;
use quell_units::Time;

use super::evaluation::{Misses, digits, group, summaries};
use super::page;
use super::table::Table;
use crate::experiment::scenario;

const CCAFCT: &str = "Web items: flow completion times beside a download";
const SEED: &str = "Web items: browsing beside downloads, as demonstrated in 2015";

/// README of heistp/ccafct, `fq_codel flows 1` at 50 Mbit/s, one run each on real hosts of 2020: RTT, then geometric mean, median and
/// 95th percentile alone and beside a CUBIC download, all in ms.
const PUBLISHED: [(u64, [f64; 3], [f64; 3]); 5] = [
    (10, [176.2, 154.3, 1_061.0], [339.3, 314.9, 2_003.0]),
    (20, [243.0, 211.5, 1_155.0], [376.6, 351.7, 1_986.0]),
    (40, [369.2, 317.8, 1_635.0], [475.7, 423.9, 2_180.0]),
    (80, [599.9, 554.5, 2_136.0], [906.7, 846.9, 3_709.0]),
    (160, [976.6, 976.4, 3_465.0], [1_127.7, 1_043.2, 4_208.0]),
];

/// How long complete items took, in ms.
#[derive(Default)]
struct Completions(Vec<f64>);

impl Listener for Completions {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        if let Row::Event(row) = row
            && let (Outcome::Complete, Some(ended)) = (row.event.outcome, row.event.ended)
        {
            self.0
                .push((ended - row.event.started).as_nanos() as f64 / 1e6);
        }
        Ok(())
    }
}

/// Geometric mean, median and 95th percentile over five seeds together.
fn figures(rtt_ms: u64, downloads: u32) -> [f64; 3] {
    let sets = [
        format!("group.items.rtt={rtt_ms}ms"),
        format!("group.download.rtt={rtt_ms}ms"),
        format!("group.download.count={downloads}"),
    ];
    let mut all = Completions::default();
    // A group that never has a flow is refused: alone means without it.
    let scenario = match downloads {
        0 => {
            let mut scenario = scenario("web/ccafct.toml", &sets[..2]);
            scenario.groups.retain(|group| group.name == "items");
            scenario
        }
        _ => scenario("web/ccafct.toml", &sets),
    };
    for seed in 1..=5 {
        sim::run(&scenario, seed, &AtomicBool::new(false), &mut all).unwrap();
    }
    let mut spans = all.0;
    spans.sort_by(f64::total_cmp);
    let logarithms: f64 = spans.iter().map(|span| span.ln()).sum();
    let count = spans.len();
    [
        (logarithms / count as f64).exp(),
        spans[count / 2],
        spans[count * 95 / 100],
    ]
}

#[test]
#[ignore = "takes long: make test-all"]
fn completion_times_agree_with_those_of_ccafct() {
    let mut misses = Misses::default();
    let heads = [
        "RTT, ms",
        "beside",
        "geometric mean",
        "quell",
        "median",
        "quell",
        "P95",
        "quell",
    ];
    let mut table = Table::new(&heads);
    let mut harms = Vec::new();
    for (rtt, alone, beside) in PUBLISHED {
        let found = [figures(rtt, 0), figures(rtt, 1)];
        for (name, published, ours) in [("–", alone, found[0]), ("CUBIC", beside, found[1])] {
            let mut cells = vec![rtt.to_string(), name.to_owned()];
            for (published, ours) in published.iter().zip(ours) {
                cells.extend([digits(*published), digits(ours)]);
            }
            table.row(&cells);
            for (figure, at) in [("geometric mean", 0), ("median", 1)] {
                let what = format!("{figure} at {rtt} ms beside {name}");
                misses.within(what, ours[at], published[at], 30.0);
            }
        }
        harms.push(1.0 - found[0][0] / found[1][0]);
    }
    let shown: Vec<String> = harms.iter().map(|harm| format!("{harm:.2}")).collect();
    misses.unless(
        harms[0] > harms[4],
        format!("harm does not fall with the RTT: {harms:?}"),
    );
    let body = format!(
        "{CCAFCT_HEAD}\n\n{table}\n\nHarm, 1 − geometric mean alone / beside, by RTT: published 0.48, 0.36, 0.22, 0.34, 0.13; quell {}.",
        shown.join(", ")
    );
    misses.assert_none(&body);
    page::check(CCAFCT, &body, &[]);
}

const CCAFCT_HEAD: &str = "\
Source: README of heistp/ccafct (2020), one run each on real hosts. Items of log-normal size (64 KiB at the 5th percentile, 2 MiB at the
95th) arrive at 5 per second, at 50 Mbit/s with CoDel in one queue. `scenarios/web/ccafct.toml`, five seeds together; times in ms.
**Bounds:** geometric mean and median within 30 %, as the source has single runs; harm falls from the shortest to the longest RTT.";

const QUEUES: [&str; 5] = [
    "{ kind = \"fifo\", limit = \"100ms\" }",
    "\"pie\"",
    "\"dualq_2015\"",
    "\"dualpi2\"",
    "\"fq_codel\"",
];

/// P50, P90 and P99 of items of 3 to 9 kB, shares above 0.2 s and above 1 s in %, and items without an end.
fn felt(summary: &Summary, name: &str) -> [f64; 6] {
    let app = group(summary, name)
        .and_then(|group| group.app.as_ref())
        .unwrap();
    let times = app.times("completion_from_3kB_ms").unwrap();
    let percent = |figure: &str| 100.0 * app.number(figure).unwrap_or_default();
    [
        times.p50,
        times.p90,
        times.p99.unwrap_or_default(),
        percent("slower_than_200ms"),
        percent("slower_than_1s"),
        app.number("unfinished").unwrap_or_default(),
    ]
}

#[test]
#[ignore = "takes long: make test-all"]
fn browsing_beside_downloads_is_ordered_by_the_queue() {
    let mut misses = Misses::default();
    let heads = [
        "queue",
        "items/s",
        "user",
        "P50, ms",
        "P90, ms",
        "P99, ms",
        "≥ 0.2 s, %",
        "≥ 1 s, %",
        "unfinished",
    ];
    let mut table = Table::new(&heads);
    let mut all = Vec::new();
    for queue in QUEUES {
        for rate in [10, 100] {
            let app = format!("{{ kind = \"web\", rate = {rate} }}");
            let sets = [
                format!("link.queue={queue}"),
                format!("group.l4s-web.app={app}"),
                format!("group.classic-web.app={app}"),
            ];
            let runs = summaries("web/browsing.toml", &sets, &[1]);
            for user in ["l4s-web", "classic-web"] {
                let found = felt(&runs[0], user);
                let queue = queue
                    .replace('"', "")
                    .replace("{ kind = ", "")
                    .replace(" }", "");
                let mut cells = vec![queue.clone(), rate.to_string(), user.to_owned()];
                cells.extend(found.map(digits));
                table.row(&cells);
                all.push((queue, rate, user, found));
            }
        }
    }
    let median = |queue: &str, rate: i32, user: &str| {
        let mut all = all.iter();
        let found = all.find(|(q, r, u, _)| q.starts_with(queue) && *r == rate && *u == user);
        found.map_or(f64::NAN, |(.., found)| found[0])
    };
    for rate in [10, 100] {
        for user in ["l4s-web", "classic-web"] {
            let [tail, pie, fair] =
                ["fifo", "pie", "fq_codel"].map(|queue| median(queue, rate, user));
            misses.unless(
                tail > pie && pie > fair,
                format!("{rate} {user}: drop-tail {tail}, PIE {pie}, FQ-CoDel {fair}"),
            );
        }
        let [l4s, classic] = ["l4s-web", "classic-web"].map(|user| median("dualpi2", rate, user));
        misses.unless(l4s < classic, format!("DualPI2 {rate}: {l4s} {classic}"));
    }
    let body = format!("{SEED_HEAD}\n\n{table}");
    misses.assert_none(&body);
    page::check(SEED, &body, &[]);
}

const SEED_HEAD: &str = "\
The demonstration of 2015 has browsing of 10 or 100 items per second beside four DCTCP and two CUBIC downloads, on 40 Mbit/s with 7 ms; its
plots can no longer be read. Its two annotations are tails of 1 s for lost set-up packets and of 0.2 s for lost last packets.
`scenarios/web/browsing.toml`, one user with the control of each kind of download; percentiles are of items from 3 to 9 kB. SYN and SYN-ACK
of quell's DCTCP are Not-ECT: behind a dual queue both users' set-up packets meet the drops of the Classic queue.
**Bounds:** the median is longer behind drop-tail than behind PIE, and there longer than behind FQ-CoDel; behind DualPI2 the L4S user has a
shorter one than the Classic user.";
