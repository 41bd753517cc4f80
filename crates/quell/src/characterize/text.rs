//! A report card on the terminal.

use std::collections::BTreeMap;

use quell_experiment::characterize::card::{Card, Outcome, ScenarioRecord};
use quell_experiment::characterize::html::APPLICATIONS;
use quell_experiment::characterize::{Beside, Figure};

use crate::output::grid::{Column, Grid, Role};
use crate::output::page::Page;
use crate::output::summary_table;

/// Prints the card.
pub(crate) fn card(card: &Card, page: &mut Page) {
    head(card, page);
    applications(card, page);
    link(card, page);
    links(card, page);
    directions(card, page);
    phases(card, page);
    losses(card, page);
    parameters(card, page);
    verdicts(card, page);
    if !card.not_run.is_empty() {
        heading("Not run, or not judged", page);
        for one in &card.not_run {
            let text = format!("{} ({}): {}", one.title, one.source, one.why);
            page.hanging(&format!("{:11} ", one.id), &text);
        }
    }
    heading("Notes", page);
    for note in &card.notes {
        page.hanging("- ", note);
    }
    let mut remarks: Vec<(String, &str)> = Vec::new();
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            let label = format!("{} {}", scenario.label(), outcome.queue);
            remarks.extend(
                outcome
                    .warnings
                    .iter()
                    .map(|text| (label.clone(), text.as_str())),
            );
        }
    }
    summary_table::warnings(remarks.iter().map(|(of, text)| (of.as_str(), *text)), page);
}

fn heading(text: &str, page: &mut Page) {
    page.line("");
    page.line(text);
}

fn head(card: &Card, page: &mut Page) {
    let path = &card.profile;
    let title = match card.suite.as_str() {
        "rfc7928" => "Report card by RFC 7928".to_owned(),
        "access" => "Report card of an access link".to_owned(),
        "l4s" => "Report card for L4S".to_owned(),
        suite => format!("Report card, suite {suite}"),
    };
    page.paragraph(0, &format!("{title}: {}", card.queue()));
    for queue in &card.queues {
        page.hanging(&format!("  {}: ", queue.name), &queue.summary);
    }
    let [mild, medium, heavy] = path.flows;
    let link = match card.suite.as_str() {
        "l4s" | "access" => "Rates and RTTs of the scenarios".to_owned(),
        _ => format!(
            "{} Mbit/s, base RTT {} ms, buffer {} packets, S = {}, N = {mild} / {medium} / {heavy}",
            path.rate_bps as f64 / 1e6,
            path.rtt_ms,
            path.buffer_packets,
            path.held_packets,
        ),
    };
    let text = format!(
        "{link}; {} s of each run behind {} s of warm-up; {}; {} world. \
         ▲ ▼: the 95 % interval lies above or below that of drop-tail.",
        path.measured_s,
        rounded(path.warmup_s, 2),
        match card.seeds {
            1 => "one seed, so no intervals".to_owned(),
            many => format!("means over {many} seeds"),
        },
        card.world,
    );
    page.paragraph(0, &text);
}

/// What people feel comes first: RFC 7928 wants "externally observed end-to-end metrics".
fn applications(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 7] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("class", Role::Label),
        ("figure", Role::Word),
        ("mean", Role::Figure),
        ("P99", Role::Figure),
        ("±", Role::Extra(0)),
    ];
    let mut grid = Grid::new(&columns);
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            let mut queue = outcome.queue.clone();
            for class in &outcome.classes {
                let mut named = class.name.clone();
                for (words, key, factor, digits) in APPLICATIONS {
                    let with = |end: &str| class.figures.get(&format!("{key}{end}"));
                    let Some(figure) = with(".mean").or_else(|| with("")) else {
                        continue;
                    };
                    let half = figure
                        .half
                        .map_or(String::new(), |half| rounded(half * factor, digits));
                    grid.row(vec![
                        std::mem::take(&mut label),
                        std::mem::take(&mut queue),
                        std::mem::take(&mut named),
                        words.to_owned(),
                        shown(Some(figure), factor, digits),
                        shown(with(".p99"), factor, digits),
                        half,
                    ]);
                }
            }
        }
    }
    print("Applications, end to end", grid, page);
}

fn print(title: &str, grid: Grid<'_>, page: &mut Page) {
    if !grid.is_empty() {
        heading(title, page);
        grid.print(page);
    }
}

fn link(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 11] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("class", Role::Label),
        ("delay ms", Role::Figure),
        ("P99 ms", Role::Figure),
        ("Mbit/s", Role::Figure),
        ("util %", Role::Figure),
        ("loss %", Role::Figure),
        ("marks %", Role::Figure),
        ("PDV ms", Role::Extra(0)),
        ("Jain", Role::Extra(1)),
    ];
    let mut grid = Grid::new(&columns);
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            grid.row(of_link(
                [
                    std::mem::take(&mut label),
                    outcome.queue.clone(),
                    "all".to_owned(),
                ],
                &outcome.whole,
            ));
            if outcome.classes.len() > 1 {
                for class in &outcome.classes {
                    let names = [String::new(), String::new(), class.name.clone()];
                    grid.row(of_link(names, &class.figures));
                }
            }
        }
        for note in ratio(scenario).into_iter().chain(steady(scenario)) {
            grid.note(note);
        }
    }
    print(
        "Link: sojourn times, goodput, losses and marks of the data",
        grid,
        page,
    );
}

/// Of several links in a row each by itself.
fn links(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 8] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("link", Role::Label),
        ("delay ms", Role::Figure),
        ("util %", Role::Figure),
        ("loss %", Role::Figure),
        ("marks %", Role::Figure),
        ("waited for %", Role::Figure),
    ];
    let mut grid = Grid::new(&columns);
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            let mut queue = outcome.queue.clone();
            for link in &outcome.links {
                let of =
                    |key: &str, factor: f64, digits| shown(link.figures.get(key), factor, digits);
                grid.row(vec![
                    std::mem::take(&mut label),
                    std::mem::take(&mut queue),
                    link.name.clone(),
                    of("delay_ms.mean", 1.0, 2),
                    of("utilisation", 100.0, 1),
                    of("loss_ratio", 100.0, 3),
                    of("mark_ratio", 100.0, 3),
                    of("bottleneck_share", 100.0, 1),
                ]);
            }
        }
    }
    print("Links one by one", grid, page);
}

/// Of a link with data in both directions each by itself.
fn directions(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 11] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("direction", Role::Label),
        ("delay ms", Role::Figure),
        ("P99 ms", Role::Extra(1)),
        ("Mbit/s", Role::Figure),
        ("util %", Role::Extra(0)),
        ("data %", Role::Figure),
        ("ACKs %", Role::Figure),
        ("SYNs %", Role::Figure),
        ("marks %", Role::Extra(2)),
    ];
    let mut grid = Grid::new(&columns);
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            let mut queue = outcome.queue.clone();
            for one in &outcome.directions {
                let of =
                    |key: &str, factor: f64, digits| shown(one.figures.get(key), factor, digits);
                grid.row(vec![
                    std::mem::take(&mut label),
                    std::mem::take(&mut queue),
                    one.name.clone(),
                    of("delay_ms.mean", 1.0, 2),
                    of("delay_ms.p99", 1.0, 1),
                    of("goodput_bps", 1e-6, 2),
                    of("utilisation", 100.0, 1),
                    of("loss_ratio", 100.0, 3),
                    of("ack_loss_ratio", 100.0, 3),
                    of("syn_loss_ratio", 100.0, 3),
                    of("mark_ratio", 100.0, 3),
                ]);
            }
        }
    }
    print(
        "Each direction: losses of data, of ACKs of the other direction, and of SYNs",
        grid,
        page,
    );
}

fn of_link(names: [String; 3], figures: &BTreeMap<String, Figure>) -> Vec<String> {
    let of = |key: &str, factor: f64, digits: usize| shown(figures.get(key), factor, digits);
    let mut row: Vec<String> = names.into();
    row.extend([
        of("delay_ms.mean", 1.0, 2),
        of("delay_ms.p99", 1.0, 1),
        of("goodput_bps", 1e-6, 2),
        of("utilisation", 100.0, 1),
        of("loss_ratio", 100.0, 3),
        of("mark_ratio", 100.0, 3),
        of("pdv_ms.p99", 1.0, 1),
        of("jain", 1.0, 3),
    ]);
    row
}

/// Goodput of one flow over that of the other (RFC 7928 section 6.3).
fn ratio(scenario: &ScenarioRecord) -> Option<String> {
    let of = |outcome: &Outcome| {
        let figure = outcome.whole.get("ratio")?;
        Some(format!(
            "{} with {}",
            shown(Some(figure), 1.0, 3),
            outcome.queue
        ))
    };
    let all: Vec<String> = scenario.results.iter().filter_map(of).collect();
    let of = scenario.results.first().map(Outcome::ratio_of)?;
    (!all.is_empty()).then(|| format!("goodput {of}: {}", all.join(", ")))
}

/// From the start of a flow to its steady rate.
fn steady(scenario: &ScenarioRecord) -> Option<String> {
    let figure = "steady_after_s";
    let of = |outcome: &Outcome| {
        let all = shown(outcome.whole.get(figure), 1.0, 2);
        let classes = outcome.classes.iter();
        let classes = classes.map(|class| shown(class.figures.get(figure), 1.0, 2));
        let times: Vec<String> = match outcome.classes.len() {
            0 | 1 => vec![all],
            _ => classes.collect(),
        };
        let is_known = outcome.whole.contains_key(figure);
        is_known.then(|| format!("{} with {}", times.join(" / "), outcome.queue))
    };
    let all: Vec<String> = scenario.results.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("steady after s: {}", all.join(", ")))
}

fn phases(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 7] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("from s", Role::Figure),
        ("to s", Role::Figure),
        ("delay ms", Role::Figure),
        ("util %", Role::Figure),
        ("loss %", Role::Figure),
    ];
    let mut grid = Grid::new(&columns);
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            let mut queue = outcome.queue.clone();
            for phase in &outcome.phases {
                let of =
                    |key: &str, factor: f64, digits| shown(phase.figures.get(key), factor, digits);
                grid.row(vec![
                    std::mem::take(&mut label),
                    std::mem::take(&mut queue),
                    rounded(phase.start_s, 1),
                    rounded(phase.end_s, 1),
                    of("delay_ms.mean", 1.0, 2),
                    of("utilisation", 100.0, 1),
                    of("loss_ratio", 100.0, 3),
                ]);
            }
        }
    }
    print("Phases", grid, page);
}

fn losses(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 7] = [
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("lost", Role::Figure),
        ("events", Role::Figure),
        ("flows at once %", Role::Figure),
        ("gap ms", Role::Figure),
        ("median ms", Role::Figure),
    ];
    let mut grid = Grid::new(&columns);
    let or_none = |value: Option<f64>, factor: f64, digits| {
        value.map_or("-".to_owned(), |value| rounded(value * factor, digits))
    };
    for scenario in &card.scenarios {
        let mut label = scenario.label();
        for outcome in &scenario.results {
            let Some(losses) = outcome.losses else {
                continue;
            };
            grid.row(vec![
                std::mem::take(&mut label),
                outcome.queue.clone(),
                losses.dropped.to_string(),
                losses.events.to_string(),
                or_none(losses.synchronisation, 100.0, 1),
                or_none(losses.gap_mean_ms, 1.0, 1),
                or_none(losses.gap_p50_ms, 1.0, 1),
            ]);
        }
    }
    print(
        "Losses one by one, seed 1: how many of the flows lose at once, and gaps",
        grid,
        page,
    );
}

fn parameters(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 7] = [
        ("parameter", Role::Label),
        ("value", Role::Word),
        ("delay ms", Role::Figure),
        ("P99 ms", Role::Figure),
        ("util %", Role::Figure),
        ("loss %", Role::Figure),
        ("marks %", Role::Figure),
    ];
    let mut grid = Grid::new(&columns);
    for one in &card.parameters {
        let of = |key: &str, factor: f64, digits| shown(one.figures.get(key), factor, digits);
        grid.row(vec![
            one.parameter
                .clone()
                .unwrap_or_else(|| "as it is".to_owned()),
            one.value.clone().unwrap_or_default(),
            of("delay_ms.mean", 1.0, 2),
            of("delay_ms.p99", 1.0, 1),
            of("utilisation", 100.0, 1),
            of("loss_ratio", 100.0, 3),
            of("mark_ratio", 100.0, 3),
        ]);
    }
    print(
        "Parameters halved and doubled, mild congestion; ▲ ▼ beside the queue as it is",
        grid,
        page,
    );
}

fn verdicts(card: &Card, page: &mut Page) {
    let columns: [Column<'_>; 5] = [
        ("scenario", Role::Label),
        ("threshold", Role::Word),
        ("found", Role::Figure),
        ("", Role::Word),
        ("source", Role::Word),
    ];
    let mut grid = Grid::new(&columns);
    for verdict in &card.verdicts {
        let digits = if verdict.unit.is_empty() { 3 } else { 1 };
        grid.row(vec![
            verdict.label(card.queue()),
            verdict.what.clone(),
            rounded(verdict.found.mean, digits),
            verdict.ending.word().to_owned(),
            verdict.source.clone(),
        ]);
    }
    print(
        "Verdicts, each against a named threshold; there is no grade",
        grid,
        page,
    );
}

/// A figure with its arrow; `-` where there is none.
fn shown(figure: Option<&Figure>, factor: f64, digits: usize) -> String {
    let Some(figure) = figure else {
        return "-".to_owned();
    };
    let arrow = match figure.beside {
        Some(Beside::Higher) => "▲",
        Some(Beside::Lower) => "▼",
        None => "",
    };
    rounded(figure.mean * factor, digits) + arrow
}

fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    // A negative zero is a zero.
    match text.trim_start_matches(['-', '0', '.']) {
        "" => "0".to_owned(),
        _ => text,
    }
}
