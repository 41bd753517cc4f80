//! `[value.NAME]` and the key `value` of a group, from the tree to the types.

use quell_aqm::kind::Entry;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::{CodeScale, Curve, CurvePoint, FUNCTIONS, function};
use quell_units::notation;
use quell_units::{ParameterError, Settings};

use super::{DEFAULT_FUNCTION, FunctionSpec, MOST_FUNCTIONS, PIECEWISE, UNMARKED, ValueSpec};
use crate::domain::{Domain, scalar};
use crate::keys::{Section, rows};
use crate::problem::{choices, closest};
use crate::queue::set;
use crate::tree::{Node, Table, TomlType, Tree};
use crate::view::{Reader, View, tables};
use crate::{Direction, Hops, Link};

/// The parts of a scenario on which the values of groups depend; `None` for one with errors.
pub(crate) struct Values<'a> {
    pub(crate) functions: Option<&'a [FunctionSpec]>,
    pub(crate) links: Option<&'a [Link]>,
}

/// Reads the tables `[value.NAME]`.
pub(crate) fn functions(reader: &mut Reader, node: &Node) -> Option<Vec<FunctionSpec>> {
    let table = tables::table(
        reader,
        "value",
        node,
        "tables [value.NAME], one for each function",
    )?;
    let mut all = Vec::new();
    for (name, node) in table.iter() {
        let path = format!("value.{name}");
        if Domain::Word.parse(name).is_none() {
            reader.wrong(&path, node, format!("must be named by {}", Domain::Word));
        } else if name == UNMARKED || function::find(name).is_ok() {
            reader.wrong(&path, node, "is the name of something else; choose another");
        } else {
            all.push(own_function(reader, &path, name, node));
        }
    }
    if all.len() > MOST_FUNCTIONS {
        reader.wrong(
            "value",
            node,
            format!("must be at most {MOST_FUNCTIONS} functions"),
        );
    }
    all.into_iter().collect()
}

/// One table `[value.NAME]`.
fn own_function(reader: &mut Reader, path: &str, name: &str, node: &Node) -> Option<FunctionSpec> {
    let table = tables::table(
        reader,
        path,
        node,
        "a table such as { kind = \"linear\", zero = \"100mbit\" }",
    )?;
    let entry = kind(
        reader,
        &format!("{path}.kind"),
        table.get("kind"),
        node,
        FUNCTIONS,
    )?;
    let points = table.get("points");
    let whole = settings(reader, path, table, entry, &["kind", "points"]);
    let points = match (points, entry.name == PIECEWISE) {
        (None, false) => Some(Vec::new()),
        (Some(points), true) => read_points(reader, &format!("{path}.points"), points),
        (Some(points), false) => {
            let why = format!("has an effect only with kind = \"{PIECEWISE}\"");
            reader.wrong(&format!("{path}.points"), points, &why);
            None
        }
        (None, true) => {
            reader.missing(
                &format!("{path}.points"),
                node,
                &format!("must be {POINTS}"),
            );
            None
        }
    };
    let spec = FunctionSpec {
        name: name.to_owned(),
        kind: entry.name,
        settings: whole?,
        points: points?,
    };
    match spec.build(CodeScale::default()) {
        Ok(_) => Some(spec),
        Err(error) => {
            refuse(reader, path, table, node, &error);
            None
        }
    }
}

const POINTS: &str =
    "a list of points, each a rate and its value: [[\"1mbit\", 1000000], [\"1gbit\", 1]]";

fn read_points(reader: &mut Reader, path: &str, node: &Node) -> Option<Vec<CurvePoint>> {
    let form = format!("must be {POINTS}");
    let nodes = match &node.value {
        Tree::Array(nodes) if nodes.len() <= Curve::MOST_POINTS => nodes,
        Tree::Array(_) => {
            let most = format!("must be at most {} points", Curve::MOST_POINTS);
            reader.wrong(path, node, &most);
            return None;
        }
        _ => {
            reader.wrong(path, node, &form);
            return None;
        }
    };
    let mut points = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let point = point(node);
        if point.is_none() {
            reader.wrong(&format!("{path}.{}", index + 1), node, &form);
        }
        points.push(point);
    }
    points.into_iter().collect()
}

fn point(node: &Node) -> Option<CurvePoint> {
    let Tree::Array(pair) = &node.value else {
        return None;
    };
    let [rate, value] = pair.as_slice() else {
        return None;
    };
    Some(CurvePoint {
        rate: notation::rate(scalar(rate, &[TomlType::String])?.trim()).ok()?,
        value: notation::integer(scalar(value, &[TomlType::Integer])?).ok()?,
    })
}

/// Reads the values of a group's packets. The inner `None` is an unmarked group.
pub(crate) fn group(
    reader: &mut Reader,
    view: &View<'_>,
    values: &Values<'_>,
    way: Option<(Hops, Direction)>,
) -> Option<Option<ValueSpec>> {
    let Some(node) = view.node(reader, "value") else {
        let (hops, direction) = way?;
        let links = values.links?;
        let mut queues = hops
            .iter()
            .map(|hop| &links[hop.index()].direction(direction).queue);
        return Some(queues.find_map(ValueSpec::default));
    };
    // Where the functions are wrong, names of them may be right.
    let own = values.functions?;
    let path = view.key("value");
    let Tree::Table(table) = &node.value else {
        let form = view.row("value").domain;
        let Some(name) =
            scalar(node, &[TomlType::String]).filter(|name| Domain::Word.parse(name).is_some())
        else {
            reader.wrong(&path, node, format!("must be {form}"));
            return None;
        };
        if name == UNMARKED {
            return Some(None);
        }
        return function_called(reader, &path, node, name, own)
            .map(|one| Some(ValueSpec::with_default_marker(one)));
    };
    with_marker(reader, &path, node, table, own).map(Some)
}

/// `value = { function = …, marker = …, … }`
fn with_marker(
    reader: &mut Reader,
    path: &str,
    node: &Node,
    table: &Table,
    own: &[FunctionSpec],
) -> Option<ValueSpec> {
    let view = View::open(rows(Section::Value), path, node, table);
    let functions = match view.node(reader, "function") {
        Some(node) => named(
            reader,
            &view.key("function"),
            node,
            own,
            &view.row("function").domain,
        ),
        None => FunctionSpec::known(DEFAULT_FUNCTION).map(|gold| vec![gold]),
    };
    let entry = match table.get("marker") {
        Some(marker) => kind(reader, &view.key("marker"), Some(marker), node, MARKERS)?,
        None => &MARKERS[0],
    };
    let settings = settings(reader, path, table, entry, &["function", "marker"]);
    let spec = ValueSpec {
        functions: functions?,
        marker: entry.name,
        settings: settings?,
    };
    match spec.try_out() {
        Ok(()) => Some(spec),
        Err(mut error) => {
            // The library counts functions, a scenario names them.
            if error.key == "functions" {
                error.key = "function".to_owned();
            }
            refuse(reader, path, table, node, &error);
            None
        }
    }
}

/// The functions called by a name, or by each name of a list.
fn named(
    reader: &mut Reader,
    path: &str,
    node: &Node,
    own: &[FunctionSpec],
    form: &Domain,
) -> Option<Vec<FunctionSpec>> {
    let nodes = match &node.value {
        Tree::Array(nodes) if (1..=MOST_FUNCTIONS).contains(&nodes.len()) => nodes.as_slice(),
        Tree::Scalar(..) => std::slice::from_ref(node),
        _ => {
            reader.wrong(path, node, format!("must be {form}"));
            return None;
        }
    };
    let mut functions = Vec::new();
    for node in nodes {
        let name = scalar(node, &[TomlType::String]);
        let function = match name.filter(|name| Domain::Word.parse(name).is_some()) {
            Some(name) => function_called(reader, path, node, name, own),
            None => {
                reader.wrong(path, node, format!("must be {form}"));
                None
            }
        };
        functions.push(function);
    }
    functions.into_iter().collect()
}

pub(crate) fn function_called(
    reader: &mut Reader,
    path: &str,
    node: &Node,
    name: &str,
    own: &[FunctionSpec],
) -> Option<FunctionSpec> {
    if name == UNMARKED {
        let why = "a group without values has no marker either; give value = \"none\" alone";
        reader.wrong(path, node, why);
        return None;
    }
    let found = own.iter().find(|function| function.name == name).cloned();
    let found = found.or_else(|| FunctionSpec::known(name));
    if found.is_none() {
        let names = FUNCTIONS.iter().map(|entry| entry.name);
        let names = names.filter(|name| *name != PIECEWISE);
        let own = own.iter().map(|function| function.name.as_str());
        let (meant, known) = choices(name, names.chain(own));
        let why = format!(
            "there is no value function {name}{meant}; there are {known}, and what [value.NAME] defines"
        );
        reader.wrong(path, node, &why);
    }
    found
}

/// The entry of `list` that `node` names.
fn kind(
    reader: &mut Reader,
    path: &str,
    node: Option<&Node>,
    table: &Node,
    list: &'static [Entry],
) -> Option<&'static Entry> {
    let names: Vec<String> = list
        .iter()
        .map(|entry| format!("\"{}\"", entry.name))
        .collect();
    let names = names.join(", ");
    let Some(node) = node else {
        reader.missing(path, table, &format!("must be one of {names}"));
        return None;
    };
    let name = scalar(node, &[TomlType::String]);
    let found = name.and_then(|name| list.iter().find(|entry| entry.name == name));
    if found.is_none() {
        let meant = closest(
            node.found().trim_matches('"'),
            list.iter().map(|entry| entry.name),
        );
        let meant = meant.map_or(String::new(), |name| format!("; did you mean \"{name}\"?"));
        reader.wrong(path, node, format!("must be one of {names}{meant}"));
    }
    found
}

/// The parameters of `entry` that stand in `table` beside `others`.
fn settings(
    reader: &mut Reader,
    path: &str,
    table: &Table,
    entry: &'static Entry,
    others: &[&str],
) -> Option<Settings> {
    let mut settings = Settings::new(entry.parameters);
    let mut whole = true;
    for (key, value) in table.iter().filter(|(key, _)| !others.contains(key)) {
        if let Err(refusal) = set(&mut settings, entry, table, key, value) {
            reader.wrong(&format!("{path}.{key}"), value, refusal);
            whole = false;
        }
    }
    whole.then_some(settings)
}

/// Reports an error of the library at its key, or at the table where the key is not given.
fn refuse(reader: &mut Reader, path: &str, table: &Table, node: &Node, error: &ParameterError) {
    let key = format!("{path}.{}", error.key);
    match table.get(&error.key) {
        // Of a list the library reports which of its members is wrong.
        Some(at) if matches!(at.value, Tree::Array(_)) => {
            reader.wrong_value(&key, at, &error.found, &error.allowed);
        }
        Some(at) => reader.wrong(&key, at, &error.allowed),
        None => reader.wrong_value(&key, node, &error.found, &error.allowed),
    }
}
