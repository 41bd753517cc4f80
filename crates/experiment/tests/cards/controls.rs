//! A card for every modelled control: what it does alone, with its like, beside CUBIC, and beside a flow far away.

use std::fmt::Write as _;

use quell_measure::{GroupSummary, Summary};

use crate::cards::run::{each, summary};
use quell_experiment::characterize::sheet::{self, Cell, quarters};

/// The queues of a card, with their parameters.
const QUEUES: [(&str, &str); 5] = [
    ("fifo", "{ kind = \"fifo\", limit = \"50ms\" }"),
    ("codel", "\"codel\""),
    ("fq_codel", "\"fq_codel\""),
    ("pie", "\"pie\""),
    ("dualpi2", "\"dualpi2\""),
];
/// Groups of each run: name, number, RTT in ms, and whether it is the control of the card; else CUBIC.
const RUNS: [&[(&str, u32, u32, bool)]; 4] = [
    &[("own", 1, 20, true)],
    &[("own", 4, 20, true)],
    &[("own", 2, 20, true), ("cubic", 2, 20, false)],
    &[("near", 1, 10, true), ("far", 1, 80, true)],
];

/// The rate of the link in bit/s.
const RATE: f64 = 20e6;

fn scenario(control: &str, queue: &str, groups: &[(&str, u32, u32, bool)]) -> String {
    let mut text =
        format!("schema = 1\nname = \"cards\"\n[link]\nrate = \"20mbit\"\nqueue = {queue}\n");
    for (name, count, rtt, is_own) in groups {
        let control = if *is_own { control } else { "cubic" };
        write!(
            text,
            "[[group]]\nname = \"{name}\"\ncount = {count}\ncongestion-control = \"{control}\"\nrtt = \"{rtt}ms\"\napp = \"bulk\"\n"
        )
        .unwrap();
    }
    text + "[run]\nduration = \"40s\"\nwarmup = \"10s\"\n"
}

/// The picture, the text of the cards, and every figure of them.
pub(crate) fn cards() -> (String, String, String) {
    let controls = quell_tcp::cc::KINDS;
    let mut cells = Vec::new();
    for control in controls {
        for (_, queue) in QUEUES {
            cells.extend(RUNS.iter().map(|groups| (control.name, queue, *groups)));
        }
    }
    let results = each(&cells, |(control, queue, groups)| {
        summary(&scenario(control, queue, groups))
    });
    let picture = picture(&results);
    let mut results = results.iter();
    let mut page = "## Congestion controls\n\n\
        ![What each congestion control does to each queue: delays of four flows, and the share of two beside two of CUBIC](../images/controls.svg)\n\n\
        In the picture: the delays of four flows of the control as in the picture above, and the shares of the link that two of its flows and two of CUBIC (orange) get.\n\n\
        20 Mbit/s, 30 s behind 10 s of warm-up, seed 1, each control with the ECN field of its defaults; drop-tail holds 50 ms, the other queues have their \
        defaults. The table has the share of two flows beside two of CUBIC at 20 ms, in % of what they get together; [cards-controls.csv](cards-controls.csv) \
        also has one flow alone and four flows at 20 ms, and a flow at 10 ms beside one at 80 ms.\n\n"
        .to_owned();
    let heads = QUEUES.map(|(queue, _)| queue).join(" | ");
    page.push_str(&format!(
        "| control | {heads} |\n| ---{} |\n",
        " | ---".repeat(QUEUES.len())
    ));
    let mut csv = "control,queue,alone_link_percent,alone_delay_ms,alone_p99_ms,four_link_percent,four_delay_ms,four_p99_ms,four_loss_percent,\
        four_marks_percent,four_jain,beside_cubic_share_percent,near_over_far\n"
        .to_owned();
    for control in controls {
        page.push_str(&format!("| {} |", control.name));
        for (queue, _) in QUEUES {
            let mut next = || results.next().unwrap();
            let (alone, four, beside, apart) = (next(), next(), next(), next());
            let group = |summary: &Summary| summary.figures.groups[0].clone();
            let delay = |group: &GroupSummary| group.delay_ms.unwrap();
            let ratio = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
            let (one, all) = (group(alone), group(four));
            let rates = |summary: &Summary| -> Vec<f64> {
                let groups = summary.figures.groups.iter();
                groups.map(|group| group.goodput_bps.iter().sum()).collect()
            };
            let (pair, spread) = (rates(beside), rates(apart));
            let share = 100.0 * pair[0] / (pair[0] + pair[1]);
            page.push_str(&format!(" {share:.0} |"));
            csv.push_str(&format!(
                "{},{queue},{:.1},{:.2},{:.1},{:.1},{:.2},{:.1},{:.2},{:.2},{:.3},{share:.0},{:.2}\n",
                control.name,
                100.0 * alone.figures.link.utilisation,
                delay(&one).mean,
                delay(&one).p99,
                100.0 * four.figures.link.utilisation,
                delay(&all).mean,
                delay(&all).p99,
                ratio(all.dropped, all.dropped + all.packets),
                ratio(all.marked, all.packets),
                all.jain.unwrap(),
                spread[0] / spread[1],
            ));
        }
        page.push('\n');
    }
    (picture, page, csv)
}

/// A row for each control, a column for each queue. `results` are in the order of the cards.
fn picture(results: &[Summary]) -> String {
    let cells: Vec<Cell> = results
        .chunks(RUNS.len())
        .map(|runs| {
            let (four, beside) = (&runs[1], &runs[2]);
            let groups = &beside.figures.groups;
            let shares: Vec<f64> = groups
                .iter()
                .map(|group| group.goodput_bps.iter().sum::<f64>() / RATE)
                .collect();
            Cell {
                delays: vec![(quarters(&four.figures.groups[0].delay_ms.unwrap()), "f")],
                said: format!(
                    "{:.0} % beside CUBIC",
                    100.0 * shares[0] / shares.iter().sum::<f64>()
                ),
                shares: shares.into_iter().zip(["f", "c"]).collect(),
            }
        })
        .collect();
    sheet::draw(
        "",
        [
            "What each congestion control does to each queue: a link of 20 Mbit/s, base RTT 20 ms",
            "Line: delays from P1 to P99, box: from P25 to P75, axis from 0.1 ms to 1 s. Bar: its flows, then CUBIC in orange.",
        ],
        &QUEUES.map(|(name, _)| name),
        &quell_tcp::cc::KINDS
            .iter()
            .map(|control| control.name)
            .collect::<Vec<_>>(),
        QUEUES.len(),
        &cells,
    )
}
