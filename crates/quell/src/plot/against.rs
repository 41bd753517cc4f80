//! A figure of a sweep's store or of an experiment file, against an axis.

use std::fs;
use std::path::{Path, PathBuf};

use quell_experiment::{Experiment, Length, Reproduction};
use quell_lab::confidence::half_width;
use quell_lab::results::plot::{Axis, Figure, Point, against};
use quell_lab::sweep::table::{self, Table};
use quell_lab::sweep::{Store, Stored, stored};
use quell_lab::{GuestOptions, World};
use quell_measure::Estimate;

use crate::failure::Failure;
use crate::plot::arguments::Plot;
use crate::reproduce::STORE;
use crate::sweep::table::warn;

/// Level of the intervals.
const LEVEL: f64 = 0.95;
/// The figure of a store where nobody chose one.
const USUAL: &str = "queue.*.delay_ms.p99";
/// What the columns of quantities end with, beside those that have them as written; what divides them, and the unit that this makes.
const UNITS: [(&str, f64, &str); 4] = [
    ("_ms", 1.0, "ms"),
    ("_bps", 1e6, "Mbit/s"),
    ("_bytes", 1e3, "kB"),
    ("_packets", 1.0, "packets"),
];

/// Axes, with the units of their numbers, and the points of a plan that have a figure.
type Grid = (Vec<(String, &'static str)>, Vec<Row>);

/// A point: its value on each axis, as written and as a number; the mean of a figure, and the ends of its interval.
struct Row {
    values: Vec<(String, Option<f64>)>,
    mean: f64,
    ends: Option<(f64, f64)>,
}

/// The only one of these paths, if it is a store or an experiment file.
pub(super) fn meant(paths: &[PathBuf]) -> Option<&Path> {
    let [path] = paths else { return None };
    (path.join("plan.json").is_file() || is_file(path)).then_some(path)
}

fn is_file(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|end| end == "toml")
}

/// The picture that the arguments ask for.
pub(super) fn figure(path: &Path, arguments: &Plot) -> Result<Figure, Failure> {
    let wanted = arguments.figure.as_deref();
    if is_file(path) {
        let experiment = Experiment::open(path).map_err(Failure::input)?;
        let known: Vec<&str> = experiment.figures().collect();
        let name = wanted.or(known.first().copied()).unwrap_or_default();
        if !known.contains(&name) {
            let why = format!("--figure {name}: there is no such figure; there are ");
            return Err(Failure::input(why + &known.join(", ")));
        }
        return drawn(
            name,
            &of_experiment(&experiment, name, arguments)?,
            arguments,
        );
    }
    let name = wanted.unwrap_or(USUAL);
    let table = table::over_seeds(&Store::at(path), LEVEL).map_err(Failure::run)?;
    warn(&table);
    drawn(name, &of_table(table, name)?, arguments)
}

/// Each point of a store, and each column that `pattern` names, which is one more axis.
fn of_table(mut table: Table, pattern: &str) -> Result<Grid, Failure> {
    let names: Vec<String> = table.names().map(str::to_owned).collect();
    let keys = table.keys().count();
    let place = |name: &str, end: &str| {
        let mut all = names.iter();
        all.position(|one| one.strip_suffix(end) == Some(name))
    };
    let number_of = |key: &String| {
        let mut all = UNITS.into_iter();
        all.find_map(|(end, by, unit)| Some((place(key, end)?, by, unit)))
    };
    let numbers: Vec<_> = names[..keys].iter().map(number_of).collect();
    let is_other = |column: usize| numbers.iter().flatten().any(|number| number.0 == column);
    let is_axis = |&key: &usize| !is_other(key) && !["point", "seeds"].contains(&&*names[key]);
    let axes: Vec<usize> = (0..keys).filter(is_axis).collect();
    // With the columns of its interval.
    let figure = |at: usize| {
        let name = Some(&names[at]).filter(|name| table::fits(pattern, name))?;
        Some([at, place(name, ".low")?, place(name, ".high")?])
    };
    let figures: Vec<[usize; 3]> = (keys..names.len()).filter_map(figure).collect();
    if figures.is_empty() {
        let selected = table.select(&[pattern.to_owned()]);
        selected.map_err(Failure::input)?;
        let why = format!("--figure {pattern}: it has no mean over seeds");
        return Err(Failure::input(why));
    }
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let mut rows = Vec::new();
    for row in 0..table.rows() {
        let number = |column: usize| table.value(row, column).number();
        let value = |&key: &usize| {
            let of = numbers[key].map(|(column, by, _)| Some(number(column)? / by));
            (
                table.value(row, key).text(),
                of.unwrap_or_else(|| number(key)),
            )
        };
        for &[mean, low, high] in &figures {
            let part = names[mean].strip_prefix(before).unwrap_or_default();
            let part = part.strip_suffix(after).unwrap_or(part).to_owned();
            rows.extend(number(mean).map(|mean| Row {
                values: axes.iter().map(value).chain([(part, None)]).collect(),
                mean,
                ends: number(low).zip(number(high)),
            }));
        }
    }
    let unit = |key: usize| numbers[key].map_or("", |number| number.2);
    let axes = axes.iter().map(|&key| (names[key].clone(), unit(key)));
    Ok((axes.chain([("column".to_owned(), "")]).collect(), rows))
}

/// Each point of an experiment; all of its runs have to be there.
fn of_experiment(experiment: &Experiment, name: &str, arguments: &Plot) -> Result<Grid, Failure> {
    let guest = GuestOptions::default();
    let all = Reproduction::new(&[experiment], Length::Full, World::Sim, &guest);
    let store = Store::at(arguments.store.as_deref().unwrap_or(Path::new(STORE)));
    let results = stored(&all.map_err(Failure::run)?.plan, &store).map_err(Failure::run)?;
    let is_missing = |one: &&Stored| matches!(one, Stored::Missing | Stored::Failed(_));
    let missing = results.iter().filter(is_missing).count();
    if missing > 0 {
        let (all, store) = (results.len(), store.root().display());
        let why = format!("{missing} of {all} runs are not in {store}; quell reproduce makes them");
        return Err(Failure::input(why));
    }
    let found = experiment.estimates(&results, name);
    let (axes, points) = found.map_err(Failure::failed)?;
    let number = |value: String| (value.clone(), value.parse().ok());
    let row = |(values, estimate): (Vec<String>, Estimate)| {
        let (mean, half) = (estimate.mean, half_width(&estimate, LEVEL));
        Row {
            values: values.into_iter().map(number).collect(),
            mean,
            ends: half.map(|half| (mean - half, mean + half)),
        }
    };
    let axes = axes.into_iter().map(|axis| (axis, ""));
    Ok((axes.collect(), points.into_iter().map(row).collect()))
}

/// Published points; a first line without numbers is a heading.
fn published(path: &Path) -> Result<Vec<Point>, Failure> {
    const FORM: &str = "must be x,y or x,y,label, such as 10,2.5,pie";
    let fail = |why: String| Failure::input(format!("{}:{why}", path.display()));
    let text = fs::read_to_string(path).map_err(|why| fail(format!(" {why}")))?;
    let mut points = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut cells = line.splitn(3, ',').map(str::trim);
        let value = |text: Option<&str>| {
            let value = text?.parse::<f64>().ok();
            value.filter(|value| value.is_finite())
        };
        match (value(cells.next()), value(cells.next())) {
            (Some(x), Some(y)) => points.push(Point {
                line: [cells.next().unwrap_or_default().to_owned(), String::new()],
                x,
                y,
                ends: None,
            }),
            (None, None) if number == 1 || line.trim().is_empty() => {}
            _ => return Err(fail(format!("{number}: {line}: {FORM}"))),
        }
    }
    match points.is_empty() {
        true => Err(fail(format!(" it has no point; a line {FORM}"))),
        false => Ok(points),
    }
}

fn drawn(name: &str, (axes, rows): &Grid, arguments: &Plot) -> Result<Figure, Failure> {
    let beside = arguments.beside.as_deref().map(published);
    let beside = beside.transpose()?.unwrap_or_default();
    let differs = |axis: &usize| {
        rows.iter()
            .any(|row| row.values[*axis].0 != rows[0].values[*axis].0)
    };
    let varied: Vec<usize> = (0..axes.len()).filter(differs).collect();
    // A named point need not be on every axis.
    let values = |axis: usize| {
        rows.iter()
            .map(move |row| &row.values[axis])
            .filter(|value| !value.0.is_empty())
    };
    let has_numbers = |axis: &usize| values(*axis).all(|value| value.1.is_some());
    let varied_axes = || varied.iter().copied();
    let x = match &arguments.against {
        Some(wanted) => varied_axes().find(|&axis| axes[axis].0 == *wanted),
        None => varied_axes().find(has_numbers).or(varied_axes().next()),
    };
    let Some(x) = x else {
        let known: Vec<&str> = varied_axes().map(|axis| &*axes[axis].0).collect();
        let wanted = arguments.against.as_deref().unwrap_or_default();
        let why =
            format!("--against {wanted}: there is no such axis with several values; there are ");
        return Err(Failure::input(why + &known.join(", ")));
    };
    let (label, unit) = &axes[x];
    let mut axis = Axis::new(label, unit);
    if !has_numbers(&x) {
        axis.unit = "";
        for (word, _) in values(x) {
            if !axis.words.contains(word) {
                axis.words.push(word.clone());
            }
        }
    }
    let point = |row: &Row| {
        let others = varied.iter().filter(|&&axis| axis != x);
        let others = others.map(|&axis| row.values[axis].0.as_str());
        let mut others = others.filter(|text| !text.is_empty());
        let frame = others.next().unwrap_or_default().to_owned();
        let (word, number) = &row.values[x];
        let place = axis.words.iter().position(|one| one == word);
        Some(Point {
            line: [frame, others.collect::<Vec<_>>().join(" ")],
            x: place.map(|place| place as f64).or(*number)?,
            y: row.mean,
            ends: row.ends,
        })
    };
    let points: Vec<Point> = rows.iter().filter_map(point).collect();
    let title = format!("{name} against {label}, means with intervals of 95 %");
    Ok(against(&title, axis, Axis::new(name, ""), &points, &beside))
}
