//! The card as one HTML file that asks for nothing from elsewhere. Its script shows values under the pointer; the page is whole without it.

use std::collections::BTreeMap;

use quell_lab::results::plot::{self, escaped};
use quell_lab::results::report::{picture, styled_page};

use crate::characterize::card::{Card, Outcome};
use crate::characterize::figures::{Beside, Figure};
use crate::characterize::{distributions, graph};

/// Rules of its own.
const OWN: &str = ".higher { color: #b04a00 } .lower { color: #0072b2 } .met { color: #00794f } .missed { color: #b04a00 } \
    @media (prefers-color-scheme: dark) { .higher, .missed { color: #ff9455 } .lower { color: #4db3ff } .met { color: #2fd1a5 } } \
    figure svg { min-width: 54rem }";

/// A column of a table: its heading, figure, factor and digits.
type Column = (&'static str, &'static str, f64, usize);

/// Of the link.
const LINK: [Column; 8] = [
    ("delay, ms", "delay_ms.mean", 1.0, 2),
    ("P99, ms", "delay_ms.p99", 1.0, 1),
    ("PDV P99, ms", "pdv_ms.p99", 1.0, 1),
    ("goodput, Mbit/s", "goodput_bps", 1e-6, 2),
    ("utilisation, %", "utilisation", 100.0, 1),
    ("loss, %", "loss_ratio", 100.0, 3),
    ("marks, %", "mark_ratio", 100.0, 3),
    ("Jain", "jain", 1.0, 3),
];
/// Of each of several links.
const LINKS: [Column; 5] = [
    ("delay, ms", "delay_ms.mean", 1.0, 2),
    ("utilisation, %", "utilisation", 100.0, 1),
    ("loss, %", "loss_ratio", 100.0, 3),
    ("marks, %", "mark_ratio", 100.0, 3),
    ("waited for, %", "bottleneck_share", 100.0, 1),
];
/// Of each direction.
const DIRECTIONS: [Column; 8] = [
    ("delay, ms", "delay_ms.mean", 1.0, 2),
    ("P99, ms", "delay_ms.p99", 1.0, 1),
    ("goodput, Mbit/s", "goodput_bps", 1e-6, 2),
    ("utilisation, %", "utilisation", 100.0, 1),
    ("loss, %", "loss_ratio", 100.0, 3),
    ("marks, %", "mark_ratio", 100.0, 3),
    ("ACKs lost, %", "ack_loss_ratio", 100.0, 3),
    ("SYNs lost, %", "syn_loss_ratio", 100.0, 3),
];
/// Of phases.
const PHASES: [Column; 4] = [
    ("delay, ms", "delay_ms.mean", 1.0, 2),
    ("utilisation, %", "utilisation", 100.0, 1),
    ("loss, %", "loss_ratio", 100.0, 3),
    ("marks, %", "mark_ratio", 100.0, 3),
];

/// What applications report, in the order of importance: figure, its words, factor, digits.
pub const APPLICATIONS: [Column; 12] = [
    ("page load ms", "app.page_load_ms", 1.0, 0),
    ("completion ms", "app.completion_ms", 1.0, 0),
    ("flow startup ms", "app.flow_startup_ms", 1.0, 0),
    ("one-way delay ms", "app.one_way_delay_ms", 1.0, 1),
    ("mouth to ear ms", "app.mouth_to_ear_ms", 1.0, 1),
    ("command to state ms", "app.command_to_state_ms", 1.0, 1),
    ("startup ms", "app.startup_ms", 1.0, 0),
    ("jitter ms", "app.jitter_ms", 1.0, 2),
    ("MOS", "app.mos", 1.0, 2),
    ("video Mbit/s", "app.bitrate_bps", 1e-6, 2),
    ("stalled %", "app.stall_ratio", 100.0, 2),
    ("late %", "app.late_ratio", 100.0, 2),
];

/// The page of a card.
pub fn page(card: &Card) -> String {
    let title = format!("{}: report card", card.queue());
    let mut body = String::new();
    head(card, &mut body);
    verdicts(card, &mut body);
    applications(card, &mut body);
    link(card, &mut body);
    steady(card, &mut body);
    let note = "A point for each seed, and an ellipse of one standard deviation.";
    pictures(
        "Delay against goodput",
        note,
        [("graph", graph::figure(card))],
        &mut body,
    );
    let note = "Delays packet by packet, of all seeds together; goodput of the first seed.";
    let figures = [
        ("delays", distributions::delay(card)),
        ("goodputs", distributions::goodput(card)),
    ];
    pictures("Distributions", note, figures, &mut body);
    quantiles(card, &mut body);
    phases(card, &mut body);
    losses(card, &mut body);
    parameters(card, &mut body);
    trust(card, &mut body);
    styled_page(&title, OWN, &body)
}

fn head(card: &Card, body: &mut String) {
    let path = &card.profile;
    let [mild, medium, heavy] = path.flows;
    body.push_str("<ul>\n");
    for queue in &card.queues {
        body.push_str(&format!(
            "<li><b>{}</b>: {} Source: {}.</li>\n",
            escaped(&queue.name),
            escaped(&queue.summary),
            escaped(queue.source.trim_end_matches('.'))
        ));
    }
    let link = match card.suite.as_str() {
        "l4s" | "access" => "rates and RTTs of the scenarios".to_owned(),
        _ => format!(
            "{} Mbit/s, base RTT {} ms, buffer {} packets, S = {}, N = {mild} / {medium} / {heavy}",
            path.rate_bps as f64 / 1e6,
            path.rtt_ms,
            path.buffer_packets,
            path.held_packets
        ),
    };
    body.push_str(&format!(
        "</ul>\n<p>Suite {}, {link}; {} s of each run behind {:.1} s \
         of warm-up; {} seeds; {} world. Means ± half of the 95 % interval. \
         <span class=\"higher\">▲</span> <span class=\"lower\">▼</span>: the interval lies wholly above or below that of drop-tail.</p>\n",
        escaped(&card.suite),
        path.measured_s,
        path.warmup_s,
        card.seeds,
        escaped(&card.world),
    ));
}

fn verdicts(card: &Card, body: &mut String) {
    let rows = card.verdicts.iter().map(|verdict| {
        let digits = if verdict.unit.is_empty() { 3 } else { 1 };
        let word = verdict.ending.word();
        let cells = [
            text(&verdict.label(card.queue())),
            text(&verdict.what),
            number(Some(&verdict.found), 1.0, digits),
            format!("<td class=\"{}\">{word}</td>", word.replace(' ', "-")),
            text(&verdict.source),
        ];
        cells.concat()
    });
    let heads = ["scenario", "threshold", "found", "", "whose threshold"];
    let note = "RFC 7928 has no thresholds, and there is no grade of the whole. Open: the threshold lies within the 95 % interval. \
        Cannot be judged: the queue's own limit is below the threshold, so no queue misses it.";
    section("Verdicts", Some(note), &heads, rows, body);
}

fn applications(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            for class in &outcome.classes {
                for (words, key, factor, digits) in APPLICATIONS {
                    let with = |end: &str| class.figures.get(&format!("{key}{end}"));
                    let Some(figure) = with(".mean").or_else(|| with("")) else {
                        continue;
                    };
                    let cells = [
                        text(&scenario.label()),
                        text(&outcome.queue),
                        text(&class.name),
                        text(words),
                        number(Some(figure), factor, digits),
                        number(with(".p99"), factor, digits),
                    ];
                    rows.push(cells.concat());
                }
            }
        }
    }
    let heads = ["scenario", "queue", "class", "figure", "mean", "P99"];
    section(
        "Applications, end to end",
        None,
        &heads,
        rows.into_iter(),
        body,
    );
}

fn link(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            let names =
                |class: &str| [text(&scenario.label()), text(&outcome.queue), text(class)].concat();
            rows.push(names("all") + &columns(&LINK, &outcome.whole));
            if outcome.classes.len() > 1 {
                for class in &outcome.classes {
                    rows.push(names(&class.name) + &columns(&LINK, &class.figures));
                }
            }
        }
    }
    let mut heads = vec!["scenario", "queue", "class"];
    heads.extend(LINK.iter().map(|column| column.0));
    let note = "Sojourn times, goodput, losses and marks of the data. PDV: the delay beyond that of the quickest packet (RFC 5481).";
    section("Link", Some(note), &heads, rows.into_iter(), body);
    links(card, body);
    directions(card, body);
    let ratios: Vec<String> = card
        .scenarios
        .iter()
        .flat_map(|scenario| {
            let of = |outcome: &Outcome| {
                let figure = outcome.whole.get("ratio")?;
                Some(
                    [
                        text(&scenario.label()),
                        text(&outcome.queue),
                        text(&outcome.ratio_of()),
                        number(Some(figure), 1.0, 3),
                    ]
                    .concat(),
                )
            };
            scenario.results.iter().filter_map(of).collect::<Vec<_>>()
        })
        .collect();
    section(
        "Goodput of one flow over that of the other",
        None,
        &["scenario", "queue", "goodput of", "ratio"],
        ratios.into_iter(),
        body,
    );
}

/// Of two links in a row each by itself.
fn links(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            for link in &outcome.links {
                let names = [&scenario.label(), &outcome.queue, &link.name].map(|name| text(name));
                rows.push(names.concat() + &columns(&LINKS, &link.figures));
            }
        }
    }
    let mut heads = vec!["scenario", "queue", "link"];
    heads.extend(LINKS.iter().map(|column| column.0));
    let note = "Waited for: the share of time in which packets waited for the link.";
    section(
        "Links one by one",
        Some(note),
        &heads,
        rows.into_iter(),
        body,
    );
}

/// Of a link with data in both directions each by itself.
fn directions(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            for one in &outcome.directions {
                let names = [&scenario.label(), &outcome.queue, &one.name].map(|name| text(name));
                rows.push(names.concat() + &columns(&DIRECTIONS, &one.figures));
            }
        }
    }
    let mut heads = vec!["scenario", "queue", "direction"];
    heads.extend(DIRECTIONS.iter().map(|column| column.0));
    let note = "Sojourn times of all packets; losses and marks of the data, of what acknowledges the data of the other direction, and of SYNs \
                with SYN-ACKs.";
    section("Each direction", Some(note), &heads, rows.into_iter(), body);
}

/// From the start of a flow to its steady rate.
fn steady(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            let all = [("all", &outcome.whole)].into_iter();
            let classes = outcome.classes.iter().map(|one| (&*one.name, &one.figures));
            let several = outcome.classes.len() > 1;
            for (name, figures) in all.chain(classes.filter(|_| several)) {
                if let Some(figure) = figures.get("steady_after_s") {
                    let names = [text(&scenario.label()), text(&outcome.queue), text(name)];
                    rows.push(names.concat() + &number(Some(figure), 1.0, 2));
                }
            }
        }
    }
    let note = "When flows that start at 0 have 90 % of their mean goodput for ten base RTTs.";
    let heads = ["scenario", "queue", "class", "steady after, s"];
    section("Start", Some(note), &heads, rows.into_iter(), body);
}

/// Pictures with the values under the pointer.
fn pictures<const N: usize>(
    title: &str,
    note: &str,
    figures: [(&str, Option<plot::Figure>); N],
    body: &mut String,
) {
    let all = figures.iter();
    let all = all.filter_map(|(name, figure)| Some(picture(figure.as_ref()?, name)));
    let all: String = all.collect();
    if !all.is_empty() {
        let (title, note) = (escaped(title), escaped(note));
        body.push_str(&format!(
            "<section>\n<h2>{title}</h2>\n<p>{note} <span class=\"faint\">Point at a picture to see its values, or focus it and use the \
             arrow keys.</span></p>\n{all}</section>\n"
        ));
    }
}

/// The distributions in numbers, for those who do not see them.
fn quantiles(card: &Card, body: &mut String) {
    let kinds: [(&str, distributions::Of, f64, usize); 2] = [
        ("delay, ms", |one| &one.distribution.delay_ms, 1.0, 2),
        (
            "goodput, Mbit/s",
            |one| &one.distribution.goodput_bps,
            1e-6,
            2,
        ),
    ];
    let mut rows: Vec<String> = Vec::new();
    for (kind, of, factor, digits) in kinds {
        for scenario in &card.scenarios {
            for outcome in &scenario.results {
                let values = distributions::columns(card, of(outcome));
                if !values.is_empty() {
                    let names = [text(kind), text(&scenario.label()), text(&outcome.queue)];
                    let values = values
                        .iter()
                        .map(|value| plain(Some(*value), factor, digits));
                    rows.push(names.into_iter().chain(values).collect());
                }
            }
        }
    }
    let mut heads = vec!["of", "scenario", "queue"];
    heads.extend(distributions::COLUMNS.iter().map(|column| column.1));
    let table = table(&heads, rows.into_iter());
    if !table.is_empty() {
        body.push_str(&format!(
            "<section>\n<details>\n<summary>Distributions in numbers</summary>\n{table}</details>\n</section>\n"
        ));
    }
}

fn phases(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            for phase in &outcome.phases {
                let span = format!("{:.1} to {:.1}", phase.start_s, phase.end_s);
                let cells = [text(&scenario.label()), text(&outcome.queue), text(&span)];
                rows.push(cells.concat() + &columns(&PHASES, &phase.figures));
            }
        }
    }
    let mut heads = vec!["scenario", "queue", "s"];
    heads.extend(PHASES.iter().map(|column| column.0));
    section("Phases", None, &heads, rows.into_iter(), body);
}

fn losses(card: &Card, body: &mut String) {
    let mut rows: Vec<String> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            let Some(losses) = outcome.losses else {
                continue;
            };
            let cells = [
                text(&scenario.label()),
                text(&outcome.queue),
                plain(Some(losses.dropped as f64), 1.0, 0),
                plain(Some(losses.events as f64), 1.0, 0),
                plain(losses.synchronisation, 100.0, 1),
                plain(losses.gap_mean_ms, 1.0, 1),
                plain(losses.gap_p50_ms, 1.0, 1),
                plain(losses.gap_p99_ms, 1.0, 1),
            ];
            rows.push(cells.concat());
        }
    }
    let heads = [
        "scenario",
        "queue",
        "lost",
        "events",
        "flows that lose at once, %",
        "gap, ms",
        "median, ms",
        "P99, ms",
    ];
    section(
        "Losses one by one, seed 1",
        None,
        &heads,
        rows.into_iter(),
        body,
    );
}

fn parameters(card: &Card, body: &mut String) {
    let rows = card.parameters.iter().map(|one| {
        let parameter = one.parameter.as_deref().unwrap_or("as it is");
        let cells = [
            text(parameter),
            text(one.value.as_deref().unwrap_or_default()),
        ];
        cells.concat() + &columns(&LINK, &one.figures)
    });
    let mut heads = vec!["parameter", "value"];
    heads.extend(LINK.iter().map(|column| column.0));
    let note = "Mild congestion. Here ▲ and ▼ are beside the queue as it is.";
    section(
        "Parameters halved and doubled",
        Some(note),
        &heads,
        rows,
        body,
    );
}

fn trust(card: &Card, body: &mut String) {
    let rows = card.not_run.iter().map(|one| {
        [
            text(&one.id),
            text(&one.title),
            text(&one.source),
            text(&one.why),
        ]
        .concat()
    });
    section(
        "Not run, or not judged",
        None,
        &["scenario", "what it is", "source", "why"],
        rows,
        body,
    );
    body.push_str("<section>\n<h2>Notes</h2>\n<ul>\n");
    for note in &card.notes {
        body.push_str(&format!("<li>{}</li>\n", escaped(note)));
    }
    body.push_str("</ul>\n");
    let mut warnings = String::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            // Seeds differ in numbers only.
            if let Some(warning) = outcome.warnings.first() {
                let line = format!("{}, {}: {warning}", scenario.label(), outcome.queue);
                warnings.push_str(&format!("<li>{}</li>\n", escaped(&line)));
            }
        }
    }
    if !warnings.is_empty() {
        body.push_str(&format!("<ul class=\"warnings\">\n{warnings}</ul>\n"));
    }
    body.push_str("</section>\n");
}

/// A table with its heading; nothing without rows.
fn section(
    title: &str,
    note: Option<&str>,
    heads: &[&str],
    rows: impl Iterator<Item = String>,
    body: &mut String,
) {
    let table = table(heads, rows);
    if table.is_empty() {
        return;
    }
    let note = note.map_or(String::new(), |note| format!("<p>{}</p>\n", escaped(note)));
    body.push_str(&format!(
        "<section>\n<h2>{}</h2>\n{note}{table}</section>\n",
        escaped(title)
    ));
}

/// A table that scrolls; nothing without rows.
fn table(heads: &[&str], rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.map(|row| format!("<tr>{row}</tr>\n")).collect();
    if rows.is_empty() {
        return rows;
    }
    let heads: String = heads
        .iter()
        .map(|head| format!("<th>{}</th>", escaped(head)))
        .collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

fn plain(value: Option<f64>, factor: f64, digits: usize) -> String {
    match value {
        Some(value) => format!("<td class=\"number\">{:.digits$}</td>", value * factor),
        None => "<td class=\"number\">-</td>".to_owned(),
    }
}

fn text(text: &str) -> String {
    format!("<td>{}</td>", escaped(text))
}

fn columns(columns: &[Column], figures: &BTreeMap<String, Figure>) -> String {
    columns
        .iter()
        .map(|(_, key, factor, digits)| number(figures.get(*key), *factor, *digits))
        .collect()
}

fn number(figure: Option<&Figure>, factor: f64, digits: usize) -> String {
    let Some(figure) = figure else {
        return "<td class=\"number\">-</td>".to_owned();
    };
    let arrow = match figure.beside {
        Some(Beside::Higher) => "<span class=\"higher\">▲</span>",
        Some(Beside::Lower) => "<span class=\"lower\">▼</span>",
        None => "",
    };
    let half = match figure.half {
        Some(half) => format!(" ± {:.digits$}", half * factor),
        None => String::new(),
    };
    format!(
        "<td class=\"number\">{:.digits$}{half}{arrow}</td>",
        figure.mean * factor
    )
}
