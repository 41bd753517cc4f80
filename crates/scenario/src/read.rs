//! From the tree to the types, by the table of keys.
//!
//! Reading goes on after a problem, so that one check reports everything that is wrong with single values.

use quell_app::{Path, Transport};
use quell_units::parameter::Value;
use quell_units::{Bytes, Rate, Time};

use super::control::{DEFAULT_CONTROL, default_ecn};
use super::domain::{Domain, Parsed, scalar};
use super::keys::{Key, KeyDefault, Section};
use super::problem::{Origin, Problem, Problems, closest};
use super::tree::{Node, Table, TomlType, Tree};
use super::{
    AppConfig, AppSpec, ControlSpec, Direction, EcnSetting, FunctionSpec, Group, Link, ReadFile,
    Run, Scenario, changes, guesses, hops, remark, value,
};

mod links;

pub(super) use links::rate_domain;

/// Reads a scenario whose single values are right.
///
/// Beside it, a line about each trace: what was understood of it.
pub(super) fn read(
    file: &str,
    root: &Node,
    files: ReadFile,
) -> Result<(Scenario, Vec<String>), Problems> {
    let mut reader = Reader {
        file: file.to_owned(),
        files,
        problems: Vec::new(),
        notes: Vec::new(),
    };
    match scenario(&mut reader, root) {
        Some(scenario) if reader.problems.is_empty() => Ok((scenario, reader.notes)),
        _ => Err(Problems::new(reader.problems)),
    }
}

/// Collects problems.
pub(super) struct Reader {
    file: String,
    /// What reads the files that the scenario names.
    pub(super) files: ReadFile,
    problems: Vec<Problem>,
    /// What was understood of traces.
    notes: Vec<String>,
}

impl Reader {
    /// What was understood where nothing is wrong.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }
    /// The value of `key` is wrong.
    pub(super) fn wrong(&mut self, key: &str, node: &Node, allowed: &str) {
        self.push(key, node.origin.clone(), Some(node.found()), allowed);
    }
    /// The value `found` of `key`, which is only a part of `node` or stands nowhere, is wrong.
    pub(super) fn wrong_value(&mut self, key: &str, node: &Node, found: &str, allowed: &str) {
        self.push(key, node.origin.clone(), Some(found.to_owned()), allowed);
    }
    /// `key` should stand in `table`.
    pub(super) fn missing(&mut self, key: &str, table: &Node, allowed: &str) {
        self.push(
            key,
            table.origin.clone(),
            None,
            &format!("is missing; {allowed}"),
        );
    }
    fn push(&mut self, key: &str, origin: Origin, found: Option<String>, allowed: &str) {
        self.problems.push(Problem {
            file: self.file.clone(),
            origin,
            key: key.to_owned(),
            found,
            allowed: allowed.to_owned(),
        });
    }
}

/// Tables and lists of tables.
pub(super) mod tables {
    use super::{Node, Reader, Table, Tree};

    /// The table that `node` should be.
    pub(in super::super) fn table<'a>(
        reader: &mut Reader,
        path: &str,
        node: &'a Node,
        form: &str,
    ) -> Option<&'a Table> {
        match &node.value {
            Tree::Table(table) => Some(table),
            _ => {
                reader.wrong(path, node, &format!("must be {form}"));
                None
            }
        }
    }

    /// The nodes of the list that `node` should be.
    pub(in super::super) fn list<'a>(
        reader: &mut Reader,
        path: &str,
        node: &'a Node,
        form: &str,
    ) -> &'a [Node] {
        match &node.value {
            Tree::Array(nodes) => nodes,
            _ => {
                reader.wrong(path, node, &format!("must be {form}"));
                &[]
            }
        }
    }
}

/// One table under the eyes of its section.
pub(super) struct View<'a> {
    section: Section,
    path: String,
    node: &'a Node,
    table: &'a Table,
    /// The value of its key `kind`.
    kind: Option<&'a str>,
}

impl<'a> View<'a> {
    /// Refuses what is not a table, and keys that the section does not have here.
    pub(super) fn new(
        reader: &mut Reader,
        section: Section,
        path: &str,
        node: &'a Node,
    ) -> Option<Self> {
        let table = tables::table(reader, path, node, "a table")?;
        let view = Self::open(section, path, node, table);
        for (name, value) in table.iter() {
            if let Some(why) = view.refusal(name) {
                reader.wrong(&view.key(name), value, &why);
            }
        }
        Some(view)
    }

    /// A table whose keys are not all in the section: the caller refuses those that it does not know.
    pub(super) fn open(section: Section, path: &str, node: &'a Node, table: &'a Table) -> Self {
        Self {
            section,
            path: path.to_owned(),
            node,
            table,
            kind: table
                .get("kind")
                .and_then(|node| scalar(node, &[TomlType::String])),
        }
    }

    fn refusal(&self, name: &str) -> Option<String> {
        match self.find(name) {
            Some(key) => {
                key.only
                    .filter(|only| self.kind.is_some_and(|kind| kind != *only))?;
                let rows = self.section.keys().filter(|key| key.name == name);
                let kinds: Vec<String> = rows
                    .filter_map(|key| key.only)
                    .map(|only| format!("\"{only}\""))
                    .collect();
                Some(format!(
                    "has an effect only with kind = {}",
                    kinds.join(" or ")
                ))
            }
            None => {
                let near = || {
                    let names = self.section.keys().map(|key| key.name);
                    closest(name, names).map(str::to_owned)
                };
                let meant = guesses::key(self.section, name).or_else(near);
                let meant =
                    meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
                let mut known: Vec<&str> = Vec::new();
                for key in self.section.keys() {
                    let is_of_another = key
                        .only
                        .is_some_and(|only| self.kind.is_some_and(|kind| kind != only));
                    if !is_of_another && !known.contains(&key.name) {
                        known.push(key.name);
                    }
                }
                let of_kind = self
                    .kind
                    .map_or(String::new(), |kind| format!(" with kind = \"{kind}\""));
                Some(format!(
                    "unknown key{meant}; {}{of_kind} has {}",
                    self.section.title(),
                    known.join(", ")
                ))
            }
        }
    }

    /// The full key of `name`.
    pub(super) fn key(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            (path, "") => path.to_owned(),
            ("", name) => name.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }

    /// The row of `name` for the kind of this table; for another kind if that has none.
    fn find(&self, name: &str) -> Option<&'static Key> {
        let rows = || self.section.keys().filter(|key| key.name == name);
        let mut of_kind = rows().filter(|key| key.only.is_none() || key.only == self.kind);
        of_kind.next().or_else(|| rows().next())
    }

    /// Whether `name` is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.get(name).is_some()
    }

    pub(super) fn row(&self, name: &str) -> &'static Key {
        self.find(name)
            .unwrap_or_else(|| panic!("{name} is not in the table of {:?}", self.section))
    }

    /// `name` should stand here, because `why`.
    pub(super) fn missing(&self, reader: &mut Reader, name: &str, why: &str) {
        reader.missing(&self.key(name), self.node, why);
    }

    /// The node of `name`; a problem if it must be given and is not.
    pub(super) fn node(&self, reader: &mut Reader, name: &str) -> Option<&'a Node> {
        let row = self.row(name);
        let node = self.table.get(name);
        if node.is_none() && matches!(row.default, KeyDefault::Required) {
            reader.missing(
                &self.key(name),
                self.node,
                &format!("must be {}", row.domain),
            );
        }
        node
    }

    /// The value given, else the default; `None` after a problem, and where nothing is given and nothing is the default.
    pub(super) fn parsed(&self, reader: &mut Reader, name: &str) -> Option<Parsed> {
        self.parsed_in(reader, name, self.row(name).domain)
    }

    /// The same, where it may be something of this domain.
    fn parsed_in(&self, reader: &mut Reader, name: &str, domain: Domain) -> Option<Parsed> {
        let row = self.row(name);
        let Some(node) = self.node(reader, name) else {
            return match row.default {
                KeyDefault::Is("[1]") => Some(Parsed::Seeds(vec![1])),
                KeyDefault::Is(text) => domain.parse(text),
                KeyDefault::Required | KeyDefault::Derived(_) => None,
            };
        };
        match domain.read(node) {
            Ok(value) => Some(value),
            Err(mut allowed) => {
                if let Tree::Scalar(_, found) = &node.value {
                    allowed.push_str(&guesses::word(name, found).unwrap_or_default());
                }
                reader.wrong(&self.key(name), node, &allowed);
                None
            }
        }
    }

    pub(super) fn time(&self, reader: &mut Reader, name: &str) -> Option<Time> {
        match self.parsed(reader, name)? {
            Parsed::Value(Value::Time(time)) => Some(time),
            _ => None,
        }
    }
    pub(super) fn bytes(&self, reader: &mut Reader, name: &str) -> Option<Bytes> {
        match self.parsed(reader, name)? {
            Parsed::Value(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }
    pub(super) fn number(&self, reader: &mut Reader, name: &str) -> Option<u64> {
        match self.parsed(reader, name)? {
            Parsed::Value(Value::Integer(number)) => Some(number),
            _ => None,
        }
    }
    pub(super) fn flag(&self, reader: &mut Reader, name: &str) -> Option<bool> {
        match self.parsed(reader, name)? {
            Parsed::Value(Value::Flag(flag)) => Some(flag),
            _ => None,
        }
    }
    pub(super) fn word(&self, reader: &mut Reader, name: &str) -> Option<&'static str> {
        match self.parsed(reader, name)? {
            Parsed::Value(Value::Word(word)) => Some(word),
            _ => None,
        }
    }
    pub(super) fn rate(&self, reader: &mut Reader, name: &str) -> Option<Rate> {
        match self.parsed(reader, name)? {
            Parsed::Rate(rate) => Some(rate),
            _ => None,
        }
    }
    fn signed(&self, reader: &mut Reader, name: &str) -> Option<i32> {
        match self.parsed(reader, name)? {
            Parsed::Signed(number) => Some(number),
            _ => None,
        }
    }
    pub(super) fn text(&self, reader: &mut Reader, name: &str) -> Option<String> {
        match self.parsed(reader, name)? {
            Parsed::Text(text) => Some(text),
            _ => None,
        }
    }
    fn seeds(&self, reader: &mut Reader, name: &str) -> Option<Vec<u64>> {
        match self.parsed(reader, name)? {
            Parsed::Seeds(seeds) => Some(seeds),
            _ => None,
        }
    }
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

/// What the values of groups depend on; `None` where that is wrong itself.
pub(super) struct Values<'a> {
    pub(super) functions: Option<&'a [FunctionSpec]>,
    pub(super) links: Option<&'a [Link]>,
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
