//! The browsing of the demonstration of 2015: items beside downloads, behind five queues, with the two tails that its slides name.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use quell_app::{Cause, Outcome};
use quell_lab::{EventRow, Listener, Row, Unwritten, sim};
use quell_measure::Summary;
use quell_units::Time;

use super::evaluation::{Misses, digits, group, rate_of};
use super::page;
use super::sweep::sweep;
use super::table::Table;
use crate::experiment::scenario;

const TITLE: &str = "Web items: browsing beside downloads, as demonstrated in 2015";
const FILE: &str = "web/browsing.toml";
const CSV: &str = "published-browsing.csv";

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const USERS: [&str; 2] = ["l4s-web", "classic-web"];

/// Name and settings of each queue.
const QUEUES: [(&str, &[&str]); 5] = [
    (
        "drop-tail, 100 ms",
        &["link.queue={ kind = \"fifo\", limit = \"100ms\" }"],
    ),
    ("PIE", &["link.queue.kind=pie"]),
    ("FQ-CoDel", &["link.queue.kind=fq_codel"]),
    ("DualQ of 2015", &["link.queue.kind=dualq_2015"]),
    ("DualPI2", &["link.queue.kind=dualpi2"]),
];
/// The same with Prague for the L4S user.
const PRAGUE: (&str, &[&str]) = (
    "DualPI2, Prague",
    &[
        "link.queue.kind=dualpi2",
        "group.l4s-web.congestion-control=prague",
    ],
);
/// Items per second of each user: the radio buttons of the demonstration.
const RATES: [u32; 3] = [0, 10, 100];

/// Link and base RTT of the scenario.
const MBPS: f64 = 40.0;
const RTT_MS: f64 = 7.0;
/// Payload of ten full packets, the initial window: all of it leaves at once.
const WINDOW: u64 = 14_480;
/// Edges of the ranges of sizes, as in the evaluation of the DualQ Coupled AQM.
const EDGES: [u64; 8] = [
    1_000, 3_000, 9_000, 27_000, 81_000, 243_000, 729_000, 1_000_000,
];
const SIZES: [&str; 7] = [
    "1 to 3 kB",
    "3 to 9 kB",
    "9 to 27 kB",
    "27 to 81 kB",
    "81 to 243 kB",
    "243 to 729 kB",
    "729 kB to 1 MB",
];
const TIMEOUT_MS: f64 = 200.0;
const SETUP_MS: f64 = 1_000.0;

/// An item that was over after the warm-up.
#[derive(Debug, Clone, Copy)]
struct Item {
    size: u64,
    /// From the SYN to the end of the file, and until the connection was up, in ms.
    completion: f64,
    setup: f64,
    /// The costliest repair of its connection.
    cause: Option<Cause>,
}

impl Item {
    fn new(row: &EventRow) -> Option<Self> {
        let event = &row.event;
        let ended = event.ended?;
        Some(Self {
            cause: row.repairs.cause(),
            size: event.size,
            completion: (ended - event.started).as_nanos() as f64 / 1e6,
            setup: event.value as f64 / 1e6,
        })
    }
    fn is_small(&self) -> bool {
        self.size <= WINDOW
    }
    /// A set-up packet was lost: nothing else takes a second before the connection is up.
    fn lost_setup(&self) -> bool {
        self.setup >= SETUP_MS
    }
    /// Once the connection was up, the file took as long as a retransmission timer or longer.
    fn waited(&self) -> bool {
        self.completion - self.setup >= TIMEOUT_MS
    }
    /// Best completion time over the actual one, as the evaluation of the DualQ counts.
    fn normalised(&self) -> f64 {
        (self.size as f64 * 8.0 / MBPS / 1e3 + 2.0 * RTT_MS) / self.completion
    }
}

/// The items of each group, by its number.
struct Items {
    from: Time,
    all: BTreeMap<u32, Vec<Item>>,
}

impl Listener for Items {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        if let Row::Event(row) = row
            && row.event.outcome == Outcome::Complete
            && row.event.ended.is_some_and(|ended| ended >= self.from)
        {
            let items = self.all.entry(row.group.0).or_default();
            items.extend(Item::new(&row));
        }
        Ok(())
    }
}

/// What the runs of a queue and a rate gave.
struct Found {
    runs: Vec<Summary>,
    /// Of all runs, by user.
    items: [Vec<Item>; 2],
}

impl Found {
    fn mean(&self, figure: impl Fn(&Summary) -> f64) -> f64 {
        self.runs.iter().map(figure).sum::<f64>() / self.runs.len() as f64
    }
    /// Dropped of what the group offered, in %.
    fn drops(&self, name: &str) -> f64 {
        let count = |of: fn(&quell_measure::GroupSummary) -> u64| -> u64 {
            let groups = self.runs.iter().filter_map(|run| group(run, name));
            groups.map(of).sum()
        };
        let dropped = count(|group| group.dropped);
        100.0 * dropped as f64 / (dropped + count(|group| group.packets)).max(1) as f64
    }
    /// Marked of what was delivered to the group, in %.
    fn marks(&self, name: &str) -> f64 {
        let groups = || self.runs.iter().filter_map(|run| group(run, name));
        let marked: u64 = groups().map(|group| group.marked).sum();
        let packets: u64 = groups().map(|group| group.packets).sum();
        100.0 * marked as f64 / packets.max(1) as f64
    }
    fn unfinished(&self, user: &str) -> f64 {
        let of = |run: &Summary| {
            let app = group(run, user).and_then(|group| group.app.as_ref());
            app.and_then(|app| app.number("unfinished"))
                .unwrap_or_default()
        };
        self.runs.iter().map(of).sum()
    }
}

fn run(sets: &[&str], rate: u32) -> Found {
    let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    for user in USERS {
        let app = format!("group.{user}.app={{ kind = \"web\", rate = {rate} }}");
        sets.push(app);
    }
    let scenario = scenario(FILE, &sets);
    let number = |user: &str| {
        let mut groups = scenario.groups.iter();
        groups.position(|group| group.name == user).unwrap() as u32
    };
    let users = USERS.map(number);
    let mut found = Found {
        runs: Vec::new(),
        items: [Vec::new(), Vec::new()],
    };
    for seed in SEEDS {
        let mut items = Items {
            from: scenario.run.warmup,
            all: BTreeMap::new(),
        };
        let run = sim::run(&scenario, seed, &AtomicBool::new(false), &mut items).unwrap();
        found.runs.push(run.summary);
        for (user, all) in users.iter().zip(&mut found.items) {
            all.extend(items.all.remove(user).unwrap_or_default());
        }
    }
    found
}

/// Of sorted values; `None` of fewer than `least`.
fn quantile(sorted: &[f64], share: f64, least: usize) -> Option<f64> {
    let index = (sorted.len() as f64 * share) as usize;
    (sorted.len() >= least).then(|| sorted[index.min(sorted.len() - 1)])
}

/// Shares of small items in %: of a second or more, and with a lost set-up packet; of 0.2 s up to a second, and of those the ones that
/// took as long after their connection was up.
struct Tails {
    count: usize,
    second: f64,
    setup: f64,
    fifth: f64,
    timeout: f64,
}

impl Tails {
    fn of(items: &[Item]) -> Self {
        let small: Vec<&Item> = items.iter().filter(|item| item.is_small()).collect();
        let share = |is: &dyn Fn(&Item) -> bool| {
            let count = small.iter().filter(|item| is(item)).count();
            100.0 * count as f64 / small.len().max(1) as f64
        };
        let is_fifth = |item: &Item| (TIMEOUT_MS..SETUP_MS).contains(&item.completion);
        Self {
            count: small.len(),
            second: share(&|item| item.completion >= SETUP_MS),
            setup: share(&Item::lost_setup),
            fifth: share(&is_fifth),
            timeout: share(&|item| is_fifth(item) && item.waited()),
        }
    }
}

/// How many items are in a tail, and of these the shares, in percent, with each of [`CAUSES`].
struct Causes {
    count: usize,
    shares: [f64; CAUSES.len()],
}

const CAUSES: [Option<Cause>; 5] = [
    Some(Cause::Handshake),
    Some(Cause::Timeout),
    Some(Cause::Probe),
    Some(Cause::Recovery),
    None,
];

impl Causes {
    /// Of the items of up to ten packets that took so long, in ms.
    fn of(items: &[Item], took: &std::ops::Range<f64>) -> Self {
        let in_tail = |item: &&Item| item.is_small() && took.contains(&item.completion);
        let tail: Vec<&Item> = items.iter().filter(in_tail).collect();
        let count = tail.len();
        let share = |cause| {
            let with = tail.iter().filter(|item| item.cause == cause).count();
            100.0 * with as f64 / count.max(1) as f64
        };
        Self {
            count,
            shares: CAUSES.map(share),
        }
    }
    /// Those whose packets only a timer could repair, in percent.
    fn timers(&self) -> f64 {
        self.shares[..3].iter().sum()
    }
}

/// From 0.2 s to 1 s, and longer.
const TAILS_OF: [(&str, std::ops::Range<f64>); 2] = [
    ("0.2 to 1 s", TIMEOUT_MS..SETUP_MS),
    ("≥ 1 s", SETUP_MS..f64::INFINITY),
];

fn cause_table(all: &[(&str, u32, Found)]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "user",
        "tail",
        "items",
        "SYN or SYN-ACK, %",
        "time-out, %",
        "tail loss probe, %",
        "fast recovery, %",
        "no repair, %",
    ]);
    for (queue, rate, user, _, items) in users(all) {
        for (tail, took) in &TAILS_OF {
            let causes = Causes::of(items, took);
            if causes.count == 0 {
                continue;
            }
            let mut cells = vec![
                queue.to_owned(),
                rate.to_string(),
                name(queue, user).to_owned(),
                (*tail).to_owned(),
                causes.count.to_string(),
            ];
            cells.extend(causes.shares.map(digits));
            table.row(&cells);
        }
    }
    table
}

/// Sorted completion times and mean of the normalised ones, of the items of a range of sizes.
fn of_range(items: &[Item], range: usize) -> (Vec<f64>, f64) {
    let sizes = EDGES[range]..EDGES[range + 1];
    let of_range = || items.iter().filter(|item| sizes.contains(&item.size));
    let mut times: Vec<f64> = of_range().map(|item| item.completion).collect();
    times.sort_by(f64::total_cmp);
    let normalised: f64 = of_range().map(Item::normalised).sum();
    let mean = normalised / times.len().max(1) as f64;
    (times, mean)
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), digits)
}

/// Of the link and the downloads.
fn link_table(all: &[(&str, u32, Found)]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "utilisation, %",
        "a DCTCP download, Mbit/s",
        "a CUBIC download, Mbit/s",
        "marks of DCTCP, %",
        "its drops, %",
        "drops of CUBIC, %",
    ]);
    for (queue, rate, found) in all {
        let download = |name: &str| {
            found.mean(|run| {
                let group = group(run, name).unwrap();
                rate_of(run, group) / group.count as f64
            })
        };
        table.row(&[
            (*queue).to_owned(),
            rate.to_string(),
            digits(found.mean(|run| 100.0 * run.figures.link.utilisation)),
            digits(download("l4s")),
            digits(download("classic")),
            digits(found.marks("l4s")),
            digits(found.drops("l4s")),
            digits(found.drops("classic")),
        ]);
    }
    table
}

/// Each user of each row with items.
fn users<'a>(
    all: &'a [(&'a str, u32, Found)],
) -> impl Iterator<Item = (&'a str, u32, &'static str, &'a Found, &'a [Item])> {
    let with_items = all.iter().filter(|(_, rate, _)| *rate > 0);
    with_items.flat_map(|(queue, rate, found)| {
        let of = |index: usize| (*queue, *rate, USERS[index], found, &found.items[index][..]);
        [0, 1].map(of)
    })
}

fn name(queue: &str, user: &str) -> &'static str {
    match (user, queue) {
        ("classic-web", _) => "CUBIC",
        (_, queue) if queue == PRAGUE.0 => "Prague",
        _ => "DCTCP",
    }
}

fn tail_table(all: &[(&str, u32, Found)]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items/s",
        "user",
        "items",
        "≥ 1 s, %",
        "set-up ≥ 1 s, %",
        "0.2 to 1 s, %",
        "of them after set-up, %",
        "P50, ms",
        "P99, ms",
        "P99.9, ms",
        "unfinished",
    ]);
    for (queue, rate, user, found, items) in users(all) {
        let tails = Tails::of(items);
        let small = items.iter().filter(|item| item.is_small());
        let mut times: Vec<f64> = small.map(|item| item.completion).collect();
        times.sort_by(f64::total_cmp);
        let mut cells = vec![
            queue.to_owned(),
            rate.to_string(),
            name(queue, user).to_owned(),
            tails.count.to_string(),
        ];
        cells.extend([tails.second, tails.setup, tails.fifth, tails.timeout].map(digits));
        cells.push(shown(quantile(&times, 0.5, 1)));
        cells.push(shown(quantile(&times, 0.99, 100)));
        cells.push(shown(quantile(&times, 0.999, 1_000)));
        cells.push(format!("{:.0}", found.unfinished(user)));
        table.row(&cells);
    }
    table
}

/// P50 and P99 of the ranges of sizes that the page shows, at 100 items per second.
fn size_table(all: &[(&str, u32, Found)]) -> Table {
    let shown_ranges = [0, 2, 3, 5];
    let mut heads = vec!["queue".to_owned(), "user".to_owned()];
    heads.extend(shown_ranges.map(|range| format!("{}: P50/P99", SIZES[range])));
    heads.push("normalised, 1 to 3 kB".to_owned());
    heads.push("27 to 81 kB".to_owned());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads);
    for (queue, rate, user, _, items) in users(all) {
        if rate != 100 {
            continue;
        }
        let mut cells = vec![queue.to_owned(), name(queue, user).to_owned()];
        for range in shown_ranges {
            let (times, _) = of_range(items, range);
            let [p50, p99] = [0.5, 0.99].map(|share| shown(quantile(&times, share, 100)));
            cells.push(format!("{p50}/{p99}"));
        }
        cells.extend([0, 3].map(|range| digits(of_range(items, range).1)));
        table.row(&cells);
    }
    table
}

fn csv(all: &[(&str, u32, Found)]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "items_per_s",
        "user",
        "from_bytes",
        "to_bytes",
        "items",
        "p50_ms",
        "p99_ms",
        "normalised_mean",
        "normalised_p1",
        "at_least_1s_percent",
        "from_200ms_to_1s_percent",
    ]);
    for (queue, rate, user, _, items) in users(all) {
        for range in 0..SIZES.len() {
            let (times, normalised) = of_range(items, range);
            let sizes = EDGES[range]..EDGES[range + 1];
            let inside = items.iter().filter(|item| sizes.contains(&item.size));
            let mut worst: Vec<f64> = inside.map(Item::normalised).collect();
            worst.sort_by(f64::total_cmp);
            let share = |from: f64, to: f64| {
                let count = times.iter().filter(|time| (from..to).contains(*time));
                100.0 * count.count() as f64 / times.len().max(1) as f64
            };
            let number = |value: Option<f64>| value.map_or(String::new(), digits);
            table.row(&[
                queue.to_owned(),
                rate.to_string(),
                name(queue, user).to_owned(),
                EDGES[range].to_string(),
                EDGES[range + 1].to_string(),
                times.len().to_string(),
                number(quantile(&times, 0.5, 1)),
                number(quantile(&times, 0.99, 100)),
                digits(normalised),
                number(quantile(&worst, 0.01, 100)),
                digits(share(SETUP_MS, f64::INFINITY)),
                digits(share(TIMEOUT_MS, SETUP_MS)),
            ]);
        }
    }
    table
}

/// The median of a range of sizes.
fn median(all: &[(&str, u32, Found)], queue: &str, rate: u32, user: &str, range: usize) -> f64 {
    let mut all = users(all);
    let found = all.find(|(q, r, u, ..)| (*q, *r, *u) == (queue, rate, user));
    let (times, _) = of_range(found.unwrap().4, range);
    times[times.len() / 2]
}

fn judge(misses: &mut Misses, all: &[(&str, u32, Found)]) {
    for (queue, rate, user, found, items) in users(all) {
        let tails = Tails::of(items);
        let both = [tails.setup, tails.timeout];
        let what = format!("{queue} {rate} {user}: {both:?} %");
        let is_dual = ["DualQ of 2015", "DualPI2"].contains(&queue);
        if is_dual && user == "l4s-web" {
            misses.unless(tails.second == 0.0 && tails.fifth == 0.0, what);
        } else if is_dual || queue == "PIE" {
            let group = ["l4s", "classic"][usize::from(user == "classic-web")];
            let dropped = found.drops(group);
            let range = match rate {
                100 => 0.8 * dropped..1.5 * dropped,
                // Some tens of items are in either tail.
                _ => 0.5 * dropped..2.0 * dropped,
            };
            misses.unless(
                both.iter().all(|share| range.contains(share)),
                format!("{what}, drops {dropped} %"),
            );
            let [fifth, second] = TAILS_OF.map(|(_, took)| Causes::of(items, &took));
            misses.unless(
                fifth.timers() >= 90.0 && second.shares[0] >= 90.0,
                format!("{what}: {:?} {:?}", fifth.shares, second.shares),
            );
        } else if queue == "FQ-CoDel" {
            misses.unless(tails.second <= 0.2 && tails.fifth <= 0.2, what);
        }
    }
    for rate in [10, 100] {
        for user in USERS {
            let of = |queue| median(all, queue, rate, user, 1);
            let [tail, pie, fair] = ["drop-tail, 100 ms", "PIE", "FQ-CoDel"].map(of);
            misses.unless(
                tail > pie && pie > fair,
                format!("{rate} {user}: drop-tail {tail}, PIE {pie}, FQ-CoDel {fair}"),
            );
        }
        let [l4s, classic] = USERS.map(|user| median(all, "DualPI2", rate, user, 1));
        misses.unless(l4s < classic, format!("DualPI2 {rate}: {l4s} {classic}"));
    }
    let [fair, dual] = ["FQ-CoDel", "DualPI2"].map(|queue| median(all, queue, 100, "l4s-web", 2));
    misses.unless(fair > 1.5 * dual, format!("9 to 27 kB: {fair} and {dual}"));
    for (queue, rate, found) in all {
        let used = found.mean(|run| 100.0 * run.figures.link.utilisation);
        misses.unless(used > 99.0, format!("{queue} {rate}: {used} % of the link"));
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_tails_of_browsing_are_those_of_lost_set_up_and_last_packets() {
    let mut points: Vec<(&str, &[&str], u32)> = Vec::new();
    for (queue, sets) in QUEUES {
        points.extend(RATES.map(|rate| (queue, sets, rate)));
    }
    points.extend([10, 100].map(|rate| (PRAGUE.0, PRAGUE.1, rate)));
    let results = sweep(&points, |(_, sets, rate)| run(sets, *rate));
    let all: Vec<_> = points
        .iter()
        .zip(results)
        .map(|((queue, _, rate), found)| (*queue, *rate, found))
        .collect();
    let mut misses = Misses::default();
    judge(&mut misses, &all);
    let body = format!(
        "{RESULT}\n\n{TAILS}\n\n{}\n\n{WHY}\n\n{}\n\n{BY_SIZE}\n\n{}\n\n{LINK}\n\n{}\n\n{TEXT}",
        tail_table(&all),
        cause_table(&all),
        size_table(&all),
        link_table(&all),
    );
    misses.assert_none(&body);
    page::check(TITLE, &body, &[(CSV, &csv(&all))]);
}

const RESULT: &str = "\
**Result.** Both tails of the slides are there, and they are gone where the slides show the improvement. Behind either DualQ no item
of up to ten packets of the DCTCP user took 0.2 s: nothing of L4S is dropped, and with DCTCP every packet is ECN-capable, SYN, SYN-ACK and
FIN included, as in Linux. The items of the CUBIC user behind the same queues have both tails. A set-up packet and the last packet of a
file are each alone in flight, so only a timer repairs their loss, and each tail is about as large as the drop probability: 1.1 to 1.3
times the drop ratio of the downloads at 100 items per second, because items come at any time, and downloads send less when many packets
are dropped.

* **PIE** drops packets of both users, who both have both tails; its P99 is the second of a lost set-up packet, and so longer than that of
  drop-tail, although its queue is far shorter.
* **FQ-CoDel** gives an item its own queue, in which nothing is dropped. The 0.1 % of the CUBIC user are items that share one of the 1 024
  queues with one of the four DCTCP downloads: CoDel drops their packets where it marks those of DCTCP, and 4 / 1 024 of 25 % is 0.1 %. A
  flight of ten packets (9 to 27 kB) takes longer than behind a DualQ, because it takes turns with the downloads.
* **Drop-tail** is limited in bytes, and set-up packets are small, so most of them fit. Its items beyond 0.2 s wait in the queue: each
  of their two round trips takes up to 107 ms, and one repair by a duplicate ACK as long again.
* **Prague** has an ECN-capable SYN too, and like DCTCP neither tail, but for two SYNs in a moment of overload, when DualPI2 drops from
  both queues.";
const TAILS: &str = "\
Items of up to 14 480 bytes, which leave in one flight, so that what they wait for is a queue or a timer:";
const WHY: &str = "\
Why these items took so long, by the costliest repair of TCP at either end (`events.parquet`): a SYN or SYN-ACK that was sent again, a
retransmission time-out, a tail loss probe (after 2 SRTT, and 200 ms more for a packet that is alone in flight), fast recovery; without a
repair, the queue:";
const BY_SIZE: &str = "By size, at 100 items per second; times in ms:";
const LINK: &str = "The link and the downloads:";
const TEXT: &str = "\
**Source.** Slides of the demonstration of the DualQ Coupled AQM (2015): per user 0, 10 or 100 items per second beside four DCTCP and two
CUBIC downloads, on 40 Mbit/s with a base RTT of 7 ms; the screen showed 20 % marks, 4 % drops and a full link. The slide
\"Improved Web browsing experience\" has two annotations, \"1 second timeout on lost connection setup packets\" and \"200ms timeout on lost
last packets\"; its plots can no longer be read.
Sizes and arrivals: the demonstration's program (github.com/L4STeam/l4sdemo), Pareto with a shape of 0.9 from 1 kB to 1 MB, Poisson.

**Runs.** `scenarios/web/browsing.toml` with five seeds, 100 s each after the warm-up, taken together. *set-up ≥ 1 s*: from the request for
the connection until it was up. *of them after set-up*: of those of 0.2 to 1 s, the ones that took 0.2 s or longer once the connection was
up. Normalised is the mean of (size / link + 2 RTT) / completion. An item ends with its FIN. `unfinished` counts items of all sizes.
[published-browsing.csv](data/published-browsing.csv) has every range of sizes, with normalised times and shares.

**Bounds.** No item of DCTCP of 0.2 s or longer behind either DualQ. Behind them for CUBIC, and behind PIE for both, each tail from 0.8 to
1.5 times the drop ratio of the downloads with the same control (0.5 to 2 at 10 items per second, where some tens of items are in a
tail); of the items of 0.2 to 1 s at least 90 % with a timer as their cause, of those of 1 s or longer at least 90 % with a set-up packet.
At most 0.2 % in either tail behind FQ-CoDel. Medians of 3 to 9 kB: drop-tail above PIE above FQ-CoDel, and Classic above L4S
behind DualPI2; of 9 to 27 kB: FQ-CoDel above 1.5 times L4S. More than 99 % of the link.";
