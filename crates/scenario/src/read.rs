//! Reads the tree into the types, by the table of keys.
//!
//! Reading goes on after a problem, so that one check reports everything that is wrong with single values.

use quell_app::{Path, Transport};

use super::control::default_ecn;
use super::domain::{Domain, scalar};
use super::keys::{DEFAULT_CONTROL, Section, rows};
use super::problem::Problems;
use super::tree::{Node, TomlType, Tree};
use super::value::read::Values;
use super::view::{Keys as _, Reader, View, tables};
use super::{
    AppSpec, ControlSpec, Group, ReadFile, ReceiverSpec, Run, Scenario, changes, expect, hops,
    remark, value,
};

mod links;

/// Reads a scenario whose single values are right.
///
/// Beside it, a summary of each trace in a line.
pub(super) fn read(
    file: &str,
    root: &Node,
    files: ReadFile,
) -> Result<(Scenario, Vec<String>), Problems> {
    let mut reader = Reader::new(file, files);
    let scenario = scenario(&mut reader, root);
    let notes = reader.finish()?;
    Ok((scenario.ok_or_else(|| Problems::new(Vec::new()))?, notes))
}

fn scenario(reader: &mut Reader, root: &Node) -> Option<Scenario> {
    let view = View::new(reader, rows(Section::Root), "", root)?;
    view.get::<u64>(reader, "schema");
    let mut scenario = Scenario::draft(reader, &view);
    scenario.links = view
        .node(reader, "link")
        .and_then(|node| links::read(reader, node));
    scenario.functions = match view.node(reader, "value") {
        Some(node) => value::read::functions(reader, node),
        None => Some(Vec::new()),
    };
    let values = Values {
        functions: scenario.functions.as_deref(),
        links: scenario.links.as_deref(),
    };
    scenario.groups = view
        .node(reader, "group")
        .and_then(|node| groups(reader, node, &values));
    scenario.run = view
        .node(reader, "run")
        .and_then(|node| Run::read(reader, "run", node));
    let (links, groups) = (scenario.links.as_mut()?, scenario.groups.as_ref()?);
    if let (Some(node), Some(functions)) = (view.node(reader, "link"), &scenario.functions) {
        remark::read(reader, node, links, groups, functions);
    }
    let end = scenario.run.as_ref().map(|run| run.duration);
    scenario.changes = match view.node(reader, "at") {
        Some(node) => changes::read(reader, node, links, groups, end),
        None => Some(Vec::new()),
    };
    scenario.expects = match view.node(reader, "expect") {
        Some(node) => expect::read(reader, node),
        None => Some(Vec::new()),
    };
    Scenario::finish(scenario)
}

fn groups(reader: &mut Reader, node: &Node, values: &Values<'_>) -> Option<Vec<Group>> {
    let nodes = tables::list(reader, "group", node, "a list of tables [[group]]");
    let mut groups = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let ordinal = format!("group.{}", index + 1);
        groups.push(group(reader, &path_of(node, ordinal), node, values));
    }
    groups.into_iter().collect()
}

/// A group is known by its name, or by its position where it has none that could be used.
fn path_of(node: &Node, ordinal: String) -> String {
    let Tree::Table(table) = &node.value else {
        return ordinal;
    };
    let name = table
        .get("name")
        .and_then(|name| scalar(name, &[TomlType::String]));
    let name = name.filter(|name| Domain::Word.parse(name).is_some());
    name.map_or(ordinal, |name| format!("group.{name}"))
}

fn group(reader: &mut Reader, path: &str, node: &Node, values: &Values<'_>) -> Option<Group> {
    let view = View::new(reader, Group::ROWS, path, node)?;
    let mut group = Group::draft(reader, &view);
    group.path = values
        .links
        .and_then(|links| links::path(reader, &view, links));
    let path_of_data = values.links.zip(group.path).zip(group.rtt);
    let path_of_data = path_of_data.zip(group.direction);
    let path_of_data = path_of_data.map(|(((links, hops), rtt), direction)| Path {
        rate: hops::slowest(links, hops, direction),
        rtt,
    });
    group.app = view.node(reader, "app").and_then(|node| {
        let form = &view.row("app").domain;
        AppSpec::read(reader, &view.key("app"), node, form, path_of_data.as_ref())
    });
    let transport = group.app.as_ref().map(|app| app.transport());
    group.congestion_control = congestion_control(reader, &view, transport);
    let control = group.congestion_control.as_ref().and_then(Option::as_ref);
    group.receiver = view.optional(reader, "receiver", |reader, key, node| {
        // Datagrams are refused below.
        ReceiverSpec::read(reader, key, node, control)
    });
    group.ecn = match view.has("ecn") {
        true => view.get(reader, "ecn"),
        false => Some(default_ecn(control)),
    };
    let way = group.path.zip(group.direction);
    group.value = value::read::group(reader, &view, values, way);
    if transport == Some(Transport::Datagram) {
        for key in Group::ROWS {
            if let Some(why) = key.datagrams
                && let Some(node) = view.node(reader, key.name)
            {
                reader.wrong(&view.key(key.name), node, why);
            }
        }
    }
    Group::finish(group)
}

/// The inner `None` is an application without one.
fn congestion_control(
    reader: &mut Reader,
    view: &View<'_>,
    transport: Option<Transport>,
) -> Option<Option<ControlSpec>> {
    let node = view.node(reader, "congestion-control");
    let over_tcp = transport.map(|transport| transport == Transport::Stream);
    if let (Some(false), Some(node)) = (over_tcp, node) {
        reader.wrong(
            &view.key("congestion-control"),
            node,
            "has no effect: datagrams are sent regardless of congestion",
        );
        return None;
    }
    let Some(node) = node else {
        return over_tcp.map(|over_tcp| over_tcp.then(|| ControlSpec::new(DEFAULT_CONTROL)));
    };
    let key = view.key("congestion-control");
    let form = view.row("congestion-control").domain;
    ControlSpec::read(reader, &key, node, &form).map(Some)
}
