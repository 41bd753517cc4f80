//! What `quell judge` shows: lines of a terminal, and a page with the pictures of what is not met.

use std::path::{Path, PathBuf};

use quell_experiment::judge::{Clause, Judgement, Record, Ruling, Sample, echoed, samples};
use quell_lab::results::plot::{self, Axis, Figure, Panel, Series};
use quell_lab::results::present::{Block, Cell, Document, Mark, Role, Table};

use crate::output::page::Page;

/// Pictures of a clause that is not met: how fast packets went, and how long they waited.
const PICTURES: [&str; 2] = ["rates", "delay"];

/// A picture of a run, and where its packets are.
pub(super) type Shown = (Figure, PathBuf);

/// The clauses.
pub(super) fn list(all: &[Clause], page: &mut Page) {
    let width = all.iter().map(|one| one.id.len()).max().unwrap_or_default();
    let mut group = "";
    for one in all {
        if one.group != group {
            group = &one.group;
            page.line(format_args!("{group}: {}", one.bed));
        }
        let level = one.level.name();
        let begin = format!("  {:width$}  {level:6}  ", one.id);
        page.hanging(&begin, &format!("{} ({})", one.text, one.by));
    }
}

/// A clause in full.
pub(super) fn explain(clause: &Clause, page: &mut Page) {
    let by = format!("{} {}", clause.by, clause.level.name());
    page.line(&clause.id);
    page.hanging("  asked   ", &clause.text);
    page.hanging("  by      ", by.trim());
    page.hanging("  bed     ", &clause.bed);
    page.hanging("  judged  ", &clause.bound);
    for (begin, reasons) in [
        ("  n/a     ", &clause.not_applicable),
        ("  open    ", &clause.open),
    ] {
        for reason in reasons {
            page.hanging(begin, reason);
        }
    }
}

/// A line for each clause of a stack, the worst first; those that do not apply for the same reason share one.
pub(super) fn lines(judged: &Judgement, page: &mut Page) {
    page.paragraph(0, &head(judged));
    let (others, judged): (Vec<_>, Vec<_>) =
        judged.clauses.iter().partition(|one| one.verdict == "n/a");
    let width = judged.iter().map(|one| one.id.len()).max();
    let width = width.unwrap_or_default();
    for one in judged {
        let begin = format!("  {:width$}  {:4}  ", one.id, one.verdict);
        let by = format!("{} {}", one.by, one.level);
        page.hanging(&begin, &format!("{} ({})", one.found(), by.trim()));
    }
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for one in others {
        let why = one.found();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, clauses)) => clauses.push(&one.id),
            None => reasons.push((why, vec![&one.id])),
        }
    }
    for (why, clauses) in reasons {
        page.hanging("  n/a  ", &format!("{why}: {}", clauses.join(", ")));
    }
}

fn count(judged: &Judgement, verdict: &str) -> usize {
    let all = judged.clauses.iter();
    all.filter(|one| one.verdict == verdict).count()
}

fn head(judged: &Judgement) -> String {
    let counts = ["FAIL", "open", "pass", "note", "n/a"];
    let counts = counts
        .map(|name| format!("{} {name}", count(judged, name)))
        .join(", ");
    let Judgement {
        name,
        version,
        about,
        claims,
        ..
    } = judged;
    let parts = [name, version].map(String::as_str).join(" ");
    let about = match about.as_str() {
        "" => String::new(),
        about => format!(", {about}"),
    };
    format!("{}{about}; claims {claims}: {counts}", parts.trim())
}

fn verdict(one: &Ruling) -> Cell {
    Cell {
        mark: match one.verdict.as_str() {
            "FAIL" => Some(Mark::Missed),
            "pass" => Some(Mark::Met),
            _ => None,
        },
        ..Cell::from(one.verdict.as_str())
    }
}

/// Each clause with the verdicts on all stacks.
pub(super) fn matrix(record: &Record) -> Block {
    let heads = record
        .stacks
        .iter()
        .map(|one| (one.name.as_str(), Role::Word));
    let first = [("clause", Role::Label), ("asks", Role::Word)];
    let mut table = Table::new(first.into_iter().chain(heads));
    let mut known: Vec<&Ruling> = Vec::new();
    for one in record.stacks.iter().flat_map(|stack| &stack.clauses) {
        if known.iter().all(|other| other.id != one.id) {
            known.push(one);
        }
    }
    known.sort_by_key(|one| (&one.group, &one.id));
    for clause in known {
        let cells = record.stacks.iter().map(|stack| {
            let own = stack.clauses.iter().find(|one| one.id == clause.id);
            own.map_or_else(Cell::default, verdict)
        });
        let first = [clause.id.as_str().into(), clause.level.as_str().into()];
        table.row(first.into_iter().chain(cells));
    }
    Block::Table(table)
}

/// The counts of verdicts as a picture for a README.
pub(super) fn badge(record: &Record) -> String {
    let row = |one: &Judgement| plot::Verdicts {
        name: format!("{} {}", one.name, one.version).trim().to_owned(),
        counts: ["FAIL", "open", "pass"].map(|name| count(one, name)),
    };
    let rows: Vec<_> = record.stacks.iter().map(row).collect();
    plot::badge("Conformance to L4S and ECN", &rows)
}

/// The page; `pictures` has those of the runs of a stack for a group of clauses.
pub(super) fn page(record: &Record, pictures: &dyn Fn(&str, &str) -> Vec<Shown>) -> Document {
    let mut blocks = vec![
        Block::Text(format!(
            "{} world, seeds {}. FAIL: a bound is missed with every seed. open: nobody can say, and why. n/a: it does not apply. note: measured alone.",
            record.world, record.seeds
        )),
        matrix(record),
    ];
    for (place, judged) in record.stacks.iter().enumerate() {
        let mut own = vec![Block::Text(head(judged))];
        let mut shown: Vec<&str> = Vec::new();
        for (number, one) in judged.clauses.iter().enumerate() {
            let asked = format!("{} ({} {})", one.text, one.by, one.level);
            let terms = [
                ("asked", asked),
                ("judged", one.bound.clone()),
                ("bed", one.bed.clone()),
                ("found", one.found()),
            ];
            let terms = terms.map(|(name, text)| (name.to_owned(), text));
            let mut inner = vec![Block::Terms(terms.to_vec())];
            if one.verdict == "FAIL" && !shown.contains(&one.group.as_str()) {
                shown.push(&one.group);
                let all = pictures(&judged.name, &one.group).into_iter().enumerate();
                for (picture, (figure, packets)) in all {
                    inner.push(Block::Explanation(format!(
                        "Packets: {}",
                        packets.display()
                    )));
                    inner.push(Block::Picture(
                        figure,
                        format!("p{place}-{number}-{picture}"),
                    ));
                }
            }
            let title = format!("{}: {}: {}", one.id, one.verdict, one.found());
            own.push(Block::Folded(title, inner));
        }
        blocks.push(Block::Section(judged.name.clone(), own));
    }
    Document {
        title: "Conformance to L4S and ECN".to_owned(),
        blocks,
    }
}

/// Pictures of the runs in a folder, those with the first seed, beside where their packets are.
pub(super) fn pictures(folder: &Path) -> Vec<Shown> {
    let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = runs.map(|entry| entry.path()).collect();
    runs.retain(|path| path.to_string_lossy().ends_with("-seed1"));
    runs.sort();
    let mut all = Vec::new();
    for run in runs {
        let Ok(sources) = plot::read(std::slice::from_ref(&run)) else {
            continue;
        };
        let own = samples(&run);
        let figures = PICTURES.iter().filter_map(|kind| {
            let mut figure = plot::figure(kind, &sources).ok()?;
            add_own_words(&mut figure, *kind == "rates", &own);
            Some(figure)
        });
        let figures = figures.chain(counts(&run));
        all.extend(figures.map(|figure| (figure, run.join("packets.pcapng"))));
    }
    all
}

/// The marks that reached the receiver of a run, and those that it reported.
fn counts(run: &Path) -> Option<Figure> {
    let ways = ["reached the receiver", "reported by it"];
    let series = ways.into_iter().zip(echoed(run)).enumerate();
    let series: Vec<Series> = series
        .filter(|(_, (_, points))| !points.is_empty())
        .map(|(place, (label, points))| {
            let mut one = Series::new(label, (usize::MAX, String::new()), plot::Mark::Step, points);
            (one.color, one.dashes) = (place, place);
            one
        })
        .collect();
    let (time, marks) = (
        Axis::new("time", "s"),
        Axis::new("CE", "packets").from_zero(),
    );
    let mut panel = Panel::new("", time, marks);
    panel.series = series;
    (!panel.series.is_empty()).then(|| Figure {
        title: "CE, counted at the link and in acknowledgements".to_owned(),
        panels: vec![panel],
        columns: 1,
    })
}

/// Adds what the sender's log says: its window to the picture of the rates, its round-trip time to that of the delay.
fn add_own_words(figure: &mut Figure, has_rates: bool, own: &[Sample]) {
    let (label, value): (_, fn(&Sample) -> Option<f64>) = if has_rates {
        ("window in its qlog", |one| Some(one.cwnd? / 1e3))
    } else {
        ("smoothed RTT in its qlog", |one| one.smoothed_rtt_ms)
    };
    let points = own.iter().filter_map(|one| Some((one.at, value(one)?)));
    let points: Vec<_> = points.collect();
    let Some(panel) = figure.panels.first_mut().filter(|_| !points.is_empty()) else {
        return;
    };
    let mut series = Series::new(label, (usize::MAX, String::new()), plot::Mark::Step, points);
    // In the colour of the line beside it, with other dashes.
    if let Some(beside) = panel.series.first() {
        (series.color, series.dashes) = (beside.color, beside.dashes + 1);
    }
    if has_rates {
        series.is_right = true;
        panel.right = Some(Axis::new("window", "kB").from_zero());
    }
    panel.series.push(series);
}
