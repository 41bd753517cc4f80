//! The browsing of the demonstration of 2015: items beside downloads, behind five queues, with the two tails that its slides name.

mod found;
mod tables;
mod texts;

use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::digits;
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::probe::ITEMS;
use crate::probe::items::Items;
use crate::statement::{Expected, Statement};
use found::{Causes, Found, Row, TAILS_OF, Tails, median, name, users};
use tables::{cause_table, csv, link_table, size_table, tail_table};
use texts::{BY_SIZE, LINK, RESULT, TAILS, TEXT, WHY};

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Web items: browsing beside downloads, as demonstrated in 2015",
    experiments: &[Experiment {
        id: "dualq2015/browsing",
        title: "Web items beside downloads, and their tails of 0.2 s and 1 s",
        source: "slides of the demonstration: the screen, and \"Improved Web browsing experience\"; items of its program (github.com/L4STeam/l4sdemo)",
        statements: &[
            Statement {
                id: "setup",
                published: "1 second timeout on lost connection setup packets",
                bound: "the share of small items whose connection took a second is 0.8 to 1.5 times the drop ratio of the downloads (0.5 to 2 at 10 items/s, with some tens of items), and 90 % of those of a second or more lost a set-up packet; CUBIC behind both DualQs, both users behind PIE",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "last",
                published: "200ms timeout on lost last packets",
                bound: "the same of those that took 0.2 to 1 s, 0.2 s of it after the set-up, and 90 % of those of 0.2 to 1 s waited for a timer",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "improved",
                published: "improved Web browsing experience: with DCTCP both tails are gone",
                bound: "no small item of DCTCP of 0.2 s or longer behind the DualQ of 2015 and DualPI2",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "fq-codel",
                published: "nothing; expected: a queue of its own drops nothing of an item",
                bound: "at most 0.2 % of small items in either tail behind FQ-CoDel",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "medians",
                published: "nothing; expected: the longer the queue, the later an item",
                bound: "medians of 3 to 9 kB: drop-tail above PIE above FQ-CoDel, Classic above L4S behind DualPI2; of 9 to 27 kB FQ-CoDel above 1.5 times L4S",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "utilisation",
                published: "100 % utilisation",
                bound: "more than 99 % with each queue and rate of items",
                expected: Expected::Reproduced,
            },
            Statement {
                id: "plots",
                published: "completion times before and after (plots)",
                bound: "none",
                expected: Expected::CannotBeJudged("the plots can no longer be read"),
            },
        ],
        plan,
        judge: judge_all,
        definition: None,
    }],
};

const FILE: &str = "web/browsing.toml";
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const SEED_COUNT: usize = 5;
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

/// Name and settings of the queue, and items per second.
fn points() -> Vec<(&'static str, &'static [&'static str], u32)> {
    let of_queue = |(queue, sets)| RATES.map(|rate| (queue, sets, rate));
    let mut points: Vec<_> = QUEUES.into_iter().flat_map(of_queue).collect();
    points.extend([10, 100].map(|rate| (PRAGUE.0, PRAGUE.1, rate)));
    points
}

fn plan() -> Vec<Cell> {
    let of_point = |(_, sets, rate): (_, &[&'static str], u32)| {
        let apps =
            USERS.map(|user| format!("group.{user}.app={{ kind = \"web\", rate = {rate} }}"));
        let cell = Cell::new(FILE).sets(sets.iter().copied()).sets(apps);
        cell.probe(ITEMS).seeds(SEEDS)
    };
    points().into_iter().flat_map(of_point).collect()
}

fn judge_all(cells: &Cells<'_>, out: &mut Findings) {
    let mut runs = cells.figures::<Items>().into_iter();
    let of_point = |(queue, _, rate)| {
        let runs = runs.by_ref().take(SEED_COUNT).collect();
        (queue, rate, Found::of(runs))
    };
    let all: Vec<Row<'_>> = points().into_iter().map(of_point).collect();
    judge(&all, out);
    judge_medians(&all, out);
    draw(&all, out);
    out.csv("published-browsing.csv", csv(&all));
    out.write(format!(
        "{RESULT}\n\n{TAILS}\n\n{}\n\n{WHY}\n\n{}\n\n{BY_SIZE}\n\n{}\n\n{LINK}\n\n{}\n\n{TEXT}",
        tail_table(&all),
        cause_table(&all),
        size_table(&all),
        link_table(&all),
    ));
}

fn judge(all: &[Row<'_>], out: &mut Findings) {
    for (queue, rate, user, found, items) in users(all) {
        let tails = Tails::of(items);
        let what = |share: f64| format!("{queue}, {rate} items/s, {user}: {share} %");
        let is_dual = ["DualQ of 2015", "DualPI2"].contains(&queue);
        if is_dual && user == "l4s-web" {
            for share in [tails.second, tails.fifth] {
                out.on("improved").unless(share == 0.0, what(share));
            }
        } else if is_dual || queue == "PIE" {
            let group = ["l4s", "classic"][usize::from(user == "classic-web")];
            let dropped = found.drops(group);
            let range = match rate {
                100 => 0.8 * dropped..1.5 * dropped,
                // Some tens of items are in either tail.
                _ => 0.5 * dropped..2.0 * dropped,
            };
            let [fifth, second] = TAILS_OF.map(|(_, took)| Causes::of(items, &took));
            let both = [
                ("setup", tails.setup, second.shares[0]),
                ("last", tails.timeout, fifth.timers()),
            ];
            for (id, share, caused) in both {
                let checks = out.on(id);
                let drops = format!("{}, drops {dropped} %", what(share));
                checks.unless(range.contains(&share), drops);
                let cause = format!("{} of these have the cause", what(caused));
                checks.unless(caused >= 90.0, cause);
            }
        } else if queue == "FQ-CoDel" {
            for share in [tails.second, tails.fifth] {
                out.on("fq-codel").unless(share <= 0.2, what(share));
            }
        }
    }
    for (queue, rate, found) in all {
        let used = found.mean(|run| 100.0 * run.figures.link.utilisation);
        let what = format!("{queue}, {rate} items/s: {used} % of the link");
        out.on("utilisation").unless(used > 99.0, what);
    }
}

fn judge_medians(all: &[Row<'_>], out: &mut Findings) {
    let checks = out.on("medians");
    for rate in [10, 100] {
        for user in USERS {
            let of = |queue| median(all, queue, rate, user, 1);
            let [tail, pie, fair] = ["drop-tail, 100 ms", "PIE", "FQ-CoDel"].map(of);
            checks.unless(
                tail > pie && pie > fair,
                format!("{rate} {user}: drop-tail {tail}, PIE {pie}, FQ-CoDel {fair}"),
            );
        }
        let [l4s, classic] = USERS.map(|user| median(all, "DualPI2", rate, user, 1));
        checks.unless(l4s < classic, format!("DualPI2 {rate}: {l4s} {classic}"));
    }
    let [fair, dual] = ["FQ-CoDel", "DualPI2"].map(|queue| median(all, queue, 100, "l4s-web", 2));
    checks.unless(fair > 1.5 * dual, format!("9 to 27 kB: {fair} and {dual}"));
}

/// Both tails at 100 items per second, and what came out in words.
fn draw(all: &[Row<'_>], out: &mut Findings) {
    let mut figure = Figure::pairs("Small items of 0.2 s and longer, 100 items/s", "%");
    for (queue, rate, user, _, items) in users(all) {
        if rate == 100 {
            let tails = Tails::of(items);
            let label = format!("{queue}: {}", name(queue, user));
            figure = figure.pair(&label, None, tails.second + tails.fifth);
        }
    }
    out.draw(figure);
    let shares = |id: &str, of: fn(&Tails) -> f64, out: &mut Findings| {
        let mut pie = users(all).filter(|(queue, rate, ..)| (*queue, *rate) == ("PIE", 100));
        let shares: Vec<String> = pie
            .by_ref()
            .map(|(.., items)| digits(of(&Tails::of(items))))
            .collect();
        out.on(id).ours(format!(
            "behind PIE at 100 items/s {} % of the items",
            shares.join(" and ")
        ));
    };
    shares("setup", |tails| tails.setup, out);
    shares("last", |tails| tails.timeout, out);
}
