//! Lists of rates in files: the levels of a ladder, one a line.
//!
//! A scenario names the file, `ladder = { file = "levels.txt" }`, and whoever reads the scenario brings its
//! content. What is read is the list itself, which the resolved scenario holds, so a run repeats without the
//! file. Empty lines and what follows a `#` do not count.

use quell_units::parameter::{Domain as D, Value};
use quell_units::{Rate, Rates, notation};

use super::domain::{Domain, scalar};
use super::problem::{NamedLine, Origin};
use super::tree::{Node, Table, TomlType, Tree};
use super::view::Reader;

/// The rates of the file that `table` names, the value of `key`.
pub(super) fn read(
    reader: &mut Reader,
    key: &str,
    node: &Node,
    table: &Table,
    domain: &D,
) -> Option<Value> {
    let others = table.iter().filter(|(name, _)| *name != "file");
    let mut whole = true;
    for (name, other) in others {
        let allowed = "unknown key; a list in a file is { file = \"levels.txt\" }";
        reader.wrong(&format!("{key}.{name}"), other, allowed);
        whole = false;
    }
    let Some(named) = table.get("file") else {
        if whole {
            let allowed = format!("must be {}", Domain::Value(*domain));
            reader.wrong(key, node, &allowed);
        }
        return None;
    };
    let file_key = format!("{key}.file");
    let Some(file) = scalar(named, &[TomlType::String]) else {
        reader.wrong(&file_key, named, "must be the name of a file, in quotes");
        return None;
    };
    let text = match (reader.files)(file, &named.origin) {
        Ok(text) => text,
        Err(why) => {
            reader.wrong(&file_key, named, why);
            return None;
        }
    };
    let rates = lines(reader, key, file, &text);
    if let Some([]) = rates.as_deref() {
        let allowed = "holds no rate; write one a line, from the lowest to the highest";
        reader.wrong(&file_key, named, allowed);
    }
    let listed: Vec<String> = rates?.iter().map(Rate::to_string).collect();
    domain.parse(&listed.join(", ")).ok().filter(|_| whole)
}

/// The rates of `text`; `None` after a problem.
fn lines(reader: &mut Reader, key: &str, file: &str, text: &str) -> Option<Vec<Rate>> {
    let (low, high) = (Rates::LOWEST, Rates::HIGHEST);
    let mut rates = Vec::new();
    // The highest rate so far, and its line.
    let mut before: Option<(Rate, usize)> = None;
    let mut whole = true;
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(text);
    let written = without_mark
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let rate = line.split('#').next().unwrap_or_default().trim();
            (!rate.is_empty()).then_some((index + 1, rate))
        });
    for (count, (line, written)) in written.enumerate() {
        let node = Node {
            origin: Origin::Named(Box::new(NamedLine {
                file: file.to_owned(),
                line,
            })),
            value: Tree::Scalar(TomlType::String, written.to_owned()),
        };
        let is_too_many = count == Rates::MOST;
        let allowed = match (notation::rate(written), before) {
            _ if is_too_many => Some(format!(
                "is rate {}; at most {} are allowed",
                count + 1,
                Rates::MOST
            )),
            (Ok(rate), _) if !(low..=high).contains(&rate) => {
                Some(format!("must be a rate from {low} to {high}"))
            }
            (Ok(rate), Some((highest, at))) if rate == highest => {
                Some(format!("is that of line {at} again; leave one out"))
            }
            (Ok(rate), Some((highest, at))) if rate < highest => Some(format!(
                "must be above line {at}, {highest}: write the lowest rate first"
            )),
            (Ok(rate), _) => {
                rates.push(rate);
                before = Some((rate, line));
                None
            }
            (Err(_), _) => {
                let refusal = Domain::Rate(low, high, None).read(&node).err();
                refusal.map(|refusal| refusal.to_string())
            }
        };
        if let Some(allowed) = allowed {
            reader.wrong(key, &node, &allowed);
            whole = false;
        }
        if is_too_many {
            break;
        }
    }
    whole.then_some(rates)
}
