//! `rate = { trace = "FILE", … }`: the keys of a link that follows a trace.

use quell_aqm::link_trace::{ChanceFraming, LinkTrace, Trace};
use quell_units::Time;
use quell_units::parameter::Value;

use super::summary::summary;
use super::{Format, Spacing, TextError, chances_of, guess, parse, parse_path, rates_of};
use crate::domain::{Parsed, scalar};
use crate::keys::{Section, rows};
use crate::path_course::PathCourse;
use crate::problem::{NamedLine, Origin};
use crate::tree::{Node, Table, TomlType, Tree};
use crate::view::{Reader, View};

/// Reads the table `node`, the value of `key`.
pub(crate) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<LinkTrace> {
    let view = View::new(reader, rows(Section::Trace), key, node)?;
    let format = format(reader, &view);
    let mode = given(reader, &view, "mode");
    let repeat = view.get::<bool>(reader, "repeat");
    let offset = view.get::<Time>(reader, "offset");
    let scale = view.parsed(reader, "scale").and_then(thousandths);
    let framing = view.get::<&str>(reader, "framing");
    let parse = |text: &str, format| {
        let trace = parse(text, format)?;
        Ok((summary(format, &trace), trace))
    };
    let trace = match content(reader, &view, format?, parse) {
        Some(trace) => in_mode(reader, &view, trace, mode?)?,
        None => return None,
    };
    let course = LinkTrace {
        repeat: repeat?,
        offset: offset?,
        scale: scale?,
        framing: match framing? {
            "mahimahi" => ChanceFraming::Mahimahi,
            _ => ChanceFraming::Ip,
        },
        trace,
    };
    let refused = refusal(&course, view.has("framing"));
    let Some((name, allowed)) = refused else {
        return Some(course);
    };
    view.refuse(reader, name, &allowed);
    None
}

/// Reads what a path does: the table `node`, or the name of a file, the value of `key`.
pub(crate) fn read_path(reader: &mut Reader, key: &str, node: &Node) -> Option<PathCourse> {
    let table = match node.value {
        Tree::Scalar(TomlType::String, _) => Node {
            origin: node.origin.clone(),
            value: Tree::Table(Table::of("trace", node.clone())),
        },
        _ => node.clone(),
    };
    let view = View::new(reader, rows(Section::Trace), key, &table)?;
    let of_rates = ["unit", "mode", "scale", "framing"];
    if let Some(name) = of_rates.into_iter().find(|name| view.has(name)) {
        view.refuse(reader, name, "has an effect on rates only");
        return None;
    }
    let format = format(reader, &view)?;
    let repeat = view.get::<bool>(reader, "repeat")?;
    let offset = view.get::<Time>(reader, "offset")?;
    let course = content(reader, &view, format, |text, format| {
        let rows = parse_path(text, format)?;
        let course = rows.course(repeat, offset);
        course.check().map_err(TextError::whole)?;
        let (count, length) = (course.times.len(), course.length);
        let summary = course.summary();
        let summary = format!("{}: {count} lines in {length}, {summary}", format.name());
        Ok((summary, course))
    })?;
    if !repeat && offset >= course.length {
        let allowed = format!(
            "must be before the end of the trace, which lasts for {}, or the trace must repeat",
            course.length
        );
        view.refuse(reader, "offset", &allowed);
        return None;
    }
    Some(course)
}

/// A word that may be missing: `None` after a problem.
fn given(reader: &mut Reader, view: &View<'_>, name: &str) -> Option<Option<&'static str>> {
    match view.has(name) {
        true => view.get::<&str>(reader, name).map(Some),
        false => Some(None),
    }
}

/// The format, if something says which: `unit` and `interval` go with one only.
fn format(reader: &mut Reader, view: &View<'_>) -> Option<Option<Format>> {
    let named = given(reader, view, "format")?;
    let unit = given(reader, view, "unit")?;
    let interval = match view.has("interval") {
        true => Some(view.get::<Time>(reader, "interval")?),
        false => None,
    };
    let spaced = [("unit", unit.is_some()), ("interval", interval.is_some())];
    let spaced = spaced.into_iter().find(|(_, is_given)| *is_given);
    match (named, spaced, interval) {
        (Some("delays"), _, Some(interval)) if unit.is_none() => {
            Some(Some(Format::Delays(interval)))
        }
        (None | Some("rates"), Some(_), Some(interval)) => Some(Some(Format::Rates(Spacing {
            unit: unit.and_then(super::csv::unit_of_rate),
            interval,
        }))),
        (Some("rates" | "delays"), _, None) | (None, Some(_), None) => {
            let allowed = "must be how long each line lasts, such as \"1s\"";
            view.refuse(reader, "interval", allowed);
            None
        }
        (Some(_), Some((name, _)), _) => {
            let allowed =
                "has an effect only with format = \"rates\" (interval with \"delays\", too)";
            view.refuse(reader, name, allowed);
            None
        }
        (named, None, _) => Some(
            Format::ALL
                .into_iter()
                .find(|known| Some(known.name()) == named),
        ),
    }
}

fn thousandths(value: Parsed) -> Option<u32> {
    match value {
        Parsed::Value(Value::Fraction(parts, _)) => u32::try_from(parts).ok(),
        _ => None,
    }
}

/// Finds a key that cannot stand beside the others, and the reason.
fn refusal(course: &LinkTrace, framed: bool) -> Option<(&'static str, String)> {
    if !course.repeat && course.offset >= course.length() {
        let allowed = format!(
            "must be before the end of the trace, which lasts for {}, or the trace must repeat",
            course.length()
        );
        return Some(("offset", allowed));
    }
    if framed && matches!(course.trace, Trace::Rates(_)) {
        let allowed = "has an effect only with mode = \"opportunities\"".to_owned();
        return Some(("framing", allowed));
    }
    None
}

/// What `read` makes of the file or the text, which it sums up too.
fn content<T>(
    reader: &mut Reader,
    view: &View<'_>,
    format: Option<Format>,
    read: impl Fn(&str, Format) -> Result<(String, T), TextError>,
) -> Option<T> {
    let (file, data) = (view.node(reader, "trace"), view.node(reader, "data"));
    let (name, node) = match (file, data) {
        (Some(_), Some(data)) => {
            let allowed = "stands beside trace; give the one or the other";
            reader.wrong_value(&view.key("data"), data, "a text", allowed);
            return None;
        }
        (Some(node), None) => ("trace", node),
        (None, Some(node)) => ("data", node),
        (None, None) => {
            let allowed = "must be the name of a file with a trace, in quotes";
            view.refuse(reader, "trace", allowed);
            return None;
        }
    };
    let key = view.key(name);
    let Some(written) = scalar(node, &[TomlType::String]) else {
        let allowed = match name {
            "trace" => "must be the name of a file, in quotes",
            _ => "must be a text in quotes",
        };
        reader.wrong(&key, node, allowed);
        return None;
    };
    let of_file: String;
    let text: &str = match name {
        "trace" => match (reader.files)(written, &node.origin) {
            Ok(text) => {
                of_file = text;
                &of_file
            }
            Err(why) => {
                reader.wrong(&key, node, &why);
                return None;
            }
        },
        _ => written,
    };
    let file = (name == "trace").then_some(written);
    let format = format.map_or_else(|| guess(text), Ok);
    match format.and_then(|format| read(text, format)) {
        Ok((summary, trace)) => {
            let of_file = file.map_or(String::new(), |file| format!("{file}, "));
            reader.note(format!(
                "{}: {of_file}{summary}",
                view.key("").trim_end_matches('.')
            ));
            Some(trace)
        }
        Err(error) => {
            refuse(reader, &key, node, file, &error);
            None
        }
    }
}

/// An error in a file stands at its own line; one in the scenario itself at the key.
fn refuse(reader: &mut Reader, key: &str, node: &Node, file: Option<&str>, error: &TextError) {
    let TextError {
        line,
        found,
        allowed,
    } = error;
    let Some(file) = file else {
        let allowed = format!("is no trace: line {line}: {allowed}");
        reader.wrong_value(key, node, found, &allowed);
        return;
    };
    let place = Node {
        origin: Origin::Named(Box::new(NamedLine {
            file: file.to_owned(),
            line: *line,
        })),
        value: Tree::Scalar(TomlType::String, found.clone()),
    };
    reader.wrong(key, &place, allowed);
}

/// The trace as the one kind or the other.
fn in_mode(
    reader: &mut Reader,
    view: &View<'_>,
    trace: Trace,
    mode: Option<&str>,
) -> Option<Trace> {
    let converted = match (mode, trace) {
        (Some("rate"), Trace::Chances(chances)) => rates_of(&chances).map(Trace::Rates),
        (Some("opportunities"), Trace::Rates(rates)) => chances_of(&rates).map(Trace::Chances),
        (_, trace) => return Some(trace),
    };
    match converted {
        Ok(trace) => Some(trace),
        Err(error) => {
            if let Some(node) = view.node(reader, "mode") {
                let allowed = format!("does not suit this trace: {}", error.allowed);
                reader.wrong(&view.key("mode"), node, &allowed);
            }
            None
        }
    }
}

/// The longest time without capacity that needs no warning: TCP's retransmission timer backs off to 120 s at most, and applications give
/// up before that.
pub(crate) const LONG_OUTAGE: Time = Time::from_secs(60);
