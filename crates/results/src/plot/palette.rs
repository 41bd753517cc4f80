//! What a line looks like, of the one file of colours of page, pictures and Python: blue and orange are traffic, all else is queues.
//!
//! A queue has the colour of its family by its name, wherever it stands; kinds of a family differ by their dashes. A picture shows several
//! queues, whose lines have their colours, or one, whose lines have those of the traffic; its labels say which: they name what differs.

use std::sync::LazyLock;

use quell_scenario::EcnSetting;
use serde::Deserialize;

use super::drawing::DASHES;
use super::figure::{Figure, Series};
use super::source::{Run, Source};

/// The file, which tests copy into CSS and Python.
const FILE: &str = include_str!("colours.json");

/// Places of traffic begin here, in the order of the file; smaller ones are those of the families of queues, in turn.
pub(super) const TRAFFIC: usize = 100;
/// Lines of each class of traffic have dashes of their own; the last class is the ink, of what is neither traffic nor a queue.
const CLASSES: usize = 3;
pub(super) const L4S: usize = TRAFFIC;
pub(super) const CLASSIC: usize = TRAFFIC + 1;
const UNRESPONSIVE: usize = TRAFFIC + 2;
pub(super) const INK: usize = TRAFFIC + CLASSES;

/// Marks of what is no queue, in turn.
const MARKS: [&str; 5] = ["disc", "cross", "triangle", "square", "diamond"];

#[derive(Debug, Deserialize)]
struct File {
    traffic: Vec<Entry>,
    queues: Vec<Entry>,
}

/// A class of traffic, or a family of queues.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) name: String,
    /// On light paper, and on dark.
    pub(super) light: String,
    pub(super) dark: String,
    /// Its lines beside those of others.
    width: Option<f64>,
    /// The names of its queues.
    kinds: Vec<String>,
    /// The dashes of each kind, then of the second line of each kind, and so on.
    dashes: Vec<Vec<f64>>,
    /// At its points.
    mark: String,
}

/// The families of queues, the classes of traffic, ink.
pub(super) static PALETTE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let file: File = serde_json::from_str(FILE).expect("tests read this file");
    let ink = Entry {
        name: "ink".to_owned(),
        light: "#111111".to_owned(),
        dark: "#eeeeee".to_owned(),
        ..Entry::default()
    };
    let mut all = file.queues;
    all.extend(file.traffic);
    all.push(ink);
    all
});

/// Red, green and blue of a colour of the file.
pub(super) fn channels(color: &str) -> [u8; 3] {
    let part = |from: usize| u8::from_str_radix(color.get(from..from + 2)?, 16).ok();
    [1, 3, 5].map(|from| part(from).unwrap_or(0))
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// Its place in [`PALETTE`].
    pub(super) color: usize,
    pub(super) dashes: &'static [f64],
    /// Width of its lines beside those of others.
    pub(super) width: f64,
    /// At its points.
    pub(super) mark: &'static str,
    /// Bars are outlines.
    pub(super) is_hollow: bool,
}

impl Style {
    /// Of the line `place` of what has this colour; `home` is the place of its name among those that share dashes, which are `names`.
    pub(super) fn new(color: usize, (home, names): (usize, usize), place: usize) -> Self {
        let entry = &PALETTE[color];
        let dash = home + names * place;
        Self {
            color,
            dashes: match &entry.dashes[..] {
                [] => DASHES[dash % DASHES.len()],
                own => &own[dash % own.len()],
            },
            width: entry.width.unwrap_or(1.0),
            mark: match &*entry.mark {
                "" => MARKS[dash % MARKS.len()],
                own => own,
            },
            is_hollow: (home + place) % 2 == 1,
        }
    }
}

/// How many families there are.
pub(super) fn families() -> usize {
    PALETTE.len() - CLASSES - 1
}

/// The family of a kind of queue, and the place of the kind in it.
fn family(kind: &str) -> Option<(usize, usize)> {
    let place = |entry: &Entry| entry.kinds.iter().position(|one| one == kind);
    let mut all = PALETTE.iter().enumerate();
    all.find_map(|(family, entry)| Some((family, place(entry)?)))
}

/// The queue that a label names, as on a command line: `pie`, `pie:target=5ms`.
fn queue(label: &str) -> Option<&str> {
    let mut words = label.split_whitespace();
    words.find_map(|word| word.split(':').next().filter(|kind| family(kind).is_some()))
}

/// How each series of the figure is drawn, panel by panel.
pub(super) fn styles(figure: &Figure) -> Vec<Vec<Style>> {
    let all = || figure.panels.iter().flat_map(|panel| &panel.series);
    let is_of_queues = all().any(|series| queue(&series.label).is_some());
    let kinds = lines(figure, |series| queue(&series.label).unwrap_or_default());
    let places = places(&kinds);
    let style = |series: &Series, place| match family(queue(&series.label).unwrap_or_default()) {
        Some((color, home)) => Style::new(color, (home, PALETTE[color].kinds.len()), place),
        None if is_of_queues => Style::new(PALETTE.len() - 1, (0, 1), place),
        None => {
            let color = match series.color.checked_sub(TRAFFIC) {
                None => series.color % families(),
                Some(class) => families() + class % (CLASSES + 1),
            };
            Style::new(color, (0, 1), series.dashes)
        }
    };
    let panels = figure.panels.iter().zip(places);
    panels
        .map(|(panel, places)| {
            let all = panel.series.iter().zip(places);
            all.map(|(series, place)| style(series, place)).collect()
        })
        .collect()
}

/// Gives each series the colour of what it is of, and dashes; where labels name queues, [`styles`] has others.
pub(super) fn color(figure: &mut Figure, sources: &[Source]) {
    let mut others = Vec::new();
    let looks = lines(figure, |series| {
        let (source, part) = &series.of;
        let run = sources.get(*source).and_then(|one| one.runs.first());
        let Some(run) = run else { return (INK, 0, 1) };
        let class = traffic(sources, part).map(|color| (color, color - TRAFFIC, CLASSES));
        class.or_else(|| own(run, part)).unwrap_or_else(|| {
            let there = others.iter().position(|one| one == part);
            let place = there.unwrap_or(others.len());
            if there.is_none() {
                others.push(part.clone());
            }
            (place, place, 1)
        })
    });
    let places = places(&looks).into_iter().flatten();
    let given: Vec<(usize, usize)> = places
        .zip(looks.iter().flatten())
        .map(|(place, ((color, home, names), _))| (*color, home + names * place))
        .collect();
    let all = figure.panels.iter_mut().flat_map(|panel| &mut panel.series);
    for (series, (color, dashes)) in all.zip(given) {
        (series.color, series.dashes) = (color, dashes);
    }
}

/// A line of the picture, in however many of its panels.
type Line<'a> = (&'a (usize, String), &'a str, bool);

/// What each series is of, by its look, and the line that it is.
fn lines<'a, N>(
    figure: &'a Figure,
    mut look: impl FnMut(&'a Series) -> N,
) -> Vec<Vec<(N, Line<'a>)>> {
    let mut line = |series: &'a Series| {
        let line = (&series.of, series.variant, series.is_right);
        (look(series), line)
    };
    let panels = figure.panels.iter();
    panels
        .map(|panel| panel.series.iter().map(&mut line).collect())
        .collect()
}

/// For each line the first place that no other line of its look has in a panel where both are.
fn places<N: PartialEq>(panels: &[Vec<(N, Line<'_>)>]) -> Vec<Vec<usize>> {
    let mut placed: Vec<(&(N, Line<'_>), usize)> = Vec::new();
    for line in panels.iter().flatten() {
        if placed.iter().any(|(other, _)| *other == line) {
            continue;
        }
        let with: Vec<_> = panels.iter().filter(|panel| panel.contains(line)).collect();
        let is_beside = |other: &(N, Line<'_>)| with.iter().any(|panel| panel.contains(other));
        let is_taken = |place: &usize| {
            let mut same = placed.iter().filter(|(other, _)| other.0 == line.0);
            same.any(|(other, taken)| taken == place && is_beside(other))
        };
        let free = (0..).find(|place| !is_taken(place));
        placed.push((line, free.unwrap_or(0)));
    }
    let place = |line| placed.iter().find(|(other, _)| *other == line);
    let of = |line| place(line).map_or(0, |(_, place)| *place);
    panels
        .iter()
        .map(|panel| panel.iter().map(of).collect())
        .collect()
}

/// The class of the traffic of a group of any of the results, or of a queue that is for one class.
pub(super) fn traffic(sources: &[Source], part: &str) -> Option<usize> {
    /// Applications over datagrams that send what they have, whatever happens to it.
    const STEADY: [&str; 4] = ["cbr", "on-off", "voice", "game"];
    for run in sources.iter().flat_map(|source| &source.runs) {
        let mut groups = run.summary["groups"].as_array().into_iter().flatten();
        let Some(group) = groups.find(|group| group["name"] == part) else {
            continue;
        };
        let is_steady = STEADY.iter().any(|kind| group["app"]["kind"] == *kind);
        let groups = run.scenario.iter().flat_map(|scenario| &scenario.groups);
        let mut same = groups.filter(|group| group.name == part);
        return Some(match same.next() {
            _ if is_steady && group["congestion_control"].is_null() => UNRESPONSIVE,
            Some(spec) if spec.ecn == EcnSetting::Ect1 || spec.is_scalable() => L4S,
            None if part.starts_with("l4s") => L4S,
            _ => CLASSIC,
        });
    }
    match part.rsplit(' ').next() {
        Some("l4s") => Some(L4S),
        Some("classic") => Some(CLASSIC),
        Some("unresponsive") => Some(UNRESPONSIVE),
        _ => None,
    }
}

/// The family of the queue of a link, the place of its kind there, and how many kinds that has.
fn own(run: &Run, part: &str) -> Option<(usize, usize, usize)> {
    let (link, queue) = part.rsplit_once(' ').unwrap_or(("", part));
    let mut links = run.scenario.as_ref()?.links().iter();
    let link = links.find(|one| link.is_empty() || one.name == link)?;
    let (color, home) = family(link.forward.queue.kind)?;
    matches!(queue, "" | "queue").then(|| (color, home, PALETTE[color].kinds.len()))
}

#[cfg(test)]
mod tests;
