//! What `quell judge` shows: lines of a terminal, and a page with the pictures of what is not met.

use std::path::{Path, PathBuf};

use quell_experiment::judge::{Clause, Judgement, Record, Ruling};
use quell_lab::results::plot::{self, Figure};
use quell_lab::results::present::{Block, Cell, Document, Mark, Role, Table};

/// Pictures of a clause that is not met: how packets waited, and how fast they went.
const PICTURES: [&str; 2] = ["rates", "delay"];

/// The clauses.
pub(super) fn list(all: &[Clause]) -> Vec<Block> {
    let mut table = Table::new([
        ("clause", Role::Label),
        ("asks", Role::Word),
        ("by", Role::Word),
        ("what", Role::Word),
    ]);
    for one in all {
        table.row([one.id.as_str(), one.level.name(), &one.by, &one.text]);
    }
    vec![Block::Table(table)]
}

/// A clause in full.
pub(super) fn explain(clause: &Clause) -> Vec<Block> {
    let mut terms = vec![
        ("asked", clause.text.clone()),
        (
            "by",
            format!("{} {}", clause.by, clause.level.name())
                .trim()
                .to_owned(),
        ),
        ("bed", clause.bed.clone()),
        ("judged", clause.bound.clone()),
    ];
    for (name, reasons) in [("n/a", &clause.not_applicable), ("open", &clause.open)] {
        if !reasons.is_empty() {
            terms.push((name, format!("where {}", reasons.join("; where "))));
        }
    }
    let terms = terms
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text));
    vec![Block::Terms(terms.collect())]
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

/// A line for each clause of a stack, the worst first.
pub(super) fn stack(judged: &Judgement) -> Vec<Block> {
    let mut table = Table::new([
        ("clause", Role::Label),
        ("verdict", Role::Word),
        ("by", Role::Word),
        ("what decides", Role::Word),
    ]);
    for one in &judged.clauses {
        let by = format!("{} {}", one.by, one.level);
        table.row([
            one.id.as_str().into(),
            verdict(one),
            by.trim().into(),
            one.found().into(),
        ]);
    }
    let count = |name: &str| {
        judged
            .clauses
            .iter()
            .filter(|one| one.verdict == name)
            .count()
    };
    let counts =
        ["FAIL", "open", "pass", "note", "n/a"].map(|name| format!("{} {name}", count(name)));
    let head = format!(
        "{} {}: {}; claims {}. {}",
        judged.name,
        judged.version,
        judged.about,
        judged.claims,
        counts.join(", ")
    );
    vec![Block::Text(head), Block::Table(table)]
}

/// Each clause with the verdicts on all stacks.
pub(super) fn matrix(record: &Record) -> Vec<Block> {
    let names: Vec<&str> = record.stacks.iter().map(|one| one.name.as_str()).collect();
    let heads = names.iter().map(|name| (*name, Role::Word));
    let mut table = Table::new(
        [("clause", Role::Label), ("asks", Role::Word)]
            .into_iter()
            .chain(heads),
    );
    let mut known: Vec<&Ruling> = Vec::new();
    for one in record.stacks.iter().flat_map(|stack| &stack.clauses) {
        if known.iter().all(|other| other.id != one.id) {
            known.push(one);
        }
    }
    known.sort_by(|one, other| one.group.cmp(&other.group).then(one.id.cmp(&other.id)));
    for clause in known {
        let of = |stack: &Judgement| {
            let own = stack.clauses.iter().find(|one| one.id == clause.id);
            own.map_or_else(Cell::default, verdict)
        };
        let cells = record.stacks.iter().map(of);
        table.row(
            [clause.id.as_str().into(), clause.level.as_str().into()]
                .into_iter()
                .chain(cells),
        );
    }
    vec![Block::Table(table)]
}

/// The page; `pictures` has those of the runs of a stack for a group of clauses.
pub(super) fn page(
    record: &Record,
    pictures: &dyn Fn(&str, &str) -> Vec<(Figure, PathBuf)>,
) -> Document {
    let mut blocks = vec![Block::Text(format!(
        "{} world, {} seeds. FAIL: a bound is missed with every seed. open: nobody can say, and why. n/a: it does not apply.",
        record.world, record.seeds
    ))];
    blocks.extend(matrix(record));
    for (place, judged) in record.stacks.iter().enumerate() {
        let mut own = stack(judged);
        let mut shown: Vec<&str> = Vec::new();
        for (number, one) in judged.clauses.iter().enumerate() {
            let mut inner = vec![Block::Terms(
                [
                    ("asked", format!("{} ({} {})", one.text, one.by, one.level)),
                    ("judged", one.bound.clone()),
                    ("bed", one.bed.clone()),
                    ("found", one.found()),
                ]
                .map(|(name, text)| (name.to_owned(), text))
                .to_vec(),
            )];
            if one.verdict == "FAIL" && !shown.contains(&one.group.as_str()) {
                shown.push(&one.group);
                for (picture, (figure, folder)) in
                    pictures(&judged.name, &one.group).into_iter().enumerate()
                {
                    inner.push(Block::Explanation(format!(
                        "Its packets are in {}.",
                        folder.display()
                    )));
                    inner.push(Block::Picture(
                        figure,
                        format!("p{place}-{number}-{picture}"),
                    ));
                }
            }
            own.push(Block::Folded(format!("{}: {}", one.id, one.verdict), inner));
        }
        blocks.push(Block::Section(judged.name.clone(), own));
    }
    Document {
        title: "Conformance to L4S and ECN".to_owned(),
        blocks,
    }
}

/// Pictures of the runs in a folder, those with the first seed, beside where their packets are.
pub(super) fn pictures(folder: &Path) -> Vec<(Figure, PathBuf)> {
    let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = runs.map(|entry| entry.path()).collect();
    runs.retain(|path| path.to_string_lossy().ends_with("-seed1"));
    runs.sort();
    let mut all = Vec::new();
    for run in runs {
        let Ok(sources) = plot::read(std::slice::from_ref(&run)) else {
            continue;
        };
        let figures = PICTURES
            .iter()
            .filter_map(|kind| plot::figure(kind, &sources).ok());
        all.extend(figures.map(|figure| (figure, run.join("packets.pcapng"))));
    }
    all
}
