//! `quell plot`.

mod against;

use std::path::{Path, PathBuf};

use clap::Args;
use quell_lab::results::plot::{self, Error, KINDS, OVERVIEW_NAME};
use quell_lab::results::{replace, write_bytes};

use crate::failure::Failure;
use crate::output::page::Page;

/// `quell plot`.
#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Folders of results, of quell run or quell compare; or a sweep's store, or an experiment file
    #[arg(required_unless_present = "list")]
    results: Vec<PathBuf>,
    /// What to draw; --list says what there is
    #[arg(long, value_name = "KIND", default_value = OVERVIEW_NAME)]
    kind: String,
    /// The file, .svg, .pdf or .png; one of that name is replaced; - is standard output, as SVG [default: KIND.svg here, or figure.svg, if there is none yet]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Pixels of a PNG for each point, from 0.5 to 8: 2 for a screen, 4 for print
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0)]
    scale: f64,
    /// List the kinds
    #[arg(long)]
    list: bool,
    /// Column of a store, or figure of an experiment file [default: queue.*.delay_ms.p99, or the first]
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    /// Axis below it [default: the first of numbers]
    #[arg(long, value_name = "AXIS")]
    against: Option<String>,
    /// Published points over it: CSV lines of x,y or x,y,label
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Store of the experiment [default: results/reproduce]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

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

/// Writes a file that may be there already.
pub(crate) fn write(out: &Path, content: &[u8]) -> Result<(), Failure> {
    replace(out, |new| write_bytes(new, content)).map_err(Failure::failed)
}

pub(crate) fn fail(error: Error) -> Failure {
    match error {
        Error::Read { .. } => Failure::failed(error),
        error => Failure::input(error),
    }
}
