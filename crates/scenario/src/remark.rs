//! `remark = [ … ]`: the networks whose packets get new values where they come to a link, each by its own function.
//!
//! ```toml
//! [[link]]
//! name = "transit"
//! remark = [{ groups = ["a1", "a2"], function = "gold" }, { groups = ["b"], function = "silver" }]
//! ```
//!
//! The data of the groups of a network get values of its function, all together, in front of the queue of the link; what was worth
//! more within the network stays worth more ([`Remarker`]). Groups that no network has keep their values.

use quell_aqm::marker::{PERIOD, Passage, Remarker};
use quell_aqm::value::ValueFunction;
use quell_units::Random;

use super::domain::scalar;
use super::problem::choices;
use super::tree::{Node, TomlType, Tree};
use super::value::read::function_called;
use super::view::{Keys as _, Reader, View};
use super::written::{Field, Written, inline, quoted};
use crate::{FunctionSpec, Group, Hop, Link, MOST_FUNCTIONS, Network, Scenario, Side};

// Written with names of groups, which only the scenario knows.
impl Field for Vec<usize> {}
impl Field for Vec<Network> {}

/// Reads the networks of the links in `node`, once the groups are known.
pub(super) fn read(
    reader: &mut Reader,
    node: &Node,
    links: &mut [Link],
    groups: &[Group],
    own: &[FunctionSpec],
) {
    let nodes = match &node.value {
        Tree::Array(nodes) => &nodes[..],
        _ => std::slice::from_ref(node),
    };
    let is_one = links.len() == 1;
    for (hop, (node, link)) in nodes.iter().zip(links).enumerate() {
        let Tree::Table(table) = &node.value else {
            continue;
        };
        if let Some(node) = table.get("remark") {
            let key = match is_one {
                true => "link.remark".to_owned(),
                false => format!("link.{}.remark", link.name),
            };
            link.remark = networks(reader, &key, node, Hop(hop as u16), groups, own);
        }
    }
}

fn networks(
    reader: &mut Reader,
    key: &str,
    node: &Node,
    hop: Hop,
    groups: &[Group],
    own: &[FunctionSpec],
) -> Vec<Network> {
    let nodes = match &node.value {
        Tree::Array(nodes) if (1..=MOST_FUNCTIONS).contains(&nodes.len()) => nodes,
        _ => {
            let form = format!(
                "must be a list of 1 to {MOST_FUNCTIONS} networks such as {{ groups = [\"a\"], function = \"silver\" }}"
            );
            reader.wrong(key, node, &form);
            return Vec::new();
        }
    };
    let mut taken: Vec<usize> = Vec::new();
    let mut all = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let key = format!("{key}.{}", index + 1);
        let Some(view) = View::new(reader, Network::ROWS, &key, node) else {
            continue;
        };
        let members = view
            .node(reader, "groups")
            .and_then(|node| members(reader, &view.key("groups"), node, hop, groups, &mut taken));
        let function = view.node(reader, "function").and_then(|node| {
            let key = view.key("function");
            match scalar(node, &[TomlType::String]) {
                Some(name) => function_called(reader, &key, node, name, own),
                None => {
                    let form = format!("must be {}", view.row("function").domain);
                    reader.wrong(&key, node, &form);
                    None
                }
            }
        });
        let mut network = Network::draft(reader, &view);
        network.groups = members;
        network.function = function;
        all.extend(Network::finish(network));
    }
    all
}

/// The groups of a network: each crosses the link, has values, and is in no other network.
fn members(
    reader: &mut Reader,
    key: &str,
    node: &Node,
    hop: Hop,
    groups: &[Group],
    taken: &mut Vec<usize>,
) -> Option<Vec<usize>> {
    let nodes = match &node.value {
        Tree::Array(nodes) if !nodes.is_empty() => nodes,
        _ => {
            reader.wrong(key, node, "must be a list of names of groups");
            return None;
        }
    };
    let mut members = Vec::new();
    for node in nodes {
        let name = scalar(node, &[TomlType::String]).unwrap_or_default();
        let Some(index) = groups.iter().position(|group| group.name == name) else {
            let names = groups.iter().map(|group| group.name.as_str());
            let (meant, known) = choices(name, names);
            let why = format!("there is no group {name}{meant}; groups are: {known}");
            reader.wrong(key, node, &why);
            return None;
        };
        let why = if taken.contains(&index) {
            "is in a network of this link already"
        } else if !groups[index].path.contain(hop) {
            "does not cross this link, so this has no effect"
        } else if groups[index].value.is_none() {
            "has no packet values, so this has no effect; give the group a value"
        } else {
            taken.push(index);
            members.push(index);
            continue;
        };
        reader.wrong(key, node, why);
        return None;
    }
    Some(members)
}

/// The key `remark` of a link, on one line; `None` where there is no network.
pub(super) fn written(networks: &[Network], groups: &[Group]) -> Option<Written> {
    let one = |network: &Network| {
        let names = network.groups.iter();
        let names: Vec<String> = names.map(|group| quoted(&groups[*group].name)).collect();
        inline(network.written().map(|(key, value)| match key.name {
            "groups" => (key, Some(Written::alike(format!("[{}]", names.join(", "))))),
            _ => (key, value),
        }))
    };
    let all: Vec<String> = networks.iter().map(one).collect();
    let text = format!("[{}]", all.join(", "));
    (!networks.is_empty()).then(|| Written::alike(text))
}

/// The remarker in front of the queue of `side`, if there is one; with a random stream of its own.
pub fn passage(scenario: &Scenario, side: Side, seed: u64) -> Option<Passage> {
    let random = Random::new(seed, &format!("{}.remark", side.queue_stream()));
    let networks = &scenario.links[side.hop.index()].remark;
    let of = |(index, group): (usize, &Group)| {
        let is_here = group.direction == side.direction;
        let mut networks = networks.iter();
        networks.position(|network| is_here && network.groups.contains(&index))
    };
    let by_group: Vec<Option<usize>> = scenario.groups.iter().enumerate().map(of).collect();
    if by_group.iter().all(Option::is_none) {
        return None;
    }
    let functions = networks.iter();
    let functions: Vec<ValueFunction> = functions
        .map(|network| built(&network.function, scenario, side))
        .collect();
    let highest = highest(scenario, side);
    let remarker = Remarker::new(&functions, highest, PERIOD, 1, random);
    let periods = networks.iter().map(|network| network.period).enumerate();
    Some(Passage {
        remarker: periods.fold(remarker, |remarker, (network, period)| {
            remarker.with_period(network, period)
        }),
        networks: by_group,
    })
}

fn built(function: &FunctionSpec, scenario: &Scenario, side: Side) -> ValueFunction {
    let function = function.build(scenario.side(side).codes);
    function.expect("the scenario's check has tried this function")
}

/// The highest value that comes to the queue of `side`: of a group, or of a network that it came through before.
fn highest(scenario: &Scenario, side: Side) -> u16 {
    let marked = scenario.groups.iter().filter_map(|one| one.value.as_ref());
    let marked = marked.flat_map(|value| &value.functions);
    let remarked = scenario.links.iter().flat_map(|link| &link.remark);
    let all = marked.chain(remarked.map(|network| &network.function));
    let all = all.map(|function| built(function, scenario, side).highest());
    all.max().unwrap_or(1)
}

/// Bytes that the remarkers of a scenario take at most, while they are made.
pub(super) fn memory(scenario: &Scenario) -> u64 {
    let of = |side: Side| {
        let networks = scenario.links[side.hop.index()].remark.len() as u64;
        // Two counters for each code, and the function's own table as of a marker.
        networks * (5 * 8 * (u64::from(u16::MAX) + 2) + (2 << 14))
    };
    scenario.sides().map(of).sum()
}
