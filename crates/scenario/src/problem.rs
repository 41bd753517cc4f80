//! Problems of a scenario: the place, the key, the value found, and what would be right.

use std::fmt;

use crate::OneLine;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A line of the scenario file, from 1.
    Line(usize),
    /// A line of a file that the scenario names.
    Named(Box<NamedLine>),
    /// An argument of the command line, as written: `--set run.duration=5s`.
    Argument(String),
}

/// A line of a file that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLine {
    /// The file, as the scenario names it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// One reason why a scenario is refused, or one warning about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Name of the scenario file.
    pub file: String,
    /// Where in it, or which argument.
    pub origin: Origin,
    /// The key, dotted from the top; groups are addressed by name. Empty where there is none.
    pub key: String,
    /// The value as given, if the key has one.
    pub found: Option<String>,
    /// The error, or what would be right.
    pub allowed: String,
}

impl fmt::Display for Problem {
    /// `file:line: key = found: allowed`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Line(line) => write!(f, "{}:{line}: ", OneLine(&self.file))?,
            Origin::Named(named) => write!(f, "{}:{}: ", OneLine(&named.file), named.line)?,
            Origin::Argument(argument) => write!(f, "{}: ", OneLine(argument))?,
        }
        let (key, allowed) = (OneLine(&self.key), OneLine(&self.allowed));
        match (&self.found, self.key.is_empty()) {
            (Some(found), _) => write!(f, "{key} = {}: {allowed}", Shown(found)),
            (None, false) => write!(f, "{key}: {allowed}"),
            (None, true) => write!(f, "{allowed}"),
        }
    }
}

/// A value as an error message shows it: on one line, and short.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 60;
        match self.0.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(f, "{}…", OneLine(&self.0[..end])),
            None => write!(f, "{}", OneLine(self.0)),
        }
    }
}

/// Everything that is wrong with a scenario; never empty. Problems come by line of the file, then those of files that it names,
/// then those of arguments of the command line; those of one place keep the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `problems`, sorted.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| match problem.origin {
            Origin::Line(line) => (0, line),
            // Each file is read in one go, from its first line to its last.
            Origin::Named(_) => (1, 0),
            Origin::Argument(_) => (2, 0),
        });
        Self(problems)
    }

    /// All of them.
    pub fn all(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    /// One problem a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The one of `known` that `word` was probably meant to be.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word of attacker's length must not cost quadratic time.
    if word.chars().count() > 64 {
        return None;
    }
    let simple = |text: &str| text.to_lowercase().replace('_', "-");
    let word = simple(word);
    known
        .into_iter()
        .map(|candidate| (distance(&word, &simple(candidate)), candidate))
        .filter(|(distance, candidate)| {
            let length = candidate.chars().count();
            *distance < length && *distance <= 1 + length / 4
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// " (did you mean …?)" if one of `known` was probably meant by `word`, and all of them in a list.
pub(crate) fn choices<'a>(
    word: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> (String, String) {
    let meant = closest(word, known.clone());
    let meant = meant.map_or(String::new(), |name| format!(" (did you mean {name}?)"));
    (meant, known.collect::<Vec<_>>().join(", "))
}

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let different = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (above[j] + 1)
                .min(row[j - 1] + 1)
                .min(above[j - 1] + different);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = above;
        above = row;
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_word_and_nonsense_finds_none() {
        let known = ["rate", "overhead", "mpu", "congestion-control", "fq_codel"];
        for (word, meant) in [
            ("raet", Some("rate")),
            ("Rate", Some("rate")),
            ("overhad", Some("overhead")),
            ("congestion_control", Some("congestion-control")),
            ("congestioncontrol", Some("congestion-control")),
            ("fq_code", Some("fq_codel")),
            ("speed", None),
            ("", None),
        ] {
            assert_eq!(closest(word, known), meant, "{word}");
        }
    }

    #[test]
    fn problems_come_by_line_and_then_by_argument() {
        let problem = |origin, key: &str| Problem {
            file: "a.toml".into(),
            origin,
            key: key.to_owned(),
            found: None,
            allowed: "is wrong".into(),
        };
        let argument = || Origin::Argument("--set a=1".to_owned());
        let problems = Problems::new(vec![
            problem(Origin::Line(9), "nine"),
            problem(argument(), "first argument"),
            problem(Origin::Line(2), "two"),
            problem(Origin::Line(9), "nine again"),
            problem(argument(), "second argument"),
        ]);
        let keys: Vec<_> = problems.all().iter().map(|one| one.key.as_str()).collect();
        let expected = [
            "two",
            "nine",
            "nine again",
            "first argument",
            "second argument",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_message_stays_on_one_line_whatever_was_written() {
        let problem = Problem {
            file: "a.toml".into(),
            origin: Origin::Line(3),
            key: "na\u{1b}[32mme".into(),
            found: Some("x\ny\u{1b}[31m".to_owned() + &"z".repeat(200)),
            allowed: "must be short".into(),
        };
        let text = problem.to_string();
        assert!(
            text.starts_with("a.toml:3: na\\u001b[32mme = x\\ny\\u001b[31mzzz"),
            "{text}"
        );
        assert!(
            text.ends_with("zzz…: must be short") && text.len() < 120,
            "{text}"
        );
    }
}
