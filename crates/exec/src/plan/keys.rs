//! Keys of the link as people write them: `down` and `up` stand for the directions of the only link, `link.NAME` for one of several.

use quell_measure::Direction;

use super::options::LinkOptions;

/// The full key that `key` stands for, on these links.
///
/// # Errors
///
/// There are several links, and it does not say which; what would be right, in words.
pub(super) fn full(key: &str, links: &[String]) -> Result<String, String> {
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
            let all: Vec<String> = links
                .iter()
                .map(|link| side(&format!("link.{link}")))
                .collect();
            return Err(format!(
                "there are {} links, so name one: {}",
                links.len(),
                all.join(" or ")
            ));
        };
        return Ok(side("link"));
    }
    Ok(key.to_owned())
}

/// A key and its value, neither of which may hold what no key and no value has.
///
/// # Errors
///
/// What is wrong, in words.
pub(super) fn of_wish(
    key: &str,
    value: &str,
    links: &[String],
) -> Result<(String, String), String> {
    let (key, value) = (full(key.trim(), links)?, value.trim().to_owned());
    let is_odd = |part: &String| {
        let mut letters = part.chars();
        letters.any(|letter| letter.is_control() || matches!(letter, '"' | '\\'))
    };
    if [&key, &value].into_iter().any(is_odd) {
        return Err("quotes cannot be part of it".to_owned());
    }
    Ok((key, value))
}

/// Refuses a key that would do nothing, or that the program decides: how long it runs. Of groups of a file the RTT counts.
pub(super) fn refuse_to_set(key: &str, has_groups: bool) -> Result<(), String> {
    let is_of = |what: &str| {
        key.strip_prefix(what)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    match is_of("link") || is_of("group") && has_groups || key == "run.interval" {
        true => Ok(()),
        false => Err(
            "only the link can be set, and run.interval, the time between two rows of its series"
                .to_owned(),
        ),
    }
}

/// Refuses the options that say something about the only link, where there are several.
pub(super) fn refuse_of_one(options: &LinkOptions, links: &[String]) -> Result<(), String> {
    let [first, _, ..] = links else {
        return Ok(());
    };
    let given = [
        ("--down", options.down.is_some(), "rate=20mbit"),
        ("--up", options.up.is_some(), "reverse.rate=20mbit"),
        (
            "--down-trace",
            options.down_trace.is_some(),
            "rate={ trace = \"lte.csv\" }",
        ),
        (
            "--up-trace",
            options.up_trace.is_some(),
            "reverse.rate={ trace = \"lte.csv\" }",
        ),
        ("--loss", options.loss.is_some(), "impair.loss=0.01"),
        ("--jitter", options.jitter.is_some(), "impair.jitter=1ms"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, key)) => Err(format!(
            "{option}: there are {} links, so name one: --set 'link.{first}.{key}'",
            links.len()
        )),
        None => Ok(()),
    }
}
