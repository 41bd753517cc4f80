//! The card as a page: its tables and pictures, for a terminal and for HTML.

use std::collections::BTreeMap;

use quell_lab::results::present::{Block, Cell, Document, Mark, Role, Table};
use quell_lab::results::{plot, summary};

use crate::characterize::card::{Card, Outcome, ScenarioRecord};
use crate::characterize::figures::{Beside, Figure};
use crate::characterize::{distributions, graph, sheet};

/// A column of a table: its head and role, the figure, its factor and digits.
type Column = (&'static str, Role, &'static str, f64, usize);

const DELAY: Column = ("delay ms", Role::Figure, "delay_ms.mean", 1.0, 2);
const P99: Column = ("P99 ms", Role::Figure, "delay_ms.p99", 1.0, 1);
const GOODPUT: Column = ("Mbit/s", Role::Figure, "goodput_bps", 1e-6, 2);
const USED: Column = ("util %", Role::Figure, "utilisation", 100.0, 1);
const LOSS: Column = ("loss %", Role::Figure, "loss_ratio", 100.0, 3);
const MARKS: Column = ("marks %", Role::Figure, "mark_ratio", 100.0, 3);
const LINK: [Column; 8] = [
    DELAY,
    P99,
    GOODPUT,
    USED,
    LOSS,
    MARKS,
    ("PDV ms", Role::Extra(0), "pdv_ms.p99", 1.0, 1),
    ("Jain", Role::Extra(1), "jain", 1.0, 3),
];
const LINKS: [Column; 5] = [
    DELAY,
    USED,
    LOSS,
    MARKS,
    ("waited for %", Role::Figure, "bottleneck_share", 100.0, 1),
];
const DIRECTIONS: [Column; 8] = [
    DELAY,
    ("P99 ms", Role::Extra(1), "delay_ms.p99", 1.0, 1),
    GOODPUT,
    ("util %", Role::Extra(0), "utilisation", 100.0, 1),
    ("data %", Role::Figure, "loss_ratio", 100.0, 3),
    ("ACKs %", Role::Figure, "ack_loss_ratio", 100.0, 3),
    ("SYNs %", Role::Figure, "syn_loss_ratio", 100.0, 3),
    ("marks %", Role::Extra(2), "mark_ratio", 100.0, 3),
];
const PHASES: [Column; 4] = [
    DELAY,
    USED,
    LOSS,
    ("marks %", Role::Extra(0), "mark_ratio", 100.0, 3),
];

/// What applications report, in the order of importance: words, figure, factor, digits.
pub const APPLICATIONS: [(&str, &str, f64, usize); 12] = [
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

/// Columns of the matrix beside each other.
const ACROSS: usize = 7;

/// The page of a card. The matrix and verdicts come first, then what people feel: RFC 7928 wants "externally observed end-to-end metrics".
pub fn document(card: &Card) -> Document {
    let suite = match card.suite.as_str() {
        "rfc7928" => "Report card by RFC 7928".to_owned(),
        "access" => "Report card of an access link".to_owned(),
        "l4s" => "Report card for L4S".to_owned(),
        suite => format!("Report card, suite {suite}"),
    };
    let mut blocks = head(card);
    let explanation = "RFC 7928 has no thresholds. Open: the threshold lies within the interval. Cannot be judged: the queue's own \
         limit is below the threshold, so no queue misses it.";
    blocks.push(Block::Section(
        "Verdicts, each against a named threshold; there is no grade".to_owned(),
        vec![
            Block::Explanation(explanation.to_owned()),
            Block::Table(verdicts(card)),
        ],
    ));
    let mut section = |title: &str, explanation: &str, more: Vec<Block>| {
        let all = [Block::Explanation(explanation.to_owned())];
        let all = all.into_iter().chain(more).collect();
        blocks.push(Block::Folded(title.to_owned(), all));
    };
    let table = |table| vec![Block::Table(table)];
    section("Applications, end to end", "", table(applications(card)));
    section(
        "Link: sojourn times, goodput, losses and marks of the data",
        "PDV: the delay beyond that of the quickest packet (RFC 5481), its P99. Steady: when flows that start at 0 have 90 % of their mean \
         goodput for ten base RTTs.",
        table(link(card)),
    );
    section(
        "Links one by one",
        "Waited for: the share of time in which packets waited for the link.",
        table(parts(card, "link", &LINKS, |outcome| {
            let links = outcome.links.iter();
            links
                .map(|link| (link.name.clone(), &link.figures))
                .collect()
        })),
    );
    section(
        "Each direction: losses of data, of ACKs of the other direction, and of SYNs",
        "Sojourn times of all packets; marks of the data; SYNs with SYN-ACKs.",
        table(parts(card, "direction", &DIRECTIONS, |outcome| {
            let directions = outcome.directions.iter();
            directions
                .map(|one| (one.name.clone(), &one.figures))
                .collect()
        })),
    );
    pictures(card, &mut section);
    section(
        "Phases",
        "",
        table(parts(card, "s", &PHASES, |outcome| {
            let span = |from: f64, to: f64| format!("{from:.1} to {to:.1}");
            let phases = outcome.phases.iter();
            phases
                .map(|one| (span(one.start_s, one.end_s), &one.figures))
                .collect()
        })),
    );
    section(
        "Losses one by one, seed 1: how many of the flows lose at once, and gaps",
        "",
        table(losses(card)),
    );
    section(
        "Parameters halved and doubled, mild congestion; ▲ ▼ beside the queue as it is",
        "",
        table(parameters(card)),
    );
    let not_run = card.not_run.iter().map(|one| {
        let text = format!("{} ({}): {}", one.title, one.source, one.why);
        (one.id.clone(), text)
    });
    section(
        "Not run, or not judged",
        "",
        vec![Block::Terms(not_run.collect())],
    );
    section("Notes", "", vec![Block::Remarks(card.notes.clone())]);
    blocks.push(warnings(card));
    Document {
        title: format!("{suite}: {}", card.queue()),
        blocks,
    }
}

fn head(card: &Card) -> Vec<Block> {
    let path = &card.profile;
    let queues = card.queues.iter().map(|queue| {
        let source = queue.source.trim_end_matches('.');
        (
            queue.name.clone(),
            format!("{} Source: {source}.", queue.summary),
        )
    });
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
    let fewest = outcomes(card).filter_map(|(_, one)| Some(one.whole.get("utilisation")?.n));
    let seeds = match card.seeds {
        1 => "one seed, so no intervals".to_owned(),
        most => {
            let fewest = fewest.min().filter(|fewest| *fewest as u64 != most);
            let from = fewest.map_or(String::new(), |fewest| format!("{fewest} to "));
            format!("means over {from}{most} seeds, ± half of the 95 % interval")
        }
    };
    let text = format!(
        "{link}; {} s of each run behind {} s of warm-up; {seeds}; {} world. \
         ▲ ▼: the 95 % interval lies above or below that of drop-tail.",
        path.measured_s,
        rounded(path.warmup_s, 2),
        card.world,
    );
    vec![
        Block::Terms(queues.collect()),
        Block::Text(text),
        Block::Svg(matrix(card)),
    ]
}

/// A row for each queue, a column for each scenario: delays, use of the link, and what applications report.
fn matrix(card: &Card) -> String {
    let scenarios: Vec<String> = card.scenarios.iter().map(ScenarioRecord::label).collect();
    let queues: Vec<&str> = card.queues.iter().map(|queue| &*queue.name).collect();
    let cells = queues.iter().flat_map(|queue| {
        card.scenarios.iter().map(move |scenario| {
            let mut results = scenario.results.iter();
            let found = results.find(|outcome| outcome.queue == *queue);
            found.map_or_else(
                || sheet::Cell::empty("not run"),
                |outcome| cell(card, outcome),
            )
        })
    });
    sheet::draw(
        "#drawing ",
        [
            "What each queue does to the traffic of each scenario",
            "Forward direction. Line: delays from P1 to P99; box: P25 to P75; axis from 0.1 ms to 1 s. Bar: use of the link. Text: mean delay, use or MOS.",
        ],
        &scenarios.iter().map(String::as_str).collect::<Vec<_>>(),
        &queues,
        ACROSS,
        &cells.collect::<Vec<_>>(),
    )
}

fn cell(card: &Card, outcome: &Outcome) -> sheet::Cell {
    let at = |share: f64| {
        let index = card.shares.iter().position(|&known| known == share)?;
        outcome.distribution.delay_ms.get(index).copied()
    };
    let quarters = [at(0.01), at(0.25), at(0.75), at(0.99)];
    let delays = match quarters {
        [Some(low), Some(from), Some(to), Some(high)] => vec![([low, from, to, high], "f")],
        _ => Vec::new(),
    };
    let used = outcome.whole.get("utilisation");
    let delay = outcome.whole.get("delay_ms.mean");
    let delay = delay.map(|figure| {
        let arrow = shown(Some(figure), 1.0, 0).mark.map_or("", Mark::arrow);
        format!("{} ms{arrow}", sheet::ms(figure.mean))
    });
    let mos = outcome
        .classes
        .iter()
        .find_map(|class| class.figures.get("app.mos"));
    let more = match (mos, used) {
        (Some(mos), _) => format!("MOS {:.1}", mos.mean),
        (None, Some(used)) => format!("{:.0} %", used.mean * 100.0),
        (None, None) => String::new(),
    };
    sheet::Cell {
        delays,
        shares: used.map(|used| (used.mean, "f")).into_iter().collect(),
        said: format!("{}, {more}", delay.unwrap_or_default()),
    }
}

fn verdicts(card: &Card) -> Table {
    let mut table = Table::new([
        ("scenario", Role::Label),
        ("threshold", Role::Word),
        ("found", Role::Figure),
        ("", Role::Word),
        ("source", Role::Word),
    ]);
    for verdict in &card.verdicts {
        let digits = if verdict.unit.is_empty() { 3 } else { 1 };
        let word = verdict.ending.word();
        let mark = match word {
            "met" => Some(Mark::Met),
            "missed" => Some(Mark::Missed),
            _ => None,
        };
        table.row([
            verdict.label(card.queue()).into(),
            verdict.what.as_str().into(),
            shown(Some(&verdict.found), 1.0, digits),
            Cell {
                mark,
                ..word.into()
            },
            verdict.source.as_str().into(),
        ]);
    }
    table
}

fn applications(card: &Card) -> Table {
    let mut table = Table::new([
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("class", Role::Label),
        ("figure", Role::Word),
        ("mean", Role::Figure),
        ("P99", Role::Figure),
    ]);
    for (scenario, outcome) in outcomes(card) {
        for class in &outcome.classes {
            for (words, key, factor, digits) in APPLICATIONS {
                let with = |end: &str| class.figures.get(&format!("{key}{end}"));
                let Some(figure) = with(".mean").or_else(|| with("")) else {
                    continue;
                };
                table.row([
                    scenario.label().into(),
                    outcome.queue.as_str().into(),
                    class.name.as_str().into(),
                    words.into(),
                    shown(Some(figure), factor, digits),
                    shown(with(".p99"), factor, digits),
                ]);
            }
        }
    }
    table
}

fn link(card: &Card) -> Table {
    let mut table = labelled(["scenario", "queue", "class"], &LINK);
    for scenario in &card.scenarios {
        for outcome in &scenario.results {
            let all = [("all", &outcome.whole)].into_iter();
            let classes = outcome.classes.iter().map(|one| (&*one.name, &one.figures));
            let several = outcome.classes.len() > 1;
            for (name, figures) in all.chain(classes.filter(|_| several)) {
                let names = [&scenario.label(), &outcome.queue, name];
                table.row(cells(names, &LINK, figures));
            }
        }
        for note in ratio(scenario).into_iter().chain(steady(scenario)) {
            table.note(note);
        }
    }
    table
}

/// A part of an outcome: its name and its figures.
type Part<'a> = (String, &'a BTreeMap<String, Figure>);

/// A table of named parts of each outcome.
fn parts(
    card: &Card,
    head: &'static str,
    columns: &[Column],
    of: fn(&Outcome) -> Vec<Part<'_>>,
) -> Table {
    let mut table = labelled(["scenario", "queue", head], columns);
    for (scenario, outcome) in outcomes(card) {
        for (name, figures) in of(outcome) {
            let names = [&*scenario.label(), &outcome.queue, &name];
            table.row(cells(names, columns, figures));
        }
    }
    table
}

/// Pictures, and the distributions in numbers, for those who do not see them.
fn pictures(card: &Card, section: &mut impl FnMut(&str, &str, Vec<Block>)) {
    let all = |figures: &[(&str, Option<plot::Figure>)]| -> Vec<Block> {
        let shown = figures
            .iter()
            .filter_map(|(name, figure)| Some(Block::Picture(figure.clone()?, (*name).to_owned())));
        shown.collect()
    };
    section(
        "Delay against goodput",
        "A point for each seed, and an ellipse of one standard deviation.",
        all(&[("graph", graph::figure(card))]),
    );
    let mut distributions = all(&[
        ("delays", distributions::delay(card)),
        ("goodputs", distributions::goodput(card)),
    ]);
    let title = "Distributions in numbers".to_owned();
    distributions.push(Block::Details(title, vec![Block::Table(quantiles(card))]));
    section(
        "Distributions",
        "Delays packet by packet, of all seeds together; goodput of the first seed.",
        distributions,
    );
}

fn quantiles(card: &Card) -> Table {
    let kinds: [(&str, distributions::Of, f64); 2] = [
        ("delay ms", |one| &one.distribution.delay_ms, 1.0),
        ("goodput Mbit/s", |one| &one.distribution.goodput_bps, 1e-6),
    ];
    let labels = ["of", "scenario", "queue"].map(|head| (head, Role::Label));
    let columns = distributions::COLUMNS.iter();
    let columns = columns.map(|column| (column.1, Role::Figure));
    let mut table = Table::new(labels.into_iter().chain(columns));
    for (kind, of, factor) in kinds {
        for (scenario, outcome) in outcomes(card) {
            let values = distributions::columns(card, of(outcome));
            if !values.is_empty() {
                let names = [kind.to_owned(), scenario.label(), outcome.queue.clone()];
                let values = values.iter().map(|value| rounded(value * factor, 2));
                table.row(names.into_iter().chain(values));
            }
        }
    }
    table
}

fn losses(card: &Card) -> Table {
    let mut table = Table::new([
        ("scenario", Role::Label),
        ("queue", Role::Label),
        ("lost", Role::Figure),
        ("events", Role::Figure),
        ("flows at once %", Role::Figure),
        ("gap ms", Role::Figure),
        ("median ms", Role::Figure),
        ("P99 ms", Role::Extra(0)),
    ]);
    let or_none = |value: Option<f64>, factor: f64| {
        value.map_or("-".to_owned(), |value| rounded(value * factor, 1))
    };
    for (scenario, outcome) in outcomes(card) {
        if let Some(losses) = outcome.losses {
            table.row([
                scenario.label(),
                outcome.queue.clone(),
                losses.dropped.to_string(),
                losses.events.to_string(),
                or_none(losses.synchronisation, 100.0),
                or_none(losses.gap_mean_ms, 1.0),
                or_none(losses.gap_p50_ms, 1.0),
                or_none(losses.gap_p99_ms, 1.0),
            ]);
        }
    }
    table
}

fn parameters(card: &Card) -> Table {
    let labels = [("parameter", Role::Label), ("value", Role::Word)];
    let mut table = Table::new(labels.into_iter().chain(heads(&LINK)));
    for one in &card.parameters {
        let parameter = one.parameter.as_deref().unwrap_or("as it is");
        let value = one.value.as_deref().unwrap_or_default();
        table.row(cells([parameter, value], &LINK, &one.figures));
    }
    table
}

/// Remarks that differ in numbers only are one.
fn warnings(card: &Card) -> Block {
    let all: Vec<(String, &str)> = outcomes(card)
        .flat_map(|(scenario, outcome)| {
            let label = format!("{} {}", scenario.label(), outcome.queue);
            let texts = outcome.warnings.iter();
            texts.map(move |text| (label.clone(), text.as_str()))
        })
        .collect();
    summary::warnings(all.iter().map(|(of, text)| (of.as_str(), *text)))
}

/// Goodput of one flow over that of the other (RFC 7928 section 6.3).
fn ratio(scenario: &ScenarioRecord) -> Option<String> {
    let of = |outcome: &Outcome| {
        let figure = outcome.whole.get("ratio")?;
        Some(format!("{} with {}", plain(figure, 3), outcome.queue))
    };
    let all: Vec<String> = scenario.results.iter().filter_map(of).collect();
    let of = scenario.results.first().map(Outcome::ratio_of)?;
    (!all.is_empty()).then(|| format!("goodput {of}: {}", all.join(", ")))
}

/// From the start of a flow to its steady rate.
fn steady(scenario: &ScenarioRecord) -> Option<String> {
    let figure = "steady_after_s";
    let of = |outcome: &Outcome| {
        let shown = |figures: &BTreeMap<String, Figure>| {
            figures
                .get(figure)
                .map_or("-".to_owned(), |figure| plain(figure, 2))
        };
        let times: Vec<String> = match outcome.classes.len() {
            0 | 1 => vec![shown(&outcome.whole)],
            _ => {
                let classes = outcome.classes.iter();
                classes.map(|class| shown(&class.figures)).collect()
            }
        };
        let is_known = outcome.whole.contains_key(figure);
        is_known.then(|| format!("{} with {}", times.join(" / "), outcome.queue))
    };
    let all: Vec<String> = scenario.results.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("steady after s: {}", all.join(", ")))
}

fn outcomes(card: &Card) -> impl Iterator<Item = (&ScenarioRecord, &Outcome)> {
    card.scenarios
        .iter()
        .flat_map(|scenario| scenario.results.iter().map(move |one| (scenario, one)))
}

fn heads(columns: &[Column]) -> impl Iterator<Item = (&'static str, Role)> {
    columns.iter().map(|(head, role, ..)| (*head, *role))
}

fn labelled(labels: [&'static str; 3], columns: &[Column]) -> Table {
    let labels = labels.map(|head| (head, Role::Label));
    Table::new(labels.into_iter().chain(heads(columns)))
}

/// A row: names, then figures.
fn cells<const N: usize>(
    names: [&str; N],
    columns: &[Column],
    figures: &BTreeMap<String, Figure>,
) -> Vec<Cell> {
    let shown = columns
        .iter()
        .map(|(_, _, key, factor, digits)| shown(figures.get(*key), *factor, *digits));
    names.map(Cell::from).into_iter().chain(shown).collect()
}

/// A figure beside that of drop-tail; `-` where there is none.
fn shown(figure: Option<&Figure>, factor: f64, digits: usize) -> Cell {
    let Some(figure) = figure else {
        return "-".into();
    };
    let half = figure.half.map(|half| rounded(half * factor, digits));
    Cell {
        text: rounded(figure.mean * factor, digits),
        half: half.unwrap_or_default(),
        mark: figure.beside.map(|beside| match beside {
            Beside::Higher => Mark::Higher,
            Beside::Lower => Mark::Lower,
        }),
    }
}

/// A figure with its arrow.
fn plain(figure: &Figure, digits: usize) -> String {
    let cell = shown(Some(figure), 1.0, digits);
    cell.text + cell.mark.map_or("", Mark::arrow)
}

fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    // A negative zero is a zero.
    match text.trim_start_matches(['-', '0', '.']) {
        "" => "0".to_owned(),
        _ => text,
    }
}
