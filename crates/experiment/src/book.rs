//! The book: one HTML file with a section for each source, its figures beside what the source printed, and every verdict.

use quell_lab::results::plot::{Axis, Figure as Picture, Mark, Panel, Series};
use quell_lab::results::present::{self, Block, Cell, Document, Role, Table};

use crate::figure::{Curve, Figure, Pair};
use crate::findings::Findings;
use crate::registry::{VALIDATION, chapters};
use crate::reproduction::Outcome;
use crate::statement::Verdict;

/// The book of these outcomes. `how` says how they were made: the command.
pub fn html(outcomes: &[Outcome<'_>], how: &str) -> String {
    let parts = parts(outcomes);
    let about = "Published experiments, repeated. Each statement has what the source says, what came out, what was checked, and the \
                 verdict. In figures, dots and the colour of published are what the source printed as numbers.";
    let mut blocks = vec![Block::Text(about.to_owned()), Block::Table(counts(&parts))];
    blocks.extend(parts.iter().map(section));
    blocks.push(Block::Section(
        "How to repeat it".to_owned(),
        vec![Block::Code("command".to_owned(), how.to_owned())],
    ));
    present::page(&Document {
        title: "Reproduction of published experiments".to_owned(),
        blocks,
    })
}

/// A chapter of the book, with what became of its experiments.
struct Part<'o> {
    title: &'o str,
    source: &'o str,
    outcomes: Vec<&'o Outcome<'o>>,
}

/// The chapters that have outcomes, then those of files of one's own.
fn parts<'o>(outcomes: &'o [Outcome<'o>]) -> Vec<Part<'o>> {
    let known = chapters()
        .iter()
        .map(|one| (one.name.as_str(), one.title.as_str(), one.source.as_str()));
    let own = ("", "Own experiments", "experiment files");
    let with_linux = (
        VALIDATION,
        "Comparisons with Linux",
        "docs/evidence/validation.md",
    );
    let part = |(name, title, source): (&'o str, &'o str, &'o str)| Part {
        title,
        source,
        outcomes: outcomes
            .iter()
            .filter(|one| one.experiment().chapter() == name)
            .collect(),
    };
    let parts = known.chain([with_linux, own]).map(part);
    parts.filter(|part| !part.outcomes.is_empty()).collect()
}

/// How many statements of a chapter have which verdict.
fn counts(parts: &[Part<'_>]) -> Table {
    let heads = [
        "experiments",
        "reproduced",
        "differ",
        "cannot be judged",
        "not judged",
    ];
    let heads = heads.map(|head| (head, Role::Figure));
    let mut table = Table::new([("source", Role::Label)].into_iter().chain(heads));
    table.caption = "Verdicts".to_owned();
    for part in parts {
        let own = &part.outcomes;
        let mut counts = [own.len(), 0, 0, 0, 0];
        let found = own.iter().filter_map(|one| one.findings());
        for judged in found.flat_map(Findings::judged) {
            counts[match judged.verdict {
                Verdict::Reproduced => 1,
                Verdict::Differs(_) => 2,
                Verdict::CannotBeJudged(_) => 3,
                Verdict::Quick => 4,
            }] += 1;
        }
        let counts = counts.map(|count| count.to_string());
        table.row([part.title.to_owned()].into_iter().chain(counts));
    }
    table
}

fn section(part: &Part<'_>) -> Block {
    let experiments = part.outcomes.iter().map(|outcome| {
        let experiment = outcome.experiment();
        let source = format!(
            "Source: {}. Scenarios: {}.",
            experiment.source,
            experiment.scenarios().join(", ")
        );
        let mut blocks = vec![Block::Text(source)];
        match outcome {
            Outcome::Found(findings) => {
                blocks.extend(found(findings, &experiment.id.replace('/', "-")));
            }
            Outcome::Incomplete {
                missing, failed, ..
            } => {
                blocks.push(Block::Text(format!("{missing} runs are missing.")));
                let failed = failed.iter().map(|why| format!("A run failed: {why}"));
                blocks.extend(failed.map(Block::Text));
            }
        }
        Block::Section(format!("{}: {}", experiment.id, experiment.title), blocks)
    });
    let source = Block::Text(format!("{}.", part.source));
    let blocks = [source].into_iter().chain(experiments);
    Block::Section(part.title.to_owned(), blocks.collect())
}

fn found(findings: &Findings<'_>, name: &str) -> Vec<Block> {
    let all = findings.judged();
    if all.iter().all(|judged| judged.verdict == Verdict::Quick) {
        let text = "The runs were too short to judge.";
        return vec![Block::Text(text.to_owned())];
    }
    let heads = [
        "statement",
        "published",
        "quell",
        "checked",
        "verdict",
        "why",
    ];
    let mut table = Table::new(heads.map(|head| (head, Role::Word)));
    for judged in &all {
        let (_, statement) = judged.id.split_once('#').unwrap_or_default();
        let mark = match judged.verdict {
            Verdict::Reproduced => Some(present::Mark::Met),
            Verdict::Differs(_) => Some(present::Mark::Missed),
            Verdict::CannotBeJudged(_) | Verdict::Quick => None,
        };
        table.row([
            statement.into(),
            judged.published.as_str().into(),
            judged.ours.as_str().into(),
            judged.bound.as_str().into(),
            Cell {
                mark,
                ..judged.verdict.name().into()
            },
            Cell::from(judged.verdict.why().unwrap_or_default()),
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    let figures = findings.figures.iter().enumerate();
    blocks.extend(
        figures.map(|(number, figure)| Block::Picture(drawn(figure), format!("{name}-{number}"))),
    );
    if !findings.text.is_empty() {
        blocks.push(Block::Code(format!("{name}-text"), findings.text.clone()));
    }
    blocks
}

/// The picture of a figure.
fn drawn(figure: &Figure) -> Picture {
    match figure {
        Figure::Curves {
            title,
            axes: [x, y],
            curves,
        } => {
            let mut panel = Panel::new("", Axis::new(x, ""), Axis::new(y, "").from_zero());
            panel.series = curves.iter().enumerate().map(curve).collect();
            whole(title, panel)
        }
        Figure::Pairs { title, axis, pairs } => {
            let mut places = Axis::new("", "");
            places.words = pairs.iter().map(|pair| pair.label.clone()).collect();
            let mut panel = Panel::new("", places, Axis::new(axis, "").from_zero());
            panel.series = sides(pairs);
            whole(title, panel)
        }
    }
}

fn whole(title: &str, panel: Panel) -> Picture {
    Picture {
        title: title.to_owned(),
        panels: vec![panel],
        columns: 1,
    }
}

fn series(label: &str, place: usize, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    Series::new(label, (place, String::new()), mark, points)
}

/// A curve of ours is a line, one of the source its points.
fn curve((place, curve): (usize, &Curve)) -> Series {
    let (label, mark) = match curve.published {
        true => (format!("published: {}", curve.name), Mark::Dots),
        false => (curve.name.clone(), Mark::Line),
    };
    series(&label, place, mark, curve.points.clone())
}

/// Ours as bars, the source's values as dots on them.
fn sides(pairs: &[Pair]) -> Vec<Series> {
    let places = || (0..pairs.len()).map(|place| place as f64);
    let ours = places().zip(pairs).map(|(x, pair)| (x, pair.ours));
    let published = places().zip(pairs);
    let published: Vec<(f64, f64)> = published
        .filter_map(|(x, pair)| Some((x, pair.published?)))
        .collect();
    let mut all = vec![series("quell", 0, Mark::Bars, ours.collect())];
    if !published.is_empty() {
        all.push(series("published", 1, Mark::Dots, published));
    }
    all
}
