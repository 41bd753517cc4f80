//! `rate = { trace = "FILE", … }`: the keys of a link that follows a trace.

use quell_aqm::course::{ChanceFraming, Course, Trace};
use quell_units::Time;
use quell_units::parameter::Value;

use super::{Format, TextError, chances_of, parse, rates_of};
use crate::domain::{Parsed, scalar};
use crate::keys::Section;
use crate::problem::{NamedLine, Origin};
use crate::read::{Reader, View};
use crate::tree::{Node, TomlType, Tree};

/// Reads the table `node`, the value of `key`.
pub(crate) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<Course> {
    let view = View::new(reader, Section::Trace, key, node)?;
    let format = given(reader, &view, "format");
    let mode = given(reader, &view, "mode");
    let repeat = view.flag(reader, "repeat");
    let offset = view.time(reader, "offset");
    let scale = view.parsed(reader, "scale").and_then(thousandths);
    let framing = view.word(reader, "framing");
    let trace = match trace(reader, &view, format?) {
        Some(trace) => in_mode(reader, &view, trace, mode?)?,
        None => return None,
    };
    let course = Course {
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
    match view.node(reader, name) {
        Some(node) => reader.wrong(&view.key(name), node, &allowed),
        None => view.missing(reader, name, &allowed),
    }
    None
}

/// A word that may be missing: `None` after a problem.
fn given(reader: &mut Reader, view: &View<'_>, name: &str) -> Option<Option<&'static str>> {
    match view.has(name) {
        true => view.word(reader, name).map(Some),
        false => Some(None),
    }
}

fn thousandths(value: Parsed) -> Option<u32> {
    match value {
        Parsed::Value(Value::Fraction(parts, _)) => u32::try_from(parts).ok(),
        _ => None,
    }
}

/// What cannot be together: the key, and what is wrong with it.
fn refusal(course: &Course, framed: bool) -> Option<(&'static str, String)> {
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

fn trace(reader: &mut Reader, view: &View<'_>, format: Option<&str>) -> Option<Trace> {
    let (file, data) = (view.node(reader, "trace"), view.node(reader, "data"));
    let (name, node) = match (file, data) {
        (Some(_), Some(data)) => {
            reader.wrong_value(
                &view.key("data"),
                data,
                "a text",
                "stands beside trace; give the one or the other",
            );
            return None;
        }
        (Some(node), None) => ("trace", node),
        (None, Some(node)) => ("data", node),
        (None, None) => {
            view.missing(
                reader,
                "trace",
                "must be the name of a file with a trace, in quotes",
            );
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
    let known = Format::ALL
        .into_iter()
        .find(|known| Some(known.name()) == format);
    match parse(text, known.unwrap_or_else(|| Format::of(text))) {
        Ok(trace) => Some(trace),
        Err(error) => {
            let file = (name == "trace").then_some(written);
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
