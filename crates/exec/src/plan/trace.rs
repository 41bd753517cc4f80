//! `--down-trace FILE[:KEY=VALUE,…]`: a trace as an option. The keys are those of `rate = { trace = "FILE", … }` in a scenario, and what is
//! made of them is that table, so the same reader and the same checks apply.

use quell_scenario::keys::Section;
use serde_json::Value;

use crate::option_error::TraceError;

/// Where the text of a trace comes from: an option names a file.
const SOURCES: [&str; 2] = ["trace", "data"];

/// What `text`, the value of an option, stands for; `is_file` knows which files there are.
///
/// The keys stand behind the last colon. A colon in the name of a file is no problem unless keys seem to follow: then it is what exists.
pub(super) fn read(
    text: &str,
    is_file: impl Fn(&str) -> bool,
) -> Result<(&str, Keys<'_>), TraceError> {
    let (file, keys) = match split(text) {
        Some((file, keys)) if is_file(text) => {
            let (is_two, file, whole) = (is_file(file), file.to_owned(), text.to_owned());
            match is_two {
                true => return Err(TraceError::TwoFiles { file, text: whole }),
                false if keys.iter().all(|(key, _)| is_key(key)) => {
                    return Err(TraceError::FileLikeKeys { file, text: whole });
                }
                false => (text, Vec::new()),
            }
        }
        Some(parts) => parts,
        None => (text, Vec::new()),
    };
    if file.is_empty() {
        return Err(TraceError::NoFile);
    }
    let mut given: Vec<&str> = Vec::new();
    for (key, _) in &keys {
        if !is_key(key) {
            return Err(TraceError::NoKey {
                key: (*key).to_owned(),
                keys: names(),
            });
        }
        if given.contains(key) {
            return Err(TraceError::KeyTwice((*key).to_owned()));
        }
        given.push(*key);
    }
    Ok((file, keys))
}

/// The table of a scenario for the trace `file`, with those of the keys that `counts` says.
pub(super) fn table(file: &str, keys: &Keys<'_>, counts: impl Fn(&str) -> bool) -> String {
    let mut table = format!("{{ trace = {}", quoted(file));
    for (key, value) in keys.iter().filter(|(key, _)| counts(key)) {
        let is_bare =
            value.parse::<bool>().is_ok() || value.parse::<f64>().is_ok_and(f64::is_finite);
        let value = match is_bare {
            true => (*value).to_owned(),
            false => quoted(value),
        };
        table += &format!(", {key} = {value}");
    }
    table + " }"
}

pub(super) type Keys<'a> = Vec<(&'a str, &'a str)>;

/// A file, and the keys behind its last colon; `None` where nothing there looks like a key.
fn split(text: &str) -> Option<(&str, Keys<'_>)> {
    let (file, keys) = text.rsplit_once(':')?;
    let keys = keys.split(',').map(|part| {
        let (key, value) = part.split_once('=')?;
        Some((key.trim(), value.trim()))
    });
    Some((file, keys.collect::<Option<_>>()?))
}

fn names() -> Vec<&'static str> {
    let names = Section::Trace.keys().map(|key| key.name);
    names.filter(|name| !SOURCES.contains(name)).collect()
}

fn is_key(key: &str) -> bool {
    names().contains(&key)
}

/// The strings of JSON are strings of TOML, too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use crate::option_error::OptionError;

    fn rate(text: &str, is_file: impl Fn(&str) -> bool) -> Result<String, TraceError> {
        read(text, is_file).map(|(file, keys)| table(file, &keys, |_| true))
    }

    #[test]
    fn keys_stand_behind_the_last_colon() {
        let none = |_: &str| false;
        for (text, expected) in [
            ("lte.csv", "{ trace = \"lte.csv\" }"),
            ("a\"b\\c", "{ trace = \"a\\\"b\\\\c\" }"),
            ("traces:2024/lte", "{ trace = \"traces:2024/lte\" }"),
            ("10:30", "{ trace = \"10:30\" }"),
            ("x:format=csv", "{ trace = \"x\", format = \"csv\" }"),
            (
                "a:b:mode=opportunities, framing = mahimahi,repeat=false,offset=2s,scale=0.5",
                "{ trace = \"a:b\", mode = \"opportunities\", framing = \"mahimahi\", repeat = false, offset = \"2s\", scale = 0.5 }",
            ),
            // What the reader of scenarios refuses is left to it.
            ("x:scale=half", "{ trace = \"x\", scale = \"half\" }"),
            ("x:scale=inf", "{ trace = \"x\", scale = \"inf\" }"),
        ] {
            assert_eq!(rate(text, none).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_could_mean_two_files_is_refused_in_words() {
        let both = |name: &str| ["a:scale=2", "a"].contains(&name);
        let why = rate("a:scale=2", both).unwrap_err();
        let why = OptionError::from(why)
            .of("--down-trace a:scale=2")
            .to_string();
        assert!(why.starts_with("--down-trace a:scale=2: is the name of a file, and a is one"));
        let whole = |name: &str| name == "a:scale=2" || name == "a:b=2";
        let why = rate("a:scale=2", whole).unwrap_err().to_string();
        assert!(why.contains("write a:scale=2:repeat=true"), "{why}");
        // The way out that it names.
        let table = rate("a:scale=2:repeat=true", whole).unwrap();
        assert_eq!(table, "{ trace = \"a:scale=2\", repeat = true }");
        let table = rate("a:b=2", whole).unwrap();
        assert_eq!(table, "{ trace = \"a:b=2\" }");
    }

    #[test]
    fn what_is_no_file_or_no_key_is_refused() {
        let none = |_: &str| false;
        for (text, part) in [
            ("", "must be the name of a file"),
            (":scale=2", "must be the name of a file"),
            (
                "a:scael=2",
                "there is no scael; keys are: format, unit, interval, mode, repeat",
            ),
            ("a:data=2", "there is no data"),
            ("a:trace=b", "there is no trace"),
            ("a:scale=2,scale=3", "scale is given twice"),
        ] {
            let why = rate(text, none).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
