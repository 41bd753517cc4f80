//! Every experiment of the book, by its ID.

use std::fmt;
use std::sync::LazyLock;

use quell_lab::scenario::closest;
use quell_lab::scenario::tree::{self, Node, Tree};

use crate::experiment::{Experiment, Section};
use crate::shipped;

/// Experiments that belong together, and the first part of their IDs.
#[derive(Debug)]
pub struct Chapter {
    /// The first part of the IDs.
    pub name: String,
    /// Its title in the book.
    pub title: String,
    /// The publications.
    pub source: String,
}

/// What is wrong with the book or an experiment of it.
#[derive(Debug)]
struct Broken(String);

impl Broken {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `experiments/book.toml`.
struct Book {
    chapters: Vec<Chapter>,
    sections: Vec<Section>,
}

/// The files are part of the program: a test reads them all, so what is wrong here is an error of the build.
static BOOK: LazyLock<Book> = LazyLock::new(|| match book() {
    Ok(book) => book,
    Err(why) => panic!("{why}"),
});

/// The first part of the IDs of comparisons with Linux.
pub const VALIDATION: &str = "validation";
/// Their names, in the order of `docs/evidence/validation.md`.
const COMPARISONS: [&str; 6] = [
    "grid",
    "worlds",
    "controls",
    "applications",
    "recovery",
    "parity",
];

/// The comparisons with Linux: no source published them, so they stand in no book.
static VALIDATED: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
    let ids = COMPARISONS.map(|name| format!("{VALIDATION}/{name}"));
    let read: Result<Vec<Experiment>, Broken> = ids.iter().map(|id| experiment(id)).collect();
    read.unwrap_or_else(|why| panic!("{why}"))
});

fn book() -> Result<Book, Broken> {
    let text =
        shipped::experiment("book.toml").ok_or_else(|| Broken::new("there is no book.toml"))?;
    let root = tree::read("book.toml", text).map_err(Broken::new)?;
    let chapter = |node: &Node| {
        Ok(Chapter {
            name: text_of(node, "name")?,
            title: text_of(node, "title")?,
            source: text_of(node, "source")?,
        })
    };
    let section = |node: &Node| {
        let experiments = list_of(node, "experiments")?.iter();
        let experiments = experiments.map(|id| experiment(id.found().trim_matches('"')));
        Ok(Section {
            title: text_of(node, "title")?,
            experiments: experiments.collect::<Result<_, Broken>>()?,
        })
    };
    Ok(Book {
        chapters: list_of(&root, "chapter")?
            .iter()
            .map(chapter)
            .collect::<Result<_, Broken>>()?,
        sections: list_of(&root, "section")?
            .iter()
            .map(section)
            .collect::<Result<_, Broken>>()?,
    })
}

fn key_of<'n>(node: &'n Node, key: &str) -> Result<&'n Node, Broken> {
    let found = match &node.value {
        Tree::Table(table) => table.get(key),
        Tree::Array(_) | Tree::Scalar(..) => None,
    };
    found.ok_or_else(|| Broken::new(format!("book.toml: {key} is missing")))
}

fn text_of(node: &Node, key: &str) -> Result<String, Broken> {
    match &key_of(node, key)?.value {
        Tree::Scalar(_, text) => Ok(text.clone()),
        Tree::Array(_) | Tree::Table(_) => Err(Broken::new(format!("book.toml: {key} is no text"))),
    }
}

fn list_of<'n>(node: &'n Node, key: &str) -> Result<&'n [Node], Broken> {
    match &key_of(node, key)?.value {
        Tree::Array(nodes) => Ok(nodes),
        Tree::Table(_) | Tree::Scalar(..) => {
            Err(Broken::new(format!("book.toml: {key} is no list")))
        }
    }
}

/// The experiment with this ID in the program.
fn experiment(id: &str) -> Result<Experiment, Broken> {
    let text = shipped::experiment(&format!("{id}.toml"))
        .ok_or_else(|| Broken::new(format!("there is no experiment {id}")))?;
    let chapter = id.split('/').next().unwrap_or_default();
    let files = |name: &str| shipped::experiment(&format!("{chapter}/{name}")).map(str::to_owned);
    Experiment::read(id, text, &files).map_err(Broken::new)
}

/// The sections of the book in their order.
pub fn sections() -> &'static [Section] {
    &BOOK.sections
}

/// The chapters of the book, in their order.
pub fn chapters() -> &'static [Chapter] {
    &BOOK.chapters
}

/// Every experiment, chapter by chapter, and in a chapter in the order of the sections.
pub fn all() -> Vec<&'static Experiment> {
    chapters().iter().flat_map(Chapter::experiments).collect()
}

/// The comparisons with Linux, `validation/…`, which are not of the book.
pub fn comparisons() -> &'static [Experiment] {
    &VALIDATED
}

impl Chapter {
    /// Its experiments.
    pub fn experiments(&self) -> Vec<&'static Experiment> {
        let all = sections().iter().flat_map(|section| &section.experiments);
        all.filter(|one| one.chapter() == self.name).collect()
    }
}

impl Experiment {
    /// The first part of its ID; a user's has none.
    pub fn chapter(&self) -> &str {
        self.id.split_once('/').map_or("", |(chapter, _)| chapter)
    }
}

/// The experiments that a name means: an ID, a chapter, or `all`.
///
/// # Errors
///
/// There is none: names that are near.
pub fn find(name: &str) -> Result<Vec<&'static Experiment>, Vec<&'static str>> {
    let all: Vec<_> = all().into_iter().chain(comparisons()).collect();
    let is_meant = |one: &&Experiment| {
        let is_any = name == "all" && one.chapter() != VALIDATION;
        is_any || one.id == name || one.chapter() == name
    };
    let found: Vec<_> = all.iter().copied().filter(is_meant).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    Err(near(name, &all))
}

/// Names like this one: the nearest, or those that contain it, or the others of its chapter.
fn near(name: &str, all: &[&'static Experiment]) -> Vec<&'static str> {
    let has_some = |chapter: &&Chapter| all.iter().any(|one| one.chapter() == chapter.name);
    let with_some = chapters().iter().filter(has_some);
    let chapters = with_some.map(|chapter| chapter.name.as_str());
    let names = || {
        all.iter()
            .map(|one| one.id.as_str())
            .chain(chapters.clone())
    };
    let mut near: Vec<&str> = closest(name, names()).into_iter().collect();
    let last = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let same = |id: &&str| !last.is_empty() && id.to_lowercase().contains(&last);
    near.extend(names().filter(same));
    if near.is_empty() {
        let chapter = name.split('/').next();
        near.extend(names().filter(|id| id.split('/').next() == chapter));
    }
    near.sort_unstable();
    near.dedup();
    near.truncate(8);
    near
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_has_an_id_of_its_own_in_a_chapter_and_statements() {
        let ids: Vec<&str> = sections()
            .iter()
            .flat_map(|section| &section.experiments)
            .map(|one| one.id.as_str())
            .collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len());
        // None is outside the chapters.
        assert_eq!(all().len(), ids.len());
        for one in all() {
            let usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let (_, name) = one.id.split_once('/').unwrap();
            assert!(!name.is_empty() && name.chars().all(usual), "{}", one.id);
            assert!(
                !one.source.is_empty() && !one.title.is_empty(),
                "{}",
                one.id
            );
            assert!(!one.statements.is_empty(), "{}", one.id);
            let ids: BTreeSet<&str> = one.statements.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids.len(), one.statements.len(), "{}", one.id);
            for statement in &one.statements {
                assert!(statement.id.chars().all(usual), "{}", statement.id);
                assert!(!statement.published.is_empty() && !statement.bound.is_empty());
                for text in [&statement.published, &statement.bound] {
                    assert!(!text.contains(['\n', '|']), "{text}");
                }
            }
        }
    }

    #[test]
    fn every_experiment_file_stands_in_the_book() {
        let known = all().into_iter().chain(comparisons());
        let ids: BTreeSet<&str> = known.map(|one| one.id.as_str()).collect();
        let files = shipped::experiments().filter_map(|path| path.strip_suffix(".toml"));
        let outside: Vec<&str> = files
            .filter(|id| *id != "book" && !ids.contains(id))
            .collect();
        assert_eq!(outside, [""; 0]);
    }

    #[test]
    fn every_section_has_a_title_of_its_own_and_experiments() {
        let titles: BTreeSet<&str> = sections()
            .iter()
            .map(|section| section.title.as_str())
            .collect();
        assert_eq!(titles.len(), sections().len());
        assert!(
            sections()
                .iter()
                .all(|section| !section.experiments.is_empty())
        );
    }

    #[test]
    fn a_name_is_an_id_a_chapter_or_all() {
        assert_eq!(find("all").unwrap().len(), all().len());
        let one = find("homegateway2011/m3").unwrap();
        assert_eq!(one.len(), 1);
        let chapter = find("homegateway2011").unwrap();
        assert!(chapter.len() > 1);
        assert_eq!(
            find("homegateway2011/m33").unwrap_err()[0],
            "homegateway2011/m3"
        );
        assert!(find("m3").unwrap_err().contains(&"homegateway2011/m3"));
        assert!(find("xyz").unwrap_err().is_empty());
        assert_eq!(find(VALIDATION).unwrap().len(), comparisons().len());
        assert_eq!(find("validation/grid").unwrap().len(), 1);
    }
}
