//! What the runs of a queue and a rate gave.

use std::ops::Range;

use quell_app::Cause;
use quell_measure::{GroupSummary, Summary};

use super::{PRAGUE, USERS};
use crate::evaluation::group;
use crate::probe::items::{self, Items};

/// Link and base RTT of the scenario.
pub(super) const MBPS: f64 = 40.0;
pub(super) const RTT_MS: f64 = 7.0;
/// Payload of ten full packets, the initial window: all of it leaves at once.
pub(super) const WINDOW: u64 = 14_480;
/// Edges of the ranges of sizes, as in the evaluation of the DualQ Coupled AQM.
pub(super) const EDGES: [u64; 8] = [
    1_000, 3_000, 9_000, 27_000, 81_000, 243_000, 729_000, 1_000_000,
];
pub(super) const SIZES: [&str; 7] = [
    "1 to 3 kB",
    "3 to 9 kB",
    "9 to 27 kB",
    "27 to 81 kB",
    "81 to 243 kB",
    "243 to 729 kB",
    "729 kB to 1 MB",
];
pub(super) const TIMEOUT_MS: f64 = 200.0;
pub(super) const SETUP_MS: f64 = 1_000.0;

/// An item that was over after the warm-up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) size: u64,
    /// From the SYN to the end of the file, and until the connection was up, in ms.
    pub(super) completion: f64,
    pub(super) setup: f64,
    /// The costliest repair of its connection.
    pub(super) cause: Option<Cause>,
}

impl Item {
    fn new(item: &items::Item) -> Self {
        Self {
            size: item.size(),
            completion: item.completion_ms(),
            setup: item.setup_ms(),
            cause: item.cause(),
        }
    }
    pub(super) fn is_small(&self) -> bool {
        self.size <= WINDOW
    }
    /// A set-up packet was lost: nothing else takes a second before the connection is up.
    pub(super) fn lost_setup(&self) -> bool {
        self.setup >= SETUP_MS
    }
    /// Once the connection was up, the file took as long as a retransmission timer or longer.
    pub(super) fn waited(&self) -> bool {
        self.completion - self.setup >= TIMEOUT_MS
    }
    /// Best completion time over the actual one, as the evaluation of the DualQ counts.
    pub(super) fn normalised(&self) -> f64 {
        (self.size as f64 * 8.0 / MBPS / 1e3 + 2.0 * RTT_MS) / self.completion
    }
}

/// A queue, items per second, and what came out.
pub(super) type Row<'a> = (&'a str, u32, Found);

/// What the runs of a queue and a rate gave.
pub(super) struct Found {
    pub(super) runs: Vec<Summary>,
    /// Of all runs, by user.
    pub(super) items: [Vec<Item>; 2],
}

impl Found {
    /// Of the runs of all seeds; the groups of the users are the last two of the scenario.
    pub(super) fn of(runs: Vec<Items>) -> Self {
        let mut found = Self {
            runs: Vec::new(),
            items: [Vec::new(), Vec::new()],
        };
        for run in runs {
            let users = run.groups.iter().rev().take(USERS.len()).rev();
            for (items, all) in users.zip(&mut found.items) {
                all.extend(items.iter().map(Item::new));
            }
            found.runs.push(run.summary);
        }
        found
    }
    pub(super) fn mean(&self, figure: impl Fn(&Summary) -> f64) -> f64 {
        self.runs.iter().map(figure).sum::<f64>() / self.runs.len() as f64
    }
    /// Dropped of what the group offered, in %.
    pub(super) fn drops(&self, name: &str) -> f64 {
        let count = |of: fn(&GroupSummary) -> u64| -> u64 {
            let groups = self.runs.iter().filter_map(|run| group(run, name));
            groups.map(of).sum()
        };
        let dropped = count(|group| group.dropped);
        100.0 * dropped as f64 / (dropped + count(|group| group.packets)).max(1) as f64
    }
    /// Marked of what was delivered to the group, in %.
    pub(super) fn marks(&self, name: &str) -> f64 {
        let groups = || self.runs.iter().filter_map(|run| group(run, name));
        let marked: u64 = groups().map(|group| group.marked).sum();
        let packets: u64 = groups().map(|group| group.packets).sum();
        100.0 * marked as f64 / packets.max(1) as f64
    }
    pub(super) fn unfinished(&self, user: &str) -> f64 {
        let of = |run: &Summary| {
            let app = group(run, user).and_then(|group| group.app.as_ref());
            app.and_then(|app| app.number("unfinished"))
                .unwrap_or_default()
        };
        self.runs.iter().map(of).sum()
    }
}

/// Shares of small items in %: of a second or more, and with a lost set-up packet; of 0.2 s up to a second, and of those the ones that
/// took as long after their connection was up.
pub(super) struct Tails {
    pub(super) count: usize,
    pub(super) second: f64,
    pub(super) setup: f64,
    pub(super) fifth: f64,
    pub(super) timeout: f64,
}

impl Tails {
    pub(super) fn of(items: &[Item]) -> Self {
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
pub(super) struct Causes {
    pub(super) count: usize,
    pub(super) shares: [f64; CAUSES.len()],
}

pub(super) const CAUSES: [Option<Cause>; 5] = [
    Some(Cause::Handshake),
    Some(Cause::Timeout),
    Some(Cause::Probe),
    Some(Cause::Recovery),
    None,
];

impl Causes {
    /// Of the items of up to ten packets that took so long, in ms.
    pub(super) fn of(items: &[Item], took: &Range<f64>) -> Self {
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
    pub(super) fn timers(&self) -> f64 {
        self.shares[..3].iter().sum()
    }
}

/// From 0.2 s to 1 s, and longer.
pub(super) const TAILS_OF: [(&str, Range<f64>); 2] = [
    ("0.2 to 1 s", TIMEOUT_MS..SETUP_MS),
    ("≥ 1 s", SETUP_MS..f64::INFINITY),
];

/// Sorted completion times and mean of the normalised ones, of the items of a range of sizes.
pub(super) fn of_range(items: &[Item], range: usize) -> (Vec<f64>, f64) {
    let sizes = EDGES[range]..EDGES[range + 1];
    let of_range = || items.iter().filter(|item| sizes.contains(&item.size));
    let mut times: Vec<f64> = of_range().map(|item| item.completion).collect();
    times.sort_by(f64::total_cmp);
    let normalised: f64 = of_range().map(Item::normalised).sum();
    let mean = normalised / times.len().max(1) as f64;
    (times, mean)
}

/// Each user of each row with items.
pub(super) fn users<'a>(
    all: &'a [Row<'a>],
) -> impl Iterator<Item = (&'a str, u32, &'static str, &'a Found, &'a [Item])> {
    let with_items = all.iter().filter(|(_, rate, _)| *rate > 0);
    with_items.flat_map(|(queue, rate, found)| {
        let of = |index: usize| (*queue, *rate, USERS[index], found, &found.items[index][..]);
        [0, 1].map(of)
    })
}

/// The control of a user.
pub(super) fn name(queue: &str, user: &str) -> &'static str {
    match (user, queue) {
        ("classic-web", _) => "CUBIC",
        (_, queue) if queue == PRAGUE.0 => "Prague",
        _ => "DCTCP",
    }
}

/// The median of a range of sizes; not a number without items.
pub(super) fn median(all: &[Row], queue: &str, rate: u32, user: &str, range: usize) -> f64 {
    let mut all = users(all);
    let found = all.find(|(q, r, u, ..)| (*q, *r, *u) == (queue, rate, user));
    let (times, _) = found
        .map(|(.., items)| of_range(items, range))
        .unwrap_or_default();
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
