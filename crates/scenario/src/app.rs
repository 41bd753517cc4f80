//! `app = { … }`: from the tree to an application, and back to text.

use quell_units::Time;

use super::domain::{Domain, Parsed, scalar};
use super::hint;
use super::keys::{MTU, Section};
use super::read::{Reader, View};
use super::tree::{Kind, Node, Table, Tree};
use super::{AppConfig, Datagrams, Distribution, Interval, Period};

/// Reads the application at `path`: a table, or its kind alone.
pub(super) fn read(
    reader: &mut Reader,
    path: &str,
    node: &Node,
    form: &Domain,
) -> Option<AppConfig> {
    let spelled_out = match &node.value {
        Tree::Table(_) => None,
        _ if scalar(node, &[Kind::String]).is_some() => Some(Node {
            origin: node.origin.clone(),
            value: Tree::Table(Table::of("kind", node.clone())),
        }),
        _ => {
            reader.wrong(path, node, &format!("must be {form}"));
            return None;
        }
    };
    let view = View::new(
        reader,
        Section::App,
        path,
        spelled_out.as_ref().unwrap_or(node),
    )?;
    let app = match view.word(reader, "kind")? {
        "bulk" => AppConfig::Bulk,
        "cbr" => {
            let Datagrams { size, interval } = datagrams(reader, &view)?;
            AppConfig::Cbr { size, interval }
        }
        "transfer" => {
            let size = view.bytes(reader, "size");
            let repeat = match view.node(reader, "repeat") {
                Some(node) => Some(period(reader, &view, "repeat", node)?),
                None => None,
            };
            AppConfig::Transfer {
                size: size?,
                repeat,
            }
        }
        _ => on_off(reader, &view)?,
    };
    debug_assert!(app.check(MTU).is_ok(), "the table of keys allows {app:?}");
    Some(app)
}

fn on_off(reader: &mut Reader, view: &View<'_>) -> Option<AppConfig> {
    let [on, off] = ["on", "off"].map(|name| {
        let node = view.node(reader, name)?;
        let period = period(reader, view, name, node)?;
        if period.mean.is_zero() {
            reader.wrong(&view.key(name), node, "must be longer than zero");
            return None;
        }
        Some(period)
    });
    let given = ["size", "interval"].map(|name| view.node(reader, name).is_some());
    for (name, is_missing) in [
        ("size", given == [false, true]),
        ("interval", given == [true, false]),
    ] {
        if is_missing {
            view.missing(reader, name, "datagrams have both a size and an interval");
        }
    }
    let datagrams = match given {
        [false, false] => None,
        [true, true] => Some(datagrams(reader, view)?),
        _ => return None,
    };
    Some(AppConfig::OnOff {
        on: on?,
        off: off?,
        datagrams,
    })
}

fn datagrams(reader: &mut Reader, view: &View<'_>) -> Option<Datagrams> {
    let size = view.bytes(reader, "size");
    let interval = interval(reader, view);
    Some(Datagrams {
        size: size?,
        interval: interval?,
    })
}

fn interval(reader: &mut Reader, view: &View<'_>) -> Option<Interval> {
    let node = view.node(reader, "interval")?;
    if let Tree::Table(_) = node.value {
        let view = View::new(reader, Section::Interval, &view.key("interval"), node)?;
        let (mean, stddev) = (view.time(reader, "mean"), view.time(reader, "stddev"));
        return Some(Interval {
            mean: mean?,
            stddev: stddev?,
        });
    }
    Some(Interval {
        mean: plain(reader, view, "interval", Section::Interval, node)?,
        stddev: Time::ZERO,
    })
}

fn period(reader: &mut Reader, view: &View<'_>, name: &str, node: &Node) -> Option<Period> {
    if let Tree::Table(_) = node.value {
        let view = View::new(reader, Section::Period, &view.key(name), node)?;
        let mean = view.time(reader, "mean");
        let word = view.word(reader, "distribution")?;
        let mut all = Distribution::ALL.into_iter();
        return Some(Period {
            mean: mean?,
            distribution: all.find(|distribution| distribution.name() == word)?,
        });
    }
    plain(reader, view, name, Section::Period, node).map(Period::fixed)
}

/// A time that stands for the table of `section` with this `mean`.
fn plain(
    reader: &mut Reader,
    view: &View<'_>,
    name: &str,
    section: Section,
    node: &Node,
) -> Option<Time> {
    let mean = section.keys().find(|row| row.name == "mean")?;
    match mean.domain.read(node) {
        Ok(Parsed::Value(quell_units::parameter::Value::Time(mean))) => Some(mean),
        _ => {
            // The range is that of the mean; the form says how else it may be written.
            let (range, form) = (mean.domain, view.row(name).domain.to_string());
            let table = form.split_once(", or ").map_or("", |(_, table)| table);
            let hint = hint::of(&range, node);
            let allowed = format!("must be {range}, or {table}{hint}");
            reader.wrong(&view.key(name), node, &allowed);
            None
        }
    }
}

/// The application as an inline table.
pub(super) fn write(app: &AppConfig) -> String {
    let mut text = format!("{{ kind = \"{}\"", app.kind());
    match app {
        AppConfig::Bulk | AppConfig::Cbr { .. } => {}
        AppConfig::Transfer { size, repeat } => {
            text.push_str(&format!(", size = \"{size}\""));
            if let Some(repeat) = repeat {
                text.push_str(&format!(", repeat = {}", in_line(*repeat)));
            }
        }
        AppConfig::OnOff { on, off, .. } => {
            text.push_str(&format!(", on = {}, off = {}", in_line(*on), in_line(*off)));
        }
    }
    if let Some(Datagrams { size, interval }) = app.datagrams() {
        text.push_str(&format!(
            ", size = \"{size}\", interval = {{ mean = \"{}\", stddev = \"{}\" }}",
            interval.mean, interval.stddev
        ));
    }
    text.push_str(" }");
    text
}

fn in_line(period: Period) -> String {
    let Period { mean, distribution } = period;
    match distribution {
        Distribution::Fixed => format!("\"{mean}\""),
        Distribution::Exponential => format!(
            "{{ mean = \"{mean}\", distribution = \"{}\" }}",
            distribution.name()
        ),
    }
}
