//! Keys of the link as people write them: `down` and `up` stand for the directions of the only link, `link.NAME` for one of several.

use quell_measure::Direction;

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
        let side = |link: &str| match direction {
            Direction::Forward => format!("{link}.{rest}"),
            Direction::Reverse => format!("{link}.reverse.{rest}"),
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

/// A key and its value, neither of which may hold what no key and no value has.
///
/// # Errors
///
/// They hold it, or there are several links and the key does not say which.
pub(super) fn of_wish(
    key: &str,
    value: &str,
    links: &[String],
) -> Result<(String, String), OptionError> {
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
