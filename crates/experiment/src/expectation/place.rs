//! Of which scenarios an expectation is: `where link.rate == 10mbit`, a condition on keys of the scenario as `--set` names them.

use std::collections::BTreeMap;

use quell_lab::Scenario;
use quell_lab::scenario::closest;
use quell_lab::scenario::tree::{self, Tree};

use super::ExpectationError::{self, Wrong};
use super::units::measured;
use crate::evaluate::Engine;
use crate::expression::{Expression, Node, Value};
use crate::file::Definition;

type Keys = BTreeMap<String, String>;

/// Whether a scenario meets a condition on its keys.
pub(super) fn is_met_by(place: &Expression, scenario: &Scenario) -> Result<(), ExpectationError> {
    let mut keys = Keys::new();
    if let Ok(root) = tree::read("", &scenario.to_toml()) {
        walk(&root.value, "", &mut keys);
    }
    let mut used = Vec::new();
    let constant = with_values(place, &keys, &mut used)?;
    let definition = Definition::default();
    let given = Engine::new(&definition).and_then(|engine| engine.given(&constant));
    match given.map_err(|fault| Wrong(fault.why))?.holds() {
        true => Ok(()),
        false => Err(Wrong(used.join(", "))),
    }
}

/// The same with values in the place of keys; what was used is named.
fn with_values(
    of: &Expression,
    keys: &Keys,
    used: &mut Vec<String>,
) -> Result<Expression, ExpectationError> {
    let mut part = |one: &Expression| with_values(one, keys, used);
    let node = match &of.node {
        Node::Name(key) | Node::Column(key) => {
            let Some(value) = keys.get(key) else {
                let meant = closest(key, keys.keys().map(String::as_str));
                let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
                return Err(Wrong(format!("the scenario has no {key}{meant}")));
            };
            used.push(format!("{key} is {value}"));
            constant(value)
        }
        Node::Quantity(text) => constant(text),
        Node::Unary(operation, one) => Node::Unary(*operation, Box::new(part(one)?)),
        Node::Binary(operation, left, right) => {
            let left = Box::new(part(left)?);
            Node::Binary(*operation, left, Box::new(part(right)?))
        }
        Node::List(all) => Node::List(all.iter().map(part).collect::<Result<_, _>>()?),
        node => node.clone(),
    };
    let at = of.at;
    Ok(Expression { at, node })
}

/// A value as a scenario has it; a quantity is a number of its smallest unit.
fn constant(text: &str) -> Node {
    let number = text.parse().ok();
    Node::Value(match number.or_else(|| Some(measured(text)?.0)) {
        Some(number) => Value::Number(number),
        None if text == "true" || text == "false" => Value::Flag(text == "true"),
        None => Value::Text(text.to_owned()),
    })
}

/// Each key below `name` with its value; what is in a list has its own name.
fn walk(of: &Tree, name: &str, all: &mut Keys) {
    let inner = |key: &str| format!("{name}.{key}").trim_start_matches('.').to_owned();
    match of {
        Tree::Scalar(_, text) => {
            all.insert(name.to_owned(), text.clone());
        }
        Tree::Table(table) => {
            let each = table.iter();
            each.for_each(|(key, node)| walk(&node.value, &inner(key), all));
        }
        Tree::Array(nodes) => {
            for node in nodes {
                if let Tree::Table(table) = &node.value
                    && let Some(Tree::Scalar(_, item)) = table.get("name").map(|name| &name.value)
                {
                    walk(&node.value, &inner(item), all);
                }
            }
        }
    }
}
