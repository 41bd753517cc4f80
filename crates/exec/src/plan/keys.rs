//! Keys of the link as people write them: `down` and `up` stand for the directions of the only link, `link.NAME` for one of several.

use quell_measure::Direction;

use quell_scenario::keys::Section;
use quell_units::{Time, notation};

use crate::option_error::OptionError;

/// The full key that `key` stands for, on these links.
///
/// # Errors
///
/// There are several links, and it does not say which.
pub(super) fn full(key: &str, links: &[String]) -> Result<String, OptionError> {
    for (short, direction) in [("down", Direction::Forward), ("up", Direction::Reverse)] {
        let rest = match key.strip_prefix(short) {
            Some("") => "rate",
            Some(rest) if rest.starts_with('.') => &rest[1..],
            _ => continue,
        };
        let is_of_impair = is_impairment(rest) || is_of_rule(rest);
        let table = if is_of_impair { "impair." } else { "" };
        let side = |link: &str| match direction {
            Direction::Forward => format!("{link}.{table}{rest}"),
            Direction::Reverse => format!("{link}.reverse.{table}{rest}"),
        };
        let ([] | [_]) = links else {
            let all = links.iter().map(|link| side(&format!("link.{link}")));
            return Err(OptionError::WhichLink {
                count: links.len(),
                choices: all.collect(),
            });
        };
        return Ok(side("link"));
    }
    Ok(key.to_owned())
}

/// Whether this is the name of a key of `impair`.
pub(super) fn is_impairment(name: &str) -> bool {
    let mut rows = Section::Impair.keys().chain(Section::Rule.keys());
    rows.any(|row| row.live && row.name == name)
}

/// Whether this is the key `rules.NAME.probability`.
fn is_of_rule(key: &str) -> bool {
    key.starts_with("rules.") && key.ends_with(".probability")
}

/// The value of a key of `impair`, in which a share may be in percent.
pub(super) fn impairment(name: &str, value: &str) -> Result<String, OptionError> {
    match name {
        "jitter" | "hold" | "delay" | "spread" | "shape" => Ok(value.trim().to_owned()),
        _ => share(value),
    }
}

/// A share as a scenario has it. A whole number without a unit is a percentage elsewhere (tc-netem), and all or nothing here.
pub(super) fn share(text: &str) -> Result<String, OptionError> {
    let (number, is_percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text.trim(), false),
    };
    let number: f64 = number.parse().map_err(|_| OptionError::Share)?;
    let share = if is_percent { number / 100.0 } else { number };
    let is_clear = is_percent || share < 1.0;
    // Millionths, as in a scenario.
    match is_clear && (0.0..=1.0).contains(&share) {
        true => Ok(format!("{share:.6}")),
        false => Err(OptionError::Share),
    }
}

/// The base RTT that a change of `rtt`, or of the `delay` one way, asks for; `None` for another key.
pub(super) fn wished_rtt(key: &str, value: &str) -> Option<Result<Time, OptionError>> {
    let times = match key.trim() {
        "rtt" => 1,
        "delay" => 2,
        _ => return None,
    };
    let time = notation::time(value.trim());
    Some(time.map(|time| time * times).map_err(OptionError::Notation))
}

/// The keys and values that a wish stands for: a key of `impair` alone is that of both directions.
///
/// # Errors
///
/// There are several links, and it does not say which; or a share is not clear.
pub(super) fn of_wish(
    key: &str,
    value: &str,
    links: &[String],
) -> Result<Vec<(String, String)>, OptionError> {
    let key = key.trim();
    let name = key.rsplit('.').next().unwrap_or_default();
    let is_full = key.starts_with("link.");
    // A scenario's own key has a scenario's value, or one in percent.
    let is_share = is_impairment(name) && (!is_full || value.trim_end().ends_with('%'));
    let value = match is_share {
        true => &impairment(name, value)?,
        false => value,
    };
    let sides = match is_impairment(key) || is_of_rule(key) {
        true => vec![format!("down.{key}"), format!("up.{key}")],
        false => vec![key.to_owned()],
    };
    let each = sides.iter().map(|key| of_side(key, value, links));
    each.collect()
}

/// A key and its value, neither of which may hold what no key and no value has.
///
/// # Errors
///
/// They hold it, or there are several links and the key does not say which.
fn of_side(key: &str, value: &str, links: &[String]) -> Result<(String, String), OptionError> {
    let (key, value) = (full(key.trim(), links)?, value.trim().to_owned());
    let is_odd = |part: &String| {
        let mut letters = part.chars();
        letters.any(|letter| letter.is_control() || matches!(letter, '"' | '\\'))
    };
    if [&key, &value].into_iter().any(is_odd) {
        return Err(OptionError::Quotes);
    }
    Ok((key, value))
}

/// Refuses a key that would do nothing, or that the program decides: how long it runs. Of groups of a file the RTT counts.
pub(super) fn refuse_to_set(key: &str, has_groups: bool) -> Result<(), OptionError> {
    let is_of = |what: &str| {
        key.strip_prefix(what)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    match is_of("link") || is_of("group") && has_groups || key == "run.interval" {
        true => Ok(()),
        false => Err(OptionError::OnlyLinkIsSet),
    }
}
