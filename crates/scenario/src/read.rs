//! From the tree to the types, by the table of keys.
//!
//! Reading goes on after a problem, so that one check reports everything that is wrong with single values.

use quell_app::{Path, Transport};

use super::control::default_ecn;
use super::domain::{Domain, scalar};
use super::keys::{DEFAULT_CONTROL, Section};
use super::problem::Problems;
use super::tree::{Node, TomlType, Tree};
use super::value::read::Values;
use super::view::{Reader, View, tables};
use super::{
    AppConfig, AppSpec, ControlSpec, Direction, EcnSetting, Group, ReadFile, Run, Scenario,
    changes, hops, remark, value,
};

mod links;

/// Reads a scenario whose single values are right.
///
/// Beside it, a line about each trace: what was understood of it.
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
    let view = View::new(reader, Section::Root, "", root)?;
    view.number(reader, "schema");
    let name = view.text(reader, "name");
    let description = view.text(reader, "description");
    let links = view
        .node(reader, "link")
        .and_then(|node| links::read(reader, node));
    let functions = match view.node(reader, "value") {
        Some(node) => value::read::functions(reader, node),
        None => Some(Vec::new()),
    };
    let values = Values {
        functions: functions.as_deref(),
        links: links.as_deref(),
    };
    let groups = view
        .node(reader, "group")
        .and_then(|node| groups(reader, node, &values));
    let run = view.node(reader, "run").and_then(|node| run(reader, node));
    let at = view.node(reader, "at");
    let (mut links, groups) = (links?, groups?);
    if let (Some(node), Some(functions)) = (view.node(reader, "link"), &functions) {
        remark::read(reader, node, &mut links, &groups, functions);
    }
    let changes = at.map_or(Some(Vec::new()), |node| {
        let end = run.as_ref().map(|run| run.duration);
        changes::read(reader, node, &links, &groups, end)
    });
    Some(Scenario {
        name: name?,
        description: description?,
        links,
        functions: functions?,
        groups,
        changes: changes?,
        run: run?,
    })
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
    let view = View::new(reader, Section::Group, path, node)?;
    let name = view.text(reader, "name");
    let count = view
        .number(reader, "count")
        .and_then(|count| u32::try_from(count).ok());
    let rtt = view.time(reader, "rtt");
    let direction = view.word(reader, "direction").map(|word| match word {
        "reverse" => Direction::Reverse,
        _ => Direction::Forward,
    });
    let hops = values
        .links
        .and_then(|links| links::path(reader, &view, links));
    let path_of_data = values.links.zip(hops).zip(rtt).zip(direction);
    let path_of_data = path_of_data.map(|(((links, hops), rtt), direction)| Path {
        rate: hops::slowest(links, hops, direction),
        rtt,
    });
    let app = view.node(reader, "app").and_then(|node| {
        let form = &view.row("app").domain;
        AppSpec::read(reader, &view.key("app"), node, form, path_of_data.as_ref())
    });
    let control = congestion_control(reader, &view, app.as_deref());
    let ecn = ecn(
        reader,
        &view,
        control.as_ref().and_then(|control| control.as_ref()),
    );
    let start = view.time(reader, "start");
    let stop = view.time(reader, "stop");
    let access_rate = view.rate(reader, "access-rate");
    let value = value::read::group(reader, &view, values, hops.zip(direction));
    let pacing = view.flag(reader, "pacing");
    let gso = view.flag(reader, "gso");
    let initial_window = view
        .number(reader, "initial-window")
        .and_then(|segments| u32::try_from(segments).ok());
    let mss = view.bytes(reader, "mss");
    refuse_keys_of_tcp(reader, &view, app.as_deref());
    Some(Group {
        name: name?,
        count: count?,
        congestion_control: control?,
        ecn: ecn?,
        rtt: rtt?,
        app: app?,
        direction: direction?,
        path: hops?,
        start: start?,
        stop,
        access_rate: access_rate?,
        value: value?,
        pacing,
        gso: gso?,
        initial_window: initial_window?,
        mss: mss?,
    })
}

/// Why pacing does not.
const LEAVE: &str = "has no effect: datagrams leave when the application sends them";

/// What has no effect on datagrams.
fn refuse_keys_of_tcp(reader: &mut Reader, view: &View<'_>, app: Option<&AppConfig>) {
    if app.is_none_or(|app| app.transport() != Transport::Datagram) {
        return;
    }
    for (name, why) in [
        ("pacing", LEAVE),
        ("gso", LEAVE),
        ("initial-window", "has no effect: datagrams have no window"),
        (
            "mss",
            "has no effect: the application says how long datagrams are",
        ),
    ] {
        if let Some(node) = view.node(reader, name) {
            reader.wrong(&view.key(name), node, why);
        }
    }
}

/// The inner `None` is an application without one.
fn congestion_control(
    reader: &mut Reader,
    view: &View<'_>,
    app: Option<&AppConfig>,
) -> Option<Option<ControlSpec>> {
    let node = view.node(reader, "congestion-control");
    let over_tcp = app.map(|app| app.transport() == Transport::Stream);
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

fn ecn(reader: &mut Reader, view: &View<'_>, control: Option<&ControlSpec>) -> Option<EcnSetting> {
    if view.node(reader, "ecn").is_none() {
        return Some(default_ecn(control));
    }
    Some(match view.word(reader, "ecn")? {
        "ect0" => EcnSetting::Ect0,
        "ect1" => EcnSetting::Ect1,
        _ => EcnSetting::Off,
    })
}

fn run(reader: &mut Reader, node: &Node) -> Option<Run> {
    let view = View::new(reader, Section::Run, "run", node)?;
    let duration = view.time(reader, "duration");
    let warmup = view.time(reader, "warmup");
    let settle = view.time(reader, "settle");
    let interval = view.time(reader, "interval");
    let seeds = view.seeds(reader, "seeds");
    Some(Run {
        duration: duration?,
        warmup: warmup?,
        settle: settle?,
        interval: interval?,
        seeds: seeds?,
    })
}
