//! `--rule FROM>TO:KEY=VALUE,…`: a rule for packets behind the queue, in a line.

use super::keys;
use crate::option_error::OptionError;

/// The keys and values of the rule, as a scenario has them; with its name if it gives one.
pub(super) fn read(text: &str) -> Result<Vec<(&str, String)>, OptionError> {
    let (codes, more) = text.split_once(':').unwrap_or((text, ""));
    let (from, to) = codes.split_once('>').unwrap_or((codes, ""));
    let mut all = Vec::new();
    if from.trim() != "any" {
        all.push(("from", list(from, ',')?));
    }
    if !to.is_empty() {
        all.push(("to", word(to)?));
    }
    for part in more.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or(OptionError::Rule)?;
        match key.trim() {
            "match" => all.push(("match", list(value, '+')?)),
            key @ ("probability" | "enter" | "leave") => all.push((key, keys::share(value)?)),
            key @ ("every" | "longer") => all.push((key, word(value)?)),
            key if ["name", "dscp", "to-dscp", "packets", "signal", "unsafe"].contains(&key) => {
                all.push((key, value.trim().to_owned()));
            }
            _ => return Err(OptionError::Rule),
        }
    }
    Ok(all)
}

/// Words as a list of TOML.
fn list(text: &str, between: char) -> Result<String, OptionError> {
    let words: Result<Vec<String>, _> = text.split(between).map(word).collect();
    Ok(format!("[{}]", words?.join(", ")))
}

/// A word in quotes.
fn word(text: &str) -> Result<String, OptionError> {
    let text = text.trim();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(format!("\"{text}\"")),
        false => Err(OptionError::Rule),
    }
}
