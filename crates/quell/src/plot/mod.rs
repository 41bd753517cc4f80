//! `quell plot`.

mod against;
pub(crate) mod arguments;

use std::path::{Path, PathBuf};

use quell_lab::results::plot::{self, KINDS, OVERVIEW_NAME};

use crate::failure::Failure;
use crate::output::files::{fail, write};
use crate::output::page::Page;
use crate::plot::arguments::Plot;

/// Draws results.
pub(crate) fn plot(arguments: &Plot, page: &mut Page) -> Result<(), Failure> {
    if arguments.list {
        list(page);
        return Ok(());
    }
    let kind = &arguments.kind;
    let out = arguments.out.clone();
    let name = against::meant(&arguments.results).map_or(kind.as_str(), |_| "figure");
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{name}.svg")));
    if let Some(why) = refusal(arguments, &out) {
        return Err(Failure::input(why));
    }
    let figure = match against::meant(&arguments.results) {
        Some(path) => against::figure(path, arguments)?,
        None => {
            let sources = plot::read(&arguments.results).map_err(fail)?;
            plot::figure(kind, &sources).map_err(fail)?
        }
    };
    if out == Path::new("-") {
        page.line(plot::svg(&figure, "quell").trim_end());
        return Ok(());
    }
    let content = match ending(&out).as_str() {
        "pdf" => plot::pdf(&figure),
        "png" => plot::png(&figure, arguments.scale).map_err(fail)?,
        _ => plot::svg(&figure, "quell").into_bytes(),
    };
    write(&out, &content)?;
    page.line(out.display());
    Ok(())
}

/// Pixels for a point.
const SCALES: std::ops::RangeInclusive<f64> = 0.5..=8.0;

/// What a name ends with, which says what is written.
fn ending(out: &Path) -> String {
    let ending = out.extension().unwrap_or_default();
    ending.to_string_lossy().into_owned()
}

fn list(page: &mut Page) {
    let overview = (
        OVERVIEW_NAME,
        "on one page delay, rates, marks and drops, what people feel",
    );
    let kinds = KINDS.iter().map(|kind| (kind.name, kind.help));
    for (name, help) in std::iter::once(overview).chain(kinds) {
        page.hanging(&format!("{name:<12}"), help);
    }
}

/// Why nothing is drawn, which can be said before anything is read.
fn refusal(arguments: &Plot, out: &Path) -> Option<String> {
    let is_known = |kind: &str| kind == OVERVIEW_NAME || KINDS.iter().any(|one| one.name == kind);
    if !is_known(&arguments.kind) {
        let names = KINDS.iter().map(|kind| kind.name);
        let meant = quell_lab::scenario::closest(&arguments.kind, names.clone());
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
        let names: Vec<&str> = names.collect();
        return Some(format!(
            "--kind {}: there is no such kind{meant}; there are {OVERVIEW_NAME}, {}",
            arguments.kind,
            names.join(", ")
        ));
    }
    let options = [
        arguments.figure.is_some(),
        arguments.against.is_some(),
        arguments.beside.is_some(),
    ];
    if options.contains(&true) && against::meant(&arguments.results).is_none() {
        let what =
            "--figure, --against and --beside are for one store of a sweep, or one experiment file";
        return Some(what.to_owned());
    }
    if !SCALES.contains(&arguments.scale) {
        return Some(format!(
            "--scale {}: must be from {} to {}",
            arguments.scale,
            SCALES.start(),
            SCALES.end()
        ));
    }
    if out == Path::new("-") {
        return None;
    }
    if !["svg", "pdf", "png"].contains(&ending(out).as_str()) {
        return Some(format!(
            "{}: pictures are written as .svg, .pdf or .png",
            out.display()
        ));
    }
    if arguments.out.is_none() && out.exists() {
        return Some(format!(
            "{} is there already; -o {0} replaces it, or -o names another file",
            out.display()
        ));
    }
    None
}
