//! One L4S and one Classic flow with unlike base RTTs behind DualPI2 (arXiv 2209.01078,
//! `pcdualpi2_res_mr`).
//!
//! Prague up to 25 ms behaves as with an RTT of 25 ms, so each row below that runs twice: with
//! DCTCP at Prague's RTT of 25 ms, which is judged, and at the base RTT. Rates, marks and drops
//! depend on the control and are shown only.

use super::evaluation::{Figures, Misses, Ours, delay, digits, run};
use super::page;
use super::sweep::sweep;
use super::table::Table;

/// One row of the archive.
struct Row {
    /// Base RTT of the L4S flow in ms.
    l4s: u64,
    /// Of the Classic flow; `None` if there was none.
    classic: Option<u64>,
    published: Figures,
}

#[rustfmt::skip]
const ROWS: [Row; 8] = [
    row(5, None, 99.93, [39.6, 0.0], [6.45, 0.0], [[0.523, 1.081], [0.0, 0.0]]),
    row(5, Some(5), 99.92, [19.9, 19.7], [6.34, 0.130], [[0.324, 0.884], [14.85, 24.12]]),
    row(5, Some(20), 99.95, [25.6, 14.0], [5.36, 0.099], [[0.344, 0.884], [13.54, 25.56]]),
    row(5, Some(100), 99.43, [33.8, 5.58], [5.15, 0.087], [[0.443, 1.015], [6.63, 33.29]]),
    row(100, None, 99.14, [39.3, 0.0], [3.89, 0.0], [[0.393, 1.146], [0.0, 0.0]]),
    row(100, Some(5), 99.94, [9.11, 30.5], [3.79, 0.058], [[0.308, 0.851], [14.70, 21.89]]),
    row(100, Some(20), 99.92, [14.7, 24.8], [2.51, 0.035], [[0.295, 0.851], [13.15, 21.23]]),
    row(100, Some(100), 99.10, [25.3, 13.9], [1.62, 0.018], [[0.335, 0.884], [9.50, 19.92]]),
];

const fn row(
    l4s: u64,
    classic: Option<u64>,
    utilisation: f64,
    rates: [f64; 2],
    [mark_l4s, drop_classic]: [f64; 2],
    delays: [[f64; 2]; 2],
) -> Row {
    let published = Figures {
        utilisation,
        rates,
        udp: 0.0,
        mark_l4s,
        drops: [0.0, drop_classic],
        delays,
    };
    Row {
        l4s,
        classic,
        published,
    }
}

impl Row {
    fn name(&self) -> String {
        let classic = self
            .classic
            .map_or_else(|| "–".to_owned(), |rtt| rtt.to_string());
        format!("{}/{classic}", self.l4s)
    }
    /// RTTs at which DCTCP runs, the judged one first.
    fn rtts(&self) -> Vec<u64> {
        if self.l4s < PRAGUE_RTT {
            vec![PRAGUE_RTT, self.l4s]
        } else {
            vec![self.l4s]
        }
    }
    fn run(&self, l4s: u64) -> Ours {
        let mut sets = vec![format!("group.l4s.rtt={l4s}ms")];
        let file = match self.classic {
            Some(classic) => {
                sets.push(format!("group.classic.rtt={classic}ms"));
                "rtt-pairs/pair.toml"
            }
            None => "rtt-pairs/alone.toml",
        };
        // Alone at 100 ms the seed decides which of several patterns the bursts settle in.
        let seeds: &[u64] = match (self.l4s, self.classic) {
            (100, None) => &[1, 2, 3, 4, 5, 6],
            _ => &[1],
        };
        run(file, &sets, seeds)
    }
}

/// The RTT target of the source's Prague, in ms.
const PRAGUE_RTT: u64 = 25;

#[test]
#[ignore = "takes long: make test-all"]
fn pairs_of_unlike_rtts_wait_as_published() {
    let points: Vec<(&Row, u64)> = ROWS
        .iter()
        .flat_map(|row| row.rtts().into_iter().map(move |rtt| (row, rtt)))
        .collect();
    let results = sweep(&points, |(row, rtt)| row.run(*rtt));
    let mut misses = Misses::default();
    let mut table = Table::new(&[
        "RTT L/C",
        "",
        "rate L",
        "rate C",
        "delay L",
        "delay C",
        "mark L",
        "drop C",
        "link",
        "2√p_C / p_L",
    ]);
    let mut results = points.iter().zip(&results);
    for row in &ROWS {
        table.row(&line(row, "published", &row.published, None));
        for (index, _) in row.rtts().iter().enumerate() {
            let ((_, rtt), ours) = results.next().unwrap();
            table.row(&line(
                row,
                &format!("DCTCP {rtt} ms"),
                &ours.figures,
                Some(ours),
            ));
            if index == 0 {
                judge(row, ours, &mut misses);
            }
        }
    }
    let body = format!("{HEAD}\n{table}\n{TAIL}");
    misses.assert_none(&body);
    page::check("DualPI2: pairs with unlike RTTs", &body);
}

fn judge(row: &Row, ours: &Ours, misses: &mut Misses) {
    let name = |what: &str| format!("{}: {what}", row.name());
    let (figures, published) = (&ours.figures, &row.published);
    let [l4s, classic] = figures.delays;
    let bursts_reach_the_step = row.l4s == 100 && row.classic.is_none();
    if !bursts_reach_the_step {
        misses.unless(
            l4s[0] <= 0.6 && l4s[1] <= 1.2,
            name(&format!("delay of L4S {l4s:?}")),
        );
        let lost = published.utilisation - figures.utilisation;
        // Alone, what DCTCP sends at once, a millisecond's worth, reaches the step now and then where
        // Prague's bursts of a quarter of that do not: 98.9 % are used, whatever the seed.
        let band = if row.classic.is_none() { 1.2 } else { 1.0 };
        misses.unless(
            lost <= band,
            name(&format!(
                "utilisation {} % below the source's",
                digits(lost)
            )),
        );
    }
    misses.unless(figures.drops[0] == 0.0, name("drops of L4S"));
    if row.classic.is_some_and(|rtt| rtt <= 20) {
        misses.within(
            name("mean delay of Classic"),
            classic[0],
            published.delays[1][0],
            15.0,
        );
        let coupling = ours.coupling();
        misses.unless(
            (1.0..=1.8).contains(&coupling),
            name(&format!("2√p_C / p_L is {coupling:.3}")),
        );
    }
}

fn line(row: &Row, who: &str, figures: &Figures, ours: Option<&Ours>) -> Vec<String> {
    let [mark, drop] = [figures.mark_l4s, figures.drops[1]];
    let alone = row.classic.is_none();
    let or_none = |text: String| if alone { "–".to_owned() } else { text };
    // The source cannot tell coupled marks from those of the step: all of them.
    let coupling = ours.map_or(2.0 * (drop / 100.0).sqrt() / (mark / 100.0), Ours::coupling);
    vec![
        row.name(),
        who.to_owned(),
        digits(figures.rates[0]),
        or_none(digits(figures.rates[1])),
        delay(figures.delays[0]),
        or_none(delay(figures.delays[1])),
        digits(mark),
        or_none(digits(drop)),
        format!("{:.1}", figures.utilisation),
        or_none(format!("{coupling:.2}")),
    ]
}

const HEAD: &str = "\
Source: the same evaluation (`pcdualpi2_res_mr`): 40 Mbit/s, one TCP Prague (L) and one CUBIC flow (C) with base RTTs of 5, 20 and
100 ms, 250 s. Scenarios: `scenarios/rtt-pairs/`, with DCTCP in the place of Prague and figures of 250 s after 200 s. Rates in Mbit/s
of Ethernet frames, delays in ms as mean/P99, marks, drops and use of the link in %. Prague up to 25 ms behaves as with 25 ms, so
the rows with 5 ms for L have two lines of ours: DCTCP at 25 ms, which is judged, and at 5 ms, which shows what that is worth.
";

const TAIL: &str = "\
Carries over, and is judged: the L4S queue (mean up to 0.6 ms, P99 up to 1.2 ms, no drop); the mean of the Classic queue where its flow
has 20 ms or less (± 15 % of the source); a link used to within a percent of the source; and there 2\u{221a}p_C / p_L between 1.0 and 1.8,
p_L from coupled marks. Does not, and is shown: with 100 ms of RTT CUBIC alone empties its queue in each cycle and p' is zero for long
stretches, in which L4S sends most; so mean delay and coupling depend on the shares. Rates, marks and drops depend on the control:

* Rate times marks of Prague is 1.2 to 1.7 times that of DCTCP at 25 ms, here and in the table above; alone on the step it is a tenth
  less.
* At 100 ms DCTCP's answer to light marking is coarse, and its share is off either way: Linux keeps alpha in 1/1024, a window with
  fewer than 1.6 % of marks adds nothing to it, and what falls below 16/1024 is cleared. Prague keeps 20 bits or more.
* Alone, use of the link may be 1.2 percent below the source's. Segmentation offload sends a millisecond's worth at once, which at
  40 Mbit/s is as long as the step; Prague's bursts are a quarter of that. At 100 ms (the mean of six seeds, not judged) the bursts
  settle in patterns that use 97 to 100 %, depending on the seed.
";
