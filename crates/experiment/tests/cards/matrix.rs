//! The picture: a row for each queue, a column for each kind of traffic, in each cell the delays and the use of the link.

use std::fmt::Write as _;

use quell_aqm::disciplines::KINDS;
use quell_measure::{AppSummary, GroupSummary, Summary};

use crate::cards::run::{each, summary};
use quell_experiment::characterize::sheet::{self, Cell, ms, quarters};

/// A kind of traffic: its heading, its groups, and the figure of its application.
struct Traffic {
    name: &'static str,
    /// Name, number, control and ECN field of bulk flows.
    bulk: &'static [(&'static str, u32, &'static str, &'static str)],
    /// Name and application of what is felt beside them.
    felt: Option<(&'static str, &'static str)>,
}

const fn four(name: &'static str, control: &'static str, ecn: &'static str) -> Traffic {
    // One place in the binary for each.
    let bulk: &'static [_] = match (control.as_bytes(), ecn.as_bytes()) {
        (b"reno", _) => &[("reno", 4, "reno", "off")],
        (b"cubic", _) => &[("cubic", 4, "cubic", "off")],
        (b"bbr3", _) => &[("bbr3", 4, "bbr3", "off")],
        (b"dctcp", _) => &[("dctcp", 4, "dctcp", "ect1")],
        _ => &[("prague", 4, "prague", "ect1")],
    };
    Traffic {
        name,
        bulk,
        felt: None,
    }
}

const TRAFFIC: [Traffic; 8] = [
    four("4 Reno", "reno", "off"),
    four("4 CUBIC", "cubic", "off"),
    four("4 BBRv3", "bbr3", "off"),
    four("4 DCTCP", "dctcp", "ect1"),
    four("4 Prague", "prague", "ect1"),
    Traffic {
        name: "2 CUBIC, 2 Prague",
        bulk: &[
            ("cubic", 2, "cubic", "off"),
            ("prague", 2, "prague", "ect1"),
        ],
        felt: None,
    },
    Traffic {
        name: "web beside 2 CUBIC",
        bulk: &[("cubic", 2, "cubic", "off")],
        felt: Some((
            "web",
            "{ kind = \"web\", model = \"pages\", recipe = \"equal\", objects = 20, reading = \"500ms\" }",
        )),
    },
    Traffic {
        name: "call beside 2 CUBIC",
        bulk: &[("cubic", 2, "cubic", "off")],
        felt: Some(("call", "\"voice\"")),
    },
];

/// The link.
const RATE: f64 = 40e6;
const LINK: &str = "rate = \"40mbit\"";
const RTT: &str = "20ms";

fn scenario(queue: &str, traffic: &Traffic) -> String {
    // What drop-tail's default is at this rate; the others have their own.
    let mut text = format!("schema = 1\nname = \"cards\"\n[link]\n{LINK}\nqueue = \"{queue}\"\n");
    for (name, count, control, ecn) in traffic.bulk {
        write!(
            text,
            "[[group]]\nname = \"{name}\"\ncount = {count}\ncongestion-control = \"{control}\"\necn = \"{ecn}\"\nrtt = \"{RTT}\"\napp = \"bulk\"\n"
        )
        .unwrap();
    }
    if let Some((name, app)) = traffic.felt {
        write!(
            text,
            "[[group]]\nname = \"{name}\"\nrtt = \"{RTT}\"\napp = {app}\n"
        )
        .unwrap();
    }
    text + "[run]\nduration = \"25s\"\nwarmup = \"5s\"\n"
}

/// The file, and what the page says of it.
pub(crate) fn picture() -> (String, String) {
    let mut cells = Vec::new();
    for kind in KINDS {
        for traffic in &TRAFFIC {
            cells.push((kind.name, traffic));
        }
    }
    let results = each(&cells, |(queue, traffic)| {
        summary(&scenario(queue, traffic))
    });
    let drawn: Vec<Cell> = results
        .iter()
        .zip(&cells)
        .map(|(result, (_, traffic))| cell(result, traffic))
        .collect();
    let svg = sheet::draw(
        "",
        [
            "What each queue does to each kind of traffic: delays and use of a link of 40 Mbit/s, base RTT 20 ms",
            "Line: delays from P1 to P99; box: from P25 to P75; on an axis from 0.1 ms to 1 s. Bar below: share of the link.",
        ],
        &TRAFFIC.each_ref().map(|traffic| traffic.name),
        &KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(),
        TRAFFIC.len(),
        &drawn,
    );
    (svg, caption())
}

/// Class of the ink of a group.
fn ink(group: &GroupSummary) -> &'static str {
    match group.name.as_str() {
        "prague" | "dctcp" => "l",
        "web" | "call" => "f",
        _ => "c",
    }
}

fn cell(summary: &Summary, traffic: &Traffic) -> Cell {
    let groups = &summary.figures.groups;
    // What is felt is drawn first, the others below it.
    let mut drawn: Vec<&GroupSummary> = groups.iter().collect();
    drawn.sort_by_key(|group| traffic.felt.is_none_or(|(name, _)| name != group.name));
    let delays = drawn.iter();
    Cell {
        delays: delays
            .filter_map(|group| Some((quarters(&group.delay_ms?), ink(group))))
            .collect(),
        shares: groups
            .iter()
            .map(|group| (group.goodput_bps.iter().sum::<f64>() / RATE, ink(group)))
            .collect(),
        said: said(&drawn),
    }
}

/// The one figure of a cell: what is felt, else the median and the P99 of the delay.
fn said(drawn: &[&GroupSummary]) -> String {
    let of = |group: &GroupSummary| {
        let app = group.app.as_ref()?;
        match group.name.as_str() {
            "web" => page(app),
            "call" => Some(format!("MOS {:.1}", app.number("mos")?)),
            _ => None,
        }
    };
    if let Some(felt) = drawn.first().and_then(|group| of(group)) {
        return felt;
    }
    let delays = drawn.iter().filter_map(|group| group.delay_ms);
    let all: Vec<String> = delays.map(|delay| ms(delay.p50)).collect();
    match &all[..] {
        [] => "no packets".to_owned(),
        some => format!("median {} ms", some.join(" / ")),
    }
}

fn page(app: &AppSummary) -> Option<String> {
    let mean = app.times("page_load_ms")?.mean;
    Some(format!("page {:.2} s", mean / 1e3))
}

fn caption() -> String {
    "## In one picture\n\n\
     ![What each queue does to each kind of traffic: delays and use of the link](../images/cards.svg)\n\n\
     Each cell is one run of 20 s behind 5 s of warm-up, seed 1: a link of 40 Mbit/s, base RTT 20 ms, the queue with its defaults. The line spans the delays \
     of packets in the queue from the 1st to the 99th percentile, the box from the 25th to the 75th, on a logarithmic axis whose lines stand \
     at 1, 10 and 100 ms. The bar is each group's share of the link. Orange: Reno, CUBIC and BBRv3, without ECN; blue: DCTCP and Prague, as \
     L4S (ECT(1)); the other: the web or the call, whose own figure is written. The call and the page are those of a user beside two downloads.\n\n"
        .to_owned()
}
