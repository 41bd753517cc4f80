//! Pictures of results, as SVG, PDF and PNG.
//!
//! A [`Figure`] says what is shown, in the units of its axes; [`svg()`] gives everything a place and writes it. There is a small writer of
//! our own and no library for plots: it places texts by the widths of the font, so that the bytes depend on the results alone, it follows
//! light and dark pages, and it names every series for programs and for people who do not see the picture.

mod against;
mod axis;
mod badge;
mod description;
mod drawing;
mod end_labels;
mod error;
mod figure;
mod kinds;
mod layout;
mod marks;
mod multiples;
mod over_time;
mod overview;
mod palette;
mod pdf;
mod placed;
mod png;
mod source;
mod svg;
mod text;
mod values;

#[cfg(test)]
mod tests;

pub use against::{Point, against};
pub use badge::{Verdicts, badge};
pub use error::Error;
pub use figure::{Axis, Figure, Level, Mark, Panel, Series, Shade};
pub(crate) use kinds::join;
pub use kinds::{KINDS, Kind};
pub use source::{Source, read};
pub(crate) use source::{queue_text, scenario_text};
pub use svg::escaped;

/// The word on the command line for the picture that shows the most important of everything.
pub const OVERVIEW_NAME: &str = "overview";

/// The picture of this kind, or the overview.
///
/// # Errors
///
/// There is no such kind, a result cannot be read, or it has nothing of what the kind shows.
pub fn figure(kind: &str, sources: &[Source]) -> Result<Figure, Error> {
    let panels = match kind == OVERVIEW_NAME {
        true => overview::panels(sources)?,
        false => {
            let labels: Vec<&str> = sources.iter().map(|one| one.label.as_str()).collect();
            multiples::split((find(kind)?.panels)(sources)?, &labels, "queue")
        }
    };
    let mut title = title(sources);
    let mut all = panels.iter().flat_map(|panel| &panel.series);
    if all.any(|series| series.mark == Mark::Band) {
        title.push_str("; bands from the lowest to the highest");
    }
    let mut figure = Figure {
        title,
        columns: columns(panels.len()),
        panels,
    };
    palette::color(&mut figure, sources);
    Ok(figure)
}

/// How many of so many panels stand beside each other.
fn columns(panels: usize) -> usize {
    match panels {
        5.. => placed::MOST_COLUMNS,
        1 => 1,
        _ => 2,
    }
}

fn find(name: &str) -> Result<&'static Kind, Error> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    kind.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Error::Nothing(format!(
            "there is no kind {name}; there are {OVERVIEW_NAME}, {}",
            names.join(", ")
        ))
    })
}

/// The file of a picture. `name` makes its ids different from those of other pictures on one page: letters, digits and hyphens.
pub fn svg(figure: &Figure, name: &str) -> String {
    svg::write(&layout::lay_out(figure), name)
}

/// The picture as PDF, on light paper.
pub fn pdf(figure: &Figure) -> Vec<u8> {
    pdf::write(&layout::lay_out(figure))
}

/// The picture as PNG, on light paper, with `scale` pixels for each point.
///
/// # Errors
///
/// It is too large.
pub fn png(figure: &Figure, scale: f64) -> Result<Vec<u8>, Error> {
    png::write(&layout::lay_out(figure), scale)
}

/// The picture as SVG, and the values of its panels for the script of a page: at most about so many points of a series.
pub(crate) fn svg_with_values(
    figure: &Figure,
    name: &str,
    points: usize,
) -> (String, serde_json::Value) {
    let drawing = layout::lay_out(figure);
    (
        svg::write(&drawing, name),
        values::of(figure, &drawing, points),
    )
}

/// The scenarios, and where all are of one world and seed, these.
pub(crate) fn title(sources: &[Source]) -> String {
    let runs = || sources.iter().flat_map(|source| &source.runs);
    let one = |key: &str| {
        let mut values: Vec<String> = runs()
            .map(|run| match &run.summary[key] {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            })
            .collect();
        values.sort();
        values.dedup();
        values
    };
    let mut title = one("scenario").join(", ");
    if let [world] = &one("world")[..] {
        title.push_str(&format!(", {world} world"));
    }
    match &one("seed")[..] {
        [seed] => title.push_str(&format!(", seed {seed}")),
        seeds => title.push_str(&format!(", {} seeds", seeds.len())),
    }
    title
}
