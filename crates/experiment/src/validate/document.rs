//! The generated parts of a document, each between two markers; the text around them is a person's.
//!
//! In each part stands a list of misses: a table whose first three columns say what was missed, and whose last one is headed
//! "explanation". The explanation is a person's too: it is read from the old list before the new one is written, and stays with what the
//! first three columns say.

use std::collections::BTreeMap;

use quell_measure::Estimate;

/// The explanation of a miss that nobody has explained.
pub(crate) const UNEXPLAINED: &str = "not explained yet";
/// Of one that is not to be told from chance.
pub(crate) const CHANCE: &str = "may be chance";

/// What people have written beside misses, by the first three columns.
#[derive(Debug, Default)]
pub(crate) struct Explanations(BTreeMap<[String; 3], String>);

/// A document with the part called `name` replaced by what `write` makes of the old explanations; `None` if it lacks the markers.
pub(crate) fn replace(
    document: &str,
    name: &str,
    write: impl FnOnce(&Explanations) -> String,
) -> Option<String> {
    let begin = format!("<!-- begin: written by {name} -->");
    let end = format!("<!-- end: written by {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (old, after) = rest.split_once(&end)?;
    let part = write(&Explanations::read(old));
    Some(format!("{before}{begin}\n\n{part}\n{end}{after}"))
}

impl Explanations {
    fn read(old: &str) -> Self {
        let mut known = BTreeMap::new();
        let mut explains = false;
        for line in old.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [one, two, three, .., last] = cells.as_slice() else {
                explains = false;
                continue;
            };
            if *last == "explanation" {
                explains = true;
            } else if explains && ![UNEXPLAINED, CHANCE, "---"].contains(last) {
                known.insert(
                    [one, two, three].map(|cell| (*cell).to_owned()),
                    (*last).to_owned(),
                );
            }
        }
        Self(known)
    }

    /// The explanation of what `key` says, if a person has given one.
    pub(crate) fn of(&self, key: [&str; 3]) -> Option<&str> {
        self.0.get(&key.map(str::to_owned)).map(String::as_str)
    }
}

/// Three significant digits of `value`, of which at most three are behind the point.
pub(crate) fn digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    }
}

/// `mean ± standard error`, to three significant digits of the mean; of one run, which has no error, the mean.
pub(crate) fn estimate(mean: &Estimate) -> String {
    let digits = digits(mean.mean);
    let text = format!("{:.digits$}", mean.mean);
    match mean.standard_error {
        Some(error) => format!("{text} ± {error:.digits$}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_stay_with_what_the_first_three_columns_say() {
        let old = format!(
            "| point | figure | world | sim / world | off by | bounds | explanation |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n\
             | fifo-reno | rate ratio | live | 1 / 2 | -50 % | 2.0 | phase |\n\
             | fifo-reno | drops, % | live | 1 / 2 | -50 % | 2.0 | {UNEXPLAINED} |\n\
             | fifo-reno | marks, % | live | 1 / 2 | -50 % | 2.0 | {CHANCE} |\n\n\
             | a | b | c | d |\n| --- | --- | --- | --- |\n| 1 | 2 | 3 | 4 |\n"
        );
        let document = format!(
            "by hand\n<!-- begin: written by x -->\n\n{old}<!-- end: written by x -->\nbelow\n"
        );
        let new = replace(&document, "x", |known| {
            assert_eq!(known.0.len(), 1, "{known:?}");
            assert_eq!(known.of(["fifo-reno", "rate ratio", "live"]), Some("phase"));
            assert_eq!(known.of(["fifo-reno", "rate ratio", "virtual"]), None);
            "new".to_owned()
        });
        let wanted =
            "by hand\n<!-- begin: written by x -->\n\nnew\n<!-- end: written by x -->\nbelow\n";
        assert_eq!(new.as_deref(), Some(wanted));
        assert_eq!(replace(&document, "y", |_| String::new()), None);
    }
}
