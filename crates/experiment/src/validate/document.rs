//! The generated parts of a document, each between two markers; the text around them is a person's.
//!
//! The misses of all parts are rows of `data/misses.csv` beside the document: the name of the part, three columns that say what was missed,
//! figures, and the explanation. That is a person's too: it is read from the old rows before the new ones are written, and stays with what
//! was missed. What writes a part ends it with a table whose last column is headed "explanation"; [`replace`] takes its rows.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use quell_measure::Estimate;

use crate::validate::sheet::{Sheet, digits, rows};

/// The file of misses, and its head.
const MISSES: &str = "misses.csv";
const HEAD: [&str; 8] = [
    "comparison",
    "point",
    "figure",
    "world",
    "figures",
    "off_by",
    "bounds",
    "explanation",
];

/// The explanation of a miss that nobody has explained.
pub(crate) const UNEXPLAINED: &str = "not explained yet";
/// Of one that is not to be told from chance.
pub(crate) const CHANCE: &str = "may be chance";

/// What people have written beside misses, by the three columns that say what was missed.
#[derive(Debug, Default)]
pub(crate) struct Explanations(BTreeMap<[String; 3], String>);

/// Replaces the part called `name` of the document at `path` by what `write` makes of the old explanations, and its misses beside it.
/// Whether the document has the markers.
pub(crate) fn replace(
    path: &Path,
    name: &str,
    write: impl FnOnce(&Explanations) -> String,
) -> io::Result<bool> {
    let known = fs::read_to_string(Sheet::place(path, MISSES)).unwrap_or_default();
    let Some((new, misses)) = replaced(&fs::read_to_string(path)?, &known, name, write) else {
        return Ok(false);
    };
    fs::write(path, new)?;
    misses.write_beside(path)?;
    Ok(true)
}

/// The document and the misses with those of the part called `name`; `None` if the document lacks the markers.
pub(crate) fn replaced(
    document: &str,
    known: &str,
    name: &str,
    write: impl FnOnce(&Explanations) -> String,
) -> Option<(String, Sheet)> {
    let begin = format!("<!-- begin: written by {name} -->");
    let end = format!("<!-- end: written by {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    let known = rows(known);
    let (old, others): (Vec<_>, Vec<_>) = known
        .into_iter()
        .skip(1)
        .partition(|row| row.first().is_some_and(|part| part == name));
    let (part, own) = apart(&write(&Explanations::read(&old)));
    let mut misses = Sheet::new(MISSES, &HEAD);
    for row in &others {
        misses.row(row);
    }
    for mut row in own {
        let explanation = row.pop().unwrap_or_default();
        row.insert(0, name.to_owned());
        row.resize(HEAD.len() - 1, String::new());
        row.push(explanation);
        misses.row(&row);
    }
    Some((format!("{before}{begin}\n\n{part}\n{end}{after}"), misses))
}

/// A part without its table of misses, and the rows of that.
fn apart(part: &str) -> (String, Vec<Vec<String>>) {
    let (mut text, mut misses) = (String::new(), Vec::new());
    let mut explains = false;
    for line in part.lines() {
        let cells = line.trim_matches('|').split('|').map(str::trim);
        let cells: Vec<String> = cells.map(str::to_owned).collect();
        if line.starts_with('|') && cells.last().is_some_and(|last| last == "explanation") {
            explains = true;
        } else if explains && line.starts_with("| ---") {
        } else if explains && line.starts_with('|') {
            misses.push(cells);
        } else {
            explains = false;
            text += line;
            text.push('\n');
        }
    }
    (text.trim_end().to_owned() + "\n", misses)
}

impl Explanations {
    fn read(old: &[Vec<String>]) -> Self {
        let mut known = BTreeMap::new();
        for row in old {
            if let [_, one, two, three, .., last] = row.as_slice()
                && ![UNEXPLAINED, CHANCE].contains(&last.as_str())
            {
                known.insert([one, two, three].map(String::clone), last.clone());
            }
        }
        Self(known)
    }

    /// The explanation of what `key` says, if a person has given one.
    pub(crate) fn of(&self, key: [&str; 3]) -> Option<&str> {
        self.0.get(&key.map(str::to_owned)).map(String::as_str)
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
        let known = format!(
            "{}\nx,fifo-reno,rate ratio,live,1 / 2,-50 %,2.0,phase\n\
             x,fifo-reno,\"drops, %\",live,1 / 2,-50 %,2.0,{UNEXPLAINED}\n\
             y,fifo-reno,\"marks, %\",live,1 / 2,-50 %,2.0,other\n",
            HEAD.join(",")
        );
        let document =
            "by hand\n<!-- begin: written by x -->\n\nold\n<!-- end: written by x -->\nbelow\n";
        let (new, misses) = replaced(document, &known, "x", |known| {
            assert_eq!(known.0.len(), 1, "{known:?}");
            assert_eq!(known.of(["fifo-reno", "rate ratio", "live"]), Some("phase"));
            assert_eq!(known.of(["fifo-reno", "rate ratio", "virtual"]), None);
            "new\n\n| point | group | figure | ratio | explanation |\n| --- | --- | --- | --- | --- |\n\
             | pie | test | marks, % | 2.0 | why |\n"
                .to_owned()
        })
        .unwrap();
        let wanted =
            "by hand\n<!-- begin: written by x -->\n\nnew\n\n<!-- end: written by x -->\nbelow\n";
        assert_eq!(new, wanted);
        assert_eq!(
            misses.text(),
            format!(
                "{}\ny,fifo-reno,\"marks, %\",live,1 / 2,-50 %,2.0,other\nx,pie,test,\"marks, %\",2.0,,,why\n",
                HEAD.join(",")
            )
        );
        assert!(replaced(document, "", "z", |_| String::new()).is_none());
    }
}
