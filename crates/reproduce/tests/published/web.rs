//! Items of the web: flow completion times that heistp/ccafct publishes.

use std::sync::atomic::AtomicBool;

use quell_app::Outcome;
use quell_lab::{Listener, Row, Unwritten, sim};
use quell_units::Time;

use super::evaluation::{Misses, digits};
use super::page;
use super::table::Table;
use crate::experiment::scenario;

const CCAFCT: &str = "Web items: flow completion times beside a download";

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
