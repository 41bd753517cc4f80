//! The picture: a row for each queue, a column for each kind of traffic, in each cell the delays and the use of the link.

use std::fmt::Write as _;

use quell_aqm::disciplines::KINDS;
use quell_measure::{AppSummary, Dist, GroupSummary, Summary};

use crate::run::{each, summary};

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

/// Ends of the axis of delay in ms, each ten times the one before.
const DECADES: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];
const LEFT: f64 = 118.0;
const TOP: f64 = 62.0;
const CELL: (f64, f64) = (116.0, 46.0);
/// The frame of what is drawn in a cell.
const INNER: f64 = 104.0;

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
    let (width, height) = (
        LEFT + CELL.0 * TRAFFIC.len() as f64 + 8.0,
        TOP + CELL.1 * KINDS.len() as f64 + 12.0,
    );
    let title = "What each queue does to each kind of traffic: delays and use of a link of 40 Mbit/s, base RTT 20 ms";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t\">\n\
         <title id=\"t\">{title}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"b\" x=\"10\" y=\"18\">{title}</text>\n\
         <text x=\"10\" y=\"34\">Line: delays from P1 to P99; box: from P25 to P75; on an axis from 0.1 ms to 1 s. Bar below: share of the link.</text>\n"
    );
    let mut add = |line: String| {
        svg.push_str(&line);
        svg.push('\n');
    };
    for (column, traffic) in TRAFFIC.iter().enumerate() {
        let x = LEFT + CELL.0 * column as f64;
        add(format!(
            "<text class=\"b\" x=\"{x}\" y=\"{}\">{}</text>",
            TOP - 8.0,
            traffic.name
        ));
    }
    for (row, kind) in KINDS.iter().enumerate() {
        let y = TOP + CELL.1 * row as f64;
        add(format!(
            "<text class=\"b\" x=\"10\" y=\"{}\">{}</text>",
            y + 22.0,
            kind.name
        ));
    }
    for (number, (result, (_, traffic))) in results.iter().zip(&cells).enumerate() {
        let (row, column) = (number / TRAFFIC.len(), number % TRAFFIC.len());
        let corner = (LEFT + CELL.0 * column as f64, TOP + CELL.1 * row as f64);
        add(cell(corner, result, traffic));
    }
    svg.push_str("</svg>\n");
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

fn cell((x, y): (f64, f64), summary: &Summary, traffic: &Traffic) -> String {
    let mut out = format!(
        "<rect class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{INNER}\" height=\"{}\"/>",
        CELL.1 - 6.0
    );
    for decade in &DECADES[1..4] {
        let at = short(x + place(*decade));
        write!(
            out,
            "<path class=\"grid\" d=\"M{at} {y}v{}\"/>",
            CELL.1 - 6.0
        )
        .unwrap();
    }
    let groups = &summary.figures.groups;
    // What is felt is drawn first, the others below it.
    let mut drawn: Vec<&GroupSummary> = groups.iter().collect();
    drawn.sort_by_key(|group| traffic.felt.is_none_or(|(name, _)| name != group.name));
    for (line, group) in drawn.iter().enumerate() {
        if let Some(delay) = group.delay_ms {
            out.push_str(&whisker(
                (x, y + 17.0 + 8.0 * line as f64),
                &delay,
                ink(group),
            ));
        }
    }
    let mut from = 0.0;
    for group in groups {
        let share = group.goodput_bps.iter().sum::<f64>() / RATE;
        let wide = share.min(1.0 - from) * INNER;
        write!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"5\"/>",
            ink(group),
            short(x + from * INNER),
            y + CELL.1 - 12.0,
            short(wide)
        )
        .unwrap();
        from += share;
    }
    write!(
        out,
        "<text x=\"{}\" y=\"{}\">{}</text>",
        x + 2.0,
        y + 10.0,
        said(&drawn)
    )
    .unwrap();
    out
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

/// Two digits that count.
fn ms(value: f64) -> String {
    match value {
        _ if value < 0.95 => format!("{value:.2}"),
        _ if value < 9.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn whisker((x, y): (f64, f64), delay: &Dist, ink: &str) -> String {
    let at = |value: f64| x + place(value);
    let (low, high) = (at(delay.p1), at(delay.p99));
    let (from, to) = (at(delay.p25), at(delay.p75));
    format!(
        "<path class=\"w {ink}\" d=\"M{} {y}H{}\"/><rect class=\"{ink}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"5\"/>",
        short(low),
        short(high.max(low + 1.0)),
        short(from),
        y - 2.5,
        short((to - from).max(1.5))
    )
}

/// Where a delay lies within the frame of a cell, on a logarithmic axis.
fn place(ms: f64) -> f64 {
    let ends = (DECADES[0], DECADES[4]);
    let value = ms.clamp(ends.0, ends.1);
    INNER * (value / ends.0).log10() / 4.0
}

/// Tenths, without an end of zeros: the same on every machine, however its logarithm rounds.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

const STYLE: &str = "text{font:10px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#111}.b{font-weight:bold}.paper{fill:#fff}\
.frame{fill:#f4f5f7}.grid{stroke:#d5d7dc;fill:none}.w{fill:none;stroke-width:1.5}.c{fill:#0072b2}.l{fill:#d55e00}.f{fill:#009e73}\
.w.c{stroke:#0072b2}.w.l{stroke:#d55e00}.w.f{stroke:#009e73}\
@media (prefers-color-scheme:dark){text{fill:#eee}.paper{fill:#16181d}.frame{fill:#22252d}.grid{stroke:#3a3d45}\
.c{fill:#4db3ff}.l{fill:#ff9455}.f{fill:#2fd1a5}.w.c{stroke:#4db3ff}.w.l{stroke:#ff9455}.w.f{stroke:#2fd1a5}}";

fn caption() -> String {
    "## In one picture\n\n\
     ![What each queue does to each kind of traffic: delays and use of the link](../images/cards.svg)\n\n\
     Each cell is one run of 20 s behind 5 s of warm-up, seed 1: a link of 40 Mbit/s, base RTT 20 ms, the queue with its defaults. The line spans the delays \
     of packets in the queue from the 1st to the 99th percentile, the box from the 25th to the 75th, on a logarithmic axis whose lines stand \
     at 1, 10 and 100 ms. The bar is each group's share of the link. Blue: Reno, CUBIC and BBRv3, without ECN; orange: DCTCP and Prague, as \
     L4S (ECT(1)); green: the web or the call, whose own figure is written. The call and the page are those of a user beside two downloads.\n\n"
        .to_owned()
}
