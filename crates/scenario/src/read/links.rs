//! `[link]`, `[[link]]`, and the path of a group.

use quell_aqm::link_trace::{LinkTrace, Trace};
use quell_aqm::medium::Medium;
use quell_measure::{Hop, Hops};
use quell_units::Rate;

use crate::domain::{Domain, scalar};
use crate::hops::{MOST_LINKS, default_name, is_key_of_links};
use crate::keys::{KeyDefault, Section, rows};
use crate::problem::choices;
use crate::tree::{Node, Table, TomlType, Tree};
use crate::view::{Keys as _, Reader, View};
use crate::written::Field as _;
use crate::{DirectionSpec, Link, QueueSpec, impair, trace};

/// A table, or a list of them.
pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<Vec<Link>> {
    let nodes = match &node.value {
        Tree::Array(nodes) if nodes.is_empty() => {
            reader.wrong(
                "link",
                node,
                "is empty; there must be at least one [[link]]",
            );
            return None;
        }
        Tree::Array(nodes) if nodes.len() > MOST_LINKS => {
            let found = nodes.len().to_string();
            let most = format!("at most {MOST_LINKS} links are allowed");
            reader.wrong_value("link", node, &found, &most);
            return None;
        }
        Tree::Array(nodes) => &nodes[..],
        _ => std::slice::from_ref(node),
    };
    let count = nodes.len();
    let mut names: Vec<String> = Vec::new();
    let mut links = Vec::new();
    for (position, node) in nodes.iter().enumerate() {
        let ordinal = default_name(position, count);
        let name = name(reader, node, &ordinal, count);
        if let Some(twin) = names.iter().position(|other| *other == name) {
            let key = format!("link.{}.name", position + 1);
            let why = format!("link {} has this name already", twin + 1);
            reader.wrong_value(&key, node, &name, &why);
        }
        let path = match count {
            1 => "link".to_owned(),
            _ => format!("link.{name}"),
        };
        links.push(link(reader, &path, node, name.clone(), count));
        names.push(name);
    }
    links.into_iter().collect()
}

/// The name that is given, if it can be one, or else the default.
fn name(reader: &mut Reader, node: &Node, default: &str, links: usize) -> String {
    let Tree::Table(table) = &node.value else {
        return default.to_owned();
    };
    let given = table.get("name").and_then(|node| {
        let name = scalar(node, &[TomlType::String])?;
        Domain::Word.parse(name).map(|_| (node, name))
    });
    let Some((node, name)) = given else {
        return default.to_owned();
    };
    if is_key_of_links(name) {
        let key = match links {
            1 => "link.name".to_owned(),
            _ => format!("link.{default}.name"),
        };
        reader.wrong(&key, node, "is a key of links; choose another name");
        return default.to_owned();
    }
    name.to_owned()
}

fn link(reader: &mut Reader, path: &str, node: &Node, name: String, links: usize) -> Option<Link> {
    let view = View::new(reader, rows(Section::Link), path, node)?;
    // Its form; what it is has been found before.
    if view.has("name") {
        view.get::<String>(reader, "name")?;
    }
    let mut link = Link::draft(reader, &view);
    link.name = Some(name);
    link.remark = Some(Vec::new());
    if let (Some(delay), Some(given), 1) = (link.delay, view.node(reader, "delay"), links)
        && !delay.is_zero()
    {
        let why = "has no effect on one link: the base RTT of a group is all that it is delayed; leave it out";
        reader.wrong(&view.key("delay"), given, why);
    }
    link.forward = side(reader, &view, links);
    let empty = Node {
        origin: node.origin.clone(),
        value: Tree::Table(Table::default()),
    };
    let reverse = view.node(reader, "reverse").unwrap_or(&empty);
    let path = view.key("reverse");
    let view = View::new(reader, DirectionSpec::TABLES[1], &path, reverse)?;
    link.reverse = side(reader, &view, links);
    Link::finish(link)
}

fn side(reader: &mut Reader, view: &View<'_>, links: usize) -> Option<DirectionSpec> {
    let domain = view.row("rate").domain.of_links(links);
    let (rate, course) = match view.node(reader, "rate") {
        Some(node) if matches!(node.value, Tree::Table(_)) => {
            let course = trace::read(reader, &view.key("rate"), node);
            (course.as_ref().map(LinkTrace::first_rate), course)
        }
        // Where it must be given, this reports it a second time if it is not.
        None if matches!(view.row("rate").default, KeyDefault::Required) => (None, None),
        _ => {
            let rate = view.parsed_in(reader, "rate", domain);
            (rate.and_then(Rate::from_parsed), None)
        }
    };
    let medium = view.optional(reader, "access", Medium::read);
    let impair = view.optional(reader, "impair", |reader, key, node| {
        impair::read(reader, key, node, trace::read_path)
    });
    if let (
        Some(Some(_)),
        Some(LinkTrace {
            trace: Trace::Chances(_),
            ..
        }),
    ) = (&medium, &course)
    {
        let allowed = "cannot be together with a trace of opportunities, which says itself when the link sends";
        view.refuse(reader, "access", allowed);
    }
    let mut side = DirectionSpec::draft(reader, view);
    side.rate = rate;
    side.course = Some(course);
    side.medium = medium;
    side.impair = impair;
    side.queue = match view.node(reader, "queue") {
        Some(node) => QueueSpec::read(reader, &view.key("queue"), node),
        None => QueueSpec::new("fifo").ok(),
    };
    DirectionSpec::finish(side)
}

/// The links that a group crosses: those whose names it gives, or all.
pub(super) fn path(reader: &mut Reader, view: &View<'_>, links: &[Link]) -> Option<Hops> {
    let all = Hops::all(links.len());
    let Some(node) = view.node(reader, "path") else {
        return Some(all);
    };
    let key = view.key("path");
    let form = format!("must be {}", view.row("path").domain);
    let Tree::Array(nodes) = &node.value else {
        reader.wrong(&key, node, &form);
        return None;
    };
    let mut hops: Vec<Hop> = Vec::new();
    for node in nodes {
        let Some(name) = scalar(node, &[TomlType::String]) else {
            reader.wrong(&key, node, &form);
            return None;
        };
        let Some(position) = links.iter().position(|link| link.name == name) else {
            let names = links.iter().map(|link| link.name.as_str());
            let (meant, known) = choices(name, names);
            let why = format!("there is no link {name}{meant}; links are: {known}");
            reader.wrong(&key, node, &why);
            return None;
        };
        hops.push(Hop(position as u16));
    }
    let (Some(&first), Some(&last)) = (hops.first(), hops.last()) else {
        reader.wrong(&key, node, "is empty; a group crosses at least one link");
        return None;
    };
    let path = Hops { first, last };
    if first > last || !path.iter().eq(hops.iter().copied()) {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        let why = format!(
            "must be links that follow one another, in the order of the file, also where the data goes the other way: {}",
            names.join(", ")
        );
        reader.wrong(&key, node, &why);
        return None;
    }
    Some(path)
}
