//! The book: one HTML file with a section for each source, its figures beside what the source printed, and every verdict.

use std::fmt::Write as _;

use quell_lab::results::plot::{Axis, Figure as Picture, Mark, Panel, Series};
use quell_lab::results::report::{escaped, page, picture};

use crate::figure::{Curve, Figure, Pair};
use crate::findings::Findings;
use crate::registry::{VALIDATION, chapters};
use crate::reproduction::Outcome;
use crate::statement::{Judged, Verdict};

/// The book of these outcomes. `how` says how they were made: the command.
pub fn html(outcomes: &[Outcome<'_>], how: &str) -> String {
    let mut body = String::new();
    let _ = writeln!(
        body,
        "<p>Published experiments, repeated. Each statement has what the source says, what came out, what was checked, and the verdict. \
         In figures, dots and the colour of <em>published</em> are what the source printed as numbers.</p>"
    );
    let parts = parts(outcomes);
    counts(&mut body, &parts);
    for part in &parts {
        section(&mut body, part);
    }
    let _ = writeln!(
        body,
        "<section>\n<h2>How to repeat it</h2>\n<pre>{}</pre>\n</section>",
        escaped(how)
    );
    page("Reproduction of published experiments", &body)
}

/// A chapter of the book, with what became of its experiments.
struct Part<'o> {
    name: &'o str,
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
        name,
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
fn counts(body: &mut String, parts: &[Part<'_>]) {
    body.push_str(
        "<div class=\"scroll\"><table>\n<caption>Verdicts</caption>\n<thead><tr><th>source</th><th class=\"number\">experiments</th>\
         <th class=\"number\">reproduced</th><th class=\"number\">differ</th><th class=\"number\">cannot be judged</th>\
         <th class=\"number\">not judged</th></tr></thead>\n<tbody>\n",
    );
    for part in parts {
        let own = &part.outcomes;
        let mut counts = [0_usize; 4];
        let found = own.iter().filter_map(|one| one.findings());
        for judged in found.flat_map(Findings::judged) {
            counts[match judged.verdict {
                Verdict::Reproduced => 0,
                Verdict::Differs(_) => 1,
                Verdict::CannotBeJudged(_) => 2,
                Verdict::Quick => 3,
            }] += 1;
        }
        let cells = counts.map(|count| format!("<td class=\"number\">{count}</td>"));
        let _ = writeln!(
            body,
            "<tr><td><a href=\"#{}\">{}</a></td><td class=\"number\">{}</td>{}</tr>",
            part.name,
            escaped(part.title),
            own.len(),
            cells.concat()
        );
    }
    body.push_str("</tbody>\n</table></div>\n");
}

fn section(body: &mut String, part: &Part<'_>) {
    let _ = writeln!(
        body,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p>{}.</p>",
        part.name,
        escaped(part.title),
        escaped(part.source)
    );
    for outcome in &part.outcomes {
        let experiment = outcome.experiment();
        let name = experiment.id.replace('/', "-");
        let _ = writeln!(
            body,
            "<article id=\"{name}\">\n<h3>{}: {}</h3>\n<p class=\"faint\">Source: {}. Scenarios: {}.</p>",
            escaped(&experiment.id),
            escaped(&experiment.title),
            escaped(&experiment.source),
            escaped(&experiment.scenarios().join(", "))
        );
        match outcome {
            Outcome::Found(findings) => found(body, findings, &name),
            Outcome::Incomplete {
                missing, failed, ..
            } => {
                let _ = writeln!(body, "<p>{missing} runs are missing.</p>");
                for why in failed {
                    let _ = writeln!(body, "<p>A run failed: {}</p>", escaped(why));
                }
            }
        }
        body.push_str("</article>\n");
    }
    body.push_str("</section>\n");
}

fn found(body: &mut String, findings: &Findings<'_>, name: &str) {
    let all = findings.judged();
    if all.iter().all(|judged| judged.verdict == Verdict::Quick) {
        body.push_str("<p>The runs were too short to judge.</p>\n");
        return;
    }
    body.push_str(
        "<div class=\"scroll\"><table class=\"verdicts\">\n<thead><tr><th>statement</th><th>published</th><th>quell</th>\
         <th>checked</th><th>verdict</th></tr></thead>\n<tbody>\n",
    );
    for judged in &all {
        row(body, judged);
    }
    body.push_str("</tbody>\n</table></div>\n");
    for (number, figure) in findings.figures.iter().enumerate() {
        body.push_str(&picture(&drawn(figure), &format!("{name}-{number}")));
    }
    if !findings.text.is_empty() {
        let _ = writeln!(body, "<pre>{}</pre>", escaped(&findings.text));
    }
}

fn row(body: &mut String, judged: &Judged) {
    let (_, name) = judged.id.split_once('#').unwrap_or_default();
    let why = judged.verdict.why().map_or_else(String::new, |why| {
        format!("<br><span class=\"faint\">{}</span>", escaped(why))
    });
    let _ = writeln!(
        body,
        "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{}</td><td><strong>{}</strong>{why}</td></tr>",
        escaped(&judged.published),
        escaped(&judged.ours),
        escaped(&judged.bound),
        judged.verdict.name()
    );
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
    Series {
        is_right: false,
        label: label.to_owned(),
        of: (place, String::new()),
        variant: "",
        color: place,
        dashes: place,
        mark,
        is_one_of_many: false,
        points,
    }
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
