//! Finds keys by what people call them: `quell keys NAME`.

use quell_units::parameter::Domain as D;

use super::domain::Domain;
use super::guesses;
use super::hops::is_key_of_links;
use super::keys::{KEYS, Key, Section};
use super::problem::closest;

/// The keys called `name`: by the last part of the path, by the path with or without the name of a group, or by the heading
/// of a file (`[link.reverse]`).
pub fn find(name: &str) -> Vec<&'static Key> {
    let name = name.trim().trim_matches(['[', ']']);
    let wanted = plain(name);
    let by_path: Vec<&Key> = KEYS
        .iter()
        .filter(|key| plain(&key.path()) == wanted)
        .collect();
    if !by_path.is_empty() {
        return by_path;
    }
    KEYS.iter().filter(|key| key.name == name).collect()
}

/// The keys of the table that `key` is, such as those of `[link]` for `link`.
pub fn inside(key: &Key) -> Vec<&'static Key> {
    let sections: &[Section] = match (key.section, key.name) {
        (Section::Root, "link") => &[Section::Link],
        (Section::Link, "reverse") => &[Section::Reverse],
        (Section::Link | Section::Reverse, "rate") => &[Section::Trace],
        (Section::Link | Section::Reverse, "access") => &[Section::Medium],
        (Section::Link | Section::Reverse, "impair") => &[Section::Impair],
        (Section::Impair, "rules") => &[Section::Rule],
        (Section::Link, "remark") => &[Section::Remark],
        (Section::Root, "group") => &[Section::Group],
        (Section::Group, "congestion-control") => &[Section::CongestionControl],
        (Section::Group, "receiver") => &[Section::Receiver],
        (Section::Group, "value") => &[Section::Value],
        (Section::Group, "app") => &[Section::App],
        (Section::App, _) => match key.domain {
            Domain::Value(D::Interval(..)) => &[Section::Interval],
            Domain::Value(D::Period(..)) => &[Section::Period],
            _ => &[],
        },
        (Section::Root, "at") => &[Section::At],
        (Section::Root, "expect") => &[Section::Expect],
        (Section::Root, "run") => &[Section::Run],
        _ => &[],
    };
    sections.iter().flat_map(|section| section.keys()).collect()
}

/// The path that was probably meant by `name`, which is no key.
pub fn meant(name: &str) -> Option<String> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let guessed = Section::ALL
        .iter()
        .find_map(|section| guesses::key(*section, last).map(|meant| (*section, meant)));
    if let Some((section, meant)) = guessed {
        let (key, why) = meant.split_once(", ").unwrap_or((&meant, ""));
        // An answer within a table is the name of one of its keys.
        let path = section.keys().find(|row| row.name == key).map(Key::path);
        let path = path.unwrap_or_else(|| key.to_owned());
        return Some(match why {
            "" => path,
            why => format!("{path}, {why}"),
        });
    }
    let near = closest(last, KEYS.iter().map(|key| key.name))?;
    KEYS.iter().find(|key| key.name == near).map(Key::path)
}

/// A path without what differs from file to file: the name of a group, and which period.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let rest = match parts.as_slice() {
        ["group", first, rest @ ..]
            if !rest.is_empty() && (*first == "NAME" || !is_key_of_groups(first)) =>
        {
            ["group"].into_iter().chain(rest.iter().copied()).collect()
        }
        ["link", first, rest @ ..] if !rest.is_empty() && !is_key_of_links(first) => {
            ["link"].into_iter().chain(rest.iter().copied()).collect()
        }
        _ => parts,
    };
    // The last part is a key; before it stand tables.
    let last = rest.len().saturating_sub(1);
    let is_period = |part: &str| {
        let of_period = |key: &Key| matches!(key.domain, Domain::Value(D::Period(..)));
        part == "PERIOD"
            || Section::App
                .keys()
                .any(|key| key.name == part && of_period(key))
    };
    let all: Vec<&str> = rest
        .iter()
        .enumerate()
        .map(|(index, part)| {
            if index < last && is_period(part) {
                "PERIOD"
            } else {
                part
            }
        })
        .collect();
    all.join(".")
}

fn is_key_of_groups(name: &str) -> bool {
    Section::Group.keys().any(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(name: &str) -> Vec<String> {
        find(name).into_iter().map(Key::path).collect()
    }

    #[test]
    fn keys_are_found_by_name_by_path_and_by_heading() {
        for (name, expected) in [
            ("warmup", &["run.warmup"][..]),
            ("initial-window", &["group.NAME.initial-window"]),
            ("link.rate", &["link.rate"]),
            ("[link.reverse]", &["link.reverse"]),
            ("link.wifi.reverse.rate", &["link.reverse.rate"]),
            ("[[link]]", &["link"]),
            ("[[group]]", &["group"]),
            ("group.l4s.rtt", &["group.NAME.rtt"]),
            ("group.rtt", &["group.NAME.rtt"]),
            ("group.NAME.rtt", &["group.NAME.rtt"]),
            ("group.web.app.repeat", &["group.NAME.app.repeat"]),
            ("group.app.repeat.mean", &["group.NAME.app.PERIOD.mean"]),
            ("stddev", &["group.NAME.app.interval.stddev"]),
            ("bandwidth", &[]),
        ] {
            assert_eq!(paths(name), expected, "{name}");
        }
        for key in KEYS.iter() {
            let path = key.path();
            assert!(
                find(&path).iter().any(|found| found.name == key.name),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_no_key_is_answered_with_the_one_that_was_meant() {
        for (name, expected) in [
            ("bandwidth", Some("link.rate")),
            ("upload", Some("link.reverse.rate")),
            ("cc", Some("group.NAME.congestion-control")),
            ("link.raet", Some("link.rate")),
            ("seed", Some("run.seeds, a list: one run each")),
            ("zzzzzz", None),
        ] {
            assert_eq!(meant(name).as_deref(), expected, "{name}");
        }
    }
}
